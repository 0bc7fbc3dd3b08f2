//! The environment variables by which a user asks for something.

use std::env;
use std::ffi::OsString;

/// The value of that variable. One that is empty or "0" asks for nothing.
pub(super) fn set(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty() && value != "0")
}
