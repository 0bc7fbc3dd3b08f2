//! Steps that are closures: joins, scopes, broadcasts, loops, jobs, calls into pools, blocking
//! regions.

use std::ops::ControlFlow;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

use roving::{Pool, Priority, Scope, WorkerLocal, context};

use super::feature::Feature;
use super::kept::LeftBehind;
use super::program::FeatureStep;
use super::thread_end::at_thread_end;
use super::world::{Canary, Cx, PartFate, Ticket, call, part, sequence};

/// Turns of a loop.
const TURNS: usize = 6;

pub(super) fn run(step: &FeatureStep, cx: &Cx<'_>) {
    match step.feature {
        Feature::Join => join(step, cx),
        Feature::Scope => scope(step, cx),
        Feature::ScopeCancel => scope_cancel(step, cx),
        Feature::Broadcast => broadcast(step, cx),
        Feature::ScopeBroadcast => scope_broadcast(step, cx),
        Feature::Loop => counted_loop(step, cx),
        Feature::EarlyLoop => early(step, cx),
        Feature::Reduce => reduce(step, cx),
        Feature::Spawn => spawn(step, cx),
        Feature::Install => {
            let (seen, ticket) = (PartFate::default(), cx.world.ticket());
            call(step, cx, &[&seen], || {
                cx.world.pools[usize::from(step.mode)].install(|| {
                    let _ticket = ticket;
                    seen.watch(|| part(step, 0, cx));
                });
            });
        }
        Feature::Blocking => {
            let (seen, ticket) = (PartFate::default(), cx.world.ticket());
            call(step, cx, &[&seen], || {
                roving::blocking(|| {
                    let _ticket = ticket;
                    if step.mode == 1 {
                        thread::yield_now();
                    }
                    seen.watch(|| part(step, 0, cx));
                });
            });
        }
        Feature::WorkerLocal => worker_local(step, cx),
        Feature::Foreign => foreign(step, cx),
        Feature::ThreadEnd => at_thread_end(step, cx),
        _ => {}
    }
}

/// A value too large for a slot.
struct Wide(
    [u64; 12],
    #[expect(dead_code, reason = "its drop is counted")] Ticket,
);

impl Wide {
    fn new(cx: &Cx<'_>) -> Wide {
        Wide([5; 12], cx.world.ticket())
    }

    fn check(&self, step: &FeatureStep, cx: &Cx<'_>) {
        if self.0 != [5; 12] {
            cx.world.complain(step, "a value changed on its way");
        }
    }
}

fn join(step: &FeatureStep, cx: &Cx<'_>) {
    let (a, b) = (PartFate::default(), PartFate::default());
    let canary = Canary::new();
    let first = || a.watch(|| part(step, 0, cx));
    let second = || {
        b.watch(|| part(step, 1, cx));
        canary.check(step, &cx.world);
    };
    call(step, cx, &[&a, &b], || match step.mode {
        0 => drop(roving::join(first, second)),
        1 => {
            let (x, y) = (Wide::new(cx), Wide::new(cx));
            let one = move |_| {
                first();
                x
            };
            let other = move |_| {
                second();
                y
            };
            let (x, y) = roving::join_context(one, other);
            x.check(step, cx);
            y.check(step, cx);
        }
        2 => {
            let (x, y) = (cx.world.ticket(), cx.world.ticket());
            let one = move || {
                first();
                drop(x);
            };
            let other = move || {
                second();
                y
            };
            drop(roving::join(one, other));
        }
        _ => drop(roving::join(second, first)),
    });
}

