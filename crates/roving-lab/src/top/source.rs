//! The program that is watched, at the other end of its socket.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::snapshot::TopAnswer;
use crate::io::input::{BadInput, CommandFailure};

/// A connection.
pub(super) struct TopConnection {
    answers: BufReader<UnixStream>,
    asks: UnixStream,
}

/// How long a program may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where programs put their sockets unless they are told otherwise.
fn folders() -> Vec<PathBuf> {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    runtime.into_iter().chain([std::env::temp_dir()]).collect()
}

/// The socket that the user means: one by its path or by its program's number, or the only one
/// there is.
pub(super) fn find(word: Option<&str>) -> Result<PathBuf, BadInput> {
    let remedy = "start the program with ROVING_TOP=1, as the same user";
    match word {
        None => match &found()[..] {
            [one] => Ok(one.clone()),
            [] => Err(BadInput::line(format!(
                "no program that can be watched was found; {remedy}"
            ))),
            many => {
                let names: Vec<String> =
                    many.iter().map(|path| path.display().to_string()).collect();
                let names = names.join(", ");
                Err(BadInput::line(format!(
                    "{} programs can be watched: {names}; say which, by its number or its socket",
                    many.len()
                )))
            }
        },
        Some(word) if !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()) => {
            let file = format!("roving-{word}.sock");
            let paths = folders().into_iter().map(|folder| folder.join(&file));
            let path = paths.into_iter().find(|path| path.exists());
            path.ok_or_else(|| {
                let allowed = "the number of a program that can be watched";
                BadInput::new("roving top", word, allowed, remedy)
            })
        }
        Some(path) => match Path::new(path) {
            path if path.exists() => Ok(path.to_owned()),
            _ => {
                let allowed = "a program's number or its socket";
                Err(BadInput::new("roving top", path, allowed, remedy))
            }
        },
    }
}

/// All sockets that answer.
fn found() -> Vec<PathBuf> {
    let files = folders()
        .into_iter()
        .filter_map(|folder| folder.read_dir().ok());
    let paths = files.flatten().flatten().map(|file| file.path());
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("roving-") && name.ends_with(".sock") && UnixStream::connect(path).is_ok()
    };
    let mut found: Vec<PathBuf> = paths.filter(is_ours).collect();
    found.sort();
    found.dedup();
    found
}

impl TopConnection {
    pub(super) fn connect(path: &Path) -> Result<TopConnection, CommandFailure> {
        let connect = || {
            let asks = UnixStream::connect(path)?;
            asks.set_read_timeout(Some(PATIENCE))?;
            let answers = BufReader::new(asks.try_clone()?);
            Ok(TopConnection { answers, asks })
        };
        connect().map_err(|error: io::Error| {
            let path = path.display();
            CommandFailure::Run(format!(
                "nobody answers at {path}: {error}; is the program still running?"
            ))
        })
    }

    /// Asks; `None` when the program has ended.
    pub(super) fn ask(&mut self) -> Result<Option<TopAnswer>, CommandFailure> {
        let mut line = String::new();
        let asked = self.asks.write_all(b"\n");
        let read = asked.and_then(|()| self.answers.read_line(&mut line));
        match read {
            Ok(0) => Ok(None),
            Ok(_) => match serde_json::from_str(&line) {
                Ok(snapshot) => Ok(Some(snapshot)),
                Err(error) => Err(CommandFailure::Run(format!(
                    "the answer is not one of Roving: {error}; is this its socket?"
                ))),
            },
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                let seconds = PATIENCE.as_secs();
                Err(CommandFailure::Run(format!(
                    "the program has not answered for {seconds} s: it is stopped, or no program of Roving"
                )))
            }
            // The connection is cut when a process ends.
            Err(_) => Ok(None),
        }
    }
}
