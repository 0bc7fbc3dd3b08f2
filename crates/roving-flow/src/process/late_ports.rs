//! Ports that a process has dropped in its turn, and that are closed later.

use std::ptr::NonNull;

use super::poll::ProcessTurn;
use crate::channel::shared::{NetworkFailure, Shared};
use crate::channel::words::{ChannelEnd, Words};
use crate::channel::{drain_port, drop_port};
use crate::machine::prim::Arc;

/// A port, which has left its part in the channel to the turn.
struct LatePort {
    channel: NonNull<Words>,
    end: ChannelEnd,
    /// A panic has dropped it.
    panics: bool,
}

/// The ports of one turn.
#[derive(Default)]
pub(super) struct LatePorts {
    ports: Vec<LatePort>,
    /// Others do not know whether what is closed ends a whole stream: see [`Doubt`].
    ///
    /// [`Doubt`]: crate::state::doubt::Doubt
    is_in_doubt: bool,
}

impl LatePort {
    /// Whoever is at the other end tells others of it, who cannot be told of a doubt.
    fn is_told_on(&self) -> bool {
        // SAFETY: the port keeps its channel.
        unsafe { self.channel.as_ref() }.has_hook(self.end.other())
    }
}

impl LatePorts {
    /// # Safety
    /// The caller is that port, and does not use the channel afterwards.
    pub(super) unsafe fn add(&mut self, channel: NonNull<Words>, end: ChannelEnd, panics: bool) {
        self.ports.push(LatePort {
            channel,
            end,
            panics,
        });
    }

    /// They are closed, and `left` with what is to be closed later, before the turn's end, of which
    /// the process waits for something that others may do then. Whether any was closed: a message
    /// that was dropped with one may have left others to the turn.
    #[must_use]
    pub(super) fn close_before(
        mut self: Box<Self>,
        shared: &Shared,
        process: u32,
        left: impl FnOnce(Box<LatePorts>),
    ) -> bool {
        let is_later = |port: &LatePort| port.panics && port.is_told_on();
        let (later, ports): (Vec<_>, Vec<_>) = self.ports.into_iter().partition(is_later);
        self.ports = later;
        if !self.is_in_doubt && ports.iter().any(|port| port.panics) {
            self.is_in_doubt = true;
            shared.doubt.begin();
        }
        if self.is_in_doubt || !self.ports.is_empty() {
            left(self);
        }
        let has_some = !ports.is_empty();
        close_each(ports, shared, process);
        has_some
    }

    /// The turn ends.
    #[cold]
    pub(super) fn close(self, shared: &Arc<Shared>, process: u32) {
        // Before messages are dropped, which may wait for who waits for that.
        if self.is_in_doubt {
            shared.doubt.end();
        }
        ProcessTurn::dropping(shared, process, || close_each(self.ports, shared, process));
    }
}

/// Whatever messages do when they are dropped, all of these are closed; and what one of them panics
/// with, the process has panicked with.
fn close_each(ports: Vec<LatePort>, shared: &Shared, process: u32) {
    for LatePort { channel, end, .. } in ports {
        let drained = match end {
            // SAFETY: that port has left it to this turn.
            ChannelEnd::Reader => unsafe { drain_port(channel) },
            ChannelEnd::Writer => None,
        };
        // Whether all is quiet is asked at the end of the turn.
        // SAFETY: it has left that too, and is not used again.
        let closed = unsafe { drop_port(channel, end, |_| ()) };
        for payload in drained.into_iter().chain(closed) {
            shared.stop(NetworkFailure::unwound(process, payload));
        }
    }
}
