//! Figures of the mean-field equations.

use roving_model::{MeanField, ModelError, Policy};

use super::args::{CheckedArgs, RETRY_OF_DRAIN, RETRY_OF_POLICIES};
use super::folder::Folder;
use crate::io::csv::Csv;
use crate::io::figures::figures;
use crate::io::input::{BadInput, CommandFailure};
use crate::io::out::show;
use crate::io::plot::{self, Axes, Curve};

/// Compared in the steady state and in the drain.
const POLICIES: [Policy; 6] = [
    Policy::None,
    Policy::One { threshold: 2 },
    Policy::One { threshold: 4 },
    Policy::Fixed {
        amount: 2,
        threshold: 4,
    },
    Policy::Fixed {
        amount: 4,
        threshold: 5,
    },
    Policy::Half { threshold: 2 },
];
/// Tasks drain that much faster than anybody would wait for.
const SHOWN: f64 = 16.0;

fn bad(error: ModelError) -> CommandFailure {
    BadInput::line(error.to_string()).into()
}

/// The steady state by policy and load.
pub(super) fn policies(plan: &CheckedArgs, out: &Folder) -> Result<(), CommandFailure> {
    let head = [
        "policy",
        "load",
        "time_in_system",
        "victims",
        "steals_per_task",
        "attempts_per_task",
    ];
    let mut csv = Csv::new(&head);
    let retry = plan.retry.unwrap_or(RETRY_OF_POLICIES);
    let mut text = format!(
        "steady state, retry rate {retry}: mean time in the system, prospective victims, steals for each task\n{:<14}{:>8}{:>12}{:>12}{:>12}{:>12}\n",
        "policy", "load", "time", "victims", "steals", "attempts"
    );
    let mut curves = Vec::new();
    for policy in POLICIES {
        let mut points = Vec::new();
        for &load in &plan.loads {
            let steady = MeanField::new(load)
                .retry(retry)
                .steady(policy)
                .map_err(bad)?;
            let values = [
                steady.time_in_system,
                steady.victims,
                steady.steals_per_task,
                steady.attempts_per_task,
            ];
            let words = values.map(figures);
            let [time, victims, steals, attempts] = &words;
            text.push_str(&format!(
                "{:<14}{load:>8}{time:>12}{victims:>12}{steals:>12}{attempts:>12}\n",
                policy.to_string()
            ));
            let row = [policy.to_string(), load.to_string()]
                .into_iter()
                .chain(words);
            csv.push(row.collect());
            points.push((load, steady.time_in_system));
        }
        curves.push(Curve {
            name: policy.to_string(),
            points,
        });
    }
    show(format_args!("{text}"))?;
    let axes = Axes {
        title: "Mean time of a task in the system, by policy (equations)",
        x: "load",
        y: "time, in task lengths",
        log: (false, true),
    };
    let plot = plot::lines(axes, &curves);
    out.write("policies", &csv, &[("", plot)])
}

/// Busy processors and prospective victims while an uneven load drains.
pub(super) fn drain(plan: &CheckedArgs, out: &Folder) -> Result<(), CommandFailure> {
    let retry = plan.retry.unwrap_or(RETRY_OF_DRAIN);
    let (loaded, tasks) = (plan.loaded, plan.tasks);
    let mut csv = Csv::new(&["policy", "time", "busy", "victims", "tasks"]);
    let mut text = format!(
        "drain: {loaded} of the processors have {tasks} tasks, retry rate {retry}; ideal time {}\n{:<14}{:>12}{:>12}{:>12}{:>14}\n",
        figures(loaded * tasks as f64),
        "policy",
        "99 % done",
        "steals",
        "attempts",
        "most busy"
    );
    let (mut busy, mut victims) = (Vec::new(), Vec::new());
    for policy in POLICIES
        .into_iter()
        .filter(|policy| *policy != Policy::None)
    {
        let drain = MeanField::new(0.0)
            .retry(retry)
            .drain(policy, loaded, tasks)
            .map_err(bad)?;
        let most = drain
            .moments
            .iter()
            .fold(0.0, |most: f64, moment| most.max(moment.busy));
        let [time, steals, attempts, most] = [
            drain.time,
            drain.steals_per_task,
            drain.attempts_per_task,
            most,
        ]
        .map(figures);
        let name = policy.to_string();
        text.push_str(&format!(
            "{name:<14}{time:>12}{steals:>12}{attempts:>12}{most:>14}\n"
        ));
        let kept = || drain.moments.iter().step_by(5);
        for moment in kept() {
            let values = [moment.time, moment.busy, moment.victims, moment.tasks].map(figures);
            csv.push([name.clone()].into_iter().chain(values).collect());
        }
        let until = SHOWN.max(loaded * tasks as f64 * 4.0);
        let shown = || kept().filter(|moment| moment.time <= until);
        busy.push(Curve {
            name: name.clone(),
            points: shown().map(|moment| (moment.time, moment.busy)).collect(),
        });
        victims.push(Curve {
            name,
            points: shown()
                .map(|moment| (moment.time, moment.victims))
                .collect(),
        });
    }
    show(format_args!("{text}"))?;
    let busy = drained("busy processors", "busy part", &busy);
    let victims = drained("prospective victims", "part with two tasks", &victims);
    out.write("drain", &csv, &[("-busy", busy), ("-victims", victims)])
}

