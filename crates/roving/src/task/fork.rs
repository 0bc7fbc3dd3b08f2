//! `fork`, `spawn`, `call`, `branch`: how a task makes children.

use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll};

use super::handle::{Forked, give_up};
use crate::workers::Worker;
use crate::workers::frames::bind::{bind, not_a_task, put_on_stack};
use crate::workers::frames::local::{Local, Next};
use crate::workers::frames::order::{SpawnOrder, site_of};
use crate::workers::frames::root::RootId;
use crate::workers::frames::waker;
use crate::workers::frames::{
    frame,
    header::{Frame, Header},
};

/// Runs a child now, and leaves the rest of this task, its continuation, to thieves (work-first).
/// Awaiting the returned future starts the child, and gives a handle to await its result; if no
/// thief has taken the continuation, the child has ended by then.
///
/// Without a steal, a child costs no allocation and no atomic read-modify-write. Forking
/// n children in a loop holds only as many frames as tasks are nested.
///
/// For a child that borrows, see [`crate::task::Scope::fork`]. A future that is never awaited drops
/// the child unstarted. Under a combinator that polls it with a waker of its own, such as
/// `FuturesUnordered`, it acts like [`spawn`].
///
/// # Panics
/// When it is awaited outside of a task; and when it is moved to another task halfway.
///
/// ```
/// use roving::task::{block_on, fork};
///
/// let word = block_on(async {
///     let child = fork(async { "child" }).await;
///     child.await
/// });
/// assert_eq!(word, "child");
/// ```
#[inline(always)]
pub fn fork<F>(child: F) -> Fork<'static, F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Fork::new(frame::new(child), RootId::ANY)
}

/// Leaves a child to thieves and goes on (help-first). A child that no thief takes runs here when
/// this task waits or ends, newest first; at once and in place if the task stack is full.
///
/// # Panics
/// When it is called outside of a task. A closure of a `join` that another worker runs is outside.
///
/// ```
/// use roving::task::{block_on, spawn};
///
/// let sum = block_on(async {
///     let children: Vec<_> = (0..10).map(|n| spawn(async move { n })).collect();
///     let mut sum = 0;
///     for child in children {
///         sum += child.await;
///     }
///     sum
/// });
/// assert_eq!(sum, 45);
/// ```
#[inline]
pub fn spawn<F>(child: F) -> Forked<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Forked::spawn(child, RootId::ANY)
}

/// Runs a child to its end before this task goes on, and gives its result. Nothing is offered to
/// thieves. This replaces the recursive call of a plain function: an `async` function cannot await
/// itself directly, because its frame would contain itself.
///
/// # Panics
/// With what the child panics with; and as [`fork`].
///
/// ```
/// use roving::task::{Task, block_on, call};
///
/// fn factorial(n: u64) -> impl Task<u64> {
///     async move {
///         match n {
///             0 => 1,
///             _ => n * call(factorial(n - 1)).await,
///         }
///     }
/// }
/// assert_eq!(block_on(factorial(10)), 3_628_800);
/// ```
#[inline(always)]
pub fn call<F>(child: F) -> Call<'static, F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Call::new(frame::new(child), RootId::ANY)
}

/// Starts a child by [`fork`] or by [`spawn`], as the pool's [`SpawnOrder`] says.
///
/// ```
/// use roving::task::{Task, block_on, branch, call};
///
/// fn leaves(depth: u32) -> impl Task<u64> {
///     async move {
///         if depth == 0 {
///             return 1;
///         }
///         let left = branch(leaves(depth - 1)).await;
///         call(leaves(depth - 1)).await + left.await
///     }
/// }
/// assert_eq!(block_on(leaves(10)), 1024);
/// ```
#[inline]
#[track_caller]
pub fn branch<F>(child: F) -> Fork<'static, F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Fork::branched(frame::new(child), RootId::ANY)
}

