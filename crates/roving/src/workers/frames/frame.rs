//! A frame: one task's future, later its outcome, with what the scheduler knows of it.

use std::alloc::Layout;
use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};

use super::allocator;
use super::child_end::End;
use super::free_lists::Size;
use super::header::{Frame, Header, Link, Stage, TaskPanic, VTable, body};
use super::place::Placed;
use super::root::Root;
use super::waker;
use super::waker_word::Life;
use crate::inherit::cancelled::CancelledError;
use crate::machine::unwind::run_quietly;
use crate::workers::drop_cancelled::count_dropped;

/// The body of a frame, behind its header: each of these begins where it does, so a pointer to it
/// does not depend on `F`.
#[repr(C)]
union Body<F: Future> {
    future: ManuallyDrop<F>,
    value: ManuallyDrop<F::Output>,
    /// Reached by the offset of the body, whatever `F` is.
    _failure: ManuallyDrop<TaskPanic>,
}

impl<F: Future> Body<F> {
    const SIZE: Size = Size::of(allocator::layout_of(Layout::new::<Body<F>>()));
    const VTABLE: &'static VTable = &VTable {
        poll: poll::<F>,
        dropped: Some(Body::<F>::DROPPED),
        ..*Self::DROPPED
    };
    const KEPT: &'static VTable = &VTable {
        poll: poll::<F>,
        ..*Self::DROPPED
    };
    const DROPPED: &'static VTable = &VTable {
        poll: end_unbegun,
        drop_future: drop_future::<F>,
        drop_value: drop_value::<F>,
        size: Body::<F>::SIZE,
        is_placed: false,
        dropped: None,
    };
}

impl<F: Future> Body<Placed<'_, F>> {
    const PLACED: &'static VTable = &VTable {
        is_placed: true,
        ..*Self::VTABLE
    };
}

/// Moves a future into a new frame.
#[inline(always)]
pub(crate) fn new<F: Future>(future: F) -> Frame {
    with_vtable(future, Body::<F>::VTABLE)
}

/// Moves a future that is never dropped instead of begun into a new frame.
pub(crate) fn new_kept<F: Future>(future: F) -> Frame {
    with_vtable(future, Body::<F>::KEPT)
}

