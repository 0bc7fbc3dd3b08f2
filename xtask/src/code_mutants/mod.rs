//! Mutants of code: one changed line at a time, in the modules on which all else stands, must make
//! a test fail.
//!
//! One build serves all: a copy of the workspace has both behaviours on each line, and an
//! environment variable chooses which line is changed. What does not compile is left out. A mutant
//! that no test kills is a missing test, or stands with its reason in `mutants-code.txt`.

mod build;
mod killers;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Result;
use crate::reading::{self, Source};
use crate::report::{Report, Step};
use crate::workspace::Workspace;
use killers::Fate;
use rules::Site;

/// The mutated files and folders, below `crates`.
const MODULES: [&str; 17] = [
    "roving/src/stack",
    "roving/src/workers/steal",
    "roving/src/workers/sleep",
    "roving/src/workers/wait",
    "roving/src/workers/worker.rs",
    "roving/src/workers/worker",
    "roving/src/workers/wake_calls.rs",
    "roving/src/workers/job_runs.rs",
    "roving/src/workers/on_demand.rs",
    "roving/src/workers/own_tasks.rs",
    "roving/src/workers/replayed.rs",
    "roving/src/workers/stranded.rs",
    "roving/src/workers/thread_loop.rs",
    "roving/src/workers/frames",
    "roving/src/task",
    "roving-flow/src/channel",
    "roving-flow/src/deadlock",
];
/// Files there that no program for tests runs as it is used.
const LEFT_OUT: [&str; 3] = ["tests.rs", "compile_fail.rs", "loom_pool.rs"];
/// The tests that are to kill them.
const KILLERS: [(&str, &[&str]); 2] = [
    (
        "roving",
        &[
            "lib",
            "adopted",
            "arena",
            "arena_priority",
            "arena_resize",
            "balance",
            "blocking",
            "builder",
            "cancel",
            "context",
            "contract",
            "contract_waiting",
            "deterministic",
            "deterministic_context",
            "deterministic_replay",
            "full_stack",
            "global_shutdown",
            "handles",
            "limits_process",
            "loops_end",
            "loops_meet",
            "misuse",
            "no_allocation",
            "own_threads",
            "panics",
            "panics_in_drop",
            "pool",
            "profile",
            "reduce",
            "regressions",
            "regressions_pools",
            "regressions_users",
            "resize_waits",
            "schedules",
            "scope_in_tasks",
            "shutdown",
            "task_contract",
            "task_halves",
            "task_memory",
            "task_placed",
            "task_polls",
            "task_tokens",
            "task_trees",
            "task_wakers",
            "task_woken",
            "trace",
        ],
    ),
    (
        "roving-flow",
        &[
            "lib",
            "smoke",
            "deadlock",
            "ports",
            "ends",
            "raw",
            "cancel",
            "determinism",
            "drawn_schedules",
            "live",
            "memory",
            "panics_in_drop",
            "placement",
            "standstill",
            "steps",
            "trace",
        ],
    ),
];
/// The loom tests that are asked when all others have passed: the words in their names, by the
/// folder or file in which the mutant is.
const EXPLORERS: [(&str, &[&str]); 9] = [
    ("roving/src/stack", &["stack::", "wait::"]),
    ("roving/src/workers/steal", &["stack::", "wait::"]),
    (
        "roving/src/workers/sleep",
        &["sleep::", "wait::", "arena::"],
    ),
    ("roving/src/workers/wait", &["wait::", "stack::", "sleep::"]),
    (
        "roving/src/workers/worker",
        &["sleep::", "wait::", "arena::"],
    ),
    ("roving/src/workers/frames", &["frames::", "detached::"]),
    ("roving/src/task", &["frames::", "detached::"]),
    ("roving-flow/src/channel", &["loom_"]),
    ("roving-flow/src/deadlock", &["loom_"]),
];
/// Mutants that nobody can tell from the code, each with its reason.
const LIST: &str = "crates/roving/mutants-code.txt";
/// The least share of killed mutants, of those that are no equals, in percent.
const KILLED_LEAST: f64 = 95.0;

/// One changed line.
struct Mutant {
    /// Below the root.
    file: String,
    site: Site,
}

impl Mutant {
    /// Its name in the list: the file and the change, for lines move.
    fn name(&self) -> String {
        format!(
            "{}: {}",
            self.file.trim_start_matches("crates/"),
            self.site.what
        )
    }
}

/// How many are drawn, and how long they may take.
#[derive(Clone, clap::Args)]
pub(crate) struct Plan {
    /// How many are drawn
    #[arg(long, default_value_t = PLAN.sample)]
    sample: usize,
    /// Which ones are drawn follows from it
    #[arg(long, default_value_t = PLAN.seed)]
    seed: u64,
    /// No further one is begun then
    #[arg(long, default_value_t = PLAN.minutes)]
    minutes: f64,
    /// Test programs that take more seconds than that are left out
    #[arg(long, default_value_t = PLAN.slowest_s)]
    slowest_s: f64,
    /// Only those with this text in their names
    #[arg(long)]
    only: Option<String>,
    /// The outcome of each goes into this file
    #[arg(long)]
    csv: Option<PathBuf>,
}

pub(crate) const PLAN: Plan = Plan {
    sample: 400,
    seed: 1,
    minutes: 180.0,
    slowest_s: 120.0,
    only: None,
    csv: None,
};

pub(crate) fn verb(workspace: &Workspace, report: &mut Report, plan: Plan) {
    report.step("code-mutants", |step| check(workspace, step, plan));
}

