//! Channels whose two processes are in different places, which a crate that carries messages from
//! one to the other builds its networks with. Nothing here is covered by semantic versioning.
//!
//! Such a channel is there in both places. Where its producer is, an [`Egress`] takes what is sent;
//! where its consumer is, an [`Ingress`] puts it in. Neither is a process: what a process does to
//! its channel calls their hook at once, in the place of that process.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use roving::adapt::spawn_kept;

use crate::channel::window::Window;
use crate::channel::words::{End, UNBOUNDED, Words};
use crate::channel::{Channel, Empty, Full, Handle, reopen_port};
use crate::deadlock;
use crate::error::Error;
use crate::network::Network;
use crate::port::{self, In, Out, TryRecvError};
use crate::ports::Ports;
use crate::ports::sealed::Visitor;
use crate::prim::Ordering;
use crate::shared::{Growth, Shared, Wait};

pub use crate::placement::{Across, Figures};
pub use crate::prim::fence;

/// An end of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// That of the process that sends.
    Producer,
    /// That of the process that receives.
    Consumer,
}

impl Side {
    pub(crate) fn of(end: End) -> Side {
        match end {
            End::Reader => Side::Consumer,
            End::Writer => Side::Producer,
        }
    }

    fn end(self) -> End {
        match self {
            Side::Producer => End::Writer,
            Side::Consumer => End::Reader,
        }
    }
}

/// Calls `each` with the channel index of each of these ports.
pub fn each_port<P: Ports + ?Sized>(ports: &P, mut each: impl FnMut(usize, Side)) {
    ports.visit(&mut Visitor(&mut |words, end| {
        each(words.index(), Side::of(end));
    }));
}

// The module is hidden; without this its methods would stand on the page of `Network`, with links
// that lead nowhere.
#[doc(hidden)]
impl<'env> Network<'env> {
    /// Adds a channel like [`Network::bounded`], or like [`Network::unbounded`] without a capacity;
    /// and returns a bridge that can make the port of an end again after it has been dropped.
    pub fn bridged<T: Send + 'env>(
        &mut self,
        name: impl std::fmt::Display,
        capacity: Option<usize>,
    ) -> (Out<T>, In<T>, Bridge<T>) {
        let (out, input) = match capacity {
            Some(capacity) => self.bounded(name, capacity),
            None => self.unbounded(name),
        };
        // The channel was added last.
        let channel = self.channels[self.channels.len() - 1].clone();
        let marker = PhantomData;
        (out, input, Bridge { channel, marker })
    }
}

#[doc(hidden)]
impl<'env> Network<'env> {
    /// Adds a task that runs alongside the processes, on the same workers, and is no process: the
    /// run also waits for its end. It begins even where the network is cancelled before.
    pub fn beside(&mut self, task: impl Future<Output = ()> + Send + 'env) {
        self.beside
            .push(Box::new(move |scope| drop(spawn_kept(scope, task))));
    }

    /// Sets a function that is called whenever only an event from outside can let the network go
    /// on, and when all processes have ended. A worker calls it, in the place of the process that
    /// was the last one to wait. Only the first such function counts. From now on the network does
    /// not search for deadlocks on that occasion: see [`Inside::look`].
    pub fn at_rest(&mut self, tell: impl Fn() + Send + Sync + 'static) {
        let _a_second_one = self.shared.rest.set(Box::new(tell));
    }

    /// Has the time of the network's processes estimated while it runs, from some of their polls:
    /// see [`Inside::spent`].
    pub fn metered(&mut self) {
        self.metered = true;
    }

    /// Returns a view of the network while it runs.
    pub fn inside(&self) -> Inside {
        Inside {
            shared: self.shared(),
        }
    }
}

/// A view of a network while it runs: see [`Network::inside`].
#[derive(Clone)]
pub struct Inside {
    shared: Arc<Shared>,
}

impl Inside {
    /// Returns the channels that the suspended processes wait for, ordered by process. A process
    /// that can go on, or waits for something else than channels, is not among them.
    pub fn waits(&self) -> Vec<Waiting> {
        deadlock::waits(&self.shared)
            .into_iter()
            .map(Waiting::from)
            .collect()
    }

    /// Checks whether the network has come to rest; called by a thread that has given messages,
    /// room or the end of a stream to processes here. That thread may have been the last activity,
    /// where a process has ended before the thread was done with waking it. The caller must hold no
    /// lock that the function called at rest takes.
    pub fn has_given(&self) {
        deadlock::after_waking(&self.shared, self.shared.lines.mine());
    }

