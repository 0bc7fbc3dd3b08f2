//! The wakers of frames.

use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::frame::{self, Frame, Header};
use super::root::Root;

/// A static, not a constant: its address is how wakers of frames are recognised.
static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop);

/// The waker that a poll gets to see. It counts for nothing; a clone of it does.
#[inline(always)]
pub(super) fn lend(frame: Frame) -> ManuallyDrop<Waker> {
    let raw = RawWaker::new(frame.as_ptr().cast_const().cast(), &VTABLE);
    // SAFETY: the functions below keep the contract of wakers. The frame outlives its poll, for
    // which this one is lent, and every clone holds a reference.
    ManuallyDrop::new(unsafe { Waker::from_raw(raw) })
}

/// The frame that the waker wakes, if it is one of ours.
#[inline(always)]
pub(crate) fn frame_of(waker: &Waker) -> Option<Frame> {
    match ptr::eq(waker.vtable(), &VTABLE) {
        true => NonNull::new(waker.data().cast_mut().cast::<Header>()),
        false => None,
    }
}

/// # Safety
/// `at` is the data of a waker of ours.
unsafe fn get(at: *const ()) -> Frame {
    // SAFETY: the data of our wakers is a frame.
    unsafe { NonNull::new_unchecked(at.cast_mut().cast()) }
}

unsafe fn clone(at: *const ()) -> RawWaker {
    // SAFETY: called with the data of a waker of ours, whose frame is alive.
    unsafe { get(at).as_ref() }.life.share();
    RawWaker::new(at, &VTABLE)
}

unsafe fn wake(at: *const ()) {
    // SAFETY: called with the data of a waker of ours, which is given up.
    unsafe {
        wake_by_ref(at);
        drop(at);
    }
}

unsafe fn wake_by_ref(at: *const ()) {
    // SAFETY: called with the data of a waker of ours, whose frame is alive.
    let (frame, header) = unsafe { (get(at), get(at).as_ref()) };
    // SAFETY: it was suspended, so its root waits for it, and it is this thread's to pass on.
    let pass_on = || unsafe { Root::pass_on(header.root.get(), frame) };
    header.life.wake().pay(pass_on);
}

unsafe fn drop(at: *const ()) {
    // SAFETY: called with the data of a waker of ours, which is given up.
    unsafe {
        let last = get(at).as_ref().life.drop_reference();
        last.pay(|| frame::free(get(at)));
    }
}
