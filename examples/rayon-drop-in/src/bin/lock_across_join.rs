//! A lock that is held across a parallel call: a program that stock Rayon hangs on.
//!
//! Three threads that belong to no pool each make requests. A request is a `par_iter` whose items
//! lock one mutex and, while they hold it, run a `par_iter` of their own. Nothing here waits for
//! anything but that mutex, and whoever holds it can always go on, so the program ends; but a
//! thread of Rayon's that waits for the stolen half of its inner `par_iter` may begin another
//! request meanwhile, on top of its own stack. That request wants the mutex which the frame below
//! it holds (<https://github.com/rayon-rs/rayon/issues/592>). On Roving a waiting worker runs
//! nothing but its own subtasks and those of who holds them.
//!
//! ```text
//! cargo run --release --bin lock_across_join      # on Roving, by the two lines in Cargo.toml
//! cargo run --release --bin lock_across_join 20   # patience in seconds [default: 5]
//! ```
//!
//! Exit status 0: all requests were answered. 3: hung, by the watchdog. 2: a wrong word.
#![forbid(unsafe_code)]

use std::process::{ExitCode, exit};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use rayon::prelude::*;

/// Threads of the pool; callers besides them; requests of each; items of a request; parts of an
/// item.
const THREADS: usize = 2;
const CALLERS: u64 = 3;
const REQUESTS: u64 = 1000;
const ITEMS: u64 = 2;
const PARTS: u64 = 2;
/// How long the first part takes. The others take longer, so that who has the first ones waits.
const PART: Duration = Duration::from_micros(100);

/// The state that all requests add to.
#[derive(Default)]
struct Shared {
    total: Mutex<u64>,
    /// Items that are done, for the watchdog.
    done: AtomicU64,
}

impl Shared {
    fn request(&self, number: u64) {
        (0..ITEMS).into_par_iter().for_each(|item| {
            let mut total = self.total.lock().unwrap_or_else(PoisonError::into_inner);
            // The lock is held from here to the end of the item.
            let parts = (0..PARTS).into_par_iter().map(|part| {
                sleep(PART * (1 + part as u32));
                number + item + part
            });
            *total += parts.sum::<u64>();
            // Ordering: only a count for a watching thread.
            self.done.fetch_add(1, Ordering::Relaxed);
        });
    }
}

/// Ends the process when no item was done for `patience`.
fn watch(shared: &Shared, patience: Duration) {
    // Ordering: only a count.
    let done = || shared.done.load(Ordering::Relaxed);
    let all = CALLERS * REQUESTS * ITEMS;
    let (mut before, mut since) = (done(), Instant::now());
    while before < all {
        sleep(Duration::from_millis(20));
        if done() != before {
            (before, since) = (done(), Instant::now());
        } else if since.elapsed() > patience {
            println!("hung: {before} of {all} items done, and none in the last {patience:?}");
            exit(3);
        }
    }
}

/// The value of `total` at the end.
fn expected() -> u64 {
    let mut sum = 0;
    for number in 0..REQUESTS {
        for item in 0..ITEMS {
            sum += (0..PARTS).map(|part| number + item + part).sum::<u64>();
        }
    }
    sum * CALLERS
}

fn run(patience: Duration) -> Result<(), String> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(THREADS);
    pool.build_global()
        .map_err(|error| format!("no pool: {error}"))?;
    let shared = Shared::default();
    let start = Instant::now();
    thread::scope(|scope| {
        scope.spawn(|| watch(&shared, patience));
        for caller in 1..=CALLERS {
            let shared = &shared;
            scope.spawn(move || {
                for number in 0..REQUESTS {
                    // Requests come when they like.
                    sleep(PART * (caller * number % 7) as u32);
                    shared.request(number);
                }
            });
        }
    });
    let total = shared.total.into_inner();
    let (total, want) = (total.unwrap_or_else(PoisonError::into_inner), expected());
    if total != want {
        return Err(format!("the total is {total}, not {want}"));
    }
    let items = CALLERS * REQUESTS * ITEMS;
    println!("finished: {items} items done in {:?}", start.elapsed());
    Ok(())
}

fn main() -> ExitCode {
    let mut patience = 5;
    if let Some(word) = std::env::args().nth(1) {
        match word.parse() {
            Ok(seconds @ 1..=3600) => patience = seconds,
            _ => {
                eprintln!(
                    "lock_across_join: patience `{word}` is not allowed: want seconds from 1 to 3600; \
                     leave it out for 5"
                );
                return ExitCode::from(2);
            }
        }
    }
    match run(Duration::from_secs(patience)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("lock_across_join: {why}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On stock Rayon the watchdog ends this test's process.
    #[test]
    fn all_requests_are_answered() {
        assert_eq!(run(Duration::from_secs(20)), Ok(()));
    }
}