    /// Resolves the deadlocks that are within this network.
    pub fn look(&self) {
        if !self.shared.controls().is_empty() {
            deadlock::look(&self.shared);
        }
    }

    /// Returns whether a process has waited for room since the last look that found none.
    pub fn has_writers(&self) -> bool {
        // Ordering: Relaxed; a hint.
        self.shared.writers.load(Ordering::Relaxed)
    }

    /// Makes a channel larger that has both ends here, if its capacity is `from`.
    pub fn grow(&self, channel: usize, from: usize, to: usize) {
        let growth = Growth {
            channel: channel as u32,
            from: from as u32,
            to: to as u32,
        };
        deadlock::grow(&self.shared, growth);
    }

    /// Returns the time that each process has taken so far, and whether it has ended; empty before
    /// the network runs, or if it is not [metered](Network::metered).
    pub fn spent(&self) -> Vec<(Duration, bool)> {
        let Some(meter) = self.shared.meter.get() else {
            return Vec::new();
        };
        let spent = (0..self.shared.controls().len()).map(|process| meter.spent(process));
        spent
            .map(|one| (Duration::from_nanos(one.time_ns), one.has_ended))
            .collect()
    }

    /// Returns the messages that have been sent on each channel so far; empty before the network
    /// runs.
    pub fn messages(&self) -> Vec<u64> {
        let channels = self.shared.channels();
        channels
            .iter()
            .map(|channel| channel.sent().number())
            .collect()
    }

    /// Returns whether all processes have ended.
    pub fn is_over(&self) -> bool {
        self.shared.is_over()
    }

    /// Returns whether no process has asked so far which of two was faster.
    pub fn is_kahn_network(&self) -> bool {
        self.shared.is_kahn_network()
    }

    /// Returns whether the network is about to drop its processes.
    pub fn is_stopped(&self) -> bool {
        self.shared.is_stopped()
    }

    /// Returns the error that the run is going to return, if a process has panicked or returned an
    /// error, as far as that is text.
    pub fn failed_so_far(&self) -> Option<Error> {
        self.shared.failed_so_far()
    }
}

/// A channel that a suspended process waits for; a process that waits for any of several channels
/// has several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The process.
    pub process: usize,
    /// The channel that it waits at.
    pub channel: usize,
    /// Its end of that channel.
    pub side: Side,
    /// The process at the other end, unless that is held outside.
    pub target: Option<usize>,
    /// The channel's capacity.
    pub capacity: Option<usize>,
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that were taken.
    pub taken: u64,
}

impl From<deadlock::Waiting> for Waiting {
    fn from(one: deadlock::Waiting) -> Waiting {
        Waiting {
            process: one.wait.process as usize,
            channel: one.wait.channel as usize,
            side: Side::of(one.wait.end),
            target: one.target.map(|target| target as usize),
            capacity: (one.capacity != UNBOUNDED).then_some(one.capacity as usize),
            sent: one.sent,
            taken: one.taken,
        }
    }
}

impl From<&Waiting> for deadlock::Waiting {
    fn from(one: &Waiting) -> deadlock::Waiting {
        deadlock::Waiting {
            wait: Wait {
                process: one.process as u32,
                channel: one.channel as u32,
                end: one.side.end(),
            },
            target: one.target.map(|target| target as u32),
            capacity: one.capacity.map_or(UNBOUNDED, |capacity| capacity as u32),
            sent: one.sent,
            taken: one.taken,
        }
    }
}

/// A decision about processes that wait for each other only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// A channel is to grow.
    Grow {
        /// Which one.
        channel: usize,
        /// Its capacity.
        from: usize,
        /// Its new capacity.
        to: usize,
    },
    /// Nothing helps: each of these waits for the next one, the last for the first. Process,
    /// channel, and its end.
    Deadlock(Vec<(usize, usize, Side)>),
    /// A deadlock that a larger channel would resolve, but no channel may be larger than this.
    Full(Vec<(usize, usize, Side)>, usize),
}

/// Returns those of these waits, which are ordered by process, that belong to processes that wait
/// for each other only.
pub fn stuck(waits: &[Waiting]) -> Vec<Waiting> {
    let waits: Vec<deadlock::Waiting> = waits.iter().map(Into::into).collect();
    deadlock::stuck(&waits)
        .into_iter()
        .map(Waiting::from)
        .collect()
}

