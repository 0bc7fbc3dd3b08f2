//! Mitzenmacher's mean-field model of work stealing: what becomes of n processors as n grows.
//!
//! `s_i` is the fraction of processors with at least i tasks. Tasks arrive at each processor with
//! rate `arrival`, each busy processor spawns more with rate `spawning`, and a task takes a time
//! that is distributed exponentially, with mean 1. A processor that ends its last task looks at one
//! other, chosen uniformly; one without tasks looks again with rate `retry`. (M. Mitzenmacher,
//! *Analyses of load stealing models based on differential equations*, SPAA 1998.)

mod closed;
mod drain;
mod steady;
mod system;

pub use closed::{separate, single_thefts};
pub use drain::{Drain, Moment};
pub use steady::Steady;

use ivp::dense::StepInterpolant;
use ivp::methods::DOP853;
use ivp::prelude::{ControlFlag, Status};
use ivp::solout::SolOut;

use crate::{ModelError, Policy};
use system::System;

/// Most levels that are followed. A load that is exceeded by one processor in 10^12 counts no more.
const LEVELS_MAX: usize = 1 << 15;
/// Largest error that the solver may make in one step, of each fraction.
const TOLERANCE: f64 = 1e-11;
/// Most steps of one integration.
const STEPS_MAX: usize = 5_000_000;

/// The model's rates, to be solved for one policy after the other.
///
/// ```
/// use roving_model::{MeanField, Policy};
///
/// let model = MeanField::new(0.9);
/// let one = model.steady(Policy::One { threshold: 2 })?;
/// let half = model.steady(Policy::Half { threshold: 2 })?;
/// assert!((one.time_in_system - 3.541).abs() < 1e-3);
/// assert!(half.time_in_system < one.time_in_system);
/// # Ok::<(), roving_model::ModelError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanField {
    arrival: f64,
    spawning: f64,
    retry: f64,
    transfer_time: f64,
}

impl MeanField {
    /// Tasks arrive at each processor with this rate; a processor can do tasks at rate 1.
    pub fn new(arrival: f64) -> MeanField {
        MeanField {
            arrival,
            spawning: 0.0,
            retry: 0.0,
            transfer_time: 0.0,
        }
    }

    /// Each busy processor spawns tasks with this rate, 0 unless said otherwise.
    ///
    /// ```
    /// use roving_model::{MeanField, Policy};
    ///
    /// // Of all tasks, as many arrive as are spawned: the processors have 0.4 + 0.4 to do.
    /// let state = MeanField::new(0.4).spawning(0.5).steady(Policy::One { threshold: 2 })?;
    /// assert!((state.busy - 0.8).abs() < 1e-6);
    /// # Ok::<(), roving_model::ModelError>(())
    /// ```
    #[must_use]
    pub fn spawning(self, spawning: f64) -> MeanField {
        MeanField { spawning, ..self }
    }

    /// Each processor without tasks looks for a victim with this rate, 0 unless said otherwise,
    /// besides once when it ends its last task.
    #[must_use]
    pub fn retry(self, retry: f64) -> MeanField {
        MeanField { retry, ..self }
    }

    /// Stolen tasks arrive after a time that is distributed exponentially with this mean; 0, at
    /// once, unless said otherwise.
    ///
    /// ```
    /// use roving_model::{MeanField, Policy};
    ///
    /// let policy = Policy::One { threshold: 2 };
    /// let near = MeanField::new(0.9).steady(policy)?;
    /// let far = MeanField::new(0.9).transfer_time(2.0).steady(policy)?;
    /// assert!(near.time_in_system < far.time_in_system);
    /// # Ok::<(), roving_model::ModelError>(())
    /// ```
    #[must_use]
    pub fn transfer_time(self, transfer_time: f64) -> MeanField {
        MeanField {
            transfer_time,
            ..self
        }
    }

