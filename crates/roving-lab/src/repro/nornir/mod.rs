//! Nornir: process networks under work stealing (WS) and under graph partitioning (GP).

mod figures;
mod rules;

use std::cell::RefCell;

pub(super) use self::figures::FIGURES;
use super::contest::{fact, timed};
use super::mann_whitney;
use super::plan::{MeasureGroup, SizeAndMachine};
use super::seen::{SERIAL, SeenPoints, TIME};
use super::sizes;
use super::store::MeasuredPoint;
use crate::io::figures::counted;
use crate::io::input::CommandFailure;
use crate::networks::placement::NamedPlacement;
use crate::networks::report::NetworkTraffic;
use crate::networks::run::VerifiedNetwork;
use crate::timing::lanes::{Rounds, interleave_within};

/// Divisions of the work of the random networks, each with how many messages the source sends.
fn divisions(plan: &SizeAndMachine) -> Vec<u64> {
    sizes::numbers(plan, "nn-rnd")
}

/// Processes in a stage of the encoder.
fn stages(plan: &SizeAndMachine) -> Vec<u64> {
    sizes::numbers(plan, "nn-h264")
}

/// Divisions of scatter-gather: the work of a message in ns, and the rounds that make about the
/// time of all.
fn works(plan: &SizeAndMachine) -> Vec<(u64, u64, u64)> {
    let all_ns = plan.pick(25_000_000, SCATTER_NS);
    let work = |division: u64| {
        let work_ns = SCATTER_NS / division;
        (division, work_ns, (all_ns / (50 * work_ns)).max(1))
    };
    let divisions = sizes::numbers(plan, "nn-scatter").into_iter();
    divisions.map(work).collect()
}

/// The work that scatter-gather's d divides: the paper says only that d is a division and that 100
/// µs are enough; as in its random networks it is taken to be a second.
const SCATTER_NS: u64 = 1_000_000_000;

/// The idle times that are compared: all of the lab's, or three of them.
fn thresholds(plan: &SizeAndMachine) -> Vec<NamedPlacement> {
    let all: Vec<NamedPlacement> = NamedPlacement::thresholds().collect();
    if plan.quick {
        return all.into_iter().skip(1).step_by(3).collect();
    }
    all
}

/// The input of a random network: each message carries as much work as in the paper.
fn random(plan: &SizeAndMachine, network: &str, division: u64) -> String {
    let work_ms = sizes::input(plan, "nn-rnd-work");
    let messages = sizes::messages(plan, division);
    format!("{network},division={division},work_ms={work_ms},messages={messages}")
}

/// The input of k-means. The paper does not say after how many rounds it ends: with --full when no
/// centre moves.
fn kmeans(plan: &SizeAndMachine) -> String {
    let rounds = plan.pick("10", "1000000");
    format!("{},rounds={rounds}", sizes::input(plan, "nn-kmeans"))
}

/// Each placement on each number of workers.
fn everywhere(plan: &SizeAndMachine, places: &[NamedPlacement]) -> Vec<(NamedPlacement, usize)> {
    let pairs = places.iter().flat_map(|place| {
        let workers = plan.workers.iter();
        workers.map(|workers| (*place, *workers))
    });
    pairs.collect()
}

/// On all cores: stealing, and partitioned with each idle time that is compared.
fn compared(plan: &SizeAndMachine) -> Vec<(NamedPlacement, usize)> {
    let places = std::iter::once(kinds().0).chain(thresholds(plan));
    places.map(|place| (place, plan.cores)).collect()
}

/// The measurements.
pub(super) fn groups(plan: &SizeAndMachine) -> Vec<MeasureGroup> {
    let (ws, gp, adaptive) = kinds();
    let all = || everywhere(plan, &[ws, gp, adaptive]);
    let ring = ("ring", sizes::input(plan, "nn-ring").to_owned());
    let mut groups = vec![network(
        plan,
        "nn-ring".into(),
        (5.0, 60.0),
        ring,
        all(),
        false,
    )];
    for processes in stages(plan) {
        let input = plan.pick(format!("{processes},frames=6"), processes.to_string());
        let (name, job) = (format!("nn-h264/{processes}"), ("h264", input));
        groups.push(network(plan, name, (4.0, 60.0), job, all(), true));
    }
    for letter in ["A", "B"] {
        groups.extend(random_groups(plan, letter));
    }
    let job = ("kmeans", kmeans(plan));
    let name = "nn-kmeans".into();
    groups.push(network(plan, name, (5.0, 600.0), job, compared(plan), true));
    for (division, work_ns, rounds) in works(plan) {
        let input = format!("work={work_ns}ns,rounds={rounds}");
        let (name, job) = (format!("nn-scatter/{division}"), ("scatter-gather", input));
        let places = everywhere(plan, &[ws]);
        groups.push(network(plan, name, (1.2, 20.0), job, places, true));
    }
    let mut places = vec![(ws, plan.cores)];
    places.extend(NamedPlacement::thresholds().map(|place| (place, plan.cores)));
    let job = ("random", random(plan, "B", 1_000));
    let group = network(plan, "nn-variance".into(), (9.0, 90.0), job, places, false);
    groups.push(group.rounds(plan, (5, 10), (10, 10)));
    groups
}

