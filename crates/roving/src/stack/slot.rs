//! One place in a task stack: a task descriptor, with its closure and later its result inside.

use std::cell::Cell;
use std::mem::{MaybeUninit, align_of, size_of};
use std::ptr::NonNull;

use super::state::{Phase, State};
use crate::machine::prim::{AtomicU64, DataCell, Ordering, mutant, ord};

/// Runs the task in a slot: moves the closure out of the payload, calls it, catches its panic and
/// leaves what the owner will look for in the payload. Never unwinds. Returns what is to be run
/// when the slot has been left.
pub(crate) type Run = unsafe fn(&Slot) -> Option<Further>;

/// Work that a slot held, to be run when the slot has been left.
#[derive(Clone, Copy)]
pub(crate) enum Further {
    /// A task that stands in another slot.
    Offer(Offer),
    /// An async task's frame, whose root has been opened for who runs it.
    #[cfg_attr(loom, expect(dead_code, reason = "frames are not built for loom"))]
    Frame(NonNull<()>),
}

/// A claimed task that its thief offers on: whose stack and which slot it stands in, and the word
/// that the slot had. A task of its own in the thief's stack; to run it is to read it, and then to
/// try for the task that it speaks of.
#[derive(Clone, Copy)]
pub(crate) struct Offer {
    pub(crate) victim: usize,
    pub(crate) index: usize,
    pub(crate) offered: State,
}

/// The part of a slot that a closure or a result may fill. A slot is one cache line of 64 bytes.
type Payload = MaybeUninit<[u64; 5]>;

/// A task descriptor. It belongs to one stack for as long as the pool lives, so a thief may look
/// at its state at any time; what else it may touch, and when, is in [`super::state`].
#[repr(C, align(64))]
pub(crate) struct Slot {
    state: AtomicU64,
    run: DataCell<MaybeUninit<Run>>,
    /// Owner only: the barrier that stood before this task was pushed ([`super::owner`]).
    link: Cell<*const Slot>,
    payload: DataCell<Payload>,
}

/// Whether a value can live in a slot; one that cannot stays in its frame, and a reference to it
/// goes into the slot.
pub(crate) const fn fits<T>() -> bool {
    size_of::<T>() <= size_of::<Payload>() && align_of::<T>() <= align_of::<Payload>()
}

impl Slot {
    #[cfg(loom)]
    pub(crate) fn new() -> Slot {
        Slot {
            state: AtomicU64::new(0),
            run: DataCell::new(MaybeUninit::uninit()),
            link: Cell::new(std::ptr::null()),
            payload: DataCell::new(MaybeUninit::uninit()),
        }
    }

    /// Puts a task in.
    ///
    /// # Safety
    /// The caller owns the slot's stack, and the slot is at its top: free, and private.
    #[inline(always)]
    pub(crate) unsafe fn fill<T>(&self, run: Run, payload: T) {
        self.run.with_mut(|at| {
            // SAFETY: the slot is private, so nobody else touches its cells.
            unsafe { (*at).write(run) };
        });
        // SAFETY: the caller promises a free and private slot.
        unsafe { self.put(payload) };
    }

    /// Writes the payload: the closure by the owner, or the result by whoever ran the task.
    ///
    /// # Safety
    /// The caller has the slot to itself: the owner of a private slot, or who runs the task.
    #[inline(always)]
    pub(crate) unsafe fn put<T>(&self, value: T) {
        // Folded away: callers choose by `fits`, and the branch not taken is compiled too.
        assert!(const { fits::<T>() });
        // SAFETY: it fits, and the caller has the slot to itself.
        self.payload
            .with_mut(|at| unsafe { at.cast::<T>().write(value) });
    }

    /// Moves the payload out.
    ///
    /// # Safety
    /// The caller has the slot to itself, and the payload holds a `T`, which is not used again.
    #[inline(always)]
    pub(crate) unsafe fn take<T>(&self) -> T {
        // Folded away: callers choose by `fits`, and the branch not taken is compiled too.
        assert!(const { fits::<T>() });
        // SAFETY: the caller says so.
        self.payload.with(|at| unsafe { at.cast::<T>().read() })
    }

    /// Runs the task.
    ///
    /// # Safety
    /// The caller popped the task as its owner, or started it as its thief, and does this once.
    #[must_use]
    pub(crate) unsafe fn run(&self) -> Option<Further> {
        // SAFETY: a task was put in, and the caller has the slot to itself.
        let run = self.run.with(|at| unsafe { (*at).assume_init() });
        // SAFETY: the caller's promise is handed on.
        unsafe { run(self) }
    }

    /// Whether that is what would run the task in the slot, which the caller has claimed. Functions
    /// can have several addresses, so false is not certain.
    pub(crate) fn will_run(&self, run: Run) -> bool {
        // SAFETY: a task was put in, and the caller has the slot to itself.
        let own = self.run.with(|at| unsafe { (*at).assume_init() });
        std::ptr::fn_addr_eq(own, run)
    }

