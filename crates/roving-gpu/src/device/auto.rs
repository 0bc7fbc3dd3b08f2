//! The choice between the two sides, as functions of what is known.
//!
//! A task for which both sides are worth a thought goes into the queue of a device as soon as a
//! worker polls it. So the queue shows how much there is to do. From there two take it: the device,
//! when a stream is free, the task of the highest gain ([`admits`]); and a worker that has nothing
//! else to do, that of the lowest ([`takes`]). Both ask who would be done first, and both go by the
//! mean of what is waiting, but by the longest of what they would begin: in a kind whose tasks of
//! one size differ much, that one may be the last to end.
//!
//! Where each task is followed by another, the queue never shows them all. A queue that is refilled
//! as fast as it is emptied is expected to go on so until as much again has come as is there: if
//! that is wrong, a worker that took a task has delayed the end by no more than what was there.

use super::load::Load;
use crate::history::Known;
use crate::history::law::Took;

/// A task that takes less on the CPU does not wait for anybody: seconds.
const AT_ONCE_S: f64 = 30e-6;
/// A device that is slower by more than this is no help.
const FAR: f64 = 16.0;

/// Where a task goes that is polled first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destination {
    Cpu,
    Device,
    /// To the side of which nothing is known yet.
    CpuSample,
    DeviceSample,
}

/// `load` is the task's own; `ahead_s` is what the device does before it; `cores` is how many cores
/// the device takes away from the workers that could use them, at least 1.
pub(crate) fn place(
    cpu: Known,
    device: Known,
    load: &Load,
    ahead_s: f64,
    cores: f64,
) -> Destination {
    match (cpu, device) {
        (_, Known::Nothing) => Destination::DeviceSample,
        (Known::Nothing, _) => Destination::CpuSample,
        (Known::AtLeast(_), _) => Destination::Device,
        (Known::Measured(_), Known::AtLeast(_)) if is_short(cpu) => Destination::Cpu,
        (Known::Measured(_), Known::AtLeast(_)) => Destination::Device,
        (Known::Measured(cpu), Known::Measured(_)) => {
            let (cpu, device) = (cpu.mean, load.alone() * cores);
            let far = cpu < AT_ONCE_S || device > FAR * cpu;
            if ahead_s + device > cpu && far {
                Destination::Cpu
            } else {
                Destination::Device
            }
        }
    }
}

/// Whether a worker at once is so much sooner than a device that nothing which changes from task to
/// task makes up for it: not even a device that is idle and has all that the kernel reads.
pub(crate) fn is_by_far(cpu: Known, device: Known) -> bool {
    let (Known::Measured(cpu), Known::Measured(device)) = (cpu, device) else {
        return false;
    };
    let is_far = cpu.mean < AT_ONCE_S || device.mean > FAR * cpu.mean;
    is_far && device.mean > cpu.mean
}

/// Whether a task is so short that it is not worth a thought.
pub(crate) fn is_short(cpu: Known) -> bool {
    matches!(cpu, Known::Measured(took) if took.mean < AT_ONCE_S)
}

/// The work under way when the next task is chosen.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Standing {
    /// The rest of the work that the device has taken.
    pub(crate) flying: Took,
    /// All that is in its queue.
    pub(crate) queue: Load,
    /// The work that is expected to follow: as much as is there now, or less; seconds.
    pub(crate) coming: f64,
    /// How many tasks each free worker has before it, of those that were taken and wait for their
    /// buffers: whole ones.
    pub(crate) taken: f64,
    pub(crate) workers: f64,
    /// It computes on the workers' cores. Then what matters is which side takes less of them, and
    /// not who is free.
    pub(crate) shares_cores: bool,
    /// See [`place`].
    pub(crate) cores: f64,
}

/// Whether the device is to take a task of its queue: it is done with it before the CPU would be,
/// if it had to do all that is in the queue.
pub(crate) fn admits(cpu: Known, device: Known, load: &Load, standing: &Standing) -> bool {
    match (cpu, device) {
        // One at a time until it is known what it takes.
        (_, Known::AtLeast(_)) => false,
        (Known::Measured(cpu), Known::Measured(_)) if standing.shares_cores => {
            load.alone() * standing.cores <= cpu.mean
        }
        (Known::Measured(cpu), Known::Measured(_)) => {
            let others = standing.queue.cpu / standing.workers;
            standing.flying.mean + load.alone() <= cpu.mean
                || standing.flying.most + load.alone_most() <= others
        }
        _ => true,
    }
}

