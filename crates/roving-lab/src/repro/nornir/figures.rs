//! The table and the figures of Nornir's paper.

use super::super::figure::{Asker, Figure, Form, Paper, Reading, Sheet, X};
use super::super::seen::{SeenPoints, TIME};
use super::rules;
use super::{curves, divisions, kinds, label, speedups, stages, taus, works};

fn table_1() -> Vec<Sheet> {
    let sheet = Sheet::new(
        "Ring: 1000 processes, 1000 round-trips",
        "CPUs",
        "s",
        Form::Lines,
    );
    vec![sheet.printed(&[
        ("WS", 1usize, 1.33),
        ("WS", 2, 2.97),
        ("WS", 4, 2.59),
        ("WS", 6, 2.66),
        ("WS", 8, 2.86),
        ("GP", 1, 1.43),
        ("GP", 2, 1.65),
        ("GP", 4, 1.78),
        ("GP", 6, 1.58),
        ("GP", 8, 1.71),
    ])]
}

fn table_1_here(seen: &SeenPoints<'_>) -> Vec<Sheet> {
    let (ws, gp, adaptive) = kinds();
    let mut sheet = Sheet::new(
        "Ring: 1000 processes, 1000 round-trips",
        "workers",
        "s",
        Form::Lines,
    );
    for (name, place) in [("WS", ws), ("GP", gp), ("adaptive", adaptive)] {
        for &workers in &seen.plan.workers {
            if let Some(times) = seen.values("nn-ring", &place.text(), workers, TIME) {
                sheet.push(name, workers, times.to_vec());
            }
        }
    }
    vec![sheet]
}

/// The x axis of the random networks.
const DIVISION: &str = "work division d of 1 s";

/// The statements of the text about figure 4.
fn figure_4() -> Vec<Sheet> {
    let speed = Sheet::new("H.264 under WS", "", "speed-up", Form::Bars);
    let anew = Sheet::new("H.264 under GP", "", "repartitionings/s", Form::Bars);
    let from = Sheet::new("RND-B: GP is faster from here on", "", "d", Form::Bars);
    vec![
        speed.printed(&[("paper", "greatest, on any number of CPUs", 2.8)]),
        anew.printed(&[("paper", "least", 90.0), ("paper", "most", 410.0)]),
        from.printed(&[("paper", "d, at least", 30_000.0)]),
    ]
}

fn figure_4_here(seen: &SeenPoints<'_>) -> Vec<Sheet> {
    // One size makes no curve.
    let one = stages(seen.plan).len() == 1;
    let form = if one { Form::Bars } else { Form::LogLog };
    let mut encoder = Sheet::new("H.264", "processes in a stage", "s", form);
    for processes in stages(seen.plan) {
        for (name, times) in curves(seen, &format!("nn-h264/{processes}"), TIME) {
            let x = if one {
                X::Word(format!("{processes} processes in a stage"))
            } else {
                X::Number(processes as f64)
            };
            encoder.push(name, x, times);
        }
    }
    let mut sheets = vec![encoder];
    for letter in ["a", "b"] {
        let title = format!("RND-{}", letter.to_uppercase());
        let mut sheet = Sheet::new(title, DIVISION, "s", Form::LogLog);
        for division in divisions(seen.plan) {
            for (name, times) in curves(seen, &format!("nn-rnd-{letter}/{division}"), TIME) {
                sheet.push(name, division as f64, times);
            }
        }
        sheets.push(sheet);
    }
    let mut anew = Sheet::new(
        "H.264 under GP",
        "processes in a stage",
        "repartitionings/s",
        Form::Bars,
    );
    for processes in stages(seen.plan) {
        let group = format!("nn-h264/{processes}");
        for &workers in &seen.plan.workers {
            if let Some(rates) = rules::repartitions_per_s(seen, &group, workers) {
                anew.push(label("GP", workers), processes.to_string(), rates);
            }
        }
    }
    sheets.push(anew);
    sheets
}

fn figure_5() -> Vec<Sheet> {
    let peaks = Sheet::new("Where the speed-up peaks", "", "d", Form::LogBars);
    let local = Sheet::new(
        "Messages that stay on one CPU, 8 CPUs",
        "policy",
        "% of messages",
        Form::Bars,
    );
    let peaks = peaks.printed(&[
        ("paper", "WS", 100.0),
        ("paper", "GP, fewer than 8 CPUs", 1_000.0),
        ("paper", "GP, 8 CPUs", 10_000.0),
        (
            "paper",
            "GP sends more messages a second than WS from",
            30_000.0,
        ),
    ]);
    let local = local.printed(&[
        ("paper", "GP, at least", 70.0),
        ("paper", "WS, at most", 18.0),
    ]);
    vec![peaks, local]
}

