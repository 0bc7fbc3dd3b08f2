//! The producer's side of a channel whose consumer is on another rank.
//!
//! What a process sends is taken out at once, on the thread of that process, and written into the
//! batch for the other rank: the channel calls the waker that waits at its consumer's end, which is this.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Wake, Waker};

use roving_flow::TryRecvError;
use roving_flow::bridge::Egress;
use serde::Serialize;

use super::lock;
use super::message::Head;
use super::post::Post;
use super::snapshot::Sent;

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
    /// What there is to say about it. None when one of its ends is gone.
    fn sent(&self) -> Option<Sent>;
    /// How many tokens may lie in it; none when there is no bound, or an end is gone.
    fn capacity(&self) -> Option<usize>;
    /// The run is over.
    fn end(&self);
}

/// For tokens of type `T`.
pub(super) struct OutgoingOf<T> {
    channel: u32,
    /// The rank of the consumer.
    to: usize,
    post: Arc<Post>,
    state: Mutex<State<T>>,
}

struct State<T> {
    /// None when the channel has ended.
    egress: Option<Egress<T>>,
    /// What it had last.
    capacity: Option<usize>,
    waker: Option<Waker>,
    bytes: Vec<u8>,
}

impl<T: Serialize + Send + 'static> OutgoingOf<T> {
    pub(super) fn new(channel: u32, to: usize, post: &Arc<Post>, egress: Egress<T>) -> Arc<Self> {
        Arc::new_cyclic(|this: &Weak<Self>| OutgoingOf {
            channel,
            to,
            post: Arc::clone(post),
            state: Mutex::new(State {
                capacity: egress.capacity(),
                egress: Some(egress),
                waker: Some(Waker::from(Arc::new(Again(Weak::clone(this))))),
                bytes: Vec::new(),
            }),
        })
    }

    /// Sends all that lies in the channel, and waits for more.
    fn drain(&self) {
        let mut state = lock(&self.state);
        let State {
            egress,
            waker,
            bytes,
            ..
        } = &mut *state;
        let mut is_any = false;
        while let (Some(port), Some(waker)) = (&mut *egress, &*waker) {
            match port.take() {
                Ok(token) => {
                    is_any = true;
                    Head::Token(self.channel).begin(bytes);
                    if let Err(message) = encode(&token, bytes) {
                        self.post.bad_token(self.channel, message);
                        *egress = None;
                        break;
                    }
                    self.post.send(self.to, bytes);
                }
                Err(TryRecvError::Empty) => {
                    if port.watch(waker) {
                        break;
                    }
                }
                Err(TryRecvError::Closed) => {
                    // Where processes are dropped, a port that closes says nothing.
                    if !port.is_stopped() {
                        is_any = true;
                        Head::End(self.channel).begin(bytes);
                        self.post.send(self.to, bytes);
                    }
                    *egress = None;
                }
            }
        }
        drop(state);
        if is_any {
            self.post.nudge();
        }
    }
}

/// Appends the bytes of a token, or says why it has none.
fn encode<T: Serialize>(token: &T, bytes: &mut Vec<u8>) -> Result<(), String> {
    let write = || postcard::to_io(token, bytes).map(drop);
    match catch_unwind(AssertUnwindSafe(write)) {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(format!("cannot be written as bytes: {error}")),
        Err(payload) => {
            let text = crate::unwind::text(&*payload);
            Err(format!("panicked while it was written as bytes: {text}"))
        }
    }
}

/// The waker: it does not keep what it is to call.
struct Again<T>(Weak<OutgoingOf<T>>);

impl<T: Serialize + Send + 'static> Wake for Again<T> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(outgoing) = self.0.upgrade() {
            outgoing.drain();
        }
    }
}

impl<T: Serialize + Send + 'static> Outgoing for OutgoingOf<T> {
    fn start(self: Arc<Self>) {
        self.drain();
    }

    fn taken(&self, taken: u64) {
        if let Some(egress) = &mut lock(&self.state).egress {
            egress.taken_there(taken);
        }
    }

    fn gone(&self) {
        self.end();
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
        let egress = state.egress.as_ref()?;
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

    fn end(&self) {
        let mut state = lock(&self.state);
        let (egress, waker) = (state.egress.take(), state.waker.take());
        drop(state);
        drop((egress, waker));
    }
}
