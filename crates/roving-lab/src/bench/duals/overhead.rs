//! `duals-overhead`: what it costs that a task could have a GPU side, where there is no device; and
//! what a task with a CPU side only costs where there is one.

use std::hint::black_box;
use std::time::{Duration, Instant};

use roving::Pool;
use roving_gpu::{Devices, Dual, Kind, Simulated};

use super::super::Scale;
use super::super::record::{Bound, Record};
use crate::compare::lanes::{Lane, interleave};
use crate::duals::{dual_fib, dual_flat};
use crate::fork_join::Roving;
use crate::input::Failure;
use crate::workloads::fib::fib;

/// The promised time in nanoseconds for each task.
const MUST_NS: f64 = 3.0;

static EMPTY: Kind = Kind::new("empty");

/// The timed part of a run in a pool of one worker.
fn timed(pool: &Pool, body: impl FnOnce() + Send) -> Result<Duration, String> {
    Ok(pool.install(|| {
        let start = Instant::now();
        body();
        start.elapsed()
    }))
}

/// So many async tasks from one, each made by `each`.
fn spawned<F>(pool: &Pool, tasks: u64, each: impl Fn(u64) -> F + Send + Sync) -> Duration
where
    F: Future<Output = u64> + Send,
{
    let (start, each) = (Instant::now(), &each);
    pool.run(|scope| async move {
        for task in 0..tasks {
            drop(scope.fork(each(task)).await);
        }
    });
    start.elapsed()
}

/// `fib`, plainly and of tasks that could have a GPU side.
fn joins<'a>(pool: &'a Pool, devices: &'a Devices, n: u32) -> [Lane<'a>; 2] {
    let plain = move || timed(pool, || _ = black_box(fib(&mut Roving, black_box(n))));
    let duals = move || timed(pool, || _ = black_box(dual_fib(devices, black_box(n))));
    [
        Lane::new(format!("fib({n})"), 1, plain),
        Lane::new(format!("fib({n}) of duals"), 1, duals),
    ]
}

/// Empty closures from one scope.
fn closures<'a>(pool: &'a Pool, devices: &'a Devices, tasks: u64) -> [Lane<'a>; 2] {
    let plain = move || {
        timed(pool, || {
            roving::scope(|scope| {
                for _ in 0..tasks {
                    scope.spawn(|_| black_box(()));
                }
            });
        })
    };
    let duals = move || timed(pool, || dual_flat(devices, tasks, || black_box(())));
    [
        Lane::new(format!("flat {tasks}"), 1, plain),
        Lane::new(format!("flat {tasks} of duals"), 1, duals),
    ]
}

/// Empty async tasks from one.
fn futures<'a>(pool: &'a Pool, devices: &'a Devices, tasks: u64) -> [Lane<'a>; 2] {
    let plain = move || Ok(spawned(pool, tasks, |task| async move { black_box(task) }));
    let duals = move || {
        Ok(spawned(pool, tasks, |task| {
            Dual::new(&EMPTY, &[1])
                .cpu(move || black_box(task))
                .on(devices)
        }))
    };
    [
        Lane::new(format!("async flat {tasks}"), 1, plain),
        Lane::new(format!("async flat {tasks} of duals"), 1, duals),
    ]
}

/// WORMS' two programs, with plain tasks and with tasks that could have a GPU side, in turn in one
/// process.
pub(in super::super) fn overhead(scale: &Scale) -> Result<Record, Failure> {
    let mut record = Record::default();
    let pool = Pool::new(1).map_err(|error| Failure::Run(format!("no pool: {error}")))?;
    let devices = black_box(Devices::none());
    let n: u32 = if scale.quick { 22 } else { 35 };
    let tasks: u64 = if scale.quick { 20_000 } else { 1_000_000 };
    let mut lanes = Vec::new();
    lanes.extend(joins(&pool, &devices, n));
    lanes.extend(closures(&pool, &devices, tasks));
    lanes.extend(futures(&pool, &devices, tasks));
    let series = interleave(&mut lanes, scale.rounds(9)).map_err(Failure::Run)?;
    let names = [
        ("joins", calls(n)),
        ("closures", tasks),
        ("async tasks", tasks),
    ];
    for (pair, (of, tasks)) in series.chunks(2).zip(names) {
        let [plain, dual] = pair else { continue };
        let each = 1e9 / tasks as f64;
        record.series(of, plain, "ns/task", each);
        record.series(of, dual, "ns/task", each);
        let beyond = (dual.times.median() - plain.times.median()) * each;
        let what = format!(
            "{}, 1 worker, no device: time per task beyond {}",
            dual.name, plain.name
        );
        record.claim(what, "ns", beyond, Bound::AtMost(MUST_NS), None);
    }
    scheduled(&mut record, &pool, scale)?;
    Ok(record)
}

/// Tasks that have a CPU side only where there is a device: each is still scheduled.
fn scheduled(record: &mut Record, pool: &Pool, scale: &Scale) -> Result<(), Failure> {
    let devices = Devices::builder().backend(Simulated::new()).build();
    let devices = devices.map_err(|error| Failure::Run(format!("no device: {error}")))?;
    let n: u32 = if scale.quick { 15 } else { 25 };
    let [_, mut duals] = joins(pool, &devices, n);
    duals.name.push_str(" with a CPU side only, with a device");
    let series = interleave(&mut [duals], scale.rounds(9)).map_err(Failure::Run)?;
    record.series("joins", &series[0], "ns/task", 1e9 / calls(n) as f64);
    Ok(())
}

/// How many calls `fib(n)` makes but for the first: each is a task.
fn calls(n: u32) -> u64 {
    2 * (0..=n).fold((0, 1), |(a, b), _| (b, a + b)).0 - 2
}