    /// Exchanges the tasks of two slots, but for what belongs to their places.
    ///
    /// # Safety
    /// The caller owns the stack of both, and both are private.
    #[cfg(not(loom))]
    pub(super) unsafe fn swap(&self, other: &Slot) {
        // SAFETY: nobody else touches the cells of private slots, and the two are not the same cell
        // or the very same, which `swap` allows.
        self.run
            .with_mut(|a| other.run.with_mut(|b| unsafe { std::ptr::swap(a, b) }));
        // SAFETY: both slots are private, so no other thread touches their payloads; the two may be
        // the same cell, which `swap` allows.
        self.payload
            .with_mut(|a| other.payload.with_mut(|b| unsafe { std::ptr::swap(a, b) }));
    }

    pub(crate) fn link(&self) -> *const Slot {
        self.link.get()
    }

    pub(crate) fn set_link(&self, barrier: *const Slot) {
        self.link.set(barrier);
    }

    /// The slot's word, fresh enough to act on what `Started` and `Done` imply.
    pub(crate) fn state(&self) -> State {
        // Ordering: Pairs with [finish] for the result, and with [begin] for leapfrogging: who
        // sees `Started` sees the holder's stack as it was then, without older runs in it.
        State(self.state.load(ord("slot_state", Ordering::Acquire)))
    }

    /// Thief: begins the task that it has claimed and not offered.
    pub(crate) fn begin(&self, holder: usize, base: usize) {
        // Ordering: Relaxed; nobody else may change the word of a claimed task.
        let ready = State(self.state.load(Ordering::Relaxed));
        // Ordering: Edge [begin]: Release, so that a leapfrogger which reads `Started` also sees
        // every earlier retirement in the holder's stack. The payload came with the claim.
        self.state.store(
            ready.started(holder, base).0,
            ord("begin", Ordering::Release),
        );
    }

    /// Thief: leaves the task that it has claimed to who comes first; [`Self::begin_offered`] needs
    /// what this returns.
    pub(crate) fn offer(&self) -> State {
        // Ordering: Relaxed; nobody else may change the word of a claimed task, and what its
        // payload needs is passed on with the offer.
        let offered = State(self.state.load(Ordering::Relaxed)).offered();
        // Ordering: Edge [offer]: Release, so that the thief's look at the task
        // ([`Slot::will_run`]) comes before the slot's next one is put in.
        self.state.store(offered.0, ord("offer", Ordering::Release));
        offered
    }

    /// Begins an offered task. False when somebody else has, or the owner took it back.
    #[must_use]
    pub(crate) fn begin_offered(&self, offered: State, holder: usize, base: usize) -> bool {
        let started = offered.started(holder, base);
        // Ordering: Release, as [begin].
        let order = ord("begin_offered", Ordering::Release);
        self.state
            .compare_exchange(offered.0, started.0, order, Ordering::Relaxed)
            .is_ok()
    }

    /// Thief: the task has ended and its result is in the payload. True when its owner is parked
    /// and has to be woken. The slot may be the owner's again at once.
    #[must_use]
    pub(crate) fn finish(&self) -> bool {
        // Ordering: Relaxed; the holder itself wrote the word, bar the waiter bit.
        let started = State(self.state.load(Ordering::Relaxed));
        // Ordering: Edge [finish]: Release hands the result to the owner's acquire in `state`.
        State(
            self.state
                .swap(started.done().0, ord("finish", Ordering::Release)),
        )
        .has_waiter()
    }

    /// Owner: takes a claimed task back that is offered. False when somebody has begun it, or its
    /// thief has not said yet what it does.
    #[must_use]
    pub(crate) fn take_back(&self) -> bool {
        // Ordering: Relaxed; the payload was never anybody else's.
        let offered = State(self.state.load(Ordering::Relaxed));
        if offered.phase() != Phase::Offered {
            return false;
        }
        let next = match mutant("keep_generation") {
            true => offered.same_generation(),
            false => offered.next_generation(),
        };
        // Ordering: Relaxed, as above; atomicity alone decides between owner and thief. That the
        // offer was made is seen by `state` before. Pairs with [offer] there, or with [finish] if
        // the offer was begun, which is in the same release sequence.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        self.state
            .compare_exchange(offered.0, next.0, success, failure)
            .is_ok()
    }

    /// Owner: announces that it parks until the run that it sees has ended. False when it has ended
    /// meanwhile.
    #[must_use]
    pub(crate) fn announce_waiter(&self, started: State) -> bool {
        // Ordering: Relaxed; whether the thief sees the bit or this call the end is decided by both
        // being read-modify-writes, and the result is looked for with `state`.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let waited_for = started.with_waiter();
        self.state
            .compare_exchange(started.0, waited_for.0, success, failure)
            .is_ok()
    }

    /// Owner: the task has ended, its result is out; the slot is free again.
    pub(super) fn retire(&self) {
        // Ordering: Relaxed; the next publication of the span releases it.
        let state = State(self.state.load(Ordering::Relaxed));
        debug_assert!(state.is_done());
        // Ordering: Relaxed, as above. Nobody changes the word of a task that is done.
        self.state
            .store(state.next_generation().0, Ordering::Relaxed);
    }
}