/// A random network at each work division.
fn random_groups(plan: &SizeAndMachine, letter: &str) -> Vec<MeasureGroup> {
    let (ws, _, adaptive) = kinds();
    let group = |division| {
        let name = format!("nn-rnd-{}/{division}", letter.to_lowercase());
        let mut places = everywhere(plan, &[ws]);
        places.push((adaptive, plan.cores));
        places.extend(compared(plan).into_iter().skip(1));
        let job = ("random", random(plan, letter, division));
        // The test that selects the best idle time has no power with fewer runs.
        let group = network(plan, name, (4.0, 180.0), job, places, true);
        group.rounds(plan, (5, 10), (10, 10))
    };
    divisions(plan).into_iter().map(group).collect()
}

/// Stealing, partitioned, adaptive, each with its usual figures.
fn kinds() -> (NamedPlacement, NamedPlacement, NamedPlacement) {
    let [ws, gp, adaptive] = NamedPlacement::all();
    (ws, gp, adaptive)
}

/// The places of figure 7: 0 for stealing, then the idle times in µs.
fn taus() -> Vec<(String, String)> {
    let thresholds = NamedPlacement::thresholds()
        .filter_map(|place| Some((place.threshold_us()?.to_string(), place.text())));
    std::iter::once(("0".to_owned(), kinds().0.text()))
        .chain(thresholds)
        .collect()
}

/// A network under each pair of placement and number of workers in turn, with accounting on, as in
/// the paper.
fn network(
    plan: &SizeAndMachine,
    name: String,
    seconds: (f64, f64),
    job: (&'static str, String),
    pairs: Vec<(NamedPlacement, usize)>,
    serial: bool,
) -> MeasureGroup {
    let group = name.clone();
    MeasureGroup::new(plan, name, seconds, move |_, rounds| {
        measured(&group, &job, &pairs, serial, rounds)
    })
}

fn measured(
    group: &str,
    job: &(&'static str, String),
    pairs: &[(NamedPlacement, usize)],
    serial: bool,
    rounds: &Rounds,
) -> Result<Vec<MeasuredPoint>, CommandFailure> {
    let verified = VerifiedNetwork::named(job.0, &job.1)?;
    let seen: Vec<RefCell<Vec<NetworkTraffic>>> =
        pairs.iter().map(|_| RefCell::default()).collect();
    let mut lanes = Vec::new();
    for ((place, workers), seen) in pairs.iter().zip(&seen) {
        let mut lane = verified.watched(*place, *workers, true, |ran| {
            seen.borrow_mut().push(NetworkTraffic::from(&ran.report));
        })?;
        lane.name = place.text();
        lanes.push(lane);
    }
    if serial {
        lanes.push(verified.serial_lane());
    }
    let series = interleave_within(&mut lanes, *rounds).map_err(CommandFailure::Run)?;
    drop(lanes);
    let mut points: Vec<MeasuredPoint> = series.iter().map(|one| timed(group, one)).collect();
    for (one, seen) in series.iter().zip(seen) {
        // The first run warmed up; a lane that is slow has none but that.
        let mut traffic = seen.into_inner();
        traffic.drain(..traffic.len() - one.times.len());
        let per_run = |metric: &str, of: &dyn Fn(&NetworkTraffic, f64) -> f64| MeasuredPoint {
            metric: metric.to_owned(),
            values: traffic
                .iter()
                .zip(one.times.seconds())
                .map(|(ran, time)| of(ran, time))
                .collect(),
            ..timed(group, one)
        };
        points.push(per_run("local_share", &|ran, _| ran.local_share()));
        points.push(per_run("messages_per_s", &|ran, time| {
            ran.messages as f64 / time
        }));
        points.push(per_run("repartitions", &|ran, _| ran.repartitions as f64));
    }
    points.push(fact(group, "items", verified.items() as f64));
    Ok(points)
}

/// The partitioned placement that does best in a group on all cores, selected as in appendix A.
fn best(seen: &SeenPoints<'_>, group: &str) -> Option<String> {
    let workers = seen.plan.cores;
    let names = NamedPlacement::thresholds().map(NamedPlacement::text);
    let measured: Vec<(String, &[f64])> = names
        .filter_map(|name| Some((name.clone(), seen.values(group, &name, workers, TIME)?)))
        .collect();
    let sets: Vec<&[f64]> = measured.iter().map(|one| one.1).collect();
    Some(measured[mann_whitney::best(&sets)?].0.clone())
}

/// `WS, 2 workers`.
fn label(kind: &str, workers: usize) -> String {
    format!("{kind}, {}", counted(workers, "worker"))
}

/// The values of a metric under stealing by workers, and under the best partitioning on all cores:
/// curve by curve.
fn curves(seen: &SeenPoints<'_>, group: &str, metric: &str) -> Vec<(String, Vec<f64>)> {
    let (ws, gp, adaptive) = kinds();
    let mut found = Vec::new();
    let mut add = |kind: &str, series: &str, workers: usize| {
        if let Some(values) = seen.values(group, series, workers, metric) {
            found.push((label(kind, workers), values.to_vec()));
        }
    };
    for &workers in &seen.plan.workers {
        add("WS", &ws.text(), workers);
        add("GP", &gp.text(), workers);
    }
    if let Some(best) = best(seen, group) {
        add("GP, best τ", &best, seen.plan.cores);
    }
    add("adaptive", &adaptive.text(), seen.plan.cores);
    found
}

/// The serial time of a group over each time of a curve.
fn speedups(seen: &SeenPoints<'_>, group: &str) -> Vec<(String, Vec<f64>)> {
    let Some(serial) = seen.time(group, SERIAL, 1) else {
        return Vec::new();
    };
    let times = curves(seen, group, TIME).into_iter();
    times
        .map(|(name, times)| (name, times.iter().map(|time| serial / time).collect()))
        .collect()
}
