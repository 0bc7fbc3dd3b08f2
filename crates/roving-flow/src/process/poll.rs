//! One poll of a process: what its channel operations find out, and leave to its end.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::thread;

use super::late_ports;
use super::left_ports;
use super::owed::{self, Halted, Owed};
use crate::channel::shared::{NetworkFailure, Shared};
use crate::channel::statement::Statement;
use crate::channel::words::{ChannelEnd, Words};
use crate::channel::{At, DroppedPort, Op, Waits};
use crate::deadlock;
use crate::machine::prim::{Arc, AtomicBool, OnceLock, Ordering, ord, per_thread};
use crate::machine::unwind::{Payload, go_on};
use crate::state::late_ports::LatePorts;

/// One poll of a process, on the native stack of its worker.
pub(crate) struct ProcessTurn<'p> {
    shared: &'p Arc<Shared>,
    process: u32,
    /// The waker of the process's task.
    task: &'p Waker,
    /// A handle for wakers that leave the poll; see [`Outside`].
    outside: &'p OnceLock<Arc<Outside>>,
    /// The operations that have to wait.
    waits: Cell<Waits>,
    /// Ports that were dropped, to be closed.
    closing: Cell<Option<Box<LatePorts<DroppedPort>>>>,
    /// Ports that are dropped now are to be closed later.
    is_late: Cell<bool>,
    owed: Owed,
    /// The thread unwinds already, out of what this turn is on top of: a network that a destructor
    /// runs, say.
    is_on_panic: bool,
}

/// The target of a process's wakers outside our channels: while there is one, the process may be
/// woken from outside.
pub(crate) struct Outside {
    waker: Waker,
    woken: AtomicBool,
}

impl Outside {
    /// Whether there is such a waker, or one has woken since [`Self::reset`].
    pub(crate) fn may_wake(this: &mut Arc<Outside>) -> bool {
        match Arc::get_mut(this) {
            None => true,
            // Ordering: Relaxed; whoever gave a waker up came before, as `Arc::get_mut` sees to.
            Some(alone) => alone.woken.load(Ordering::Relaxed),
        }
    }

    /// The process says that instead of what it waits for, where [`Self::may_wake`] is true: if it
    /// has been woken already, it goes on for sure.
    #[cold]
    #[inline(never)]
    pub(super) fn statement(this: Option<&Arc<Outside>>) -> Statement {
        // Ordering: Relaxed, as above; who wakes it later is not known here.
        match this.is_some_and(|this| this.woken.load(Ordering::Relaxed)) {
            true => Statement::Runs,
            false => Statement::Outside,
        }
    }

    /// A poll begins. It finds what a wake-up before this was for; one after this is not forgotten.
    pub(crate) fn reset(&self) {
        // Ordering: Acquire. Pairs with [outside]: this poll sees what it was woken for, even if
        // that wake-up is not what has brought it here. Else the wake-up would be forgotten, and
        // the process thought to wait. A read-modify-write, as in `wake`: of the two, the later one
        // sees the other.
        let order = ord("see_outside", Ordering::Acquire);
        self.woken.swap(false, order);
    }

    fn wake(&self) {
        self.mark();
        self.waker.wake_by_ref();
    }

    /// The process is about to be woken.
    fn mark(&self) {
        // Ordering: Edge [outside]: Release hands over what the process is woken for.
        self.woken.swap(true, ord("outside", Ordering::Release));
    }
}

per_thread! {
    /// The turn of the process that this thread polls; null where it polls none, or does the work
    /// of others meanwhile.
    static CURRENT: Cell<*const ProcessTurn<'static>> = Cell::new(ptr::null());
}

per_thread! {
    /// The thread unwinds out of something that what it does now is on top of.
    static ON_PANIC: Cell<bool> = Cell::new(false);
}

/// The value of [`ON_PANIC`] before.
struct OnPanic(bool);

impl Drop for OnPanic {
    fn drop(&mut self) {
        ON_PANIC.with(|is_on_panic| is_on_panic.set(self.0));
    }
}

