//! Tasks for which there is nothing to decide: they cost next to nothing, and are counted and
//! looked at again all the same.

mod common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::Duration;

use common::{Gate, Known, SAMPLES, Times, within};
use roving_gpu::{
    Arg, Buffer, Choice, Devices, Dual, HostCall, Kernel, Kind, Simulated, Why, Writes,
};

static STEP: Kind = Kind::new("step");
static ADD: Kernel = Kernel::new("add").host(|call: &mut HostCall<'_>| {
    call.update::<u64>()[0] += 1;
});

/// Devices that know of few tasks that each took a microsecond on the CPU, and of many that took so
/// many seconds there.
fn devices(choice: Choice, name: &str, on_device_s: f64) -> (Times, Devices) {
    let known = [
        Known::of("cpu", 10, 1e-6),
        Known::of("simulated", SAMPLES, on_device_s),
    ];
    let times = Times::of(name, &STEP, &known);
    let builder = Devices::builder().backend(Simulated::new());
    let builder = builder.history(times.path()).writes(Writes::Back);
    let devices = builder.choice(choice).build().unwrap();
    assert!(devices.profile().reports.is_empty());
    (times, devices)
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
    within("counted".to_owned(), || {
        for choice in [Choice::Auto, Choice::Cpu] {
            // As if a device took minutes: the CPU is sooner also where it has to wait.
            let (_times, devices) = devices(choice, "counted", 1e3);
            for round in 1..=3 {
                rows(&devices, 5_000, Duration::ZERO);
                let kind = &devices.profile().kinds["step"];
                let why = if choice == Choice::Cpu {
                    Why::Choice
                } else {
                    Why::Sooner
                };
                assert_eq!(kind.cpu, [(why, round * 10_000)].into(), "{kind:?}");
                assert_eq!(kind.gpu_tasks(), 0, "{kind:?}");
                assert!(kind.cpu_s > 0.0);
            }
        }
    });
}

#[test]
fn a_side_that_becomes_slow_is_noticed() {
    within("slow".to_owned(), || {
        let (_times, devices) = devices(Choice::Auto, "slow", 2e-4);
        rows(&devices, 1_000, Duration::ZERO);
        let before = devices.profile().kinds["step"].gpu_tasks();
        // A hundred times what the device takes; by what was known at most 255 are not decided.
        rows(&devices, 300, Duration::from_millis(20));
        let after = devices.profile().kinds["step"].gpu_tasks();
        assert!(after > before + 100, "{before} {after}");
    });
}

#[test]
fn a_task_without_a_gpu_side_takes_no_notice_of_devices() {
    let (_times, devices) = devices(Choice::Auto, "one side", 1e3);
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
    within("fetched".to_owned(), || {
        static GATE: Gate = Gate::new();
        static ADD_BEHIND: Kernel = Kernel::new("add behind").host(|call: &mut HostCall<'_>| {
            GATE.pass();
            call.update::<u64>()[0] += 1;
        });
        let builder = Devices::builder().backend(Simulated::new());
        let builder = builder.choice(Choice::Gpu).writes(Writes::Back);
        let devices = builder.build().unwrap();
        let number = Buffer::from(vec![0_u64]);
        let (devices, number) = (&devices, &number);
        let closed = GATE.close();
        roving::Pool::new(1).unwrap().run(|scope| async move {
            Dual::new(&STEP, &[1])
                .updates(number)
                .gpu(async |gpu| {
                    let arguments = [Arg::update(number)];
                    gpu.launch(&ADD_BEHIND, [1, 1, 1], &arguments).await
                })
                .on(devices)
                .await
                .unwrap();
            // There is no copy before this ran: a worker that is held up hangs.
            let beside = scope.spawn(async move { drop(closed) });
            let sum = Dual::new(&STEP, &[1])
                .reads(number)
                .cpu(|| number.read()[0]);
            assert_eq!(sum.on(devices).await, 1);
            beside.await;
        });
    });
}
