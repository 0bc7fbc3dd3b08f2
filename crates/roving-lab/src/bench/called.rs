//! The row about calls from outside: threads that call a pool of their own again and again, with a
//! serial part between two calls, as programs do that are parallel in places. Compared with Rayon.

use std::thread;
use std::time::{Duration, Instant};

use roving::Pool;

use super::Scale;
use super::record::{Bound::AtLeast, RowRecord};
use crate::forms::fork_join::{ForkJoin, Roving, Serial};
use crate::io::figures::counted;
use crate::io::input::CommandFailure;
use crate::rivals::{Absent, RayonPool};
use crate::timing::lanes::{TimedLane, interleave};
use crate::workloads::fib::fib;
use crate::workloads::stress::{calibrated, leaf, tree};

/// Workers of each pool.
const WORKERS: usize = 2;
/// How many threads call, each its own pool.
const CALLERS: [usize; 2] = [1, 4];
/// Serial parts between two calls, in µs.
const SERIAL_US: [u64; 3] = [0, 50, 500];
/// The bounds to reach and to hope for on the speed over Rayon's.
const SPEED: (f64, f64) = (0.95, 1.0);

/// Work of one call.
#[derive(Clone, Copy)]
enum CalledWork {
    /// `fib` by joins, with nothing to do in a leaf.
    Fib(u32),
    /// A tree of joins, whose leaves take so long.
    Tree { depth: u32, leaf_us: u64 },
}

/// Work, and how many calls make one timed run without a serial part.
const WORKS: [(CalledWork, u64); 3] = [
    (CalledWork::Fib(22), 100),
    (
        CalledWork::Tree {
            depth: 4,
            leaf_us: 5,
        },
        800,
    ),
    (
        CalledWork::Tree {
            depth: 5,
            leaf_us: 100,
        },
        40,
    ),
];

impl CalledWork {
    fn name(self) -> String {
        match self {
            CalledWork::Fib(n) => format!("fib({n}) by joins"),
            CalledWork::Tree { depth, leaf_us } => {
                format!("{} leaves of {leaf_us} µs", 1 << depth)
            }
        }
    }

    /// One call; `turns` take a leaf a microsecond.
    fn run<C: ForkJoin>(self, cx: &mut C, turns: u64) -> u64 {
        match self {
            CalledWork::Fib(n) => fib(cx, n),
            CalledWork::Tree { depth, leaf_us } => tree(cx, depth, leaf_us * turns),
        }
    }
}

/// The calls of one caller.
#[derive(Clone, Copy)]
struct CallPlan {
    work: CalledWork,
    calls: u64,
    serial_us: u64,
    /// Turns of a leaf that take a microsecond.
    turns: u64,
    /// The result of each call.
    expected: u64,
}

impl CallPlan {
    fn new(work: CalledWork, calls: u64, serial_us: u64, turns: u64) -> CallPlan {
        CallPlan {
            work,
            calls,
            serial_us,
            turns,
            expected: work.run(&mut Serial, turns),
        }
    }

    fn name(&self, callers: usize) -> String {
        let (work, serial_us) = (self.work.name(), self.serial_us);
        let callers = counted(callers, "caller");
        format!("{work}, serial part of {serial_us} µs, {callers}")
    }

    /// All callers at once, each on a pool of its own: the time until the last has ended.
    fn time<P: Sync>(
        self,
        pools: &[P],
        call: impl Fn(&P, CallPlan) -> u64 + Sync,
    ) -> Result<Duration, String> {
        let call = &call;
        let caller = move |pool| {
            let is_right = |_| {
                let found = call(pool, self);
                leaf(self.serial_us * self.turns);
                found == self.expected
            };
            (0..self.calls).all(is_right)
        };
        let start = Instant::now();
        let is_right = thread::scope(|scope| {
            let callers: Vec<_> = pools
                .iter()
                .map(|pool| scope.spawn(move || caller(pool)))
                .collect();
            callers
                .into_iter()
                .all(|caller| caller.join().is_ok_and(|is_right| is_right))
        });
        match is_right {
            true => Ok(start.elapsed()),
            false => Err(format!("a call did not come to {}", self.expected)),
        }
    }
}

/// Measures all kinds of work, serial parts and numbers of callers, with Rayon's pools in turn.
pub(super) fn called(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let failed = |why: String| CommandFailure::Run(format!("no pool: {why}"));
    let mut record = RowRecord::default();
    let turns = calibrated(1_000);
    for callers in CALLERS {
        let ours = (0..callers).map(|_| Pool::new(WORKERS));
        let ours: Vec<Pool> = ours
            .collect::<Result<_, _>>()
            .map_err(|why| failed(why.to_string()))?;
        let theirs = (0..callers).map(|_| RayonPool::new(WORKERS));
        let theirs: Vec<RayonPool> = theirs
            .collect::<Result<_, _>>()
            .map_err(|Absent(why)| failed(why))?;
        for (work, calls) in WORKS {
            for serial_us in SERIAL_US {
                let calls = if scale.quick { 5 } else { calls };
                let plan = CallPlan::new(work, calls, serial_us, turns);
                let mut lanes = [
                    TimedLane::new("roving", WORKERS, || {
                        plan.time(&ours, |pool, plan| {
                            pool.install(|| plan.work.run(&mut Roving, plan.turns))
                        })
                    }),
                    TimedLane::new("rayon", WORKERS, || {
                        plan.time(&theirs, |pool, plan| {
                            pool.install(|cx| plan.work.run(cx, plan.turns))
                        })
                    }),
                ];
                let series =
                    interleave(&mut lanes, scale.rounds(11)).map_err(CommandFailure::Run)?;
                let of = plan.name(callers);
                for one in &series {
                    record.series(&of, one, "µs/call", 1e6 / calls as f64);
                }
                let speed = series[0].speedup_over(&series[1]);
                let (must, stretch) = SPEED;
                record.claim(
                    format!("{of}: speed over rayon's"),
                    "×",
                    speed,
                    AtLeast(must),
                    AtLeast(stretch),
                );
            }
        }
    }
    Ok(record)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;

    #[test]
    fn every_caller_calls_its_pool_so_often_and_a_wrong_result_is_told() {
        let plan = CallPlan::new(
            CalledWork::Tree {
                depth: 2,
                leaf_us: 1,
            },
            7,
            1,
            3,
        );
        assert_eq!(plan.expected, leaf(3).wrapping_mul(4));
        let pools = [AtomicU64::new(0), AtomicU64::new(0)];
        let count = |pool: &AtomicU64, plan: CallPlan| {
            pool.fetch_add(1, Relaxed);
            plan.work.run(&mut Serial, plan.turns)
        };
        assert!(plan.time(&pools, count).is_ok());
        assert_eq!(pools.map(AtomicU64::into_inner), [7, 7]);
        let why = plan
            .time(&[(), ()], |(), plan| plan.expected + 1)
            .unwrap_err();
        assert_eq!(why, format!("a call did not come to {}", plan.expected));
    }
}
