//! What the threads of one pool share.

use std::any::Any;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle, Thread};
use std::time::Instant;

use super::builder::Settings;
use crate::inject::{Job, Queue};
use crate::sleep::idle::IdleSet;
use crate::sleep::spares::Spares;
use crate::stack::{Showing, TaskStack};
use crate::stats::{Clock, Profile, WorkerProfile};
use crate::worker::run_thread;

/// What others see of one worker, or of a spare thread.
pub(crate) struct Seat {
    pub(crate) stack: TaskStack,
    pub(crate) mailbox: Queue,
    pub(crate) clock: Clock,
    /// Set when the thread has started.
    pub(crate) thread: OnceLock<Thread>,
}

impl Seat {
    /// Wakes the seat's thread, if it has started; a thread looks around before it first sleeps.
    pub(crate) fn unpark(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// A pool's shared state. The pool and each of its threads hold it.
pub(crate) struct Registry {
    /// The workers, then the spare threads.
    pub(crate) seats: Box<[Seat]>,
    pub(crate) settings: Settings,
    pub(crate) idle: IdleSet,
    pub(crate) injector: Queue,
    pub(crate) spares: Spares,
    /// How many seats have had a thread: the workers, and the spare threads started so far.
    in_use: AtomicUsize,
    pub(crate) threads: Mutex<Vec<JoinHandle<()>>>,
    started: Mutex<Instant>,
    /// The lock of an in-place pool: who holds it is the pool's worker.
    pub(crate) in_place: Mutex<()>,
    /// Set when no work will come from outside any more: threads end when there is none left. They
    /// end together, because a thief writes into the thread-local memory of its victims.
    last_call: OnceLock<Barrier>,
}

impl Registry {
    pub(crate) fn new(settings: Settings) -> Registry {
        let workers = settings.workers;
        let spares = if settings.in_place {
            0
        } else {
            settings.spares
        };
        let showing = Showing {
            slots: settings.slots,
            unasked: (workers - 1).min(UNASKED_MAX),
            everything: settings.amount == crate::Amount::Half,
            counting: settings.profile,
        };
        let seat = |_| Seat {
            stack: TaskStack::new(showing),
            mailbox: Queue::new(),
            clock: Clock::new(settings.profile),
            thread: OnceLock::new(),
        };
        Registry {
            seats: (0..workers + spares).map(seat).collect(),
            idle: IdleSet::new(workers + spares),
            injector: Queue::new(),
            spares: Spares::new(workers, settings.cores),
            in_use: AtomicUsize::new(workers),
            threads: Mutex::new(Vec::new()),
            started: Mutex::new(Instant::now()),
            in_place: Mutex::new(()),
            last_call: OnceLock::new(),
            settings,
        }
    }

    pub(crate) fn workers(&self) -> usize {
        self.settings.workers
    }

    /// The seats that a thief has to look at are those below this number.
    pub(crate) fn seats_in_use(&self) -> usize {
        // Ordering: Relaxed; a spare thread that has just started has nothing to steal.
        self.in_use.load(Ordering::Relaxed)
    }

    /// Gives the pool a job from outside the task stacks.
    pub(crate) fn inject(&self, job: Job) -> bool {
        self.injector.push(job);
        self.wake_one()
    }

    /// Wakes one sleeping worker, if there is one.
    pub(crate) fn wake_one(&self) -> bool {
        match self.idle.take_one() {
            Some(index) => {
                self.seats[index].unpark();
                true
            }
            None => false,
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.last_call.get().is_some()
    }

    /// Tells all threads to end once nothing is left to do.
    pub(crate) fn close(&self) {
        // Threads that are started are a fixed set from here on: spares start under this lock.
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        self.last_call.get_or_init(|| Barrier::new(threads.len()));
        drop(threads);
        for seat in &self.seats {
            seat.unpark();
        }
    }

    /// Waits until no thread of the pool steals any more. The pool is closing.
    pub(crate) fn wait_for_last_call(&self) {
        if let Some(barrier) = self.last_call.get() {
            barrier.wait();
        }
    }

    /// What nobody waits for has panicked.
    pub(crate) fn handle_panic(&self, payload: Box<dyn Any + Send>) {
        if let Some(handler) = &self.settings.panic_handler {
            // A handler that panics has nobody left to tell; the hook has printed its message.
            let _ = panic::catch_unwind(AssertUnwindSafe(|| handler(payload)));
        }
    }

    pub(crate) fn profile(&self) -> Profile {
        let started = *self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let mut workers = Vec::new();
        for (index, seat) in self.seats.iter().enumerate() {
            if index < self.workers() || seat.thread.get().is_some() {
                let mut worker = WorkerProfile::default();
                seat.clock.read(&mut worker);
                worker.counters = seat.stack.tally.read();
                workers.push(worker);
            }
        }
        Profile {
            wall: started.elapsed(),
            workers,
        }
    }

    pub(crate) fn reset_profile(&self) {
        for seat in &self.seats {
            seat.clock.reset();
            seat.stack.tally.reset();
        }
        *self.started.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Starts the thread of a seat. False when the pool is closing: then none is needed.
    pub(crate) fn start_thread(self: &Arc<Registry>, index: usize) -> io::Result<bool> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_closing() {
            return Ok(false);
        }
        let mut thread = thread::Builder::new().name(self.settings.thread_name(index));
        if let Some(size) = self.settings.stack_size {
            thread = thread.stack_size(size);
        }
        let registry = Arc::clone(self);
        threads.push(thread.spawn(move || run_thread(registry, index))?);
        // Ordering: Relaxed, as in `seats_in_use`.
        self.in_use.fetch_max(index + 1, Ordering::Relaxed);
        Ok(true)
    }
}

/// Most tasks that a worker shows without being asked.
const UNASKED_MAX: usize = 16;
