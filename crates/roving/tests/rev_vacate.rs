//! A worker that is dropped while tasks have their place there, in a pool that follows the quota.

mod common;

use std::sync::Mutex;
use std::thread;
use std::time::Duration;

use common::watched;
use roving::Pool;
use roving::adapt::{Place, spawn_placed};

/// The tasks become jobs again, and who adds a job looks at the quota once a second.
#[test]
fn tasks_leave_a_worker_that_is_dropped_when_a_look_at_the_quota_is_due() {
    watched(|| {
        let (mut threads, never) = (Vec::new(), Mutex::new(Vec::new()));
        let builder = Pool::builder().workers(2).follow_quota(true);
        let pool = builder.build_with(|worker| {
            match worker.index() {
                0 => threads.push(thread::spawn(|| worker.run())),
                _ => never.lock().unwrap().push(worker),
            }
            Ok(())
        });
        let pool = pool.unwrap();
        let place = &Place::new(Some(1));
        thread::scope(|s| {
            s.spawn(|| {
                thread::sleep(Duration::from_millis(1500));
                never.lock().unwrap().clear();
            });
            let placed = pool.run(|s| async move { spawn_placed(s, place, async { 7 }).await });
            assert_eq!(placed, 7);
        });
        drop(pool);
        threads.into_iter().for_each(|t| t.join().unwrap());
    });
}
