//! An idle worker's steps: search, last look, park.

use std::sync::Arc;

use crate::stats::{Activity, bump};
use crate::workers::Worker;
use crate::workers::registry::Registry;
use crate::workers::sleep::rest::Sleeper;

impl Worker {
    /// A compensation thread that is not needed leaves, unless there is a job that may be waited
    /// for. So does a worker that is benched.
    pub(super) fn stay_or_rest(&self) {
        let registry = &self.registry;
        let closing = registry.is_closing();
        if !self.is_spare() {
            if registry.is_benched(self.index) && !closing {
                self.bench();
            }
            return;
        }
        if registry.spares.is_one_too_many() && !closing && registry.injector.is_hint_empty() {
            self.clock().enter(Activity::Idle);
            registry.spares.rest(registry.as_ref(), self.index);
            self.clock().enter(Activity::Steal);
        }
    }
}

impl Sleeper for Worker {
    type Pool = Registry;

    fn pool(&self) -> &Arc<Registry> {
        &self.registry
    }

    fn index(&self) -> usize {
        self.index
    }

    fn victims(&self) -> impl Iterator<Item = usize> {
        self.victims()
    }

    fn takes_of(&self, public: usize) -> bool {
        self.registry.settings.amount.of(public) > 0
    }

    fn wake_another(&self) {
        self.wake_another();
    }

    fn serve_mailbox(&self) -> bool {
        self.serve_mailbox()
    }

    fn count_park(&self) {
        bump(&self.tally().parks, 1);
    }

    fn turn_to(&self, activity: Activity) {
        self.clock().enter(activity);
    }
}
#[cfg(test)]
mod tests {
    use std::thread;

    use crate::Pool;
    use crate::workers::Worker;

    /// A worker that gives its core away between two looks gets it back when the system likes. Then
    /// it parks, whatever the number of looks, or it would keep its core from others for each of
    /// them.
    #[test]
    fn patience_ends_by_the_clock_and_not_by_the_number_of_looks() {
        let pool = Pool::builder().use_current_thread().build().unwrap();
        pool.install(|| {
            Worker::with_current(|worker| {
                let worker = worker.unwrap();
                worker.pause(0);
                thread::sleep(worker.registry().settings.patience);
                assert!(worker.is_tired(1));
                worker.pause(1);
                assert!(worker.is_tired(2), "another pause is no new search");
                assert!(!worker.is_tired(0), "it has found something meanwhile");
            });
        });
    }
}