/// The turn that was current before another, or none, took its place, for as long as this lives.
struct Outer(*const ProcessTurn<'static>);

impl Outer {
    #[inline(always)]
    fn replace(with: *const ProcessTurn<'static>) -> Outer {
        Outer(CURRENT.with(|current| current.replace(with)))
    }
}

impl Drop for Outer {
    #[inline(always)]
    fn drop(&mut self) {
        CURRENT.with(|current| current.set(self.0));
    }
}

impl<'p> ProcessTurn<'p> {
    #[inline(always)]
    pub(crate) fn new(
        shared: &'p Arc<Shared>,
        process: u32,
        task: &'p Waker,
        outside: &'p OnceLock<Arc<Outside>>,
    ) -> ProcessTurn<'p> {
        ProcessTurn {
            shared,
            process,
            task,
            outside,
            waits: Cell::new(Waits::NOWHERE),
            closing: Cell::new(None),
            is_late: Cell::new(false),
            owed: Owed::none(),
            is_on_panic: thread::panicking(),
        }
    }

    /// A turn before there is a body, in which nothing is left to its end, and nobody is woken.
    pub(crate) fn unbegun(
        shared: &'p Arc<Shared>,
        process: u32,
        outside: &'p OnceLock<Arc<Outside>>,
    ) -> ProcessTurn<'p> {
        let turn = ProcessTurn::new(shared, process, Waker::noop(), outside);
        let _none = turn.owed.halt();
        turn
    }

    /// Calls `f` with a context for the process's body, as part of this turn.
    #[inline(always)]
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Context<'_>) -> R) -> R {
        let this: *const ProcessTurn<'p> = self;
        let _outer = Outer::replace(this.cast());
        let raw = RawWaker::new(this.cast(), &LENT);
        // SAFETY: the functions keep the contract of wakers; the turn outlives the context, and
        // clones do not point to it.
        let lent = ManuallyDrop::new(unsafe { Waker::from_raw(raw) });
        f(&mut Context::from_waker(&lent))
    }

    /// Calls `f` with the turn that the calling thread is in.
    #[inline(always)]
    fn with_current<R>(f: impl FnOnce(Option<&ProcessTurn<'_>>) -> R) -> R {
        let current = CURRENT.with(Cell::get);
        // SAFETY: set while `with` runs on this thread, during which the turn is borrowed.
        f(unsafe { current.as_ref() })
    }

    /// Whether the calling thread polls a process.
    pub(crate) fn is_current() -> bool {
        CURRENT.with(|current| !current.get().is_null())
    }

    /// Whether the calling thread polls a process of that network, which does not wait within its
    /// turn, for a root of its own say.
    pub(crate) fn is_of(shared: &Arc<Shared>) -> bool {
        ProcessTurn::with_current(|turn| {
            turn.is_some_and(|turn| Arc::ptr_eq(turn.shared, shared) && !turn.owed.is_halted())
        })
    }

    /// An operation at that end of a channel has to wait. True when the process sees to it at the
    /// end of its turn. False when there is no such turn, or the context is not the process's own:
    /// then a waker has to be left with the channel. One that is given up afterwards, within the
    /// turn, is not forgotten but by who says so: see `is_the_same` of the process.
    #[inline]
    pub(crate) fn note(words: &Words, end: ChannelEnd, context: &Context<'_>) -> bool {
        ProcessTurn::with_current(|turn| {
            let Some(turn) = turn else { return false };
            let this: *const ProcessTurn<'_> = turn;
            let waker = context.waker();
            let is_own = ptr::eq(waker.data(), this.cast()) && ptr::eq(waker.vtable(), &LENT);
            if !is_own || !Arc::ptr_eq(turn.shared, words.shared()) {
                return false;
            }
            if !words.is_held_by(end, turn.process) && !turn.holds(words, end) {
                return true;
            }
            let waits = turn.waits.replace(Waits::NOWHERE);
            turn.waits.set(waits.and(Op::new(words, end)));
            true
        })
    }

    /// The process has that end from now on. False when another one is in the way: the process is
    /// polled again.
    #[cold]
    #[inline(never)]
    fn holds(&self, words: &Words, end: ChannelEnd) -> bool {
        let holds = words.hold(end, self.process);
        if !holds {
            self.to_outside().wake();
        }
        holds
    }

    /// The operation at that end is given up: the process waits there no more, though it has said
    /// so in this turn. Else the search for deadlocks would take it for one that waits for either.
    pub(crate) fn forget(words: &Words, end: ChannelEnd) {
        ProcessTurn::with_current(|turn| {
            let Some(turn) = turn else { return };
            let waits = turn.waits.replace(Waits::NOWHERE);
            turn.waits.set(waits.without(Op::new(words, end)));
        });
    }

    /// Looks at several ports by `poll`. Where no operation of this turn waited before, and this
    /// one has to, the process gives up none of those that wait.
    pub(crate) fn waits_for_all<R>(poll: impl FnOnce() -> Poll<R>) -> Poll<R> {
        let change = |change: fn(Waits) -> Waits| {
            ProcessTurn::with_current(|turn| {
                let Some(turn) = turn else { return false };
                let waits = turn.waits.replace(Waits::NOWHERE);
                let is_first = matches!(waits.at(), At::Nowhere);
                turn.waits.set(change(waits));
                is_first
            })
        };
        let is_first = change(|waits| waits);
        let polled = poll();
        if is_first && polled.is_pending() {
            change(Waits::exactly);
        }
        polled
    }

    /// Something has been sent or taken: wakes who waits at the other end, which is `end`. Whether
    /// it began to wait at this very moment is looked at again before the calling process does
    /// anything of that kind with another channel, or is suspended.
    ///
    /// # Safety
    /// The caller is the port that has sent or taken.
    #[inline(always)]
    pub(crate) unsafe fn tell(channel: NonNull<Words>, end: ChannelEnd) {
        // SAFETY: the port keeps its channel.
        unsafe {
            if channel.as_ref().is_waiting(end) {
                wake_seen(channel, end);
            } else {
                ProcessTurn::owe(channel, end);
            }
        }
    }

    /// Something was done in a channel of which whoever waits at `end` may have to hear, and there
    /// was no fence after it.
    ///
    /// # Safety
    /// As [`Self::tell`].
    #[inline(always)]
    unsafe fn owe(channel: NonNull<Words>, end: ChannelEnd) {
        // SAFETY: the port keeps its channel.
        ProcessTurn::with_current(|turn| unsafe {
            let Some(turn) = turn else {
                owed::pay(channel, end);
                return;
            };
            if !Arc::ptr_eq(turn.shared, channel.as_ref().shared()) {
                owed::pay(channel, end);
                return;
            }
            if !turn.owed.has(channel, end) {
                turn.owed.add(channel, end);
            }
        });
    }

    /// The process is about to wait within its turn, by an executor that the runtime does not know:
    /// it pays before.
    pub(crate) fn pay_here() {
        ProcessTurn::halted(&mut || ());
    }

    /// Calls `f`, in which the process waits within its turn, for a root or a task of its own say.
    /// It pays before, and what it owes there at once; and ports that it has dropped are closed:
    /// who learns of that may be who it waits for.
    pub(crate) fn halted(f: &mut dyn FnMut()) {
        ProcessTurn::with_current(|turn| {
            let _halted = turn.and_then(ProcessTurn::halt);
            f();
        });
    }

    fn halt(&self) -> Option<Halted<'_>> {
        let halted = (!self.owed.is_halted()).then(|| {
            let owed = self.owed.halt();
            let halted = Halted(&self.owed);
            owed.pay_at_once(self.process);
            halted
        });
        // After that: a message that was dropped may have left ports to the turn.
        while let Some(closing) = self.closing.take() {
            let left = |left| self.closing.set(Some(left));
            if !late_ports::close_before(closing, self.shared, self.process, left) {
                break;
            }
        }
        halted
    }

    /// Calls `f`, which is the work of others, on top of the process's turn.
    pub(crate) fn apart(f: &mut dyn FnMut()) {
        ProcessTurn::halted(&mut || {
            let _outer = Outer::replace(ptr::null());
            ProcessTurn::on_top(&mut *f);
        });
    }

    /// Calls `f`, which may do the work of others; perhaps in a destructor while the thread
    /// unwinds.
    pub(crate) fn on_top<R>(f: impl FnOnce() -> R) -> R {
        let now = thread::panicking();
        let _outer = OnPanic(ON_PANIC.with(|is_on_panic| is_on_panic.replace(now)));
        f()
    }

    /// Whether a panic is under way that began in what the thread does now.
    pub(super) fn is_panicking() -> bool {
        thread::panicking() && !ON_PANIC.with(Cell::get)
    }

    /// Pays the turn's wake-ups where no wait, which would be a fence, follows.
    pub(crate) fn pay_at_once(&self) {
        self.owed.pay_at_once(self.process);
    }

    /// Calls `f`, which may end with the failure of its process: ports that it drops are closed at
    /// the end of the turn, or when the process waits within it.
    pub(crate) fn closing_late<R>(f: impl FnOnce() -> R) -> R {
        ProcessTurn::closing(true, f)
    }

    /// Calls `f`, which drops what the process has sent, and no more has: ports in it are closed at
    /// once.
    pub(super) fn closing_now<R>(f: impl FnOnce() -> R) -> R {
        ProcessTurn::closing(false, f)
    }

    fn closing<R>(is_late: bool, f: impl FnOnce() -> R) -> R {
        let set = |is_late: bool| {
            ProcessTurn::with_current(|turn| turn.is_some_and(|turn| turn.is_late.replace(is_late)))
        };
        let outer = set(is_late);
        let result = f();
        set(outer);
        result
    }

    /// Calls `f`, which drops messages or the body of that process, and tells the network what they
    /// panic with; perhaps after the process's turn. Ports that such a panic drops are closed when
    /// it has told.
    pub(super) fn dropping(shared: &Arc<Shared>, process: u32, f: impl FnOnce()) {
        let is_within = ProcessTurn::with_current(|turn| {
            turn.is_some_and(|turn| turn.process == process && Arc::ptr_eq(turn.shared, shared))
        });
        if is_within {
            return f();
        }
        let outside = OnceLock::new();
        let turn = ProcessTurn::unbegun(shared, process, &outside);
        turn.with(|_| f());
        turn.close_all();
    }

    /// A port is dropped. True when it is not closed now: when the calling thread unwinds out of a
    /// process of its network, or is in that one's [`Self::closing_late`]. Then the port is closed
    /// at the end of the turn, when it is known whether the process has failed. For else another
    /// process could take half of a stream for the whole. Where the process waits before, the port
    /// is closed at once, and if a panic has dropped it, the end of the stream is in [`Doubt`] for
    /// as long. True also in no turn of that network, if a panic drops the port beside its process:
    /// see [`left_ports::leave`].
    ///
    /// [`Doubt`]: crate::state::doubt::Doubt
    ///
    /// # Safety
    /// The caller is that port, and does not use the channel afterwards if this is true.
    #[must_use]
    pub(crate) unsafe fn close_late(channel: NonNull<Words>, end: ChannelEnd) -> bool {
        ProcessTurn::with_current(|turn| {
            // SAFETY: the caller is a port, which keeps its channel.
            let of = unsafe { channel.as_ref() }.shared();
            // A process may run another network meanwhile, to which its own end says nothing.
            let Some(turn) = turn.filter(|turn| Arc::ptr_eq(turn.shared, of)) else {
                // SAFETY: the caller's promise.
                return unsafe { left_ports::leave(channel, end) };
            };
            let panics = thread::panicking();
            if !turn.is_late.get() && !panics {
                return false;
            }
            // Else it is not known whose panic it is: the end is no reason for doubt then.
            let panics = panics && !turn.is_on_panic;
            let closing = turn.closing.take();
            let mut closing = closing.unwrap_or_else(|| Box::new(LatePorts::new()));
            // SAFETY: the caller's promise.
            closing.add(unsafe { DroppedPort::new(channel, end) }, panics);
            turn.closing.set(Some(closing));
            true
        })
    }

    /// Lets the panic of a dropped message go on. Where the thread has unwound before this turn,
    /// that would end the program: then the network is told.
    pub(crate) fn go_on(payload: Option<Payload>) {
        let left = payload.and_then(|payload| {
            ProcessTurn::with_current(|turn| match turn.filter(|turn| turn.is_on_panic) {
                None => Some(payload),
                Some(turn) => {
                    let failure = NetworkFailure::unwound(turn.process, payload);
                    turn.shared.stop(failure);
                    None
                }
            })
        });
        go_on(left);
    }

    /// Closes the ports that were left to the end of the turn, which is now.
    #[inline(always)]
    pub(crate) fn close_all(&self) {
        if let Some(closing) = self.closing.take() {
            self.close_these(*closing);
        }
    }

    #[cold]
    #[inline(never)]
    fn close_these(&self, ports: LatePorts<DroppedPort>) {
        // Messages that are dropped with a port may wait for them.
        self.owed.wake_at_once();
        ProcessTurn::close_ports(ports, self.shared, self.process);
    }

    /// Closes what a process has left for when it is known whether it fails, which is now.
    pub(super) fn close_ports(ports: LatePorts<DroppedPort>, shared: &Arc<Shared>, process: u32) {
        // Before messages are dropped, which may wait for who waits for that.
        let ports = ports.end(&shared.doubt);
        let close = || late_ports::close_each(ports, shared, process);
        ProcessTurn::dropping(shared, process, close);
    }

    /// Hands over the operations that have to wait, and the channels that are owed a look.
    #[inline(always)]
    pub(crate) fn end(self) -> (Waits, Owed) {
        (self.waits.into_inner(), self.owed)
    }

    /// Whether the calling thread polls the process that is woken by it.
    fn is_outside_of_current(outside: *const Outside) -> bool {
        ProcessTurn::with_current(|turn| {
            let own = turn.and_then(|turn| turn.outside.get());
            own.is_some_and(|own| ptr::eq(Arc::as_ptr(own), outside))
        })
    }

    fn to_outside(&self) -> Arc<Outside> {
        let outside = self.outside.get_or_init(|| {
            Arc::new(Outside {
                waker: self.task.clone(),
                woken: AtomicBool::new(false),
            })
        });
        Arc::clone(outside)
    }
}

