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
mod load;
mod memory;
mod peer;
mod queue;
mod replaced;
mod standing;
mod steal;
mod submissions;
mod table;
mod waiting;

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Waker;
use std::time::Instant;

use roving::raw::panics::drop_quietly;

use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Backend, Memory};
use crate::buffer::content::{Content, CopyPlace};
use crate::buffer::hold::{HeldBuffers, Use};
use crate::buffer::lent::Down;
use crate::buffer::wait::wake_all;
use crate::common::{Common, HasQueue};
use crate::history::{Known, MeasuredSide};
use crate::profile::DeviceProfile;
use crate::profile::account::Account;
use entry::{DeviceEntry, Incoming};
pub(crate) use estimate::Estimate;
use load::Loads;
use queue::GainQueue;
use replaced::Replaced;
use submissions::{Decided, Submissions};
use table::{LetGo, MemoryTable};
pub(crate) use waiting::{Queued, Taken};

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
    state: Mutex<DeviceState>,
    /// Locked by itself, or within `state`.
    submissions: Submissions,
    /// Buffers that are gone, and whose copies may go. A lock of its own, because a buffer can be
    /// dropped while the device is locked.
    gone: Mutex<Vec<u64>>,
    this: Weak<Device>,
    /// The other devices, from which it may take tasks.
    pub(crate) others: OnceLock<Vec<Weak<Device>>>,
}

/// The state of a device, under its lock.
struct DeviceState {
    lost: Option<DeviceError>,
    /// Kinds whose kernels failed here.
    refused: HashSet<&'static str>,
    queue: GainQueue<DeviceEntry>,
    flying: Loads,
    /// When the oldest of what is flying became the next to land.
    flying_since: Instant,
    replaced: Replaced,
    /// The tasks that are flying, in no order.
    window: Vec<Arc<DeviceEntry>>,
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
    table: MemoryTable<DeviceEntry>,
    /// How many tasks on their way here read a buffer: it need not be brought once more.
    wanted: HashMap<u64, usize>,
    /// A task of the queue was woken, so that a worker says whether it takes it.
    has_called: bool,
    /// How often in succession a task that was called was alone in the queue.
    alone: u32,
    account: Account,
}

impl DeviceState {
    /// A task does not need its memories any more. What it has are clones, for those that the table
    /// has, unless the device is lost.
    fn give_back(&self, actions: &mut Actions, memories: &mut Vec<Memory>) {
        match self.lost {
            Some(_) => actions.let_go.clones.append(memories),
            None => memories.clear(),
        }
    }
}

