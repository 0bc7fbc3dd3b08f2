//! Ports in the hands of threads that are no part of the network.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use super::error::SendError;
use super::ports::{In, Out, has_acted};
use crate::machine::prim::thread::{self, Thread};
use crate::process::poll::ProcessTurn;

/// Unparks a thread.
struct UnparkThread(Thread);

impl Wake for UnparkThread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Polls until it is ready; the thread sleeps in between. In a process, whose worker would sleep,
/// it panics, whether it would have to wait or not.
pub(crate) fn block_on<R>(operation: &str, mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    assert!(
        !ProcessTurn::is_current(),
        "`{operation}` in a process would block its worker: await the operation that suspends it"
    );
    let waker = Waker::from(Arc::new(UnparkThread(thread::current())));
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(result) = poll(&mut context) {
            return result;
        }
        thread::park();
    }
}

impl<T> In<T> {
    /// Receives a message like [`Self::recv`], on a thread that is no part of the network: the
    /// thread sleeps while the channel is empty.
    ///
    /// Not for a worker of any pool: it would block the worker that may have to run the sender.
    ///
    /// # Panics
    /// When a process calls it.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut network = Network::new();
    /// let (out, mut input) = network.bounded("numbers", 2);
    /// network.source("source", out, 0..100);
    /// let other = std::thread::spawn(move || {
    ///     let mut sum = 0;
    ///     while let Some(number) = input.recv_blocking() {
    ///         sum += number;
    ///     }
    ///     sum
    /// });
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert_eq!(other.join().unwrap(), 4950);
    /// ```
    pub fn recv_blocking(&mut self) -> Option<T> {
        let message = block_on("recv_blocking", |context| self.poll_recv(context));
        has_acted(self.words());
        message
    }
}

impl<T> Out<T> {
    /// Sends a message like [`Self::send`], on a thread that is no part of the network: the thread
    /// sleeps while the channel is full.
    ///
    /// Not for any worker, as [`In::recv_blocking`].
    ///
    /// # Errors
    /// The other end is gone; the message comes back.
    ///
    /// # Panics
    /// When a process calls it.
    ///
    /// ```
    /// use roving_flow::Network;
    ///
    /// let mut network = Network::new();
    /// let (mut out, input) = network.bounded("numbers", 2);
    /// let other = std::thread::spawn(move || {
    ///     (0..100).for_each(|number| out.send_blocking(number).unwrap());
    /// });
    /// let mut sum = 0;
    /// network.sink("sink", input, |number| sum += number);
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// assert_eq!(sum, 4950);
    /// # other.join().unwrap();
    /// ```
    pub fn send_blocking(&mut self, message: T) -> Result<(), SendError<T>> {
        let mut sending = self.send(message);
        let sent = block_on("send_blocking", |context| {
            Pin::new(&mut sending).poll(context)
        });
        has_acted(self.words());
        sent
    }
}
