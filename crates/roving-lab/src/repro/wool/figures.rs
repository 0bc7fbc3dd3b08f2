//! The tables and plots of the slides about Wool.

use super::super::draw;
use super::super::figure::{Asker, Figure, Form, Paper, Reading, Sheet};
use super::super::ladder::{JOINS, STEALS};
use super::super::seen::{SERIAL, SeenPoints, TIME};
use super::super::spread::median;
use super::super::spread::number;
use super::super::verdict::RequiredRange::{Above, Below, Between};
use super::super::verdict::{Allowance, Interval, Judgement, Requirement};
use super::{LEAVES_NS, OURS, PEERS, STEAL_WORKERS, steal_cycles, task_cycles, tree_of};

/// That ours takes less than so many times as long as each peer that was measured.
fn ahead(
    seen: &SeenPoints<'_>,
    group: &str,
    workers: usize,
    times: f64,
) -> Option<Vec<Requirement>> {
    let ours = seen.values(group, OURS, workers, TIME)?;
    let mut claims = Vec::new();
    for peer in PEERS[1..].iter().map(|peer| peer.name()) {
        if let Some(theirs) = seen.values(group, peer, workers, TIME) {
            let what = format!("{group}: Roving's time over that of {peer}, {workers} workers");
            claims.push(Requirement::new(
                what,
                Interval::ratio(ours, theirs)?,
                Below(times),
            ));
        }
    }
    (!claims.is_empty()).then_some(claims)
}

