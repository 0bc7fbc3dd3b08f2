//! The closed forms, which need no solver.

use crate::ModelError;

/// The mean time in the system of each task, and the fraction of processors with two tasks at
/// least, when thieves take one task of `threshold` or more, without retries, spawning and delay.
///
/// At the fixed point `s_1` is the arrival rate `l`. Below the threshold each difference `s_i -
/// s_{i+1}` is `l` times the one before, and from there on `l / (1 + d)` times, where `d = s_1 -
/// s_2` is the root of a quadratic.
///
/// ```
/// let (time, victims) = roving_model::single_thefts(0.5, 2)?;
/// assert!((time - (1.0 + 5f64.sqrt()) / 2.0).abs() < 1e-12, "the golden ratio");
/// assert!(victims < 0.5);
/// # Ok::<(), roving_model::ModelError>(())
/// ```
pub fn single_thefts(arrival: f64, threshold: u32) -> Result<(f64, f64), ModelError> {
    let l = arrival;
    if !(l > 0.0 && l < 1.0) {
        let allowed = "a number above 0 and below 1";
        return Err(ModelError::new("arrival rate", l, allowed, "take 0.9"));
    }
    if !(2..=1024).contains(&threshold) {
        return Err(ModelError::new(
            "steal threshold",
            threshold,
            "2 to 1024",
            "take 2",
        ));
    }
    let below = threshold as i32 - 1;
    let sum = (1.0 - l.powi(below)) / (1.0 - l);
    let idle = 1.0 - l;
    let d = ((idle * idle + 4.0 * sum * l * idle).sqrt() - idle) / (2.0 * sum);
    let (mut tasks, mut level, mut step) = (0.0, l, d);
    for _ in 0..below {
        tasks += level;
        level -= step;
        step *= l;
    }
    tasks += level / (1.0 - l / (1.0 + d));
    Ok((tasks / l, l - d))
}

/// The mean time in the system when nobody steals: n queues by themselves, M/M/1.
///
/// ```
/// assert_eq!(roving_model::separate(0.5), 2.0);
/// ```
pub fn separate(arrival: f64) -> f64 {
    1.0 / (1.0 - arrival)
}
