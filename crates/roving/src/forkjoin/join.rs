//! `join`: two closures, perhaps at the same time.

use std::any::Any;
use std::mem;
use std::panic::{self, AssertUnwindSafe};

use crate::inherit::cancelled::first_of;
use crate::machine::unwind::{Quiet, beside, drop_quietly};
use crate::pool::global::Roving;
use crate::pool::home::Home;
use crate::pool::{self, global};
use crate::stack::line::current_line;
use crate::stack::slot::{Further, Run, Slot, fits};
use crate::workers::Worker;
use crate::workers::own_tasks::Own;
use crate::workers::wait::Taken;

/// Runs `a` and `b`, perhaps at the same time, and returns both results.
///
/// `b` becomes a task that another worker can steal; `a` runs here at once; then `b` runs here
/// unless it was stolen, in which case this call waits for it and meanwhile runs only subtasks of
/// `b`. On a thread that is no worker the whole call moves to the global pool.
///
/// As long as `b` is not stolen, a call costs about a dozen instructions, no allocation, and no
/// atomic read-modify-write or fence (one while the task is one of the few oldest, which are
/// public). Task-specific join and private tasks are after Faxén (Wool, 2009).
///
/// Closures that wait for each other through other means than this join may deadlock: nothing
/// promises that they run at the same time.
///
/// # Panics
/// If `a` or `b` panics, so does `join`, when both have ended; with `a`'s payload if both do. But a
/// [`CancelledError`](crate::CancelledError), by which a cancelled loop unwinds, gives way to a
/// panic.
///
/// ```
/// fn sum(numbers: &[u64]) -> u64 {
///     match numbers {
///         [] => 0,
///         [one] => *one,
///         _ => {
///             let (left, right) = numbers.split_at(numbers.len() / 2);
///             let (a, b) = roving::join(|| sum(left), || sum(right));
///             a + b
///         }
///     }
/// }
/// assert_eq!(sum(&[1, 2, 3, 4, 5]), 15);
/// ```
#[inline(always)]
pub fn join<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce() -> RA + Send,
    B: FnOnce() -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_at::<Roving, _, _, _, _>(|_| a(), |_| b())
}

/// Runs two closures like [`join`], and tells each whether it has *migrated*: it runs on another
/// worker than the one that called, or was brought into the pool by this call. A loop that splits
/// its range by halves can thus split further exactly where another worker wanted work.
///
/// # Panics
/// As [`join`].
///
/// ```
/// let pool = roving::Pool::new(1).unwrap();
/// let migrated = pool.install(|| roving::join_context(|a| a, |b| b));
/// assert_eq!(migrated, (false, false), "there is nobody else");
/// ```
#[inline(always)]
pub fn join_context<A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_at::<Roving, _, _, _, _>(a, b)
}

/// Runs two closures like [`join_context`]; a thread that is no worker uses the pool of selector
/// `H`.
#[inline(always)]
pub fn join_at<H, A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    H: Home,
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    if const { in_registers::<A>() && in_registers::<B>() && in_registers::<(RA, RB)>() } {
        join_by_registers::<H, _, _, _, _>(a, b)
    } else if const { fits::<B>() && fits::<Outcome<RB>>() } {
        join_in_slot::<H, _, _, _, _>(a, b)
    } else if const { mem::needs_drop::<RB>() } {
        // What does not fit stays in this frame, and references to it fit.
        let mut b = Some(b);
        let mut result = Quiet(None);
        let by_reference = |migrated| result.0 = b.take().map(|b| b(migrated));
        let (ra, ()) = join_in_slot::<H, _, _, _, _>(a, by_reference);
        (ra, result.0.take().expect("join runs both closures"))
    } else {
        // The same, without what a drop of the result costs.
        let mut b = Some(b);
        let mut result = None;
        let by_reference = |migrated| result = b.take().map(|b| b(migrated));
        let (ra, ()) = join_in_slot::<H, _, _, _, _>(a, by_reference);
        (ra, result.expect("join runs both closures"))
    }
}

/// Whether a function takes and returns such a value in registers.
const fn in_registers<T>() -> bool {
    size_of::<T>() <= PAIR_OF_REGISTERS
}

/// [`join_in_slot`] as a function of its own, where nothing goes through memory for it. LLVM
/// inlines it into its only caller, unless that is as small as `fib`: then it inlines the caller
/// here, and the recursion makes no calls for its leaves. Not `#[inline]`: rustc would inline it
/// before LLVM sees it, and choose once for all.
fn join_by_registers<H, A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    H: Home,
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    join_in_slot::<H, _, _, _, _>(a, b)
}

/// A stolen closure's result, or the payload of its panic.
type Outcome<R> = Result<R, Box<dyn Any + Send>>;

