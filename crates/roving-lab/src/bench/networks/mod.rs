//! The rows about networks of processes.

mod chain;
mod compress;
mod hops;
mod paper;
mod spread;

pub(super) use chain::chain;
pub(super) use compress::compress;
pub(super) use hops::{ratio, ring, scatter};
pub(super) use paper::paper;
pub(super) use spread::random;

use crate::io::input::CommandFailure;
use crate::networks::placement::NamedPlacement;
use crate::timing::lanes::{Series, find};

/// The median of a series, in seconds.
fn median(series: &[Series], name: &str, workers: usize) -> Result<f64, CommandFailure> {
    let found = find(series, name, workers);
    let one = found
        .ok_or_else(|| CommandFailure::Run(format!("{name} was not measured on {workers}")))?;
    Ok(one.times.median())
}

/// The placement under which a network took least time on so many workers, and that time in
/// seconds.
fn best(series: &[Series], workers: usize) -> Result<(&'static str, f64), CommandFailure> {
    let times = NamedPlacement::all().into_iter().map(|place| {
        let name = place.name();
        median(series, name, workers).map(|time| (name, time))
    });
    let times = times.collect::<Result<Vec<_>, _>>()?;
    let least = times.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
    least.ok_or_else(|| CommandFailure::Run("there is no placement".into()))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::timing::times::Times;

    #[test]
    fn the_best_placement_is_the_one_that_took_least_time() {
        let places = Vec::from(NamedPlacement::all());
        let series: Vec<Series> = places
            .iter()
            .zip([30, 10, 20])
            .map(|(place, time_ms)| {
                let mut times = Times::default();
                times.push(Duration::from_millis(time_ms));
                Series {
                    name: place.name().into(),
                    workers: 2,
                    times,
                }
            })
            .collect();
        let (name, time) = best(&series, 2).unwrap();
        assert_eq!((name, time), (places[1].name(), 0.010));
        assert!(best(&series, 1).is_err());
    }
}
