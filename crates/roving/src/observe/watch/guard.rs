//! The names that a program gives to its critical sections.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::panic::Location;

use crate::machine::os::{self, forks};
use crate::machine::per_process::{PerProcess, PerProcessGuard};
use crate::machine::prim::thread::{self, ThreadId};
use crate::machine::prim::{AtomicUsize, Ordering, process_wide};
use crate::observe::variable::set;

process_wide! {
    /// Whether sections are recorded: one of the three below, and never a smaller one again.
    static RECORDS: AtomicUsize = AtomicUsize::new(NOT_ASKED);
}

/// No section was named yet, and no pool is watched.
const NOT_ASKED: usize = 0;
/// The environment does not ask for a watch, and no pool is watched.
const NO: usize = 1;
const YES: usize = 2;

/// A thread may hold a lock already when it starts the first pool.
#[inline]
fn are_recorded() -> bool {
    // Ordering: Relaxed, as in `begin`.
    match RECORDS.load(Ordering::Relaxed) {
        NO => false,
        YES => true,
        _ => asks_the_environment(),
    }
}

#[cold]
#[inline(never)]
fn asks_the_environment() -> bool {
    let records = match set("ROVING_WATCH") {
        Some(_) => YES,
        None => NO,
    };
    // Ordering: Relaxed, as in `begin`; a pool may be watched since, which counts for more.
    RECORDS.fetch_max(records, Ordering::Relaxed).max(records) == YES
}

/// A critical section that a thread is in, or wants to enter.
#[derive(Clone)]
pub(in crate::observe) struct Section {
    number: u64,
    pub(in crate::observe) name: &'static str,
    pub(in crate::observe) at: &'static Location<'static>,
    pub(in crate::observe) thread: ThreadId,
    /// The system's number of that thread.
    pub(in crate::observe) system_number: Option<u32>,
    pub(in crate::observe) is_held: bool,
}

struct Sections {
    numbers: u64,
    open: Vec<Section>,
}

impl Default for Sections {
    /// Where a child cannot look at the sections of its parent, its numbers begin above them: those
    /// are in guards that the child drops.
    fn default() -> Sections {
        Sections {
            numbers: (forks() as u64) << 48,
            open: Vec::new(),
        }
    }
}

process_wide! {
    static SECTIONS: PerProcess<Sections> = PerProcess::new();
}

/// A lock that is held at a fork is held in the child, too. Where another thread was just entering
/// a section or leaving one, the child knows of none.
fn sections() -> PerProcessGuard<'static, Sections> {
    SECTIONS.lock_inherited(|parents| Sections {
        numbers: parents.numbers,
        open: parents.open.clone(),
    })
}

/// From now on sections are recorded.
pub(in crate::observe) fn begin() {
    // Ordering: Relaxed; a section that is entered at the same moment may be missed.
    RECORDS.store(YES, Ordering::Relaxed);
}

/// All sections that threads are in or want to enter.
pub(in crate::observe) fn open_sections() -> Vec<Section> {
    sections().open.clone()
}

/// A guard that marks the calling thread as inside a critical section; made by [`held`].
///
/// ```
/// let _held: roving::watch::Held = roving::watch::held("cache");
/// ```
#[must_use = "the section ends when this is dropped"]
pub struct Held {
    number: Option<u64>,
    /// The lock is the thread's.
    _not_send: PhantomData<*const ()>,
}

/// Declares that the calling thread holds the lock of that name until the returned guard is
/// dropped, for reports of watched pools. Takes a lock of its own while some pool is watched, or if
/// `ROVING_WATCH` is set; otherwise it costs a load and a branch. Without that variable, a section
/// that began before the first pool was watched is in no report.
///
/// ```
/// use std::sync::Mutex;
///
/// let cache = Mutex::new(1);
/// let mut cache = cache.lock().unwrap();
/// let _held = roving::watch::held("cache");
/// *cache += roving::join(|| 1, || 2).0;
/// ```
#[track_caller]
#[inline]
pub fn held(name: &'static str) -> Held {
    let at = Location::caller();
    Held::new(are_recorded().then(|| enter(name, at, true)))
}

#[cold]
#[inline]
fn enter(name: &'static str, at: &'static Location<'static>, is_held: bool) -> u64 {
    let mut sections = sections();
    sections.numbers += 1;
    let number = sections.numbers;
    let thread = thread::current().id();
    sections.open.push(Section {
        number,
        name,
        at,
        thread,
        system_number: os::thread_number(),
        is_held,
    });
    number
}

impl Held {
    fn new(number: Option<u64>) -> Held {
        Held {
            number,
            _not_send: PhantomData,
        }
    }

    #[inline]
    fn has_got_it(&self) {
        if let Some(number) = self.number {
            let mut sections = sections();
            let mine = sections.open.iter_mut().find(|open| open.number == number);
            mine.into_iter().for_each(|open| open.is_held = true);
        }
    }
}

impl Drop for Held {
    #[inline]
    fn drop(&mut self) {
        if let Some(number) = self.number {
            sections().open.retain(|open| open.number != number);
        }
    }
}

impl fmt::Debug for Held {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Held").finish_non_exhaustive()
    }
}

/// A lock's guard together with the name of the lock; made by [`locked`]. It dereferences to the
/// guard.
///
/// ```
/// let mutex = std::sync::Mutex::new(5);
/// let mut guard: roving::watch::Locked<_> = roving::watch::locked("five", || mutex.lock().unwrap());
/// *guard += 1;
/// assert_eq!(*guard, 6);
/// ```
#[derive(Debug)]
#[must_use = "the lock is let go when this is dropped"]
pub struct Locked<G> {
    /// Dropped before the name is taken back.
    guard: G,
    _held: Held,
}

/// Calls `lock`, which takes a lock, and returns its guard. Until `lock` returns, reports of
/// watched pools say that the calling thread wants the lock of that name, and from then on that it
/// holds it. Costs the same as [`held`].
///
/// # Panics
/// With what `lock` panics with.
///
/// ```
/// use std::sync::RwLock;
///
/// let table = RwLock::new(vec![1, 2, 3]);
/// let rows = roving::watch::locked("table", || table.read().unwrap());
/// assert_eq!(rows.len(), 3);
/// ```
#[track_caller]
#[inline]
pub fn locked<G>(name: &'static str, lock: impl FnOnce() -> G) -> Locked<G> {
    let at = Location::caller();
    let held = Held::new(are_recorded().then(|| enter(name, at, false)));
    let guard = lock();
    held.has_got_it();
    Locked { guard, _held: held }
}

impl<G: Deref> Deref for Locked<G> {
    type Target = G::Target;

    fn deref(&self) -> &G::Target {
        &self.guard
    }
}

impl<G: DerefMut> DerefMut for Locked<G> {
    fn deref_mut(&mut self) -> &mut G::Target {
        &mut self.guard
    }
}
