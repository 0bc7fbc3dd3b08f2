//! Work that a blocking call waits for while parts of it run on any number of workers: the rest of
//! a loop, or a tree of coroutines. Its caller has pushed none of the parts that it waits for.

use std::array;

use crate::inherit::node::{self, Place};
use crate::stack::task_word::TaskWord;
use crate::workers::Worker;
use crate::workers::wait::Wait;
use crate::workers::worker::claimed::Claimed;

/// How many of the workers that are at work on it its waiting caller can look at.
const RUNS: usize = 16;

/// The shared half of such a call. It stands in the frame of its caller, who stays there, and in
/// its context, until the whole has ended.
pub(super) struct Whole {
    /// Done when all parts have ended.
    ended: TaskWord,
    /// Where workers say that they run a part, as far as there is room: there the caller looks for
    /// something to do.
    runs: [TaskWord; RUNS],
    /// In which the parts run: that of the caller.
    context: Place,
    /// The caller's seat.
    caller: usize,
}

impl Whole {
    /// The whole that this worker, the calling thread, is going to wait for.
    pub(super) fn new(worker: &Worker) -> Whole {
        let ended = TaskWord::new();
        ended.begin(worker.index(), 0);
        Whole {
            ended,
            runs: array::from_fn(|_| TaskWord::new()),
            context: node::place(),
            caller: worker.index(),
        }
    }

    /// Calls `f`, which does not unwind, in the caller's context, and joins what it leaves on the
    /// worker's stack.
    ///
    /// # Safety
    /// A part has not ended: so the caller waits.
    pub(super) unsafe fn enter<R>(&self, worker: &Worker, f: impl FnOnce() -> R) -> R {
        // SAFETY: the caller stays in the context until all parts have ended.
        unsafe { worker.framed_in(self.context, f) }
    }

    /// [`Self::enter`] for a part that has come to this worker: meanwhile the worker works for the
    /// caller, and says so if there is room.
    ///
    /// # Safety
    /// As [`Self::enter`], and a part has not ended when `f` has returned.
    pub(super) unsafe fn run_part<R>(&self, worker: &Worker, f: impl FnOnce() -> R) -> R {
        let (first, base) = (worker.index() % RUNS, worker.owner().top());
        let mut words = self.runs[first..].iter().chain(&self.runs[..first]);
        let run = words.find(|word| word.begin_free(worker.index(), base));
        // SAFETY: the caller's promise.
        let result = Claimed(worker).working_for(self.caller, || unsafe { self.enter(worker, f) });
        if let Some(run) = run {
            run.leave();
        }
        result
    }

    /// All parts have ended: tells the caller, who may then end the frame in which this stands. So
    /// by pointer.
    ///
    /// # Safety
    /// It is alive, and this is the only call.
    pub(super) unsafe fn end(this: *const Whole, worker: &Worker) {
        // SAFETY: until `finish` the caller waits.
        unsafe { Claimed(worker).finish((*this).caller, &(*this).ended) };
    }

    /// The caller waits until all parts have ended, and runs meanwhile what they have left open.
    pub(super) fn wait(&self, worker: &Worker) {
        Wait(worker).wait_for_runs(&self.ended, &self.runs);
    }
}
