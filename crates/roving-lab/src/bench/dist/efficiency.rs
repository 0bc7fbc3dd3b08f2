//! The row about a large search by more and more ranks, oversubscribed where there are fewer cores:
//! each number of ranks against one rank of as many workers, in turn.

use super::ask::{ask, ask_by, has_ranks};
use crate::bench::Scale;
use crate::bench::record::{Bound::AtLeast, Measurement, RowRecord};
use crate::io::input::CommandFailure;

/// Speed of ranks of one worker over that of one rank.
pub(in crate::bench) fn efficiency(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    if !has_ranks(&mut record) {
        return Ok(record);
    }
    let (input, rounds) = match scale.quick {
        true => ("T1", 1),
        false => ("T1XL", 3),
    };
    for ranks in [1, 2, 4, 8] {
        let (mut apart, mut together) = (Vec::new(), Vec::new());
        for round in 0..rounds {
            // Whatever changes from round to round meets each of the two first.
            for is_apart in [round % 2 == 0, round % 2 == 1] {
                if is_apart {
                    let words = ["dist-uts", "bag", input, "1", "1", "0"];
                    apart.extend(ask_by(ranks, &["--bind-to", "none"], &words)?);
                } else {
                    let words = ["dist-uts", "bag", input, &ranks.to_string(), "1", "0"];
                    together.extend(ask(1, &words)?);
                }
            }
        }
        let mut pairs: Vec<f64> = together
            .iter()
            .zip(&apart)
            .map(|(one, n)| one / n)
            .collect();
        pairs.sort_unstable_by(f64::total_cmp);
        push(
            &mut record,
            input,
            &format!("{ranks} ranks of 1 worker"),
            apart,
        );
        push(
            &mut record,
            input,
            &format!("1 rank of {ranks} workers"),
            together,
        );
        let what = format!(
            "uts {input}: {ranks} ranks of 1 worker, speed over 1 rank of {ranks} workers (median \
             of pairs)"
        );
        record.claim(what, "×", pairs[pairs.len() / 2], AtLeast(0.95), None);
    }
    Ok(record)
}

/// Adds a measurement.
fn push(record: &mut RowRecord, input: &str, how: &str, mut seconds: Vec<f64>) {
    seconds.sort_unstable_by(f64::total_cmp);
    record.measurements.push(Measurement {
        what: format!("uts {input}, {how}"),
        unit: "s",
        median: seconds[seconds.len() / 2],
        min: seconds[0],
        runs: seconds.len(),
    });
}
