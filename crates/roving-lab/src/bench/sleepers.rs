//! The row about many workers: leaves that sleep need no core, so few cores show how many workers
//! share work.

use std::path::Path;

use super::Scale;
use super::record::{
    Bound::{AtLeast, AtMost},
    RowRecord,
};
use super::row::Drawn;
use crate::io::csv::Csv;
use crate::io::input::CommandFailure;
use crate::rivals::Runtime;
use crate::shapes::shape::{KINDS, Leaves, ShapeKind, TimedUntil};
use crate::sleepers::cell::GridCell;
use crate::sleepers::field::measure;
use crate::sleepers::kept::Kept;
use crate::sleepers::networks;
use crate::sleepers::settings::{FORMS, GridSettings, ROUNDS, WORKERS, command};
use crate::sleepers::verdict::{
    self, Judged, fitted_c, judge, judge_form, mean, near_predictions, worst,
};

/// The cells of a row that was cut off lie here until it is whole.
const KEPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/sleepers");
/// Workers where the machine is busy, or the pools count on the cores that there are.
const FEWER_WORKERS: [usize; 3] = [8, 16, 64];
/// Workers for which the start from a quiet pool is judged.
const START_WORKERS: [usize; 2] = [16, 64];
const FEWER_SHAPES: [&str; 7] = [
    "flat-uneven",
    "loop-uneven",
    "tree",
    "random",
    "chain",
    "phases",
    "uts",
];

/// Each shape on each number of workers; then some beside other programs, and some with more
/// workers than cores as the pools see it.
pub(super) fn sleepers(scale: &Scale) -> Result<Drawn, CommandFailure> {
    let all = GridSettings {
        workers: WORKERS.to_vec(),
        kinds: KINDS.iter().collect(),
        forms: FORMS.into_iter().chain([Runtime::DropIn]).collect(),
        rounds: scale.rounds(ROUNDS),
        leaves: Leaves::default(),
        crowded: false,
        load: 0,
    };
    let few = |kind: &&'static ShapeKind| FEWER_SHAPES.contains(&kind.name);
    let fewer = GridSettings {
        workers: FEWER_WORKERS.to_vec(),
        kinds: KINDS.iter().filter(few).collect(),
        ..all.clone()
    };
    let loaded = GridSettings {
        load: 2,
        ..fewer.clone()
    };
    let crowded = GridSettings {
        crowded: true,
        ..fewer.clone()
    };
    let all = if scale.quick { fewer } else { all };
    let mut record = RowRecord::default();
    let (mut files, mut done) = (Vec::new(), Vec::new());
    let cases = [
        ("cells.csv", "", &all),
        ("load-cells.csv", ", two programs spin beside it", &loaded),
        (
            "crowded-cells.csv",
            ", workers > cores for the pool",
            &crowded,
        ),
    ];
    for (file, about, settings) in cases {
        let mut kept = Kept::in_file(Path::new(KEPT).join(file), settings);
        let (cells, absent) = measure(settings, &mut kept)?;
        record.absent.extend(absent);
        note(&mut record, &cells, about);
        claims(&mut record, &judge(&cells), about);
        claims_of_drop_in(&mut record, &cells, about);
        if let (true, Some((near, of))) = (about.is_empty(), near_predictions(&cells)) {
            let what = format!(
                "sleeping leaves: share of {of} cells that the simulator predicts within 10 %"
            );
            let share = near as f64 / of as f64;
            record.claim(what, "×", share, AtLeast(0.9), AtLeast(1.0));
        }
        if about.is_empty() {
            let picture = verdict::picture(&cells).map_err(CommandFailure::Run)?;
            files.extend(picture.map(|picture| ("by-workers.svg", picture)));
        }
        let csv: Csv = verdict::csv(&cells, &command(settings));
        files.push((file, csv.text()));
        done.push(kept);
    }
    claims_of_networks(&mut record, scale.rounds(ROUNDS))?;
    done.into_iter().for_each(Kept::forget);
    Ok((record, files))
}

/// The mean of each runtime over the bound, by the number of workers.
fn note(record: &mut RowRecord, cells: &[GridCell], about: &str) {
    for form in FORMS.into_iter().chain([Runtime::DropIn]) {
        for workers in WORKERS {
            let here = |cell: &&GridCell| cell.form == form && cell.workers == workers;
            let timed = |cell: &&GridCell| cell.kind.until == TimedUntil::Ended;
            let over = cells
                .iter()
                .filter(here)
                .filter(timed)
                .map(GridCell::over_list);
            if let Some(mean) = mean(over) {
                let form = form.name();
                let what = format!("{form}, {workers} workers{about}: over the list schedule");
                record.single(&what, "×", mean);
            }
        }
    }
}

