//! What the tests of the command share.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs the command with these words.
pub(crate) fn roving(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roving"))
        .args(words)
        .output()
        .expect("the command starts")
}

/// What it said.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is UTF-8")
}

#[allow(dead_code, reason = "not every test writes")]
/// A place of its own for what a test writes.
pub(crate) fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}
