//! A process: the body that its author wrote, and what the network needs around it.

mod late_ports;
mod left_ports;
#[cfg(not(loom))]
pub(crate) mod metered;
mod owed;
pub(crate) mod poll;

use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::channel::shared::{NetworkFailure, Shared};
use crate::channel::statement::Statement;
use crate::channel::words::{ChannelEnd, Resumed};
use crate::channel::{At, Op, Waits};
use crate::deadlock;
use crate::machine::prim::{Arc, OnceLock, Ordering, fence, ord};
use crate::state::control::Control;
use crate::state::thread_counts::Line;
use poll::{Outside, ProcessTurn};

/// So many times in one poll a process goes on at once when what it waits for has come just then.
const TURNS_MAX: u32 = 64;

const STARTED: u8 = 1;
const TRACED: u8 = 2;

/// The future of a process, or what is around it.
pub(crate) trait OfProcess: Future<Output = ()> {
    /// The state that the process shares with its network, and keeps; and its index. Not by a
    /// shared reference, which would be one to what the body borrows from itself.
    fn process(self: Pin<&mut Self>) -> (*const Shared, u32);
}

/// The future that a process's task polls.
pub(crate) struct Process<F> {
    shared: Arc<Shared>,
    index: u32,
    /// [`STARTED`], and [`TRACED`] when its turns are spans of a trace, under its name.
    flags: u8,
    /// So many turns of this poll were unsure.
    unsure: u8,
    /// Of the last turn in which one of several waits may have been given up.
    fingerprint: u16,
    waits: Waits,
    outside: OnceLock<Arc<Outside>>,
    /// Pinned. None when it has ended.
    body: Option<F>,
}

/// How a turn ended.
enum Turned {
    Ended,
    Suspended,
    /// The event that it waits for has come meanwhile.
    Again,
}

impl<F> Process<F> {
    pub(crate) fn new(shared: &Arc<Shared>, index: u32, body: F) -> Process<F> {
        Process {
            shared: Arc::clone(shared),
            index,
            flags: if keeps_trace() { TRACED } else { 0 },
            unsure: 0,
            fingerprint: 0,
            waits: Waits::NOWHERE,
            outside: OnceLock::new(),
            body: Some(body),
        }
    }

    /// It is polled: it waits nowhere any more.
    #[inline(always)]
    fn resume(&mut self, line: &Line) {
        if self.flags & STARTED == 0 {
            self.flags |= STARTED;
            self.shared.process_started();
        }
        let waits = std::mem::replace(&mut self.waits, Waits::NOWHERE);
        if let At::Any(_) = waits.at() {
            self.shared.control(self.index).word.set(Statement::Runs);
        }
        resume(&waits, &self.shared, self.index, line);
        if let Some(outside) = self.outside.get() {
            outside.reset();
        }
    }

    /// It is dropped before its end, because something has unwound out of a poll that is not its
    /// body. It says that it waits nowhere: what its word points to is freed with the network, and
    /// whoever looks at the network may read the word afterwards.
    #[cold]
    #[inline(never)]
    fn leave_off(&mut self) {
        let shared = Arc::clone(&self.shared);
        self.resume(shared.lines.mine());
        has_no_body(&shared, self.index);
    }
}

/// A process will not be polled any more, and not because it has come to its end.
pub(crate) fn has_no_body(shared: &Arc<Shared>, process: u32) {
    shared.control(process).word.set(Statement::Ended);
    left_ports::close(shared, process);
}

impl<F> Drop for Process<F> {
    fn drop(&mut self) {
        if self.body.is_some() {
            self.leave_off();
        }
    }
}

