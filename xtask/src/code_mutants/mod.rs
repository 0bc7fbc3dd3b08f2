//! Mutants of code: one changed line at a time, in the modules on which all else stands, must make
//! a test fail.
//!
//! One build serves all: a copy of the workspace has both behaviours on each line, and an
//! environment variable chooses which line is changed. What does not compile is left out. A mutant
//! that no test kills is a missing test, or stands with its reason in `mutants-code.txt`.

mod rules;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::report::{Report, Step};
use crate::tidy::{self, Source};
use crate::watchdog::{self, Limits};
use crate::workspace::Workspace;
use crate::{Result, tool};
use rules::Site;

/// The mutated files and folders, below `crates`.
const MODULES: [&str; 10] = [
    "roving/src/stack",
    "roving/src/workers/steal",
    "roving/src/workers/sleep",
    "roving/src/workers/wait",
    "roving/src/workers/worker.rs",
    "roving/src/workers/worker",
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
            "contract_waiting",
            "task_contract",
            "pool",
            "blocking",
            "scope_in_tasks",
            "task_woken",
            "task_placed",
            "task_tokens",
            "task_halves",
            "panics",
            "own_threads",
            "adopted",
            "balance",
            "arena",
            "cancel",
            "resize_waits",
            "deterministic",
        ],
    ),
    (
        "roving-flow",
        &["lib", "smoke", "deadlock", "ports", "ends", "bridge"],
    ),
];
/// Mutants that nobody can tell from the code, each with its reason.
const LIST: &str = "crates/roving/mutants-code.txt";
const VARIABLE: &str = "ROVING_CODE_MUTANT";
/// The least share of killed mutants, of those that are no equals, in percent.
const KILLED_LEAST: f64 = 95.0;
/// A mutant by which a program takes longer than that, and than six times as long as without, is
/// killed: it hangs.
const HANGS_AFTER: Duration = Duration::from_secs(30);
/// How often what does not compile is left out.
const BUILDS_MAX: usize = 12;
/// Mutants at a time: test programs wait for most of their time.
const LANES: usize = 6;

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

/// How a mutant ended: by which program, if by any.
type Fate = Option<String>;

/// How many are drawn, and how long they may take.
#[derive(Clone, Copy, clap::Args)]
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
}

pub(crate) const PLAN: Plan = Plan {
    sample: 400,
    seed: 1,
    minutes: 180.0,
    slowest_s: 120.0,
};

pub(crate) fn verb(workspace: &Workspace, report: &mut Report, plan: Plan) {
    report.step("code-mutants", |step| check(workspace, step, plan));
}

pub(crate) fn check(workspace: &Workspace, step: &mut Step, plan: Plan) -> Result<()> {
    let tree = workspace.target.join("code-mutants/tree");
    copy(workspace, &tree)?;
    let (sources, mut mutants) = find(&workspace.root)?;
    println!("{} places to change", mutants.len());
    let programs = build(workspace, &tree, &sources, &mut mutants)?;
    println!("{} of them compile", mutants.len());
    let killers = baseline(programs, Duration::from_secs_f64(plan.slowest_s))?;
    let chosen = draw(&mutants, plan);
    let fates = run_all(&killers, &mutants, &chosen, plan);
    judge(workspace, step, &mutants, &fates)
}

/// Copies what git knows.
fn copy(workspace: &Workspace, tree: &Path) -> Result<()> {
    let mut list = Command::new("git");
    list.args(["ls-files"]).current_dir(&workspace.root);
    for name in tool::output(&mut list)?.lines() {
        let (from, to) = (workspace.root.join(name), tree.join(name));
        let Ok(text) = fs::read(&from) else {
            continue;
        };
        // What is the same keeps its date, so that it is not built again.
        if fs::read(&to).is_ok_and(|there| there == text) {
            continue;
        }
        let folder = to.parent().unwrap_or(tree);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&to, text));
        written.map_err(|error| format!("{}: {error}", to.display()))?;
    }
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
            true => tidy::files(&path, &["rs"]),
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

