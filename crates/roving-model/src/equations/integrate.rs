//! The solver: what becomes of the state of the model in a given time.

use ivp::dense::StepInterpolant;
use ivp::methods::DOP853;
use ivp::prelude::{ControlFlag, Status};
use ivp::solout::SolOut;

use super::system::System;
use crate::ModelError;

/// Largest error that the solver may make in one step, of each fraction.
const TOLERANCE: f64 = 1e-11;
/// Most steps of one integration.
const STEPS_MAX: usize = 5_000_000;

/// Follows the system from `y` for `time`; the states at `moments` evenly spaced times after the
/// start.
///
/// Near a load of 1 a state takes very long to settle although its fastest rates stay as they are,
/// so the steps are limited by stability and not by precision. The solver would take that for a
/// stiff system and give up; an implicit method has nothing to gain, because the state is long and
/// its Jacobian is full where thieves take half. So its test for stiffness is off, and `STEPS_MAX`
/// is the bound.
pub(super) fn integrate(
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
