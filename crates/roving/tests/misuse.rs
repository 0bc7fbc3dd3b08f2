//! Uses at the edge of what makes sense: each has one outcome, the same in debug and in release.
//! The table stands in docs/stopping.md.

#[path = "common/child.rs"]
mod child;
mod common;

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex};
use std::thread;

use child::{child, is_child, passed};
use common::{pool, watched};
use roving::{Pool, WorkerLocal, join, task};

/// Makes every call that a pool accepts from inside.
fn ask_for_everything() -> (Vec<usize>, usize) {
    assert_eq!(join(|| 1, || 2), (1, 2));
    let count = AtomicUsize::new(0);
    let count_one = || _ = count.fetch_add(1, SeqCst);
    roving::scope(|s| {
        s.spawn(|_| count_one());
        s.spawn_broadcast(|_, _| count_one());
    });
    roving::in_place_scope(|s| s.spawn(|_| count_one()));
    assert_eq!(task::block_on(async { 7 }), 7);
    assert_eq!(roving::blocking(|| 8), 8);
    (roving::broadcast(|index| index), count.into_inner())
}

#[test]
fn a_pool_is_used_by_its_own_handlers() {
    watched(|| {
        for &workers in common::size(&[1, 2, 4][..], &[2]) {
            let (sender, receiver) = mpsc::channel();
            let handler = |sender: Sender<&'static str>, what| {
                let sender = Mutex::new(sender);
                move |index: usize| {
                    let (seen, count) = ask_for_everything();
                    // In `on_exit` the others may have gone. Compensation threads have handlers
                    // called, but no part in this.
                    let is_worker = index < workers;
                    assert_eq!(seen.contains(&index), is_worker);
                    assert!(seen.len() <= workers);
                    assert!((2 + usize::from(is_worker)..=2 + workers).contains(&count));
                    let sender = sender.lock().unwrap().clone();
                    sender.send(what).unwrap();
                    roving::spawn(move || {
                        sender.send("spawned").unwrap();
                        roving::spawn(move || sender.send("spawned").unwrap());
                    });
                }
            };
            let builder = Pool::builder().workers(workers);
            let builder = builder.on_start(handler(sender.clone(), "start"));
            let builder = builder.on_exit(handler(sender, "exit"));
            drop(builder.build().unwrap());
            // Compensation threads, if there were any, have called both as well.
            let seen: Vec<&str> = receiver.into_iter().collect();
            let of = |what| seen.iter().filter(|&&one| one == what).count();
            assert!(of("start") >= workers);
            assert_eq!(of("start"), of("exit"));
            assert_eq!(of("spawned"), 2 * (of("start") + of("exit")));
        }
    });
}

/// Uses roving when its thread ends.
struct AtTheEnd(Sender<bool>);

impl Drop for AtTheEnd {
    fn drop(&mut self) {
        let (seen, count) = ask_for_everything();
        let sender = self.0.clone();
        roving::spawn(move || sender.send(count == seen.len() + 2).unwrap());
    }
}

thread_local! {
    static AT_THE_END: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) };
}

/// A worker's thread that ends is no worker any more, so that is the global pool's to do. An
/// adopted one may be one still: destructors run in an order of their own.
#[test]
fn a_thread_local_destructor_uses_pools() {
    watched(|| {
        let (sender, receiver) = mpsc::channel();
        let set = |sender: &Sender<bool>| {
            let value = AtTheEnd(sender.clone());
            AT_THE_END.with_borrow_mut(|at| *at = Some(value));
        };
        let pool = pool(3);
        let senders = Mutex::new(sender.clone());
        pool.broadcast(|_| set(&senders.lock().unwrap().clone()));
        drop(pool);
        // Set before and after the pool has adopted the thread.
        for before in [false, true] {
            let (sender, builder) = (sender.clone(), Pool::builder().workers(2));
            let adopted = thread::spawn(move || {
                if before {
                    set(&sender);
                }
                let pool = builder.adopt_current_thread().build().unwrap();
                if !before {
                    set(&sender);
                }
                pool
            });
            drop(adopted.join().unwrap());
        }
        drop((sender, senders));
        assert_eq!(receiver.into_iter().collect::<Vec<_>>(), [true; 5]);
    });
}