/// Decides about all processes that [`stuck`] has found, where no channel may hold more than
/// `limit`.
pub fn verdicts(stuck: &[Waiting], limit: Option<usize>) -> Vec<Verdict> {
    let waits: Vec<deadlock::Waiting> = stuck.iter().map(Into::into).collect();
    let limit = limit.and_then(|limit| u32::try_from(limit).ok());
    let plain = |cycle: Vec<Wait>| {
        let waits = cycle.iter();
        waits
            .map(|wait| {
                let (process, channel) = (wait.process as usize, wait.channel as usize);
                (process, channel, Side::of(wait.end))
            })
            .collect()
    };
    let verdicts = deadlock::verdicts_of(&waits, limit.unwrap_or(UNBOUNDED)).into_iter();
    verdicts
        .map(|verdict| match verdict {
            deadlock::Verdict::Grow(growth) => Verdict::Grow {
                channel: growth.channel as usize,
                from: growth.from as usize,
                to: growth.to as usize,
            },
            deadlock::Verdict::Deadlock(cycle) => Verdict::Deadlock(plain(cycle)),
            deadlock::Verdict::Full(cycle, limit) => Verdict::Full(plain(cycle), limit as usize),
        })
        .collect()
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
    fn reopen(&mut self, end: End) -> Option<(Out<T>, In<T>)> {
        let words: &Words = &self.channel;
        // SAFETY: the bridge keeps the channel, is the only one for it, and is borrowed
        // exclusively. One port is made below.
        if !unsafe { reopen_port(words, end) } {
            return None;
        }
        let channel = std::ptr::NonNull::from(words).cast::<Channel<T>>();
        // SAFETY: the channel was opened for messages of this type. Of the two ports, the one at
        // this end has the reference that was made; the callers forget the other one.
        Some(unsafe { port::pair(channel) })
    }

    /// Returns the end that takes the messages out, where the consumer's port is gone and the
    /// producer's is not.
    pub fn egress(&mut self) -> Option<Egress<T>> {
        let (out, input) = self.reopen(End::Reader)?;
        std::mem::forget(out);
        let window = Window::new(self.channel.capacity());
        let egress = Egress { input, window };
        egress.reopen();
        Some(egress)
    }

    /// Returns the end that puts messages in, where the producer's port is gone and the consumer's
    /// is not. From now on the channel has room for any number.
    pub fn ingress(&mut self) -> Option<Ingress<T>> {
        let (out, input) = self.reopen(End::Writer)?;
        std::mem::forget(input);
        self.channel.set_capacity(UNBOUNDED);
        Some(Ingress { out, offset: 0 })
    }

    /// Returns whether the port of that end has been dropped.
    pub fn is_gone(&self, side: Side) -> bool {
        match side.end() {
            End::Reader => self.channel.taken().is_gone(),
            End::Writer => self.channel.sent().is_gone(),
        }
    }
}

/// A stand-in for the consumer, at the producer's place.
///
/// A message that is taken here still counts as lying in the channel, until the real consumer is
/// said to have taken it: the channel's capacity here is what is left of it.
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
    pub fn reopen(&self) {
        let words = self.words();
        self.window.reopen(words);
        words.wake(End::Writer);
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
        self.words().put_hook(End::Reader, Box::new(hook));
    }

    /// Records how many messages the real consumer has taken.
    pub fn taken_there(&mut self, taken: u64) {
        if self.window.hear_taken(taken) {
            self.reopen();
        }
    }

    /// Sets the capacity of the whole way from now on, unless it was larger before.
    pub fn grow(&mut self, capacity: usize) {
        self.window
            .grow(u32::try_from(capacity).unwrap_or(UNBOUNDED));
        self.reopen();
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
    pub fn resume(&mut self, sent: u64, taken_there: u64, capacity: Option<usize>) {
        let sent_here = self.words().sent().number();
        self.window.resume((sent, taken_there), sent_here);
        if let Some(capacity) = capacity {
            self.window
                .grow(u32::try_from(capacity).unwrap_or(UNBOUNDED));
        }
        self.reopen();
    }

    /// Returns whether the network is about to drop its processes, so that a closed port means
    /// nothing.
    pub fn is_stopped(&self) -> bool {
        self.words().shared().is_stopped()
    }
}

/// A stand-in for the producer, at the consumer's place.
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
    pub fn give(&mut self, message: T) -> Result<(), T> {
        if self.words().taken().is_gone() {
            return Err(message);
        }
        self.out.put(message).map_err(|(full, message)| {
            debug_assert_eq!(full, Full::Ended, "there is room for any number");
            message
        })
    }

    /// Sets a function that is called, from now on, whenever the consumer has taken a message or is
    /// gone: as [`Egress::hook`].
    pub fn hook(&self, hook: impl Fn() + Send + Sync + 'static) {
        self.words().put_hook(End::Writer, Box::new(hook));
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
