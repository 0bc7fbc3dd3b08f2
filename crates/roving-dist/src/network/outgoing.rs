//! The producer's side of a channel whose consumer is on another rank, or may come to be there.
//!
//! A message that a process sends is taken out at once, on the thread of that process, and written
//! into the batch for the other rank: the channel calls the hook at its consumer's end, which is
//! this.
//!
//! A program's code writes its tokens as bytes and drops them, and may do there what it likes: ask
//! what the network does, send on this channel or another, run tasks of the pool. So it never runs
//! under the lock of an end. Who takes tokens out has the *turn*, so that they stay in order, and
//! the lock only from the bytes of one token to the next token. Others who come by leave the rest
//! to that thread, and wait for nothing. A process that is to be recorded or to move waits, as a
//! process does, until all that it has sent has left.
//!
//! A producer may be polled by another executor, whose waker is such code as well. Where it is due
//! under the lock, it is taken along, and wakes when the lock is free.

use std::any::Any;
use std::mem::needs_drop;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

use postcard::ser_flavors::Flavor;
use roving_flow::raw::{self, DueWaker, Egress};
use roving_flow::{Out, TryRecvError};
use serde::Serialize;

use super::message::Head;
use super::parcel::Output;
use super::post::Post;
use super::snapshot::Sent;
use crate::unwind::{contain, lock};

