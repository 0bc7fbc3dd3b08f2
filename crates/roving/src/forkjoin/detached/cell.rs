//! The memory of a detached task: its closure, later its outcome, and the word of those that keep
//! it.

use std::any::Any;
use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop, MaybeUninit};
use std::panic::{self, AssertUnwindSafe};
use std::ptr::{self, NonNull};
use std::sync::{Arc, Weak};
use std::task::Waker;

use super::word::{Keeper, Word};
use crate::context::CancelledError;
use crate::inherit::node::{self, Node};
use crate::machine::unwind::{drop_quietly, run_quietly};
use crate::workers::Worker;
use crate::workers::drop_cancelled;
use crate::workers::enter::run_in;
use crate::workers::frames::awaited::Awaited;
use crate::workers::frames::child_end::{Awaiting, Ending, Retracted};
use crate::workers::job::{self, Job};
use crate::workers::registry::{PoolMark, Registry};

/// The part of a detached task that does not depend on its closure.
pub(super) struct Header {
    pub(super) word: Word,
    table: &'static Table,
    /// The pool, which may be gone.
    pub(super) pool: PoolMark,
    /// In which the task runs.
    context: Option<Arc<Node>>,
    /// Whoever the word names may touch it.
    awaiter: UnsafeCell<MaybeUninit<Waker>>,
}

/// A task, by its header. The pointer is that of the whole memory.
pub(super) type Task = NonNull<Header>;

/// Why a task has no result.
pub(super) enum Failure {
    Cancelled,
    /// Boxed, so that a task without a result takes little room for one.
    Panicked(Box<Panic>),
}

/// A panic, with the pool whose handler hears of it if the handle does not.
pub(super) struct Panic {
    pub(super) payload: Box<dyn Any + Send>,
    pool: Weak<Registry>,
}

pub(super) type Outcome<T> = Result<T, Failure>;

#[repr(C)]
struct Memory<F, T> {
    header: Header,
    body: UnsafeCell<Body<F, T>>,
}

union Body<F, T> {
    closure: ManuallyDrop<F>,
    outcome: ManuallyDrop<Outcome<T>>,
}

/// The functions of a task, by the types of its closure and its result.
struct Table {
    /// See [`abandon`].
    abandon: unsafe fn(Task),
    /// See [`settle`].
    settle: unsafe fn(Task, Begin),
    /// See [`dispose`].
    dispose: unsafe fn(Task),
    /// See [`outcome`].
    outcome: unsafe fn(Task) -> *mut (),
    /// See [`free`].
    free: unsafe fn(Task),
}

/// The fate of a closure whose turn has come.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Begin {
    Run,
    Drop,
}

struct Typed<F, T>(PhantomData<(F, T)>);

impl<F: FnOnce() -> T, T> Typed<F, T> {
    const TABLE: &'static Table = &Table {
        abandon: abandon::<F, T>,
        settle: settle::<F, T>,
        dispose: dispose::<F, T>,
        outcome: outcome::<F, T>,
        free: free::<F, T>,
    };
    const JOB: &'static job::Table = &job::Table {
        run: run_queued::<F, T>,
        discard,
        is_void,
    };
}

/// Makes a task for that pool, in the context of the calling thread. The caller makes a [`job`] of
/// it, and a handle if `has_handle`.
#[inline(always)]
pub(super) fn new<F, T>(registry: &Arc<Registry>, f: F, has_handle: bool) -> Task
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let mut memory = Box::<Memory<F, T>>::new_uninit();
    let at = memory.as_mut_ptr();
    let header = Header {
        word: Word::new(has_handle),
        table: Typed::<F, T>::TABLE,
        pool: registry.mark,
        context: node::current(),
        awaiter: UnsafeCell::new(MaybeUninit::uninit()),
    };
    // In place, because a copy of a large closure costs as much as all the rest.
    // SAFETY: fresh memory of that layout; a box is never null.
    unsafe {
        (&raw mut (*at).header).write(header);
        UnsafeCell::raw_get(&raw const (*at).body)
            .cast::<F>()
            .write(f);
        NonNull::new_unchecked(Box::into_raw(memory).cast())
    }
}

