//! Steps that are async tasks: roots, children, what is polled once and kept.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Poll;

use roving::context;
use roving::raw::tasks::{Place, spawn_placed};
use roving::task::{self, Forked, Scope};

use super::feature::Feature;
use super::jobs;
use super::kept::{Half, LeftBehind};
use super::program::FeatureStep;
use super::strays;
use super::timed;
use super::world::{Canary, Cx, PartFate, WORKERS_MAX, allowed, call, part};

type Boxed<'s> = Pin<Box<dyn Future<Output = ()> + Send + 's>>;

/// Steps of a task, one after the other. With a token, children may borrow.
pub(super) fn sequence<'s>(
    s: Option<Scope<'s>>,
    steps: &'s [FeatureStep],
    cx: Cx<'s>,
) -> Boxed<'s> {
    Box::pin(async move {
        for step in steps {
            match step.feature.about().is_async {
                true => one(s, step, &cx).await,
                false => closure(s, step, &cx),
            }
        }
    })
}

/// A step that is no task, with the right to spawn below the root that it is in.
fn closure<'s>(s: Option<Scope<'s>>, step: &'s FeatureStep, cx: &Cx<'s>) {
    let (Some(s), Some(canary)) = (s, cx.canary) else {
        return cx.world.run(step, cx);
    };
    let spawn = || {
        let world = Arc::clone(&cx.world);
        // In a part that runs elsewhere it is a mistake that is told.
        allowed(step, cx, || {
            drop(s.spawn(async move {
                pause(3, &world).await;
                canary.check(step, &world);
            }));
        });
    };
    let (act, inside) = cx.with(&spawn);
    let inside = Cx {
        act: Some(&act),
        ..inside
    };
    cx.world.run(step, &inside);
}

/// A step that is awaited, where nobody awaits: in a root of its own.
pub(super) fn alone(step: &FeatureStep, cx: &Cx<'_>) {
    call(step, cx, &[], || task::block_on(one(None, step, cx)));
}

pub(super) fn root(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = PartFate::default();
    let world = &cx.world;
    match (step.feature, step.mode) {
        (Feature::BlockOn, 0) => call(step, cx, &[&seen], || {
            task::block_on(watched(&seen, sequence(None, &step.parts[0], cx.clone())));
        }),
        (Feature::BlockOn, _) => call(step, cx, &[&seen], || {
            world.pools[0].run(|_| watched(&seen, sequence(None, &step.parts[0], cx.clone())));
        }),
        (Feature::TaskScope, mode) => {
            let canary = Canary::new();
            let inside = Cx {
                canary: Some(&canary),
                ..cx.clone()
            };
            let seen = &seen;
            let body = |s| watched(seen, sequence(Some(s), &step.parts[0], inside));
            call(step, cx, &[seen], || match mode {
                0 => task::scope(body),
                _ => world.pools[1].run(body),
            });
        }
        _ => dead_token(step, cx),
    }
}

/// A child that stays with one worker, or is sent to another meanwhile.
pub(super) fn placed(step: &FeatureStep, cx: &Cx<'_>) {
    let (child, body) = (PartFate::default(), PartFate::default());
    let canary = Canary::new();
    let inside = &Cx {
        canary: Some(&canary),
        ..cx.clone()
    };
    // In whatever pool this is, the second thread may be one that is yet to come, and waited for.
    let other = usize::from(step.mode >= 4);
    // Whether or not a worker has that index.
    let places = [None, Some(0), Some(other), Some(WORKERS_MAX)];
    let place = &Place::new(places[step.id as usize % 4]);
    let run = |s| {
        let (child, body, canary) = (&child, &body, &canary);
        async move {
            let mut of_child = sequence(Some(s), &step.parts[0], inside.clone());
            let handle = spawn_placed(s, place, async move {
                pause((step.id % 4) as u8, &inside.world).await;
                // That it was cancelled is no panic.
                poll_fn(|context| child.watch_process(|| of_child.as_mut().poll(context))).await;
                canary.check(step, &inside.world);
            });
            if step.mode % 2 == 1 {
                place.set(places[(step.id as usize + 1) % 4]);
            }
            watched(body, sequence(Some(s), &step.parts[1], inside.clone())).await;
            match step.mode / 2 % 2 {
                0 => handle.await,
                _ => drop(handle),
            }
        }
    };
    call(step, cx, &[&child, &body], || match step.mode / 4 {
        0 => task::scope(run),
        which => cx.world.pools[usize::from(which) - 1].run(run),
    });
}

/// Polls a part, and remembers what comes of it.
async fn watched(seen: &PartFate, mut part: Boxed<'_>) {
    poll_fn(|context| seen.watch(|| part.as_mut().poll(context))).await;
}

