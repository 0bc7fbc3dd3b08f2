//! Tasks on the device: from the queue to the last operation.

use std::mem;
use std::ptr;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use super::entry::{Before, DeviceEntry, EntryState, Phase, Recorded, RecordedArg};
use super::table::Short;
use super::{Actions, Device, DeviceState, auto};
use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Done, Download, Launch, LaunchArg, Outcome, Remains};
use crate::history::MeasuredSide;
use crate::profile::DeviceEngine;

/// So many tasks are aboard at most where tasks land ahead.
const AHEAD_MAX: usize = 256;
/// A task without a stream of its own is brought aboard if the others take less than this: long
/// enough that the device does not wait for the host, and short enough to be a small loss where a
/// worker would have been sooner.
const AHEAD_S: f64 = 1e-3;

impl Device {
    /// Takes tasks from the queue as long as there is a stream for them.
    pub(super) fn pump(self: &Arc<Self>, state: &mut DeviceState, actions: &mut Actions) {
        // A forked child has none of the threads that would do them.
        let is_here = self.common.process.is_here();
        while is_here && state.lost.is_none() && self.has_room(state) {
            let standing = self.standing(state);
            let workers = self.common.decides().then_some(standing.workers);
            let window = &state.window;
            let popped = state
                .queue
                .pop(workers, |entry| self.wants(entry, window, &standing));
            let Some((entry, end)) = popped else { return };
            if !self.admit(state, actions, &entry) {
                state.queue.push_at(entry, end);
                return;
            }
        }
    }

    /// Whether another task may be brought onto the device: on a stream of its own; or, where tasks
    /// land ahead of their operations, as long as those aboard are done soon. A task that is behind
    /// others on their stream is brought in any case; but where workers may take tasks, no more
    /// than there are streams, for what is aboard is done in its order, and no worker can be
    /// sooner.
    pub(super) fn has_room(&self, state: &DeviceState) -> bool {
        let is_short = || state.flying.count < AHEAD_MAX && self.flying(state).mean < AHEAD_S;
        let is_free = !state.streams.is_empty();
        let is_left = !self.common.decides() || state.flying.count < self.streams;
        (is_free && is_left) || (self.adapts && is_short())
    }

    /// `window` has the tasks that are flying.
    fn wants(
        &self,
        entry: &DeviceEntry,
        window: &[Arc<DeviceEntry>],
        standing: &auto::Standing,
    ) -> bool {
        if !entry.may_leave || !self.common.decides() {
            return true;
        }
        if !self.may_trust(entry, window) {
            return false;
        }
        let history = &self.common.history;
        let cpu = history.known(entry.kind, MeasuredSide::Cpu, entry.work);
        let device = self.known(entry.kind, entry.work);
        auto::admits(cpu, device, &entry.load(), standing)
    }

    /// Whether there is enough behind the time that a task is expected to take for what hangs on
    /// it: no more tasks of a kind are aboard than the root of how many were measured here. What is
    /// aboard is done here, also if each takes a thousand times as long as those, which may have
    /// been a row of neighbours that have little to do.
    pub(super) fn may_trust(&self, entry: &DeviceEntry, window: &[Arc<DeviceEntry>]) -> bool {
        let aboard = window.iter().filter(|one| one.kind == entry.kind).count();
        let history = &self.common.history;
        let samples = history.samples(entry.kind, MeasuredSide::Device(&self.name), entry.work);
        aboard == 0 || aboard * aboard < samples as usize
    }

