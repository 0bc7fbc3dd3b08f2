//! Workers whose loops are another runtime's: the seam on which `roving-omp` stands.
//!
//! Such a pool starts no thread. A thread of the other runtime comes to a seat, and from then on
//! its task stack, its steals and its waits are those of any worker; but what it does between them
//! is the other runtime's to say: it has no loop here. A task is spawned without a scope. It
//! belongs to the innermost [`Frame`], and has ended, with all that it has spawned, when that is
//! drained.

use std::panic::{self, AssertUnwindSafe};
use std::process;

use crate::pool::{BuildError, Pool, PoolBuilder};
use crate::stack::line::current_line;
use crate::stack::slot::{Further, Slot, fits};
use crate::stats::Activity;
use crate::workers::Worker;
use crate::workers::own_tasks::Own;
use crate::workers::sleep::Parts;
use crate::workers::sleep::sleep_loop;
use crate::workers::sleep::spares::StandIn;
use crate::workers::steal::Thief;
use crate::workers::wait::host_calls::HostCalls;

/// A pool whose workers are whatever threads of the caller's come to its seats.
#[derive(Debug)]
pub struct Hosted {
    pool: Pool,
    calls: Option<HostCalls>,
}

impl Hosted {
    /// Builds such a pool. It starts no thread, and expects none.
    ///
    /// # Errors
    /// As [`PoolBuilder::build`](crate::PoolBuilder::build), and where the builder asks for a share
    /// of an arena.
    pub fn build(builder: PoolBuilder) -> Result<Hosted, BuildError> {
        // Threads that it may not start cannot stand in for those that wait.
        let builder = builder.with_stand_in(StandIn::Nobody);
        builder
            .build_hosted()
            .map(|pool| Hosted { pool, calls: None })
    }

    /// Has its workers run something of the caller's runtime where they wait for a task that
    /// another one has: `has_some` says whether there is something that may run on top of what the
    /// calling thread waits in, and `run` runs one such thing, if it is still there, with all that
    /// it spawns. Neither panics. Whoever brings something [`wake`](Hosted::wake)s the workers
    /// afterwards.
    #[must_use]
    pub fn serving(self, has_some: fn() -> bool, run: fn()) -> Hosted {
        let calls = Some(HostCalls { has_some, run });
        Hosted { calls, ..self }
    }

    /// How many seats there are.
    pub fn seats(&self) -> usize {
        self.pool.registry().workers()
    }

    /// Has the calling thread come to the seat with that index for as long as it lives: others wake
    /// it by this.
    pub fn enlist(&self, index: usize) {
        self.pool.registry().enlist(index);
    }

    /// Calls `f`, in which the calling thread is the worker at that seat. What it spawns there and
    /// does not drain is drained at the end.
    ///
    /// # Safety
    /// The calling thread is the one that has been enlisted for the seat, and is not there already.
    /// It does not end before all other threads that come to this pool's seats have left them for
    /// good.
    pub unsafe fn be<R>(&self, index: usize, f: impl FnOnce() -> R) -> R {
        // SAFETY: one thread is enlisted for each seat, by the caller's promise.
        unsafe {
            Worker::be(self.pool.registry().clone(), index, |worker| {
                worker.host_calls.set(self.calls);
                worker.owner().attach();
                worker.clock().enter(Activity::Busy);
                let result = worker.framed(f);
                worker.clock().enter(Activity::Idle);
                result
            })
        }
    }

    /// Wakes the thread at that seat from [`sleep_until`], and to look for what it is
    /// [`serving`](Hosted::serving).
    pub fn wake(&self, index: usize) {
        self.pool.registry().unpark(index);
    }
}

/// Where a task or another part of the program began on its worker's task stack.
#[derive(Clone, Copy, Debug)]
pub struct Frame {
    base: *const Slot,
    outer: *const Slot,
}

impl Frame {
    /// On a thread that is no worker.
    pub const NOWHERE: Frame = Frame {
        base: std::ptr::null(),
        outer: std::ptr::null(),
    };

    /// Returns this frame as if it had begun where that one has, which is further out.
    pub fn with_base_of(self, other: Frame) -> Frame {
        Frame {
            base: other.base,
            outer: self.outer,
        }
    }
}

/// Returns whether the calling thread is a worker.
#[inline]
pub fn is_worker() -> bool {
    Worker::with_current(|worker| worker.is_some())
}

/// Opens a frame on the calling worker's stack.
#[inline]
pub fn open() -> Frame {
    Worker::with_current(|worker| {
        worker.map_or(Frame::NOWHERE, |worker| {
            let (base, outer) = worker.owner().open_frame();
            Frame { base, outer }
        })
    })
}

/// Leaves a frame, the innermost. What was spawned in it and not drained belongs to the next one.
#[inline]
pub fn leave(frame: Frame) {
    Worker::with_current(|worker| {
        if let Some(worker) = worker {
            worker.owner().close_frame(frame.outer);
        }
    });
}

