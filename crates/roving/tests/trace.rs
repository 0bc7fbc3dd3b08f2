//! Traces and the table at a program's end, read back as their users' tools read them.

mod common;

use std::collections::HashMap;
use std::fs;
use std::hint;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use common::{this_program, wait_until, watched};
use roving::{Pool, task, trace};
use serde_json::Value;

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = roving::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

/// A file of this test alone, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let file = format!("roving-{}-{name}.json", std::process::id());
        Scratch(std::env::temp_dir().join(file))
    }

    fn events(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.0).expect("the trace was written");
        let value: Value = serde_json::from_str(&text).expect("the trace is JSON");
        let events = value["traceEvents"].as_array().expect("a list of events");
        events.iter().for_each(check_fields);
        events.clone()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Checks the fields that the format demands of each kind of event.
fn check_fields(event: &Value) {
    let has = |fields: &[&str]| {
        for field in fields {
            assert!(!event[field].is_null(), "no {field} in {event}");
        }
    };
    has(&["name", "ph", "pid"]);
    match event["ph"].as_str().unwrap() {
        "M" => has(&["args"]),
        "X" => has(&["ts", "dur", "tid"]),
        "s" | "f" | "b" | "e" => has(&["ts", "tid", "id", "cat"]),
        "I" => has(&["ts", "s"]),
        other => panic!("unknown phase {other}"),
    }
}

fn of_phase<'e>(events: &'e [Value], phase: &str) -> Vec<&'e Value> {
    events.iter().filter(|event| event["ph"] == phase).collect()
}

fn named<'e>(events: &'e [Value], name: &str) -> Vec<&'e Value> {
    events
        .iter()
        .filter(|event| event["name"] == name)
        .collect()
}

