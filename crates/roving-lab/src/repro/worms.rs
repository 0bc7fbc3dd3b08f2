//! WORMS: work-first and help-first, where parallelism is recursive and where it is flat.

use super::contest::{Contestant, contest};
use super::figure::{Asker, Figure, Form, Paper, Reading, Sheet};
use super::plan::{MeasureGroup, SizeAndMachine};
use super::seen::{SeenPoints, TIME};
use super::sizes;
use super::spread::number;
use super::verdict::RequiredRange::Below;
use super::verdict::{Interval, Judgement, Requirement};
use crate::rivals::Runtime;

/// Work-first, help-first, and the order that the runtime chooses.
const ORDERS: [(Runtime, &str); 3] = [
    (Runtime::RovingFork, "work-first"),
    (Runtime::RovingSpawn, "help-first"),
    (Runtime::RovingBranch, "adaptive"),
];

/// The measurements.
pub(super) fn groups(plan: &SizeAndMachine) -> Vec<MeasureGroup> {
    let orders = ORDERS.map(|order| Contestant::Plain(order.0)).to_vec();
    let fib = ("fib", sizes::input(plan, "worms-fib").to_owned());
    let flat = ("flat", sizes::input(plan, "worms-flat").to_owned());
    vec![
        contest(
            plan,
            "worms-fib",
            (6.0, 90.0),
            fib,
            orders.clone(),
            plan.workers.clone(),
        ),
        contest(
            plan,
            "worms-flat",
            (6.0, 90.0),
            flat,
            orders,
            plan.workers.clone(),
        ),
    ]
}

fn sheets(seen: &SeenPoints<'_>, group: &str, title: &str) -> Vec<Sheet> {
    let mut sheet = Sheet::new(title, "workers", "ms", Form::Lines);
    for (runtime, order) in ORDERS {
        for &workers in &seen.plan.workers {
            if let Some(times) = seen.values(group, runtime.name(), workers, TIME) {
                sheet.push(
                    order,
                    workers,
                    times.iter().map(|time| time * 1e3).collect(),
                );
            }
        }
    }
    vec![sheet]
}

/// Work-first is faster on every number of workers.
fn work_first(seen: &SeenPoints<'_>, group: &str) -> Option<Judgement> {
    let (mut said, mut claims) = (Vec::new(), Vec::new());
    for &workers in &seen.plan.workers {
        let first = seen.values(group, Runtime::RovingFork.name(), workers, TIME)?;
        let help = seen.values(group, Runtime::RovingSpawn.name(), workers, TIME)?;
        let ratio = Interval::ratio(first, help)?;
        said.push(format!(
            "{} of help-first's time on {workers}",
            number(ratio.seen)
        ));
        let what = format!("time of work-first over that of help-first on {workers}");
        claims.push(Requirement::new(what, ratio, Below(1.0)));
    }
    let sentence = format!("Work-first takes {}.", said.join(", "));
    Some(Judgement::all(claims, sentence))
}

fn nothing() -> Vec<Sheet> {
    Vec::new()
}

/// The figures.
pub(super) const FIGURES: [Figure; 2] = [
    Figure {
        name: "worms-figure-1",
        paper: Paper::Worms,
        title: "Work-first and help-first in recursive parallelism: Fibonacci(35)",
        finding: "Work-first is faster than help-first on every number of cores up to 12, as expected.",
        source: "Figure 1, section 4.3",
        reading: Reading::PlotOnly,
        asker: Asker::Paper,
        printed: nothing,
        here: "Async tasks of ours in both orders, and in the one that the runtime chooses. fib(29) with --quick, \
               fib(35) with --full. A CPU experiment in the paper as well: it measured no GPU.",
        rule: "Work-first takes less time on every number of workers.",
        groups: &["worms-fib"],
        sheets: |seen| sheets(seen, "worms-fib", "Fibonacci without a cut-off"),
        judge: |seen| work_first(seen, "worms-fib"),
    },
    Figure {
        name: "worms-figure-2",
        paper: Paper::Worms,
        title: "Work-first and help-first in flat parallelism: 1,000,000 dummy tasks",
        finding: "Work-first is faster here, too, against what the authors expected; they leave open why.",
        source: "Figure 2, section 4.3",
        reading: Reading::PlotOnly,
        asker: Asker::Paper,
        printed: nothing,
        here: "One task makes empty ones, and awaits them. 100,000 with --quick, 1,000,000 with --full. The paper's \
               future work, tasks with a CPU and a GPU side, has no figure in it; this report shows none.",
        rule: "Work-first takes less time on every number of workers.",
        groups: &["worms-flat"],
        sheets: |seen| sheets(seen, "worms-flat", "Empty tasks made by one"),
        judge: |seen| work_first(seen, "worms-flat"),
    },
];
