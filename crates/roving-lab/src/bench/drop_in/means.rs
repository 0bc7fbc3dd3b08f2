//! Rows that claim the mean over all programs: `roving-iter` beside stock Rayon, and the drop-in
//! with more threads than there are cores. The programs are those of the drop-in's row; for
//! `roving-iter` with one changed line in their manifest, and without the workloads that name what
//! only Rayon has.

use super::Pair;
use crate::bench::Scale;
use crate::bench::drop_in::ratio::{Ratio, geometric_mean, note};
use crate::bench::record::{
    Bound::{self, AtMost},
    RowRecord,
};
use crate::io::input::CommandFailure;
use crate::machine::cores;
use crate::rivals::drop_in::build::Core;
use crate::rivals::drop_in::server::THREADS;

/// The claims about ours over stock.
struct Bars {
    ours: &'static str,
    mean: (Bound, Bound),
    worst: Option<Bound>,
}

const ITER: Bars = Bars {
    ours: "roving-iter",
    mean: (AtMost(0.7), AtMost(0.5)),
    worst: Some(AtMost(1.0)),
};
const CROWDED: Bars = Bars {
    ours: "drop-in",
    mean: (AtMost(1.05), AtMost(1.0)),
    worst: None,
};
/// The threads on each core of a crowded pool.
const CROWD: usize = 4;

/// The row `iter`.
pub(in crate::bench) fn iter(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    row(scale, &ITER, Ok(Core::Iter), THREADS, |_| true)
}

/// The row `rayon-crowded`: of Rayon's demonstration programs, since the others take long.
pub(in crate::bench) fn crowded(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let is_demo = |group: &str| group == "demo";
    row(scale, &CROWDED, Core::ours(), CROWD * cores(), is_demo)
}

fn row(
    scale: &Scale,
    bars: &Bars,
    core: Result<Core, String>,
    threads: usize,
    is_meant: impl Fn(&str) -> bool,
) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let flags: &[&str] = if scale.quick { &["--quick"] } else { &[] };
    let mut pair = match core.and_then(|core| Pair::start(&core, flags, threads)) {
        Ok(pair) => pair,
        Err(why) => {
            record.absent.push(why);
            return Ok(record);
        }
    };
    let mut ratios = Vec::new();
    for (workload, group) in pair.workloads.clone() {
        if is_meant(&group) {
            let ratio = pair.measure(&workload, |usual| scale.rounds(usual));
            let ratio = ratio.map_err(CommandFailure::Run)?;
            note(&mut record, (pair.name, threads), &ratio, "µs", 1e6);
            ratios.push(ratio);
        }
    }
    claims(&mut record, bars, &ratios, scale.quick);
    Ok(record)
}

fn claims(record: &mut RowRecord, bars: &Bars, ratios: &[Ratio], is_quick: bool) {
    let small = if is_quick { ", but small" } else { "" };
    let ours = bars.ours;
    let all: Vec<&Ratio> = ratios.iter().collect();
    let what = format!(
        "geometric mean over {} workloads{small}: {ours} / stock Rayon",
        all.len()
    );
    let (must, stretch) = bars.mean;
    record.claim(what, "×", geometric_mean(&all), must, stretch);
    let worst = ratios.iter().max_by(|a, b| a.value().total_cmp(&b.value()));
    if let (Some(worst), Some(bar)) = (worst, bars.worst) {
        let what = format!("{}{small}, the worst: {ours} / stock Rayon", worst.name);
        record.claim(what, "×", worst.value(), bar, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_and_the_worst_are_claimed() {
        let one = |name: &str, ours: f64| Ratio::new(name, &[1.0], &[ours]);
        let mut record = RowRecord::default();
        claims(
            &mut record,
            &ITER,
            &[one("a", 0.25), one("b", 1.5), one("c", 0.25)],
            false,
        );
        let said = |at: usize| (record.claims[at].what.as_str(), record.claims[at].verdict());
        assert!(said(0).0.contains("over 3 workloads") && said(0).1 == "stretch");
        assert!(said(1).0.starts_with("b, the worst") && said(1).1 == "missed");
    }
}
