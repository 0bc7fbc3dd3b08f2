//! Scopes with tasks in order, in programs that cancel what they are in.

mod common;

use std::env;
use std::panic::{self, AssertUnwindSafe};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use common::{pool, watched};
use rayon_core::{ScopeFifo, in_place_scope_fifo, scope_fifo};
use roving::Cancel;

/// Set in a process that might be aborted.
const CHILD: &str = "RAYON_CORE_TEST_CHILD";

/// Panics when it is dropped, and counts that.
struct Bomb<'a>(&'a AtomicUsize);

impl Drop for Bomb<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
        panic::resume_unwind(Box::new("in a drop"));
    }
}

/// Its payload, which is a text.
fn caught(f: impl FnOnce()) -> Option<&'static str> {
    let payload = panic::catch_unwind(AssertUnwindSafe(f)).err()?;
    payload.downcast_ref().copied()
}

/// Spawns tasks that are dropped, and then panics, or does not.
fn spawns<'scope>(
    s: &ScopeFifo<'scope>,
    cancel: &Cancel,
    dropped: &'scope AtomicUsize,
    end: impl FnOnce(),
) {
    for _ in 0..3 {
        let bomb = Bomb(dropped);
        s.spawn_fifo(move |_| drop(bomb));
    }
    cancel.cancel();
    end();
}

fn drops_what_panics() {
    let pool = pool(1);
    let ends: [(fn(), _); 2] = [(|| panic::panic_any("op"), "op"), (|| (), "in a drop")];
    for (end, why) in ends {
        let dropped = AtomicUsize::new(0);
        let run = || {
            let cancel = Cancel::new();
            let _ = cancel.run(|| scope_fifo(|s| spawns(s, &cancel, &dropped, end)));
        };
        assert_eq!(caught(|| pool.install(run)), Some(why));
        let run = || {
            let cancel = Cancel::new();
            let _ = cancel.run(|| in_place_scope_fifo(|s| spawns(s, &cancel, &dropped, end)));
        };
        assert_eq!(caught(|| pool.install(run)), Some(why));
        assert_eq!(dropped.into_inner(), 6);
    }
}

/// In a process of its own, because a panic that meets another one aborts it.
#[test]
fn a_task_in_order_that_is_dropped_may_panic() {
    if env::var_os(CHILD).is_some() {
        return watched(drops_what_panics);
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "a_task_in_order_that_is_dropped_may_panic"]);
    let output = command.env(CHILD, "1").output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A task that goes on spawning after the request keeps nothing of what is dropped.
#[test]
fn tasks_in_order_that_are_dropped_take_no_memory() {
    struct Alive<'a>(&'a AtomicUsize);
    impl Drop for Alive<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, SeqCst);
        }
    }
    watched(|| {
        let (alive, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        pool(1).install(|| {
            let cancel = Cancel::new();
            let _ = cancel.run(|| {
                scope_fifo(|s| {
                    cancel.cancel();
                    for _ in 0..100_000 {
                        most.fetch_max(alive.fetch_add(1, SeqCst) + 1, SeqCst);
                        let one = Alive(&alive);
                        s.spawn_fifo(move |_| drop(one));
                    }
                });
            });
        });
        assert_eq!(alive.into_inner(), 0);
        // As many as a worker has places for, and the one that finds none.
        assert!(most.into_inner() < 20_000);
    });
}
