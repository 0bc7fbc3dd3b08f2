//! The way of a task into its scope: onto the stack of who spawns it, or into the scope's queue.

use std::sync::Arc;

use super::Scope;
use super::spawned::{SendTask, Task, run_spawned};
use crate::inherit::node;
use crate::stack::line::current_line;
use crate::stack::slot::{apart, fits};
use crate::workers::Worker;
use crate::workers::enter::run_in;
use crate::workers::job::Job;
use crate::workers::stranded::Stranded;

/// A task for which there is no room on the stack is run in the place of the call.
pub(super) const IN_PLACE: bool = true;
/// It is kept in the scope.
pub(super) const KEPT: bool = false;

impl<'scope> Scope<'scope> {
    #[inline(always)]
    pub(super) fn spawn_or<const FULL: bool, F>(&self, f: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        if const { fits::<Task<'scope, F>>() } {
            self.spawn_in_slot::<FULL, F>(f);
        } else {
            let boxed = Box::new(f);
            self.spawn_in_slot::<FULL, _>(move |scope: &Scope<'scope>| boxed(scope));
        }
    }

    #[inline(always)]
    fn spawn_in_slot<const FULL: bool, F>(&self, f: F)
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        // SAFETY: a thread's line pointer leads to the line of its own worker, or to the alarm,
        // whose limits let nobody through.
        let line = unsafe { &*current_line() };
        match line.place_unjoined() {
            // SAFETY: the slot at the top is free and private, and this thread's; nothing has
            // happened since.
            Some(slot) if line.is_of(self.pool) => unsafe {
                (*slot).fill(run_spawned::<F>, Task { scope: self, f });
                line.push_unjoined(slot);
            },
            _ => self.spawn_slowly::<FULL, F>((apart(f),)),
        }
    }

    /// More is to be done than to push the task, or there is no room. The task comes in a tuple,
    /// which is memory of its own: its words need none on the fast path.
    #[inline(never)]
    fn spawn_slowly<const FULL: bool, F>(&self, (f,): (F,))
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        // SAFETY: as in `spawn_in_slot`.
        let line = unsafe { &*current_line() };
        let is_full = line.is_plainly_full() && line.is_of(self.pool);
        if FULL == IN_PLACE && is_full && !self.may_drop() {
            // SAFETY: this scope is alive: it was borrowed for this call.
            return unsafe { Task { scope: self, f }.run() };
        }
        self.spawn_rarely::<FULL, F>((f,));
    }

    /// [`Self::spawn_slowly`] where the stack is not plainly full.
    #[cold]
    #[inline(never)]
    fn spawn_rarely<const FULL: bool, F>(&self, (f,): (F,))
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        Worker::with_current(|worker| match worker {
            Some(worker) if Arc::ptr_eq(worker.registry(), self.registry()) => {
                match worker.owner().place_unjoined_slowly() {
                    // SAFETY: the slot at the top is free and private, and this thread's.
                    Ok(slot) => worker.wake_if(unsafe {
                        (*slot).fill(run_spawned::<F>, Task { scope: self, f });
                        worker.owner().filled_slowly()
                    }),
                    Err(wake) => {
                        worker.wake_if(wake);
                        // What is dropped in any case need not be kept until then; and in a forked
                        // child the queue is not there.
                        let is_dropped = || self.may_drop() && self.is_cancelled_or_context();
                        let is_kept = || !is_dropped() && !self.registry().is_left_behind();
                        match FULL == IN_PLACE || !is_kept() {
                            true => self.spawn_unpushed(worker, (f,)),
                            false => self.spawn_from_outside((f,)),
                        }
                    }
                }
            }
            _ => self.spawn_from_outside((f,)),
        });
    }

    /// There is no room on the stack.
    #[cold]
    #[inline(never)]
    fn spawn_unpushed<F>(&self, worker: &Worker, (f,): (F,))
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        // SAFETY: this scope is alive: it was borrowed for this call.
        unsafe { Task { scope: self, f }.run_or_drop() };
        Stranded(worker).run();
    }

    #[cold]
    fn spawn_from_outside<F>(&self, (f,): (F,))
    where
        F: FnOnce(&Scope<'scope>) + Send + 'scope,
    {
        let remote = self.remote();
        let task = SendTask(Task { scope: self, f });
        let context = node::current();
        let job = move || {
            let SendTask(task) = { task };
            // SAFETY: the scope waits until this job has ended.
            run_in(context.as_ref(), || unsafe { task.run_or_drop() });
        };
        // SAFETY: the scope does not end before the job has.
        remote.push(self.registry(), unsafe { Job::borrowing(job) });
    }
}
