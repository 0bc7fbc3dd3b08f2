//! Random programs that are cancelled at any moment.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;

use common::{Census, Random, size, tries, watched, yield_now};
use roving::task::{Scope as Token, Task};
use roving::{Cancel, Pool, context, is_cancelled, join, scope};

fn dropped(pool: &Pool) -> u64 {
    pool.profile().total().counters.tasks_dropped
}

/// The state of a random program under a token. Each value that it makes is counted.
struct World<'w> {
    census: &'w Census,
    begun: &'w AtomicUsize,
    /// The token that a task cancels once so many have begun before it.
    cancels: Option<(&'w Cancel, usize)>,
}

impl World<'_> {
    fn begin(&self) {
        let before = self.begun.fetch_add(1, SeqCst);
        match self.cancels {
            Some((token, after)) if before == after => token.cancel(),
            _ => {}
        }
    }
}

fn closures<'s>(s: &roving::Scope<'s>, world: &'s World<'s>, depth: u32, seed: u64) {
    world.begin();
    if depth == 0 {
        return;
    }
    let mut random = Random(seed);
    for _ in 0..2 {
        let (seed, counted) = (random.next(), world.census.one());
        s.spawn(move |s| {
            let _counted = counted;
            closures(s, world, depth - 1, seed);
        });
    }
    let (a, b) = (random.next(), random.next());
    match a % 4 {
        0 => drop(join(
            || scope(|s| closures(s, world, depth - 1, a)),
            || scope(|s| closures(s, world, depth - 1, b)),
        )),
        1 => drop(Cancel::new().run(|| closures(s, world, depth - 1, a))),
        2 if a % 64 == 2 => s.cancel(),
        _ => {}
    }
}

fn tasks<'s>(s: Token<'s>, world: &'s World<'s>, depth: u32, seed: u64) -> impl Task<()> {
    async move {
        world.begin();
        if depth == 0 {
            return yield_now().await;
        }
        let mut random = Random(seed);
        let child = |random: &mut Random| {
            let (seed, counted) = (random.next(), world.census.one());
            async move {
                let _counted = counted;
                s.call(tasks(s, world, depth - 1, seed)).await;
            }
        };
        let forked = s.fork(child(&mut random)).await;
        let spawned = s.spawn(child(&mut random));
        let token = Cancel::new();
        let apart = token.run(|| s.spawn(child(&mut random)));
        if random.below(4) == 0 {
            token.cancel();
        }
        match random.below(4) {
            0 => drop(forked),
            1 => forked.await,
            _ => drop(forked.or_cancelled().await),
        }
        if let Ok(apart) = apart {
            let _ = apart.or_cancelled().await;
        }
        match random.below(3) {
            0 => drop(context::until_cancelled(yield_now()).await),
            1 => drop(spawned),
            _ => drop(spawned.or_cancelled().await),
        }
    }
}

/// Somebody cancels at a random moment, a task or another thread. Nothing hangs, nothing is lost or
/// dropped twice, and the pool is as before.
fn run_random_programs(pool: &Pool, first: u64, from_outside: bool) {
    let mut random = Random(first);
    for round in 0..tries(40).max(2) {
        let (census, begun) = (Census::new(), AtomicUsize::new(0));
        let token = Cancel::new();
        let (after, seed) = (random.below(size(1500, 30)) as usize, random.next());
        let world = World {
            census: &census,
            begun: &begun,
            cancels: (!from_outside).then_some((&token, after)),
        };
        let over = AtomicBool::new(false);
        thread::scope(|threads| {
            if from_outside {
                threads.spawn(|| {
                    wait_until_or(&over, || begun.load(SeqCst) >= after);
                    token.cancel();
                });
            }
            let outcome = match round % 2 {
                0 => {
                    token.run(|| pool.install(|| scope(|s| closures(s, &world, size(8, 4), seed))))
                }
                _ => token.run(|| pool.run(|s| tasks(s, &world, size(6, 3), seed))),
            };
            over.store(true, SeqCst);
            assert!(outcome.is_ok() || token.is_cancelled());
        });
        census.check();
        assert_eq!(
            pool.install(|| join(is_cancelled, || 2)),
            (false, 2),
            "afterwards"
        );
    }
    assert!(dropped(pool) > 0);
}

#[test]
fn random_programs_are_cancelled_at_any_moment() {
    watched(|| {
        for workers in 1..=4 {
            let builder = Pool::builder().workers(workers);
            let builder = match workers {
                3 => builder.migrate_at_each_fork(),
                _ => builder,
            };
            let pool = builder.build().unwrap();
            run_random_programs(&pool, workers as u64, true);
        }
    });
}

#[test]
fn random_programs_cancel_themselves_and_leak_no_frame() {
    watched(|| {
        for workers in 1..=4 {
            let pool = Pool::new(workers).unwrap();
            run_random_programs(&pool, 10 + workers as u64, false);
            let counters = pool.profile().total().counters;
            let (made, gone) = (counters.frames_allocated, counters.frames_freed);
            assert_eq!(made - gone, counters.frames_kept, "frames in use");
        }
    });
}

fn wait_until_or(over: &AtomicBool, condition: impl Fn() -> bool) {
    while !condition() && !over.load(SeqCst) {
        thread::yield_now();
    }
}