    /// Brings a task onto the device. False if there is no memory for it now.
    fn admit(
        self: &Arc<Self>,
        state: &mut DeviceState,
        actions: &mut Actions,
        entry: &Arc<DeviceEntry>,
    ) -> bool {
        let mut inside = entry.lock();
        // A buffer that a spill reads must not be written on another stream. The spill's end comes
        // here again.
        let mut written = entry.uses.iter().filter(|one| one.access.writes());
        if written.any(|one| state.table.is_spilling(one.content.id())) {
            return false;
        }
        let is_alone = state.aboard == 0 && state.fetching == 0;
        let mut memories = Vec::with_capacity(entry.uses.len());
        for one in &entry.uses {
            // Whatever becomes of the task, the end of the buffer frees the copy.
            one.content.is_at(self.place());
            let (backend, let_go) = (&*self.backend, &mut actions.let_go);
            match state.table.pin(backend, &one.content, is_alone, let_go) {
                Ok(memory) => memories.push(memory),
                Err(short) => {
                    for done in &entry.uses[..memories.len()] {
                        state.table.unpin(done.content.id());
                    }
                    drop(memories);
                    match short {
                        Short::ForNow(only) => {
                            if let Some(content) = only {
                                self.spill(state, actions, content);
                            }
                            return false;
                        }
                        Short::Ever(error) => inside.fail(error),
                    }
                    drop(inside);
                    self.answered(state, entry);
                    self.no_longer_wanted(state, entry);
                    self.settle(state, actions, entry);
                    return true;
                }
            }
        }
        inside.phase = Phase::Flying;
        inside.memories = memories;
        self.line_up(state, actions, entry, &mut inside);
        inside.copies = entry.uses.iter().map(|_| None).collect();
        inside.admitted = Some(Instant::now());
        drop(inside);
        state.aboard += 1;
        self.answered(state, entry);
        self.no_longer_wanted(state, entry);
        self.enter_window(state, entry);
        self.bring(state, actions, entry);
        let mut inside = entry.lock();
        if inside.error.is_some() {
            inside.recorded.clear();
        } else if inside.arrivals == 0 {
            self.submit_recorded(state, actions, entry, &mut inside);
        }
        drop(inside);
        self.advance(state, actions, entry);
        true
    }

    /// Puts a task behind those that have landed ahead and use the same memory.
    fn line_up(
        &self,
        state: &mut DeviceState,
        actions: &mut Actions,
        entry: &DeviceEntry,
        inside: &mut EntryState,
    ) {
        for one in &entry.uses {
            let version = one.content.versions().0;
            let Some(copy) = state.table.get_mut(one.content.id()) else {
                continue;
            };
            let is_valid = copy.version == Some(version);
            let changes = one.access.writes() || (one.access.reads() && !is_valid);
            // Who wrote it last is behind all that came before.
            for (other, writes) in copy.ahead.iter().rev() {
                let is_read = *writes && one.access.reads() && is_valid;
                let mut before = inside.before.iter_mut();
                match before.find(|known| Arc::ptr_eq(&known.entry, other)) {
                    Some(known) => known.is_read |= is_read,
                    None if changes || *writes => inside.before.push(Before {
                        entry: Arc::clone(other),
                        is_read,
                    }),
                    None => {}
                }
                if *writes {
                    break;
                }
            }
        }
        let before = inside.before.iter();
        let mut streams: Vec<_> = before.map(|one| one.entry.lock().stream).collect();
        let Some(own) = streams.pop() else { return };
        inside.stream = own;
        streams.sort_unstable();
        streams.dedup();
        streams.retain(|stream| *stream != own);
        let follows = streams.into_iter().map(|stream| (own, stream));
        actions.decided.follows.extend(follows);
    }

    pub(super) fn enter_window(&self, state: &mut DeviceState, entry: &Arc<DeviceEntry>) {
        let mut inside = entry.lock();
        if inside.in_window {
            return;
        }
        inside.in_window = true;
        // Who is behind others stays on their stream.
        if inside.before.is_empty() {
            let own = state.streams.pop();
            inside.owns_stream = own.is_some();
            // A task that goes on after a pause, or is short, does not wait for a stream.
            inside.stream = own.unwrap_or(state.flying.count % self.streams);
        }
        if state.flying.count == 0 {
            state.flying_since = Instant::now();
        }
        inside.flying = entry.load();
        let takes_s = self.flying(state).mean + inside.flying.alone();
        inside.done_at = Instant::now().checked_add(Duration::from_secs_f64(takes_s));
        state.flying.add(&inside.flying);
        state.window.push(Arc::clone(entry));
    }

    /// The GPU side was polled and is not done. If it does not wait for the device, others must not
    /// wait for it.
    pub(crate) fn still_open(entry: &Arc<DeviceEntry>) {
        let waits = {
            let mut inside = entry.lock();
            // An operation that ended while the task was polled has woken it: it is about to be
            // polled again.
            inside.is_polled = !inside.is_woken;
            inside.waits_elsewhere()
        };
        if waits {
            entry.with(|device, state, _| device.go_away(state, entry));
        }
    }

    /// A task that waits for something else than the device is not counted among those aboard.
    pub(super) fn go_away(&self, state: &mut DeviceState, entry: &DeviceEntry) {
        let mut inside = entry.lock();
        if inside.waits_elsewhere() && !inside.is_away {
            inside.is_away = true;
            state.aboard -= 1;
        }
    }

    pub(super) fn back(&self, state: &mut DeviceState, entry: &DeviceEntry) {
        if std::mem::take(&mut entry.lock().is_away) {
            state.aboard += 1;
        }
    }

