//! The environment variables for the number of threads, and for what stands in for those that wait.
//! Each case is a process of its own.

mod common;

use std::env;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread::{self, available_parallelism};

use common::{pool, wait_until, watched};
use rayon_core::{ThreadPoolBuilder, current_thread_index, join};

/// Set in such a process.
const CHILD: &str = "RAYON_CORE_TEST_CHILD";

/// Runs that test in a process of its own in which these variables alone are set. What it prints.
fn child(test: &str, variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]);
    for name in ["RAYON_NUM_THREADS", "RAYON_RS_NUM_CPUS"] {
        command.env_remove(name);
    }
    command.env(CHILD, "1").envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Number of threads of the global pool, of one that does not say, and of one that does.
fn threads_with(variables: &[(&str, &str)]) -> String {
    let text = child(
        "the_environment_decides_where_the_program_does_not",
        variables,
    );
    let (_, after) = text.split_once("threads: ").expect("the child says it");
    after.lines().next().unwrap_or_default().to_owned()
}

fn say() {
    let global = rayon_core::current_num_threads();
    let unsaid = ThreadPoolBuilder::new()
        .build()
        .unwrap()
        .current_num_threads();
    let said = ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    println!(
        "\nthreads: {global} {unsaid} {}",
        said.current_num_threads()
    );
}

#[test]
fn the_environment_decides_where_the_program_does_not() {
    if env::var_os(CHILD).is_some() {
        return say();
    }
    watched(|| {
        let processors = available_parallelism().map_or(1, usize::from).to_string();
        let check = |variables: &[(&str, &str)], expected: &str| {
            let expected = format!("{expected} {expected} 3");
            assert_eq!(threads_with(variables), expected, "{variables:?}");
        };
        const NEW: &str = "RAYON_NUM_THREADS";
        const OLD: &str = "RAYON_RS_NUM_CPUS";
        check(&[], &processors);
        check(&[(NEW, "5")], "5");
        check(&[(NEW, "5"), (OLD, "6")], "5");
        check(&[(OLD, "6")], "6");
        // Zero is the default, and not what the older variable says.
        check(&[(NEW, "0"), (OLD, "6")], &processors);
        check(&[(OLD, "0")], &processors);
        // What is no number counts as not set.
        check(&[(NEW, " 5"), (OLD, "6")], "6");
        check(&[(NEW, "many"), (OLD, "-1")], &processors);
        check(&[(NEW, "")], &processors);
    });
}

/// One of three threads waits for a task that blocks, and another one has a task that needs a third
/// thread for its other half.
fn needs_a_third_thread() {
    let pool = pool(3);
    let [begun, over, second] = [const { AtomicBool::new(false) }; 3];
    thread::scope(|s| {
        s.spawn(|| {
            let blocks = || {
                begun.store(true, SeqCst);
                wait_until(|| over.load(SeqCst));
            };
            pool.install(|| join(|| wait_until(|| begun.load(SeqCst)), blocks));
        });
        wait_until(|| begun.load(SeqCst));
        let needs = || {
            wait_until(|| second.load(SeqCst));
            current_thread_index()
        };
        let third = || {
            second.store(true, SeqCst);
            current_thread_index()
        };
        let (one, other) = pool.install(|| join(needs, third));
        let is_stand_in = one.max(other) >= Some(3);
        over.store(true, SeqCst);
        assert!(is_stand_in, "{one:?}, {other:?}");
    });
}

#[test]
fn the_environment_lets_tasks_run_in_the_place_of_threads_that_wait() {
    if env::var_os(CHILD).is_some() {
        return watched(needs_a_third_thread);
    }
    child(
        "the_environment_lets_tasks_run_in_the_place_of_threads_that_wait",
        &[("ROVING_RAYON_STAND_IN", "tasks")],
    );
}
