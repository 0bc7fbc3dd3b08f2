//! Tools for the tests of the command.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

#[allow(
    dead_code,
    reason = "a test may start it with an environment of its own"
)]
/// Runs the command with these words.
pub(crate) fn roving(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_roving"))
        .args(words)
        .output()
        .expect("the command starts")
}

/// The output as text.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("the output is UTF-8")
}

#[allow(dead_code, reason = "not every test writes")]
/// A place of its own for what a test writes.
pub(crate) fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// A place for the files of an `mpirun`. Several at once must not share it: one removes what
/// another has just made.
#[allow(dead_code, reason = "not every test starts ranks")]
pub(crate) fn mpi_place() -> PathBuf {
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    // Ordering: Relaxed; a number that nobody else has.
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let place = directory(&format!("mpi-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&place).expect("a place for the files of mpirun");
    place
}

/// `mpirun` for so many ranks of a program.
#[allow(dead_code, reason = "not every test starts ranks")]
pub(crate) fn mpirun(ranks: usize, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("mpirun");
    command
        .env("OMPI_MCA_orte_tmpdir_base", mpi_place())
        .args(["--allow-run-as-root", "--oversubscribe", "-n"])
        .arg(ranks.to_string())
        .arg(program.as_ref());
    command
}

/// A tree of 3,987 nodes.
#[allow(dead_code, reason = "not every test searches a tree")]
pub(crate) const TREE: &str = "-t1 -a3 -d5 -b4 -r19";

/// A tree that takes some seconds, and how many nodes it has.
#[allow(dead_code, reason = "not every test searches a tree")]
pub(crate) const LARGE: (&str, &str) = match cfg!(debug_assertions) {
    true => ("T1", "nodes 4,130,071"),
    false => ("T1XL", "nodes 1,635,119,272"),
};

/// The words of a search of this tree with checkpoints in this directory.
#[allow(dead_code, reason = "not every test searches a tree")]
pub(crate) fn search_of<'a>(tree: &'a str, directory: &'a str) -> Vec<&'a str> {
    let words = ["run", "uts", "--input", tree, "--dist", "--workers", "1"];
    [&words[..], &["--checkpoints", directory, "--every", "5"]].concat()
}

/// An empty directory of that name, as a word.
#[allow(dead_code, reason = "not every test searches a tree")]
pub(crate) fn empty(name: &str) -> String {
    let directory = directory(name);
    let _ = std::fs::remove_dir_all(&directory);
    directory.to_str().expect("a path in UTF-8").to_owned()
}