/// The future that [`fork`] and [`branch`] return: awaiting it starts the child, and gives its
/// handle.
///
/// ```
/// use roving::task::{Fork, block_on, fork};
///
/// let doubled = block_on(async {
///     let start: Fork<'_, u32> = fork(async { 21 });
///     start.await.await * 2
/// });
/// assert_eq!(doubled, 42);
/// ```
#[must_use = "the child starts when this is awaited"]
pub struct Fork<'scope, T> {
    start: Start,
    marker: Holds<'scope, T>,
}

/// The future that [`call`] returns: awaiting it runs the child, and gives its result.
///
/// ```
/// use roving::task::{Call, block_on, call};
///
/// let doubled = block_on(async {
///     let run: Call<'_, u32> = call(async { 21 });
///     run.await * 2
/// });
/// assert_eq!(doubled, 42);
/// ```
#[must_use = "the child runs when this is awaited"]
pub struct Call<'scope, T> {
    start: Start,
    marker: Holds<'scope, T>,
}

/// A future that may borrow for `'scope`, and a `T` that it has come to.
type Holds<'scope, T> = PhantomData<(&'scope (), T)>;

/// A child on its way from being made to being somebody's.
///
/// Once a task has asked for the child to be run next, its worker may end the child without a
/// read-modify-write, because it knows where the task is that could look at the child meanwhile. So
/// nobody else may: a task to which a pinned box with this future was moved panics when it polls
/// the future. It may drop it, and so may any thread.
struct Start {
    /// Null when somebody else has it.
    child: *const Header,
    /// One of these, told apart by the lowest bits:
    ///
    /// | bits | until |
    /// |---|---|
    /// | the [`RootId`] of the token that made the child, perhaps [`BRANCHED`] | it is asked for |
    /// | the address of the task that has asked for it | somebody else has it |
    /// | [`SPAWNED`] | somebody else has it |
    ///
    /// The address says who may look at the child at once. Another task has it only when the one
    /// that asked is over; then the child has ended, or its end is told to whoever asks.
    by: u64,
}

/// Beside the id: the pool says how to start the child.
const BRANCHED: u64 = 0b10;
/// The child was spawned: ask it as one asks any handle.
const SPAWNED: u64 = 0b10;
const _: () = assert!(RootId::MARK & BRANCHED == 0 && BRANCHED < RootId::MARK_MASK);

// SAFETY: the child's future and its output are `Send`: `fork` and the like ask for it. A frame
// that was asked for is polled by the task alone that did; whoever gives it up does so by the
// frame's `End`.
unsafe impl<T: Send> Send for Fork<'_, T> {}
// SAFETY: the callee's future and its output are `Send`, as with [`Fork`]; the frame is polled by
// the task that asked for it, and given up by the frame's `End`.
unsafe impl<T: Send> Send for Call<'_, T> {}

const MOVED: &str = "a fork or call was moved to another task halfway: await it where it was first \
                     polled";

/// A task as `Start::by` says it.
#[inline(always)]
fn address(task: *const Header) -> u64 {
    task.addr() as u64
}

/// Calls `f` with what belongs to this worker, and the task that is polled.
#[inline(always)]
fn with_task<R>(f: impl FnOnce(&Local, &Header) -> R) -> R {
    Local::with(|local| {
        // SAFETY: a frame that is being polled is alive.
        let Some(current) = (unsafe { local.current.get().as_ref() }) else {
            not_a_task()
        };
        f(local, current)
    })
}

impl Start {
    #[inline(always)]
    fn new(child: Frame, by: u64) -> Start {
        let child = child.as_ptr();
        Start { child, by }
    }

    /// The child, as long as somebody here has it.
    #[inline(always)]
    fn child(&self) -> Frame {
        match NonNull::new(self.child.cast_mut()) {
            Some(child) => child,
            None => panic!("polled after it was ready"),
        }
    }

    #[inline(always)]
    fn is_new(&self) -> bool {
        self.by & RootId::MARK != 0
    }

    /// Somebody else has it from now on.
    #[inline(always)]
    fn pass_on(&mut self) {
        self.child = ptr::null();
    }

    /// Whether the task that asked for the child is the one that is polled here.
    #[inline(always)]
    fn is_asked_here(&self) -> bool {
        Local::with(|local| self.by == address(local.current.get()))
    }

