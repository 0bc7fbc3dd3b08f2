//! How long a worker that finds nothing looks around, and what it does between two looks.
//!
//! It yields, for the core may be wanted: where there are fewer cores than workers, by one that has
//! work; where there is one for each, by a thread outside that the pool has just answered, or by
//! the worker that woke it, as the system may let it run on the core of that one. To wake from a
//! park is a system call of who has work; so it looks around for some time, and less where workers
//! share the cores. That is time of its own: what passes in a yield belongs to those that have the
//! core then, however many they are.
//!
//! Where other programs compute, yields are no kindness: the system charges the time slice that was
//! given away to the thread that gave it. So not only does the core come back milliseconds later;
//! the thread is late again when it is woken from its next park. One that parks is charged nothing,
//! and gets a core at once when it is woken. As workers are woken by one another, such delays add
//! up. So there a worker keeps its core between two looks, and parks soon.
//!
//! Whether other programs compute shows where a worker gets its core back late again and again:
//! this process has used less than a third of the cores meanwhile. Then all workers of the pool
//! keep their cores for a while: each of them would pay for what one has found out.
//!
//! The pools of a process are no other programs to each other: the system counts the time of all
//! threads of the process, so a pool that has lost cores to another finds them in that sum. Each
//! pool finds out for itself, and tells its own workers alone, because the next may run on other
//! cores. Five limits of this are known; they cost time, and nothing else:
//!
//! * Workers are compared with cores pool by pool. Two pools that each have a core for each worker
//!   yield to each other, but look around for as long as if they had them alone.
//! * A pool on cores that another pool may not use hides other programs from that one: the process
//!   has used much meanwhile.
//! * Where the system does not tell the time of the process, each core that is late counts for
//!   other programs, although another pool may have had it. It is asked on Linux alone.
//! * Each worker has to come back late again and again by itself, so a pool that looks around once
//!   in 10 ms or less often does not find out.
//! * A process that has work for less than a third of its cores, but late yields all the same, is
//!   taken for one beside others.

use std::cell::Cell;
use std::time::{Duration, Instant};

use crate::machine::meeting_points::{At, meet, now};
use crate::machine::os::ProcessorTime;
use crate::machine::prim::{AtomicU64, Ordering, thread};

/// Pauses get twice as long after each so many rounds.
const ROUNDS_PER_DOUBLING: usize = 32;
/// The longest pause is two to the power of this many hints to the processor.
const PAUSE_BITS_MAX: usize = 5;

/// How long a worker looks around in vain, by its own time, before it parks: a few times what a
/// wake-up costs. Miri has less of it, since it follows each look for long.
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

/// The cost of a yield, about. If it takes longer others have the core, and that is no cost.
const YIELD: Duration = Duration::from_micros(1);
/// However little of it is a worker's own time, after this long it parks: a worker that waits keeps
/// its place meanwhile, in which another thread could run tasks.
const LONGEST: Duration = Duration::from_millis(1);
/// After a yield that took longer than this a core has come back late.
const LATE: Duration = Duration::from_millis(1);
/// If a worker yields again later than this after such a yield, the time between says nothing: it
/// may have been parked.
const SOON: Duration = Duration::from_millis(10);
/// For how long cores have to come back late before it is known whose doing that is. Linux adds the
/// time of a thread that runs on another core to that of the process at its ticks alone, which are
/// 10 ms apart at most where they are not switched off: over a time of three ticks that is no third
/// of the cores.
const TELLS: Duration = Duration::from_millis(30);
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

/// A yield, after which the core came back late.
#[derive(Clone, Copy)]
struct LateYield {
    gave: Instant,
    back: Instant,
}

/// Late yields, each soon after the last one.
#[derive(Clone, Copy)]
struct LateRow {
    /// When the first one's core came back, and for how long this process had had cores by then.
    since: Instant,
    used: ProcessorTime,
    /// When the last one's did.
    last: Instant,
}

impl LateRow {
    fn new(at: Instant, used: ProcessorTime) -> LateRow {
        LateRow {
            since: at,
            used,
            last: at,
        }
    }
}

/// Whether a process that has work for all of so many cores, and had them for `used` in all, has
/// not had them because others have: it had less than a third of them. (Half of two cores is what a
/// part of it takes that only one thread can run.)
fn leaves_cores_to_others(time: Duration, used: Duration, cores: usize) -> bool {
    used.as_nanos() * 3 < time.as_nanos() * cores as u128
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
    began: Cell<Instant>,
    /// For how long others have had its core since.
    away: Cell<Duration>,
    /// Its last late yields.
    late: Cell<Option<LateRow>>,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            began: Cell::new(now()),
            away: Cell::default(),
            late: Cell::default(),
        }
    }
}