/// In each lane the states follow each other without overlap, and without a gap.
fn check_states(events: &[Value]) {
    let mut lanes: HashMap<(u64, u64), Vec<(f64, f64)>> = HashMap::new();
    for event in events.iter().filter(|event| event["cat"] == "state") {
        let number = |field: &str| event[field].as_f64().unwrap();
        let lane = (
            event["pid"].as_u64().unwrap(),
            event["tid"].as_u64().unwrap(),
        );
        lanes
            .entry(lane)
            .or_default()
            .push((number("ts"), number("ts") + number("dur")));
    }
    assert!(lanes.len() >= 2, "a lane for each worker");
    for spans in lanes.values() {
        for pair in spans.windows(2) {
            let gap = pair[1].0 - pair[0].1;
            assert!(gap.abs() < 0.01, "{} µs between two states", gap);
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "it reads the file that was written")]
fn a_trace_has_states_thefts_and_spans() {
    let scratch = Scratch::new("pool");
    let pool = Pool::builder().workers(2).name("t").trace(&scratch.0);
    let pool = pool.build().unwrap();
    let before = pool.profile().total().counters.steals_won;
    // Until there is a steal to be seen.
    for round in 0.. {
        pool.install(|| {
            let _outer = trace::span("outer \"quoted\"");
            let _inner = trace::span(format!("round {round}"));
            assert_eq!(fib(18), 2_584);
        });
        if pool.profile().total().counters.steals_won > before {
            break;
        }
    }
    let won = pool.profile().total().counters.steals_won;
    drop(pool);
    let events = scratch.events();
    check_states(&events);
    assert_eq!(named(&events, "round 0").len(), 1);
    assert!(!named(&events, "outer \"quoted\"").is_empty());
    let steals = named(&events, "steal");
    let of_phase = |phase| steals.iter().filter(move |event| event["ph"] == phase);
    let (starts, ends): (Vec<_>, Vec<_>) = (of_phase("s").collect(), of_phase("f").collect());
    assert!(starts.len() as u64 >= won && starts.len() == ends.len());
    for (start, end) in starts.iter().zip(&ends) {
        assert_eq!(start["id"], end["id"]);
        assert_ne!(start["tid"], end["tid"], "a thief is not its own victim");
        assert!(end["args"]["tasks"].as_u64().unwrap() > 0);
    }
    let names = named(&events, "thread_name");
    let names: Vec<&str> = names
        .iter()
        .map(|event| event["args"]["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"worker 0") && names.contains(&"worker 1"),
        "{names:?}"
    );
}

/// The first closure of a join goes on until a thief has the second, which ends long after it.
fn wait_for_a_stolen_task() {
    let is_stolen = AtomicBool::new(false);
    roving::join(
        || {
            while !is_stolen.load(Ordering::Acquire) {
                hint::spin_loop();
            }
        },
        || {
            is_stolen.store(true, Ordering::Release);
            thread::sleep(Duration::from_millis(20));
        },
    );
}

#[test]
#[cfg_attr(miri, ignore = "it reads the file that was written")]
fn a_trace_has_waits_and_who_woke_whom() {
    let scratch = Scratch::new("waits");
    let pool = Pool::builder().workers(2).trace(&scratch.0);
    let pool = pool.build().unwrap();
    // Until all workers sleep, so that one of them is to be woken.
    while pool.profile().quiet == Duration::ZERO {
        thread::yield_now();
    }
    // On a busy machine the task may have ended before its owner waits.
    while pool.profile().total().waiting == Duration::ZERO {
        pool.install(wait_for_a_stolen_task);
    }
    let total = pool.profile().total();
    assert!(total.waiting <= total.idle);
    drop(pool);
    let events = scratch.events();
    check_states(&events);
    let waits = named(&events, "wait");
    assert!(!waits.is_empty());
    let woken = named(&events, "wake");
    let is_end_of_wait = |event: &&Value| {
        let waits = waits.iter().filter(|wait| wait["tid"] == event["tid"]);
        event["ph"] == "f" && waits.count() > 0
    };
    assert!(woken.iter().any(is_end_of_wait), "{woken:?}");
    let outside = named(&events, "woken from outside");
    assert!(
        !outside.is_empty(),
        "the caller of `install` wakes a worker"
    );
}

#[test]
#[cfg_attr(miri, ignore = "it reads the file that was written")]
fn a_span_may_move_with_its_task() {
    let scratch = Scratch::new("moved");
    let pool = Pool::builder()
        .workers(2)
        .trace(&scratch.0)
        .build()
        .unwrap();
    for _ in 0..10 {
        let moved = watched(|| {
            pool.run(|_| async {
                let span = trace::span("journey");
                let from = roving::current_worker();
                // Lasts until another worker has gone on with the parent.
                let gone_on = Arc::new(AtomicBool::new(false));
                let seen = Arc::clone(&gone_on);
                let lasts = async move { wait_until(|| seen.load(Ordering::Relaxed)) };
                let child = task::fork(lasts).await;
                let to = roving::current_worker();
                gone_on.store(true, Ordering::Relaxed);
                drop(span);
                child.await;
                from != to
            })
        });
        assert!(moved, "the continuation was stolen");
    }
    drop(pool);
    let events = scratch.events();
    let (begun, ended) = (of_phase(&events, "b"), of_phase(&events, "e"));
    assert!(!begun.is_empty() && begun.len() == ended.len());
    assert!(begun.iter().all(|event| event["name"] == "journey"));
}

#[test]
#[cfg_attr(miri, ignore = "it reads the file that was written")]
fn spans_of_other_threads_have_their_own_lanes() {
    let scratch = Scratch::new("outside");
    let pool = Pool::builder()
        .workers(2)
        .trace(&scratch.0)
        .build()
        .unwrap();
    let thread = thread::Builder::new().name("loader".to_owned());
    let load = || drop(trace::span("load"));
    thread.spawn(load).unwrap().join().unwrap();
    drop(pool);
    let events = scratch.events();
    let load = named(&events, "load");
    assert_eq!(load.len(), 1);
    let is_its_name = |event: &&Value| event["ph"] == "M" && event["tid"] == load[0]["tid"];
    let lane = events
        .iter()
        .filter(|event| event["pid"] == 0)
        .find(is_its_name);
    assert_eq!(lane.unwrap()["args"]["name"], "loader");
}

#[test]
#[cfg_attr(miri, ignore = "it reads the file that was written")]
fn a_reset_starts_the_trace_again() {
    let scratch = Scratch::new("reset");
    let pool = Pool::builder()
        .workers(2)
        .trace(&scratch.0)
        .build()
        .unwrap();
    pool.install(|| drop(trace::span("before")));
    pool.reset_profile();
    pool.install(|| drop(trace::span("after")));
    drop(pool);
    let events = scratch.events();
    assert!(named(&events, "before").is_empty());
    assert_eq!(named(&events, "after").len(), 1);
}

/// The program that the test below starts; it does nothing otherwise.
#[test]
fn program_with_a_global_pool() {
    if std::env::var_os("ROVING_TEST_PROGRAM").is_some() {
        assert_eq!(fib(15), 610);
        let pool = Pool::builder().workers(2).name("second").build().unwrap();
        pool.install(|| drop(trace::span("work")));
    }
}

fn program(variables: &[(&str, &str)]) -> String {
    program_at(&std::env::temp_dir(), variables)
}

/// Started in that folder.
fn program_at(place: &Path, variables: &[(&str, &str)]) -> String {
    let mut command = this_program();
    command.current_dir(place);
    command.args(["--exact", "program_with_a_global_pool", "--nocapture"]);
    command
        .env("ROVING_TEST_PROGRAM", "1")
        .env("ROVING_WORKERS", "2");
    command
        .env_remove("ROVING_PROFILE")
        .env_remove("ROVING_TRACE");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

#[test]
#[cfg_attr(miri, ignore = "it starts another process")]
fn the_environment_asks_for_a_table() {
    let said = program(&[("ROVING_PROFILE", "1")]);
    for pool in ["pool `second`, 2 workers", "pool `roving`, 2 workers"] {
        assert_eq!(said.matches(pool).count(), 1, "{said}");
    }
    assert_eq!(said.matches("  worker 1").count(), 2, "{said}");
    assert_eq!(
        said.matches("  while it had work: busy ").count(),
        2,
        "{said}"
    );
    assert!(!program(&[("ROVING_PROFILE", "0")]).contains("pool"));
}

#[test]
#[cfg_attr(miri, ignore = "it starts another process")]
fn the_environment_asks_for_a_trace() {
    let scratch = Scratch::new("program");
    let said = program(&[("ROVING_TRACE", scratch.0.to_str().unwrap())]);
    assert!(!said.contains("roving:"), "{said}");
    let events = scratch.events();
    check_states(&events);
    assert_eq!(named(&events, "process_name").len(), 2, "both pools");
    assert_eq!(named(&events, "work").len(), 1);
}

/// Its `0` is that of the other variables, and no name of a file.
#[test]
#[cfg_attr(miri, ignore = "it starts another process")]
fn a_trace_that_is_switched_off_leaves_no_file() {
    let place = std::env::temp_dir().join(format!("roving-trace-off-{}", std::process::id()));
    fs::create_dir_all(&place).unwrap();
    for off in ["0", ""] {
        let said = program_at(&place, &[("ROVING_TRACE", off)]);
        assert!(!said.contains("roving:"), "{said}");
        let left = fs::read_dir(&place).unwrap().count();
        assert_eq!(left, 0, "ROVING_TRACE={off:?}");
    }
    fs::remove_dir_all(&place).unwrap();
}

#[test]
#[cfg_attr(miri, ignore = "it starts another process")]
fn a_trace_that_cannot_be_written_is_one_line() {
    let said = program(&[("ROVING_TRACE", "/no/such/folder/t.json")]);
    let lines: Vec<&str> = said
        .lines()
        .filter(|line| line.starts_with("roving:"))
        .collect();
    assert_eq!(lines.len(), 1, "{said}");
    assert!(lines[0].contains("/no/such/folder/t.json") && lines[0].contains("name another file"));
}

/// Asks the program's socket while it runs, as `roving top` does.
#[cfg(unix)]
#[test]
#[cfg_attr(miri, ignore = "it starts another process")]
fn a_socket_tells_what_the_workers_do() {
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::UnixStream;

    if std::env::var_os("ROVING_TEST_WATCHED").is_some() {
        let pool = Pool::builder().workers(2).name("watched").build().unwrap();
        pool.install(|| fib(10));
        let path = std::env::var("ROVING_TOP").unwrap();
        let mut stream = UnixStream::connect(path).unwrap();
        let mut answers = BufReader::new(stream.try_clone().unwrap()).lines();
        for _ in 0..2 {
            stream.write_all(b"\n").unwrap();
            let line = answers.next().unwrap().unwrap();
            let value: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(value["pid"], std::process::id());
            let pools = value["pools"].as_array().unwrap();
            let pool = pools.iter().find(|pool| pool["name"] == "watched").unwrap();
            let seats = pool["seats"].as_array().unwrap();
            assert!(seats.len() >= 2);
            let doing = ["busy", "steal", "idle", "wait", "switch", "frame"];
            for seat in seats {
                assert!(doing.contains(&seat["doing"].as_str().unwrap()), "{seat}");
            }
            let tasks = seats.iter().map(|seat| seat["tasks"].as_u64().unwrap());
            assert_eq!(tasks.sum::<u64>(), 88);
        }
        return;
    }
    let socket = std::env::temp_dir().join(format!("roving-test-{}.sock", std::process::id()));
    let mut command = this_program();
    command.args([
        "--exact",
        "a_socket_tells_what_the_workers_do",
        "--nocapture",
    ]);
    command
        .env("ROVING_TEST_WATCHED", "1")
        .env("ROVING_TOP", &socket);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(!socket.exists(), "the socket is removed at the end");
}

/// As when several programs inherit the same `ROVING_TOP`: the first one answers, and goes on to.
#[cfg(unix)]
#[test]
#[cfg_attr(miri, ignore = "it starts another process")]
fn a_socket_at_which_another_process_answers_is_left_to_it() {
    use std::os::unix::net::{UnixListener, UnixStream};

    if std::env::var_os("ROVING_TEST_SECOND").is_some() {
        let pool = Pool::new(1).unwrap();
        assert_eq!(pool.install(|| fib(10)), 55);
        return;
    }
    let socket = std::env::temp_dir().join(format!("roving-test-{}-2.sock", std::process::id()));
    let listener = UnixListener::bind(&socket).unwrap();
    let mut command = this_program();
    command.args([
        "--exact",
        "a_socket_at_which_another_process_answers_is_left_to_it",
        "--nocapture",
    ]);
    command
        .env("ROVING_TEST_SECOND", "1")
        .env("ROVING_TOP", &socket);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("cannot be served"), "{said}");
    assert!(UnixStream::connect(&socket).is_ok(), "it is still there");
    drop(listener);
    fs::remove_file(&socket).unwrap();
}

/// Its own socket was removed: at its end the program neither waits for an answer there nor removes
/// what is not its own.
#[cfg(unix)]
#[test]
#[cfg_attr(miri, ignore = "it starts another process")]
fn a_socket_in_the_place_of_its_own_is_left_alone() {
    use std::os::unix::net::UnixListener;

    if std::env::var_os("ROVING_TEST_REPLACED").is_some() {
        let pool = Pool::new(1).unwrap();
        assert_eq!(pool.install(|| fib(10)), 55);
        let socket = std::env::var("ROVING_TOP").unwrap();
        fs::remove_file(&socket).unwrap();
        // Until the process has ended.
        std::mem::forget(UnixListener::bind(&socket).unwrap());
        return;
    }
    let socket = std::env::temp_dir().join(format!("roving-test-{}-3.sock", std::process::id()));
    let mut command = this_program();
    command.args(["--exact", "a_socket_in_the_place_of_its_own_is_left_alone"]);
    command
        .env("ROVING_TEST_REPLACED", "1")
        .env("ROVING_TOP", &socket);
    let status = watched(|| command.status().unwrap());
    assert!(status.success());
    assert!(socket.exists(), "it is another's");
    fs::remove_file(&socket).unwrap();
}

/// It finds that somebody answers, who is about to end.
#[cfg(unix)]
#[test]
#[cfg_attr(miri, ignore = "it starts another process")]
fn a_pool_that_comes_when_the_last_one_goes_is_answered_for() {
    use std::os::unix::net::UnixStream;
    use std::sync::Barrier;
    use std::thread;
    use std::time::Duration;

    if std::env::var_os("ROVING_TEST_NEXT").is_some() {
        let socket = std::env::var("ROVING_TOP").unwrap();
        for round in 0..200 {
            let both = Barrier::new(2);
            let pool = thread::scope(|s| {
                s.spawn(|| {
                    assert_eq!(roving::join(|| 1, || 2), (1, 2));
                    both.wait();
                    roving::embed::shutdown_global().unwrap();
                });
                both.wait();
                thread::sleep(Duration::from_micros(10 * (round % 50)));
                Pool::builder().caller_runs().build().unwrap()
            });
            assert!(UnixStream::connect(&socket).is_ok(), "round {round}");
            drop(pool);
        }
        return;
    }
    let socket = std::env::temp_dir().join(format!("roving-test-{}-4.sock", std::process::id()));
    let mut command = this_program();
    command.args([
        "--exact",
        "a_pool_that_comes_when_the_last_one_goes_is_answered_for",
        "--nocapture",
    ]);
    command
        .env("ROVING_TEST_NEXT", "1")
        .env("ROVING_WORKERS", "1")
        .env("ROVING_TOP", &socket);
    let output = watched(|| command.output().unwrap());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "{said}");
}
