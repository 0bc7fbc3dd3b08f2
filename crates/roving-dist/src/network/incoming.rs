//! The consumer's side of a channel whose producer is on another rank, or may come to be there.
//!
//! A token that arrives is read and put into the channel on the thread that polls, which wakes the
//! process that waits for it. What the process takes calls the hook at the producer's end, which is
//! this: so the producer hears how many tokens were taken.
//!
//! As at the [other end](super::outgoing), code of the program never runs under the lock: what
//! reads, writes and drops tokens, and the waker of another executor that polls the consumer.

use std::any::Any;
use std::sync::{Arc, Mutex};

use roving_flow::In;
use roving_flow::raw::{self, Bridge, DueWaker, Ingress};
use serde::{Serialize, de::DeserializeOwned};

use super::message::{Control, CutMessage, Head};
use super::outgoing::encode;
use super::parcel::Input;
use super::post::Post;
use super::snapshot::TakenCount;
use crate::unwind::{contain, lock};

/// As the rest of the rank sees it, whatever the tokens are.
pub(super) trait Incoming: Send + Sync {
    /// Begins to look at what is taken.
    fn start(self: Arc<Self>);
    /// A token has come.
    fn token(&self, bytes: &[u8]);
    /// There will be no more, or the consumer has ended elsewhere. The channel in a cut, if this
    /// was the last of it.
    fn end(&self) -> Option<Closed>;
    /// The run is over, and with it all that keeps the channel.
    fn close(&self);
    /// Tells the producer what has been taken, if it does not know.
    fn tell(&self);
    /// The report about this channel. `None` when one of its ends is gone.
    fn taken(&self) -> Option<TakenCount>;
    /// Tells the producer nothing until [`Self::release`]: it moves.
    fn hold(&self);
    /// The producer is on that rank from now on.
    fn release(&self, from: usize);
    /// The consumer leaves this rank, with what lies before that port, unless it has dropped that.
    /// None if it has not, and there is no port.
    fn leave(&self, port: Option<&mut dyn Any>) -> Option<Input>;
    /// The consumer has come to this rank.
    fn arrive(&self, input: &Input);
    /// Tokens that left this rank with their consumer.
    fn left(&self) -> u64;
    /// Whether the consumer has its port here.
    fn has_port(&self) -> bool;
    /// The consumer, which has this port, is recorded in that cut. The channel in it, unless the
    /// producer's mark is still to come.
    fn record(&self, port: &mut dyn Any, number: u32) -> Option<Closed>;
    /// The consumer has dropped its port, and is recorded in that cut.
    fn record_gone(&self, number: u32) -> Closed;
    /// The producer was recorded in that cut, when it had sent so many. The channel in it, if its
    /// consumer was recorded before.
    fn mark(&self, number: u32, sent: u64) -> Option<Closed>;
}

/// The most bytes that a channel keeps of what comes between the records of its consumer and its
/// producer. That is what one step sends, which need not end soon: a cut for which there would be
/// more is left.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// A channel in a cut.
#[derive(Debug)]
pub(super) struct Closed {
    /// None when the consumer has dropped its port.
    pub(super) input: Option<Input>,
    /// The consumer has had more tokens than the producer had sent.
    pub(super) is_ahead: bool,
    /// The producer may learn that the consumer is gone.
    pub(super) is_loose: bool,
}

impl Closed {
    /// The consumer has dropped its port between its record and the producer's, or was sent too
    /// much there.
    pub(super) fn left() -> Closed {
        Closed {
            input: None,
            is_ahead: true,
            is_loose: true,
        }
    }

    /// The producer has sent so many; none when it has ended the stream.
    fn of(mut input: Input, sent: Option<u64>) -> Closed {
        match sent {
            None => input.is_ended = true,
            Some(sent) => input
                .unread
                .truncate(sent.saturating_sub(input.taken) as usize),
        }
        Closed {
            is_ahead: sent.is_some_and(|sent| sent < input.taken),
            is_loose: false,
            input: Some(input),
        }
    }
}

/// For tokens of type `T`.
pub(super) struct IncomingOf<T> {
    channel: u32,
    post: Arc<Post>,
    /// The producer is told when so many tokens were taken, at the latest; none when there is no
    /// bound.
    told_every: Option<u64>,
    state: Mutex<IncomingState<T>>,
}

