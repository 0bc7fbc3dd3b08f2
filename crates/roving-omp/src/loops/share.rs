//! The state that the threads of a team share at one construct.

use std::cell::UnsafeCell;
use std::hint;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::thread;

use super::doacross::Doacross;
use super::next::NextIteration;
use super::plan::LoopPlan;
use crate::sync::gate::Gate;
use crate::sync::turn::{PlaceState, PlaceTurn};

/// A word that many threads write has a cache line of its own.
#[repr(align(128))]
struct Alone<T>(T);

/// The state that the threads of a team share at one construct.
#[repr(align(128))]
pub(crate) struct SharedConstruct {
    turn: PlaceTurn,
    /// Written in the setup, read by all who come.
    plan: UnsafeCell<Option<LoopPlan>>,
    doacross: UnsafeCell<Option<Doacross>>,
    /// The copies of what tasks of the construct reduce; freed by others.
    pub(crate) copies: AtomicPtr<()>,
    /// Memory that the threads share, and that of the last construct which had this place: a thread
    /// uses it a little longer than it is in the construct, but not until the next one here.
    memory: AtomicPtr<()>,
    retired: AtomicPtr<()>,
    pub(crate) cancelled: AtomicBool,
    /// The first iteration whose `ordered` part may run.
    pub(crate) gate: Gate,
    next: Alone<NextIteration>,
}

// SAFETY: `plan` and `doacross` are written by the one thread that sets up, and by the last to
// leave; all others read them between the two, as the turn says.
unsafe impl Sync for SharedConstruct {}

impl SharedConstruct {
    /// For construct `k`.
    pub(crate) fn new(k: u64) -> SharedConstruct {
        SharedConstruct {
            turn: PlaceTurn::new(k),
            plan: UnsafeCell::new(None),
            doacross: UnsafeCell::new(None),
            copies: AtomicPtr::new(ptr::null_mut()),
            memory: AtomicPtr::new(ptr::null_mut()),
            retired: AtomicPtr::new(ptr::null_mut()),
            cancelled: AtomicBool::new(false),
            gate: Gate::default(),
            next: Alone(NextIteration::default()),
        }
    }

    /// Nobody uses it: it is for the first construct of a region that has its place.
    pub(super) fn reset(&self, index: u64) {
        if !self.turn.is_unused(index) {
            self.clear();
            self.turn.reset(index);
        }
    }

    pub(super) fn turn(&self) -> &PlaceTurn {
        &self.turn
    }

    pub(super) fn clear(&self) {
        self.next.0.reset();
        // Ordering: Relaxed, all; handed on with the turn, or the region.
        self.copies.store(ptr::null_mut(), Ordering::Relaxed);
        let memory = self.memory.swap(ptr::null_mut(), Ordering::Relaxed);
        let retired = self.retired.swap(memory, Ordering::Relaxed);
        // SAFETY: allocated by `set_up`, or null; all threads are past the construct that had it.
        unsafe { libc::free(retired.cast()) };
        self.cancelled.store(false, Ordering::Relaxed);
        self.gate.reset(0);
        // SAFETY: the last thread leaves, or nobody has come yet.
        unsafe { *self.doacross.get() = None };
    }

    /// Comes to construct `k`. The first thread sets it up, and is told so.
    #[inline]
    pub(crate) fn join(&self, k: u64, setup: impl FnMut(&mut Setup<'_>)) -> Joined {
        match self.turn.is_ready(k) {
            true => Joined::Later,
            false => self.join_early(k, setup),
        }
    }

    fn join_early(&self, k: u64, mut setup: impl FnMut(&mut Setup<'_>)) -> Joined {
        let mut looks = 0_u32;
        loop {
            match self.turn.find(k) {
                PlaceState::Ready => return Joined::Later,
                PlaceState::Free => {
                    self.set_up(&mut setup);
                    self.turn.is_set_up(k);
                    return Joined::First;
                }
                PlaceState::Elsewhere => return Joined::Elsewhere,
                PlaceState::Begun => {}
            }
            // Soon: somebody sets up.
            looks += 1;
            match looks % 64 {
                0 => thread::yield_now(),
                _ => hint::spin_loop(),
            }
        }
    }

    /// Sets up the first construct of a region, before its threads come.
    pub(super) fn begin(&self, setup: impl FnOnce(&mut Setup<'_>)) {
        self.set_up(setup);
        self.turn.begin();
    }

    fn set_up(&self, setup: impl FnOnce(&mut Setup<'_>)) {
        // SAFETY: the turn says that this thread sets up, so nobody else looks.
        let (plan, doacross) = unsafe { (&mut *self.plan.get(), &mut *self.doacross.get()) };
        setup(&mut Setup {
            plan,
            doacross,
            copies: &self.copies,
            memory: &self.memory,
        });
    }

    /// The memory that the threads here share.
    pub(crate) fn memory(&self) -> *mut () {
        // Ordering: Relaxed; handed on with the turn.
        self.memory.load(Ordering::Relaxed)
    }

    /// The plan by which the threads here run.
    #[inline]
    pub(crate) fn plan(&self) -> &LoopPlan {
        // SAFETY: a thread that has joined, and not left, reads what the setup wrote.
        let plan = unsafe { &*self.plan.get() };
        plan.as_ref().expect("a loop has been set up")
    }

    pub(crate) fn doacross(&self) -> Option<&Doacross> {
        // SAFETY: as in `plan`.
        unsafe { (*self.doacross.get()).as_ref() }
    }

    /// The next iterations of that thread.
    pub(crate) fn take(&self, thread: u64, turn: u64) -> Option<(u64, u64)> {
        match self.is_cancelled() {
            true => None,
            false => self.plan().take(thread, turn, &self.next.0),
        }
    }

    /// The next iterations of a loop whose parts are [counted](LoopPlan::counted).
    #[inline]
    pub(crate) fn take_counted(&self) -> Option<(u64, u64)> {
        match self.is_cancelled() {
            true => None,
            false => self.plan().take_counted(&self.next.0),
        }
    }

    #[inline]
    fn is_cancelled(&self) -> bool {
        // Ordering: Relaxed; a thread that does not see it yet does one part more.
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// A thread has come to a construct.
pub(crate) enum Joined {
    First,
    Later,
    /// It has no place here, or has to wait for that ([`ConstructRing::elsewhere`]).
    ///
    /// [`ConstructRing::elsewhere`]: super::ring::ConstructRing::elsewhere
    Elsewhere,
}

/// The parts that the first thread sets up.
pub(crate) struct Setup<'s> {
    pub(crate) plan: &'s mut Option<LoopPlan>,
    pub(crate) doacross: &'s mut Option<Doacross>,
    pub(crate) copies: &'s AtomicPtr<()>,
    memory: &'s AtomicPtr<()>,
}

impl Setup<'_> {
    /// Memory for all threads, so many bytes of zero.
    pub(crate) fn allocate(&self, bytes: usize) {
        // SAFETY: the system's.
        let memory = unsafe { libc::calloc(bytes.max(1), 1) };
        if memory.is_null() {
            crate::env::stop(&format!("Out of memory allocating {bytes} bytes"));
        }
        // Ordering: Relaxed; handed on with the turn.
        self.memory.store(memory.cast(), Ordering::Relaxed);
    }
}

impl Drop for SharedConstruct {
    fn drop(&mut self) {
        for memory in [&self.memory, &self.retired] {
            // Ordering: Relaxed; nobody else has it.
            // SAFETY: allocated by `allocate`, or null.
            unsafe { libc::free(memory.load(Ordering::Relaxed).cast()) };
        }
    }
}
