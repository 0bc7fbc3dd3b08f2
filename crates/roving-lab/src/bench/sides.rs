//! The row about C and C++: `fib` and UTS's tree T3 by `roving.h`, by closures of `roving.hpp` and
//! by coroutines of `roving_task.hpp`, with each compiler that is there, beside our own `join` in
//! Rust and oneTBB. A program is started for each run, and prints the time of its second one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use roving::Pool;

use super::Scale;
use super::record::{
    Bound::{AtLeast, AtMost},
    RowRecord,
};
use crate::io::figures::counted;
use crate::io::input::CommandFailure;
use crate::timing::lanes::{Series, TimedLane, find, interleave};

/// The repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// A compiler of C, with that of C++ that belongs to it.
const COMPILERS: [(&str, &str); 2] = [("gcc", "g++"), ("clang", "clang++")];
/// The nodes of UTS's tree T3.
const NODES: u64 = 4_112_897;
/// The libraries of the system that a program of the static library needs.
const SYSTEM: [&str; 4] = ["-lpthread", "-ldl", "-lm", "-lrt"];

/// How deep the recursions are.
struct Sizes {
    joins: u32,
    tasks: u32,
    tbb: u32,
}

/// Measures all of it.
pub(super) fn measure(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let folder = std::env::temp_dir().join(format!("roving-sides-{}", std::process::id()));
    let sizes = match scale.quick {
        true => Sizes {
            joins: 27,
            tasks: 22,
            tbb: 20,
        },
        false => Sizes {
            joins: 40,
            tasks: 32,
            tbb: 28,
        },
    };
    let library = library()?;
    fs::create_dir_all(&folder).map_err(failed)?;
    for (c, cpp) in COMPILERS {
        let measured = match Programs::build(&folder, &library, c, cpp) {
            Ok(programs) => with_compiler(&programs, &sizes, scale, &mut record),
            Err(why) => {
                record.absent.push(why);
                Ok(())
            }
        };
        if measured.is_err() {
            let _ = fs::remove_dir_all(&folder);
            measured?;
        }
    }
    let _ = fs::remove_dir_all(&folder);
    Ok(record)
}

/// Builds the static library as users do; its path.
fn library() -> Result<PathBuf, CommandFailure> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let target = Path::new(ROOT).join("target");
    let status = Command::new(cargo)
        .args(["build", "--release", "-q", "-p", "roving-c", "--target-dir"])
        .arg(&target)
        .current_dir(ROOT)
        .status()
        .map_err(failed)?;
    match status.success() {
        true => Ok(target.join("release/libroving_c.a")),
        false => Err(CommandFailure::Run("roving-c was not built".into())),
    }
}

/// The programs of one compiler.
struct Programs {
    compiler: &'static str,
    c: PathBuf,
    cpp: PathBuf,
    has_tbb: bool,
}

impl Programs {
    /// Compiles them; `Err` says why there are none.
    fn build(
        folder: &Path,
        library: &Path,
        c: &'static str,
        cpp: &str,
    ) -> Result<Programs, String> {
        let sources = Path::new(ROOT).join("crates/roving-lab/cpp/side");
        let include = Path::new(ROOT).join("crates/roving-c/include");
        let at = |name: &str| folder.join(format!("{name}-{c}"));
        let run = |compiler: &str, words: &[&str], from: &[&Path], to: &Path| {
            let built = Command::new(compiler)
                .args(["-O3", "-DNDEBUG", "-I"])
                .arg(&include)
                .args(words)
                .args(from)
                .arg("-o")
                .arg(to)
                .output();
            let output = built.map_err(|_| format!("{compiler} is not installed"))?;
            match output.status.success() {
                true => Ok(()),
                false => Err(format!(
                    "{compiler}: {}",
                    String::from_utf8_lossy(&output.stderr)
                )),
            }
        };
        let (tree, side) = (at("tree.o"), at("side.o"));
        let cpp20 = ["-std=c++20", "-c"];
        run(cpp, &cpp20, &[&sources.join("tree.cpp")], &tree)?;
        run(c, &["-std=gnu11", "-c"], &[&sources.join("side.c")], &side)?;
        let system = SYSTEM.map(Path::new);
        let linked = |first: &Path, more: &[&'static str]| {
            let mut from = vec![first.to_owned(), tree.clone(), library.to_owned()];
            from.extend(system.iter().map(|path| path.to_path_buf()));
            from.extend(more.iter().map(PathBuf::from));
            from
        };
        let link = |words: &[&str], from: Vec<PathBuf>, to: &Path| {
            let from: Vec<&Path> = from.iter().map(PathBuf::as_path).collect();
            run(cpp, words, &from, to)
        };
        let programs = Programs {
            compiler: c,
            c: at("side-c"),
            cpp: at("side-cpp"),
            has_tbb: false,
        };
        link(&[], linked(&side, &[]), &programs.c)?;
        let source = sources.join("side.cpp");
        let words = ["-std=c++20", "-DSIDE_TBB"];
        let has_tbb = link(&words, linked(&source, &["-ltbb"]), &programs.cpp).is_ok();
        if !has_tbb {
            link(&words[..1], linked(&source, &[]), &programs.cpp)?;
        }
        Ok(Programs {
            has_tbb,
            ..programs
        })
    }

