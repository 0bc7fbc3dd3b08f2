//! A task from its first poll to its end, where there are devices.

use std::future::poll_fn;
use std::mem;
use std::slice;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::gpu::Gpu;
use super::sides::sealed::Parts;
use super::sides::{CpuBox, GpuBox, GpuFuture};
use crate::backend::error::DeviceError;
use crate::buffer::hold::{HeldBuffers, Use, WaitingTask};
use crate::common::{Common, Fetching, Running, Sample};
use crate::device::entry::{DeviceEntry, Phase, TaskFacts};
use crate::device::{Device, Estimate, Queued, Taken};
use crate::devices::Devices;
use crate::devices::first_poll::TaskPlan;
use crate::devices::shared::Inner;
use crate::devices::task_error::TaskError;
use crate::history::MeasuredSide;
use crate::history::kind::Kind;
use crate::profile::Why;

pub(crate) async fn drive<R: Send>(
    devices: &Devices,
    kind: &'static Kind,
    work: f64,
    uses: Vec<Use>,
    parts: Parts<'_, R>,
    blocks: bool,
) -> Result<R, TaskError> {
    let Some(inner) = &devices.0 else {
        unreachable!("without devices there is nothing to drive");
    };
    let Parts { cpu, gpu } = parts;
    let task = TaskFacts {
        kind: kind.name(),
        work,
        uses,
        has_cpu: cpu.is_some(),
        blocks,
    };
    let (mut is_by_far, mut sample) = (false, None);
    let why = match gpu {
        None => Why::OnlySide,
        Some(gpu) => match inner.plan(&task) {
            TaskPlan::Cpu(why) => why,
            TaskPlan::CpuByFar(why) => {
                is_by_far = true;
                why
            }
            TaskPlan::CpuSample(first) => {
                sample = Some(first);
                Why::Sample
            }
            TaskPlan::Nowhere(failed) => return Err(failed),
            TaskPlan::Device(device, estimate, why) => {
                match fly(&device, &task, &estimate, why, gpu).await {
                    Flight::Landed(result) => {
                        inner.common.count_gpu(task.kind, why);
                        return Ok(result);
                    }
                    Flight::TakenBack(taken) => {
                        sample = taken.sample;
                        sample.as_ref().map_or(Why::Sooner, |_| Why::Sample)
                    }
                    Flight::Failed(device, error) if cpu.is_none() => {
                        return Err(TaskError {
                            kind: task.kind,
                            device: Some(device),
                            error,
                        });
                    }
                    Flight::Failed(_, error) => Why::Failed(error.cause()),
                }
            }
        },
    };
    let Some(cpu) = cpu else {
        unreachable!("a task without a CPU side is not sent there");
    };
    let (result, seconds) = on_host(&inner.common, &task, cpu, sample).await;
    count(inner, kind, &task, why, is_by_far, seconds);
    Ok(result)
}

/// A task has taken so long on the CPU. `is_by_far`: the next ones like it go there without being
/// planned.
fn count(
    inner: &Inner,
    kind: &'static Kind,
    task: &TaskFacts,
    why: Why,
    is_by_far: bool,
    seconds: f64,
) {
    let work = task.work;
    // Those that went by what was said of the last one: this one counts for them.
    let unplanned = inner.settled.untold(kind, work);
    let history = &inner.common.history;
    if unplanned > 0 {
        let all = seconds * unplanned as f64;
        history.spend(task.kind, MeasuredSide::Cpu, all);
        let why = inner.why_settled();
        inner.common.count_cpu(task.kind, why, unplanned, all);
    }
    if is_by_far {
        // Not for long, in case the tasks become longer.
        let soon = (SETTLED_S / seconds.max(1e-9)) as u32;
        let samples = history.samples(task.kind, MeasuredSide::Cpu, work);
        inner.settled.settle(kind, work, samples.min(soon));
    }
    inner.common.count_cpu(task.kind, why, 1, seconds);
    inner.common.came(task.kind, work, false, seconds);
}