/// Has its thread adopted when that ends, and goes on if it is not.
struct AdoptsAtTheEnd(Sender<Option<String>>);

impl Drop for AdoptsAtTheEnd {
    fn drop(&mut self) {
        let pool = Pool::builder().workers(2).adopt_current_thread().build();
        let refusal = pool.as_ref().err().map(ToString::to_string);
        assert_eq!(join(|| 1, || 2), (1, 2));
        let (done, is_done) = mpsc::channel();
        roving::spawn(move || done.send(()).unwrap());
        // A pool without the thread is none the worse for that.
        assert_eq!(pool.map_or(3, |pool| pool.install(|| 3)), 3);
        is_done.recv().unwrap();
        self.0.send(refusal).unwrap();
    }
}

thread_local! {
    static ADOPTS: RefCell<Option<AdoptsAtTheEnd>> = const { RefCell::new(None) };
}

/// An adopted thread leaves its pool by the drop of a thread-local value. One that has dropped it
/// already could not leave any more, and its pool would reach into memory that is gone.
#[test]
fn a_thread_local_destructor_has_its_thread_adopted() {
    watched(|| {
        // Set before the thread was adopted for the first time, after that, and without that: the
        // values that were used last are dropped first.
        let outcome = |value_first: bool, adopted: bool| {
            let (sender, receiver) = mpsc::channel();
            let adopt = move || {
                let build = || Pool::builder().workers(2).adopt_current_thread().build();
                adopted.then(|| drop(build().unwrap()));
            };
            let set = move || ADOPTS.set(Some(AdoptsAtTheEnd(sender)));
            let body = move || match value_first {
                true => (set(), adopt()),
                false => (adopt(), set()),
            };
            _ = thread::spawn(body).join();
            receiver.recv().unwrap()
        };
        assert_eq!(outcome(false, true), None);
        assert_eq!(outcome(false, false), None);
        let refusal = outcome(true, true).expect("it cannot leave any more");
        assert!(
            refusal.contains("the calling thread is ending"),
            "{refusal}"
        );
        assert!(refusal.contains("earlier in the thread"), "{refusal}");
    });
}

#[test]
fn child_uses_pools_at_exit() {
    if !is_child("child_uses_pools_at_exit") {
        return;
    }
    extern "C" fn at_exit() {
        let (seen, count) = ask_for_everything();
        assert_eq!(count, seen.len() + 2);
        assert_eq!(pool(2).install(|| join(|| 3, || 4)), (3, 4));
        // What is written with a macro may be kept back.
        let text = b"said: at exit\n";
        std::io::Write::write_all(&mut std::io::stdout(), text).unwrap();
    }
    unsafe extern "C" {
        fn atexit(f: extern "C" fn()) -> i32;
    }
    roving::spawn(|| ());
    // SAFETY: as the C standard declares it.
    assert_eq!(unsafe { atexit(at_exit) }, 0);
}

#[test]
#[cfg_attr(miri, ignore = "it starts another process")]
fn an_exit_handler_of_the_process_can_use_pools() {
    let output = passed(&mut child("child_uses_pools_at_exit"));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("said: at exit"), "{text}");
}

/// Objects that outlive their pool still answer: they say that it is over, or work.
#[test]
fn what_is_left_of_a_pool_that_was_dropped() {
    watched(|| {
        let pool = pool(2);
        let mut local = pool.install(|| WorkerLocal::new(|| 5));
        pool.broadcast(|_| local.with(|_| ()));
        let worker = pool.install(thread::current);
        drop(pool);
        assert_eq!(local.try_with(|value| *value), None);
        assert_eq!(local.iter_mut().count(), 2);
        // A worker's thread that has ended can be unparked like any other.
        worker.unpark();
        drop(local);
    });
}

