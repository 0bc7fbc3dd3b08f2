//! Figures of the simulated runtime.

use roving::policy::Amount;
use roving_model::{Costs, Outcome, Runtime};

use super::args::CheckedArgs;
use super::equations::crossings;
use super::folder::Folder;
use super::progress::SimulationBar;
use super::work::ModelWork;
use crate::io::csv::Csv;
use crate::io::figures::figures;
use crate::io::input::{CommandFailure, grouped};
use crate::io::out::show;
use crate::io::plot::{self, Axes, Curve};

/// Lengths of a node in ns, for where the amounts cross: from much shorter than a steal to much
/// longer.
const GRAINS_NS: [f64; 7] = [10.0, 30.0, 100.0, 300.0, 1000.0, 10_000.0, 100_000.0];
/// Workers of the figures that show one pool, if there are as many among those asked for.
const POOL: usize = 1000;

/// Simulations of one work, one after the other, with progress.
struct Runs<'a> {
    plan: &'a CheckedArgs,
    costs: &'a Costs,
    progress: SimulationBar,
    /// Tasks of the work, once it was run.
    tasks: Option<u64>,
}

impl<'a> Runs<'a> {
    fn new(plan: &'a CheckedArgs, costs: &'a Costs, title: &str, runs: usize) -> Runs<'a> {
        Runs {
            plan,
            costs,
            progress: SimulationBar::new(title, runs),
            tasks: None,
        }
    }

    fn run(
        &mut self,
        work: &ModelWork,
        workers: usize,
        amount: Amount,
    ) -> Result<Outcome, CommandFailure> {
        let pool = Runtime::new(workers)
            .amount(amount)
            .costs(*self.costs)
            .seed(self.plan.seed);
        let (progress, tasks) = (&self.progress, self.tasks);
        let outcome = work.simulate(&pool, &mut |done| {
            if let Some(tasks) = tasks {
                progress.part(done as f64 / tasks as f64);
            }
        })?;
        self.tasks = Some(outcome.tasks);
        self.progress.step();
        Ok(outcome)
    }
}

/// The size of the pool in figures that show one.
fn pool_size(plan: &CheckedArgs) -> usize {
    let fits = plan
        .workers
        .iter()
        .copied()
        .filter(|&workers| workers <= POOL);
    fits.max().unwrap_or(plan.workers[0])
}

/// Busy workers and prospective victims over time, by amount.
pub(super) fn busy(plan: &CheckedArgs, costs: &Costs, out: &Folder) -> Result<(), CommandFailure> {
    let workers = pool_size(plan);
    let mut csv = Csv::new(&["steal", "workers", "time_us", "busy", "victims"]);
    let (mut busy, mut victims) = (Vec::new(), Vec::new());
    let mut text = format!(
        "{} on {} simulated workers\n{:<10}{:>12}{:>12}{:>10}{:>12}{:>12}{:>12}\n",
        plan.work.name,
        grouped(workers as u64),
        "steal",
        "time µs",
        "speed-up",
        "busy",
        "steals",
        "leapfrogs",
        "parks"
    );
    let mut runs = Runs::new(plan, costs, "busy", plan.amounts.len());
    for &amount in &plan.amounts {
        let outcome = runs.run(&plan.work, workers, amount)?;
        let [time, speedup, part] =
            [outcome.time_ns / 1e3, outcome.speedup(), outcome.busy].map(figures);
        text.push_str(&format!(
            "{:<10}{time:>12}{speedup:>12}{part:>10}{:>12}{:>12}{:>12}\n",
            amount.to_string(),
            outcome.steals,
            outcome.leapfrogs,
            outcome.parks
        ));
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for sample in &outcome.samples {
            let time_us = sample.time_ns / 1e3;
            let values = [time_us, sample.busy, sample.victims].map(figures);
            let names = [amount.to_string(), workers.to_string()];
            csv.push(names.into_iter().chain(values).collect());
            first.push((time_us, sample.busy));
            second.push((time_us, sample.victims));
        }
        let name = amount.to_string();
        busy.push(Curve {
            name: name.clone(),
            points: first,
        });
        victims.push(Curve {
            name,
            points: second,
        });
    }
    drop(runs);
    show(format_args!("{text}"))?;
    let title = |what: &str| {
        format!(
            "{}, {} simulated workers: {what}",
            plan.work.name,
            grouped(workers as u64)
        )
    };
    let axes = |title, y| Axes {
        title,
        x: "time, µs",
        y,
        log: (false, false),
    };
    let (one, other) = (title("busy workers"), title("prospective victims"));
    let busy = plot::lines(axes(&one, "busy part"), &busy);
    let victims = plot::lines(axes(&other, "part that shows tasks"), &victims);
    out.write("busy", &csv, &[("", busy), ("-victims", victims)])
}

