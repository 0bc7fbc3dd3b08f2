//! Jobs: what the queues of a pool hold.

use std::mem::{self, ManuallyDrop};
use std::ptr::NonNull;

use crate::machine::unwind::with_frame_lent;

/// Something for a worker to run, which catches its own panics: a boxed closure, or a detached
/// task. Dropping it instead drops the closure.
///
/// Two words, like a boxed closure, so that queues hand it on in registers; but what it points to
/// need not be freed when it has run, since the handle of a detached task may keep it.
pub(crate) struct Job {
    data: NonNull<()>,
    table: &'static Table,
}

/// The functions of a job. Of those that give it up, one is called, once, and then none again.
pub(crate) struct Table {
    pub(crate) run: unsafe fn(NonNull<()>),
    /// Drops the closure. False if it was void: a detached task that has begun elsewhere.
    pub(crate) discard: unsafe fn(NonNull<()>) -> bool,
    /// Whether it is void.
    pub(crate) is_void: unsafe fn(NonNull<()>) -> bool,
}

// SAFETY: what it points to is `Send`, by the bounds of those that make one.
unsafe impl Send for Job {}

impl Job {
    pub(crate) fn new<F>(f: F) -> Job
    where
        F: FnOnce() + Send + 'static,
    {
        // SAFETY: it borrows nothing.
        unsafe { Job::borrowing(f) }
    }

    /// Makes a job of a closure that borrows.
    ///
    /// # Safety
    /// The job is run or dropped before anything that the closure borrows ends.
    pub(crate) unsafe fn borrowing<F>(f: F) -> Job
    where
        F: FnOnce() + Send,
    {
        let data = Box::into_raw(Box::new(f)).cast();
        Job {
            // SAFETY: a box is never null.
            data: unsafe { NonNull::new_unchecked(data) },
            table: const {
                &Table {
                    run: run::<F>,
                    discard: discard::<F>,
                    is_void: |_| false,
                }
            },
        }
    }

    /// # Safety
    /// The functions are made for that data, which this job keeps.
    #[inline(always)]
    pub(crate) unsafe fn of(data: NonNull<()>, table: &'static Table) -> Job {
        Job { data, table }
    }

    /// Runs it, on a worker.
    #[inline(always)]
    pub(crate) fn run(self) {
        let job = ManuallyDrop::new(self);
        // A frame that other threads use may be further out.
        // SAFETY: its functions are called once, here.
        with_frame_lent(|| unsafe { (job.table.run)(job.data) });
    }

    /// Whether it is surely void: to drop it runs nothing.
    #[inline]
    pub(crate) fn is_void(&self) -> bool {
        // SAFETY: the job keeps its data.
        unsafe { (self.table.is_void)(self.data) }
    }

    /// Drops it. False if it was void: a detached task that has begun elsewhere.
    #[inline]
    pub(crate) fn discard(self) -> bool {
        let job = ManuallyDrop::new(self);
        // SAFETY: its functions are called once, here.
        unsafe { (job.table.discard)(job.data) }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // SAFETY: its functions are called once: those that call another forget the job.
        unsafe { (self.table.discard)(self.data) };
    }
}

/// # Safety
/// `data` is a box of an `F`, which is given up.
unsafe fn run<F: FnOnce()>(data: NonNull<()>) {
    // SAFETY: the caller's promise.
    let f = unsafe { Box::from_raw(data.cast::<F>().as_ptr()) };
    f();
}

/// # Safety
/// As [`run`].
unsafe fn discard<F>(data: NonNull<()>) -> bool {
    // SAFETY: the caller's promise.
    drop(unsafe { Box::from_raw(data.cast::<F>().as_ptr()) });
    true
}

const _: () = assert!(mem::size_of::<Option<Job>>() == 2 * mem::size_of::<usize>());
