//! The state of one rank's part of a network, for a person who finds that the network does not end.

use std::fmt::{self, Write as _};

use roving_flow::{Operation, State};

use super::cut_state::Cuts;
use super::part::NetworkPart;
use crate::unwind::lock;
use crate::world::long_waits::Patience;

/// A look now and then at a rank of which no process can go on, for who has asked for it
/// (`ROVING_WATCH`).
pub(super) struct Standstill {
    patience: Patience,
    /// Its waits at the last look.
    before: Option<String>,
}

impl Standstill {
    pub(super) fn new() -> Standstill {
        Standstill {
            patience: Patience::new(),
            before: None,
        }
    }

    pub(super) fn look(&mut self, part: &NetworkPart) {
        if !self.patience.is_asked() {
            return;
        }
        let now = match part.can_go_on() {
            true => None,
            false => part.told().ok(),
        };
        if now.is_none() || now != self.before {
            self.patience.renew();
        }
        if let Some(now) = &now {
            self.patience.look(|| format!("nothing moves on {now}"));
        }
        self.before = now;
    }
}

impl NetworkPart {
    /// Whether a process here runs, or could, or is waited for by nobody any more.
    fn can_go_on(&self) -> bool {
        let processes = self.live.snapshot().processes;
        let waits = |state: &State| !matches!(state, State::Ready | State::Ended);
        processes.contains(&State::Ready) || !processes.iter().any(waits)
    }

    /// Returns the waits of this rank, one per line.
    pub(super) fn told(&self) -> Result<String, fmt::Error> {
        let mut text = format!("rank {}", self.rank());
        let post = &self.post;
        for (holds, what) in [
            (self.inside.is_stopped(), "has been stopped"),
            (post.bell.is_asleep(), "the pump sleeps"),
            (post.has_own(), "messages to itself wait"),
        ] {
            if holds {
                write!(text, ", {what}")?;
            }
        }
        if let Some(one) = lock(&self.moves).told() {
            write!(text, "\n  {one}")?;
        }
        if let Some(one) = self.cuts.as_ref().and_then(Cuts::told) {
            write!(text, "\n  {one}")?;
        }
        if let Some(missing) = lock(&self.detective).missing() {
            write!(text, "\n  asks who waits: no answer from ranks {missing:?}")?;
        }
        let now = self.live.snapshot();
        for (process, state) in self.locals.iter().zip(now.processes) {
            let name = self.shape.process(*process);
            match state {
                State::Ended => continue,
                State::Waits(operation, channel) => {
                    let verb = match operation {
                        Operation::Send => "send to",
                        Operation::Receive => "receive from",
                    };
                    let other = self.live.channel_name(channel).unwrap_or("?");
                    let queue = now.channels.get(channel);
                    write!(text, "\n  `{name}` waits to {verb} `{other}`: {queue:?}")?;
                }
                other => write!(text, "\n  `{name}`: {other:?}")?,
            }
        }
        for one in self.crossings.outgoing.iter().flatten() {
            if let Some(one) = one.sent() {
                let name = self.shape.channel(one.channel);
                let (sent, capacity) = (one.sent, one.capacity);
                write!(
                    text,
                    "\n  `{name}` leaves: {sent} sent, capacity {capacity:?}"
                )?;
            }
        }
        for one in self.crossings.incoming.iter().flatten() {
            if let Some(one) = one.taken() {
                let name = self.shape.channel(one.channel);
                write!(text, "\n  `{name}` arrives: {} taken", one.taken)?;
            }
        }
        Ok(text)
    }
}
