//! `openmp`: libraries and programs of others that use OpenMP, as they are, with the compiler's own
//! library and with ours in front of it, in turn: whether both come to the same bytes, and what
//! they take. `docs/results/openmp-programs.csv` keeps a row of each.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::report::{self, CheckReport, CheckStep};
use crate::results::last_runs::LastRuns;
use crate::shipping::install;
use crate::{Result, results};

/// Where the sources lie that feed the libraries.
const SOURCES: &str = "crates/roving-omp/examples/real";
const TABLE: &str = "docs/results/openmp-programs.csv";
const HEAD: &str = "date,commit_date,program,threads,version,libgomp_repeats,same,libgomp_s,ours_s,ratio,\
                    libgomp_processor_s,ours_processor_s,processor_ratio,rounds";
/// A run that takes longer hangs.
const SECONDS: &str = "120";
/// A picture for those that work on pictures.
const PICTURE: &str = "openmp/in.ppm";

/// How often, and with how many threads.
#[derive(clap::Args)]
pub(crate) struct RoundPlan {
    /// How often each runs with both, in turn
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// `OMP_NUM_THREADS`; as many as there are processors
    #[arg(long, default_value_t = processors())]
    threads: usize,
    /// Programs alone that have this in their names
    #[arg(long, default_value = "")]
    only: String,
}

fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How a program comes to be, and runs.
enum ProgramRecipe {
    /// A function of `learn.py` with this name, if Python has the module.
    Python(&'static str, &'static str),
    /// `gm convert`, with these words between the picture and the output.
    Picture(&'static [&'static str]),
    /// A script, which gets a folder, of the program with this name, if that tells its version.
    Script(&'static str, &'static str),
    /// A source built by the first compiler of that language that is there, with libraries.
    Built(
        &'static [&'static str],
        &'static str,
        &'static [&'static str],
    ),
}
use ProgramRecipe::{Built, Picture, Python, Script};

const C: &[&str] = &["gcc"];
const FORTRAN: &[&str] = &["gfortran", "gfortran-14", "gfortran-13", "gfortran-12"];

const PROGRAMS: [(&str, ProgramRecipe); 16] = [
    ("scikit-learn k-means", Python("sklearn", "k_means")),
    ("scikit-learn boosting", Python("sklearn", "boosting")),
    ("scikit-learn neighbours", Python("sklearn", "neighbours")),
    ("LightGBM", Python("lightgbm", "lightgbm")),
    ("XGBoost", Python("xgboost", "xgboost")),
    ("six threads of joblib", Python("joblib", "threads")),
    ("NumPy and SciPy", Python("scipy", "algebra")),
    ("GROMACS", Script("gmx", "water.sh")),
    (
        "FFTW",
        Built(C, "fourier.c", &["-lfftw3_omp", "-lfftw3", "-lm"]),
    ),
    ("OpenBLAS", Built(C, "algebra.c", &["-lopenblas"])),
    ("Fortran heat", Built(FORTRAN, "heat.f90", &[])),
    ("GraphicsMagick blur", Picture(&["-blur", "0x4"])),
    ("GraphicsMagick resize", Picture(&["-resize", "170%"])),
    ("GraphicsMagick rotate", Picture(&["-rotate", "33"])),
    ("GraphicsMagick sharpen", Picture(&["-sharpen", "0x3"])),
    ("GraphicsMagick charcoal", Picture(&["-charcoal", "2"])),
];

/// A program that is there: its version, its words, and its threads.
struct ReadyProgram {
    version: String,
    words: Vec<String>,
    threads: usize,
}

/// The outcome of a run.
struct TimedRun {
    bytes: Vec<u8>,
    seconds: f64,
    of_processors: f64,
}

/// A row for each program and number of threads.
fn table(workspace: &Workspace) -> LastRuns {
    LastRuns::at(workspace, TABLE, HEAD, 2..4)
}

/// The verb, as the one step.
pub(crate) fn verb(workspace: &Workspace, report: &mut CheckReport, plan: &RoundPlan) {
    report.step("openmp", |step| check(workspace, step, plan));
}

