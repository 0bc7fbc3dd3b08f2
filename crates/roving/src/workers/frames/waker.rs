//! The wakers of frames.

use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::task::{RawWaker, RawWakerVTable, Waker};

use super::frame;
use super::header::{Frame, Header, place_of};
use super::local::Local;
use super::root::Root;
use crate::workers::Worker;

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
    let pass_on = || unsafe { pass_on(header.root.get(), frame) };
    header.life.wake().pay(pass_on);
}

unsafe fn drop(at: *const ()) {
    // SAFETY: called with the data of a waker of ours, which is given up.
    unsafe {
        let last = get(at).as_ref().life.drop_reference();
        last.pay_gone(move || frame::free(get(at)));
    }
}

/// Passes a woken frame on to be polled: by the worker that this thread is, if it runs frames
/// of the same root, otherwise by any worker. The former is a push onto the worker's stack,
/// where thieves find it; the latter goes through a queue with a lock.
///
/// # Safety
/// The frame is the caller's, and counted at this root.
#[inline]
unsafe fn pass_on(this: *const Root, frame: Frame) {
    let push = |local: &Local| {
        Worker::with_current(|worker| {
            // SAFETY: the caller's promise.
            worker.is_some_and(|worker| unsafe { worker.push_woken(local, frame) })
        })
    };
    // A look before the worker is asked for: `push_woken` looks again.
    let push_here = |local: &Local| ptr::eq(local.resumes.get(), this) && push(local);
    // SAFETY: the caller's promise; it is to be polled, so it holds its future.
    let has_place = unsafe { place_of(frame) }.is_some();
    if has_place || !Local::with(push_here) {
        // SAFETY: the caller's promise.
        unsafe { Root::make_ready(this, frame) };
    }
}
