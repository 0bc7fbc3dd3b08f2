//! Tasks that end otherwise than by doing what they should: dropped at each stage, by a panic,
//! without a device, and with devices that are dropped while work is in flight.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use common::{poll, soon, within};
use roving_gpu::{
    Arg, Buffer, Cause, Choice, Devices, Dual, Failure, Gauge, HostCall, Kernel, Kind, Simulated,
    Why, Writes,
};

static STEP: Kind = Kind::new("step");
static ADD_ONE: Kernel = Kernel::new("add one").host(|call: &mut HostCall<'_>| {
    call.update::<u32>().iter_mut().for_each(|x| *x += 1);
});
static BROKEN: Kernel = Kernel::new("broken").host(|_: &mut HostCall<'_>| panic!("it is broken"));
static NOWHERE: Kernel = Kernel::new("nowhere");

fn slow(choice: Choice) -> (Devices, Gauge) {
    let backend = Simulated::new().launch_time(Duration::from_millis(1));
    let gauge = backend.gauge();
    let devices = Devices::builder()
        .backend(backend)
        .choice(choice)
        .build()
        .unwrap();
    (devices, gauge)
}

#[test]
fn dropped_at_each_stage() {
    within("dropped".to_owned(), || {
        for writes in [Writes::Through, Writes::Back] {
            for stage in 0..30 {
                let backend = Simulated::new().launch_time(Duration::from_micros(300));
                let gauge = backend.gauge();
                let builder = Devices::builder().backend(backend).writes(writes);
                let devices = builder.choice(Choice::Gpu).build().unwrap();
                let buffer = Buffer::from(vec![5_u32; 4]);
                let mut task = Dual::new(&STEP, &[4])
                    .updates(&buffer)
                    .cpu(|| ())
                    .gpu(async |gpu| {
                        gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&buffer)])
                            .await?;
                        gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&buffer)])
                            .await
                    })
                    .on(&devices);
                // Stage 0 is never polled; the others are dropped a little later each.
                for _ in 0..stage {
                    if poll(&mut task).is_ready() {
                        break;
                    }
                    std::thread::sleep(Duration::from_micros(100));
                }
                drop(task);
                // Whatever was done is a whole number of launches, and the buffer is free.
                let found = buffer.read()[0];
                assert!((5..=7).contains(&found), "{found}");
                assert_eq!(*buffer.read(), [found; 4]);
                drop(buffer);
                soon("memory is freed", || gauge.pieces() == 0);
            }
        }
    });
}

/// A launch may be awaited elsewhere than in the GPU side that made it.
#[test]
fn who_awaits_a_launch_hears_that_its_task_has_left_the_queue() {
    within("launches".to_owned(), || {
        let backend = Simulated::new().launch_time(Duration::from_millis(100));
        let builder = Devices::builder().backend(backend).choice(Choice::Gpu);
        let devices = builder.window(1).build().unwrap();
        let buffers = [(); 2].map(|()| Buffer::from(vec![5_u32; 4]));
        let mut first = Dual::new(&STEP, &[4])
            .updates(&buffers[0])
            .gpu(async |gpu| {
                for _ in 0..3 {
                    gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&buffers[0])])
                        .await?;
                }
                Ok(())
            })
            .on(&devices);
        assert!(poll(&mut first).is_pending());
        let (tell, told) = std::sync::mpsc::channel();
        let mut second = Dual::new(&STEP, &[4])
            .updates(&buffers[1])
            .gpu(async |gpu| {
                let launch = gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&buffers[1])]);
                tell.send(launch).unwrap();
                std::future::pending::<Result<(), _>>().await
            })
            .on(&devices);
        assert!(poll(&mut second).is_pending());
        let launch = told.try_recv().expect("its GPU side has begun");
        let waits = std::thread::spawn(move || roving::task::block_on(launch));
        // It mostly waits by then.
        std::thread::sleep(Duration::from_millis(10));
        drop(second);
        assert!(waits.join().unwrap().is_err());
        roving::task::block_on(first).unwrap();
        assert_eq!(*buffers[1].read(), [5; 4]);
    });
}

