//! A step in the destructor of a thread-local value: some of the thread's other values are gone.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, mpsc};
use std::thread;

use roving::Pool;

use super::program::FeatureStep;
use super::world::{Cx, PartFate, call, sequence};

/// Called when it is dropped.
struct AtEnd(Option<Box<dyn FnOnce()>>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        if let Some(f) = self.0.take() {
            f();
        }
    }
}

thread_local! {
    static AT_END: RefCell<Option<AtEnd>> = const { RefCell::new(None) };
}

/// Runs the part when a thread ends that has used pools before, whose values for the thread are
/// made earlier than the one that runs the part, or later: the later ones are dropped first.
pub(super) fn at_thread_end(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = Arc::new(PartFate::default());
    let (steps, there, fate) = (Arc::clone(&step.parts[0]), cx.free(), Arc::clone(&seen));
    let (tell, told) = mpsc::channel();
    let at_end = move || {
        let run = || fate.watch(|| sequence(&steps, &there));
        let _ = tell.send(panic::catch_unwind(AssertUnwindSafe(run)));
    };
    let mode = step.mode;
    let body = move || {
        let set = || AT_END.set(Some(AtEnd(Some(Box::new(at_end)))));
        match mode {
            0 => set(),
            1 => {
                use_pools();
                set();
            }
            _ => {
                set();
                use_pools();
            }
        }
    };
    call(step, cx, &[&seen], || {
        let ended = roving::blocking(|| thread::spawn(body).join());
        ended.unwrap_or_else(|payload| panic::resume_unwind(payload));
        match told.recv() {
            Ok(ran) => ran.unwrap_or_else(|payload| panic::resume_unwind(payload)),
            Err(_) => cx.world.complain(step, "a destructor did not run"),
        }
    });
}

/// In each way of which something stays with the thread.
fn use_pools() {
    let builders = [
        Pool::builder()
            .workers(1)
            .deterministic(1)
            .keep_seed_quiet(),
        Pool::builder().caller_runs(),
        Pool::builder().workers(1).adopt_current_thread(),
    ];
    for pool in builders
        .map(|builder| builder.build())
        .into_iter()
        .flatten()
    {
        pool.install(|| roving::join(|| 1, || 2));
    }
}
