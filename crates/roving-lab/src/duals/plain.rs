//! `fib --device` and `flat --device`: WORMS' two programs, each node a task that has a CPU side
//! only. What it costs to be able to have another side.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use roving_gpu::{Devices, Dual, Kind};

use super::program::{DualEntry, DualProgram, PoolAndDevices};
use crate::forms::fork_join::SerialCalls;
use crate::io::input::{BadInput, CommandFailure, number_in};
use crate::workloads::fib::fib;
use crate::workloads::{RunAnswer, TimedAnswer, WorkloadKind};

/// The entry of `fib` in the catalogue.
pub(super) const FIB: DualEntry = DualEntry {
    kind: WorkloadKind {
        name: "fib",
        about: "Fibonacci number by two recursive calls, each a task that could have a GPU side",
        inputs: &[
            ("35", "14,930,351 joins, as in WORMS' paper"),
            ("25", "121,392 joins"),
        ],
        params: "n, from 0 to 50",
        items: "calls",
        figures: &["value"],
        serial: "plain calls, both really made",
    },
    parse: parse_fib,
};

/// The entry of `flat` in the catalogue.
pub(super) const FLAT: DualEntry = DualEntry {
    kind: WorkloadKind {
        name: "flat",
        about: "empty tasks spawned by one, each of which could have a GPU side",
        inputs: &[
            ("1e6", "1,000,000 tasks, as fork-join in WORMS' paper"),
            ("1e4", "10,000 tasks"),
        ],
        params: "tasks, from 1 to 1e9",
        items: "tasks",
        figures: &["tasks"],
        serial: "a count for each task",
    },
    parse: parse_flat,
};

static CALL: Kind = Kind::new("fib");
static EMPTY: Kind = Kind::new("flat");

struct Fib {
    n: u32,
    /// The result of plain calls.
    expected: u64,
}

struct Flat {
    tasks: u64,
}

fn parse_fib(input: &str) -> Result<Box<dyn DualProgram>, BadInput> {
    let n = number_in("fib input", input, 0..=50, "take fib 35")? as u32;
    Ok(Box::new(Fib { n, expected: 0 }))
}

fn parse_flat(input: &str) -> Result<Box<dyn DualProgram>, BadInput> {
    let tasks = number_in("flat input", input, 1..=1_000_000_000, "take flat 1e6")?;
    Ok(Box::new(Flat { tasks }))
}

/// `fib(n)`; each call is a task with a CPU side, and two of them a join.
pub(crate) fn dual_fib(devices: &Devices, n: u32) -> u64 {
    if n < 2 {
        return u64::from(n);
    }
    let (a, b) = roving::join(move || call(devices, n - 1), move || call(devices, n - 2));
    a + b
}

#[inline(always)]
fn call(devices: &Devices, n: u32) -> u64 {
    Dual::new(&CALL, &[n as usize])
        .cpu(|| dual_fib(devices, n))
        .run(devices)
}

/// So many tasks with a CPU side from one scope, each of which does `each`.
pub(crate) fn dual_flat(devices: &Devices, tasks: u64, each: impl Fn() + Sync) {
    let each = &each;
    roving::scope(|scope| {
        for _ in 0..tasks {
            scope.spawn(move |_| Dual::new(&EMPTY, &[1]).cpu(each).run(devices));
        }
    });
}

impl DualProgram for Fib {
    fn input(&self) -> String {
        self.n.to_string()
    }

    fn serial(&mut self) -> Duration {
        let start = Instant::now();
        self.expected = fib(&mut SerialCalls, std::hint::black_box(self.n));
        start.elapsed()
    }

    fn run(&self, place: &PoolAndDevices<'_>) -> Result<TimedAnswer, CommandFailure> {
        let (time, value) = place.pool.install(|| {
            let start = Instant::now();
            let value = dual_fib(place.devices, std::hint::black_box(self.n));
            (start.elapsed(), value)
        });
        let answer = RunAnswer([value, 0, 0]);
        Ok(TimedAnswer { time, answer })
    }

    fn expected(&self) -> RunAnswer {
        RunAnswer([self.expected, 0, 0])
    }

    fn work(&self) -> f64 {
        self.items() as f64
    }

    fn tasks(&self) -> u64 {
        self.items()
    }

    fn items(&self) -> u64 {
        let next = (0..self.n + 1)
            .fold((0_u64, 1_u64), |(a, b), _| (b, a + b))
            .0;
        2 * next - 1
    }
}

impl DualProgram for Flat {
    fn input(&self) -> String {
        self.tasks.to_string()
    }

    fn serial(&mut self) -> Duration {
        let start = Instant::now();
        let mut count = 0_u64;
        for _ in 0..self.tasks {
            count = std::hint::black_box(count + 1);
        }
        start.elapsed()
    }

    fn run(&self, place: &PoolAndDevices<'_>) -> Result<TimedAnswer, CommandFailure> {
        let done = AtomicU64::new(0);
        let time = place.pool.install(|| {
            let start = Instant::now();
            // Ordering: Relaxed: only the sum matters; the scope's end orders it before the read.
            dual_flat(place.devices, self.tasks, || {
                done.fetch_add(1, Ordering::Relaxed);
            });
            start.elapsed()
        });
        let answer = RunAnswer([done.into_inner(), 0, 0]);
        Ok(TimedAnswer { time, answer })
    }

    fn expected(&self) -> RunAnswer {
        RunAnswer([self.tasks, 0, 0])
    }

    fn work(&self) -> f64 {
        self.tasks as f64
    }

    fn tasks(&self) -> u64 {
        self.tasks
    }

    fn items(&self) -> u64 {
        self.tasks
    }
}
