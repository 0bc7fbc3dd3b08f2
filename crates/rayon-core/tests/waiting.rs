//! A thread that waits for a task which another one has: the work that it does meanwhile.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread;
use std::time::Duration;

use common::{own_threads, pool, wait_until, watched};
use rayon_core::{ThreadPool, current_thread_index, join, yield_now};

/// Runs `f` on another thread of the pool than the calling one, which waits for it.
fn on_another(f: impl FnOnce() + Send) {
    let has_begun = AtomicBool::new(false);
    let begin = || {
        has_begun.store(true, SeqCst);
        f();
    };
    join(|| wait_until(|| has_begun.load(SeqCst)), begin);
}

/// Long enough for who waits to have given up looking.
fn be_busy() {
    thread::sleep(Duration::from_millis(50));
}

/// The awaited task begins with a serial part, as in a quicksort.
fn two_meet(pool: &ThreadPool) {
    watched(|| {
        let gate = Barrier::new(2);
        for _ in 0..3 {
            pool.install(|| {
                on_another(|| {
                    be_busy();
                    join(|| gate.wait(), || gate.wait());
                });
            });
        }
    });
}

#[test]
fn a_thread_that_has_waited_long_helps_when_there_is_something() {
    two_meet(&pool(2));
    two_meet(&pool(3));
}

#[test]
fn and_so_does_one_of_the_users_own() {
    two_meet(&own_threads(2));
}

#[test]
fn so_do_all_that_wait_for_each_other_in_a_row() {
    watched(|| {
        let gate = Barrier::new(4);
        let meet = || {
            gate.wait();
        };
        pool(4).install(|| {
            on_another(|| {
                be_busy();
                on_another(|| {
                    be_busy();
                    on_another(|| {
                        be_busy();
                        let two = || {
                            join(meet, meet);
                        };
                        join(two, two);
                    });
                });
            });
        });
    });
}

#[test]
fn a_scope_of_tasks_is_shared_by_all_that_wait() {
    watched(|| {
        let gate = Barrier::new(3);
        pool(3).install(|| {
            on_another(|| {
                on_another(|| {
                    be_busy();
                    rayon_core::scope(|s| {
                        for _ in 0..3 {
                            s.spawn(|_| {
                                gate.wait();
                            });
                        }
                    });
                });
            });
        });
    });
}

/// Much waiting, and much waking: the sums show that nothing is run twice or not at all.
#[test]
fn sums_are_right_where_serial_parts_and_parallel_ones_take_turns() {
    fn sum(from: u64, to: u64, depth: u32) -> u64 {
        if depth == 0 {
            return (from..to).sum();
        }
        thread::sleep(Duration::from_micros(if depth % 3 == 0 { 100 } else { 0 }));
        let middle = from.midpoint(to);
        let (a, b) = join(
            || sum(from, middle, depth - 1),
            || sum(middle, to, depth - 1),
        );
        a + b
    }
    watched(|| {
        for pool in [pool(2), pool(3), own_threads(3), pool(8)] {
            for _ in 0..5 {
                assert_eq!(pool.install(|| sum(0, 4096, 10)), 4095 * 2048);
            }
        }
    });
}

/// Two threads wait, and would take what the third shows. On top of one of them, or in its place,
/// runs a job that awaits just that: the call must not end at the one that cannot follow it.
fn a_job_awaits_what_is_shown(pool: ThreadPool, asks: bool) {
    watched(|| {
        let pool = Arc::new(pool);
        if asks {
            pool.install(current_thread_index);
        }
        let begun = Arc::new((AtomicBool::new(false), AtomicBool::new(false)));
        pool.install(|| {
            on_another(|| {
                on_another(|| {
                    be_busy();
                    let theirs = Arc::clone(&begun);
                    pool.spawn(move || {
                        theirs.0.store(true, SeqCst);
                        wait_until(|| theirs.1.load(SeqCst));
                    });
                    wait_until(|| begun.0.load(SeqCst));
                    be_busy();
                    let task = || begun.1.store(true, SeqCst);
                    join(|| wait_until(|| begun.1.load(SeqCst)), task);
                });
            });
        });
    });
}

#[test]
fn what_is_shown_reaches_a_thread_that_does_not_wait_for_its_index() {
    for asks in [false, true, true, true, true] {
        a_job_awaits_what_is_shown(pool(3), asks);
    }
}

#[test]
fn and_one_that_runs_no_job_meanwhile() {
    for asks in [false, false, false, true] {
        a_job_awaits_what_is_shown(own_threads(3), asks);
    }
}

/// A flag that is raised once.
#[derive(Default)]
struct Flag(AtomicBool);

impl Flag {
    fn raise(&self) {
        self.0.store(true, SeqCst);
    }

    fn is_raised(&self) -> bool {
        self.0.load(SeqCst)
    }

    fn wait(&self) {
        wait_until(|| self.is_raised());
    }
}