/// The job of a new task.
///
/// # Safety
/// The task is new, with a closure `F`, and this is its only job.
#[inline(always)]
pub(super) unsafe fn job<F, T>(task: Task) -> Job
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    // SAFETY: the task is kept for its job; closure and result are `Send`, and the word says who
    // may touch which.
    unsafe { Job::of(task.cast(), Typed::<F, T>::JOB) }
}

/// Drops the closure instead of running it. False if its handle has begun it, or dropped it. Panics
/// with what the closure's drop panics with, if there is no handle to tell.
///
/// # Safety
/// The caller has the job of the task, and gives it up.
unsafe fn discard(task: NonNull<()>) -> bool {
    let task: Task = task.cast();
    // SAFETY: the job keeps the task.
    unsafe {
        let header = task.as_ref();
        if header.word.is_alone() {
            (header.table.abandon)(task);
        } else if claim_or_leave(task) {
            (header.table.settle)(task, Begin::Drop);
            end(task, Keeper::Job);
        } else {
            return false;
        }
    }
    true
}

/// Whether its handle has begun the closure, or dropped it.
///
/// # Safety
/// The caller has the job of the task.
unsafe fn is_void(task: NonNull<()>) -> bool {
    // SAFETY: the job keeps the task.
    !unsafe { task.cast::<Header>().as_ref() }
        .word
        .is_unclaimed()
}

/// Claims the task for its job. Where the handle has claimed it, the job lets it go.
///
/// # Safety
/// The caller has the job, and gives it up if this is false.
#[cold]
#[inline]
unsafe fn claim_or_leave(task: Task) -> bool {
    // SAFETY: the job keeps the task.
    let header = unsafe { task.as_ref() };
    let is_mine = header.word.claim();
    if !is_mine {
        // SAFETY: both are through with it; the outcome was the handle's.
        header
            .word
            .take_out()
            .pay_gone(move || unsafe { free_any(task) });
    }
    is_mine
}

/// Ends a task whose outcome is in its memory. Not touched again by the job after this.
///
/// # Safety
/// The caller has claimed the task for that keeper, or found it alone.
#[inline]
pub(super) unsafe fn end(task: Task, by: Keeper) {
    // SAFETY: the keeper keeps the task until `end` has said how it goes on.
    let header = unsafe { task.as_ref() };
    let mut awaiter = None;
    loop {
        match header.word.end(by) {
            // SAFETY: the word says that it is there, and the caller's.
            Ending::TakeAwaiter => awaiter = Some(unsafe { header.take_awaiter() }),
            Ending::HandedOver => break,
            Ending::Abandoned => {
                // SAFETY: there is no handle, and the job is the caller's, which is through.
                unsafe {
                    (header.table.dispose)(task);
                    (header.table.free)(task);
                }
                break;
            }
        }
    }
    if let Some(awaiter) = awaiter {
        run_quietly(|| awaiter.wake());
    }
}

impl Awaited for Header {
    #[inline]
    fn is_ended(&self) -> bool {
        self.word.is_ended()
    }

    #[inline]
    fn retract_awaiter(&self) -> Retracted {
        self.word.retract_awaiter()
    }

    #[inline]
    fn leave_awaiter(&self) -> Awaiting {
        self.word.leave_awaiter()
    }

    unsafe fn put_awaiter(&self, waker: Waker) {
        // SAFETY: the caller has the cell to itself.
        unsafe { (*self.awaiter.get()).write(waker) };
    }

    unsafe fn take_awaiter(&self) -> Waker {
        // SAFETY: the caller has the cell to itself, and a waker is in it.
        unsafe { (*self.awaiter.get()).assume_init_read() }
    }
}

impl Header {
    /// Runs the closure or drops it, and puts the outcome into the memory.
    ///
    /// # Safety
    /// `task` has this header, and the caller has claimed it.
    pub(super) unsafe fn settle(&self, task: Task, begin: Begin) {
        // SAFETY: the caller's promise.
        unsafe { (self.table.settle)(task, begin) };
    }

