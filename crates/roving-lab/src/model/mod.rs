//! `roving model`: what equations and simulation say about stealing, as tables, CSV and plots.

pub(crate) mod args;
mod equations;
mod folder;
pub(crate) mod probes;
mod progress;
pub(crate) mod ranks;
mod runtime;
mod uts;
pub(crate) mod work;

use std::path::PathBuf;

use roving_model::Costs;

pub(crate) use args::ModelArgs;
use args::{CheckedArgs, Figure};

use crate::io::input::CommandFailure;
use crate::io::out::{make_directory, show};
use folder::Folder;

/// Where files go.
pub(crate) const OUT: &str = "roving-results";

/// `roving model`.
pub(crate) fn run(args: &ModelArgs) -> Result<(), CommandFailure> {
    let mut plan = CheckedArgs::parse(args)?;
    if let Some(path) = &args.record {
        plan.work.calibrate(&Costs::default(), plan.grain_ns)?;
        plan.work.record(path)?;
        return show(format_args!("written: {}\n", path.display()));
    }
    let out = Folder(args.out.clone().unwrap_or_else(|| PathBuf::from(OUT)));
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
fn described(costs: &Costs, plan: &CheckedArgs) -> String {
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