    /// The first poll: asks for the child to be run next, or spawns it where that cannot be.
    #[inline(always)]
    fn begin(
        &mut self,
        child: Frame,
        next: fn(*const Header) -> Next,
        context: &Context<'_>,
    ) -> bool {
        with_task(|local, current| {
            bind(child, RootId::from_bits(self.by), current);
            let lent = waker::frame_of(context.waker());
            let is_own = lent.is_some_and(|of| ptr::eq(of.as_ptr(), current));
            if is_own && !local.has_next() {
                local.set_next(next(child.as_ptr()));
                self.by = address(current);
                return true;
            }
            self.begin_elsewhere(child);
            false
        })
    }

    /// Spawns the child, which is bound, where it cannot be run next.
    #[cold]
    #[inline(never)]
    fn begin_elsewhere(&mut self, child: Frame) {
        // SAFETY: bound by the caller.
        unsafe { put_on_stack(child) };
        self.by = SPAWNED;
    }

    /// Polled twice in one poll of the task, before the child could be started. The task's worker
    /// will poll it again, but knows of no other waker.
    #[inline]
    fn is_not_begun(&self, child: Frame, context: &Context<'_>) -> bool {
        let is_next = Local::with(|local| local.is_next(child.as_ptr()));
        if is_next {
            wake_if_foreign(context, self.by);
        }
        is_next
    }

    #[inline(always)]
    fn drop(&mut self) {
        if let Some(child) = NonNull::new(self.child.cast_mut()) {
            self.give_up(child);
        }
    }

    #[cold]
    #[inline(never)]
    fn give_up(&self, child: Frame) {
        if self.is_new() {
            // SAFETY: nobody else knows of a child that was not started.
            unsafe { frame::dispose(child) }
        } else {
            // Elsewhere than in the task that asked for the child, its worker may be ending it
            // alone at this very moment, and not notice: see `End::end_alone`.
            // SAFETY: the handle is given up.
            unsafe { give_up(child) }
        }
    }
}

#[cold]
#[inline(never)]
fn wake_if_foreign(context: &Context<'_>, task: u64) {
    if waker::frame_of(context.waker()).is_none_or(|of| address(of.as_ptr()) != task) {
        context.waker().wake_by_ref();
    }
}

// On the types that know of `'scope` and `T`: what is dropped with an unstarted child may use what
// it borrows, so the compiler has to see that these may.
impl<T> Drop for Fork<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.start.drop();
    }
}

impl<T> Drop for Call<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.start.drop();
    }
}

impl<T> Fork<'_, T> {
    #[inline(always)]
    pub(super) fn new<'scope>(child: Frame, token: RootId) -> Fork<'scope, T> {
        Fork {
            start: Start::new(child, token.bits()),
            marker: PhantomData,
        }
    }

    #[inline]
    #[track_caller]
    pub(super) fn branched<'scope>(child: Frame, token: RootId) -> Fork<'scope, T> {
        let place = Location::caller();
        // SAFETY: a child that was not started is its maker's.
        unsafe { child.as_ref() }.site.set(site_of(place));
        Fork {
            start: Start::new(child, token.bits() | BRANCHED),
            marker: PhantomData,
        }
    }

    /// The first poll: starts the child as it was asked to be.
    #[inline(always)]
    fn begin(&mut self, child: Frame, context: &Context<'_>) -> Poll<Forked<T>> {
        if self.start.by & BRANCHED != 0 {
            let token = RootId::from_bits(self.start.by & !BRANCHED);
            if is_help_first(child) {
                with_task(|_, current| bind(child, token, current));
                // SAFETY: just bound.
                unsafe { put_on_stack(child) };
                return self.open(child);
            }
            self.start.by = token.bits();
        }
        if self.start.begin(child, Next::Forked, context) {
            return Poll::Pending;
        }
        self.open(child)
    }

    /// The child was started: its handle is somebody else's.
    #[inline(always)]
    fn open(&mut self, child: Frame) -> Poll<Forked<T>> {
        self.start.pass_on();
        // SAFETY: its output is a `T`, and this was its handle.
        Poll::Ready(unsafe { Forked::open(child) })
    }

    /// The child has been asked for, and there is more to do than to take its value.
    #[cold]
    #[inline(never)]
    fn poll_otherwise(&mut self, child: Frame, context: &Context<'_>) -> Poll<Forked<T>> {
        if !self.start.is_asked_here() {
            moved();
        }
        match self.start.is_not_begun(child, context) {
            true => Poll::Pending,
            false => self.open(child),
        }
    }
}

