//! The content of a buffer: the copy on the host, the tasks that hold it, and which copies are
//! valid.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};

use roving::raw::forks::ProcessMark;
use roving::raw::panics::contain;

use super::element::Element;
use super::host::Host;
use super::lent::{Lent, Way};
use super::wait::wake_all;
use crate::backend::{Backend, Source, Target};

/// Where a copy of a buffer can be, other than on the host.
pub(crate) trait CopyPlace: Send + Sync {
    /// Copies the buffer to the host: ends with [`Content::fetched`].
    fn fetch(self: Arc<Self>, content: Arc<dyn Content>);
    /// Its copy here is of that version.
    fn has_valid(&self, id: u64, version: u64) -> bool;
    /// How the buffer gets to another device, if its copy here is of that version.
    fn way(&self, id: u64, version: u64, to: &dyn Backend) -> Option<Way>;
    /// Keeps the copy of that version here for another device that copies from it.
    fn lend(self: Arc<Self>, id: u64, version: u64, to: &dyn Backend) -> Option<Lent>;
    /// The buffer is gone.
    fn forget(&self, id: u64);
}

/// A buffer of whatever type.
///
/// Each change gives it a new version. A copy is valid if it is of that version: that on the host
/// if `host_version` is, and that on a device if the device's table says so. Only who holds a
/// buffer exclusively changes its version.
pub(crate) trait Content: Send + Sync {
    fn id(&self) -> u64;
    fn bytes(&self) -> usize;
    /// Its version, and that of the copy on the host.
    fn versions(&self) -> (u64, u64);
    /// Holds it, together with others that read or alone. If that cannot be done now, wakes when it
    /// may be worth another try.
    fn try_hold(&self, exclusive: bool, waiter: &mut BufferWaiter, waker: &Waker) -> bool;
    /// That one waits no more.
    fn leave(&self, waiter: &BufferWaiter);
    fn release(&self, exclusive: bool);
    /// The copy on the host. The caller holds the buffer.
    fn source(&self) -> Source;
    /// Room for a new copy on the host.
    fn target(&self) -> Target;
    /// A device has written it. The new copy for the host, if it was made already. The caller holds
    /// it exclusively. Returns the new version, and the device that has kept the copy so far: this
    /// may be its last handle, to be dropped where no device is locked.
    fn written(
        &self,
        place: Weak<dyn CopyPlace>,
        host: Option<Target>,
    ) -> (u64, Option<Arc<dyn CopyPlace>>);
    /// The host writes all of it anew: whatever is there is valid from now on. The caller holds it
    /// exclusively. Returns the number of that version.
    fn overwritten(&self) -> u64;
    /// Who was to write all of it anew, in that version, has not done so.
    fn not_overwritten(&self, version: u64, reason: &str);
    /// The copy on the host is valid, or there is none.
    fn fetched(&self, outcome: Result<Target, Missing>);
    /// Makes a copy that a device has spilled the valid one on the host, if the buffer still is of
    /// that version; tasks may hold the buffer meanwhile.
    fn spilled(&self, version: u64, target: Target);
    /// Ready when the copy on the host is valid, or lost for the reason that is returned. Starts
    /// what that needs.
    fn poll_host(self: Arc<Self>, need: &mut Need, waker: &Waker) -> Poll<Result<(), String>>;
    /// There is a copy there.
    fn is_at(&self, place: Weak<dyn CopyPlace>);
    /// Where there are copies, of whatever version; that which was written last comes first.
    fn places(&self) -> Vec<Arc<dyn CopyPlace>>;
    /// No copy of that version is valid any more, but for the host's. Returns whoever waits for
    /// one, to be woken when no device is locked.
    #[must_use]
    fn lose(&self, version: u64, reason: &str) -> Vec<Waker>;
    /// A copy of that version has come to a device. It was on its way there when the last one that
    /// was valid went, if the buffer was lost meanwhile.
    fn arrived(&self, version: u64);
}

