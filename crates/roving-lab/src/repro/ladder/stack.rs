//! The task stack: slots, the owner's join, a thief's look.
#![allow(unsafe_code)] // Tasks are closures in frames, named by pointers without their types.

use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use super::steps::{ALL_PRIVATE, BASE, LOCK, NO_LOCK, NO_PEEK, SPECIFIC, TRYLOCK};
use crate::forms::fork_join::ForkJoin;

/// Tasks that one worker can have pending; further ones run at once.
const SLOTS: usize = 4096;
/// Turns of waiting after which the core is offered to others.
const PATIENCE: u32 = 200;

/// No task, or one that nobody may take.
const EMPTY: u8 = 0;
/// A task that thieves may take.
const READY: u8 = 1;
/// A thief runs it.
const STOLEN: u8 = 2;
/// The thief is done.
const DONE: u8 = 3;

/// A task without its types: where it lies, and the code that runs it with a worker's context.
#[derive(Clone, Copy)]
struct Erased {
    data: *const (),
    run: unsafe fn(*const (), *mut ()),
}

/// Who wins `state` from [`READY`] may read `task`, and nobody writes it until the join is over.
#[derive(Default)]
struct JoinSlot {
    state: AtomicU8,
    task: UnsafeCell<Option<Erased>>,
}

/// One worker's stack.
#[repr(align(256))]
pub(super) struct Worker {
    lock: Mutex<()>,
    /// The oldest slot that may hold a task for thieves.
    oldest: AtomicUsize,
    /// A thief wants private tasks to be made public.
    want: AtomicBool,
    slots: Box<[JoinSlot]>,
}

// SAFETY: what is not `Sync` in a worker is `JoinSlot::task`. It is written by the owner while
// `state` is not READY, and read by the one that won `state` from READY: by a compare-and-swap, by
// the owner's swap, or under the lock (`Cx::sync`, `Worker::claim`). The pointer in it names a
// `JoinFrame`, whose closure and result are `Send` by the bounds of `join`, and which outlives the
// task because `join` waits for it.
unsafe impl Sync for Worker {}
// SAFETY: a worker owns nothing that belongs to a thread; the pointers in its slots are covered
// above.
unsafe impl Send for Worker {}

/// A worker's view of its stack, and the height of the stack.
pub(super) struct Cx<'pool, const JOIN: u8, const STEAL: u8> {
    worker: &'pool Worker,
    newest: usize,
    /// The first slot whose task is private; the highest number where none is.
    private: usize,
}

/// The pending half of a join, in the frame of the join.
struct JoinFrame<B, RB> {
    task: UnsafeCell<ManuallyDrop<B>>,
    result: UnsafeCell<MaybeUninit<RB>>,
}

/// Ends the process when a panic would leave a frame that thieves may still use.
struct NoWayOut;

impl Drop for NoWayOut {
    fn drop(&mut self) {
        std::process::abort();
    }
}

impl Worker {
    /// An empty stack.
    pub(super) fn new() -> Worker {
        Worker {
            lock: Mutex::new(()),
            oldest: AtomicUsize::new(0),
            want: AtomicBool::new(false),
            slots: (0..SLOTS).map(|_| JoinSlot::default()).collect(),
        }
    }

    /// Takes the oldest task from this victim and runs it; whether there was one.
    pub(super) fn rob<const JOIN: u8, const STEAL: u8>(
        &self,
        thief: &mut Cx<'_, JOIN, STEAL>,
    ) -> bool {
        // Ordering: Relaxed. The state of the slot decides, not its number.
        let index = self.oldest.load(Ordering::Relaxed).min(SLOTS - 1);
        let slot = &self.slots[index];
        // Ordering: Relaxed. It only saves a write; who wins the slot acquires.
        let looks = STEAL != LOCK && STEAL != NO_PEEK;
        if looks && slot.state.load(Ordering::Relaxed) != READY {
            self.ask::<JOIN>();
            return false;
        }
        let Some((slot, task)) = self.claim::<STEAL>(index) else {
            self.ask::<JOIN>();
            return false;
        };
        // SAFETY: the task was claimed, so its frame waits in `join` until DONE; `run` was stored
        // with `data` by the join of the same JOIN and STEAL, so `thief` has the type it expects.
        unsafe { (task.run)(task.data, ptr::from_mut(thief).cast()) };
        // Ordering: Release. The owner that sees DONE sees the result.
        slot.state.store(DONE, Ordering::Release);
        true
    }

