//! The row about the first minute with Roving: how long it takes until there is an answer, what a
//! program with one `join` costs to build and to keep. Processor seconds, since others on the
//! machine change those least.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::Scale;
use super::record::{Bound::AtMost, RowRecord};
use crate::io::input::CommandFailure;

/// The repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// The programs that are built in turn.
const PROGRAMS: [&str; 4] = ["empty", "rayon", "roving", BARE];
/// With `roving` as it is without its default features.
const BARE: &str = "roving without diagnostics";
/// Ticks of the processor times in `/proc`, per second.
const TICKS: f64 = 100.0;

/// Measures all of it; builds are from nothing, with what is already downloaded. The tests take the
/// most of half an hour.
pub(super) fn measure(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    if spent().is_none() {
        record
            .absent
            .push("processor times: this system has no /proc/self/stat".into());
        return Ok(record);
    }
    let folder = std::env::temp_dir().join(format!("roving-first-minute-{}", std::process::id()));
    let measured = programs(&folder, scale, &mut record).and_then(|()| match scale.quick {
        true => Ok(()),
        false => commands(&folder, &mut record),
    });
    let _ = fs::remove_dir_all(&folder);
    measured.map(|()| record)
}

/// A program with one join, on us and on rayon, and one with nothing.
fn programs(folder: &Path, scale: &Scale, record: &mut RowRecord) -> Result<(), CommandFailure> {
    let mut times = [const { Vec::new() }; PROGRAMS.len()];
    let mut sizes = [0.0; PROGRAMS.len()];
    for _ in 0..scale.rounds(3) {
        for (place, name) in PROGRAMS.into_iter().enumerate() {
            let program = write(folder, name)?;
            let built = cargo(&["build", "--release", "--offline", "-q"], &program)?;
            times[place].push(built.spent);
            let binary = program.join("target/release").join(library(name));
            sizes[place] = fs::metadata(&binary).map_err(failed)?.len() as f64 / 1000.0;
        }
    }
    let times = times.map(median);
    for (name, seconds) in PROGRAMS.into_iter().zip(times) {
        record.single(
            &format!("{name}: clean release build"),
            "processor s",
            seconds,
        );
    }
    let what = "a program with one join: processor time of a clean build, roving / rayon";
    let [_, rayon, roving, bare] = times;
    record.claim(what, "×", roving / rayon, AtMost(1.3), AtMost(0.8));
    let what = "without diagnostics: processor time of a clean build, roving / rayon";
    record.single(what, "×", bare / rayon);
    let [empty, rayon, roving, bare] = sizes;
    for (name, size) in [("rayon", rayon), (BARE, bare)] {
        let what = format!("{name}: stripped size beyond an empty program");
        record.single(&what, "KB", size - empty);
    }
    let what = "a program with one join: stripped size beyond an empty program";
    record.claim(what, "KB", roving - empty, AtMost(180.0), AtMost(100.0));
    for (name, most) in [("rayon", None), ("roving", Some((6.0, 3.0)))] {
        let lock = fs::read_to_string(folder.join(name).join("Cargo.lock")).map_err(failed)?;
        let packages = lock.matches("[[package]]").count() as f64;
        let what = format!("packages in a lock file with {name} alone");
        match most {
            None => record.single(&what, "packages", packages),
            Some((must, stretch)) => {
                record.claim(&what, "packages", packages, AtMost(must), AtMost(stretch));
            }
        }
    }
    Ok(())
}