/// A token is kept beyond its root, and used by whoever runs inside.
fn dead_token(step: &FeatureStep, cx: &Cx<'_>) {
    let canary = Canary::new();
    let mut token = None;
    match step.mode {
        0 => task::scope(|s| {
            token = Some(s);
            async {}
        }),
        _ => cx.world.pools[1].run(|s| {
            token = Some(s);
            async {}
        }),
    }
    let Some(token) = token else {
        return cx
            .world
            .complain(step, "a scope has not called its closure");
    };
    let (canary, world) = (&canary, &cx.world);
    let spawn = || {
        let child = async move {
            pause(3, world).await;
            canary.check(step, world);
        };
        if allowed(step, cx, || drop(token.spawn(child))).is_some() {
            world.complain(step, "a token spawned when its root had ended");
        }
    };
    let (act, inside) = cx.with(&spawn);
    let inside = Cx {
        act: Some(&act),
        ..inside
    };
    // Used at once, and below whatever comes.
    spawn();
    context::with(step.id, spawn);
    let seen = PartFate::default();
    call(step, cx, &[&seen], || {
        seen.watch(|| part(step, 0, &inside));
    });
}

async fn one<'s>(s: Option<Scope<'s>>, step: &'s FeatureStep, cx: &Cx<'s>) {
    cx.world.ran(step);
    match step.feature {
        Feature::Fork | Feature::TaskSpawn | Feature::Branch => child(s, step, cx).await,
        Feature::Call => {
            let part = sequence(s, &step.parts[0], cx.clone());
            match s {
                Some(s) if step.mode == 0 => s.call(part).await,
                _ => task::call(free(step, 0, cx)).await,
            }
        }
        Feature::Pause => pause(step.mode, &cx.world).await,
        Feature::Half => half(step, cx).await,
        Feature::Handle => handle(step, cx).await,
        Feature::AwaitedJob => jobs::awaited(step, cx).await,
        Feature::KeptWaker => waker(step, cx).await,
        Feature::UntilCancelled => until_cancelled(step, cx).await,
        Feature::Timed => timed::awaited(step, cx).await,
        _ => {}
    }
}

/// A child that borrows nothing.
fn free(step: &FeatureStep, part: usize, cx: &Cx<'_>) -> impl Future<Output = ()> + Send + use<> {
    let (steps, cx, ticket) = (Arc::clone(&step.parts[part]), cx.free(), cx.world.ticket());
    async move {
        let _ticket = ticket;
        sequence(None, &steps, cx).await;
    }
}

/// A child by one of three ways; what comes of its handle is in the mode.
async fn child<'s>(s: Option<Scope<'s>>, step: &'s FeatureStep, cx: &Cx<'s>) {
    let seen = Arc::new(PartFate::default());
    let of_child = {
        let (seen, cx, ticket) = (Arc::clone(&seen), cx.clone(), cx.world.ticket());
        async move {
            let _ticket = ticket;
            watched(&seen, sequence(s, &step.parts[0], cx)).await;
        }
    };
    let unbound = {
        let (seen, free) = (Arc::clone(&seen), free(step, 0, cx));
        async move { watched(&seen, Box::pin(free)).await }
    };
    let handle = match (step.feature, s.filter(|_| step.mode % 2 == 1)) {
        (Feature::Fork, Some(s)) => s.fork(of_child).await,
        (Feature::Fork, None) => task::fork(unbound).await,
        (Feature::Branch, Some(s)) => s.branch(of_child).await,
        (Feature::Branch, None) => task::branch(unbound).await,
        (_, Some(s)) => s.spawn(of_child),
        (_, None) => task::spawn(unbound),
    };
    sequence(s, &step.parts[1], cx.clone()).await;
    let is_awaited = match step.mode / 2 {
        0 => {
            handle.await;
            true
        }
        1 => {
            drop(handle);
            false
        }
        2 => {
            task::spawn(handle).await;
            true
        }
        _ => {
            let _ = handle.is_ended();
            handle.or_cancelled().await.is_ok()
        }
    };
    if is_awaited && seen.has_thrown() {
        cx.world.complain(step, "the panic of a child was lost");
    }
}

/// Lets others go first; it goes on by itself.
pub(super) async fn pause(how: u8, world: &super::world::World) {
    let mut left = 1 + u32::from(how == 0);
    poll_fn(|context| {
        if left == 0 {
            return Poll::Ready(());
        }
        left -= 1;
        match how {
            0 => context.waker().wake_by_ref(),
            1 => {
                let waker = context.waker().clone();
                waker.wake();
            }
            2 => {
                let (first, second) = (context.waker().clone(), context.waker().clone());
                world.elsewhere(move || first.wake());
                world.elsewhere(move || drop(second));
            }
            _ => {
                let waker = context.waker().clone();
                world.elsewhere(move || waker.wake());
            }
        }
        Poll::Pending
    })
    .await;
}

