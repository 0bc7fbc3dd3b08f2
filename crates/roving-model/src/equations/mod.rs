//! Mitzenmacher's mean-field model of work stealing: what becomes of n processors as n grows.
//!
//! `s_i` is the fraction of processors with at least i tasks. Tasks arrive at each processor with
//! rate `arrival`, each busy processor spawns more with rate `spawning`, and a task takes a time
//! that is distributed exponentially, with mean 1. A processor that ends its last task looks at one
//! other, chosen uniformly; one without tasks looks again with rate `retry`. (M. Mitzenmacher,
//! *Analyses of load stealing models based on differential equations*, SPAA 1998.)

mod closed;
mod drain;
mod integrate;
mod steady;
mod system;

pub use closed::{separate, single_thefts};
pub use drain::{Drain, Moment};
pub use steady::Steady;

use crate::{ModelError, Policy};
use system::System;

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
}

#[cfg(test)]
mod tests;