/// As the rest of the rank sees it, whatever the tokens are.
pub(super) trait Outgoing: Send + Sync {
    /// Begins to take out what is sent.
    fn start(self: Arc<Self>);
    /// The consumer has taken so many tokens.
    fn taken(&self, taken: u64);
    /// The consumer is gone.
    fn gone(&self);
    /// May hold `to` tokens now, if it could hold `from`. Whom to wake then; none if it did not.
    fn grow(&self, from: u64, to: u64) -> Option<DueWaker>;
    /// The report about this channel. `None` when one of its ends is gone.
    fn sent(&self) -> Option<Sent>;
    /// How many tokens may lie in it; none when there is no bound, or an end is gone.
    fn capacity(&self) -> Option<usize>;
    /// The run is over, or the producer has ended elsewhere.
    fn end(&self);
    /// Whether all that the producer has sent so far has left, while it sends nothing: else the
    /// waker is woken when it may have.
    fn poll_left(&self, context: &Context<'_>) -> Poll<()>;
    /// Sends nothing until [`Self::release`]: the consumer moves.
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
    /// A thread has the turn to take tokens out.
    is_draining: bool,
    /// Another thread has come by in that turn.
    is_missed: bool,
    /// The bytes of a token that was taken out before the end was held, if there are any. In a turn
    /// they are with the thread that has it.
    bytes: Vec<u8>,
    /// Of the producer, which waits for all to have left.
    waker: Option<Waker>,
}

/// The next step of the thread that has the turn, which it takes without the lock.
enum TurnStep<T> {
    /// The token is to be sent.
    Write(T),
    /// The consumer has it already. Whether the channel ends with it, and who is to be woken.
    Drop(T, bool, Option<DueWaker>),
    /// The turn is over. Whether the channel has ended.
    Rest(bool),
}

impl<T> OutgoingState<T> {
    /// Begins a turn, if there may be something to do in it, and no other thread has it.
    fn begin_turn(&mut self) -> Option<Vec<u8>> {
        if self.is_held {
            return None;
        }
        self.is_missed = self.is_draining;
        if self.is_missed {
            return None;
        }
        self.is_draining = true;
        Some(std::mem::take(&mut self.bytes))
    }

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
                is_draining: false,
                is_missed: false,
                bytes: Vec::new(),
                waker: None,
            }),
        })
    }

    /// Sends all that lies in the channel, by a thread beside the producer, which may have found it
    /// full meanwhile.
    fn drain_beside(&self) {
        self.drain();
        self.wake_after(|egress| egress.reopen());
    }

    /// Calls `f` under the lock, unless the channel has ended, and then wakes.
    fn wake_after(&self, f: impl FnOnce(&mut Egress<T>) -> DueWaker) {
        let due = lock(&self.state).egress.as_mut().map(f);
        drop(due);
    }

    /// Sends all that lies in the channel, in the place of the producer; or leaves that to the
    /// thread that has the turn.
    fn drain(&self) {
        let mut state = lock(&self.state);
        let Some(mut bytes) = state.begin_turn() else {
            return;
        };
        let (mut sent, mut is_over) = (None, false);
        loop {
            let (step, due) = match is_over {
                false => self.step(&mut state, &mut bytes),
                true => {
                    bytes.clear();
                    (TurnStep::Rest(true), DueWaker::default())
                }
            };
            if let TurnStep::Rest(is_closed) = step {
                state.bytes = bytes;
                state.is_draining = false;
                self.rest(state, is_closed);
                drop(due);
                self.drop_token(sent);
                return;
            }
            drop(state);
            drop(due);
            is_over |= !self.drop_token(sent.take());
            match step {
                TurnStep::Write(token) => {
                    is_over |= !self.write(&token, &mut bytes);
                    sent = Some(token);
                }
                TurnStep::Drop(token, is_last, due) => {
                    drop(due);
                    is_over |= !self.drop_token(Some(token)) || is_last;
                }
                TurnStep::Rest(_) => {}
            }
            state = lock(&self.state);
        }
    }

    /// In a turn: sends the bytes that there are, and takes the next token out. Who is to be woken
    /// afterwards.
    #[inline]
    fn step(&self, state: &mut OutgoingState<T>, bytes: &mut Vec<u8>) -> (TurnStep<T>, DueWaker) {
        if state.is_held {
            return (TurnStep::Rest(false), DueWaker::default());
        }
        if !bytes.is_empty() {
            self.post.send(state.to, bytes);
            bytes.clear();
        }
        let taken = state.egress.as_mut().map(Egress::take);
        let step = match taken {
            Some(Ok(token)) if state.ahead.next().is_some() => {
                let is_last = state.ahead.is_empty() && state.is_gone;
                let taken = state.ahead.start;
                let due = state.egress.as_mut().map(|port| port.taken_there(taken));
                TurnStep::Drop(token, is_last, due)
            }
            Some(Ok(token)) => TurnStep::Write(token),
            Some(Err(TryRecvError::Closed)) => {
                // Where processes are dropped, a port that closes says nothing.
                if state.egress.as_ref().is_some_and(|port| !port.is_stopped()) {
                    Head::End(self.channel).begin(bytes);
                    self.post.send(state.to, bytes);
                    bytes.clear();
                }
                TurnStep::Rest(true)
            }
            Some(Err(_)) | None => TurnStep::Rest(false),
        };
        match (&state.egress, state.is_missed) {
            (Some(egress), true) => (step, egress.reopen()),
            _ => (step, DueWaker::default()),
        }
    }

    /// In a turn, without the lock: writes a token as bytes. One that cannot be written ends the
    /// network, and is false.
    fn write(&self, token: &T, bytes: &mut Vec<u8>) -> bool {
        Head::Token(self.channel).begin(bytes);
        let written = encode(token, bytes);
        written
            .map_err(|message| self.post.bad_token(self.channel, message))
            .is_ok()
    }

    /// In a turn, without the lock. A token that panics ends the network, not the turn, and is
    /// false.
    fn drop_token(&self, token: Option<T>) -> bool {
        let has_none = !needs_drop::<T>() || token.is_none();
        has_none || self.post.drop_tokens(self.channel, token)
    }

    /// The end of a turn or of the channel: what is to be dropped and woken then, without the lock.
    fn rest(&self, mut state: MutexGuard<'_, OutgoingState<T>>, is_closed: bool) {
        let waker = state.waker.take();
        let egress = match is_closed {
            true => state.egress.take(),
            false => None,
        };
        drop(state);
        if let Some(waker) = waker {
            waker.wake();
        }
        if egress.is_some() {
            self.post.drop_tokens(self.channel, egress);
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
    match contain(write) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(format!("cannot be written as bytes: {error}")),
        Err(text) => Err(format!("panicked while it was written as bytes: {text}")),
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
        self.wake_after(|egress| egress.taken_there(taken));
    }

    fn gone(&self) {
        let mut state = lock(&self.state);
        state.is_gone = true;
        if state.ahead.is_empty() {
            drop(state);
            self.end();
        }
    }

    fn grow(&self, from: u64, to: u64) -> Option<DueWaker> {
        let mut state = lock(&self.state);
        let egress = state.egress.as_mut()?;
        egress.capacity().filter(|&now| now as u64 == from)?;
        let due = egress.grow(to as usize);
        state.capacity = Some(to as usize);
        Some(due)
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

    fn poll_left(&self, context: &Context<'_>) -> Poll<()> {
        self.drain_beside();
        let mut state = lock(&self.state);
        let is_held = state.is_held && state.egress.is_some();
        if state.is_draining || is_held {
            state.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        state.waker = None;
        Poll::Ready(())
    }

    fn hold(&self) {
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
        lock(&self.state).output()
    }

    fn arrive(&self, output: Option<Output>) {
        let Some(output) = output else {
            return self.end();
        };
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        state.is_live = true;
        let Some(egress) = &mut state.egress else {
            return;
        };
        let capacity = output.capacity.map(|capacity| capacity as usize);
        let due = egress.resume(output.sent, output.taken, capacity);
        state.ahead = output.sent..output.sent + output.ahead;
        state.is_gone = output.is_gone;
        state.capacity = egress.capacity();
        drop(guard);
        drop(due);
    }

    fn end(&self) {
        self.rest(lock(&self.state), true);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Wake;
    use std::thread;

    use serde::Serializer;

    use super::super::error::Ended;
    use super::*;
    use crate::world::World;

    /// A token that is being written from one meeting at the barrier to the next.
    struct Slow(u8, Option<Arc<Barrier>>);

    impl Serialize for Slow {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            if let Some(barrier) = &self.1 {
                barrier.wait();
                barrier.wait();
            }
            to.serialize_u8(self.0)
        }
    }

    impl Drop for Slow {
        fn drop(&mut self) {
            assert!(self.0 != 13, "thirteen");
        }
    }

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            // Ordering: Relaxed; read when the thread that wakes has been joined.
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A producer's end on rank 0 for a consumer there, its port, and its post.
    fn end_of(world: &World) -> (Arc<OutgoingOf<Slow>>, Out<Slow>, Arc<Post>) {
        let mut flow = roving_flow::Network::new();
        let (out, input, mut bridge) = raw::bridged(&mut flow, "tokens", Some(4));
        drop(input);
        let (tag, names) = (world.link().tags(1), Arc::from(["tokens".to_owned()]));
        let post = Arc::new(Post::new(world.link(), tag, flow.canceller(), names));
        let end = OutgoingOf::new(0, (0, 0), &post, bridge.egress().unwrap());
        Arc::clone(&end).start();
        (end, out, post)
    }

    /// The tokens that have left, which are one byte each.
    fn left(post: &Post) -> Vec<u8> {
        let messages = post.take_own().into_iter();
        messages.filter_map(|bytes| bytes.last().copied()).collect()
    }

    /// While one thread writes a token, others ask about the channel, send on it, hold and release
    /// it, and wait for what has been sent to leave: no call waits for that thread.
    #[test]
    fn who_comes_by_while_a_token_is_written_waits_for_nothing() {
        World::threads(1, |world| {
            let (end, mut out, post) = end_of(&world);
            let (woken, barrier) = (Arc::new(Woken::default()), Arc::new(Barrier::new(2)));
            let waker = Waker::from(Arc::clone(&woken));
            let context = Context::from_waker(&waker);
            for is_held in [true, false] {
                let slow = Slow(1, Some(Arc::clone(&barrier)));
                thread::scope(|scope| {
                    let sender = scope.spawn(|| assert!(out.try_send(slow).is_ok()));
                    barrier.wait();
                    assert!(end.sent().is_some());
                    end.taken(0);
                    end.drain_beside();
                    assert!(end.poll_left(&context).is_pending());
                    end.hold();
                    if !is_held {
                        end.release(0);
                    }
                    barrier.wait();
                    sender.join().unwrap();
                });
                // Ordering: Relaxed; the thread that wakes has been joined.
                assert_eq!(woken.0.swap(0, Ordering::Relaxed), 1);
                assert!(out.try_send(Slow(2, None)).is_ok());
                if is_held {
                    assert!(end.poll_left(&context).is_pending());
                    assert_eq!(left(&post), []);
                    end.release(0);
                    // Ordering: Relaxed; one thread.
                    assert_eq!(woken.0.swap(0, Ordering::Relaxed), 1);
                }
                assert!(end.poll_left(&context).is_ready());
                assert_eq!(left(&post), [1, 2]);
                end.taken(end.sent().map_or(0, |sent| sent.sent));
            }
            end.end();
        });
    }

    /// The network ends while the consumer moves: what waits for that is dropped with the end, and
    /// a token that panics there says so, and keeps no other end from its end.
    #[test]
    fn a_token_that_panics_where_its_end_is_held_is_an_error_of_the_network() {
        World::threads(1, |world| {
            let (end, mut out, post) = end_of(&world);
            end.hold();
            for number in [13, 2] {
                assert!(out.try_send(Slow(number, None)).is_ok());
            }
            drop(out);
            assert_eq!(post.ended(), None);
            end.end();
            let Some(Ended::Token(0, _, text)) = post.ended() else {
                panic!("{:?}", post.ended());
            };
            assert_eq!(text, "panicked when it was dropped: thirteen");
        });
    }
}