/// That the CPU is sooner by far is not asked again for about so long.
const SETTLED_S: f64 = 10e-3;

/// How a flight ended.
enum Flight<R> {
    Landed(R),
    /// A worker is to run it.
    TakenBack(Taken),
    /// On that device.
    Failed(String, DeviceError),
}

/// A task on a device.
async fn fly<R: Send>(
    device: &Arc<Device>,
    task: &TaskFacts,
    estimate: &Estimate,
    why: Why,
    gpu: GpuBox<'_, R>,
) -> Flight<R> {
    let held = hold(device, task).await;
    let entry = DeviceEntry::new(Arc::clone(device), task, estimate.cost, why, held);
    let leaving = AbandonOnDrop(&entry);
    let mut pilot = Pilot {
        entry: &entry,
        future: Some(gpu(Gpu::new(Arc::clone(&entry)))),
        result: None,
        is_queued: false,
        blocks: task.blocks,
    };
    let flight = poll_fn(|context| pilot.poll(context)).await;
    drop(pilot);
    drop(leaving);
    flight
}

/// A worker's view of a task that is on a device.
struct Pilot<'a, 'f, R> {
    entry: &'a Arc<DeviceEntry>,
    /// The GPU side, until it has ended.
    future: Option<GpuFuture<'f, R>>,
    result: Option<R>,
    is_queued: bool,
    blocks: bool,
}

impl<R> Pilot<'_, '_, R> {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Flight<R>> {
        // Before anything is looked at: what changes later wakes.
        Device::set_waker(self.entry, context.waker());
        let polled = self.future.as_mut();
        match polled.map(|future| future.as_mut().poll(context)) {
            Some(Poll::Ready(outcome)) => {
                self.future = None;
                let closed = outcome.map(|result| self.result = Some(result));
                Device::close(self.entry, closed);
            }
            Some(Poll::Pending) => Device::still_open(self.entry),
            None => {}
        }
        // Its side may have forked, or who polls it.
        if let Some(error) = self.entry.left_behind() {
            let device = self.entry.device().name.clone();
            return Poll::Ready(Flight::Failed(device, error));
        }
        // A task that was called in the poll that put it into the queue waits for the next one,
        // which the call has asked for: others that were called before it were only woken, too.
        let taken = if mem::replace(&mut self.is_queued, true) {
            Device::take_back(self.entry, false)
        } else {
            let queued = self.entry.device().enqueue(self.entry, self.blocks);
            let is_lonely = queued == Queued::Lonely;
            is_lonely
                .then(|| Device::take_back(self.entry, true))
                .flatten()
        };
        if let Some(taken) = taken {
            return Poll::Ready(Flight::TakenBack(taken));
        }
        match self.entry.phase() {
            Phase::Landed => match self.result.take() {
                Some(result) => Poll::Ready(Flight::Landed(result)),
                None => unreachable!("a task lands when its GPU side has ended"),
            },
            Phase::Failed(error) => {
                let device = self.entry.device().name.clone();
                Poll::Ready(Flight::Failed(device, error))
            }
            Phase::Fresh | Phase::Queued | Phase::Flying | Phase::Returned => Poll::Pending,
        }
    }
}

/// When the worker's view ends, early or not, the device hears of it.
struct AbandonOnDrop<'a>(&'a Arc<DeviceEntry>);

impl Drop for AbandonOnDrop<'_> {
    fn drop(&mut self) {
        Device::abandon(self.0);
    }
}

/// Waits until nobody else is in the way of what the task does with its buffers, and each is valid
/// on the host or on the device, or on another one that it can be copied from.
async fn hold(device: &Device, task: &TaskFacts) -> HeldBuffers {
    loop {
        let mut waiting = WaitingTask::new(&task.uses);
        let held = poll_fn(|context| waiting.poll_held(context.waker())).await;
        drop(waiting);
        let elsewhere = task.uses.iter().find(|one| {
            let (version, host) = one.content.versions();
            let is_near = || {
                let content = &one.content;
                device.has(content.id(), version) || device.reaches(&**content, version)
            };
            one.access.reads() && host != version && !is_near()
        });
        let Some(one) = elsewhere else {
            return held;
        };
        drop(held);
        bring_home(task, one).await;
    }
}

