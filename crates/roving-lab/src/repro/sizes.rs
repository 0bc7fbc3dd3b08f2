//! The inputs of the papers' programs, and ours of a quick and of a full run, as data: that
//! `--full` means the papers' sizes is compared here, and not only said.

use super::plan::SizeAndMachine;
use crate::io::csv::Csv;

/// The inputs of one program of a paper.
pub(super) struct ProgramInputs {
    /// The name by which groups ask for it.
    name: &'static str,
    /// The paper's text; empty where it has none.
    paper: &'static [&'static str],
    /// Where it says it.
    source: &'static str,
    /// With `--quick`.
    quick: &'static [&'static str],
    /// With `--full`.
    full: &'static [&'static str],
}

/// All of them.
pub(super) const SIZES: [ProgramInputs; 22] = [
    // fib(n). The slides say of the table of costs only that it is measured with fib.
    ProgramInputs {
        name: "wool-ladder",
        paper: &["42"],
        source: "Wool, slide “Results for inlining optimizations”",
        quick: &["30"],
        full: &["42"],
    },
    ProgramInputs {
        name: "wool-inlined",
        paper: &[],
        source: "Wool, slide “Comparing Wool with Cilk++, TBB, and OpenMP”",
        quick: &["27"],
        full: &["42"],
    },
    // Depth of the tree of `stress` on 2, 4 and 8 processors; the length of a leaf is not printed.
    ProgramInputs {
        name: "wool-steal",
        paper: &["1", "2", "3"],
        source: "Wool, slide “Comparing Wool with Cilk++, TBB, and OpenMP”",
        quick: &["1", "2", "3"],
        full: &["1", "2", "3"],
    },
    ProgramInputs {
        name: "wool-cholesky",
        paper: &[],
        source: "Wool, slide “More measurements: Cholesky”",
        quick: &["1000"],
        full: &["4000"],
    },
    ProgramInputs {
        name: "wool-matmul",
        paper: &[],
        source: "Wool, slide “More measurements: Matrix multiply”",
        quick: &["512"],
        full: &["2048"],
    },
    ProgramInputs {
        name: "wool-substring",
        paper: &[],
        source: "Wool, slide “More measurements: Sub String Finder”",
        quick: &["18"],
        full: &["22"],
    },
    // Trees by the words of `roving run uts`: T3 is tree A of the paper's table 1.
    ProgramInputs {
        name: "st-uts-a",
        paper: &["T3"],
        source: "StackThreads/MP, table 1",
        quick: &["T3"],
        full: &["T3"],
    },
    ProgramInputs {
        name: "st-uts-b",
        paper: &["B"],
        source: "StackThreads/MP, table 1",
        quick: &["-t0 -b2000 -q0.3326 -m3 -r8"],
        full: &["B"],
    },
    ProgramInputs {
        name: "st-fib-30",
        paper: &["30"],
        source: "StackThreads/MP, figure 8",
        quick: &["30"],
        full: &["30"],
    },
    ProgramInputs {
        name: "st-fib",
        paper: &["40"],
        source: "StackThreads/MP, section 4.3.2",
        quick: &["29"],
        full: &["40"],
    },
    ProgramInputs {
        name: "st-lengths",
        paper: &["16"],
        source: "StackThreads/MP, section 4.3.2",
        quick: &["1", "2", "4", "8", "16"],
        full: &["1", "2", "4", "8", "16"],
    },
    ProgramInputs {
        name: "st-strassen",
        paper: &["1024", "2048", "4096"],
        source: "StackThreads/MP, section 4.1.3",
        quick: &["256", "512", "1024"],
        full: &["1024", "2048", "4096"],
    },
    ProgramInputs {
        name: "st-sparselu",
        paper: &["50x100"],
        source: "StackThreads/MP, section 4.1.4",
        quick: &["25x40"],
        full: &["50x100"],
    },
    ProgramInputs {
        name: "st-fft",
        paper: &["32M", "64M"],
        source: "StackThreads/MP, section 4.1.5",
        quick: &["256K", "1M"],
        full: &["32M", "64M"],
    },
    // 1000 processes and 1000 round-trips.
    ProgramInputs {
        name: "nn-ring",
        paper: &["processes=1000,rounds=1000"],
        source: "Nornir, section 3.1",
        quick: &["processes=1000,rounds=1000"],
        full: &["processes=1000,rounds=1000"],
    },
    ProgramInputs {
        name: "nn-h264",
        paper: &["128", "256", "512"],
        source: "Nornir, section 3.1",
        quick: &["128"],
        full: &["128", "256", "512"],
    },
    ProgramInputs {
        name: "nn-kmeans",
        paper: &["points=300000,clusters=120,processes=128"],
        source: "Nornir, section 3.1",
        quick: &["points=20000,clusters=30,processes=16"],
        full: &["points=300000,clusters=120,processes=128"],
    },
    // T, in ms: the work that is divided.
    ProgramInputs {
        name: "nn-rnd-work",
        paper: &["1000"],
        source: "Nornir, section 3.1",
        quick: &["1000"],
        full: &["1000"],
    },
    // The work division d.
    ProgramInputs {
        name: "nn-rnd",
        paper: &[
            "1", "10", "100", "1000", "10000", "20000", "30000", "40000", "50000", "60000",
            "70000", "80000", "90000",
        ],
        source: "Nornir, section 3.1",
        quick: &["100", "1000", "10000", "30000", "90000"],
        full: &[
            "1", "10", "100", "1000", "10000", "20000", "30000", "40000", "50000", "60000",
            "70000", "80000", "90000",
        ],
    },
    // The work division d; the text names d = 100 and the set that begins with 1,000. What is finer
    // is ours.
    ProgramInputs {
        name: "nn-scatter",
        paper: &[
            "100", "1000", "10000", "20000", "30000", "40000", "50000", "60000", "70000", "80000",
            "90000", "100000",
        ],
        source: "Nornir, sections 3.1 and 3.3",
        quick: &[
            "1000", "10000", "20000", "50000", "100000", "200000", "500000", "1000000",
        ],
        full: &[
            "100", "1000", "10000", "20000", "30000", "40000", "50000", "60000", "70000", "80000",
            "90000", "100000", "200000", "500000", "1000000",
        ],
    },
    ProgramInputs {
        name: "worms-fib",
        paper: &["35"],
        source: "WORMS, section 4.2",
        quick: &["29"],
        full: &["35"],
    },
    ProgramInputs {
        name: "worms-flat",
        paper: &["1000000"],
        source: "WORMS, section 4.3",
        quick: &["100000"],
        full: &["1000000"],
    },
];

