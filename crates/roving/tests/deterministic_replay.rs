//! Errors that depend on the order are found within a few seeds, and come again by the printed
//! seed.

mod common;

use std::cell::Cell;
use std::env;
use std::hint;
use std::panic::{self, AssertUnwindSafe};
use std::process::Output;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use common::{size, this_program, watched};
use roving::testing::{Explored, Explorer, explore};
use roving::{Pool, WorkerLocal};

/// The first of so many seeds under which the program panics.
fn found(seeds: u64, program: impl Fn() + Sync) -> Option<u64> {
    let fails = |seed| {
        let run = || Explorer::new().seeds(seed..seed + 1).run(&program);
        panic::catch_unwind(AssertUnwindSafe(run)).is_err()
    };
    (0..seeds).find(|&seed| watched(|| fails(seed)))
}

/// Checks that the bug is found, that it is found again, and that the right program passes.
fn assert_found(seeds: u64, wrong: impl Fn() + Sync, right: impl Fn() + Sync) {
    let seed = found(seeds, &wrong).expect("some seed finds it");
    let again = || Explorer::new().seeds(seed..seed + 1).run(&wrong);
    for _ in 0..3 {
        assert!(
            panic::catch_unwind(AssertUnwindSafe(again)).is_err(),
            "seed {seed}"
        );
    }
    let explored = explore(size(200, 3), right);
    assert_eq!(explored.runs, size(200, 3));
    assert!(explored.schedules > size(10, 0), "{explored:?}");
}

#[test]
fn an_order_dependence_between_two_closures_is_found() {
    // The first writes what the second reads: so it does as long as nobody steals.
    let wrong = || {
        let written = AtomicU64::new(0);
        let (_, read) = roving::join(
            || written.store(1, Ordering::Relaxed),
            || written.load(Ordering::Relaxed),
        );
        assert_eq!(read, 1);
    };
    let right = || {
        let written = AtomicU64::new(0);
        roving::join(|| written.store(1, Ordering::Relaxed), || ());
        assert_eq!(written.load(Ordering::Relaxed), 1);
    };
    assert_found(20, wrong, right);
}

#[test]
fn an_update_in_two_steps_is_found() {
    // Reads, leaves work to others, writes: what they did meanwhile is lost.
    let program = |is_right: bool| {
        move || {
            let total = AtomicU64::new(0);
            roving::scope(|s| {
                for _ in 0..4 {
                    s.spawn(|s| {
                        let before = total.load(Ordering::Relaxed);
                        s.spawn(|_| _ = total.fetch_add(1, Ordering::Relaxed));
                        match is_right {
                            true => _ = total.fetch_add(1, Ordering::Relaxed),
                            false => total.store(before + 1, Ordering::Relaxed),
                        }
                    });
                }
            });
            assert_eq!(total.into_inner(), 8);
        }
    };
    assert_found(20, program(false), program(true));
}

#[test]
fn a_reducer_that_forgets_a_worker_is_found() {
    let sum = |forgets: bool| {
        let parts = WorkerLocal::new(|| Cell::new(0));
        roving::par_for(0..100, |n| {
            parts.with(|part| part.set(part.get() + n));
        });
        let mut parts = parts.into_iter().map(Cell::into_inner);
        match forgets {
            true => parts.next().unwrap_or(0),
            false => parts.sum::<usize>(),
        }
    };
    assert_found(
        20,
        || assert_eq!(sum(true), 4950),
        || assert_eq!(sum(false), 4950),
    );
}

#[test]
fn a_reducer_that_merges_in_order_of_arrival_is_found() {
    fn words(depth: usize, out: &Mutex<String>) {
        match depth {
            0 => out.lock().unwrap().push('.'),
            _ => {
                roving::join(|| words(depth - 1, out), || words(depth - 1, out));
                out.lock().unwrap().push_str(&depth.to_string());
            }
        }
    }
    fn words_in_order(depth: usize) -> String {
        match depth {
            0 => ".".to_owned(),
            _ => {
                let (a, b) =
                    roving::join(|| words_in_order(depth - 1), || words_in_order(depth - 1));
                a + &b + &depth.to_string()
            }
        }
    }
    let wrong = || {
        let out = Mutex::new(String::new());
        roving::join(|| words(1, &out), || words(2, &out));
        assert_eq!(out.into_inner().unwrap(), "..1..1..12");
    };
    let right = || {
        let (a, b) = roving::join(|| words_in_order(1), || words_in_order(2));
        assert_eq!(a + &b, "..1..1..12");
    };
    assert_found(20, wrong, right);
}

#[test]
fn tasks_that_count_on_the_order_of_their_wakes_are_found() {
    let run = |counts_on_it: bool| {
        let (sender, receiver) = async_channel::unbounded();
        let mut seen = roving::task::block_on(async move {
            for n in 0..3 {
                let sender = sender.clone();
                drop(roving::task::spawn(
                    async move { sender.send(n).await.unwrap() },
                ));
            }
            drop(sender);
            let mut seen = Vec::new();
            while let Ok(n) = receiver.recv().await {
                seen.push(n);
            }
            seen
        });
        if !counts_on_it {
            seen.sort_unstable();
        }
        assert_eq!(seen, [0, 1, 2]);
    };
    assert_found(20, || run(true), || run(false));
}

#[test]
fn a_detached_tasks_panic_is_found_as_well() {
    let program = || {
        let worker = roving::current_worker();
        roving::spawn(move || assert_eq!(roving::current_worker(), worker, "somebody else"));
    };
    assert!(found(20, program).is_some());
}