/// The fast path. Nothing has to be kept or moved for the sake of the slow one: it takes what it
/// needs and gives it back, in memory; and there is one place only where `a` is called, so that it
/// can be inlined.
///
/// That memory is never the closures' own. A value whose address some function gets, be it a cold
/// one, stays in memory everywhere: then the words of a closure are written one by one, and at once
/// copied into the slot by wider moves, for which the processor has to wait until the words have
/// left its store buffer. So whatever a slow path takes is packed into a tuple first, which is
/// memory of its own, and what it returns has memory of its own too. For the same reason all down
/// to here is inlined into the caller, where the closures are made, unless they are so small that a
/// call hands them over in registers.
#[inline(always)]
fn join_in_slot<H, A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    H: Home,
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    // SAFETY: a thread's line pointer leads to the line of its own worker, or to the alarm, whose
    // limits let nobody through.
    let line = unsafe { &*current_line() };
    let mut slot = line.top.get();
    let mut a = a;
    if slot < line.push_limit.get() {
        // SAFETY: below the limit, the slot at the top is free and private, and this thread's.
        unsafe { (*slot).fill(run_joined::<B, RB> as Run, b) };
        line.top.set(slot.wrapping_add(1));
    } else {
        let mut pushed = None;
        push_slowly::<A, B, RB>((a, b), &mut pushed);
        match pushed {
            Some(Pushed::At(at, back)) => (slot, a) = (at, back),
            Some(Pushed::Not(a, b, why)) => {
                let mut results = None;
                join_unpushed::<H, _, _, _, _>((a, b), why, &mut results);
                return results.expect("join runs both closures");
            }
            None => unreachable!("the slow push says what it did"),
        }
    }
    // SAFETY: just pushed.
    unsafe { join_pushed::<A, B, RA, RB>(slot, a) }
}

/// The rest of a join, once `b` is in its slot.
///
/// # Safety
/// This thread pushed the slot last, with a `B` in it for `run_joined::<B, RB>`.
#[inline(always)]
unsafe fn join_pushed<A, B, RA, RB>(slot: *const Slot, a: A) -> (RA, RB)
where
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let ra = match panic::catch_unwind(AssertUnwindSafe(|| a(false))) {
        Ok(ra) => ra,
        // SAFETY: the caller's promise is handed on.
        Err(payload) => unsafe { end_unwinding::<B, RB>(slot, payload) },
    };
    // SAFETY: as in `join_in_slot`. It may be another line than before: an alarm has its own.
    let line = unsafe { &*current_line() };
    if slot < line.pop_limit.get() {
        return if const { in_registers::<(RA, RB)>() } {
            // SAFETY: the caller's promise is handed on.
            unsafe { finish_slowly::<B, RA, RB>(slot, (ra,)) }
        } else {
            let mut results = None;
            // SAFETY: this function's caller has pushed the slot, with a `B` in it.
            unsafe { finish_in_memory::<B, RA, RB>(slot, (ra,), &mut results) };
            results.expect("join runs both closures")
        };
    }
    line.top.set(slot);
    // SAFETY: popped, with the closure still inside.
    let b = unsafe { (*slot).take::<B>() };
    beside(ra, || b(false))
}

/// Values of this size at most are handed over in registers.
const PAIR_OF_REGISTERS: usize = 2 * size_of::<usize>();

/// The result of a push: the slot, or the closures back with the reason.
enum Pushed<A, B> {
    At(*const Slot, A),
    Not(A, B, Why),
}

/// Why a task was not pushed.
enum Why {
    Full,
    NoWorker,
}

#[cold]
#[inline(never)]
fn push_slowly<A, B, RB>((a, b): (A, B), pushed: &mut Option<Pushed<A, B>>)
where
    B: FnOnce(bool) -> RB + Send,
    RB: Send,
{
    *pushed = Some(Worker::with_current(|worker| {
        let Some(worker) = worker else {
            return Pushed::Not(a, b, Why::NoWorker);
        };
        match worker.owner().push(run_joined::<B, RB>, b) {
            Ok((slot, wake)) => {
                worker.wake_if(wake);
                Pushed::At(slot, a)
            }
            Err((b, wake)) => {
                worker.wake_if(wake);
                Pushed::Not(a, b, Why::Full)
            }
        }
    }));
}

/// All of a join on a worker. One code for all closures, because it is there beside each join.
#[inline(never)]
fn join_brought_in<H: Home>(a: &mut (dyn FnMut() + Send), b: &mut (dyn FnMut() + Send)) {
    pool::install(global::of::<H>().registry(), || {
        join_in_slot::<H, _, _, _, _>(|_| a(), |_| b());
    });
}

/// A join without a task: one after the other, or all of it on a worker. A recursion that is deeper
/// than the task stack has this frame for each level, so what is rare has frames of its own.
#[cold]
#[inline(never)]
fn join_unpushed<H, A, B, RA, RB>((a, b): (A, B), why: Why, results: &mut Option<(RA, RB)>)
where
    H: Home,
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    *results = Some(match why {
        Why::NoWorker => join_outside::<H, _, _, _, _>(a, b),
        Why::Full => {
            let ra = caught(|| a(false));
            let rb = caught(|| b(false));
            both(ra, rb)
        }
    });
}

