//! Tools for several test programs: a watchdog, and a few small ones.
#![allow(dead_code, reason = "each test program uses its own part of it")]

use std::any::Any;
use std::io::Write as _;
use std::panic::Location;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use roving::policy::Amount;
use roving::{Pool, join};

/// Runs the body of a test that might hang. If it does, the process is aborted with the name of
/// the test: a hung test that is merely ended by its caller says nothing.
#[track_caller]
pub(crate) fn watched<R>(body: impl FnOnce() -> R) -> R {
    let limit = Duration::from_secs(if cfg!(any(roving_asan, roving_tsan, miri)) {
        900
    } else {
        300
    });
    let place = Location::caller();
    let thread = thread::current();
    let name = thread.name().unwrap_or("a test").to_owned();
    let (over, is_over) = mpsc::channel::<()>();
    let dog = thread::spawn(move || {
        if is_over.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            let seconds = limit.as_secs();
            // Not with a macro: what those print is kept back until the test has ended.
            let text = format!("\n{name} ({place}) hangs: not over after {seconds} s\n");
            let _ = std::io::stderr().write_all(text.as_bytes());
            std::process::abort();
        }
    });
    let result = body();
    drop(over);
    dog.join().expect("the watchdog does not panic");
    result
}

/// This program again: by the emulator that runs it, if one does.
pub(crate) fn this_program() -> Command {
    let program = std::env::current_exe().unwrap();
    let Ok(runner) = std::env::var("ROVING_TEST_RUNNER") else {
        return Command::new(program);
    };
    let mut words = runner.split_whitespace();
    let mut command = Command::new(words.next().expect("ROVING_TEST_RUNNER names a program"));
    command.args(words).arg(program);
    command
}

/// The steal amounts that every program has to be right with.
pub(crate) const AMOUNTS: [Amount; 3] = [Amount::One, Amount::Fixed(4), Amount::Half];

/// A pool with this many workers.
pub(crate) fn pool(workers: usize) -> Pool {
    Pool::new(workers).expect("a small pool can be built")
}

/// A pool with the given steal amount.
pub(crate) fn pool_that_steals(workers: usize, amount: Amount) -> Pool {
    let builder = Pool::builder().workers(workers).steal(amount);
    builder.build().expect("a small pool can be built")
}

/// A value that lives as long as the process, where a tool that looks for leaks finds it.
pub(crate) fn forever<T: Any + Sync + Send>(value: T) -> &'static T {
    static KEPT: Mutex<Vec<&'static (dyn Any + Sync + Send)>> = Mutex::new(Vec::new());
    let value: &'static T = Box::leak(Box::new(value));
    KEPT.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(value);
    value
}

/// Forgets a handle, but not where that is looked for: its frame is never freed.
pub(crate) fn forget<T>(handle: T) {
    if cfg!(roving_asan) {
        drop(handle);
    } else {
        std::mem::forget(handle);
    }
}

/// Waits, asleep, until the condition holds.
pub(crate) fn wait_until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::sleep(Duration::from_micros(200));
    }
}

/// Waits until all workers of the pool sleep. It keeps a profile.
pub(crate) fn wait_until_quiet(pool: &Pool) {
    let quiet = || pool.profile().quiet;
    let before = quiet();
    wait_until(|| quiet() > before);
}

/// Waits until the condition holds or the time is up; says whether it holds.
pub(crate) fn holds_within(limit: Duration, condition: impl Fn() -> bool) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() > limit {
            return false;
        }
        thread::sleep(Duration::from_micros(200));
    }
    true
}

/// An item of a loop: it takes long now and then, so that others come for the rest.
pub(crate) fn step(seed: u64, index: usize) {
    let mut random = Random(seed.wrapping_mul(0x9E37) ^ index as u64);
    match random.below(16) {
        0 => thread::sleep(Duration::from_micros(random.below(200))),
        1 | 2 => thread::yield_now(),
        _ => {}
    }
}

/// Runs both at the same time, which takes a thief.
pub(crate) fn join_stolen<RA: Send, RB: Send>(
    a: impl FnOnce() -> RA + Send,
    b: impl FnOnce() -> RB + Send,
) -> (RA, RB) {
    let begun = AtomicBool::new(false);
    // Ordering: Relaxed; nothing else is handed over.
    join(
        || {
            wait_until(|| begun.load(Ordering::Relaxed));
            a()
        },
        || {
            begun.store(true, Ordering::Relaxed);
            b()
        },
    )
}

/// Keeps a worker of the pool busy until what it returns is dropped.
pub(crate) fn occupy_one(pool: &Pool) -> Sender<()> {
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    pool.spawn(move || {
        begun.send(()).unwrap();
        let _ = may_go_on.recv();
    });
    has_begun.recv().unwrap();
    go_on
}

/// A number where it costs little, and one for Miri, which takes some thousand times as long.
pub(crate) const fn size<T: Copy>(native: T, miri: T) -> T {
    if cfg!(miri) { miri } else { native }
}

/// How many of so many seeds a test tries that does not need them all: where the variable
/// `ROVING_DEEP` is set all the same, by itself every fourth.
pub(crate) fn seeds(all: u64) -> u64 {
    let part = std::env::var_os("ROVING_DEEP").map_or(4, |_| 1);
    all.div_ceil(part)
}

/// A number of tries that is smaller where each costs a multiple.
pub(crate) fn tries(count: usize) -> usize {
    if cfg!(miri) {
        count.div_ceil(100)
    } else if cfg!(roving_tsan) {
        count.div_ceil(10)
    } else {
        count
    }
}

/// A depth of joins beyond the 8192 slots of a stack (32 under Miri). ThreadSanitizer keeps 65,536
/// calls a thread, of which each such level takes five when nothing is inlined, and crashes beyond
/// that.
pub(crate) const BEYOND_THE_STACK: u64 = match cfg!(roving_tsan) {
    true => 9_000,
    false => size(20_000, 50),
};

/// Reproducible numbers: splitmix64 (Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }
}

/// How many [`Counted`] of one census are alive.
#[derive(Debug, Default)]
pub(crate) struct Census {
    pub(crate) made: AtomicUsize,
    pub(crate) dropped: AtomicUsize,
}

impl Census {
    pub(crate) const fn new() -> Census {
        Census {
            made: AtomicUsize::new(0),
            dropped: AtomicUsize::new(0),
        }
    }

    pub(crate) fn one(&self) -> Counted<'_> {
        // Ordering: Relaxed; read after everything has been joined.
        self.made.fetch_add(1, Ordering::Relaxed);
        Counted(self)
    }

    /// Every value that was made has been dropped, once.
    #[track_caller]
    pub(crate) fn check(&self) {
        // Ordering: Relaxed; everything has been joined.
        let (made, dropped) = (&self.made, &self.dropped);
        let (made, dropped) = (
            made.load(Ordering::Relaxed),
            dropped.load(Ordering::Relaxed),
        );
        assert_eq!(made, dropped, "made and dropped");
    }
}

/// A value whose drop is counted.
#[derive(Debug)]
pub(crate) struct Counted<'c>(&'c Census);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        // Ordering: Relaxed; read after everything has been joined.
        self.0.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

/// Lets others run first, once.
pub(crate) fn yield_now() -> impl Future<Output = ()> + Send {
    let mut yielded = false;
    std::future::poll_fn(move |context| {
        if std::mem::replace(&mut yielded, true) {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
}