fn scope(step: &FeatureStep, cx: &Cx<'_>) {
    let (task, body) = (PartFate::default(), PartFate::default());
    let canary = Canary::new();
    let world = &cx.world;
    let inside = |s: &Scope<'_>, spawn: &(dyn Fn() + Sync)| {
        let _ = s.is_cancelled();
        let (act, cx) = cx.with(spawn);
        let cx = Cx {
            act: Some(&act),
            ..cx
        };
        body.watch(|| part(step, 1, &cx));
    };
    // The borrow of the scope and that of the canary are written out, for each kind of scope.
    macro_rules! body {
        () => {
            |s| {
                let ticket = world.ticket();
                let (task, canary) = (&task, &canary);
                s.spawn(move |_| {
                    let _ticket = ticket;
                    task.watch(|| part(step, 0, cx));
                    canary.check(step, world);
                });
                inside(s, &|| s.spawn(move |_| canary.check(step, world)));
            }
        };
    }
    call(step, cx, &[&task, &body], || match step.mode {
        0 => roving::scope(body!()),
        1 => roving::in_place_scope(body!()),
        _ => world.pools[0].in_place_scope(body!()),
    });
}

fn scope_cancel(step: &FeatureStep, cx: &Cx<'_>) {
    let body = PartFate::default();
    let canary = Canary::new();
    call(step, cx, &[&body], || {
        roving::scope(|s| {
            if step.mode == 0 {
                s.cancel();
            }
            let ticket = cx.world.ticket();
            let canary = &canary;
            s.spawn(move |_| {
                let _ticket = ticket;
                part(step, 0, &cx.cancelling());
                canary.check(step, &cx.world);
            });
            s.cancel();
            body.watch(|| part(step, 1, cx));
        });
    });
}

/// A pool of its own: who broadcasts waits for workers that may wait for him.
pub(super) fn fresh(step: &FeatureStep, cx: &Cx<'_>) -> Option<Pool> {
    let pool = Pool::builder().workers(2).panic_handler(drop).build();
    pool.map_err(|error| cx.world.complain(step, format!("no pool: {error}")))
        .ok()
}

fn broadcast(step: &FeatureStep, cx: &Cx<'_>) {
    let Some(pool) = fresh(step, cx) else {
        return;
    };
    let calls = AtomicU64::new(0);
    let each = |_| {
        calls.fetch_add(1, Relaxed);
        part(step, 0, cx);
        cx.world.ticket()
    };
    let results = call(step, cx, &[], || match step.mode {
        0 => pool.install(|| roving::broadcast(each)),
        _ => pool.broadcast(each),
    });
    if results.len() != 2 || calls.load(Relaxed) != 2 {
        let text = format!("{} results of {} calls", results.len(), calls.load(Relaxed));
        cx.world.complain(step, text);
    }
}

fn scope_broadcast(step: &FeatureStep, cx: &Cx<'_>) {
    let Some(pool) = fresh(step, cx) else {
        return;
    };
    let calls = AtomicU64::new(0);
    let canary = Canary::new();
    call(step, cx, &[], || {
        pool.in_place_scope(|s| {
            let (ticket, canary, calls) = (cx.world.ticket(), &canary, &calls);
            s.spawn_broadcast(move |_, _| {
                let _ticket = &ticket;
                calls.fetch_add(1, Relaxed);
                part(step, 0, cx);
                canary.check(step, &cx.world);
            });
        });
    });
    if calls.load(Relaxed) != 2 && !cx.cancels {
        cx.world
            .complain(step, "a broadcast has not reached each worker once");
    }
}

fn counted_loop(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = PartFate::default();
    let done = AtomicU64::new(0);
    let turn = |index: usize| {
        if index == TURNS / 2 {
            seen.watch(|| part(step, 0, cx));
        }
        done.fetch_add(1 << (8 * index), Relaxed);
    };
    call(step, cx, &[&seen], || match step.mode {
        0 => roving::par_for(0..TURNS, turn),
        _ => {
            let mut slice = [0_u8; TURNS];
            roving::par_chunks_mut(&mut slice, 1, |index, chunk| {
                chunk[0] += 1;
                turn(index);
            });
            if slice != [1; TURNS] {
                cx.world.complain(step, "not every chunk was seen once");
            }
        }
    });
    if done.load(Relaxed) != 0x0101_0101_0101 {
        cx.world.complain(step, "not every turn ran once");
    }
}