/// The part of the paper's messages that a quick run sends through a random network: each carries
/// as much work as in the paper.
const QUICK_MESSAGES: u64 = 50;

impl ProgramInputs {
    /// Whether `--full` has all that the paper has.
    #[cfg(test)]
    fn is_the_papers(&self) -> bool {
        self.paper.iter().all(|one| self.full.contains(one))
    }
}

/// The inputs of a program, by the size of the plan.
pub(super) fn inputs(plan: &SizeAndMachine, name: &str) -> &'static [&'static str] {
    let size = SIZES.iter().find(|size| size.name == name);
    size.map_or(&[], |size| plan.pick(size.quick, size.full))
}

/// The only input of a program.
pub(super) fn input(plan: &SizeAndMachine, name: &str) -> &'static str {
    inputs(plan, name).first().copied().unwrap_or_default()
}

/// The greatest input of a program: the last one.
pub(super) fn greatest(plan: &SizeAndMachine, name: &str) -> &'static str {
    inputs(plan, name).last().copied().unwrap_or_default()
}

/// The inputs of a program that are numbers.
pub(super) fn numbers(plan: &SizeAndMachine, name: &str) -> Vec<u64> {
    let inputs = inputs(plan, name).iter();
    inputs.filter_map(|input| input.parse().ok()).collect()
}

/// The sizes of all programs: the papers' and those of this run.
pub(super) fn csv(plan: &SizeAndMachine) -> Csv {
    let mut csv = Csv::new(&["program", "paper", "source", "here"]);
    for size in &SIZES {
        let paper = match size.paper {
            [] => "not said".to_owned(),
            said => said.join("; "),
        };
        let here = plan.pick(size.quick, size.full).join("; ");
        csv.push(vec![size.name.into(), paper, size.source.into(), here]);
    }
    csv
}

/// How many messages the source of a random network sends at a work division.
pub(super) fn messages(plan: &SizeAndMachine, division: u64) -> u64 {
    plan.pick(division / QUICK_MESSAGES, division).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::groups;

    #[test]
    fn a_full_run_has_the_papers_sizes() {
        for (place, size) in SIZES.iter().enumerate() {
            assert!(size.is_the_papers(), "{}: {:?}", size.name, size.full);
            assert!(!size.quick.is_empty() && !size.source.is_empty());
            assert!(SIZES[..place].iter().all(|one| one.name != size.name));
        }
    }

    #[test]
    fn a_size_that_is_not_the_papers_is_seen() {
        let wrong = ProgramInputs {
            name: "a",
            paper: &["42"],
            source: "b",
            quick: &["30"],
            full: &["40"],
        };
        assert!(!wrong.is_the_papers());
    }

    #[test]
    fn the_sizes_are_written() {
        let csv = csv(&SizeAndMachine::on(false, 2));
        assert_eq!(csv.rows.len(), SIZES.len());
        let ladder = &csv.rows[0];
        assert_eq!((&*ladder[1], &*ladder[3]), ("42", "42"));
        assert_eq!(csv.rows[1][1], "not said");
    }

    #[test]
    fn groups_are_measured_at_the_sizes_that_stand_here() {
        for quick in [true, false] {
            let plan = SizeAndMachine::on(quick, 8);
            let names: Vec<String> = groups(&plan).into_iter().map(|one| one.name).collect();
            for (stem, size) in [
                ("nn-rnd-a", "nn-rnd"),
                ("nn-rnd-b", "nn-rnd"),
                ("nn-scatter", "nn-scatter"),
                ("nn-h264", "nn-h264"),
                ("st-strassen", "st-strassen"),
                ("st-sparselu", "st-sparselu"),
                ("st-fft", "st-fft"),
            ] {
                let prefix = format!("{stem}/");
                let found: Vec<&str> = names
                    .iter()
                    .filter_map(|name| name.strip_prefix(&prefix))
                    .collect();
                assert_eq!(found, inputs(&plan, size), "{stem}");
            }
        }
    }

    #[test]
    fn a_quick_run_sends_a_share_of_the_messages_and_none_is_cut_off() {
        let (quick, full) = (SizeAndMachine::on(true, 2), SizeAndMachine::on(false, 2));
        for division in numbers(&full, "nn-rnd") {
            assert_eq!(messages(&full, division), division);
        }
        // Time can only rise with d where the messages do.
        let sent: Vec<u64> = numbers(&quick, "nn-rnd")
            .into_iter()
            .map(|division| messages(&quick, division))
            .collect();
        assert_eq!(sent, [2, 20, 200, 600, 1800]);
    }
}
