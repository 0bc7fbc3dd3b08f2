//! Buffers whose only valid copy is on the device.

use std::mem;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::{Actions, Device, DeviceState};
use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Backend, Done, Download, Outcome, Remains};
use crate::buffer::content::{Content, CopyPlace, Missing};
use crate::buffer::lent::{Lent, Way};
use crate::common::LEFT_BEHIND;
use crate::profile::DeviceEngine;

impl CopyPlace for Device {
    fn fetch(self: Arc<Self>, content: Arc<dyn Content>) {
        if !self.common.process.is_here() {
            // Whoever reads is told, each time.
            return content.fetched(Err(Missing::ThisTime(LEFT_BEHIND.to_owned())));
        }
        let fetched = self.with(|state, actions| {
            let (id, version) = (content.id(), content.versions().0);
            let (memory, stream) = match state.table.get_mut(id) {
                Some(copy) if copy.version == Some(version) => (
                    copy.memory.clone(),
                    copy.writer().map_or(0, |writer| writer.lock().stream),
                ),
                _ => {
                    let error = state.lost.as_ref().map(ToString::to_string);
                    let reason = error.unwrap_or_else(|| "its copy there is gone".to_owned());
                    return Err(format!("{}: {reason}", self.name));
                }
            };
            state.table.hold_on(id);
            state.fetching += 1;
            state.account.begin(DeviceEngine::Download);
            let (device, then) = (Arc::clone(&self), Arc::clone(&content));
            let download = Download {
                from: memory,
                to: content.target(),
                done: Done::new(move |outcome, left| device.fetched(&*then, outcome, left)),
            };
            actions.decided.downloads.push((stream, download));
            Ok(())
        });
        if let Err(reason) = fetched {
            // The device may have been lost since it was asked what it has.
            self.lose(&*content, content.versions().0, &reason);
            content.fetched(Err(Missing::NoLonger));
        }
    }

    fn has_valid(&self, id: u64, version: u64) -> bool {
        self.lock().table.valid(id, version).is_some()
    }

    fn way(&self, id: u64, version: u64, to: &dyn Backend) -> Option<Way> {
        let name = || self.name.clone();
        let way = || match to.can_reach(&*self.backend) {
            true => Way::Direct(name()),
            false => Way::ByHost(name()),
        };
        self.has_valid(id, version).then(way)
    }

    fn lend(self: Arc<Self>, id: u64, version: u64, to: &dyn Backend) -> Option<Lent> {
        to.can_reach(&*self.backend)
            .then(|| self.lend_copy(id, version))?
    }

    fn forget(&self, id: u64) {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        gone.push(id);
        drop(gone);
        self.tidy();
    }
}

impl Device {
    fn fetched(self: &Arc<Self>, content: &dyn Content, outcome: Outcome, left: Remains) {
        self.account_fetch(content, &outcome);
        let mut reports = Vec::new();
        content.fetched(match (outcome, left) {
            (Ok(_), Remains::Copy(target)) => Ok(target),
            (Err(error), _) => {
                let version = content.versions().0;
                reports = self.copy_failed(content, version, &error);
                Err(match error.cause() {
                    Cause::Lost => Missing::NoLonger,
                    _ => Missing::ThisTime(format!("{}: {error}", self.name)),
                })
            }
            (Ok(_), _) => unreachable!("only a failure leaves a download without its copy"),
        });
        self.freed(content, false, reports);
    }

    /// A copy to the host has failed. With the device its copy is lost, and with that the buffer,
    /// if no other device has one. After any other failure it is as good as before. Returns what is
    /// to be reported when nobody waits for this copy any more: who hears of it may take a guard.
    fn copy_failed(
        self: &Arc<Self>,
        content: &dyn Content,
        version: u64,
        error: &DeviceError,
    ) -> Vec<DeviceError> {
        let reports = self.with(|state, actions| {
            self.failed(state, actions, None, error);
            mem::take(&mut actions.reports)
        });
        if error.cause() == Cause::Lost {
            self.lose(content, version, &format!("{}: {error}", self.name));
        }
        reports
    }

    /// Copies a buffer that nobody uses here to the host, so that its memory can be had.
    ///
    /// A task in the queue may hold the buffer. But only tasks that are flying change it, and their
    /// copies stay where they are. A guard that writes makes the copy out of date, and `spilled` a
    /// thing of the past.
    pub(super) fn spill(
        self: &Arc<Self>,
        state: &mut DeviceState,
        actions: &mut Actions,
        content: Arc<dyn Content>,
    ) {
        let id = content.id();
        let Some(copy) = state.table.get_mut(id) else {
            return;
        };
        let (from, Some(version)) = (copy.memory.clone(), copy.version) else {
            return;
        };
        copy.is_spilling = true;
        state.table.hold_on(id);
        state.fetching += 1;
        state.account.begin(DeviceEngine::Download);
        let (device, then, to) = (Arc::clone(self), Arc::clone(&content), content.target());
        let done = Done::new(move |outcome, left| {
            device.account_fetch(&*then, &outcome);
            let mut reports = Vec::new();
            match (outcome, left) {
                (Ok(_), Remains::Copy(target)) => then.spilled(version, target),
                (Err(error), _) => {
                    device.stays(&*then, version);
                    reports = device.copy_failed(&*then, version, &error);
                }
                (Ok(_), _) => {}
            }
            device.freed(&*then, true, reports);
        });
        actions
            .decided
            .downloads
            .push((0, Download { from, to, done }));
    }

    /// That version could not be copied to the host to make room.
    fn stays(&self, content: &dyn Content, version: u64) {
        if let Some(copy) = self.lock().table.get_mut(content.id()) {
            copy.stays = Some(version);
        }
    }

    fn account_fetch(self: &Arc<Self>, content: &dyn Content, outcome: &Outcome) {
        let bytes = content.bytes();
        let time = outcome.as_ref().map_or(Duration::ZERO, |time| *time);
        self.lock().account.end(DeviceEngine::Download, bytes, time);
        if outcome.is_ok() {
            let (common, seconds) = (&self.common, time.as_secs_f64());
            let engine = DeviceEngine::Download;
            common.recorder.device(self.index, 0, engine, "fetch", time);
            let history = &common.history;
            history.record_transfer(&self.name, 1, bytes as f64, seconds);
        }
    }

    /// The memory of a buffer may be free for somebody now.
    fn freed(
        self: &Arc<Self>,
        content: &dyn Content,
        was_spilling: bool,
        reports: Vec<DeviceError>,
    ) {
        self.with(|state, actions| {
            actions.reports = reports;
            state.fetching -= 1;
            if was_spilling {
                if let Some(copy) = state.table.get_mut(content.id()) {
                    copy.is_spilling = false;
                }
            }
            state.table.unpin(content.id());
        });
    }
}