/// Moves a future with a place into a new frame.
pub(crate) fn new_placed<F: Future>(future: Placed<'_, F>) -> Frame {
    with_vtable(future, Body::<Placed<'_, F>>::PLACED)
}

#[inline(always)]
fn with_vtable<F: Future>(future: F, vtable: &'static VTable) -> Frame {
    let frame: Frame = allocator::take(&Body::<F>::SIZE).cast();
    let header = Header {
        life: Life::new(),
        end: End::new(),
        vtable: Cell::new(vtable),
        root: Cell::new(ptr::null()),
        link: Cell::new(Link::NONE),
        awaiter: UnsafeCell::new(MaybeUninit::uninit()),
        stage: Cell::new(Stage::Future),
        class: Body::<F>::SIZE.class,
        site: Cell::new(0),
    };
    // SAFETY: fresh memory of that layout.
    unsafe {
        frame.write(header);
        body::<F>(frame).write(future);
    }
    frame
}

/// # Safety
/// The frame holds an `F`, which nobody else polls or drops now.
unsafe fn poll<F: Future>(frame: Frame) -> Poll<()> {
    // SAFETY: the caller's promise.
    let (header, body) = unsafe { (frame.as_ref(), body::<Body<F>>(frame)) };
    let lent = waker::lend(frame);
    let mut context = Context::from_waker(&lent);
    // SAFETY: the caller has the future to itself, and it stays where it is until it is dropped.
    let future = unsafe { Pin::new_unchecked(&mut *(*body).future) };
    match future.poll(&mut context) {
        Poll::Pending => Poll::Pending,
        Poll::Ready(value) => {
            // SAFETY: the caller has the body to itself, and the future is dropped once: if its
            // drop unwinds, the body counts as empty.
            unsafe {
                header.stage.set(Stage::Empty);
                ManuallyDrop::drop(&mut (*body).future);
                (&raw mut (*body).value).write(ManuallyDrop::new(value));
                header.stage.set(Stage::Value);
            }
            Poll::Ready(())
        }
    }
}

/// # Safety
/// As [`poll`], and the future is not used again.
unsafe fn drop_future<F: Future>(frame: Frame) {
    // SAFETY: the caller's promise.
    unsafe { ManuallyDrop::drop(&mut (*body::<Body<F>>(frame)).future) };
}

/// # Safety
/// The frame holds the output of an `F`, which is not used again.
unsafe fn drop_value<F: Future>(frame: Frame) {
    // SAFETY: the caller's promise.
    unsafe { ManuallyDrop::drop(&mut (*body::<Body<F>>(frame)).value) };
}

/// Ends a future that never begins as cancelled, in the place of its first poll. If dropping the
/// future panics, that panic goes on, so that it is not lost.
///
/// # Safety
/// As [`poll`].
#[inline]
unsafe fn end_unbegun(frame: Frame) -> Poll<()> {
    count_dropped();
    // SAFETY: the frame is the caller's.
    let header = unsafe { frame.as_ref() };
    header.stage.set(Stage::Empty);
    // SAFETY: it held its future, as a frame does that was never polled, and which is not used
    // again; then it is the caller's still.
    unsafe {
        (header.vtable.get().drop_future)(frame);
        fail(frame, Box::new(CancelledError));
    }
    Poll::Ready(())
}

/// A frame that has never been polled, and is about to be: if what its root belongs to was
/// cancelled, its future is dropped instead, and who awaits it hears of that.
///
/// # Safety
/// The frame is the caller's, and its root is open.
#[inline(always)]
pub(super) unsafe fn drop_if_cancelled(frame: Frame) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*frame.as_ref().root.get()).has_token() {
            drop_if_its_token_is_cancelled(frame);
        }
    }
}

/// # Safety
/// As [`drop_if_cancelled`].
#[inline(never)]
unsafe fn drop_if_its_token_is_cancelled(frame: Frame) {
    // SAFETY: the caller's promise.
    let (header, root) = unsafe { (frame.as_ref(), &*frame.as_ref().root.get()) };
    if let (Some(dropped), true) = (header.vtable.get().dropped, root.is_cancelled()) {
        header.vtable.set(dropped);
    }
}

/// The future has panicked with that, or is not to begin: it is dropped, and the failure is its
/// outcome.
///
/// # Safety
/// The frame is the caller's to poll, and its poll has just unwound, or is not called.
pub(super) unsafe fn fail(frame: Frame, payload: Box<dyn Any + Send>) {
    // SAFETY: the frame is the caller's.
    let header = unsafe { frame.as_ref() };
    if header.stage.replace(Stage::Empty) == Stage::Future {
        let drop_future = header.vtable.get().drop_future;
        // SAFETY: it holds its future, which is not used again.
        run_quietly(|| unsafe { drop_future(frame) });
    }
    // SAFETY: a frame runs only while its root waits for it.
    let root = unsafe { Root::outermost_of(header.root.get()) };
    // SAFETY: the body is empty, and large enough for a failure.
    unsafe { body::<TaskPanic>(frame).write(TaskPanic { payload, root }) };
    header.stage.set(Stage::Failure);
}

/// Whether the frame ended by a panic.
///
/// # Safety
/// It has ended, and is the caller's.
#[inline(always)]
pub(crate) unsafe fn has_failed(frame: Frame) -> bool {
    // SAFETY: the caller's promise.
    unsafe { frame.as_ref() }.stage.get() == Stage::Failure
}

/// Takes the value out and gives the frame up, if that is all there is to it.
///
/// # Safety
/// The caller has the frame's handle, and its future's output is a `T`. After a value, the handle
/// has been given up.
#[inline(always)]
pub(crate) unsafe fn take_if_ended<T>(frame: Frame) -> Option<T> {
    // SAFETY: the handle keeps the frame; once it has ended it is the handle's, whose last
    // reference this is if nobody has a waker.
    unsafe {
        let is_it = frame.as_ref().end.is_ended_alone() && !has_failed(frame);
        is_it.then(|| {
            debug_assert_eq!(frame.as_ref().stage.get(), Stage::Value);
            let value = body::<T>(frame).read();
            free(frame);
            value
        })
    }
}

