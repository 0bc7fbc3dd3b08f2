//! The two ends of a channel, as its processes hold them.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use futures_core::Stream;

use super::error::{SendError, TryRecvError, TrySendError};
use crate::channel::words::{ChannelEnd, Words};
use crate::channel::{self, Channel, Empty, Full, Handle};
use crate::deadlock;
use crate::machine::unwind::first_of;
use crate::process::poll::ProcessTurn;

/// The receiving end of a channel.
///
/// It is a `Stream` as well. Dropping it closes the channel: a `send` returns an error once the
/// sender has used the room that it last saw.
///
/// ```
/// use roving_flow::{In, Network};
///
/// let mut network = Network::new();
/// let (out, input) = network.channel("numbers");
/// network.source("source", out, 1..=3);
/// network.process("add", input, async |mut input: In<u32>| {
///     assert_eq!(input.recv().await, Some(1));
///     assert_eq!(input.recv().await, Some(2));
///     assert_eq!(input.recv().await, Some(3));
///     assert_eq!(input.recv().await, None);
/// });
/// network.run(&roving::Pool::new(1).unwrap()).unwrap();
/// ```
pub struct In<T> {
    channel: NonNull<Channel<T>>,
    marker: PhantomData<T>,
}

/// The sending end of a channel.
///
/// Dropping it ends the stream: the receiver gets the messages that are still there, then `None`.
///
/// ```
/// use roving_flow::{Network, Out};
///
/// let mut network = Network::new();
/// let (out, input) = network.channel("numbers");
/// network.process("count", out, async |mut out: Out<u32>| {
///     for number in 0.. {
///         if out.send(number).await.is_err() {
///             break; // nobody receives any more
///         }
///     }
/// });
/// network.process("enough", input, async |mut input| {
///     while input.recv().await != Some(100) {}
/// });
/// network.run(&roving::Pool::new(1).unwrap()).unwrap();
/// ```
pub struct Out<T> {
    channel: NonNull<Channel<T>>,
    marker: PhantomData<T>,
}

// SAFETY: a port moves messages, which are `Send`; its end of the channel goes with it.
unsafe impl<T: Send> Send for In<T> {}
// SAFETY: a port moves messages, which are `Send`; the producer's end of the channel goes with it.
unsafe impl<T: Send> Send for Out<T> {}
// SAFETY: through a shared port one can read counts only, which are atomic.
unsafe impl<T: Send> Sync for In<T> {}
// SAFETY: a shared `Out` gives access to atomic counts only.
unsafe impl<T: Send> Sync for Out<T> {}

impl<T> Unpin for In<T> {}
impl<T> Unpin for Out<T> {}

/// The two ports of a new channel.
///
/// # Safety
/// The caller has two references to the channel, one for each port, and gives them away.
pub(crate) unsafe fn pair<T>(channel: NonNull<Channel<T>>) -> (Out<T>, In<T>) {
    let marker = PhantomData;
    (Out { channel, marker }, In { channel, marker })
}

/// The capacity of a channel of which the end was told: no other channel of a process has it.
const TOLD: u32 = 0;

/// A new channel in the place of that one, of which that end is closed. Returns its name.
fn half_closed<T>(words: &Words, closed: ChannelEnd) -> NonNull<Channel<T>> {
    let channel = channel::open::<T>(words.shared(), words.index() as u32, TOLD);
    // SAFETY: it came with three references. The network gives up its own here, and so does a port
    // of that end, which is not made; the caller's port has the third.
    unsafe {
        drop(Handle::new(channel.cast()));
        let _no_message_was_there = channel::drop_port(channel.cast(), closed, |_| ());
    }
    channel
}

impl<T> In<T> {
    #[inline(always)]
    fn channel(&self) -> &Channel<T> {
        // SAFETY: the port keeps the channel.
        unsafe { self.channel.as_ref() }
    }

    #[inline(always)]
    pub(crate) fn words(&self) -> &Words {
        &self.channel().words
    }

    /// Takes the oldest message if there is one.
    #[inline(always)]
    fn take(&mut self) -> Result<T, Empty> {
        // SAFETY: the port is borrowed exclusively, and is the only one at this end.
        let message = unsafe { self.channel().pop() }?;
        // SAFETY: this port has taken.
        unsafe { ProcessTurn::tell(self.channel.cast(), ChannelEnd::Writer) };
        Ok(message)
    }

    /// Takes a message without waking a producer that waits for room.
    pub(crate) fn take_silently(&mut self) -> Result<T, Empty> {
        // SAFETY: as in `take`.
        unsafe { self.channel().pop() }
    }