fn check(workspace: &Workspace, step: &mut CheckStep, plan: &RoundPlan) -> Result<()> {
    let prefix = workspace.target.join("openmp/prefix");
    install::install(workspace, &prefix, true)?;
    let ours = prefix.join("lib/libroving_omp.so");
    write(&workspace.target.join(PICTURE), &picture())?;
    let meant = |(name, _): &&(&str, ProgramRecipe)| name.contains(&plan.only);
    for (name, how) in PROGRAMS.iter().filter(meant) {
        // What does not run with libgomp either is no fault of ours.
        let ready = ready(workspace, how, plan.threads);
        let ready = match ready.and_then(|ready| run(&ready, None).map(|_| ready)) {
            Ok(ready) => ready,
            Err(why) => {
                step.skip(format!("{name}: {why}"));
                continue;
            }
        };
        match is_ours(workspace, &ready, &ours) {
            Err(why) => step.fail(format!("{name}: {why}")),
            Ok(false) => step.skip(format!("{name}: it calls no OpenMP of GCC's")),
            Ok(true) => match compared(&ready, &ours, plan.rounds) {
                Err(why) => step.fail(format!("{name}: {why}")),
                Ok(fields) => {
                    let ReadyProgram {
                        version, threads, ..
                    } = &ready;
                    let row = format!("{name},{threads},{version},{fields}");
                    println!("{row}");
                    table(workspace).put(workspace, &row)?;
                    match fields.starts_with("yes,no,") {
                        true => step.fail(format!("{name}: not the bytes of libgomp")),
                        false => step.counts.passed += 1,
                    }
                }
            },
        }
    }
    results::note(workspace)
}

/// Stripes and dots, in three colours.
fn picture() -> Vec<u8> {
    let (width, height) = (2400_u32, 1600_u32);
    let mut bytes = format!("P6 {width} {height} 255\n").into_bytes();
    for y in 0..height {
        for x in 0..width {
            let dot = x.wrapping_mul(7919) ^ y.wrapping_mul(104_729);
            bytes.extend([(x * y) >> 8, x + y, dot % 251].map(|colour| (colour & 255) as u8));
        }
    }
    bytes
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// The program, if all that it needs is there; or the name of what is missing.
fn ready(workspace: &Workspace, how: &ProgramRecipe, threads: usize) -> Result<ReadyProgram> {
    let source = |name: &str| workspace.root.join(SOURCES).join(name);
    let text = |path: PathBuf| path.display().to_string();
    let (version, words) = match how {
        Python(module, function) => {
            let ask = format!("import {module}; print({module}.__version__)");
            let version = first("python3", &["-c", &ask]);
            let version = version.ok_or(format!("python3 has no {module}"))?;
            let words = [
                "python3".into(),
                text(source("learn.py")),
                (*function).into(),
            ];
            (version, words.to_vec())
        }
        Picture(between) => {
            let version = first("gm", &["-version"]).ok_or("gm is not installed")?;
            let mut words = vec!["gm".into(), "convert".into()];
            words.push(text(workspace.target.join(PICTURE)));
            words.extend(between.iter().map(|word| (*word).to_owned()));
            words.push("ppm:-".into());
            let version = version.split(' ').nth(1).unwrap_or_default().to_owned();
            (version, words)
        }
        Script(program, name) => {
            let version = first(program, &["-quiet", "-version"]);
            let version = version.ok_or_else(|| format!("{program} is not installed"))?;
            let is_number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
            let version = version.split(' ').find(is_number).unwrap_or_default();
            let version = version.to_owned();
            let folder = workspace
                .target
                .join("openmp")
                .join(name)
                .with_extension("");
            (version, vec!["sh".into(), text(source(name)), text(folder)])
        }
        Built(compilers, name, libraries) => {
            let version = |name: &&&str| first(name, &["-dumpfullversion"]);
            let compiler = compilers.iter().find(|name| version(name).is_some());
            let compiler = compiler.ok_or_else(|| format!("{} is not installed", compilers[0]))?;
            let program = workspace
                .target
                .join("openmp")
                .join(name)
                .with_extension("built");
            let mut command = Command::new(compiler);
            command.args(["-O2", "-fopenmp", "-o"]).arg(&program);
            command.arg(source(name)).args(*libraries);
            if !tool::watch(&mut command)?.ok {
                return Err(format!(
                    "{compiler} does not build it: {}",
                    libraries.join(" ")
                ));
            }
            let version = version(&compiler).unwrap_or_default();
            (format!("{compiler} {version}"), vec![text(program)])
        }
    };
    Ok(ReadyProgram {
        version,
        words,
        threads,
    })
}

/// The first line that a program says, if it succeeds.
fn first(program: &str, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).output().ok()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let line = said.lines().next().unwrap_or_default();
    output.status.success().then(|| line.replace(',', ";"))
}

