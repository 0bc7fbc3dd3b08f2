//! The handler of a rank for the messages of the others, and for those that it has sent to itself:
//! each goes to the file that is about it.

use std::sync::TryLockError;

use super::message::{Control, Head};
use super::part::NetworkPart;

impl NetworkPart {
    /// A message has come. Runs on whatever thread polls.
    pub(super) fn message(&self, from: usize, bytes: &[u8]) {
        let Some((head, rest)) = Head::split(bytes) else {
            panic!("a message of a network from rank {from} is torn");
        };
        match head {
            Head::Token(channel) => {
                if let Some(incoming) = self.incoming(channel) {
                    incoming.token(rest);
                }
            }
            Head::End(channel) => {
                if let Some(incoming) = self.incoming(channel) {
                    self.closed(channel, incoming.end());
                }
            }
            Head::Taken(channel) => {
                let taken = rest.try_into().map(u64::from_le_bytes);
                if let (Some(outgoing), Ok(taken)) = (self.outgoing(channel), taken) {
                    outgoing.taken(taken);
                }
            }
            Head::Gone(channel) => {
                if let Some(outgoing) = self.outgoing(channel) {
                    self.gone(|| outgoing.gone());
                }
            }
            Head::Control => match postcard::from_bytes(rest) {
                Ok(control) => self.control(from, control),
                Err(error) => panic!("a message of a network from rank {from} is torn: {error}"),
            },
        }
    }

    fn control(&self, from: usize, control: Control) {
        match control {
            Control::Quiet => self.somebody_is_quiet(),
            Control::Ask(number) => {
                let answer = Control::Answer(number, self.snapshot());
                self.post.send_control(from, &answer);
            }
            Control::Answer(number, snapshot) => self.answer(from, number, snapshot),
            Control::Grow { channel, from, to } => self.grow(channel, from, to),
            Control::Stop(ended) => self.post.end(ended),
            Control::Move(message) => self.moving(message),
            Control::Loads(loads) => self.loads(from, &loads),
            Control::Cut(message) => self.cutting(from, message),
        }
    }

    /// Handles what this rank has sent to itself, unless somebody else does. Whether there was
    /// anything. By the pump, and now and then by the thread that watches, because a process may
    /// keep the pump from running.
    pub(super) fn handle_own(&self) -> bool {
        if !self.post.has_own() {
            return false;
        }
        let _in_their_order = match self.own_turn.try_lock() {
            Ok(turn) => turn,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        let own = self.post.take_own();
        for bytes in &own {
            self.message(self.rank(), bytes);
            self.inside.has_given();
        }
        !own.is_empty()
    }
}
