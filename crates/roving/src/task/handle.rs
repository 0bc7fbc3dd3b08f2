//! The handle of a child that has been started.

use std::fmt;
use std::mem;
use std::panic;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll};

use crate::context::CancelledError;
use crate::workers::Worker;
use crate::workers::frames::Frames;
use crate::workers::frames::awaited;
use crate::workers::frames::bind::{bind_new, put_on_stack};
use crate::workers::frames::local::{Local, Next};
use crate::workers::frames::root::RootId;
use crate::workers::frames::waker;
use crate::workers::frames::{
    frame,
    header::{Frame, TaskPanic},
};

/// A handle to a child that has been forked or spawned. Awaiting it gives the child's result; a
/// panic of the child resumes in the task that awaits it.
///
/// When it is dropped, the result is dropped too, and a panic goes to the root. The child runs on,
/// and ends before the root does. A handle may leave the root, and be awaited by any task.
///
/// ```
/// use roving::task::{Forked, block_on, spawn};
///
/// let sum = block_on(async {
///     let child: Forked<u32> = spawn(async { 1 + 1 });
///     child.await + 1
/// });
/// assert_eq!(sum, 3);
/// ```
pub struct Forked<T> {
    state: ChildState<T>,
}

/// How far a child is, as its handle knows.
enum ChildState<T> {
    /// The child had ended when its parent went on.
    Ended(T),
    Open(Frame),
    Taken,
}

// SAFETY: the value is a `T`, and so is what the frame will hold; its words are made for several
// threads.
unsafe impl<T: Send> Send for Forked<T> {}
// SAFETY: a shared handle gives no access to the value.
unsafe impl<T: Send> Sync for Forked<T> {}

impl<T> Unpin for Forked<T> {}

impl<T> Forked<T> {
    /// A child that may still be run by anybody.
    ///
    /// # Safety
    /// The caller has its handle, and its output is a `T`.
    #[inline]
    pub(crate) unsafe fn open(child: Frame) -> Forked<T> {
        Forked {
            state: ChildState::Open(child),
        }
    }

    /// A child that had ended when its parent went on, which is the rule for one that was forked.
    /// Its frame is given up at once: a loop that forks holds no frames.
    #[inline(always)]
    pub(super) fn ended(value: T) -> Forked<T> {
        Forked {
            state: ChildState::Ended(value),
        }
    }

    /// See [`crate::task::spawn`] and [`crate::task::Scope::spawn`].
    pub(super) fn spawn<F>(child: F, token: RootId) -> Forked<T>
    where
        F: Future<Output = T>,
    {
        // Nothing before this may unwind, see `store::take_slowly`.
        let child = frame::new(child);
        bind_new(child, token);
        // SAFETY: a new frame, bound just now; its handle, of that output. With a full stack it has
        // run already.
        unsafe {
            put_on_stack(child);
            match frame::take_if_ended(child) {
                Some(value) => Forked::ended(value),
                None => Forked::open(child),
            }
        }
    }