/// Writes the changed files, builds the tests, and leaves out what does not compile.
fn build(
    workspace: &Workspace,
    tree: &Path,
    sources: &Sources,
    mutants: &mut Vec<Mutant>,
) -> Result<Vec<(String, PathBuf)>> {
    for _ in 0..BUILDS_MAX {
        write(sources, tree, mutants)?;
        let mut programs = Vec::new();
        let mut wrong = BTreeSet::new();
        for (package, targets) in KILLERS {
            let seen = tool::quiet(&mut cargo(workspace, tree, package, targets))?;
            for line in &seen.lines {
                let Ok(value) = serde_json::from_str::<Value>(line) else {
                    continue;
                };
                if let Some(path) = value["executable"].as_str() {
                    programs.push((package.to_owned(), PathBuf::from(path)));
                }
                wrong.extend(errors(&value["message"]));
            }
            if !seen.ok {
                break;
            }
        }
        let before = mutants.len();
        leave_out(mutants, &wrong);
        if wrong.is_empty() {
            return Ok(programs);
        }
        println!("{} do not compile", before - mutants.len());
        if before == mutants.len() {
            return Err(format!("the copy does not compile: {:?}", wrong.first()));
        }
    }
    Err("the copy does not compile, whatever is left out".into())
}

/// Leaves out the mutants on these lines; where there is none, the nearest one above, which may
/// have changed what the compiler knows further down.
fn leave_out(mutants: &mut Vec<Mutant>, wrong: &BTreeSet<(String, u64)>) {
    let line = |mutant: &Mutant| mutant.site.line as u64 + 1;
    let is_on = |mutant: &Mutant| wrong.contains(&(mutant.file.clone(), line(mutant)));
    let mut out: BTreeSet<(String, u64)> = wrong.clone();
    if !mutants.iter().any(is_on) {
        for (file, at) in wrong {
            let above = mutants
                .iter()
                .filter(|mutant| mutant.file == *file && line(mutant) < *at);
            out.extend(above.map(line).max().map(|line| (file.clone(), line)));
        }
    }
    mutants.retain(|mutant| !out.contains(&(mutant.file.clone(), line(mutant))));
}

fn cargo(workspace: &Workspace, tree: &Path, package: &str, targets: &[&str]) -> Command {
    let mut command = workspace.cargo(&["test", "--no-run", "-p", package]);
    for target in targets {
        match *target {
            "lib" => command.arg("--lib"),
            name => command.args(["--test", name]),
        };
    }
    command
        .arg("--message-format=json")
        .current_dir(tree)
        .env(
            "CARGO_TARGET_DIR",
            workspace.target.join("code-mutants/build"),
        )
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_PROFILE_TEST_DEBUG", "0")
        .env("RUSTFLAGS", "--cap-lints allow");
    command
}

/// The lines that an error of the compiler is about.
fn errors(message: &Value) -> Vec<(String, u64)> {
    if message["level"] != "error" {
        return Vec::new();
    }
    let spans = message["spans"].as_array().into_iter().flatten();
    let places = spans.map(|span| {
        let lines = span["line_start"].as_u64()..=span["line_end"].as_u64();
        (
            span["file_name"].as_str().unwrap_or_default().to_owned(),
            lines,
        )
    });
    places
        .flat_map(|(file, lines)| {
            let (first, last) = (lines.start().unwrap_or(0), lines.end().unwrap_or(0));
            (first..=last.min(first + 12)).map(move |line| (file.clone(), line))
        })
        .collect()
}

fn write(sources: &Sources, tree: &Path, mutants: &[Mutant]) -> Result<()> {
    let mut texts = sources.clone();
    for (number, mutant) in mutants.iter().enumerate() {
        if let Some(lines) = texts.get_mut(&mutant.file) {
            lines[mutant.site.line] = mutant.site.line_with(number);
        }
    }
    for (file, lines) in texts {
        let end = if file.ends_with("lib.rs") { SWITCH } else { "" };
        let text = lines.join("\n") + "\n" + end;
        let path = tree.join(&file);
        // What is the same keeps its date, so that it is not built again.
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            continue;
        }
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}

/// Added to each crate: which line is changed.
const SWITCH: &str = r#"
mod code_mutant {
    pub(crate) fn on(number: usize) -> bool {
        static CHOSEN: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
        let read = || std::env::var("ROVING_CODE_MUTANT").ok()?.parse().ok();
        *CHOSEN.get_or_init(|| read().unwrap_or(usize::MAX)) == number
    }
}
"#;

