//! Programs of tasks with two sides, small enough to be run once for each thing that can go wrong.
#![allow(dead_code, reason = "each test uses some of them")]

pub(crate) mod card;
pub(crate) mod numbers;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use roving::task::{Scope, Task};
use roving_gpu::{Arg, Buffer, Devices, Dual, HostCall, Kernel, Kind};

/// Nothing here takes so long, however busy the machine is.
const HANGS: Duration = Duration::from_secs(300);

/// Fails instead of hanging.
pub(crate) fn within<R: Send + 'static>(
    what: String,
    body: impl FnOnce() -> R + Send + 'static,
) -> R {
    let (sender, receiver) = mpsc::channel();
    let thread = thread::spawn(move || {
        let result = body();
        let _ = sender.send(());
        result
    });
    if let Err(mpsc::RecvTimeoutError::Timeout) = receiver.recv_timeout(HANGS) {
        // Not with a macro: what those print is kept back until the test has ended.
        let _ = std::io::stderr().write_all(format!("\nhangs: {what}\n").as_bytes());
        std::process::abort();
    }
    match thread.join() {
        Ok(result) => result,
        Err(payload) => std::panic::resume_unwind(payload),
    }
}

/// Waits for something that other threads are about to do.
pub(crate) fn soon(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < HANGS, "never so: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

/// Polls it once, and is not woken.
pub(crate) fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(Waker::noop()))
}

/// Keeps a kernel, and so its device, as long as a test wants: then nothing hangs on how fast
/// anybody is. Open at first.
pub(crate) struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

struct GateState {
    is_closed: bool,
    /// Somebody has come to it since it was closed.
    is_reached: bool,
}

impl Gate {
    pub(crate) const fn new() -> Gate {
        Gate {
            state: Mutex::new(GateState {
                is_closed: false,
                is_reached: false,
            }),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closed until what it returns is dropped, also by a panic.
    pub(crate) fn close(&self) -> Closed<'_> {
        *self.lock() = GateState {
            is_closed: true,
            is_reached: false,
        };
        Closed(self)
    }

    /// Waits until it is open.
    pub(crate) fn pass(&self) {
        let mut state = self.lock();
        state.is_reached = true;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |state| state.is_closed));
    }
}

pub(crate) struct Closed<'g>(&'g Gate);

impl Closed<'_> {
    /// Waits until somebody waits to pass.
    pub(crate) fn wait(&self) {
        let is_on_its_way = |state: &mut GateState| !state.is_reached;
        drop(self.0.changed.wait_while(self.0.lock(), is_on_its_way));
    }
}

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        self.0.lock().is_closed = false;
        self.0.changed.notify_all();
    }
}

/// A file of times, which goes when the test is over.
pub(crate) struct Times(PathBuf);

/// Measured times of tasks with a work of 1 on one side, in seconds.
pub(crate) struct Known {
    pub(crate) side: &'static str,
    /// Where there are many, as [`SAMPLES`], a run moves the mean by little, also where a thread
    /// was kept from its core.
    pub(crate) samples: u32,
    pub(crate) mean: f64,
    pub(crate) most: f64,
}

impl Known {
    /// Tasks that all took so long.
    pub(crate) fn of(side: &'static str, samples: u32, mean: f64) -> Known {
        let most = mean;
        Known {
            side,
            samples,
            mean,
            most,
        }
    }
}

/// As many as there can be.
pub(crate) const SAMPLES: u32 = 512;

impl Times {
    /// A file in which nothing is yet.
    pub(crate) fn none(name: &str) -> Times {
        let name = format!("roving-gpu-{name}-{}.json", std::process::id());
        Times(std::env::temp_dir().join(name))
    }

    /// A file in which that is.
    pub(crate) fn of(name: &str, kind: &Kind, known: &[Known]) -> Times {
        Times::of_kinds(name, &[(kind, known)])
    }

