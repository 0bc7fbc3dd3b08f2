//! Programs under plans by which the system refuses things, thousands of them, each from a seed:
//! every program ends with the right result, or with an error that says what to do.
//!
//! Run as `RUSTFLAGS="--cfg roving_faults" cargo test -p roving --test faults`. Built otherwise,
//! nothing can be made to fail, and all that is here is that the programs are right when nothing
//! does. A seed that failed is run alone with `ROVING_FAULT_SEED=N`.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::time::Duration;

use common::Random;
use roving::{BuildError, Pool, PoolBuilder, join, scope, task};

/// The correct ends of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Right,
    NotBuilt,
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn fib_of_tasks(n: u32) -> impl task::Task<u64> {
    async move {
        if n < 2 {
            return n.into();
        }
        let a = task::fork(fib_of_tasks(n - 1)).await;
        let b = task::call(fib_of_tasks(n - 2)).await;
        a.await + b
    }
}

/// A builder with settings that ask the system for one thing and another.
fn builder(random: &mut Random) -> (PoolBuilder, usize, usize) {
    let workers = 1 + random.below(4) as usize;
    let least = match random.below(2) {
        0 => workers,
        _ => 1 + random.below(workers as u64) as usize,
    };
    let mut builder = Pool::builder().workers(workers).workers_at_least(least);
    builder = builder
        .pin(random.below(2) == 0)
        .profile(random.below(2) == 0);
    if random.below(4) == 0 {
        builder = builder.trace(trace_file());
    }
    if random.below(4) == 0 {
        builder = builder.watch_waits(Duration::from_secs(10));
    }
    (builder, least, workers)
}

fn trace_file() -> std::path::PathBuf {
    let name = format!("roving-faults-{}.json", std::process::id());
    std::env::temp_dir().join(name)
}

/// The error names what is wrong and what would do, in one line.
fn check_error(error: &BuildError) {
    let text = error.to_string();
    let thread = text.contains("could not be started") && text.contains("ask for fewer workers");
    let memory = text.starts_with("there is no memory") && text.contains("ask for fewer workers");
    assert!((thread || memory) && text.lines().count() == 1, "{text}");
}

/// A pool of its own, and all that a pool can be asked for.
fn with_a_pool(random: &mut Random) -> End {
    let (builder, least, workers) = builder(random);
    let pool = match builder.build() {
        Ok(pool) => pool,
        Err(error) => {
            check_error(&error);
            return End::NotBuilt;
        }
    };
    assert!((least..=workers).contains(&pool.workers()));
    for _ in 0..1 + random.below(4) {
        match random.below(7) {
            0 => assert_eq!(pool.install(|| fib(12)), 144),
            1 => assert_eq!(pool.run(|_| fib_of_tasks(10)), 55),
            2 => {
                let mut numbers = [0_u64; 40];
                pool.install(|| {
                    scope(|s| {
                        for (number, at) in numbers.iter_mut().zip(1..) {
                            s.spawn(move |_| *number = at);
                        }
                    });
                });
                assert_eq!(numbers.iter().sum::<u64>(), 820);
            }
            3 => assert!(
                pool.broadcast(|index| index)
                    .into_iter()
                    .eq(0..pool.workers())
            ),
            4 => {
                let (sender, receiver) = mpsc::channel();
                pool.spawn(move || sender.send(fib(8)).unwrap());
                assert_eq!(receiver.recv(), Ok(21));
            }
            5 => {
                // Compensation threads, if they can be started.
                let slept = || roving::blocking(|| std::thread::sleep(Duration::from_micros(50)));
                pool.install(|| join(slept, || join(slept, || fib(8))));
            }
            _ => {
                // From a worker of one pool into another, which may be one without threads.
                let other = Pool::new(1).or_else(|error| {
                    check_error(&error);
                    Pool::builder().caller_runs().build()
                });
                match other {
                    Ok(other) => assert_eq!(pool.install(|| other.install(|| fib(8))), 21),
                    Err(error) => check_error(&error),
                }
            }
        }
    }
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..10 {
        let ran = Arc::clone(&ran);
        pool.spawn(move || {
            ran.fetch_add(1, SeqCst);
        });
    }
    match random.below(2) {
        0 => {
            drop(pool);
            assert_eq!(ran.load(SeqCst), 10);
        }
        _ => {
            let dropped = pool.shutdown_now();
            assert_eq!(ran.load(SeqCst) + dropped.tasks(), 10);
        }
    }
    End::Right
}

