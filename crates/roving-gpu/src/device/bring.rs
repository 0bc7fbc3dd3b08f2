//! Tasks on the device: what they read is brought to it.

use std::sync::Arc;

use super::entry::Entry;
use super::table::Arriving;
use super::{Actions, Device, State};
use crate::backend::{Done, Outcome, Upload};
use crate::error::DeviceError;
use crate::profile::Lane;

impl Device {
    /// Starts the copies that it takes, or waits for those that others have started.
    pub(super) fn bring(
        self: &Arc<Self>,
        state: &mut State,
        actions: &mut Actions,
        entry: &Arc<Entry>,
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
            if host == version {
                drop(inside);
                self.upload(state, actions, entry, number, version);
            } else {
                inside.arrivals += 1;
                inside.crossing += 1;
                actions.crossings.push((Arc::clone(entry), number));
            }
        }
    }

    /// Starts a copy from the host, which counts among what is under way.
    pub(super) fn upload(
        self: &Arc<Self>,
        state: &mut State,
        actions: &mut Actions,
        entry: &Arc<Entry>,
        number: usize,
        version: u64,
    ) {
        let inside = entry.lock();
        state.account.begin(Lane::Upload);
        let (device, then) = (Arc::clone(self), Arc::clone(entry));
        let content = &entry.uses[number].content;
        let upload = Upload {
            from: content.source(),
            to: inside.memories[number].clone(),
            done: Done::new(move |outcome, _| {
                device.uploaded(&then, number, version, &outcome);
            }),
        };
        actions.uploads.push((inside.stream, upload));
    }

    fn uploaded(
        self: &Arc<Self>,
        entry: &Arc<Entry>,
        number: usize,
        version: u64,
        outcome: &Outcome,
    ) {
        self.with(|state, actions| {
            let bytes = entry.uses[number].content.bytes();
            self.account(state, entry, Lane::Upload, bytes, outcome);
            let error = outcome.as_ref().err().cloned();
            self.arrived(state, actions, entry, number, version, error);
        });
    }

    /// A copy has arrived, or has failed to.
    pub(super) fn arrived(
        self: &Arc<Self>,
        state: &mut State,
        actions: &mut Actions,
        entry: &Arc<Entry>,
        number: usize,
        version: u64,
        error: Option<DeviceError>,
    ) {
        let id = entry.uses[number].content.id();
        let mut waiting = Vec::new();
        if let Some(copy) = state.table.get_mut(id) {
            let arrived = copy
                .arriving
                .take_if(|arriving| arriving.version == version);
            waiting = arrived.map_or_else(Vec::new, |arrived| arrived.waiting);
            match error {
                // The task may have landed ahead, and made a newer version of it.
                None => copy.version = copy.version.max(Some(version)),
                // That version is lost, with its reason, when the task comes down. Who asks for
                // it before then gets a copy that is made behind the task, and no other reason.
                Some(_) if copy.version > Some(version) => {}
                Some(_) => copy.version = None,
            }
        }
        if state.lost.is_some() {
            state.table.remove(id);
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
        self.ended(state, actions, entry, error);
    }

    /// Gives the back-end what was launched, if all that the task reads is there or on its way.
    pub(super) fn submit_if_there(
        self: &Arc<Self>,
        state: &mut State,
        actions: &mut Actions,
        entry: &Arc<Entry>,
    ) {
        let mut inside = entry.lock();
        if inside.arrivals == 0 && inside.error.is_none() {
            self.submit_recorded(state, actions, entry, &mut inside);
        }
    }
}
