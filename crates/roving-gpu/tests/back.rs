//! Write-back: where the only valid copy of a buffer is on a device, that copy is not lost as long
//! as the device is not.

mod common;

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::{Duration, Instant};

use common::numbers::{
    ADD_ONE, BYTES, LEN, OTHER, STEP, add, added_on, buffer, devices, failing, told,
};
use common::{Gate, poll, within};
use roving_gpu::{
    Access, AnyBuffer, Arg, Buffer, Cause, Dual, Failure, Gpu, HostCall, Kernel, Kind, Simulated,
};

static NOWHERE: Kernel = Kernel::new("nowhere");
static COPY: Kernel = Kernel::new("copy").host(|call: &mut HostCall<'_>| {
    let from = call.read::<u32>();
    call.update::<u32>().copy_from_slice(from);
});
static FILL: Kernel = Kernel::new("fill").host(|call: &mut HostCall<'_>| {
    call.update::<u32>().fill(7);
});

#[test]
fn a_kernel_that_is_refused_leaves_what_it_was_to_update() {
    within("refused".to_owned(), || {
        let (devices, numbers) = added_on(Simulated::new());
        // The device has the only valid copy.
        add(&devices, &OTHER, &NOWHERE, &numbers);
        assert_eq!(*numbers.read(), [12; LEN]);
        assert_eq!(devices.profile().devices[0].failures[&Cause::Kernel], 1);
    });
}

#[test]
fn a_kernel_that_is_refused_leaves_what_it_was_to_write() {
    within("refused".to_owned(), || {
        let (devices, numbers) = added_on(Simulated::new());
        let task = Dual::new(&OTHER, &[LEN]).writes(&numbers);
        let side = async |gpu: Gpu| {
            let arguments = [Arg::update(&numbers)];
            gpu.launch(&NOWHERE, [1, 1, 1], &arguments).await
        };
        assert!(task.gpu(side).run(&devices).is_err());
        assert_eq!(numbers.into_vec(), [2; LEN]);
    });
}

#[test]
fn a_task_that_waits_on_the_device_for_something_else_keeps_nobody_from_the_cpu() {
    within("away".to_owned(), || {
        let devices = devices(Simulated::new().memory_bytes(BYTES));
        let (held, other) = (buffer(), buffer());
        let mut never = Dual::new(&STEP, &[LEN])
            .updates(&held)
            .cpu(|| ())
            .gpu(async |_gpu| {
                std::future::pending::<()>().await;
                Ok(())
            })
            .on(&devices);
        assert!(poll(&mut never).is_pending());
        // There is no memory beside that, and there never will be.
        add(&devices, &STEP, &ADD_ONE, &other);
        drop(never);
        assert_eq!(other.into_vec(), [11; LEN]);
        assert_eq!(held.into_vec(), [1; LEN]);
    });
}

#[test]
fn a_task_whose_device_is_lost_while_it_waits_runs_on_the_cpu() {
    within("lost while away".to_owned(), || {
        // The next task finds no device.
        let devices = devices(failing(Simulated::new(), Failure::Lost, 1));
        let (numbers, other) = (buffer(), buffer());
        Dual::new(&STEP, &[LEN])
            .updates(&numbers)
            .cpu(|| numbers.write().iter_mut().for_each(|x| *x += 10))
            .gpu(async |gpu| {
                gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&numbers)])
                    .await?;
                let next = Dual::new(&OTHER, &[LEN])
                    .updates(&other)
                    .cpu(|| ())
                    .gpu(async |gpu| {
                        let arguments = [Arg::update(&other)];
                        gpu.launch(&ADD_ONE, [1, 1, 1], &arguments).await
                    })
                    .on(&devices);
                pin!(next).await;
                Ok(())
            })
            .run(&devices);
        assert!(devices.profile().devices[0].is_lost);
        assert_eq!(numbers.into_vec(), [11; LEN]);
    });
}

const LAUNCH: Duration = Duration::from_millis(2);