/// Runs, or waits for, all that was spawned in the frame, the calling worker's innermost. While it
/// waits it runs only what belongs to that.
#[inline]
pub fn drain(frame: Frame) {
    // SAFETY: a thread's line pointer leads to the line of its own worker, or to the alarm.
    let line = unsafe { &*current_line() };
    // The alarm's top is null, and does not say that there is nothing.
    let top = line.top.get();
    if top.is_null() || top > frame.base {
        drain_slowly(frame);
    }
}

#[inline(never)]
fn drain_slowly(frame: Frame) {
    Worker::with_current(|worker| {
        if let Some(worker) = worker {
            match worker.owner().line().top.get() > frame.base.wrapping_add(FEW) {
                true => worker.drain(frame.base),
                false => worker.drain_shown(frame.base),
            }
        }
    });
}

/// Returns whether all that was spawned in the frame, the calling worker's innermost, has been run
/// and waited for. A thread that is no worker has spawned nothing.
pub fn is_drained(frame: Frame) -> bool {
    let is_empty = |worker: &Worker| worker.owner().line().top.get() <= frame.base;
    Worker::with_current(|worker| worker.is_none_or(is_empty))
}

/// Runs the newest task that was spawned in the frame, the calling worker's innermost, unless
/// another worker has it; waits for nobody. Returns whether it has. What the task has spawned
/// belongs to the frame.
pub fn run_newest(frame: Frame) -> bool {
    Worker::with_current(|worker| worker.is_some_and(|worker| Own(worker).run_newest(frame.base)))
}

/// So few tasks are drained without a look at whether more should be shown: those below them are
/// larger, and are shown.
const FEW: usize = 2;

/// How many tasks more than in a scope may be hidden. A recursion that waits at each of its levels
/// has few at each: with none more, each of them would be published, and most of them taken back.
const HIDDEN_MORE: usize = 64;

/// Spawns a task, which runs once, before its frame is drained: here, or where it is stolen.
///
/// # Errors
/// The task comes back, to be run in place: the stack is full, or the thread is no worker.
///
/// # Safety
/// Whatever the task uses stays until the frame is drained.
#[inline]
pub unsafe fn add<F: FnOnce() + Send>(f: F) -> Result<(), F> {
    const { assert!(fits::<F>()) };
    // SAFETY: a thread's line pointer leads to the line of its own worker, or to the alarm, whose
    // limits let nobody through.
    let line = unsafe { &*current_line() };
    match line.place_unjoined_hidden(HIDDEN_MORE) {
        // SAFETY: the slot at the top is free and private, and this thread's; nothing has happened
        // since.
        Some(slot) => unsafe {
            (*slot).fill(run_hosted::<F>, f);
            line.push_unjoined(slot);
            Ok(())
        },
        None => add_slowly((f,)),
    }
}

#[inline(never)]
fn add_slowly<F: FnOnce() + Send>((f,): (F,)) -> Result<(), F> {
    Worker::with_current(|worker| match worker {
        None => Err(f),
        Some(worker) => {
            let (pushed, wake) = match worker.owner().push_unjoined(run_hosted::<F>, f) {
                Ok(wake) => (Ok(()), wake),
                Err((f, wake)) => (Err(f), wake),
            };
            worker.wake_if(wake);
            pushed
        }
    })
}

/// Runs a task. A panic has nobody to go to.
///
/// # Safety
/// As [`crate::stack::slot::Run`]; the payload is an `F`.
unsafe extern "C-unwind" fn run_hosted<F: FnOnce() + Send>(slot: &Slot) -> Further {
    // SAFETY: the payload that `add` put in.
    let f = unsafe { slot.take::<F>() };
    if panic::catch_unwind(AssertUnwindSafe(f)).is_err() {
        eprintln!("roving: a panic reached the end of a task that nobody waits for by itself");
        process::abort();
    }
    Further::Nothing
}

/// Publishes all that the calling worker has spawned: it will not look at its stack for a while.
pub fn show() {
    Worker::with_current(|worker| {
        if let Some(worker) = worker {
            let wake = worker.owner().show_all();
            worker.wake_if(wake);
        }
    });
}

/// Looks once into each other stack of the calling worker's pool, and runs one task, with all that
/// it spawns, on top of the caller's frame. From some `round` on, asks owners to publish more.
/// Returns whether there was a task.
#[inline]
pub fn steal(round: usize) -> bool {
    Worker::with_current(|worker| {
        worker.is_some_and(|worker| {
            let doing = worker.clock().enter(Activity::Steal);
            let got = Thief(worker).steal(round).is_got();
            worker.clock().enter(doing);
            got
        })
    })
}

/// Parks the calling worker until there may be something to steal, or `done`; who makes that true
/// calls [`Hosted::wake`] afterwards. May return early.
pub fn sleep_until(done: impl Fn() -> bool) {
    Worker::with_current(|worker| {
        if let Some(worker) = worker {
            sleep_loop::sleep_until(worker, done);
        }
    });
}