impl<F: Future<Output = ()>> Process<F> {
    /// One turn.
    #[inline(always)]
    fn turn(&mut self, line: &Line, task: &Waker) -> Turned {
        let Some(body) = &mut self.body else {
            return Turned::Ended;
        };
        if self.shared.is_stopped() {
            return Turned::Ended;
        }
        let turn = ProcessTurn::new(&self.shared, self.index, task, &self.outside);
        // SAFETY: the process is pinned while it is polled, and its body is never moved.
        let body = unsafe { Pin::new_unchecked(body) };
        let polled =
            turn.with(|context| panic::catch_unwind(AssertUnwindSafe(|| body.poll(context))));
        match polled {
            Ok(Poll::Pending) => {
                turn.close_all();
                let (waits, owed) = turn.end();
                let may_wake = self.outside.get_mut().is_some_and(Outside::may_wake);
                let control = self.shared.suspends(self.index, task);
                self.waits = waits;
                let (last, unsure) = (&mut self.fingerprint, &mut self.unsure);
                let are_all = || self.waits.are_exact() || is_the_same(&self.waits, last, unsure);
                let may_wake = may_wake.then_some(&self.outside);
                let suspended = begin(&self.waits, control, line, self.index, may_wake, are_all);
                // After a fence.
                owed.pay(self.index);
                if suspended && (!self.shared.is_disturbed() || self.stays_suspended(line)) {
                    return Turned::Suspended;
                }
                line.enter();
                self.resume(line);
                Turned::Again
            }
            Ok(Poll::Ready(())) => {
                turn.close_all();
                turn.pay_at_once();
                Turned::Ended
            }
            Err(payload) => {
                self.shared
                    .stop(NetworkFailure::unwound(self.index, payload));
                turn.close_all();
                turn.pay_at_once();
                Turned::Ended
            }
        }
    }

    /// A turn has ended in a network that has been stopped, or in which there are [`LeftPorts`],
    /// perhaps of this process. Whether it stays suspended all the same.
    ///
    /// [`LeftPorts`]: crate::state::late_ports::LeftPorts
    #[cold]
    #[inline(never)]
    fn stays_suspended(&mut self, line: &Line) -> bool {
        if self.shared.is_stopped() {
            return false;
        }
        // Who waits at an end in doubt, which may be its own doubt, waits for channels: else it
        // would wait for ever, and two of these for each other.
        let doubt = &self.shared.doubt;
        let doubts = |outside: &Arc<Outside>| doubt.count_of(Arc::as_ptr(outside).cast());
        let awaits_others = match (self.outside.get_mut(), self.waits.at()) {
            (None, at) => matches!(at, At::Nowhere),
            (Some(outside), at) => match doubts(outside) {
                0 => Outside::may_wake(outside) || matches!(at, At::Nowhere),
                known => Arc::strong_count(outside) > 1 + known,
            },
        };
        if !left_ports::count_turn(&self.shared, self.index, awaits_others) {
            return true;
        }
        // It does something, after it has said that it does not.
        line.enter();
        left_ports::close_heard_of(&self.shared, self.index, awaits_others);
        line.leave();
        false
    }

    /// It has ended, or is to end: its ports are closed.
    #[inline(never)]
    fn end(&mut self, line: &Line) {
        // SAFETY: as in `turn`; it is dropped where it is.
        let body = unsafe { Pin::new_unchecked(&mut self.body) };
        ProcessTurn::dropping(&self.shared, self.index, || {
            let dropped = panic::catch_unwind(AssertUnwindSafe(|| {
                let mut body = body;
                body.set(None);
            }));
            if let Err(payload) = dropped {
                self.shared
                    .stop(NetworkFailure::Panicked(self.index, payload));
            }
        });
        self.outside = OnceLock::new();
        self.shared.wake_due();
        self.shared.control(self.index).word.set(Statement::Ended);
        // Before it is told that all have ended, where that is seen already.
        if self.shared.is_disturbed() {
            left_ports::close(&self.shared, self.index);
        }
        line.leave();
        deadlock::after_end(&self.shared, line);
        // After a fence.
        if self.shared.is_disturbed() {
            left_ports::close(&self.shared, self.index);
        }
    }
}

#[cfg(not(loom))]
fn keeps_trace() -> bool {
    roving::raw::reports::keeps_trace()
}

/// Loom explores networks that nobody watches.
#[cfg(loom)]
fn keeps_trace() -> bool {
    false
}

impl<F: Future<Output = ()>> Future for Process<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        // SAFETY: nothing is moved out; the body is treated as pinned.
        let this = unsafe { self.get_unchecked_mut() };
        if this.flags & TRACED != 0 {
            return this.go_on_traced(context);
        }
        this.go_on(context)
    }
}

impl<F: Future<Output = ()>> Process<F> {
    /// Goes on, as a span of the trace.
    #[cold]
    #[inline(never)]
    fn go_on_traced(&mut self, context: &mut Context<'_>) -> Poll<()> {
        #[cfg(not(loom))]
        let _span = {
            let names = self.shared.plan.get().map(|plan| &plan.processes);
            let name = names.map_or("process", |names| names.get(self.index as usize));
            roving::trace::span(name.to_owned())
        };
        self.go_on(context)
    }

