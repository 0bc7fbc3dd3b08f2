//! Concurrent tests in the vocabulary of crossbeam: smoke, stampede, stress, no_starvation,
//! destructors. On pools of several sizes, with each steal amount.

mod common;

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread;

use common::{
    AMOUNTS, Census, Random, forever, pool_that_steals, size, tries, wait_until, watched,
};
use roving::{Pool, Scope, current_worker, join, map_reduce, scope};

const WORKERS: [usize; 4] = [1, 2, 4, size(16, 3)];

/// On every size of pool, with every steal amount.
#[track_caller]
fn on_pools(test: impl Fn(&Pool)) {
    watched(|| {
        for workers in WORKERS {
            for amount in AMOUNTS {
                test(&pool_that_steals(workers, amount));
            }
        }
    });
}

/// The payload of a random program's panics. `resume_unwind` prints no message.
struct Thrown;

fn throw() -> ! {
    panic::resume_unwind(Box::new(Thrown))
}

/// One node of a random program: its kind and its children follow from the seed alone, so that it
/// can be evaluated serially and in parallel without being written down.
#[derive(Clone, Copy)]
enum Node {
    Leaf(u64),
    Join(Seed, Seed),
    /// Tasks spawned by the body of a scope; each spawns another one when told so.
    Scope {
        tasks: u64,
        chains: bool,
        seed: Seed,
    },
    /// A scope that is cancelled before it spawns: nothing of it runs.
    Cancelled(Seed),
    Loop {
        end: usize,
        seed: Seed,
    },
    Catch(Seed),
    Throw,
}

#[derive(Clone, Copy)]
struct Seed {
    number: u64,
    depth: u32,
}

impl Seed {
    fn new(number: u64, depth: u32) -> Seed {
        Seed { number, depth }
    }

    fn child(self, index: u64) -> Seed {
        let number = Random(self.number ^ index.wrapping_mul(0x5851_F42D_4C95_7F2D)).next();
        Seed::new(number, self.depth - 1)
    }

    fn task(self, task: u64) -> Seed {
        Seed::new(Random(self.number ^ task).next(), self.depth)
    }

    fn node(self) -> Node {
        let mut random = Random(self.number);
        if self.depth == 0 {
            return match random.below(60) {
                0 => Node::Throw,
                _ => Node::Leaf(random.next()),
            };
        }
        match random.below(20) {
            0..9 => Node::Join(self.child(0), self.child(1)),
            9..16 => Node::Scope {
                tasks: random.below(4),
                chains: random.below(2) == 0,
                seed: self.child(0),
            },
            16 => Node::Cancelled(self.child(0)),
            17 => Node::Loop {
                end: random.below(40) as usize,
                seed: self.child(0),
            },
            _ => Node::Catch(self.child(0)),
        }
    }

    /// The serial evaluation. An error is a panic.
    fn serial(self) -> Result<u64, ()> {
        match self.node() {
            Node::Leaf(value) => Ok(value),
            Node::Throw => Err(()),
            Node::Join(a, b) => Ok(a.serial()?.rotate_left(1) ^ b.serial()?),
            Node::Scope {
                tasks,
                chains,
                seed,
            } => {
                let mut sum = tasks;
                for task in 0..tasks {
                    let task = seed.task(task);
                    sum = sum.wrapping_add(task.serial()?);
                    if chains {
                        let next = Seed::new(!task.number, task.depth);
                        sum = sum.wrapping_add(next.serial()?);
                    }
                }
                Ok(sum)
            }
            Node::Cancelled(_) => Ok(1),
            Node::Loop { end, seed } => Ok((0..end).fold(0, |sum, i| loop_item(sum, seed, i))),
            Node::Catch(child) => Ok(child.serial().unwrap_or(99)),
        }
    }

    /// The parallel evaluation; each task owns a value of the census.
    fn parallel(self, census: &Census) -> u64 {
        match self.node() {
            Node::Leaf(value) => value,
            Node::Throw => throw(),
            Node::Join(a, b) => {
                let (in_a, in_b) = (census.one(), census.one());
                let (a, b) = join(
                    move || (a.parallel(census), in_a),
                    move || (b.parallel(census), in_b),
                );
                a.0.rotate_left(1) ^ b.0
            }
            Node::Scope {
                tasks,
                chains,
                seed,
            } => {
                let sum = AtomicU64::new(0);
                let body = scope(|s| {
                    for task in 0..tasks {
                        let task = seed.task(task);
                        spawn(s, task, chains, census, &sum);
                    }
                    tasks
                });
                body.wrapping_add(sum.into_inner())
            }
            Node::Cancelled(child) => scope(|s| {
                s.cancel();
                for _ in 0..3 {
                    let owned = census.one();
                    s.spawn(move |_| {
                        let _owned = owned;
                        child.parallel(census);
                        unreachable!("the scope was cancelled before");
                    });
                }
                u64::from(s.is_cancelled())
            }),
            Node::Loop { end, seed } => {
                let map = |i| loop_item(0, seed, i);
                map_reduce(0..end, 0, map, u64::wrapping_add)
            }
            Node::Catch(child) => {
                let caught = panic::catch_unwind(AssertUnwindSafe(|| child.parallel(census)));
                caught.unwrap_or_else(|payload| {
                    assert!(payload.is::<Thrown>(), "some other panic");
                    99
                })
            }
        }
    }