    /// The system of equations, if it makes sense.
    fn system(&self, policy: Policy, levels: usize) -> Result<System, ModelError> {
        let rates = [
            ("arrival rate", self.arrival, "take 0.9"),
            ("spawning rate", self.spawning, "take 0"),
            ("retry rate", self.retry, "take 1"),
        ];
        for (subject, value, remedy) in rates {
            if !(0.0..=1e3).contains(&value) {
                let allowed = "a number from 0 to 1000";
                return Err(ModelError::new(subject, value, allowed, remedy));
            }
        }
        // Much shorter ones make the system stiff and change nothing.
        let (transfer, allowed) = (self.transfer_time, "0, or a number from 0.01 to 1000");
        if transfer != 0.0 && !(0.01..=1e3).contains(&transfer) {
            return Err(ModelError::new(
                "transfer time",
                transfer,
                allowed,
                "take 0",
            ));
        }
        let policy = policy.checked()?;
        let half = matches!(policy, Policy::Half { .. });
        if half && self.transfer_time > 0.0 {
            return Err(ModelError::new(
                "transfer time",
                self.transfer_time,
                "0 where a thief takes half: how much is under way is then a state of its own",
                "take a fixed amount, or simulate",
            ));
        }
        Ok(System {
            arrival: self.arrival,
            spawning: self.spawning,
            retry: self.retry,
            transfer: (self.transfer_time > 0.0 && policy != Policy::None)
                .then(|| 1.0 / self.transfer_time),
            policy,
            levels,
        })
    }

    /// The state in which nothing changes on average.
    pub fn steady(&self, policy: Policy) -> Result<Steady, ModelError> {
        steady::solve(self, policy)
    }

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
        drain::solve(self, policy, loaded, tasks)
    }
}

/// Follows the system from `y` for `time`; the states at `moments` evenly spaced times after the
/// start.
///
/// Near a load of 1 a state takes very long to settle although its fastest rates stay as they are,
/// so the steps are limited by stability and not by precision. The solver would take that for a
/// stiff system and give up; an implicit method has nothing to gain, because the state is long and
/// its Jacobian is full where thieves take half. So its test for stiffness is off, and `STEPS_MAX`
/// is the bound.
fn integrate(
    system: &System,
    y: Vec<f64>,
    time: f64,
    moments: usize,
) -> Result<Vec<(f64, Vec<f64>)>, ModelError> {
    let mut states = States {
        times: (1..=moments)
            .map(|moment| time * moment as f64 / moments as f64)
            .collect(),
        reached: Vec::with_capacity(moments),
    };
    let solver = DOP853 {
        max_steps: STEPS_MAX,
        stiff_test: usize::MAX,
        ..DOP853::default()
    };
    let tolerance = || TOLERANCE.into();
    let ended = solver.solve(
        system,
        0.0,
        &y,
        time,
        tolerance(),
        tolerance(),
        Some(&mut states),
    );
    match ended {
        Ok(ended) if ended.status == Status::Success && states.reached.len() == moments => {
            Ok(states.reached)
        }
        _ => Err(ModelError::line(format!(
            "the equations of `{}` were not solved up to time {time} in {STEPS_MAX} steps: take an arrival rate \
             below {} or a retry rate below {}",
            system.policy, system.arrival, system.retry
        ))),
    }
}

/// Collects the states at given times while a solution is followed.
struct States {
    times: Vec<f64>,
    reached: Vec<(f64, Vec<f64>)>,
}

impl SolOut for States {
    fn solout(
        &mut self,
        _before: f64,
        now: &mut f64,
        y: &mut [f64],
        between: Option<&StepInterpolant<'_>>,
    ) -> ControlFlag {
        // The last step ends at the last time but for rounding.
        let reached = *now * (1.0 + 1e-12);
        while let Some(&time) = self.times.get(self.reached.len())
            && time <= reached
        {
            let mut state = y.to_vec();
            if let Some(between) = between
                && time < *now
            {
                between.interpolate(time, &mut state);
            }
            self.reached.push((time, state));
        }
        ControlFlag::Continue
    }
}

#[cfg(test)]
mod tests;