/// The global pool, which has fewer workers then, or none but the caller; only without memory for
/// that one, it panics.
fn with_the_global_pool(random: &mut Random) -> End {
    assert_eq!(fib(12), 144);
    assert_eq!(task::block_on(fib_of_tasks(10)), 55);
    let (sender, receiver) = mpsc::channel();
    roving::spawn(move || sender.send(7).unwrap());
    assert_eq!(receiver.recv(), Ok(7));
    match random.below(2) {
        0 => roving::embed::shutdown_global().unwrap(),
        _ => assert!(roving::embed::shutdown_global_now().is_final()),
    }
    End::Right
}

fn program(random: &mut Random) -> End {
    match random.below(4) {
        0 => with_the_global_pool(random),
        _ => with_a_pool(random),
    }
}

#[test]
fn without_faults_every_program_is_right() {
    let _turn = turn();
    common::watched(|| {
        for seed in 0..common::tries(100) as u64 {
            assert_eq!(program(&mut Random(seed)), End::Right, "seed {seed}");
        }
    });
    let _ = std::fs::remove_file(trace_file());
}

/// Plans are the process's: these tests take turns.
fn turn() -> std::sync::MutexGuard<'static, ()> {
    static TURN: std::sync::Mutex<()> = std::sync::Mutex::new(());
    TURN.lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(roving_faults)]
#[allow(unsafe_code, reason = "an allocator")]
mod planned {
    use std::alloc::{GlobalAlloc, Layout, System};
    use std::future::pending;
    use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

    use roving::faults::{Plan, faults, follow, refuses_memory};

    use super::*;

    /// Counts what is allocated, and refuses what the plan says.
    struct Refusing;

    static LIVE_BYTES: AtomicIsize = AtomicIsize::new(0);

    // SAFETY: it hands on to the system's allocator, or returns null, which is always allowed.
    unsafe impl GlobalAlloc for Refusing {
        unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
            if refuses_memory() {
                return std::ptr::null_mut();
            }
            LIVE_BYTES.fetch_add(layout.size() as isize, Relaxed);
            // SAFETY: the caller's promise.
            unsafe { System.alloc(layout) }
        }

        unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
            if refuses_memory() {
                return std::ptr::null_mut();
            }
            LIVE_BYTES.fetch_add(layout.size() as isize, Relaxed);
            // SAFETY: the caller's promise.
            unsafe { System.alloc_zeroed(layout) }
        }

        unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
            LIVE_BYTES.fetch_sub(layout.size() as isize, Relaxed);
            // SAFETY: the caller's promise.
            unsafe { System.dealloc(at, layout) }
        }
    }

    #[global_allocator]
    static ALLOCATOR: Refusing = Refusing;

    /// For each point one of: never, now and then, often, always; memory and threads, without which
    /// there is no pool, more seldom.
    fn plan(random: &mut Random) -> Plan {
        let mut of_1000 = [0; 9];
        for (point, rate) in of_1000.iter_mut().enumerate() {
            let rates = match point {
                0 | 1 => [0, 0, 0, 20, 150, 500],
                _ => [0, 20, 150, 500, 500, 1000],
            };
            *rate = rates[random.below(6) as usize];
        }
        Plan {
            seed: random.next(),
            of_1000,
        }
    }

    fn run(seed: u64) -> End {
        let mut random = Random(seed);
        let plan = plan(&mut random);
        follow(Some(plan));
        let end = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| program(&mut random)));
        follow(None);
        end.unwrap_or_else(|payload| {
            if is_no_memory(&*payload) {
                return End::NotBuilt;
            }
            eprintln!("ROVING_FAULT_SEED={seed} fails, under {plan:?}");
            std::panic::resume_unwind(payload)
        })
    }

    /// The global pool has nobody to return an error to, and not even memory for the caller.
    fn is_no_memory(payload: &(dyn std::any::Any + Send)) -> bool {
        let text = payload.downcast_ref::<String>();
        text.is_some_and(|text| text.starts_with("there is no memory for task stacks (1)"))
    }

    /// Prints nothing about an expected panic: the text would be kept until the end of the test,
    /// and count as memory.
    fn be_quiet_about_no_memory() {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !is_no_memory(info.payload()) {
                usual(info);
            }
        }));
    }

    #[test]
    fn under_every_plan_a_program_is_right_or_says_why_not() {
        let _turn = turn();
        be_quiet_about_no_memory();
        if let Ok(seed) = std::env::var("ROVING_FAULT_SEED") {
            let seed = seed.parse().expect("ROVING_FAULT_SEED is a number");
            eprintln!("seed {seed}: {:?}", common::watched(|| run(seed)));
            return;
        }
        let (mut right, mut not_built) = (0, 0);
        let mut live = 0;
        for block in 0..8 {
            common::watched(|| {
                for seed in block * 500..(block + 1) * 500 {
                    match run(seed) {
                        End::Right => right += 1,
                        End::NotBuilt => not_built += 1,
                    }
                }
            });
            // The first block fills what is kept for later.
            if block == 0 {
                live = LIVE_BYTES.load(Relaxed);
            }
        }
        let _ = std::fs::remove_file(trace_file());
        let grown = LIVE_BYTES.load(Relaxed) - live;
        eprintln!(
            "{right} right, {not_built} not built, {} faults, {grown} bytes more",
            faults()
        );
        assert!(right > 2000 && not_built > 200 && faults() > 5_000);
        // Of ours nothing. The harness may have begun another test meanwhile.
        assert!(grown < 4096, "{grown} bytes of what failed are left");
    }

    /// Every time, at one point alone.
    fn always(point: usize) {
        let mut of_1000 = [0; 9];
        of_1000[point] = 1000;
        follow(Some(Plan { seed: 1, of_1000 }));
    }

    /// A compensation thread for which there is no memory, or that cannot be started, is not one
    /// that has something to do.
    #[test]
    fn a_pool_is_quiet_although_a_thread_did_not_come() {
        let _turn = turn();
        common::watched(|| {
            for point in [0, 1] {
                let pool = Pool::builder().workers(1).profile(true).build().unwrap();
                pool.install(|| {
                    roving::spawn(|| ());
                    let before = faults();
                    always(point);
                    roving::blocking(|| common::wait_until(|| faults() > before));
                    follow(None);
                });
                let before = pool.profile().quiet;
                common::wait_until(|| pool.profile().quiet > before);
            }
        });
    }

    /// Each thing alone, every time: what the pages say becomes of it.
    #[test]
    fn each_fault_alone_has_its_answer() {
        let _turn = turn();
        let message = |pool: Result<Pool, BuildError>| pool.unwrap_err().to_string();
        common::watched(|| {
            // Memory.
            always(0);
            assert_eq!(
                message(Pool::new(2)),
                "there is no memory for task stacks (2): ask for fewer workers, or raise the limit on \
                 memory"
            );
            let short = Pool::builder().workers(3).workers_at_least(1).build();
            assert!(message(short).starts_with("there is no memory for task stacks (1)"));
            // Threads.
            always(1);
            assert!(
                message(Pool::new(2)).starts_with("the thread of worker 0 could not be started")
            );
            assert_eq!(join(|| 1, || 2), (1, 2), "in place");
            assert_eq!(roving::current_workers(), 1);
            // Who is suspended until a deadline looks by itself.
            let token = roving::Cancel::after(Duration::from_millis(5));
            let waits = || task::block_on(roving::context::until_cancelled(pending::<()>()));
            assert!(!matches!(token.run(waits), Ok(Ok(()))));
            assert!(token.is_cancelled());
            roving::embed::shutdown_global().unwrap();
            for point in 2..9 {
                always(point);
                let builder = Pool::builder()
                    .workers(2)
                    .pin(true)
                    .watch_waits(Duration::from_secs(5));
                let pool = builder.build().unwrap();
                assert_eq!((pool.workers(), pool.install(|| fib(10))), (2, 55));
            }
            follow(None);
        });
    }
}
