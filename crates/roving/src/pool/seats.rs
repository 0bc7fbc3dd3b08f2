//! The places of a pool's workers and spare threads, as all threads see them.

use std::ops::Index;
use std::sync::OnceLock;
use std::thread::Thread;

use crate::inject::Queue;
use crate::stack::{Showing, TaskStack};
use crate::stats::Clock;
use crate::task::{Local, SpawnOrder};

/// What others see of one worker, or of a spare thread.
pub(crate) struct Seat {
    pub(crate) stack: TaskStack,
    pub(crate) mailbox: Queue,
    pub(crate) clock: Clock,
    /// What async tasks keep for each worker.
    pub(crate) tasks: Local,
    /// Set when the thread has started.
    pub(crate) thread: OnceLock<Thread>,
}

impl Seat {
    fn new(showing: Showing, tasks: Local) -> Seat {
        Seat {
            stack: TaskStack::new(showing),
            mailbox: Queue::new(),
            clock: Clock::new(showing.counting),
            tasks,
            thread: OnceLock::new(),
        }
    }

    /// Wakes the seat's thread, if it has started; a thread looks around before it first sleeps.
    pub(crate) fn unpark(&self) {
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}

/// How async tasks are run; the same for every worker of a pool.
#[derive(Clone, Copy)]
pub(super) struct TaskSettings {
    pub(super) order: SpawnOrder,
    pub(super) migrate: bool,
}

impl TaskSettings {
    fn local(self, index: usize) -> Local {
        Local::new(index, self.order, self.migrate)
    }
}

/// The seats of the workers, then those of the spare threads, which are made when they are first
/// taken.
pub(crate) struct Seats {
    showing: Showing,
    tasks: TaskSettings,
    workers: Box<[Seat]>,
    spares: Box<[OnceLock<Box<Seat>>]>,
}

impl Seats {
    pub(super) fn new(
        showing: Showing,
        tasks: TaskSettings,
        workers: usize,
        spares: usize,
    ) -> Seats {
        let seat = |index| Seat::new(showing, tasks.local(index));
        Seats {
            showing,
            tasks,
            workers: (0..workers).map(seat).collect(),
            spares: (0..spares).map(|_| OnceLock::new()).collect(),
        }
    }

    /// How many there can be.
    pub(crate) fn most(&self) -> usize {
        self.workers.len() + self.spares.len()
    }

    /// Those that have been made.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Seat> {
        self.workers.iter().chain(
            self.spares
                .iter()
                .filter_map(|seat| seat.get().map(|s| &**s)),
        )
    }

    /// Makes the seat of a spare thread, if it has not been made.
    pub(super) fn make(&self, index: usize) {
        if let Some(spare) = index.checked_sub(self.workers.len()) {
            let seat = || Seat::new(self.showing, self.tasks.local(index));
            self.spares[spare].get_or_init(|| Box::new(seat()));
        }
    }
}

impl Index<usize> for Seats {
    type Output = Seat;

    #[inline]
    fn index(&self, index: usize) -> &Seat {
        match self.workers.get(index) {
            Some(seat) => seat,
            None => {
                let spare = self.spares[index - self.workers.len()].get();
                spare.expect("a spare thread's seat is made before anybody hears of it")
            }
        }
    }
}
