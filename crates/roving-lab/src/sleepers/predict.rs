//! The time of a shape, by the simulator.

use std::thread;
use std::time::{Duration, Instant};

use roving::raw::rules;
use roving_model::{Costs, Runtime, Step, Then, Tree};

use crate::machine::cores;
use crate::machine::cpu_time;
use crate::shapes::shape::{CalledFrom, ShapePart, ShapedProgram, TimedUntil};

/// Simulated runs of each cell, each with a seed of its own.
const RUNS: u64 = 7;
/// The time of a spawn before its push, in ns.
const SPAWN_NS: f32 = 20.0;
/// How often each thread sleeps that is asked how late it wakes, and for how long it sleeps.
const SLEEPS: u64 = 24;
const LEAST_US: u64 = 300;
const STEP_US: u64 = 137;

/// The machine, as the simulator needs to know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    pub(crate) costs: Costs,
    pub(crate) cores: usize,
    /// How much longer a leaf takes than it was asked to, where a core is free.
    pub(crate) late: Duration,
}

impl Machine {
    /// Probes how threads sleep, as many as there are cores.
    pub(crate) fn new(costs: Costs) -> Machine {
        let cores = cores();
        let naps = Naps::measure(cores);
        let costs = Costs {
            nap: naps.core.map_or(costs.nap, |time| time.as_nanos() as f64),
            ..costs
        };
        Machine {
            costs,
            cores,
            late: naps.late,
        }
    }
}

/// The mean costs of falling asleep and going on.
#[derive(Debug)]
struct Naps {
    /// How much too late threads wake.
    late: Duration,
    /// The time of a core for that, where the system says it.
    core: Option<Duration>,
}

impl Naps {
    /// Of so many threads at a time.
    fn measure(threads: usize) -> Naps {
        let sleeps = |thread: u64| {
            let each = (0..SLEEPS).map(|place| {
                let time = Duration::from_micros(LEAST_US + (thread + place) % SLEEPS * STEP_US);
                let start = Instant::now();
                thread::sleep(time);
                start.elapsed().saturating_sub(time)
            });
            each.sum::<Duration>()
        };
        let before = cpu_time();
        let sum = thread::scope(|scope| {
            let started: Vec<_> = (0..threads as u64)
                .map(|thread| scope.spawn(move || sleeps(thread)))
                .collect();
            let late = started.into_iter().filter_map(|one| one.join().ok());
            late.sum::<Duration>()
        });
        let each = (threads as u64 * SLEEPS) as f64;
        let used = || Some(cpu_time()?.saturating_sub(before?));
        Naps {
            late: sum.div_f64(each),
            core: used().map(|used| used.div_f64(each)),
        }
    }
}

/// The median of simulated runs. Nothing for what the simulator does not know: two pools.
pub(crate) fn predicted(
    shape: &ShapedProgram,
    workers: usize,
    machine: &Machine,
) -> Option<Duration> {
    let program = match shape.kind.entry {
        CalledFrom::TwoPools => return None,
        CalledFrom::Inside | CalledFrom::Callers => SimulatedParts {
            parts: &shape.parts,
            late_ns: machine.late.as_nanos() as f64,
        },
    };
    let patience = rules::patience(workers, machine.cores);
    let costs = Costs {
        patience: patience.as_nanos() as f64,
        ..machine.costs
    };
    let run = |seed| {
        let pool = Runtime::new(workers).sleeping(true).cores(machine.cores);
        let pool = pool.costs(costs);
        let outcome = pool.seed(seed).run(&program).ok()?;
        Some(match shape.kind.until {
            TimedUntil::Ended => outcome.time_ns,
            TimedUntil::Begun => outcome.last_begun_ns,
        })
    };
    let mut times: Vec<f64> = (1..=RUNS).map(run).collect::<Option<_>>()?;
    times.sort_by(f64::total_cmp);
    Some(Duration::from_secs_f64(times[times.len() / 2] * 1e-9))
}

/// Parts as the simulator asks for them.
struct SimulatedParts<'p> {
    parts: &'p [ShapePart],
    late_ns: f64,
}