/// The CPU side is to write one buffer anew, and waits for another one.
#[test]
fn dropped_while_what_it_reads_is_fetched() {
    static FILL: Kernel = Kernel::new("fill").host(|call: &mut HostCall<'_>| {
        call.update::<u32>().fill(1);
    });
    static FILL_SLOWLY: Kernel = Kernel::new("fill slowly").host(|call: &mut HostCall<'_>| {
        std::thread::sleep(Duration::from_millis(100));
        call.update::<u32>().fill(2);
    });
    within("fetched".to_owned(), || {
        let devices = Devices::builder().backend(Simulated::new());
        let devices = devices.choice(Choice::Gpu).build().unwrap();
        let (written, read) = (Buffer::from(vec![0_u32; 4]), Buffer::from(vec![0_u32; 4]));
        let fill = |buffer: &Buffer<u32>, kernel| {
            Dual::new(&STEP, &[4])
                .writes(buffer)
                .gpu(async |gpu| gpu.launch(kernel, [1, 1, 1], &[Arg::update(buffer)]).await)
                .run(&devices)
                .unwrap();
        };
        fill(&written, &FILL);
        devices.wait();
        fill(&read, &FILL_SLOWLY);
        let mut task = Dual::new(&STEP, &[1])
            .reads(&read)
            .writes(&written)
            .cpu(|| written.write().fill(9))
            .on(&devices);
        assert!(poll(&mut task).is_pending());
        drop(task);
        assert_eq!(*written.read(), [1; 4]);
        assert_eq!(*read.read(), [2; 4]);
    });
}

#[test]
fn dropped_in_the_queue() {
    within("queue".to_owned(), || {
        let (devices, gauge) = slow(Choice::Gpu);
        let buffers: Vec<_> = (0..20).map(|_| Buffer::from(vec![0_u32])).collect();
        let mut tasks: Vec<_> = buffers
            .iter()
            .map(|buffer| {
                let task = Dual::new(&STEP, &[1]).updates(buffer).cpu(|| ());
                let side = async move |gpu: roving_gpu::Gpu| {
                    gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(buffer)])
                        .await
                };
                task.gpu(side).on(&devices)
            })
            .collect();
        tasks
            .iter_mut()
            .for_each(|task| assert!(poll(task).is_pending()));
        // Every second one is taken out of the middle.
        let mut kept = Vec::new();
        for (at, task) in tasks.into_iter().enumerate() {
            if at % 2 == 0 {
                kept.push(task);
            }
        }
        for task in kept {
            roving::task::block_on(task);
        }
        for (at, buffer) in buffers.into_iter().enumerate() {
            let found = buffer.into_vec()[0];
            assert!(found == 1 || (at % 2 == 1 && found == 0), "{at}: {found}");
        }
        soon("memory is freed", || gauge.pieces() == 0);
    });
}

#[cfg_attr(roving_asan, ignore = "the leak is the point")]
#[test]
fn a_task_that_is_forgotten_is_only_a_leak() {
    within("forgotten".to_owned(), || {
        let (devices, _) = slow(Choice::Gpu);
        let buffer = Buffer::from(vec![1_u32]);
        let mut task = Dual::new(&STEP, &[1])
            .updates(&buffer)
            .cpu(|| ())
            .gpu(async |gpu| {
                gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&buffer)])
                    .await
            })
            .on(&devices);
        assert!(poll(&mut task).is_pending());
        std::mem::forget(task);
        let other = Buffer::from(vec![1_u32]);
        Dual::new(&STEP, &[1])
            .updates(&other)
            .cpu(|| other.write()[0] = 2)
            .run(&devices);
        assert_eq!(other.into_vec(), [2]);
    });
}

#[test]
fn devices_dropped_while_work_is_in_flight() {
    within("devices".to_owned(), || {
        for wait_us in [0, 200, 1500, 4000] {
            let (devices, gauge) = slow(Choice::Gpu);
            let buffers: Vec<_> = (0..10).map(|_| Buffer::from(vec![1_u32])).collect();
            for buffer in &buffers {
                let mut task = Dual::new(&STEP, &[1])
                    .updates(buffer)
                    .cpu(|| ())
                    .gpu(async |gpu| {
                        gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(buffer)])
                            .await
                    })
                    .on(&devices);
                assert!(poll(&mut task).is_pending());
            }
            std::thread::sleep(Duration::from_micros(wait_us));
            drop(devices);
            for buffer in buffers {
                assert!((1..=2).contains(&buffer.into_vec()[0]));
            }
            soon("memory is freed", || gauge.pieces() == 0);
        }
    });
}

