//! The producer's side of a channel whose consumer is on another rank, or may come to be there.
//!
//! A message that a process sends is taken out at once, on the thread of that process, and written
//! into the batch for the other rank: the channel calls the hook at its consumer's end, which is
//! this.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use postcard::ser_flavors::Flavor;
use roving_flow::raw::{self, Egress};
use roving_flow::{Out, TryRecvError};
use serde::Serialize;

use super::message::Head;
use super::parcel::Output;
use super::post::Post;
use super::snapshot::Sent;
use crate::unwind::lock;

/// As the rest of the rank sees it, whatever the tokens are.
pub(super) trait Outgoing: Send + Sync {
    /// Begins to take out what is sent.
    fn start(self: Arc<Self>);
    /// The consumer has taken so many tokens.
    fn taken(&self, taken: u64);
    /// The consumer is gone.
    fn gone(&self);
    /// May hold `to` tokens now, if it could hold `from`. Whether it did.
    fn grow(&self, from: u64, to: u64) -> bool;
    /// The report about this channel. `None` when one of its ends is gone.
    fn sent(&self) -> Option<Sent>;
    /// How many tokens may lie in it; none when there is no bound, or an end is gone.
    fn capacity(&self) -> Option<usize>;
    /// The run is over, or the producer has ended elsewhere.
    fn end(&self);
    /// Takes out what was sent.
    fn drain_now(&self);
    /// Sends nothing until [`Self::release`]: the consumer moves. All that was sent so far has
    /// left.
    fn hold(&self);
    /// The consumer is on that rank from now on.
    fn release(&self, to: usize);
    /// The producer leaves this rank, after all that it has sent, and that port, unless it has
    /// dropped it. The inner one is none when one of the ends is gone; the outer one when the
    /// producer has not dropped the port, and there is none.
    fn leave(&self, port: Option<&mut dyn Any>) -> Option<Option<Output>>;
    /// The producer has come to this rank, by a move or from a checkpoint.
    fn arrive(&self, output: Option<Output>);
    /// Whether the producer has its port here.
    fn has_port(&self) -> bool;
    /// The producer is recorded: all that it has sent has left. None when one of the ends is gone.
    fn record(&self) -> Option<Output>;
}

/// For tokens of type `T`.
pub(super) struct OutgoingOf<T> {
    channel: u32,
    post: Arc<Post>,
    state: Mutex<OutgoingState<T>>,
}

struct OutgoingState<T> {
    /// The rank of the consumer.
    to: usize,
    /// The consumer is on its way to another rank.
    is_held: bool,
    /// The producer is here.
    is_live: bool,
    /// None when the channel has ended. Keeps the channel, which keeps what is called when
    /// something was sent, which keeps this: so it is dropped at the end of the run at the latest.
    egress: Option<Egress<T>>,
    /// The capacity that it had last.
    capacity: Option<usize>,
    /// Numbers of tokens that the consumer has already: the next ones, which are dropped.
    ahead: Range<u64>,
    /// The consumer is gone, and has taken those before.
    is_gone: bool,
    bytes: Vec<u8>,
}

impl<T> OutgoingState<T> {
    /// This end for a parcel or a record. None when one of the ends of the channel is gone.
    fn output(&self) -> Option<Output> {
        self.egress.as_ref().map(|egress| Output {
            sent: egress.sent().0,
            taken: egress.known_taken(),
            capacity: egress.capacity().map(|capacity| capacity as u64),
            ahead: self.ahead.end - self.ahead.start,
            is_gone: self.is_gone,
        })
    }
}

impl<T: Serialize + Send + 'static> OutgoingOf<T> {
    pub(super) fn new(
        channel: u32,
        (from, to): (usize, usize),
        post: &Arc<Post>,
        egress: Egress<T>,
    ) -> Arc<Self> {
        Arc::new(OutgoingOf {
            channel,
            post: Arc::clone(post),
            state: Mutex::new(OutgoingState {
                to,
                is_held: false,
                is_live: from == post.rank(),
                capacity: egress.capacity(),
                egress: Some(egress),
                ahead: 0..0,
                is_gone: false,
                bytes: Vec::new(),
            }),
        })
    }

    /// Sends all that lies in the channel, by a thread beside the producer, which may have found it
    /// full meanwhile.
    fn drain_beside(&self) {
        self.drain();
        if let Some(egress) = &lock(&self.state).egress {
            egress.reopen();
        }
    }

    /// Sends all that lies in the channel, in the place of the producer.
    fn drain(&self) {
        let mut state = lock(&self.state);
        if state.is_held {
            return;
        }
        let OutgoingState {
            to,
            egress,
            bytes,
            ahead,
            is_gone,
            ..
        } = &mut *state;
        while let Some(port) = &mut *egress {
            match port.take() {
                Ok(_) if ahead.next().is_some() => {
                    port.taken_there(ahead.start);
                    if ahead.is_empty() && *is_gone {
                        *egress = None;
                    }
                }
                Ok(token) => {
                    Head::Token(self.channel).begin(bytes);
                    if let Err(message) = encode(&token, bytes) {
                        self.post.bad_token(self.channel, message);
                        *egress = None;
                        break;
                    }
                    self.post.send(*to, bytes);
                }
                Err(TryRecvError::Empty) => break,
                Err(TryRecvError::Closed) => {
                    // Where processes are dropped, a port that closes says nothing.
                    if !port.is_stopped() {
                        Head::End(self.channel).begin(bytes);
                        self.post.send(*to, bytes);
                    }
                    *egress = None;
                }
            }
        }
    }
}

