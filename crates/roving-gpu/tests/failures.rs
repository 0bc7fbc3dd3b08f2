//! A device that fails at each of its operations, one at a time, in each way: all results are
//! right, nothing is left in its memory, and nothing hangs.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{TASKS, USED, cholesky, cholesky_serial, divide, divide_serial, soon, within};
use roving_gpu::{Cause, Choice, Devices, Failure, Gauge, Simulated, Writes};

const FAILURES: [Failure; 3] = [Failure::Lost, Failure::OutOfMemory, Failure::Kernel];
const DEPTH: u32 = 2;

fn devices(backend: Simulated, choice: Choice, writes: Writes) -> Devices {
    let builder = Devices::builder().backend(backend);
    builder.choice(choice).writes(writes).build().unwrap()
}

fn pool() -> roving::Pool {
    roving::Pool::new(2).unwrap()
}

fn run_cholesky(devices: &Devices) {
    assert_eq!(cholesky(&pool(), devices), cholesky_serial());
}

fn run_divide(devices: &Devices) {
    let out = pool().run(|scope| divide(scope, devices, DEPTH, 1));
    assert_eq!(out.into_vec(), divide_serial(DEPTH, 1));
}

/// How many operations it takes when nothing fails.
fn operations(run: fn(&Devices), choice: Choice) -> u64 {
    let backend = Simulated::new();
    let gauge = backend.gauge();
    run(&devices(backend, choice, Writes::Through));
    assert_eq!(gauge.pieces(), 0);
    gauge.operations()
}

fn at_every_operation(name: &'static str, run: fn(&Devices)) {
    let count = operations(run, Choice::Gpu);
    assert!(count > 25, "{count}");
    for failure in FAILURES {
        for index in 0..count {
            let what = format!("{name}: {failure:?} at operation {index}");
            within(what.clone(), move || {
                let backend = Simulated::new().streams(2).fail_at(index, failure);
                let gauge = backend.gauge();
                let devices = devices(backend, Choice::Gpu, Writes::Through);
                run(&devices);
                let profile = devices.profile();
                // A kernel that fails leaves fewer operations, so late ones are not reached in all
                // runs.
                let failures: u64 = profile.devices[0].failures.values().sum();
                let reached = gauge.operations() > index;
                // Memory is asked for again after something was evicted, and may be found then.
                assert!(
                    !reached || failures > 0 || failure == Failure::OutOfMemory,
                    "{what}"
                );
                assert!(profile.reports.len() <= 1, "{what}: {:?}", profile.reports);
                assert_eq!(
                    profile.devices[0].is_lost,
                    reached && failure == Failure::Lost
                );
                soon("memory is freed", || gauge.pieces() == 0);
            });
        }
    }
}

#[test]
fn cholesky_with_a_failure_at_every_operation() {
    at_every_operation("cholesky", run_cholesky);
}

#[test]
fn divide_and_conquer_with_a_failure_at_every_operation() {
    at_every_operation("divide", run_divide);
}

/// With write-back a task ends before its kernels, so what only a lost device had is gone: it is
/// asked for in vain, or what comes out is right. Nothing in between.
#[test]
fn what_is_lost_with_write_back_is_told_and_never_wrong() {
    let operations = || {
        let backend = Simulated::new();
        let gauge = backend.gauge();
        run_cholesky(&devices(backend, Choice::Gpu, Writes::Back));
        gauge.operations()
    };
    let mut ends = [0, 0];
    for failure in FAILURES {
        for index in 0..operations() {
            let what = format!("{failure:?} at operation {index}");
            let is_right = within(what.clone(), move || {
                let backend = Simulated::new().streams(2).fail_at(index, failure);
                let gauge = backend.gauge();
                let devices = devices(backend, Choice::Gpu, Writes::Back);
                let run = catch_unwind(AssertUnwindSafe(|| cholesky(&pool(), &devices)));
                devices.wait();
                let is_right = match run {
                    Ok(found) => {
                        assert_eq!(found, cholesky_serial());
                        true
                    }
                    Err(payload) => {
                        let text = payload.downcast_ref::<String>().expect("a text");
                        assert!(text.contains("valid copy of a buffer is lost"), "{text}");
                        assert!(text.contains("as planned"), "{text}");
                        false
                    }
                };
                soon("memory is freed", || gauge.pieces() == 0);
                is_right
            });
            ends[usize::from(is_right)] += 1;
        }
    }
    assert!(ends[0] > 0 && ends[1] > 0, "{ends:?}");
}

#[test]
fn the_same_when_the_choice_is_free() {
    let count = operations(run_cholesky, Choice::Gpu);
    for failure in FAILURES {
        for index in 0..count {
            within(format!("{failure:?} at {index}"), move || {
                let backend = Simulated::new().streams(2).fail_at(index, failure);
                let gauge = backend.gauge();
                run_cholesky(&devices(backend, Choice::Auto, Writes::Through));
                soon("memory is freed", || gauge.pieces() == 0);
            });
        }
    }
}

#[test]
fn with_little_memory_all_results_are_right() {
    // Three blocks are needed at least.
    for (blocks, writes) in (0..=11).flat_map(|n| [(n, Writes::Through), (n, Writes::Back)]) {
        within(format!("{blocks} blocks, {writes:?}"), move || {
            let backend = Simulated::new().memory_bytes(blocks * 64);
            let gauge: Gauge = backend.gauge();
            let devices = devices(backend, Choice::Gpu, writes);
            run_cholesky(&devices);
            let profile = devices.profile();
            assert!(gauge.bytes() <= blocks * 64);
            let tasks = profile.devices[0].tasks;
            assert_eq!(tasks == TASKS, blocks >= 3, "{profile}");
            assert_eq!(tasks == 0, blocks < 1, "{profile}");
            assert_eq!(profile.devices[0].failures.get(&Cause::Lost), None);
            soon("memory is freed", || gauge.pieces() == 0);
        });
    }
}

#[test]
fn without_write_through_transfers_are_fewer_and_results_the_same() {
    let bytes = |writes| {
        let devices = devices(Simulated::new(), Choice::Gpu, writes);
        run_cholesky(&devices);
        let profile = devices.profile();
        (profile.devices[0].downloads, profile.devices[0].uploads)
    };
    let (through, back) = (bytes(Writes::Through), bytes(Writes::Back));
    // Each task writes one block, and the blocks are read at the end.
    assert_eq!((through.0, back.0), (TASKS, USED));
    assert_eq!((through.1, back.1), (USED, USED));
}