    pub(super) fn leave_window(&self, state: &mut DeviceState, entry: &DeviceEntry) {
        let mut inside = entry.lock();
        if !inside.in_window {
            return;
        }
        inside.in_window = false;
        if std::mem::take(&mut inside.owns_stream) {
            state.streams.push(inside.stream);
        }
        state.flying.remove(&inside.flying);
        state.flying_since = Instant::now();
        state.replaced.ended();
        let mut window = state.window.iter();
        if let Some(at) = window.position(|one| ptr::eq(&raw const **one, entry)) {
            state.window.swap_remove(at);
        }
    }

    /// The GPU side launches something.
    pub(crate) fn launch(entry: &Arc<DeviceEntry>, recorded: Recorded) {
        entry.with(|device, state, actions| {
            let mut inside = entry.lock();
            match &inside.phase {
                Phase::Fresh | Phase::Queued => inside.recorded.push(recorded),
                Phase::Flying if inside.error.is_none() && !inside.is_closed => {
                    inside.recorded.push(recorded);
                    drop(inside);
                    device.back(state, entry);
                    device.enter_window(state, entry);
                    let mut inside = entry.lock();
                    if inside.arrivals == 0 {
                        device.submit_recorded(state, actions, entry, &mut inside);
                    }
                }
                _ => {
                    let error = inside.error.clone().unwrap_or_else(|| {
                        let text = "launched after the task had ended";
                        DeviceError::new(Cause::Kernel, text)
                    });
                    if let Some(launched) = inside.launches.get_mut(&recorded.number) {
                        launched.outcome = Some(Err(error));
                    }
                    inside.launch_ended(recorded.number);
                }
            }
        });
    }

    /// Gives the back-end what was launched.
    pub(super) fn submit_recorded(
        self: &Arc<Self>,
        state: &mut DeviceState,
        actions: &mut Actions,
        entry: &Arc<DeviceEntry>,
        inside: &mut EntryState,
    ) {
        for recorded in std::mem::take(&mut inside.recorded) {
            let arguments = recorded.arguments.into_iter();
            let arguments = arguments.map(|argument| match argument {
                RecordedArg::Buffer {
                    number,
                    range,
                    writable,
                } => LaunchArg::Memory {
                    memory: inside.memories[number].clone(),
                    range,
                    writable,
                },
                RecordedArg::Value(bytes) => LaunchArg::Value(bytes),
            });
            let (device, then) = (Arc::clone(self), Arc::clone(entry));
            let number = recorded.number;
            let launch = Launch {
                kernel: recorded.kernel,
                groups: recorded.groups,
                arguments: arguments.collect(),
                shared: recorded.shared,
                work: recorded.work,
                queued: self.lands_ahead().then(|| {
                    let (device, then) = (Arc::clone(self), Arc::clone(entry));
                    Box::new(move || device.launch_queued(&then, number)) as Box<_>
                }),
                done: Done::new(move |outcome, left| {
                    device.launched(&then, number, outcome, &left);
                }),
            };
            inside.under_way += 1;
            inside.unqueued += 1;
            inside.begun += 1;
            inside.is_copied = false;
            inside.copies.iter_mut().for_each(|copy| *copy = None);
            state.account.begin(DeviceEngine::Kernel);
            actions.decided.launches.push((inside.stream, launch));
        }
    }

    /// Whether a task ends when all that it does is queued: where the host asks for results when it
    /// needs them.
    pub(super) fn lands_ahead(&self) -> bool {
        !self.common.is_through()
    }

    /// A launch is in the order of its stream. With that its task has what it waits for.
    fn launch_queued(self: &Arc<Self>, entry: &Arc<DeviceEntry>, number: usize) {
        self.with(|state, actions| {
            let mut inside = entry.lock();
            let has_failed = inside.error.is_some();
            // It may have ended before its back-end came to say so, and be forgotten.
            let Some(launched) = inside.launches.get_mut(&number) else {
                return;
            };
            if std::mem::replace(&mut launched.is_queued, true) {
                return;
            }
            let waker = (!has_failed).then(|| {
                launched.outcome = Some(Ok(()));
                launched.waker.take()
            });
            inside.unqueued -= 1;
            let Some(waker) = waker else { return };
            inside.is_woken |= waker.is_some();
            inside.is_polled &= waker.is_none();
            actions.wakes.extend(waker);
            drop(inside);
            self.advance(state, actions, entry);
        });
    }

