//! The calls by which a library hears what a worker does on top of the poll of its task.

mod common;

use std::cell::RefCell;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use common::{join_stolen, wait_until, watched};
use roving::raw::tasks::{AroundPolls, around_polls};
use roving::raw::waits::run_one;
use roving::{Pool, task};

thread_local! {
    /// The kinds of things that the thread does on top of a poll, outermost first.
    static ON_TOP: RefCell<Vec<&'static str>> = const { RefCell::new(Vec::new()) };
}

/// Waits that have begun on top of a poll, on all threads.
static WAITS: AtomicU32 = AtomicU32::new(0);

fn around(kind: &'static str, f: &mut dyn FnMut()) {
    ON_TOP.with_borrow_mut(|on_top| on_top.push(kind));
    f();
    ON_TOP.with_borrow_mut(|on_top| assert_eq!(on_top.pop(), Some(kind)));
}

fn on_top() -> Vec<&'static str> {
    ON_TOP.with_borrow(Vec::clone)
}

/// Runs the test in a task that is polled by a worker of such a pool, or in the context of one.
fn polled(workers: usize, test: fn()) {
    static CALLS: AroundPolls = AroundPolls {
        awaited: |f| {
            WAITS.fetch_add(1, SeqCst);
            around("awaited", f);
        },
        others: |f| around("others", f),
    };
    assert!(around_polls(&CALLS));
    watched(move || {
        let pool = Pool::new(workers).unwrap();
        for in_context in [false, true] {
            pool.install(|| {
                task::block_on(async {
                    assert!(on_top().is_empty());
                    match in_context {
                        false => test(),
                        true => roving::context::with("a context", test),
                    }
                    assert!(on_top().is_empty());
                });
            });
        }
    });
}

#[test]
fn a_root_within_a_poll_is_awaited() {
    polled(1, || {
        assert_eq!(task::block_on(async { on_top() }), ["awaited"]);
        let nested = async { task::block_on(async { on_top() }) };
        assert_eq!(task::block_on(nested), ["awaited", "awaited"]);
        let inner = task::scope(async |scope| scope.spawn(async { on_top() }).await);
        assert_eq!(inner, ["awaited"]);
    });
}

#[test]
fn a_call_that_blocks_in_a_poll_is_awaited() {
    polled(1, || assert_eq!(roving::blocking(on_top), ["awaited"]));
}

/// It ends only when the wait has begun.
#[test]
fn a_stolen_task_of_a_poll_is_awaited() {
    polled(2, || {
        let before = WAITS.load(SeqCst);
        let waited = || wait_until(|| WAITS.load(SeqCst) > before);
        assert_eq!(join_stolen(on_top, waited).0, Vec::<&str>::new());
    });
}

#[test]
fn a_job_that_is_run_on_top_of_a_poll_is_the_work_of_others() {
    polled(1, || {
        let job = roving::spawn(on_top);
        assert_eq!(run_one(false), Some(true));
        assert_eq!(job.join().unwrap(), ["others"]);
    });
}

#[test]
fn what_is_done_in_a_pool_that_a_poll_has_entered_is_on_top_of_it() {
    polled(1, || {
        let entered = Pool::builder().caller_runs().build().unwrap();
        assert_eq!(entered.install(on_top), Vec::<&str>::new());
        let awaited = entered.install(|| task::block_on(async { on_top() }));
        assert_eq!(awaited, ["awaited"]);
        assert_eq!(entered.install(|| roving::blocking(on_top)), ["awaited"]);
        let others = entered.install(|| {
            let job = roving::spawn(on_top);
            assert_eq!(run_one(false), Some(true));
            job.join().unwrap()
        });
        assert_eq!(others, ["others"]);
        // The pool runs it when it is left.
        let job = entered.install(|| roving::spawn(on_top));
        assert_eq!(job.join().unwrap(), ["others"]);
    });
}

#[test]
fn others_cannot_name_calls_as_well() {
    polled(1, || {
        static OTHERS: AroundPolls = AroundPolls {
            awaited: |f| f(),
            others: |f| f(),
        };
        assert!(!around_polls(&OTHERS));
    });
}