/// Whether the program comes to call OpenMP, and the dynamic linker gives it ours.
fn is_ours(workspace: &Workspace, ready: &ReadyProgram, ours: &Path) -> Result<bool> {
    let told = |error: std::io::Error| error.to_string();
    let folder = workspace.target.join("openmp/linker");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(told)?;
    }
    std::fs::create_dir_all(&folder).map_err(told)?;
    let mut command = command(ready, Some(ours));
    command.env("LD_DEBUG", "bindings");
    command.env("LD_DEBUG_OUTPUT", folder.join("told"));
    let status = command.stdout(Stdio::null()).status().map_err(told)?;
    if !status.success() {
        return Err(format!("with ours: {status}"));
    }
    for file in std::fs::read_dir(&folder).map_err(told)? {
        let bytes = std::fs::read(file.map_err(told)?.path()).map_err(told)?;
        if is_bound(&String::from_utf8_lossy(&bytes)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the linker says that a file's regions are ours.
fn is_bound(told: &str) -> bool {
    let mut lines = told.lines();
    lines.any(|line| {
        line.contains(" to ")
            && line.contains("/libroving_omp.so")
            && line.contains("`GOMP_parallel")
    })
}

fn command(ready: &ReadyProgram, ours: Option<&Path>) -> Command {
    let mut command = Command::new("timeout");
    command.args([SECONDS, "env"]);
    command.arg(format!("OMP_NUM_THREADS={}", ready.threads));
    if let Some(library) = ours {
        command.arg(format!("LD_PRELOAD={}", library.display()));
    }
    command
        .args(&ready.words)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit());
    command
}

fn run(ready: &ReadyProgram, ours: Option<&Path>) -> Result<TimedRun> {
    let (before, began) = (report::used(), Instant::now());
    let output = command(ready, ours)
        .output()
        .map_err(|error| error.to_string())?;
    let seconds = began.elapsed().as_secs_f64();
    if !output.status.success() {
        let which = if ours.is_some() { "ours" } else { "libgomp" };
        return Err(format!("with {which}: {}", output.status));
    }
    Ok(TimedRun {
        bytes: output.stdout,
        seconds,
        of_processors: report::since(before).ok_or("the system tells no times of processors")?,
    })
}

/// The fields of a row that say how both compare.
fn compared(ready: &ReadyProgram, ours: &Path, rounds: u32) -> Result<String> {
    let mut runs = Vec::new();
    for _ in 0..rounds {
        runs.push((run(ready, None)?, run(ready, Some(ours))?));
    }
    let first = runs.first().ok_or("no rounds")?.0.bytes.clone();
    let yes = |is| if is { "yes" } else { "no" };
    let repeats = yes(runs.iter().all(|(theirs, _)| theirs.bytes == first));
    let same = yes(runs.iter().all(|(_, ours)| ours.bytes == first));
    let mut row = format!("{repeats},{same}");
    for of in [
        |run: &TimedRun| run.seconds,
        |run: &TimedRun| run.of_processors,
    ] {
        let theirs = median(runs.iter().map(|pair| of(&pair.0)));
        let ours = median(runs.iter().map(|pair| of(&pair.1)));
        let ratio = median(runs.iter().map(|pair| of(&pair.1) / of(&pair.0)));
        let _ = write!(row, ",{theirs:.3},{ours:.3},{ratio:.3}");
    }
    let _ = write!(row, ",{rounds}");
    Ok(row)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_linker_binds_is_read() {
        let line = "  71:\tbinding file a.so [0] to /p/lib/libroving_omp.so [0]: normal symbol \
                    `GOMP_parallel' [GOMP_4.0]";
        assert!(is_bound(&format!("other\n{line}\n")));
        assert!(!is_bound(&line.replace("roving_omp", "gomp")));
        assert!(!is_bound(&line.replace("GOMP_parallel", "GOMP_barrier")));
    }

    #[test]
    fn sources_are_there_and_names_stand_once() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("..")
            .join(SOURCES);
        let learn = std::fs::read_to_string(root.join("learn.py")).unwrap();
        for (place, (name, how)) in PROGRAMS.iter().enumerate() {
            assert!(PROGRAMS[..place].iter().all(|other| other.0 != *name));
            match how {
                Python(_, function) => assert!(learn.contains(&format!("def {function}("))),
                Built(_, source, _) | Script(_, source) => {
                    assert!(root.join(source).is_file(), "{source}")
                }
                Picture(_) => {}
            }
        }
        assert_eq!(median([3.0, 1.0, 2.0].into_iter()), 2.0);
    }

    #[test]
    fn the_table_of_results_is_well_formed_and_of_programs_that_are_there() {
        let kept = table(&Workspace::find().unwrap());
        assert_eq!(kept.wrong_lines(), [""; 0]);
        for key in kept.keys() {
            assert!(PROGRAMS.iter().any(|one| key.starts_with(one.0)), "{key}");
        }
    }
}
