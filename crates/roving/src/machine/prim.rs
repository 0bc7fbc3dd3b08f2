//! The only door to atomics, cells, threads and clocks: `std`, or loom when built with
//! `--cfg loom`, so that the same algorithm runs and is explored.
//!
//! What is public here is for the crates of this repository that are explored as well. It is not
//! covered by semantic versioning.

#[cfg(not(loom))]
pub(crate) use crate::machine::lock::{Condvar, Mutex, MutexGuard};
#[cfg(loom)]
pub(crate) use loom::{
    sync::MutexGuard,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize},
};
#[cfg(not(loom))]
pub(crate) use std::{
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize},
    thread,
};

#[cfg(all(roving_pauses, not(loom)))]
use std::ptr;
#[cfg(loom)]
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::machine::turns;

/// Set once, before any thread that reads it can know of it; loom has no model of its own.
pub(crate) use std::sync::OnceLock;
#[cfg(loom)]
pub(crate) use thread::park;

pub(crate) use std::sync::atomic::Ordering;

/// Threads of the model checker. Its own `unpark` also wakes a thread that waits for a lock, and
/// what a thread was told before it waited for one is lost; so a thread's token is a notification
/// here. A park may also return for no reason.
#[cfg(loom)]
pub(crate) mod thread {
    use std::sync::Arc;

    use loom::sync::Notify;
    pub(crate) use loom::thread::{JoinHandle, yield_now};

    loom::thread_local! {
        static TOKEN: Arc<Notify> = Arc::new(Notify::new());
    }

    /// A thread, to be unparked.
    #[derive(Clone)]
    pub(crate) struct Thread(Arc<Notify>);

    impl Thread {
        pub(crate) fn unpark(&self) {
            self.0.notify();
        }
    }

    pub(crate) fn current() -> Thread {
        Thread(TOKEN.with(Arc::clone))
    }

    pub(crate) fn park() {
        current().0.wait();
    }
}

/// A lock that the model checker explores, with the interface of `machine::lock`.
#[cfg(loom)]
#[derive(Default)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

#[cfg(loom)]
impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Waiting that the model checker explores, with the interface of `machine::lock`.
#[cfg(loom)]
pub(crate) struct Condvar(loom::sync::Condvar);

#[cfg(loom)]
impl Condvar {
    pub(crate) fn new() -> Condvar {
        Condvar(loom::sync::Condvar::new())
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }
}

/// Parks the calling thread, which may return for no reason.
#[cfg(not(loom))]
#[inline(never)]
pub(crate) fn park() {
    if !turns::park() {
        crate::machine::faults::park();
    }
}

/// Unparks that thread.
#[cfg(not(loom))]
#[inline(never)]
pub(crate) fn unpark(thread: &thread::Thread) {
    if !turns::unpark(thread.id()) {
        thread.unpark();
    }
}

#[cfg(loom)]
pub(crate) fn unpark(thread: &thread::Thread) {
    thread.unpark();
}

/// Names an ordering, so that the mutation check can weaken it.
///
/// In a normal build it is the ordering itself, folded away. Under loom, when the environment
/// variable `ROVING_MUTANT` holds `name`, it is `Relaxed`: the loom test that `mutants.txt` lists
/// for that name has to fail then (`cargo xtask mutants`).
#[cfg(not(loom))]
#[inline(always)]
pub const fn ord(_name: &'static str, ordering: Ordering) -> Ordering {
    ordering
}

#[cfg(loom)]
#[doc(hidden)]
pub fn ord(name: &'static str, ordering: Ordering) -> Ordering {
    match mutant(name) {
        true => Ordering::Relaxed,
        false => ordering,
    }
}

/// Names a step, so that the mutation check can leave it out or do it wrongly.
///
/// False, and folded away, in a normal build. Under loom it is true when the environment variable
/// `ROVING_MUTANT` holds `name`: the loom test that `mutants.txt` lists for that name has to fail
/// then.
#[cfg(not(loom))]
#[inline(always)]
pub const fn mutant(_name: &'static str) -> bool {
    false
}

#[cfg(loom)]
#[doc(hidden)]
pub fn mutant(name: &'static str) -> bool {
    static MUTANT: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let mutant = MUTANT.get_or_init(|| std::env::var("ROVING_MUTANT").ok());
    mutant.as_deref() == Some(name)
}

/// A point between two steps of a protocol at which a thread may lose its core for long.
///
/// Nothing in a normal build. With `--cfg roving_pauses` one thread in eight sleeps here, for up to
/// some milliseconds, and two in eight give their core away: what a program meets in days, it meets
/// in seconds.
#[cfg(any(loom, not(roving_pauses)))]
#[inline(always)]
#[doc(hidden)]
pub const fn pause() {}

#[cfg(all(roving_pauses, not(loom)))]
#[doc(hidden)]
pub fn pause() {
    thread_local! {
        static LAST: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }
    LAST.with(|last| {
        // Another sequence for each thread: by the address of its own word.
        let word = last.get() ^ ptr::from_ref(last).addr() as u64;
        let next = word.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
        last.set(next);
        match next >> 61 {
            0 => thread::sleep(Duration::from_micros(50 << (next >> 40 & 7))),
            1 | 2 => thread::yield_now(),
            _ => {}
        }
    });
}