    /// Goes on until it waits, ends, or others are next.
    #[inline(always)]
    fn go_on(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let this = self;
        let shared = Arc::as_ptr(&this.shared);
        // SAFETY: the process keeps it, and is borrowed for longer than it is used.
        let line = unsafe { &*shared }.lines.mine();
        line.enter();
        this.resume(line);
        this.unsure = 0;
        for _ in 0..TURNS_MAX {
            match this.turn(line, context.waker()) {
                Turned::Again => {}
                Turned::Suspended => {
                    let waits_to_write = waits_to_write(&this.waits);
                    deadlock::after_suspension(&this.shared, line, this.index, waits_to_write);
                    return Poll::Pending;
                }
                Turned::Ended => {
                    this.end(line);
                    return Poll::Ready(());
                }
            }
        }
        // It has gone on for long enough; the others of this worker are next.
        context.waker().wake_by_ref();
        line.leave();
        Poll::Pending
    }
}

impl<F: Future<Output = ()>> OfProcess for Process<F> {
    #[inline(always)]
    fn process(self: Pin<&mut Self>) -> (*const Shared, u32) {
        // SAFETY: nothing is moved out.
        let this = unsafe { self.get_unchecked_mut() };
        (Arc::as_ptr(&this.shared), this.index)
    }
}

fn waits_to_write(waits: &Waits) -> bool {
    match waits.at() {
        At::Nowhere => false,
        At::One(op) => op.end == ChannelEnd::Writer,
        At::Any(ops) => ops.iter().any(|op| op.end == ChannelEnd::Writer),
    }
}

/// The process waits there from now on, and this is a fence. False when something has come
/// meanwhile, or not all of these are known to be waited for: then it is to be resumed.
#[inline(always)]
fn begin(
    waits: &Waits,
    control: &Control,
    line: &Line,
    process: u32,
    may_wake: Option<&OnceLock<Arc<Outside>>>,
    are_all: impl FnOnce() -> bool,
) -> bool {
    let says = |word: Statement| {
        control.word.set(match may_wake {
            Some(outside) => Outside::statement(outside.get()),
            None => word,
        });
        line.leave();
    };
    match waits.at() {
        At::Nowhere => {
            says(Statement::Outside);
            // Ordering: the fence that `Words::wait` is otherwise. Pairs with [wait] and [quiet].
            fence(ord("outside_fence", Ordering::SeqCst));
            true
        }
        At::One(op) => {
            says(Statement::One(op));
            op.words().wait(op.end, process)
        }
        At::Any(ops) => {
            says(Statement::Runs);
            let waits = ops.iter().all(|op| op.words().wait(op.end, process));
            if !waits || may_wake.is_some() {
                return waits;
            }
            let waits = are_all();
            if waits {
                control.word.set(Statement::Many);
            }
            waits
        }
    }
}

/// Whether a turn ends with the same operations as the last one, at which nothing has been done, as
/// far as a fingerprint says so.
///
/// An operation that was given up within a turn, as in a `select` whose other arm was ready, is
/// among those that have to wait at its end, and the search for deadlocks would think that it lets
/// the process go on. In a second turn none is given up, unless something has come. A process that
/// looks at other ports in each turn is believed in the last one of a poll.
#[cold]
#[inline(never)]
fn is_the_same(waits: &Waits, last: &mut u16, unsure: &mut u8) -> bool {
    let At::Any(ops) = waits.at() else {
        return true;
    };
    // Not in proportion to what is mixed: channels may lie at equal distances.
    const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
    let mix = |bits: u64| (bits ^ (bits.wrapping_mul(ODD) >> 32)).wrapping_mul(ODD);
    let of_one = |op: &Op| {
        let words = op.words();
        let counts = words.sent().number().wrapping_add(words.taken().number());
        mix(mix(op.pack().addr() as u64).wrapping_add(counts))
    };
    let sum = ops.iter().map(of_one).fold(0, u64::wrapping_add);
    let fingerprint = (sum >> 48) as u16;
    let is_same = std::mem::replace(last, fingerprint) == fingerprint;
    *unsure += u8::from(!is_same);
    is_same || u32::from(*unsure) == TURNS_MAX
}

/// The process waits there no more.
#[inline(always)]
fn resume(waits: &Waits, shared: &Shared, process: u32, line: &Line) {
    let resume = |op: &Op| {
        if let Resumed::Claimed(by) = op.words().resume(op.end, process) {
            shared.lines.started(line, by);
        }
    };
    match waits.at() {
        At::Nowhere => {}
        At::One(op) => resume(&op),
        At::Any(ops) => ops.iter().for_each(resume),
    }
}
