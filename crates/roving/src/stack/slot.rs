//! One place in a task stack: a task descriptor, with its closure and later its result inside.

use std::cell::Cell;
use std::mem::offset_of;
use std::mem::{MaybeUninit, align_of, size_of};
use std::ops::Deref;
use std::ptr::NonNull;

use super::slot_state::SlotState;
use super::task_word::TaskWord;
use crate::machine::prim::DataCell;

/// Runs the task in a slot: moves the closure out of the payload, calls it, catches its panic and
/// leaves what the owner will look for in the payload. Never unwinds. Returns what is to be run
/// when the slot has been left.
///
/// By C's calling convention, so that code which is not Rust can be such a function: it then needs
/// no second one that a function of ours would have to find.
pub(crate) type Run = unsafe extern "C-unwind" fn(&Slot) -> Further;

/// Work that a slot held, to be run when the slot has been left. One word each, so that a function
/// returns this in registers: most tasks leave nothing, and all are asked.
#[derive(Clone, Copy)]
#[repr(u64)]
pub(crate) enum Further {
    Nothing,
    /// A task that stands in another slot.
    Offer(Offer),
    /// An async task's frame, whose root has been opened for who runs it.
    Frame(NonNull<()>),
    /// A part of a loop, which stands behind its head.
    Part(NonNull<PartHead>),
    /// A coroutine whose code is not Rust, which stands behind its head.
    Foreign(NonNull<ForeignHead>),
}

/// The beginning of a coroutine whose code is not Rust: the function that runs it and all that it
/// leaves on the stack of the calling thread, whose line pointer it gets. It never unwinds.
#[repr(C)]
pub struct ForeignHead {
    pub(crate) run: unsafe extern "C" fn(wire: *const (), head: *mut ForeignHead),
}

/// The beginning of a part of a loop: the function that runs the part, once, when it gets the
/// address of this.
pub(crate) struct PartHead {
    pub(crate) run: unsafe fn(NonNull<PartHead>),
}

/// A claimed task that its thief offers on: whose stack and which slot it stands in, and the word
/// that the slot had. A task of its own in the thief's stack; to run it is to read it, and then to
/// try for the task that it speaks of.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Offer(SlotState);

impl Offer {
    pub(crate) fn new(victim: usize, index: usize, offered: SlotState) -> Offer {
        Offer(offered.offered_at(victim, index))
    }

    pub(crate) fn victim(self) -> usize {
        self.0.place().0
    }

    pub(crate) fn index(self) -> usize {
        self.0.place().1
    }

    /// The word that the slot had.
    pub(crate) fn offered(self) -> SlotState {
        self.0.offered_nowhere()
    }
}

/// The part of a slot that a closure or a result may fill. A slot is one cache line of 64 bytes.
type Payload = MaybeUninit<[u64; 5]>;

/// A task descriptor. It belongs to one stack for as long as the pool lives, so a thief may look
/// at its state at any time; what else it may touch, and when, is in [`super::slot_state`].
#[repr(C, align(64))]
pub(crate) struct Slot {
    word: TaskWord,
    run: DataCell<MaybeUninit<Run>>,
    /// Owner only: the barrier that stood before this task was pushed ([`super::owner`]).
    link: Cell<*const Slot>,
    payload: DataCell<Payload>,
}

/// Where the function that runs the task stands, for code that is not Rust.
pub(crate) const RUN_AT: usize = offset_of!(Slot, run);
/// Where the payload stands, for the same.
pub(crate) const PAYLOAD_AT: usize = offset_of!(Slot, payload);

/// Whether a value can live in a slot; one that cannot stays in its frame, and a reference to it
/// goes into the slot.
pub(crate) const fn fits<T>() -> bool {
    size_of::<T>() <= size_of::<Payload>() && align_of::<T>() <= align_of::<Payload>()
}

/// A closure's words go into a slot and out of it one by one.
///
/// They were written one by one, perhaps just now, in memory where the compiler keeps them there. A
/// load of two or four of them at once, into which LLVM would put these, has to wait until they
/// have left the store buffer, for some thirty cycles; it leaves volatile accesses apart.
type Word = MaybeUninit<*mut ()>;

/// How many words a value has; 0, if it does not consist of whole words.
const fn words_of<T>() -> usize {
    const { assert!(size_of::<Payload>() % size_of::<Word>() == 0) };
    let is_of_words =
        size_of::<T>() % size_of::<Word>() == 0 && align_of::<T>() == align_of::<Word>();
    if is_of_words {
        size_of::<T>() / size_of::<Word>()
    } else {
        0
    }
}

/// Moves a value out of a payload, word by word if it has many.
///
/// # Safety
/// As [`std::ptr::read`].
#[inline(always)]
unsafe fn read_words<T>(at: *const T) -> T {
    if words_of::<T>() <= 2 {
        // SAFETY: the caller says so.
        return unsafe { at.read() };
    }
    let mut value = MaybeUninit::<T>::uninit();
    let (from, to) = (at.cast::<Word>(), value.as_mut_ptr().cast::<Word>());
    for word in 0..words_of::<T>() {
        // SAFETY: within the value, which the caller may read, and at a multiple of its alignment.
        unsafe { to.add(word).write(from.add(word).read_volatile()) };
    }
    // SAFETY: all its words are there.
    unsafe { value.assume_init() }
}

/// Moves a value into a payload, word by word if it has many.
///
/// # Safety
/// As [`std::ptr::write`].
#[inline(always)]
unsafe fn write_words<T>(at: *mut T, value: T) {
    if words_of::<T>() <= 2 {
        // SAFETY: the caller says so.
        return unsafe { at.write(value) };
    }
    let value = MaybeUninit::new(value);
    let (from, to) = (value.as_ptr().cast::<Word>(), at.cast::<Word>());
    for word in 0..words_of::<T>() {
        // SAFETY: within the value, and within the memory that the caller may write.
        unsafe { to.add(word).write_volatile(from.add(word).read()) };
    }
}

/// The value, in memory of its own. A slow path that takes this does not make the compiler keep
/// the value in memory on the fast one.
#[inline(always)]
pub(crate) fn apart<T>(value: T) -> T {
    let value = MaybeUninit::new(value);
    // SAFETY: it holds a value, which is not used again.
    unsafe { read_words(value.as_ptr()) }
}

impl Slot {
    /// A free slot. All-zero bytes are one, too, but in the model checker.
    pub(crate) fn new() -> Slot {
        Slot {
            word: TaskWord::new(),
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
            .with_mut(|at| unsafe { write_words(at.cast::<T>(), value) });
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
        self.payload
            .with(|at| unsafe { read_words(at.cast::<T>()) })
    }

    /// Looks at the payload.
    ///
    /// # Safety
    /// The caller has the slot to itself, and the payload holds a `T`.
    #[inline(always)]
    pub(crate) unsafe fn peek<T, R>(&self, look: impl FnOnce(&T) -> R) -> R {
        // SAFETY: the caller says so.
        self.payload.with(|at| look(unsafe { &*at.cast::<T>() }))
    }

    /// Runs the task.
    ///
    /// # Safety
    /// The caller popped the task as its owner, or started it as its thief, and does this once.
    #[must_use]
    pub(crate) unsafe fn run(&self) -> Further {
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

    pub(crate) fn link(&self) -> *const Slot {
        self.link.get()
    }

    pub(crate) fn set_link(&self, barrier: *const Slot) {
        self.link.set(barrier);
    }
}

impl Deref for Slot {
    type Target = TaskWord;

    fn deref(&self) -> &TaskWord {
        &self.word
    }
}
