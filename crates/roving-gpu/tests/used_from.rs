//! Tasks with two sides, used from closures, from tasks in each way, and from threads that are no
//! workers.

mod common;

use common::{cholesky, cholesky_serial, divide, divide_serial, within};
use roving::Pool;
use roving::task::{Task, branch, call, fork, spawn};
use roving_gpu::{Arg, Buffer, Choice, Devices, Dual, HostCall, Kernel, Kind, Simulated, Writes};

static ADD: Kind = Kind::new("add");
static ADD_KERNEL: Kernel = Kernel::new("add").host(|call: &mut HostCall<'_>| {
    let (out, by) = (call.update::<u32>(), call.value::<u32>());
    out.iter_mut().for_each(|x| *x += by);
});

fn devices(choice: Choice) -> Devices {
    let builder = Devices::builder().backend(Simulated::new());
    builder.choice(choice).build().unwrap()
}

const CHOICES: [Choice; 4] = [Choice::Cpu, Choice::Gpu, Choice::Auto, Choice::Split(0.5)];

/// Calls the test with no device and under each choice, on pools of one and of three.
fn everywhere(test: impl Fn(&Pool, &Devices) + Copy + Send + 'static) {
    within("everywhere".to_owned(), move || {
        for workers in [1, 3] {
            let pool = Pool::new(workers).unwrap();
            test(&pool, &Devices::none());
            CHOICES
                .map(devices)
                .iter()
                .for_each(|devices| test(&pool, devices));
        }
    });
}

/// Each of them is a task that adds.
fn add<'a>(devices: &'a Devices, to: &'a Buffer<u32>, by: u32) -> impl Task<u32> + 'a {
    Dual::new(&ADD, &[to.len()])
        .updates(to)
        .cpu(move || {
            to.write().iter_mut().for_each(|x| *x += by);
            by
        })
        .gpu(async move |gpu| {
            let arguments = [Arg::update(to), Arg::value(&by)];
            gpu.launch(&ADD_KERNEL, [1, 1, 1], &arguments).await?;
            Ok(by)
        })
        .on(devices)
}

fn add_now(devices: &Devices, to: &Buffer<u32>, by: u32) -> u32 {
    Dual::new(&ADD, &[to.len()])
        .updates(to)
        .cpu(|| {
            to.write().iter_mut().for_each(|x| *x += by);
            by
        })
        .gpu(async |gpu| {
            let arguments = [Arg::update(to), Arg::value(&by)];
            gpu.launch(&ADD_KERNEL, [1, 1, 1], &arguments).await?;
            Ok(by)
        })
        .run(devices)
}

#[test]
fn closures_join_and_scope() {
    everywhere(|pool, devices| {
        let buffers: Vec<_> = (0..8).map(|n| Buffer::from(vec![n; 4])).collect();
        pool.install(|| {
            let (a, b) = roving::join(
                || add_now(devices, &buffers[0], 10),
                || add_now(devices, &buffers[1], 20),
            );
            assert_eq!((a, b), (10, 20));
            roving::scope(|scope| {
                for buffer in &buffers[2..] {
                    scope.spawn(move |_| {
                        add_now(devices, buffer, 5);
                        add_now(devices, buffer, 1);
                    });
                }
            });
        });
        assert_eq!((buffers[0].read()[3], buffers[1].read()[3]), (10, 21));
        for (n, buffer) in (2..).zip(&buffers[2..]) {
            assert_eq!(*buffer.read(), [n + 6; 4]);
        }
    });
}

#[test]
fn a_thread_that_is_no_worker() {
    within("no worker".to_owned(), || {
        for choice in CHOICES {
            let (devices, buffer) = (devices(choice), Buffer::from(vec![1]));
            assert_eq!(add_now(&devices, &buffer, 3), 3);
            assert_eq!(buffer.into_vec(), [4]);
        }
    });
}

#[test]
fn tasks_in_each_way() {
    everywhere(|pool, devices| {
        let buffers: Vec<_> = (0..5).map(|_| Buffer::from(vec![0; 3])).collect();
        let all = &buffers;
        pool.run(|scope| async move {
            let forked = scope.fork(add(devices, &all[0], 1)).await;
            let spawned = scope.spawn(add(devices, &all[1], 2));
            let branched = scope.branch(add(devices, &all[2], 3)).await;
            scope.call(add(devices, &all[3], 4)).await;
            add(devices, &all[4], 5).await;
            assert_eq!(forked.await + spawned.await + branched.await, 6);
        });
        let found: Vec<_> = buffers.iter().map(|buffer| buffer.read()[2]).collect();
        assert_eq!(found, [1, 2, 3, 4, 5]);
    });
}

