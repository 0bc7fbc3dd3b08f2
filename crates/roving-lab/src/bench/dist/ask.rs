//! Asking ranks: this program is started on each, and answers a `probe`.

use std::process::{Command, Stdio};

use crate::bench::record::RowRecord;
use crate::io::input::{BadInput, CommandFailure};

/// The answers of so many ranks. One rank needs no `mpirun`.
pub(super) fn ask(ranks: usize, words: &[&str]) -> Result<Vec<f64>, CommandFailure> {
    ask_by(ranks, &[], words)
}

/// The answers of so many ranks, with more options for `mpirun`; with some, it starts one rank,
/// too.
pub(super) fn ask_by(
    ranks: usize,
    more: &[&str],
    words: &[&str],
) -> Result<Vec<f64>, CommandFailure> {
    let asked = || format!("{ranks} ranks, probe {}", words.join(" "));
    let failed = |why: String| CommandFailure::Run(format!("{}: {why}", asked()));
    let exe = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut command = match ranks {
        1 if more.is_empty() => Command::new(exe),
        _ => {
            let mut command = Command::new("mpirun");
            let options = ["--allow-run-as-root", "--oversubscribe", "-n"];
            command.args(options).arg(ranks.to_string());
            command.args(more).arg(exe);
            command
        }
    };
    let asked = command.arg("probe").args(words);
    let output = asked.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| failed(error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let numbers: Option<Vec<f64>> = said
        .split_whitespace()
        .map(|word| word.parse().ok())
        .collect();
    match numbers {
        Some(numbers) if output.status.success() && !numbers.is_empty() => Ok(numbers),
        _ => Err(failed(format!("it said `{}`", said.trim()))),
    }
}

/// Whether there can be several ranks; otherwise the record says why not.
pub(super) fn has_ranks(record: &mut RowRecord) -> bool {
    let why = if !cfg!(feature = "mpi") {
        "this command was built without MPI: `cargo run --profile measure --features rivals,mpi -- bench dist`"
    } else if Command::new("mpirun").arg("--version").output().is_err() {
        "there is no mpirun here"
    } else {
        return true;
    };
    record.absent.push(format!("several ranks: {why}"));
    false
}

/// The word at this place of a question.
pub(super) fn word<'w>(words: &'w [String], place: usize, what: &str) -> Result<&'w str, BadInput> {
    let word = words.get(place).map(String::as_str);
    word.ok_or_else(|| BadInput::new("probe", words.join(" "), what, "`roving bench` asks right"))
}
