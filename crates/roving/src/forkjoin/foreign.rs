//! Tasks of a join whose code is not Rust: the seam on which the header for C stands.
//!
//! Such a task stands in a slot as any other does, with up to four words of its arguments, later of
//! its result; what a thief calls is a function of the other language, which hands its code to
//! [`run`]. The fast push and pop are written in the other language too, and touch what
//! [`join`](super::join) touches: the thread's line pointer, four words of the line, and the slot
//! at the top. This module says where those are, and does all that is not fast.

use std::mem::{MaybeUninit, offset_of};
use std::panic::{self, AssertUnwindSafe};

use crate::stack::line::{self, wire_of_this_thread};
use crate::stack::slot::{self, Further, Run, Slot, fits};
use crate::stack::slot_state::Phase;
use crate::workers::Worker;
use crate::workers::own_tasks::Own;
use crate::workers::wait::Taken;

/// The code of a task, which [`run`] calls with the thread's line pointer ([`wire`]) and the slot.
/// It takes its arguments out of the slot, and leaves its result there.
pub type Code = unsafe extern "C-unwind" fn(wire: *const (), slot: *mut ());

/// The words of a task. Not all of them need be set.
pub type Words = MaybeUninit<[u64; 4]>;

/// The payload of a slot. In front of the words is room for the code of a coroutine
/// ([`trees`](super::trees)), and behind it they are aligned as well as the slot allows.
#[repr(C)]
struct Foreign {
    code: MaybeUninit<*const ()>,
    words: Words,
}

const _: () = assert!(fits::<Foreign>() && LAYOUT.words_align <= align_of::<Slot>());

/// Where the parts of slots and lines are, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Layout {
    /// The size of a slot, which is the step from one to the next.
    pub slot: usize,
    /// Where the function that a thief calls is to be written.
    pub slot_run: usize,
    /// Where the code of a coroutine stands.
    pub slot_code: usize,
    /// Where its words begin.
    pub slot_words: usize,
    /// How many bytes of them there are.
    pub words: usize,
    /// The alignment of the first word.
    pub words_align: usize,
    /// The first free slot.
    pub line_top: usize,
    /// A push of a slot below it is fast.
    pub line_push_limit: usize,
    /// A pop of a slot at or above it is fast.
    pub line_pop_limit: usize,
    /// A word of the calling thread's, seen from [`wire`], in which a slow path of the other
    /// language leaves what its caller goes on with.
    pub wire_left: usize,
}

/// Where the parts of this build's slots and lines are.
pub const LAYOUT: Layout = Layout {
    slot: size_of::<Slot>(),
    slot_run: slot::RUN_AT,
    slot_code: slot::PAYLOAD_AT + offset_of!(Foreign, code),
    slot_words: slot::PAYLOAD_AT + offset_of!(Foreign, words),
    words: size_of::<Words>(),
    words_align: 1 << (slot::PAYLOAD_AT + offset_of!(Foreign, words)).trailing_zeros(),
    line_top: line::TOP_AT,
    line_push_limit: line::PUSH_LIMIT_AT,
    line_pop_limit: line::POP_LIMIT_AT,
    wire_left: line::LEFT_AT,
};

/// A function that a slot may hold, for a thief to call with the slot. Elsewhere than here nobody
/// looks at what it takes and returns.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Opaque(pub(super) Run);

/// The two words that such a function returns: what is to be run when the slot has been left.
#[repr(transparent)]
pub struct Left(Further);

/// Returns the address of the calling thread's line pointer: the same for as long as the thread
/// lives. It leads to the line of the worker that the thread is, or to one whose limits let nothing
/// through, and is read by one relaxed load.
pub fn wire() -> *const () {
    wire_of_this_thread().cast()
}

/// Pushes a task where the fast push is refused. `None` if it cannot be pushed: the thread is no
/// worker, or the stack is full. Then the caller runs it in place.
///
/// # Safety
/// The function calls [`run`] with the slot that it gets, and a code that can be called, once, on
/// any thread of the pool, with a slot of these words.
pub unsafe fn push(run: Opaque, words: Words) -> Option<*mut ()> {
    Worker::with_current(|worker| {
        let worker = worker?;
        let code = MaybeUninit::uninit();
        let pushed = worker.owner().push(run.0, Foreign { code, words });
        let (slot, wake) = match pushed {
            Ok((slot, wake)) => (Some(slot.cast_mut().cast()), wake),
            Err((_, wake)) => (None, wake),
        };
        worker.wake_if(wake);
        slot
    })
}

/// Takes a task off the stack where the fast pop is refused: drains what was spawned above it, and
/// waits if it was stolen. True: it is the caller's to run, with its words as they were put in.
/// False: it has been run, and has left its result there.
///
/// # Safety
/// The calling thread pushed the slot, and has popped all that it pushed later.
pub unsafe fn pop(slot: *mut ()) -> bool {
    Worker::with_current(|worker| {
        let worker = worker.expect("the thread was a worker when it pushed");
        matches!(Own(worker).take_joined(slot.cast()), Taken::Here)
    })
}

/// Returns the index of the first free slot of the calling worker's stack; `None` on a thread that
/// is no worker. Code that pops what it pushes leaves it as it was.
pub fn depth() -> Option<usize> {
    Worker::with_current(|worker| worker.map(|worker| worker.owner().top()))
}

