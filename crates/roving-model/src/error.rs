//! The error of a model with impossible settings, in one line.

use std::fmt;

/// A value that the model cannot use, or a calculation that came to no end. One line that names the
/// value, what is allowed, and what to do.
///
/// ```
/// let error = roving_model::MeanField::new(1.5).steady(roving_model::Policy::None).unwrap_err();
/// assert!(error.to_string().contains("1.5"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelError(String);

impl ModelError {
    /// `subject` names the value.
    pub(crate) fn new(
        subject: impl fmt::Display,
        value: impl fmt::Display,
        allowed: impl fmt::Display,
        remedy: impl fmt::Display,
    ) -> ModelError {
        ModelError(format!(
            "{subject} `{value}` is not allowed: want {allowed}; {remedy}"
        ))
    }

    /// A line that says everything already.
    pub(crate) fn line(line: impl Into<String>) -> ModelError {
        ModelError(line.into())
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ModelError {}