#[test]
fn a_write_back_copy_outlives_the_handle_of_its_device() {
    within("outlives".to_owned(), || {
        let builder = Devices::builder()
            .backend(Simulated::new())
            .writes(Writes::Back);
        let devices = builder.choice(Choice::Gpu).build().unwrap();
        let buffer = Buffer::from(vec![1_u32]);
        Dual::new(&STEP, &[1])
            .updates(&buffer)
            .cpu(|| ())
            .gpu(async |gpu| {
                gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&buffer)])
                    .await
            })
            .run(&devices);
        drop(devices);
        assert_eq!(buffer.into_vec(), [2]);
    });
}

fn message(run: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
    let text = payload.downcast_ref::<String>().cloned();
    text.unwrap_or_else(|| (*payload.downcast_ref::<&str>().unwrap()).to_owned())
}

#[test]
fn panics_reach_whoever_waits() {
    within("panics".to_owned(), || {
        for devices in [Devices::none(), slow(Choice::Cpu).0, slow(Choice::Auto).0] {
            let task = Dual::new(&STEP, &[1]).cpu(|| panic!("CPU side"));
            assert_eq!(message(|| task.run(&devices)), "CPU side");
            let task = Dual::new(&STEP, &[1]).cpu(|| 7);
            assert_eq!(task.run(&devices), 7);
        }
        let (devices, gauge) = slow(Choice::Gpu);
        let buffer = Buffer::from(vec![1_u32]);
        let task = Dual::new(&STEP, &[1])
            .updates(&buffer)
            .cpu(|| ())
            .gpu(async |gpu| {
                drop(gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&buffer)]));
                panic!("GPU side")
            });
        assert_eq!(message(|| task.run(&devices)), "GPU side");
        // The buffer is free again, and nothing was written.
        assert_eq!(buffer.into_vec(), [1]);
        soon("memory is freed", || gauge.pieces() == 0);
    });
}

#[test]
fn launches_of_what_was_not_declared_are_told() {
    within("declared".to_owned(), || {
        let (devices, _) = slow(Choice::Gpu);
        let (buffer, other) = (Buffer::from(vec![1_u32]), Buffer::from(vec![1_u32]));
        let text = message(|| {
            let task = Dual::new(&STEP, &[1]).reads(&buffer).cpu(|| ());
            task.gpu(async |gpu| {
                gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&buffer)])
                    .await
            })
            .run(&devices);
        });
        assert!(text.contains("`step`") && text.contains("`add one`") && text.contains("updates"));
        let text = message(|| {
            let task = Dual::new(&STEP, &[1]).reads(&buffer).cpu(|| ());
            task.gpu(async |gpu| gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::read(&other)]).await)
                .run(&devices);
        });
        assert!(text.contains("declare"), "{text}");
    });
}

#[test]
fn a_kernel_that_fails_is_not_tried_again_where_there_is_a_cpu_side() {
    within("kernels".to_owned(), || {
        for kernel in [&BROKEN, &NOWHERE] {
            let builder = Devices::builder().backend(Simulated::new());
            let builder = builder.choice(Choice::Gpu).writes(Writes::Through);
            let devices = builder.build().unwrap();
            let buffer = Buffer::from(vec![1_u32]);
            let run = || {
                Dual::new(&STEP, &[1])
                    .updates(&buffer)
                    .cpu(|| buffer.write()[0] += 10)
                    .gpu(async |gpu| gpu.launch(kernel, [1, 1, 1], &[Arg::update(&buffer)]).await)
                    .run(&devices);
            };
            run();
            run();
            assert_eq!(*buffer.read(), [21]);
            let profile = devices.profile();
            assert_eq!(profile.devices[0].launches, 1);
            assert_eq!(profile.kinds["step"].cpu[&Why::Failed(Cause::Kernel)], 2);
            assert_eq!(profile.reports.len(), 1, "{:?}", profile.reports);
            assert!(
                profile.reports[0].contains(kernel.name()),
                "{:?}",
                profile.reports
            );
        }
    });
}

