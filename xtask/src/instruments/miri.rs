//! Miri: undefined behaviour, data races and deadlocks in the tests of the runtime and of networks.
//!
//! Each test program runs once for each model of borrowing and each seed. A seed decides who runs
//! when and which of the values that weak memory allows is read; the clock is Miri's own, so the
//! same seed is the same run, however busy the machine is. Test programs run side by side.

use std::collections::{BTreeMap, VecDeque};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;
use crate::cargo::tally::CargoTally;
use crate::cargo::workspace::{BuildTarget, Workspace};
use crate::cargo::{features, tool};
use crate::instruments::nightly::{self, OUTSIDE};
use crate::report::{CheckStep, TestCounts};
use crate::results::last_runs::LastRuns;

/// The crates whose tests run under Miri.
pub(crate) const PACKAGES: [&str; 5] = [
    "roving",
    "roving-flow",
    "roving-iter",
    "roving-partition",
    "roving-omp",
];
/// The parts of the nightly toolchain that it takes.
const NEEDED: [&str; 2] = ["miri", "rust-src"];
/// The table of the last run of each program, below the root.
const TABLE: &str = "docs/results/miri.csv";
/// Tests that take longer are named, so that somebody makes them smaller there.
const LONG: Duration = Duration::from_secs(40);
const HEAD: &str =
    "date,commit_date,crate,program,borrows,seed,outcome,passed,failed,ignored,seconds";

/// How much of all is run.
#[derive(Clone, clap::Args)]
pub(crate) struct SeedPlan {
    /// How often each program runs under each model, with another seed each time
    #[arg(long, requires = "whole", default_value_t = 4)]
    seeds: u32,
    /// No further program is begun then: those that were not run for longest come first
    #[arg(long, requires = "whole", default_value_t = 600.0)]
    minutes: f64,
    /// Only this test program, or `lib`
    #[arg(requires = "whole")]
    only: Option<String>,
}

impl Default for SeedPlan {
    fn default() -> SeedPlan {
        SeedPlan {
            seeds: 4,
            minutes: 600.0,
            only: None,
        }
    }
}

/// The jobs of each run of the checks: a program that meets most of the runtime, under one seed.
const QUICK: [(&str, &str, Borrows); 2] = [
    ("roving", "miri_mix", Borrows::Tree),
    ("roving", "miri_mix", Borrows::Stacked),
];

/// How references may be used: the two models that there are. What breaks either is a defect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Borrows {
    Stacked,
    Tree,
}

/// One run of one test program.
#[derive(Clone, Debug)]
struct SeededJob {
    package: &'static str,
    /// `lib`, or the name of an integration test.
    target: String,
    borrows: Borrows,
    seed: u32,
}

/// The outcome of a job.
struct JobOutcome {
    job: SeededJob,
    counts: TestCounts,
    /// Its output, if something is wrong.
    wrong: Option<Vec<String>>,
    seconds: f64,
    /// The tests that took [`LONG`] and how many seconds.
    long: Vec<(String, f64)>,
}

/// A part that takes some minutes.
pub(crate) fn quick(workspace: &Workspace, step: &mut CheckStep, no_install: bool) -> Result<()> {
    if !no_install {
        nightly::add(&NEEDED);
    }
    let jobs = QUICK.map(|(package, target, borrows)| SeededJob {
        package,
        target: target.into(),
        borrows,
        seed: 0,
    });
    run(workspace, step, jobs.into(), None).map(drop)
}

fn table(workspace: &Workspace) -> LastRuns {
    LastRuns::at(workspace, TABLE, HEAD, 2..6)
}