/// Predicted speed-up by number of workers and amount.
pub(super) fn speedup(
    plan: &CheckedArgs,
    costs: &Costs,
    out: &Folder,
) -> Result<(), CommandFailure> {
    let head = [
        "steal", "workers", "time_us", "speedup", "busy", "steals", "parks", "events",
    ];
    let mut csv = Csv::new(&head);
    let mut text = format!(
        "predicted speed-up of {} over its tasks one after the other\n{:<10}{:>12}{:>14}{:>12}{:>10}{:>12}{:>12}\n",
        plan.work.name, "steal", "workers", "time µs", "speed-up", "busy", "steals", "parks"
    );
    let mut curves = Vec::new();
    let mut runs = Runs::new(
        plan,
        costs,
        "speed-up",
        plan.amounts.len() * plan.workers.len(),
    );
    for &amount in &plan.amounts {
        let mut points = Vec::new();
        for &workers in &plan.workers {
            let outcome = runs.run(&plan.work, workers, amount)?;
            let [time, speedup, busy] =
                [outcome.time_ns / 1e3, outcome.speedup(), outcome.busy].map(figures);
            let name = amount.to_string();
            text.push_str(&format!(
                "{name:<10}{:>12}{time:>14}{speedup:>12}{busy:>10}{:>12}{:>12}\n",
                grouped(workers as u64),
                outcome.steals,
                outcome.parks
            ));
            csv.push(vec![
                name,
                workers.to_string(),
                time,
                speedup,
                busy,
                outcome.steals.to_string(),
                outcome.parks.to_string(),
                outcome.events.to_string(),
            ]);
            points.push((workers as f64, outcome.speedup()));
        }
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        curves.push(Curve {
            name: amount.to_string(),
            points,
        });
    }
    drop(runs);
    show(format_args!("{text}"))?;
    let title = format!(
        "{}, {:.0} ns a {}: predicted speed-up",
        plan.work.name,
        plan.work.unit_ns,
        plan.work.unit()
    );
    let axes = Axes {
        title: &title,
        x: "simulated workers",
        y: "speed-up",
        log: (true, true),
    };
    out.write("speedup", &csv, &[("", plot::lines(axes, &curves))])
}

/// At which lengths of a node the amounts change places.
pub(super) fn crossing(
    plan: &mut CheckedArgs,
    costs: &Costs,
    out: &Folder,
) -> Result<(), CommandFailure> {
    if plan.work.is_recorded() {
        return show(format_args!(
            "where amounts cross by the length of a node is not drawn for a recorded tree\n"
        ));
    }
    let workers = pool_size(plan);
    let measured_ns = plan.work.unit_ns;
    let mut csv = Csv::new(&["steal", "workers", "grain_ns", "speedup"]);
    let mut lines: Vec<(Amount, Vec<(f64, f64)>)> = plan
        .amounts
        .iter()
        .map(|&amount| (amount, Vec::new()))
        .collect();
    for grain_ns in GRAINS_NS {
        plan.work.with_unit(grain_ns);
        let title = format!("crossing, {grain_ns} ns");
        let mut runs = Runs::new(plan, costs, &title, lines.len());
        for (amount, points) in &mut lines {
            let speedup = runs.run(&plan.work, workers, *amount)?.speedup();
            let values = [
                amount.to_string(),
                workers.to_string(),
                grain_ns.to_string(),
                figures(speedup),
            ];
            csv.push(values.to_vec());
            points.push((grain_ns, speedup));
        }
    }
    plan.work.with_unit(measured_ns);
    show(format_args!("{}", by_grain(plan, workers, &lines)))?;
    let curves: Vec<Curve> = lines
        .into_iter()
        .map(|(amount, points)| Curve {
            name: amount.to_string(),
            points,
        })
        .collect();
    let title = format!(
        "{}, {} simulated workers: where one, d and half cross",
        plan.work.name,
        grouped(workers as u64)
    );
    let x = format!("length of a {}, ns", plan.work.unit());
    let axes = Axes {
        title: &title,
        x: &x,
        y: "speed-up",
        log: (true, false),
    };
    out.write("crossing", &csv, &[("", plot::lines(axes, &curves))])
}

/// The table of speed-ups by the length of a unit, and where the amounts change places.
fn by_grain(plan: &CheckedArgs, workers: usize, lines: &[(Amount, Vec<(f64, f64)>)]) -> String {
    let mut text = format!(
        "{} on {} simulated workers: speed-up by the length of a {}\n{:<10}",
        plan.work.name,
        grouped(workers as u64),
        plan.work.unit(),
        "ns"
    );
    for (amount, _) in lines {
        text.push_str(&format!("{:>12}", amount.to_string()));
    }
    for (row, grain_ns) in GRAINS_NS.iter().enumerate() {
        text.push_str(&format!("\n{grain_ns:<10}"));
        for (_, points) in lines {
            text.push_str(&format!("{:>12}", figures(points[row].1)));
        }
    }
    text.push('\n');
    for (place, (amount, points)) in lines.iter().enumerate() {
        for (other, others) in &lines[place + 1..] {
            for grain_ns in crossings(points, others) {
                text.push_str(&format!(
                    "  {amount} and {other} cross at {grain_ns:.0} ns\n"
                ));
            }
        }
    }
    text
}