pub(crate) fn check(workspace: &Workspace, step: &mut Step, plan: Plan) -> Result<()> {
    let folder = workspace.target.join("code-mutants");
    let tree = folder.join("tree");
    let (sources, mut mutants) = find(&workspace.root)?;
    build::copy(workspace, &tree, &sources)?;
    println!("{} places to change", mutants.len());
    let programs = build::build(workspace, &tree, &sources, &mut mutants)?;
    println!("{} of them compile", mutants.len());
    let limit = Duration::from_secs_f64(plan.slowest_s);
    let killers = killers::baseline(programs, limit, &folder)?;
    let chosen = killers::draw(&mutants, &plan);
    let fates = killers::run_all(&killers, &mutants, &chosen, plan.minutes);
    let text = fs::read_to_string(workspace.root.join(LIST))
        .map_err(|error| format!("{LIST}: {error}"))?;
    let equals = equals(&text);
    if let Some(path) = &plan.csv {
        fs::write(path, csv(&mutants, &fates, &equals))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    judge(step, &mutants, &fates, &equals);
    Ok(())
}

/// The lines of each file, by its path below the root.
type Sources = BTreeMap<String, Vec<String>>;

fn find(root: &Path) -> Result<(Sources, Vec<Mutant>)> {
    let (mut sources, mut found) = (Sources::new(), Vec::new());
    for package in KILLERS.map(|(package, _)| package) {
        let short = format!("crates/{package}/src/lib.rs");
        sources.insert(short.clone(), Source::read(&root.join(&short))?.raw);
    }
    for module in MODULES {
        let path = root.join("crates").join(module);
        let files = match path.is_dir() {
            true => reading::files(&path, &["rs"]),
            false => vec![path],
        };
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if LEFT_OUT.contains(&&*name) || name.ends_with("_tests.rs") {
                continue;
            }
            let short = file
                .strip_prefix(root)
                .unwrap_or(&file)
                .display()
                .to_string();
            let source = Source::read(&file)?;
            let sites = rules::sites(&source);
            sources.insert(short.clone(), source.raw);
            let mutant = |site| Mutant {
                file: short.clone(),
                site,
            };
            found.extend(sites.into_iter().map(mutant));
        }
    }
    Ok((sources, found))
}

/// The names of the equals.
fn equals(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| !line.starts_with([' ', '#']));
    lines
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect()
}

/// One line for each mutant that was tried.
fn csv(mutants: &[Mutant], fates: &BTreeMap<usize, Fate>, equals: &BTreeSet<&str>) -> String {
    let mut text = "mutant,line,outcome,by\n".to_owned();
    for (number, fate) in fates {
        let name = mutants[*number].name();
        let (outcome, by) = match fate {
            Fate::Killed(by) => ("killed", by.as_str()),
            _ if equals.contains(name.as_str()) => ("equal", ""),
            Fate::Survived => ("survived", ""),
            Fate::Unreached => ("unreached", ""),
        };
        let (name, line) = (name.replace('"', "\"\""), mutants[*number].site.line + 1);
        let _ = writeln!(text, "\"{name}\",{line},{outcome},{by}");
    }
    text
}

fn judge(
    step: &mut Step,
    mutants: &[Mutant],
    fates: &BTreeMap<usize, Fate>,
    equals: &BTreeSet<&str>,
) {
    let is_killed = |fate: &&Fate| matches!(fate, Fate::Killed(_));
    let killed = fates.values().filter(is_killed).count();
    let survivors = fates.iter().filter(|(_, fate)| !is_killed(fate));
    let names: Vec<String> = survivors
        .map(|(number, _)| mutants[*number].name())
        .collect();
    let (known, new): (Vec<_>, Vec<_>) = names
        .iter()
        .partition(|name| equals.contains(name.as_str()));
    let all = (killed + new.len()).max(1);
    let share = 100.0 * killed as f64 / all as f64;
    println!(
        "{killed} killed, {} survived, {} equal: {share:.1} % of {all}",
        new.len(),
        known.len()
    );
    new.iter().for_each(|name| println!("survivor: {name}"));
    step.counts.passed += killed as u64;
    if share < KILLED_LEAST {
        step.counts.failed += new.len() as u64;
        step.fail(format!(
            "{share:.1} % killed, at least {KILLED_LEAST} % must be"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equals_are_named_and_reasoned() {
        let text = "# words\nroving/src/a.rs: not: x\n    reason\n\nroving/src/b.rs: without: y;\n    why\n";
        let found: Vec<&str> = equals(text).into_iter().collect();
        assert_eq!(
            found,
            ["roving/src/a.rs: not: x", "roving/src/b.rs: without: y;"]
        );
    }

    #[test]
    fn the_modules_and_tests_are_there() {
        let workspace = Workspace::find().unwrap();
        assert!(find(&workspace.root).unwrap().1.len() > 500);
        for (package, targets) in KILLERS {
            let tests = workspace.root.join("crates").join(package).join("tests");
            for target in targets.iter().filter(|name| **name != "lib") {
                assert!(
                    tests.join(format!("{target}.rs")).exists(),
                    "{package} {target}"
                );
            }
        }
    }

    #[test]
    fn each_equal_is_a_place_that_there_is() {
        let workspace = Workspace::find().unwrap();
        let (_, mutants) = find(&workspace.root).unwrap();
        let names: BTreeSet<String> = mutants.iter().map(Mutant::name).collect();
        let text = fs::read_to_string(workspace.root.join(LIST)).unwrap();
        let gone: Vec<&str> = equals(&text)
            .into_iter()
            .filter(|name| !names.contains(*name))
            .collect();
        assert!(gone.is_empty(), "{gone:#?}");
    }
}