/// Returns whether the calling worker has pushed tasks above that [`depth`] which it has to pop and
/// has not. Tasks of scopes may lie there as well: those are nobody's to pop.
pub fn has_pushed_above(depth: usize) -> bool {
    Worker::with_current(|worker| {
        worker.is_some_and(|worker| worker.owner().has_joined_above(depth))
    })
}

/// Runs a task on a thief. Nobody else calls it: its owner pops it and runs it by itself.
///
/// So where nobody has claimed it, it was left behind by who should have popped it, maybe with
/// arguments in a frame that has gone, and lies in the way of a task below. A panic has nobody to
/// go to: who waits is not Rust. (An exception of C++ ends the process by itself, where it would
/// be caught.)
///
/// # Safety
/// A thief has called the slot's function with this slot, and that calls this with the code of the
/// task, which reads only words that are set.
pub unsafe fn run(slot: *mut (), code: Code) -> Left {
    // SAFETY: a slot lives as long as its pool.
    let state = unsafe { (*slot.cast::<Slot>()).state() };
    if !matches!(state.phase(), Phase::Started { .. }) {
        eprintln!(
            "roving: a task whose caller is not Rust was left behind: who spawned it has returned, \
             or was left by a panic, without a sync. The process ends"
        );
        std::process::abort();
    }
    // SAFETY: the promise of who pushed it.
    let outcome = panic::catch_unwind(AssertUnwindSafe(|| unsafe { code(wire(), slot) }));
    if outcome.is_err() {
        eprintln!(
            "roving: a panic reached the end of a stolen task whose caller is not Rust and cannot \
             receive it: the process ends. Catch it inside the task"
        );
        std::process::abort();
    }
    Left(Further::Nothing)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A task as the header pushes it, slowly.
    unsafe extern "C-unwind" fn double(_: *const (), slot: *mut ()) {
        // SAFETY: the slot that was pushed, whose first word was set.
        unsafe {
            let word = slot.byte_add(LAYOUT.slot_words).cast::<u64>();
            *word *= 2;
        }
    }

    unsafe extern "C-unwind" fn run_double(slot: &Slot) -> Further {
        // SAFETY: a thief's call; the first word is set.
        unsafe { run(std::ptr::from_ref(slot).cast_mut().cast(), double) }.0
    }

    const DOUBLE: Opaque = Opaque(run_double);

    fn words(first: u64) -> Words {
        Words::new([first, 0, 0, 0])
    }

    #[test]
    fn a_task_of_foreign_code_is_pushed_and_popped_by_its_owner() {
        let pool = crate::Pool::new(1).unwrap();
        pool.install(|| {
            let before = depth();
            // SAFETY: pushed and popped here, in order.
            let slot = unsafe { push(DOUBLE, words(21)) }.expect("there is room");
            assert_eq!(depth(), before.map(|depth| depth + 1));
            assert!(before.is_some_and(has_pushed_above));
            assert!(!depth().is_some_and(has_pushed_above));
            // SAFETY: just pushed.
            assert!(unsafe { pop(slot) }, "nobody is there to steal it");
            assert_eq!(depth(), before);
            // SAFETY: popped, with its words inside.
            unsafe { double(wire(), slot) };
            // SAFETY: popped, it is still this thread's.
            let word = unsafe { *slot.byte_add(LAYOUT.slot_words).cast::<u64>() };
            assert_eq!(word, 42);
        });
    }

    #[test]
    fn tasks_of_scopes_are_nobody_s_to_pop() {
        let pool = crate::Pool::new(1).unwrap();
        pool.install(|| {
            let before = depth().expect("a worker");
            crate::scope(|scope| {
                scope.spawn(|_| ());
                let between = depth().expect("a worker");
                assert!(between > before && !has_pushed_above(before));
                // SAFETY: pushed and popped here, in order.
                let slot = unsafe { push(DOUBLE, words(1)) }.expect("there is room");
                scope.spawn(|_| ());
                assert!(has_pushed_above(before) && has_pushed_above(between));
                assert!(!has_pushed_above(between + 1), "a task of the scope alone");
                // SAFETY: just pushed; what was spawned above it is drained.
                assert!(unsafe { pop(slot) });
                assert!(!has_pushed_above(before));
            });
        });
    }

    #[test]
    fn a_stolen_task_of_foreign_code_leaves_its_result() {
        let pool = crate::Pool::builder()
            .workers(2)
            .assume_cores(2)
            .build()
            .unwrap();
        let stolen = || {
            // SAFETY: pushed and popped here, in order.
            let slot = unsafe { push(DOUBLE, words(21)) }.expect("there is room");
            let patience = std::time::Instant::now() + std::time::Duration::from_millis(20);
            while std::time::Instant::now() < patience {
                std::thread::yield_now();
            }
            // SAFETY: just pushed.
            let here = unsafe { pop(slot) };
            // SAFETY: popped or ended, it is this thread's.
            let word = unsafe { *slot.byte_add(LAYOUT.slot_words).cast::<u64>() };
            assert_eq!(word, if here { 21 } else { 42 });
            !here
        };
        // How soon a thief comes is the system's affair, but it comes.
        assert!((0..1000).any(|_| pool.install(stolen)));
    }

    #[test]
    fn what_cannot_be_pushed_is_handed_back() {
        assert_eq!(depth(), None);
        // SAFETY: nothing is pushed on a thread that is no worker.
        assert!(unsafe { push(DOUBLE, words(1)) }.is_none());
    }
}
