//! Cells as tables, as a picture, and as the figures that are claimed.

use std::fmt::Write as _;

use super::cell::GridCell;
use crate::io::csv::Csv;
use crate::io::plot::{self, Curve};
use crate::machine;
use crate::rivals::Runtime;
use crate::shapes::shape::{CalledFrom, TimedUntil};

/// How many of the worst cells a table names.
const WORST: usize = 10;

/// A cell of our closures, and what it is held against.
#[derive(Clone, Debug)]
pub(crate) struct Judged<'c> {
    pub(crate) ours: &'c GridCell,
    /// The rival that took least time.
    pub(crate) best: Option<&'c GridCell>,
    /// The faster of our own async forms.
    pub(crate) tasks: Option<&'c GridCell>,
    /// All cells.
    cells: &'c [GridCell],
}

impl Judged<'_> {
    pub(crate) fn over_best(&self) -> Option<f64> {
        self.best.map(|best| self.ours.median / best.median)
    }

    pub(crate) fn over_tasks(&self) -> Option<f64> {
        self.tasks.map(|tasks| self.ours.median / tasks.median)
    }

    /// Our time over that of another runtime in this cell.
    pub(crate) fn over(&self, other: Runtime) -> Option<f64> {
        Some(self.ours.median / self.beside(other)?.median)
    }

    /// The cell of another runtime for the same shape and workers.
    fn beside(&self, other: Runtime) -> Option<&GridCell> {
        let same = |cell: &&GridCell| {
            let ours = self.ours;
            let there = (cell.form, cell.workers) == (other, ours.workers);
            there && std::ptr::eq(cell.kind, ours.kind)
        };
        self.cells.iter().find(same)
    }

    /// Our processor time over that of another runtime, where both are known.
    pub(crate) fn cpu_over(&self, other: Runtime) -> Option<f64> {
        let ratio = self.ours.cpu / self.beside(other)?.cpu;
        ratio.is_finite().then_some(ratio)
    }

    pub(crate) fn name(&self) -> String {
        format!("{} on {}", self.ours.kind.name, self.ours.workers)
    }
}

/// Our closures in each cell.
pub(crate) fn judge(cells: &[GridCell]) -> Vec<Judged<'_>> {
    judge_form(cells, Runtime::Roving)
}

/// One form of ours in each cell.
pub(crate) fn judge_form(cells: &[GridCell], form: Runtime) -> Vec<Judged<'_>> {
    let ours = cells.iter().filter(|cell| cell.form == form);
    let judged = ours.map(|ours| {
        let beside = |counts: fn(Runtime) -> bool| {
            let others = cells.iter().filter(move |cell| {
                cell.workers == ours.workers
                    && std::ptr::eq(cell.kind, ours.kind)
                    && counts(cell.form)
            });
            others.min_by(|a, b| a.median.total_cmp(&b.median))
        };
        Judged {
            ours,
            best: beside(|form| !form.is_ours()),
            tasks: beside(|form| form.form().is_some() && form != Runtime::Roving),
            cells,
        }
    });
    judged.collect()
}

/// In how many cells the simulator's time is within 10 % of the measured one, and of how many;
/// nothing if it was not asked. Until all are at work takes microseconds, which are no prediction
/// of policies.
pub(crate) fn near_predictions(cells: &[GridCell]) -> Option<(usize, usize)> {
    let ended = cells
        .iter()
        .filter(|cell| cell.kind.until == TimedUntil::Ended);
    let ratios: Vec<f64> = ended.filter_map(GridCell::prediction).collect();
    let near = ratios.iter().filter(|ratio| (**ratio - 1.0).abs() <= 0.1);
    (!ratios.is_empty()).then(|| (near.count(), ratios.len()))
}