/// Takes the value out and gives the frame up.
///
/// # Safety
/// The frame has ended, not by a panic, is the caller's, and its future's output is a `T`.
#[inline(always)]
pub(crate) unsafe fn take_value<T>(frame: Frame) -> T {
    // SAFETY: the caller's promise; the body is not read again.
    unsafe {
        debug_assert_eq!(frame.as_ref().stage.get(), Stage::Value);
        let value = body::<T>(frame).read();
        release(frame);
        value
    }
}

/// Takes the failure out and gives the frame up.
///
/// # Safety
/// The frame has ended, by a panic, and is the caller's.
#[cold]
#[inline]
pub(crate) unsafe fn take_failure(frame: Frame) -> TaskPanic {
    // SAFETY: the caller's promise; the body is not read again.
    unsafe {
        let failure = body::<TaskPanic>(frame).read();
        release(frame);
        failure
    }
}

/// Either.
///
/// # Safety
/// The frame has ended, is the caller's, and its future's output is a `T`.
pub(crate) unsafe fn take_outcome<T>(frame: Frame) -> Result<T, TaskPanic> {
    // SAFETY: the caller's promise.
    unsafe {
        match has_failed(frame) {
            true => Err(take_failure(frame)),
            false => Ok(take_value(frame)),
        }
    }
}

/// Drops what the frame holds and gives it up. A failure goes to the root. Panics with what the
/// drop of a value or a future does.
///
/// # Safety
/// The frame has not been started or has ended, and is the caller's.
#[cold]
pub(crate) unsafe fn dispose(frame: Frame) {
    struct GiveUp(Frame);
    impl Drop for GiveUp {
        fn drop(&mut self) {
            // SAFETY: the caller of `dispose` gives the frame up.
            unsafe { release(self.0) };
        }
    }
    // SAFETY: the frame is the caller's.
    let header = unsafe { frame.as_ref() };
    let _given_up = GiveUp(frame);
    match header.stage.replace(Stage::Empty) {
        // SAFETY: the body holds the future, which is not used again.
        Stage::Future => unsafe { (header.vtable.get().drop_future)(frame) },
        // SAFETY: the body holds the value, which is not used again.
        Stage::Value => unsafe { (header.vtable.get().drop_value)(frame) },
        Stage::Failure => {
            // SAFETY: the body holds the failure, which is not read again.
            let failure = unsafe { body::<TaskPanic>(frame).read() };
            failure.root.panicked(failure.payload);
        }
        Stage::Empty => {}
    }
}

/// The body is empty, and nobody but wakers knows of the frame any more.
///
/// # Safety
/// So it is.
#[inline(always)]
pub(super) unsafe fn release(frame: Frame) {
    // SAFETY: the frame is alive until the last reference is given up.
    let last = unsafe { frame.as_ref() }.life.release();
    // SAFETY: it was the last.
    last.pay_gone(move || unsafe { free(frame) });
}

/// # Safety
/// Nobody else knows of the frame any more, and its body is empty.
#[inline(always)]
pub(super) unsafe fn free(frame: Frame) {
    // Ordering: Pairs with [drop_reference]: whatever others did with the frame came before.
    // SAFETY: it was made by `new` with that layout; a header has nothing to drop.
    unsafe {
        let class = frame.as_ref().class;
        allocator::give(frame.cast(), class, || {
            frame.as_ref().vtable.get().size.layout
        });
    }
}

/// Marks a scheduled frame as running, before it is polled.
///
/// # Safety
/// The frame is the caller's.
#[inline(always)]
pub(super) unsafe fn resume(frame: Frame) {
    // SAFETY: the frame is the caller's.
    let header = unsafe { frame.as_ref() };
    if header.life.is_shared() {
        header.life.resume();
    }
}
