//! The steady state: the equations are followed until nothing changes any more.

use super::integrate::integrate;
use super::system::System;
use super::{MeanField, closed};
use crate::{ModelError, Policy};

/// Most levels that are followed. A load that is exceeded by one processor in 10^12 counts no more.
const LEVELS_MAX: usize = 1 << 15;
/// The largest fraction at the highest level.
const TAIL: f64 = 1e-12;
/// The state counts as steady when no fraction changes faster than this, and the mean load no
/// faster than this part of itself.
const STILL: f64 = 1e-9;
/// The longest time that is waited for that.
const TIME_MAX: f64 = 1e7;

/// The steady state of one policy.
///
/// ```
/// use roving_model::{MeanField, Policy, Steady};
///
/// let state: Steady = MeanField::new(0.9).steady(Policy::None)?;
/// assert!((state.busy - 0.9).abs() < 1e-6);
/// assert!((state.time_in_system - 10.0).abs() < 1e-3, "of the queue M/M/1");
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Steady {
    /// The fraction of processors that have a task. By throughput it is the same for every policy.
    pub busy: f64,
    /// The fraction with two tasks at least: prospective victims.
    pub victims: f64,
    /// The mean time of a task from its arrival to its end, in mean task lengths.
    pub time_in_system: f64,
    /// Successful steals for each task.
    pub steals_per_task: f64,
    /// Looks at a victim for each task.
    pub attempts_per_task: f64,
    /// `levels[i]` is the fraction of processors with at least `i` tasks.
    pub levels: Vec<f64>,
}

impl MeanField {
    /// The state in which nothing changes on average.
    pub fn steady(&self, policy: Policy) -> Result<Steady, ModelError> {
        solve(self, policy)
    }
}

fn solve(model: &MeanField, policy: Policy) -> Result<Steady, ModelError> {
    let offered = model.arrival + model.spawning;
    if model.arrival <= 0.0 || offered >= 1.0 {
        return Err(ModelError::new(
            "arrival rate (with the spawning rate)",
            offered,
            "a number above 0 and below 1, or there is no steady state",
            "take 0.9",
        ));
    }
    let mut levels = 64;
    let (system, y) = loop {
        let system = model.system(policy, levels)?;
        let y = match policy {
            // Without steals the queues are separate, and their start is their steady state.
            Policy::None => start(&system),
            _ => settle(&system, start(&system))?,
        };
        if system.at_least(&y, levels) <= TAIL {
            break (system, y);
        }
        levels *= 2;
        if levels > LEVELS_MAX {
            return Err(ModelError::new(
                "arrival rate",
                model.arrival,
                format!("one at which fewer than {LEVELS_MAX} tasks stand at each processor"),
                "take a smaller one",
            ));
        }
    };
    let busy = system.at_least(&y, 1);
    let thefts = system.thefts(&y);
    Ok(Steady {
        busy,
        victims: system.at_least(&y, 2),
        // Little's law.
        time_in_system: system.tasks(&y) / busy,
        steals_per_task: thefts.steals / busy,
        attempts_per_task: thefts.attempts / busy,
        levels: (0..=levels)
            .map(|level| system.at_least(&y, level))
            .collect(),
    })
}

/// The steady state of separate queues without steals; otherwise that of single steals, which is
/// near.
fn start(system: &System) -> Vec<f64> {
    let load = system.arrival / (1.0 - system.spawning);
    let (first, ratio) = match system.policy {
        Policy::None => {
            let offered = system.arrival + system.spawning;
            (load * offered, offered)
        }
        _ => {
            let (_, victims) = closed::single_thefts(load, 2).unwrap_or((0.0, 0.0));
            (victims, load / (1.0 + load - victims))
        }
    };
    let mut y = vec![0.0; system.size()];
    y[0] = load;
    let mut fraction = first;
    for level in &mut y[1..system.levels] {
        *level = fraction;
        fraction *= ratio;
    }
    y
}

/// Follows the system for longer and longer times.
fn settle(system: &System, mut y: Vec<f64>) -> Result<Vec<f64>, ModelError> {
    let mut change = vec![0.0; system.size()];
    let (mut time, mut spent) = (16.0, 0.0);
    loop {
        system.derive(&y, &mut change);
        let fastest = change.iter().fold(0.0_f64, |most, one| most.max(one.abs()));
        let drift = change.iter().sum::<f64>().abs() / system.tasks(&y);
        if fastest < STILL && drift < STILL {
            return Ok(y);
        }
        if spent > TIME_MAX {
            return Err(ModelError::line(format!(
                "`{}` at arrival rate {} did not settle: take a smaller rate",
                system.policy, system.arrival
            )));
        }
        let states = integrate(system, y, time, 1)?;
        y = states
            .into_iter()
            .last()
            .map(|(_, y)| y)
            .unwrap_or_default();
        spent += time;
        time *= 1.5;
    }
}