/// A future of the library that is polled once, and then kept, dropped here or elsewhere, or
/// awaited.
async fn half(step: &FeatureStep, cx: &Cx<'_>) {
    let ends = Arc::new(AtomicBool::new(false));
    let child = {
        let (world, part) = (Arc::clone(&cx.world), free(step, 0, cx));
        let how = (!hands_over(step)).then_some((step.id % 4) as u8);
        let ends = Arc::clone(&ends);
        async move {
            if let Some(how) = how {
                pause(how, &world).await;
            }
            part.await;
            // Ordering: who sees it must not hear of more by it.
            ends.store(true, Relaxed);
        }
    };
    let mut half = match step.mode % 4 {
        1 => Half::Fork(Box::pin(task::fork(child))),
        2 => Half::Fork(Box::pin(task::branch(child))),
        _ => Half::Call(Box::pin(task::call(child))),
    };
    if hands_over(step) {
        return hand_over(step, cx, half, &ends).await;
    }
    let polled = match is_deaf(step) {
        true => poll_by_another(step, cx, &mut half),
        false => poll_fn(|context| Poll::Ready(half.poll(context))).await,
    };
    // One that is ready is a handle by now, or must not be polled again.
    if polled.is_pending() || matches!(half, Half::Handle(_)) {
        fate(step, cx, half, &ends).await;
    }
}

/// Whether the poll that begins the child also gives the future away.
fn hands_over(step: &FeatureStep) -> bool {
    step.mode / 4 == 4
}

/// Polls it and has another thread drop it once the child has ended, while this task waits for that
/// child, and mostly for nothing else.
async fn hand_over(step: &FeatureStep, cx: &Cx<'_>, half: Half, ends: &Arc<AtomicBool>) {
    let waits_alone = step.parts[0].is_empty() && !step.id.is_multiple_of(4);
    let mut half = Some(half);
    poll_fn(|context| {
        let Some(mut half) = half.take() else {
            return Poll::Ready(());
        };
        if !waits_alone {
            context.waker().wake_by_ref();
        }
        match half.poll(context) {
            Poll::Pending => cx.world.elsewhere_after(ends, move || drop(half)),
            Poll::Ready(()) => context.waker().wake_by_ref(),
        }
        Poll::Pending
    })
    .await;
}

/// Whether it is polled by nobody who would poll it again.
fn is_deaf(step: &FeatureStep) -> bool {
    step.mode % 4 == 3
}

/// Polls with another waker than that of the task.
fn poll_by_another(step: &FeatureStep, cx: &Cx<'_>, half: &mut Half) -> Poll<()> {
    strays::poll(&strays::waker(step, cx), |context| half.poll(context))
}

async fn fate(step: &FeatureStep, cx: &Cx<'_>, mut half: Half, ends: &Arc<AtomicBool>) {
    match step.mode / 4 {
        0 => cx.world.keep(LeftBehind::Half(half)),
        1 => drop(half),
        2 if step.id.is_multiple_of(2) => cx.world.elsewhere(move || drop(half)),
        2 => cx.world.elsewhere_after(ends, move || drop(half)),
        _ if is_deaf(step) => drop(half),
        _ => poll_fn(|context| half.poll(context)).await,
    }
}

/// A handle that is kept beyond the task that has it.
async fn handle(step: &FeatureStep, cx: &Cx<'_>) {
    let handle: Forked<()> = task::spawn({
        let (world, part) = (Arc::clone(&cx.world), free(step, 0, cx));
        async move {
            pause(3, &world).await;
            part.await;
        }
    });
    let mut half = match step.mode {
        4 | 5 => Half::OrCancelled(Box::pin(handle.or_cancelled())),
        _ => Half::Handle(Box::pin(handle)),
    };
    let polls = matches!(step.mode, 1 | 2 | 4);
    let is_ready = polls
        && poll_fn(|context| Poll::Ready(half.poll(context)))
            .await
            .is_ready();
    match step.mode {
        _ if is_ready => {}
        0 | 1 | 4 => cx.world.keep(LeftBehind::Half(half)),
        _ => cx.world.elsewhere(move || drop(half)),
    }
}

/// A waker that lives longer than its task.
async fn waker(step: &FeatureStep, cx: &Cx<'_>) {
    poll_fn(|context| {
        let waker = context.waker().clone();
        if step.mode == 1 {
            let other = waker.clone();
            cx.world.elsewhere(move || drop(other));
        }
        cx.world.keep(LeftBehind::Waker(waker));
        Poll::Ready(())
    })
    .await;
    if step.mode == 2 {
        pause(3, &cx.world).await;
    }
}

async fn until_cancelled(step: &FeatureStep, cx: &Cx<'_>) {
    if step.mode == 0 {
        let world = Arc::clone(&cx.world);
        let result = context::until_cancelled(async move { pause(3, &world).await }).await;
        if result.is_err() && !cx.cancels {
            cx.world.complain(step, "it was cancelled, and nobody has");
        }
        return;
    }
    let mut until = Box::pin(context::cancelled());
    let polled = poll_fn(|context| Poll::Ready(until.as_mut().poll(context))).await;
    if polled.is_ready() && !cx.cancels {
        cx.world.complain(step, "it was cancelled, and nobody has");
    }
    match step.mode {
        1 => drop(until),
        2 => cx.world.keep(LeftBehind::Until(until)),
        _ => cx.world.elsewhere(move || drop(until)),
    }
}