/// Why there is no copy on the host.
pub(crate) enum Missing {
    /// The copy could not be made; where it is, it is still valid.
    ThisTime(String),
    /// Where it was to come from there is none any more: whoever waits asks again, and finds one
    /// elsewhere, or why there is none.
    NoLonger,
}

/// A guard or a task that needs the copy on the host, with the number of the copies that had been
/// begun when it came.
///
/// It is told why a later one has failed, whoever has begun that. The failure of an earlier one is
/// not its own: it has another one made.
#[derive(Default)]
pub(crate) struct Need {
    begun_before: Option<u64>,
    pub(super) waiter: BufferWaiter,
}

/// Somebody who may have to wait for buffers, with a number once that is so: each poll may come
/// with another waker.
#[derive(Default)]
pub(crate) struct BufferWaiter(Option<u64>);

/// Returns a number for a buffer, or for who waits for some.
fn fresh_number() -> u64 {
    static IDS: AtomicU64 = AtomicU64::new(0);
    // Ordering: Relaxed: only that all are different matters.
    IDS.fetch_add(1, Ordering::Relaxed)
}

/// The content of a buffer of one type.
pub(super) struct BufferContent<T: Element> {
    id: u64,
    len: usize,
    /// The host has no valid copy. A hint: it is written while the state is locked, and read
    /// without; who needs the copy asks for a guard.
    away: AtomicBool,
    state: Mutex<ContentState<T>>,
}

/// That content, under its lock.
struct ContentState<T> {
    /// `None` while a write guard has it.
    host: Option<Arc<Host<T>>>,
    /// A copy that is out of date, for the next download.
    spare: Option<Vec<T>>,
    /// How many hold it to read.
    readers: usize,
    /// Somebody holds it exclusively.
    writer: bool,
    /// Where the first of those is that hold it: in a forked child, its process may be the parent.
    held_in: Option<ProcessMark>,
    /// A device copies it to the host, and holds it to read.
    is_coming: bool,
    /// So many copies to the host have been begun.
    begun: u64,
    /// With the number of each.
    waiters: Vec<(u64, Waker)>,
    version: u64,
    host_version: u64,
    /// The version in which somebody has begun to write all of it anew, the last time.
    anew: u64,
    places: Vec<Weak<dyn CopyPlace>>,
    /// Keeps the device that has had the only valid copy, also when the program has let go of it.
    home: Option<Arc<dyn CopyPlace>>,
    /// Why there is no valid copy.
    lost: Option<String>,
    /// The number of the last copy to the host that has failed, of this version, and why.
    failed: Option<(u64, String)>,
}

impl<T> ContentState<T> {
    /// Forgets devices that are no more: their memory is kept for as long as they are named here.
    fn forget_ended_places(&mut self) {
        self.places.retain(|known| known.strong_count() > 0);
    }

    /// Why the host has no copy, if whoever needs it is to be told.
    fn why_missing(&self, need: &mut Need) -> Option<String> {
        let begun_before = *need.begun_before.get_or_insert(self.begun);
        let is_missing = self.version != self.host_version;
        let failed = self.failed.as_ref().filter(|_| is_missing);
        let own = failed.filter(|(number, _)| *number > begun_before);
        self.lost.clone().or_else(|| Some(own?.1.clone()))
    }

    fn free_for(&self, exclusive: bool) -> bool {
        let is_free_to_read = !self.writer;
        is_free_to_read && (!exclusive || self.readers == 0)
    }

    fn hold(&mut self, exclusive: bool) {
        if self.free_for(true) {
            self.held_in = Some(ProcessMark::here());
        }
        if exclusive {
            self.writer = true;
        } else {
            self.readers += 1;
        }
    }

