//! The promises of a builder.

mod common;
#[path = "common/system.rs"]
mod system;

#[cfg(target_os = "linux")]
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;

use common::{pool, size, watched};
use roving::policy::Amount;
use roving::{Pool, current_worker, current_workers, join, par_for, scope};

// The builder.

#[test]
fn errors_name_the_value_the_range_and_the_remedy() {
    let error = |builder: roving::PoolBuilder| builder.build().unwrap_err().to_string();
    // Fewer threads stand in for blocked ones there.
    let most = if cfg!(miri) { 1008 } else { 768 };
    for workers in [0, most + 1, usize::MAX] {
        let text = error(Pool::builder().workers(workers));
        let expected = format!("{workers} workers cannot be started: say 1 to {most}");
        assert_eq!(text, expected);
        assert_eq!(Pool::new(workers).unwrap_err().to_string(), expected);
    }
    for d in [0, 65, usize::MAX] {
        let text = error(Pool::builder().workers(1).steal(Amount::Fixed(d)));
        let expected = format!("steal amount fixed:{d} is out of range: D is 1 to 64");
        assert_eq!(text, expected);
    }
    assert!(
        Pool::builder()
            .workers(1)
            .steal(Amount::Fixed(64))
            .build()
            .is_ok()
    );
}

/// A thread that cannot be started is an error, and those that were started are ended.
#[test]
#[cfg_attr(miri, ignore = "a thread of any size can be started there")]
fn a_thread_that_cannot_be_started_is_an_error() {
    watched(|| {
        let builder = Pool::builder()
            .workers(2)
            .name("too-big")
            .stack_size(1 << 60);
        let text = builder.build().unwrap_err().to_string();
        let start = "the thread of worker 0 could not be started (";
        assert!(text.starts_with(start), "{text}");
        assert!(text.contains("a smaller stack_size"), "{text}");
        assert!(!text.contains('\n'), "{text}");
    });
}

#[test]
fn threads_have_names() {
    watched(|| {
        let name = |_| thread::current().name().map(str::to_owned);
        let builder = Pool::builder().workers(2).name("search");
        let names = builder.build().unwrap().broadcast(name);
        assert_eq!(names, [Some("search-0".into()), Some("search-1".into())]);
        assert_eq!(pool(1).broadcast(name), [Some("roving-0".into())]);
    });
}

/// A recursion that needs more than the usual 2 MiB.
#[test]
fn stack_size_is_what_workers_get() {
    fn deep(depth: usize) -> usize {
        let frame = std::hint::black_box([depth as u8; 1024]);
        match depth {
            0 => 0,
            _ => deep(depth - 1) + usize::from(std::hint::black_box(frame)[7] == depth as u8),
        }
    }
    watched(|| {
        let builder = Pool::builder().workers(2).stack_size(64 << 20);
        let pool = builder.build().unwrap();
        assert_eq!(
            pool.broadcast(|_| deep(size(10_000, 50))),
            [size(10_000, 50); 2]
        );
    });
}

#[cfg(target_os = "linux")]
#[test]
#[cfg_attr(miri, ignore = "it asks for processors")]
fn pin_keeps_each_worker_on_one_processor() {
    fn allowed() -> BTreeSet<usize> {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let list = status
            .lines()
            .find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        let numbers = |text: &str| -> usize { text.parse().unwrap() };
        let ranges = list.unwrap().trim().split(',');
        let ranges = ranges.map(|range| match range.split_once('-') {
            Some((first, last)) => numbers(first)..=numbers(last),
            None => numbers(range)..=numbers(range),
        });
        ranges.flatten().collect()
    }
    watched(|| {
        let all = allowed();
        let builder = Pool::builder().workers(all.len() * 2).pin(true);
        let pinned = builder.build().unwrap().broadcast(|_| allowed());
        let in_turn = all.iter().chain(&all).map(|&one| BTreeSet::from([one]));
        assert!(pinned.into_iter().eq(in_turn));
        // Nobody else is.
        assert_eq!(allowed(), all);
        assert_eq!(pool(2).broadcast(|_| allowed()), [all.clone(), all]);
    });
}

#[test]
fn on_start_and_on_exit_are_called_once_by_each_worker() {
    watched(|| {
        let calls = Arc::new(Mutex::new(Vec::new()));
        let note = |what: &'static str| {
            let calls = Arc::clone(&calls);
            move |index: usize| {
                let name = thread::current().name().map(str::to_owned);
                assert_eq!(name, Some(format!("roving-{index}")));
                calls.lock().unwrap().push((what, index));
            }
        };
        let builder = Pool::builder().workers(3);
        let builder = builder.on_start(note("start")).on_exit(note("exit"));
        let pool = builder.build().unwrap();
        pool.broadcast(|index| {
            let calls = calls.lock().unwrap();
            assert!(calls.contains(&("start", index)), "before it works");
            assert!(!calls.contains(&("exit", index)), "after its last task");
        });
        drop(pool);
        let mut calls = std::mem::take(&mut *calls.lock().unwrap());
        // Spare threads, which a busy machine may need, have indices of their own.
        calls.retain(|(_, index)| *index < 3);
        calls.sort_unstable();
        let each = |what| (0..3).map(move |index| (what, index));
        assert!(calls.into_iter().eq(each("exit").chain(each("start"))));
    });
}

#[test]
fn a_pool_in_place_runs_everything_on_the_calling_thread() {
    watched(|| {
        let builder = Pool::builder().workers(7).name("in-place");
        let pool = builder.caller_runs().build().unwrap();
        assert_eq!(pool.workers(), 1);
        let here = thread::current().id();
        let check = || {
            assert_eq!(thread::current().id(), here);
            assert_eq!(current_worker(), Some(0));
            assert_eq!(current_workers(), 1);
        };
        pool.install(|| {
            check();
            join(check, check);
            scope(|s| (0..10).for_each(|_| s.spawn(|_| check())));
            par_for(0..10, |_| check());
            roving::broadcast(|index| assert_eq!(index, 0));
        });
        assert_eq!(current_worker(), None);
        let ran = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&ran);
        pool.spawn(move || {
            assert_eq!(thread::current().id(), here);
            count.fetch_add(1, SeqCst);
        });
        pool.install(|| ());
        assert_eq!(ran.load(SeqCst), 1);
        let threads = system::threads("in-place").unwrap_or(0);
        assert_eq!(threads, 0, "it has started a thread");
    });
}

/// Calls from several threads take turns.
#[test]
fn a_pool_in_place_has_one_worker_at_a_time() {
    watched(|| {
        let pool = Pool::builder().caller_runs().build().unwrap();
        let inside = AtomicUsize::new(0);
        thread::scope(|threads| {
            for _ in 0..size(8, 3) {
                threads.spawn(|| {
                    for _ in 0..size(20, 2) {
                        pool.install(|| {
                            assert_eq!(inside.fetch_add(1, SeqCst), 0);
                            join(thread::yield_now, thread::yield_now);
                            inside.fetch_sub(1, SeqCst);
                        });
                    }
                });
            }
        });
    });
}

/// The debug texts of a pool and its parts name them.
#[test]
fn debug_texts() {
    let pool = Pool::builder().workers(2).name("shown").build().unwrap();
    let text = format!("{pool:?}");
    assert_eq!(
        text,
        r#"Pool { workers: 2, steal: One, name: "shown", .. }"#
    );
    let text = scope(|s| format!("{s:?}"));
    assert_eq!(text, "Scope { cancelled: false, .. }");
}

// Install, scope, broadcast.
