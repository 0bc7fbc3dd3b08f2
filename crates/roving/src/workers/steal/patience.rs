//! How long a worker that finds nothing looks around, and what it does between two looks.
//!
//! It yields, for the core may be wanted: where there are fewer cores than workers, by one that has
//! work; where there is one for each, by a thread outside that the pool has just answered, or by
//! the worker that woke it, as the system may let it run on the core of that one. To wake from a
//! park is a system call of who has work; so it looks around for some time, and less where workers
//! share the cores.
//!
//! Where other programs compute, yields are no kindness: the system charges the time slice that was
//! given away to the thread that gave it. So not only does the core come back milliseconds later;
//! the thread is late again when it is woken from its next park. One that parks is charged nothing,
//! and gets a core at once when it is woken. As workers are woken by one another, such delays add
//! up. So there a worker keeps its core between two looks, and parks soon.
//!
//! Whether other programs compute shows where a worker got its core back late, and again soon: this
//! process has used less than a third of the cores meanwhile. Then all workers of the pool keep
//! their cores for a while: each of them would pay for what one has found out.
//!
//! The pools of a process are no other programs to each other: the system counts the time of all
//! threads of the process, so a pool that has lost cores to another finds them in that sum. Each
//! pool finds out for itself, and tells its own workers alone, because the next may run on other
//! cores. Three limits of this are known; they cost time, and nothing else:
//!
//! * Workers are compared with cores pool by pool. Two pools that each have a core for each worker
//!   yield to each other, but look around for as long as if they had them alone.
//! * A pool on cores that another pool may not use hides other programs from that one: the process
//!   has used much meanwhile.
//! * Where the system does not tell the time of the process, each core that is late counts for
//!   other programs, although another pool may have had it. It is asked on Linux alone.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::machine::meeting_points::{At, meet, now};
use crate::machine::os::ProcessorTime;
use crate::machine::prim::{AtomicU64, Ordering, thread};

/// Pauses get twice as long after each so many rounds.
const ROUNDS_PER_DOUBLING: usize = 32;
/// The longest pause is two to the power of this many hints to the processor.
const PAUSE_BITS_MAX: usize = 5;

/// How long a worker looks around in vain before it parks: a few times what a wake-up costs. Miri
/// has less of it, since it follows each look for long.
pub const PATIENCE: Duration = Duration::from_micros(if cfg!(miri) { 2 } else { 40 });
/// Patience where there are fewer cores than workers, or other programs want them: an idle worker
/// makes room soon. Where tasks block, the cores are free only as long as those that look for work
/// leave them so.
pub(crate) const PATIENCE_CROWDED: Duration =
    Duration::from_micros(if cfg!(miri) { 1 } else { 10 });

/// How long one of so many workers looks around where that many cores are there for them.
pub fn patience(workers: usize, cores: usize) -> Duration {
    Manner::of(workers, cores).limit
}

/// After a yield that took longer than this a core has come back late.
const LATE: Duration = Duration::from_millis(1);
/// Two such yields tell of what went on between them if they are no farther apart.
const SOON: Duration = Duration::from_millis(10);
/// How long workers keep their cores if other programs compute.
const KEEPS: Duration = Duration::from_secs(1);

/// How the workers of a pool look around in vain.
#[derive(Clone, Copy, Default)]
pub(crate) struct Manner {
    /// How long, before they park.
    pub(crate) limit: Duration,
    /// Whether it yields between two looks: then the number of cores that are there.
    pub(crate) yields_on: Option<usize>,
}

impl Manner {
    /// Of so many workers that work, where that many cores are there for them.
    pub(crate) fn of(workers: usize, cores: usize) -> Manner {
        let limit = match workers > cores {
            true => PATIENCE_CROWDED,
            false => PATIENCE,
        };
        let yields_on = Some(cores);
        Manner { limit, yields_on }
    }

    /// Beside other programs, if those compute: it keeps its core, and parks soon.
    pub(crate) fn beside(self, others: &Others) -> Manner {
        if !others.compute() {
            return self;
        }
        let (limit, yields_on) = (self.limit.min(PATIENCE_CROWDED), None);
        Manner { limit, yields_on }
    }
}

/// When a core came back late, and for how long this process had had cores by then.
#[derive(Clone, Copy)]
struct Return {
    at: Instant,
    used: ProcessorTime,
}

impl Return {
    /// Whether other programs have had cores since `before`, of that many.
    fn shows_others(self, before: Return, cores: usize) -> bool {
        let time = self.at.saturating_duration_since(before.at);
        leaves_cores_to_others(time, self.used.since(before.used), cores)
    }
}