    /// Receives the next message, or `None` when the other end of the channel is gone and
    /// everything that was sent has been received. Suspends the process while the channel is empty.
    ///
    /// Nothing is lost when the future is dropped. See [`In`] for an example.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// let (out, input) = network.bounded("numbers", 1);
    /// network.source("source", out, [7, 8]);
    /// network.process("sink", input, async |mut input| {
    ///     assert_eq!(input.recv().await, Some(7));
    ///     assert_eq!(input.recv().await, Some(8));
    ///     assert_eq!(input.recv().await, None); // the source has ended
    /// });
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// ```
    #[inline(always)]
    pub fn recv(&mut self) -> Receiving<'_, T> {
        Receiving { port: self }
    }

    /// Receives the next message if there is one.
    ///
    /// # Not deterministic
    ///
    /// Its result depends on which process is faster: a process that uses it may act differently in
    /// another run.
    ///
    /// # Errors
    /// There is none now, or there will never be one again. A process of a network that fails is
    /// told [`Stopped`](TryRecvError::Stopped) at the end of a stream, which may be half of it; it
    /// is dropped when it next has to wait.
    ///
    /// ```
    /// use roving_flow::{Network, TryRecvError};
    ///
    /// let mut network = Network::new();
    /// let (mut out, mut input) = network.channel("numbers");
    /// assert_eq!(input.try_recv(), Err(TryRecvError::Empty));
    /// out.try_send(7).unwrap();
    /// drop(out);
    /// assert_eq!(input.try_recv(), Ok(7));
    /// assert_eq!(input.try_recv(), Err(TryRecvError::Closed));
    /// ```
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.words().shared().is_no_kahn_network();
        self.take().map_err(|empty| match empty {
            Empty::Yet => TryRecvError::Empty,
            Empty::Ended => self.end(),
        })
    }

    /// Tells who asks of the end of the stream.
    #[cold]
    fn end(&self) -> TryRecvError {
        let words = self.words();
        let shared = words.shared();
        if words.capacity() == TOLD || !ProcessTurn::is_of(shared) {
            return TryRecvError::Closed;
        }
        // In this order: a doubt may end with a failure.
        let is_in_doubt = words.was_closed_in_doubt() && shared.doubt.is_open();
        match (is_in_doubt, shared.is_stopped()) {
            (true, _) => TryRecvError::Empty,
            (false, true) => TryRecvError::Stopped,
            (false, false) => TryRecvError::Closed,
        }
    }

    /// Polls for the next message: [`Self::recv`] for code that is no `async` block.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// let (out, input) = network.channel("numbers");
    /// network.source("source", out, [5]);
    /// network.process("sink", input, async |mut input| {
    ///     let number = std::future::poll_fn(|context| input.poll_recv(context)).await;
    ///     assert_eq!(number, Some(5));
    /// });
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// ```
    #[inline(always)]
    pub fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<T>> {
        loop {
            match self.take() {
                Ok(message) => return Poll::Ready(Some(message)),
                Err(empty) => match self.wait(empty, context) {
                    Poll::Ready(true) => {
                        self.has_ended();
                        return Poll::Ready(None);
                    }
                    Poll::Ready(false) => {}
                    Poll::Pending => return Poll::Pending,
                },
            }
        }
    }

    /// The end of the stream is told. It may come of a network that has stopped, with the other end
    /// still open: then the stream is cut, for nothing is to come after its end.
    #[cold]
    #[inline(never)]
    fn has_ended(&mut self) {
        let words = self.words();
        let (sent, taken) = (words.sent(), words.taken());
        let is_natural = sent.is_gone() && sent.number() == taken.number();
        if words.shared().is_stopped() && !is_natural {
            *self = In {
                channel: half_closed(words, ChannelEnd::Writer),
                marker: PhantomData,
            };
        }
    }

    /// Ready with whether all is over, or when there is something after all.
    #[inline(never)]
    fn wait(&mut self, empty: Empty, context: &mut Context<'_>) -> Poll<bool> {
        let words = self.words();
        match empty {
            Empty::Ended => is_over(words, context),
            Empty::Yet => wait(words, ChannelEnd::Reader, context),
        }
    }
}

impl<T> Out<T> {
    #[inline(always)]
    fn channel(&self) -> &Channel<T> {
        // SAFETY: the port keeps the channel.
        unsafe { self.channel.as_ref() }
    }

    #[inline(always)]
    pub(crate) fn words(&self) -> &Words {
        &self.channel().words
    }

    /// Puts a message in if there is room.
    #[inline(always)]
    pub(crate) fn put(&mut self, message: T) -> Result<(), (Full, T)> {
        self.put_silently(message)?;
        // SAFETY: this port has sent.
        unsafe { ProcessTurn::tell(self.channel.cast(), ChannelEnd::Reader) };
        Ok(())
    }

