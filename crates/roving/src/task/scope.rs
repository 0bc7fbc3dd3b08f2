//! The blocking calls under which tasks run, and the token with which these may borrow.

use std::fmt;
use std::marker::PhantomData;
use std::panic;
use std::sync::Arc;

use super::fork::{Call, Fork};
use super::handle::Forked;
use crate::machine::latch::SendPtr;
use crate::pool::{Pool, install, with_current_registry};
use crate::workers::Worker;
use crate::workers::frames::frame;
use crate::workers::frames::root::{Root, RootId};
use crate::workers::registry::Registry;

/// Runs a future, and every task that it forks or spawns, and returns when all have ended.
///
/// On a worker the future runs right here, on top of the calling frame, and while it waits for
/// stolen parts or to be woken, the worker runs only tasks of this root. On a thread that is no
/// worker, the global pool runs it, and the thread sleeps.
///
/// # Panics
/// If the future panics, or a task that is never awaited; when all have ended.
///
/// ```
/// use roving::task::{block_on, fork};
///
/// let sum = block_on(async {
///     let a = fork(async { 1 }).await;
///     let b = fork(async { 2 }).await;
///     a.await + b.await
/// });
/// assert_eq!(sum, 3);
/// ```
pub fn block_on<F>(future: F) -> F::Output
where
    F: Future + Send,
    F::Output: Send,
{
    with_current_registry(|registry| run(registry, |_| future))
}

