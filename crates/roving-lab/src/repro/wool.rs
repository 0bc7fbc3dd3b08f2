//! Wool: what a task costs that nobody steals, what a steal costs, and three programs.

use super::clock;
use super::contest::{Contestant, contest, fact, field, lanes, timed};
use super::draw::{self, number};
use super::figure::{Figure, Form, Judgement, Paper, Reading, Sheet};
use super::ladder::{self, JOINS, STEALS, Step};
use super::plan::{Group, Plan};
use super::seen::{SERIAL, Seen, TIME};
use super::store::Point;
use crate::compare::field::Field;
use crate::compare::lanes::interleave_within;
use crate::input::Failure;
use crate::rivals::Runtime;
use crate::workloads::Job;
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
/// Numbers of processors in the table of the slides, with the depth of the tree.
const STEAL_SIZES: [(usize, u32); 3] = [(2, 1), (4, 2), (8, 3)];

/// The measurements.
pub(super) fn groups(plan: &Plan) -> Vec<Group> {
    let mut groups = vec![ladder_group(plan), inlined(plan)];
    for (workers, depth) in STEAL_SIZES.into_iter().filter(|size| size.0 <= plan.cores) {
        groups.push(stealing(plan, workers, depth));
    }
    groups.push(steal_steps(plan));
    for leaf_ns in LEAVES_NS {
        groups.push(stress(plan, leaf_ns));
    }
    for (name, workload, quick, full) in [
        ("wool-cholesky", "cholesky", "1000", "4000"),
        ("wool-matmul", "matmul", "512", "2048"),
        ("wool-substring", "substring", "18", "22"),
    ] {
        let peers = PEERS.map(Contestant::Plain).to_vec();
        let job = (workload, plan.pick(quick, full).to_owned());
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

fn fib(plan: &Plan) -> (&'static str, String) {
    ("fib", plan.pick("30", "40").to_owned())
}

/// fib on one worker, on each step of the ladder and on Roving.
fn ladder_group(plan: &Plan) -> Group {
    let name = "wool-ladder";
    let job = fib(plan);
    Group::new(plan, name, (8.0, 120.0), move |_, rounds| {
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
fn inlined(plan: &Plan) -> Group {
    let name = "wool-inlined";
    let peers = PEERS.map(Contestant::Plain).to_vec();
    let job = ("fib", plan.pick("27", "35").to_owned());
    let Group {
        measure,
        seconds,
        rounds,
        ..
    } = contest(plan, name, (6.0, 90.0), job, peers, vec![1]);
    Group {
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
fn stress_field(turns: u64, depth: u32, repeats: u64) -> Result<Field, Failure> {
    let input = format!("leaf={turns},depth={depth},repeats={repeats}");
    Field::new(Job::parse("stress", Some(&input))?)
}

/// A tree of a depth on as many processors as it has leaves, over one leaf on one.
fn stealing(plan: &Plan, workers: usize, depth: u32) -> Group {
    let name = format!("wool-steal/{workers}");
    let group = name.clone();
    Group::new(plan, name, (5.0, 40.0), move |plan, rounds| {
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
fn tree_of(plan: &Plan) -> (usize, u32) {
    let depth = plan.cores.ilog2().clamp(1, 3);
    (1 << depth, depth)
}

/// The same for the steps of the ladder of steals.
fn steal_steps(plan: &Plan) -> Group {
    let name = "wool-steals";
    let (workers, depth) = tree_of(plan);
    Group::new(plan, name, (5.0, 40.0), move |plan, rounds| {
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
fn stress(plan: &Plan, leaf_ns: u64) -> Group {
    let name = format!("wool-stress/{leaf_ns}");
    let group = name.clone();
    Group::new(plan, name, (3.0, 30.0), move |plan, rounds| {
        let turns = calibrated(leaf_ns);
        let serial_us = plan.pick(8_000, 60_000);
        let workers = plan.cores;
        let depth = workers.max(2).next_power_of_two().ilog2();
        let tree_ns = leaf_ns << depth;
        let field = stress_field(turns, depth, (serial_us * 1_000 / tree_ns).max(10))?;
        let mut points: Vec<Point> = Vec::new();
        let mut all = vec![field.serial()];
        for runtime in PEERS {
            match Contestant::Plain(runtime).start(&field, &group, workers)? {
                Ok(lane) => all.push(lane),
                Err(left_out) => points.push(left_out),
            }
        }
        let series = interleave_within(&mut all, *rounds).map_err(Failure::Run)?;
        points.extend(series.iter().map(|one| timed(&group, one)));
        Ok(points)
    })
}

/// The cycles of each task of `fib` beyond the call it replaces.
fn task_cycles(seen: &Seen<'_>, group: &str, series: &str) -> Option<Vec<f64>> {
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
fn steal_cycles(seen: &Seen<'_>, group: &str, series: &str, workers: usize) -> Option<Vec<f64>> {
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

fn ladder_sheets(seen: &Seen<'_>) -> Vec<Sheet> {
    let mut sheet = Sheet::new(
        "Cycles for each task that nobody steals",
        "step",
        "cycles",
        Form::Bars,
    );
    for series in JOINS.into_iter().chain([OURS]) {
        if let Some(cycles) = task_cycles(seen, "wool-ladder", series) {
            sheet.push("here", series, cycles);
        }
    }
    vec![sheet]
}

fn ladder_judge(seen: &Seen<'_>) -> Option<Judgement> {
    let sheet = ladder_sheets(seen).remove(0);
    let cycles: Vec<f64> = JOINS
        .iter()
        .map(|step| sheet.median("here", *step))
        .collect::<Option<_>>()?;
    let ours = sheet.median("here", OURS)?;
    let [base, on_task, specific, none, all] = cycles[..] else {
        return None;
    };
    // "None private" is to cost about what the step before it costs: within a third of the way from there to
    // the top.
    let free = (none - specific).abs() <= (specific - all).abs() / 3.0;
    let holds = base > on_task && on_task > specific && free && all < specific;
    let steps: Vec<String> = cycles.iter().map(|cycles| number(*cycles)).collect();
    let sentence = format!(
        "From step to step a task costs {} cycles (the paper: 77, 29, 19, 19, 3); Roving itself, with all its \
         promises, costs {}.",
        steps.join(" → "),
        number(ours)
    );
    Some(Judgement::of(holds, sentence))
}

fn costs_sheets(seen: &Seen<'_>) -> Vec<Sheet> {
    let mut inlined = Sheet::new(
        "Cycles for each task that nobody steals",
        "system",
        "cycles",
        Form::LogBars,
    );
    for runtime in PEERS {
        if let Some(cycles) = task_cycles(seen, "wool-inlined", runtime.name()) {
            inlined.push("here", runtime.name(), cycles);
        }
    }
    let title = "Cycles that a repetition of stress costs beyond one leaf";
    let mut steals = Sheet::new(title, "system", "cycles", Form::LogBars);
    for (workers, _) in STEAL_SIZES {
        let group = format!("wool-steal/{workers}");
        for runtime in PEERS {
            if let Some(cycles) = steal_cycles(seen, &group, runtime.name(), workers) {
                let series = format!("{workers} processors");
                steals.push(series, runtime.name(), cycles);
            }
        }
    }
    vec![inlined, steals]
}

fn costs_judge(seen: &Seen<'_>) -> Option<Judgement> {
    let mut sheets = costs_sheets(seen).into_iter();
    let (inlined, steals) = (sheets.next()?, sheets.next()?);
    let cheapest = |sheet: &Sheet, series: &str| {
        let peers = PEERS[1..]
            .iter()
            .filter_map(|peer| Some((peer.name(), sheet.median(series, peer.name())?)));
        peers.min_by(|one, other| one.1.total_cmp(&other.1))
    };
    let (ours, (peer, theirs)) = (inlined.median("here", OURS)?, cheapest(&inlined, "here")?);
    let two = "2 processors";
    let Some((steal, (thief, best))) = steals.median(two, OURS).zip(cheapest(&steals, two)) else {
        return Some(Judgement::too_few(
            2,
            seen.plan.cores,
            "a steal needs a thief.",
        ));
    };
    // A task of ours may cost less than nothing: the compiler makes more of the program with joins than of plain calls.
    if theirs.min(steal).min(best) <= 0.0 {
        let what = "costs that stand out of the noise: some are below nothing";
        return Some(Judgement::missing(what));
    }
    let sentence = format!(
        "A task that nobody steals costs {} cycles on Roving and {} on {peer}, the cheapest peer; a repetition of \
         stress on 2 processors {} on Roving and {} on {thief}.",
        number(ours),
        number(theirs),
        number(steal),
        number(best)
    );
    Some(Judgement::of(ours < theirs && steal < best, sentence))
}

fn stress_sheets(seen: &Seen<'_>) -> Vec<Sheet> {
    let title = format!(
        "stress: speed-up on {}",
        crate::report::counted(seen.plan.cores, "worker")
    );
    let mut sheet = Sheet::new(title, "leaf, µs", "speed-up over serial", Form::LogLines);
    for runtime in PEERS {
        for leaf_ns in LEAVES_NS {
            let group = format!("wool-stress/{leaf_ns}");
            if let Some(values) = seen.speedups(&group, runtime.name(), seen.plan.cores) {
                sheet.push(runtime.name(), leaf_ns as f64 / 1e3, values);
            }
        }
    }
    vec![sheet]
}

fn stress_judge(seen: &Seen<'_>) -> Option<Judgement> {
    if seen.plan.cores < 2 {
        return Some(Judgement::too_few(2, seen.plan.cores, "nobody can steal."));
    }
    let group = format!("wool-stress/{}", LEAVES_NS[1]);
    let ours = seen.speedup(&group, OURS, seen.plan.cores)?;
    let (peer, theirs) = draw::fastest(seen, &group, seen.plan.cores, |name| name != OURS)?;
    let sentence = format!(
        "With leaves of 1 µs Roving is {} times as fast as serial code, and {peer}, the best peer, {} times.",
        number(ours),
        number(theirs)
    );
    Some(Judgement::of(ours > theirs && ours > 1.0, sentence))
}

fn steals_sheets(seen: &Seen<'_>) -> Vec<Sheet> {
    let (workers, _) = tree_of(seen.plan);
    let title =
        format!("Cycles that a repetition of stress costs beyond one leaf, {workers} processors");
    let mut sheet = Sheet::new(title, "step", "cycles", Form::Bars);
    for step in STEALS {
        if let Some(cycles) = steal_cycles(seen, "wool-steals", step, workers) {
            sheet.push("here", step, cycles);
        }
    }
    vec![sheet]
}

fn steals_judge(seen: &Seen<'_>) -> Option<Judgement> {
    let sheet = steals_sheets(seen).remove(0);
    let cycles: Vec<f64> = STEALS
        .iter()
        .map(|step| sheet.median("here", *step))
        .collect::<Option<_>>()?;
    let steps: Vec<String> = cycles.iter().map(|cycles| number(*cycles)).collect();
    let said = format!(
        "from step to step a repetition costs {} cycles.",
        steps.join(" → ")
    );
    if seen.plan.cores < 4 {
        let said = format!("with one thief there is nobody to contend with; {said}");
        return Some(Judgement::too_few(4, seen.plan.cores, said));
    }
    let sentence = format!("On this machine, {said}");
    Some(Judgement::of(
        cycles[3] < cycles[0] && cycles[3] < cycles[4],
        sentence,
    ))
}

/// Whether Roving is as fast as the best peer on all cores, to one part in thirty.
fn leads(seen: &Seen<'_>, group: &str) -> Option<Judgement> {
    let most = seen.most();
    if most < 2 {
        return Some(Judgement::too_few(2, most, "speed-up needs a second core."));
    }
    let ours = seen.speedup(group, OURS, most)?;
    let (peer, theirs) = draw::fastest(seen, group, most, |name| name != OURS)?;
    let sentence = format!(
        "On {most} workers Roving is {} times as fast as serial code, and {peer}, the best peer, {} times.",
        number(ours),
        number(theirs)
    );
    Some(Judgement::of(ours >= theirs * 0.97, sentence))
}

fn nothing() -> Vec<Sheet> {
    Vec::new()
}

fn ladder_printed() -> Vec<Sheet> {
    let sheet = Sheet::new(
        "Overhead of each task, fib(42)",
        "step",
        "cycles",
        Form::Bars,
    );
    let rows: Vec<(&str, &str, f64)> = JOINS
        .iter()
        .zip([77.0, 29.0, 19.0, 19.0, 3.0])
        .map(|(step, cycles)| ("paper", *step, cycles))
        .collect();
    let cycles = sheet.printed(&rows);
    let sheet = Sheet::new("Time of fib(42)", "step", "s", Form::Bars);
    let rows: Vec<(&str, &str, f64)> = JOINS
        .iter()
        .chain([&"sequential"])
        .zip([18.9, 7.8, 5.9, 6.0, 3.0, 2.4])
        .map(|(step, time)| ("paper", *step, time))
        .collect();
    vec![cycles, sheet.printed(&rows)]
}

fn costs_printed() -> Vec<Sheet> {
    let inlined = Sheet::new(
        "Cycles for each inlined task",
        "system",
        "cycles",
        Form::LogBars,
    )
    .printed(&[
        ("paper", "Wool, all private", 3.0),
        ("paper", "Wool, none private", 19.0),
        ("paper", "Cilk++", 134.0),
        ("paper", "TBB", 323.0),
        ("paper", "OpenMP", 878.0),
    ]);
    let title = "Cycles that a repetition of stress costs beyond one leaf";
    let steals = Sheet::new(title, "system", "cycles", Form::LogBars).printed(&[
        ("2 processors", "Wool", 2_200.0),
        ("2 processors", "Cilk++", 31_050.0),
        ("2 processors", "TBB", 5_800.0),
        ("2 processors", "OpenMP", 4_830.0),
        ("4 processors", "Wool", 5_600.0),
        ("4 processors", "Cilk++", 73_600.0),
        ("4 processors", "TBB", 14_000.0),
        ("4 processors", "OpenMP", 9_200.0),
        ("8 processors", "Wool", 10_400.0),
        ("8 processors", "Cilk++", 110_400.0),
        ("8 processors", "TBB", 30_000.0),
        ("8 processors", "OpenMP", 20_240.0),
    ]);
    vec![inlined, steals]
}

/// A figure about one of the three programs.
const fn program(
    name: &'static str,
    title: &'static str,
    source: &'static str,
    groups: &'static [&'static str],
    sheets: fn(&Seen<'_>) -> Vec<Sheet>,
    judge: fn(&Seen<'_>) -> Option<Judgement>,
) -> Figure {
    Figure {
        name,
        paper: Paper::Wool,
        title,
        finding: "The slide is a plot without words. The question asked here is ours: does the runtime with the \
                  cheapest tasks lead in this program, too?",
        source,
        reading: Reading::PlotOnly,
        printed: nothing,
        here: "The peers are those that run the same Rust code; TBB and OpenMP have no program for it.",
        rule: "Roving's median speed-up on all cores is at least 0.97 of the best peer's.",
        groups,
        sheets,
        judge,
    }
}

/// The figures.
pub(super) const FIGURES: [Figure; 7] = [
    Figure {
        name: "wool-ladder",
        paper: Paper::Wool,
        title: "What a task costs that nobody steals, optimisation by optimisation",
        finding: "Synchronising on the task instead of a lock takes a task from 77 cycles to 29, a join that knows \
                  its task to 19, private tasks to 3; to have private tasks and not use them costs nothing.",
        source: "slide “Results for inlining optimizations”, table",
        reading: Reading::Printed,
        printed: ladder_printed,
        here: "A small task stack of the lab's own, in which each step can be left out; Roving itself beside it. \
               Overhead is (T1 − TS) / tasks, as in the paper; fib(30) with --quick, fib(40) with --full. Cycles \
               are counted by a chain of additions.",
        rule: "Base > synchronise on the task > task-specific join > all private, and none private within a third \
               of the step from task-specific join to all private.",
        groups: &["wool-ladder"],
        sheets: ladder_sheets,
        judge: ladder_judge,
    },
    Figure {
        name: "wool-costs",
        paper: Paper::Wool,
        title: "What inlined tasks and steals cost, beside other systems",
        finding: "Wool's inlined task costs 3 to 19 cycles where Cilk++ takes 134, TBB 323 and OpenMP 878, and its \
                  steals cost the least on 2, 4 and 8 processors: on 2, 2,200 cycles against 4,830 of the next best.",
        source: "slide “Comparing Wool with Cilk++, TBB, and OpenMP”, table",
        reading: Reading::Printed,
        printed: costs_printed,
        here: "Rayon and chili take the place of Cilk++; TBB and OpenMP are today's. A leaf of stress is 10 µs; a \
               tree of depth 1, 2, 3 runs on 2, 4, 8 processors, as far as there are cores.",
        rule: "Roving's inlined task and its steal on 2 processors both cost less than every peer's, by medians.",
        groups: &["wool-inlined", "wool-steal/"],
        sheets: costs_sheets,
        judge: costs_judge,
    },
    Figure {
        name: "wool-stress",
        paper: Paper::Wool,
        title: "Stress: how fine work may be and still be shared with profit",
        finding: "A plot of Wool, Cilk, TBB and OpenMP without words; the slides' table of steal costs says that \
                  Wool gains from the finest work.",
        source: "slide “Fine-grain tasks and fine-grain load balancing”, plot",
        reading: Reading::PlotOnly,
        printed: nothing,
        here: "A tree of joins with as many leaves as there are cores, again and again; the leaf grows from 0.5 µs \
               to 64 µs.",
        rule: "With leaves of 1 µs Roving is faster than serial code and than every peer, by medians.",
        groups: &["wool-stress/"],
        sheets: stress_sheets,
        judge: stress_judge,
    },
    Figure {
        name: "wool-steals",
        paper: Paper::Wool,
        title: "What a steal costs, optimisation by optimisation",
        finding: "A plot of five ways to steal: lock, look first, try the lock, no lock, no lock and no look. The \
                  slides say why each should help when several thieves contend.",
        source: "slides “Optimizing steals: peek, trylock, nolock”, and “Optimizing steals: stress tests”, plot",
        reading: Reading::PlotOnly,
        printed: nothing,
        here: "The lab's own task stack with a task-specific join; leaves of 10 µs.",
        rule: "With 4 cores or more: without the lock a repetition costs less than with it, and looking first costs \
               less than not looking.",
        groups: &["wool-steals"],
        sheets: steals_sheets,
        judge: steals_judge,
    },
    program(
        "wool-cholesky",
        "Cholesky factorisation of a sparse matrix",
        "slide “More measurements: Cholesky”, plot",
        &["wool-cholesky"],
        |seen| vec![draw::speedups(seen, "Sparse Cholesky", "wool-cholesky")],
        |seen| leads(seen, "wool-cholesky"),
    ),
    program(
        "wool-matmul",
        "Matrix multiply",
        "slide “More measurements: Matrix multiply”, plot",
        &["wool-matmul"],
        |seen| vec![draw::speedups(seen, "Matrix multiply", "wool-matmul")],
        |seen| leads(seen, "wool-matmul"),
    ),
    program(
        "wool-substring",
        "Sub-string finder",
        "slide “More measurements: Sub String Finder”, plot",
        &["wool-substring"],
        |seen| vec![draw::speedups(seen, "Sub-string finder", "wool-substring")],
        |seen| leads(seen, "wool-substring"),
    ),
];
