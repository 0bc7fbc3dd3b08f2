//! A task from its first poll to its end, where there are devices.

use std::future::poll_fn;
use std::mem;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::buffer::hold::{Held, Use};
use crate::common::{Common, Fetching, Running};
use crate::device::entry::{Entry, Phase, Task};
use crate::device::{Device, Estimate, Queued};
use crate::devices::Devices;
use crate::error::{DeviceError, TaskError};
use crate::gpu::Gpu;
use crate::history::Side;
use crate::kind::Kind;
use crate::plan::Plan;
use crate::profile::Why;
use crate::sides::sealed::Parts;
use crate::sides::{CpuBox, GpuBox, GpuFuture};

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
    let task = Task {
        kind: kind.name(),
        work,
        uses,
        has_cpu: cpu.is_some(),
        blocks,
    };
    let mut is_by_far = false;
    let why = match gpu {
        None => Why::OnlySide,
        Some(gpu) => match inner.plan(&task) {
            Plan::Cpu(why) => why,
            Plan::CpuByFar(why) => {
                is_by_far = true;
                why
            }
            Plan::Nowhere(failed) => return Err(failed),
            Plan::Device(device, estimate, why) => {
                match fly(&device, &task, &estimate, why, gpu).await {
                    Flight::Landed(result) => {
                        inner.common.count_gpu(task.kind, why);
                        return Ok(result);
                    }
                    Flight::TakenBack => Why::Sooner,
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
    let (result, seconds) = on_host(&inner.common, &task, cpu).await;
    // Those that went by what was said of the last one: this one counts for them.
    let unplanned = inner.settled.untold(kind, work);
    let history = &inner.common.history;
    if unplanned > 0 {
        let all = seconds * unplanned as f64;
        history.spend(task.kind, Side::Cpu, all);
        let why = inner.why_settled();
        inner.common.count_cpu(task.kind, why, unplanned, all);
    }
    if is_by_far {
        // Not for long, in case the tasks become longer.
        let soon = (SETTLED_S / seconds.max(1e-9)) as u32;
        let samples = history.samples(task.kind, Side::Cpu, work);
        inner.settled.settle(kind, work, samples.min(soon));
    }
    inner.common.count_cpu(task.kind, why, 1, seconds);
    inner.common.came(task.kind, work, false, seconds);
    Ok(result)
}

/// That the CPU is sooner by far is not asked again for about so long.
const SETTLED_S: f64 = 10e-3;

/// How a flight ended.
enum Flight<R> {
    Landed(R),
    /// A worker is to run it.
    TakenBack,
    /// On that device.
    Failed(String, DeviceError),
}

/// A task on a device.
async fn fly<R: Send>(
    device: &Arc<Device>,
    task: &Task,
    estimate: &Estimate,
    why: Why,
    gpu: GpuBox<'_, R>,
) -> Flight<R> {
    let held = hold(device, task).await;
    let entry = Entry::new(Arc::clone(device), task, estimate.cost, why, held);
    let leaving = Leaving(&entry);
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
    entry: &'a Arc<Entry>,
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
        // A task that was called in the poll that put it into the queue waits for the next one,
        // which the call has asked for: others that were called before it were only woken, too.
        let may_leave = if mem::replace(&mut self.is_queued, true) {
            Device::take_back(self.entry, false)
        } else {
            let queued = self.entry.device().enqueue(self.entry, self.blocks);
            queued == Queued::Lonely && Device::take_back(self.entry, true)
        };
        if may_leave {
            return Poll::Ready(Flight::TakenBack);
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
struct Leaving<'a>(&'a Arc<Entry>);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        Device::abandon(self.0);
    }
}

/// Waits until nobody else is in the way of what the task does with its buffers, and each is valid
/// on the host or on the device, or on another one that it can be copied from.
async fn hold(device: &Device, task: &Task) -> Held {
    loop {
        let held = poll_fn(|context| Held::poll(&task.uses, context.waker())).await;
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
async fn bring_home(task: &Task, one: &Use) {
    let home = poll_fn(|context| Arc::clone(&one.content).poll_host(context.waker()));
    if let Err(reason) = home.await {
        panic!(
            "task `{}`: the only valid copy of a buffer is lost: {reason}",
            task.kind
        );
    }
}

/// The CPU side.
async fn on_host<R>(common: &Common, task: &Task, cpu: CpuBox<'_, R>) -> (R, f64) {
    let fetching = Fetching::new(common);
    for one in &task.uses {
        if one.access.reads() {
            bring_home(task, one).await;
            continue;
        }
        let (version, host) = one.content.versions();
        if version != host {
            let this = std::slice::from_ref(one);
            let held = poll_fn(|context| Held::poll(this, context.waker())).await;
            one.content.overwritten();
            drop(held);
        }
    }
    let running = Running::new(common, task.kind);
    drop(fetching);
    let result = cpu();
    let (time, is_first) = running.ended(task.work);
    if is_first {
        common.estimate_again(task.kind);
    }
    (result, time.as_secs_f64())
}
