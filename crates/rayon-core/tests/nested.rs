//! Calls of pools within each other, deeper than a pool has compensation threads.

mod common;

use common::watched;
use rayon_core::{ThreadPool, ThreadPoolBuilder, current_thread_index, join, scope};

/// Room for 1,000 calls on one thread, several times over.
const STACK: usize = 64 << 20;

fn builder() -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().num_threads(1).stack_size(STACK)
}

fn plain() -> ThreadPool {
    builder().build().unwrap()
}

/// Whose jobs have places of their own: no two threads with one index run at once.
fn asked() -> ThreadPool {
    let pool = plain();
    assert_eq!(pool.install(current_thread_index), Some(0));
    pool
}

fn with_handler() -> ThreadPool {
    builder().start_handler(|_| ()).build().unwrap()
}

fn named() -> ThreadPool {
    builder()
        .thread_name(|_| "named".to_owned())
        .build()
        .unwrap()
}

fn own_threads() -> ThreadPool {
    let builder = builder().spawn_handler(|thread| {
        let os_thread = std::thread::Builder::new().stack_size(STACK);
        os_thread.spawn(|| thread.run())?;
        Ok(())
    });
    builder.build().unwrap()
}

const KINDS: [fn() -> ThreadPool; 5] = [plain, asked, with_handler, named, own_threads];

fn by_turns(a: &ThreadPool, b: &ThreadPool, depth: usize) -> usize {
    match depth {
        0 => 0,
        _ => 1 + a.install(|| by_turns(b, a, depth - 1)),
    }
}

/// Each pool has one thread, so all calls into it but the first begin while that waits.
#[test]
fn a_thousand_calls_of_two_pools_in_each_other() {
    watched(|| {
        for (kind, of_kind) in KINDS.into_iter().enumerate() {
            let (a, b) = (of_kind(), of_kind());
            assert_eq!(by_turns(&a, &b, 1_000), 1_000, "kind {kind}");
            // What has been needed meanwhile is in nobody's way.
            assert_eq!(a.install(|| join(|| 1, || 2)), (1, 2));
            assert_eq!(by_turns(&b, &a, 300), 300, "kind {kind}");
        }
    });
}

/// Pools of each kind in turn, by calls alone, and by other ways to wait as well.
#[test]
fn pools_of_all_kinds_in_each_other() {
    fn enter(pools: &[ThreadPool], ways: usize, depth: usize) -> usize {
        let (mut below, pool) = (0, &pools[depth % pools.len()]);
        let go_on = || enter(pools, ways, depth - 1);
        match depth % ways {
            _ if depth == 0 => return 0,
            0 => below = pool.install(go_on),
            1 => pool.in_place_scope(|s| s.spawn(|_| below = go_on())),
            _ => pool.install(|| scope(|s| s.spawn(|_| below = go_on()))),
        }
        1 + below
    }
    watched(|| {
        let pools = KINDS.map(|of_kind| of_kind());
        for ways in [1, 3] {
            assert_eq!(enter(&pools, ways, 2_000), 2_000);
        }
    });
}

/// Several callers at the same time need the same compensation threads.
#[test]
fn several_callers_go_as_deep() {
    watched(|| {
        for of_kind in KINDS {
            let (a, b) = (of_kind(), of_kind());
            std::thread::scope(|s| {
                for _ in 0..2 {
                    s.spawn(|| assert_eq!(by_turns(&a, &b, 300), 300));
                    s.spawn(|| assert_eq!(by_turns(&b, &a, 300), 300));
                }
            });
        }
    });
}
