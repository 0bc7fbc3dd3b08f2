//! Ports that a panic drops beside the turn of their process: see [`LeftPorts`].

use std::ptr::NonNull;

use super::late_ports::close_each;
use super::poll::ProcessTurn;
use crate::channel::DroppedPort;
use crate::channel::shared::Shared;
use crate::channel::statement::Statement;
use crate::channel::words::{ChannelEnd, Words};
use crate::deadlock;
use crate::machine::prim::{Arc, Ordering, fence, lock, ord};
use crate::state::late_ports::{LatePorts, LeftPorts};

/// A port is dropped by a thread that is in no turn of its network. True when a panic drops it, and
/// the process is there whose port it is, or was last: the stream is left to that one, which may be
/// about to fail with the panic, and in doubt until then.
///
/// # Safety
/// The caller is that port, and does not use the channel afterwards if this is true.
#[must_use]
pub(super) unsafe fn leave(channel: NonNull<Words>, end: ChannelEnd) -> bool {
    // Else it is not known whose panic it is.
    if !ProcessTurn::is_panicking() {
        return false;
    }
    // SAFETY: the caller is a port, which keeps its channel.
    let words = unsafe { channel.as_ref() };
    let (shared, process) = (Arc::clone(words.shared()), words.process(end));
    let Some(control) = shared.controls().get(process as usize) else {
        return false;
    };
    let has_ended = || control.word.get() == Statement::Ended;
    if has_ended() || shared.is_stopped() {
        return false;
    }
    let mut left = lock(&shared.left);
    // SAFETY: the caller's promise.
    let port = unsafe { DroppedPort::new(channel, end) };
    let all = left.add(process, port);
    let now = all.take_for_now(&shared.doubt);
    shared.has_left(true);
    drop(left);
    // Ordering: in the manner of Dekker: either the process sees that something is left when it is
    // suspended, or has ended, after a fence of its own; or its waker, or its end, is seen here.
    // Pairs with [wait] and [quiet].
    fence(ord("left_fence", Ordering::SeqCst));
    close_each(now, &shared, process);
    match has_ended() {
        true => close(&shared, process),
        false => shared.wake(process),
    }
    deadlock::after_act(&shared);
    true
}

/// A turn of a process has ended where there are such ports. Whether it is to
/// [close](close_heard_of) what it has heard of, if anything, and to go on.
pub(super) fn count_turn(shared: &Shared, process: u32, awaits_others: bool) -> bool {
    lock(&shared.left).count_turn(process, awaits_others)
}

/// Closes what that process has heard of, if it has.
pub(super) fn close_heard_of(shared: &Arc<Shared>, process: u32, awaits_others: bool) {
    let take = |left: &mut LeftPorts<_>| left.take_heard_of(process, awaits_others);
    close_those(shared, process, take);
}

/// That process has ended.
#[cold]
#[inline(never)]
pub(super) fn close(shared: &Arc<Shared>, process: u32) {
    close_those(shared, process, |left| left.take(process));
}

fn close_those(
    shared: &Arc<Shared>,
    process: u32,
    take: impl FnOnce(&mut LeftPorts<DroppedPort>) -> Option<LatePorts<DroppedPort>>,
) {
    let mut left = lock(&shared.left);
    let ports = take(&mut left);
    if left.are_none() {
        shared.has_left(false);
    }
    drop(left);
    if let Some(ports) = ports {
        ProcessTurn::close_ports(ports, shared, process);
    }
}
