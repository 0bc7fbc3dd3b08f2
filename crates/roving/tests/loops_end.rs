//! Loops that end before their range does: cancelled ones, and those that have found what they
//! were to find.

mod common;

use std::cmp::Ordering::{Equal, Greater, Less};
use std::ops::ControlFlow;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use common::{Census, pool, size, tries, wait_until, watched};
use roving::{Cancel, CancelledError, Pool, context, is_cancelled};

fn pools() -> [Pool; 3] {
    let in_place = Pool::builder().caller_runs().build().unwrap();
    [in_place, pool(1), pool(4)]
}

/// Calls `f` for each kind of loop with a step that is to be called for each item; each returns
/// what cannot be right if an item was left out.
fn in_each_loop(
    items: usize,
    step: &(dyn Fn() + Sync),
    mut f: impl FnMut(&str, &(dyn Fn() + Sync)),
) {
    let run = |index: usize| {
        step();
        index
    };
    f("par_for", &|| roving::par_for(0..items, |_| step()));
    f("par_chunks_mut", &|| {
        roving::par_chunks_mut(&mut vec![0_u8; items], 1, |_, _| step());
    });
    f("map_reduce", &|| {
        let sum = roving::map_reduce(0..items, 0, run, |a, b| a + b);
        assert_eq!(sum, items * (items - 1) / 2);
    });
    f("reduce", &|| {
        let sum = roving::reduce(0..items, 1, || 0, run, |a, b| a + b);
        assert_eq!(sum, items * (items - 1) / 2);
    });
    f("try_par_for", &|| {
        let all = roving::try_par_for(0..items, |_| {
            step();
            Some(())
        });
        assert_eq!(all, Some(()), "no item stopped it");
    });
    f("par_find_first", &|| {
        let found = roving::par_find_first(0..items, |index| (run(index) > items).then_some(index));
        assert_eq!(found, None);
    });
}

#[test]
fn a_cancelled_loop_ends_in_all_its_parts_and_says_so() {
    const ITEMS: usize = size(1_000_000, 20_000);
    watched(|| {
        for pool in pools() {
            let (ran, begun) = (AtomicUsize::new(0), Cancel::new());
            let request = std::sync::Mutex::new(begun);
            let step = || {
                match ran.fetch_add(1, SeqCst).cmp(&size(100, 3)) {
                    Less => {}
                    Equal => request.lock().unwrap().cancel(),
                    // Who cancels may lose its core, and others would do half of the items.
                    Greater => wait_until(is_cancelled),
                }
            };
            in_each_loop(ITEMS, &step, |name, run| {
                ran.store(0, SeqCst);
                let token = Cancel::new();
                *request.lock().unwrap() = token.clone();
                let outcome = pool.install(|| token.run(run));
                assert_eq!(outcome, Err(CancelledError), "{name}");
                assert!(ran.load(SeqCst) < ITEMS / 2, "{name} went on");
            });
        }
    });
}

/// Quick items make a loop read the clock seldom, and the next items may each take long: it looks
/// whether it is to end after few of these.
#[test]
fn a_loop_looks_soon_where_slow_items_follow_quick_ones() {
    const ITEMS: usize = 1200;
    // No less, so a block, which is to take a tenth of 4 µs, has sixteen of them at most: it may
    // take longer on a busy machine, which makes blocks shorter.
    const QUICK: Duration = Duration::from_nanos(50);
    watched(|| {
        let pool = pool(1);
        let late = |quick| {
            let (token, late) = (Cancel::new(), AtomicUsize::new(0));
            let step = |index| {
                if index < quick {
                    let begun = Instant::now();
                    while begun.elapsed() < QUICK {}
                } else if token.is_cancelled() {
                    late.fetch_add(1, SeqCst);
                } else {
                    token.cancel();
                }
            };
            let outcome = pool.install(|| token.run(|| roving::par_for(0..ITEMS, step)));
            assert_eq!(outcome, Err(CancelledError));
            late.into_inner()
        };
        let most = (0..ITEMS).step_by(size(50, 500)).map(late).max();
        assert!(most < Some(16), "{most:?} items began after the cancel");
    });
}

/// Also with other loops around it: the innermost unwinds, and the outer ones end.
#[test]
fn a_nested_loop_ends_with_the_loops_around_it() {
    watched(|| {
        for pool in pools() {
            let (token, ran, after) = (Cancel::new(), AtomicUsize::new(0), AtomicUsize::new(0));
            let outcome = token.run(|| {
                pool.install(|| {
                    roving::par_for(0..1000, |_| {
                        roving::par_for(0..1000, |_| {
                            match ran.fetch_add(1, SeqCst).cmp(&size(500, 20)) {
                                Less => {}
                                Equal => token.cancel(),
                                Greater => wait_until(is_cancelled),
                            }
                        });
                        after.fetch_add(1, SeqCst);
                    });
                })
            });
            assert_eq!(outcome, Err(CancelledError));
            assert!(ran.load(SeqCst) < 500_000 && after.load(SeqCst) < 1000);
        }
    });
}

#[test]
fn a_loop_that_was_done_before_the_request_has_its_result() {
    for pool in pools() {
        let token = Cancel::new();
        let outcome = token.run_partial(|| {
            let sum = pool.install(|| roving::map_reduce(0..100, 0, |n| n, |a, b| a + b));
            token.cancel();
            sum
        });
        assert_eq!(outcome, Ok(4950));
        assert_eq!(token.run(|| ()), Err(CancelledError));
    }
}