    /// Puts a message in without waking a consumer that waits for it.
    #[inline(always)]
    pub(crate) fn put_silently(&mut self, message: T) -> Result<(), (Full, T)> {
        // SAFETY: the port is borrowed exclusively, and is the only one at this end.
        unsafe {
            if let Err(full) = self.channel().has_room() {
                return Err((full, message));
            }
            self.channel().push(message);
        }
        Ok(())
    }

    /// Looks anew for room before the next message.
    pub(crate) fn forget_room(&mut self) {
        // SAFETY: the port is borrowed exclusively, and is the only one at this end.
        unsafe { self.channel().forget_room() };
    }

    /// Sends a message. Suspends the process while the channel is full.
    ///
    /// When the future is dropped before it is ready, the message is dropped with it. See [`Out`]
    /// for an example.
    ///
    /// # Errors
    /// The other end is gone; the message comes back. The port looks at the other end when it has
    /// used the room that it last saw. Until then a channel whose consumer is gone takes further
    /// messages, at most as many as its capacity, and they are dropped: at the latest when the
    /// process waits, or ends; by who is no process, within the call, which is not to be made under
    /// a lock that such a drop wants. What one of them panics with, the sender has panicked with;
    /// or whoever drops the other end, if that comes upon it.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// let (out, input) = network.bounded("numbers", 1);
    /// network.process("source", out, async |mut out| {
    ///     while out.send(7).await.is_ok() {} // until nobody is there to take it
    /// });
    /// network.process("sink", input, async |mut input| {
    ///     assert_eq!(input.recv().await, Some(7));
    /// });
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// ```
    #[inline(always)]
    pub fn send(&mut self, message: T) -> Sending<'_, T> {
        Sending {
            port: self,
            message: Some(message),
        }
    }

    /// Sends a message if there is room.
    ///
    /// # Not deterministic
    ///
    /// Its result depends on which process is faster: a process that uses it may act differently in
    /// another run.
    ///
    /// # Errors
    /// There is no room, or the other end is gone.
    ///
    /// ```
    /// use roving_flow::{Network, TrySendError};
    ///
    /// let mut network = Network::new();
    /// let (mut out, input) = network.bounded("numbers", 1);
    /// out.try_send(1).unwrap();
    /// assert!(matches!(out.try_send(2), Err(TrySendError::Full(2))));
    /// drop(input);
    /// assert!(matches!(out.try_send(3), Err(TrySendError::Closed(3))));
    /// ```
    pub fn try_send(&mut self, message: T) -> Result<(), TrySendError<T>> {
        self.words().shared().is_no_kahn_network();
        self.put(message).map_err(|(full, message)| match full {
            Full::Yet => TrySendError::Full(message),
            Full::Ended => TrySendError::Closed(message),
        })
    }

    /// Polls whether a message can be sent, or never will be.
    ///
    /// # Errors
    /// The other end is gone.
    ///
    /// ```
    /// let mut network = roving_flow::Network::new();
    /// let (out, input) = network.bounded("numbers", 1);
    /// network.process("source", out, async |mut out| {
    ///     for number in 0..10 {
    ///         std::future::poll_fn(|context| out.poll_ready(context)).await.unwrap();
    ///         out.send(number).await.unwrap(); // at once
    ///     }
    /// });
    /// network.sink("sink", input, |_| {});
    /// network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// ```
    pub fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), SendError<()>>> {
        loop {
            // SAFETY: the port is borrowed exclusively, and is the only one at this end.
            match unsafe { self.channel().has_room() } {
                Ok(()) => return Poll::Ready(Ok(())),
                Err(full) => match self.wait(full, context) {
                    Poll::Ready(true) => {
                        self.has_ended();
                        return Poll::Ready(Err(SendError(())));
                    }
                    Poll::Ready(false) => {}
                    Poll::Pending => return Poll::Pending,
                },
            }
        }
    }

    /// As that of [`In`].
    #[cold]
    #[inline(never)]
    fn has_ended(&mut self) {
        let words = self.words();
        if words.shared().is_stopped() && !words.taken().is_gone() {
            *self = Out {
                channel: half_closed(words, ChannelEnd::Reader),
                marker: PhantomData,
            };
        }
    }

    /// Ready with whether all is over, or when there is room after all.
    #[inline(never)]
    fn wait(&mut self, full: Full, context: &mut Context<'_>) -> Poll<bool> {
        let words = self.words();
        match full {
            Full::Ended => is_over(words, context),
            Full::Yet => wait(words, ChannelEnd::Writer, context),
        }
    }
}

/// Ready, with false, when it is worth another look.
fn wait(words: &Words, end: ChannelEnd, context: &mut Context<'_>) -> Poll<bool> {
    match ProcessTurn::note(words, end, context) {
        true => Poll::Pending,
        false => wait_elsewhere(words, end, context),
    }
}

