//! A device: its queue, what is in flight, and what is in its memory.
//!
//! There is no thread here. Whoever has news, a worker with a task or a back-end with the end of an
//! operation, locks the device, changes what is to be changed, and takes along what is to be done
//! once the lock is open again: [`Actions`]. So back-ends may end an operation inside the call that
//! submits it, and wakers may do what they like.

pub(crate) mod auto;
mod bring;
pub(crate) mod entry;
mod estimate;
mod flight;
mod landing;
mod locked;
mod memory;
pub(crate) mod peer;
pub(crate) mod queue;
mod standing;
mod steal;
mod submissions;
mod table;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::task::Waker;
use std::time::Instant;

use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Backend, Download, Launch, PeerCopy, Upload};
use crate::buffer::content::{Content, Place};
use crate::buffer::hold::{Held, Use};
use crate::common::{Common, HasQueue, Sample};
use crate::history::{Known, Side};
use crate::profile::DeviceProfile;
use crate::profile::account::Account;
use bring::Incoming;
use entry::{Entry, Phase};
pub(crate) use estimate::Estimate;
use locked::Locked;
use peer::Down;
use queue::{Loads, Queue};
use standing::Replaced;
use submissions::Submissions;
use table::Table;

pub(crate) struct Device {
    pub(crate) index: usize,
    pub(crate) name: String,
    pub(crate) memory_bytes: u64,
    shares_cores: bool,
    /// How many streams are used.
    streams: usize,
    /// More tasks than streams may be on the device, if they are short.
    adapts: bool,
    pub(crate) common: Arc<Common>,
    backend: Arc<dyn Backend>,
    state: Mutex<State>,
    /// Locked by itself, or within `state`.
    submissions: Submissions,
    /// Buffers that are gone, and whose copies may go. A lock of its own, because a buffer can be
    /// dropped while the device is locked.
    gone: Mutex<Vec<u64>>,
    this: Weak<Device>,
    /// The other devices, from which it may take tasks.
    pub(crate) others: OnceLock<Vec<Weak<Device>>>,
}

struct State {
    lost: Option<DeviceError>,
    /// Kinds whose kernels failed here.
    refused: HashSet<&'static str>,
    queue: Queue,
    flying: Loads,
    /// When the oldest of what is flying became the next to land.
    flying_since: Instant,
    replaced: Replaced,
    /// The tasks that are flying, in no order.
    window: Vec<Arc<Entry>>,
    /// Streams that are free.
    streams: Vec<usize>,
    /// Tasks that are on the device, and do not wait for anything else.
    aboard: usize,
    /// Tasks among them that have landed ahead of their operations.
    ahead: usize,
    /// Who waits until there are none of these.
    waiters: Vec<Waker>,
    /// Copies to the host that are under way without a task.
    fetching: usize,
    table: Table,
    /// How many tasks on their way here read a buffer: it need not be brought once more.
    wanted: HashMap<u64, usize>,
    /// A task of the queue was woken, so that a worker says whether it takes it.
    has_called: bool,
    /// How often in succession a task that was called was alone in the queue.
    alone: u32,
    account: Account,
}

/// The actions to take when the device is no longer locked, in this order.
#[derive(Default)]
struct Actions {
    /// A stream follows another one.
    follows: Vec<(usize, usize)>,
    uploads: Vec<(usize, Upload)>,
    copies: Vec<(usize, PeerCopy)>,
    /// Buffers that come from other devices.
    crossings: Vec<Incoming>,
    /// Tasks that have come down, and who is to be told of it.
    downs: Vec<(Down, Option<DeviceError>)>,
    /// Buffers whose copies here are lost, and why.
    losses: Vec<(Arc<dyn Content>, String)>,
    launches: Vec<(usize, Launch)>,
    downloads: Vec<(usize, Download)>,
    releases: Vec<Held>,
    wakes: Vec<Waker>,
    /// To be dropped.
    wakers: Vec<Waker>,
    reports: Vec<DeviceError>,
    /// Their last references may be among these.
    entries: Vec<Arc<Entry>>,
    contents: Vec<Arc<dyn Content>>,
    look: bool,
}

/// Once a task of the queue was alone so often, the next ones are not put there to be looked for,
/// but for one in [`ALONE_EVERY`].
const ALONE_MAX: u32 = 4;
const ALONE_EVERY: u32 = 8;

/// A worker has a task of the queue.
pub(crate) struct Taken {
    /// It is to be measured.
    pub(crate) sample: Option<Sample>,
}

