//! The holders of a channel: its two ports, and the network that it belongs to.

use std::ptr::NonNull;
use std::task::{Poll, Waker};

use roving::raw::panics::drop_quietly;

use super::shared::Shared;
use super::words::{ChannelEnd, Claim, Words};
use crate::machine::prim::{Arc, AtomicU32, Mutex, OnceLock, Ordering, fence, lock, ord};
use crate::machine::unwind::{DueWaker, Payload, first_of};
use crate::state::late_ports::DoubtfulEnd;

/// The fields of a channel that rarely change.
pub(crate) struct Meta {
    pub(crate) shared: Arc<Shared>,
    vtable: &'static VTable,
    /// Index in the network's list of channels.
    pub(crate) index: u32,
    /// How many of its holders keep the memory: the two ports and the network.
    references: AtomicU32,
    /// Of each port that is left, its [part](ChannelEnd::part); and [`BRIDGED`]. Who drops messages
    /// that are left over has the part of the consumer's port, which is gone, for as long.
    ports: AtomicU32,
    /// How many messages may lie in the channel.
    pub(super) capacity: AtomicU32,
}

/// An end whose port is gone may get another one, for which messages are kept.
const BRIDGED: u32 = 0b100;

const BOTH: u32 = ChannelEnd::Reader.part() | ChannelEnd::Writer.part();

/// No process: that port is held outside of the network.
pub(crate) const OUTSIDE: u32 = u32::MAX;

/// Those who wait at a channel and are no process, and whether an end of it was closed in doubt.
#[derive(Default)]
pub(super) struct Elsewhere {
    reader: Outsider,
    writer: Outsider,
    /// An end was closed in doubt.
    ends_in_doubt: OnceLock<()>,
}

/// The waker or the hook of an end at which no process is suspended.
#[derive(Default)]
struct Outsider {
    waker: Mutex<ForeignWaker>,
    hook: OnceLock<Hook>,
}

/// The waker of another executor: what it does when it is dropped is not the network's.
#[derive(Default)]
struct ForeignWaker(Option<Waker>);

impl Drop for ForeignWaker {
    fn drop(&mut self) {
        drop_quietly(self.0.take());
    }
}

/// Called each time that something was done at the other end, by who did it.
pub(crate) type Hook = Box<dyn Fn() + Send + Sync>;

/// The functions for a channel whose messages may be of any type.
pub(super) struct VTable {
    /// These two return what the first message panicked with that did so in its drop.
    pub(super) drain: unsafe fn(NonNull<Words>) -> Option<Payload>,
    pub(super) clear: unsafe fn(NonNull<Words>) -> Option<Payload>,
    pub(super) free: unsafe fn(NonNull<Words>),
    pub(super) message_bytes: usize,
}

/// Whoever waited was woken.
struct WokenEnd {
    /// A waker that is somebody else's, which is left to the caller.
    due: DueWaker,
    /// The thread polls no process of the network, and has woken one: see [`Line::has_to_ask`].
    ///
    /// [`Line::has_to_ask`]: crate::state::thread_counts::Line::has_to_ask
    asks: bool,
}

impl Meta {
    /// Of a channel with three references: its two ports and the network. Part of [`super::open`],
    /// which is built with the program that opens the channel.
    #[inline]
    pub(super) fn new(
        shared: &Arc<Shared>,
        vtable: &'static VTable,
        index: u32,
        capacity: u32,
    ) -> Meta {
        Meta {
            shared: Arc::clone(shared),
            vtable,
            index,
            references: AtomicU32::new(3),
            ports: AtomicU32::new(BOTH),
            capacity: AtomicU32::new(capacity),
        }
    }
}

/// A port that is dropped, and has left its part in the channel to whoever has this.
pub(crate) struct DroppedPort {
    pub(crate) channel: NonNull<Words>,
    pub(crate) end: ChannelEnd,
}

// SAFETY: it is all that is left of a port, whose messages are `Send`.
unsafe impl Send for DroppedPort {}

impl DroppedPort {
    /// # Safety
    /// The caller is that port, and does not use the channel afterwards.
    pub(crate) unsafe fn new(channel: NonNull<Words>, end: ChannelEnd) -> DroppedPort {
        DroppedPort { channel, end }
    }

    fn words(&self) -> &Words {
        // SAFETY: the port's part keeps the channel.
        unsafe { self.channel.as_ref() }
    }
}

impl DoubtfulEnd for DroppedPort {
    /// Whether a function is called at the other end.
    fn is_told_on(&self) -> bool {
        self.words().has_hook(self.end.other())
    }