/// Runs a root task that gets a token, by which its tasks may borrow from outside the call.
///
/// ```
/// use roving::task::{Scope, Task, scope};
///
/// fn sort<'scope, N: Ord + Send>(s: Scope<'scope>, numbers: &'scope mut [N]) -> impl Task<()> {
///     async move {
///         if numbers.len() < 2 {
///             return;
///         }
///         // The median comes to the middle: so no input makes the recursion deep.
///         let (left, _, right) = numbers.select_nth_unstable(numbers.len() / 2);
///         let left = s.fork(sort(s, left)).await;
///         s.call(sort(s, right)).await;
///         left.await;
///     }
/// }
/// let mut numbers = [3, 1, 4, 1, 5, 9, 2, 6];
/// scope(|s| sort(s, &mut numbers));
/// assert_eq!(numbers, [1, 1, 2, 3, 4, 5, 6, 9]);
/// ```
///
/// # Panics
/// As [`block_on`].
pub fn scope<'scope, F, Fut, T>(f: F) -> T
where
    F: FnOnce(Scope<'scope>) -> Fut,
    Fut: Future<Output = T> + Send + 'scope,
    T: Send + 'scope,
{
    with_current_registry(|registry| run(registry, f))
}

impl Pool {
    /// Runs a future on this pool, with every task that it forks or spawns, and returns when all
    /// have ended: [`crate::task::scope`], on this pool. A thread that is no worker sleeps
    /// meanwhile, and no worker is blocked.
    ///
    /// # Panics
    /// As [`crate::task::block_on`].
    ///
    /// ```
    /// use roving::task::fork;
    ///
    /// let pool = roving::Pool::new(2).unwrap();
    /// let text = String::from("borrowed");
    /// let length = pool.run(|s| {
    ///     let text = &text;
    ///     async move { s.fork(async move { text.len() }).await.await }
    /// });
    /// assert_eq!(length, 8);
    /// ```
    pub fn run<'scope, F, Fut, T>(&self, f: F) -> T
    where
        F: FnOnce(Scope<'scope>) -> Fut,
        Fut: Future<Output = T> + Send + 'scope,
        T: Send + 'scope,
    {
        run(self.registry(), f)
    }
}

/// Runs what `f` makes on that pool, whichever thread this is.
fn run<'scope, F, Fut, T>(registry: &Arc<Registry>, f: F) -> T
where
    F: FnOnce(Scope<'scope>) -> Fut,
    Fut: Future<Output = T> + Send,
    T: Send,
{
    registry.check_has_threads();
    let root = Root::new(Arc::clone(registry) as _);
    let token = Scope {
        root: root.id,
        marker: PhantomData,
    };
    let future = Worker::with_current(|worker| {
        // An adopted thread stays, to run the future, if `f` drops its pool.
        let _stays = worker.map(|worker| worker.owner().stay());
        f(token)
    });
    let frame = frame::new(future);
    // SAFETY: the frame was just made, and nobody else has it.
    unsafe { frame.as_ref() }.root.set(Arc::as_ptr(&root));
    let outside = Worker::with_waiting(|worker| worker.is_none());
    let (borrowed, there) = (&*root, SendPtr(frame));
    let mut run_here = move || {
        let frame = &there;
        Worker::with_current(|worker| match worker {
            // SAFETY: just made.
            Some(worker) => unsafe { borrowed.run_here(worker, frame.0) },
            None => unreachable!("installed"),
        });
    };
    if !outside {
        install(registry, run_here);
    } else if !registry.kind.enter(registry, &mut run_here) {
        // SAFETY: just made.
        registry
            .kind
            .visit(&mut || unsafe { root.run_there(frame) });
    }
    // SAFETY: the frame's future was a `Fut`, and nobody else has its handle.
    unsafe { root.outcome::<T>(frame) }.unwrap_or_else(|payload| panic::resume_unwind(payload))
}

/// A token: the right to fork tasks that borrow, below one root. A copy of it is handed down to
/// each task that forks others.
///
/// What a task borrows must outlive the call of [`scope`] or [`Pool::run`]: the data of the caller,
/// not that of another task. The methods are those of [`crate::task`] by the same name.
///
/// A token is good for the tasks of the call that made it, as long as that runs. Elsewhere (below
/// another call, also one within this one, or when the call has returned) its methods panic, or the
/// futures that they return when they are first polled; the child is dropped unstarted.
///
/// ```
/// use roving::task::{Scope, Task, scope};
///
/// fn length<'scope>(s: Scope<'scope>, words: &'scope [String]) -> impl Task<usize> {
///     async move {
///         if words.len() < 4 {
///             return words.iter().map(String::len).sum();
///         }
///         let (left, right) = words.split_at(words.len() / 2);
///         let left = s.fork(length(s, left)).await;
///         s.call(length(s, right)).await + left.await
///     }
/// }
/// let words = vec![String::from("word"); 100];
/// assert_eq!(scope(|s| length(s, &words)), 400);
/// ```
#[derive(Clone, Copy)]
pub struct Scope<'scope> {
    /// Of the root that the call has made. The token may outlive it.
    pub(crate) root: RootId,
    /// Invariant in `'scope`, as `std::thread::Scope` is.
    marker: PhantomData<fn(&'scope ()) -> &'scope ()>,
}

// Why what a child borrows outlives the child. A token of `'scope` is made by one blocking call,
// and `'scope` contains that call, because it is a parameter of it. Each use compares the token's
// id with that of the root under which the child is to run, and no other call ever has this id,
// however long the token is kept and wherever it is taken: out of the call, into a future that is
// polled by hand and becomes a task later, below a root that a context has made. So the child is
// bound to a root for which this very call waits, and which is open, because one of its tasks is
// polled. The call returns when all children have ended, and so within `'scope`.
impl<'scope> Scope<'scope> {
    /// Forks a child work-first: see [`crate::task::fork`].
    ///
    /// ```
    /// let word = String::from("text");
    /// let length = roving::task::scope(|s| {
    ///     let word = &word;
    ///     async move { s.fork(async move { word.len() }).await.await }
    /// });
    /// assert_eq!(length, 4);
    /// ```
    #[inline(always)]
    pub fn fork<F>(self, child: F) -> Fork<'scope, F::Output>
    where
        F: Future + Send + 'scope,
        F::Output: Send + 'scope,
    {
        Fork::new(frame::new(child), self.root)
    }

    /// Spawns a child help-first: see [`crate::task::spawn`].
    ///
    /// # Panics
    /// Outside of this token's root.
    ///
    /// ```
    /// let word = String::from("text");
    /// let length = roving::task::scope(|s| {
    ///     let word = &word;
    ///     async move { s.spawn(async move { word.len() }).await }
    /// });
    /// assert_eq!(length, 4);
    /// ```
    #[inline]
    pub fn spawn<F>(self, child: F) -> Forked<F::Output>
    where
        F: Future + Send + 'scope,
        F::Output: Send + 'scope,
    {
        Forked::spawn(child, self.root)
    }

    /// Calls a child without parallelism: see [`crate::task::call`].
    ///
    /// ```
    /// let word = String::from("text");
    /// let length = roving::task::scope(|s| {
    ///     let word = &word;
    ///     async move { s.call(async move { word.len() }).await }
    /// });
    /// assert_eq!(length, 4);
    /// ```
    #[inline(always)]
    pub fn call<F>(self, child: F) -> Call<'scope, F::Output>
    where
        F: Future + Send + 'scope,
        F::Output: Send + 'scope,
    {
        Call::new(frame::new(child), self.root)
    }

    /// Starts a child in the pool's [`crate::policy::SpawnOrder`]: see [`crate::task::branch`].
    ///
    /// ```
    /// let word = String::from("text");
    /// let length = roving::task::scope(|s| {
    ///     let word = &word;
    ///     async move { s.branch(async move { word.len() }).await.await }
    /// });
    /// assert_eq!(length, 4);
    /// ```
    #[inline]
    #[track_caller]
    pub fn branch<F>(self, child: F) -> Fork<'scope, F::Output>
    where
        F: Future + Send + 'scope,
        F::Output: Send + 'scope,
    {
        Fork::branched(frame::new(child), self.root)
    }
}

impl fmt::Debug for Scope<'_> {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scope").finish_non_exhaustive()
    }
}