/// The continuation of a series.
fn rest(parts: &[ShapePart]) -> Then<PartOrRest<'_>> {
    match parts.split_first() {
        None => Then::End,
        Some((first, rest)) => Then::Series {
            first: PartOrRest::Part(first),
            next: PartOrRest::Rest(rest),
        },
    }
}

/// A part, or what is left of a series.
#[derive(Clone, Copy)]
enum PartOrRest<'p> {
    Part(&'p ShapePart),
    Rest(&'p [ShapePart]),
}

impl<'p> Tree for SimulatedParts<'p> {
    type Task = PartOrRest<'p>;

    fn root(&self) -> PartOrRest<'p> {
        PartOrRest::Part(&self.parts[0])
    }

    fn roots(&self) -> Vec<PartOrRest<'p>> {
        self.parts.iter().map(PartOrRest::Part).collect()
    }

    fn run(&self, task: PartOrRest<'p>) -> Step<PartOrRest<'p>> {
        let count = |parts: &[ShapePart]| parts.len() as u32;
        let then = match task {
            PartOrRest::Part(ShapePart::Leaf(time_us)) => {
                return Step {
                    ns: f64::from(*time_us) * 1e3 + self.late_ns,
                    then: Then::End,
                };
            }
            PartOrRest::Part(ShapePart::Series(parts)) => rest(parts),
            PartOrRest::Rest(parts) => rest(parts),
            PartOrRest::Part(ShapePart::Join(both)) => Then::Join {
                first: PartOrRest::Part(&both[0]),
                second: PartOrRest::Part(&both[1]),
                after_ns: 0.0,
            },
            PartOrRest::Part(ShapePart::Spawn(parts)) => Then::Spread {
                spawner: task,
                count: count(parts),
                each_ns: SPAWN_NS,
            },
            PartOrRest::Part(ShapePart::Loop(parts)) => Then::Loop {
                spawner: task,
                count: count(parts),
            },
        };
        Step { ns: 0.0, then }
    }

    fn child(&self, spawner: &PartOrRest<'p>, number: u32) -> PartOrRest<'p> {
        match spawner {
            PartOrRest::Part(part) => PartOrRest::Part(&part.parts()[number as usize]),
            PartOrRest::Rest(parts) => PartOrRest::Part(&parts[number as usize]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::shape::KINDS;
    use crate::sleepers::bound;

    /// No leaf is late here. A thread that stands in for one that waits goes on when that does, so
    /// more leaves than workers may be under way for a while.
    #[test]
    fn no_prediction_is_below_the_span_and_most_are_near_the_list_schedule() {
        let machine = Machine {
            costs: Costs {
                nap: 0.0,
                ..Costs::default()
            },
            cores: 64,
            late: Duration::ZERO,
        };
        let mut ratios = Vec::new();
        for kind in KINDS.iter().filter(|kind| kind.until == TimedUntil::Ended) {
            for workers in [1, 2, 8, 64] {
                let shape = kind.for_workers(workers);
                let Some(time) = predicted(shape, workers, &machine) else {
                    assert_eq!(kind.entry, CalledFrom::TwoPools);
                    continue;
                };
                let (whole, time_us) = (shape.whole(), time.as_secs_f64() * 1e6);
                let least = whole.span_us() as f64;
                assert!(
                    time_us >= least - 1.0,
                    "{} on {workers}: {time_us}",
                    kind.name
                );
                ratios.push(time_us / bound::list_us(&whole, workers) as f64);
            }
        }
        let near = ratios
            .iter()
            .filter(|ratio| (0.8..1.25).contains(*ratio))
            .count();
        assert!(
            near * 10 >= ratios.len() * 8,
            "{near} of {}: {ratios:?}",
            ratios.len()
        );
    }

    #[test]
    fn who_sleeps_wakes_no_earlier_than_asked() {
        let naps = Naps::measure(2);
        let second = Duration::from_secs(1);
        assert!(
            naps.late < second && naps.core.is_none_or(|core| core < second),
            "{naps:?}"
        );
    }
}
