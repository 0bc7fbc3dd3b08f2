//! A checkpoint of a network keeps a bounded part of what a long step sends.

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use common::{directory, pause, watched};
use roving::Pool;
use roving_dist::{Checkpoints, Network, NetworkError, World};
use roving_flow::{In, Out};

/// The system's allocator, with the bytes that are out, now and at most.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Longer than this takes.
const MOST: Duration = Duration::from_secs(120);

/// Tokens of the first step, and the bytes of each of them.
const TOKENS: u64 = 160;
const TOKEN_BYTES: usize = 1 << 20;
/// More than a channel keeps for a checkpoint, with what is on its way.
const PEAK_MAX: usize = 112 << 20;

/// A source whose first step sends much while a checkpoint is open, and a sink that takes all of it
/// one by one. Ends when there is a checkpoint behind that step. Whether each token has come once.
fn much(checkpoints: &Checkpoints) -> bool {
    let is_right = AtomicBool::new(true);
    let ended = World::threads(2, |world| {
        let mut network = Network::new(&world);
        network.checkpoints(checkpoints.clone());
        let (out, input) = network.bounded::<(u64, String)>("tokens", 2);
        network.movable("source", out, 0, async |at, mut out: Out<_>| {
            if at > 0 {
                out.send((at, String::new())).await.ok()?;
                return Some((at + 1, out));
            }
            // Time for a checkpoint to begin.
            thread::sleep(Duration::from_millis(200));
            for at in 0..TOKENS {
                out.send((at, "x".repeat(TOKEN_BYTES))).await.ok()?;
            }
            Some((TOKENS, out))
        });
        let (canceller, checkpoints) = (network.canceller(), checkpoints.clone());
        let is_right = &is_right;
        network.movable("sink", input, 0, move |next: u64, mut input: In<_>| {
            if next > TOKENS && checkpoints.is_there() {
                canceller.cancel();
            }
            async move {
                let (number, _): (u64, String) = input.recv().await?;
                // Ordering: Relaxed; read when the run has ended.
                is_right.fetch_and(number == next, Ordering::Relaxed);
                pause().await;
                Some((next + 1, input))
            }
        });
        network.pin("source", 0);
        network.pin("sink", 1);
        network.run(&Pool::new(1).unwrap()).map(drop)
    });
    let error = ended[0].clone().unwrap_err();
    assert!(matches!(error, NetworkError::Cancelled { .. }), "{error}");
    is_right.into_inner()
}

#[test]
fn a_step_that_sends_much_while_a_cut_is_open_delays_it_to_the_next() {
    watched(MOST, || {
        let directory = directory("network-memory");
        let checkpoints = Checkpoints::to(&directory)
            .every(Duration::from_millis(1))
            .resume(true);
        let before = NOW.load(Ordering::Relaxed);
        PEAK.store(before, Ordering::Relaxed);
        assert!(much(&checkpoints), "a token was lost or doubled");
        let peak = PEAK.load(Ordering::Relaxed) - before;
        assert!(peak < PEAK_MAX, "{peak} bytes were kept");
        assert!(much(&checkpoints), "a token was lost or doubled");
    });
}
