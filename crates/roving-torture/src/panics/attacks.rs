//! The fixed programs into which panics are injected: each way to hand a callback or a value to the
//! runtime.

use std::sync::mpsc;
use std::thread;

use super::suspended::{
    cancelled_tasks, closed_network, dropped_handles, mixed, moved_handles, network, tasks,
    woken_tasks,
};
use roving::{Cancel, WorkerLocal};

use super::site::{ArmedValue, Attacked, Large, Sites};

// A closure drops what it owns before it makes its result: a result that is made already when a
// destructor panics on the way out is leaked by the compiler (rust-lang/rust#47949).

/// How many of the callers hear of an injected panic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Once,
    /// By nobody, where the place is one of these: what they drop, nobody waits for.
    NotFrom(&'static [&'static str]),
}

/// A program, and who hears of its panics.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    pub(crate) heard: Heard,
    pub(crate) run: fn(&Attacked<'_>),
}

const fn attack(name: &'static str, run: fn(&Attacked<'_>)) -> Attack {
    Attack {
        name,
        heard: Heard::Once,
        run,
    }
}

/// All of them.
pub(crate) const ATTACKS: [Attack; 29] = [
    attack("join", join),
    attack("join of large closures", large_join),
    attack("join_context, nested", nested_joins),
    attack("scope", scope),
    attack("scope of large closures", large_scope),
    attack("in_place_scope", in_place_scope),
    attack("scope with a foreign thread", foreign_scope),
    attack("spawn_broadcast", spawn_broadcast),
    attack("a cancelled scope", cancelled_scope),
    attack("broadcast", broadcast),
    attack("par_for", par_for),
    attack("par_chunks_mut", par_chunks_mut),
    attack("map_reduce", map_reduce),
    attack("install", install),
    attack("install across pools", install_across),
    attack("detached jobs", jobs),
    attack("blocking", blocking),
    attack("WorkerLocal", worker_local),
    attack("tasks awaited", tasks),
    attack("tasks spawned and woken", woken_tasks),
    Attack {
        name: "tasks whose handles are dropped",
        heard: Heard::NotFrom(&["a result that nobody takes"]),
        run: dropped_handles,
    },
    attack("a task that moves a handle", moved_handles),
    attack("joins in a task, tasks in a join", mixed),
    Attack {
        name: "a context",
        heard: Heard::NotFrom(&["the context's value"]),
        run: context,
    },
    attack("a scope in a cancelled request", cancelled_request),
    attack("jobs in a cancelled request", cancelled_jobs),
    attack("tasks in a cancelled request", cancelled_tasks),
    attack("a network", network),
    attack("a network whose process ends early", closed_network),
];

fn join(cx: &Attacked<'_>) {
    let sites = cx.sites;
    let (a, b) = (sites.value("a's own"), sites.value("b's own"));
    let both = cx.pool.install(move || {
        roving::join(
            move || {
                let _inside = sites.enter("a");
                drop(a);
                sites.value("a's result")
            },
            move || {
                let _inside = sites.enter("b");
                drop(b);
                sites.value("b's result")
            },
        )
    });
    drop(both);
}

fn large_join(cx: &Attacked<'_>) {
    let sites = cx.sites;
    let large = |what| Large::new(sites.value(what));
    let (a, b) = (large("a's own"), large("b's own"));
    let both = cx.pool.install(move || {
        roving::join(
            move || {
                let _inside = sites.enter("a");
                a.look();
                drop(a);
                large("a's result")
            },
            move || {
                let _inside = sites.enter("b");
                b.look();
                drop(b);
                large("b's result")
            },
        )
    });
    both.0.look();
    both.1.look();
}

fn nested_joins(cx: &Attacked<'_>) {
    fn nest(depth: u32, sites: &'static Sites) -> Option<ArmedValue> {
        let _inside = sites.enter("a level");
        let below = depth.checked_sub(1)?;
        let value = sites.value("a level's own");
        let (a, b) = roving::join_context(
            |_| nest(below, sites),
            move |_| {
                drop(value);
                nest(below, sites)
            },
        );
        drop(a);
        drop(b);
        Some(sites.value("a level's result"))
    }
    cx.pool.install(|| drop(nest(3, cx.sites)));
}