/// As any future does that is no process: by its waker.
#[inline(never)]
fn wait_elsewhere(words: &Words, end: ChannelEnd, context: &Context<'_>) -> Poll<bool> {
    ProcessTurn::pay_here();
    match words.put_waker(end, context.waker()) {
        Poll::Ready(true) if ProcessTurn::is_of(words.shared()) => Poll::Pending,
        polled => polled,
    }
}

/// The other end is gone. A network that fails closes its ports, too, and none of its processes is
/// to take that for the end of a stream: they are about to be dropped. Whoever else waits here is
/// not, and neither is a root of its own in which a process waits: nothing else would end that. So
/// for these a network that has stopped is the end, whoever has the other port.
fn is_over(words: &Words, context: &Context<'_>) -> Poll<bool> {
    let shared = words.shared();
    // In this order: a doubt may end with a failure.
    let is_in_doubt = || words.was_closed_in_doubt() && shared.doubt.wait(context.waker());
    let is_unsure = || is_in_doubt() || shared.is_stopped();
    match ProcessTurn::is_of(shared) && is_unsure() {
        true => Poll::Pending,
        false => Poll::Ready(true),
    }
}

/// The thread may have woken a process that has ended meanwhile.
pub(super) fn has_acted(words: &Words) {
    let shared = words.shared();
    deadlock::after_waking(shared, shared.lines.mine());
}

/// As [`has_acted`], by who may hold any lock.
fn has_closed(words: &Words) {
    deadlock::after_act(words.shared());
}

impl<T> Drop for In<T> {
    fn drop(&mut self) {
        let channel = self.channel.cast();
        // SAFETY: this is the port of that end, and it is going.
        unsafe {
            if !ProcessTurn::close_late(channel, ChannelEnd::Reader) {
                let drained = channel::drain_port(channel);
                let closed = channel::drop_port(channel, ChannelEnd::Reader, has_closed);
                ProcessTurn::go_on(first_of(drained, closed));
            }
        }
    }
}

impl<T> Drop for Out<T> {
    fn drop(&mut self) {
        let channel = self.channel.cast();
        // SAFETY: this is the port of that end, and it is going.
        unsafe {
            if !ProcessTurn::close_late(channel, ChannelEnd::Writer) {
                let closed = channel::drop_port(channel, ChannelEnd::Writer, has_closed);
                ProcessTurn::go_on(closed);
            }
        }
    }
}

/// The future of a message: see [`In::recv`].
///
/// ```
/// let mut network = roving_flow::Network::new();
/// let (out, input) = network.bounded("numbers", 1);
/// network.source("source", out, [7]);
/// network.process("sink", input, async |mut input| {
///     let next = input.recv(); // nothing happens yet, and nothing is lost if it is dropped
///     assert_eq!(next.await, Some(7));
/// });
/// network.run(&roving::Pool::new(1).unwrap()).unwrap();
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct Receiving<'p, T> {
    port: &'p mut In<T>,
}

impl<T> Future for Receiving<'_, T> {
    type Output = Option<T>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.port.poll_recv(context)
    }
}

/// The future of room for a message: see [`Out::send`].
///
/// ```
/// let mut network = roving_flow::Network::new();
/// let (out, input) = network.bounded("numbers", 1);
/// network.process("source", out, async |mut out| {
///     let sending = out.send(7); // nothing is sent yet
///     assert!(sending.await.is_ok());
/// });
/// network.sink("sink", input, |number| assert_eq!(number, 7));
/// network.run(&roving::Pool::new(1).unwrap()).unwrap();
/// ```
#[must_use = "futures do nothing unless they are awaited"]
pub struct Sending<'p, T> {
    port: &'p mut Out<T>,
    message: Option<T>,
}

impl<T> Unpin for Sending<'_, T> {}

impl<T> Future for Sending<'_, T> {
    type Output = Result<(), SendError<T>>;

    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(mut message) = self.message.take() else {
            panic!("a send was polled after it had ended");
        };
        loop {
            let full = match self.port.put(message) {
                Ok(()) => return Poll::Ready(Ok(())),
                Err((full, back)) => {
                    message = back;
                    full
                }
            };
            match self.port.wait(full, context) {
                Poll::Ready(true) => {
                    self.port.has_ended();
                    return Poll::Ready(Err(SendError(message)));
                }
                Poll::Ready(false) => {}
                Poll::Pending => {
                    self.message = Some(message);
                    return Poll::Pending;
                }
            }
        }
    }
}

impl<T> Stream for In<T> {
    type Item = T;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        self.poll_recv(context)
    }
}

impl<T> fmt::Debug for In<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("In").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Out<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Out").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Receiving<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiving").finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for Sending<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_waiting = self.message.is_some();
        f.debug_struct("Sending")
            .field("is_waiting", &is_waiting)
            .finish_non_exhaustive()
    }
}