/// The actions to take when the device is no longer locked, in this order.
#[derive(Default)]
struct Actions {
    /// Operations for the back-end.
    decided: Decided,
    /// Buffers that come from other devices.
    crossings: Vec<Incoming>,
    /// Tasks that have come down, and who is to be told of it.
    downs: Vec<(Down, Option<DeviceError>)>,
    /// Buffers whose copies here are lost, and why.
    losses: Vec<(Arc<dyn Content>, String)>,
    releases: Vec<HeldBuffers>,
    wakes: Vec<Waker>,
    /// To be dropped.
    wakers: Vec<Waker>,
    reports: Vec<DeviceError>,
    /// Their last references may be among these.
    entries: Vec<Arc<DeviceEntry>>,
    homes: Vec<Arc<dyn CopyPlace>>,
    let_go: LetGo,
    look: bool,
    /// Still to be done with the device locked: workers may be better for what waits.
    calls: bool,
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
            actions.calls = true;
        });
    }

    /// Something was measured for the first time, or is not being measured any more: tasks that
    /// wait stand elsewhere now, and one may be the next to be measured.
    fn estimate_again(self: Arc<Self>, kind: &str) {
        self.with(|state, actions| {
            self.requeue(state, kind);
            state.has_called = false;
            actions.calls = true;
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
            state: Mutex::new(DeviceState {
                lost: None,
                refused: HashSet::new(),
                queue: GainQueue::new(),
                flying: Loads::default(),
                flying_since: Instant::now(),
                replaced: Replaced::default(),
                window: Vec::new(),
                streams: (0..streams).rev().collect(),
                aboard: 0,
                ahead: 0,
                waiters: Vec::new(),
                fetching: 0,
                table: MemoryTable::new(memory_bytes),
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
    fn with<R>(self: &Arc<Self>, change: impl FnOnce(&mut DeviceState, &mut Actions) -> R) -> R {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (result, steals) = self.change(state, change);
        self.tidy();
        if steals {
            self.steal();
        }
        result
    }

    /// Changes something, and does what follows from it, but for what was buried meanwhile. Returns
    /// whether it would take a task of another device.
    fn change<R>(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, DeviceState>,
        change: impl FnOnce(&mut DeviceState, &mut Actions) -> R,
    ) -> (R, bool) {
        let mut actions = Actions::default();
        self.bury(&mut state, &mut actions.let_go);
        let result = change(&mut state, &mut actions);
        let steals = self.go_on(state, &mut actions);
        (result, self.act(actions).unwrap_or(steals))
    }

    /// Does what a change has made possible, and unlocks.
    fn go_on(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, DeviceState>,
        actions: &mut Actions,
    ) -> bool {
        self.follow_up(&mut state, actions);
        self.steals(&state)
    }

    fn follow_up(self: &Arc<Self>, state: &mut DeviceState, actions: &mut Actions) {
        self.pump(state, actions);
        while mem::take(&mut actions.calls) && self.call_tasks(state, actions) {
            self.pump(state, actions);
        }
        if state.ahead == 0 {
            actions.wakes.append(&mut state.waiters);
        }
        self.submissions.take(&mut actions.decided);
    }

    /// Takes the actions. Where memory was let go of there may be room for a task then: it goes on,
    /// and returns as the last [`Device::go_on`].
    fn act(self: &Arc<Self>, mut actions: Actions) -> Option<bool> {
        let mut steals = None;
        loop {
            let dropped = self.act_once(actions);
            if dropped == 0 {
                return steals;
            }
            actions = Actions::default();
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.table.dropped(dropped);
            self.bury(&mut state, &mut actions.let_go);
            steals = Some(self.go_on(state, &mut actions));
        }
    }

    /// Buffers may have gone while the device was locked.
    fn tidy(&self) {
        let is_tidy = || {
            let gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
            gone.is_empty()
        };
        while !is_tidy() {
            let Some(this) = self.this.upgrade() else {
                return;
            };
            // If it is locked, this is left to whoever has locked it.
            let Ok(state) = self.state.try_lock() else {
                return;
            };
            this.change(state, |_, _| ());
        }
    }

    /// Frees the copies of buffers that are gone.
    fn bury(&self, state: &mut DeviceState, let_go: &mut LetGo) {
        let mut gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        for id in mem::take(&mut *gone) {
            state.table.remove(id, let_go);
        }
    }

    /// Takes the actions. Returns how many memories of the table it has dropped.
    fn act_once(self: &Arc<Self>, actions: Actions) -> usize {
        let Actions {
            releases,
            wakes,
            wakers,
            reports,
            entries,
            homes,
            let_go,
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
        drop(releases);
        for error in &reports {
            self.common.report(self.index, &self.name, error);
        }
        wake_all(wakes);
        // To drop them is code of others, and this may be the thread of a back-end.
        wakers.into_iter().for_each(drop_quietly);
        crossings.into_iter().for_each(drop_quietly);
        losses.into_iter().for_each(drop_quietly);
        entries.into_iter().for_each(drop_quietly);
        homes.into_iter().for_each(drop_quietly);
        let dropped = let_go.drop_all();
        if look {
            self.common.look();
        }
        if !reports.is_empty() {
            self.common.call_due();
        }
        dropped
    }

    pub(crate) fn place(&self) -> Weak<dyn CopyPlace> {
        Weak::clone(&self.this) as Weak<dyn CopyPlace>
    }

    /// Returns the measured time of such a task here.
    pub(crate) fn known(&self, kind: &str, work: f64) -> Known {
        let history = &self.common.history;
        history.known(kind, MeasuredSide::Device(&self.name), work)
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
}

/// The device, locked. Buffers that went meanwhile are buried when it is open again.
struct Locked<'d> {
    device: &'d Device,
    state: Option<MutexGuard<'d, DeviceState>>,
}

impl<'d> Locked<'d> {
    fn new(device: &'d Device, state: MutexGuard<'d, DeviceState>) -> Self {
        Locked {
            device,
            state: Some(state),
        }
    }

    /// Unlocks it, and leaves what is to be buried to the drop: while another device is locked.
    fn open(&mut self) {
        self.state = None;
    }
}

impl Deref for Locked<'_> {
    type Target = DeviceState;

    fn deref(&self) -> &DeviceState {
        self.state
            .as_ref()
            .expect("it is locked until it is dropped")
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut DeviceState {
        self.state
            .as_mut()
            .expect("it is locked until it is dropped")
    }
}

/// A buffer may have kept it. In a forked child the back-end's threads are the parent's, and cannot
/// be joined.
impl Drop for Device {
    fn drop(&mut self) {
        if !self.common.process.is_here() {
            mem::forget(Arc::clone(&self.backend));
        }
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.open();
        self.device.tidy();
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Device")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
