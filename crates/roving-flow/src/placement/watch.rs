//! The watcher of a running network, which moves its processes.
//!
//! It is a thread of its own, so that partitioning is never in the way of a worker; it sleeps but
//! for a few looks a second. A process moves by the number in its *place*, which is read whenever
//! the process becomes ready: what is queued or running is left alone, and nothing is locked.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::Placement;
use super::adaptive::Adaptive;
use super::partitioned::Partitioned;
use super::policy::Policy;
use super::snapshot::{NetworkFigures, PlacedNetwork, Shape};
use crate::state::meter::Meter;

/// An occasion on which processes were placed anew.
///
/// ```
/// use roving_flow::{Network, Placement};
///
/// let mut network = Network::new();
/// network.placement(Placement::partitioned());
/// let (out, input) = network.channel("numbers");
/// network.source("source", out, 0..1000);
/// network.sink("sink", input, |_| {});
/// let report = network.run(&roving::Pool::new(2).unwrap()).unwrap();
/// assert!(report.moves.iter().all(|moved| moved.processes <= 2 && moved.at <= report.elapsed));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moved {
    /// The time since the network began to run.
    pub at: Duration,
    /// The kind of placement: "parts", "stealing" or "one".
    pub to: &'static str,
    /// The number of processes that have another place than before.
    pub processes: usize,
}

/// Places the processes of one network.
pub(crate) struct Placer {
    policy: Box<dyn Policy>,
    meter: Arc<Meter>,
    shape: Shape,
}

impl Placer {
    /// `None` if all is left to stealing: because the placement says so, or because there is one
    /// worker only. Otherwise every process has its place, from the first partition. `processes`:
    /// how many there are, for the meter.
    pub(crate) fn new(
        placement: &Placement,
        network: &dyn PlacedNetwork,
        processes: usize,
        workers: usize,
    ) -> Option<Placer> {
        let shape = match placement {
            Placement::Stealing => return None,
            _ if workers < 2 => return None,
            _ => network.shape(),
        };
        let mut policy: Box<dyn Policy> = match placement {
            Placement::Adaptive { .. } => Box::new(Adaptive::new(placement, &shape, workers)?),
            _ => Box::new(Partitioned::new(placement, &shape, workers)?),
        };
        network.move_all(&policy.first());
        Some(Placer {
            meter: Arc::new(Meter::new(processes, workers)),
            policy,
            shape,
        })
    }

    /// Returns the meter that times each process: see
    /// [`Metered`](crate::process::metered::Metered).
    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// Calls `run`, which runs the network, and moves processes meanwhile. If no thread can be had
    /// for that, they stay where they are.
    pub(crate) fn run<R>(
        mut self,
        network: &dyn PlacedNetwork,
        run: impl FnOnce() -> R,
    ) -> (R, Vec<Moved>) {
        let stop = Stop::default();
        thread::scope(|scope| {
            let watch = thread::Builder::new().name("roving-placement".into());
            let watch = watch.spawn_scoped(scope, || self.watch(network, &stop));
            let result = {
                let _stopped = stop.when_dropped();
                run()
            };
            let moved = watch.ok().and_then(|watch| watch.join().ok());
            (result, moved.unwrap_or_default())
        })
    }

    fn watch(&mut self, network: &dyn PlacedNetwork, stop: &Stop) -> Vec<Moved> {
        let begin = Instant::now();
        let mut log = Vec::new();
        let mut seen = NetworkFigures::default();
        while !stop.wait(self.policy.wait()) {
            self.see(network, &mut seen);
            if let Some(change) = self.policy.look(&seen) {
                log.push(Moved {
                    processes: network.move_all(&change.places),
                    at: begin.elapsed(),
                    to: change.name,
                });
            }
            seen.looks_ns += self.meter.now_ns() - seen.at_ns;
        }
        log
    }