fn figure_5_here(seen: &SeenPoints<'_>) -> Vec<Sheet> {
    let mut speed = Sheet::new(
        "RND-B: speed-up",
        DIVISION,
        "speed-up over serial",
        Form::LogLines,
    );
    let mut local = Sheet::new(
        "RND-B: local traffic",
        DIVISION,
        "% of messages",
        Form::LogLines,
    );
    let mut rate = Sheet::new(
        "RND-B: throughput",
        DIVISION,
        "million messages/s",
        Form::LogLog,
    );
    for division in divisions(seen.plan) {
        let (group, x) = (format!("nn-rnd-b/{division}"), division as f64);
        for (name, values) in speedups(seen, &group) {
            speed.push(name, x, values);
        }
        for (name, values) in curves(seen, &group, "local_share") {
            local.push(name, x, values.iter().map(|share| share * 100.0).collect());
        }
        for (name, values) in curves(seen, &group, "messages_per_s") {
            rate.push(name, x, values.iter().map(|rate| rate / 1e6).collect());
        }
    }
    vec![speed, local, rate]
}

fn figure_6() -> Vec<Sheet> {
    let sheet = Sheet::new(
        "Scatter/gather, 8 CPUs, as far as the text says",
        "",
        "speed-up",
        Form::Bars,
    );
    vec![sheet.printed(&[("paper", "greatest, at d = 100", 7.1)])]
}

fn figure_6_here(seen: &SeenPoints<'_>) -> Vec<Sheet> {
    let mut sheet = Sheet::new(
        "Scatter/gather under WS",
        "work division d of 1 s",
        "speed-up over serial",
        Form::LogLines,
    );
    for (division, _, _) in works(seen.plan) {
        for (name, values) in speedups(seen, &format!("nn-scatter/{division}")) {
            sheet.push(name, division as f64, values);
        }
    }
    vec![sheet]
}

fn figure_7_here(seen: &SeenPoints<'_>) -> Vec<Sheet> {
    let x = "idle threshold τ, µs; 0 is WS";
    let mut times = Sheet::new("RND-B, d = 1000: running time", x, "ms", Form::Boxes);
    let mut parts = Sheet::new(
        "RND-B, d = 1000: repartitionings",
        x,
        "in a run",
        Form::Boxes,
    );
    for (tau, series) in taus() {
        let values = |metric| seen.values("nn-variance", &series, seen.plan.cores, metric);
        if let Some(seconds) = values(TIME) {
            times.push(
                "here",
                tau.clone(),
                seconds.iter().map(|time| time * 1e3).collect(),
            );
        }
        if let Some(counts) = values("repartitions") {
            parts.push("here", tau, counts.to_vec());
        }
    }
    vec![times, parts]
}

fn figure_7() -> Vec<Sheet> {
    let sheet = Sheet::new(
        "RND-B, d = 1000, 8 CPUs",
        "",
        "worst time over best",
        Form::Bars,
    );
    vec![sheet.printed(&[("paper", "GP, more than", 4.0)])]
}

fn kmeans() -> Vec<Sheet> {
    let sheet = Sheet::new("k-means", "", "s", Form::Bars);
    vec![sheet.printed(&[("paper", "WS", 9.4), ("paper", "GP, τ high enough", 10.2)])]
}

fn kmeans_here(seen: &SeenPoints<'_>) -> Vec<Sheet> {
    let mut times = Sheet::new("k-means", "idle threshold τ, µs; 0 is WS", "s", Form::Boxes);
    let title = "k-means: repartitionings";
    let mut parts = Sheet::new(
        title,
        "idle threshold τ, µs; 0 is WS",
        "in a run",
        Form::Boxes,
    );
    for (tau, series) in taus() {
        let values = |metric| seen.values("nn-kmeans", &series, seen.plan.cores, metric);
        if let Some(seconds) = values(TIME) {
            times.push("here", tau.clone(), seconds.to_vec());
        }
        if let Some(counts) = values("repartitions") {
            parts.push("here", tau, counts.to_vec());
        }
    }
    vec![times, parts]
}

const GP: &str = "GP is our placement “partitioned”, whose partitioner differs from PaToH; its τ are 0.2 ms to \
                  128 ms, for the paper names no unit, and the best is selected by the one-sided Mann-Whitney U test \
                  at 95 %, as in appendix A. Accounting is on, as in the paper. A message carries 1 s / d of work, as in \
                  the paper; with --quick the source sends a fiftieth of the d messages, so that times are a fiftieth, \
                  and from d = 100 on only.";

