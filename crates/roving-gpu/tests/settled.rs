//! Tasks for which there is nothing to decide: they cost next to nothing, and are counted and
//! looked at again all the same.

mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use common::within;
use roving_gpu::{
    Arg, Buffer, Choice, Devices, Dual, HostCall, Kernel, Kind, Simulated, Why, Writes,
};

static STEP: Kind = Kind::new("step");
static ADD: Kernel = Kernel::new("add").host(|call: &mut HostCall<'_>| {
    call.update::<u64>()[0] += 1;
});

/// A device that takes a millisecond for each launch.
fn slow(choice: Choice) -> Devices {
    let backend = Simulated::new().launch_time(Duration::from_millis(1));
    let builder = Devices::builder().backend(backend).writes(Writes::Back);
    builder.choice(choice).build().unwrap()
}

/// Adds one, on either side; the CPU side takes so long.
async fn add(devices: &Devices, number: &Buffer<u64>, time: Duration) {
    Dual::new(&STEP, &[1])
        .updates(number)
        .cpu(|| {
            number.write()[0] += 1;
            if !time.is_zero() {
                sleep(time);
            }
        })
        .gpu(async |gpu| gpu.launch(&ADD, [1, 1, 1], &[Arg::update(number)]).await)
        .on(devices)
        .await;
}

/// So many tasks one after the other on each of two rows.
fn rows(devices: &Devices, tasks: u64, time: Duration) {
    roving::Pool::new(2).unwrap().run(|scope| async move {
        let row = || async move {
            let number = Buffer::from(vec![0]);
            for _ in 0..tasks {
                add(devices, &number, time).await;
            }
            assert_eq!(*number.read(), [tasks]);
        };
        let (one, two) = (scope.spawn(row()), scope.spawn(row()));
        one.await;
        two.await;
    });
}

#[test]
fn each_task_is_counted_also_those_that_nobody_planned() {
    within("counted".to_owned(), 60, || {
        for choice in [Choice::Auto, Choice::Cpu] {
            let devices = slow(choice);
            for round in 1..=3 {
                rows(&devices, 5_000, Duration::ZERO);
                let kind = &devices.profile().kinds["step"];
                assert_eq!(kind.cpu_tasks() + kind.gpu_tasks(), round * 10_000);
                assert!(kind.gpu_tasks() <= 3, "{kind:?}");
                let why = if choice == Choice::Cpu {
                    Why::Choice
                } else {
                    Why::Sooner
                };
                assert!(kind.cpu[&why] > round * 10_000 - 10, "{kind:?}");
                assert!(kind.cpu_s > 0.0);
            }
        }
    });
}

#[test]
fn a_side_that_becomes_slow_is_noticed() {
    within("slow".to_owned(), 60, || {
        let devices = slow(Choice::Auto);
        rows(&devices, 1_000, Duration::ZERO);
        let before = devices.profile().kinds["step"].gpu_tasks();
        rows(&devices, 300, Duration::from_millis(20));
        let after = devices.profile().kinds["step"].gpu_tasks();
        assert!(after > before + 100, "{before} {after}");
    });
}

#[test]
fn a_task_without_a_gpu_side_takes_no_notice_of_devices() {
    let devices = slow(Choice::Auto);
    let runs = AtomicU64::new(0);
    let task = || {
        Dual::new(&STEP, &[1]).cpu(|| {
            // Ordering: Relaxed: one thread.
            runs.fetch_add(1, Ordering::Relaxed)
        })
    };
    assert_eq!(task().run(&devices), 0);
    assert_eq!(roving::task::block_on(task().on(&devices)), 1);
    assert!(devices.profile().kinds.is_empty());
    // Where somebody wants to see them, they are seen.
    devices.trace(true);
    assert_eq!(task().run(&devices), 2);
    let kind = &devices.profile().kinds["step"];
    assert_eq!((kind.cpu[&Why::OnlySide], kind.cpu_tasks()), (1, 1));
}

/// On a pool of one worker a guard that waited for a copy would hold up all others; a task that
/// says what it reads is suspended until the copy is there.
#[test]
fn what_is_only_on_a_device_is_fetched_before_a_cpu_side_runs() {
    within("fetched".to_owned(), 60, || {
        let backend = Simulated::new().bytes_per_s(1e6);
        let builder = Devices::builder().backend(backend).writes(Writes::Back);
        let devices = builder.choice(Choice::Gpu).build().unwrap();
        let len = 20_000;
        let number = Buffer::from(vec![0_u64; len]);
        let other = AtomicU64::new(0);
        let (devices, number, other) = (&devices, &number, &other);
        roving::Pool::new(1).unwrap().run(|scope| async move {
            add(devices, number, Duration::ZERO).await;
            let begun = Instant::now();
            let beside = scope.spawn(async move {
                // Ordering: Relaxed, both: one worker.
                other.store(begun.elapsed().as_micros() as u64 + 1, Ordering::Relaxed);
            });
            let sum = Dual::new(&STEP, &[1]).reads(number).cpu(|| {
                assert!(other.load(Ordering::Relaxed) > 0, "the worker was held up");
                number.read()[0]
            });
            assert_eq!(sum.on(devices).await, 1);
            beside.await;
        });
    });
}
