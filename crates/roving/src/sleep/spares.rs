//! Spare threads: who has to park in a wait gives its core to one of them.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use crate::pool::registry::Registry;
use crate::prim::{AtomicUsize, Ordering};

/// Keeps as many threads at work as the pool has workers, or the machine has cores, whichever is
/// less, while workers are parked in waits.
pub(crate) struct Spares {
    /// Threads that run or look for tasks, or sleep for want of them: not parked in a wait.
    active: AtomicUsize,
    /// How many of those there should be.
    target: usize,
    bench: Mutex<Bench>,
}

/// The spare threads that are off duty.
struct Bench {
    started: usize,
    resting: Vec<usize>,
}

impl Spares {
    pub(crate) fn new(workers: usize, cores: usize) -> Spares {
        Spares {
            active: AtomicUsize::new(workers),
            target: workers.min(cores),
            bench: Mutex::new(Bench {
                started: 0,
                resting: Vec::new(),
            }),
        }
    }

    /// The calling worker is about to park in a wait: another thread takes its core.
    pub(crate) fn replace_me(&self, registry: &Arc<Registry>) {
        // Ordering: Relaxed; a count that steers, nothing hangs on it.
        let active = self.active.fetch_sub(1, Ordering::Relaxed) - 1;
        if active < self.target {
            self.bring_in_one(registry);
        }
    }

    /// The calling worker goes on. A spare thread that is now too many leaves by itself.
    pub(crate) fn back_again(&self) {
        // Ordering: Relaxed; a count that steers, nothing hangs on it.
        self.active.fetch_add(1, Ordering::Relaxed);
    }

    /// One more thread, if there is one to be had.
    pub(crate) fn bring_in_one(&self, registry: &Arc<Registry>) {
        let mut bench = self.bench.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(index) = bench.resting.pop() {
            // Ordering: Relaxed; a count that steers, nothing hangs on it.
            self.active.fetch_add(1, Ordering::Relaxed);
            drop(bench);
            registry.seats[index].unpark();
            return;
        }
        let index = registry.workers() + bench.started;
        // Without a thread to be had, the core stays idle until a wait is over.
        if index < registry.seats.most() {
            // Ordering: Relaxed; a count that steers, nothing hangs on it. Counted first: the
            // thread may park in a wait before this one goes on.
            self.active.fetch_add(1, Ordering::Relaxed);
            if matches!(registry.start_thread(index), Ok(true)) {
                bench.started += 1;
            } else {
                // Ordering: Relaxed, as above.
                self.active.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    /// Whether one thread more is at work than there should be. A hint.
    pub(crate) fn is_one_too_many(&self) -> bool {
        // Ordering: Relaxed; a hint.
        self.active.load(Ordering::Relaxed) > self.target
    }

    /// The calling spare thread rests until it is brought in again, or the pool closes, unless it
    /// turns out to be needed.
    pub(crate) fn rest(&self, registry: &Registry, index: usize) {
        let mut bench = self.bench.lock().unwrap_or_else(PoisonError::into_inner);
        let one_less = |active| (active > self.target).then(|| active - 1);
        // Ordering: Relaxed; one change of the count decides who may rest.
        let rests = self
            .active
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        if rests.is_err() {
            return;
        }
        bench.resting.push(index);
        while bench.resting.contains(&index) && !registry.is_closing() {
            drop(bench);
            thread::park();
            bench = self.bench.lock().unwrap_or_else(PoisonError::into_inner);
        }
        bench.resting.retain(|&resting| resting != index);
    }
}