#[cold]
#[inline(never)]
fn moved() -> ! {
    panic!("{MOVED}")
}

/// Whether the pool's order begins a branched-off child later, help-first.
fn is_help_first(child: Frame) -> bool {
    // SAFETY: a child that was not started is its maker's.
    let site = unsafe { child.as_ref() }.site.get();
    with_task(|local, current| {
        local.sites.is_recursive_from_now_on(current.site.get());
        match local.order {
            SpawnOrder::WorkFirst => false,
            SpawnOrder::HelpFirst => true,
            SpawnOrder::Adaptive => !local.sites.is_recursive(site) && is_asked(),
        }
    })
}

/// Whether other workers would take more than this one shows them.
fn is_asked() -> bool {
    Worker::with_current(|worker| worker.is_some_and(|worker| worker.owner().is_asked()))
}

impl<T> Unpin for Fork<'_, T> {}

impl<T> Future for Fork<'_, T> {
    type Output = Forked<T>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Forked<T>> {
        let child = self.start.child();
        if self.start.is_new() {
            return self.begin(child, context);
        }
        if !self.start.is_asked_here() {
            return self.poll_otherwise(child, context);
        }
        // SAFETY: the output is a `T`, and this is its handle.
        match unsafe { frame::take_if_ended(child) } {
            Some(value) => {
                self.start.pass_on();
                Poll::Ready(Forked::ended(value))
            }
            None => self.poll_otherwise(child, context),
        }
    }
}

impl<T> Call<'_, T> {
    #[inline(always)]
    pub(super) fn new<'scope>(child: Frame, token: RootId) -> Call<'scope, T> {
        Call {
            start: Start::new(child, token.bits()),
            marker: PhantomData,
        }
    }

    /// Asks the child as its handle does.
    #[cold]
    fn ask(&mut self, child: Frame, context: &mut Context<'_>) -> Poll<T> {
        self.start.pass_on();
        // SAFETY: the output is a `T`, and this was its handle.
        let mut handle = unsafe { Forked::<T>::open(child) };
        let polled = Pin::new(&mut handle).poll(context);
        if polled.is_pending() {
            self.start.child = child.as_ptr();
            std::mem::forget(handle);
        }
        polled
    }

    /// The first poll.
    #[inline(always)]
    fn begin(&mut self, child: Frame, context: &mut Context<'_>) -> Poll<T> {
        match self.start.begin(child, Next::Called, context) {
            true => Poll::Pending,
            false => self.ask(child, context),
        }
    }

    /// The child has been asked for, and there is more to do than to take its value.
    #[cold]
    #[inline(never)]
    fn poll_otherwise(&mut self, child: Frame, context: &mut Context<'_>) -> Poll<T> {
        if self.start.is_asked_here() {
            if self.start.is_not_begun(child, context) {
                return Poll::Pending;
            }
        } else if self.start.by != SPAWNED {
            moved();
        }
        self.ask(child, context)
    }
}

impl<T> Unpin for Call<'_, T> {}

impl<T> Future for Call<'_, T> {
    type Output = T;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let child = self.start.child();
        if self.start.is_new() {
            return self.begin(child, context);
        }
        if !self.start.is_asked_here() {
            return self.poll_otherwise(child, context);
        }
        // SAFETY: the output is a `T`, and this is its handle.
        match unsafe { frame::take_if_ended(child) } {
            Some(value) => {
                self.start.pass_on();
                Poll::Ready(value)
            }
            None => self.poll_otherwise(child, context),
        }
    }
}

impl<T> fmt::Debug for Fork<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fork").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Call<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").finish_non_exhaustive()
    }
}