    /// Takes the outcome.
    ///
    /// # Safety
    /// As [`dispose_any`], and the result is a `T`.
    pub(super) unsafe fn take_outcome<T>(&self, task: Task) -> Outcome<T> {
        // SAFETY: the caller's promise.
        unsafe { ptr::read((self.table.outcome)(task).cast()) }
    }
}

/// Drops the outcome; a panic that nobody has seen goes to the pool's handler. By pointer, because
/// who calls has often let the memory go already.
///
/// # Safety
/// The task has ended, and the outcome is the caller's.
pub(super) unsafe fn dispose_any(task: Task) {
    // SAFETY: the caller's promise.
    unsafe {
        let dispose = task.as_ref().table.dispose;
        dispose(task);
    }
}

/// By pointer, because no argument may refer to what is freed.
///
/// # Safety
/// Both keepers are through with the task, and neither closure nor outcome is in it.
#[inline]
pub(super) unsafe fn free_any(task: Task) {
    // SAFETY: the caller's promise.
    unsafe {
        let free = task.as_ref().table.free;
        free(task);
    }
}

/// Runs the closure of a task that a worker has taken out of its queue.
///
/// # Safety
/// The caller has the job, and gives it up; the closure is an `F`.
unsafe fn run_queued<F: FnOnce() -> T, T>(task: NonNull<()>) {
    let task: Task = task.cast();
    // SAFETY: the job keeps the task.
    let header = unsafe { task.as_ref() };
    let is_alone = header.word.is_alone();
    // SAFETY: the job is the caller's, who gives it up if this says so.
    if !is_alone && !unsafe { claim_or_leave(task) } {
        return;
    }
    // SAFETY: alone or claimed.
    let outcome = unsafe { begin::<F, T>(task) };
    if is_alone {
        // What nobody asks for goes before the memory does.
        let free = OnDrop(|| {
            // SAFETY: there is no handle, and the job is the caller's.
            unsafe { free::<F, T>(task) };
        });
        give_up(outcome);
        drop(free);
    } else {
        // SAFETY: claimed, and the closure is gone.
        unsafe {
            put::<F, T>(task, outcome);
            end(task, Keeper::Job);
        }
    }
}

/// Calls its closure when it is dropped, also by a panic.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    #[inline(always)]
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Runs the closure or drops it, and puts the outcome into the memory.
///
/// # Safety
/// The caller has claimed the task; the closure is an `F`.
unsafe fn settle<F: FnOnce() -> T, T>(task: Task, how: Begin) {
    // SAFETY: the caller's promise.
    unsafe {
        let outcome = match how {
            Begin::Run => begin::<F, T>(task),
            Begin::Drop => drop_closure::<F, T>(task),
        };
        put::<F, T>(task, outcome);
    }
}

/// # Safety
/// As [`settle`].
unsafe fn drop_closure<F, T>(task: Task) -> Outcome<T> {
    // SAFETY: the caller's promise.
    let f = unsafe { take_closure::<F, T>(task) };
    match panic::catch_unwind(AssertUnwindSafe(|| drop(f))) {
        Ok(()) => Err(Failure::Cancelled),
        Err(payload) => Err(failed(payload)),
    }
}

/// # Safety
/// The caller has the body, which holds the closure, and takes it out once.
#[inline(always)]
unsafe fn take_closure<F, T>(task: Task) -> F {
    let memory = task.cast::<Memory<F, T>>().as_ptr();
    // SAFETY: the caller's promise.
    unsafe { ManuallyDrop::take(&mut (*(*memory).body.get()).closure) }
}

/// Drops the closure and frees the memory, also if the closure panics.
///
/// # Safety
/// The task is the job's alone, which the caller gives up; the closure is an `F`.
unsafe fn abandon<F, T>(task: Task) {
    let memory = task.cast::<Memory<F, T>>().as_ptr();
    let _free = OnDrop(|| {
        // SAFETY: the caller's promise.
        unsafe { free::<F, T>(task) };
    });
    // SAFETY: the caller has the body, which holds the closure.
    unsafe { ManuallyDrop::drop(&mut (*(*memory).body.get()).closure) };
}

