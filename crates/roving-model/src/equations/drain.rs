//! A load that is unevenly spread at the start, and how fast it is worked off.

use super::MeanField;
use super::integrate::integrate;
use crate::{ModelError, Policy};

/// Time between two moments that are kept.
const STEP: f64 = 0.02;
/// The fraction that is left at the end.
const LEFT: f64 = 0.01;
/// The longest time that is followed.
const TIME_MAX: f64 = 20_000.0;

/// The state of all processors at one time.
///
/// ```
/// use roving_model::{MeanField, Moment, Policy};
///
/// let drain = MeanField::new(0.0).drain(Policy::One { threshold: 2 }, 0.5, 8)?;
/// let start: Moment = drain.moments[0];
/// assert!((start.busy - 0.5).abs() < 1e-9 && (start.tasks - 4.0).abs() < 1e-9);
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// When, in mean task lengths.
    pub time: f64,
    /// The fraction of processors that have a task.
    pub busy: f64,
    /// The fraction that has two at least: prospective victims.
    pub victims: f64,
    /// Tasks for each processor.
    pub tasks: f64,
}

/// How a load drained.
///
/// ```
/// use roving_model::{MeanField, Policy};
///
/// let drain = MeanField::new(0.0).drain(Policy::Half { threshold: 2 }, 0.5, 8)?;
/// assert!(drain.time > drain.ideal_time);
/// let later = drain.at(2.0).expect("it is not over yet");
/// assert!(later.tasks < drain.moments[0].tasks);
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Drain {
    /// One moment after the other, evenly spaced.
    pub moments: Vec<Moment>,
    /// When one task in a hundred was left.
    pub time: f64,
    /// If all processors had worked from the start until all was done.
    pub ideal_time: f64,
    /// Successful steals for each task, up to `time`.
    pub steals_per_task: f64,
    /// Looks at a victim for each task, up to `time`.
    pub attempts_per_task: f64,
}

impl Drain {
    /// The state at `time`, between two moments in a straight line.
    pub fn at(&self, time: f64) -> Option<Moment> {
        let after = self.moments.iter().position(|moment| moment.time >= time)?;
        let end = self.moments[after];
        let Some(start) = after.checked_sub(1).map(|before| self.moments[before]) else {
            return Some(end);
        };
        let part = (time - start.time) / (end.time - start.time);
        let mix = |from: f64, to: f64| from + part * (to - from);
        Some(Moment {
            time,
            busy: mix(start.busy, end.busy),
            victims: mix(start.victims, end.victims),
            tasks: mix(start.tasks, end.tasks),
        })
    }
}

/// The start, if it makes sense, and how many levels it needs.
fn check(model: &MeanField, loaded: f64, tasks: usize) -> Result<usize, ModelError> {
    if !(loaded > 0.0 && loaded <= 1.0) {
        let allowed = "a fraction above 0 and up to 1";
        let subject = "loaded fraction";
        return Err(ModelError::new(subject, loaded, allowed, "take 0.05"));
    }
    if !(1..=4096).contains(&tasks) {
        let subject = "tasks of a loaded processor";
        return Err(ModelError::new(subject, tasks, "1 to 4096", "take 64"));
    }
    // New tasks pile up above the old ones only if they come. A thief ends up with more than a
    // victim started with under no policy.
    Ok(match model.arrival + model.spawning > 0.0 {
        true => 4 * tasks + 64,
        false => tasks.max(2),
    })
}

impl MeanField {
    /// A fraction `loaded` of the processors starts with `tasks` tasks each, the others with none;
    /// what becomes of them until one task in a hundred is left. Set the arrival rate to 0 for a
    /// drain proper.
    ///
    /// ```
    /// use roving_model::{MeanField, Policy};
    /// let drain = MeanField::new(0.0).retry(10.0).drain(Policy::Half { threshold: 2 }, 0.05, 64)?;
    /// assert!((drain.time - 6.42).abs() < 0.02);
    /// # Ok::<(), roving_model::ModelError>(())
    /// ```
    pub fn drain(&self, policy: Policy, loaded: f64, tasks: usize) -> Result<Drain, ModelError> {
        solve(self, policy, loaded, tasks)
    }
}

fn solve(
    model: &MeanField,
    policy: Policy,
    loaded: f64,
    tasks: usize,
) -> Result<Drain, ModelError> {
    let levels = check(model, loaded, tasks)?;
    let system = model.system(policy, levels)?;
    let mut y = vec![0.0; system.size()];
    y[..tasks].fill(loaded);
    let total = loaded * tasks as f64;
    let mut moments = vec![Moment {
        time: 0.0,
        busy: system.at_least(&y, 1),
        victims: system.at_least(&y, 2),
        tasks: total,
    }];
    let (mut attempts, mut steals) = (0.0, 0.0);
    let mut before = system.thefts(&y);
    let chunk = 4.0;
    loop {
        let from = moments.last().map_or(0.0, |moment| moment.time);
        if from > TIME_MAX {
            return Err(ModelError::line(format!(
                "`{policy}` did not drain within {TIME_MAX} task lengths: take arrival rate 0"
            )));
        }
        let states = integrate(&system, y, chunk, (chunk / STEP).round() as usize)?;
        y = Vec::new();
        for (time, state) in states {
            let now = system.thefts(&state);
            attempts += STEP * f64::midpoint(before.attempts, now.attempts);
            steals += STEP * f64::midpoint(before.steals, now.steals);
            before = now;
            moments.push(Moment {
                time: from + time,
                busy: system.at_least(&state, 1),
                victims: system.at_least(&state, 2),
                tasks: system.tasks(&state),
            });
            if moments[moments.len() - 1].tasks <= LEFT * total {
                return Ok(Drain {
                    time: crossing(&moments, LEFT * total),
                    ideal_time: total,
                    steals_per_task: steals / total,
                    attempts_per_task: attempts / total,
                    moments,
                });
            }
            y = state;
        }
    }
}

/// When the load fell to `left`, between the last two moments.
fn crossing(moments: &[Moment], left: f64) -> f64 {
    match moments {
        [.., before, after] if before.tasks > after.tasks => {
            let part = (before.tasks - left) / (before.tasks - after.tasks);
            before.time + part * (after.time - before.time)
        }
        _ => moments.last().map_or(0.0, |moment| moment.time),
    }
}
