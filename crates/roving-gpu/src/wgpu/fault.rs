//! Errors of wgpu, as this crate's.

use ::wgpu::{Device, Error, ErrorFilter};

use crate::backend::error::{Cause, DeviceError};

/// Runs what may fail on the device; `what` begins the message.
pub(super) fn caught<R>(
    device: &Device,
    what: &str,
    run: impl FnOnce() -> R,
) -> Result<R, DeviceError> {
    let filters = [
        ErrorFilter::Validation,
        ErrorFilter::OutOfMemory,
        ErrorFilter::Internal,
    ];
    let scopes = filters.map(|filter| device.push_error_scope(filter));
    let result = run();
    // The newest scope is closed first. Each knows its error by then: the future is ready.
    let errors = scopes
        .into_iter()
        .rev()
        .map(|scope| pollster::block_on(scope.pop()));
    match errors.fold(None, Option::or) {
        Some(error) => Err(of(error, what)),
        None => Ok(result),
    }
}

/// An error, with `what` before its text.
pub(super) fn of(error: Error, what: &str) -> DeviceError {
    match error {
        Error::OutOfMemory { .. } => {
            DeviceError::new(Cause::OutOfMemory, format!("{what}the driver has no more"))
        }
        Error::Validation { description, .. } | Error::Internal { description, .. } => {
            DeviceError::new(Cause::Kernel, format!("{what}{}", root(&description)))
        }
    }
}

/// The innermost cause and what it is the cause of: wgpu writes each below the one that it
/// explains.
fn root(description: &str) -> String {
    let lines = description
        .lines()
        .map(|line| line.trim().trim_end_matches([',', ':', '.']));
    let lines: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
    match lines[..] {
        [] => "no reason given".into(),
        [only] => only.into(),
        [.., outer, inner] => format!("{outer}: {inner}"),
    }
}

/// Messages have one line.
pub(super) fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or("").trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_cause_is_told() {
        let text = "Validation Error\n\nCaused by:\n  In Device::create_buffer\n    Too large\n\n";
        assert_eq!(root(text), "In Device::create_buffer: Too large");
        assert_eq!(root(""), "no reason given");
        assert_eq!(first_line("\n a \n b"), "a");
    }
}