/// Explores all executions of a small program, and returns how many there were: `cargo xtask loom`
/// wants no fewer than `loom.txt` promises. For tests with too many executions, `preemptions`
/// limits how often one thread may take another's place.
#[cfg(loom)]
#[doc(hidden)]
pub fn explore_within(preemptions: Option<usize>, program: impl Fn() + Send + Sync + 'static) {
    let count = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = std::sync::Arc::clone(&count);
    let mut model = loom::model::Builder::new();
    if preemptions.is_some() {
        model.preemption_bound = preemptions;
    }
    model.check(move || {
        // Ordering: Relaxed; read when all is over.
        counted.fetch_add(1, Ordering::Relaxed);
        program();
    });
    // Ordering: Relaxed, as above.
    let count = count.load(Ordering::Relaxed);
    let test = std::thread::current();
    println!("explored {} {count}", test.name().unwrap_or("?"));
}

/// Explores all executions of a small program, without the bound of [`explore_within`].
#[cfg(loom)]
#[doc(hidden)]
pub fn explore(program: impl Fn() + Send + Sync + 'static) {
    explore_within(None, program);
}

/// A moment that a waiting thread remembers.
#[cfg(not(loom))]
pub(crate) struct Since(Instant);

#[cfg(not(loom))]
impl Since {
    pub(crate) fn now() -> Since {
        Since(turns::now())
    }

    /// Whether that much time has passed since.
    pub(crate) fn is_past(&self, time: Duration) -> bool {
        turns::now().saturating_duration_since(self.0) >= time
    }
}

/// The model checker has no time: any span of it is past at once.
#[cfg(loom)]
pub(crate) struct Since;

#[cfg(loom)]
impl Since {
    pub(crate) fn now() -> Since {
        Since
    }

    pub(crate) fn is_past(&self, _: Duration) -> bool {
        true
    }
}

/// Waits until that is no longer so, or for ever; whoever changes it notifies.
pub(crate) fn wait_while<'g, T>(
    changed: &Condvar,
    mut guard: MutexGuard<'g, T>,
    mut is_so: impl FnMut(&mut T) -> bool,
) -> MutexGuard<'g, T> {
    while is_so(&mut guard) {
        guard = changed.wait(guard);
    }
    guard
}

/// Waits until notified, or for that time. True if the time is over.
#[cfg(not(loom))]
pub(crate) fn wait_for<'g, T>(
    changed: &Condvar,
    guard: MutexGuard<'g, T>,
    time: Duration,
) -> (MutexGuard<'g, T>, bool) {
    changed.wait_timeout(guard, time)
}

/// Waits until notified: the model checker has no time, so the time is over at that very moment.
#[cfg(loom)]
pub(crate) fn wait_for<'g, T>(
    changed: &Condvar,
    guard: MutexGuard<'g, T>,
    _: Duration,
) -> (MutexGuard<'g, T>, bool) {
    (changed.wait(guard), true)
}

/// The time until then, for the thread that serves all deadlines; `None` if it has come.
#[cfg(not(loom))]
#[inline]
pub(crate) fn time_until(at: Instant) -> Option<Duration> {
    at.checked_duration_since(Instant::now())
        .filter(|time| !time.is_zero())
}

/// The thread that serves all deadlines is a day ahead in the model: so there are deadlines that
/// have come for it, and for nobody else yet.
#[cfg(loom)]
#[inline]
pub(crate) fn time_until(at: Instant) -> Option<Duration> {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    at.checked_duration_since(Instant::now() + DAY)
        .filter(|time| !time.is_zero())
}

/// A value of the whole process; in the model checker, of one execution.
#[cfg(not(loom))]
macro_rules! process_wide {
    ($(#[$meta:meta])* static $name:ident: $type:ty = $value:expr;) => {
        $(#[$meta])* static $name: $type = $value;
    };
}
#[cfg(loom)]
macro_rules! process_wide {
    ($(#[$meta:meta])* static $name:ident: $type:ty = $value:expr;) => {
        loom::lazy_static! { $(#[$meta])* static ref $name: $type = $value; }
    };
}
pub(crate) use process_wide;

/// Data that one thread at a time may touch; loom checks that no two do.
#[cfg(not(loom))]
pub struct DataCell<T>(std::cell::UnsafeCell<T>);

#[cfg(not(loom))]
impl<T> DataCell<T> {
    /// Creates a cell whose value the caller has to protect.
    pub const fn new(value: T) -> DataCell<T> {
        DataCell(std::cell::UnsafeCell::new(value))
    }

    /// Calls `f` with a pointer for reading.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    /// Calls `f` with a pointer for writing.
    #[inline(always)]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }
}

/// A plain cell whose every access loom checks for races.
#[cfg(loom)]
pub type DataCell<T> = loom::cell::UnsafeCell<T>;

/// Keeps two values that different threads write on different cache lines (two of them, because
/// neighbouring lines are fetched together).
#[repr(align(128))]
pub(crate) struct Padded<T>(pub(crate) T);

impl<T> std::ops::Deref for Padded<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// Brings what is at `at` into the cache in the background, where the processor can be told to.
#[inline]
pub(crate) fn prefetch<T>(at: *const T) {
    #[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
    // SAFETY: a prefetch of any address is allowed and reads nothing.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at.cast());
    }
    #[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
    let _ = at;
}
