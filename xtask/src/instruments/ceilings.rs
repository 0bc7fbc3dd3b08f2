//! Instructions of the fast paths, each with a ceiling that it must not pass. Times are too noisy
//! for a check, but instructions are the same in each run. `crates/roving-ceilings` does what is
//! counted, callgrind counts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::report::{CheckReport, CheckStep};

/// Below the root.
const TABLE: &str = "crates/roving-ceilings/ceilings.csv";
const HEAD: &str = "path,profile,instructions,compiler";
const PROGRAM: &str = "roving-ceilings";
/// Of cargo: without and with optimisation across crates.
const PROFILES: [&str; 2] = ["release", "measure"];
/// How far above its ceiling a count may lie, with the compiler that the ceiling is from. What
/// differs is what the C library chooses by the processor.
const SLACK: f64 = 0.01;
/// How far, with another compiler: it is not the source that has changed.
const SLACK_OF_COMPILERS: f64 = 0.15;
/// The function after which callgrind writes its counts down.
const MARK: &str = "*roving_ceilings*mark*";
/// Marks of a path: behind the warm-up, and behind each of the two runs.
const MARKS: usize = 3;

/// A choice of what becomes of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Write {
    /// Nothing.
    No,
    /// Ceilings that are too high become lower, and new paths get one.
    Lower,
    /// All become what was counted.
    All,
}

/// A path under a profile.
type Place = (String, String);

/// Instructions of an operation, and the compiler that they are from.
#[derive(Clone, Debug, PartialEq)]
struct Ceiling {
    instructions: f64,
    compiler: String,
}

/// The list, and what was counted.
type Table = BTreeMap<Place, Ceiling>;

/// The verb, with its two flags.
pub(crate) fn verb(workspace: &Workspace, report: &mut CheckReport, lower: bool, force: bool) {
    let write = match (lower, force) {
        (_, true) => Write::All,
        (true, false) => Write::Lower,
        (false, false) => Write::No,
    };
    report.step("ceilings", |step| check(workspace, step, write));
}

pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep, write: Write) -> Result<()> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        step.skip("the ceilings are those of x86-64 under Linux");
        return Ok(());
    }
    if !tool::works("valgrind", &["--version"]) {
        step.skip("valgrind is not installed: apt-get install valgrind");
        return Ok(());
    }
    let compiler = tool::output(tool::rustc().arg("--version"))?;
    let compiler = compiler.split_whitespace().nth(1).unwrap_or_default();
    let mut counted = Table::new();
    for profile in PROFILES {
        for (path, instructions) in count(workspace, profile)? {
            let compiler = compiler.to_owned();
            let ceiling = Ceiling {
                instructions,
                compiler,
            };
            counted.insert((path, profile.to_owned()), ceiling);
        }
    }
    let file = workspace.root.join(TABLE);
    let before = parse(&fs::read_to_string(&file).unwrap_or_default())?;
    for ((path, profile), one) in &counted {
        println!("{path:<20} {profile:<10} {:>10.2}", one.instructions);
    }
    if write != Write::No {
        let text = text(&written(&before, &counted, write));
        return fs::write(&file, text).map_err(|error| format!("{TABLE}: {error}"));
    }
    judge(&before, &counted, step);
    Ok(())
}