/// Somebody was seen to wait at that end, who is woken. Whoever has stopped to wait meanwhile may
/// wait again without having seen what it would be told, because there was no fence after that was
/// published: so it is looked at again after one.
///
/// # Safety
/// As [`ProcessTurn::tell`].
#[inline(never)]
unsafe fn wake_seen(channel: NonNull<Words>, end: ChannelEnd) {
    // SAFETY: the port keeps its channel.
    let words = unsafe { channel.as_ref() };
    match words.wake_now(end) {
        // SAFETY: the caller's promise.
        None => unsafe { look_again(channel, end) },
        Some(true) => deadlock::after_act(words.shared()),
        // A process of that network asks at the end of its turn.
        Some(false) => {}
    }
}

/// Out of the way of who wakes somebody.
///
/// # Safety
/// As [`ProcessTurn::tell`].
#[cold]
#[inline(never)]
unsafe fn look_again(channel: NonNull<Words>, end: ChannelEnd) {
    // SAFETY: the caller's promise.
    unsafe { ProcessTurn::owe(channel, end) };
}

/// Of the waker that is lent to a process's body. A static, not a constant: its address is how it
/// is recognised.
static LENT: RawWakerVTable = RawWakerVTable::new(clone_lent, wake_lent, wake_lent, drop_lent);
static LEFT: RawWakerVTable =
    RawWakerVTable::new(clone_left, wake_left, wake_left_by_ref, drop_left);

