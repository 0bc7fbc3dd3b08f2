//! The row about running times that can be relied on: worst and best of many runs of network B.

use super::best;
use crate::bench::Scale;
use crate::bench::record::{Bound::AtMost, RowRecord};
use crate::io::input::CommandFailure;
use crate::networks::placement::NamedPlacement;
use crate::networks::run::VerifiedNetwork;
use crate::timing::lanes::{Series, find, interleave};

/// The work divisions of the paper.
pub(super) const DIVISIONS: [u64; 13] = [
    1, 10, 100, 1_000, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000, 70_000, 80_000, 90_000,
];
/// The most messages of the source in one run; each carries what the division says.
pub(super) const MESSAGES_MAX: u64 = 10_000;
/// The time that is divided, in ms.
const WORK_MS: u64 = 50;
/// The bounds to reach and to hope for.
const SPREAD: (f64, f64) = (1.3, 1.1);

/// A network of the paper with a division.
pub(super) fn input(scale: &Scale, network: &str, division: u64) -> String {
    let (work_ms, most) = if scale.quick {
        (1, 20)
    } else {
        (WORK_MS, MESSAGES_MAX)
    };
    let messages = division.min(most);
    format!("{network},division={division},work_ms={work_ms},messages={messages}")
}

/// The divisions that are measured.
pub(super) fn divisions(scale: &Scale) -> &'static [u64] {
    if scale.quick { &[1, 100] } else { &DIVISIONS }
}

/// Network B on two workers, each division under each placement, 20 runs each.
pub(in crate::bench) fn random(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    record.absent.push(format!(
        "above a division of {MESSAGES_MAX}, the source sends {MESSAGES_MAX} messages, not as many as the \
         division; each carries what the division says"
    ));
    let mut worst = NamedPlacement::all().map(|place| (place.name(), 0, 0.0f64));
    for &division in divisions(scale) {
        let verified = VerifiedNetwork::named("random", &input(scale, "B", division))?;
        let serial = interleave(&mut [verified.serial_lane()], scale.rounds(3));
        let serial = serial.map_err(CommandFailure::Run)?;
        let mut lanes = Vec::new();
        for place in NamedPlacement::all() {
            lanes.push(verified.lane(place, 2)?);
        }
        let series = interleave(&mut lanes, scale.rounds(20)).map_err(CommandFailure::Run)?;
        let of = format!("random B, d = {division}");
        record.series(&of, &serial[0], "s", 1.0);
        series
            .iter()
            .for_each(|one| record.series(&of, one, "s", 1.0));
        for (name, at, most) in &mut worst {
            let one = find(&series, name, 2);
            let one = one.ok_or_else(|| CommandFailure::Run(format!("{name} was not measured")))?;
            let spread = spread(one);
            record.single(
                &format!("{of}, {name}, 2 workers: worst / best"),
                "×",
                spread,
            );
            if spread > *most {
                (*at, *most) = (division, spread);
            }
        }
        let (name, time) = best(&series, 2)?;
        let what = format!("{of}, 2 workers: speed-up over serial ({name})");
        record.single(&what, "×", serial[0].times.median() / time);
    }
    let (must, stretch) = SPREAD;
    for (name, at, most) in worst {
        let what = format!("random B, every d, {name}, 2 workers: worst / best (at d = {at})");
        record.claim(what, "×", most, AtMost(must), AtMost(stretch));
    }
    Ok(record)
}

/// The longest time over the shortest.
fn spread(series: &Series) -> f64 {
    let worst = series.times.seconds().fold(0.0, f64::max);
    worst / series.times.min()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::timing::times::Times;

    #[test]
    fn the_spread_is_worst_over_best() {
        let mut times = Times::default();
        for time_ms in [40, 10, 20] {
            times.push(Duration::from_millis(time_ms));
        }
        let series = Series {
            name: "stealing".into(),
            workers: 2,
            times,
        };
        assert!((spread(&series) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn inputs_are_those_of_the_paper_but_for_their_length() {
        assert_eq!(
            input(&Scale::FULL, "B", 90_000),
            "B,division=90000,work_ms=50,messages=10000"
        );
        assert!(DIVISIONS.is_sorted() && DIVISIONS.len() == 13);
    }
}