    /// Runs the program on the pool and compares.
    #[track_caller]
    fn check(self, pool: &Pool) {
        let census = Census::default();
        let run = || pool.install(|| self.parallel(&census));
        let result = panic::catch_unwind(AssertUnwindSafe(run)).map_err(|payload| {
            if !payload.is::<Thrown>() {
                panic::resume_unwind(payload);
            }
        });
        let (number, depth) = (self.number, self.depth);
        assert_eq!(result, self.serial(), "program {number}, depth {depth}");
        census.check();
    }
}

fn loop_item(sum: u64, seed: Seed, index: usize) -> u64 {
    sum.wrapping_add(Random(seed.number ^ index as u64).next())
}

fn spawn<'scope>(
    s: &Scope<'scope>,
    task: Seed,
    chains: bool,
    census: &'scope Census,
    sum: &'scope AtomicU64,
) {
    let owned = census.one();
    s.spawn(move |s| {
        let _owned = owned;
        if chains {
            spawn(s, Seed::new(!task.number, task.depth), false, census, sum);
        }
        sum.fetch_add(task.parallel(census), Relaxed);
    });
}

#[test]
fn the_random_programs_are_of_all_kinds() {
    let mut kinds = [0; 7];
    let mut results = [0; 2];
    fn visit(seed: Seed, kinds: &mut [u32; 7]) {
        match seed.node() {
            Node::Leaf(_) => kinds[0] += 1,
            Node::Join(a, b) => {
                kinds[1] += 1;
                visit(a, kinds);
                visit(b, kinds);
            }
            Node::Scope { tasks, seed, .. } => {
                kinds[2] += 1;
                (0..tasks).for_each(|task| visit(seed.task(task), kinds));
            }
            Node::Cancelled(_) => kinds[3] += 1,
            Node::Loop { .. } => kinds[4] += 1,
            Node::Catch(child) => {
                kinds[5] += 1;
                visit(child, kinds);
            }
            Node::Throw => kinds[6] += 1,
        }
    }
    for number in 0..200 {
        visit(Seed::new(number, 7), &mut kinds);
        results[usize::from(Seed::new(number, 7).serial().is_ok())] += 1;
    }
    assert!(kinds.iter().all(|&count| count > 5), "{kinds:?}");
    assert!(results.iter().all(|&count| count > 20), "{results:?}");
}

