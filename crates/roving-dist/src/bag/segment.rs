//! The tasks that one worker has: run newest first, and given away in halves.
//!
//! Every few microseconds, between two tasks, the worker looks around: it polls, gives half of its tasks to a
//! rank that asks, and sees to it that an idle worker of its own pool finds something: it keeps half of its tasks
//! as a task of the pool, which thieves steal as any other, or which it runs itself in the end.

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

/// How often a worker looks around.
const LOOK: Duration = Duration::from_micros(10);
/// Most tasks between two looks.
const TOGETHER_MAX: usize = 1 << 16;

/// What a worker is to do after it has looked around.
#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    /// Hand back what it has.
    Stop,
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
struct Unwinds<'r>(&'r super::state::Shared);

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
    pub(super) fn segment<'s>(&'s self, scope: &Scope<'s>, tasks: Vec<T>) {
        self.shared.with(|state| state.running += 1);
        let unwinds = Unwinds(&self.shared);
        let mut local = Local {
            tasks,
            result: R::default(),
            reduce: self.reduce,
        };
        let mut offered = Offered::default();
        let mut together = 1;
        let mut before = Instant::now();
        while self.look(scope, &mut local, &mut offered, before) == Next::GoOn {
            for _ in 0..together {
                let Some(task) = local.tasks.pop() else {
                    break;
                };
                (self.work)(task, &mut local);
            }
            let now = Instant::now();
            let took = now.duration_since(before);
            before = now;
            if took < LOOK / 2 {
                together = (together * 2).min(TOGETHER_MAX);
            } else if took > LOOK {
                together = (together / 2).max(1);
            }
        }
        std::mem::forget(unwinds);
        self.hand_back(local);
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
        if local.tasks.is_empty() || self.shared.link.is_faulty() {
            return Next::Stop;
        }
        if self.workers > 1 && local.tasks.len() > 1 && offered.is_gone() {
            let half = local.half();
            let begun = Arc::new(AtomicBool::new(false));
            offered.0 = Some(Arc::clone(&begun));
            scope.spawn(move |scope| {
                // Ordering: Relaxed, as in `Offered::is_gone`.
                begun.store(true, Ordering::Relaxed);
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
            let half = self.encode(&local.half()).unwrap_or_default();
            let message = Message::Tasks {
                answers_ask,
                cuts,
                bytes: &half,
            };
            self.shared.send(thief, message);
        }
        // Who asks hears that there is nothing, unless another worker of this rank may have more.
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
