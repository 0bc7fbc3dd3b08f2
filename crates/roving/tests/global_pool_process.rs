//! The global pool, whose size the environment says: each case in a process of its own, which is
//! this program again with one of the tests below that do nothing otherwise.

#[path = "common/child.rs"]
mod child;
mod common;

use std::process::Output;
use std::sync::mpsc;
use std::thread;

use child::{child, is_child, passed};
use roving::raw::calls::set_global;
use roving::{Pool, PoolBuilder, current_worker, current_workers, join, scope};

/// Runs the test of that name in a process of its own.
fn run(role: &str, workers: Option<&str>) -> Output {
    let mut command = child(role);
    passed(command.envs(workers.map(|workers| ("ROVING_WORKERS", workers))))
}

/// The child's report of the pool.
fn said(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stdout);
    let at = text.find("said: ").expect("it says something") + "said: ".len();
    text[at..].lines().next().unwrap_or_default().to_owned()
}

#[test]
fn child_uses_the_global_pool() {
    if !is_child("child_uses_the_global_pool") {
        return;
    }
    assert_eq!(current_worker(), None);
    let (a, b) = join(current_worker, current_workers);
    let mut in_scope = None;
    scope(|s| s.spawn(|_| in_scope = current_worker()));
    assert!(a.is_some() && in_scope.is_some());
    let visits = roving::broadcast(|index| index);
    assert!(visits.into_iter().eq(0..b));
    let name = join(|| thread::current().name().map(str::to_owned), || ()).0;
    let on_pool_thread = name.unwrap_or_default().starts_with("roving-");
    println!("said: {b} {on_pool_thread}");
    let late = Pool::builder().build_global().unwrap_err().to_string();
    assert!(late.starts_with("the global pool has been started already: call build_global before"));
}

#[test]
fn child_builds_the_global_pool() {
    if !is_child("child_builds_the_global_pool") {
        return;
    }
    let refused = Pool::builder().workers(0).build_global().unwrap_err();
    assert!(refused.to_string().starts_with("0 workers"));
    let builder = Pool::builder().workers(3).name("mine");
    builder
        .build_global()
        .expect("after an error it can be built still");
    assert!(Pool::builder().workers(2).build_global().is_err());
    let name = join(|| thread::current().name().map(str::to_owned), || ()).0;
    println!("said: {} {}", current_workers(), &name.unwrap()[..5]);
}

/// Uses the global pool when it is dropped.
struct UsesAtTheEnd;

impl Drop for UsesAtTheEnd {
    fn drop(&mut self) {
        assert_eq!(join(|| 1, || 2), (1, 2));
    }
}

/// Waits for a thread that uses the global pool when it is dropped.
struct WaitsForUse;

impl Drop for WaitsForUse {
    fn drop(&mut self) {
        let uses = || assert_eq!(join(|| 1, || 2), (1, 2));
        thread::spawn(uses).join().unwrap();
    }
}

/// A value that a failed builder drops uses the global pool: there is none yet, so that starts it.
#[test]
fn child_fails_to_build_the_global_pool() {
    if !is_child("child_fails_to_build_the_global_pool") {
        return;
    }
    // More bytes of stack than there are addresses.
    const STACK: usize = usize::MAX / 4;
    let builders: [fn() -> PoolBuilder; 3] = [
        || Pool::builder().workers(0),
        || Pool::builder().workers(2).name("\0"),
        || Pool::builder().workers(2).stack_size(STACK),
    ];
    for builder in builders {
        for least in [1, 2] {
            let used = (WaitsForUse, UsesAtTheEnd);
            let builder = builder().workers_at_least(least);
            let error = builder.on_exit(move |_| _ = &used).build_global();
            let error = error.unwrap_err().to_string();
            assert!(!error.contains("started already"), "{error}");
            roving::embed::shutdown_global().unwrap();
        }
    }
    println!("said: refused");
}