    fn closes_in_doubt(&self) {
        let elsewhere = self.words().elsewhere.get_or_init(Box::default);
        let _already = elsewhere.ends_in_doubt.set(());
    }
}

/// A reference to a channel that is no port.
pub(crate) struct Handle(NonNull<Words>);

// SAFETY: what it gives access to is atomic, or frozen; the messages are `Send`, and are dropped by
// whoever is last.
unsafe impl Send for Handle {}
// SAFETY: a shared handle gives access to words that are atomic or frozen, and to no message.
unsafe impl Sync for Handle {}

impl Handle {
    /// # Safety
    /// The caller has one of the channel's references, and gives it away.
    pub(crate) unsafe fn new(words: NonNull<Words>) -> Handle {
        Handle(words)
    }

    /// The whole channel, of which the words are the beginning.
    pub(crate) fn channel(&self) -> NonNull<Words> {
        self.0
    }
}

impl Clone for Handle {
    fn clone(&self) -> Handle {
        // Ordering: Relaxed; this handle keeps the channel meanwhile.
        self.meta.references.fetch_add(1, Ordering::Relaxed);
        Handle(self.0)
    }
}

impl std::ops::Deref for Handle {
    type Target = Words;

    fn deref(&self) -> &Words {
        // SAFETY: the handle is a reference.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: it had one reference.
        unsafe { release(self.0) };
    }
}

/// Gives one reference up.
///
/// # Safety
/// The caller has one, and does not use the channel afterwards.
unsafe fn release(words: NonNull<Words>) {
    // SAFETY: the caller has a reference.
    let meta = unsafe { &words.as_ref().meta };
    let free = meta.vtable.free;
    // Ordering: Edge [release]: Release, so that the memory is freed after its use here; Acquire
    // for who frees it.
    if meta
        .references
        .fetch_sub(1, ord("release", Ordering::AcqRel))
        == 1
    {
        // SAFETY: it was the last one; all uses by others come before this by [release].
        unsafe { free(words) };
    }
}

/// One of the two ports is dropped. Messages that nobody will take are dropped with the last one,
/// or with the consumer's, or when they are sent: see [`drop_unread`]. Calls `told` after that, and
/// when whoever waits at the other end has been woken. Returns what the first message panicked with
/// that did so in its drop.
///
/// # Safety
/// The caller is that port, and does not use the channel afterwards.
#[must_use]
pub(crate) unsafe fn drop_port(
    words: NonNull<Words>,
    end: ChannelEnd,
    told: fn(&Words),
) -> Option<Payload> {
    // SAFETY: the port keeps the channel, and is at that end until it gives its part up.
    unsafe {
        let this = words.as_ref();
        this.leave(end);
        this.wake(end.other());
        let reads = end == ChannelEnd::Reader && !this.is_bridged();
        if reads && this.nobody_reads_any_more() {
            this.forget_waker(end);
        }
        let cleared = give_part_up(words, end);
        let unread = reads.then(|| drop_unread(words)).flatten();
        told(this);
        release(words);
        first_of(cleared, unread)
    }
}

/// One of the two ports is there no more. The last one drops what lies in the channel, and returns
/// what the first message panicked with that did so.
///
/// # Safety
/// The caller has that port's part in the channel, and keeps the channel's memory.
unsafe fn give_part_up(words: NonNull<Words>, end: ChannelEnd) -> Option<Payload> {
    // SAFETY: the caller's promise; the other end's writes come before the end by [last_port].
    unsafe {
        let meta = &words.as_ref().meta;
        // Ordering: Edge [last_port]: Release hands this end's side to who clears the channel, or
        // drops what is unread; Acquire takes the other's over.
        let order = ord("last_port", Ordering::AcqRel);
        let left = meta.ports.fetch_sub(end.part(), order);
        let is_last = left & BOTH == end.part();
        is_last.then(|| (meta.vtable.clear)(words)).flatten()
    }
}

/// Drops the messages that lie in a channel whose consumer's port is gone: who sent them may wait
/// for that. By the consumer's port when it has gone, and by who has sent a message, both after a
/// fence: one of the two sees the message, and that the consumer is gone. Returns what the first
/// message panicked with that did so.
///
/// One thread does so at a time, in the place of the port that is gone. It looks again afterwards;
/// so who finds it there need not wait.
///
/// # Safety
/// The caller keeps the channel's memory.
pub(crate) unsafe fn drop_unread(words: NonNull<Words>) -> Option<Payload> {
    // SAFETY: the caller's promise; with the part of the consumer's port, this is at its end.
    unsafe {
        let this = words.as_ref();
        let mut first = None;
        loop {
            // Ordering: in the manner of Dekker: either who has sent meanwhile finds that nobody
            // has the part, after its own fence, or the message is seen. Pairs with [wait].
            fence(ord("unread_fence", Ordering::SeqCst));
            if !this.has_unread() {
                break;
            }
            // Ordering: Acquire. Pairs with [last_port]: who was at that end has left it.
            let (order, relaxed) = (ord("unread", Ordering::Acquire), Ordering::Relaxed);
            let alone = ChannelEnd::Writer.part();
            let ports = &this.meta.ports;
            if ports.compare_exchange(alone, BOTH, order, relaxed).is_err() {
                break;
            }
            first = first_of(first, (this.meta.vtable.drain)(words));
            first = first_of(first, give_part_up(words, ChannelEnd::Reader));
        }
        first
    }
}