    /// [`Times::of`] several kinds.
    pub(crate) fn of_kinds(name: &str, kinds: &[(&Kind, &[Known])]) -> Times {
        let side = |known: &Known| {
            let (samples, mean, most) = (known.samples, known.mean, known.most);
            let mean = serde_json::json!(
                { "samples": samples, "work": 1.0, "seconds": mean, "most": most }
            );
            let law = serde_json::json!({ "buckets": { "0": mean } });
            (known.side.to_owned(), law)
        };
        let sides = |known: &[Known]| known.iter().map(side).collect::<serde_json::Map<_, _>>();
        let kinds = kinds.iter();
        let kinds: serde_json::Map<_, _> = kinds
            .map(|(kind, known)| (kind.name().to_owned(), sides(known).into()))
            .collect();
        let measured = serde_json::json!({ "kinds": kinds, "transfers": {} });
        let times = Times::none(name);
        let file = serde_json::json!({ "format": 1, "measured": measured });
        std::fs::write(&times.0, file.to_string()).unwrap();
        times
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Times {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

// Whole numbers that wrap around: what comes out does not depend on who computes it, and anything
// that is lost, done twice or done to garbage shows.

/// A matrix of blocks, by which the tasks of a Cholesky decomposition depend on each other.
pub(crate) const BLOCKS: usize = 4;
/// How many tasks that takes, and how many of the blocks are used.
pub(crate) const TASKS: u64 = 20;
pub(crate) const USED: u64 = 10;
const LEN: usize = 16;

fn factor(a: &mut [u32]) {
    let mut last = 1_u32;
    for x in a {
        last = last.wrapping_mul(3).wrapping_add(*x);
        *x = last;
    }
}

fn solve(a: &[u32], b: &mut [u32]) {
    for (x, y) in a.iter().zip(b) {
        *y = y.wrapping_mul(5).wrapping_add(*x).rotate_left(3);
    }
}

fn update(a: &[u32], b: &[u32], c: &mut [u32]) {
    for ((x, y), z) in a.iter().zip(b).zip(c) {
        *z = z.wrapping_sub(x.wrapping_mul(*y | 1)).rotate_left(7);
    }
}

static FACTOR: Kind = Kind::new("factor");
static SOLVE: Kind = Kind::new("solve");
static UPDATE: Kind = Kind::new("update");

static FACTOR_KERNEL: Kernel = Kernel::new("factor").host(|call: &mut HostCall<'_>| {
    factor(call.update());
});
static SOLVE_KERNEL: Kernel = Kernel::new("solve").host(|call: &mut HostCall<'_>| {
    let (a, b) = (call.read(), call.update());
    solve(a, b);
});
static UPDATE_KERNEL: Kernel = Kernel::new("update").host(|call: &mut HostCall<'_>| {
    let (a, b, c) = (call.read(), call.read(), call.update());
    update(a, b, c);
});

type Block = Buffer<u32>;

async fn do_factor(devices: &Devices, a: &Block) {
    Dual::new(&FACTOR, &[a.len()])
        .updates(a)
        .cpu(|| factor(&mut a.write()))
        .gpu(async |gpu| {
            gpu.launch(&FACTOR_KERNEL, [1, 1, 1], &[Arg::update(a)])
                .await
        })
        .on(devices)
        .await;
}

async fn do_solve(devices: &Devices, a: &Block, b: &Block) {
    Dual::new(&SOLVE, &[a.len()])
        .reads(a)
        .updates(b)
        .cpu(|| solve(&a.read(), &mut b.write()))
        .gpu(async |gpu| {
            let arguments = [Arg::read(a), Arg::update(b)];
            gpu.launch(&SOLVE_KERNEL, [1, 1, 1], &arguments).await
        })
        .on(devices)
        .await;
}

async fn do_update(devices: &Devices, a: &Block, b: &Block, c: &Block) {
    Dual::new(&UPDATE, &[a.len(), 2])
        .reads(a)
        .reads(b)
        .updates(c)
        .cpu(|| update(&a.read(), &b.read(), &mut c.write()))
        .gpu(async |gpu| {
            let arguments = [Arg::read(a), Arg::read(b), Arg::update(c)];
            gpu.launch(&UPDATE_KERNEL, [1, 1, 1], &arguments).await
        })
        .on(devices)
        .await;
}

fn input(block: usize) -> Vec<u32> {
    let seed = block as u32 * 1_000_003 + 17;
    (0..LEN as u32)
        .map(|at| seed.wrapping_mul(at + 1))
        .collect()
}

fn at(row: usize, column: usize) -> usize {
    row * BLOCKS + column
}