#[test]
fn a_chain_is_queued_without_waiting_for_the_device() {
    static GATE: Gate = Gate::new();
    static FIRST: Kernel = Kernel::new("first").host(|call: &mut HostCall<'_>| {
        GATE.pass();
        call.update::<u32>().iter_mut().for_each(|x| *x += 1);
    });
    within("chain".to_owned(), || {
        let devices = devices(Simulated::new().launch_time(LAUNCH));
        let numbers = buffer();
        let start = Instant::now();
        let closed = GATE.close();
        add(&devices, &STEP, &FIRST, &numbers);
        // A host that waited for any of them would wait for ever.
        for _ in 1..20 {
            add(&devices, &STEP, &ADD_ONE, &numbers);
        }
        closed.wait();
        drop(closed);
        assert_eq!(*numbers.read(), [21; LEN]);
        assert!(start.elapsed() >= 20 * LAUNCH);
        let profile = devices.profile();
        let device = &profile.devices[0];
        assert_eq!(
            (device.uploads, device.launches, device.downloads),
            (1, 20, 1)
        );
    });
}

/// On a stream of its own each buffer is counted up; then all are added up, which has to follow all
/// of those streams.
#[test]
fn what_depends_on_several_streams_follows_them_all() {
    static SUM: Kernel = Kernel::new("sum").host(|call: &mut HostCall<'_>| {
        let sum: u32 = (0..4).map(|_| call.read::<u32>()[0]).sum();
        call.update::<u32>()[0] += sum;
    });
    within("streams".to_owned(), || {
        let backend = Simulated::new().launch_time(LAUNCH).streams(4);
        let devices = devices(backend);
        let parts = [(); 4].map(|()| buffer());
        let total = Buffer::from(vec![0_u32]);
        let mut expected = 0;
        for round in 1..=5 {
            for part in &parts {
                (0..3).for_each(|_| add(&devices, &STEP, &ADD_ONE, part));
            }
            let task = Dual::new(&OTHER, &[1])
                .uses_all(
                    parts
                        .iter()
                        .map(|part| (part as &dyn AnyBuffer, Access::Read)),
                )
                .updates(&total);
            let side = async |gpu: Gpu| {
                let mut arguments: Vec<_> = parts.iter().map(|part| Arg::read(part)).collect();
                arguments.push(Arg::update(&total));
                gpu.launch(&SUM, [1, 1, 1], &arguments).await
            };
            task.gpu(side).run(&devices).unwrap();
            expected += 4 * (1 + 3 * round);
        }
        assert_eq!(*total.read(), [expected]);
        assert_eq!(devices.profile().devices[0].downloads, 1);
    });
}

#[test]
fn a_kernel_that_fails_after_its_task_spoils_what_came_after_and_nothing_else() {
    static GATE: Gate = Gate::new();
    static FIRST: Kernel = Kernel::new("first").host(|call: &mut HostCall<'_>| {
        GATE.pass();
        call.update::<u32>().iter_mut().for_each(|x| *x += 1);
    });
    within("behind".to_owned(), || {
        // Memory, a copy there, and the third launch fails: of a chain of five.
        let devices = devices(Simulated::new().fail_at(4, Failure::Kernel));
        let (numbers, other) = (buffer(), buffer());
        // All are queued before that.
        let closed = GATE.close();
        add(&devices, &STEP, &FIRST, &numbers);
        (1..5).for_each(|_| add(&devices, &STEP, &ADD_ONE, &numbers));
        add(&devices, &OTHER, &ADD_ONE, &other);
        drop(closed);
        let lost = told(|| drop(numbers.read()));
        assert!(
            lost.contains("lost") && lost.contains("as planned"),
            "{lost}"
        );
        assert_eq!(*other.read(), [2; LEN]);
        let profile = devices.profile();
        assert_eq!(profile.devices[0].failures, [(Cause::Kernel, 1)].into());
        assert_eq!(profile.reports.len(), 1);
        // It is written anew, on the CPU: that kind has failed there.
        let task = Dual::new(&STEP, &[LEN]).writes(&numbers);
        task.cpu(|| numbers.write().fill(7)).run(&devices);
        add(&devices, &STEP, &ADD_ONE, &numbers);
        assert_eq!(*numbers.read(), [17; LEN]);
    });
}

