//! A mix of all features: random programs in which each call stands inside any other one, against a
//! serial evaluation. They are small, so that Miri can follow them (`cargo xtask miri`).

mod common;
#[path = "common/panics.rs"]
mod panics;
#[path = "common/signal.rs"]
mod signal;

use std::collections::hash_map::RandomState;
use std::future::poll_fn;
use std::hash::{BuildHasher as _, Hasher as _};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Poll, Waker};
use std::thread;

use common::{Census, Random, size, watched, yield_now};
use panics::{caught, fail};
use roving::context::{self, Context};
use roving::task::{self, Task};
use roving::{
    Arena, Cancel, Pool, Priority, WorkerLocal, blocking, is_cancelled, join, map_reduce, par_for,
    scope,
};
use signal::Signal;

/// The count of the values that programs own: each is dropped once.
static CENSUS: Census = Census::new();

/// Where the programs run.
struct World {
    /// Of two workers; some programs change that.
    own: Pool,
    /// On the threads of an arena.
    share: Pool,
    /// On the thread that calls.
    in_place: Pool,
    /// Of tasks that have ended or may end at any time.
    kept: Mutex<Vec<Waker>>,
}

impl World {
    fn new() -> World {
        let arena = Arena::new(2).unwrap();
        World {
            own: Pool::builder()
                .workers(2)
                .workers_max(3)
                .name("own")
                .build()
                .unwrap(),
            share: arena.pool().workers(2).build().unwrap(),
            in_place: Pool::builder().caller_runs().build().unwrap(),
            kept: Mutex::new(Vec::new()),
        }
    }
}

/// A part of a program: its value is that of its two children and its own.
#[derive(Clone, Copy, Debug)]
struct Part {
    seed: u64,
    depth: u32,
}

/// Ways in which a part runs its children.
const CLOSURE_WAYS: u64 = 20;
const TASK_WAYS: u64 = 10;

impl Part {
    fn child(self, number: u64) -> Part {
        let seed = Random(self.seed ^ number).next();
        let depth = self.depth - 1;
        Part { seed, depth }
    }

    fn own(self) -> u64 {
        self.seed % 1000
    }

    fn serial(self) -> u64 {
        match self.depth {
            0 => self.own(),
            _ => self.own() + self.child(0).serial() + self.child(1).serial(),
        }
    }

    /// The part in closures.
    fn run(self, world: &World) -> u64 {
        if self.depth == 0 {
            return self.leaf(world);
        }
        let (one, two) = (self.child(0), self.child(1));
        let both = || {
            let (a, b) = join(|| one.run(world), || two.run(world));
            a + b
        };
        let sum = match self.seed % CLOSURE_WAYS {
            0 => both(),
            1 => in_scope(world, one, two),
            2 => world.own.install(both),
            3 => world.share.install(both),
            4 => blocking(both),
            5 => {
                let before = context::get::<u64>();
                let sum = context::with(self.seed, || {
                    let sum = both();
                    assert_eq!(context::get(), Some(self.seed));
                    sum
                });
                assert_eq!(context::get::<u64>(), before);
                sum
            }
            6 => Cancel::new().run(both).expect("nobody cancels"),
            7 => {
                let sum = AtomicU64::new(0);
                par_for(0..2, |n| {
                    sum.fetch_add(self.child(n as u64).run(world), SeqCst);
                });
                sum.into_inner()
            }
            8 => map_reduce(0..2, 0, |n| self.child(n as u64).run(world), |a, b| a + b),
            9 => task::block_on(one.go(world)) + two.run(world),
            10 => task::scope(|s| async move {
                let forked = s.fork(one.go(world)).await;
                s.call(two.go(world)).await + forked.await
            }),
            11 => world.own.run(|s| async move {
                let spawned = s.spawn(one.go(world));
                two.go(world).await + spawned.await
            }),
            12 => from_other_threads(world, one, two),
            13 => {
                let moved: Context = context::current();
                let there = || moved.run(both);
                blocking(|| thread::scope(|threads| threads.spawn(there).join().unwrap()))
            }
            way => {
                self.do_aside(world, way);
                both()
            }
        };
        sum + self.own()
    }

    /// Does the part's own work, before its children.
    fn do_aside(self, world: &World, way: u64) {
        let choice = self.seed / CLOSURE_WAYS % 3;
        match way {
            14 => {
                let failing = || join(|| CENSUS.one(), || fail("second"));
                assert_eq!(caught(failing), "second");
            }
            15 => world.own.resize(1 + choice as usize).unwrap(),
            16 => scope(|s| {
                // Each of its tasks runs or is dropped.
                for _ in 0..3 {
                    let counted = CENSUS.one();
                    s.spawn(move |_| drop(counted));
                }
                s.cancel();
            }),
            17 => {
                let (sender, receiver) = mpsc::channel();
                let class = [Priority::Low, Priority::Normal, Priority::High][choice as usize];
                let counted = CENSUS.one();
                world.own.spawn_with(class, move || {
                    drop(counted);
                    sender.send(7).unwrap();
                });
                assert_eq!(blocking(|| receiver.recv()), Ok(7));
            }
            18 => {
                let local = WorkerLocal::new(|| AtomicUsize::new(0));
                par_for(0..4, |_| {
                    local.with(|count| count.fetch_add(1, SeqCst));
                });
            }
            _ => {
                let kept = std::mem::take(&mut *world.kept.lock().unwrap());
                kept.into_iter().for_each(Waker::wake);
            }
        }
    }

