//! Calls into a pool whose caller waits outside of it.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use crate::inherit::node;
use crate::machine::latch::{Latch, SendPtr};
use crate::machine::unwind::with_frame_lent;
use crate::workers::Worker;
use crate::workers::job::Job;
use crate::workers::registry::Registry;
use crate::workers::settings::SPARES_MAX;
use crate::workers::wait::Wait;
use crate::workers::watched_parks::ParkReason;

/// Has a worker of the pool call `f`, to which `give` gives a job, and waits until it has. The
/// calling thread is that worker of another pool, or none. One code for all closures: beside the
/// wake-up it costs nothing to call one by pointer.
pub(crate) fn call_from_outside(
    registry: &Arc<Registry>,
    worker: Option<&Worker>,
    f: &mut dyn FnMut(),
    give: impl FnOnce(Job),
) {
    registry.check_has_threads();
    let nest = |worker: &Worker| registry.spares.nest_call(worker.nesting.get());
    let nesting = worker.map_or(0, nest);
    assert!(
        nesting <= SPARES_MAX,
        "pools are nested too deep: {nesting} calls of install wait for each other, each on a thread \
         of its own, and at most {SPARES_MAX} can; install less often from inside",
    );
    // All in this frame, and out of it by pointer: what the job itself holds is protected until it
    // returns, which is after it has let this frame go.
    let latch = Latch::new(1);
    let mut f = f;
    let mut outcome = None;
    let context = node::place();
    let there = SendPtr((&raw mut f, &raw mut outcome, &raw const latch, context));
    let job = move || {
        let SendPtr((f, outcome, latch, context)) = { there };
        let result = Worker::with_current(|worker| {
            let worker = worker.expect("jobs are run by workers");
            let before = worker.nesting.replace(nesting);
            // What `f` leaves unjoined belongs to a scope that waits for this call.
            // SAFETY: the waiting frame keeps it alive until the latch is down, and does not touch
            // it before.
            let run = || panic::catch_unwind(AssertUnwindSafe(|| unsafe { (*f)() }));
            // SAFETY: the waiting frame is in that context.
            let result = unsafe { worker.framed_in(context, run) };
            worker.nesting.set(before);
            result
        });
        // SAFETY: the waiting frame keeps outcome and latch alive until the latch is down, and
        // reads the outcome only then.
        unsafe {
            *outcome = Some(result);
            Latch::count_down(latch);
        }
    };
    with_frame_lent(|| {
        // SAFETY: this frame does not return before the job has run, and a job that was injected
        // always runs: a pool that is being dropped runs what it holds.
        give(unsafe { Job::borrowing(job) });
        match worker {
            Some(worker) => Wait(worker).park_for(ParkReason::Event, || latch.is_over()),
            None => latch.wait(),
        }
    });
    match outcome.expect("the latch is counted down after the outcome") {
        Ok(()) => {}
        Err(payload) => panic::resume_unwind(payload),
    }
}
