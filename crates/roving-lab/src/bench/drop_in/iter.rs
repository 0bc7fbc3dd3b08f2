//! `roving-iter` beside stock Rayon: the row `iter` of `roving bench`. The program is that of the
//! drop-in's row, with one changed line in its manifest and without the workloads that name what
//! only Rayon has.

use super::{Pair, note};
use crate::bench::Scale;
use crate::bench::drop_in::ratio::{Ratio, geometric_mean};
use crate::bench::record::{Bound::AtMost, Record};
use crate::input::Failure;
use crate::rivals::drop_in::build::Core;
use crate::rivals::drop_in::server::THREADS;

/// The bounds for the geometric mean over all workloads, and for the worst of them.
const MEAN: (f64, f64) = (0.7, 0.5);
const WORST: f64 = 1.0;

/// The row.
pub(in crate::bench) fn iter(scale: &Scale) -> Result<Record, Failure> {
    let mut record = Record::default();
    let flags: &[&str] = if scale.quick { &["--quick"] } else { &[] };
    let mut pair = match Pair::start(&Core::Iter, flags, THREADS) {
        Ok(pair) => pair,
        Err(why) => {
            record.absent.push(why);
            return Ok(record);
        }
    };
    let mut ratios = Vec::new();
    for (workload, _) in pair.workloads.clone() {
        let ratio = pair.measure(&workload, |usual| scale.rounds(usual));
        let ratio = ratio.map_err(Failure::Run)?;
        note(&mut record, pair.name, &ratio, "µs", 1e6);
        ratios.push(ratio);
    }
    claims(&mut record, &ratios, scale.quick);
    Ok(record)
}

fn claims(record: &mut Record, ratios: &[Ratio], is_quick: bool) {
    let small = if is_quick { ", but small" } else { "" };
    let all: Vec<&Ratio> = ratios.iter().collect();
    let what = format!(
        "geometric mean over {} workloads{small}: roving-iter / stock Rayon",
        all.len()
    );
    let (must, stretch) = MEAN;
    let mean = geometric_mean(&all);
    record.claim(what, "×", mean, AtMost(must), AtMost(stretch));
    let worst = ratios.iter().max_by(|a, b| a.value().total_cmp(&b.value()));
    if let Some(worst) = worst {
        let what = format!(
            "{}{small}, the worst: roving-iter / stock Rayon",
            worst.name
        );
        record.claim(what, "×", worst.value(), AtMost(WORST), None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_and_the_worst_are_claimed() {
        let one = |name: &str, ours: f64| Ratio::new(name, &[1.0], &[ours]);
        let mut record = Record::default();
        claims(
            &mut record,
            &[one("a", 0.25), one("b", 1.5), one("c", 0.25)],
            false,
        );
        let said = |at: usize| (record.claims[at].what.as_str(), record.claims[at].verdict());
        assert!(said(0).0.contains("over 3 workloads") && said(0).1 == "stretch");
        assert!(said(1).0.starts_with("b, the worst") && said(1).1 == "missed");
    }
}