    /// A program that is started for each run, and has to come to that result.
    fn lane<'a>(&self, name: &str, words: &'a str, workers: usize, result: u64) -> TimedLane<'a> {
        let (what, n) = words.split_once(' ').expect("two words");
        let program = match what.contains('-') {
            true => self.cpp.clone(),
            false => self.c.clone(),
        };
        let run = move || {
            let output = Command::new(&program)
                .args([what, n, &workers.to_string()])
                .output()
                .map_err(|error| error.to_string())?;
            let said = String::from_utf8_lossy(&output.stdout);
            let (found, seconds) = said.trim().split_once(' ').ok_or("it said nothing")?;
            if found != result.to_string() {
                return Err(format!("it came to {found} instead of {result}"));
            }
            let seconds: f64 = seconds.parse().map_err(|_| "no time")?;
            Ok(Duration::from_secs_f64(seconds))
        };
        TimedLane::new(format!("{} {name}", self.compiler), workers, run)
    }
}

/// All lanes of one compiler, in turn with Rust's.
fn with_compiler(
    programs: &Programs,
    sizes: &Sizes,
    scale: &Scale,
    record: &mut RowRecord,
) -> Result<(), CommandFailure> {
    let joins = format!("fib {}", sizes.joins);
    let one_fib = format!("onefib {}", sizes.joins);
    let join_fib = format!("join-fib {}", sizes.joins);
    let task_fib = format!("task-fib {}", sizes.tasks);
    let (tbb_fib, join_small) = (
        format!("tbb-fib {}", sizes.tbb),
        format!("join-fib {}", sizes.tbb),
    );
    let (fib, nodes) = (fib(sizes.joins), NODES);
    let mut lanes = vec![programs.lane("UTS T3, serial", "uts 0", 0, nodes)];
    for workers in [1, 2] {
        lanes.push(rust(sizes.joins, workers)?);
        lanes.push(programs.lane("fib, C", &joins, workers, fib));
        lanes.push(programs.lane("fib, C, one task", &one_fib, workers, fib));
        lanes.push(programs.lane("fib, C++ join", &join_fib, workers, fib));
        let tasks = self::fib(sizes.tasks);
        lanes.push(programs.lane("fib, C++ coroutine", &task_fib, workers, tasks));
        lanes.push(programs.lane("UTS T3, C", "uts 0", workers, nodes));
        lanes.push(programs.lane("UTS T3, C++ join", "join-uts 0", workers, nodes));
        lanes.push(programs.lane("UTS T3, C++ coroutine", "task-uts 0", workers, nodes));
        if programs.has_tbb {
            let small = self::fib(sizes.tbb);
            lanes.push(programs.lane("small fib, C++ join", &join_small, workers, small));
            lanes.push(programs.lane("small fib, oneTBB", &tbb_fib, workers, small));
        }
    }
    if !programs.has_tbb {
        let what = "oneTBB (Debian's libtbb-dev) was not found";
        record.absent.push(format!("{}: {what}", programs.compiler));
    }
    let series = interleave(&mut lanes, scale.rounds(9)).map_err(CommandFailure::Run)?;
    let (joins, tasks, tbb) = (sizes.joins, sizes.tasks, sizes.tbb);
    let of = format!("n = {joins}, of coroutines {tasks}, of small ones {tbb}");
    for one in &series {
        record.series(&of, one, "s", 1.0);
    }
    claims(programs, sizes, &series, record)
}