/// All tests that can run there, or those of one test program, and how many these are of all.
pub(crate) fn whole(workspace: &Workspace, step: &mut CheckStep, plan: &SeedPlan) -> Result<()> {
    let seeds = plan.seeds;
    let is_chosen = |name: &str| plan.only.as_ref().is_none_or(|only| only == name);
    let (mut programs, mut jobs, mut elsewhere) = (Vec::new(), Vec::new(), 0);
    for package in PACKAGES {
        let targets = workspace
            .package(package)
            .map(|package| &package.targets[..]);
        for target in targets.unwrap_or_default() {
            let name = match target.kind.as_str() {
                "lib" => "lib",
                "test" => target.name.as_str(),
                _ => continue,
            };
            if !is_chosen(name) {
                continue;
            }
            if is_outside(name) {
                elsewhere += tests_in(target)?;
                continue;
            }
            programs.push((package, name));
        }
    }
    // All programs under one model before any under the next, so that little time is for most.
    for (seed, borrows) in
        (0..seeds).flat_map(|seed| [Borrows::Tree, Borrows::Stacked].map(|b| (seed, b)))
    {
        jobs.extend(programs.iter().map(|&(package, target)| SeededJob {
            package,
            target: target.to_owned(),
            borrows,
            seed,
        }));
    }
    let last = table(workspace).runs();
    jobs.sort_by_cached_key(|job| job.turn(&last));
    let (jobs_of_all, end) = (jobs.len(), Duration::from_secs_f64(plan.minutes * 60.0));
    let outcomes = run(workspace, step, jobs, Some(Instant::now() + end))?;
    if outcomes.len() < jobs_of_all {
        println!(
            "{} of {jobs_of_all} runs in this time; the others come first next time",
            outcomes.len()
        );
        return Ok(());
    }
    let (ran, all) = shares(&outcomes);
    println!(
        "{ran} of {} tests ran, each {} times",
        all + elsewhere,
        2 * seeds
    );
    Ok(())
}

/// Integration tests that are not for Miri: those of compilers and processes, and programs of C.
fn is_outside(name: &str) -> bool {
    name == "programs" || OUTSIDE.iter().any(|word| name.contains(word))
}

/// How many tests a file has.
fn tests_in(target: &BuildTarget) -> Result<u64> {
    let text = std::fs::read_to_string(&target.file)
        .map_err(|error| format!("{}: {error}", target.file.display()))?;
    Ok(text.lines().filter(|line| line.trim() == "#[test]").count() as u64)
}

/// Of the tests of these programs, those that ran, and all.
fn shares(outcomes: &[JobOutcome]) -> (u64, u64) {
    let first =
        |outcome: &&JobOutcome| outcome.job.seed == 0 && outcome.job.borrows == Borrows::Tree;
    let mut sum = TestCounts::default();
    for outcome in outcomes.iter().filter(first) {
        sum.add(outcome.counts);
    }
    let ran = sum.passed + sum.failed;
    (ran, ran + sum.skipped)
}

/// Runs the programs, as many at a time as there are processors. With an `end`, none is begun after
/// that, and each is written down as soon as it is over.
fn run(
    workspace: &Workspace,
    step: &mut CheckStep,
    jobs: Vec<SeededJob>,
    end: Option<Instant>,
) -> Result<Vec<JobOutcome>> {
    if !NEEDED.iter().all(|component| nightly::has(step, component)) {
        return Ok(Vec::new());
    }
    // What is missing is built once, before several wait for each other.
    for package in PACKAGES {
        if jobs.iter().any(|job| job.package == package) {
            let seen = tool::watch(cargo(workspace, package).args(["--tests", "--no-run"]))?;
            if !seen.ok {
                step.fail(format!("the tests of {package} are not built"));
                return Ok(Vec::new());
            }
        }
    }
    let lanes = thread::available_parallelism().map_or(1, |lanes| lanes.get());
    let (queue, outcomes) = (Mutex::new(VecDeque::from(jobs)), Mutex::new(Vec::new()));
    let next = || {
        if end.is_some_and(|end| Instant::now() > end) {
            return None;
        }
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.pop_front()
    };
    let table = table(workspace);
    thread::scope(|lane| {
        for _ in 0..lanes {
            lane.spawn(|| {
                while let Some(job) = next() {
                    let outcome = one(workspace, job);
                    say(&outcome);
                    let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
                    if end.is_some()
                        && let Err(error) = table.put(workspace, &outcome.row())
                    {
                        println!("{TABLE}: {error}");
                    }
                    outcomes.push(outcome);
                }
            });
        }
    });
    let outcomes: Vec<JobOutcome> = outcomes
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    for JobOutcome {
        job, counts, wrong, ..
    } in &outcomes
    {
        step.counts.add(*counts);
        if let Some(lines) = wrong {
            step.fail(format!("{}: {}", job.name(), reason(lines)));
        }
    }
    Ok(outcomes)
}