    #[inline(never)]
    fn ask(&mut self, child: Frame, context: &Context<'_>) -> Poll<T> {
        match self.ask_outcome(child, context) {
            Poll::Ready(Ok(value)) => Poll::Ready(value),
            Poll::Ready(Err(failure)) => panic::resume_unwind(failure.payload),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Asks for the outcome of the child, which was taken out of this handle; a child that has not
    /// ended goes back into it.
    #[inline(always)]
    fn ask_outcome(&mut self, child: Frame, context: &Context<'_>) -> Poll<Result<T, TaskPanic>> {
        let polled = match take_back(child, context) {
            true => Poll::Pending,
            // SAFETY: this was its handle, and is again if it is not ready.
            false => unsafe { ask(child, context) },
        };
        if polled.is_pending() {
            self.state = ChildState::Open(child);
        }
        polled
    }

    /// Awaits the child where it may be dropped instead of begun, or end early, because of a
    /// [`Cancel`](crate::Cancel): that is an error instead of an unwind.
    ///
    /// ```
    /// use roving::{Cancel, CancelledError, task};
    ///
    /// let request = Cancel::new();
    /// let outcome = task::block_on(async {
    ///     let child = request.run_partial(|| {
    ///         request.cancel();
    ///         // Not begun: the first thing that may be done with it is to drop it.
    ///         task::spawn(async { unreachable!() })
    ///     });
    ///     child.unwrap().or_cancelled().await
    /// });
    /// assert_eq!(outcome, Err::<(), _>(CancelledError));
    /// ```
    pub fn or_cancelled(self) -> OrCancelled<T> {
        OrCancelled(self)
    }

    /// Returns whether the child has ended, without waiting for it.
    ///
    /// ```
    /// use roving::task::{block_on, fork};
    ///
    /// block_on(async {
    ///     let child = fork(async {}).await;
    ///     while !child.is_ended() {
    ///         std::thread::yield_now();
    ///     }
    /// });
    /// ```
    pub fn is_ended(&self) -> bool {
        match &self.state {
            // SAFETY: the handle keeps the frame.
            ChildState::Open(child) => unsafe { child.as_ref() }.end.is_ended(),
            ChildState::Ended(_) | ChildState::Taken => true,
        }
    }
}

/// Apart, so that little is left of a handle's drop: futures are dropped at their end, and the
/// compiler makes nothing of that only where it sees all of it.
///
/// # Safety
/// The caller has the handle, and gives it up.
#[cold]
#[inline(never)]
pub(super) unsafe fn give_up(child: Frame) {
    // SAFETY: the caller has the handle, and asks no more.
    unsafe { awaited::take_back(child.as_ref()) };
    // SAFETY: the handle keeps the frame.
    let left = unsafe { child.as_ref() }.end.detach();
    // SAFETY: it has ended, and there is no handle.
    left.pay_gone(move || unsafe { frame::dispose(child) });
}

/// A child that was spawned, and that nobody has begun, is run next, as if it had been called:
/// there is no need for a waker. True when the task that is polled will be resumed at its end.
#[inline]
fn take_back(child: Frame, context: &Context<'_>) -> bool {
    let is_own = Local::with(|local| {
        let current = local.current.get();
        let lent = waker::frame_of(context.waker());
        lent.is_some_and(|of| ptr::eq(of.as_ptr(), current)) && !local.has_next()
    });
    // SAFETY: the handle keeps the frame.
    if !is_own || unsafe { child.as_ref() }.end.is_ended() {
        return false;
    }
    let is_back = Worker::with_current(|worker| worker.is_some_and(|w| Frames(w).take_back(child)));
    if is_back {
        Local::with(|local| local.set_next(Next::TakenBack(child.as_ptr())));
    }
    is_back
}

/// # Safety
/// The caller has the handle of `child`, whose output is a `T`. When this is ready, it has none any
/// more.
unsafe fn ask<T>(child: Frame, context: &Context<'_>) -> Poll<Result<T, TaskPanic>> {
    // SAFETY: the handle keeps the frame.
    let header = unsafe { child.as_ref() };
    // SAFETY: the caller has the handle, and is its only user.
    match unsafe { awaited::ask(header, context) } {
        // SAFETY: it has ended, and this was its handle.
        Poll::Ready(()) => Poll::Ready(unsafe { frame::take_outcome(child) }),
        Poll::Pending => Poll::Pending,
    }
}

impl<T> Future for Forked<T> {
    type Output = T;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match mem::replace(&mut self.state, ChildState::Taken) {
            ChildState::Ended(value) => Poll::Ready(value),
            ChildState::Open(child) => self.ask(child, context),
            ChildState::Taken => panic!("polled after it was ready"),
        }
    }
}

/// The future that [`Forked::or_cancelled`] returns.
///
/// ```
/// use roving::task::{OrCancelled, block_on, spawn};
///
/// let three = block_on(async {
///     let child: OrCancelled<u8> = spawn(async { 3 }).or_cancelled();
///     child.await
/// });
/// assert_eq!(three, Ok(3));
/// ```
#[must_use = "it waits when it is awaited"]
pub struct OrCancelled<T>(Forked<T>);

impl<T> Future for OrCancelled<T> {
    type Output = Result<T, CancelledError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let handle = &mut self.0;
        let child = match mem::replace(&mut handle.state, ChildState::Taken) {
            ChildState::Ended(value) => return Poll::Ready(Ok(value)),
            ChildState::Open(child) => child,
            ChildState::Taken => panic!("polled after it was ready"),
        };
        match handle.ask_outcome(child, context) {
            Poll::Ready(Ok(value)) => Poll::Ready(Ok(value)),
            Poll::Ready(Err(failure)) if failure.payload.is::<CancelledError>() => {
                Poll::Ready(Err(CancelledError))
            }
            Poll::Ready(Err(failure)) => panic::resume_unwind(failure.payload),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T> fmt::Debug for OrCancelled<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> Drop for Forked<T> {
    #[inline]
    fn drop(&mut self) {
        if let ChildState::Open(child) = self.state {
            // SAFETY: this was its handle.
            unsafe { give_up(child) };
        }
    }
}

impl<T> fmt::Debug for Forked<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forked")
            .field("ended", &self.is_ended())
            .finish_non_exhaustive()
    }
}
