//! `roving model`: what equations and simulation say about stealing, as tables, CSV and plots.

pub(crate) mod args;
mod equations;
pub(crate) mod probes;
pub(crate) mod ranks;
mod runtime;
mod uts;
pub(crate) mod work;

use std::path::PathBuf;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use roving_model::Costs;

pub(crate) use args::ModelArgs;
use args::{Figure, Plan};

use crate::csv::Csv;
use crate::input::Failure;
use crate::out::show;
use crate::out::{make_directory, write};

/// Where files go.
pub(crate) const OUT: &str = "roving-results";

/// How often a processor without tasks looks, when the user does not say: in the steady state, and
/// in a drain.
pub(crate) const RETRY_OF_POLICIES: f64 = 0.0;
pub(crate) const RETRY_OF_DRAIN: f64 = 10.0;

/// `roving model`.
pub(crate) fn run(args: &ModelArgs) -> Result<(), Failure> {
    let mut plan = Plan::parse(args)?;
    if let Some(path) = &args.record {
        plan.work.calibrate(&Costs::default(), plan.grain_ns)?;
        plan.work.record(path)?;
        return show(format_args!("written: {}\n", path.display()));
    }
    let out = Out(args.out.clone().unwrap_or_else(|| PathBuf::from(OUT)));
    make_directory(&out.0)?;
    let simulates =
        |figure: &Figure| matches!(figure, Figure::Busy | Figure::Speedup | Figure::Crossing);
    let mut costs = Costs::default();
    if plan.figures.iter().any(simulates) {
        if !args.stock_costs {
            costs = probes::costs()?;
        }
        plan.work.calibrate(&costs, plan.grain_ns)?;
        show(format_args!("{}\n", described(&costs, &plan)))?;
    }
    // A figure that fails does not take the others with it: the last failure is the command's own.
    let mut ended = Ok(());
    for figure in plan.figures.clone() {
        let drawn = match figure {
            Figure::Policies => equations::policies(&plan, &out),
            Figure::Drain => equations::drain(&plan, &out),
            Figure::Busy => runtime::busy(&plan, &costs, &out),
            Figure::Speedup => runtime::speedup(&plan, &costs, &out),
            Figure::Loads => equations::loads(&plan, &out),
            Figure::Crossing => runtime::crossing(&mut plan, &costs, &out),
            Figure::Ranks => ranks::ranks(&plan, &out),
        };
        if let Err(failure) = drawn
            && let Err(earlier) = std::mem::replace(&mut ended, Err(failure))
        {
            earlier.print();
        }
    }
    ended
}

/// Describes the simulated work and machine, in one line each.
fn described(costs: &Costs, plan: &Plan) -> String {
    let Costs {
        join,
        claim,
        finish,
        line,
        unpark,
        wake,
        ..
    } = costs;
    format!(
        "work: {}, {:.1} ns a {}\ncosts in ns: join {join:.1}, cache line {:.0}, claim {:.0}, \
         end of a stolen task {:.0}, unpark {unpark:.0}, wake {wake:.0} (same socket)\n",
        plan.work.name,
        plan.work.unit_ns,
        plan.work.unit(),
        line.socket,
        claim.socket,
        finish.socket,
    )
}

/// The folder that files go to.
struct Out(PathBuf);

impl Out {
    /// Writes a table and its plot, and says where.
    fn write(
        &self,
        name: &str,
        csv: &Csv,
        plots: &[(&str, Result<String, String>)],
    ) -> Result<(), Failure> {
        let mut written = vec![self.0.join(format!("model-{name}.csv"))];
        write(&written[0], &csv.text())?;
        for (ending, plot) in plots {
            let path = self.0.join(format!("model-{name}{ending}.svg"));
            write(
                &path,
                plot.as_ref().map_err(|why| Failure::Run(why.clone()))?,
            )?;
            written.push(path);
        }
        let names: Vec<String> = written
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        show(format_args!("written: {}\n\n", names.join(", ")))
    }
}

/// A bar over simulated tasks, with the time that is left. On a terminal only.
struct Progress {
    bar: ProgressBar,
    done: u64,
}

impl Progress {
    /// Over `runs` simulations of the same work.
    fn new(title: &str, runs: usize) -> Progress {
        let bar =
            ProgressBar::with_draw_target(Some(runs as u64 * 1000), ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template("{msg} {bar:30} {percent}%, {elapsed}, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(title.to_owned());
        bar.enable_steady_tick(Duration::from_secs(1));
        Progress { bar, done: 0 }
    }

    /// `part` of the present simulation is done.
    fn part(&self, part: f64) {
        self.bar
            .set_position(self.done + (part.min(1.0) * 1000.0) as u64);
    }

    /// The present simulation is done.
    fn step(&mut self) {
        self.done += 1000;
        self.bar.set_position(self.done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
