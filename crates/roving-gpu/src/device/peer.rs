//! Copies from one device to another.
//!
//! A task that reads what only another device has is brought aboard as any other. Who has it is
//! asked for when its own device is open again, for no device is asked while another one is locked:
//! the copy is kept there ([`Lent`]), and another one is put on the task's stream, behind what
//! writes it there, and before the task's kernels. The task does not land ahead of that. So it
//! holds the buffer until then, and nobody writes it on either device; and if what was to write it
//! there has failed, nobody has seen what came of it here.

use std::sync::Arc;

use super::entry::{DeviceEntry, Incoming};
use super::{Actions, Device, DeviceState};
use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Backend, Done, Outcome, PeerCopy, Remains};
use crate::buffer::content::{Content, CopyPlace};
use crate::buffer::lent::{Down, Lender, Lent, Way};
use crate::buffer::wait::wake_all;
use crate::profile::DeviceEngine;

/// A copy here that is lent to another device.
struct LentCopy {
    device: Arc<Device>,
    id: u64,
    /// The task that has landed ahead and whose kernels write it, if there is one.
    writer: Option<Arc<DeviceEntry>>,
}

impl Lender for LentCopy {
    fn name(&self) -> &str {
        &self.device.name
    }

    fn backend(&self) -> &Arc<dyn Backend> {
        &self.device.backend
    }

    fn writer_stream(&self) -> Option<usize> {
        self.writer.as_ref().map(|writer| writer.lock().stream)
    }

    fn take_back(&self) {
        self.device.with(|state, _| {
            state.fetching -= 1;
            state.table.unpin(self.id);
        });
    }

    fn gave(&self, bytes: usize) {
        self.device.lock().account.gave(bytes);
    }

    fn when_down(&self, then: Down) {
        self.device.with(|_, actions| {
            let Some(writer) = &self.writer else {
                actions.downs.push((then, None));
                return;
            };
            let mut inside = writer.lock();
            match inside.ahead {
                Some(_) => inside.followers.push(then),
                None => actions.downs.push((then, inside.spoilt.clone())),
            }
        });
    }
}

/// The name of a link, by which its times are kept.
fn link(from: &str, to: &str) -> String {
    format!("{from} to {to}")
}

impl Device {
    pub(super) fn lend_copy(self: Arc<Self>, id: u64, version: u64) -> Option<Lent> {
        let (memory, writer) = self.with(|state, _| {
            let copy = state.table.valid(id, version)?;
            let found = (copy.memory.clone(), copy.writer().map(Arc::clone));
            state.table.hold_on(id);
            state.fetching += 1;
            Some(found)
        })?;
        let lender = LentCopy {
            device: self,
            id,
            writer,
        };
        Some(Lent::new(Arc::new(lender), memory))
    }

    /// Whether another device has that version, and this one can copy it from there.
    pub(crate) fn reaches(&self, content: &dyn Content, version: u64) -> bool {
        let is_direct = |way| matches!(way, Way::Direct(_));
        self.ways(content, version).any(is_direct)
    }

    fn ways(&self, content: &dyn Content, version: u64) -> impl Iterator<Item = Way> {
        let (id, places) = (content.id(), content.places().into_iter());
        places.filter_map(move |place| place.way(id, version, &*self.backend))
    }

    /// A buffer is lost with its copy here, if no other device has one that is valid. Not while a
    /// device is locked.
    pub(super) fn lose(&self, content: &dyn Content, version: u64, reason: &str) {
        let has = |place: Arc<dyn CopyPlace>| place.has_valid(content.id(), version);
        let is_somewhere = || content.places().into_iter().any(has);
        if is_somewhere() {
            return;
        }
        let waiters = content.lose(version, reason);
        // It may have come to another device since.
        if is_somewhere() {
            content.arrived(version);
        }
        wake_all(waiters);
    }

    /// How long it takes to bring what only other devices have; seconds.
    pub(super) fn over_s(&self, content: &dyn Content, version: u64) -> f64 {
        let (history, bytes) = (&self.common.history, content.bytes() as f64);
        let seconds = |way| match way {
            Way::Direct(from) => history.transfer_s(&link(&from, &self.name), 0, bytes),
            Way::ByHost(from) => {
                history.transfer_s(&from, 1, bytes) + history.transfer_s(&self.name, 0, bytes)
            }
        };
        let all = self.ways(content, version).map(seconds);
        all.reduce(f64::min).unwrap_or(0.0)
    }

    /// Brings what a task reads and only another device has, now that no device is locked.
    pub(super) fn bring_over(self: &Arc<Self>, incoming: &Incoming) {
        let (entry, content) = (&incoming.entry, incoming.content());
        let version = incoming.version;
        let lend = |place: Arc<dyn CopyPlace>| place.lend(content.id(), version, &*self.backend);
        let lent = content.places().into_iter().find_map(lend);
        self.with(|state, actions| {
            let mut inside = entry.lock();
            inside.arrivals -= 1;
            let is_direct = lent.is_some();
            inside.crossing -= usize::from(!is_direct);
            drop(inside);
            match lent {
                Some(lent) => self.copy_over(state, actions, incoming.clone(), lent),
                // Its place has copied it to the host meanwhile, to make room.
                None if content.versions().1 == version => {
                    self.upload(state, actions, incoming.clone());
                }
                None => {
                    let text = "a buffer's only valid copy was on another device, and is gone";
                    let error = DeviceError::new(Cause::Peer, text);
                    self.arrived(state, actions, incoming, Some(error));
                    return;
                }
            }
            self.submit_if_there(state, actions, entry);
        });
    }

    fn copy_over(
        self: &Arc<Self>,
        state: &mut DeviceState,
        actions: &mut Actions,
        incoming: Incoming,
        lent: Lent,
    ) {
        state.account.begin(DeviceEngine::Peer);
        let inside = incoming.entry.lock();
        let (stream, to) = (inside.stream, inside.memories[incoming.number].clone());
        drop(inside);
        let copy = PeerCopy {
            source: Arc::clone(lent.lender().backend()),
            source_stream: lent.lender().writer_stream(),
            from: lent.memory().clone(),
            to,
            bytes: incoming.content().bytes(),
            done: Done::new(move |outcome, left| copied(incoming, lent, outcome, left)),
        };
        actions.decided.copies.push((stream, copy));
    }
}

/// The end of a copy from another device.
fn copied(incoming: Incoming, lent: Lent, outcome: Outcome, left: Remains) {
    let (device, from) = (incoming.entry.device(), Arc::clone(lent.lender()));
    drop(lent);
    let bytes = incoming.content().bytes();
    if let Ok(time) = &outcome {
        from.gave(bytes);
        let (history, name) = (&device.common.history, link(from.name(), &device.name));
        history.record_transfer(&name, 0, bytes as f64, time.as_secs_f64());
    }
    // The other device is to blame, and this one as good as before.
    let name = from.name().to_owned();
    let blame = move |error| DeviceError::new(Cause::Peer, format!("{name}: {error}"));
    let is_refused = matches!(left, Remains::Untouched);
    let then = move |spoilt: Option<DeviceError>| {
        device.with(|state, actions| {
            device.account(state, &incoming.entry, DeviceEngine::Peer, bytes, &outcome);
            incoming.entry.lock().crossing -= 1;
            let error = match outcome.err() {
                Some(error) if !is_refused => Some(error),
                other => other.or(spoilt).map(blame),
            };
            device.arrived(state, actions, &incoming, error);
        });
    };
    from.when_down(Box::new(then));
}
