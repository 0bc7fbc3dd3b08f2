//! Tasks on the device: what they read is brought to it.

use std::sync::Arc;

use super::entry::{DeviceEntry, Incoming};
use super::table::Arriving;
use super::{Actions, Device, DeviceState};
use crate::backend::error::DeviceError;
use crate::backend::{Done, Outcome, Upload};
use crate::profile::DeviceEngine;

impl Device {
    /// Starts the copies that it takes, or waits for those that others have started.
    pub(super) fn bring(
        self: &Arc<Self>,
        state: &mut DeviceState,
        actions: &mut Actions,
        entry: &Arc<DeviceEntry>,
    ) {
        for (number, one) in entry.uses.iter().enumerate() {
            let id = one.content.id();
            let (version, host) = one.content.versions();
            let Some(copy) = state.table.get_mut(id) else {
                continue;
            };
            // A buffer that is only written keeps its content until something is launched.
            if !one.access.reads() {
                continue;
            }
            if copy.version == Some(version) {
                state.account.avoided(copy.bytes);
                continue;
            }
            let mut inside = entry.lock();
            match &mut copy.arriving {
                Some(arriving) if arriving.version == version => {
                    arriving.waiting.push(Arc::clone(entry));
                    inside.arrivals += 1;
                    state.account.avoided(copy.bytes);
                    continue;
                }
                // An older one, of a task that has landed ahead; this task is behind it.
                Some(_) | None => {}
            }
            copy.arriving = Some(Arriving {
                version,
                waiting: Vec::new(),
            });
            inside.under_way += 1;
            let incoming = Incoming {
                entry: Arc::clone(entry),
                number,
                version,
            };
            if host == version {
                drop(inside);
                self.upload(state, actions, incoming);
            } else {
                inside.arrivals += 1;
                inside.crossing += 1;
                actions.crossings.push(incoming);
            }
        }
    }

    /// Starts a copy from the host, which counts among what is under way.
    pub(super) fn upload(
        self: &Arc<Self>,
        state: &mut DeviceState,
        actions: &mut Actions,
        incoming: Incoming,
    ) {
        state.account.begin(DeviceEngine::Upload);
        let from = incoming.content().source();
        let inside = incoming.entry.lock();
        let (stream, to) = (inside.stream, inside.memories[incoming.number].clone());
        drop(inside);
        let device = Arc::clone(self);
        let done = Done::new(move |outcome, _| device.uploaded(&incoming, &outcome));
        actions
            .decided
            .uploads
            .push((stream, Upload { from, to, done }));
    }

    fn uploaded(self: &Arc<Self>, incoming: &Incoming, outcome: &Outcome) {
        self.with(|state, actions| {
            let bytes = incoming.content().bytes();
            self.account(state, &incoming.entry, DeviceEngine::Upload, bytes, outcome);
            let error = outcome.as_ref().err().cloned();
            self.arrived(state, actions, incoming, error);
        });
    }

    /// A copy has arrived, or has failed to.
    pub(super) fn arrived(
        self: &Arc<Self>,
        state: &mut DeviceState,
        actions: &mut Actions,
        incoming: &Incoming,
        error: Option<DeviceError>,
    ) {
        let (id, version) = (incoming.content().id(), incoming.version);
        let mut waiting = Vec::new();
        if let Some(copy) = state.table.get_mut(id) {
            let arrived = copy
                .arriving
                .take_if(|arriving| arriving.version == version);
            waiting = arrived.map_or_else(Vec::new, |arrived| arrived.waiting);
            match error {
                // The task may have landed ahead, and made a newer version of it.
                None => {
                    copy.version = copy.version.max(Some(version));
                    if state.lost.is_none() {
                        incoming.content().arrived(version);
                    }
                }
                // That version is lost, with its reason, when the task comes down. Who asks for
                // it before then gets a copy that is made behind the task, and no other reason.
                Some(_) if copy.version > Some(version) => {}
                Some(_) => copy.version = None,
            }
        }
        if state.lost.is_some() {
            state.table.remove(id, &mut actions.let_go);
        }
        for other in &waiting {
            let mut inside = other.lock();
            inside.arrivals -= 1;
            if let Some(error) = &error {
                inside.fail(error.clone());
                // Operations that were not submitted yet never will be.
                inside.recorded.clear();
            }
            drop(inside);
            self.submit_if_there(state, actions, other);
            self.advance(state, actions, other);
        }
        actions.entries.extend(waiting);
        self.ended(state, actions, &incoming.entry, error);
    }

    /// Gives the back-end what was launched, if all that the task reads is there or on its way.
    pub(super) fn submit_if_there(
        self: &Arc<Self>,
        state: &mut DeviceState,
        actions: &mut Actions,
        entry: &Arc<DeviceEntry>,
    ) {
        let mut inside = entry.lock();
        if inside.arrivals == 0 && inside.error.is_none() {
            self.submit_recorded(state, actions, entry, &mut inside);
        }
    }
}