struct IncomingState<T> {
    /// The rank of the producer.
    from: usize,
    /// The producer is on its way to another rank.
    is_held: bool,
    /// The consumer is here.
    is_live: bool,
    /// Makes an ingress for a consumer that comes here with the rest of a stream that has ended.
    /// Keeps the channel, as `ingress` does, and longer.
    bridge: Option<Bridge<T>>,
    /// Tokens that left this rank with their consumer.
    left: u64,
    /// None when the channel has ended. Keeps the channel, which keeps what is called when
    /// something was taken, which keeps this: so it is dropped at the end of the run at the latest.
    ingress: Option<Ingress<T>>,
    /// The producer has ended, and need not hear any more.
    is_ended: bool,
    /// The number of messages that the producer has been told of.
    told: u64,
    /// It is on the list of those that have something to tell.
    is_listed: bool,
    /// The number of tokens that have come, wherever the consumer was.
    came: u64,
    /// Of the last cut in which the producer was recorded: its number, and what had been sent.
    mark: Option<(u32, u64)>,
    /// The consumer is recorded, and the mark of that cut is still to come.
    recorded: Option<(u32, Input)>,
    /// Bytes that have come since then.
    kept: usize,
    /// Tokens that have come while those before them are being written for a record, and their
    /// bytes. They are put into the channel after those.
    behind: Option<Vec<(T, Vec<u8>)>>,
    bytes: Vec<u8>,
}

/// The tokens before a port that is recorded, out of the channel for the time being, and their
/// bytes.
struct Copied<T> {
    tokens: Vec<T>,
    unread: Vec<Vec<u8>>,
}

/// Of tokens that were put back: those for which there is no port any more, and the wakers that are
/// due.
type Rest<T> = Vec<Result<DueWaker, T>>;

impl<T: Serialize + DeserializeOwned + Send + 'static> IncomingOf<T> {
    pub(super) fn new(
        channel: u32,
        (from, to): (usize, usize),
        capacity: Option<usize>,
        post: &Arc<Post>,
        (ingress, bridge): (Ingress<T>, Option<Bridge<T>>),
    ) -> Arc<Self> {
        Arc::new(IncomingOf {
            channel,
            post: Arc::clone(post),
            told_every: capacity.map(|capacity| (capacity as u64 / 2).max(1)),
            state: Mutex::new(IncomingState {
                from,
                is_held: false,
                is_live: to == post.rank(),
                bridge,
                left: 0,
                told: ingress.taken().0,
                ingress: Some(ingress),
                is_ended: false,
                is_listed: false,
                came: 0,
                mark: None,
                recorded: None,
                kept: 0,
                behind: None,
                bytes: Vec::new(),
            }),
        })
    }

    /// The consumer has taken something, or is gone.
    fn look(&self) {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        if state.is_held || !state.is_live || state.is_ended {
            return;
        }
        let Some(ingress) = &state.ingress else {
            return;
        };
        let (taken, is_gone) = ingress.taken();
        if is_gone {
            if !ingress.is_stopped() {
                Head::Gone(self.channel).begin(&mut state.bytes);
                self.post.send(state.from, &mut state.bytes);
            }
            let ingress = state.ingress.take();
            // The producer may learn of this before it is recorded, and then sends no mark.
            self.leave_cut(state);
            drop(guard);
            self.post.drop_tokens(self.channel, ingress);
            return;
        }
        let Some(every) = self.told_every else {
            return;
        };
        if taken - state.told >= every {
            self.tell_of(state, taken);
        } else if taken != state.told && !state.is_listed {
            state.is_listed = true;
            self.post.list(self.channel);
        }
    }

    /// The channel is recorded no further in the cut for which a mark is to come.
    fn leave_cut(&self, state: &mut IncomingState<T>) {
        if state.recorded.take().is_some() {
            let left = Control::Cut(CutMessage::Left(self.channel));
            self.post.send_control(self.post.rank(), &left);
        }
    }

    /// Keeps a token that has come for the cut in which the consumer is recorded, if there is one.
    fn keep(&self, state: &mut IncomingState<T>, bytes: &[u8]) {
        let Some((_, input)) = &mut state.recorded else {
            return;
        };
        state.kept += size_of::<Vec<u8>>() + bytes.len();
        if state.kept <= KEPT_BYTES_MAX {
            input.unread.push(bytes.to_vec());
        } else {
            self.leave_cut(state);
        }
    }

    /// Takes all tokens before that port out, on the thread of its process, and writes them as
    /// bytes. They come back with [`Self::put_back`].
    fn copy_unread(&self, port: &mut In<T>) -> Copied<T> {
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        let tokens = all_unread(port);
        state.left += tokens.len() as u64;
        if state.ingress.is_none() && !tokens.is_empty() {
            state.ingress = state.bridge.as_mut().and_then(Bridge::ingress);
        }
        if let Some(ingress) = &mut state.ingress {
            ingress.resume(state.came - tokens.len() as u64);
        }
        state.behind = Some(Vec::new());
        drop(guard);
        let mut unread = Vec::with_capacity(tokens.len());
        for token in &tokens {
            let mut bytes = Vec::new();
            if let Err(message) = encode(token, &mut bytes) {
                self.post.bad_token(self.channel, message);
            }
            unread.push(bytes);
        }
        Copied { tokens, unread }
    }

    /// Puts tokens back into the channel, and behind them those that have come meanwhile. The bytes
    /// of all; and what is to be dropped when the lock is free.
    fn put_back(state: &mut IncomingState<T>, copied: Copied<T>) -> (Vec<Vec<u8>>, Rest<T>) {
        let Copied { tokens, mut unread } = copied;
        let (behind, bytes): (Vec<T>, Vec<Vec<u8>>) =
            state.behind.take().into_iter().flatten().unzip();
        unread.extend(bytes);
        let all = tokens.into_iter().chain(behind);
        let given = all.map(|one| match &mut state.ingress {
            Some(ingress) => ingress.give(one),
            None => Err(one),
        });
        (unread, given.collect())
    }

    fn tell_of(&self, state: &mut IncomingState<T>, taken: u64) {
        state.told = taken;
        Head::Taken(self.channel).begin(&mut state.bytes);
        state.bytes.extend_from_slice(&taken.to_le_bytes());
        self.post.send(state.from, &mut state.bytes);
    }
}

