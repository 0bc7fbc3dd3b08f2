//! The rows about ranks. Each starts `mpirun` on this program, which then answers a `probe`.

mod ask;
mod checkpoints;
mod efficiency;
mod kills;
mod messages;
mod model;
mod ring;
mod uts;

use roving_dist::World;

use crate::dist::failure;
use crate::io::input::CommandFailure;
use crate::io::out::show;

pub(super) use checkpoints::checkpoints;
pub(super) use efficiency::efficiency;
pub(super) use kills::kills;
pub(super) use messages::messages;
pub(super) use model::model;
pub(super) use ring::ring;
pub(super) use uts::uts;

/// A question that ranks answer together. Every rank is asked, and rank 0 prints the numbers.
struct Question {
    name: &'static str,
    answer: fn(&World, &[String]) -> Result<Vec<f64>, CommandFailure>,
}

/// All of them.
const QUESTIONS: [Question; 6] = [
    question("dist-uts", uts::times),
    question("dist-exact", uts::exact),
    question("dist-messages", messages::rates),
    question("dist-idle", messages::idle),
    question("dist-ring", ring::hops),
    question("dist-checkpoints", checkpoints::cost),
];

const fn question(
    name: &'static str,
    answer: fn(&World, &[String]) -> Result<Vec<f64>, CommandFailure>,
) -> Question {
    Question { name, answer }
}

/// Answers, if the words after `roving probe` are a question for ranks.
pub(super) fn answer(words: &[String]) -> Option<Result<(), CommandFailure>> {
    let (name, words) = words.split_first()?;
    let question = QUESTIONS.iter().find(|question| question.name == name)?;
    Some(answer_in_world(question, words))
}

fn answer_in_world(question: &Question, words: &[String]) -> Result<(), CommandFailure> {
    let world = World::init().map_err(failure)?;
    let is_first = world.rank() == 0;
    let numbers = (question.answer)(&world, words);
    // Where only one rank has failed, the others wait for it.
    let numbers = match numbers {
        Err(CommandFailure::Run(why)) => return Err(failure(world.fail(why))),
        other => other?,
    };
    world.finish().map_err(failure)?;
    if is_first {
        let numbers: Vec<_> = numbers.iter().map(f64::to_string).collect();
        show(format_args!("{}\n", numbers.join(" ")))?;
    }
    Ok(())
}
