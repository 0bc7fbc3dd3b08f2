//! Networks under loom, for tests. In the place of a worker, each process has a thread.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

use loom::sync::Notify;

use super::ports::{self, In, Out};
use crate::channel::shared::{NetworkFailure, Shared};
use crate::channel::words::ChannelEnd;
use crate::channel::{self, Handle};
use crate::machine::prim::{Arc, AtomicUsize, DataCell, Ordering};
use crate::machine::unwind::Payload;
use crate::process::Process;
use crate::state::names::NetworkPlan;

/// So often one thread takes another's place where a process takes part: of its steps there are
/// many.
pub(super) const PREEMPTIONS: Option<usize> = Some(2);

/// A task as its wakers see it. They say so when the last of them is gone, and loom complains of
/// one that is used then.
pub(super) struct Task {
    pub(super) bell: Notify,
    wakers: AtomicUsize,
    pub(super) there: DataCell<()>,
}

static TASK: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

fn task(at: *const ()) -> &'static Task {
    // SAFETY: the data of each of these wakers is a task, which is never freed.
    unsafe { &*at.cast::<Task>() }
}

unsafe fn clone(at: *const ()) -> RawWaker {
    // Ordering: Relaxed; the caller has a waker.
    task(at).wakers.fetch_add(1, Ordering::Relaxed);
    RawWaker::new(at, &TASK)
}

unsafe fn wake(at: *const ()) {
    // SAFETY: the caller's promise.
    unsafe {
        wake_by_ref(at);
        drop_waker(at);
    }
}

unsafe fn wake_by_ref(at: *const ()) {
    task(at).there.with(|_| ());
    task(at).bell.notify();
}

unsafe fn drop_waker(at: *const ()) {
    // Ordering: AcqRel, as for any count of references: the last one comes after all uses.
    if task(at).wakers.fetch_sub(1, Ordering::AcqRel) == 1 {
        task(at).there.with_mut(|_| ());
    }
}

/// A process with the task that polls it.
pub(super) struct Worker<F: Future<Output = ()>> {
    process: Pin<Box<Process<F>>>,
    task: &'static Task,
    waker: Waker,
}

impl Task {
    /// A new one, with its first waker.
    pub(super) fn leak() -> (&'static Task, Waker) {
        let task: &'static Task = Box::leak(Box::new(Task {
            bell: Notify::new(),
            wakers: AtomicUsize::new(1),
            there: DataCell::new(()),
        }));
        let data: *const Task = task;
        // SAFETY: the functions keep the contract of wakers.
        let waker = unsafe { Waker::from_raw(RawWaker::new(data.cast(), &TASK)) };
        (task, waker)
    }
}

impl<F: Future<Output = ()>> Worker<F> {
    pub(super) fn new(shared: &Arc<Shared>, process: u32, body: F) -> Worker<F> {
        let (task, waker) = Task::leak();
        let process = Box::pin(Process::new(shared, process, body));
        Worker {
            process,
            task,
            waker,
        }
    }

    pub(super) fn poll(&mut self) -> Poll<()> {
        self.process
            .as_mut()
            .poll(&mut Context::from_waker(&self.waker))
    }

    /// Polls it to its end, and sleeps in between.
    pub(super) fn work(mut self) {
        while self.poll().is_pending() {
            self.task.bell.wait();
        }
    }
}

/// A network that is built: its channels.
pub(super) struct Net {
    shared: Arc<Shared>,
    pub(super) channels: Vec<Handle>,
}

impl Net {
    pub(super) fn new() -> Net {
        Net {
            shared: Arc::new(Shared::new()),
            channels: Vec::new(),
        }
    }

    pub(super) fn channel<T>(&mut self, capacity: u32) -> (Out<T>, In<T>) {
        let channel = channel::open::<T>(&self.shared, self.channels.len() as u32, capacity);
        // SAFETY: it came with three references.
        unsafe {
            self.channels.push(Handle::new(channel.cast()));
            ports::pair(channel)
        }
    }

    pub(super) fn begin(self, processes: usize) -> Arc<Shared> {
        self.shared
            .begin(NetworkPlan::default(), self.channels, processes);
        self.shared
    }
}

/// The port belongs to that process.
pub(super) fn give_in<T>(port: &In<T>, process: u32) {
    port.words().set_process(ChannelEnd::Reader, process);
}

pub(super) fn give_out<T>(port: &Out<T>, process: u32) {
    port.words().set_process(ChannelEnd::Writer, process);
}

/// A panic drops the port. Returns its payload.
pub(super) fn panics_with<T>(out: Out<T>) -> Payload {
    let panics = AssertUnwindSafe(move || {
        let _out = out;
        resume_unwind(Box::new("with the port"));
    });
    catch_unwind(panics).unwrap_err()
}

/// Drops what was sent to a port of that channel that is gone, as who has sent it does.
pub(super) fn drops_unread(channel: &Handle) {
    // SAFETY: the handle keeps the channel.
    let panicked = unsafe { channel::drop_unread(channel.channel()) };
    assert!(panicked.is_none());
}

/// Models the end of `run`, when all processes have ended.
pub(super) fn end(shared: &Shared) -> Option<NetworkFailure> {
    assert!(shared.is_over());
    let failure = shared.take_failure();
    shared.end();
    failure
}