impl Patience {
    /// Whether a worker that has paused in each round up to this one had better park. The clock
    /// decides and not the number of rounds: the system may take the core away in any of them.
    pub(crate) fn is_over(&self, round: usize, limit: Duration, is_closing: bool) -> bool {
        // Who drops a pool that has nothing to do need not wait for its workers' patience.
        round > 0 && (is_closing || self.is_over_by(now(), limit))
    }

    fn is_over_by(&self, at: Instant, limit: Duration) -> bool {
        let all = at.saturating_duration_since(self.began.get());
        all.saturating_sub(self.away.get()) >= limit || all >= LONGEST
    }

    /// Nothing of what it looked around before counts.
    fn begin(&self, at: Instant) {
        self.began.set(at);
        self.away.set(Duration::ZERO);
    }

    /// Between two looks around.
    pub(crate) fn pause(&self, round: usize, manner: Manner, others: &Others) {
        if round == 0 {
            self.begin(now());
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
        let back = now();
        self.was_away(gave, back);
        if back.saturating_duration_since(gave) > LATE {
            let late = LateYield { gave, back };
            self.came_late(late, ProcessorTime::now(), cores, others);
        }
    }

    /// Others had the core between these two moments, if it was for longer than a yield takes.
    fn was_away(&self, gave: Instant, back: Instant) {
        let away = back.saturating_duration_since(gave).saturating_sub(YIELD);
        self.away.set(self.away.get() + away);
    }

    /// The core came back late, and all threads of the process had had cores for `used` by then:
    /// tells the pool if that has gone on for long, and was not this program's doing.
    #[cold]
    fn came_late(
        &self,
        late: LateYield,
        used: Option<ProcessorTime>,
        cores: usize,
        others: &Others,
    ) {
        let Some(used) = used else {
            return others.note(late.back);
        };
        let is_soon = |row: &LateRow| late.gave.saturating_duration_since(row.last) <= SOON;
        let before = self.late.get().filter(is_soon);
        let row = before.unwrap_or(LateRow::new(late.back, used));
        let time = late.back.saturating_duration_since(row.since);
        let next = match time < TELLS {
            true => LateRow {
                last: late.back,
                ..row
            },
            false => LateRow::new(late.back, used),
        };
        self.late.set(Some(next));
        if time >= TELLS && leaves_cores_to_others(time, used.since(row.used), cores) {
            others.note(late.back);
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
    use std::cell::Cell;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::{
        LATE, LONGEST, LateYield, Manner, Others, PATIENCE, PATIENCE_CROWDED, Patience, SOON,
        TELLS, YIELD, leaves_cores_to_others,
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

    /// How often a worker looks around, if each time its core is away for so long.
    fn looks(away: Duration) -> u32 {
        let (limit, look, mut at) = (20 * YIELD, YIELD, later());
        let patience = Patience::default();
        patience.away.set(LONGEST);
        patience.begin(at);
        let mut looks = 0;
        while !patience.is_over_by(at, limit) {
            at += look;
            patience.was_away(at, at + away);
            at += away;
            looks += 1;
        }
        looks
    }

    /// Where eight workers share two cores, each has its own back after three others had it; it
    /// would park after a look or two, and be woken by a system call for the next loop.
    #[test]
    fn the_time_of_those_to_whom_a_core_is_given_is_not_counted() {
        assert_eq!((looks(YIELD), looks(YIELD * 9)), (10, 10));
        assert_eq!(looks(Duration::ZERO), 20);
    }

    /// Else a worker that waits would keep its place, in which another thread could run tasks, for
    /// as many milliseconds as it has looks.
    #[test]
    fn a_core_that_stays_away_ends_patience() {
        assert_eq!(looks(LONGEST), 1);
        assert_eq!(looks(LONGEST * 2 / 5), 3);
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
        assert!(leaves_cores_to_others(TELLS, TELLS, 4));
        assert!(!leaves_cores_to_others(TELLS, TELLS * 3 / 2, 4));
    }

    /// An hour from now, so that what is found out then is not over when it is asked for.
    fn later() -> Instant {
        now() + Duration::from_secs(3600)
    }

    /// A pool of which one worker gets its core back late, by clocks that are given.
    struct LatePool {
        cores: usize,
        worker: Patience,
        others: Others,
        /// For how long the process has had cores so far.
        used: Cell<Duration>,
    }

    impl LatePool {
        fn new(cores: usize) -> LatePool {
            let (worker, others) = (Patience::default(), Others::new());
            let used = Cell::new(Duration::from_secs(5));
            LatePool {
                cores,
                worker,
                others,
                used,
            }
        }

        /// From `first` on the worker yields for `away` each time, and again `between` later, until
        /// that has gone on for long enough, or others are found. Meanwhile the pools of the
        /// process have cores for `used` in all, each for its part. Says when the last core is
        /// back.
        fn is_late(
            &self,
            first: Instant,
            (away, between): (Duration, Duration),
            used: &[Duration],
        ) -> Instant {
            let mut gave = first;
            loop {
                let back = gave + away;
                let ends = back >= first + away + TELLS;
                if ends {
                    self.used
                        .set(self.used.get() + used.iter().sum::<Duration>());
                }
                let (late, used) = (LateYield { gave, back }, self.used.get());
                let (used, others) = (ProcessorTime::of(used), &self.others);
                self.worker.came_late(late, Some(used), self.cores, others);
                if ends || self.others.compute() {
                    return back;
                }
                gave = back + between;
            }
        }
    }

    /// A yield that is just late, and a short look around.
    const OFTEN: (Duration, Duration) = (LATE, Duration::from_micros(500));

    /// Cores that come back late for a while, each soon after the last one, tell all workers of the
    /// pool, for a while.
    #[test]
    fn what_one_worker_finds_out_the_others_know() {
        let shows = |away: Duration, between: Duration| {
            let (pool, first) = (LatePool::new(4), later());
            let back = pool.is_late(first, (away, between), &[]);
            assert!(back >= first + away + TELLS, "not for long enough yet");
            pool.others.compute()
        };
        assert!(shows(LATE, SOON) && shows(TELLS, SOON));
        assert!(!shows(LATE, SOON * 2), "it may have been parked");
        let others = Others::new();
        others.note(later());
        assert!(others.compute());
        others.keeps.store(1, super::Ordering::Relaxed);
        assert!(!others.compute(), "it is over");
    }

    /// The system may have counted a thread on another core last one tick ago, which is 10 ms where
    /// ticks are rarest.
    #[test]
    fn a_thread_whose_last_tick_is_not_yet_counted_is_no_other_program() {
        let tick = Duration::from_millis(10);
        for cores in [1, 2, 4, 64] {
            let pool = LatePool::new(cores);
            // It has two thirds of the cores, and that of this thread is counted to the end.
            let has = TELLS * 2 * cores as u32 / 3;
            pool.is_late(later(), OFTEN, &[has - tick * (cores as u32 - 1)]);
            assert!(!pool.others.compute(), "{cores} cores");
        }
    }

    /// The processor time of a process before a row of late yields does not count.
    #[test]
    fn others_that_come_later_are_found_as_soon() {
        let pool = LatePool::new(4);
        let back = pool.is_late(later(), OFTEN, &[TELLS * 12]);
        assert!(!pool.others.compute());
        let found = pool.is_late(back + OFTEN.1, OFTEN, &[]);
        assert!(pool.others.compute() && found <= back + TELLS * 2);
    }

    /// A pool lays lost cores to this process, whichever of its pools has them, as long as they
    /// have a third of the cores together.
    #[test]
    fn the_pools_of_a_process_are_no_other_programs_to_each_other() {
        let cores = 4;
        let all = TELLS * cores;
        let blames = |own: Duration, second: Duration| {
            let pool = LatePool::new(cores as usize);
            pool.is_late(later(), OFTEN, &[own, second]);
            pool.others.compute()
        };
        assert!(!blames(Duration::ZERO, all), "the second one had all cores");
        assert!(!blames(all / 2, all / 2) && !blames(all, Duration::ZERO));
        assert!(!blames(all / 5, all / 5), "a third is theirs");
        assert!(blames(all / 8, all / 8), "but no quarter");
        let elsewhere = LatePool::new(1);
        elsewhere.is_late(later(), OFTEN, &[Duration::ZERO, TELLS]);
        let hides = !elsewhere.others.compute();
        assert!(hides, "the time of a pool on other cores counts as well");
    }

    /// A pool that has found other programs says so to no other pool: that may run on other cores.
    #[test]
    fn each_pool_of_a_process_finds_out_for_itself_whether_others_compute() {
        let (first, second) = (LatePool::new(4), LatePool::new(4));
        first.is_late(later(), OFTEN, &[]);
        assert!(first.others.compute() && !second.others.compute());
        // What the first pool uses, now that its workers keep their cores, is the process's still.
        second.is_late(later(), OFTEN, &[TELLS * 4, Duration::ZERO]);
        assert!(!second.others.compute());
        second.is_late(later() + TELLS * 4, OFTEN, &[]);
        assert!(second.others.compute());
    }

    /// Where the system does not count the time of the process, nobody can tell whose doing it was.
    #[test]
    fn a_core_that_is_late_is_laid_to_others_where_the_system_does_not_count() {
        let (pool, gave) = (LatePool::new(4), later());
        let back = gave + LATE;
        pool.worker
            .came_late(LateYield { gave, back }, None, 4, &pool.others);
        assert!(pool.others.compute());
    }
}