/// A destructor that runs while its thread unwinds must not unwind as well: its loop is whole.
#[test]
fn a_loop_in_a_destructor_runs_to_its_end_while_its_thread_unwinds() {
    struct Sums<'s>(&'s AtomicUsize);
    impl Drop for Sums<'_> {
        fn drop(&mut self) {
            assert!(thread::panicking());
            roving::par_for(0..100, |n| {
                self.0.fetch_add(n, SeqCst);
            });
        }
    }
    for pool in pools() {
        let (token, sum) = (Cancel::new(), AtomicUsize::new(0));
        let outcome = pool.install(|| {
            token.run(|| {
                let _sums = Sums(&sum);
                token.cancel();
                roving::par_for(0..100, |_| unreachable!("nothing begins"));
            })
        });
        assert_eq!((outcome, sum.into_inner()), (Err(CancelledError), 4950));
    }
}

/// Who looks after a cancelled piece of work does so outside of its token.
#[test]
fn a_context_from_outside_of_the_token_shields_a_loop() {
    let outside = context::current();
    let token = Cancel::new();
    let outcome = token.run_partial(|| {
        token.cancel();
        outside.run(|| roving::map_reduce(0..100, 0, |n| n, |a, b| a + b))
    });
    assert_eq!(outcome, Ok(4950));
}

#[test]
fn a_detached_task_whose_loop_was_cancelled_ends_without_a_message() {
    watched(|| {
        let pool = pool(2);
        let (token, ended) = (Cancel::new(), std::sync::mpsc::channel());
        let (request, told) = (token.clone(), ended.0);
        token
            .run_partial(|| {
                pool.spawn(move || {
                    struct Tells(std::sync::mpsc::Sender<bool>);
                    impl Drop for Tells {
                        fn drop(&mut self) {
                            self.0.send(thread::panicking()).unwrap();
                        }
                    }
                    let _tells = Tells(told);
                    request.cancel();
                    roving::par_for(0..1000, |_| unreachable!("nothing begins"));
                });
            })
            .unwrap_or(());
        assert!(ended.1.recv().unwrap_or(true), "it unwound, or was dropped");
        assert_eq!(pool.install(|| 1), 1);
    });
}

#[test]
fn an_answer_ends_a_loop_and_is_dropped_once() {
    // The answers of each run of so many items are its upper half, or one of a tenth of it.
    const RUN: usize = size(1000, 20);
    const ITEMS: usize = 1000 * RUN;
    watched(|| {
        for pool in pools() {
            for _ in 0..tries(20) {
                let (census, ran) = (Census::new(), AtomicUsize::new(0));
                pool.install(|| {
                    let found = roving::par_find_any(0..ITEMS, |n| {
                        ran.fetch_add(1, SeqCst);
                        (n % RUN > RUN / 2).then(|| (n, census.one()))
                    });
                    assert!(found.is_some_and(|(n, _)| n % RUN > RUN / 2));
                    assert!(ran.load(SeqCst) < ITEMS);
                    let first = roving::par_find_first(0..ITEMS / 10, |n| {
                        (n % (RUN / 10) == 1).then(|| (n, census.one()))
                    });
                    assert_eq!(first.map(|(n, _)| n), Some(1), "the lowest in each run");
                });
                census.check();
            }
            assert_eq!(pool.install(|| roving::par_find_any(0..0, Some)), None);
        }
    });
}

#[test]
fn a_step_says_stop_in_three_ways() {
    const ITEMS: usize = size(1000, 60);
    const LATE: usize = ITEMS / 10 * 7;
    for pool in pools() {
        pool.install(|| {
            let flow = |stop| {
                roving::try_par_for(0..ITEMS, move |n| match n == stop {
                    true => ControlFlow::Break(n),
                    false => ControlFlow::Continue(()),
                })
            };
            assert_eq!(flow(LATE), ControlFlow::Break(LATE));
            assert_eq!(flow(ITEMS), ControlFlow::Continue(()));
            let result = |stop| {
                roving::try_par_for(0..ITEMS, move |n| match n == stop {
                    true => Err(format!("item {n}")),
                    false => Ok(()),
                })
            };
            assert_eq!(result(3), Err("item 3".to_owned()));
            assert_eq!(result(ITEMS), Ok(()));
            assert_eq!(roving::try_par_for(0..9, |n| (n != 5).then_some(())), None);
        });
    }
}

#[test]
fn a_panic_beats_an_answer_or_comes_after_it() {
    watched(|| {
        for pool in pools() {
            let outcome = panic::catch_unwind(AssertUnwindSafe(|| {
                pool.install(|| {
                    roving::par_find_first(0..1000, |n| {
                        if n == 0 {
                            panic::resume_unwind(Box::new("item 0"));
                        }
                        Some(n)
                    })
                })
            }));
            assert_eq!(outcome.unwrap_err().downcast_ref(), Some(&"item 0"));
        }
    });
}

/// A thief's first item gives the answer, so all that is above is passed over, which takes no time.
/// What it takes after that, of lower items, looks around as any part does.
#[test]
fn what_was_passed_over_in_a_search_says_nothing_of_the_pace() {
    watched(|| {
        let pool = pool(2);
        for _ in 0..tries(10) {
            let (by_thief, goes_on) = (AtomicUsize::new(0), AtomicBool::new(false));
            let search = || {
                let caller = thread::current().id();
                roving::par_find_first(0..usize::MAX, |index| {
                    if thread::current().id() == caller {
                        assert!(!goes_on.load(SeqCst), "the thief goes on");
                        thread::sleep(Duration::from_micros(100));
                        return None;
                    }
                    if by_thief.fetch_add(1, SeqCst) == 0 {
                        return Some(index);
                    }
                    goes_on.store(true, SeqCst);
                    None
                })
            };
            let payload =
                panic::catch_unwind(AssertUnwindSafe(|| pool.install(search))).unwrap_err();
            assert_eq!(payload.downcast_ref(), Some(&"the thief goes on"));
        }
    });
}
