//! The commands of pages for people who write C: they install the libraries below the folder in
//! which the commands run, and compile and run programs there.

use std::path::Path;

use crate::Result;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::shipping::install;

const INSTALL: &str = "cargo xtask install --prefix ";
/// The compilers, with what else a command may name, and how each says that it is there.
const TOOLS: [&str; 5] = ["cc", "gcc", "c++", "pkg-config", "cmake"];

/// The program of a command, behind the variables that are set for it.
fn program(command: &str) -> &str {
    let mut words = command.split_whitespace();
    let program = words.find(|word| !word.contains('='));
    program.unwrap_or_default()
}

/// Whether it is such a command.
pub(super) fn is_known(command: &str) -> bool {
    let first = program(command);
    command.starts_with(INSTALL) || first.starts_with("./") || TOOLS.contains(&first)
}

/// The tool that such a command needs and this machine lacks. A program needs the compiler that
/// should have made it.
pub(super) fn lacks(command: &str) -> Option<&'static str> {
    if !is_known(command) || command.starts_with(INSTALL) {
        return None;
    }
    let words = || command.split(|c: char| c.is_whitespace() || c == '(');
    let named = |tool: &&'static str| words().any(|word| word == *tool);
    let needed = ["cc", "pkg-config"];
    let needed = match program(command).starts_with("./") {
        true => needed.to_vec(),
        false => TOOLS.into_iter().filter(named).collect(),
    };
    needed
        .into_iter()
        .find(|tool| !tool::works(tool, &["--version"]))
}

/// Does what `cargo xtask install` does, below the folder and without optimisation, if that is the
/// command.
pub(super) fn install(workspace: &Workspace, folder: &Path, command: &str) -> Result<bool> {
    let Some(prefix) = command.strip_prefix(INSTALL) else {
        return Ok(false);
    };
    let prefix = folder.join(prefix.trim());
    if !prefix.starts_with(folder) {
        return Err(format!("`{command}` leaves the folder of this check"));
    }
    install::install(workspace, &prefix, false)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_commands_of_c_are_known() {
        for known in [
            "cc -c a.c",
            "./fib",
            "cargo xtask install --prefix p",
            "cmake -B b",
            "gcc -fopenmp a.c",
            "LD_PRELOAD=$PWD/p/lib/l.so ./fib 27",
        ] {
            assert!(is_known(known), "{known}");
        }
        for other in [
            "rm -r p",
            "cargo xtask test",
            "curl x",
            "ccc",
            "cargo run",
            "A=./b curl x",
        ] {
            assert!(!is_known(other), "{other}");
            assert_eq!(lacks(other), None);
        }
    }
}