/// The line that the panic names is the program's own.
#[test]
fn a_wrong_argument_is_named_where_it_is_given() {
    const WRONG: [&str; 3] = ["chunk_len is 0", "grain is 0", "of the pool `placed`"];
    static PLACES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    watched(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let text = info.to_string();
            match info.location() {
                Some(at) if WRONG.iter().any(|wrong| text.contains(wrong)) => {
                    PLACES.lock().unwrap().push(at.file().to_owned());
                }
                _ => before(info),
            }
        }));
        let own = Pool::builder().workers(1).name("placed").build().unwrap();
        let local = own.install(|| WorkerLocal::new(|| 5));
        let calls: [&dyn Fn(); 5] = [
            &|| local.with(|_| ()),
            &|| roving::par_chunks_mut(&mut [1, 2], 0, |_, _| ()),
            &|| _ = roving::reduce(0..2, 0, || 0, |n| n, |a, b| a + b),
            &|| _ = roving::reduce_slice(&[1, 2], 0, || 0, |n| *n, |a, b| a + b),
            &|| _ = roving::reduce_chunks(&[1, 2], 0, || 0, |of| of.len(), |a, b| a + b),
        ];
        for call in calls {
            assert!(catch_unwind(AssertUnwindSafe(call)).is_err());
        }
        assert_eq!(*PLACES.lock().unwrap(), [file!(); 5]);
    });
}

/// A value that is asked for where it cannot be had is no value left out in silence.
#[test]
fn a_worker_local_outside_of_its_pool_is_named() {
    watched(|| {
        let build = |name: &str| Pool::builder().workers(2).name(name).build().unwrap();
        let (own, other) = (build("own"), build("other"));
        let local = own.install(|| WorkerLocal::new(|| 5));
        let text = |run: &(dyn Fn() + Sync)| {
            let panic = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            panic.downcast_ref::<String>().expect("a text").clone()
        };
        let outside = text(&|| local.with(|_| ()));
        assert!(
            outside.contains("the pool `own` has no value for a thread that is no worker"),
            "{outside}"
        );
        let in_other = text(&|| other.install(|| local.with(|_| ())));
        assert!(
            in_other.contains("the pool `own` has no value for a worker of another pool, `other`"),
            "{in_other}"
        );
        assert_eq!(own.install(|| local.with(|value| *value)), 5);
    });
}

#[test]
fn a_nul_in_a_name_is_an_error_of_the_builder() {
    let pool = Pool::builder().workers(1).name("a\0b").build();
    let text = pool.unwrap_err().to_string();
    assert!(text.contains(r#"the name "a\0b" has a NUL"#), "{text}");
    let arena = roving::Arena::builder().threads(1).name("\0").build();
    let text = arena.unwrap_err().to_string();
    assert!(text.contains(r#"the name "\0" has a NUL"#), "{text}");
}

/// A handle goes to another pool, and to none at all.
#[test]
fn a_handle_is_awaited_where_its_task_does_not_belong() {
    watched(|| {
        let (here, there) = (pool(2), pool(2));
        let value = here.run(|_| async {
            let handle = task::spawn(async { 7 });
            // Another pool's root waits for a task of this one.
            roving::blocking(|| there.run(|_| handle))
        });
        assert_eq!(value, 7);
    });
}

/// Without a root there is nobody to wait for a task.
#[test]
fn a_task_is_spawned_outside_of_every_root() {
    watched(|| {
        let panicked = panic::catch_unwind(AssertUnwindSafe(|| drop(task::spawn(async { 7 }))));
        assert!(panicked.is_err());
        let on_worker = pool(1).install(|| {
            let spawn = || drop(task::spawn(async { 7 }));
            panic::catch_unwind(AssertUnwindSafe(spawn)).is_err()
        });
        assert!(on_worker);
    });
}

/// A task of a pool drops the last handle to it, and goes on to use what it was.
#[test]
fn a_task_goes_on_after_it_has_dropped_its_pool() {
    watched(|| {
        for workers in [1, 3] {
            let (sender, receiver) = mpsc::channel();
            let pool = Arc::new(pool(workers));
            let theirs = Arc::clone(&pool);
            let (ours, is_ours) = mpsc::channel::<()>();
            pool.spawn(move || {
                assert!(is_ours.recv().is_err());
                drop(theirs);
                let (seen, count) = ask_for_everything();
                roving::spawn(move || sender.send((seen.len(), count)).unwrap());
            });
            drop(pool);
            drop(ours);
            assert_eq!(receiver.recv(), Ok((workers, workers + 2)));
        }
    });
}
