//! Closing ports that a process has dropped before, in its turn or beside it.

use crate::channel::shared::{NetworkFailure, Shared};
use crate::channel::words::ChannelEnd;
use crate::channel::{DroppedPort, drain_port, drop_port};
use crate::state::late_ports::LatePorts;

/// Ports are closed, and `left` is called with those that are to be closed later, before the end of
/// the turn, in which the process waits for something that others may do then. Whether any was
/// closed: a message that was dropped with one may have left others to the turn.
#[must_use]
pub(super) fn close_before(
    mut ports: Box<LatePorts<DroppedPort>>,
    shared: &Shared,
    process: u32,
    left: impl FnOnce(Box<LatePorts<DroppedPort>>),
) -> bool {
    let now = ports.take_for_now(&shared.doubt);
    if !ports.are_none() {
        left(ports);
    }
    let has_some = !now.is_empty();
    close_each(now, shared, process);
    has_some
}

/// Whatever messages do when they are dropped, all of these are closed; and what one of them panics
/// with, the process has panicked with.
pub(super) fn close_each(ports: Vec<DroppedPort>, shared: &Shared, process: u32) {
    for DroppedPort { channel, end } in ports {
        let drained = match end {
            // SAFETY: that port has left it to this turn.
            ChannelEnd::Reader => unsafe { drain_port(channel) },
            ChannelEnd::Writer => None,
        };
        // The caller asks whether all is quiet.
        // SAFETY: it has left that too, and is not used again.
        let closed = unsafe { drop_port(channel, end, |_| ()) };
        for payload in drained.into_iter().chain(closed) {
            shared.stop(NetworkFailure::unwound(process, payload));
        }
    }
}
