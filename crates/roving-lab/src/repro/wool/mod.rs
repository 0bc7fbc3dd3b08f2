//! Wool: what a task costs that nobody steals, what a steal costs, and three programs.

mod figures;

pub(super) use self::figures::FIGURES;
use super::clock;
use super::contest::{Contestant, contest, fact, field, lanes, timed};
use super::ladder::{self, JOINS, STEALS, Step};
use super::plan::{MeasureGroup, SizeAndMachine};
use super::seen::{SERIAL, SeenPoints, TIME};
use super::sizes;
use super::store::MeasuredPoint;
use crate::compare::field::Field;
use crate::io::input::CommandFailure;
use crate::rivals::Runtime;
use crate::timing::lanes::interleave_within;
use crate::workloads::WorkloadJob;
use crate::workloads::stress::calibrated;

/// Ours and the peers, in the order of tables.
const PEERS: [Runtime; 5] = [
    Runtime::Roving,
    Runtime::Rayon,
    Runtime::Chili,
    Runtime::Tbb,
    Runtime::OpenMp,
];
/// The name of ours.
const OURS: &str = "roving";
/// Leaves of the stress plots, in ns.
const LEAVES_NS: [u64; 5] = [500, 1_000, 4_000, 16_000, 64_000];
/// The leaf of the tables about steals, in ns.
const STEAL_LEAF_NS: u64 = 10_000;
/// Numbers of processors in the table of the slides: a tree has a leaf for each.
const STEAL_WORKERS: [usize; 3] = [2, 4, 8];

/// The measurements.
pub(super) fn groups(plan: &SizeAndMachine) -> Vec<MeasureGroup> {
    let mut groups = vec![ladder_group(plan), inlined(plan)];
    for depth in sizes::numbers(plan, "wool-steal") {
        let workers = 1usize << depth;
        if workers <= plan.cores {
            groups.push(stealing(plan, workers, depth as u32));
        }
    }
    groups.push(steal_steps(plan));
    for leaf_ns in LEAVES_NS {
        groups.push(stress(plan, leaf_ns));
    }
    for (name, workload) in [
        ("wool-cholesky", "cholesky"),
        ("wool-matmul", "matmul"),
        ("wool-substring", "substring"),
    ] {
        let peers = PEERS.map(Contestant::Plain).to_vec();
        let job = (workload, sizes::input(plan, name).to_owned());
        groups.push(contest(
            plan,
            name,
            (5.0, 60.0),
            job,
            peers,
            plan.workers.clone(),
        ));
    }
    groups
}

/// fib on one worker, on each step of the ladder and on Roving.
fn ladder_group(plan: &SizeAndMachine) -> MeasureGroup {
    let name = "wool-ladder";
    let job = ("fib", sizes::input(plan, name).to_owned());
    MeasureGroup::new(plan, name, (8.0, 300.0), move |_, rounds| {
        let field = match field(name, &job)? {
            Ok(field) => field,
            Err(left_out) => return Ok(vec![left_out]),
        };
        let mut all = vec![field.serial()];
        for step in 0..JOINS.len() {
            let step = Step::Join(step);
            let pool = ladder::Pool::start(step, 1)?;
            all.push(field.contender(step.name(), 1, Box::new(pool))?);
        }
        if let Ok(lane) = field.runtime(Runtime::Roving, 1)? {
            all.push(lane);
        }
        let mut points = lanes(name, all, rounds)?;
        points.push(fact(name, "items", field.items() as f64));
        points.push(fact(name, "clock_ghz", clock::ghz()));
        Ok(points)
    })
}

/// fib on one worker, on Roving and its peers.
fn inlined(plan: &SizeAndMachine) -> MeasureGroup {
    let name = "wool-inlined";
    let peers = PEERS.map(Contestant::Plain).to_vec();
    let job = ("fib", sizes::input(plan, name).to_owned());
    let MeasureGroup {
        measure,
        seconds,
        rounds,
        ..
    } = contest(plan, name, (6.0, 300.0), job, peers, vec![1]);
    MeasureGroup {
        name: name.to_owned(),
        seconds,
        rounds,
        measure: Box::new(move |plan, rounds| {
            let mut points = measure(plan, rounds)?;
            points.push(fact(name, "clock_ghz", clock::ghz()));
            Ok(points)
        }),
    }
}

/// A job of `stress` with so many turns in a leaf.
fn stress_field(turns: u64, depth: u32, repeats: u64) -> Result<Field, CommandFailure> {
    let input = format!("leaf={turns},depth={depth},repeats={repeats}");
    Field::new(WorkloadJob::parse("stress", Some(&input))?)
}