    fn launched(
        self: &Arc<Self>,
        entry: &Arc<DeviceEntry>,
        number: usize,
        outcome: Outcome,
        left: &Remains,
    ) {
        self.with(|state, actions| {
            self.account(state, entry, DeviceEngine::Kernel, 0, &outcome);
            let mut inside = entry.lock();
            match left {
                Remains::Untouched => inside.begun -= 1,
                Remains::Untimed => inside.is_timed = false,
                Remains::Nothing | Remains::Copy(_) => (),
            }
            if let Ok(time) = &outcome {
                inside.kernel_s += time.as_secs_f64();
            }
            let Some(launched) = inside.launches.get_mut(&number) else {
                unreachable!("kept until it has ended");
            };
            launched.outcome = Some(outcome.as_ref().map(|_| ()).map_err(Clone::clone));
            let waker = launched.waker.take();
            let was_queued = mem::replace(&mut launched.is_queued, true);
            inside.unqueued -= usize::from(!was_queued);
            inside.launch_ended(number);
            inside.is_woken |= waker.is_some();
            inside.is_polled &= waker.is_none();
            actions.wakes.extend(waker);
            drop(inside);
            self.ended(state, actions, entry, outcome.err());
        });
    }

    /// Starts the copies of what a task has written.
    pub(super) fn copy_out(
        self: &Arc<Self>,
        state: &mut DeviceState,
        actions: &mut Actions,
        entry: &Arc<DeviceEntry>,
    ) {
        let mut inside = entry.lock();
        inside.is_copied = true;
        for (number, one) in entry.uses.iter().enumerate() {
            if !one.access.writes() {
                continue;
            }
            inside.under_way += 1;
            state.account.begin(DeviceEngine::Download);
            let (device, then) = (Arc::clone(self), Arc::clone(entry));
            let download = Download {
                from: inside.memories[number].clone(),
                to: one.content.target(),
                done: Done::new(move |outcome, left| {
                    device.downloaded(&then, number, outcome, left);
                }),
            };
            actions.decided.downloads.push((inside.stream, download));
        }
    }

    fn downloaded(
        self: &Arc<Self>,
        entry: &Arc<DeviceEntry>,
        number: usize,
        outcome: Outcome,
        left: Remains,
    ) {
        self.with(|state, actions| {
            let bytes = entry.uses[number].content.bytes();
            self.account(state, entry, DeviceEngine::Download, bytes, &outcome);
            let mut inside = entry.lock();
            // Something may have been launched meanwhile; then there will be another copy.
            if outcome.is_ok() && inside.is_copied {
                if let Remains::Copy(target) = left {
                    inside.copies[number] = Some(target);
                }
            }
            drop(inside);
            self.ended(state, actions, entry, outcome.err());
        });
    }

    /// One operation of a task has ended.
    pub(super) fn ended(
        self: &Arc<Self>,
        state: &mut DeviceState,
        actions: &mut Actions,
        entry: &Arc<DeviceEntry>,
        error: Option<DeviceError>,
    ) {
        let mut inside = entry.lock();
        inside.under_way -= 1;
        if let Some(error) = error {
            inside.fail(error);
            // Operations that were not submitted yet never will be.
            inside.recorded.clear();
        }
        drop(inside);
        self.advance(state, actions, entry);
    }

    /// Books the end of an operation.
    pub(super) fn account(
        &self,
        state: &mut DeviceState,
        entry: &DeviceEntry,
        engine: DeviceEngine,
        bytes: usize,
        outcome: &Outcome,
    ) {
        let stream = entry.lock().stream;
        let time = outcome.as_ref().map_or(Duration::ZERO, |time| *time);
        state.account.end(engine, bytes, time);
        let common = &self.common;
        if outcome.is_ok() {
            common
                .recorder
                .device(self.index, stream, engine, entry.kind, time);
            // The times of a copy between devices are those of their link.
            if let Some(direction) = engine.direction().filter(|_| engine != DeviceEngine::Peer) {
                let seconds = time.as_secs_f64();
                let history = &common.history;
                history.record_transfer(&self.name, direction, bytes as f64, seconds);
            }
        }
    }

    /// The GPU side is about to be polled by whoever has that waker, and waits for the task.
    pub(crate) fn set_waker(entry: &DeviceEntry, waker: &Waker) {
        // To clone a waker and to drop one is code of others, which no lock is held for.
        let mut waker = Some(waker.clone());
        let mut inside = entry.lock();
        (inside.is_polled, inside.is_woken) = (false, false);
        mem::swap(&mut inside.waker, &mut waker);
        drop(inside);
    }
}
