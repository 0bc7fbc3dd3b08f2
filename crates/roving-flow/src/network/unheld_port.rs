//! A word to who has built a network that waits for a port which no process holds, and that nobody
//! drops: the network would wait for ever, and its deadlock detection can say nothing, because the
//! port may be used at any time.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::sync::{Arc, Weak};
use std::time::Duration;

use roving::raw::reports::{self, Lookout};

use crate::channel::OUTSIDE;
use crate::channel::shared::Shared;
use crate::channel::words::{ChannelEnd, Words};
use crate::deadlock;

/// How long nothing moves before a debug build says so.
const PATIENCE: Duration = Duration::from_secs(1);
/// Most waits that are told.
const TOLD_MAX: usize = 4;

/// Watches a network with ports outside, as long as the lookout lives: in builds with debug
/// assertions, and where `ROVING_WATCH` asks for it. A network stands still when two looks find all
/// its processes suspended and no message moved between them; that is told once.
pub(crate) fn start(shared: &Arc<Shared>) -> Option<Lookout> {
    let patience = reports::watch_patience().or(cfg!(debug_assertions).then_some(PATIENCE))?;
    // Where a part of the network is elsewhere, somebody else looks at the whole.
    let is_part = shared.rest.get().is_some();
    if is_part
        || !shared
            .channels()
            .iter()
            .any(|one| outside(one).next().is_some())
    {
        return None;
    }
    let shared = Arc::downgrade(shared);
    let mut before = None;
    Lookout::start("roving-flow-hint", patience, move || {
        let now = moved(&shared);
        if now.is_some() && now == before {
            tell(&shared, patience);
            return ControlFlow::Break(());
        }
        before = now;
        ControlFlow::Continue(())
    })
}

/// The ends of a channel that no process was given, and whose ports are still held.
pub(crate) fn outside(words: &Words) -> impl Iterator<Item = ChannelEnd> + '_ {
    [ChannelEnd::Writer, ChannelEnd::Reader]
        .into_iter()
        .filter(|&end| {
            let is_gone = match end {
                ChannelEnd::Writer => words.sent().is_gone(),
                ChannelEnd::Reader => words.taken().is_gone(),
            };
            words.process(end) == OUTSIDE && !is_gone
        })
}

/// The kind of the port at that end, in a word.
pub(crate) fn port(end: ChannelEnd) -> &'static str {
    match end {
        ChannelEnd::Writer => "sending",
        ChannelEnd::Reader => "receiving",
    }
}

/// How many messages have moved, if no process can go on.
fn moved(shared: &Weak<Shared>) -> Option<u64> {
    let shared = shared.upgrade()?;
    let channels = shared.channels();
    let counts = channels.iter();
    let counts = counts.map(|words| words.sent().number().wrapping_add(words.taken().number()));
    let moved = counts.fold(0_u64, u64::wrapping_add);
    drop(channels);
    shared.is_quiet().then_some(moved)
}

fn tell(shared: &Weak<Shared>, patience: Duration) {
    let Some(shared) = shared.upgrade() else {
        return;
    };
    let waits = deadlock::waits(&shared).into_iter();
    let waits = waits.filter(|wait| wait.target.is_none()).take(TOLD_MAX);
    let mut text = String::new();
    for one in waits {
        let end = one.wait.end;
        let does = match end {
            ChannelEnd::Reader => "waits for a message in",
            ChannelEnd::Writer => "waits for room in",
        };
        let _ = writeln!(
            text,
            "  process `{}` {does} `{}`, whose {} port is held outside of the network, or captured \
             by a process: use it, drop it, or give it to a process",
            shared.process_name(one.wait.process),
            shared.channel_name(one.wait.channel),
            port(end.other()),
        );
    }
    if !text.is_empty() {
        let head = format!("roving-flow: a network has stood still for {patience:?}:\n");
        reports::tell_standstill(&(head + &text));
    }
}
