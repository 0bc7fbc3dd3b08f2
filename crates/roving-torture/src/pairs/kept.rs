//! Values that steps leave behind.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use roving::context::{self, UntilCancelled};
use roving::embed::WorkerThread;
use roving::task::{Call, Fork, Forked, OrCancelled};
use roving::{Cancel, JoinHandle, Pool, WorkerLocal};
use roving_flow::{Canceller, In, Live, Out};

/// Something kept beyond the step that made it.
pub(crate) enum LeftBehind {
    Half(Half),
    Waker(Waker),
    Context(context::Context),
    Cancel(Cancel),
    Until(Pin<Box<UntilCancelled>>),
    Pool(Box<Pool>),
    Local(WorkerLocal<u64>),
    Thread(WorkerThread),
    Canceller(Canceller),
    Live(Live),
    In(In<u64>),
    Out(Out<u64>),
    Job(JoinHandle<u64>),
}

/// A future of the library that was polled, or may have been.
pub(crate) enum Half {
    Call(Pin<Box<Call<'static, ()>>>),
    Fork(Pin<Box<Fork<'static, ()>>>),
    Handle(Pin<Box<Forked<()>>>),
    OrCancelled(Pin<Box<OrCancelled<()>>>),
}

impl Half {
    /// Polls it; a fork that is ready becomes the handle that it gives.
    pub(crate) fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match self {
            Half::Call(call) => call.as_mut().poll(context),
            Half::Fork(fork) => match fork.as_mut().poll(context) {
                Poll::Ready(handle) => {
                    *self = Half::Handle(Box::pin(handle));
                    Poll::Ready(())
                }
                Poll::Pending => Poll::Pending,
            },
            Half::Handle(handle) => match handle.is_ended() {
                // To poll it again when it was ready is a mistake of the caller.
                true => Poll::Ready(()),
                false => handle.as_mut().poll(context),
            },
            Half::OrCancelled(future) => future.as_mut().poll(context).map(drop),
        }
    }
}

/// Notes nothing: for polls by nobody in particular.
pub(crate) struct Deaf;

impl Wake for Deaf {
    fn wake(self: Arc<Self>) {}
}