    /// The waker was cloned before the lock was taken; the one that it replaces comes back in its
    /// place, and is dropped after it: to do so is code of others.
    ///
    /// # Panics
    /// In a forked child, if who holds it is in the parent: nobody here ever releases it.
    fn wait(&mut self, waiter: &mut BufferWaiter, waker: &mut Option<Waker>) {
        let is_left = self.held_in.is_some_and(|process| !process.is_here());
        assert!(
            self.free_for(true) || !is_left,
            "a task or guard of the parent process holds the buffer, and nobody releases it in this \
             process, which was forked meanwhile: use a buffer of the child's own"
        );
        let Some(new) = waker.take() else { return };
        let number = *waiter.0.get_or_insert_with(fresh_number);
        match self.waiters.iter_mut().find(|known| known.0 == number) {
            Some(known) => *waker = Some(mem::replace(&mut known.1, new)),
            None => self.waiters.push((number, new)),
        }
    }

    fn take_waiters(&mut self) -> Vec<Waker> {
        self.waiters.drain(..).map(|(_, waker)| waker).collect()
    }
}

/// How a guard is to be given out.
pub(super) enum Granted<T> {
    Yes(Arc<Host<T>>),
    Later,
    Lost(String),
}

impl<T: Element> BufferContent<T> {
    pub(super) fn new(host: Vec<T>) -> Self {
        BufferContent {
            id: fresh_number(),
            len: host.len(),
            away: AtomicBool::new(false),
            state: Mutex::new(ContentState {
                host: Some(Arc::new(Host(host))),
                spare: None,
                readers: 0,
                writer: false,
                held_in: None,
                is_coming: false,
                begun: 0,
                waiters: Vec::new(),
                version: 0,
                host_version: 0,
                anew: 0,
                places: Vec::new(),
                home: None,
                lost: None,
                failed: None,
            }),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_home(&self) -> bool {
        // Ordering: Relaxed: a hint; the lock orders what a guard reads.
        !self.away.load(Ordering::Relaxed)
    }

    /// Says where the valid copy is now, to those who do not lock.
    fn tell(&self, state: &ContentState<T>) {
        let is_away = state.version != state.host_version;
        // Ordering: Relaxed: as in `is_home`.
        self.away.store(is_away, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, ContentState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One try to get a guard.
    pub(super) fn try_guard(
        self: &Arc<Self>,
        exclusive: bool,
        need: &mut Need,
        waker: &Waker,
    ) -> Granted<T> {
        let mut waker = Some(waker.clone());
        let mut state = self.lock();
        if let Some(reason) = state.why_missing(need) {
            return Granted::Lost(reason);
        }
        if state.version != state.host_version {
            self.fetch(state, &mut need.waiter, &mut waker);
            return Granted::Later;
        }
        if !state.free_for(exclusive) {
            state.wait(&mut need.waiter, &mut waker);
            return Granted::Later;
        }
        state.hold(exclusive);
        if !exclusive {
            return match &state.host {
                Some(host) => Granted::Yes(Arc::clone(host)),
                None => unreachable!("only a writer takes it away"),
            };
        }
        state.version += 1;
        state.host_version = state.version;
        match state.host.take() {
            Some(host) => Granted::Yes(host),
            None => unreachable!("only one writer takes it away"),
        }
    }

    /// Has the copy on the host made valid, and tells nobody, also if that cannot be done: a guard
    /// that comes later tries it anew.
    pub(super) fn begin_fetch(self: &Arc<Self>) {
        let state = self.lock();
        if state.version != state.host_version && state.lost.is_none() {
            self.fetch(state, &mut BufferWaiter::default(), &mut None);
        }
    }

    /// Has the copy on the host made valid, if nobody does already. Others may read meanwhile:
    /// those are tasks that wait for a device or run there, for no guard reads a copy that is out
    /// of date. Wakes whoever needs the copy.
    fn fetch(
        self: &Arc<Self>,
        mut state: MutexGuard<'_, ContentState<T>>,
        waiter: &mut BufferWaiter,
        waker: &mut Option<Waker>,
    ) {
        state.wait(waiter, waker);
        if state.is_coming || !state.free_for(false) {
            return;
        }
        let places = state.places.iter().filter_map(Weak::upgrade);
        let places: Vec<_> = places.collect();
        match places.first() {
            Some(last_written) => {
                state.hold(false);
                state.is_coming = true;
                state.begun += 1;
                let version = state.version;
                // Devices are not asked while this is locked.
                drop(state);
                let valid = places
                    .iter()
                    .find(|place| place.has_valid(self.id, version));
                let place = Arc::clone(valid.unwrap_or(last_written));
                place.fetch(Arc::clone(self) as Arc<dyn Content>);
            }
            None => {
                state.lost = Some(String::from("its device is gone"));
                let waiters = state.take_waiters();
                drop(state);
                wake_all(waiters);
            }
        }
    }

    /// The end of a write guard.
    pub(super) fn put_back(&self, host: Arc<Host<T>>) {
        self.lock().host = Some(host);
        self.release(true);
    }

    /// Takes the numbers out. The caller has a write guard's hold.
    pub(super) fn into_host(shared: Arc<Self>, host: Arc<Host<T>>) -> Vec<T> {
        let mut host = Some(host);
        if Arc::strong_count(&shared) > 1 {
            let copy = host.as_ref().map(|host| host.0.clone());
            shared.lock().host = host.take();
            shared.release(true);
            return copy.unwrap_or_default();
        }
        host.map(|host| Arc::try_unwrap(host).unwrap_or_else(|shared| (*shared).clone()))
            .map(|host| host.0)
            .unwrap_or_default()
    }
}

impl<T: Element> Content for BufferContent<T> {
    fn id(&self) -> u64 {
        self.id
    }

    fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    fn versions(&self) -> (u64, u64) {
        let state = self.lock();
        (state.version, state.host_version)
    }

    fn try_hold(&self, exclusive: bool, waiter: &mut BufferWaiter, waker: &Waker) -> bool {
        let mut waker = Some(waker.clone());
        let mut state = self.lock();
        let free = state.free_for(exclusive);
        if free {
            state.hold(exclusive);
        } else {
            state.wait(waiter, &mut waker);
        }
        free
    }

    fn leave(&self, waiter: &BufferWaiter) {
        let Some(number) = waiter.0 else { return };
        let left = {
            let mut state = self.lock();
            let place = state.waiters.iter().position(|one| one.0 == number);
            place.map(|place| state.waiters.remove(place))
        };
        // It may be a program's own, and panic; whoever leaves may be unwinding.
        let _ = contain(|| drop(left));
    }

    fn release(&self, exclusive: bool) {
        let waiters = {
            let mut state = self.lock();
            if exclusive {
                state.writer = false;
            } else {
                state.readers -= 1;
            }
            if state.readers > 0 {
                return;
            }
            state.take_waiters()
        };
        wake_all(waiters);
    }

    fn source(&self) -> Source {
        match &self.lock().host {
            Some(host) => Arc::clone(host) as Source,
            None => unreachable!("a device and a write guard cannot both hold it"),
        }
    }

    fn target(&self) -> Target {
        let spare = self.lock().spare.take();
        Box::new(Host(
            spare.unwrap_or_else(|| bytemuck::zeroed_vec(self.len)),
        ))
    }

    fn written(
        &self,
        place: Weak<dyn CopyPlace>,
        host: Option<Target>,
    ) -> (u64, Option<Arc<dyn CopyPlace>>) {
        let mut state = self.lock();
        state.version += 1;
        (state.lost, state.failed) = (None, None);
        let version = state.version;
        state.anew = version;
        let home = match host {
            Some(target) => {
                state.replace_host(target);
                None
            }
            None => mem::replace(&mut state.home, place.upgrade()),
        };
        state.forget_ended_places();
        state.places.retain(|known| !known.ptr_eq(&place));
        // First in the list is where the valid copy is.
        state.places.insert(0, place);
        self.tell(&state);
        (version, home)
    }

    fn overwritten(&self) -> u64 {
        let mut state = self.lock();
        state.version += 1;
        (state.host_version, state.anew) = (state.version, state.version);
        state.lost = None;
        self.tell(&state);
        state.version
    }

    fn not_overwritten(&self, version: u64, reason: &str) {
        let waiters = {
            let mut state = self.lock();
            // Others have written it since.
            if state.anew != version {
                return;
            }
            state.version += 1;
            state.lost = Some(reason.to_owned());
            self.tell(&state);
            state.take_waiters()
        };
        wake_all(waiters);
    }

    fn fetched(&self, outcome: Result<Target, Missing>) {
        let waiters = {
            let mut state = self.lock();
            match outcome {
                // The kernel that wrote it has failed meanwhile.
                Ok(_) if state.lost.is_some() => {}
                Ok(target) => state.replace_host(target),
                // Somebody else has brought it meanwhile, and then the copy on the device may have
                // gone.
                Err(_) if state.version == state.host_version => {}
                Err(Missing::ThisTime(reason)) => state.failed = Some((state.begun, reason)),
                Err(Missing::NoLonger) => {}
            }
            self.tell(&state);
            state.is_coming = false;
            state.readers -= 1;
            // Whoever waits for the copy goes on beside others that read.
            state.take_waiters()
        };
        wake_all(waiters);
    }

    fn spilled(&self, version: u64, target: Target) {
        let waiters = {
            let mut state = self.lock();
            if state.version != version || state.host.is_none() {
                return;
            }
            state.replace_host(target);
            // The device may have been lost since the copy ended.
            state.lost = None;
            self.tell(&state);
            state.take_waiters()
        };
        wake_all(waiters);
    }

    fn poll_host(self: Arc<Self>, need: &mut Need, waker: &Waker) -> Poll<Result<(), String>> {
        let mut waker = Some(waker.clone());
        let state = self.lock();
        if let Some(reason) = state.why_missing(need) {
            return Poll::Ready(Err(reason));
        }
        if state.version == state.host_version {
            return Poll::Ready(Ok(()));
        }
        self.fetch(state, &mut need.waiter, &mut waker);
        Poll::Pending
    }

    fn is_at(&self, place: Weak<dyn CopyPlace>) {
        let mut state = self.lock();
        if !state.places.iter().any(|known| known.ptr_eq(&place)) {
            state.forget_ended_places();
            state.places.push(place);
        }
    }

    fn places(&self) -> Vec<Arc<dyn CopyPlace>> {
        let state = self.lock();
        state.places.iter().filter_map(Weak::upgrade).collect()
    }

    fn lose(&self, version: u64, reason: &str) -> Vec<Waker> {
        let mut state = self.lock();
        if state.version != version || state.host_version == version {
            return Vec::new();
        }
        state.lost.get_or_insert_with(|| reason.to_owned());
        state.take_waiters()
    }

    fn arrived(&self, version: u64) {
        let mut state = self.lock();
        if state.version == version {
            state.lost = None;
        }
    }
}

impl<T: Element> ContentState<T> {
    /// The copy on the host is valid, and this.
    fn replace_host(&mut self, target: Target) {
        let Ok(new) = target.into_any().downcast::<Host<T>>() else {
            unreachable!("the target was made by this buffer");
        };
        let old = self.host.replace(Arc::new(*new));
        self.spare = old.and_then(Arc::into_inner).map(|host| host.0);
        self.host_version = self.version;
    }
}

impl<T: Element> Drop for BufferContent<T> {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for place in mem::take(&mut state.places) {
            if let Some(place) = place.upgrade() {
                place.forget(self.id);
            }
        }
    }
}

#[cfg(test)]
mod tests;
