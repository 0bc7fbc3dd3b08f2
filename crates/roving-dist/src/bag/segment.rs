//! The tasks that one worker has: run newest first, and given away in halves.
//!
//! Every few microseconds, between two tasks, the worker looks around: it polls, gives half of its
//! tasks to a rank that asks, and sees to it that an idle worker of its own pool finds something:
//! it keeps half of its tasks as a task of the pool, which thieves steal as any other, or which it
//! runs itself in the end.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use roving::Scope;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::local::Local;
use super::message::Message;
use super::rank::Rank;
use super::tasks::Tasks;

/// How often a worker looks around, if that is quickly done.
pub const LOOK: Duration = Duration::from_micros(10);
/// About how seldom at most, if it takes long.
const LOOK_MAX: Duration = Duration::from_millis(1);
/// Time between two looks over that of a look, about. An MPI library that yields the core where
/// there are more ranks than cores, as Open MPI does, has another rank run its tasks during a look:
/// with a look each 10 µs, four ranks on two cores changed places 180,000 times a second, which
/// took a fifth of the time.
const LOOK_SHARE: u32 = 10;
/// Most tasks between two looks.
const TOGETHER_MAX: usize = 1 << 16;
/// Most tasks between two looks at the clock: so many of a kind that takes longer than those before
/// are run without looking around, and no more.
const CLOCK: usize = 64;

/// A worker's next step after it has looked around.
#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    /// Hand back what it has.
    Stop,
}

/// How far the next look is away.
struct Together {
    /// How many tasks are run before it: as many as last took about as long as `apart`.
    count: usize,
    apart: Duration,
}

impl Together {
    fn new(count: usize) -> Together {
        let apart = LOOK;
        Together { count, apart }
    }

    /// Has tasks run until it is time for a look, and returns when that is. The last look began at
    /// `looked`. `some` runs so many tasks; it says how many there were, and whether none is left.
    fn run(
        &mut self,
        looked: Instant,
        mut clock: impl FnMut() -> Instant,
        mut some: impl FnMut(usize) -> (usize, bool),
    ) -> Instant {
        let (begin, mut count) = (clock(), 0);
        self.look_took(begin.saturating_duration_since(looked));
        loop {
            let (ran, is_last) = some(CLOCK.min(self.count - count));
            count += ran;
            let now = clock();
            let took = now.duration_since(begin);
            if is_last || took > self.apart || count >= self.count {
                self.ran(count, took);
                return now;
            }
        }
    }

    /// Looks that are quick bring `apart` back step by step: not all are slow on a crowded core.
    fn look_took(&mut self, took: Duration) {
        let least = (took * LOOK_SHARE).min(LOOK_MAX);
        self.apart = least.max(self.apart / 2).max(LOOK);
    }

    /// So many tasks have taken so long.
    fn ran(&mut self, count: usize, took: Duration) {
        if took > self.apart {
            let fits = count as u128 * self.apart.as_nanos() / took.as_nanos();
            self.count = (fits as usize).clamp(1, TOGETHER_MAX);
        } else if took < self.apart / 2 && count >= self.count {
            self.count = (self.count * 2).min(TOGETHER_MAX);
        }
    }
}

/// Tasks that wait in the pool for a thief, or for the worker they came from.
#[derive(Default)]
struct Offered(Option<Arc<AtomicBool>>);

impl Offered {
    /// Whether none waits.
    fn is_gone(&self) -> bool {
        // Ordering: Relaxed; a hint that another half may be offered.
        self.0
            .as_ref()
            .is_none_or(|begun| begun.load(Ordering::Relaxed))
    }
}

/// Gives up the run of this rank, unless it is forgotten.
struct Unwinds<'r>(&'r super::state::SharedBag);

impl Drop for Unwinds<'_> {
    fn drop(&mut self) {
        self.0.with(|state| state.is_given_up = true);
    }
}