#[test]
fn a_task_without_a_cpu_side_gives_an_error_that_names_all() {
    within("errors".to_owned(), || {
        let backend = Simulated::new().name("toy").fail_at(2, Failure::Lost);
        let builder = Devices::builder().backend(backend);
        let devices = builder.writes(Writes::Through).build().unwrap();
        let buffer = Buffer::from(vec![1_u32]);
        let run = || {
            let task = Dual::new(&STEP, &[1]).updates(&buffer);
            task.gpu(async |gpu| {
                gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&buffer)])
                    .await
            })
            .run(&devices)
        };
        for _ in 0..2 {
            let failed = run().unwrap_err();
            assert_eq!((failed.kind(), failed.device()), ("step", Some("toy")));
            assert_eq!(failed.cause(), Cause::Lost);
            let text = failed.to_string();
            assert!(text.contains("toy") && text.contains("lost") && !text.contains('\n'));
        }
        assert_eq!(buffer.into_vec(), [1]);
        let backend = Simulated::new().memory_bytes(8);
        let devices = Devices::builder()
            .backend(backend)
            .choice(Choice::Cpu)
            .build()
            .unwrap();
        let (small, large) = (Buffer::from(vec![1_u32]), Buffer::from(vec![1_u32; 3]));
        let task = |buffer: &Buffer<u32>| {
            let task = Dual::new(&STEP, &[1]).updates(buffer);
            task.gpu(async |gpu| {
                gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(buffer)])
                    .await
            })
            .run(&devices)
        };
        // The choice is between two sides; with one there is none.
        assert_eq!(task(&small), Ok(()));
        assert_eq!(task(&large).unwrap_err().cause(), Cause::OutOfMemory);
        assert_eq!((small.into_vec(), large.into_vec()), (vec![2], vec![1; 3]));
    });
}

#[test]
fn what_only_a_lost_device_had_is_told() {
    within("lost".to_owned(), || {
        // Memory, a copy there, a launch; then the copy back fails.
        let backend = Simulated::new().name("toy").fail_at(3, Failure::Lost);
        let builder = Devices::builder().backend(backend).writes(Writes::Back);
        let devices = builder.choice(Choice::Gpu).build().unwrap();
        let buffer = Buffer::from(vec![1_u32]);
        Dual::new(&STEP, &[1])
            .updates(&buffer)
            .cpu(|| ())
            .gpu(async |gpu| {
                gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&buffer)])
                    .await
            })
            .run(&devices);
        let text = message(|| drop(buffer.read()));
        assert!(text.contains("lost") && text.contains("toy"), "{text}");
        let text = message(|| {
            Dual::new(&STEP, &[1])
                .reads(&buffer)
                .cpu(|| ())
                .run(&devices);
        });
        assert!(text.contains("`step`") && text.contains("toy"), "{text}");
        // It can be written anew.
        Dual::new(&STEP, &[1])
            .writes(&buffer)
            .cpu(|| buffer.write()[0] = 3)
            .run(&devices);
        assert_eq!(buffer.into_vec(), [3]);
    });
}

#[test]
fn a_gpu_side_may_wait_for_something_else() {
    within("waits".to_owned(), || {
        let (devices, _) = slow(Choice::Gpu);
        let (outer, inner) = (Buffer::from(vec![1_u32]), Buffer::from(vec![1_u32]));
        let task = Dual::new(&STEP, &[1]).updates(&outer).cpu(|| ());
        task.gpu(async |gpu| {
            gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&outer)])
                .await?;
            Dual::new(&STEP, &[1])
                .updates(&inner)
                .cpu(|| ())
                .gpu(async |gpu| {
                    gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&inner)])
                        .await
                })
                .on(&devices)
                .await;
            gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&outer)])
                .await
        })
        .run(&devices);
        assert_eq!((outer.into_vec(), inner.into_vec()), (vec![3], vec![2]));
    });
}

#[test]
fn guards_keep_tasks_waiting_and_not_for_longer() {
    within("guards".to_owned(), || {
        let (devices, _) = slow(Choice::Gpu);
        let buffer = Arc::new(Buffer::from(vec![1_u32]));
        let guard = buffer.write();
        let waiting = Arc::clone(&buffer);
        let thread = std::thread::spawn(move || {
            let task = Dual::new(&STEP, &[1]).updates(&*waiting).cpu(|| ());
            let task = task.gpu(async |gpu| {
                gpu.launch(&ADD_ONE, [1, 1, 1], &[Arg::update(&*waiting)])
                    .await
            });
            roving::task::block_on(async { pin!(task.on(&devices)).await });
        });
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(guard[0], 1);
        drop(guard);
        thread.join().unwrap();
        assert_eq!(*buffer.read(), [2]);
    });
}
