//! A rule that is broken.

use std::fmt;
use std::path::{Path, PathBuf};

/// A rule broken at a place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(super) path: PathBuf,
    pub(super) line: usize,
    pub(crate) text: String,
}

impl Finding {
    pub(crate) fn new(path: &Path, line: usize, text: impl Into<String>) -> Self {
        Finding {
            path: path.to_owned(),
            line,
            text: text.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.text)
    }
}