/// Whether a process that has work for all of so many cores, and had them for `used` in all, has
/// not had them because others have: it had less than a third of them. (Half of two cores is what a
/// part of it takes that only one thread can run.)
fn leaves_cores_to_others(time: Duration, used: Duration, cores: usize) -> bool {
    time <= SOON && used.as_nanos() * 3 < time.as_nanos() * cores as u128
}

/// The findings of a pool's workers about other programs.
pub(crate) struct Others {
    began: Instant,
    /// Until when workers keep their cores, in nanoseconds since then; zero when they do not.
    keeps: AtomicU64,
}

impl Others {
    pub(crate) fn new() -> Others {
        Others {
            began: now(),
            keeps: AtomicU64::new(0),
        }
    }

    fn nanos(&self, at: Instant) -> u64 {
        let nanos = at.saturating_duration_since(self.began).as_nanos();
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }

    /// Whether workers keep their cores at present.
    fn compute(&self) -> bool {
        // Ordering: Relaxed; a hint.
        let until = self.keeps.load(Ordering::Relaxed);
        until > 0 && {
            let keeps = self.nanos(now()) < until;
            if !keeps {
                // Ordering: Relaxed, both; a hint. Unless it has just been found out again.
                let (old, new) = (Ordering::Relaxed, Ordering::Relaxed);
                let _ = self.keeps.compare_exchange(until, 0, old, new);
            }
            keeps
        }
    }

    /// They do, it has been found.
    fn note(&self, at: Instant) {
        // Ordering: Relaxed; a hint.
        self.keeps.store(self.nanos(at + KEEPS), Ordering::Relaxed);
    }
}

/// A worker's memory of its looks around.
pub(crate) struct Patience {
    /// When it last began to look around in vain.
    since: Cell<Instant>,
    /// When it last got its core back late.
    late: Cell<Option<Return>>,
}

impl Default for Patience {
    fn default() -> Patience {
        let (since, late) = (Cell::new(now()), Cell::new(None));
        Patience { since, late }
    }
}

impl Patience {
    /// Whether a worker that has paused in each round up to this one had better park. The clock
    /// decides and not the number of rounds: the system may take the core away in any of them.
    pub(crate) fn is_over(&self, round: usize, limit: Duration, is_closing: bool) -> bool {
        // Who drops a pool that has nothing to do need not wait for its workers' patience.
        round > 0 && (is_closing || now().saturating_duration_since(self.since.get()) >= limit)
    }

    /// Between two looks around.
    pub(crate) fn pause(&self, round: usize, manner: Manner, others: &Others) {
        if round == 0 {
            self.since.set(now());
        }
        meet(At::Poll);
        match manner.yields_on {
            Some(cores) => self.give_way(cores, others),
            None => spin(round),
        }
    }

    fn give_way(&self, cores: usize, others: &Others) {
        let gave = now();
        thread::yield_now();
        let at = now();
        if at.saturating_duration_since(gave) > LATE {
            self.came_late(at, ProcessorTime::now(), cores, others);
        }
    }

    /// The core came back late, and all threads of the process had had cores for `used` by then:
    /// tells the pool if that was not this program's doing.
    #[cold]
    fn came_late(&self, at: Instant, used: Option<ProcessorTime>, cores: usize, others: &Others) {
        let back = used.map(|used| Return { at, used });
        let before = self.late.replace(back);
        if back.is_none_or(|back| before.is_some_and(|one| back.shows_others(one, cores))) {
            others.note(at);
        }
    }
}