/// The drop-in beside stock Rayon, each shape on each number of workers.
fn claims_of_drop_in(record: &mut RowRecord, cells: &[GridCell], about: &str) {
    let all = judge_form(cells, Runtime::DropIn);
    let ended = |one: &&Judged<'_>| one.ours.kind.until == TimedUntil::Ended;
    let shapes: Vec<Judged<'_>> = all.iter().filter(ended).cloned().collect();
    let over = |one: &Judged<'_>| one.over(Runtime::Rayon);
    let cpu = |one: &Judged<'_>| one.cpu_over(Runtime::Rayon);
    let mut claim = |what: String, value: Option<f64>, must: f64, stretch: f64| {
        if let Some(value) = value {
            let what = format!("sleeping leaves{about}: drop-in / stock Rayon, {what}");
            record.claim(what, "×", value, AtMost(must), AtMost(stretch));
        }
    };
    if let Some((value, cell)) = worst(&shapes, over) {
        claim(format!("worst, {cell}"), Some(value), 1.0, 1.0);
    }
    let time = mean(shapes.iter().filter_map(over));
    claim("geometric mean".into(), time, 0.95, 0.9);
    let used = mean(shapes.iter().filter_map(cpu));
    claim("processor time, geometric mean".into(), used, 1.3, 1.0);
}

/// Adds the claims: the bounds to be reached.
fn claims(record: &mut RowRecord, judged: &[Judged<'_>], about: &str) {
    let shapes = those(judged, |one| one.ours.kind.until == TimedUntil::Ended);
    let must = if about.is_empty() { 1.03 } else { 1.05 };
    let what = format!("sleeping leaves: our time / that of the best rival{about}");
    claim_worst(record, &what, &shapes, |one| one.over_best(), (must, 1.0));
    if about.is_empty() {
        claims_without_load(record, judged, &shapes);
    }
    if let Some(mean) = mean(shapes.iter().filter_map(Judged::over_best)) {
        let what =
            format!("sleeping leaves{about}: our time / that of the best rival, geometric mean");
        record.claim(
            what,
            "×",
            mean,
            AtMost(if about.is_empty() { 0.97 } else { 1.05 }),
            AtMost(0.9),
        );
    }
}

/// The claims about a machine that does nothing else.
fn claims_without_load(record: &mut RowRecord, judged: &[Judged<'_>], shapes: &[Judged<'_>]) {
    let few = those(shapes, |one| one.ours.workers <= 16);
    let what = "sleeping leaves, up to 16 workers: over the list schedule";
    let list = |one: &Judged<'_>| Some(one.ours.over_list());
    claim_worst(record, what, &few, list, (1.1, 1.05));
    let what = "sleeping leaves, up to 16 workers: closures / our tasks";
    claim_worst(record, what, &few, |one| one.over_tasks(), (1.05, 1.02));
    let starts = those(judged, |one| one.ours.kind.until == TimedUntil::Begun);
    for one in &starts {
        if let Some(over) = one.over(Runtime::Rayon) {
            let what = format!("{}, until all are at work: our time / rayon's", one.name());
            record.single(&what, "×", over);
        }
    }
    let many = those(&starts, |one| START_WORKERS.contains(&one.ours.workers));
    let what = "until all are at work, 16 and 64 workers: our time / rayon's";
    let over_rayon = |one: &Judged<'_>| one.over(Runtime::Rayon);
    claim_worst(record, what, &many, over_rayon, (1.0, 0.7));
    if let Some(c) = fitted_c(shapes) {
        let what = "sleeping leaves: c of work / P + c · span, least squares over all shapes";
        record.claim(what, "×", c, AtMost(3.0), AtMost(1.5));
    }
}

fn those<'c>(all: &[Judged<'c>], are: impl Fn(&Judged<'c>) -> bool) -> Vec<Judged<'c>> {
    all.iter().filter(|one| are(one)).cloned().collect()
}

/// Claims that the greatest value is small enough.
fn claim_worst(
    record: &mut RowRecord,
    what: &str,
    judged: &[Judged<'_>],
    value: impl Fn(&Judged<'_>) -> Option<f64>,
    (must, stretch): (f64, f64),
) {
    if let Some((value, cell)) = worst(judged, value) {
        let what = format!("{what}: worst, {cell}");
        record.claim(what, "×", value, AtMost(must), AtMost(stretch));
    }
}

/// Networks whose processes sleep.
fn claims_of_networks(record: &mut RowRecord, rounds: usize) -> Result<(), CommandFailure> {
    for one in networks::measure(rounds)? {
        let (name, workers) = (one.name, networks::WORKERS);
        let what = format!("{name} of processes that sleep, {workers} workers: over the bound");
        record.claim(what, "×", one.over_bound(), AtMost(1.15), AtMost(1.05));
    }
    Ok(())
}