    /// Asks the owner for public tasks, where it has private ones.
    fn ask<const JOIN: u8>(&self) {
        // Ordering: Relaxed. It is a wish; nothing is handed over with it.
        if JOIN == ALL_PRIVATE && !self.want.load(Ordering::Relaxed) {
            self.want.store(true, Ordering::Relaxed);
        }
    }

    /// Wins the task of the slot that `oldest` names.
    fn claim<const STEAL: u8>(&self, index: usize) -> Option<(&JoinSlot, Erased)> {
        if STEAL == NO_LOCK || STEAL == NO_PEEK {
            return self.win(index);
        }
        let _guard = if STEAL == TRYLOCK {
            self.lock.try_lock().ok()?
        } else {
            self.lock.lock().unwrap_or_else(PoisonError::into_inner)
        };
        // Ordering: Relaxed. Under the lock no other thief moves it; the state decides.
        self.win(self.oldest.load(Ordering::Relaxed).min(SLOTS - 1))
    }

    fn win(&self, index: usize) -> Option<(&JoinSlot, Erased)> {
        let slot = &self.slots[index];
        // Ordering: Acquire, to see the task that was written before READY.
        let won = slot
            .state
            .compare_exchange(READY, STOLEN, Ordering::Acquire, Ordering::Relaxed);
        won.ok()?;
        // Only where it still names this slot, or tasks older than it would be hidden.
        // Ordering: Relaxed. The state of the slot decides, not its number.
        let (now, next) = (Ordering::Relaxed, Ordering::Relaxed);
        let _ = self.oldest.compare_exchange(index, index + 1, now, next);
        // SAFETY: we won the state from READY, so the owner wrote the task before and does not
        // touch it again until it has seen DONE.
        let task = unsafe { *slot.task.get() };
        task.map(|task| (slot, task))
    }
}

impl<'pool, const JOIN: u8, const STEAL: u8> Cx<'pool, JOIN, STEAL> {
    /// The context of a worker whose stack is empty.
    pub(super) fn new(worker: &'pool Worker) -> Self {
        let private = if JOIN == ALL_PRIVATE { 0 } else { usize::MAX };
        Cx {
            worker,
            newest: 0,
            private,
        }
    }

    /// Puts a task on the stack.
    #[inline(always)]
    fn spawn(&mut self, task: Erased) {
        let slot = &self.worker.slots[self.newest];
        // SAFETY: the slot is above all pending tasks, so its state is not READY and no thief reads
        // it.
        unsafe { *slot.task.get() = Some(task) };
        if JOIN != ALL_PRIVATE || self.newest < self.private {
            // Ordering: Release. A thief that wins the slot sees the task.
            slot.state.store(READY, Ordering::Release);
        }
        self.newest += 1;
        // Ordering: Relaxed. A wish that is seen late is granted late.
        if JOIN == ALL_PRIVATE && self.worker.want.load(Ordering::Relaxed) {
            self.publish();
        }
    }

    /// Makes all pending tasks public.
    #[cold]
    #[inline(never)]
    fn publish(&mut self) {
        // Ordering: Relaxed. See `spawn`.
        self.worker.want.store(false, Ordering::Relaxed);
        let first = self.private.min(self.newest);
        for slot in &self.worker.slots[first..self.newest] {
            // Ordering: Release. A thief that wins the slot sees the task.
            slot.state.store(READY, Ordering::Release);
        }
        self.private = self.newest;
    }

    /// Takes the newest task back. Whether it is still there to be run by the caller; if not, it is
    /// done.
    #[inline(always)]
    fn sync(&mut self) -> bool {
        self.newest -= 1;
        let index = self.newest;
        if JOIN == ALL_PRIVATE && index >= self.private {
            return true;
        }
        let slot = &self.worker.slots[index];
        let found = if JOIN == BASE {
            let _guard = self
                .worker
                .lock
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            // Ordering: Acquire, to see the result of a thief that is done already; the lock keeps
            // other thieves out.
            let found = slot.state.load(Ordering::Acquire);
            if found == READY {
                // Ordering: Relaxed. The next spawn into this slot orders what comes then.
                slot.state.store(EMPTY, Ordering::Relaxed);
            }
            found
        } else {
            // Ordering: Acquire, to see the result of a thief that is done already.
            slot.state.swap(EMPTY, Ordering::Acquire)
        };
        if JOIN == ALL_PRIVATE {
            self.private = index;
        }
        found == READY || self.await_thief(slot, index, found)
    }