/// The table and the figures, and the program that the text describes.
pub(in crate::repro) const FIGURES: [Figure; 6] = [
    Figure {
        name: "nornir-table-1",
        paper: Paper::Nornir,
        title: "Ring: what a message costs",
        finding: "WS takes 1.33 s on one CPU and 2.97 s on two, by contention over run queues; GP takes about the \
                  same on any number. One CPU does about 750,000 transactions a second.",
        source: "Table 1, section 3.3",
        reading: Reading::Printed,
        asker: Asker::Paper,
        printed: table_1,
        here: "1,000 processes and 1,000 round-trips, as in the paper, with accounting on.",
        rule: "From 1 to 2 workers the time grows more than 1.5 times under WS, and less than 1.3 times under GP.",
        groups: &["nn-ring"],
        sheets: table_1_here,
        judge: rules::table_1,
    },
    Figure {
        name: "nornir-kmeans",
        paper: Paper::Nornir,
        title: "k-means on the topology of MapReduce",
        finding: "9.4 s under WS, and 10.2 s under GP where τ is high enough; with τ too low, processes are placed anew \
                  overwhelmingly often, and the program runs for several minutes. The paper leaves it out of all else.",
        source: "text of section 3.3",
        reading: Reading::Printed,
        asker: Asker::Paper,
        printed: kmeans,
        here: "300,000 points, 120 clusters and 128 processes of each kind, as in the paper, with --full; 20,000, 30 and \
               16 with --quick. The paper's points are integers in the same cube.",
        rule: "On all cores GP with its best τ takes longer than WS, and with its worst more than ten times as long.",
        groups: &["nn-kmeans"],
        sheets: kmeans_here,
        judge: rules::kmeans,
    },
    Figure {
        name: "nornir-figure-4",
        paper: Paper::Nornir,
        title: "Running times of all programs under both policies",
        finding: "WS has the least median time in most workloads; GP is better only on the ring and on RND-B from \
                  d = 30,000 on. H.264 is at most 2.8 times as fast as on one CPU, and under GP it is partitioned anew 90 \
                  to 410 times a second.",
        source: "Figure 4, section 3.3",
        reading: Reading::SaidOfPlot,
        asker: Asker::Paper,
        printed: figure_4,
        here: GP,
        rule: "On all cores WS takes less time than GP with its best τ in more than half of the programs; RND-B from \
               d = 30,000 on, where the paper says the contrary, is asked the contrary.",
        groups: &["nn-h264/", "nn-rnd-a/", "nn-rnd-b/"],
        sheets: figure_4_here,
        judge: rules::figure_4,
    },
    Figure {
        name: "nornir-figure-5",
        paper: Paper::Nornir,
        title: "More about RND-B: speed-up, locality, throughput",
        finding: "WS has the higher peak, at d = 100; GP a lower one at d = 1,000, on 8 CPUs at d = 10,000; from \
                  d = 30,000 on GP sends more messages a second. At least 70 % of GP's messages stay local on 8 CPUs, at \
                  most 18 % of WS's, and locality buys no speed.",
        source: "Figure 5, sections 3.3 and 5",
        reading: Reading::SaidOfPlot,
        asker: Asker::Paper,
        printed: figure_5,
        here: GP,
        rule: "On all cores the peak of WS is higher than that of GP with its best τ; at every d at least 70 % of GP's \
               messages are local, and of WS's at most 18 % on 8 cores, in proportion more on fewer, as the paper says.",
        groups: &["nn-rnd-b/"],
        sheets: figure_5_here,
        judge: rules::figure_5,
    },
    Figure {
        name: "nornir-figure-6",
        paper: Paper::Nornir,
        title: "Scatter/gather: how much work a message must carry",
        finding: "The greatest speed-up is 7.1 on 8 CPUs, at d = 100; it drops sharply above d = 1,000 and is nearly \
                  halved at d = 20,000. WS does well while a message carries at least 100 µs of work, a ratio of \
                  computation to communication of about 75.",
        source: "Figure 6, section 3.3",
        reading: Reading::SaidOfPlot,
        asker: Asker::Paper,
        printed: figure_6,
        here: "50 workers around one process. The paper's d is taken to divide 1 s, so that 100 µs are d = 10,000; the text \
               also names d = 100, which is not in its own list. The points above d = 100,000 are ours. With --quick \
               there is less work in all, and as much in a message.",
        rule: "The speed-up is above 0.8 of the best for messages of 100 µs or more, and below 0.8 of it at 10 µs, the \
               finest of the paper.",
        groups: &["nn-scatter/"],
        sheets: figure_6_here,
        judge: rules::figure_6,
    },
    Figure {
        name: "nornir-figure-7",
        paper: Paper::Nornir,
        title: "How much running times vary under GP",
        finding: "WS has no variation that can be seen; under GP worst and best can differ more than 4 times, and \
                  repartitionings are the rarer the greater τ is.",
        source: "Figure 7, sections 3.3 and 5",
        reading: Reading::SaidOfPlot,
        asker: Asker::Paper,
        printed: figure_7,
        here: GP,
        rule: "Over all τ the worst run under GP takes more than 4 times the best, and more times than under WS.",
        groups: &["nn-variance"],
        sheets: figure_7_here,
        judge: rules::figure_7,
    },
];