/// A loop that ends when it has found what it looks for, in the turn that does the part.
fn early(step: &FeatureStep, cx: &Cx<'_>) {
    const WANTED: usize = TURNS / 2;
    let seen = PartFate::default();
    let turn = |index: usize| {
        if index == WANTED {
            seen.watch(|| part(step, 0, cx));
        }
        index == WANTED
    };
    let ends = |is_found: bool| match is_found {
        true => Err(WANTED),
        false => Ok(()),
    };
    let ticket = |index: usize| turn(index).then(|| (index, cx.world.ticket()));
    let found = call(step, cx, &[&seen], || match step.mode {
        0 => roving::try_par_for(0..TURNS, |index| ends(turn(index))).err(),
        1 => roving::par_find_any(0..TURNS, ticket).map(|(found, _)| found),
        // What is found behind it does not count.
        2 => {
            let either = |index: usize| {
                let is_last = index == TURNS - 1;
                (turn(index) || is_last).then(|| (index, cx.world.ticket()))
            };
            roving::par_find_first(0..TURNS, either).map(|(found, _)| found)
        }
        _ => {
            let breaks = |index: usize| match turn(index) {
                true => ControlFlow::Break(index),
                false => ControlFlow::Continue(()),
            };
            roving::try_par_for(0..TURNS, breaks).break_value()
        }
    });
    if found != Some(WANTED) {
        cx.world.complain(step, format!("a loop found {found:?}"));
    }
}

fn reduce(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = PartFate::default();
    let map = |index: usize| {
        if index == TURNS / 2 {
            seen.watch(|| part(step, 0, cx));
        }
        index as u64 + 1
    };
    let items: Vec<usize> = (0..TURNS).collect();
    let sum = call(step, cx, &[&seen], || match step.mode {
        0 => roving::map_reduce(0..TURNS, 0, map, |a, b| a + b),
        1 => roving::reduce(0..TURNS, 1, || 0, map, |a, b| a + b),
        2 => roving::reduce_slice(&items, 2, || 0, |item| map(*item), |a, b| a + b),
        _ => {
            let leaf = |chunk: &[usize]| chunk.iter().map(|item| map(*item)).sum();
            roving::reduce_chunks(&items, 2, || 0, leaf, |a: u64, b: u64| a + b)
        }
    });
    if sum != 21 {
        cx.world.complain(step, format!("the sum is {sum}"));
    }
}

fn spawn(step: &FeatureStep, cx: &Cx<'_>) {
    let later = cx.world.later();
    let steps = Arc::clone(&step.parts[0]);
    let cx_there = cx.free();
    let job = move || {
        let _later = later;
        sequence(&steps, &cx_there);
    };
    call(step, cx, &[], || match step.mode {
        0 => roving::spawn(job),
        1 => cx.world.pools[0].spawn(job),
        _ => cx.world.pools[0].spawn_with(Priority::High, job),
    });
}

fn worker_local(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = PartFate::default();
    call(step, cx, &[&seen], || {
        let local = WorkerLocal::new(|| 7_u64);
        let inside = || seen.watch(|| part(step, 0, cx));
        match step.mode {
            0 => inside(),
            // On a thread that is no worker of its pool there is none.
            _ => match local.try_with(|_| inside()) {
                Some(()) => {}
                None => inside(),
            },
        }
        let _ = roving::join(
            || local.try_with(|value| *value),
            || local.try_with(|value| *value),
        );
        if step.mode == 2 {
            cx.world.keep(LeftBehind::Local(local));
        }
    });
}

fn foreign(step: &FeatureStep, cx: &Cx<'_>) {
    let seen = PartFate::default();
    let context = context::current();
    let there = || {
        seen.watch(|| match step.mode {
            0 => part(step, 0, cx),
            1 => context.run(|| part(step, 0, cx)),
            _ => cx.world.pools[1].install(|| part(step, 0, cx)),
        });
    };
    call(step, cx, &[&seen], || {
        roving::blocking(|| {
            thread::scope(|threads| threads.spawn(there).join())
                .unwrap_or_else(|payload| panic::resume_unwind(payload));
        });
    });
}