/// The fate of a task that was put into the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Queued {
    OnItsWay,
    /// Nobody else wants it, and it is the only one: better to run it right here.
    Lonely,
}

impl HasQueue for Device {
    fn common(&self) -> &Common {
        &self.common
    }

    /// Wakes the task that a free worker would best take, so that one says whether it does. One
    /// that was called before and has not answered may never be polled again: it is passed over.
    fn call(self: Arc<Self>) {
        self.with(|state, actions| {
            state.has_called = false;
            self.call_one(state, actions);
        });
    }

    /// Something was measured for the first time, or is not being measured any more: tasks that
    /// wait stand elsewhere now, and one may be the next to be measured.
    fn estimate_again(self: Arc<Self>, kind: &str) {
        self.with(|state, actions| {
            self.requeue(state, kind);
            state.has_called = false;
            self.call_one(state, actions);
        });
    }

    /// Tasks wait for it. Whether it has something to do meanwhile.
    fn has_queue(&self) -> Option<bool> {
        let state = self.lock();
        (self.common.decides() && state.queue.loads().count > 0).then_some(state.flying.count > 0)
    }
}

impl Device {
    pub(crate) fn new(
        index: usize,
        name: String,
        backend: Arc<dyn Backend>,
        window: Option<usize>,
        common: Arc<Common>,
    ) -> Arc<Device> {
        let streams = window.unwrap_or_else(|| backend.streams()).max(1);
        let adapts = window.is_none() && !common.is_through();
        let memory_bytes = backend.memory_bytes();
        Arc::new_cyclic(|this| Device {
            index,
            name,
            memory_bytes,
            shares_cores: backend.shares_cores(),
            streams,
            adapts,
            common,
            state: Mutex::new(State {
                lost: None,
                refused: HashSet::new(),
                queue: Queue::new(),
                flying: Loads::default(),
                flying_since: Instant::now(),
                replaced: Replaced::default(),
                window: Vec::new(),
                streams: (0..streams).rev().collect(),
                aboard: 0,
                ahead: 0,
                waiters: Vec::new(),
                fetching: 0,
                table: Table::new(memory_bytes),
                wanted: HashMap::new(),
                has_called: false,
                alone: 0,
                account: Account::new(),
            }),
            submissions: Submissions::new(),
            backend,
            gone: Mutex::new(Vec::new()),
            this: Weak::clone(this),
            others: OnceLock::new(),
        })
    }