/// Handlers of the global pool use it, and so do threads that they wait for, while it is built.
#[test]
fn child_uses_the_global_pool_while_it_is_built() {
    if !is_child("child_uses_the_global_pool_while_it_is_built") {
        return;
    }
    let (sender, receiver) = mpsc::channel();
    let on_start = move |index| {
        let here = join(current_workers, || 2).0;
        // The other worker is there for it.
        if index == 0 {
            let there = thread::spawn(|| join(current_workers, || 2).0);
            sender.send((here, there.join().unwrap())).unwrap();
        }
    };
    let builder = Pool::builder().workers(2).on_start(on_start);
    builder.build_global().unwrap();
    assert_eq!(receiver.recv(), Ok((2, 2)));
    // What is dropped of a builder that comes too late finds the pool.
    let used = UsesAtTheEnd;
    let late = Pool::builder().on_exit(move |_| _ = &used).build_global();
    assert!(late.unwrap_err().to_string().contains("started already"));
    println!("said: {}", current_workers());
}

/// Who makes the pool uses the global one meanwhile: then there is one.
#[test]
fn child_builds_the_global_pool_with_itself() {
    if !is_child("child_builds_the_global_pool_with_itself") {
        return;
    }
    let late = set_global(
        || {
            assert_eq!(join(|| 1, || 2), (1, 2));
            Pool::new(1)
        },
        || Pool::new(0).unwrap_err(),
    );
    assert!(late.unwrap_err().to_string().starts_with("0 workers"));
    println!("said: {}", current_workers());
}

/// A process ends though the global pool has threads, whether they sleep or work.
#[test]
fn child_ends_with_the_global_pool_at_work() {
    if !is_child("child_ends_with_the_global_pool_at_work") {
        return;
    }
    roving::spawn(|| {
        loop {
            thread::yield_now();
        }
    });
    println!("said: spawned");
}

#[test]
fn the_variable_says_how_many_workers() {
    for (text, workers) in [("1", 1), ("3", 3), (" 5 ", 5)] {
        let output = run("child_uses_the_global_pool", Some(text));
        assert_eq!(said(&output), format!("{workers} true"));
    }
}

#[test]
fn without_the_variable_there_is_a_worker_for_each_core() {
    let cores = thread::available_parallelism().unwrap();
    let output = run("child_uses_the_global_pool", None);
    assert_eq!(said(&output), format!("{cores} true"));
}

#[test]
fn an_empty_variable_is_one_that_is_not_set() {
    let cores = thread::available_parallelism().unwrap();
    for text in ["", " "] {
        let output = run("child_uses_the_global_pool", Some(text));
        assert_eq!(said(&output), format!("{cores} true"));
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(!errors.contains("roving:"), "{errors}");
    }
}

/// Nobody is there to get an error: one line names the value and the remedy, and the work is done
/// by as many workers as without the variable.
#[test]
fn a_bad_variable_is_named_in_one_line() {
    let cores = thread::available_parallelism().unwrap();
    for text in ["0", "many", "-1", "1.5", "769", "99999999999999999999999"] {
        let output = run("child_uses_the_global_pool", Some(text));
        assert_eq!(said(&output), format!("{cores} true"));
        let errors = String::from_utf8_lossy(&output.stderr);
        let lines: Vec<&str> = errors
            .lines()
            .filter(|line| line.contains("roving:"))
            .collect();
        assert_eq!(lines.len(), 1, "{errors}");
        let start =
            format!("roving: ROVING_WORKERS={text:?} is not a number of workers: say 1 to 768");
        assert!(lines[0].starts_with(&start), "{errors}");
        assert!(
            lines[0].ends_with(&format!("going on with {cores} workers")),
            "{errors}"
        );
        assert!(!errors.contains("panicked"), "{errors}");
    }
}

#[test]
fn the_program_may_build_the_global_pool_itself() {
    let output = run("child_builds_the_global_pool", Some("7"));
    assert_eq!(said(&output), "3 mine-");
}

#[test]
fn the_global_pool_keeps_no_process_alive() {
    let output = run("child_ends_with_the_global_pool_at_work", Some("2"));
    assert_eq!(said(&output), "spawned");
}

#[test]
fn what_a_failed_builder_drops_uses_the_global_pool() {
    let output = run("child_fails_to_build_the_global_pool", Some("2"));
    assert_eq!(said(&output), "refused");
}

#[test]
fn handlers_use_the_global_pool_while_it_is_built() {
    let output = run("child_uses_the_global_pool_while_it_is_built", Some("3"));
    assert_eq!(said(&output), "2");
    let output = run("child_builds_the_global_pool_with_itself", Some("3"));
    assert_eq!(said(&output), "3");
}
