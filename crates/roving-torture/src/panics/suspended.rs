//! The programs of [`super::attacks`] that are async tasks and networks.

use std::future::poll_fn;
use std::panic;
use std::task::Poll;

use roving::Cancel;
use roving::task::{self, Task};
use roving_flow::{Error, Network};

use super::site::{ArmedValue, Attacked, Sites};

fn leaf(sites: &'static Sites, what: &'static str) -> impl Task<ArmedValue> {
    let value = sites.value("a task's own");
    async move {
        let _inside = sites.enter(what);
        drop(value);
        sites.value("a task's result")
    }
}

pub(super) fn tasks(cx: &Attacked<'_>) {
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

pub(super) fn woken_tasks(cx: &Attacked<'_>) {
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

pub(super) fn dropped_handles(cx: &Attacked<'_>) {
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

pub(super) fn moved_handles(cx: &Attacked<'_>) {
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

pub(super) fn mixed(cx: &Attacked<'_>) {
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

pub(super) fn cancelled_tasks(cx: &Attacked<'_>) {
    let sites = cx.sites;
    cx.pool.install(|| {
        let request = Cancel::new();
        let ended = request.run(|| {
            task::block_on(async {
                let _inside = sites.enter("the root");
                let value = sites.value("a waiting task's own");
                let waits = task::spawn(roving::context::until_cancelled(async move {
                    let _inside = sites.enter("a task that waits");
                    let _value = value;
                    std::future::pending::<()>().await;
                }));
                pause().await;
                request.cancel();
                let value = sites.value("a dropped task's own");
                let dropped = task::spawn(async move { drop(value) });
                let _ = waits.or_cancelled().await;
                let _ = dropped.or_cancelled().await;
            });
        });
        assert!(ended.is_err(), "a part of it was dropped");
    });
}

/// Hands a process's panic on, as a caller of the network would.
fn ended<T>(result: Result<T, Error>) {
    match result {
        Ok(_) => {}
        Err(Error::Panicked { payload, .. }) => panic::resume_unwind(payload.into_panic()),
        Err(error) => panic!("the network ended otherwise: {error}"),
    }
}

pub(super) fn network(cx: &Attacked<'_>) {
    let sites = cx.sites;
    let mut network = Network::new();
    let (out, values) = network.bounded::<ArmedValue>("values", 2);
    let (on, results) = network.bounded::<ArmedValue>("results", 1);
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
pub(super) fn closed_network(cx: &Attacked<'_>) {
    let sites = cx.sites;
    let mut network = Network::new();
    let (out, values) = network.bounded::<ArmedValue>("values", 8);
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