/// Whether a worker that is free is to take a task, the last one in the queue, and has what it
/// reads after so many seconds: it is done with it before the device would be. It begins with those
/// that were taken before, which are expected to take as long each.
pub(crate) fn takes(
    cpu: Known,
    device: Known,
    load: &Load,
    wait_s: f64,
    standing: &Standing,
) -> bool {
    match cpu {
        Known::Nothing => true,
        Known::AtLeast(_) => false,
        // Nobody knows how long the device takes: better not to wait for it.
        Known::Measured(_) if !matches!(device, Known::Measured(_)) => true,
        Known::Measured(cpu) if standing.shares_cores => cpu.mean <= load.alone() * standing.cores,
        Known::Measured(cpu) => {
            let (alone, queue) = (load.alone(), standing.queue.overlapped());
            let begins = wait_s.max(standing.taken * cpu.mean);
            begins + cpu.mean <= standing.flying.mean + alone
                || begins + cpu.most <= standing.flying.mean + alone.max(queue) + standing.coming
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(kernel: f64, cpu: f64) -> Load {
        Load::default().priced(measured(cpu), measured(kernel))
    }

    fn measured(seconds: f64) -> Known {
        Known::Measured(Took {
            mean: seconds,
            most: seconds,
        })
    }

    fn standing(flying: f64, queued: usize, each: Load) -> Standing {
        let mut queue = Load::default();
        (0..queued).for_each(|_| queue.add(&each));
        Standing {
            flying: measured(flying).took(),
            queue,
            coming: 0.0,
            taken: 0.0,
            workers: 2.0,
            shares_cores: false,
            cores: 1.0,
        }
    }

    fn both(load: &Load) -> (Known, Known) {
        (measured(load.cpu), measured(load.kernel))
    }

    #[test]
    fn what_is_not_known_is_tried_once_on_each_side() {
        let none = Load::default();
        let place = |cpu, device| place(cpu, device, &none, 0.0, 1.0);
        assert_eq!(
            place(Known::Nothing, Known::Nothing),
            Destination::DeviceSample
        );
        assert_eq!(
            place(Known::Nothing, Known::AtLeast(0.1)),
            Destination::CpuSample
        );
        assert_eq!(
            place(measured(1.0), Known::Nothing),
            Destination::DeviceSample
        );
        // Both are being tried: what comes next waits in the queue.
        assert_eq!(
            place(Known::AtLeast(0.1), Known::AtLeast(0.1)),
            Destination::Device
        );
        let standing = standing(0.0, 3, none);
        assert!(!admits(
            Known::AtLeast(0.1),
            Known::AtLeast(0.1),
            &none,
            &standing
        ));
        assert!(!takes(
            Known::AtLeast(0.1),
            Known::AtLeast(0.1),
            &none,
            0.0,
            &standing
        ));
    }

    #[test]
    fn nobody_waits_for_a_sample() {
        let one = load(0.0, 1.0);
        let (cpu, device) = (measured(1.0), Known::AtLeast(0.1));
        assert!(takes(cpu, device, &one, 0.0, &standing(0.0, 2, one)));
        assert!(!admits(cpu, device, &one, &standing(0.0, 2, one)));
    }

    #[test]
    fn a_task_alone_goes_where_it_is_faster() {
        for (kernel, fast) in [(0.5, true), (1.5, false)] {
            let one = load(kernel, 1.0);
            let (cpu, device) = both(&one);
            let alone = standing(0.0, 1, one);
            assert_eq!(admits(cpu, device, &one, &alone), fast);
            assert_eq!(takes(cpu, device, &one, 0.0, &alone), !fast);
        }
    }

    #[test]
    fn a_device_that_is_no_help_gets_nothing() {
        let far = load(20.0, 1.0);
        let (cpu, device) = both(&far);
        assert_eq!(place(cpu, device, &far, 0.0, 1.0), Destination::Cpu);
        let tiny = load(1e-4, 1e-5);
        let (cpu, device) = both(&tiny);
        assert_eq!(place(cpu, device, &tiny, 0.0, 1.0), Destination::Cpu);
    }

    #[test]
    fn what_is_by_far_does_not_hang_on_copies_or_queues() {
        let by_far = |cpu, device| is_by_far(measured(cpu), measured(device));
        assert!(by_far(1e-3, 17e-3) && !by_far(1e-3, 15e-3));
        assert!(by_far(20e-6, 21e-6) && !by_far(20e-6, 19e-6) && !by_far(40e-6, 41e-6));
        assert!(!is_by_far(Known::Nothing, measured(1.0)));
        assert!(!is_by_far(measured(1e-9), Known::AtLeast(1.0)));
        // So is every task that is by far, whatever it has to bring.
        for (kernel, cpu) in [(17e-3, 1e-3), (21e-6, 20e-6)] {
            let one = load(kernel, cpu);
            let (cpu, device) = both(&one);
            assert_eq!(place(cpu, device, &one, 0.0, 1.0), Destination::Cpu);
        }
    }

    #[test]
    fn a_slow_device_helps_where_there_is_much_to_do_and_not_at_the_end() {
        let one = load(3.0, 1.0);
        let (cpu, device) = both(&one);
        assert_eq!(place(cpu, device, &one, 0.0, 1.0), Destination::Device);
        assert!(admits(cpu, device, &one, &standing(0.0, 6, one)));
        assert!(!admits(cpu, device, &one, &standing(0.0, 5, one)));
        assert!(!admits(cpu, device, &one, &standing(3.0, 6, one)));
    }

    #[test]
    fn workers_leave_the_end_to_a_fast_device() {
        let one = load(0.1, 1.0);
        let (cpu, device) = both(&one);
        assert!(takes(cpu, device, &one, 0.0, &standing(0.0, 11, one)));
        assert!(!takes(cpu, device, &one, 0.0, &standing(0.0, 9, one)));
        assert!(takes(cpu, device, &one, 0.0, &standing(0.5, 9, one)));
    }

    #[test]
    fn workers_take_what_is_followed_by_more() {
        let one = load(0.1, 1.0);
        let (cpu, device) = both(&one);
        // Eight rows of tasks, each of which follows from the one before it.
        let mut rows = standing(0.0, 8, one);
        assert!(!takes(cpu, device, &one, 0.0, &rows));
        rows.coming = 0.8;
        assert!(takes(cpu, device, &one, 0.0, &rows));
        // But none that would wait for what its worker has taken before.
        rows.taken = 1.0;
        assert!(!takes(cpu, device, &one, 0.0, &rows));
        rows.taken = 0.0;
        // At most as much again is expected to follow as is there.
        let slow = load(0.1, 2.0);
        let (cpu, device) = both(&slow);
        assert!(!takes(cpu, device, &slow, 0.0, &rows));
    }

    #[test]
    fn workers_do_not_wait_for_what_the_device_has_to_write_first() {
        let one = load(0.1, 1.0);
        let (cpu, device) = both(&one);
        let full = standing(2.0, 10, one);
        for (wait_s, is_worth) in [(0.0, true), (1.9, true), (2.1, false)] {
            assert_eq!(
                takes(cpu, device, &one, wait_s, &full),
                is_worth,
                "{wait_s}"
            );
        }
    }

    /// The tiles of a product, whose last kernels were on the device: each that a worker takes
    /// waits for a copy, and the worker is free until that has come.
    #[test]
    fn workers_take_no_more_than_they_are_done_with_before_the_device() {
        let one = load(0.1, 1.0);
        let (cpu, device) = both(&one);
        let taken = |queued, workers: usize| {
            let mut tiles = standing(0.4, queued, one);
            let mut taken = 0;
            loop {
                tiles.taken = (taken / workers) as f64;
                if !takes(cpu, device, &one, 0.0, &tiles) {
                    return taken;
                }
                tiles.queue.remove(&one);
                taken += 1;
            }
        };
        // One each, where the device is done with the others in less than twice the time.
        assert_eq!((taken(16, 2), taken(16, 4)), (2, 4));
        assert_eq!((taken(32, 2), taken(32, 1)), (6, 3));
        // Both sides are done with 80 at about the same time.
        assert_eq!(taken(80, 2), 14);
    }

    #[test]
    fn what_may_be_long_is_not_begun_where_it_would_end_last() {
        let often_short = |seconds| {
            Known::Measured(Took {
                mean: seconds,
                most: 4.0 * seconds,
            })
        };
        let one = Load::default().priced(often_short(1.0), often_short(3.0));
        let (cpu, device) = (often_short(1.0), often_short(3.0));
        // 12 to be done in 12.
        assert!(admits(cpu, device, &one, &standing(0.0, 24, one)));
        assert!(!admits(cpu, device, &one, &standing(0.0, 23, one)));
        // Also what is flying may be long.
        let mut flying = standing(3.0, 46, one);
        flying.flying.most = 12.0;
        assert!(!admits(cpu, device, &one, &flying));
        flying.flying.most = 11.0;
        assert!(admits(cpu, device, &one, &flying));
        let one = Load::default().priced(often_short(1.0), often_short(0.1));
        let (cpu, device) = (often_short(1.0), often_short(0.1));
        assert!(takes(cpu, device, &one, 0.0, &standing(0.0, 41, one)));
        assert!(!takes(cpu, device, &one, 0.0, &standing(0.0, 39, one)));
        // One that is waited for in any case goes by the mean.
        assert!(takes(cpu, device, &one, 0.0, &standing(1.0, 1, one)));
    }

    #[test]
    fn a_device_on_the_same_cores_must_be_worth_them_all() {
        let one = load(0.6, 1.0);
        let (cpu, device) = both(&one);
        // However much there is to do.
        for queued in [1, 100] {
            let mut shared = standing(0.0, queued, one);
            shared.shares_cores = true;
            assert!(admits(cpu, device, &one, &shared) && !takes(cpu, device, &one, 0.0, &shared));
            shared.cores = 2.0;
            assert!(!admits(cpu, device, &one, &shared) && takes(cpu, device, &one, 0.0, &shared));
        }
    }
}
