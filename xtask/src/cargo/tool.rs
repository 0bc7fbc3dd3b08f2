//! Other programs: run, watch, ask.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use crate::Result;

/// The output of a watched program, and how it ended.
pub(crate) struct ToolOutput {
    pub(crate) ok: bool,
    /// Standard output and standard error, in the order in which they were written.
    pub(crate) lines: Vec<String>,
}

/// Runs a program, shows its output as it comes, and keeps it.
pub(crate) fn watch(command: &mut Command) -> Result<ToolOutput> {
    println!("$ {}", shown(command));
    heard(command, |line| println!("{line}"))
}

/// Runs a program and keeps its output without showing it.
pub(crate) fn quiet(command: &mut Command) -> Result<ToolOutput> {
    heard(command, |_| ())
}

/// Runs a program, keeps its output and tells each line as it comes.
pub(crate) fn heard(command: &mut Command, mut hear: impl FnMut(&str)) -> Result<ToolOutput> {
    let name = shown(command);
    let (reader, writer) =
        std::io::pipe().map_err(|error| format!("cannot make a pipe: {error}"))?;
    let twin = writer
        .try_clone()
        .map_err(|error| format!("cannot share a pipe: {error}"))?;
    command.stdin(Stdio::null()).stdout(writer).stderr(twin);
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot start `{name}`: {error}"))?;
    // The command holds our copies of the writing end; without this the reader would never end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut lines = Vec::new();
    let mut reader = BufReader::new(reader);
    let mut raw = Vec::new();
    while reader
        .read_until(b'\n', &mut raw)
        .map_err(|error| format!("`{name}`: {error}"))?
        > 0
    {
        let line = String::from_utf8_lossy(&raw)
            .trim_end_matches(['\n', '\r'])
            .to_owned();
        hear(&line);
        lines.push(line);
        raw.clear();
    }
    let status = child.wait().map_err(|error| format!("`{name}`: {error}"))?;
    Ok(ToolOutput {
        ok: status.success(),
        lines,
    })
}

/// Standard output of a program that must succeed; its errors go to ours.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = shown(command);
    let output = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start `{name}`: {error}"))?;
    if !output.status.success() {
        return Err(format!("`{name}` ended with {}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The triple for which a compiler builds by itself.
pub(crate) fn host(rustc: &mut Command) -> Result<String> {
    let text = output(rustc.arg("-vV"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("host: "));
    line.map(str::to_owned)
        .ok_or_else(|| "rustc -vV names no host".into())
}

/// The compiler of the cargo that runs us, or the one in the path.
pub(crate) fn rustc() -> Command {
    Command::new(std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into()))
}

/// Whether a program starts and succeeds; nothing is shown.
pub(crate) fn works(program: &str, words: &[&str]) -> bool {
    Command::new(program)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// The command as one would type it, with the variables that we set.
pub(crate) fn shown(command: &Command) -> String {
    let mut words = Vec::new();
    for (key, value) in command.get_envs() {
        if let Some(value) = value {
            words.push(format!(
                "{}={:?}",
                key.to_string_lossy(),
                value.to_string_lossy()
            ));
        }
    }
    words.push(command.get_program().to_string_lossy().into_owned());
    words.extend(
        command
            .get_args()
            .map(|word| word.to_string_lossy().into_owned()),
    );
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_are_kept_and_the_status_is_seen() {
        let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
        let seen = quiet(Command::new(&rustc).arg("--version")).unwrap();
        assert!(
            seen.ok && seen.lines[0].starts_with("rustc "),
            "{:?}",
            seen.lines
        );
        let seen = quiet(Command::new(&rustc).arg("--no-such-option")).unwrap();
        assert!(!seen.ok && !seen.lines.is_empty());
    }

    #[test]
    fn a_missing_program_is_an_error_and_does_not_work() {
        assert!(quiet(&mut Command::new("roving-no-such-program")).is_err());
        assert!(!works("roving-no-such-program", &[]));
    }
}