/// Waits until the buffer is valid on the host.
async fn bring_home(task: &TaskFacts, one: &Use) {
    let mut waiting = WaitingTask::new(slice::from_ref(one));
    let home = poll_fn(|context| waiting.poll_host(context.waker()));
    if let Err(reason) = home.await {
        panic!(
            "task `{}`: the only valid copy of a buffer is lost: {reason}",
            task.kind
        );
    }
}

/// The CPU side; `sample` is over when it has ended, or will not run.
async fn on_host<R>(
    common: &Arc<Common>,
    task: &TaskFacts,
    cpu: CpuBox<'_, R>,
    sample: Option<Sample>,
) -> (R, f64) {
    let fetching = Fetching::new(common);
    for one in task.uses.iter().filter(|one| one.access.reads()) {
        bring_home(task, one).await;
    }
    // What the side is to write anew counts as written from here on, and nothing is awaited any
    // more: whoever drops the task before this finds the buffers as they were.
    let outdated = |one: &&Use| {
        let (version, host) = one.content.versions();
        !one.access.reads() && version != host
    };
    let mut anew = Anew {
        kind: task.kind,
        uses: task.uses.iter().filter(outdated).cloned().collect(),
        versions: Vec::new(),
    };
    if !anew.uses.is_empty() {
        let mut waiting = WaitingTask::new(&anew.uses);
        let held = poll_fn(|context| waiting.poll_held(context.waker())).await;
        drop(waiting);
        let written = anew.uses.iter().map(|one| one.content.overwritten());
        anew.versions = written.collect();
        drop(held);
    }
    let running = Running::new(common, task.kind, sample);
    drop(fetching);
    let result = cpu();
    anew.versions.clear();
    let time = running.ended(task.work);
    (result, time.as_secs_f64())
}

/// Buffers that a CPU side writes anew, until it has: the numbers that are there are of an older
/// version. If it panics, they are lost as those are of a kernel that fails.
struct Anew {
    kind: &'static str,
    uses: Vec<Use>,
    /// Of each, that which is being written.
    versions: Vec<u64>,
}