#[test]
fn explorations_say_how_far_they_came() {
    let explored = explore(50, || _ = roving::join(|| (), || ()));
    let Explored {
        runs, schedules, ..
    } = explored;
    assert_eq!(runs, 50);
    assert!(schedules > 1 && explored.decisions > 0, "{explored:?}");
    assert_eq!(Explorer::new().run(|| ()).runs, 100);
    let two = Explorer::new().seeds(5..7).workers(1).run(|| {
        assert_eq!(roving::current_workers(), 1);
        roving::join(|| (), || ());
    });
    assert_eq!(
        (two.runs, two.schedules),
        (2, 1),
        "one worker decides nothing"
    );
}

/// The child process of the tests below.
#[test]
fn child() {
    let Ok(what) = env::var("ROVING_TEST_CHILD") else {
        return;
    };
    let runs = AtomicUsize::new(0);
    let unlucky = || {
        runs.fetch_add(1, Ordering::Relaxed);
        let (a, b) = roving::join(roving::current_worker, roving::current_worker);
        assert_eq!(a, b, "stolen");
    };
    match what.as_str() {
        "explore" => drop(explore(100, unlucky)),
        "install" => Pool::builder()
            .deterministic(u64::MAX)
            .build()
            .unwrap()
            .install(|| panic!("in any case")),
        "succeed" => Pool::builder()
            .deterministic(5)
            .build()
            .unwrap()
            .install(|| ()),
        "build" => {
            let error = Pool::builder().deterministic(0).build().unwrap_err();
            eprintln!("error: {error}");
        }
        _ => unreachable!("{what}"),
    }
    eprintln!("runs: {}", runs.into_inner());
}

fn run_child(what: &str, seed: Option<&str>) -> Output {
    let mut child = this_program();
    child.args(["--exact", "child", "--nocapture"]);
    child
        .env("ROVING_TEST_CHILD", what)
        .env_remove("ROVING_SEED");
    child.envs(seed.map(|seed| ("ROVING_SEED", seed)));
    child.output().unwrap()
}

/// The lines of the child's standard error that are the runtime's own.
fn own_lines(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stderr);
    let own = text.lines().filter(|line| line.starts_with("roving:"));
    own.map(str::to_owned).collect()
}

#[test]
#[cfg_attr(miri, ignore = "it starts another process")]
fn the_seed_is_printed_and_replays() {
    let first = run_child("explore", None);
    assert!(!first.status.success());
    let lines = own_lines(&first);
    assert_eq!(lines.len(), 1, "{lines:?}");
    let seed = lines[0].split("ROVING_SEED=").nth(1).expect("it says how");
    let seed = seed.split(' ').next().unwrap();
    let again = run_child("explore", Some(seed));
    assert!(!again.status.success());
    let said = own_lines(&again);
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said[0], lines[0]);
    // What was decided last.
    assert!(said[1].starts_with("roving: the last "), "{said:?}");
    let text = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(text.contains("\n  worker"), "{text}");
    assert!(text.contains(" goes on\n"), "{text}");
    // And it was this seed alone.
    let other = (0..100).map(|other: u64| other.to_string());
    let other = other.take_while(|other| other != seed).last();
    if let Some(other) = other {
        let passes = run_child("explore", Some(&other));
        assert!(passes.status.success(), "it was the first that failed");
        let text = String::from_utf8_lossy(&passes.stderr).into_owned();
        assert!(text.contains("runs: 1\n"), "{text}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "it starts another process")]
fn a_closure_that_was_installed_says_its_seed() {
    let line = |seed: u64| {
        format!(
            "roving: a panic under the deterministic schedule of seed {seed}: set \
             ROVING_SEED={seed} to replay it"
        )
    };
    assert_eq!(own_lines(&run_child("install", None)), [line(u64::MAX)]);
    // The environment takes the place of the program's own.
    assert_eq!(own_lines(&run_child("install", Some("17"))), [line(17)]);
    let nothing: [String; 0] = [];
    assert_eq!(own_lines(&run_child("succeed", None)), nothing);
}

#[test]
#[cfg_attr(miri, ignore = "it starts another process")]
fn a_seed_that_is_none_is_an_error_that_says_so() {
    let build = run_child("build", Some("-1"));
    let text = String::from_utf8_lossy(&build.stderr).into_owned();
    let error =
        "error: ROVING_SEED=\"-1\" is not a seed: say 0 to 18446744073709551615, or unset it";
    assert!(text.lines().any(|line| line == error), "{text}");
}

/// A worker that sleeps for a moment, until a thread that takes no turns has left a lock, does not
/// block: it would lose its turn in one run of a seed and keep it in the next. The moment is long
/// where the other thread has lost its core; here that one computes for as long. On a busy machine
/// any run may be slow, but not all.
#[test]
#[cfg_attr(
    not(target_os = "linux"),
    ignore = "the system does not say who sleeps"
)]
#[cfg_attr(miri, ignore = "the system does not say who sleeps")]
fn a_worker_keeps_its_turn_though_it_waits_for_a_thread_at_work() {
    let keeps_its_turn = || {
        let builder = Pool::builder().deterministic(1).workers(3);
        let pool = builder.log_schedule(true).build().expect("it is small");
        let (lock, is_held) = (Mutex::new(()), AtomicBool::new(false));
        thread::scope(|s| {
            s.spawn(|| {
                let _held = lock.lock().unwrap();
                is_held.store(true, Ordering::Release);
                let began = Instant::now();
                while began.elapsed() < Duration::from_millis(4) {
                    hint::spin_loop();
                }
            });
            watched(|| {
                pool.install(|| {
                    while !is_held.load(Ordering::Acquire) {
                        thread::yield_now();
                    }
                    drop(lock.lock().unwrap());
                });
            });
        });
        !pool.schedule_log().contains("blocks")
    };
    assert!(
        (0..10).any(|_| keeps_its_turn()),
        "it has lost it each time"
    );
}
