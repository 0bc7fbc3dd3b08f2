//! `duals-overhead`: what it costs that a task could have a GPU side, where there is no device;
//! and, where there is one, what a task costs that has a CPU side only, or whose CPU side is known
//! to be sooner by far.

use std::hint::black_box;
use std::time::{Duration, Instant};

use roving::Pool;
use roving_gpu::{Devices, Dual, Kernel, Kind, Simulated};

use super::super::Scale;
use super::super::record::{Bound, RowRecord};
use crate::duals::{dual_fib, dual_flat};
use crate::forms::fork_join::Roving;
use crate::io::input::CommandFailure;
use crate::timing::lanes::{TimedLane, interleave};
use crate::workloads::fib::fib;

/// The promised time in nanoseconds for each task.
const MUST_NS: f64 = 3.0;
/// Nanoseconds that a task without a GPU side may take beyond its closure, beside a device.
const ONLY_NS: (f64, f64) = (15.0, 3.0);
/// Nanoseconds beyond the closure of a task whose CPU side is known to be sooner by far.
const BY_FAR_NS: (f64, f64) = (100.0, 40.0);

static EMPTY: Kind = Kind::new("empty");
static NOTHING: Kernel = Kernel::new("nothing").host(|_call| ());

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
fn joins<'a>(pool: &'a Pool, devices: &'a Devices, n: u32) -> [TimedLane<'a>; 2] {
    let plain = move || timed(pool, || _ = black_box(fib(&mut Roving, black_box(n))));
    let duals = move || timed(pool, || _ = black_box(dual_fib(devices, black_box(n))));
    [
        TimedLane::new(format!("fib({n})"), 1, plain),
        TimedLane::new(format!("fib({n}) of duals"), 1, duals),
    ]
}

/// Empty closures from one scope.
fn closures<'a>(pool: &'a Pool, devices: &'a Devices, tasks: u64) -> [TimedLane<'a>; 2] {
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
        TimedLane::new(format!("flat {tasks}"), 1, plain),
        TimedLane::new(format!("flat {tasks} of duals"), 1, duals),
    ]
}

/// Empty async tasks from one.
fn futures<'a>(pool: &'a Pool, devices: &'a Devices, tasks: u64) -> [TimedLane<'a>; 2] {
    let plain = move || Ok(spawned(pool, tasks, |task| async move { black_box(task) }));
    let duals = move || {
        Ok(spawned(pool, tasks, |task| {
            Dual::new(&EMPTY, &[1])
                .cpu(move || black_box(task))
                .on(devices)
        }))
    };
    [
        TimedLane::new(format!("async flat {tasks}"), 1, plain),
        TimedLane::new(format!("async flat {tasks} of duals"), 1, duals),
    ]
}

/// WORMS' two programs, with plain tasks and with tasks that could have a GPU side, in turn in one
/// process.
pub(in super::super) fn overhead(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let pool = Pool::new(1).map_err(|error| CommandFailure::Run(format!("no pool: {error}")))?;
    let devices = black_box(Devices::none());
    let n: u32 = if scale.quick { 22 } else { 35 };
    let tasks: u64 = if scale.quick { 20_000 } else { 1_000_000 };
    let mut lanes = Vec::new();
    lanes.extend(joins(&pool, &devices, n));
    lanes.extend(closures(&pool, &devices, tasks));
    lanes.extend(futures(&pool, &devices, tasks));
    let series = interleave(&mut lanes, scale.rounds(9)).map_err(CommandFailure::Run)?;
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
    beside_a_device(&mut record, &pool, scale)?;
    Ok(record)
}

/// Closures one after the other on a worker: plainly, and as tasks with two sides of which the
/// device's takes a thousand times as long.
fn by_far<'a>(pool: &'a Pool, devices: &'a Devices, tasks: u64) -> [TimedLane<'a>; 2] {
    let plain = move || timed(pool, || (0..tasks).for_each(|task| _ = black_box(task)));
    let duals = move || {
        timed(pool, || {
            for task in 0..tasks {
                let dual = Dual::new(&EMPTY, &[1]).cpu(|| black_box(task));
                let dual = dual.gpu(async |gpu| {
                    gpu.launch(&NOTHING, [1, 1, 1], &[]).await?;
                    Ok(task)
                });
                let _ = black_box(dual.run(devices));
            }
        })
    };
    [
        TimedLane::new(format!("{tasks} closures"), 1, plain),
        TimedLane::new(format!("{tasks} duals, the CPU sooner by far"), 1, duals),
    ]
}

/// Where there is a device: tasks without a GPU side, and tasks for which there is nothing to
/// decide, beside the same calls alone.
fn beside_a_device(
    record: &mut RowRecord,
    pool: &Pool,
    scale: &Scale,
) -> Result<(), CommandFailure> {
    let launch = Duration::from_micros(100);
    let devices = Devices::builder().backend(Simulated::new().launch_time(launch));
    let devices = devices.build();
    let devices = devices.map_err(|error| CommandFailure::Run(format!("no device: {error}")))?;
    let n: u32 = if scale.quick { 18 } else { 32 };
    let tasks: u64 = if scale.quick { 20_000 } else { 1_000_000 };
    let mut lanes = Vec::from(joins(pool, &devices, n));
    lanes[1].name.push_str(" with a CPU side only");
    lanes.extend(by_far(pool, &devices, tasks));
    let series = interleave(&mut lanes, scale.rounds(9)).map_err(CommandFailure::Run)?;
    let of = [(calls(n), ONLY_NS), (tasks, BY_FAR_NS)];
    for (pair, (tasks, (must, stretch))) in series.chunks(2).zip(of) {
        let [plain, dual] = pair else { continue };
        let each = 1e9 / tasks as f64;
        record.series("beside a device", plain, "ns/task", each);
        record.series("beside a device", dual, "ns/task", each);
        let beyond = (dual.times.median() - plain.times.median()) * each;
        let (dual, plain) = (&dual.name, &plain.name);
        let what = format!("{dual}, 1 worker, beside a device: time per task beyond {plain}");
        let stretch = Bound::AtMost(stretch);
        record.claim(what, "ns", beyond, Bound::AtMost(must), stretch);
    }
    Ok(())
}

/// How many calls `fib(n)` makes but for the first: each is a task.
fn calls(n: u32) -> u64 {
    2 * (0..=n).fold((0, 1), |(a, b), _| (b, a + b)).0 - 2
}
