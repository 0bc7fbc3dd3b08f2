//! Where a task goes when it is polled first.

use std::sync::Arc;

use super::shared::Inner;
use super::task_error::TaskError;
use crate::backend::error::DeviceError;
use crate::common::Sample;
use crate::common::choice::Choice;
use crate::device::auto::{self, Destination};
use crate::device::entry::TaskFacts;
use crate::device::{Device, Estimate};
use crate::history::{Known, MeasuredSide};
use crate::profile::Why;
use crate::profile::explained::Expected;

/// Where a task goes, with what it needs there.
pub(crate) enum TaskPlan {
    /// Here, at once.
    Cpu(Why),
    /// Here, at once, as do the next tasks like it without being planned.
    CpuByFar(Why),
    /// Here, to be measured for the first time.
    CpuSample(Sample),
    Device(Arc<Device>, Estimate, Why),
    /// It has no CPU side, and no device can have it.
    Nowhere(TaskError),
}

impl Inner {
    pub(crate) fn plan(&self, task: &TaskFacts) -> TaskPlan {
        self.common.check_process();
        self.common.see_pool();
        let choice = self.common.choice;
        if task.has_cpu {
            match choice {
                Choice::Cpu => return self.as_chosen(task),
                Choice::Split(share) if !self.shares.to_device(task.kind, task.work, share) => {
                    return TaskPlan::Cpu(Why::Choice);
                }
                Choice::Split(_) | Choice::Gpu | Choice::Auto => {}
            }
        }
        let cpu = self
            .common
            .history
            .known(task.kind, MeasuredSide::Cpu, task.work);
        let (device, estimate) = match self.best_device(task, cpu) {
            Ok(best) => best,
            Err(_) if task.has_cpu && choice == Choice::Cpu => return TaskPlan::Cpu(Why::Choice),
            Err((_, error)) if task.has_cpu => return TaskPlan::Cpu(Why::Failed(error.cause())),
            Err((device, error)) => {
                return TaskPlan::Nowhere(TaskError {
                    kind: task.kind,
                    device,
                    error,
                });
            }
        };
        if !task.has_cpu {
            return TaskPlan::Device(device, estimate, Why::OnlySide);
        }
        if choice != Choice::Auto {
            return TaskPlan::Device(device, estimate, Why::Choice);
        }
        let (load, ahead) = (&estimate.cost.load, estimate.ahead_s);
        if let (Known::Measured(took), Known::Measured(_)) = (cpu, estimate.known) {
            let expected = Expected {
                cpu: took.mean,
                device: load.alone(),
                ahead,
            };
            self.common.expect(task.kind, task.work, expected);
        }
        // A device on the workers' cores costs as many of them as it takes.
        let again_s = load.alone() * estimate.cores;
        match auto::place(cpu, estimate.known, load, ahead, estimate.cores) {
            Destination::Cpu if self.is_due(task, MeasuredSide::Device(&device.name), again_s) => {
                TaskPlan::Device(device, estimate, Why::Sample)
            }
            Destination::Cpu if self.is_by_far(task, cpu) => TaskPlan::CpuByFar(Why::Sooner),
            Destination::Cpu => TaskPlan::Cpu(Why::Sooner),
            Destination::Device if self.is_due(task, MeasuredSide::Cpu, cpu.took().mean) => {
                TaskPlan::Cpu(Why::Sample)
            }
            Destination::CpuSample => match Sample::first(&self.common, task.kind) {
                Some(sample) => TaskPlan::CpuSample(sample),
                // Another one has become that meanwhile.
                None => TaskPlan::Device(device, estimate, Why::Sooner),
            },
            Destination::Device => TaskPlan::Device(device, estimate, Why::Sooner),
            Destination::DeviceSample => TaskPlan::Device(device, estimate, Why::Sample),
        }
    }

    /// All tasks go to the CPU. The short ones are measured now and then; long ones each time, for
    /// runs that have the choice.
    fn as_chosen(&self, task: &TaskFacts) -> TaskPlan {
        let cpu = self
            .common
            .history
            .known(task.kind, MeasuredSide::Cpu, task.work);
        if auto::is_short(cpu) {
            TaskPlan::CpuByFar(Why::Choice)
        } else {
            TaskPlan::Cpu(Why::Choice)
        }
    }

    /// Whether no device that takes such a task is worth a thought.
    fn is_by_far(&self, task: &TaskFacts, cpu: Known) -> bool {
        self.devices.iter().all(|device| {
            let known = device.known(task.kind, task.work);
            auto::is_by_far(cpu, known)
                || device
                    .refusal(task.kind, &task.uses, task.has_cpu)
                    .is_some()
        })
    }

    /// Why tasks go to the CPU that were not planned.
    pub(crate) fn why_settled(&self) -> Why {
        match self.common.choice {
            Choice::Cpu => Why::Choice,
            Choice::Gpu | Choice::Auto | Choice::Split(_) => Why::Sooner,
        }
    }

    /// Counts the tasks that were not planned.
    pub(crate) fn tell_settled(&self) {
        let why = self.why_settled();
        for untold in self.settled.all_untold() {
            let (kind, tasks) = (untold.kind.name(), untold.tasks);
            let took = self
                .common
                .history
                .known(kind, MeasuredSide::Cpu, untold.work);
            let seconds = took.took().mean * tasks as f64;
            self.common.history.spend(kind, MeasuredSide::Cpu, seconds);
            self.common.count_cpu(kind, why, tasks, seconds);
        }
    }

    fn is_due(&self, task: &TaskFacts, side: MeasuredSide<'_>, seconds: f64) -> bool {
        self.common.history.is_due(task.kind, side, seconds)
    }

    /// The device that would be done first; one of which nothing is known before all others.
    fn best_device(
        &self,
        task: &TaskFacts,
        cpu: Known,
    ) -> Result<(Arc<Device>, Estimate), (Option<String>, DeviceError)> {
        let mut best: Option<(Arc<Device>, Estimate)> = None;
        let mut refused = None;
        for device in &self.devices {
            if let Some(error) = device.refusal(task.kind, &task.uses, task.has_cpu) {
                refused = Some((Some(device.name.clone()), error));
                continue;
            }
            let estimate = device.estimate(task, cpu);
            let is_better = best.as_ref().is_none_or(|(_, best)| {
                estimate.known == Known::Nothing || estimate.finish_s() < best.finish_s()
            });
            if is_better {
                best = Some((Arc::clone(device), estimate));
            }
        }
        best.ok_or_else(|| refused.unwrap_or_else(|| (None, TaskError::no_device(task.kind).error)))
    }
}
