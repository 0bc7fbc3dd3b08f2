//! Programs that stand still, each in a process of its own, and what is said about them.

#[path = "common/child.rs"]
mod child;
mod common;
#[path = "common/system.rs"]
mod system;

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{self, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use child::{child, is_child};
use common::watched;
use roving::watch;
use roving::{Pool, join, scope};

const PATIENCE: Duration = Duration::from_millis(100);

/// The report of the child, which ends by itself.
fn said_by(role: &str) -> String {
    let output = watched(|| child(role).output().unwrap());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{role}: {output:?}");
    assert!(text.contains("nothing has moved"), "{role}: {text}");
    text
}

/// A pool whose first report ends the process.
fn pool_that_reports(workers: usize) -> Pool {
    watch::on_report(|text| {
        let _ = io::stdout().write_all(text.as_bytes());
        let _ = io::stdout().flush();
        process::exit(0);
    });
    let builder = Pool::builder().workers(workers).name("bank");
    builder.watch_waits(PATIENCE).build().unwrap()
}

/// The lines of the source on which something stands, by the comments beside them.
fn line_of(mark: &str) -> String {
    let source = include_str!("watch_process.rs");
    let mark = format!("// {mark}");
    let mut lines = source.lines().enumerate();
    let line = lines.find(|(_, line)| line.ends_with(&mark));
    format!(
        "watch_process.rs:{}:",
        line.expect("a line with that mark").0 + 1
    )
}

/// Holds a lock across a join, one side of which needs it, on another worker.
fn hold_across_a_join(accounts: &Mutex<u32>) {
    let mine = watch::locked("accounts", || accounts.lock().unwrap()); // held here
    let begun = AtomicBool::new(false);
    let lasts = || {
        // Until the other side has been stolen.
        while !begun.load(SeqCst) {
            thread::yield_now();
        }
    };
    let needs = || {
        begun.store(true, SeqCst);
        *watch::locked("accounts", || accounts.lock().unwrap()) += 1; // wanted here
    };
    join(lasts, needs); // waits here
    drop(mine);
}

#[test]
fn child_holds_a_lock_across_a_join() {
    if is_child("child_holds_a_lock_across_a_join") {
        let pool = pool_that_reports(2);
        pool.install(|| hold_across_a_join(&Mutex::new(0)));
    }
}

#[test]
fn a_lock_held_across_a_join_is_named_with_its_places() {
    let text = said_by("child_holds_a_lock_across_a_join");
    assert!(text.contains("pool `bank`"), "{text}");
    assert!(text.contains("waits for tasks that others have"), "{text}");
    assert!(text.contains("in `join`, called"), "{text}");
    assert!(text.contains("hold_across_a_join"), "{text}");
    assert!(text.contains("holds \"accounts\""), "{text}");
    assert!(text.contains(&line_of("held here")), "{text}");
    assert!(text.contains("wants \"accounts\""), "{text}");
    assert!(text.contains(&line_of("wanted here")), "{text}");
    // A backtrace knows lines where the build keeps them.
    if has_lines() {
        assert!(text.contains(&line_of("waits here")), "{text}");
    }
    let conclusion = "\"accounts\" is held across a wait, and a task needs it: let go of it";
    assert!(text.contains(conclusion), "{text}");
    if cfg!(target_os = "linux") {
        assert!(text.contains("is stuck: it blocks"), "{text}");
        assert!(text.contains("asleep"), "{text}");
    }
}

/// Whether this program was built with the lines of its source.
fn has_lines() -> bool {
    let stack = std::backtrace::Backtrace::force_capture().to_string();
    stack.contains("watch_process.rs:")
}

#[test]
fn child_wants_what_it_holds() {
    if is_child("child_wants_what_it_holds") {
        let pool = pool_that_reports(1);
        let accounts = Mutex::new(0);
        pool.install(|| {
            let _mine = accounts.lock().unwrap();
            let _held = watch::held("accounts");
            // Nobody steals it, so it runs on top of the frame that holds the lock.
            scope(|s| {
                s.spawn(|_| *watch::locked("accounts", || accounts.lock().unwrap()) += 1);
            });
        });
    }
}

#[test]
fn a_thread_that_wants_what_it_holds_is_named() {
    let text = said_by("child_wants_what_it_holds");
    assert!(
        text.contains("\"accounts\" is wanted by the thread that holds it"),
        "{text}"
    );
}

#[test]
fn child_calls_with_a_lock() {
    if is_child("child_calls_with_a_lock") {
        let pool = pool_that_reports(2);
        let accounts = Mutex::new(0);
        let mine = watch::locked("accounts", || accounts.lock().unwrap()); // called here
        pool.install(|| *watch::locked("accounts", || accounts.lock().unwrap()) += 1);
        drop(mine);
    }
}

#[test]
fn child_calls_another_pool_with_a_lock() {
    if is_child("child_calls_another_pool_with_a_lock") {
        let (pool, outer) = (pool_that_reports(2), Pool::new(1).unwrap());
        let accounts = Mutex::new(0);
        outer.install(|| {
            let _mine = watch::locked("accounts", || accounts.lock().unwrap()); // called by a worker
            pool.install(|| *watch::locked("accounts", || accounts.lock().unwrap()) += 1);
        });
    }
}

/// By a thread that is no worker, as the first one of a program, and by a worker of another pool.
#[test]
fn a_lock_that_a_caller_from_outside_holds_is_named() {
    a_lock_held_outside_is_named("child_calls_with_a_lock", "called here");
    a_lock_held_outside_is_named("child_calls_another_pool_with_a_lock", "called by a worker");
}

fn a_lock_held_outside_is_named(role: &str, place: &str) {
    let text = said_by(role);
    assert!(text.contains("a thread outside of the pool"), "{text}");
    assert!(text.contains("holds \"accounts\""), "{text}");
    assert!(text.contains(&line_of(place)), "{text}");
    let conclusion = "\"accounts\" is held by a thread outside of the pool, and a task needs it";
    assert!(text.contains(conclusion), "{text}");
}

#[test]
fn child_blocks_without_saying_so() {
    if is_child("child_blocks_without_saying_so") {
        let pool = pool_that_reports(1);
        let (_sender, receiver) = mpsc::channel::<()>();
        pool.spawn(move || receiver.recv().unwrap());
        pool.install(|| ());
    }
}

#[test]
fn workers_that_block_while_tasks_wait_are_told_of() {
    let text = said_by("child_blocks_without_saying_so");
    assert!(
        text.contains("block inside of `roving::blocking`"),
        "{text}"
    );
}

#[test]
fn child_is_watched_by_its_environment() {
    if is_child("child_is_watched_by_its_environment") {
        roving::scope(|s| s.spawn(|_| hold_across_a_join(&Mutex::new(0))));
    }
}

/// The lines that the child writes to standard error, where the environment asks for a watch, up to
/// the one with `last`.
fn watched_by_the_environment(role: &str, last: &str) -> Vec<String> {
    let mut command = child(role);
    command
        .env("ROVING_WATCH", "150")
        .env("ROVING_WORKERS", "2")
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    watched(|| {
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut seen = Vec::new();
        for line in lines.map_while(Result::ok) {
            seen.push(line);
            if seen.last().unwrap().contains(last) {
                break;
            }
        }
        child.kill().unwrap();
        child.wait().unwrap();
        seen
    })
}

/// No change of the program: to standard error, once, and the process goes on to stand still.
#[test]
fn the_environment_asks_for_it() {
    let seen = watched_by_the_environment(
        "child_is_watched_by_its_environment",
        "is held across a wait",
    );
    let mut lines = seen.iter();
    let begins = |line: &String| line.starts_with("roving: pool `roving`");
    assert!(lines.any(begins), "{seen:?}");
    assert!(seen.last().unwrap().contains("\"accounts\""), "{seen:?}");
}

#[test]
fn child_takes_a_lock_before_there_is_a_pool() {
    if is_child("child_takes_a_lock_before_there_is_a_pool") {
        let accounts = Mutex::new(0);
        let mine = watch::locked("accounts", || accounts.lock().unwrap()); // before any pool
        join(
            || (),
            || *watch::locked("accounts", || accounts.lock().unwrap()) += 1,
        );
        drop(mine);
    }
}

/// As the first program with a deadlock that somebody writes.
#[test]
fn a_lock_that_was_taken_before_there_was_a_pool_is_named() {
    let role = "child_takes_a_lock_before_there_is_a_pool";
    let seen = watched_by_the_environment(role, "is held by a thread outside of the pool");
    let (mut lines, place) = (seen.iter(), line_of("before any pool"));
    let holds = |line: &String| line.contains("holds \"accounts\"") && line.contains(&place);
    assert!(lines.any(holds), "{seen:?}");
    assert!(seen.last().unwrap().contains("\"accounts\""), "{seen:?}");
}

#[test]
fn child_is_told_of_a_bad_variable() {
    if is_child("child_is_told_of_a_bad_variable") {
        assert_eq!(join(|| 1, || 2), (1, 2));
        println!("nothing has moved, as far as is known");
    }
}

#[test]
fn a_bad_variable_is_named_in_one_line() {
    let mut command = child("child_is_told_of_a_bad_variable");
    let output = watched(|| command.env("ROVING_WATCH", "soon").output().unwrap());
    assert!(output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("roving:"))
        .collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(
        lines[0].contains("ROVING_WATCH=\"soon\" is not a time: say 1"),
        "{text}"
    );
}

/// One test: the reports of a process go to one place. Nothing here stands still: a long leaf, for
/// which others wait; a region that blocks; a root that waits for an event; no work at all.
#[test]
fn what_moves_or_may_wait_is_not_reported() {
    watched(|| {
        let reports = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&reports);
        watch::on_report(move |text| {
            eprintln!("{text}");
            count.fetch_add(1, SeqCst);
        });
        let builder = Pool::builder().workers(2).name("watched");
        let pool = builder
            .watch_waits(Duration::from_millis(20))
            .build()
            .unwrap();
        let long = || {
            let start = Instant::now();
            while start.elapsed() < Duration::from_millis(200) {
                std::hint::spin_loop();
            }
        };
        pool.install(|| join(|| (), long));
        pool.install(|| join(long, long));
        pool.install(|| roving::blocking(|| thread::sleep(Duration::from_millis(200))));
        pool.install(|| {
            let (sender, receiver) = async_channel::bounded(1);
            let sleeper = thread::spawn(move || {
                thread::sleep(Duration::from_millis(200));
                sender.send_blocking(5).unwrap();
            });
            let got = roving::task::block_on(async move { receiver.recv().await.unwrap() });
            sleeper.join().unwrap();
            assert_eq!(got, 5);
        });
        // A thread outside holds a lock: it computes, or the task is in a region that blocks.
        let lock = Mutex::new(());
        let take = || drop(watch::locked("outside", || lock.lock().unwrap()));
        thread::scope(|threads| {
            let mine = watch::locked("outside", || lock.lock().unwrap());
            threads.spawn(|| pool.install(take));
            long();
            drop(mine);
        });
        thread::scope(|threads| {
            let mine = watch::locked("outside", || lock.lock().unwrap());
            threads.spawn(|| pool.install(|| roving::blocking(take)));
            thread::sleep(Duration::from_millis(200));
            drop(mine);
        });
        thread::sleep(Duration::from_millis(200));
        // Elsewhere the system does not say who computes, and a wait for a long leaf is reported.
        if cfg!(target_os = "linux") {
            assert_eq!(reports.load(SeqCst), 0);
        }
        let watching = || system::threads("roving-watch");
        assert_ne!(watching(), Some(0), "one thread watches");
        let other = Pool::builder()
            .workers(1)
            .watch_waits(PATIENCE)
            .build()
            .unwrap();
        drop(pool);
        assert_ne!(watching(), Some(0), "another pool is watched");
        drop(other);
        common::wait_until(|| matches!(watching(), None | Some(0)));
    });
}