    fn leaf(self, world: &World) -> u64 {
        let _counted = CENSUS.one();
        assert!(!is_cancelled());
        match self.seed % 3 {
            0 => world.in_place.install(|| join(|| self.own(), || ()).0),
            _ => self.own(),
        }
    }

    /// The part in tasks.
    fn go(self, world: &World) -> Pin<Box<dyn Task<u64> + '_>> {
        Box::pin(async move {
            if self.depth == 0 {
                yield_now().await;
                return self.leaf(world);
            }
            let (one, two) = (self.child(0), self.child(1));
            let sum = match self.seed % TASK_WAYS {
                0 => one.go(world).await + two.go(world).await,
                1 => one.run(world) + two.go(world).await,
                2 => {
                    keep_waker(world).await;
                    one.go(world).await + two.run(world)
                }
                3 => {
                    let signal = Arc::new(Signal::default());
                    let setter = Arc::clone(&signal);
                    let other = thread::spawn(move || setter.set());
                    signal.wait().await;
                    other.join().unwrap();
                    one.go(world).await + two.go(world).await
                }
                4 => {
                    half_polled().await;
                    one.go(world).await + two.go(world).await
                }
                5 => {
                    let token = Cancel::new();
                    let child = token.run(|| {
                        task::spawn(context::until_cancelled(std::future::pending::<()>()))
                    });
                    token.cancel();
                    let _ = child.unwrap().or_cancelled().await;
                    one.go(world).await + two.go(world).await
                }
                6 => {
                    drop(task::fork(yield_now()).await);
                    drop(task::spawn(yield_now()));
                    one.run(world) + two.run(world)
                }
                7 => {
                    let child = task::branch(async { 1 }).await;
                    one.go(world).await + two.go(world).await + child.await - 1
                }
                8 => {
                    let why = caught(|| task::block_on(async { fail("root") }));
                    assert_eq!(why, "root");
                    one.go(world).await + two.run(world)
                }
                _ => world.share.run(|s| async move {
                    let forked = s.fork(one.go(world)).await;
                    forked.await + two.go(world).await
                }),
            };
            sum + self.own()
        })
    }
}

fn in_scope(world: &World, one: Part, two: Part) -> u64 {
    let sum = AtomicU64::new(0);
    scope(|s| {
        s.spawn(|s| {
            sum.fetch_add(one.run(world), SeqCst);
            s.spawn(|_| {
                sum.fetch_add(two.run(world), SeqCst);
            });
        });
    });
    sum.into_inner()
}

/// Threads of no pool spawn into a scope, and call into a pool.
fn from_other_threads(world: &World, one: Part, two: Part) -> u64 {
    let sum = AtomicU64::new(0);
    scope(|s| {
        let sum = &sum;
        blocking(|| {
            thread::scope(|threads| {
                threads.spawn(|| {
                    s.spawn(move |_| {
                        sum.fetch_add(one.run(world), SeqCst);
                    });
                });
                threads.spawn(|| {
                    let value = world.own.install(|| two.run(world));
                    sum.fetch_add(value, SeqCst);
                });
            });
        });
    });
    sum.into_inner()
}

/// Leaves the waker of the task where others find it, later.
async fn keep_waker(world: &World) {
    poll_fn(|context| {
        world.kept.lock().unwrap().push(context.waker().clone());
        Poll::Ready(())
    })
    .await;
}

/// A call is polled once, and what is left of it dropped by another thread.
async fn half_polled() {
    let counted = CENSUS.one();
    let mut call = Box::pin(task::call(async move {
        yield_now().await;
        drop(counted);
    }));
    let is_over = poll_fn(|context| Poll::Ready(call.as_mut().poll(context).is_ready())).await;
    if !is_over {
        thread::spawn(move || drop(call)).join().unwrap();
    }
}

/// The number of the first program: natively always the same, under Miri a function of its seed,
/// which is where this number of the standard library comes from.
fn first() -> u64 {
    let number = RandomState::new().build_hasher().finish();
    size(0, number)
}

#[test]
fn random_programs_of_all_features() {
    let (programs, depth) = (size(60, 1), size(6, 3));
    watched(|| {
        let world = World::new();
        for number in 0..programs {
            let part = Part {
                seed: Random(first().wrapping_add(number)).next(),
                depth,
            };
            let expected = part.serial();
            let home = [&world.own, &world.share][(number % 2) as usize];
            let (a, b) = home.install(|| join(|| part.run(&world), || part.run(&world)));
            assert_eq!((a, b), (expected, expected), "{part:?}, closures");
            let tasks = home.run(|_| part.go(&world));
            assert_eq!(tasks, expected, "{part:?}, tasks");
        }
        // Not inside the programs: a worker that blocks there may wait for another part of the same
        // program.
        for pool in [&world.own, &world.share] {
            let indices = pool.broadcast(|index| index);
            assert!(indices.into_iter().eq(0..pool.workers()));
        }
        world.kept.lock().unwrap().clear();
        drop(world);
        CENSUS.check();
        roving::embed::shutdown_global().unwrap();
    });
}
