//! The row `stops`: 64 workers on few processors, whose threads are stopped at random moments.

#[cfg(target_os = "linux")]
mod signal;

use crate::row::{Outcome, RowFigure, RowRun};

/// Workers of the pool.
#[cfg(target_os = "linux")]
const WORKERS: usize = 64;
/// Threads that hand in programs.
#[cfg(target_os = "linux")]
const CLIENTS: usize = 3;
/// Most tasks of a program.
#[cfg(target_os = "linux")]
const TASKS_MAX: u64 = 20_000;
/// The goal of the full run.
#[cfg(target_os = "linux")]
const STOPS: f64 = 1e5;
#[cfg(target_os = "linux")]
const PROGRAMS: f64 = 2e4;

/// Elsewhere threads cannot be stopped from without.
#[cfg(not(target_os = "linux"))]
pub(crate) fn run(_: &RowRun<'_>) -> Outcome {
    Ok(vec![RowFigure::skipped("workers stopped", "stops")])
}

#[cfg(target_os = "linux")]
pub(crate) use linux::run;

#[cfg(target_os = "linux")]
mod linux {
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
    use std::sync::{Mutex, PoisonError};
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::census::Census;
    use crate::programs::Disturbed;
    use crate::random::{SplitMix, mix2};
    use crate::row::BrokenPromise;
    use crate::system;

    /// The state that the threads of the row share.
    #[derive(Default)]
    struct StopsState {
        over: AtomicBool,
        programs: AtomicU64,
        tasks: AtomicU64,
        turns: AtomicU64,
        failure: Mutex<Option<String>>,
    }

    pub(crate) fn run(run: &RowRun<'_>) -> Outcome {
        let failed = |text: String| run.failure(text);
        signal::prepare().map_err(|error| failed(format!("no signal can be had: {error}")))?;
        let pool = Disturbed::pool(WORKERS, "stops").map_err(|error| failed(error.to_string()))?;
        let pool = Disturbed::new(pool);
        let shared = StopsState::default();
        let stops = run.part_of(STOPS, 100.0);
        let programs = run.part_of(PROGRAMS, 10.0);
        thread::scope(|threads| {
            for number in 0..CLIENTS {
                let (shared, pool) = (&shared, &pool);
                threads.spawn(move || client(number as u64, shared, pool, run));
            }
            let disturber = threads.spawn(|| disturb(run.seed, &shared));
            let enough = || {
                signal::stops() as f64 >= stops && shared.programs.load(Relaxed) as f64 >= programs
            };
            while !run.is_over(enough()) && !shared.over.load(Relaxed) {
                thread::sleep(Duration::from_millis(20));
                let done = shared.programs.load(Relaxed);
                run.tell(|| format!("{done} programs, {} stops", signal::stops()));
            }
            shared.over.store(true, Relaxed);
            // It ends soon: it looks at `over` between two stops.
            let _ = disturber.join();
        });
        let leash = run.dog.watch("the end of 64 workers", run.replay());
        pool.end();
        drop(leash);
        if let Some(text) = failure(&shared) {
            return Err(BrokenPromise {
                text,
                replay: run.replay(),
            });
        }
        let figure = |count: &AtomicU64| count.load(Relaxed) as f64;
        Ok(vec![
            RowFigure::at_least(
                "times that a thread was stopped",
                signal::stops() as f64,
                stops,
                "stops",
            ),
            RowFigure::at_least(
                "programs run meanwhile",
                figure(&shared.programs),
                programs,
                "programs",
            ),
            RowFigure::at_most("programs wrong, lost or hung", 0.0, 0.0, "programs"),
            RowFigure::told("tasks run meanwhile", figure(&shared.tasks), "tasks"),
            RowFigure::told(
                "changes of priority and processor",
                figure(&shared.turns),
                "changes",
            ),
            RowFigure::told("workers", WORKERS as f64, "workers"),
        ])
    }

    fn failure(shared: &StopsState) -> Option<String> {
        let failure = shared.failure.lock();
        failure.unwrap_or_else(PoisonError::into_inner).take()
    }

    fn client(number: u64, shared: &StopsState, pool: &Disturbed, run: &RowRun<'_>) {
        let census = Census::leak();
        let mut turn = 0;
        while !shared.over.load(Relaxed) {
            let seed = mix2(run.seed ^ number << 60, turn);
            turn += 1;
            match pool.one(seed, TASKS_MAX, census, run.dog, &run.replay()) {
                Ok(tasks) => {
                    shared.programs.fetch_add(1, Relaxed);
                    shared.tasks.fetch_add(tasks, Relaxed);
                }
                Err(text) => {
                    let failure = shared.failure.lock();
                    *failure.unwrap_or_else(PoisonError::into_inner) =
                        Some(format!("program {seed}: {text}"));
                    shared.over.store(true, Relaxed);
                }
            }
        }
    }

    /// Stops threads for some time, one or many at once, and moves them about.
    fn disturb(seed: u64, shared: &StopsState) {
        let mut random = SplitMix::new(seed ^ 0x57_0B);
        let mut threads = Vec::new();
        let mut rounds = 0_u64;
        while !shared.over.load(Relaxed) {
            if rounds.is_multiple_of(64) || threads.is_empty() {
                // Compensation threads come and go.
                threads = system::threads_named("stops-");
                if threads.is_empty() {
                    thread::sleep(Duration::from_millis(1));
                    continue;
                }
            }
            rounds += 1;
            let pause_us = random.pick(&[50, 200, 1_000, 5_000, 20_000]);
            signal::set_pause_us(pause_us);
            for _ in 0..random.pick(&[1, 1, 2, 8, 40]) {
                signal::stop(random.pick(&threads));
            }
            if random.one_in(4) {
                let thread = random.pick(&threads);
                let done = match random.one_in(2) {
                    true => signal::set_nice(thread, random.below(20) as i32),
                    false => signal::set_processors(thread, random.next()),
                };
                shared.turns.fetch_add(u64::from(done), Relaxed);
            }
            thread::sleep(Duration::from_micros(random.pick(&[0, 20, 500, 3_000])));
        }
    }
}