impl Drop for Anew {
    fn drop(&mut self) {
        for (one, version) in self.uses.iter().zip(&self.versions) {
            let reason = format!("the CPU side of `{}` has panicked", self.kind);
            one.content.not_overwritten(*version, &reason);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{self, AssertUnwindSafe};
    use std::pin::Pin;
    use std::sync::mpsc::{Sender, channel};
    use std::sync::{Mutex, MutexGuard, PoisonError};
    use std::task::{Wake, Waker};
    use std::thread;
    use std::time::Duration;

    use roving::{Cancel, Pool, context};

    use super::*;
    use crate::history::Known;
    use crate::{Arg, Buffer, Dual, Kernel, Simulated};

    static KEPT: Kind = Kind::new("kept");
    static KIND: Kind = Kind::new("kind");
    static KERNEL: Kernel = Kernel::new("kernel").host(|_| ());

    /// Keeps the kernel of the test that has closed it, and other tests from closing it.
    static GATE: Mutex<()> = Mutex::new(());
    static KEPT_KERNEL: Kernel = Kernel::new("kept").host(|_| drop(close()));
    static BROKEN_KERNEL: Kernel = Kernel::new("broken").host(|_| {
        let _open = close();
        panic!("it is broken")
    });

    fn close() -> MutexGuard<'static, ()> {
        GATE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One on which nothing was measured.
    fn unknown() -> Devices {
        let devices = Devices::builder().backend(Simulated::new().streams(2));
        devices.build().unwrap()
    }

    /// One that is known to take a second for a task that was never measured on the CPU.
    fn devices() -> Devices {
        let devices = unknown();
        let side = MeasuredSide::Device("simulated");
        inner(&devices)
            .common
            .history
            .record("kind", side, 1.0, 1.0);
        devices
    }

    fn inner(devices: &Devices) -> &Inner {
        devices.0.as_ref().unwrap()
    }

    /// How many tasks wait for their buffers, to run on the CPU.
    fn fetching(devices: &Devices) -> usize {
        inner(devices).common.fetching()
    }

    /// The measurements of the kind on the CPU.
    fn known(devices: &Devices) -> Known {
        inner(devices)
            .common
            .history
            .known("kind", MeasuredSide::Cpu, 1.0)
    }

    /// A buffer that only the device has, once its kernel has written it.
    fn kept(devices: &Devices, kernel: &'static Kernel) -> Buffer<u32> {
        let buffer = Buffer::from(vec![1]);
        let task = Dual::new(&KEPT, &[1]).updates(&buffer);
        task.gpu(async |gpu| gpu.launch(kernel, [1, 1, 1], &[Arg::update(&buffer)]).await)
            .run(devices)
            .unwrap();
        buffer
    }

    type Waiting<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

    /// A task that reads that buffer.
    fn reader<'a>(devices: &'a Devices, input: &'a Buffer<u32>, cpu: fn()) -> Waiting<'a> {
        Box::pin(async move {
            let own = Buffer::<u32>::zeroed(1);
            Dual::new(&KIND, &[1])
                .reads(input)
                .updates(&own)
                .cpu(cpu)
                .gpu(async |gpu| gpu.launch(&KERNEL, [1, 1, 1], &[Arg::update(&own)]).await)
                .on(devices)
                .await;
        })
    }

    fn is_pending(task: &mut Waiting<'_>) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        task.as_mut().poll(&mut context).is_pending()
    }

    #[test]
    fn one_task_is_a_sample_while_it_waits_for_its_buffers() {
        let (devices, closed) = (devices(), close());
        let input = kept(&devices, &KEPT_KERNEL);
        let mut tasks: Vec<_> = (0..32).map(|_| reader(&devices, &input, || ())).collect();
        for task in &mut tasks {
            assert!(is_pending(task));
            assert_eq!(fetching(&devices), 1);
        }
        assert!(matches!(known(&devices), Known::AtLeast(_)));
        drop(closed);
        tasks.into_iter().for_each(roving::task::block_on);
        let kinds = devices.profile().kinds;
        assert_eq!(kinds["kind"].cpu[&Why::Sample], 1);
        assert!(matches!(known(&devices), Known::Measured(_)));
    }

    /// In each way in which a task can end before its CPU side runs, and by a panic of that.
    #[test]
    fn a_sample_that_is_not_taken_is_another_tasks() {
        let dropped = |task: Waiting<'_>| drop(task);
        let cancelled = |task: Waiting<'_>| {
            let request = Cancel::new();
            let waits = || {
                let mut task = Box::pin(context::until_cancelled(task));
                let mut poll = || task.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(poll().is_pending());
                request.cancel();
                assert!(matches!(poll(), Poll::Ready(Err(_))));
            };
            let _ = Pool::new(1).unwrap().install(|| request.run_partial(waits));
        };
        let ways: [&dyn Fn(Waiting<'_>); 2] = [&dropped, &cancelled];
        for way in ways {
            let (devices, closed) = (devices(), close());
            let input = kept(&devices, &KEPT_KERNEL);
            let mut first = reader(&devices, &input, || ());
            assert!(is_pending(&mut first) && fetching(&devices) == 1);
            way(first);
            assert_eq!((fetching(&devices), known(&devices)), (0, Known::Nothing));
            let mut second = reader(&devices, &input, || ());
            assert!(is_pending(&mut second) && fetching(&devices) == 1);
            drop(closed);
            roving::task::block_on(second);
            assert!(matches!(known(&devices), Known::Measured(_)));
        }
    }

    #[test]
    fn a_sample_whose_buffer_is_lost_or_whose_side_panics_is_another_tasks() {
        let panics = || panic!("on the CPU");
        let cases: [(&'static Kernel, fn()); 2] = [(&BROKEN_KERNEL, || ()), (&KEPT_KERNEL, panics)];
        for (kernel, cpu) in cases {
            let (devices, closed) = (devices(), close());
            let input = kept(&devices, kernel);
            let mut task = reader(&devices, &input, cpu);
            assert!(is_pending(&mut task));
            assert!(matches!(known(&devices), Known::AtLeast(_)));
            drop(closed);
            let ends = AssertUnwindSafe(|| roving::task::block_on(task));
            assert!(panic::catch_unwind(ends).is_err());
            assert_eq!((fetching(&devices), known(&devices)), (0, Known::Nothing));
            assert_eq!(inner(&devices).common.running(), 0);
        }
    }

    /// Tells which task is to be polled.
    struct Call(usize, Sender<usize>);

    impl Wake for Call {
        fn wake(self: Arc<Self>) {
            let _ = self.1.send(self.0);
        }
    }

    #[test]
    fn a_sample_that_is_not_taken_is_taken_by_a_task_of_the_queue() {
        let (devices, closed) = (unknown(), close());
        let input = kept(&devices, &KEPT_KERNEL);
        let (sender, called) = channel();
        let mut tasks: Vec<_> = (0..6)
            .map(|_| Some(reader(&devices, &input, || ())))
            .collect();
        let poll = |tasks: &mut [Option<Waiting<'_>>], at: usize| {
            let waker = Arc::new(Call(at, sender.clone())).into();
            let task = tasks[at].as_mut().unwrap();
            task.as_mut()
                .poll(&mut Context::from_waker(&waker))
                .is_pending()
        };
        // The first is measured on the device, which is kept, and the second on the CPU.
        (0..6).for_each(|at| assert!(poll(&mut tasks, at)));
        let mut sample = 1;
        for _ in 0..3 {
            assert_eq!(fetching(&devices), 1);
            tasks[sample] = None;
            // Others may be called with it.
            while fetching(&devices) == 0 {
                sample = called.recv_timeout(Duration::from_secs(60)).unwrap();
                if tasks[sample].is_some() && !poll(&mut tasks, sample) {
                    // That which is measured on the device lands ahead of its kernel.
                    tasks[sample] = None;
                }
            }
        }
        drop(closed);
        let left = tasks.into_iter().flatten();
        left.for_each(roving::task::block_on);
        assert_eq!(devices.profile().kinds["kind"].cpu[&Why::Sample], 1);
    }

    /// The sample writes a buffer that a task of the queue reads: the device goes on with that one
    /// as soon as its own is measured.
    #[test]
    fn no_task_of_the_queue_waits_for_a_sample_that_waits_for_it() {
        let (devices, closed) = (unknown(), close());
        let shared = kept(&devices, &KEPT_KERNEL);
        let mut first = reader(&devices, &shared, || ());
        let mut sample: Waiting<'_> = Box::pin(
            Dual::new(&KIND, &[1])
                .writes(&shared)
                .cpu(|| shared.write()[0] = 7)
                .gpu(async |_| unreachable!("it is measured on the CPU"))
                .on(&devices),
        );
        let mut queued = reader(&devices, &shared, || ());
        assert!(is_pending(&mut first) && is_pending(&mut sample));
        assert!(is_pending(&mut queued) && fetching(&devices) == 1);
        let waits = inner(&devices).devices[0].told().1.unwrap();
        assert!(waits.contains("1 wait in its queue"), "{waits}");
        drop(closed);
        thread::scope(|scope| {
            for task in [first, sample, queued] {
                scope.spawn(|| roving::task::block_on(task));
            }
        });
        assert_eq!(*shared.read(), [7]);
    }
}