fn scope(cx: &Attacked<'_>) {
    let sites = cx.sites;
    let result = cx.pool.install(|| {
        roving::scope(|s| {
            let _inside = sites.enter("the body");
            for _ in 0..4 {
                let value = sites.value("a task's own");
                s.spawn(move |s| {
                    let _inside = sites.enter("a task");
                    let next = sites.value("the next task's own");
                    s.spawn(move |_| {
                        let _inside = sites.enter("the next task");
                        drop(next);
                    });
                    drop(value);
                });
            }
            sites.value("the scope's result")
        })
    });
    drop(result);
}

fn large_scope(cx: &Attacked<'_>) {
    let sites = cx.sites;
    cx.pool.install(|| {
        roving::scope(|s| {
            for _ in 0..6 {
                let large = Large::new(sites.value("a task's own"));
                s.spawn(move |_| {
                    let _inside = sites.enter("a task");
                    large.look();
                });
            }
        });
    });
}

fn in_place_scope(cx: &Attacked<'_>) {
    let sites = cx.sites;
    let result = cx.pool.in_place_scope(|s| {
        let _inside = sites.enter("the body");
        for _ in 0..4 {
            let value = sites.value("a task's own");
            s.spawn(move |_| {
                let _value = value;
                let _inside = sites.enter("a task");
            });
        }
        sites.value("the scope's result")
    });
    drop(result);
}

fn foreign_scope(cx: &Attacked<'_>) {
    let sites = cx.sites;
    cx.pool.install(|| {
        roving::scope(|s| {
            thread::scope(|threads| {
                threads.spawn(|| {
                    for _ in 0..3 {
                        let value = sites.value("a task's own");
                        s.spawn(move |_| {
                            let _value = value;
                            let _inside = sites.enter("a task");
                        });
                    }
                });
            });
            let _inside = sites.enter("the body");
        });
    });
}

fn spawn_broadcast(cx: &Attacked<'_>) {
    let sites = cx.sites;
    cx.pool.install(|| {
        roving::scope(|s| {
            let value = sites.value("the closure's own");
            s.spawn_broadcast(move |_, _| {
                let _value = &value;
                let _inside = sites.enter("a worker's part");
            });
        });
    });
}

fn cancelled_scope(cx: &Attacked<'_>) {
    let sites = cx.sites;
    cx.pool.install(|| {
        roving::scope(|s| {
            let _inside = sites.enter("the body");
            s.cancel();
            for _ in 0..3 {
                let value = sites.value("a dropped task's own");
                s.spawn(move |_| drop(value));
            }
        });
    });
}

fn broadcast(cx: &Attacked<'_>) {
    let sites = cx.sites;
    let value = sites.value("the closure's own");
    let results = cx.pool.broadcast(move |_| {
        let _value = &value;
        let _inside = sites.enter("a worker's part");
        sites.value("a worker's result")
    });
    // One after the other: a panic in the drop of one must not be in the drop of all.
    for result in results {
        drop(result);
    }
}

fn par_for(cx: &Attacked<'_>) {
    let sites = cx.sites;
    let value = sites.value("the closure's own");
    cx.pool.install(move || {
        roving::par_for(0..40, move |_| {
            let _value = &value;
            let _inside = sites.enter("an item");
            drop(sites.value("an item's own"));
        });
    });
}

fn par_chunks_mut(cx: &Attacked<'_>) {
    let sites = cx.sites;
    let mut numbers = [0; 100];
    cx.pool.install(|| {
        roving::par_chunks_mut(&mut numbers, 9, |_, chunk| {
            let _inside = sites.enter("a chunk");
            chunk.fill(1);
        });
    });
}

