//! Receiving and sending within a limited time.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use roving::Cancel;
use roving::context::UntilCancelled;

use super::blocking::block_on;
use super::error::{TryRecvError, TrySendError};
use super::ports::{In, Out, has_acted};
use crate::channel::words::{ChannelEnd, Words};
use crate::process::poll::ProcessTurn;

/// A limit on one wait. It costs nothing until something has to wait.
struct Limit {
    time: Duration,
    over: Option<UntilCancelled>,
}

impl Limit {
    fn new(time: Duration) -> Limit {
        Limit { time, over: None }
    }

    /// Ready when the time is over, which began with the first call. The operation that waits, at
    /// that end of a channel, is given up then, but not before it has been suspended once.
    fn poll(&mut self, words: &Words, end: ChannelEnd, context: &mut Context<'_>) -> Poll<()> {
        let (time, is_first) = (self.time, self.over.is_none());
        let over = self
            .over
            .get_or_insert_with(|| Cancel::after(time).cancelled());
        let polled = Pin::new(over).poll(context);
        if polled.is_pending() {
            return Poll::Pending;
        }
        if is_first {
            // What it waits for may need this worker: a process that asks again and again, each
            // time for no time at all, lets the others go first.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        ProcessTurn::forget(words, end);
        polled
    }
}

impl<T> In<T> {
    /// Receives the next message like [`Self::recv`], but waits no longer than `time`.
    ///
    /// Nothing is lost when the time is over: a message that comes later is there for the next
    /// call. A process that waits here is in no deadlock, since time lets it go on.
    ///
    /// # Not deterministic
    ///
    /// Its result depends on the clock: a process that uses it may act differently in another run.
    ///
    /// # Errors
    /// No message came in that time, or there will never be one again.
    ///
    /// ```
    /// use std::time::Duration;
    /// use roving_flow::{In, Network, TryRecvError};
    ///
    /// let mut network = Network::new();
    /// let (mut out, input) = network.channel("numbers");
    /// out.try_send(7).unwrap();
    /// network.process("sink", input, async |mut input: In<u32>| {
    ///     assert_eq!(input.recv_timeout(Duration::from_secs(60)).await, Ok(7));
    ///     let late = input.recv_timeout(Duration::from_millis(1)).await;
    ///     assert_eq!(late, Err(TryRecvError::Empty));
    ///     drop(out);
    ///     let never = input.recv_timeout(Duration::from_secs(60)).await;
    ///     assert_eq!(never, Err(TryRecvError::Closed));
    /// });
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// ```
    pub async fn recv_timeout(&mut self, time: Duration) -> Result<T, TryRecvError> {
        self.words().shared().is_no_kahn_network();
        let mut limit = Limit::new(time);
        poll_fn(|context| match self.poll_recv(context) {
            Poll::Ready(message) => Poll::Ready(message.ok_or(TryRecvError::Closed)),
            Poll::Pending => limit
                .poll(self.words(), ChannelEnd::Reader, context)
                .map(|()| Err(TryRecvError::Empty)),
        })
        .await
    }

    /// Receives a message like [`Self::recv_timeout`], on a thread that is no part of the network:
    /// see [`Self::recv_blocking`].
    ///
    /// # Errors
    /// As [`Self::recv_timeout`].
    ///
    /// # Panics
    /// When a process calls it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use roving_flow::{Network, TryRecvError};
    ///
    /// let mut network = Network::new();
    /// let (out, mut input) = network.channel::<u32>("numbers");
    /// let late = input.recv_timeout_blocking(Duration::from_millis(1));
    /// assert_eq!(late, Err(TryRecvError::Empty));
    /// # drop(out);
    /// ```
    pub fn recv_timeout_blocking(&mut self, time: Duration) -> Result<T, TryRecvError> {
        let message = {
            let mut receiving = pin!(self.recv_timeout(time));
            block_on("recv_timeout_blocking", |context| {
                receiving.as_mut().poll(context)
            })
        };
        has_acted(self.words());
        message
    }
}

impl<T> Out<T> {
    /// Sends a message like [`Self::send`], but waits for room no longer than `time`.
    ///
    /// A process that waits here is in no deadlock, since time lets it go on; so the channel does
    /// not grow for it.
    ///
    /// # Not deterministic
    ///
    /// Its result depends on the clock: a process that uses it may act differently in another run.
    ///
    /// # Errors
    /// There was no room in that time, or the other end is gone; the message comes back.
    ///
    /// ```
    /// use std::time::Duration;
    /// use roving_flow::{Network, Out, TrySendError};
    ///
    /// let mut network = Network::new();
    /// let (out, input) = network.bounded("numbers", 1);
    /// network.process("source", out, async move |mut out: Out<u32>| {
    ///     out.send_timeout(1, Duration::from_secs(60)).await.unwrap();
    ///     let late = out.send_timeout(2, Duration::from_millis(1)).await;
    ///     assert!(matches!(late, Err(TrySendError::Full(2))));
    ///     drop(input);
    ///     let never = out.send_timeout(3, Duration::from_secs(60)).await;
    ///     assert!(matches!(never, Err(TrySendError::Closed(3))));
    /// });
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// ```
    pub async fn send_timeout(
        &mut self,
        message: T,
        time: Duration,
    ) -> Result<(), TrySendError<T>> {
        let mut limit = Limit::new(time);
        poll_fn(|context| match self.poll_ready(context) {
            Poll::Ready(_) => Poll::Ready(()),
            Poll::Pending => limit.poll(self.words(), ChannelEnd::Writer, context),
        })
        .await;
        self.try_send(message)
    }

    /// Sends a message like [`Self::send_timeout`], on a thread that is no part of the network: see
    /// [`Self::send_blocking`].
    ///
    /// # Errors
    /// As [`Self::send_timeout`].
    ///
    /// # Panics
    /// When a process calls it.
    ///
    /// ```
    /// use std::time::Duration;
    /// use roving_flow::{Network, TrySendError};
    ///
    /// let mut network = Network::new();
    /// let (mut out, input) = network.bounded("numbers", 1);
    /// out.send_timeout_blocking(1, Duration::from_secs(60)).unwrap();
    /// let late = out.send_timeout_blocking(2, Duration::from_millis(1));
    /// assert!(matches!(late, Err(TrySendError::Full(2))));
    /// # drop(input);
    /// ```
    pub fn send_timeout_blocking(
        &mut self,
        message: T,
        time: Duration,
    ) -> Result<(), TrySendError<T>> {
        let sent = {
            let mut sending = pin!(self.send_timeout(message, time));
            block_on("send_timeout_blocking", |context| {
                sending.as_mut().poll(context)
            })
        };
        has_acted(self.words());
        sent
    }
}
