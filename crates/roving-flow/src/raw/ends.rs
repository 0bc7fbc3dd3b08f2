//! Channels of which one end is elsewhere.

use std::marker::PhantomData;

use super::Side;
use crate::channel::window::Window;
use crate::channel::words::{ChannelEnd, UNBOUNDED, Words};
use crate::channel::{Channel, Empty, Full, Handle, reopen_port};
use crate::machine::unwind::DueWaker;
use crate::network::Network;
use crate::port::{self, In, Out, TryRecvError};

/// Adds a channel like [`Network::bounded`], or like [`Network::unbounded`] without a capacity; and
/// returns a bridge that can make the port of an end again after it has been dropped.
pub fn bridged<'env, T: Send + 'env>(
    network: &mut Network<'env>,
    name: impl std::fmt::Display,
    capacity: Option<usize>,
) -> (Out<T>, In<T>, Bridge<T>) {
    let (out, input) = match capacity {
        Some(capacity) => network.bounded(name, capacity),
        None => network.unbounded(name),
    };
    // The channel was added last.
    let channel = network.channels[network.channels.len() - 1].clone();
    channel.bridge();
    let marker = PhantomData;
    (out, input, Bridge { channel, marker })
}

/// Takes the oldest message before a port, for a process that moves elsewhere, without waking the
/// producer.
pub fn take_unread<T>(input: &mut In<T>) -> Option<T> {
    input.take_silently().ok()
}

/// Tells a port that its process leaves for another place. When the process comes back, there may
/// be less room than it has seen last, and no port but this one knows what that was.
pub fn forget_room<T>(out: &mut Out<T>) {
    out.forget_room();
}

/// A reference to a channel that can make a new port for an end whose port has been dropped.
pub struct Bridge<T> {
    channel: Handle,
    marker: PhantomData<fn(T) -> T>,
}

impl<T> Bridge<T> {
    /// A port for that end, whose own is gone; the other one is to be dropped or used.
    fn reopen(&mut self, end: ChannelEnd) -> Option<(Out<T>, In<T>)> {
        // SAFETY: the bridge keeps the channel, is the only one for it, and is borrowed
        // exclusively. One port is made below.
        if !unsafe { reopen_port(&self.channel, end) } {
            return None;
        }
        let channel = self.channel.channel().cast::<Channel<T>>();
        // SAFETY: the channel was opened for messages of this type. Of the two ports, the one at
        // this end has the reference that was made; the callers forget the other one.
        Some(unsafe { port::pair(channel) })
    }

    /// Returns the end that takes the messages out, where the consumer's port is gone and the
    /// producer's is not.
    pub fn egress(&mut self) -> Option<Egress<T>> {
        let (out, input) = self.reopen(ChannelEnd::Reader)?;
        std::mem::forget(out);
        let window = Window::new(self.channel.capacity());
        let egress = Egress { input, window };
        egress.reopen().wake();
        Some(egress)
    }

    /// Returns the end that puts messages in, where the producer's port is gone and the consumer's
    /// is not. From now on the channel has room for any number.
    pub fn ingress(&mut self) -> Option<Ingress<T>> {
        let (out, input) = self.reopen(ChannelEnd::Writer)?;
        std::mem::forget(input);
        self.channel.set_capacity(UNBOUNDED);
        Some(Ingress { out, offset: 0 })
    }

    /// Returns whether the port of that end has been dropped.
    pub fn is_gone(&self, side: Side) -> bool {
        match side.end() {
            ChannelEnd::Reader => self.channel.taken().is_gone(),
            ChannelEnd::Writer => self.channel.sent().is_gone(),
        }
    }
}

/// A stand-in for the consumer, at the producer's place.
///
/// A message that is taken here still counts as lying in the channel, until the real consumer is
/// said to have taken it: the channel's capacity here is what is left of it.
///
/// The producer may be polled by another executor, whose waker may run anything. So a method that
/// finds such a waker to be due returns it, and who calls that under a lock drops it afterwards.
pub struct Egress<T> {
    input: In<T>,
    window: Window,
}

impl<T> Egress<T> {
    fn words(&self) -> &Words {
        self.input.words()
    }

    /// Updates the room that there is, and wakes a producer that waits for some. To be called after
    /// a thread other than the producer's has taken messages: the producer may have seen too little
    /// room in the middle of that, and nothing else would wake it.
    pub fn reopen(&self) -> DueWaker {
        let words = self.words();
        self.window.reopen(words);
        words.wake_or_owe(ChannelEnd::Writer).unwrap_or_default()
    }

