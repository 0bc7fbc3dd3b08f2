//! Measures programs with the compiler's own library and with ours, in turn, and prints a table as
//! CSV: `cargo run --release -p roving-omp --example rows > docs/results/openmp.csv`. After the
//! number of rounds may come the beginnings of the rows' names that are meant.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A row of the program, its threads, its unit, and the most that our figure may be of theirs.
const ROWS: [(&str, u32, &str, &str); 45] = [
    ("fib", 1, "ms", "0.4"),
    ("fib", 2, "ms", "0.1"),
    ("UTS T3 serial", 1, "ms", ""),
    ("UTS T3", 1, "ms", ""),
    ("UTS T3", 2, "ms", ""),
    ("queens 12", 1, "ms", ""),
    ("queens 12", 2, "ms", ""),
    ("queens 14", 2, "ms", "0.8"),
    ("strassen 16", 1, "ms", ""),
    ("strassen 16", 2, "ms", "0.8"),
    ("strassen 64", 1, "ms", ""),
    ("strassen 64", 2, "ms", "0.8"),
    ("sparse LU 8", 1, "ms", ""),
    ("sparse LU 8", 2, "ms", "0.8"),
    ("sparse LU 32", 1, "ms", ""),
    ("sparse LU 32", 2, "ms", "0.8"),
    ("sort", 1, "ms", ""),
    ("sort", 2, "ms", "0.8"),
    ("floorplan", 1, "ms", ""),
    ("floorplan", 2, "ms", "0.8"),
    ("blocks", 1, "ms", ""),
    ("blocks", 2, "ms", "0.8"),
    ("region", 1, "ns", ""),
    ("region", 2, "ns", "1.2"),
    ("barrier", 2, "ns", "1.2"),
    ("static", 2, "ns", "1.2"),
    ("dynamic", 1, "ns", ""),
    ("dynamic", 2, "ns", "1.2"),
    ("guided", 2, "ns", "1.2"),
    ("critical", 1, "ns", ""),
    ("critical", 2, "ns", "1.2"),
    ("reduction", 2, "ns", "1.2"),
    ("nested", 8, "ms", "0.5"),
    ("nested threads", 8, "threads", ""),
    ("crowded", 8, "ms", "0.7"),
    ("barrier", 8, "ns", "0.7"),
    ("static", 8, "ns", "0.7"),
    ("region", 8, "ns", "0.7"),
    ("two at once: crowded", 2, "ms", "0.7"),
    ("two at once: sort", 2, "ms", "0.7"),
    ("two at once: sparse LU 8", 2, "ms", "0.7"),
    ("two at once: floorplan", 2, "ms", "0.7"),
    ("idle", 1, "ms", ""),
    ("idle", 2, "ms", ""),
    ("idle", 8, "ms", ""),
];

/// The beginning of the name of a row that is measured in two processes at once; the later counts.
const TWICE: &str = "two at once: ";

fn run(
    program: &Path,
    row: &str,
    threads: u32,
    ours: Option<&Path>,
) -> Result<f64, Box<dyn Error>> {
    let (name, processes) = match row.strip_prefix(TWICE) {
        None => (row, 1),
        Some(name) => (name, 2),
    };
    let start = || {
        let mut command = Command::new("timeout");
        command.args(["120", "env"]);
        if let Some(library) = ours {
            command.arg(format!("LD_PRELOAD={}", library.display()));
        }
        command.arg(program).arg(name).arg(threads.to_string());
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    };
    let started: Vec<_> = (0..processes).map(|_| start()).collect();
    let mut latest = f64::MIN;
    for child in started {
        let output = child?.wait_with_output()?;
        let told = String::from_utf8_lossy(&output.stdout);
        let figure: f64 = told.trim().parse().map_err(|_| {
            let told = String::from_utf8_lossy(&output.stderr);
            format!("{row} with {threads} threads: {} {told}", output.status)
        })?;
        latest = latest.max(figure);
    }
    Ok(latest)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let rounds = words.first().map_or(Ok(7), |word| word.parse())?;
    let meant = words.get(1..).unwrap_or_default();
    let is_meant = |row: &str| meant.is_empty() || meant.iter().any(|word| row.starts_with(word));
    let built: PathBuf = std::env::current_exe()?
        .ancestors()
        .nth(2)
        .ok_or("an example lies in a folder of its own")?
        .to_owned();
    let library = built.join("libroving_omp.so");
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let program = built.join("openmp-rows");
    let mut command = Command::new("gcc");
    command.args(["-O2", "-fopenmp"]);
    command.args(["rows.c", "tasks.c"].map(|name| sources.join(name)));
    command.arg("-lm").arg("-o").arg(&program);
    if !command.status()?.success() {
        return Err("gcc failed".into());
    }
    println!("row,threads,unit,libgomp,libgomp least,ours,ours least,ratio,must,rounds,load");
    for (row, threads, unit, must) in ROWS.into_iter().filter(|row| is_meant(row.0)) {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            theirs.push(run(&program, row, threads, None)?);
            ours.push(run(&program, row, threads, Some(&library))?);
        }
        let (their_median, our_median) = (median(&mut theirs), median(&mut ours));
        let ratio = our_median / their_median;
        println!(
            "{row},{threads},{unit},{their_median:.4},{:.4},{our_median:.4},{:.4},{ratio:.4},{must},\
             {rounds},{}",
            theirs[0],
            ours[0],
            load()
        );
    }
    Ok(())
}