/// # Safety
/// `at` is the data of a lent waker.
unsafe fn clone_lent(at: *const ()) -> RawWaker {
    // SAFETY: it is a turn, which outlives what was lent. Another thread may have it by reference:
    // it touches nothing here but the task's waker and the `OnceLock`.
    let outside = unsafe { (*at.cast::<ProcessTurn<'_>>()).to_outside() };
    RawWaker::new(Arc::into_raw(outside).cast(), &LEFT)
}

/// # Safety
/// As [`clone_lent`].
unsafe fn wake_lent(at: *const ()) {
    // SAFETY: `at` is a turn, which outlives its lent wakers. Another thread touches only the
    // task's waker and the `OnceLock` in it.
    unsafe { (*at.cast::<ProcessTurn<'_>>()).to_outside() }.wake();
}

/// # Safety
/// None.
unsafe fn drop_lent(_: *const ()) {}

/// # Safety
/// `at` is the data of a waker that has left its turn.
unsafe fn clone_left(at: *const ()) -> RawWaker {
    // SAFETY: it is a counted pointer.
    unsafe { Arc::increment_strong_count(at.cast::<Outside>()) };
    RawWaker::new(at, &LEFT)
}

/// # Safety
/// As [`clone_left`], and the waker is given up.
unsafe fn wake_left(at: *const ()) {
    // SAFETY: `at` is a counted pointer, and the caller gives its count up.
    let outside = unsafe { Arc::from_raw(at.cast::<Outside>()) };
    outside.mark();
    let waker = outside.waker.clone();
    // Before the process is woken, not after: it may come to its next wait before this thread goes
    // on, and would be thought to wait for a wake-up from outside that nobody can give.
    drop(outside);
    waker.wake();
}

/// # Safety
/// As [`clone_left`].
unsafe fn wake_left_by_ref(at: *const ()) {
    // SAFETY: it is a counted pointer.
    unsafe { (*at.cast::<Outside>()).wake() };
}

/// # Safety
/// As [`clone_left`], and the waker is given up.
unsafe fn drop_left(at: *const ()) {
    if ProcessTurn::is_outside_of_current(at.cast()) {
        // SAFETY: `at` is a counted pointer, and the caller gives its count up.
        drop(unsafe { Arc::from_raw(at.cast::<Outside>()) });
        return;
    }
    // Elsewhere than in its process's own turn: that one may have come to its wait already, and was
    // taken for one that may be woken from outside. It looks again.
    // SAFETY: as this function.
    unsafe { wake_left(at) };
}
