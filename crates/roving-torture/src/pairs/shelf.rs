//! Steps that use or drop what others have left behind.

use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use roving::context;

use super::kept::{Deaf, Kept};
use super::program::Step;
use super::world::{Cx, allowed};

/// Uses what was kept, here.
pub(crate) fn take(step: &Step, cx: &Cx<'_>) {
    let which = [0, 1, 2, usize::MAX][usize::from(step.mode) % 4];
    let Some(kept) = cx.world.take(which) else {
        return;
    };
    // Some are used and put back, some are used for the last time.
    match (step.id % 3, kept) {
        // Not here, where one of the pool's own tasks may wait for this step.
        (0 | 1, Kept::Pool(pool)) => cx.world.on_a_thread(move || drop(pool)),
        // Nor where the job that is joined may be the one that this step is in.
        (0, Kept::Job(job)) => cx.world.on_a_thread(move || drop(job.join())),
        (0, kept) => finish(step, cx, kept),
        (1, Kept::Job(job)) => cx.world.elsewhere(move || job.abort()),
        (1, Kept::Half(half)) => cx.world.elsewhere(move || drop(half)),
        (1, Kept::Waker(waker)) => cx.world.elsewhere(move || waker.wake()),
        (1, Kept::Cancel(cancel)) => cx.world.elsewhere(move || cancel.cancel()),
        (1, Kept::Until(until)) => cx.world.elsewhere(move || drop(until)),
        (1, Kept::In(port)) => cx.world.elsewhere(move || drop(port)),
        (1, Kept::Out(port)) => cx.world.elsewhere(move || drop(port)),
        (_, mut kept) => {
            allowed(step, cx, || use_once(&mut kept));
            cx.world.keep(kept);
        }
    }
}

/// Uses it for the last time.
fn finish(step: &Step, cx: &Cx<'_>, kept: Kept) {
    allowed(step, cx, move || match kept {
        Kept::Waker(waker) => waker.wake(),
        kept => drop(kept),
    });
}

fn use_once(kept: &mut Kept) {
    let waker = Waker::from(Arc::new(Deaf));
    let mut context = Context::from_waker(&waker);
    match kept {
        Kept::Half(half) => {
            let _ = half.poll(&mut context);
        }
        Kept::Waker(waker) => {
            waker.wake_by_ref();
            *waker = waker.clone();
        }
        Kept::Context(kept) => {
            kept.run(|| roving::join(roving::is_cancelled, context::current));
        }
        Kept::Cancel(cancel) => {
            let _ = cancel.child().run(|| roving::scope(|s| s.spawn(|_| ())));
            cancel.cancel();
        }
        Kept::Until(until) => {
            let _ = until.as_mut().poll(&mut context);
        }
        Kept::Pool(pool) => drop(pool.spawn(|| ())),
        Kept::Local(local) => {
            local.try_with(|value| *value);
        }
        Kept::Thread(thread) => {
            thread.index();
        }
        Kept::Job(job) => {
            let _ = job.is_finished();
            job.abort();
        }
        Kept::Canceller(canceller) => canceller.cancel(),
        Kept::Live(live) => drop(live.snapshot()),
        Kept::In(port) => {
            let _ = port.try_recv();
            let _ = Pin::new(&mut port.recv()).poll(&mut context);
        }
        Kept::Out(port) => {
            let _ = port.try_send(1);
            let _ = Pin::new(&mut port.send(2)).poll(&mut context);
        }
    }
}

/// Lets go of everything that nobody has taken.
pub(crate) fn drop_all(cx: &Cx<'_>) -> Option<String> {
    let mut complaint = None;
    while let Some(kept) = cx.world.take(usize::MAX) {
        if panic::catch_unwind(AssertUnwindSafe(|| drop(kept))).is_err() {
            complaint = Some("to drop what was kept panicked".to_owned());
        }
    }
    complaint
}
