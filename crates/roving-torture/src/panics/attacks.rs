//! The fixed programs into which panics are injected: each way to hand a callback or a value to the runtime.

use std::future::poll_fn;
use std::panic;
use std::sync::mpsc;
use std::task::Poll;
use std::thread;

use roving::task::{self, Task};
use roving::{Pool, WorkerLocal};
use roving_flow::{Error, Network};

use super::site::{Large, Sites, Value};

// A closure drops what it owns before it makes its result: a result that is made already when a destructor
// panics on the way out is leaked by the compiler (rust-lang/rust#47949).

/// What a program is given. It is called inside of nothing: it enters the pool itself.
pub(crate) struct Cx<'p> {
    pub(crate) sites: &'static Sites,
    pub(crate) pool: &'p Pool,
    pub(crate) other: &'p Pool,
}

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
    pub(crate) run: fn(&Cx<'_>),
}

const fn attack(name: &'static str, run: fn(&Cx<'_>)) -> Attack {
    Attack {
        name,
        heard: Heard::Once,
        run,
    }
}

/// All of them.
pub(crate) const ATTACKS: [Attack; 25] = [
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
    attack("a network", network),
    attack("a network whose process ends early", closed_network),
];

fn join(cx: &Cx<'_>) {
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

fn large_join(cx: &Cx<'_>) {
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

fn nested_joins(cx: &Cx<'_>) {
    fn nest(depth: u32, sites: &'static Sites) -> Option<Value> {
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

fn scope(cx: &Cx<'_>) {
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

fn large_scope(cx: &Cx<'_>) {
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

fn in_place_scope(cx: &Cx<'_>) {
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

fn foreign_scope(cx: &Cx<'_>) {
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

fn spawn_broadcast(cx: &Cx<'_>) {
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

fn cancelled_scope(cx: &Cx<'_>) {
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

fn broadcast(cx: &Cx<'_>) {
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

fn par_for(cx: &Cx<'_>) {
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

fn par_chunks_mut(cx: &Cx<'_>) {
    let sites = cx.sites;
    let mut numbers = [0; 100];
    cx.pool.install(|| {
        roving::par_chunks_mut(&mut numbers, 9, |_, chunk| {
            let _inside = sites.enter("a chunk");
            chunk.fill(1);
        });
    });
}

fn map_reduce(cx: &Cx<'_>) {
    let sites = cx.sites;
    let identity = sites.value("the identity");
    let result = cx.pool.install(move || {
        let map = |_| {
            let _inside = sites.enter("map");
            sites.value("an item")
        };
        let reduce = |a: Value, b: Value| {
            let _inside = sites.enter("reduce");
            drop(a);
            b
        };
        roving::map_reduce(0..40, identity, map, reduce)
    });
    drop(result);
}

fn install(cx: &Cx<'_>) {
    let sites = cx.sites;
    let value = sites.value("the closure's own");
    let result = cx.pool.install(move || {
        let _inside = sites.enter("the closure");
        drop(value);
        Large::new(sites.value("the result"))
    });
    result.look();
}

fn install_across(cx: &Cx<'_>) {
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

fn jobs(cx: &Cx<'_>) {
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

fn blocking(cx: &Cx<'_>) {
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

fn worker_local(cx: &Cx<'_>) {
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

fn leaf(sites: &'static Sites, what: &'static str) -> impl Task<Value> {
    let value = sites.value("a task's own");
    async move {
        let _inside = sites.enter(what);
        drop(value);
        sites.value("a task's result")
    }
}

fn tasks(cx: &Cx<'_>) {
    let sites = cx.sites;
    cx.pool.run(|s| async move {
        let _inside = sites.enter("the root");
        let forked = s.fork(leaf(sites, "a forked task")).await;
        let spawned = s.spawn(leaf(sites, "a spawned task"));
        let branched = s.branch(leaf(sites, "a branched task")).await;
        drop(s.call(leaf(sites, "a called task")).await);
        drop(forked.await);
        drop(spawned.await);
        drop(branched.await);
    });
}

async fn pause() {
    let mut left = 2;
    poll_fn(|context| {
        left -= 1;
        match left {
            1 => context.waker().wake_by_ref(),
            _ => return Poll::Ready(()),
        }
        Poll::Pending
    })
    .await;
}

fn woken_tasks(cx: &Cx<'_>) {
    let sites = cx.sites;
    cx.pool.run(|s| async move {
        let mut handles = Vec::new();
        for _ in 0..4 {
            let value = sites.value("a task's own");
            handles.push(s.spawn(async move {
                drop(sites.enter("a first poll"));
                pause().await;
                drop(sites.enter("a later poll"));
                drop(value);
            }));
        }
        pause().await;
        for handle in handles {
            handle.await;
        }
    });
}

fn dropped_handles(cx: &Cx<'_>) {
    let sites = cx.sites;
    cx.pool.run(|s| async move {
        for number in 0..3 {
            let value = sites.value("a task's own");
            let child = async move {
                let _inside = sites.enter("a task");
                drop(value);
                pause().await;
                sites.value("a result that nobody takes")
            };
            match number {
                0 => drop(s.spawn(child)),
                1 => drop(s.fork(child).await),
                _ => drop(s.branch(child).await),
            }
        }
        drop(sites.enter("the root"));
    });
}

fn moved_handles(cx: &Cx<'_>) {
    let sites = cx.sites;
    cx.pool.run(|s| async move {
        let first = s.spawn(leaf(sites, "the first task"));
        let second = s.spawn(async move {
            let _inside = sites.enter("the second task");
            first.await
        });
        drop(second.await);
    });
}

fn mixed(cx: &Cx<'_>) {
    let sites = cx.sites;
    cx.pool.run(|s| async move {
        let child = s.fork(async move {
            roving::join(
                || drop(sites.enter("a join in a task")),
                || task::block_on(async { drop(sites.enter("a task in a join")) }),
            );
        });
        let child = child.await;
        roving::scope(|inner| inner.spawn(|_| drop(sites.enter("a scope in a task"))));
        child.await;
    });
}

/// Hands a process's panic on, as a caller of the network would.
fn ended<T>(result: Result<T, Error>) {
    match result {
        Ok(_) => {}
        Err(Error::Panicked { payload, .. }) => panic::resume_unwind(payload),
        Err(error) => panic!("the network ended otherwise: {error}"),
    }
}

fn network(cx: &Cx<'_>) {
    let sites = cx.sites;
    let mut network = Network::new();
    let (out, values) = network.bounded::<Value>("values", 2);
    let (on, results) = network.bounded::<Value>("results", 1);
    let source = sites.value("a process's own");
    network.process("source", out, async move |mut out| {
        let _source = source;
        for _ in 0..5 {
            let _inside = sites.enter("the source");
            if out.send(sites.value("a message")).await.is_err() {
                break;
            }
        }
    });
    network.process("middle", (values, on), async move |(mut values, mut on)| {
        while let Some(value) = values.recv().await {
            let _inside = sites.enter("the middle");
            if on.send(value).await.is_err() {
                break;
            }
        }
    });
    network.sink("sink", results, move |value| {
        let _inside = sites.enter("the sink");
        drop(value);
    });
    ended(network.run(cx.pool));
}

/// Messages that nobody takes any more.
fn closed_network(cx: &Cx<'_>) {
    let sites = cx.sites;
    let mut network = Network::new();
    let (out, values) = network.bounded::<Value>("values", 8);
    network.process("source", out, async move |mut out| {
        for _ in 0..8 {
            if let Err(closed) = out.send(sites.value("a message")).await {
                drop(closed);
                break;
            }
        }
        drop(sites.enter("the source's end"));
    });
    network.process("sink", values, async move |mut values| {
        drop(values.recv().await);
        drop(sites.enter("the sink's end"));
    });
    ended(network.run(cx.pool));
}
