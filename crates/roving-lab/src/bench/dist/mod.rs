//! The rows about ranks. Each starts `mpirun` on this program, which then answers a `probe`.

mod messages;
mod ring;
mod uts;

use std::process::{Command, Stdio};

use roving_dist::World;

use super::record::Record;
use crate::dist::failure;
use crate::input::{BadInput, Failure};
use crate::out::show;

pub(super) use messages::messages;
pub(super) use ring::ring;
pub(super) use uts::uts;

/// A question that ranks answer together. Every rank is asked, and rank 0 prints the numbers.
struct Question {
    name: &'static str,
    answer: fn(&World, &[String]) -> Result<Vec<f64>, Failure>,
}

/// All of them.
const QUESTIONS: [Question; 5] = [
    question("dist-uts", uts::times),
    question("dist-exact", uts::exact),
    question("dist-messages", messages::rates),
    question("dist-idle", messages::idle),
    question("dist-ring", ring::hops),
];

const fn question(
    name: &'static str,
    answer: fn(&World, &[String]) -> Result<Vec<f64>, Failure>,
) -> Question {
    Question { name, answer }
}

/// Answers, if the words after `roving probe` are a question for ranks.
pub(super) fn answer(words: &[String]) -> Option<Result<(), Failure>> {
    let (name, words) = words.split_first()?;
    let question = QUESTIONS.iter().find(|question| question.name == name)?;
    Some(answer_in_world(question, words))
}

fn answer_in_world(question: &Question, words: &[String]) -> Result<(), Failure> {
    let world = World::init().map_err(failure)?;
    let is_first = world.rank() == 0;
    let numbers = (question.answer)(&world, words);
    // Where only one rank has failed, the others wait for it.
    let numbers = match numbers {
        Err(Failure::Run(why)) => return Err(failure(world.fail(why))),
        other => other?,
    };
    world.finish().map_err(failure)?;
    if is_first {
        let numbers: Vec<_> = numbers.iter().map(f64::to_string).collect();
        show(format_args!("{}\n", numbers.join(" ")))?;
    }
    Ok(())
}

/// The answers of so many ranks. One rank needs no `mpirun`.
fn ask(ranks: usize, words: &[&str]) -> Result<Vec<f64>, Failure> {
    ask_by(ranks, &[], words)
}

/// The answers of so many ranks, with more options for `mpirun`.
fn ask_by(ranks: usize, more: &[&str], words: &[&str]) -> Result<Vec<f64>, Failure> {
    let asked = || format!("{ranks} ranks, probe {}", words.join(" "));
    let failed = |why: String| Failure::Run(format!("{}: {why}", asked()));
    let exe = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut command = match ranks {
        1 => Command::new(exe),
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
fn has_ranks(record: &mut Record) -> bool {
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
fn word<'w>(words: &'w [String], place: usize, what: &str) -> Result<&'w str, BadInput> {
    let word = words.get(place).map(String::as_str);
    word.ok_or_else(|| BadInput::new("probe", words.join(" "), what, "`roving bench` asks right"))
}