/// Sets the default again when it is dropped.
struct SetsAnother;

impl Drop for SetsAnother {
    fn drop(&mut self) {
        watch::on_report(|_| ());
    }
}

/// Two pools stand still one after the other; the first report panics.
#[test]
fn child_panics_with_a_report() {
    if !is_child("child_panics_with_a_report") {
        return;
    }
    let (told, tells) = mpsc::channel();
    let is_first = AtomicBool::new(true);
    watch::on_report(move |_| {
        told.send(()).unwrap();
        assert!(!is_first.swap(false, SeqCst), "the first report");
    });
    let builder = || Pool::builder().workers(2).watch_waits(PATIENCE);
    for pool in [builder().build().unwrap(), builder().build().unwrap()] {
        thread::spawn(move || pool.install(|| hold_across_a_join(&Mutex::new(0))));
        tells.recv_timeout(Duration::from_secs(60)).unwrap();
    }
    println!("both");
    let _ = io::stdout().flush();
    process::exit(0);
}

#[test]
fn a_report_that_panics_is_not_the_last_one() {
    let output = watched(|| child("child_panics_with_a_report").output().unwrap());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("both"),
        "{output:?}"
    );
}

#[test]
fn child_replaces_who_gets_reports() {
    if !is_child("child_replaces_who_gets_reports") {
        return;
    }
    let sets = SetsAnother;
    watch::on_report(move |_| _ = &sets);
    watch::on_report(|_| ());
    println!("replaced");
}

#[test]
fn what_gets_reports_may_set_another_when_it_is_dropped() {
    let output = watched(|| child("child_replaces_who_gets_reports").output().unwrap());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("replaced"),
        "{output:?}"
    );
}
