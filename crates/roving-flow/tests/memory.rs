//! A process with its channel is small: networks may have a million of them.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use roving::Pool;
use roving_flow::{Network, Placement};

/// The system's allocator, with the bytes that are out, now and at most, and the number of
/// allocations.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        PEAK.fetch_max(now, Ordering::Relaxed);
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
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

/// The tests look at what the whole process allocates, so they take turns.
static TURN: Mutex<()> = Mutex::new(());

/// The most memory of a process, its channel, its name and its part of the report included; without
/// the allocator's own, which is 8 bytes for each of two allocations. Some 408 are the process; the
/// rest are the queues of ready ones, which are the longer the later the second worker comes.
const BYTES_MAX: usize = 450;
/// The memory that placing it takes beside that: its meter, its place and its group, some 35. The
/// graph of groups takes some 4 MB, for any number of processes, while it is partitioned; how long
/// queues are at that moment depends on the threads. 492 to 521 bytes were seen in all.
const BYTES_PLACED_MAX: usize = 90;

/// As many processes as are placed by groups, where they are placed.
const PROCESSES: usize = if cfg!(miri) { 1 << 8 } else { 200_000 };

/// The bytes of a process in a chain, at most, while it runs; and its allocations.
fn of_a_process(placement: Placement, processes: usize) -> (usize, usize) {
    let pool = Pool::new(2).unwrap();
    let before = NOW.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let allocations = ALLOCATIONS.load(Ordering::Relaxed);
    let mut sum = 0;
    let mut network = Network::new();
    network.placement(placement);
    let (source, mut last) = network.bounded::<u64>("c", 2);
    for _ in 0..processes {
        let (out, next) = network.bounded("c", 2);
        let input = std::mem::replace(&mut last, next);
        network.process("p", (input, out), async |(mut input, mut out)| {
            while let Some(number) = input.recv().await {
                if out.send(number + 1).await.is_err() {
                    break;
                }
            }
        });
    }
    network.source("source", source, 0..3);
    network.sink("sink", last, |number: u64| sum += number);
    let report = network.run(&pool).unwrap();
    let bytes = (PEAK.load(Ordering::Relaxed) - before) / processes;
    let allocations = ALLOCATIONS.load(Ordering::Relaxed) - allocations;
    assert_eq!(report.processes().len(), processes + 2);
    drop(report);
    assert_eq!(sum, 3 * processes as u64 + 3);
    (bytes, allocations / processes)
}

#[test]
fn a_chain_of_processes_is_small_while_it_runs() {
    let _turn = TURN.lock();
    // Under Miri the network is so small that what a network has once counts.
    let once = if cfg!(miri) { 300 } else { 0 };
    // Where nothing is partitioned there is nothing to be shared by many.
    let few = PROCESSES.min(50_000);
    for (placement, processes, most) in [
        (Placement::Stealing, few, BYTES_MAX),
        (Placement::adaptive(), PROCESSES, BYTES_MAX),
        (
            Placement::partitioned(),
            PROCESSES,
            BYTES_MAX + BYTES_PLACED_MAX,
        ),
    ] {
        let (bytes, allocations) = of_a_process(placement, processes);
        println!("{placement:?}: {bytes} bytes a process, {allocations} allocations");
        assert!(bytes <= most + once, "{placement:?}: {bytes} bytes");
        // Its channel and its task.
        assert!(allocations <= 2 + once, "{placement:?}: {allocations}");
    }
}

/// A channel that has grown frees each of its rings, as large as it was.
#[test]
fn a_channel_that_grew_is_freed_whole() {
    let _turn = TURN.lock();
    let pool = Pool::new(1).unwrap();
    let run = || {
        let mut sum = 0;
        let mut network = Network::new();
        let (out, input) = network.unbounded::<u64>("c");
        network.process("gives", out, async |mut out| {
            for number in 0..1000 {
                let _ = out.send(number).await;
            }
        });
        network.sink("takes", input, |number| sum += number);
        network.run(&pool).unwrap();
        assert_eq!(sum, 499_500);
    };
    // What the pool keeps for the next time is there after the first. Other threads, such as those
    // of the tests, allocate now and then; what a run keeps each run would keep.
    run();
    let kept = (0..20).map(|_| {
        let before = NOW.load(Ordering::Relaxed);
        run();
        NOW.load(Ordering::Relaxed).wrapping_sub(before) as isize
    });
    let kept: Vec<isize> = kept.collect();
    assert!(kept.contains(&0), "{kept:?}");
}
