//! The modules whose lines are changed, the tests that are to notice, and which changes are drawn.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::rules::{self, Site};
use crate::Result;
use crate::reading::{self, RustFile};

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
pub(super) const KILLERS: [(&str, &[&str]); 2] = [
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
pub(super) const EXPLORERS: [(&str, &[&str]); 9] = [
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

/// One changed line.
pub(super) struct Mutant {
    /// Below the root.
    pub(super) file: String,
    pub(super) site: Site,
}

impl Mutant {
    /// Its name in the list: the file and the change, for lines move.
    pub(super) fn name(&self) -> String {
        format!(
            "{}: {}",
            self.file.trim_start_matches("crates/"),
            self.site.what
        )
    }
}

/// How many are drawn, and how long they may take.
#[derive(Clone, clap::Args)]
pub(crate) struct SamplePlan {
    /// How many are drawn
    #[arg(long, default_value_t = PLAN.sample)]
    pub(super) sample: usize,
    /// Which ones are drawn follows from it
    #[arg(long, default_value_t = PLAN.seed)]
    pub(super) seed: u64,
    /// No further one is begun then
    #[arg(long, default_value_t = PLAN.minutes)]
    pub(super) minutes: f64,
    /// Test programs that take more seconds than that are left out
    #[arg(long, default_value_t = PLAN.slowest_s)]
    pub(super) slowest_s: f64,
    /// Only those with this text in their names
    #[arg(long)]
    pub(super) only: Option<String>,
    /// The outcome of each goes into this file
    #[arg(long)]
    pub(super) csv: Option<PathBuf>,
}

pub(crate) const PLAN: SamplePlan = SamplePlan {
    sample: 400,
    seed: 1,
    minutes: 180.0,
    slowest_s: 120.0,
    only: None,
    csv: None,
};

/// The lines of each file, by its path below the root.
pub(super) type Sources = BTreeMap<String, Vec<String>>;

pub(super) fn find(root: &Path) -> Result<(Sources, Vec<Mutant>)> {
    let (mut sources, mut found) = (Sources::new(), Vec::new());
    for package in KILLERS.map(|(package, _)| package) {
        let short = format!("crates/{package}/src/lib.rs");
        sources.insert(short.clone(), RustFile::read(&root.join(&short))?.raw);
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
            let source = RustFile::read(&file)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cargo::workspace::Workspace;

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
}