    fn lock(&self) -> Locked<'_> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        Locked::new(self, state)
    }

    /// Changes something, and does what follows from it.
    fn with<R>(self: &Arc<Self>, change: impl FnOnce(&mut State, &mut Actions) -> R) -> R {
        let mut actions = Actions::default();
        let (result, steals) = {
            let mut state = self.lock();
            self.bury(&mut state);
            let result = change(&mut state, &mut actions);
            self.pump(&mut state, &mut actions);
            if state.ahead == 0 {
                actions.wakes.append(&mut state.waiters);
            }
            self.submissions.take(&mut actions);
            (result, self.steals(&state))
        };
        self.act(actions);
        self.tidy();
        if steals {
            self.steal();
        }
        result
    }

    /// Buffers may have gone while the device was locked.
    fn tidy(&self) {
        loop {
            let gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
            if gone.is_empty() {
                return;
            }
            drop(gone);
            // If it is locked, this is left to whoever has locked it.
            let Ok(mut state) = self.state.try_lock() else {
                return;
            };
            self.bury(&mut state);
        }
    }

    /// Frees the copies of buffers that are gone.
    fn bury(&self, state: &mut State) {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        for id in mem::take(&mut *gone) {
            state.table.remove(id);
        }
    }

    fn act(self: &Arc<Self>, actions: Actions) {
        let Actions {
            releases,
            wakes,
            wakers,
            reports,
            entries,
            contents,
            look,
            crossings,
            downs,
            losses,
            ..
        } = actions;
        self.submissions.submit(&*self.backend);
        // Before anybody else holds them.
        for (content, reason) in &losses {
            self.lose(&**content, content.versions().0, reason);
        }
        for incoming in &crossings {
            self.bring_over(incoming);
        }
        downs.into_iter().for_each(|(then, error)| then(error));
        drop((releases, crossings, losses));
        for error in &reports {
            self.common.report(self.index, &self.name, error);
        }
        wakes.into_iter().for_each(Waker::wake);
        drop((entries, contents, wakers));
        if look {
            self.common.look();
        }
    }

    pub(crate) fn place(&self) -> Weak<dyn Place> {
        Weak::clone(&self.this) as Weak<dyn Place>
    }

    /// Returns the measured time of such a task here.
    pub(crate) fn known(&self, kind: &str, work: f64) -> Known {
        let history = &self.common.history;
        history.known(kind, Side::Device(&self.name), work)
    }

    /// A copy of that version is here.
    pub(crate) fn has(&self, id: u64, version: u64) -> bool {
        self.lock().table.has(id, version)
    }

    /// Returns what the device did so far.
    pub(crate) fn profile(&self) -> DeviceProfile {
        let mut state = self.lock();
        DeviceProfile {
            name: self.name.clone(),
            memory_bytes: state.table.bytes(),
            is_lost: state.lost.is_some(),
            ..state.account.profile()
        }
    }

    /// Why a task cannot be here at all.
    pub(crate) fn refusal(&self, kind: &str, uses: &[Use], has_cpu: bool) -> Option<DeviceError> {
        let bytes: u64 = uses.iter().map(|one| one.content.bytes() as u64).sum();
        if bytes > self.memory_bytes {
            let text = format!(
                "the task uses {bytes} bytes; the device has {}",
                self.memory_bytes
            );
            return Some(DeviceError::new(Cause::OutOfMemory, text));
        }
        let most = self.backend.buffer_bytes_max();
        let large = |one: &&Use| one.content.bytes() as u64 > most;
        if let Some(one) = uses.iter().find(large) {
            let bytes = one.content.bytes();
            let text = format!("a buffer has {bytes} bytes; on this device it may have {most}");
            return Some(DeviceError::new(Cause::OutOfMemory, text));
        }
        let state = self.lock();
        if let Some(error) = &state.lost {
            return Some(error.clone());
        }
        if has_cpu && state.refused.contains(kind) {
            let text = format!("kernels of `{kind}` failed here before");
            return Some(DeviceError::new(Cause::Kernel, text));
        }
        None
    }

    /// Takes a task into the queue.
    pub(crate) fn enqueue(self: &Arc<Self>, entry: &Arc<Entry>, blocks: bool) -> Queued {
        self.with(|state, actions| {
            let mut inside = entry.lock();
            if let Some(error) = &state.lost {
                inside.phase = Phase::Failed(error.clone());
                actions.releases.extend(inside.held.take());
                return;
            }
            if inside.error.is_some() {
                drop(inside);
                self.settle(state, actions, entry);
                return;
            }
            inside.phase = Phase::Queued;
            let history = &self.common.history;
            inside.is_sample = history.begin(entry.kind, Side::Device(&self.name));
            drop(inside);
            self.push(state, entry);
        });
        let others = self.others.get().into_iter().flatten();
        for other in others.filter_map(Weak::upgrade) {
            if entry.phase() == Phase::Queued {
                other.steal();
            }
        }
        if entry.may_leave && self.common.decides() && entry.phase() == Phase::Queued {
            return self.see_to(entry, blocks);
        }
        Queued::OnItsWay
    }

    fn push(&self, state: &mut State, entry: &Arc<Entry>) {
        for one in entry.uses.iter().filter(|one| one.access.reads()) {
            *state.wanted.entry(one.content.id()).or_default() += 1;
        }
        state.queue.push(Arc::clone(entry));
        state.replaced.came();
    }

    /// A task had to stay in the queue. Has a worker look at it, if that may be better.
    ///
    /// Something always leads on from here. If something is flying, its landing does; if a CPU side
    /// is running, its end does. Else this is the only task, and either runs at once, or a worker
    /// is to look. On a pool of one worker the latter needs that one, which must not be blocked.
    fn see_to(self: &Arc<Self>, entry: &Arc<Entry>, blocks: bool) -> Queued {
        let mut state = self.lock();
        if !self.worker_takes(&state, entry) {
            return Queued::OnItsWay;
        }
        let is_alone = state.queue.loads().count == 1 && self.common.running() == 0;
        let must_look = self.common.workers() == 1 && !blocks;
        if is_alone && state.flying.count == 0 && !must_look {
            return Queued::Lonely;
        }
        if is_alone && state.alone >= ALONE_MAX {
            state.alone += 1;
            if state.alone % ALONE_EVERY != 0 {
                return Queued::Lonely;
            }
        }
        drop(state);
        self.common.look();
        Queued::OnItsWay
    }

    fn worker_takes(&self, state: &State, entry: &Entry) -> bool {
        let history = &self.common.history;
        let cpu = history.known(entry.kind, Side::Cpu, entry.work);
        let device = self.known(entry.kind, entry.work);
        let standing = self.standing(state);
        auto::takes(
            cpu,
            device,
            &entry.load(),
            self.wait_s(state, entry),
            &standing,
        )
    }

    /// Where nothing flies, each task is one that the device wants or one that a worker takes, as
    /// both ask the same question: either the device takes one when this is over, or one is called.
    /// Were only the first of each class asked, one that the device does not want could be hidden
    /// behind one that no worker takes.
    fn call_one(&self, state: &mut State, actions: &mut Actions) {
        if state.has_called || !self.common.decides() {
            return;
        }
        let may = |entry: &Entry| entry.may_leave && !entry.lock().is_called;
        let takes = |entry: &Entry| self.worker_takes(state, entry);
        let worst = match state.flying.count {
            0 => state.queue.worst_of_all(|entry| may(entry) && takes(entry)),
            _ => state.queue.worst(may, takes),
        };
        let Some(entry) = worst.map(Arc::clone) else {
            return;
        };
        let mut inside = entry.lock();
        inside.is_called = true;
        state.has_called = true;
        actions.wakes.extend(inside.waker.clone());
    }

    /// A worker has been called, or is asked anyhow (`at_once`). It has the task now if something
    /// is returned.
    pub(crate) fn take_back(entry: &Arc<Entry>, at_once: bool) -> Option<Taken> {
        if !at_once && !entry.lock().is_called {
            return None;
        }
        entry.with(|device, state, actions| {
            if entry.phase() != Phase::Queued {
                return None;
            }
            let takes = at_once || device.worker_takes(state, entry);
            let taken = takes.then(|| device.taken(entry)).flatten();
            if taken.is_some() {
                let alone = state.queue.loads().count == 1;
                if !at_once {
                    state.alone = if alone { state.alone + 1 } else { 0 };
                }
                device.leave_queue(state, entry, Phase::Returned, actions);
                actions.look = !alone;
            }
            device.answered(state, entry);
            if taken.is_none() {
                device.call_one(state, actions);
            }
            taken
        })
    }

    /// A task of a kind that was never measured on the CPU is measured, unless another one is.
    fn taken(&self, entry: &Entry) -> Option<Taken> {
        let history = &self.common.history;
        match history.known(entry.kind, Side::Cpu, entry.work) {
            Known::Measured(_) => Some(Taken { sample: None }),
            Known::Nothing | Known::AtLeast(_) => {
                let sample = Some(Sample::first(&self.common, entry.kind)?);
                Some(Taken { sample })
            }
        }
    }

    /// A task that was called is no longer waited for.
    fn answered(&self, state: &mut State, entry: &Entry) {
        if mem::take(&mut entry.lock().is_called) {
            state.has_called = false;
        }
    }

    fn leave_queue(
        &self,
        state: &mut State,
        entry: &Arc<Entry>,
        phase: Phase,
        actions: &mut Actions,
    ) {
        if state.queue.remove(entry) {
            state.replaced.left();
        }
        self.no_longer_wanted(state, entry);
        let mut inside = entry.lock();
        self.end_sample(entry, &mut inside);
        inside.phase = phase;
        actions.releases.extend(inside.held.take());
    }

    fn no_longer_wanted(&self, state: &mut State, entry: &Entry) {
        for one in entry.uses.iter().filter(|one| one.access.reads()) {
            let id = one.content.id();
            if let Some(count) = state.wanted.get_mut(&id) {
                *count -= 1;
                if *count == 0 {
                    state.wanted.remove(&id);
                }
            }
        }
    }

    /// Nobody waits for the task any more.
    pub(crate) fn abandon(entry: &Arc<Entry>) {
        entry.with(|device, state, actions| {
            device.answered(state, entry);
            match entry.phase() {
                Phase::Queued => {
                    device.leave_queue(state, entry, Phase::Returned, actions);
                    // It may have been called in the place of another.
                    device.call_one(state, actions);
                }
                Phase::Flying => {
                    let mut inside = entry.lock();
                    inside.is_abandoned = true;
                    inside.is_closed = true;
                    inside.recorded.clear();
                    drop(inside);
                    device.advance(state, actions, entry);
                }
                Phase::Fresh | Phase::Landed | Phase::Failed(_) | Phase::Returned => {
                    actions.releases.extend(entry.lock().held.take());
                }
            }
            // A waker may hold on to whatever it likes: it is dropped when the device is open
            // again.
            actions.wakers.extend(entry.lock().waker.take());
        });
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
