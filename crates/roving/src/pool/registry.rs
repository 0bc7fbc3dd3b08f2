//! What the threads of one pool share.

use std::any::Any;
use std::io;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle, ThreadId};
use std::time::Instant;

use super::builder::Settings;
use super::seats::{Seat, Seats, TaskSettings};
use crate::inject::{Job, Queue};
use crate::prim::{AtomicBool, AtomicUsize, Ordering};
use crate::sleep::idle::IdleSet;
use crate::sleep::spares::Spares;
use crate::stack::Showing;
use crate::stats::{Profile, WorkerProfile};
use crate::unwind::drop_quietly;
use crate::worker::run_thread;

/// A pool's shared state. The pool and each of its threads hold it.
pub(crate) struct Registry {
    pub(crate) seats: Seats,
    pub(crate) settings: Settings,
    pub(crate) idle: IdleSet,
    pub(crate) injector: Queue,
    pub(crate) spares: Spares,
    /// How many seats have had a thread: the workers, and the spare threads started so far.
    in_use: AtomicUsize,
    crew: Mutex<Crew>,
    /// No work will come from outside any more.
    closing: AtomicBool,
    started: Mutex<Instant>,
    /// The lock of an in-place pool: who holds it is the pool's worker.
    pub(crate) in_place: Mutex<()>,
}

/// The threads of a pool, and how many of them have nothing to do while it closes.
///
/// They end together: a thief writes into the thread-local memory of its victims, and work may
/// still come from whoever is busy. A thread counts as quiet after its last look around and until
/// it looks again, so when all are quiet, nothing runs and nothing is left.
#[derive(Default)]
struct Crew {
    threads: Vec<JoinHandle<()>>,
    started: usize,
    quiet: usize,
    ended: bool,
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
            unasked: match workers {
                1 => 0,
                _ => (workers - 1).max(settings.amount.least()).min(UNASKED_MAX),
            },
            least: settings.amount.least(),
            everything: settings.amount != crate::Amount::One,
            counting: settings.profile,
        };
        let tasks = TaskSettings {
            order: settings.spawn_order,
            migrate: settings.migrate,
        };
        Registry {
            seats: Seats::new(showing, tasks, workers, spares),
            idle: IdleSet::new(workers + spares),
            injector: Queue::new(),
            spares: Spares::new(workers, settings.cores),
            in_use: AtomicUsize::new(workers),
            crew: Mutex::new(Crew::default()),
            closing: AtomicBool::new(false),
            started: Mutex::new(Instant::now()),
            in_place: Mutex::new(()),
            settings,
        }
    }

    pub(crate) fn workers(&self) -> usize {
        self.settings.workers
    }

    /// The seats that a thief has to look at are those below this number.
    pub(crate) fn seats_in_use(&self) -> usize {
        // Ordering: Acquire. Pairs with [seat_in_use].
        self.in_use.load(Ordering::Acquire)
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

    fn crew(&self) -> MutexGuard<'_, Crew> {
        self.crew.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_closing(&self) -> bool {
        // Ordering: Relaxed; who sleeps is unparked after it was set, and looks again.
        self.closing.load(Ordering::Relaxed)
    }

    /// The calling thread is that of the seat from now on. Under the lock, so that `close` either
    /// finds it to unpark, or is seen by it.
    pub(crate) fn enlist(&self, index: usize) {
        let _crew = self.crew();
        self.seats[index].thread.get_or_init(thread::current);
    }

    /// Tells all threads to end once nothing is left to do.
    pub(crate) fn close(&self) {
        let crew = self.crew();
        // Ordering: Relaxed, as in `is_closing`.
        self.closing.store(true, Ordering::Relaxed);
        drop(crew);
        self.unpark_all();
    }

    fn unpark_all(&self) {
        for seat in self.seats.iter() {
            seat.unpark();
        }
    }

    /// The pool closes, and the calling thread has found nothing to do. If all have, it has ended.
    pub(crate) fn go_quiet(&self) {
        let mut crew = self.crew();
        crew.quiet += 1;
        crew.ended = crew.quiet == crew.started;
        if crew.ended {
            drop(crew);
            self.unpark_all();
        }
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.is_closing() && self.crew().ended
    }

    /// Unless the pool has ended, the calling thread is no longer quiet.
    pub(crate) fn has_ended_or_be_busy(&self) -> bool {
        let mut crew = self.crew();
        if !crew.ended {
            crew.quiet -= 1;
        }
        crew.ended
    }

    /// Whether that is a thread of this pool, even one that is not a worker yet, or no longer.
    pub(crate) fn is_thread_of(&self, thread: ThreadId) -> bool {
        let is_it = |seat: &Seat| seat.thread.get().is_some_and(|at| at.id() == thread);
        self.seats.iter().any(is_it)
    }

    /// The threads to join: those started since the last call.
    pub(crate) fn take_threads(&self) -> Vec<JoinHandle<()>> {
        mem::take(&mut self.crew().threads)
    }

    /// What nobody waits for has panicked. A handler, or a payload's drop, that panics too has
    /// nobody left to tell; the hook has printed its message.
    pub(crate) fn handle_panic(&self, payload: Box<dyn Any + Send>) {
        match &self.settings.panic_handler {
            Some(handler) => {
                drop_quietly(panic::catch_unwind(AssertUnwindSafe(|| handler(payload))));
            }
            None => drop_quietly(payload),
        }
    }

    pub(crate) fn profile(&self) -> Profile {
        let started = *self.started.lock().unwrap_or_else(PoisonError::into_inner);
        let profile = |seat: &Seat| {
            let mut worker = WorkerProfile::default();
            seat.clock.read(&mut worker);
            worker.counters = seat.stack.tally().read();
            worker.counters.frames_kept = seat.tasks.frames_kept();
            worker
        };
        let workers = self.seats.iter().map(profile).collect();
        Profile {
            wall: started.elapsed(),
            workers,
        }
    }

    pub(crate) fn reset_profile(&self) {
        for seat in self.seats.iter() {
            seat.clock.reset();
            seat.stack.tally().reset();
        }
        *self.started.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Starts the thread of a seat. False when the pool has ended: then none is needed.
    pub(crate) fn start_thread(self: &Arc<Registry>, index: usize) -> io::Result<bool> {
        let mut crew = self.crew();
        if crew.ended {
            return Ok(false);
        }
        self.seats.make(index);
        let mut thread = thread::Builder::new().name(self.settings.thread_name(index));
        if let Some(size) = self.settings.stack_size {
            thread = thread.stack_size(size);
        }
        let registry = Arc::clone(self);
        let thread = thread.spawn(move || run_thread(registry, index))?;
        crew.threads.push(thread);
        crew.started += 1;
        // Ordering: Edge [seat_in_use]: Release, so that who looks at the seat finds it made.
        self.in_use.fetch_max(index + 1, Ordering::Release);
        Ok(true)
    }
}

/// Most tasks that a worker shows without being asked. In a recursion that turns to its second half
/// at the depth of its first, the number of tasks that are pushed at depth d grows like a binomial
/// coefficient: `fib(40)` on 8 workers publishes 2.8 million times with 7 shown (30 thousand with
/// 3), a quarter of its time on two cores. Fewer would hide spawned tasks from idle workers.
const UNASKED_MAX: usize = 16;