/// The two commands of the first page, in a clone in which nothing has been built.
fn commands(folder: &Path, record: &mut RowRecord) -> Result<(), CommandFailure> {
    let clone = folder.join("clone");
    let root = fs::canonicalize(ROOT).map_err(failed)?;
    let from = format!("file://{}", root.display());
    let mut git = Command::new("git");
    let cloned = git.args(["clone", "--quiet", &from]).arg(&clone).status();
    if !cloned.map_err(failed)?.success() {
        return Err(CommandFailure::Run(format!("git cannot clone {from}")));
    }
    let words = ["run", "--release", "--offline", "--message-format=json"];
    let run = cargo(&words, &clone)?;
    let is_unit = |line: &&str| {
        ["compiler-artifact", "build-script-executed"]
            .iter()
            .any(|reason| line.starts_with(&format!("{{\"reason\":\"{reason}\"")))
    };
    let units = run.said.lines().filter(is_unit).count();
    let what = "cargo run --release: processor time to the first answer";
    record.claim(what, "processor s", run.spent, AtMost(120.0), AtMost(60.0));
    let what = "cargo run --release: time to the first answer";
    record.claim(what, "s", run.took, AtMost(75.0), AtMost(40.0));
    let what = "cargo run --release: units compiled or run";
    record.claim(what, "units", units as f64, AtMost(70.0), AtMost(40.0));
    let first = cargo(&["xtask", "test"], &clone)?;
    let what = "cargo xtask test: time in a new clone";
    record.claim(what, "s", first.took, AtMost(720.0), AtMost(480.0));
    record.single(
        "cargo xtask test: processor time in a new clone",
        "processor s",
        first.spent,
    );
    let again = cargo(&["xtask", "test"], &clone)?;
    let what = "cargo xtask test: time of the second run there";
    record.claim(what, "s", again.took, AtMost(300.0), AtMost(180.0));
    Ok(())
}

/// The library that a program is about, which its binary has the name of.
fn library(program: &str) -> &str {
    match program {
        BARE => "roving",
        other => other,
    }
}

/// A package that has never been built.
fn write(folder: &Path, name: &str) -> Result<PathBuf, CommandFailure> {
    let program = folder.join(name);
    let _ = fs::remove_dir_all(program.join("target"));
    fs::create_dir_all(program.join("src")).map_err(failed)?;
    let roving = |more| format!("roving = {{ path = \"{ROOT}/crates/roving\"{more} }}");
    let needs = match name {
        "rayon" => "rayon = \"1.12\"".into(),
        "roving" => roving(""),
        BARE => roving(", default-features = false"),
        _ => String::new(),
    };
    let name = library(name);
    let manifest = format!(
        "[workspace]\n[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [dependencies]\n{needs}\n[profile.release]\nstrip = true\n"
    );
    // The crate has the name of what it uses, which is the other one.
    let manifest = manifest.replacen(&format!("\"{name}\""), &format!("\"one-{name}\""), 1);
    let manifest = format!("{manifest}[[bin]]\nname = \"{name}\"\npath = \"src/main.rs\"\n");
    fs::write(program.join("Cargo.toml"), manifest).map_err(failed)?;
    let source = match name {
        "empty" => "fn main() {}\n".into(),
        _ => format!(
            "fn fib(n: u32) -> u64 {{\n    if n < 2 {{\n        return n.into();\n    }}\n    \
             let (a, b) = {name}::join(|| fib(n - 1), || fib(n - 2));\n    a + b\n}}\n\n\
             fn main() {{\n    println!(\"{{}}\", fib(30));\n}}\n"
        ),
    };
    fs::write(program.join("src/main.rs"), source).map_err(failed)?;
    Ok(program)
}

/// A command that has ended.
struct CargoRun {
    /// Seconds of processors, with those of all that it has started.
    spent: f64,
    /// Seconds by the clock.
    took: f64,
    /// Its standard output.
    said: String,
}

fn cargo(words: &[&str], folder: &Path) -> Result<CargoRun, CommandFailure> {
    let (before, begun) = (spent().unwrap_or_default(), Instant::now());
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let output = Command::new(cargo)
        .args(words)
        .current_dir(folder)
        .env_remove("CARGO_TARGET_DIR")
        .stderr(Stdio::inherit())
        .output()
        .map_err(failed)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let (words, folder) = (words.join(" "), folder.display());
        let lines: Vec<&str> = said.lines().collect();
        let last = lines[lines.len().saturating_sub(20)..].join("\n");
        return Err(CommandFailure::Run(format!(
            "`cargo {words}` failed in {folder}; its last lines:\n{last}"
        )));
    }
    Ok(CargoRun {
        spent: spent().unwrap_or_default() - before,
        took: begun.elapsed().as_secs_f64(),
        said,
    })
}

/// The processor time of all ended children of this process, and of theirs.
fn spent() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // After the name, which may have spaces, `cutime` and `cstime` are the 14th and 15th.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |place: usize| fields.get(place)?.parse::<f64>().ok();
    Some((ticks(13)? + ticks(14)?) / TICKS)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn failed(error: std::io::Error) -> CommandFailure {
    CommandFailure::Run(format!("the first minute was not measured: {error}"))
}