fn drained(what: &str, y: &str, curves: &[Curve]) -> Result<String, String> {
    let title = format!("An uneven load drains: {what} (equations)");
    let axes = Axes {
        title: &title,
        x: "time, in task lengths",
        y,
        log: (false, false),
    };
    plot::lines(axes, curves)
}

/// At which loads the policies change places.
pub(super) fn loads(plan: &CheckedArgs, out: &Folder) -> Result<(), CommandFailure> {
    let retry = plan.retry.unwrap_or(RETRY_OF_POLICIES);
    let loads: Vec<f64> = match plan.loads[..] {
        [load] => vec![load],
        _ => (2..=24).map(|part| f64::from(part) * 0.04 + 0.02).collect(),
    };
    let mut csv = Csv::new(&["policy", "load", "time_in_system"]);
    let mut all: Vec<(Policy, Vec<(f64, f64)>)> = Vec::new();
    for policy in POLICIES
        .into_iter()
        .filter(|policy| *policy != Policy::None)
    {
        let mut points = Vec::new();
        for &load in &loads {
            let steady = MeanField::new(load)
                .retry(retry)
                .steady(policy)
                .map_err(bad)?;
            csv.push(vec![
                policy.to_string(),
                load.to_string(),
                figures(steady.time_in_system),
            ]);
            points.push((load, steady.time_in_system));
        }
        all.push((policy, points));
    }
    let mut text = String::from("where policies change places in the steady state (equations):\n");
    let mut any = false;
    for (place, (policy, points)) in all.iter().enumerate() {
        for (other, others) in &all[place + 1..] {
            for load in crossings(points, others) {
                any = true;
                text.push_str(&format!("  {policy} and {other}: at load {load:.3}\n"));
            }
        }
    }
    if !any {
        text.push_str("  nowhere between these loads\n");
    }
    show(format_args!("{text}"))?;
    let curves: Vec<Curve> = all
        .into_iter()
        .map(|(policy, points)| Curve {
            name: policy.to_string(),
            points,
        })
        .collect();
    let axes = Axes {
        title: "Where one, d and half cross in the steady state (equations)",
        x: "load",
        y: "time, in task lengths",
        log: (false, true),
    };
    out.write("loads", &csv, &[("", plot::lines(axes, &curves))])
}

/// Where two lines over the same x change places, in a straight line between points.
pub(super) fn crossings(a: &[(f64, f64)], b: &[(f64, f64)]) -> Vec<f64> {
    let gaps: Vec<(f64, f64)> = a.iter().zip(b).map(|(a, b)| (a.0, a.1 - b.1)).collect();
    let change = |pair: &[(f64, f64)]| match pair {
        &[(x, gap), (next, after)] if gap * after < 0.0 => {
            Some(x + (next - x) * gap / (gap - after))
        }
        _ => None,
    };
    gaps.windows(2).filter_map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::crossings;

    #[test]
    fn lines_cross_between_points() {
        let a = [(0.0, 0.0), (1.0, 1.0), (2.0, 2.0), (3.0, 0.0)];
        let b = [(0.0, 0.5), (1.0, 0.5), (2.0, 0.5), (3.0, 0.5)];
        assert_eq!(crossings(&a, &b), [0.5, 2.75]);
        assert!(crossings(&a, &a).is_empty());
    }
}
