//! One rank's part of a network while it runs: the state that all protocols between ranks share.
//!
//! The protocols stand above it, each in a file: `moves.rs`, `cut.rs`, `deadlock.rs`, `loads.rs`.
//! Below it is a type for what each of them remembers from one message to the next, and it has one
//! of each.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use roving_flow::Live;
use roving_flow::raw::Inside;

use super::balancer::Balancer;
use super::cut_state::Cuts;
use super::detective::Detective;
use super::incoming::Incoming;
use super::move_state::Moves;
use super::outgoing::Outgoing;
use super::post::Post;
use super::report::Growth;
use super::shape::Shape;
use super::slot::HostSlot;
use crate::unwind::lock;

/// Channels that leave this rank, and those that come here, by number.
pub(super) struct Crossings {
    pub(super) outgoing: Vec<Option<Arc<dyn Outgoing>>>,
    pub(super) incoming: Vec<Option<Arc<dyn Incoming>>>,
}

/// The part of the network that runs here, for those who are made before it.
#[derive(Clone, Default)]
pub(super) struct RunningPart(Arc<OnceLock<Weak<NetworkPart>>>);

impl RunningPart {
    pub(super) fn begin(&self, part: &Arc<NetworkPart>) {
        let _first = self.0.set(Arc::downgrade(part));
    }

    /// None before the network runs, when it has ended, and where there is one rank only, without
    /// checkpoints.
    pub(super) fn part(&self) -> Option<Arc<NetworkPart>> {
        let part = self.0.get()?.upgrade()?;
        (!part.inside.is_over()).then_some(part)
    }
}

/// One rank's part of a network that runs.
pub(super) struct NetworkPart {
    pub(super) post: Arc<Post>,
    pub(super) inside: Inside,
    pub(super) live: Live,
    pub(super) shape: Arc<Shape>,
    pub(super) crossings: Crossings,
    pub(super) moves: Mutex<Moves>,
    /// Where the network has checkpoints.
    pub(super) cuts: Option<Cuts>,
    /// Held by who handles what this rank has sent to itself.
    pub(super) own_turn: Mutex<()>,
    /// Of the processes that can move, ordered by their numbers.
    pub(super) slots: Vec<(u32, Arc<HostSlot>)>,
    /// The numbers of the processes that are here.
    pub(super) locals: Vec<u32>,
    /// Where the network is rebalanced.
    pub(super) balancer: Option<Balancer>,
    pub(super) channel_limit: Option<usize>,
    /// At rank 0.
    pub(super) detective: Mutex<Detective>,
    pub(super) growths: Mutex<Vec<Growth>>,
    /// Nothing has gone on here but by what came from others since the last time that this was
    /// told.
    pub(super) is_at_rest: AtomicBool,
    /// Nothing has gone on here since a message has come, except by messages from others: so the
    /// pump may spin, for it keeps no process from running.
    pub(super) may_spin: AtomicBool,
}

impl NetworkPart {
    pub(super) fn rank(&self) -> usize {
        self.post.rank()
    }

    pub(super) fn ranks(&self) -> usize {
        self.post.link().ranks()
    }

    pub(super) fn outgoing(&self, channel: u32) -> Option<&Arc<dyn Outgoing>> {
        self.crossings.outgoing.get(channel as usize)?.as_ref()
    }

    pub(super) fn incoming(&self, channel: u32) -> Option<&Arc<dyn Incoming>> {
        self.crossings.incoming.get(channel as usize)?.as_ref()
    }

    /// Where a process is.
    pub(super) fn rank_of(&self, process: u32) -> usize {
        lock(&self.moves).places[process as usize] as usize
    }

    /// Rank 0: whether a process is on its way.
    pub(super) fn is_moving(&self) -> bool {
        lock(&self.moves).desk.is_moving
    }

    pub(super) fn with_slot(&self, process: u32, f: impl FnOnce(&HostSlot)) {
        let at = self
            .slots
            .binary_search_by_key(&process, |(process, _)| *process);
        if let Ok(at) = at {
            f(&self.slots[at].1);
        }
    }

    /// Tells the producers elsewhere what was taken here. Whether there was anything to tell.
    pub(super) fn tell_taken(&self) -> bool {
        let listed = self.post.take_listed();
        for &channel in &listed {
            if let Some(incoming) = self.incoming(channel) {
                incoming.tell();
            }
        }
        !listed.is_empty()
    }

    /// Nothing can go on here but by what comes from others. In the place of the process that was
    /// suspended last.
    pub(super) fn rests(&self) {
        // Ordering: Relaxed, both; hints to the pump, which is nudged after this.
        self.is_at_rest.store(true, Ordering::Relaxed);
        self.may_spin.store(true, Ordering::Relaxed);
        // No more is going to share the batch with what lies there.
        self.tell_taken();
        self.post.link().flush();
        self.post.nudge();
    }
}
