//! The behaviour of `Choice::Auto` where each task is followed by another, and where tasks of one
//! size differ. The device is simulated, and kept at work by a gate, or by times that nobody waits
//! for: what is chosen does not hang on how fast the machine is.

mod common;

use std::collections::BTreeSet;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::thread::sleep;
use std::time::Duration;

use common::{Gate, Known, SAMPLES, Times, poll, within};
use roving::Cancel;
use roving_gpu::{
    Arg, Buffer, Choice, Devices, Dual, Gpu, HostCall, Kernel, Kind, Simulated, Writes,
};

static NAP: Kind = Kind::new("nap");
static NAP_KERNEL: Kernel = Kernel::new("nap").host(|_: &mut HostCall<'_>| ());

/// A millisecond on the CPU.
async fn nap(devices: &Devices, kernel: &'static Kernel) {
    nap_on(&Buffer::zeroed(1), devices, kernel).await;
}

async fn nap_on(buffer: &Buffer<u32>, devices: &Devices, kernel: &'static Kernel) {
    Dual::new(&NAP, &[1])
        .updates(buffer)
        .cpu(|| sleep(Duration::from_millis(1)))
        .gpu(async |gpu| gpu.launch(kernel, [1, 1, 1], &[Arg::update(buffer)]).await)
        .on(devices)
        .await;
}

fn devices(backend: Simulated) -> Devices {
    let builder = Devices::builder().backend(backend);
    builder.writes(Writes::Through).build().unwrap()
}

/// Tells which task is to be polled.
struct Call(usize, Sender<usize>);

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        let _ = self.1.send(self.0);
    }
}