/// Drops the messages that lie in a channel whose end may get another port, before this one is
/// dropped: who sent them may wait for that. Returns what the first one panicked with that did so.
/// Other messages are dropped when the port is gone: a producer could send more for ever, before.
///
/// # Safety
/// The caller is that port.
pub(crate) unsafe fn drain_port(words: NonNull<Words>) -> Option<Payload> {
    // SAFETY: the port keeps the channel, and is the only one at that end.
    unsafe {
        let this = words.as_ref();
        match this.is_bridged() {
            true => (this.meta.vtable.drain)(words),
            false => None,
        }
    }
}

/// The channel has a new port for that end, whose port is gone. False when it is not, or when the
/// other end's is gone as well: then what lay here has been cleared.
///
/// # Safety
/// The caller keeps the channel, which [is bridged](Words::bridge), is alone in calling this for
/// that end, and makes one port when this is true.
#[must_use]
pub(crate) unsafe fn reopen_port(words: &Words, end: ChannelEnd) -> bool {
    let is_gone = match end {
        ChannelEnd::Reader => words.taken().is_gone(),
        ChannelEnd::Writer => words.sent().is_gone(),
    };
    if !is_gone {
        return false;
    }
    let ports = &words.meta.ports;
    let (one, both) = (BRIDGED | end.other().part(), BRIDGED | BOTH);
    // Ordering: Relaxed, both; what that end has left is taken over by the look above, with [sent]
    // or [taken]. Once this has succeeded, the other end's port is not the last one.
    let counted = ports.compare_exchange(one, both, Ordering::Relaxed, Ordering::Relaxed);
    if counted.is_err() {
        return false;
    }
    // Ordering: Relaxed; the caller keeps the channel meanwhile.
    words.meta.references.fetch_add(1, Ordering::Relaxed);
    words.come_back(end);
    true
}

