//! The bound on what waits: `Pool::try_spawn`.

use super::*;

fn limited(builder: roving::PoolBuilder, limit: usize) -> Pool {
    builder.queue_limit(limit).build().unwrap()
}

#[test]
fn so_many_wait_and_no_more() {
    watched(|| {
        let pool = limited(Pool::builder().workers(1), 3);
        let busy = occupy(&pool);
        let mut tasks: Vec<_> = (0..3).map(|n| pool.try_spawn(move || n).unwrap()).collect();
        let refused = pool.try_spawn(|| 3).unwrap_err();
        // What has a place and is aborted gives it back at once.
        tasks.pop().unwrap().abort();
        let again = pool.try_spawn(refused.into_closure()).unwrap();
        assert!(pool.try_spawn(|| 4).is_err());
        assert!(pool.try_spawn_with(Priority::High, || 4).is_err());
        // None of these is ever refused.
        let spawned = pool.spawn(|| 5);
        drop(busy);
        tasks.push(again);
        let sum: i32 = tasks.into_iter().map(|task| task.join().unwrap()).sum();
        assert_eq!(sum + spawned.join().unwrap(), 9);
        assert!(pool.try_spawn(|| ()).unwrap().join().is_ok());
    });
}

#[test]
fn places_come_back_from_every_end() {
    watched(|| {
        let pool = limited(Pool::builder().workers(1), 1);
        let refused = |pool: &Pool| pool.try_spawn(|| ()).is_err();
        let request = Cancel::new();
        let busy = occupy(&pool);
        let task = request.run(|| pool.try_spawn(|| ()).unwrap()).unwrap();
        request.cancel();
        assert!(refused(&pool), "it is dropped when its turn comes");
        drop(busy);
        assert!(is_cancelled(task));
        payload(pool.try_spawn(|| fails()).unwrap());
        let busy = occupy(&pool);
        drop(pool.try_spawn(|| ()).unwrap().abort_on_drop());
        let last = pool.try_spawn(|| ()).unwrap();
        let stopper = thread::spawn(|| pool.shutdown_now());
        wait_until(|| last.is_finished());
        drop(busy);
        assert_eq!(stopper.join().unwrap().tasks(), 1);
    });
}

#[test]
fn shares_resized_and_in_place_pools_have_limits_too() {
    watched(|| {
        let arena = Arena::new(2).unwrap();
        let share = limited(arena.pool().workers(1), 2);
        let busy = occupy(&share);
        let first = share.try_spawn(|| 1).unwrap();
        let other = limited(arena.pool().workers(1), 1);
        assert_eq!(other.try_spawn(|| 1).unwrap().join().unwrap(), 1, "its own");
        drop(share.try_spawn(|| 1).unwrap());
        assert!(share.try_spawn(|| 1).is_err());
        drop(busy);
        first.join().unwrap();

        let pool = limited(Pool::builder().workers(1).workers_max(2), 1);
        let busy = occupy(&pool);
        let first = pool.try_spawn(|| 1).unwrap();
        assert!(pool.try_spawn(|| 1).is_err());
        pool.resize(2).unwrap();
        first.join().unwrap();
        assert_eq!(pool.try_spawn(|| 2).unwrap().join().unwrap(), 2);
        drop(busy);

        let pool = limited(Pool::builder().caller_runs(), 1);
        for _ in 0..3 {
            assert_eq!(
                pool.try_spawn(|| 1).unwrap().join().unwrap(),
                1,
                "it runs at once"
            );
        }
        pool.install(|| {
            let _first = roving::try_spawn(|| ()).unwrap();
            assert!(roving::try_spawn(|| ()).is_err());
        });
    });
}

/// Many threads at once never have more than the limit waiting.
#[test]
fn a_limit_holds_for_many_threads() {
    watched(|| {
        let pool = limited(Pool::builder().workers(1), 5);
        let busy = occupy(&pool);
        let spawned = AtomicUsize::new(0);
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for _ in 0..size(100, 10) {
                        spawned.fetch_add(usize::from(pool.try_spawn(|| ()).is_ok()), SeqCst);
                    }
                });
            }
        });
        assert_eq!(spawned.into_inner(), 5);
        drop(busy);
    });
}
