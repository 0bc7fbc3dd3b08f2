//! Suspending until it is cancelled.

use std::fmt;
use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::cancel::Cancel;
use crate::inherit::cancelled::CancelledError;
use crate::inherit::node;
use crate::inherit::tokens::Tokens;
use crate::machine::os;
use crate::machine::prim::Mutex;
use crate::pool::Pool;
use crate::workers::Worker;

/// Waits until the calling task is cancelled: by a [`Cancel`] that it belongs to, by hand or by its
/// deadline, or by its pool. Waits for ever if it belongs to none. To be used in a `select`, next
/// to the event that the task waits for.
///
/// ```
/// use roving::{Cancel, context, task};
///
/// let request = Cancel::new();
/// let ended = request.run_partial(|| {
///     task::block_on(async {
///         let request = request.clone();
///         let stops = task::spawn(async move { request.cancel() });
///         context::cancelled().await;
///         stops.or_cancelled().await.is_ok()
///     })
/// });
/// assert_eq!(ended, Ok(true));
/// ```
#[inline]
pub fn cancelled() -> UntilCancelled {
    let mut tokens = entered();
    Worker::with_current(|worker| {
        if let Some(worker) = worker {
            tokens.add(&worker.registry().cancel);
        }
    });
    UntilCancelled(tokens)
}

/// Runs a future until it ends or the calling task is cancelled ([`cancelled`]): then the future is
/// dropped where it is suspended. The token is checked before each of its polls.
///
/// ```
/// use std::time::Duration;
/// use roving::{Cancel, CancelledError, context, task};
///
/// let ended = Cancel::after(Duration::ZERO).run(|| {
///     task::block_on(context::until_cancelled(std::future::pending::<()>()))
/// });
/// assert_eq!(ended, Err(CancelledError), "nothing begins any more");
/// ```
pub fn until_cancelled<F: Future>(future: F) -> Until<F> {
    Until {
        future: Some(Box::pin(future)),
        cancelled: cancelled(),
    }
}

impl Cancel {
    /// Waits until this token is cancelled.
    ///
    /// ```
    /// let request = roving::Cancel::new();
    /// request.cancel();
    /// roving::task::block_on(async move { request.cancelled().await });
    /// ```
    #[inline]
    pub fn cancelled(&self) -> UntilCancelled {
        UntilCancelled(Tokens::of(std::iter::once(self.token())))
    }
}

/// The tokens of the context that the calling thread is in.
#[inline]
fn entered() -> Tokens {
    node::with_current(|node| Tokens::of(node.into_iter().flat_map(|node| node.tokens())))
}

/// A registered callback for the cancellation of the place where it was created.
///
/// ```
/// use std::sync::mpsc;
/// use roving::raw::tasks::OnCancel;
///
/// let pool = roving::Pool::new(1)?;
/// let request = roving::Cancel::new();
/// let (told, ends) = mpsc::channel();
/// let _callback = request.run_partial(|| OnCancel::new(&pool, move || told.send(()).unwrap()));
/// request.cancel();
/// assert_eq!(ends.recv(), Ok(()));
/// # Ok::<(), roving::BuildError>(())
/// ```
pub struct OnCancel {
    tokens: Tokens,
}

/// A waker that calls a closure, once: it is left with several tokens, and the closure may cancel
/// another of these.
struct Calls<F> {
    is_called: Mutex<bool>,
    f: F,
}

impl<F: Fn() + Send + Sync + 'static> Wake for Calls<F> {
    fn wake(self: Arc<Calls<F>>) {
        let is_called = mem::replace(&mut *self.is_called.lock(), true);
        if !is_called {
            (self.f)();
        }
    }
}

impl OnCancel {
    /// Calls `f` once, when `pool` or a [`Cancel`] that the caller belongs to is
    /// cancelled: on the thread that cancels, or at once if that has happened. Dropping the
    /// returned value prevents the call; `f` may be running then.
    pub fn new(pool: &Pool, f: impl Fn() + Send + Sync + 'static) -> OnCancel {
        let mut tokens = entered();
        tokens.add(&pool.registry().cancel);
        let waker = Waker::from(Arc::new(Calls {
            is_called: Mutex::new(false),
            f,
        }));
        if !tokens.wake_at_end(&waker) {
            os::say(
                "no thread can be started for deadlines: they do not end this network; raise the limit on \
                 threads",
            );
        }
        OnCancel { tokens }
    }
}

impl fmt::Debug for OnCancel {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnCancel")
            .field("cancelled", &self.tokens.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// The future that [`cancelled`] and [`Cancel::cancelled`] return.
///
/// ```
/// let never: roving::context::UntilCancelled = roving::context::cancelled();
/// drop(never);
/// ```
#[must_use = "it waits when it is awaited"]
pub struct UntilCancelled(Tokens);

impl Future for UntilCancelled {
    type Output = ();

    #[inline]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.0.poll(context)
    }
}

impl fmt::Debug for UntilCancelled {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UntilCancelled")
            .field("cancelled", &self.0.is_cancelled())
            .finish_non_exhaustive()
    }
}

/// The future that [`until_cancelled`] returns.
///
/// ```
/// use roving::context::{Until, until_cancelled};
///
/// let seven: Until<std::future::Ready<u8>> = until_cancelled(std::future::ready(7));
/// assert_eq!(roving::task::block_on(seven), Ok(7));
/// ```
#[must_use = "it runs when it is awaited"]
pub struct Until<F> {
    /// Gone when it has ended.
    future: Option<Pin<Box<F>>>,
    cancelled: UntilCancelled,
}

impl<F: Future> Future for Until<F> {
    type Output = Result<F::Output, CancelledError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let future = this.future.as_mut().expect("polled after it was ready");
        let polled = match Pin::new(&mut this.cancelled).poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(CancelledError)),
            Poll::Pending => future.as_mut().poll(context).map(Ok),
        };
        if polled.is_ready() {
            this.future = None;
        }
        polled
    }
}

impl<F> fmt::Debug for Until<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Until")
            .field("cancelled", &self.cancelled)
            .finish_non_exhaustive()
    }
}
