//! The handlers that run on the threads of a pool when they start and end, and those for panics.

mod common;

use std::cell::Cell;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};

use common::watched;
use rayon_core::{ThreadPoolBuilder, current_num_threads, current_thread_index, join};

type Seen = (&'static str, usize, Option<usize>, usize, (u32, u32));

/// A handler that says what it sees.
fn note(what: &'static str, to: &Sender<Seen>) -> impl Fn(usize) + Send + Sync + 'static {
    let to = Mutex::new(to.clone());
    move |index| {
        let joined = join(|| 1, || 2);
        let seen = (
            what,
            index,
            current_thread_index(),
            current_num_threads(),
            joined,
        );
        to.lock().unwrap().send(seen).unwrap();
    }
}

#[test]
fn start_and_exit_handlers_run_in_their_pool() {
    watched(|| {
        let (to, seen) = mpsc::channel();
        let builder = ThreadPoolBuilder::new().num_threads(3);
        let builder = builder.start_handler(note("start", &to));
        drop(builder.exit_handler(note("exit", &to)).build().unwrap());
        drop(to);
        let mut seen: Vec<Seen> = seen.into_iter().collect();
        seen.sort_unstable();
        let each = |what| (0..3).map(move |index| (what, index, Some(index), 3, (1, 2)));
        assert!(seen.into_iter().eq(each("exit").chain(each("start"))));
    });
}

#[test]
fn a_single_thread_can_join_in_its_handlers() {
    watched(|| {
        let (to, seen) = mpsc::channel();
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let pool = builder.start_handler(note("start", &to)).build().unwrap();
        drop(to);
        assert_eq!(seen.recv(), Ok(("start", 0, Some(0), 1, (1, 2))));
        assert_eq!(pool.install(|| 5), 5);
    });
}

thread_local! {
    /// The value that a start handler has made for its thread.
    static MADE: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Has `check` run by a pool all of whose threads wait: as a call from inside, and as a detached
/// task.
fn while_all_wait(builder: ThreadPoolBuilder, check: fn()) {
    let pool = Arc::new(builder.build().unwrap());
    let other = common::pool(1);
    for _ in 0..3 {
        let theirs = Arc::clone(&pool);
        pool.install(|| {
            other.install(|| {
                let (done, is_done) = mpsc::channel();
                theirs.spawn(move || {
                    check();
                    done.send(()).unwrap();
                });
                is_done.recv().unwrap();
                theirs.install(check);
            });
        });
    }
}

/// A handler may take what it was given for each thread: it is called once for each index, and what
/// runs in the pool finds what it has made.
#[test]
fn handlers_are_called_once_for_each_index_also_where_all_threads_wait() {
    watched(|| {
        for threads in [1, 2] {
            let (to, ended) = mpsc::channel();
            let slots: Vec<_> = (0..threads).map(|index| Mutex::new(Some(index))).collect();
            let to = Mutex::new(to);
            let builder = ThreadPoolBuilder::new().num_threads(threads);
            let builder = builder.start_handler(move |index| {
                let slot = slots[index].lock().unwrap().take();
                MADE.set(Some(slot.expect("called once for each index")));
            });
            let builder = builder.exit_handler(move |index| {
                assert_eq!(MADE.take(), Some(index));
                to.lock().unwrap().send(index).unwrap();
            });
            while_all_wait(builder, || {
                assert_eq!(MADE.get(), current_thread_index());
                assert!(MADE.get().is_some());
            });
            let mut ended: Vec<usize> = ended.into_iter().collect();
            ended.sort_unstable();
            assert!(ended.into_iter().eq(0..threads));
        }
    });
}

#[test]
fn an_exit_handler_alone_is_called_once_for_each_index() {
    watched(|| {
        let (to, ended) = mpsc::channel();
        let to = Mutex::new(to);
        let builder = ThreadPoolBuilder::new().num_threads(1);
        let builder = builder.exit_handler(move |index| to.lock().unwrap().send(index).unwrap());
        while_all_wait(builder, || assert_eq!(current_thread_index(), Some(0)));
        assert_eq!(ended.into_iter().collect::<Vec<_>>(), [0]);
    });
}

/// The thread that calls `build` has index 0 and a name of its own; a name for that index is asked
/// for all the same, before those of the others.
#[test]
fn the_name_of_a_thread_that_is_the_callers_is_asked_for_as_well() {
    watched(|| {
        let asked = Arc::new(Mutex::new(Vec::new()));
        let asks = Arc::clone(&asked);
        let name = move |index| {
            asks.lock().unwrap().push(index);
            format!("named {index}")
        };
        let caller = std::thread::Builder::new().name("caller".to_owned());
        let build = move || {
            let builder = ThreadPoolBuilder::new().num_threads(3).thread_name(name);
            let pool = builder.use_current_thread().build().unwrap();
            pool.broadcast(|_| std::thread::current().name().map(str::to_owned))
        };
        let names = caller.spawn(build).unwrap().join().unwrap();
        let names: Vec<String> = names.into_iter().flatten().collect();
        assert_eq!(names, ["caller", "named 1", "named 2"]);
        assert_eq!(*asked.lock().unwrap(), [0, 1, 2]);
    });
}

/// Each thread bears the name that was given for its index.
#[test]
fn names_are_those_of_their_indices_also_where_all_threads_wait() {
    watched(|| {
        for threads in [1, 2] {
            let builder = ThreadPoolBuilder::new().num_threads(threads);
            let builder = builder.thread_name(|index| format!("named {index}"));
            while_all_wait(builder, || {
                let index = current_thread_index().unwrap();
                let name = std::thread::current().name().map(str::to_owned);
                assert_eq!(name, Some(format!("named {index}")));
            });
        }
    });
}

/// The handler that starts the threads fails at that one, and drops those before it or keeps them
/// for longer: the pool starts none in their place.
#[test]
fn a_pool_that_cannot_be_built_starts_no_thread() {
    watched(|| {
        for (fails_at, keeps) in [(0, false), (1, false), (2, false), (1, true), (2, true)] {
            let (to, started) = mpsc::channel();
            let to = Mutex::new(to);
            let mut kept = Vec::new();
            let builder = ThreadPoolBuilder::new().num_threads(fails_at + 1);
            let builder =
                builder.start_handler(move |index| to.lock().unwrap().send(index).unwrap());
            let built = builder.spawn_handler(|thread| {
                if thread.index() == fails_at {
                    return Err(std::io::Error::other("no thread"));
                }
                kept.extend(keeps.then_some(thread));
                Ok(())
            });
            let error = built.build().unwrap_err();
            assert_eq!(error.to_string(), "no thread");
            drop(kept);
            // When all that there is of the pool has gone, and its handler with it.
            let started: Vec<usize> = started.into_iter().collect();
            assert!(started.is_empty(), "{started:?}, {fails_at} {keeps}");
        }
    });
}

#[test]
fn what_an_exit_handler_spawns_runs() {
    watched(|| {
        let (to, ran) = mpsc::channel();
        let to = Mutex::new(to);
        let builder = ThreadPoolBuilder::new()
            .num_threads(2)
            .exit_handler(move |index| {
                let to = to.lock().unwrap().clone();
                rayon_core::spawn(move || to.send(index).unwrap());
            });
        drop(builder.build().unwrap());
        let mut ran: Vec<usize> = ran.into_iter().collect();
        ran.sort_unstable();
        assert_eq!(ran, [0, 1]);
    });
}

#[test]
fn panics_of_detached_work_reach_the_handler_once_each() {
    watched(|| {
        let payloads = Arc::new(Mutex::new(Vec::new()));
        let (to, given) = mpsc::channel::<()>();
        let (kept, to) = (Arc::clone(&payloads), Mutex::new(to));
        let handler = move |payload: Box<dyn std::any::Any + Send>| {
            let _open = to.lock().unwrap();
            kept.lock()
                .unwrap()
                .push(*payload.downcast::<String>().unwrap());
        };
        let builder = ThreadPoolBuilder::new()
            .num_threads(2)
            .panic_handler(handler);
        let builder =
            builder.start_handler(|index| std::panic::panic_any(format!("start {index}")));
        let builder = builder.exit_handler(|index| std::panic::panic_any(format!("exit {index}")));
        let pool = builder.build().unwrap();
        pool.spawn(|| std::panic::panic_any("spawn".to_owned()));
        pool.spawn_fifo(|| std::panic::panic_any("spawn_fifo".to_owned()));
        pool.install(|| rayon_core::spawn_fifo(|| std::panic::panic_any("inside".to_owned())));
        pool.spawn_broadcast(|all| std::panic::panic_any(format!("broadcast {}", all.index())));
        drop(pool);
        // Closed when the last thread has let go of the handler.
        assert!(given.recv().is_err());
        let mut payloads = std::mem::take(&mut *payloads.lock().unwrap());
        payloads.sort_unstable();
        let all = "broadcast 0,broadcast 1,exit 0,exit 1,inside,spawn,spawn_fifo,start 0,start 1";
        assert_eq!(payloads.join(","), all);
    });
}