fn ladder_sheets(seen: &SeenPoints<'_>) -> Vec<Sheet> {
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

fn ladder_judge(seen: &SeenPoints<'_>) -> Option<Judgement> {
    let group = "wool-ladder";
    let sheet = ladder_sheets(seen).remove(0);
    let cycles: Vec<f64> = JOINS
        .iter()
        .map(|step| sheet.median("here", *step))
        .collect::<Option<_>>()?;
    let ours = sheet.median("here", OURS)?;
    let times: Vec<&[f64]> = JOINS
        .iter()
        .map(|step| seen.values(group, step, 1, TIME))
        .collect::<Option<_>>()?;
    let [base, on_task, specific, none, all] = times[..] else {
        return None;
    };
    let less = |step: &str, after: &[f64], before: &[f64]| {
        let what = format!("time with “{step}” over that of the step before");
        Some(Requirement::new(
            what,
            Interval::ratio(after, before)?,
            Below(1.0),
        ))
    };
    // Private tasks that are not used are to cost about what the step before them costs, in parts
    // of what private tasks save.
    let free = Interval::of(&[none, specific, all], Allowance::Plus(0.05), |drawn| {
        let [none, specific, all] = [drawn[0], drawn[1], drawn[2]].map(median);
        (none - specific) / (specific - all)
    })?;
    let third = 1.0 / 3.0;
    let claims = vec![
        less(JOINS[1], on_task, base)?,
        less(JOINS[2], specific, on_task)?,
        less(JOINS[4], all, specific)?,
        Requirement::new(
            format!(
                "what “{}” adds, in parts of what “{}” saves",
                JOINS[3], JOINS[4]
            ),
            free,
            Between(-third, third),
        ),
    ];
    let steps: Vec<String> = cycles.iter().map(|cycles| number(*cycles)).collect();
    let sentence = format!(
        "From step to step a task costs {} cycles (the paper: 77, 29, 19, 19, 3); Roving itself, with all its \
         promises, costs {}.",
        steps.join(" → "),
        number(ours)
    );
    Some(Judgement::all(claims, sentence))
}

fn costs_sheets(seen: &SeenPoints<'_>) -> Vec<Sheet> {
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
    for workers in STEAL_WORKERS {
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

fn costs_judge(seen: &SeenPoints<'_>) -> Option<Judgement> {
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
    let mut claims = ahead(seen, "wool-inlined", 1, 1.0)?;
    let Some((steal, (thief, best))) = steals.median(two, OURS).zip(cheapest(&steals, two)) else {
        let cores = seen.plan.cores;
        return Some(Judgement::too_few(
            2,
            cores,
            claims,
            "a steal needs a thief.",
        ));
    };
    claims.extend(ahead(seen, "wool-steal/2", 2, 1.0)?);
    let sentence = format!(
        "A task that nobody steals costs {} cycles on Roving and {} on {peer}, the cheapest peer; a repetition of \
         stress on 2 processors {} on Roving and {} on {thief}.",
        number(ours),
        number(theirs),
        number(steal),
        number(best)
    );
    Some(Judgement::all(claims, sentence))
}

fn stress_sheets(seen: &SeenPoints<'_>) -> Vec<Sheet> {
    let title = format!(
        "stress: speed-up on {}",
        crate::io::figures::counted(seen.plan.cores, "worker")
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

fn stress_judge(seen: &SeenPoints<'_>) -> Option<Judgement> {
    let cores = seen.plan.cores;
    if cores < 2 {
        return Some(Judgement::too_few(
            2,
            cores,
            Vec::new(),
            "nobody can steal.",
        ));
    }
    let group = format!("wool-stress/{}", LEAVES_NS[1]);
    let ours = seen.speedup(&group, OURS, cores)?;
    let (peer, theirs) = draw::fastest(seen, &group, cores, |name| name != OURS)?;
    let gain = Interval::ratio(
        seen.values(&group, SERIAL, 1, TIME)?,
        seen.values(&group, OURS, cores, TIME)?,
    )?;
    let mut claims = vec![Requirement::new(
        "Roving's speed-up at 1 µs",
        gain,
        Above(1.0),
    )];
    claims.extend(ahead(seen, &group, cores, 1.0)?);
    let sentence = format!(
        "With leaves of 1 µs Roving is {} times as fast as serial code, and {peer}, the best peer, {} times.",
        number(ours),
        number(theirs)
    );
    Some(Judgement::all(claims, sentence))
}

fn steals_sheets(seen: &SeenPoints<'_>) -> Vec<Sheet> {
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

fn steals_judge(seen: &SeenPoints<'_>) -> Option<Judgement> {
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
    let (workers, _) = tree_of(seen.plan);
    let time = |step: usize| seen.values("wool-steals", STEALS[step], workers, TIME);
    let against = |other: usize| {
        let what = format!(
            "time with “{}” over that with “{}”",
            STEALS[3], STEALS[other]
        );
        Some(Requirement::new(
            what,
            Interval::ratio(time(3)?, time(other)?)?,
            Below(1.0),
        ))
    };
    let claims = vec![against(0)?, against(4)?];
    if seen.plan.cores < 4 {
        let said = format!("with one thief there is nobody to contend with; {said}");
        return Some(Judgement::too_few(4, seen.plan.cores, claims, said));
    }
    Some(Judgement::all(claims, format!("On this machine, {said}")))
}

/// Whether Roving takes less than 1.15 times as long as each peer on all cores.
fn leads(seen: &SeenPoints<'_>, group: &str) -> Option<Judgement> {
    let most = seen.most();
    if most < 2 {
        let why = "speed-up needs a second core.";
        return Some(Judgement::too_few(2, most, Vec::new(), why));
    }
    let ours = seen.speedup(group, OURS, most)?;
    let (peer, theirs) = draw::fastest(seen, group, most, |name| name != OURS)?;
    let sentence = format!(
        "On {most} workers Roving is {} times as fast as serial code, and {peer}, the best peer, {} times.",
        number(ours),
        number(theirs)
    );
    Some(Judgement::all(ahead(seen, group, most, 1.15)?, sentence))
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
    sheets: fn(&SeenPoints<'_>) -> Vec<Sheet>,
    judge: fn(&SeenPoints<'_>) -> Option<Judgement>,
) -> Figure {
    Figure {
        name,
        paper: Paper::Wool,
        title,
        finding: "The slide is a plot without words. The question asked here is ours: does the runtime with the \
                  cheapest tasks lead in this program, too?",
        source,
        reading: Reading::PlotOnly,
        asker: Asker::Ours,
        printed: nothing,
        here: "The peers are those that run the same Rust code; TBB and OpenMP have no program for it.",
        rule: "On all cores Roving takes less than 1.15 times as long as each peer.",
        groups,
        sheets,
        judge,
    }
}

/// The figures.
pub(in crate::repro) const FIGURES: [Figure; 7] = [
    Figure {
        name: "wool-ladder",
        paper: Paper::Wool,
        title: "What a task costs that nobody steals, optimisation by optimisation",
        finding: "Synchronising on the task instead of a lock takes a task from 77 cycles to 29, a join that knows \
                  its task to 19, private tasks to 3; to have private tasks and not use them costs nothing.",
        source: "slide “Results for inlining optimizations”, table",
        reading: Reading::Printed,
        asker: Asker::Paper,
        printed: ladder_printed,
        here: "A small task stack of the lab's own, in which each step can be left out; Roving itself beside it. \
               Overhead is (T1 − TS) / tasks, as in the paper; fib(30) with --quick, fib(42), as in the paper, with --full. Cycles \
               are counted by a chain of additions.",
        rule: "The time falls from base to synchronise on the task, to task-specific join, to all private; and none \
               private adds or saves less than a third of the step from task-specific join to all private.",
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
        asker: Asker::Paper,
        printed: costs_printed,
        here: "Rayon and chili take the place of Cilk++; TBB and OpenMP are today's. A leaf of stress is 10 µs; a \
               tree of depth 1, 2, 3 runs on 2, 4, 8 processors, as far as there are cores.",
        rule: "Roving takes less time than every peer for inlined tasks and for stress on 2 processors, where all do \
               the same work, so that less time is a cheaper task or steal.",
        groups: &["wool-inlined", "wool-steal/"],
        sheets: costs_sheets,
        judge: costs_judge,
    },
    Figure {
        name: "wool-stress",
        paper: Paper::Wool,
        title: "Stress: how fine work may be and still be shared with profit",
        finding: "A plot of Wool, Cilk, TBB and OpenMP without words; the slides' table of steal costs says that \
                  Wool gains from the finest work. What is asked of the plot is ours.",
        source: "slide “Fine-grain tasks and fine-grain load balancing”, plot",
        reading: Reading::PlotOnly,
        asker: Asker::Ours,
        printed: nothing,
        here: "A tree of joins with as many leaves as there are cores, again and again; the leaf grows from 0.5 µs \
               to 64 µs.",
        rule: "With leaves of 1 µs Roving is faster than serial code and than every peer.",
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
        asker: Asker::Paper,
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