fn one(workspace: &Workspace, job: SeededJob) -> JobOutcome {
    let started = Instant::now();
    let mut command = cargo(workspace, job.package);
    match job.target.as_str() {
        "lib" => command.arg("--lib"),
        test => command.args(["--test", test]),
    };
    // So that a report stands behind the name of its test.
    command.args(["--", "--test-threads=1"]);
    command.env("MIRIFLAGS", flags(&job));
    let (mut last, mut long) = (started, Vec::new());
    let hear = |line: &str| {
        let took = last.elapsed();
        last = Instant::now();
        if let Some(test) = line.strip_prefix("test ")
            && took > LONG
        {
            long.push((test.to_owned(), took.as_secs_f64()));
        }
    };
    let (counts, wrong) = match tool::heard(&mut command, hear) {
        Ok(seen) => {
            let tally = CargoTally::read(&seen.lines);
            let ended = tally.groups.iter().all(|group| group.ended);
            let right = seen.ok && ended && !tally.groups.is_empty();
            (tally.sum(), (!right).then_some(seen.lines))
        }
        Err(message) => (TestCounts::default(), Some(vec![message])),
    };
    JobOutcome {
        job,
        counts,
        wrong,
        seconds: started.elapsed().as_secs_f64(),
        long,
    }
}

impl SeededJob {
    fn name(&self) -> String {
        let [package, target, borrows, seed] = self.fields();
        format!("{package} {target}, {borrows} Borrows, seed {seed}")
    }

    /// These say which run it is.
    fn fields(&self) -> [String; 4] {
        let SeededJob {
            package,
            target,
            borrows,
            seed,
        } = self;
        [
            (*package).to_owned(),
            target.clone(),
            format!("{borrows:?}"),
            seed.to_string(),
        ]
    }

    /// Its place among the runs: first those that never were, then those that were not for longest;
    /// of these, those that take least, and last those that are not known to end.
    fn turn(&self, last: &BTreeMap<String, Vec<String>>) -> (Option<String>, u64) {
        let day = last.get(&self.key()).map(|row| row[0].clone());
        let [package, target, ..] = self.fields();
        let runs = last
            .values()
            .filter(|row| row[2..4] == [&package[..], &target]);
        let seconds = runs.filter_map(|row| Some(row.last()?.parse::<f64>().ok()? as u64));
        (day, seconds.max().unwrap_or(u64::MAX))
    }

    /// Its fields, as in the table.
    fn key(&self) -> String {
        self.fields().join(",")
    }
}

impl JobOutcome {
    fn row(&self) -> String {
        let JobOutcome {
            job,
            counts,
            wrong,
            seconds,
            long: _,
        } = self;
        let TestCounts {
            passed,
            failed,
            skipped,
            ..
        } = counts;
        let verdict = if wrong.is_some() { "FAILED" } else { "ok" };
        format!(
            "{},{verdict},{passed},{failed},{skipped},{seconds:.1}",
            job.key()
        )
    }
}

/// The flags of Miri. Files, sockets and the environment do not exist there; asking for them is an
/// error that the program sees, as where a system refuses. The threads of a global pool live until
/// the end, which Miri counts as a leak; leaks are the business of AddressSanitizer. What is known
/// of old borrows is dropped often: that saves a quarter of the time under either model. Allocators
/// of OpenMP are numbers that become pointers again, in that crate alone.
fn flags(job: &SeededJob) -> String {
    let model = match job.borrows {
        Borrows::Stacked => "",
        Borrows::Tree => "-Zmiri-tree-borrows ",
    };
    let provenance = match job.package {
        "roving-omp" => "permissive",
        _ => "strict",
    };
    format!(
        "{model}-Zmiri-provenance-gc=600 -Zmiri-{provenance}-provenance -Zmiri-isolation-error=hide -Zmiri-ignore-leaks -Zmiri-seed={}",
        job.seed
    )
}

/// The first line that says what is wrong.
fn reason(lines: &[String]) -> &str {
    let is_reason = |line: &&String| line.starts_with("error") || line.contains("panicked at");
    lines
        .iter()
        .find(is_reason)
        .map_or("ended without a result", |line| line)
}

/// One line for what went well, all lines for what did not.
fn say(outcome: &JobOutcome) {
    let JobOutcome {
        job,
        counts,
        wrong,
        seconds,
        long,
    } = outcome;
    let mut text = String::new();
    for (test, seconds) in long {
        text += &format!("        {seconds:.0} s: {test}\n");
    }
    for line in wrong.iter().flatten() {
        text += line;
        text.push('\n');
    }
    let verdict = if wrong.is_some() { "FAILED" } else { "ok" };
    let (passed, skipped) = (counts.passed, counts.skipped);
    // In one call, so that the lanes do not mix.
    println!(
        "{text}{verdict:7}{}: {passed} passed, {skipped} ignored, {seconds:.1} s",
        job.name()
    );
}