/// Blumofe and Leiserson: a run takes work / P + c · span. The c of the least squares over all
/// shapes and numbers of workers; nothing without cells.
pub(crate) fn fitted_c(judged: &[Judged<'_>]) -> Option<f64> {
    let sum = |of: fn(&GridCell) -> f64| judged.iter().map(|one| of(one.ours)).sum::<f64>();
    let rest = sum(|cell| (cell.median - cell.bounds.share) * cell.bounds.span);
    let c = rest / sum(|cell| cell.bounds.span * cell.bounds.span);
    c.is_finite().then_some(c)
}

/// The geometric mean; none of nothing.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let logarithms: Vec<f64> = values.map(f64::ln).collect();
    let count = logarithms.len() as f64;
    (count > 0.0).then(|| (logarithms.iter().sum::<f64>() / count).exp())
}

/// The greatest value, and the cell that has it.
pub(crate) fn worst<'j>(
    judged: &'j [Judged<'j>],
    value: impl Fn(&Judged<'_>) -> Option<f64>,
) -> Option<(f64, String)> {
    let values = judged
        .iter()
        .filter_map(|one| Some((value(one)?, one.name())));
    values.max_by(|a, b| a.0.total_cmp(&b.0))
}

/// The tables for people.
pub(crate) fn table(cells: &[GridCell]) -> String {
    let judged = judge(cells);
    let mut text = String::from("our closures over the best rival, and over its own bound\n");
    let mut last = "";
    for one in &judged {
        let Some(best) = one.best else { continue };
        if std::mem::replace(&mut last, one.ours.kind.name) != one.ours.kind.name {
            let _ = write!(text, "{:<16}", one.ours.kind.name);
        } else {
            let _ = write!(text, "{:<16}", "");
        }
        let tasks = one
            .over_tasks()
            .map_or_else(String::new, |over| format!("{over:.2}"));
        let _ = writeln!(
            text,
            "{:>5} workers {:>9.2} ms  rival {:.2} ({:<6}) tasks {:<5} list {:.2} cpu {:.2}",
            one.ours.workers,
            one.ours.median * 1e3,
            one.over_best().unwrap_or(f64::NAN),
            best.form.name(),
            tasks,
            one.ours.over_list(),
            one.ours.cpu / best.cpu,
        );
    }
    let mut order: Vec<(f64, String)> = judged
        .iter()
        .filter_map(|one| Some((one.over_best()?, one.name())))
        .collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    means(&mut text, cells, &judged);
    for (value, name) in order.iter().take(WORST) {
        let _ = writeln!(text, "worst: {name}: {value:.2}");
    }
    text
}