/// Almost nothing at first, then longer and longer.
fn spin(round: usize) {
    for _ in 0..1 << (round / ROUNDS_PER_DOUBLING).min(PAUSE_BITS_MAX) {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{
        Manner, Others, PATIENCE, PATIENCE_CROWDED, Patience, SOON, leaves_cores_to_others,
    };
    use crate::machine::meeting_points::now;
    use crate::machine::os::ProcessorTime;

    /// A worker that loses its core between two looks gets it back when the system likes. Then it
    /// parks, whatever the number of looks, or it would keep its core from others for each of them.
    #[test]
    fn patience_ends_by_the_clock_and_not_by_the_number_of_looks() {
        let limit = Duration::from_millis(1);
        let yields_on = None;
        let manner = Manner { limit, yields_on };
        let (patience, others) = (Patience::default(), Others::new());
        patience.pause(0, manner, &others);
        thread::sleep(limit);
        assert!(patience.is_over(1, limit, false));
        patience.pause(1, manner, &others);
        assert!(
            patience.is_over(2, limit, false),
            "another pause is no new search"
        );
        assert!(
            !patience.is_over(0, limit, false),
            "it has found something meanwhile"
        );
    }

    #[test]
    fn beside_other_programs_workers_keep_their_cores_and_park_soon() {
        let others = Others::new();
        let beside = |manner: Manner| {
            let manner = manner.beside(&others);
            (manner.limit, manner.yields_on)
        };
        assert_eq!(beside(Manner::of(2, 2)), (PATIENCE, Some(2)));
        assert_eq!(beside(Manner::of(3, 2)), (PATIENCE_CROWDED, Some(2)));
        others.note(later());
        for workers in [2, 3] {
            let manner = beside(Manner::of(workers, 2));
            assert_eq!(manner, (PATIENCE_CROWDED, None));
        }
        assert_eq!(beside(Manner::default()).0, Duration::ZERO, "in a replay");
    }

    #[test]
    fn others_compute_if_two_thirds_of_the_cores_were_theirs() {
        let (time, cores) = (SOON / 2, 4);
        assert!(leaves_cores_to_others(time, time, cores));
        assert!(!leaves_cores_to_others(time, time * 3 / 2, cores));
        assert!(
            !leaves_cores_to_others(SOON * 2, time, cores),
            "this process may have had nothing to do meanwhile"
        );
    }

    /// An hour from now, so that what is found out then is not over when it is asked for.
    fn later() -> Instant {
        now() + Duration::from_secs(3600)
    }

    /// A pool of which one worker is late, by clocks that are given.
    struct LatePool {
        cores: usize,
        worker: Patience,
        others: Others,
    }

    impl LatePool {
        fn new(cores: usize) -> LatePool {
            let (worker, others) = (Patience::default(), Others::new());
            LatePool {
                cores,
                worker,
                others,
            }
        }

        /// The worker is late for the first time at `at`, and again `between` later. Meanwhile the
        /// pools of the process have had cores for `used`, each for its part.
        fn is_late_twice(&self, at: Instant, between: Duration, used: &[Duration]) {
            let process = |used| Some(ProcessorTime::of(used));
            let (cores, others) = (self.cores, &self.others);
            self.worker
                .came_late(at, process(Duration::ZERO), cores, others);
            assert!(!others.compute(), "once is not enough");
            let used = process(used.iter().sum());
            self.worker.came_late(at + between, used, cores, others);
        }
    }

    /// A core that comes back late twice, soon after each other, tells all workers of the pool, for
    /// a while.
    #[test]
    fn what_one_worker_finds_out_the_others_know() {
        let shows = |between: Duration| {
            let pool = LatePool::new(4);
            pool.is_late_twice(later(), between, &[]);
            pool.others.compute()
        };
        assert!(shows(SOON / 2) && !shows(SOON * 2));
        let others = Others::new();
        others.note(later());
        assert!(others.compute());
        others.keeps.store(1, super::Ordering::Relaxed);
        assert!(!others.compute(), "it is over");
    }

    /// A pool lays lost cores to this process, whichever of its pools has them, as long as they
    /// have a third of the cores together.
    #[test]
    fn the_pools_of_a_process_are_no_other_programs_to_each_other() {
        let (time, cores) = (SOON * 3 / 5, 4);
        let all = time * cores;
        let blames = |own: Duration, second: Duration| {
            let pool = LatePool::new(cores as usize);
            pool.is_late_twice(later(), time, &[own, second]);
            pool.others.compute()
        };
        assert!(!blames(Duration::ZERO, all), "the second one had all cores");
        assert!(!blames(all / 2, all / 2) && !blames(all, Duration::ZERO));
        assert!(!blames(all / 6, all / 6), "a third is theirs");
        assert!(blames(all / 8, all / 8), "but no quarter");
        let elsewhere = LatePool::new(1);
        elsewhere.is_late_twice(later(), time, &[Duration::ZERO, time]);
        let hides = !elsewhere.others.compute();
        assert!(hides, "the time of a pool on other cores counts as well");
    }

    /// A pool that has found other programs says so to no other pool: that may run on other cores.
    #[test]
    fn each_pool_of_a_process_finds_out_for_itself_whether_others_compute() {
        let (first, second) = (LatePool::new(4), LatePool::new(4));
        first.is_late_twice(later(), SOON / 2, &[]);
        assert!(first.others.compute() && !second.others.compute());
        // What the first pool uses, now that its workers keep their cores, is the process's still.
        let uses = SOON / 2 * 4;
        second.is_late_twice(later(), SOON / 2, &[uses, Duration::ZERO]);
        assert!(!second.others.compute());
        second.is_late_twice(later() + SOON * 2, SOON / 2, &[]);
        assert!(second.others.compute());
    }

    /// Where the system does not count the time of the process, nobody can tell whose doing it was.
    #[test]
    fn a_core_that_is_late_is_laid_to_others_where_the_system_does_not_count() {
        let pool = LatePool::new(4);
        pool.worker.came_late(later(), None, 4, &pool.others);
        assert!(pool.others.compute());
    }
}