#[derive(Default)]
struct Steps {
    first: Flag,
    below: Flag,
    go_below: Flag,
    second: Flag,
    go_second: Flag,
    third: Flag,
    above: Flag,
    shown: Flag,
    taken: Flag,
    over: Flag,
}

impl Steps {
    /// The second job: of what it joins, one part runs on the worker that yields in the first one,
    /// and shows something.
    fn stand_on_the_first(&self) {
        let has_begun = Flag::default();
        let above = || {
            self.above.raise();
            be_busy();
            let show = || {
                self.shown.wait();
                be_busy();
                join(|| self.taken.wait(), || self.taken.raise());
            };
            let elsewhere = || {
                self.shown.raise();
                self.taken.wait();
            };
            join(show, elsewhere);
        };
        let middle = || {
            has_begun.raise();
            let until = || {
                self.go_below.raise();
                self.above.wait();
            };
            join(until, above);
        };
        join(|| has_begun.wait(), middle);
    }
}

/// Two jobs on compensation threads wait, and would take what one worker shows, on which parts of
/// both stand. A third job has the index of the first one and awaits what is shown: the call must
/// not end at the first one, which goes on only after the third. In some runs the second takes it
/// without a call.
#[test]
fn nor_to_a_compensation_thread_that_waits_for_its_index() {
    watched(|| {
        let (pool, there) = (Arc::new(pool(4)), pool(4));
        pool.install(current_thread_index);
        let steps = Arc::new(Steps::default());
        let (waiting, busy) = (AtomicUsize::new(0), [Flag::default(), Flag::default()]);
        thread::scope(|s| {
            s.spawn(|| {
                pool.broadcast(|all| match all.index() {
                    index @ 0..2 => {
                        waiting.fetch_add(1, SeqCst);
                        busy[index].wait();
                    }
                    _ => there.install(|| {
                        waiting.fetch_add(1, SeqCst);
                        steps.over.wait();
                    }),
                });
            });
            wait_until(|| waiting.load(SeqCst) == 4);
            let at = Arc::clone(&steps);
            pool.spawn(move || {
                at.first.raise();
                let below = || {
                    at.below.raise();
                    at.go_below.wait();
                    while !at.above.is_raised() {
                        yield_now();
                    }
                };
                join(|| at.below.wait(), below);
            });
            steps.first.wait();
            busy[0].raise();
            steps.below.wait();
            be_busy();
            let at = Arc::clone(&steps);
            pool.spawn(move || {
                at.second.raise();
                at.go_second.wait();
                at.stand_on_the_first();
            });
            steps.second.wait();
            let at = Arc::clone(&steps);
            pool.spawn(move || {
                at.third.raise();
                at.taken.wait();
            });
            steps.third.wait();
            busy[1].raise();
            be_busy();
            steps.go_second.raise();
            steps.taken.wait();
            steps.over.raise();
        });
    });
}

/// More waits inside of each other than there can be compensation threads: then who waits runs what
/// it waits for.
#[test]
fn scopes_that_two_pools_open_in_each_other_can_be_deep() {
    fn open(here: &ThreadPool, there: &ThreadPool, depth: usize) {
        if depth > 0 {
            here.in_place_scope(|s| s.spawn(|_| open(there, here, depth - 1)));
        }
    }
    watched(|| open(&pool(1), &pool(1), 800));
}

/// Closed at first.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    opened: Condvar,
    waiting: AtomicUsize,
}

impl Gate {
    fn pass(&self) {
        self.waiting.fetch_add(1, SeqCst);
        let closed = self.is_open.lock().unwrap();
        let open = self.opened.wait_while(closed, |is_open| !*is_open);
        assert!(*open.unwrap());
    }

    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.opened.notify_all();
    }
}

/// Tasks that wait in another pool have all compensation threads, and a further one lets them pass.
/// The only thread of their pool does `meanwhile`, which is given the other pool.
fn flood(meanwhile: impl FnOnce(&ThreadPool, &Gate) + Send) {
    watched(|| {
        let (pool, there) = (Arc::new(pool(1)), Arc::new(pool(300)));
        let gate = Arc::new(Gate::default());
        pool.install(|| {
            for _ in 0..299 {
                let (gate, there) = (Arc::clone(&gate), Arc::clone(&there));
                pool.spawn(move || there.install(|| gate.pass()));
            }
            let gate_too = Arc::clone(&gate);
            pool.spawn(move || gate_too.open());
            meanwhile(&there, &gate);
        });
    });
}

#[test]
fn a_detached_task_runs_though_all_compensation_threads_wait() {
    flood(|there, gate| there.install(|| gate.pass()));
}

#[test]
fn and_so_it_does_when_the_only_other_thread_waits_for_its_index() {
    flood(|there, gate| {
        assert_eq!(current_thread_index(), Some(0));
        there.install(|| wait_until(|| gate.waiting.load(SeqCst) > 200));
        assert_eq!(current_thread_index(), Some(0));
        assert!(
            *gate.is_open.lock().unwrap(),
            "who has the index waits for that"
        );
    });
}
