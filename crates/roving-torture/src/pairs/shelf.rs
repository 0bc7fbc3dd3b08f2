//! Steps that use or drop what others have left behind.

use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Waker};

use roving::context;

use super::kept::{Deaf, LeftBehind};
use super::program::FeatureStep;
use super::strays;
use super::world::{Cx, allowed};

/// Uses what was kept, here.
pub(crate) fn take(step: &FeatureStep, cx: &Cx<'_>) {
    let which = [0, 1, 2, usize::MAX][usize::from(step.mode) % 4];
    let Some(kept) = cx.world.take(which) else {
        return;
    };
    // Some are used and put back, some are used for the last time.
    match (step.id % 3, kept) {
        // Not here, where one of the pool's own tasks may wait for this step.
        (0 | 1, LeftBehind::Pool(pool)) => cx.world.on_a_thread(move || drop(pool)),
        // Nor where the job that is joined may be the one that this step is in.
        (0, LeftBehind::Job(job)) => cx.world.on_a_thread(move || drop(job.join())),
        (0, kept) => finish(step, cx, kept),
        (1, LeftBehind::Job(job)) => cx.world.elsewhere(move || job.abort()),
        (1, LeftBehind::Half(half)) => cx.world.elsewhere(move || drop(half)),
        (1, LeftBehind::Waker(waker)) => cx.world.elsewhere(move || waker.wake()),
        (1, LeftBehind::Cancel(cancel)) => cx.world.elsewhere(move || cancel.cancel()),
        (1, LeftBehind::Until(until)) => cx.world.elsewhere(move || drop(until)),
        (1, LeftBehind::In(port)) => cx.world.elsewhere(move || drop(port)),
        (1, LeftBehind::Out(port)) => cx.world.elsewhere(move || drop(port)),
        (_, mut kept) => {
            allowed(step, cx, || use_once(step, cx, &mut kept));
            cx.world.keep(kept);
        }
    }
}

/// Uses it for the last time.
fn finish(step: &FeatureStep, cx: &Cx<'_>, kept: LeftBehind) {
    allowed(step, cx, move || match kept {
        LeftBehind::Waker(waker) => waker.wake(),
        kept => drop(kept),
    });
}

fn use_once(step: &FeatureStep, cx: &Cx<'_>, kept: &mut LeftBehind) {
    let waker = strays::waker(step, cx);
    // What is on the other side of a port is a process, which would fail.
    let deaf = Waker::from(Arc::new(Deaf));
    let mut context = Context::from_waker(&deaf);
    match kept {
        LeftBehind::Half(half) => {
            let _ = strays::poll(&waker, |context| half.poll(context));
        }
        LeftBehind::Waker(waker) => {
            waker.wake_by_ref();
            *waker = waker.clone();
        }
        LeftBehind::Context(kept) => {
            kept.run(|| roving::join(roving::is_cancelled, context::current));
        }
        LeftBehind::Cancel(cancel) => {
            let _ = cancel.child().run(|| roving::scope(|s| s.spawn(|_| ())));
            cancel.cancel();
        }
        LeftBehind::Until(until) => {
            let _ = strays::poll(&waker, |context| until.as_mut().poll(context));
        }
        LeftBehind::Pool(pool) => drop(pool.spawn(|| ())),
        LeftBehind::Local(local) => {
            local.try_with(|value| *value);
        }
        LeftBehind::Thread(thread) => {
            thread.index();
        }
        LeftBehind::Job(job) => {
            let _ = job.is_finished();
            job.abort();
        }
        LeftBehind::Canceller(canceller) => canceller.cancel(),
        LeftBehind::Live(live) => drop(live.snapshot()),
        LeftBehind::In(port) => {
            let _ = port.try_recv();
            let _ = Pin::new(&mut port.recv()).poll(&mut context);
        }
        LeftBehind::Out(port) => {
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