/// Takes all tokens before that port, and drops none.
fn all_unread<T>(port: &mut In<T>) -> Vec<T> {
    std::iter::from_fn(|| raw::take_unread(port)).collect()
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    match contain(|| postcard::take_from_bytes::<T>(bytes)) {
        Ok(Ok((token, []))) => Ok(token),
        Ok(Ok((_, rest))) => {
            let rest = rest.len();
            Err(format!(
                "is read in another way than it was written: {rest} bytes are left"
            ))
        }
        Ok(Err(error)) => Err(format!(
            "is read in another way than it was written: {error}"
        )),
        Err(text) => Err(format!("panicked while it was read: {text}")),
    }
}

impl<T: Serialize + DeserializeOwned + Send + 'static> Incoming for IncomingOf<T> {
    fn start(self: Arc<Self>) {
        let hooked = Arc::clone(&self);
        if let Some(ingress) = &lock(&self.state).ingress {
            ingress.hook(move || hooked.look());
        }
        self.look();
    }

    fn token(&self, bytes: &[u8]) {
        match decode::<T>(bytes) {
            Ok(token) => {
                let mut state = lock(&self.state);
                state.came += 1;
                self.keep(&mut state, bytes);
                if let Some(behind) = &mut state.behind {
                    return behind.push((token, bytes.to_vec()));
                }
                // Else the consumer is gone, and the producer hears of it.
                let given = match &mut state.ingress {
                    Some(ingress) => ingress.give(token),
                    None => Err(token),
                };
                drop(state);
                match given {
                    Ok(due) => due.wake(),
                    Err(token) => drop(self.post.drop_tokens(self.channel, token)),
                }
            }
            Err(message) => self.post.bad_token(self.channel, message),
        }
    }

    fn end(&self) -> Option<Closed> {
        let mut state = lock(&self.state);
        state.is_ended = true;
        // A record that is being made needs it still, and drops it.
        let ingress = match state.behind {
            None => state.ingress.take(),
            Some(_) => None,
        };
        let recorded = state.recorded.take();
        drop(state);
        self.post.drop_tokens(self.channel, ingress);
        recorded.map(|(_, input)| Closed::of(input, None))
    }

    fn close(&self) {
        let behind = lock(&self.state).behind.take();
        self.post.drop_tokens(self.channel, behind);
        drop(self.end());
        let bridge = lock(&self.state).bridge.take();
        self.post.drop_tokens(self.channel, bridge);
    }

    fn tell(&self) {
        let mut state = lock(&self.state);
        let state = &mut *state;
        state.is_listed = false;
        if state.is_held || !state.is_live {
            return;
        }
        let Some(ingress) = &state.ingress else {
            return;
        };
        let (taken, _) = ingress.taken();
        if taken != state.told {
            self.tell_of(state, taken);
        }
    }

    fn taken(&self) -> Option<TakenCount> {
        let state = lock(&self.state);
        let ingress = state.ingress.as_ref().filter(|_| state.is_live)?;
        let (taken, is_gone) = ingress.taken();
        (!is_gone).then_some(TakenCount {
            channel: self.channel,
            taken,
        })
    }

    fn hold(&self) {
        lock(&self.state).is_held = true;
    }

    fn release(&self, from: usize) {
        let mut state = lock(&self.state);
        (state.from, state.is_held) = (from, false);
        drop(state);
        self.look();
    }

    fn leave(&self, port: Option<&mut dyn Any>) -> Option<Input> {
        let mut state = lock(&self.state);
        if port.is_none() && state.ingress.as_ref().is_some_and(|one| !one.taken().1) {
            return None;
        }
        state.is_live = false;
        let taken = state.ingress.as_ref().map(|ingress| ingress.taken().0);
        let tokens = match port.and_then(|port| port.downcast_mut::<In<T>>()) {
            Some(port) => all_unread(port),
            None => Vec::new(),
        };
        let count = tokens.len() as u64;
        state.left += count;
        let mut input = Input {
            taken: taken.unwrap_or_else(|| state.came - count),
            told: state.told,
            // Also where the port was dropped: the producer hears of that before the move is over,
            // and so before any cut.
            is_ended: state.ingress.is_none(),
            unread: Vec::new(),
        };
        drop(state);
        for token in tokens {
            let mut bytes = Vec::new();
            // After a bad one the network is over, whatever of it comes over there.
            match encode(&token, &mut bytes) {
                Ok(()) => input.unread.push(bytes),
                Err(message) => self.post.bad_token(self.channel, message),
            }
            self.post.drop_tokens(self.channel, token);
        }
        Some(input)
    }

    fn has_port(&self) -> bool {
        let state = lock(&self.state);
        state.ingress.as_ref().is_some_and(|one| !one.taken().1)
    }

    fn record(&self, port: &mut dyn Any, number: u32) -> Option<Closed> {
        let copied = port
            .downcast_mut::<In<T>>()
            .map(|port| self.copy_unread(port));
        let mut guard = lock(&self.state);
        let state = &mut *guard;
        let (unread, rest) = match copied {
            Some(copied) => Self::put_back(state, copied),
            None => (Vec::new(), Vec::new()),
        };
        let taken = state.came - unread.len() as u64;
        let input = Input {
            taken,
            told: taken,
            is_ended: false,
            unread,
        };
        let mark = state.mark.filter(|mark| mark.0 == number);
        // The stream of a channel that was reopened for what is unread has ended again.
        let ingress = if state.is_ended {
            state.ingress.take()
        } else {
            None
        };
        if mark.is_none() && !state.is_ended {
            (state.recorded, state.kept) = (Some((number, input)), 0);
            drop(guard);
            self.post.drop_tokens(self.channel, rest);
            return None;
        }
        drop(guard);
        self.post.drop_tokens(self.channel, (rest, ingress));
        Some(Closed::of(input, mark.map(|(_, sent)| sent)))
    }

    fn record_gone(&self, number: u32) -> Closed {
        let state = lock(&self.state);
        let mark = state.mark.filter(|mark| mark.0 == number);
        let is_ahead = mark.is_some_and(|(_, sent)| sent < state.came);
        Closed {
            input: None,
            is_ahead,
            // A producer that was recorded before is not to be told earlier than it was.
            is_loose: is_ahead || !state.is_ended,
        }
    }

    fn mark(&self, number: u32, sent: u64) -> Option<Closed> {
        let mut state = lock(&self.state);
        state.mark = Some((number, sent));
        let (_, input) = state.recorded.take_if(|(of, _)| *of == number)?;
        drop(state);
        Some(Closed::of(input, Some(sent)))
    }

    fn arrive(&self, input: &Input) {
        let mut state = lock(&self.state);
        state.is_live = true;
        state.told = input.told;
        if state.ingress.is_none() && !input.unread.is_empty() {
            state.ingress = state.bridge.as_mut().and_then(Bridge::ingress);
        }
        if let Some(ingress) = &mut state.ingress {
            ingress.resume(input.taken);
        }
        // Those that are unread are counted again.
        state.came = input.taken;
        drop(state);
        input.unread.iter().for_each(|bytes| self.token(bytes));
        if input.is_ended {
            drop(self.end());
        }
    }

    fn left(&self) -> u64 {
        lock(&self.state).left
    }
}
