//! The waker of a process's task, in one word: networks may have millions of processes.

use std::mem::ManuallyDrop;
use std::ptr;
use std::task::{RawWaker, RawWakerVTable, Waker};

use crate::machine::prim::{AtomicPtr, OnceLock, Ordering, ord, pause};

/// The functions of all tasks of a network: the runtime's, which has but one kind of task.
pub(crate) struct Tasks(OnceLock<&'static RawWakerVTable>);

/// The data of a waker that is kept, whose functions are those of [`Tasks`]; null before the
/// process has been suspended for the first time, and never changed afterwards: a process is always
/// polled as the same task.
///
/// The waker is never taken out, for a thread that has claimed the process may be about to wake it
/// while another thread wakes it as well, it ends, and the network with it. That thread holds a
/// port, a port keeps its channel, a channel keeps what is shared, and so the waker is there.
pub(crate) struct TaskWaker(AtomicPtr<()>);

impl TaskWaker {
    pub(crate) fn new() -> TaskWaker {
        TaskWaker(AtomicPtr::new(ptr::null_mut()))
    }

    /// By the process, before it says anywhere that it waits.
    #[inline]
    pub(crate) fn set(&self, tasks: &Tasks, waker: &Waker) {
        // Ordering: Relaxed; only the process writes it.
        if self.0.load(Ordering::Relaxed).is_null() {
            self.keep(tasks, waker.clone());
        }
    }

    #[inline(never)]
    fn keep(&self, tasks: &Tasks, waker: Waker) {
        let waker = ManuallyDrop::new(waker);
        let functions = *tasks.0.get_or_init(|| waker.vtable());
        let is_one_of_them = ptr::eq(functions, waker.vtable()) && !waker.data().is_null();
        assert!(is_one_of_them, "a process is polled by the runtime alone");
        // Ordering: Edge [task]: Release; what the waker points to is there.
        let order = ord("task", Ordering::Release);
        self.0.store(waker.data().cast_mut(), order);
    }

    /// The waker, as long as this is there.
    #[inline]
    fn get(&self, tasks: &Tasks) -> Option<ManuallyDrop<Waker>> {
        // Ordering: Acquire. Pairs with [task].
        let data = self.0.load(ord("see_task", Ordering::Acquire));
        let functions = tasks.0.get().filter(|_| !data.is_null())?;
        // SAFETY: those of the waker that is kept here, which outlives what is returned.
        Some(ManuallyDrop::new(unsafe {
            Waker::from_raw(RawWaker::new(data, functions))
        }))
    }

    /// By a thread that has claimed the process where it waits, or has stopped the network. The
    /// process may have ended since.
    #[inline]
    pub(crate) fn wake(&self, tasks: &Tasks) {
        if let Some(waker) = self.get(tasks) {
            pause();
            waker.wake_by_ref();
        }
    }

    /// Drops the waker. By who has this to itself.
    pub(crate) fn give_up(&mut self, tasks: &Tasks) {
        let waker = self.get(tasks);
        self.0 = AtomicPtr::new(ptr::null_mut());
        drop(waker.map(ManuallyDrop::into_inner));
    }
}

impl Tasks {
    pub(crate) fn new() -> Tasks {
        Tasks(OnceLock::new())
    }
}
