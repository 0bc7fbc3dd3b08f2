//! Where results go: standard output, and files.

use std::fmt::Arguments;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

use crate::io::input::{BadInput, CommandFailure};

/// Writes to standard output. Who has stopped reading it, as `head` does, wants no more: that is no
/// error, and what goes into files is still measured and written.
pub(crate) fn show(text: Arguments<'_>) -> Result<(), CommandFailure> {
    let mut out = io::stdout();
    match out.write_fmt(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(CommandFailure::Run(format!(
            "standard output was not written: {error}"
        ))),
        _ => Ok(()),
    }
}

/// Makes the directory for results.
pub(crate) fn make_directory(out: &Path) -> Result<(), BadInput> {
    fs::create_dir_all(out).map_err(|error| {
        BadInput::new(
            "--out",
            out.display(),
            "a directory that can be written",
            error,
        )
    })
}

/// Writes one file.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), CommandFailure> {
    fs::write(path, text).map_err(|error| {
        CommandFailure::Run(format!("{} cannot be written: {error}", path.display()))
    })
}

/// Where a report goes: the table to standard output, or the JSON there, or the JSON into a file as
/// well.
pub(crate) enum Sink {
    /// No JSON.
    Table,
    /// JSON to standard output, and no table.
    Json,
    /// JSON into a file.
    File(File),
}

impl Sink {
    /// Opens the output that `--json` asks for.
    pub(crate) fn open(path: Option<&Path>) -> Result<Sink, BadInput> {
        match path {
            None => Ok(Sink::Table),
            Some(path) if path.as_os_str() == "-" => Ok(Sink::Json),
            Some(path) => Ok(Sink::File(create(path)?)),
        }
    }

    /// Writes both forms of a report to where they go.
    pub(crate) fn write(self, json: &str, table: &str) -> Result<(), CommandFailure> {
        match self {
            Sink::Table => show(format_args!("{table}"))?,
            Sink::Json => show(format_args!("{json}\n"))?,
            Sink::File(mut file) => {
                show(format_args!("{table}"))?;
                writeln!(file, "{json}").map_err(|error| {
                    CommandFailure::Run(format!("the JSON was not written: {error}"))
                })?;
            }
        }
        Ok(())
    }
}

fn create(path: &Path) -> Result<File, BadInput> {
    let allowed = "a file that can be written";
    let remedy = "take a folder that exists, or `-` for standard output";
    File::create(path).map_err(|error| {
        BadInput::new(
            "--json",
            path.display(),
            format!("{allowed} ({error})"),
            remedy,
        )
    })
}