#[test]
fn tasks_that_own_what_they_use() {
    within("owned".to_owned(), || {
        let (devices, buffer) = (devices(Choice::Gpu), Buffer::from(vec![0]));
        let own = |by| {
            let (devices, buffer) = (devices.clone(), buffer.clone());
            async move { add(&devices, &buffer, by).await }
        };
        let sum = roving::task::block_on(async {
            let first = fork(own(1)).await.await;
            let second = spawn(own(2)).await;
            first + second + branch(own(3)).await.await + call(own(4)).await
        });
        assert_eq!((sum, buffer.into_vec()[0]), (10, 10));
    });
}

#[test]
fn a_divide_and_conquer_and_a_decomposition() {
    everywhere(|pool, devices| {
        let out = pool.run(|scope| divide(scope, devices, 5, 1));
        assert_eq!(out.into_vec(), divide_serial(5, 1));
        assert_eq!(cholesky(pool, devices), cholesky_serial());
    });
}

#[test]
fn a_cpu_side_that_is_parallel_and_runs_tasks_of_its_own() {
    everywhere(|pool, devices| {
        let (outer, inner) = (Buffer::from(vec![1; 64]), Buffer::from(vec![0]));
        pool.install(|| {
            Dual::new(&ADD, &[64])
                .updates(&outer)
                .cpu(|| {
                    add_now(devices, &inner, 1);
                    roving::par_chunks_mut(&mut outer.write(), 8, |_, part| {
                        part.iter_mut().for_each(|x| *x += 1);
                    });
                })
                .run(devices);
        });
        assert_eq!((outer.into_vec(), inner.into_vec()), (vec![2; 64], vec![1]));
    });
}

#[test]
fn tasks_that_want_the_same_buffer_take_turns() {
    everywhere(|pool, devices| {
        let buffer = Buffer::from(vec![0; 2]);
        let one = &buffer;
        pool.run(|scope| async move {
            let all: Vec<_> = (1..=20)
                .map(|by| scope.spawn(add(devices, one, by)))
                .collect();
            for task in all {
                task.await;
            }
        });
        assert_eq!(buffer.into_vec(), [210, 210]);
    });
}

#[test]
fn buffers_are_fetched_when_the_host_wants_them() {
    within("fetched".to_owned(), || {
        let builder = Devices::builder().backend(Simulated::new());
        let builder = builder.choice(Choice::Gpu).writes(Writes::Back);
        let devices = builder.build().unwrap();
        let buffer = Buffer::from(vec![1_u32; 8]);
        add_now(&devices, &buffer, 1);
        assert_eq!(devices.profile().devices[0].downloads, 0);
        // On a thread, on a worker, and by a task that only has a CPU side.
        assert_eq!(*buffer.read(), [2; 8]);
        add_now(&devices, &buffer, 1);
        let pool = Pool::new(1).unwrap();
        assert_eq!(pool.install(|| buffer.read()[0]), 3);
        add_now(&devices, &buffer, 1);
        Dual::new(&ADD, &[8])
            .updates(&buffer)
            .cpu(|| buffer.write()[0] = 9)
            .run(&devices);
        assert_eq!((buffer.read()[0], buffer.read()[7]), (9, 4));
        add_now(&devices, &buffer, 1);
        let downloads = devices.profile().devices[0].downloads;
        // What is written all over is not fetched first.
        Dual::new(&ADD, &[8])
            .writes(&buffer)
            .cpu(|| buffer.write().fill(7))
            .run(&devices);
        assert_eq!(devices.profile().devices[0].downloads, downloads);
        assert_eq!(buffer.into_vec(), [7; 8]);
    });
}

#[test]
fn closures_that_all_block_on_a_device_that_is_slower() {
    for workers in [1, 2] {
        within(format!("{workers} workers"), move || {
            let backend = Simulated::new().launch_time(std::time::Duration::from_millis(1));
            let devices = Devices::builder().backend(backend).build().unwrap();
            let pool = Pool::new(workers).unwrap();
            let buffers: Vec<_> = (0..60).map(|n| Buffer::from(vec![n; 4])).collect();
            pool.install(|| {
                roving::scope(|scope| {
                    for buffer in &buffers {
                        let devices = &devices;
                        scope.spawn(move |_| {
                            add_now(devices, buffer, 1);
                        });
                    }
                });
                // One after the other, each alone.
                for buffer in &buffers {
                    add_now(&devices, buffer, 1);
                }
            });
            for (n, buffer) in (0..).zip(buffers) {
                assert_eq!(buffer.into_vec(), [n + 2; 4]);
            }
        });
    }
}
