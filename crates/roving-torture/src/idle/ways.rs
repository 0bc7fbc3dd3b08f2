//! Ways to wake a worker that is parked.

use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::task::{Poll, Waker};
use std::thread;

use roving::Pool;
use roving_flow::Network;

use crate::random::SplitMix;

/// A way, which ends when everybody was woken who had to be.
pub(crate) struct Way {
    pub(crate) name: &'static str,
    /// How much longer a round takes than the shortest.
    pub(crate) cost: u64,
    pub(crate) round: fn(&Pool, &mut SplitMix),
}

/// All of them.
pub(crate) const WAYS: [Way; 8] = [
    Way {
        name: "install",
        cost: 1,
        round: |pool, random| {
            let number = random.next();
            assert_eq!(pool.install(|| number), number);
        },
    },
    Way {
        name: "a detached job",
        cost: 1,
        round: job,
    },
    Way {
        name: "a task that is published",
        cost: 1,
        round: published,
    },
    Way {
        name: "a chain of tasks",
        cost: 2,
        round: chain,
    },
    Way {
        name: "a worker that blocks",
        cost: 4,
        round: blocks,
    },
    Way {
        name: "a waker",
        cost: 2,
        round: waker,
    },
    Way {
        name: "a broadcast",
        cost: 2,
        round: |pool, _| assert_eq!(pool.broadcast(|index| index).len(), pool.workers()),
    },
    Way {
        name: "a channel",
        cost: 10,
        round: channel,
    },
];

fn job(pool: &Pool, _: &mut SplitMix) {
    let (sender, receiver) = mpsc::channel();
    pool.spawn(move || {
        let _ = sender.send(1);
    });
    assert_eq!(receiver.recv(), Ok(1));
}

/// One side of a join waits until the other has begun, if there is another worker to begin it.
fn published(pool: &Pool, _: &mut SplitMix) {
    let began = AtomicBool::new(false);
    let alone = pool.workers() == 1;
    pool.install(|| {
        roving::join(
            || {
                while !alone && !began.load(SeqCst) {
                    thread::yield_now();
                }
            },
            || began.store(true, SeqCst),
        );
    });
    assert!(began.load(SeqCst));
}

/// Each task waits until the one that it spawned has begun: one wakes the next.
fn chain(pool: &Pool, _: &mut SplitMix) {
    fn link<'s>(s: &roving::Scope<'s>, left: usize, begun: &'s AtomicU64) {
        begun.fetch_add(1, SeqCst);
        if let Some(left) = left.checked_sub(1) {
            let before = begun.load(SeqCst);
            s.spawn(move |s| link(s, left, begun));
            while begun.load(SeqCst) == before {
                thread::yield_now();
            }
        }
    }
    let begun = AtomicU64::new(0);
    let links = pool.workers().saturating_sub(1);
    pool.install(|| roving::scope(|s| link(s, links, &begun)));
    assert_eq!(begun.load(SeqCst), links as u64 + 1);
}

/// A worker that blocks until a job of its own pool has run: where it is the only one, a
/// compensation thread has to be woken.
fn blocks(pool: &Pool, _: &mut SplitMix) {
    pool.install(|| {
        let (sender, receiver) = mpsc::channel();
        roving::spawn(move || {
            let _ = sender.send(1);
        });
        assert_eq!(roving::blocking(|| receiver.recv()), Ok(1));
    });
}

#[derive(Default)]
struct Bell {
    rung: bool,
    waker: Option<Waker>,
}

/// A task that waits for another thread.
fn waker(pool: &Pool, random: &mut SplitMix) {
    let bell = Arc::new(Mutex::new(Bell::default()));
    let (ready, is_ready) = mpsc::channel();
    let late = random.one_in(2);
    thread::scope(|threads| {
        let of_task = Arc::clone(&bell);
        // The thread that waits for the root is this one; the bell is rung by a job of a pool's
        // own, or by a thread that is no worker.
        let ring = move || {
            if late {
                let _ = is_ready.recv();
            }
            let waker = {
                let mut bell = bell.lock().unwrap_or_else(PoisonError::into_inner);
                bell.rung = true;
                bell.waker.take()
            };
            if let Some(waker) = waker {
                waker.wake();
            }
        };
        match random.one_in(2) || pool.workers() == 1 {
            true => drop(threads.spawn(ring)),
            false => drop(pool.spawn(ring)),
        }
        pool.run(|_| async move {
            poll_fn(|context| {
                let mut bell = of_task.lock().unwrap_or_else(PoisonError::into_inner);
                if bell.rung {
                    return Poll::Ready(());
                }
                bell.waker = Some(context.waker().clone());
                let _ = ready.send(());
                Poll::Pending
            })
            .await;
        });
    });
}

/// Two processes that play to and fro.
fn channel(pool: &Pool, _: &mut SplitMix) {
    let mut last = 0;
    let mut network = Network::new();
    let (to, from) = network.bounded::<u64>("to", 1);
    let (back, again) = network.bounded::<u64>("back", 1);
    let seen = &mut last;
    network.process("first", (to, again), async move |(mut to, mut again)| {
        for number in 0..8 {
            if to.send(number).await.is_err() {
                break;
            }
            *seen = again.recv().await.unwrap_or(0);
        }
    });
    network.process("second", (from, back), async |(mut from, mut back)| {
        while let Some(number) = from.recv().await {
            if back.send(number + 1).await.is_err() {
                break;
            }
        }
    });
    let run = network.run(pool);
    assert!(run.is_ok(), "{run:?}");
    assert_eq!(last, 8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_ends() {
        let mut random = SplitMix::new(3);
        for workers in [1, 3] {
            let pool = Pool::new(workers).unwrap();
            for way in &WAYS {
                (0..10).for_each(|_| (way.round)(&pool, &mut random));
            }
        }
    }
}