/// The means over all cells, a line each.
fn means(text: &mut String, cells: &[GridCell], judged: &[Judged<'_>]) {
    let values = || judged.iter().filter_map(Judged::over_best);
    if let Some(mean) = mean(values()) {
        let _ = writeln!(text, "geometric mean over the best rival: {mean:.3}");
    }
    if let Some(mean) = mean(judged.iter().filter_map(Judged::over_tasks)) {
        let _ = writeln!(text, "geometric mean over our own tasks: {mean:.3}");
    }
    for rival in [
        Runtime::Rayon,
        Runtime::Tokio,
        Runtime::Chili,
        Runtime::Forte,
    ] {
        if let Some(mean) = mean(judged.iter().filter_map(|one| one.over(rival))) {
            let _ = writeln!(text, "geometric mean over {}: {mean:.3}", rival.name());
        }
    }
    let ended = |one: &&Judged<'_>| one.ours.kind.until == TimedUntil::Ended;
    if let Some(c) = fitted_c(&judged.iter().filter(ended).cloned().collect::<Vec<_>>()) {
        let _ = writeln!(text, "work / P + c · span: c = {c:.2}");
    }
    if let Some((near, all)) = near_predictions(cells) {
        let _ = writeln!(text, "simulator: within 10 % in {near} of {all} cells");
    }
    let drop_in = judge_form(cells, Runtime::DropIn);
    let over = |one: &Judged<'_>| one.over(Runtime::Rayon);
    let cpu = |one: &Judged<'_>| one.cpu_over(Runtime::Rayon);
    if let (Some(time), Some(cpu)) = (
        mean(drop_in.iter().filter_map(over)),
        mean(drop_in.iter().filter_map(cpu)),
    ) {
        let _ = writeln!(
            text,
            "the drop-in over rayon: {time:.3}, its processor time {cpu:.2}"
        );
    }
    if let Some((value, name)) = worst(&drop_in, over) {
        let _ = writeln!(text, "the drop-in over rayon, worst: {name}: {value:.2}");
    }
}

/// A row for each cell.
pub(crate) fn csv(cells: &[GridCell], command: &str) -> Csv {
    let mut csv = Csv::new(&[
        "shape",
        "workers",
        "runtime",
        "version",
        "runs",
        "ms_median",
        "ms_min",
        "cpu_ms_median",
        "greedy_ms",
        "list_ms",
        "over_list",
        "predicted_ms",
        "command",
        "machine",
    ]);
    let machine = format!("{}; commit {}", machine::line(), machine::commit());
    let ms = |seconds: f64| format!("{:.4}", seconds * 1e3);
    for cell in cells {
        csv.push(vec![
            cell.kind.name.into(),
            cell.workers.to_string(),
            cell.form.name().into(),
            cell.form.version().into(),
            cell.runs.to_string(),
            ms(cell.median),
            ms(cell.min),
            ms(cell.cpu),
            ms(cell.bounds.greedy()),
            ms(cell.bounds.list),
            format!("{:.4}", cell.over_list()),
            cell.predicted.map_or_else(String::new, ms),
            command.into(),
            machine.clone(),
        ]);
    }
    csv
}

/// Makespan over that of the list schedule by the number of workers: for each runtime the
/// geometric mean over the shapes that all of them can do; nothing if there is none of these.
pub(crate) fn picture(cells: &[GridCell]) -> Result<Option<String>, String> {
    let mut forms: Vec<Runtime> = Vec::new();
    let mut counts: Vec<usize> = Vec::new();
    for cell in cells {
        if !forms.contains(&cell.form) {
            forms.push(cell.form);
        }
        if !counts.contains(&cell.workers) {
            counts.push(cell.workers);
        }
    }
    let curves = forms.iter().map(|&form| {
        let at = |&workers: &usize| {
            let here = cells.iter().filter(|cell| {
                let timed =
                    cell.kind.until == TimedUntil::Ended && cell.kind.entry == CalledFrom::Inside;
                cell.form == form && cell.workers == workers && timed
            });
            Some((workers as f64, mean(here.map(GridCell::over_list))?))
        };
        Curve {
            name: form.name().into(),
            points: counts.iter().filter_map(at).collect(),
        }
    });
    let curves: Vec<Curve> = curves.filter(|curve| !curve.points.is_empty()).collect();
    if curves.is_empty() {
        return Ok(None);
    }
    let (x, y) = ("workers", "times the bound");
    let title = "Leaves that sleep: makespan over the list schedule's";
    plot::curves(title, x, y, &curves).map(Some)
}

#[cfg(test)]
mod tests {
    use super::super::bound::Bounds;
    use super::*;
    use crate::shapes::shape::KINDS;

    #[test]
    fn the_fitted_c_is_that_of_the_cells() {
        let cell = |share: f64, span: f64, c: f64| GridCell {
            kind: &KINDS[0],
            workers: 2,
            form: Runtime::Roving,
            runs: 1,
            median: share + c * span,
            min: share,
            cpu: f64::NAN,
            bounds: Bounds {
                share,
                span,
                list: share,
            },
            predicted: None,
        };
        let same = [cell(1.0, 0.1, 1.5), cell(3.0, 0.2, 1.5)];
        assert!((fitted_c(&judge(&same)).unwrap() - 1.5).abs() < 1e-9);
        // A long span says more: 0.1² · 1 + 0.2² · 2 over 0.1² + 0.2².
        let two = [cell(1.0, 0.1, 1.0), cell(3.0, 0.2, 2.0)];
        assert!((fitted_c(&judge(&two)).unwrap() - 1.8).abs() < 1e-9);
        assert_eq!(fitted_c(&[]), None);
    }
}