/// Instructions of an operation of each path.
fn count(workspace: &Workspace, profile: &str) -> Result<Vec<(String, f64)>> {
    // Of its own, because other checks build at the same time.
    let target = workspace.target.join("ceilings");
    let words = ["build", "-p", PROGRAM, "--profile", profile];
    let mut build = workspace.cargo(&words);
    // Flags and increments make another program of the same source.
    build
        .env_remove("RUSTFLAGS")
        .env("CARGO_INCREMENTAL", "0")
        // Names of lines change no instruction, and take time.
        .env("CARGO_PROFILE_MEASURE_DEBUG", "false")
        .env("CARGO_TARGET_DIR", &target);
    if !tool::watch(&mut build)?.ok {
        return Err(format!("{PROGRAM} does not build with profile {profile}"));
    }
    let out = target.join("counts").join(profile);
    // What is left from another run is not what this one counts.
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let mut run = Command::new("valgrind");
    run.arg("--tool=callgrind")
        .arg(format!("--dump-after={MARK}"))
        .arg(format!(
            "--callgrind-out-file={}",
            out.join("out").display()
        ))
        .arg(target.join(profile).join(PROGRAM));
    let seen = tool::quiet(&mut run)?;
    if !seen.ok {
        let lines = seen.lines.join("\n");
        return Err(format!("{PROGRAM} failed under callgrind:\n{lines}"));
    }
    // Those that begin with `==` are valgrind's.
    let own = seen.lines.iter().filter(|line| !line.starts_with("=="));
    let ran = own.filter_map(|line| line.split_once(','));
    let ran = ran.map(|(path, operations)| (path.to_owned(), operations));
    ran.enumerate()
        .map(|(place, (path, operations))| {
            let operations: f64 = operations
                .parse()
                .map_err(|_| format!("`{operations}` is no number of operations"))?;
            let [short, long] =
                [2, 3].map(|run| total(&out.join(format!("out.{}", MARKS * place + run))));
            Ok((path, (long? - short?) / operations))
        })
        .collect()
}

/// The instructions that a file of callgrind's says were counted.
fn total(file: &Path) -> Result<f64> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    total_in(&text).ok_or_else(|| format!("{} has no total", file.display()))
}

fn total_in(text: &str) -> Option<f64> {
    let line = text.lines().find_map(|line| line.strip_prefix("totals:"))?;
    line.trim().parse().ok()
}

fn parse(text: &str) -> Result<Table> {
    let rows = text
        .lines()
        .filter(|line| !line.is_empty() && *line != HEAD);
    rows.map(|line| {
        let fault = || format!("{TABLE}: `{line}` is not `{HEAD}`");
        let fields: Vec<&str> = line.split(',').collect();
        let [path, profile, instructions, compiler] = fields[..] else {
            return Err(fault());
        };
        let ceiling = Ceiling {
            instructions: instructions.parse().map_err(|_| fault())?,
            compiler: compiler.to_owned(),
        };
        Ok(((path.to_owned(), profile.to_owned()), ceiling))
    })
    .collect()
}

fn text(table: &Table) -> String {
    let mut text = format!("{HEAD}\n");
    for ((path, profile), one) in table {
        let (instructions, compiler) = (one.instructions, &one.compiler);
        let _ = writeln!(text, "{path},{profile},{instructions:.2},{compiler}");
    }
    text
}

/// The list after a run.
fn written(before: &Table, counted: &Table, write: Write) -> Table {
    let mut after = counted.clone();
    for (place, one) in &mut after {
        if let Some(ceiling) = before.get(place)
            && write == Write::Lower
            && ceiling.instructions <= one.instructions
        {
            *one = ceiling.clone();
        }
    }
    after
}

/// Each path is a test: it passes below its ceiling.
fn judge(ceilings: &Table, counted: &Table, step: &mut CheckStep) {
    for (place, one) in counted {
        let (path, profile) = place;
        let found = one.instructions;
        let Some(ceiling) = ceilings.get(place) else {
            fail(
                step,
                format!(
                    "{path} has no ceiling ({profile}): `cargo xtask ceilings --lower` gives it one"
                ),
            );
            continue;
        };
        let (limit, same) = (ceiling.instructions, ceiling.compiler == one.compiler);
        let slack = if same { SLACK } else { SLACK_OF_COMPILERS };
        if found > limit * (1.0 + slack) {
            let by = &ceiling.compiler;
            fail(
                step,
                format!(
                    "{path} takes {found:.2} instructions ({profile}); its ceiling is {limit:.2}, with rustc {by}"
                ),
            );
            continue;
        }
        step.counts.passed += 1;
        if same && found < limit * (1.0 - SLACK) {
            println!(
                "{path} takes {found:.2} instructions ({profile}), {limit:.2} before: `cargo xtask ceilings --lower`"
            );
        }
    }
    for (path, profile) in ceilings
        .keys()
        .filter(|place| !counted.contains_key(*place))
    {
        fail(
            step,
            format!("{path} ({profile}) has a ceiling and was not counted"),
        );
    }
}

