//! A thread that has a job and no index for it uses no processor. Alone in its process, whose time
//! it reads.
#![cfg(target_os = "linux")]

mod common;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use common::{pool, wait_until, watched};
use rayon_core::current_thread_index;

/// Hundredths of a second that this process has used.
fn used() -> u64 {
    let stat = fs::read_to_string("/proc/self/stat").unwrap();
    let words = stat.rsplit(')').next().unwrap().split_whitespace();
    let used = words.skip(11).take(2);
    used.map(|word| word.parse::<u64>().unwrap()).sum()
}

#[test]
fn a_compensation_thread_without_an_index_sleeps() {
    watched(|| {
        let (here, there) = (Arc::new(pool(1)), pool(1));
        let (waits, go_on) = (AtomicBool::new(false), AtomicBool::new(false));
        let has_begun = AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| {
                here.install(|| {
                    current_thread_index();
                    there.install(|| {
                        waits.store(true, SeqCst);
                        wait_until(|| go_on.load(SeqCst));
                    });
                });
            });
            wait_until(|| waits.load(SeqCst));
            s.spawn(|| {
                here.broadcast(|_| {
                    has_begun.store(true, SeqCst);
                    // Asleep, with the only index.
                    thread::sleep(Duration::from_millis(600));
                });
            });
            wait_until(|| has_begun.load(SeqCst));
            let (ran, has_run) = (Arc::new(AtomicBool::new(false)), thread::current());
            let theirs = Arc::clone(&ran);
            here.spawn(move || {
                theirs.store(true, SeqCst);
                has_run.unpark();
            });
            thread::sleep(Duration::from_millis(50));
            let before = used();
            thread::sleep(Duration::from_millis(400));
            let taken = used() - before;
            let was_early = ran.load(SeqCst);
            while !ran.load(SeqCst) {
                thread::park();
            }
            go_on.store(true, SeqCst);
            assert!(!was_early, "there was an index for it");
            // One that looks again and again takes some 40.
            assert!(taken < 15, "{taken} hundredths of a second in 40");
        });
    });
}
