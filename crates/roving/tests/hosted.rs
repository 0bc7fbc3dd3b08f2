//! Workers whose loops are another runtime's, two of them.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use common::{wait_until, watched};
use roving::Pool;
use roving::raw::hosted::{self, Hosted};

static IS_BROUGHT: AtomicBool = AtomicBool::new(false);
static RUNS: AtomicUsize = AtomicUsize::new(0);

fn is_brought() -> bool {
    IS_BROUGHT.load(SeqCst)
}

/// Runs what was brought, which spawns one thing more.
fn run_brought() {
    if IS_BROUGHT.swap(false, SeqCst) {
        // SAFETY: it uses nothing that ends.
        let added = unsafe { hosted::add(|| _ = RUNS.fetch_add(1, SeqCst)) };
        assert!(added.is_ok(), "a worker, with room on its stack");
    }
}

#[test]
fn who_waits_for_a_stolen_task_runs_what_is_brought() {
    watched(|| {
        let hosted = Hosted::build(Pool::builder().workers(2)).expect("two seats");
        let hosted = hosted.serving(is_brought, run_brought);
        let (begun, ends) = (AtomicBool::new(false), AtomicBool::new(false));
        let first = || {
            let frame = hosted::open();
            // The other worker steals it, and waits in it for what this one runs meanwhile.
            let stolen = || {
                begun.store(true, SeqCst);
                // Time to park.
                thread::sleep(Duration::from_millis(20));
                IS_BROUGHT.store(true, SeqCst);
                hosted.wake(0);
                wait_until(|| RUNS.load(SeqCst) == 1);
            };
            // SAFETY: what they use stays until the frame is drained.
            unsafe {
                assert!(hosted::add(stolen).is_ok());
                assert!(hosted::add(|| ()).is_ok());
            }
            hosted::show();
            wait_until(|| begun.load(SeqCst));
            assert!(hosted::run_newest(frame), "nobody has begun the other");
            assert!(!hosted::run_newest(frame), "it is away");
            hosted::drain(frame);
            hosted::leave(frame);
            ends.store(true, SeqCst);
            hosted.wake(1);
        };
        let second = || {
            while !ends.load(SeqCst) {
                if !hosted::steal(0) {
                    hosted::sleep_until(|| ends.load(SeqCst));
                }
            }
        };
        hosted.enlist(0);
        let is_enlisted = AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| {
                hosted.enlist(1);
                is_enlisted.store(true, SeqCst);
                // SAFETY: this thread was enlisted for the seat; the scope's end waits for both.
                unsafe { hosted.be(1, second) };
            });
            wait_until(|| is_enlisted.load(SeqCst));
            // SAFETY: this thread was enlisted for seat 0; the scope waits for the other one.
            unsafe { hosted.be(0, first) };
        });
        assert_eq!(RUNS.load(SeqCst), 1);
    });
}