    /// Waits until the thief of a task is done.
    #[cold]
    #[inline(never)]
    fn await_thief(&self, slot: &JoinSlot, index: usize, found: u8) -> bool {
        let mut turns = 0u32;
        // Ordering: Acquire, to see the result.
        while found != DONE && slot.state.load(Ordering::Acquire) != DONE {
            turns += 1;
            if turns.is_multiple_of(PATIENCE) {
                thread::yield_now();
            }
            spin_loop();
        }
        // Ordering: Relaxed. The state of the slot decides, not its number.
        slot.state.store(EMPTY, Ordering::Relaxed);
        self.worker.oldest.store(index, Ordering::Relaxed);
        false
    }

    /// The join that knows nothing of its task: the runtime's own function calls it through its
    /// pointer.
    #[inline(never)]
    fn sync_generic(&mut self) {
        if self.sync() {
            // SAFETY: the slot was just popped and not stolen, so nobody else reads or writes it.
            let task = unsafe { *self.worker.slots[self.newest].task.get() };
            if let Some(task) = task {
                // SAFETY: the task is still ours to run, once, and its frame is that of our caller.
                unsafe { (task.run)(task.data, ptr::from_mut(self).cast()) };
            }
        }
    }
}

/// Runs the task of a [`JoinFrame`].
///
/// # Safety
/// `data` names a frame whose task has not run and that outlives the call; `cx` is a `Cx` with
/// these constants.
unsafe fn run<const JOIN: u8, const STEAL: u8, B, RB>(data: *const (), cx: *mut ())
where
    B: FnOnce(&mut Cx<'_, JOIN, STEAL>) -> RB,
{
    // SAFETY: by the caller's promise: the frame is alive, and nobody else runs its task.
    let frame = unsafe { &*data.cast::<JoinFrame<B, RB>>() };
    // SAFETY: the task is taken once, here; the context is the running worker's own.
    let result = unsafe {
        let task = ManuallyDrop::take(&mut *frame.task.get());
        task(&mut *cx.cast::<Cx<'_, JOIN, STEAL>>())
    };
    // SAFETY: only the one that runs the task writes its result, and the join reads it after.
    unsafe { (*frame.result.get()).write(result) };
}

impl<'pool, const JOIN: u8, const STEAL: u8> ForkJoin for Cx<'pool, JOIN, STEAL> {
    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA + Send,
        B: FnOnce(&mut Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        if self.newest >= SLOTS {
            return (a(self), b(self));
        }
        let task = move |cx: &mut Cx<'_, JOIN, STEAL>| {
            // SAFETY: only the lifetime of the pool differs. A thief of this pool runs the task
            // while the pool is alive, and the task keeps nothing of its context.
            b(unsafe { &mut *ptr::from_mut(cx).cast::<Cx<'pool, JOIN, STEAL>>() })
        };
        joined(self, a, task)
    }
}

/// The join itself, whose task takes a context of any lifetime.
#[inline(always)]
fn joined<'pool, const JOIN: u8, const STEAL: u8, A, B, RA, RB>(
    cx: &mut Cx<'pool, JOIN, STEAL>,
    a: A,
    task: B,
) -> (RA, RB)
where
    A: FnOnce(&mut Cx<'pool, JOIN, STEAL>) -> RA,
    B: FnOnce(&mut Cx<'_, JOIN, STEAL>) -> RB,
{
    let frame = JoinFrame {
        task: UnsafeCell::new(ManuallyDrop::new(task)),
        result: UnsafeCell::new(MaybeUninit::<RB>::uninit()),
    };
    cx.spawn(Erased {
        data: ptr::from_ref(&frame).cast(),
        run: run::<JOIN, STEAL, B, RB>,
    });
    let no_way_out = NoWayOut;
    let ra = a(cx);
    if JOIN >= SPECIFIC {
        if cx.sync() {
            // SAFETY: nobody stole the task, so it has not run; it is taken once, here.
            let task = unsafe { ManuallyDrop::take(&mut *frame.task.get()) };
            let rb = task(cx);
            std::mem::forget(no_way_out);
            return (ra, rb);
        }
    } else {
        cx.sync_generic();
    }
    std::mem::forget(no_way_out);
    // SAFETY: the task has run, by a thief that is done or by `sync_generic`, and wrote its result.
    let rb = unsafe { (*frame.result.get()).assume_init_read() };
    (ra, rb)
}