/// The bounds of one compiler's programs. The coroutine's is of the fastest run: it says what a
/// node costs, and others on the machine only add to that.
fn claims(
    programs: &Programs,
    sizes: &Sizes,
    series: &[Series],
    record: &mut RowRecord,
) -> Result<(), CommandFailure> {
    let compiler = programs.compiler;
    let get = |name: &str, workers| {
        let one = find(series, &format!("{compiler} {name}"), workers);
        one.ok_or_else(|| CommandFailure::Run(format!("{name} was not measured")))
    };
    let serial = get("UTS T3, serial", 0)?;
    for workers in [1, 2] {
        let rust = find(series, "Rust join", workers);
        let rust = rust.ok_or_else(|| CommandFailure::Run("Rust was not measured".into()))?;
        let ours = get("fib, C", workers)?;
        let what = format!(
            "{compiler}: fib in C, {}: time / Rust's join",
            counted(workers, "worker")
        );
        let ratio = rust.speedup_over(ours);
        record.claim(what, "×", ratio, AtMost(1.05), AtMost(0.9));
        if programs.has_tbb {
            let ours = get("small fib, C++ join", workers)?;
            let ratio = get("small fib, oneTBB", workers)?.speedup_over(ours);
            let what = format!(
                "{compiler}: fib in C++, {}: time / oneTBB's",
                counted(workers, "worker")
            );
            record.claim(what, "×", ratio, AtMost(0.1), None);
        }
    }
    let task = get("fib, C++ coroutine", 1)?;
    let node = task.times.min() * 1e9 / calls(sizes.tasks) as f64;
    let what = format!("{compiler}: C++ coroutine, fork and call: time per node");
    record.claim(what, "ns", node, AtMost(15.0), AtMost(10.0));
    for side in ["C", "C++ join"] {
        let two = get(&format!("UTS T3, {side}"), 2)?;
        let what = format!("{compiler}: UTS T3 in {side}, 2 workers: speed-up over serial");
        let speedup = two.speedup_over(serial);
        record.claim(what, "×", speedup, AtLeast(1.9), AtLeast(1.95));
    }
    Ok(())
}

/// `join` in Rust, in this process.
fn rust<'a>(n: u32, workers: usize) -> Result<TimedLane<'a>, CommandFailure> {
    let pool = Pool::builder().workers(workers).build();
    let pool = pool.map_err(|error| CommandFailure::Run(format!("no pool: {error}")))?;
    let expected = fib(n);
    Ok(TimedLane::new("Rust join", workers, move || {
        let start = Instant::now();
        let found = pool.install(|| join_fib(n));
        match found == expected {
            true => Ok(start.elapsed()),
            false => Err(format!("it came to {found} instead of {expected}")),
        }
    }))
}

fn join_fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = roving::join(|| join_fib(n - 1), || join_fib(n - 2));
    a + b
}

fn fib(n: u32) -> u64 {
    (0..n).fold((0, 1), |(one, next), _| (next, one + next)).0
}

/// How many calls `fib(n)` makes, itself included.
fn calls(n: u32) -> u64 {
    2 * fib(n + 1) - 1
}

fn failed(error: std::io::Error) -> CommandFailure {
    CommandFailure::Run(format!("C and C++ were not measured: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_calls_are_those_of_the_recursion() {
        fn counted(n: u32) -> (u64, u64) {
            match n {
                0 | 1 => (n.into(), 1),
                _ => {
                    let ((a, x), (b, y)) = (counted(n - 1), counted(n - 2));
                    (a + b, x + y + 1)
                }
            }
        }
        for n in 0..20 {
            assert_eq!((fib(n), calls(n)), counted(n), "fib({n})");
        }
    }
}
