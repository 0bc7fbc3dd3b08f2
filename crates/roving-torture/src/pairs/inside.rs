//! The process that runs programs. It may die of one, so it says which it begins.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::cover::Cover;
use super::generate::Recipe;
use super::name::Name;
use super::run;
use crate::dog::Dog;
use crate::random::mix2;

/// The work of the process.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub(crate) seed: u64,
    pub(crate) time: Duration,
    pub(crate) recipe: Recipe,
    /// Where the counts of all come from, and where its own go.
    pub(crate) covers: [PathBuf; 2],
}

/// Runs programs until the time is over; false if one was wrong.
pub(crate) fn chunk(chunk: &Chunk, dog: &Dog) -> bool {
    // A panic that a program wants is no news.
    std::panic::set_hook(Box::new(|_| ()));
    let [all, own] = &chunk.covers;
    let (mut cover, mut added) = (Cover::read(all), Cover::new());
    let start = Instant::now();
    let mut number = 0;
    while start.elapsed() < chunk.time {
        let (name, program) = cover.choose(mix2(chunk.seed, number), &chunk.recipe);
        number += 1;
        // Who started this process takes the last of these lines if it dies.
        say(&name.words().join(" "));
        let leash = dog.watch(format!("program {program}"), name.replay());
        match run::program(&program) {
            Ok(runs) => {
                cover.add(&program, &runs);
                added.add(&program, &runs);
            }
            Err(text) => {
                eprintln!("program {number} of this process: {text}");
                return false;
            }
        }
        drop(leash);
    }
    added.write(own).is_ok()
}

fn say(line: &str) {
    let mut out = io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}

/// Runs one program so often; the error is what was wrong.
pub(crate) fn replay(name: &Name, times: u64, dog: &Dog) -> Result<String, String> {
    std::panic::set_hook(Box::new(|_| ()));
    let program = name.program();
    eprintln!("{program}");
    for time in 0..times {
        let leash = dog.watch(format!("program {program}"), name.replay());
        run::program(&program).map_err(|text| format!("time {time}: {text}"))?;
        drop(leash);
    }
    Ok(format!("all right {times} times"))
}