    /// Takes the oldest message. A producer that waits for room is not woken: there is no more room
    /// than before. A caller that takes messages outside of the [hook](Self::hook), while the
    /// producer may run, calls [`Self::reopen`] afterwards.
    ///
    /// # Errors
    /// There is none now, or there will never be one again.
    pub fn take(&mut self) -> Result<T, TryRecvError> {
        self.window.lower(self.input.words());
        self.input.take_silently().map_err(|empty| match empty {
            Empty::Yet => TryRecvError::Empty,
            Empty::Ended => TryRecvError::Closed,
        })
    }

    /// Sets a function that is called, from now on, whenever there may be a message, or will never
    /// be one again: by the thread that has sent it, and by several threads at a time. The first
    /// one stays. The caller looks itself for messages that lie here already.
    ///
    /// The channel keeps the hook, and so all that the hook holds, for as long as it has its
    /// memory: the hook should hold nothing that has to go earlier.
    pub fn hook(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.words().put_hook(ChannelEnd::Reader, Box::new(hook));
    }

    /// Records how many messages the real consumer has taken.
    pub fn taken_there(&mut self, taken: u64) -> DueWaker {
        match self.window.hear_taken(taken) {
            true => self.reopen(),
            false => DueWaker::default(),
        }
    }

    /// Sets the capacity of the whole way from now on, unless it was larger before.
    pub fn grow(&mut self, capacity: usize) -> DueWaker {
        self.window
            .grow(u32::try_from(capacity).unwrap_or(UNBOUNDED));
        self.reopen()
    }

    /// Returns the capacity of the whole way.
    pub fn capacity(&self) -> Option<usize> {
        let capacity = self.window.capacity();
        (capacity != UNBOUNDED).then_some(capacity as usize)
    }

    /// Returns how many messages have been sent, and whether the producer is gone.
    pub fn sent(&self) -> (u64, bool) {
        let sent = self.words().sent();
        (self.window.whole(sent.number()), sent.is_gone())
    }

    /// Returns how many messages the real consumer is known to have taken.
    pub fn known_taken(&self) -> u64 {
        self.window.taken_there()
    }

    /// Records that the producer has come here from elsewhere, with the number of messages that it
    /// had sent there, all of which had been taken out, and the number of these that the real
    /// consumer has taken. No message lies here.
    pub fn resume(&mut self, sent: u64, taken_there: u64, capacity: Option<usize>) -> DueWaker {
        let sent_here = self.words().sent().number();
        self.window.resume((sent, taken_there), sent_here);
        if let Some(capacity) = capacity {
            self.window
                .grow(u32::try_from(capacity).unwrap_or(UNBOUNDED));
        }
        self.reopen()
    }

    /// Returns whether the network is about to drop its processes, so that a closed port means
    /// nothing.
    pub fn is_stopped(&self) -> bool {
        self.words().shared().is_stopped()
    }
}

/// A stand-in for the producer, at the consumer's place. Wakers of another executor are the
/// caller's matter, as with an [`Egress`].
pub struct Ingress<T> {
    out: Out<T>,
    /// Added, modulo 2⁶⁴, to the count of messages here: the number that were taken elsewhere.
    offset: u64,
}

impl<T> Ingress<T> {
    fn words(&self) -> &Words {
        self.out.words()
    }

    /// Puts a message in, and wakes the consumer.
    ///
    /// # Errors
    /// The consumer is gone; the message comes back.
    pub fn give(&mut self, message: T) -> Result<DueWaker, T> {
        if self.words().taken().is_gone() {
            return Err(message);
        }
        self.out.put_silently(message).map_err(|(full, message)| {
            debug_assert_eq!(full, Full::Ended, "there is room for any number");
            message
        })?;
        Ok(self.words().tell_or_owe(ChannelEnd::Reader))
    }

    /// Sets a function that is called, from now on, whenever the consumer has taken a message or is
    /// gone: as [`Egress::hook`].
    pub fn hook(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.words().put_hook(ChannelEnd::Writer, Box::new(hook));
    }

    /// Returns how many messages have been taken, and whether the consumer is gone.
    pub fn taken(&self) -> (u64, bool) {
        let taken = self.words().taken();
        (taken.number().wrapping_add(self.offset), taken.is_gone())
    }

    /// Records that the consumer has come here from elsewhere, with the number of messages that it
    /// had taken there. No message lies here.
    pub fn resume(&mut self, taken: u64) {
        self.offset = taken.wrapping_sub(self.words().taken().number());
    }

    /// Returns whether the network is about to drop its processes, so that a closed port means
    /// nothing.
    pub fn is_stopped(&self) -> bool {
        self.words().shared().is_stopped()
    }
}
