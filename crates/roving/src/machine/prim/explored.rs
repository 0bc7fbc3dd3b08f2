//! The side of loom: all that it explores, with the interfaces of `prim/real.rs`.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::task::Wake;
use std::time::{Duration, Instant};

/// A plain cell whose every access is checked for races.
pub use loom::cell::UnsafeCell as DataCell;
pub(crate) use loom::sync::MutexGuard;
pub(crate) use loom::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize};

/// Threads of the model checker. Its own `unpark` also wakes a thread that waits for a lock, and
/// what a thread was told before it waited for one is lost; so a thread's token is a notification
/// here. A park may also return for no reason.
pub(crate) mod thread {
    use std::io;
    use std::sync::Arc;

    use loom::sync::Notify;
    pub(crate) use loom::thread::{ThreadId, yield_now};
    pub(crate) use std::thread::{Result, panicking, sleep};

    loom::thread_local! {
        static TOKEN: Arc<Notify> = Arc::new(Notify::new());
    }

    /// A thread, to be unparked.
    #[derive(Clone)]
    pub(crate) struct Thread {
        token: Arc<Notify>,
        known: loom::thread::Thread,
    }

    impl Thread {
        pub(crate) fn unpark(&self) {
            self.token.notify();
        }

        pub(crate) fn id(&self) -> ThreadId {
            self.known.id()
        }

        pub(crate) fn name(&self) -> Option<&str> {
            self.known.name()
        }
    }

    pub(crate) fn current() -> Thread {
        Thread {
            token: TOKEN.with(Arc::clone),
            known: loom::thread::current(),
        }
    }

    pub(crate) fn park() {
        TOKEN.with(Arc::clone).wait();
    }

    /// Threads end, but none is seen to have ended: who must know is told by the thread itself.
    #[derive(Debug)]
    pub(crate) struct JoinHandle<T>(loom::thread::JoinHandle<T>);

    impl<T> JoinHandle<T> {
        pub(crate) fn join(self) -> Result<T> {
            self.0.join()
        }

        pub(crate) fn is_finished(&self) -> bool {
            false
        }

        pub(crate) fn thread(&self) -> &loom::thread::Thread {
            self.0.thread()
        }
    }

    #[cfg(test)]
    pub(crate) fn spawn<T: 'static>(f: impl FnOnce() -> T + 'static) -> JoinHandle<T> {
        JoinHandle(loom::thread::spawn(f))
    }

    /// A thread to be started.
    pub(crate) struct Builder(loom::thread::Builder);

    impl Builder {
        pub(crate) fn new() -> Builder {
            Builder(loom::thread::Builder::new())
        }

        pub(crate) fn name(self, name: String) -> Builder {
            Builder(self.0.name(name))
        }

        pub(crate) fn stack_size(self, bytes: usize) -> Builder {
            Builder(self.0.stack_size(bytes))
        }

        pub(crate) fn spawn<T: Send + 'static>(
            self,
            f: impl FnOnce() -> T + Send + 'static,
        ) -> io::Result<JoinHandle<T>> {
            self.0.spawn(f).map(JoinHandle)
        }
    }
}

/// The lock of `machine::lock`, explored.
#[derive(Default)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Mutex<T> {
        Mutex(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.0.try_lock().ok()
    }

    pub(crate) fn get_mut(&mut self) -> &mut T {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The waiting of `machine::lock`, explored.
#[derive(Default)]
pub(crate) struct Condvar(loom::sync::Condvar);

impl Condvar {
    pub(crate) fn new() -> Condvar {
        Condvar(loom::sync::Condvar::new())
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until notified: there is no time, so the time is over at that very moment.
    pub(crate) fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        _: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        (self.wait(guard), true)
    }
}

#[doc(hidden)]
pub fn ord(name: &'static str, ordering: Ordering) -> Ordering {
    match mutant(name) {
        true => Ordering::Relaxed,
        false => ordering,
    }
}

#[doc(hidden)]
pub fn mutant(name: &'static str) -> bool {
    static MUTANT: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    let mutant = MUTANT.get_or_init(|| std::env::var("ROVING_MUTANT").ok());
    mutant.as_deref() == Some(name)
}

#[inline(always)]
#[doc(hidden)]
pub const fn pause() {}

/// Explores all executions of a small program, and returns how many there were: `cargo xtask loom`
/// wants no fewer than `loom.txt` promises. For tests with too many executions, `preemptions`
/// limits how often one thread may take another's place.
#[doc(hidden)]
pub fn explore_within(preemptions: Option<usize>, program: impl Fn() + Send + Sync + 'static) {
    let count = Arc::new(super::unexplored::AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let mut model = loom::model::Builder::new();
    if preemptions.is_some() {
        model.preemption_bound = preemptions;
        // A program that needs the bound may have more steps than loom's own limit, 1000.
        model.max_branches = model.max_branches.max(2000);
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
#[doc(hidden)]
pub fn explore(program: impl Fn() + Send + Sync + 'static) {
    explore_within(None, program);
}

/// A waker that counts its calls. Nothing that is explored: read it when the thread that wakes has
/// ended, or where loom, which runs one thread at a time, runs the one that reads.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct Woken(super::unexplored::AtomicUsize);

impl Woken {
    /// How often it was called.
    #[doc(hidden)]
    pub fn times(&self) -> usize {
        // Ordering: Relaxed; see above.
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Woken {
    fn wake(self: Arc<Woken>) {
        // Ordering: Relaxed; see above.
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The thread that serves all deadlines is a day ahead in the model: so there are deadlines that
/// have come for it, and for nobody else yet.
#[inline]
pub(crate) fn time_until(at: Instant) -> Option<Duration> {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    at.checked_duration_since(Instant::now() + DAY)
        .filter(|time| !time.is_zero())
}

/// A value of one execution.
macro_rules! process_wide {
    ($($(#[$meta:meta])* static $name:ident: $type:ty = $value:expr;)*) => {
        loom::lazy_static! { $($(#[$meta])* static ref $name: $type = $value;)* }
    };
}
pub(crate) use process_wide;

/// A value of one thread of an execution.
macro_rules! thread_wide {
    ($(#[$meta:meta])* static $name:ident: $type:ty = $value:expr;) => {
        loom::thread_local! { $(#[$meta])* static $name: $type = $value; }
    };
}
pub(crate) use thread_wide;

/// Functions that make words.
macro_rules! const_fn {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident() -> $type:ty $body:block)*) => {
        $($(#[$meta])* $vis fn $name() -> $type $body)*
    };
}
pub(crate) use const_fn;

/// There is no cache.
#[inline]
pub(crate) fn prefetch<T>(_: *const T) {}
