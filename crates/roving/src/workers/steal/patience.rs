//! How long a worker that finds nothing looks around, and what it does between two looks.
//!
//! It keeps its core meanwhile, where there is one for each worker. To yield looks kinder, and is
//! not, where other programs compute: the system charges the time slice that was given away to the
//! thread that gave it. So not only does the core come back milliseconds later; the thread is late
//! again when it is woken from its next park. One that parks is charged nothing, and gets a core at
//! once when it is woken. As workers are woken by one another, such delays add up.
//!
//! A pool with more workers than cores yields, as long as they are its own. What wants the core is
//! a worker that has work then, and to wake one that has parked is a system call of such a worker:
//! more calls than there are cores for what they call. Whether other programs compute shows where a
//! worker got its core back late, and again soon: this process has used less than a third of the
//! cores meanwhile. Then all workers of the pool keep their cores for a while: each of them would
//! pay for what one has found out.

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
/// Patience where there are fewer cores than workers: an idle worker makes room soon. Where tasks
/// block, the cores are free only as long as those that look for work leave them so.
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
    /// The cores that they share; none where there is one for each.
    pub(crate) shared: Option<usize>,
}

impl Manner {
    /// Of so many workers that work, where that many cores are there for them.
    pub(crate) fn of(workers: usize, cores: usize) -> Manner {
        let (limit, shared) = match workers > cores {
            true => (PATIENCE_CROWDED, Some(cores)),
            false => (PATIENCE, None),
        };
        Manner { limit, shared }
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

/// The findings of a pool's workers, which share cores, about other programs.
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

    /// Whether workers keep their cores at present, although they share them.
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
        match manner.shared {
            Some(cores) if !others.compute() => self.give_way(cores, others),
            _ => spin(round),
        }
    }

    fn give_way(&self, cores: usize, others: &Others) {
        let gave = now();
        thread::yield_now();
        let at = now();
        if at.saturating_duration_since(gave) > LATE && self.shows_others(at, cores) {
            others.note(at);
        }
    }

    /// The core came back late: whether that was not this program's doing.
    #[cold]
    fn shows_others(&self, at: Instant, cores: usize) -> bool {
        let back = ProcessorTime::now().map(|used| Return { at, used });
        let before = self.late.replace(back);
        back.is_none_or(|back| before.is_some_and(|one| back.shows_others(one, cores)))
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
    use std::time::Duration;

    use super::{Manner, Others, Patience, SOON, leaves_cores_to_others};
    use crate::machine::meeting_points::now;

    /// A worker that loses its core between two looks gets it back when the system likes. Then it
    /// parks, whatever the number of looks, or it would keep its core from others for each of them.
    #[test]
    fn patience_ends_by_the_clock_and_not_by_the_number_of_looks() {
        let limit = Duration::from_millis(1);
        let shared = None;
        let manner = Manner { limit, shared };
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
    fn others_compute_if_two_thirds_of_the_cores_were_theirs() {
        let (time, cores) = (SOON / 2, 4);
        assert!(leaves_cores_to_others(time, time, cores));
        assert!(!leaves_cores_to_others(time, time * 3 / 2, cores));
        assert!(
            !leaves_cores_to_others(SOON * 2, time, cores),
            "this process may have had nothing to do meanwhile"
        );
    }

    /// A core that comes back late twice, soon after each other, tells all workers of the pool, for
    /// a while.
    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn what_one_worker_finds_out_the_others_know() {
        let shows = |between: Duration| {
            let (one, at) = (Patience::default(), now());
            assert!(!one.shows_others(at, usize::MAX));
            one.shows_others(at + between, usize::MAX)
        };
        assert!(shows(SOON / 2) && !shows(SOON * 2));
        let (others, at) = (Others::new(), now());
        assert!(!others.compute());
        others.note(at);
        assert!(others.compute());
        others.keeps.store(1, super::Ordering::Relaxed);
        assert!(!others.compute(), "it is over");
    }
}
