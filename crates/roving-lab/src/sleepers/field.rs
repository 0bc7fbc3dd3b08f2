//! Shapes timed on Roving and on its rivals, interleaved in one process.

use std::cell::RefCell;
use std::fs;
use std::process::{Child, Command};
use std::rc::Rc;

use super::bound::Bounds;
use super::cell::GridCell;
use super::kept::Kept;
use super::ours::Ours;
use super::predict::{self, Machine};
use super::settings::GridSettings;
use crate::io::input::CommandFailure;
use crate::machine::cpu_time;
use crate::model::probes;
use crate::rivals::{Absent, Runtime, sleepers};
use crate::shapes::runner::{Runner, here};
use crate::shapes::shape::{CalledFrom, ShapeKind, TimedUntil};
use crate::timing::lanes::{Rounds, TimedLane, interleave_within};
use crate::timing::times::Times;

/// Measures all cells that are not kept from a run that was cut off, and says which runtimes took
/// no part.
pub(crate) fn measure(
    settings: &GridSettings,
    kept: &mut Kept,
) -> Result<(Vec<GridCell>, Vec<String>), CommandFailure> {
    // Else each leaf sleeps some 50 µs longer than it was asked to. Threads inherit it. Where it
    // cannot be written, all leaves of all runtimes are longer.
    let _ = fs::write("/proc/self/timerslack_ns", "1");
    let _load = SpinningPrograms::start(settings.load)?;
    let (mut cells, mut absent) = (Vec::new(), Vec::new());
    // The simulator knows leaves that sleep, on workers that have a core each where they need one.
    // Beside programs that compute the probes take minutes, and find no costs.
    let predictable = settings.leaves.spin == 0.0 && !settings.crowded && settings.load == 0;
    let costs = predictable.then(probes::costs).transpose()?;
    // Nothing of it is fitted to a run that is to be predicted.
    let machine = costs.map(Machine::new);
    for &workers in &settings.workers {
        let team = team(settings, workers, &mut absent)?;
        for &kind in &settings.kinds {
            let mut row = kept.of(kind, workers);
            if row.is_empty() {
                row = measure_shape(settings, workers, kind, &team, machine)?;
                kept.keep(&row)?;
            }
            cells.extend(row);
        }
    }
    Ok((cells, absent))
}

/// All runtimes that can have so many workers.
fn team(
    settings: &GridSettings,
    workers: usize,
    absent: &mut Vec<String>,
) -> Result<Vec<(Runtime, Runner)>, CommandFailure> {
    let no_pool = |error| CommandFailure::Run(format!("no pool of {workers} workers: {error}"));
    let ours = Rc::new(Ours::start(workers, settings.crowded).map_err(no_pool)?);
    let mut team: Vec<(Runtime, Runner)> = Vec::new();
    for &runtime in &settings.forms {
        let started = match runtime.form() {
            None => sleepers(runtime, workers),
            Some(form) => {
                let ours = Rc::clone(&ours);
                Ok(here(move |shape, leaves| ours.run(form, shape, leaves)))
            }
        };
        match started {
            Ok(runner) => team.push((runtime, runner)),
            Err(Absent(why)) => absent.push(format!("{} on {workers}: {why}", runtime.name())),
        }
    }
    Ok(team)
}

/// Whether it has what the shape needs: callers from outside, or a second pool.
fn takes_part(runtime: Runtime, entry: CalledFrom) -> bool {
    match (runtime, entry) {
        (_, CalledFrom::Inside) | (Runtime::Roving | Runtime::DropIn | Runtime::Rayon, _) => true,
        (Runtime::Chili | Runtime::Forte, _) | (_, CalledFrom::TwoPools) => false,
        (_, CalledFrom::Callers) => true,
    }
}

/// How many times as many runs there are where what is timed is a wake-up or two, which scatter.
const BEGUN_ROUNDS: usize = 5;

fn measure_shape(
    settings: &GridSettings,
    workers: usize,
    kind: &'static ShapeKind,
    team: &[(Runtime, Runner)],
    machine: Option<Machine>,
) -> Result<Vec<GridCell>, CommandFailure> {
    let shape = kind.for_workers(workers);
    let whole = shape.whole();
    let team = team.iter().filter(|one| takes_part(one.0, kind.entry));
    let team: Vec<_> = team.collect();
    let used: Vec<RefCell<Times>> = team.iter().map(|_| RefCell::default()).collect();
    let lanes = team.iter().zip(&used).map(|((runtime, runner), used)| {
        TimedLane::new(runtime.name(), workers, move || {
            let before = cpu_time();
            let ran = runner(shape, settings.leaves)?;
            let here = || Some(cpu_time()?.saturating_sub(before?));
            used.borrow_mut().extend(ran.cpu.or_else(here));
            Ok(ran.time)
        })
    });
    let rounds = match kind.until {
        TimedUntil::Begun => BEGUN_ROUNDS * settings.rounds,
        TimedUntil::Ended => settings.rounds,
    };
    let rounds = Rounds {
        least: rounds,
        most: rounds,
        until: None,
        quiet: false,
    };
    let series = interleave_within(&mut lanes.collect::<Vec<_>>(), rounds);
    let series = series.map_err(|why| CommandFailure::Run(format!("{}: {why}", kind.name)))?;
    let bounds = Bounds::of(&whole, workers);
    let predicted = machine.and_then(|machine| predict::predicted(shape, workers, &machine));
    let predicted = predicted.map(|time| time.as_secs_f64());
    let cells = series.into_iter().zip(team).zip(used);
    let cells = cells.map(|((series, (form, _)), cpu)| GridCell {
        kind,
        workers,
        form: *form,
        runs: series.times.len(),
        median: series.times.median(),
        min: series.times.min(),
        cpu: cpu.into_inner().median(),
        bounds,
        predicted: predicted.filter(|_| *form == Runtime::Roving),
    });
    Ok(cells.collect())
}

/// Programs that compute, as long as it lives.
struct SpinningPrograms(Vec<Child>);

impl SpinningPrograms {
    fn start(programs: usize) -> Result<SpinningPrograms, CommandFailure> {
        let mut load = SpinningPrograms(Vec::new());
        for _ in 0..programs {
            let child = Command::new("sh")
                .args(["-c", "while :; do :; done"])
                .spawn();
            let no_shell = |error| CommandFailure::Run(format!("no program to be a load: {error}"));
            load.0.push(child.map_err(no_shell)?);
        }
        Ok(load)
    }
}

impl Drop for SpinningPrograms {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