fn fail(step: &mut CheckStep, reason: String) {
    step.counts.failed += 1;
    step.fail(reason);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[(&str, f64, &str)]) -> Table {
        let rows = rows.iter().map(|(path, instructions, compiler)| {
            let ceiling = Ceiling {
                instructions: *instructions,
                compiler: (*compiler).to_owned(),
            };
            (((*path).to_owned(), "release".to_owned()), ceiling)
        });
        rows.collect()
    }

    fn judged(ceilings: &Table, counted: &Table) -> (u64, u64, String) {
        let mut step = CheckStep::default();
        judge(ceilings, counted, &mut step);
        let counts = step.counts;
        (counts.passed, counts.failed, step.complaints.join("; "))
    }

    #[test]
    fn a_count_passes_up_to_its_ceiling_and_the_slack_and_not_beyond() {
        let ceilings = table(&[("join", 20.0, "1.95.0")]);
        for (found, passed) in [(10.0, 1), (20.0, 1), (20.19, 1), (20.21, 0), (40.0, 0)] {
            let (good, bad, said) = judged(&ceilings, &table(&[("join", found, "1.95.0")]));
            assert_eq!((good, bad), (passed, 1 - passed), "{found}: {said}");
            assert_eq!(said.contains("its ceiling is 20.00"), passed == 0, "{said}");
        }
    }

    #[test]
    fn another_compiler_has_more_slack_and_no_more_than_that() {
        let ceilings = table(&[("join", 20.0, "1.95.0")]);
        for (found, passed) in [(22.9, 1), (23.1, 0)] {
            let (good, ..) = judged(&ceilings, &table(&[("join", found, "1.96.0")]));
            assert_eq!(good, passed, "{found}");
        }
    }

    #[test]
    fn paths_and_ceilings_belong_together() {
        let one = table(&[("join", 20.0, "1.95.0")]);
        let none = Table::new();
        let (_, bad, said) = judged(&none, &one);
        assert!(bad == 1 && said.contains("join has no ceiling"), "{said}");
        let (_, bad, said) = judged(&one, &none);
        assert!(bad == 1 && said.contains("was not counted"), "{said}");
    }

    #[test]
    fn the_list_is_lowered_and_raised_only_by_force() {
        let before = table(&[
            ("a", 20.0, "1.95.0"),
            ("b", 20.0, "1.95.0"),
            ("gone", 1.0, "1.95.0"),
        ]);
        let counted = table(&[
            ("a", 19.0, "1.96.0"),
            ("b", 21.0, "1.96.0"),
            ("new", 5.0, "1.96.0"),
        ]);
        let lowered = table(&[
            ("a", 19.0, "1.96.0"),
            ("b", 20.0, "1.95.0"),
            ("new", 5.0, "1.96.0"),
        ]);
        assert_eq!(written(&before, &counted, Write::Lower), lowered);
        assert_eq!(written(&before, &counted, Write::All), counted);
    }

    #[test]
    fn the_list_is_read_as_it_is_written() {
        let list = table(&[("join", 20.25, "1.95.0"), ("spawn", 31.0, "1.95.0")]);
        assert_eq!(parse(&text(&list)), Ok(list));
        for wrong in ["join,release,20", "join,release,many,1.95.0"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn totals_are_read() {
        let file = "part: 2\nevents: Ir\n\ntotals: 123456\nfn=(1) main\n";
        assert_eq!(total_in(file), Some(123_456.0));
        assert_eq!(total_in("events: Ir\n"), None);
    }

    #[test]
    fn the_list_of_this_repository_has_both_profiles_of_each_path() {
        let workspace = Workspace::find().unwrap();
        let list = parse(&fs::read_to_string(workspace.root.join(TABLE)).unwrap()).unwrap();
        let paths: std::collections::BTreeSet<_> = list.keys().map(|(path, _)| path).collect();
        assert!(paths.len() >= 12, "{paths:?}");
        for path in paths {
            for profile in PROFILES {
                let place = (path.clone(), profile.to_owned());
                assert!(list.contains_key(&place), "{place:?}");
            }
        }
    }
}