#[test]
fn smoke() {
    on_pools(|pool| {
        assert_eq!(pool.install(|| join(|| 1, || 2)), (1, 2));
        let mut squares = [0; size(100, 10)];
        pool.install(|| {
            scope(|s| {
                for (i, square) in squares.iter_mut().enumerate() {
                    s.spawn(move |_| *square = i * i);
                }
            })
        });
        assert!(
            squares
                .iter()
                .enumerate()
                .all(|(i, square)| *square == i * i)
        );
        for number in 0..tries(20) as u64 {
            Seed::new(number, size(4, 3)).check(pool);
        }
    });
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// Many threads bring work to one pool at the same time.
#[test]
fn stampede() {
    on_pools(|pool| {
        let census = Census::default();
        thread::scope(|s| {
            for number in 0..size(8, 3) {
                let census = &census;
                s.spawn(move || {
                    for round in 0..tries(10) as u64 {
                        assert_eq!(pool.install(|| fib(size(12, 5))), size(144, 5));
                        Seed::new(number << 32 | round, size(4, 3)).check(pool);
                        let owned = census.one();
                        pool.install(move || drop(owned));
                    }
                });
            }
        });
        census.check();
    });
}

#[test]
fn stress() {
    on_pools(|pool| {
        for number in 0..tries(150) as u64 {
            Seed::new(number << 20 | pool.workers() as u64, size(8, 4)).check(pool);
        }
        assert_eq!(pool.install(|| fib(size(22, 6))), size(17_711, 8));
    });
}

/// Stress on pools that count every push: the other path through the task stack.
#[test]
fn stress_with_a_profile() {
    watched(|| {
        for workers in WORKERS {
            let builder = Pool::builder().workers(workers).profile(true);
            let pool = builder.build().unwrap();
            for number in 0..tries(100) as u64 {
                Seed::new(number << 24 | workers as u64, size(6, 4)).check(&pool);
            }
            assert_eq!(pool.install(|| fib(size(18, 6))), size(2_584, 8));
        }
    });
}

/// Pools come and go while others work.
#[test]
fn stress_of_starting_and_ending() {
    watched(|| {
        for round in 0..tries(100) {
            let pool = pool_that_steals(WORKERS[round % 4], AMOUNTS[round % 3]);
            let ran = forever(AtomicUsize::new(0));
            for _ in 0..size(20, 4) {
                pool.spawn(|| {
                    ran.fetch_add(fib(6) as usize, Relaxed);
                });
            }
            if round % 2 == 0 {
                Seed::new(round as u64, 4).check(&pool);
            }
            drop(pool);
            assert_eq!(
                ran.load(Relaxed),
                size(20, 4) * 8,
                "what was spawned has run"
            );
        }
    });
}

/// Each worker gets something to do, though one worker makes all the work.
#[test]
fn no_starvation() {
    on_pools(|pool| {
        let workers = pool.workers();
        let reached: Vec<AtomicBool> = (0..workers).map(|_| AtomicBool::new(false)).collect();
        let all = || reached.iter().all(|reached| reached.load(Relaxed));
        while !all() {
            pool.install(|| {
                scope(|s| {
                    for _ in 0..size(256, 16) {
                        s.spawn(|_| {
                            let index = current_worker().expect("tasks run on workers");
                            if let Some(reached) = reached.get(index) {
                                reached.store(true, Relaxed);
                            }
                            // Long enough that a thread on a busy machine can come by.
                            if !all() {
                                thread::yield_now();
                            }
                        });
                    }
                })
            });
        }
    });
}

/// A long chain of joins. Who takes a branch of it keeps that until the chain has come to its end,
/// so that the next branch is another worker's.
struct Chain<'a> {
    reached: &'a [AtomicBool],
    is_over: AtomicBool,
}

impl Chain<'_> {
    fn has_reached_all(&self) -> bool {
        self.reached.iter().all(|reached| reached.load(Relaxed))
    }

    /// Notes the worker; a thread on a busy machine can come by.
    fn visit(&self) {
        if let Some(reached) = current_worker().and_then(|index| self.reached.get(index)) {
            reached.store(true, Relaxed);
        }
        thread::yield_now();
    }

    fn go_on(&self, depth: usize) {
        self.visit();
        if depth > 0 && !self.has_reached_all() {
            join(|| self.go_on(depth - 1), || self.branch());
        } else {
            self.is_over.store(true, Relaxed);
        }
    }

    fn branch(&self) {
        self.visit();
        while !self.is_over.load(Relaxed) && !self.has_reached_all() {
            thread::yield_now();
        }
    }
}

/// No starvation in deep work.
#[test]
fn no_starvation_by_joins() {
    on_pools(|pool| {
        let workers = pool.workers();
        let reached: Vec<AtomicBool> = (0..workers).map(|_| AtomicBool::new(false)).collect();
        loop {
            let chain = Chain {
                reached: &reached,
                is_over: AtomicBool::new(false),
            };
            pool.install(|| chain.go_on(size(100, 20)));
            if chain.has_reached_all() {
                break;
            }
        }
    });
}

/// Whatever happens to a task (run here, stolen, cancelled, run in place), what it owns is dropped
/// once.
#[test]
fn destructors() {
    on_pools(|pool| {
        let census = Census::default();
        for round in 0..tries(20) {
            pool.install(|| {
                scope(|s| {
                    for task in 0..size(500, 20) {
                        let (owned, census) = (census.one(), &census);
                        s.spawn(move |s| {
                            let _owned = owned;
                            if round % 2 == 0 && task == size(100, 10) {
                                s.cancel();
                            }
                            let nested = census.one();
                            s.spawn(move |_| drop(nested));
                        });
                    }
                })
            });
            // Results are values too.
            let (a, b) = pool.install(|| join(|| census.one(), || census.one()));
            drop((a, b));
        }
        census.check();
    });
}

/// A pool that is dropped runs what it was given and has not begun.
#[test]
fn destructors_of_detached_tasks() {
    watched(|| {
        static CENSUS: Census = Census::new();
        for workers in WORKERS {
            let pool = pool_that_steals(workers, AMOUNTS[workers % 3]);
            let go = forever(AtomicBool::new(false));
            for _ in 0..size(100, 8) {
                let owned = CENSUS.one();
                pool.spawn(move || {
                    wait_until(|| go.load(Relaxed));
                    drop(owned);
                });
            }
            go.store(true, Relaxed);
            drop(pool);
            CENSUS.check();
        }
        assert_eq!(CENSUS.made.load(Relaxed), size(400, 32));
    });
}