/// Who reads what the kernel was to write has lost it, and who writes all of it anew has not.
#[test]
fn a_kernel_that_fails_after_its_task_spoils_nothing_that_is_written_anew() {
    static GATE: Gate = Gate::new();
    static FIRST: Kernel = Kernel::new("first").host(|_: &mut HostCall<'_>| GATE.pass());
    within("anew".to_owned(), || {
        // Memory, a copy there, and the second launch fails.
        let devices = devices(Simulated::new().fail_at(3, Failure::Kernel));
        let [numbers, copy, other] = [(); 3].map(|()| buffer());
        let run = |task: Use<'_>, kernel, arguments: &[Arg<'_>]| {
            let side = async |gpu: Gpu| gpu.launch(kernel, [1, 1, 1], arguments).await;
            Dual::new(&STEP, &[LEN])
                .uses_all(task.iter().copied())
                .gpu(side)
                .run(&devices)
                .unwrap();
        };
        type Use<'a> = &'a [(&'a dyn AnyBuffer, Access)];
        // All are queued before that.
        let closed = GATE.close();
        add(&devices, &STEP, &FIRST, &numbers);
        add(&devices, &STEP, &ADD_ONE, &numbers);
        let copied = |to| {
            let uses: Use<'_> = &[(&numbers, Access::Read), (to, Access::Write)];
            run(uses, &COPY, &[Arg::read(&numbers), Arg::update(to)]);
        };
        copied(&copy);
        run(
            &[(&numbers, Access::Write)],
            &FILL,
            &[Arg::update(&numbers)],
        );
        add(&devices, &STEP, &ADD_ONE, &numbers);
        copied(&other);
        drop(closed);
        assert_eq!(
            (&*numbers.read(), &*other.read()),
            (&[8; LEN][..], &[8; LEN][..])
        );
        let lost = told(|| drop(copy.read()));
        assert!(lost.contains("as planned"), "{lost}");
    });
}

/// Its numbers on the host are of an older version: they are not valid because a side has ended
/// that was to write them.
#[test]
fn a_cpu_side_that_panics_leaves_nothing_that_was_before_what_it_was_to_write() {
    within("panics".to_owned(), || {
        let (devices, numbers) = added_on(Simulated::new());
        let half = || numbers.write()[..LEN / 2].fill(7);
        let sides: [&(dyn Fn() + Sync); 2] = [&|| panic!("at once"), &|| {
            half();
            panic!("half way")
        }];
        for side in sides {
            let task = Dual::new(&OTHER, &[LEN]).writes(&numbers).cpu(side);
            let why = told(|| task.run(&devices));
            assert!(why == "at once" || why == "half way", "{why}");
            let lost = told(|| drop(numbers.read()));
            assert!(lost.contains("lost") && lost.contains("`other`"), "{lost}");
            // The next one writes it anew.
            let task = Dual::new(&OTHER, &[LEN]).writes(&numbers);
            task.cpu(|| numbers.write().fill(1)).run(&devices);
            add(&devices, &STEP, &ADD_ONE, &numbers);
        }
        assert_eq!(*numbers.read(), [2; LEN]);
    });
}

#[test]
fn the_host_may_write_what_a_queued_task_still_reads() {
    within("reads".to_owned(), || {
        let devices = devices(Simulated::new().launch_time(LAUNCH));
        let source = buffer();
        let copies: Vec<_> = (0..8).map(|n| Buffer::from(vec![n; LEN])).collect();
        for (round, copy) in copies.iter().enumerate() {
            // The copy of the last round is queued, and so is the upload before it.
            source.write().fill(round as u32 * 10);
            let task = Dual::new(&STEP, &[LEN]).reads(&source).writes(copy);
            let side = async |gpu: Gpu| {
                let arguments = [Arg::read(&source), Arg::update(copy)];
                gpu.launch(&COPY, [1, 1, 1], &arguments).await
            };
            task.gpu(side).run(&devices).unwrap();
        }
        for (round, copy) in copies.into_iter().enumerate() {
            assert_eq!(copy.into_vec(), [round as u32 * 10; LEN]);
        }
    });
}

/// The copy to the device fails, and a task that needed it has landed already. Until its kernel has
/// ended nobody knows yet what is lost; who asks meanwhile waits for that.
#[test]
fn who_asks_between_a_copy_that_failed_and_the_kernel_behind_it_hears_of_the_copy() {
    static GATES: [Gate; 2] = [Gate::new(), Gate::new()];
    static FIRST: Kernel = Kernel::new("first").host(|_: &mut HostCall<'_>| GATES[0].pass());
    static KEPT: Kernel = Kernel::new("kept").host(|_: &mut HostCall<'_>| GATES[1].pass());
    for failure in [Failure::Kernel, Failure::OutOfMemory] {
        within(format!("between: {failure:?}"), move || {
            // Memory, a copy there and a launch; then memory, and the copy there.
            let devices = devices(Simulated::new().fail_at(4, failure));
            let (other, numbers) = (buffer(), buffer());
            let [first, closed] = [GATES[0].close(), GATES[1].close()];
            // While it is in there the device does nothing else, and what fails has landed before.
            add(&devices, &OTHER, &FIRST, &other);
            first.wait();
            add(&devices, &STEP, &KEPT, &numbers);
            drop(first);
            // The kernel has begun, so the copy has ended.
            closed.wait();
            let cpu = || numbers.read()[0];
            let mut asks = Box::pin(
                Dual::new(&OTHER, &[1])
                    .reads(&numbers)
                    .cpu(cpu)
                    .on(&devices),
            );
            for _ in 0..3 {
                assert!(poll(&mut asks).is_pending());
            }
            drop(closed);
            let asked = || roving::task::block_on(asks);
            let reasons = [told(|| _ = asked()), told(|| drop(numbers.read()))];
            assert!(
                reasons.iter().all(|one| one.contains("as planned")),
                "{reasons:?}"
            );
        });
    }
}

/// A kernel finds what a copy has left that failed, and fails. The copy is the reason that is told,
/// and the kernel's kind goes to that device all the same.
#[test]
fn a_kernel_behind_a_failure_is_not_to_blame() {
    static GATE: Gate = Gate::new();
    static FIRST: Kernel = Kernel::new("first").host(|_: &mut HostCall<'_>| GATE.pass());
    static SANE: Kernel = Kernel::new("sane").host(|call: &mut HostCall<'_>| {
        assert_eq!(call.update::<u32>(), [2; LEN], "it is not sane");
    });
    static CHECK: Kind = Kind::new("check");
    for failure in [Failure::Kernel, Failure::OutOfMemory] {
        within(format!("blame: {failure:?}"), move || {
            // Memory, a copy there and a launch; then memory, and the copy there.
            let devices = devices(Simulated::new().fail_at(4, failure));
            let (other, numbers) = (buffer(), buffer());
            let closed = GATE.close();
            add(&devices, &OTHER, &FIRST, &other);
            closed.wait();
            add(&devices, &STEP, &ADD_ONE, &numbers);
            add(&devices, &CHECK, &SANE, &numbers);
            drop(closed);
            let lost = told(|| drop(numbers.read()));
            assert!(lost.contains("as planned"), "{lost}");
            devices.wait();
            let failures = devices.profile().devices[0].failures.clone();
            assert_eq!(failures.values().sum::<u64>(), 1, "{failures:?}");
            let sane = Buffer::from(vec![2; LEN]);
            add(&devices, &CHECK, &SANE, &sane);
            assert_eq!(sane.into_vec(), [2; LEN]);
        });
    }
}

/// Nothing is left of what a task was to write all over, once a kernel has begun with it.
#[test]
fn what_was_to_be_written_all_over_is_lost_with_the_reason() {
    within("all over".to_owned(), || {
        let (devices, numbers) = added_on(Simulated::new());
        let task = Dual::new(&OTHER, &[LEN]).writes(&numbers);
        let side = async |gpu: Gpu| {
            let arguments = [Arg::update(&numbers)];
            gpu.launch(&ADD_ONE, [1, 1, 1], &arguments).await?;
            gpu.launch(&NOWHERE, [1, 1, 1], &arguments).await
        };
        assert!(task.gpu(side).run(&devices).is_err());
        let lost = told(|| drop(numbers.read()));
        assert!(lost.contains("`nowhere`"), "{lost}");
        // The next one writes it all over.
        let task = Dual::new(&STEP, &[LEN]).writes(&numbers);
        task.cpu(|| numbers.write().fill(7)).run(&devices);
        assert_eq!(numbers.into_vec(), [7; LEN]);
    });
}

/// Each comes once, however often it was asked for, and the guards wait for no other copy.
#[test]
fn what_is_fetched_comes_without_a_guard() {
    within("fetched".to_owned(), || {
        let devices = devices(Simulated::new());
        let down = || devices.profile().devices[0].bytes_down;
        let all: Vec<Buffer<u32>> = (0..8).map(|_| buffer()).collect();
        for round in 1..=2 {
            all.iter()
                .for_each(|one| add(&devices, &STEP, &ADD_ONE, one));
            devices.wait();
            assert_eq!(down(), (round - 1) * 8 * BYTES, "nobody has asked for it");
            all.iter().chain(&all).for_each(Buffer::fetch);
            while down() < round * 8 * BYTES {
                std::thread::yield_now();
            }
            for one in &all {
                assert_eq!(*one.read(), [1 + round as u32; LEN]);
            }
            assert_eq!(down(), round * 8 * BYTES);
        }
        // At home, beside guards of both kinds.
        let (reader, writer) = (all[0].read(), all[1].write());
        all.iter().for_each(Buffer::fetch);
        drop((reader, writer));
        all.iter().for_each(|one| drop(one.write()));
    });
}

/// To ask for what is lost is no mistake; to need it is.
#[test]
fn what_is_lost_is_told_by_a_guard_and_not_by_a_fetch() {
    within("lost".to_owned(), || {
        let (devices, numbers) = added_on(Simulated::new());
        let task = Dual::new(&OTHER, &[LEN]).writes(&numbers);
        let side = async |gpu: Gpu| {
            let arguments = [Arg::update(&numbers)];
            gpu.launch(&ADD_ONE, [1, 1, 1], &arguments).await?;
            gpu.launch(&NOWHERE, [1, 1, 1], &arguments).await
        };
        assert!(task.gpu(side).run(&devices).is_err());
        numbers.fetch();
        assert!(told(|| drop(numbers.read())).contains("`nowhere`"));
    });
}

/// A task that writes it is under way, and waits for something else.
#[test]
fn what_is_being_written_is_not_fetched() {
    within("written".to_owned(), || {
        let (devices, numbers) = added_on(Simulated::new());
        let downloads = || devices.profile().devices[0].downloads;
        let goes_on = AtomicBool::new(false);
        let task = Dual::new(&OTHER, &[LEN]).updates(&numbers);
        let side = async |gpu: Gpu| {
            // Ordering: Relaxed, here and below: one thread.
            let is_so = || goes_on.load(Ordering::Relaxed).then_some(());
            poll_fn(|_| is_so().map_or(Poll::Pending, Poll::Ready)).await;
            gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&numbers)])
                .await
        };
        let mut task = Box::pin(task.gpu(side).on(&devices));
        assert!(poll(&mut task).is_pending());
        numbers.fetch();
        assert_eq!(downloads(), 0);
        goes_on.store(true, Ordering::Relaxed);
        roving::task::block_on(task).unwrap();
        assert_eq!(downloads(), 0);
        (0..2).for_each(|_| numbers.fetch());
        assert_eq!(*numbers.read(), [3; LEN]);
        assert_eq!(downloads(), 1);
    });
}