impl Words {
    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.meta.shared
    }

    /// From now on, the end of a port that is gone may get another one. Before a port is dropped.
    pub(crate) fn bridge(&self) {
        // Ordering: Relaxed; what the ports are handed over with orders it.
        self.meta.ports.fetch_or(BRIDGED, Ordering::Relaxed);
    }

    fn is_bridged(&self) -> bool {
        // Ordering: Relaxed, as above.
        self.meta.ports.load(Ordering::Relaxed) & BRIDGED != 0
    }

    /// Whether messages lie here that nobody will take, and that are about to be dropped.
    pub(crate) fn has_unread(&self) -> bool {
        let (sent, taken) = (self.sent(), self.taken());
        taken.is_gone() && sent.number() != taken.number() && !self.is_bridged()
    }

    /// Whether an end was closed when nobody knew whether its process fails. By who has seen that
    /// it is gone.
    pub(crate) fn was_closed_in_doubt(&self) -> bool {
        let elsewhere = self.elsewhere.get();
        elsewhere.is_some_and(|elsewhere| elsewhere.ends_in_doubt.get().is_some())
    }

    pub(crate) fn index(&self) -> usize {
        self.meta.index as usize
    }

    /// Bytes of one message, without what it points to.
    pub(crate) fn message_bytes(&self) -> usize {
        self.meta.vtable.message_bytes
    }

    fn elsewhere(&self, end: ChannelEnd) -> &Outsider {
        let slots = self.elsewhere.get_or_init(Box::default);
        match end {
            ChannelEnd::Reader => &slots.reader,
            ChannelEnd::Writer => &slots.writer,
        }
    }

    /// Has that waker woken when the end is ready, for who has its port. Ready when it is ready
    /// already, or, with true, nobody waits in a network that has stopped.
    pub(crate) fn put_waker(&self, end: ChannelEnd, waker: &Waker) -> Poll<bool> {
        let slot = &self.elsewhere(end).waker;
        let is_known = |old: &ForeignWaker| old.0.as_ref().is_some_and(|old| old.will_wake(waker));
        if !is_known(&lock(slot)) {
            // Both without the lock: it may run anything to clone a waker, or to drop one.
            let waker = waker.clone();
            let old = lock(slot).0.replace(waker);
            drop_quietly(old);
        }
        self.wait_elsewhere(end).unwrap_or_else(|| {
            waker.wake_by_ref();
            Poll::Pending
        })
    }

    /// The network has stopped: whoever waits here, and is no process, waits no more. After a
    /// fence. Adds the wakers that are to be woken.
    pub(super) fn end_waits_elsewhere(&self, due: &mut Vec<DueWaker>) {
        for end in [ChannelEnd::Reader, ChannelEnd::Writer] {
            if self.claim_elsewhere(end) {
                due.push(self.take_waker(end));
            }
        }
    }

    /// Has that function called, from now on, whenever the end has become ready; perhaps also when
    /// it has not. No process waits at that end, now or later. The first function stays for as long
    /// as the channel.
    pub(crate) fn put_hook(&self, end: ChannelEnd, hook: Hook) {
        let _a_second_one = self.elsewhere(end).hook.set(hook);
        self.hook_is_there(end);
    }

    /// Whether a function is called whenever that end has become ready: see [`Self::put_hook`].
    pub(crate) fn has_hook(&self, end: ChannelEnd) -> bool {
        self.elsewhere
            .get()
            .is_some_and(|_| self.elsewhere(end).hook.get().is_some())
    }

    /// Wakes whoever waits at that end. After a fence.
    #[inline]
    pub(crate) fn wake(&self, end: ChannelEnd) {
        if self.is_waiting(end) {
            self.wake_after_fence(end);
        }
    }

    #[inline(never)]
    fn wake_after_fence(&self, end: ChannelEnd) {
        // Whoever has stopped to wait meanwhile sees what it would be told before it waits again.
        let _is_woken = self.wake_now(end);
    }

    /// None when there is nobody; otherwise whether the thread has to ask if all is quiet now.
    #[inline(always)]
    pub(crate) fn wake_now(&self, end: ChannelEnd) -> Option<bool> {
        let woken = self.claim_and_wake(end)?;
        woken.due.wake();
        Some(woken.asks)
    }

    /// None when there is nobody.
    #[inline(always)]
    fn claim_and_wake(&self, end: ChannelEnd) -> Option<WokenEnd> {
        let shared = self.shared();
        let line = shared.lines.mine();
        let due = match self.claim(end, line.index) {
            Claim::Nobody => return None,
            Claim::Process(process) => {
                if line.woke() {
                    return Some(self.wake_beside(process));
                }
                shared.wake(process);
                DueWaker::default()
            }
            Claim::Elsewhere => self.take_waker(end),
            Claim::Hook => {
                self.call_hook(end);
                DueWaker::default()
            }
        };
        Some(WokenEnd { due, asks: false })
    }

    /// By a thread that polls no process of the network, and has claimed that one.
    #[cold]
    #[inline(never)]
    fn wake_beside(&self, process: u32) -> WokenEnd {
        self.shared().wake(process);
        WokenEnd {
            due: DueWaker::default(),
            asks: true,
        }
    }

    /// Something was done of which whoever waits at that end has to hear, by who may hold a lock: a
    /// waker that is somebody else's is left to the caller.
    pub(crate) fn tell_or_owe(&self, end: ChannelEnd) -> DueWaker {
        // Who has stopped to wait meanwhile may wait again without having seen what was done.
        let after_all = || match self.is_waiting_after_all(end) {
            true => self.wake_or_owe(end),
            false => None,
        };
        self.wake_or_owe(end).or_else(after_all).unwrap_or_default()
    }

    /// As [`Self::wake`], by who may hold a lock: a waker that is somebody else's is left to the
    /// caller. None when there is nobody.
    pub(crate) fn wake_or_owe(&self, end: ChannelEnd) -> Option<DueWaker> {
        match self.is_waiting(end) {
            true => self.claim_and_wake(end).map(|woken| woken.due),
            false => None,
        }
    }

    /// By who has claimed it.
    #[inline(never)]
    fn take_waker(&self, end: ChannelEnd) -> DueWaker {
        DueWaker::new(lock(&self.elsewhere(end).waker).0.take())
    }

    /// By who has claimed it, where who has left it waits no more: to wake it may take a lock under
    /// which the port is dropped.
    #[inline(never)]
    fn forget_waker(&self, end: ChannelEnd) {
        let waker = lock(&self.elsewhere(end).waker).0.take();
        drop_quietly(waker);
    }

    #[inline(never)]
    fn call_hook(&self, end: ChannelEnd) {
        if let Some(hook) = self.elsewhere(end).hook.get() {
            hook();
        }
    }
}