#[test]
fn workers_begin_with_the_oldest() {
    static GATE: Gate = Gate::new();
    static KEPT: Kernel = Kernel::new("kept").host(|_: &mut HostCall<'_>| GATE.pass());
    within("oldest".to_owned(), || {
        let devices = devices(Simulated::new());
        let closed = GATE.close();
        let (sender, called) = channel();
        let mut tasks: Vec<_> = (0..8).map(|_| Box::pin(nap(&devices, &KEPT))).collect();
        // On its only worker it is polled, and looked for in the queue.
        let pool = roving::Pool::new(1).unwrap();
        let mut ends = |at: usize| {
            let waker = Arc::new(Call(at, sender.clone())).into();
            tasks[at]
                .as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_ready()
        };
        // One goes to the device to be measured, and one is measured here; the others wait in the
        // queue.
        pool.install(|| (0..8).for_each(|at| assert_eq!(ends(at), at == 1)));
        let mut order = Vec::new();
        while order.len() < 6 {
            let at = called.recv().unwrap();
            if pool.install(|| ends(at)) {
                order.push(at);
            }
        }
        assert_eq!(order, [2, 3, 4, 5, 6, 7]);
        drop((tasks, closed));
    });
}

/// Workers look at the queue for the tasks of a cancelled request, and then for those of others.
#[test]
fn workers_look_for_tasks_though_a_request_was_cancelled() {
    static GATE: Gate = Gate::new();
    static KEPT: Kernel = Kernel::new("kept").host(|_: &mut HostCall<'_>| GATE.pass());
    within("a cancelled request".to_owned(), || {
        let devices = devices(Simulated::new());
        let closed = GATE.close();
        let (sender, called) = channel();
        let mut tasks: Vec<_> = (0..8).map(|_| Box::pin(nap(&devices, &KEPT))).collect();
        let pool = roving::Pool::new(1).unwrap();
        let mut ends = |at: usize| {
            let waker = Arc::new(Call(at, sender.clone())).into();
            let mut context = Context::from_waker(&waker);
            tasks[at].as_mut().poll(&mut context).is_ready()
        };
        for (polled, is_cancelled) in [(0..4, true), (4..8, false)] {
            let request = Cancel::new();
            // One goes to the device, one is measured here; the others wait in the queue.
            let poll = || {
                if is_cancelled {
                    request.cancel();
                }
                let mut polled = polled.clone();
                polled.all(|at| ends(at) == (at == 1))
            };
            assert_eq!(pool.install(|| request.run_partial(poll)), Ok(true));
            // The device is kept, so that only a worker can take them.
            for at in polled.filter(|at| *at > 1) {
                let next = called.recv_timeout(Duration::from_secs(60));
                assert_eq!(next, Ok(at), "no worker has looked at the queue");
                assert!(pool.install(|| ends(at)));
            }
        }
        drop((tasks, closed));
    });
}

/// Nothing is on the device, and nothing runs: who else waits for a worker waits for nothing that
/// one of them does.
#[test]
fn a_task_that_is_called_and_not_polled_keeps_no_other_waiting() {
    within("kept".to_owned(), || {
        let known = [
            Known::of("cpu", SAMPLES, 1.0),
            Known::of("simulated", SAMPLES, 10.0),
        ];
        let times = Times::of("kept", &NAP, &known);
        let builder = Devices::builder().backend(Simulated::new());
        let devices = builder.history(times.path()).build().unwrap();
        let (sender, called) = channel();
        let task = |_| Box::pin(nap(&devices, &NAP_KERNEL));
        let mut tasks: Vec<_> = (0..4).map(task).collect();
        let pool = roving::Pool::new(1).unwrap();
        let mut ends = |at: usize| {
            let waker = Arc::new(Call(at, sender.clone())).into();
            let mut context = Context::from_waker(&waker);
            tasks[at].as_mut().poll(&mut context).is_ready()
        };
        // Its only worker looks at the queue when all of these are there.
        pool.install(|| (0..3).for_each(|at| assert!(!ends(at))));
        let kept = called.recv().unwrap();
        let mut left = BTreeSet::from([0, 1, 2]);
        left.remove(&kept);
        while !left.is_empty() {
            let at = called.recv_timeout(Duration::from_secs(60));
            let at = at.expect("a worker is asked");
            if pool.install(|| ends(at)) {
                left.remove(&at);
            }
        }
        // One that comes later is not alone, and its turn comes as well.
        assert!(!pool.install(|| ends(3)));
        assert_eq!(called.recv(), Ok(3));
        assert!(pool.install(|| ends(3)));
        assert!(pool.install(|| ends(kept)));
    });
}

/// A device that gets new ones without end comes to the oldest all the same.
#[test]
fn tasks_without_a_cpu_side_begin_with_the_oldest() {
    static ORDER: Mutex<Vec<u32>> = Mutex::new(Vec::new());
    static GATE: Gate = Gate::new();
    static KEPT: Kernel = Kernel::new("kept").host(|call: &mut HostCall<'_>| {
        ORDER.lock().unwrap().push(call.update::<u32>()[0]);
        GATE.pass();
    });
    within("oldest".to_owned(), || {
        let devices = devices(Simulated::new().streams(1));
        let numbers: Vec<_> = (0..6).map(|n| Buffer::from(vec![n])).collect();
        let closed = GATE.close();
        let mut tasks = Vec::new();
        for number in &numbers {
            let task = Dual::new(&NAP, &[1]).updates(number);
            let side = async |gpu: Gpu| gpu.launch(&KEPT, [1, 1, 1], &[Arg::update(number)]).await;
            tasks.push(Box::pin(task.gpu(side).on(&devices)));
        }
        for task in &mut tasks {
            assert!(poll(task).is_pending());
        }
        drop(closed);
        for task in tasks {
            roving::task::block_on(task).unwrap();
        }
        assert_eq!(*ORDER.lock().unwrap(), [0, 1, 2, 3, 4, 5]);
    });
}

/// Others look at the queue while tasks are put there. A task that they call at once waits as the
/// older ones do that they have called before.
#[test]
fn no_task_runs_in_the_poll_that_put_it_into_the_queue() {
    static GATE: Gate = Gate::new();
    static KEPT: Kernel = Kernel::new("kept").host(|_: &mut HostCall<'_>| GATE.pass());
    within("at once".to_owned(), || {
        for _ in 0..10 {
            let devices = devices(Simulated::new());
            let closed = GATE.close();
            let mut tasks: Vec<_> = (0..64).map(|_| Box::pin(nap(&devices, &KEPT))).collect();
            let mut context = Context::from_waker(Waker::noop());
            for (at, task) in tasks.iter_mut().enumerate() {
                let ends = task.as_mut().poll(&mut context).is_ready();
                assert_eq!(ends, at == 1, "{at}");
            }
            drop((tasks, closed));
        }
    });
}

#[test]
fn a_slow_side_begins_nothing_that_may_be_the_last_to_end() {
    within("uneven".to_owned(), || {
        // By the mean the device would be done with one in 38 s, and the workers with all in 120.
        let known = |side, mean, most| Known {
            side,
            samples: SAMPLES,
            mean,
            most,
        };
        let known = [known("cpu", 4.0, 4.0), known("simulated", 38.0, 600.0)];
        let times = Times::of("uneven", &NAP, &known);
        let builder = Devices::builder().backend(Simulated::new());
        let devices = builder.history(times.path()).build().unwrap();
        let with = &devices;
        roving::Pool::new(2).unwrap().run(|scope| async move {
            let tasks = (0..60).map(|_| scope.spawn(nap(with, &NAP_KERNEL)));
            for task in tasks.collect::<Vec<_>>() {
                task.await;
            }
        });
        let kind = &devices.profile().kinds["nap"];
        assert_eq!((kind.cpu_tasks(), kind.gpu_tasks()), (60, 0));
    });
}

/// A chain lands ahead of its kernels, one task after the other. What is aboard is done there in
/// any case, so where a worker may be sooner the rest of the chain waits in the queue.
#[test]
fn no_more_of_a_chain_is_aboard_than_there_are_streams() {
    static GATE: Gate = Gate::new();
    static KEPT: Kernel = Kernel::new("kept").host(|_: &mut HostCall<'_>| GATE.pass());
    within("aboard".to_owned(), || {
        let known = |side, mean| Known {
            side,
            samples: SAMPLES,
            mean,
            most: mean,
        };
        for (choice, aboard) in [(Choice::Auto, 2), (Choice::Gpu, 6)] {
            let times = Times::of(
                "aboard",
                &NAP,
                &[known("cpu", 100.0), known("simulated", 1.0)],
            );
            let builder = Devices::builder().backend(Simulated::new().streams(2));
            let devices = builder.choice(choice).history(times.path()).build();
            let devices = devices.unwrap();
            let (buffer, closed) = (Buffer::zeroed(1), GATE.close());
            let mut context = Context::from_waker(Waker::noop());
            let task = |_| Box::pin(nap_on(&buffer, &devices, &KEPT));
            let mut tasks: Vec<_> = (0..6).map(task).collect();
            let mut ended = 0;
            for task in &mut tasks {
                // The first poll queues the kernel, and the next one ends.
                let first = task.as_mut().poll(&mut context).is_ready();
                let ends = !first && task.as_mut().poll(&mut context).is_ready();
                ended += u64::from(ends);
            }
            let launches = devices.profile().devices[0].launches;
            assert_eq!((ended, launches), (aboard, aboard), "{choice}");
            drop((tasks, closed));
        }
    });
}

/// A device is known by the times of few tasks, and those were cheap: no more are aboard than the
/// root of how many were measured, however short they are said to be, for what is aboard is done
/// there in any case.
#[test]
fn no_more_of_a_kind_is_aboard_than_was_measured() {
    static GATE: Gate = Gate::new();
    static KEPT: Kernel = Kernel::new("kept").host(|_: &mut HostCall<'_>| GATE.pass());
    within("measured".to_owned(), || {
        for (samples, aboard) in [(1, 1), (3, 2), (9, 3), (SAMPLES, 8)] {
            let known = [
                Known::of("cpu", SAMPLES, 100.0),
                Known::of("simulated", samples, 1e-6),
            ];
            let times = Times::of("measured", &NAP, &known);
            let builder = Devices::builder().backend(Simulated::new().streams(2));
            let devices = builder.history(times.path()).build().unwrap();
            let closed = GATE.close();
            let mut context = Context::from_waker(Waker::noop());
            let mut tasks: Vec<_> = (0..8).map(|_| Box::pin(nap(&devices, &KEPT))).collect();
            for task in &mut tasks {
                assert!(task.as_mut().poll(&mut context).is_pending());
            }
            let launches = devices.profile().devices[0].launches;
            assert_eq!(launches, aboard, "of {samples}");
            drop(closed);
            tasks.into_iter().for_each(roving::task::block_on);
            assert_eq!(devices.profile().kinds["nap"].gpu_tasks(), 8);
        }
    });
}