/// Runs the closure, in the task's context. It is dropped instead where that has been cancelled,
/// or its pool is being stopped.
///
/// # Safety
/// The caller has claimed the task, or it is the job's alone; the closure is an `F`.
#[inline(always)]
unsafe fn begin<F: FnOnce() -> T, T>(task: Task) -> Outcome<T> {
    // SAFETY: the header stays as long as the task.
    let context = unsafe { &task.as_ref().context };
    // Within the call that catches its panics, so that it is not copied there.
    // SAFETY: the caller's promise; one of the two below.
    let take = || unsafe { take_closure::<F, T>(task) };
    let run = |f: F, is_cancelled: bool| match is_cancelled || drop_cancelled::drops() {
        true => {
            drop(f);
            Err(Failure::Cancelled)
        }
        false => Ok(f()),
    };
    let run = || match context {
        None => run(take(), false),
        Some(_) => {
            let f = take();
            run_in(context.as_ref(), move || {
                run(f, drop_cancelled::is_dropped())
            })
        }
    };
    match panic::catch_unwind(AssertUnwindSafe(run)) {
        Ok(outcome) => outcome,
        Err(payload) => Err(failed(payload)),
    }
}

#[cold]
#[inline(never)]
fn failed(payload: Box<dyn Any + Send>) -> Failure {
    if payload.is::<CancelledError>() {
        return Failure::Cancelled;
    }
    let pool = Worker::with_current(|worker| {
        worker.map_or_else(Weak::new, |worker| Arc::downgrade(worker.registry()))
    });
    Failure::Panicked(Box::new(Panic { payload, pool }))
}

/// # Safety
/// The caller has the body, and the closure is gone.
unsafe fn put<F, T>(task: Task, outcome: Outcome<T>) {
    // SAFETY: the caller's promise; nothing that is overwritten wants to be dropped.
    unsafe { outcome_of::<F, T>(task).write(outcome) };
}

fn outcome_of<F, T>(task: Task) -> *mut Outcome<T> {
    let memory = task.cast::<Memory<F, T>>().as_ptr();
    // SAFETY: within the memory of the task, of which no reference is made.
    unsafe { (&raw mut (*(*memory).body.get()).outcome).cast() }
}

unsafe fn outcome<F, T>(task: Task) -> *mut () {
    outcome_of::<F, T>(task).cast()
}

/// # Safety
/// The outcome is in the memory, and the caller's.
unsafe fn dispose<F, T>(task: Task) {
    // SAFETY: the caller's promise.
    give_up(unsafe { outcome_of::<F, T>(task).read() });
}

/// Drops an outcome that nobody asks for.
#[inline(always)]
fn give_up<T>(outcome: Outcome<T>) {
    match outcome {
        Ok(value) if mem::needs_drop::<T>() => {
            let dropped = panic::catch_unwind(AssertUnwindSafe(|| drop(value)));
            if let Err(payload) = dropped {
                tell_nobody(failed(payload));
            }
        }
        Ok(_) => {}
        Err(failure) => tell_nobody(failure),
    }
}

/// A panic that no caller waits for goes to the pool's handler.
#[cold]
#[inline(never)]
fn tell_nobody(failure: Failure) {
    if let Failure::Panicked(panic) = failure {
        let Panic { payload, pool } = *panic;
        match pool.upgrade() {
            Some(registry) => registry.settings.handle_panic(payload),
            None => drop_quietly(payload),
        }
    }
}

/// # Safety
/// Both keepers are through with the task, and neither closure nor outcome is in it.
unsafe fn free<F, T>(task: Task) {
    // SAFETY: made by `new` with these types; the body drops nothing by itself.
    drop(unsafe { Box::from_raw(task.cast::<Memory<F, T>>().as_ptr()) });
}
