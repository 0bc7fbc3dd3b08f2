//! Questions that somebody waits for, while documents are read in the background: with priorities
//! and without.
//!
//! ```text
//! cargo run --release --example priorities -- 400
//! ```
//!
//! Both kinds of work have a pool of their own, which are two shares of one `Arena`: so there are
//! no more threads than cores. Work of the low class goes on while there is nothing better to do,
//! and it does not starve.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use roving::{Arena, Pool, Priority, current_workers, map_reduce};
use roving_examples::{Failure, Words, random};

const USAGE: &str = "priorities [DOCUMENTS]      1 to 100000, default 400";

const QUESTIONS: u64 = 20;

fn main() -> ExitCode {
    roving_examples::run_once(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let documents = words.number("documents", 400, 1..=100_000)?;
    words.end()?;
    let one = Pool::new(current_workers())?;
    let alike = serve(&one, &one, documents);
    let arena = Arena::new(current_workers())?;
    let questions = arena.pool().priority(Priority::High).build()?;
    let background = arena.pool().priority(Priority::Low).build()?;
    let apart = serve(&questions, &background, documents);
    if alike.answers != apart.answers || alike.read != apart.read {
        return Err("the answers are not the same".into());
    }
    for (name, served) in [("one queue for both", &alike), ("with priorities", &apart)] {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let (middle, worst) = (
            served.times[served.times.len() / 2],
            served.times[served.times.len() - 1],
        );
        eprintln!(
            "{name}: an answer takes {:.2} ms (median), {:.2} ms (worst); all is done after {:.0} ms",
            ms(middle),
            ms(worst),
            ms(served.whole),
        );
    }
    writeln!(out, "{QUESTIONS} answers, {documents} documents read")?;
    Ok(())
}

struct Served {
    answers: Vec<u64>,
    /// A sum over all documents.
    read: u64,
    /// Of each answer, in order of size.
    times: Vec<Duration>,
    whole: Duration,
}

/// Hands all documents to one pool, and then asks the other one questions, one after the other.
fn serve(questions: &Pool, background: &Pool, documents: u64) -> Served {
    let started = Instant::now();
    let (sender, read) = mpsc::channel();
    for document in 0..documents {
        let sender = sender.clone();
        background.spawn(move || {
            // Nobody listens any more if an answer has panicked.
            let _ = sender.send(work(document, 500_000));
        });
    }
    drop(sender);
    let (mut answers, mut times) = (Vec::new(), Vec::new());
    for question in 0..QUESTIONS {
        let asked = Instant::now();
        let parts = || {
            map_reduce(
                0..8,
                0,
                |part| work(question * 8 + part as u64, 20_000),
                u64::wrapping_add,
            )
        };
        answers.push(questions.install(parts));
        times.push(asked.elapsed());
    }
    times.sort();
    let read = read.iter().fold(0, u64::wrapping_add);
    Served {
        answers,
        read,
        times,
        whole: started.elapsed(),
    }
}

/// Stands for real work, and takes so many turns.
fn work(seed: u64, turns: u32) -> u64 {
    (0..turns).fold(seed, |number, _| random(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_do_not_depend_on_priorities() {
        let text = roving_examples::output(program, &["10"]).unwrap();
        assert_eq!(text, "20 answers, 10 documents read\n");
        assert!(roving_examples::output(program, &["0"]).is_err());
    }
}
