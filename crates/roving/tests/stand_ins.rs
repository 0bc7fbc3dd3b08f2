//! Compensation threads that run jobs only, each with the index of a worker that waits.

mod common;

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::thread;

use common::{pool, wait_until, watched};
use roving::raw::calls::{StandIn, stand_in};
use roving::raw::waits::lent_index;
use roving::{Pool, PoolBuilder, Priority};

/// Of one worker.
fn builder() -> PoolBuilder {
    stand_in(Pool::builder().workers(1), StandIn::ForJobs)
}

/// The only worker, an adopted thread, does something else when another one drops its pool: the
/// last job needs its index, and who drops the pool does not wait for that.
#[test]
fn who_drops_a_pool_does_not_wait_for_the_index_of_an_adopted_thread() {
    watched(|| {
        let (sender, receiver) = mpsc::channel();
        let (over, is_over) = mpsc::channel();
        let adopted = thread::spawn(move || {
            let pool = builder().adopt_current_thread().build().unwrap();
            assert_eq!(lent_index(), Some(0));
            sender.send(pool).unwrap();
            let _: Result<(), _> = is_over.recv();
        });
        let pool = receiver.recv().unwrap();
        let job = pool.spawn(lent_index);
        drop(pool);
        drop(over);
        assert_eq!(job.join().unwrap(), Some(0));
        adopted.join().unwrap();
    });
}

/// The worker and all compensation threads wait in jobs of the normal class, for one of the low
/// class.
#[test]
#[cfg_attr(miri, ignore = "it takes minutes there, also with 17 threads")]
fn a_job_of_a_low_class_runs_although_all_wait() {
    watched(|| {
        let all = 1 + 256;
        let (ours, others) = (builder().build().unwrap(), Arc::new(pool(all)));
        let (go_on, begun) = (
            Arc::new((Mutex::new(false), Condvar::new())),
            Arc::default(),
        );
        let waits = || {
            let (others, go_on, begun) = (others.clone(), go_on.clone(), Arc::clone(&begun));
            move || {
                others.install(|| {
                    AtomicUsize::fetch_add(&begun, 1, SeqCst);
                    let has_to_wait = |go_on: &mut bool| !*go_on;
                    drop(go_on.1.wait_while(go_on.0.lock().unwrap(), has_to_wait));
                });
            }
        };
        let waiting: Vec<_> = (0..all).map(|_| ours.spawn(waits())).collect();
        wait_until(|| begun.load(SeqCst) == all);
        let low = ours.spawn_with(Priority::Low, move || {
            *go_on.0.lock().unwrap() = true;
            go_on.1.notify_all();
        });
        waiting.into_iter().for_each(|one| one.join().unwrap());
        low.join().unwrap();
    });
}
