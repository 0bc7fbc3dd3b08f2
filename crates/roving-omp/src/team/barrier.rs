//! Where the threads of a team wait for all of them.
//!
//! A thread that comes has drained its task stack first: all that it has spawned has ended, also
//! what others took of it, and all that this has spawned. So when all have come, no task is left,
//! but for those that wait for an event ([`Loose`](crate::task::loose::Loose)), for which the last
//! one waits. A thread that has come looks for tasks in the stacks of those that have not.
//!
//! **Sleep.** As long as the region has spawned no task, all that wait sleep at the barrier's gate,
//! and one call of the system wakes them all: who woke them one by one could lose its core in
//! between, and with it the rest of the team. The first task wakes them to look for tasks. From
//! then on a thread that sleeps here is an idle worker in the sense of Roving's protocol, so a task
//! that is published wakes it; it counts as a sleeper of the gate as well, for the end of the wait.

use std::sync::Once;

use roving::raw;

use roving::raw::hosted;

use super::thread::Thread;
use super::{Team, tasks};
use crate::sync::barrier::Barrier;
use crate::sync::patience::WaitPatience;
use crate::task::TaskKind;

impl Team {
    /// Waits for all threads, and all tasks. True if the region was cancelled, which only barriers
    /// that can be asks.
    pub(crate) fn wait_for_all(&self, thread: &Thread, barrier: &Barrier, cancels: bool) -> bool {
        let threads = self.threads();
        let (task, kind) = (thread.task(), thread.task().kind.get());
        match task.is_implicit() {
            true => task.kind.set(TaskKind::AtBarrier),
            false if threads > 1 => self.tell_of_task(thread),
            false => {}
        }
        task.drain();
        if threads == 1 {
            tasks::wait_for_loose(self, thread);
        } else if let Some(round) = barrier.arrive(threads) {
            self.wait_for_round(thread, barrier, round, cancels);
        } else {
            tasks::wait_for_loose(self, thread);
            barrier.open(|| self.meeting.wake_parked());
        }
        task.kind.set(kind);
        cancels && self.is_cancelled()
    }

    /// Says under `ROVING_WATCH` that a task has come to a barrier, once in a process. Such a
    /// program stands still sooner or later, and then elsewhere: the thread that runs the task is
    /// counted here, and once more where it comes by itself.
    #[cold]
    fn tell_of_task(&self, thread: &Thread) {
        static ONCE: Once = Once::new();
        if raw::reports::watch_patience().is_some() {
            ONCE.call_once(|| {
                let (num, threads) = (thread.num(), self.threads());
                raw::reports::tell_standstill(&format!(
                    "roving-omp: thread {num} of {threads} has come to a barrier inside of a task. \
                     A barrier waits for all threads of a region, and a task is run by one of them, \
                     which cannot come to its own barrier meanwhile: the program cannot go on as it \
                     should.\n"
                ));
            });
        }
    }

    fn wait_for_round(&self, thread: &Thread, barrier: &Barrier, round: u64, cancels: bool) {
        let is_over = || barrier.rounds.number() != round || cancels && self.is_cancelled();
        let is_called = || is_over() || self.loose.mail.has_some();
        let (mut patience, mut looks) = (WaitPatience::default(), 0);
        loop {
            // What is left there by then may be of the next region, which begins elsewhere.
            if is_over() {
                return;
            }
            if self.loose.mail.has_some() {
                tasks::serve(self, thread, |_| true);
                continue;
            }
            let has_tasks = self.meeting.has_tasks();
            if has_tasks && hosted::steal(looks) {
                (patience, looks) = (WaitPatience::default(), 0);
                continue;
            }
            looks += 1;
            if patience.pause() {
                continue;
            }
            match has_tasks {
                true => barrier.rounds.asleep(|| hosted::sleep_until(is_called)),
                false => barrier
                    .rounds
                    .sleep(|_| is_called() || self.meeting.has_tasks()),
            }
        }
    }
}
