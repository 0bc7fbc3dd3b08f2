//! `current_thread_has_pending_tasks`, and running one by `yield_local` and `yield_now`.

mod common;

use common::{pool, watched};
use rayon_core::Yield::{Executed, Idle};
use rayon_core::{current_thread_has_pending_tasks, join, scope, yield_local, yield_now};

#[test]
fn a_task_of_a_join_is_pending_until_it_is_begun() {
    watched(|| {
        pool(1).install(|| {
            for _ in 0..3 {
                assert_eq!(current_thread_has_pending_tasks(), Some(false));
                let (before, ()) = join(current_thread_has_pending_tasks, || ());
                assert_eq!(before, Some(true));
                // Begun and ended by the caller itself; what stands next in its place is new.
                let ((ran, left), ()) = join(
                    || (yield_local(), current_thread_has_pending_tasks()),
                    || (),
                );
                assert_eq!((ran, left), (Some(Executed), Some(false)));
                assert_eq!(yield_now(), Some(Idle));
            }
        });
    });
}

#[test]
fn so_are_tasks_of_a_scope_and_detached_ones() {
    watched(|| {
        pool(1).install(|| {
            let mut ran = false;
            scope(|s| {
                s.spawn(|_| ran = true);
                assert_eq!(current_thread_has_pending_tasks(), Some(true));
                assert_eq!(yield_now(), Some(Executed));
                assert_eq!(current_thread_has_pending_tasks(), Some(false));
            });
            assert!(ran);
            rayon_core::spawn(|| ());
            assert_eq!(current_thread_has_pending_tasks(), Some(true));
            assert_eq!(yield_local(), Some(Executed));
            assert_eq!(yield_local(), Some(Idle));
        });
    });
}
