//! Finding processes that wait for each other, and letting them go on.
//!
//! A process that waits for a message waits for the channel's producer; one that waits for room,
//! for its consumer. Processes that wait for each other only, and whose channels say the same when
//! they are read a second time, will wait for ever: whatever could wake one of them would have to
//! be done by another, and would show in a channel's counts.
//!
//! If a full channel is among those, the deadlock is *artificial*: an unbounded channel would not
//! have it. Then the smallest of the full ones grows (Parks), and it does so when the cycle forms,
//! not only when the whole network has come to rest (Geilen and Basten). If none is full, nothing
//! helps, and the network ends with an error: when it has come to rest, and no channel of other
//! processes grows. For until then some process may have been handed a port that another one was
//! given, of which nothing is known here before it waits there, and may go on with it. A channel
//! that grows for a deadlock which is none does no harm.
//!
//! Three occasions to search, from cheap to expensive:
//!
//! 1. A process is suspended while some process has waited for room: it follows the waits from
//!    itself, [`STEPS`] of them. So the usual cycle is found by the process that closes it.
//! 2. So many suspensions later, [`PERIOD`] or as many as there are processes, the whole network is
//!    looked at: for longer cycles, and for processes that wait for any of several channels.
//! 3. No process can go on any more ([`are_quiet`]): the whole network is looked at. While no
//!    process has waited for room, this is the only occasion, and a suspension costs next to
//!    nothing.
//!
//! [`are_quiet`]: crate::state::thread_counts::are_quiet

mod elsewhere;
mod graph;
mod resolve;

use crate::channel::OUTSIDE;
use crate::channel::shared::{ChannelWait, Shared};
use crate::channel::statement::Statement;
use crate::machine::prim::{Ordering, fence, lock, ord};
use crate::state::thread_counts::Line;
pub(crate) use elsewhere::{Waiting, grow, stuck, verdicts_of, waits};
use graph::Graph;
use resolve::Grown;
pub(crate) use resolve::Verdict;

/// Waits that a suspended process follows.
const STEPS: usize = 16;
/// Suspensions on one thread between two looks at the whole network.
const PERIOD: u64 = 4096;
/// So often a look begins anew when something has changed under it.
const TRIES: u32 = 3;

/// A process has been suspended. After a fence.
#[inline]
pub(crate) fn after_suspension(shared: &Shared, line: &Line, process: u32, to_write: bool) {
    // Ordering: Relaxed, both. The fence after the process's waiting word, and that in `look`, see
    // to it that either this is seen to be cleared, or the process is seen to wait.
    if shared.writers.load(Ordering::Relaxed) {
        follow(shared, line, process);
    } else if to_write {
        shared.writers.store(true, Ordering::Relaxed);
        follow(shared, line, process);
    }
    if line.is_quiet() && shared.is_quiet() {
        rest(shared);
        after_waking(shared, line);
    }
}

/// The calling thread polls no process, and may have woken some. To be called with no lock that who
/// is told of rest may want.
pub(crate) fn after_waking(shared: &Shared, line: &Line) {
    while line.has_to_ask() && shared.is_quiet() {
        rest(shared);
    }
}

/// As [`after_waking`], by who may hold such a lock: whoever is told of rest looks at the network
/// when it takes long.
#[cold]
pub(crate) fn after_act(shared: &Shared) {
    if shared.rest.get().is_none() {
        after_waking(shared, shared.lines.mine());
    }
}

/// Nothing can go on but by what comes from outside. Where that is another part of the same
/// network, it happens all the time, and whoever sees to that part looks at the network when it
/// takes long.
fn rest(shared: &Shared) {
    if !shared.tell_rest() {
        look(shared);
    }
}

/// A process has ended.
pub(crate) fn after_end(shared: &Shared, line: &Line) {
    // Ordering: a fence between `Line::leave` and the looks at lines. Pairs with [quiet].
    fence(ord("end_fence", Ordering::SeqCst));
    if !shared.process_ended() {
        shared.tell_rest();
    } else if line.is_quiet() && shared.is_quiet() {
        rest(shared);
        after_waking(shared, line);
    }
}

/// Where a process is suspended, if it is, and waits for one thing only.
#[inline]
fn single_wait(shared: &Shared, process: u32) -> Option<(ChannelWait, u32)> {
    let Statement::One(op) = shared.control(process).word.get() else {
        return None;
    };
    let words = op.words();
    let waits = words.is_process_waiting(op.end, process) && !words.is_ready(op.end);
    let wait = ChannelWait {
        process,
        channel: words.index() as u32,
        end: op.end,
    };
    let target = words.process(op.end.other());
    (waits && target != OUTSIDE).then_some((wait, target))
}

/// Follows the waits from that process, to where they lead back, or to a process that can go on.
#[inline(never)]
fn follow(shared: &Shared, line: &Line, process: u32) {
    let mut chain = [0; STEPS];
    let mut at = process;
    for length in 0..STEPS {
        let Some((_, next)) = single_wait(shared, at) else {
            break;
        };
        chain[length] = at;
        if let Some(start) = chain[..=length].iter().position(|&one| one == next) {
            let cycle = &mut chain[start..=length];
            cycle.sort_unstable();
            let only_one = lock(&shared.detector);
            let graph = Graph::of(shared, cycle.iter().copied());
            // Whether nothing helps is seen when the whole network is looked at.
            let grown = resolve::resolve(shared, &graph);
            drop(only_one);
            grown.unwrap_or_default().wake();
            return;
        }
        at = next;
    }
    let period = PERIOD.max(shared.controls().len() as u64);
    if line.count_suspension(period) {
        look(shared);
    }
}

/// Looks at the whole network.
#[cold]
#[inline(never)]
pub(crate) fn look(shared: &Shared) {
    let only_one = lock(&shared.detector);
    let grown = look_alone(shared);
    drop(only_one);
    grown.wake();
}

/// By one thread at a time.
fn look_alone(shared: &Shared) -> Grown {
    // Ordering: Relaxed; a figure.
    shared.looks.fetch_add(1, Ordering::Relaxed);
    for _ in 0..TRIES {
        if shared.is_stopped() {
            break;
        }
        // Ordering: Relaxed, both, with a fence between the store and the looks at who waits. Pairs
        // with [wait], which is a fence before a process looks at this.
        shared.writers.store(false, Ordering::Relaxed);
        fence(ord("look_fence", Ordering::SeqCst));
        let graph = Graph::of_all(shared);
        if graph.has_writers() {
            shared.writers.store(true, Ordering::Relaxed);
        }
        let stuck = graph.stuck();
        if stuck.is_empty() {
            break;
        }
        let Some(grown) = resolve::resolve(shared, &graph.only(&stuck)) else {
            continue;
        };
        let goes_on = || graph.goes_on || shared.has_unread() || !shared.is_quiet();
        if !grown.is_hopeless() || goes_on() {
            return grown;
        }
        // After that, the second reading of those that could have a port of who is stuck: of one
        // that went on in between, the counts tell.
        if Graph::of_all(shared) == graph {
            return grown.fail(shared);
        }
    }
    Grown::default()
}