/// A test program, and how long it runs without a mutant.
struct Killer {
    package: String,
    path: PathBuf,
    time: Duration,
}

/// Runs each program without a mutant: it must pass, and within that time. The fastest come first.
fn baseline(programs: Vec<(String, PathBuf)>, limit: Duration) -> Result<Vec<Killer>> {
    let mut killers = Vec::new();
    for (package, path) in programs {
        let start = Instant::now();
        let passed = passes(&path, None, limit)?;
        let time = start.elapsed();
        println!("{:.1} s: {}", time.as_secs_f64(), path.display());
        match passed {
            true => killers.push(Killer {
                package,
                path,
                time,
            }),
            false if time >= limit => {}
            false => return Err(format!("{} does not pass as it is", path.display())),
        }
    }
    killers.sort_by_key(|killer| killer.time);
    Ok(killers)
}

fn passes(program: &Path, number: Option<usize>, limit: Duration) -> Result<bool> {
    let limits = Limits {
        silent: limit,
        whole: limit,
        group: true,
    };
    let mut command = Command::new(program);
    if let Some(number) = number {
        command.env(VARIABLE, number.to_string());
    }
    let seen = watchdog::run(&mut command, limits, false)?;
    Ok(seen.end == watchdog::End::Success)
}

/// As many as are asked for, by the seed.
fn draw(mutants: &[Mutant], plan: Plan) -> Vec<usize> {
    let mixed = |number: usize| {
        let mut word = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ plan.seed;
        word = (word ^ (word >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word ^ (word >> 29)
    };
    let mut all: Vec<usize> = (0..mutants.len()).collect();
    all.sort_by_key(|number| mixed(*number));
    all.truncate(plan.sample);
    all
}

fn run_all(
    killers: &[Killer],
    mutants: &[Mutant],
    chosen: &[usize],
    plan: Plan,
) -> BTreeMap<usize, Fate> {
    let over = Instant::now() + Duration::from_secs_f64(60.0 * plan.minutes);
    let queue = Mutex::new(VecDeque::from(chosen.to_vec()));
    let fates = Mutex::new(BTreeMap::new());
    let next = || {
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        (Instant::now() < over).then(|| queue.pop_front()).flatten()
    };
    std::thread::scope(|lanes| {
        for _ in 0..LANES {
            lanes.spawn(|| {
                while let Some(number) = next() {
                    let fate = fate_of(killers, &mutants[number], number);
                    let name = mutants[number].name();
                    let line = mutants[number].site.line + 1;
                    match &fate {
                        Some(killer) => println!("killed    {name} ({line}), by {killer}"),
                        None => println!("SURVIVED  {name} ({line})"),
                    }
                    let mut fates = fates.lock().unwrap_or_else(PoisonError::into_inner);
                    fates.insert(number, fate);
                }
            });
        }
    });
    fates.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn fate_of(killers: &[Killer], mutant: &Mutant, number: usize) -> Fate {
    let is_flow = mutant.file.starts_with("crates/roving-flow");
    for killer in killers {
        if is_flow != (killer.package == "roving-flow") {
            continue;
        }
        let limit = HANGS_AFTER.max(6 * killer.time);
        if !matches!(passes(&killer.path, Some(number), limit), Ok(true)) {
            let name = killer
                .path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy();
            let name = name.rsplit_once('-').map_or(&*name, |(name, _)| name);
            return Some(name.to_owned());
        }
    }
    None
}

/// The names of the equals.
fn equals(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| !line.starts_with([' ', '#']));
    lines
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect()
}

fn judge(
    workspace: &Workspace,
    step: &mut Step,
    mutants: &[Mutant],
    fates: &BTreeMap<usize, Fate>,
) -> Result<()> {
    let text = fs::read_to_string(workspace.root.join(LIST))
        .map_err(|error| format!("{LIST}: {error}"))?;
    let equals = equals(&text);
    let killed = fates.values().filter(|fate| fate.is_some()).count();
    let survivors = fates.iter().filter(|(_, fate)| fate.is_none());
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
    Ok(())
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
        for name in equals(&text) {
            assert!(names.contains(name), "{name}");
        }
    }
}