    fn see(&self, network: &dyn PlacedNetwork, seen: &mut NetworkFigures) {
        seen.messages.clear();
        network.read_messages(&mut seen.messages);
        seen.messages.resize(self.shape.channels.len(), 0);
        seen.processes.clear();
        network.read_spent(&self.meter, &mut seen.processes);
        seen.at_ns = self.meter.now_ns();
        // It never goes back, whatever was read in between.
        seen.busy_ns = self.meter.busy_ns(seen.at_ns).max(seen.busy_ns);
    }
}

/// A flag to wait for.
#[derive(Default)]
struct Stop {
    flag: Mutex<bool>,
    raised: Condvar,
}

impl Stop {
    fn lock(&self) -> MutexGuard<'_, bool> {
        self.flag.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for that long, or until the flag is raised; whether it is.
    fn wait(&self, time: Duration) -> bool {
        let waited = self
            .raised
            .wait_timeout_while(self.lock(), time, |raised| !*raised);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }

    /// Raises the flag when it is dropped: also when the network's run unwinds.
    fn when_dropped(&self) -> impl Drop + '_ {
        struct Raise<'a>(&'a Stop);
        impl Drop for Raise<'_> {
            fn drop(&mut self) {
                *self.0.lock() = true;
                self.0.raised.notify_all();
            }
        }
        Raise(self)
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use roving::raw::tasks::Place;

    use super::*;
    use crate::placement::snapshot::is_moved;
    use crate::state::meter::Spent;
    use roving_partition::MigrationCost;

    /// Two pairs, and nothing passes. Counts how often somebody looks.
    struct Quiet {
        places: [Place; 4],
        looks: AtomicUsize,
    }

    impl PlacedNetwork for Quiet {
        fn shape(&self) -> Shape {
            Shape {
                processes: 4,
                channels: vec![(0, 1), (2, 3)],
            }
        }

        fn read_messages(&self, _into: &mut Vec<u64>) {
            self.looks.fetch_add(1, Relaxed);
        }

        fn read_spent(&self, meter: &Meter, into: &mut Vec<Spent>) {
            into.extend((0..4).map(|process| meter.spent(process)));
        }

        fn move_all(&self, places: &[u32]) -> usize {
            let moves = self.places.iter().zip(places);
            moves.filter(|(place, new)| is_moved(place, **new)).count()
        }
    }

    fn quiet() -> Quiet {
        Quiet {
            places: [(); 4].map(|()| Place::new(None)),
            looks: AtomicUsize::new(0),
        }
    }

    #[test]
    fn a_network_that_does_nothing_is_partitioned_and_the_watch_ends_with_the_run() {
        let placement = Placement::Partitioned {
            idle_threshold: Duration::from_millis(2),
            alpha: 1,
            migration_cost: MigrationCost::Fixed(16),
            imbalance: 0.03,
            topology: false,
        };
        let network = quiet();
        let placer = Placer::new(&placement, &network, 4, 2).unwrap();
        let place = |process: usize| network.places[process].get();
        assert_eq!((place(0), place(2)), (place(1), place(3)));
        assert_ne!(place(0), place(2));
        let (result, moved) = placer.run(&network, || {
            // More than enough to find 2 ms of idle time.
            while network.looks.load(Relaxed) < 20 {
                thread::sleep(Duration::from_millis(1));
            }
            7
        });
        assert_eq!(result, 7);
        assert!(!moved.is_empty());
    }

    #[test]
    fn a_run_that_panics_stops_the_watch() {
        let network = quiet();
        let placer = Placer::new(&Placement::adaptive(), &network, 4, 2).unwrap();
        let run = AssertUnwindSafe(|| placer.run(&network, || panic!("in the network")));
        assert!(catch_unwind(run).is_err());
    }

    #[test]
    fn one_worker_places_nothing() {
        assert!(Placer::new(&Placement::partitioned(), &quiet(), 4, 1).is_none());
        assert!(Placer::new(&Placement::Stealing, &quiet(), 4, 8).is_none());
    }
}
