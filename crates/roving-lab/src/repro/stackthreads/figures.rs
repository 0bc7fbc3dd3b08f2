//! The tables and figures of the StackThreads/MP paper.

use super::super::draw::{self, named};
use super::super::figure::{Asker, COUNTED, Figure, Form, Paper, Reading, Sheet};
use super::super::seen::SeenPoints;
use super::super::verdict::Judgement;
use super::{judges, last, lengths, sizes};
use roving::policy::Amount;

/// One figure of this paper.
const fn figure(
    name: &'static str,
    title: &'static str,
    text: [&'static str; 4],
    paper: (Reading, fn() -> Vec<Sheet>),
    groups: &'static [&'static str],
    sheets: fn(&SeenPoints<'_>) -> Vec<Sheet>,
    judge: fn(&SeenPoints<'_>) -> Option<Judgement>,
) -> Figure {
    let [source, finding, here, rule] = text;
    Figure {
        name,
        paper: Paper::StackThreads,
        title,
        finding,
        source,
        reading: paper.0,
        asker: Asker::Paper,
        printed: paper.1,
        here,
        rule,
        groups,
        sheets,
        judge,
    }
}

/// The paper's strategies in our words; what takes the place of its other systems.
const STRATEGIES: &str = "st_org, st_sta and st_dyn are our continuations (roving-fork) taken one at a time, a \
                          fixed number, or half; “roving” are closures. OpenMP is GCC's of today; Rayon and TBB \
                          stand where Cilk and Intel's OpenMP stood.";
const PROFILES: &str = "Continuations (roving-fork) with statistics on. A worker is in one of five states, as in the \
                        paper, but the last is another thing: the paper's frame management is its heap of exported \
                        frames, which grows with what is stolen, and ours is the allocation of frames, since we \
                        export none. Compare with like: steal, switch and frame together are all that is neither work \
                        nor idling in both.";
/// The fifth state as the paper has it.
const THEIR_FRAMES: &str = "frame (heap of exported frames)";
/// The title of what can be compared: steal, switch and frame together.
const BESIDE: &str = "Neither work nor idling: steal, switch and frame together";
const SEVERAL: &str =
    "With 4 cores or more: one takes more than 1.05 times as long as fixed:20, and as half.";
const FIXED_LOSES: &str = "With 4 cores or more: half takes less than 1.15 times as long as one, fixed:2 more than 1.05 times.";
const FIXED_IDLES: &str =
    "With 4 cores or more: the workers are less busy with fixed:2 than with one and with half.";
const SIZE_HELPS: &str =
    "Speed-up with fixed:2 is greater at the largest size than at the smallest.";

fn none() -> Vec<Sheet> {
    Vec::new()
}

fn bars(title: &str, unit: &str, rows: &[(&str, &str, f64)]) -> Vec<Sheet> {
    vec![Sheet::new(title, "", unit, Form::Bars).printed(rows)]
}

fn table_1() -> Vec<Sheet> {
    bars(
        "Nodes of the trees",
        "nodes",
        &[
            ("paper", "A: b0 2000, m 8, q 0.124875", 4_112_897.0),
            ("paper", "B: b0 2000, m 3, q 0.333333", 30_399_116.0),
        ],
    )
}

fn table_1_here(seen: &SeenPoints<'_>) -> Vec<Sheet> {
    let mut sheet = Sheet::new("Nodes of the trees", "tree", COUNTED, Form::Bars);
    for (group, tree) in [("st-uts-a", "A"), ("st-uts-b", "B")] {
        if let Some(nodes) = seen.median(group, "items", 1, "items") {
            let input = super::tree(seen.plan, tree);
            sheet.push("here", format!("{tree}: uts {input}"), vec![nodes]);
        }
    }
    vec![sheet]
}

/// Table 2 as shares, and as printed.
fn table_2() -> Vec<Sheet> {
    let rows = [
        (
            "one (st_org)",
            [6_758_903.0, 3_623_421.0, 264_845.0, 497_716.0, 1_445_588.0],
        ),
        (
            "fixed:20 (st_sta)",
            [4_619_911.0, 403_476.0, 182_164.0, 339_500.0, 416_425.0],
        ),
        (
            "half (st_dyn)",
            [4_713_164.0, 379_168.0, 171_128.0, 437_727.0, 227_515.0],
        ),
    ];
    let (mut shares, mut printed, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    for (strategy, times) in rows {
        let all: f64 = times.iter().sum();
        let rest = times[1] + times[3] + times[4];
        beside.push(("paper", strategy, (rest / all * 1000.0).round() / 10.0));
        for (state, time) in ["busy", "steal", "idle", "switch", THEIR_FRAMES]
            .into_iter()
            .zip(times)
        {
            shares.push((state, strategy, (time / all * 1000.0).round() / 10.0));
            printed.push((state, strategy, time));
        }
    }
    let unit = "% of the workers' time";
    vec![
        Sheet::new(
            "Table 2 as shares (computed from it)",
            "strategy",
            unit,
            Form::Stacks,
        )
        .printed(&shares),
        Sheet::new(
            "Table 2 (the paper names no unit)",
            "strategy",
            "units of the paper",
            Form::Stacks,
        )
        .printed(&printed),
        Sheet::new(BESIDE, "strategy", unit, Form::Bars).printed(&beside),
    ]
}

fn profile_a(seen: &SeenPoints<'_>) -> Vec<Sheet> {
    let most = seen.most();
    let title = format!("UTS A on {}", crate::io::figures::counted(most, "worker"));
    let group = "st-uts-a-profile";
    vec![
        draw::shares(seen, &title, group, most),
        draw::beside(seen, BESIDE, group, most),
    ]
}

fn figure_10() -> Vec<Sheet> {
    let unit = "% of the workers' time";
    let sheet = Sheet::new(
        "UTS on 24 workers, as far as the text says",
        "strategy",
        unit,
        Form::Bars,
    );
    vec![sheet.printed(&[
        ("steal", "one (st_org)", 28.7),
        ("steal", "fixed:20 (st_sta)", 6.7),
        ("steal", "half (st_dyn)", 6.3),
        (THEIR_FRAMES, "one (st_org)", 11.48),
        (THEIR_FRAMES, "fixed:20 (st_sta)", 6.9),
        (THEIR_FRAMES, "half (st_dyn)", 3.9),
    ])]
}

fn figure_11_here(seen: &SeenPoints<'_>) -> Vec<Sheet> {
    let mut sheet = Sheet::new(
        "Time spent on stealing, UTS A",
        "workers",
        "% of the workers' time",
        Form::Lines,
    );
    let group = "st-uts-a-profile";
    for series in seen.series(group, "steal_share") {
        for &workers in &seen.plan.workers {
            if let Some(values) = seen.values(group, series, workers, "steal_share") {
                sheet.push(
                    named(series),
                    workers,
                    values.iter().map(|share| share * 100.0).collect(),
                );
            }
        }
    }
    vec![sheet]
}

fn figure_15() -> Vec<Sheet> {
    let unit = "% of the workers' time";
    let sheet = Sheet::new("16 stolen at once, 24 workers", "", unit, Form::Bars);
    vec![sheet.printed(&[
        ("paper", "busy", 15.8),
        ("paper", "steal", 43.0),
        ("paper", "idle", 40.0),
    ])]
}

fn figure_15_here(seen: &SeenPoints<'_>) -> Vec<Sheet> {
    let most = seen.most();
    let title = format!("fib on {}", crate::io::figures::counted(most, "worker"));
    let mut sheet = Sheet::new(
        title,
        "continuations taken at once",
        "% of the workers' time",
        Form::LogLines,
    );
    for state in ["busy", "steal", "idle"] {
        for length in lengths(seen.plan) {
            let (series, metric) = (Amount::Fixed(length).to_string(), format!("{state}_share"));
            if let Some(values) = seen.values("st-fib-lengths", &series, most, &metric) {
                sheet.push(
                    state,
                    length,
                    values.iter().map(|share| share * 100.0).collect(),
                );
            }
        }
    }
    vec![sheet]
}

fn figure_16() -> Vec<Sheet> {
    bars(
        "fib(40) on 24 workers",
        "speed-up over serial",
        &[
            ("paper", "one (st_org)", 1.90),
            ("paper", "half (st_dyn)", 1.86),
        ],
    )
}

fn figure_24() -> Vec<Sheet> {
    bars(
        "FFT on 20 workers, as far as the text says",
        "% of the workers' time",
        &[
            ("steal", "fixed:2 (st_sta), first sentence", 13.5),
            ("steal", "fixed:2 (st_sta), second sentence", 13.4),
            ("steal", "half (st_dyn)", 11.9),
        ],
    )
}

fn program(seen: &SeenPoints<'_>, program: &str, title: &str) -> Vec<Sheet> {
    let group = last(seen.plan, program);
    let size = group.rsplit('/').next().unwrap_or_default().to_owned();
    vec![draw::speedups(seen, &format!("{title} {size}"), &group)]
}

fn by_size(seen: &SeenPoints<'_>, program: &str) -> Vec<Sheet> {
    let [_, fixed, _] = judges::names(super::FIXED);
    let title = format!("{program} with fixed:2 by problem size");
    let mut sheet = Sheet::new(title, "workers", "speed-up over serial", Form::Lines);
    for size in sizes(seen.plan, program) {
        for &workers in &seen.plan.workers {
            if let Some(values) = seen.speedups(&format!("st-{program}/{size}"), &fixed, workers) {
                sheet.push(*size, workers, values);
            }
        }
    }
    vec![sheet]
}

fn profile(seen: &SeenPoints<'_>, program: &str) -> Vec<Sheet> {
    let most = seen.most();
    let title = format!(
        "{program} on {}",
        crate::io::figures::counted(most, "worker")
    );
    vec![draw::shares(
        seen,
        &title,
        &format!("st-{program}-profile"),
        most,
    )]
}

/// The tables and figures.
pub(in crate::repro) const FIGURES: [Figure; 20] = [
    figure(
        "stackthreads-table-1",
        "The two trees of UTS",
        [
            "Table 1, section 4.1.1",
            "Tree A has 4,112,897 nodes and tree B 30,399,116.",
            "Each run's count is held against what the UTS authors published for these parameters. With --quick, \
             tree B is a smaller one of the same kind.",
            "Tree A has exactly the paper's number of nodes.",
        ],
        (Reading::Printed, table_1),
        &["st-uts-a", "st-uts-b"],
        table_1_here,
        judges::table_1,
    ),
    figure(
        "stackthreads-table-2",
        "What the workers' time went into, UTS A",
        [
            "Table 2, section 4.3.2",
            "Taking several at once cuts the time for stealing to about a ninth of st_org's, and that for frames to \
             a third or less.",
            PROFILES,
            "With 4 cores or more: stealing takes less than half the share with fixed:20 and with half that it takes with \
             one. The paper's frame management is not compared with our allocation of frames.",
        ],
        (Reading::Printed, table_2),
        &["st-uts-a-profile"],
        profile_a,
        judges::shares,
    ),
    figure(
        "stackthreads-figure-7",
        "Overhead of one worker in UTS",
        [
            "Figure 7, section 4.3.1",
            "One worker's overhead is low for StackThreads/MP under all strategies and for Cilk, low for GCC's OpenMP, \
             which limits queued tasks, and highest for Intel's.",
            STRATEGIES,
            "Under all three strategies one worker takes less than 25 % longer than serial code.",
        ],
        (Reading::PlotOnly, none),
        &["st-uts-a"],
        |seen| vec![judges::overheads(seen, "st-uts-a", "UTS A, one worker")],
        judges::low_overhead,
    ),
    figure(
        "stackthreads-figure-8",
        "Overhead of one worker in Fibonacci, n = 30",
        [
            "Figure 8, section 4.3.1",
            "In Fibonacci the overhead of one worker is high: a task is larger than the addition that it is for.",
            STRATEGIES,
            "With continuations, fib(30) on one worker takes more than twice the serial time, and more of it than UTS.",
        ],
        (Reading::PlotOnly, none),
        &["st-fib-30", "st-uts-a"],
        |seen| vec![judges::overheads(seen, "st-fib-30", "fib(30), one worker")],
        judges::high_overhead,
    ),
    figure(
        "stackthreads-figure-9",
        "Speed-up of UTS A",
        [
            "Figure 9, section 4.3.2",
            "Of all but GCC's OpenMP only st_org does badly; Cilk slows down from 8 to 24 workers.",
            STRATEGIES,
            SEVERAL,
        ],
        (Reading::PlotOnly, none),
        &["st-uts-a"],
        |seen| vec![draw::speedups(seen, "UTS A", "st-uts-a")],
        |seen| judges::several_win(seen, "st-uts-a"),
    ),
    figure(
        "stackthreads-figure-10",
        "Breakdown of the workers' time, UTS A",
        [
            "Figure 10, section 4.3.2",
            "On 24 workers stealing takes 28.7 % with st_org, 6.7 % with st_sta and 6.3 % with st_dyn; frames take \
             11.48 %, 6.9 % and 3.9 %.",
            PROFILES,
            "With 4 cores or more: stealing takes less than half the share with fixed:20 and with half that it takes with \
             one. The paper's frame management is not compared with our allocation of frames.",
        ],
        (Reading::SaidOfPlot, figure_10),
        &["st-uts-a-profile"],
        profile_a,
        judges::shares,
    ),
    figure(
        "stackthreads-figure-11",
        "Stealing by the number of workers, UTS A",
        [
            "Figure 11, section 4.3.2",
            "With st_org the cost of stealing grows markedly beyond two workers; the other strategies lower it much.",
            PROFILES,
            "With 4 cores or more: the share of stealing with one is greater on all cores than on two, and half's is \
             smaller.",
        ],
        (Reading::PlotOnly, none),
        &["st-uts-a-profile"],
        figure_11_here,
        judges::steals_grow,
    ),
    figure(
        "stackthreads-figure-12",
        "Speed-up of UTS B",
        [
            "Figure 12, section 4.3.2",
            "In the larger tree st_dyn gains and st_org loses against tree A; Cilk scales better than there.",
            STRATEGIES,
            SEVERAL,
        ],
        (Reading::PlotOnly, none),
        &["st-uts-b"],
        |seen| vec![draw::speedups(seen, "UTS B", "st-uts-b")],
        |seen| judges::several_win(seen, "st-uts-b"),
    ),
    figure(
        "stackthreads-figure-13",
        "Throughput of UTS A",
        [
            "Figure 13, section 4.3.2",
            "On 24 cores the extended strategies give the best throughput, more than Cilk.",
            STRATEGIES,
            SEVERAL,
        ],
        (Reading::PlotOnly, none),
        &["st-uts-a"],
        |seen| vec![draw::throughput(seen, "UTS A", "st-uts-a", "nodes")],
        |seen| judges::several_win(seen, "st-uts-a"),
    ),
    figure(
        "stackthreads-figure-14",
        "Throughput of UTS B",
        [
            "Figure 14, section 4.3.2",
            "The same as figure 13, for tree B.",
            STRATEGIES,
            SEVERAL,
        ],
        (Reading::PlotOnly, none),
        &["st-uts-b"],
        |seen| vec![draw::throughput(seen, "UTS B", "st-uts-b", "nodes")],
        |seen| judges::several_win(seen, "st-uts-b"),
    ),
    figure(
        "stackthreads-figure-15",
        "How many continuations a thief takes at once, Fibonacci",
        [
            "Figure 15, section 4.3.2",
            "The more a thief takes, the more time goes into stealing and idling; at 16, on 24 workers, busy is 0.158, \
             steal 0.43 and idle 0.4 of the time.",
            PROFILES,
            "With 4 cores or more: at 16, stealing and idling each take a greater share than work.",
        ],
        (Reading::SaidOfPlot, figure_15),
        &["st-fib-lengths"],
        figure_15_here,
        judges::lengths,
    ),
    figure(
        "stackthreads-figure-16",
        "Speed-up of Fibonacci, n = 40",
        [
            "Figure 16, section 4.3.2",
            "On 24 cores st_org reaches 1.90 over serial code, st_sta with two the same, st_dyn 1.86.",
            "st_org, st_sta and st_dyn are our continuations (roving-fork) taken one at a time, two, or half; \
             “roving” are closures. fib(29) with --quick, fib(40) with --full.",
            "On 24 cores the speed-up with one is above 0.9 of the paper's 1.90, and fixed:2 and half take between 0.8 and 1.25 \
             of its time. With fewer cores the rule fails if not even a perfect speed-up on the missing ones would \
             reach that, cannot tell where the runs leave that open, and decides nothing otherwise.",
        ],
        (Reading::SaidOfPlot, figure_16),
        &["st-fib"],
        |seen| vec![draw::speedups(seen, "fib", "st-fib")],
        judges::fib_speed,
    ),
    figure(
        "stackthreads-figure-17",
        "Speed-up of Strassen's matrix multiplication",
        [
            "Figure 17, section 4.3.3",
            "st_dyn does as well as st_org; st_sta with two is slower.",
            STRATEGIES,
            FIXED_LOSES,
        ],
        (Reading::PlotOnly, none),
        &["st-strassen/"],
        |seen| program(seen, "strassen", "Strassen"),
        |seen| judges::fixed_loses(seen, "strassen"),
    ),
    figure(
        "stackthreads-figure-18",
        "Strassen by problem size",
        [
            "Figure 18, section 4.3.3",
            "A larger matrix has more parallelism, and so the fixed strategy scales better with it.",
            "Sides of 256, 512 and 1024 with --quick; 1024, 2048 and 4096, as in the paper, with --full.",
            SIZE_HELPS,
        ],
        (Reading::PlotOnly, none),
        &["st-strassen/"],
        |seen| by_size(seen, "strassen"),
        |seen| judges::size_helps(seen, "strassen"),
    ),
    figure(
        "stackthreads-figure-19",
        "Breakdown of the workers' time, Strassen",
        [
            "Figure 19, section 4.3.3",
            "On 16 workers overhead grows only with st_sta, which takes two.",
            PROFILES,
            FIXED_IDLES,
        ],
        (Reading::PlotOnly, none),
        &["st-strassen-profile"],
        |seen| profile(seen, "strassen"),
        |seen| judges::fixed_idles(seen, "strassen"),
    ),
    figure(
        "stackthreads-figure-20",
        "Speed-up of sparse LU factorisation",
        [
            "Figure 20, section 4.3.3",
            "st_sta does not scale, since there is seldom more than one to take; st_dyn does about as well as st_org; \
             Intel's OpenMP is best.",
            STRATEGIES,
            FIXED_LOSES,
        ],
        (Reading::PlotOnly, none),
        &["st-sparselu/"],
        |seen| program(seen, "sparselu", "Sparse LU"),
        |seen| judges::fixed_loses(seen, "sparselu"),
    ),
    figure(
        "stackthreads-figure-21",
        "Breakdown of the workers' time, sparse LU",
        [
            "Figure 21, section 4.3.3",
            "On 20 workers idling and stealing are large with st_sta.",
            PROFILES,
            FIXED_IDLES,
        ],
        (Reading::PlotOnly, none),
        &["st-sparselu-profile"],
        |seen| profile(seen, "sparselu"),
        |seen| judges::fixed_idles(seen, "sparselu"),
    ),
    figure(
        "stackthreads-figure-22",
        "Speed-up of the fast Fourier transform",
        [
            "Figure 22, section 4.3.3",
            "As with Strassen: st_dyn does about as well as st_org on 20 cores.",
            STRATEGIES,
            FIXED_LOSES,
        ],
        (Reading::PlotOnly, none),
        &["st-fft/"],
        |seen| program(seen, "fft", "FFT"),
        |seen| judges::fixed_loses(seen, "fft"),
    ),
    figure(
        "stackthreads-figure-23",
        "FFT by problem size",
        [
            "Figure 23, section 4.3.3",
            "With 64 M numbers it scales better than with 32 M.",
            "256 K and 1 M numbers with --quick; 32 M and 64 M, as in the paper, with --full.",
            SIZE_HELPS,
        ],
        (Reading::PlotOnly, none),
        &["st-fft/"],
        |seen| by_size(seen, "fft"),
        |seen| judges::size_helps(seen, "fft"),
    ),
    figure(
        "stackthreads-figure-24",
        "Breakdown of the workers' time, FFT",
        [
            "Figure 24, section 4.3.3",
            "On 20 workers stealing takes 13.5 % with st_sta (13.4 % in another sentence of the paper) and 11.9 % \
             with st_dyn.",
            PROFILES,
            FIXED_IDLES,
        ],
        (Reading::SaidOfPlot, figure_24),
        &["st-fft-profile"],
        |seen| profile(seen, "fft"),
        |seen| judges::fixed_idles(seen, "fft"),
    ),
];