/// A writer for the bytes of a token.
struct Append<'b>(&'b mut Vec<u8>);

impl Flavor for Append<'_> {
    type Output = ();

    #[inline]
    fn try_push(&mut self, byte: u8) -> postcard::Result<()> {
        self.0.push(byte);
        Ok(())
    }

    #[inline]
    fn try_extend(&mut self, bytes: &[u8]) -> postcard::Result<()> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn finalize(self) -> postcard::Result<()> {
        Ok(())
    }
}

/// Appends the bytes of a token, or says why it has none.
pub(super) fn encode<T: Serialize>(token: &T, bytes: &mut Vec<u8>) -> Result<(), String> {
    let write = || postcard::serialize_with_flavor(token, Append(bytes));
    match catch_unwind(AssertUnwindSafe(write)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(format!("cannot be written as bytes: {error}")),
        Err(payload) => {
            let text = crate::unwind::text(&*payload);
            Err(format!("panicked while it was written as bytes: {text}"))
        }
    }
}

impl<T: Serialize + Send + 'static> Outgoing for OutgoingOf<T> {
    fn start(self: Arc<Self>) {
        let hooked = Arc::clone(&self);
        if let Some(egress) = &lock(&self.state).egress {
            egress.hook(move || hooked.drain());
        }
        self.drain_beside();
    }

    fn taken(&self, taken: u64) {
        if let Some(egress) = &mut lock(&self.state).egress {
            egress.taken_there(taken);
        }
    }

    fn gone(&self) {
        let mut state = lock(&self.state);
        state.is_gone = true;
        if state.ahead.is_empty() {
            drop(state);
            self.end();
        }
    }

    fn grow(&self, from: u64, to: u64) -> bool {
        let mut state = lock(&self.state);
        let Some(egress) = &mut state.egress else {
            return false;
        };
        let is_as_was = egress.capacity().is_some_and(|now| now as u64 == from);
        if is_as_was {
            egress.grow(to as usize);
            state.capacity = Some(to as usize);
        }
        is_as_was
    }

    fn sent(&self) -> Option<Sent> {
        let state = lock(&self.state);
        let egress = state.egress.as_ref().filter(|_| state.is_live)?;
        let (sent, is_gone) = egress.sent();
        let capacity = egress.capacity().map(|capacity| capacity as u64);
        (!is_gone).then_some(Sent {
            channel: self.channel,
            sent,
            capacity,
        })
    }

    fn capacity(&self) -> Option<usize> {
        lock(&self.state).capacity
    }

    fn drain_now(&self) {
        self.drain_beside();
    }

    fn hold(&self) {
        self.drain_beside();
        lock(&self.state).is_held = true;
    }

    fn release(&self, to: usize) {
        let mut state = lock(&self.state);
        (state.to, state.is_held) = (to, false);
        drop(state);
        self.drain_beside();
    }

    fn leave(&self, port: Option<&mut dyn Any>) -> Option<Option<Output>> {
        let mut state = lock(&self.state);
        if port.is_none() && state.egress.as_ref().is_some_and(|one| !one.sent().1) {
            return None;
        }
        state.is_live = false;
        if let Some(port) = port.and_then(|port| port.downcast_mut::<Out<T>>()) {
            raw::forget_room(port);
        }
        Some(state.output())
    }

    fn has_port(&self) -> bool {
        let state = lock(&self.state);
        state.egress.as_ref().is_some_and(|one| !one.sent().1)
    }

    fn record(&self) -> Option<Output> {
        self.drain_beside();
        let state = lock(&self.state);
        state.output()
    }

    fn arrive(&self, output: Option<Output>) {
        let Some(output) = output else {
            return self.end();
        };
        let mut state = lock(&self.state);
        state.is_live = true;
        let state = &mut *state;
        if let Some(egress) = &mut state.egress {
            let capacity = output.capacity.map(|capacity| capacity as usize);
            egress.resume(output.sent, output.taken, capacity);
            state.ahead = output.sent..output.sent + output.ahead;
            state.is_gone = output.is_gone;
            state.capacity = egress.capacity();
        }
    }

    fn end(&self) {
        let egress = lock(&self.state).egress.take();
        drop(egress);
    }
}
