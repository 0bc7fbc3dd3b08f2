//! The pool that one is in: `Pool::current` and `Pool::global`.

use super::*;

#[test]
fn the_pool_that_one_is_in_has_all_that_a_pool_has() {
    watched(|| {
        for (name, pool) in pools() {
            let workers = pool.workers();
            pool.install(|| {
                let here = Pool::current();
                assert_eq!(here.workers(), workers, "{name}");
                assert_eq!(here.install(roving::current_workers), workers, "{name}");
                let classed = here.spawn_with(Priority::Low, || 1);
                assert_eq!(classed.join().unwrap(), 1, "{name}");
                assert_eq!(here.run(|_| async { 2 }), 2, "{name}");
            });
            // It was nobody's to end.
            assert_eq!(pool.spawn(|| 3).join().unwrap(), 3, "{name}");
        }
    });
}

#[test]
fn elsewhere_it_is_the_global_one() {
    watched(|| {
        let global = Pool::global();
        assert_eq!(Pool::current().workers(), global.workers());
        let task = global.spawn(|| Pool::current().workers());
        assert_eq!(task.join().unwrap(), roving::current_workers());
    });
}

/// A pool may be dropped by a task that still has a reference to it.
#[test]
fn a_reference_may_outlive_its_pool_on_the_thread() {
    watched(|| {
        let pool = Arc::new(pool(1));
        let own = Arc::clone(&pool);
        let (sender, receiver) = mpsc::channel();
        pool.spawn(move || {
            let here = Pool::current();
            own.spawn(move || sender.send(()).unwrap());
            drop(own);
            assert_eq!(here.workers(), 1);
        });
        drop(pool);
        receiver.recv().unwrap();
    });
}