fn map_reduce(cx: &Attacked<'_>) {
    let sites = cx.sites;
    let identity = sites.value("the identity");
    let result = cx.pool.install(move || {
        let map = |_| {
            let _inside = sites.enter("map");
            sites.value("an item")
        };
        let reduce = |a: ArmedValue, b: ArmedValue| {
            let _inside = sites.enter("reduce");
            drop(a);
            b
        };
        roving::map_reduce(0..40, identity, map, reduce)
    });
    drop(result);
}

fn install(cx: &Attacked<'_>) {
    let sites = cx.sites;
    let value = sites.value("the closure's own");
    let result = cx.pool.install(move || {
        let _inside = sites.enter("the closure");
        drop(value);
        Large::new(sites.value("the result"))
    });
    result.look();
}

fn install_across(cx: &Attacked<'_>) {
    let sites = cx.sites;
    let value = sites.value("the closure's own");
    let result = cx.other.install(move || {
        let _inside = sites.enter("outside");
        cx.pool.install(move || {
            let _inside = sites.enter("inside");
            drop(value);
            cx.other.in_place_scope(|s| {
                s.spawn(|_| {
                    let _inside = sites.enter("a task of the other pool");
                });
            });
            sites.value("the result")
        })
    });
    drop(result);
}

fn jobs(cx: &Attacked<'_>) {
    let sites = cx.sites;
    let (said, hear) = mpsc::channel();
    for _ in 0..3 {
        let value = sites.value("a job's own");
        // Dropped last, whatever happens.
        let said = said.clone();
        cx.pool.spawn(move || {
            let said = said;
            {
                let _value = value;
                let _inside = sites.enter("a job");
            }
            drop(said);
        });
    }
    drop(said);
    // Until all have ended.
    hear.recv().unwrap_or(());
}

fn blocking(cx: &Attacked<'_>) {
    let sites = cx.sites;
    cx.pool.install(|| {
        let value = sites.value("the closure's own");
        let result = roving::blocking(move || {
            let _inside = sites.enter("the closure");
            drop(value);
            roving::join(
                || drop(sites.enter("a join in a blocking region")),
                || drop(sites.enter("its other side")),
            );
            sites.value("the result")
        });
        drop(result);
    });
}

fn worker_local(cx: &Attacked<'_>) {
    let sites = cx.sites;
    cx.pool.install(|| {
        let local = WorkerLocal::new(move || {
            let _inside = sites.enter("init");
            sites.value("a worker's value")
        });
        roving::join(|| local.with(|_| ()), || local.with(|_| ()));
        // One after the other, as above.
        for value in local {
            drop(value);
        }
    });
}

fn context(cx: &Attacked<'_>) {
    let sites = cx.sites;
    cx.pool.install(|| {
        roving::context::with(sites.value("the context's value"), || {
            let _inside = sites.enter("in the context");
            roving::join(
                || drop(sites.enter("a")),
                || drop(roving::context::get::<ArmedValue>()),
            );
        });
    });
}

fn cancelled_request(cx: &Attacked<'_>) {
    let sites = cx.sites;
    cx.pool.install(|| {
        let request = Cancel::new();
        let ended = request.run(|| {
            roving::scope(|s| {
                let _inside = sites.enter("the body");
                request.cancel();
                for _ in 0..3 {
                    let value = sites.value("a dropped task's own");
                    s.spawn(move |_| drop(value));
                }
            });
        });
        assert!(ended.is_err(), "its tasks were dropped");
        let value = sites.value("a dropped closure's own");
        assert!(
            request.run(move || drop(value)).is_err(),
            "it had not begun"
        );
    });
}

fn cancelled_jobs(cx: &Attacked<'_>) {
    let sites = cx.sites;
    let request = Cancel::new();
    let (said, hear) = mpsc::channel::<()>();
    cx.pool
        .install(|| {
            request.run(|| {
                request.cancel();
                let (value, said) = (sites.value("a dropped job's own"), said);
                roving::spawn(move || {
                    let (_said, _value) = (said, value);
                });
            })
        })
        .unwrap_or(());
    hear.recv().unwrap_or(());
}