#[cold]
#[inline(never)]
fn join_outside<H, A, B, RA, RB>(a: A, b: B) -> (RA, RB)
where
    H: Home,
    A: FnOnce(bool) -> RA + Send,
    B: FnOnce(bool) -> RB + Send,
    RA: Send,
    RB: Send,
{
    let (mut a, mut b) = (Some(a), Some(b));
    let (mut ra, mut rb) = (Quiet(None), Quiet(None));
    join_brought_in::<H>(&mut || ra.0 = a.take().map(|a| a(true)), &mut || {
        rb.0 = b.take().map(|b| b(true))
    });
    let both = ra.0.take().zip(rb.0.take());
    both.expect("join runs both closures")
}

fn both<RA, RB>(ra: Outcome<RA>, rb: Outcome<RB>) -> (RA, RB) {
    match (ra, rb) {
        (Ok(ra), Ok(rb)) => (ra, rb),
        (Err(payload), rb) => unwind_beside(payload, rb),
        (Ok(ra), Err(payload)) => {
            drop_quietly(ra);
            panic::resume_unwind(payload)
        }
    }
}

/// `a` has panicked, and `b` has ended.
fn unwind_beside<RB>(payload: Box<dyn Any + Send>, rb: Outcome<RB>) -> ! {
    let other = rb.map(drop_quietly).err();
    panic::resume_unwind(first_of(payload, other))
}

fn caught<R>(f: impl FnOnce() -> R) -> Outcome<R> {
    panic::catch_unwind(AssertUnwindSafe(f))
}

/// The end of a join whose pop is not the fast one.
///
/// # Safety
/// As `join_pushed`.
#[cold]
#[inline(never)]
unsafe fn finish_slowly<B, RA, RB>(slot: *const Slot, (ra,): (RA,)) -> (RA, RB)
where
    B: FnOnce(bool) -> RB + Send,
    RB: Send,
{
    match pop_slowly(slot) {
        Taken::Here => {
            // SAFETY: popped, with the closure still inside.
            let b = unsafe { (*slot).take::<B>() };
            beside(ra, || b(false))
        }
        // SAFETY: the thief left the outcome in the payload; nothing has been pushed since.
        Taken::Ended => match unsafe { (*slot).take::<Outcome<RB>>() } {
            Ok(rb) => (ra, rb),
            Err(payload) => {
                drop_quietly(ra);
                panic::resume_unwind(payload)
            }
        },
    }
}

/// [`finish_slowly`] for results that are not returned in registers. They get memory of their own,
/// so that those of the fast path need none.
///
/// # Safety
/// As `join_pushed`.
#[cold]
#[inline(never)]
unsafe fn finish_in_memory<B, RA, RB>(slot: *const Slot, ra: (RA,), results: &mut Option<(RA, RB)>)
where
    B: FnOnce(bool) -> RB + Send,
    RB: Send,
{
    // SAFETY: the caller's promise is handed on.
    *results = Some(unsafe { finish_slowly::<B, RA, RB>(slot, ra) });
}

/// `a` has panicked. `b` must end before this frame does, because it may borrow from it: it runs,
/// as it would have without the panic. If it panics too, [`first_of`] says which payload goes on.
///
/// # Safety
/// As `join_pushed`.
#[cold]
#[inline(never)]
unsafe fn end_unwinding<B, RB>(slot: *const Slot, payload: Box<dyn Any + Send>) -> !
where
    B: FnOnce(bool) -> RB + Send,
    RB: Send,
{
    let outcome: Outcome<RB> = match pop_slowly(slot) {
        Taken::Here => {
            // SAFETY: popped, with the closure still inside.
            let b = unsafe { (*slot).take::<B>() };
            panic::catch_unwind(AssertUnwindSafe(|| b(false)))
        }
        // SAFETY: the thief left the outcome in the payload.
        Taken::Ended => unsafe { (*slot).take() },
    };
    unwind_beside(payload, outcome)
}

/// Runs the task of a join on a thief.
///
/// # Safety
/// As [`Run`]; the payload is a `B`.
unsafe extern "C-unwind" fn run_joined<B, RB>(slot: &Slot) -> Further
where
    B: FnOnce(bool) -> RB + Send,
    RB: Send,
{
    // SAFETY: the closure that `join_in_slot` put in.
    let b = unsafe { slot.take::<B>() };
    let outcome: Outcome<RB> = panic::catch_unwind(AssertUnwindSafe(|| b(true)));
    // SAFETY: the slot stays the thief's until it says that the task is done.
    unsafe { slot.put(outcome) };
    Further::Nothing
}

/// Pops the task in `slot`, which this thread pushed; drains what lies unjoined above it first, and
/// waits if it was stolen. Afterwards the payload is the caller's.
#[cold]
#[inline(never)]
fn pop_slowly(slot: *const Slot) -> Taken {
    Worker::with_current(|worker| {
        let worker = worker.expect("the thread was a worker when it pushed");
        Own(worker).take_joined(slot)
    })
}