fn cargo(workspace: &Workspace, package: &str) -> Command {
    let mut command = nightly::cargo(workspace, &["miri", "test", "-p", package]);
    command.env("CARGO_TARGET_DIR", workspace.target.join("miri"));
    if package == "roving" {
        command.args(["--features", &features::INTEGRATIONS.join(",")]);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(borrows: Borrows, seed: u32) -> SeededJob {
        SeededJob {
            package: "roving",
            target: "lib".into(),
            borrows,
            seed,
        }
    }

    #[test]
    fn a_job_says_how_it_is_run() {
        let flags = flags(&job(Borrows::Tree, 7));
        assert!(flags.contains("-Zmiri-tree-borrows") && flags.contains("-Zmiri-seed=7"));
        assert!(!super::flags(&job(Borrows::Stacked, 0)).contains("tree"));
        assert_eq!(
            job(Borrows::Stacked, 3).name(),
            "roving lib, Stacked Borrows, seed 3"
        );
    }

    #[test]
    fn what_was_not_run_for_longest_comes_first_and_then_what_takes_least() {
        let row = |day: &str, target: &str, borrows, seconds: &str| {
            let row = format!("{day},{day},roving,{target},{borrows},0,ok,1,0,0,{seconds}");
            let fields: Vec<String> = row.split(',').map(str::to_owned).collect();
            (fields[2..6].join(","), fields)
        };
        let last = BTreeMap::from([
            row("2026-01-02", "long", "Tree", "90.5"),
            row("2026-01-02", "short", "Tree", "7.0"),
            row("2026-01-03", "short", "Stacked", "9.9"),
        ]);
        let named = |target: &str, borrows| SeededJob {
            target: target.into(),
            ..job(borrows, 0)
        };
        let mut jobs = [
            named("short", Borrows::Stacked),
            named("long", Borrows::Tree),
            named("new", Borrows::Tree),
            named("long", Borrows::Stacked),
            named("short", Borrows::Tree),
        ];
        jobs.sort_by_cached_key(|job| job.turn(&last));
        let names = jobs.map(|job| format!("{} {:?}", job.target, job.borrows));
        let right = [
            "long Stacked",
            "new Tree",
            "short Tree",
            "long Tree",
            "short Stacked",
        ];
        assert_eq!(names, right);
    }

    #[test]
    fn the_table_has_the_fields_of_its_first_line() {
        let table = table(&Workspace::find().unwrap());
        assert_eq!(table.wrong_lines(), [""; 0]);
        let outcome = JobOutcome {
            job: job(Borrows::Tree, 2),
            counts: TestCounts::default(),
            wrong: None,
            seconds: 1.0,
            long: Vec::new(),
        };
        let fields = HEAD.split(',').count();
        assert_eq!(outcome.row().split(',').count() + 2, fields);
    }

    #[test]
    fn each_test_counts_once_however_often_it_ran() {
        let outcome = |borrows, seed, skipped| JobOutcome {
            job: job(borrows, seed),
            counts: TestCounts {
                passed: 5,
                failed: 1,
                skipped,
            },
            wrong: None,
            seconds: 0.0,
            long: Vec::new(),
        };
        let all = [
            outcome(Borrows::Stacked, 0, 2),
            outcome(Borrows::Tree, 0, 2),
            outcome(Borrows::Tree, 1, 2),
        ];
        assert_eq!(shares(&all), (6, 8));
    }

    #[test]
    fn the_quick_part_names_tests_that_there_are() {
        let workspace = Workspace::find().unwrap();
        for (package, target, _) in QUICK {
            let package = workspace.package(package).unwrap();
            let is_it = |found: &BuildTarget| found.kind == "test" && found.name == target;
            assert!(
                target == "lib" || package.targets.iter().any(is_it),
                "{target}"
            );
        }
    }

    #[test]
    fn a_report_gives_the_reason() {
        let lines = ["test a ... ", "error: Undefined Behavior: gone", "  --> x"];
        let lines = lines.map(String::from);
        assert_eq!(reason(&lines), "error: Undefined Behavior: gone");
        assert_eq!(reason(&[]), "ended without a result");
    }
}