/// A tree of a depth on as many processors as it has leaves, over one leaf on one.
fn stealing(plan: &SizeAndMachine, workers: usize, depth: u32) -> MeasureGroup {
    let name = format!("wool-steal/{workers}");
    let group = name.clone();
    MeasureGroup::new(plan, name, (5.0, 40.0), move |plan, rounds| {
        let turns = calibrated(STEAL_LEAF_NS);
        let repeats = plan.pick(500, 5_000);
        let (leaf, tree) = (
            stress_field(turns, 0, repeats)?,
            stress_field(turns, depth, repeats)?,
        );
        let mut points = Vec::new();
        let mut all = vec![leaf.serial()];
        for runtime in PEERS {
            match Contestant::Plain(runtime).start(&tree, &group, workers)? {
                Ok(lane) => all.push(lane),
                Err(left_out) => points.push(left_out),
            }
        }
        points.extend(lanes(&group, all, rounds)?);
        points.push(fact(&group, "repeats", repeats as f64));
        points.push(fact(&group, "clock_ghz", clock::ghz()));
        Ok(points)
    })
}

/// The most workers of the ladder's thieves: a power of two, and its depth.
fn tree_of(plan: &SizeAndMachine) -> (usize, u32) {
    let depth = plan.cores.ilog2().clamp(1, 3);
    (1 << depth, depth)
}

/// The steps of the ladder of steals.
fn steal_steps(plan: &SizeAndMachine) -> MeasureGroup {
    let name = "wool-steals";
    let (workers, depth) = tree_of(plan);
    MeasureGroup::new(plan, name, (5.0, 40.0), move |plan, rounds| {
        let turns = calibrated(STEAL_LEAF_NS);
        let repeats = plan.pick(500, 5_000);
        let (leaf, tree) = (
            stress_field(turns, 0, repeats)?,
            stress_field(turns, depth, repeats)?,
        );
        let mut all = vec![leaf.serial()];
        for step in 0..STEALS.len() {
            let step = Step::Steal(step);
            let pool = ladder::Pool::start(step, workers)?;
            all.push(tree.contender(step.name(), workers, Box::new(pool))?);
        }
        let mut points = lanes(name, all, rounds)?;
        points.push(fact(name, "repeats", repeats as f64));
        points.push(fact(name, "clock_ghz", clock::ghz()));
        Ok(points)
    })
}

/// Speed-up where each repetition must share its work anew, for one size of leaf.
fn stress(plan: &SizeAndMachine, leaf_ns: u64) -> MeasureGroup {
    let name = format!("wool-stress/{leaf_ns}");
    let group = name.clone();
    MeasureGroup::new(plan, name, (3.0, 30.0), move |plan, rounds| {
        let turns = calibrated(leaf_ns);
        let serial_us = plan.pick(8_000, 60_000);
        let workers = plan.cores;
        let depth = workers.max(2).next_power_of_two().ilog2();
        let tree_ns = leaf_ns << depth;
        let field = stress_field(turns, depth, (serial_us * 1_000 / tree_ns).max(10))?;
        let mut points: Vec<MeasuredPoint> = Vec::new();
        let mut all = vec![field.serial()];
        for runtime in PEERS {
            match Contestant::Plain(runtime).start(&field, &group, workers)? {
                Ok(lane) => all.push(lane),
                Err(left_out) => points.push(left_out),
            }
        }
        let series = interleave_within(&mut all, *rounds).map_err(CommandFailure::Run)?;
        points.extend(series.iter().map(|one| timed(&group, one)));
        Ok(points)
    })
}

/// The cycles of each task of `fib` beyond the call it replaces.
fn task_cycles(seen: &SeenPoints<'_>, group: &str, series: &str) -> Option<Vec<f64>> {
    let serial = seen.time(group, SERIAL, 1)?;
    let joins = (seen.median(group, "items", 1, "items")? - 1.0) / 2.0;
    let ghz = seen.median(group, "clock_ghz", 1, "clock_ghz")?;
    let times = seen.values(group, series, 1, TIME)?;
    Some(
        times
            .iter()
            .map(|time| (time - serial) * 1e9 * ghz / joins)
            .collect(),
    )
}

/// The cycles of each repetition of `stress` beyond one leaf alone.
fn steal_cycles(
    seen: &SeenPoints<'_>,
    group: &str,
    series: &str,
    workers: usize,
) -> Option<Vec<f64>> {
    let leaf = seen.time(group, SERIAL, 1)?;
    let repeats = seen.median(group, "repeats", 1, "repeats")?;
    let ghz = seen.median(group, "clock_ghz", 1, "clock_ghz")?;
    let times = seen.values(group, series, workers, TIME)?;
    Some(
        times
            .iter()
            .map(|time| (time - leaf) * 1e9 * ghz / repeats)
            .collect(),
    )
}