impl<T, R, F> Rank<'_, T, R, F>
where
    T: Serialize + DeserializeOwned + Send + 'static,
    R: Default + Serialize + DeserializeOwned + Send + 'static,
    F: Fn(T, &mut Local<'_, T, R>) + Sync,
{
    /// Runs `tasks` and what comes of them.
    pub(super) fn segment<'s>(&'s self, scope: &Scope<'s>, tasks: Tasks<T>) {
        self.shared.with(|state| state.running += 1);
        let unwinds = Unwinds(&self.shared);
        let mut local = Local {
            tasks,
            result: R::default(),
            reduce: self.reduce,
        };
        let mut offered = Offered::default();
        let mut together = Together::new(1);
        let mut now = Instant::now();
        while self.look(scope, &mut local, &mut offered, now) == Next::GoOn {
            now = together.run(now, Instant::now, |most| {
                let count = self.run_some(&mut local, most);
                (count, local.tasks.is_empty())
            });
        }
        self.hand_back(local);
        std::mem::forget(unwinds);
    }

    /// Runs so many tasks, if there are as many; how many it were.
    fn run_some(&self, local: &mut Local<'_, T, R>, most: usize) -> usize {
        for count in 0..most {
            let Some(task) = local.tasks.pop() else {
                return count;
            };
            (self.work)(task, local);
        }
        most
    }

    /// Looks around.
    fn look<'s>(
        &'s self,
        scope: &Scope<'s>,
        local: &mut Local<'_, T, R>,
        offered: &mut Offered,
        now: Instant,
    ) -> Next {
        if self.ranks > 1 {
            self.shared.link.poll();
        }
        if self.shared.calls(now) && self.answer(local, now) == Next::Stop {
            return Next::Stop;
        }
        let is_over = self.shared.link.is_faulty() || roving::is_cancelled();
        if local.tasks.is_empty() || is_over {
            return Next::Stop;
        }
        if self.workers > 1 && local.tasks.len() > 1 && offered.is_gone() {
            let half = local.half();
            let begun = Arc::new(AtomicBool::new(false));
            offered.0 = Some(Arc::clone(&begun));
            self.shared.with(|state| state.offered += 1);
            scope.spawn(move |scope| {
                // Ordering: Relaxed, as in `Offered::is_gone`.
                begun.store(true, Ordering::Relaxed);
                self.shared.with(|state| state.offered -= 1);
                self.segment(scope, half);
            });
        }
        Next::GoOn
    }

    /// Does what the state calls for.
    #[cold]
    fn answer(&self, local: &mut Local<'_, T, R>, now: Instant) -> Next {
        let come = self.shared.with(|state| {
            state.cuts.begin(now);
            let stops = state.is_given_up || state.cuts.is_due();
            (!stops).then(|| state.take_tasks())
        });
        let Some(come) = come else {
            return Next::Stop;
        };
        for bytes in come {
            let tasks: Vec<T> = self.decode(&bytes).unwrap_or_default();
            local.tasks.extend(tasks);
        }
        while local.tasks.len() > 1 {
            let thief = self.shared.with(|state| {
                let thief = state.next_thief()?;
                state.engagement.sends();
                // Nothing is recorded while this worker runs, so the number is that of the sending.
                Some((thief, state.cuts.recorded()))
            });
            let Some(((thief, answers_ask), cuts)) = thief else {
                return Next::GoOn;
            };
            let half = self.encode(&*local.half()).unwrap_or_default();
            let message = Message::Tasks {
                answers_ask,
                cuts,
                bytes: &half,
            };
            self.shared.send(thief, message);
        }
        // Ranks that ask are told that there is nothing, unless another worker of this rank may
        // have more.
        let refused = self.shared.with(|state| match state.running {
            1 => std::mem::take(&mut state.asking),
            _ => VecDeque::new(),
        });
        for rank in refused {
            self.shared.send(rank, Message::Nothing);
        }
        Next::GoOn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// How many tasks are run before the next look, where each takes so long.
    fn between_looks(together: &mut Together, task: Duration) -> usize {
        let (begin, count) = (Instant::now(), Cell::new(0));
        let clock = || begin + task * count.get() as u32;
        together.run(begin, clock, |most| {
            count.set(count.get() + most);
            (most, false)
        });
        count.get()
    }

    #[test]
    fn tasks_that_become_slow_are_few_before_the_next_look_and_one_after_it() {
        let mut together = Together::new(1);
        for _ in 0..40 {
            between_looks(&mut together, Duration::from_nanos(1));
        }
        assert!(together.count > 4000, "{}", together.count);
        let slow = Duration::from_millis(1);
        assert_eq!(between_looks(&mut together, slow), CLOCK);
        assert_eq!(between_looks(&mut together, slow), 1);
    }

    #[test]
    fn looks_are_as_far_apart_as_they_should_be() {
        for nanos in [3, 50, 700, 4000, 20_000] {
            let (task, mut together) = (Duration::from_nanos(nanos), Together::new(1));
            for _ in 0..40 {
                between_looks(&mut together, task);
            }
            let count = between_looks(&mut together, task);
            let took = task * count as u32;
            assert!(took >= LOOK / 2 && took <= LOOK * 2, "{nanos} ns: {took:?}");
        }
    }

    #[test]
    fn looks_that_take_long_are_far_apart() {
        let (task, mut together) = (Duration::from_micros(1), Together::new(1));
        let now = Cell::new(Instant::now());
        let mut between = |look: Duration| {
            let looked = now.get();
            now.set(looked + look);
            let begin = now.get();
            together.run(
                looked,
                || now.get(),
                |most| {
                    now.set(now.get() + task * most as u32);
                    (most, false)
                },
            );
            now.get() - begin
        };
        let settled = |between: &mut dyn FnMut(Duration) -> Duration, look| {
            (0..40).for_each(|_| {
                between(look);
            });
            between(look)
        };
        for (micros, least) in [(20, 100), (60, 300), (500, 500), (30_000, 500)] {
            let took = settled(&mut between, Duration::from_micros(micros));
            let least = Duration::from_micros(least);
            assert!(took >= least && took <= 2 * LOOK_MAX, "{micros}: {took:?}");
        }
        let took = settled(&mut between, Duration::from_nanos(300));
        assert!(took <= 2 * LOOK, "{took:?}");
    }

    #[test]
    fn few_tasks_do_not_make_it_many() {
        let (begin, mut together) = (Instant::now(), Together::new(8));
        together.run(begin, || begin, |_| (1, true));
        assert_eq!(together.count, 8);
    }
}