/// Steps with a barrier between them; within a step all tasks are forked.
pub(crate) fn cholesky(pool: &roving::Pool, devices: &Devices) -> Vec<Vec<u32>> {
    let blocks: Vec<Block> = (0..BLOCKS * BLOCKS)
        .map(|n| Buffer::from(input(n)))
        .collect();
    let all = &blocks;
    pool.run(|scope| async move {
        for k in 0..BLOCKS {
            do_factor(devices, &all[at(k, k)]).await;
            let mut solved = Vec::new();
            for i in k + 1..BLOCKS {
                solved.push(scope.spawn(do_solve(devices, &all[at(k, k)], &all[at(i, k)])));
            }
            for one in solved {
                one.await;
            }
            let mut updated = Vec::new();
            for i in k + 1..BLOCKS {
                for j in k + 1..=i {
                    let (a, b, c) = (&all[at(i, k)], &all[at(j, k)], &all[at(i, j)]);
                    updated.push(scope.fork(do_update(devices, a, b, c)).await);
                }
            }
            for one in updated {
                one.await;
            }
        }
    });
    blocks.into_iter().map(Buffer::into_vec).collect()
}

pub(crate) fn cholesky_serial() -> Vec<Vec<u32>> {
    let mut all: Vec<_> = (0..BLOCKS * BLOCKS).map(input).collect();
    for k in 0..BLOCKS {
        factor(&mut all[at(k, k)]);
        for i in k + 1..BLOCKS {
            let a = all[at(k, k)].clone();
            solve(&a, &mut all[at(i, k)]);
        }
        for i in k + 1..BLOCKS {
            for j in k + 1..=i {
                let (a, b) = (all[at(i, k)].clone(), all[at(j, k)].clone());
                update(&a, &b, &mut all[at(i, j)]);
            }
        }
    }
    all
}

static LEAF: Kind = Kind::new("leaf");
static MERGE: Kind = Kind::new("merge");
static LEAF_KERNEL: Kernel = Kernel::new("leaf").host(|call: &mut HostCall<'_>| {
    let (out, seed) = (call.update(), call.value());
    leaf(out, seed);
});
static MERGE_KERNEL: Kernel = Kernel::new("merge").host(|call: &mut HostCall<'_>| {
    let (a, b, out) = (call.read(), call.read(), call.update());
    merge(a, b, out);
});

fn leaf(out: &mut [u32], seed: u32) {
    for (at, x) in (0..).zip(out) {
        *x = seed.wrapping_mul(2_654_435_761_u32.wrapping_add(at));
    }
}

fn merge(a: &[u32], b: &[u32], out: &mut [u32]) {
    for ((x, y), z) in a.iter().zip(b).zip(out) {
        *z = x.rotate_left(5) ^ y.wrapping_mul(9);
    }
}

/// Halves, and what comes of both; each task writes a buffer of its own, in two launches.
pub(crate) fn divide<'scope>(
    scope: Scope<'scope>,
    devices: &'scope Devices,
    depth: u32,
    seed: u32,
) -> impl Task<Block> {
    async move {
        let out = Buffer::zeroed(LEN);
        if depth == 0 {
            Dual::new(&LEAF, &[LEN])
                .writes(&out)
                .cpu(|| leaf(&mut out.write(), seed))
                .gpu(async |gpu| {
                    let (no, yes) = (seed ^ 1, seed);
                    let first = [Arg::update(&out), Arg::value(&no)];
                    gpu.launch(&LEAF_KERNEL, [1, 1, 1], &first).await?;
                    let second = [Arg::update(&out), Arg::value(&yes)];
                    gpu.launch(&LEAF_KERNEL, [1, 1, 1], &second).await
                })
                .on(devices)
                .await;
            return out;
        }
        let left = scope
            .fork(divide(scope, devices, depth - 1, seed * 2))
            .await;
        let right = scope
            .call(divide(scope, devices, depth - 1, seed * 2 + 1))
            .await;
        let left = left.await;
        Dual::new(&MERGE, &[LEN])
            .reads(&left)
            .reads(&right)
            .writes(&out)
            .cpu(|| merge(&left.read(), &right.read(), &mut out.write()))
            .gpu(async |gpu| {
                let arguments = [Arg::read(&left), Arg::read(&right), Arg::update(&out)];
                gpu.launch(&MERGE_KERNEL, [1, 1, 1], &arguments).await
            })
            .on(devices)
            .await;
        out
    }
}

pub(crate) fn divide_serial(depth: u32, seed: u32) -> Vec<u32> {
    let mut out = vec![0; LEN];
    if depth == 0 {
        leaf(&mut out, seed);
    } else {
        let left = divide_serial(depth - 1, seed * 2);
        let right = divide_serial(depth - 1, seed * 2 + 1);
        merge(&left, &right, &mut out);
    }
    out
}
