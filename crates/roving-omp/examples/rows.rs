//! Measures programs with the compiler's own library and with ours, in turn, and prints a table as
//! CSV: `cargo run --release -p roving-omp --example rows > docs/results/openmp.csv`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A row of the program, its threads, its unit, and the most that our figure may be of theirs.
const ROWS: [(&str, u32, &str, &str); 25] = [
    ("fib", 1, "ms", "0.4"),
    ("fib", 2, "ms", "0.1"),
    ("queens", 1, "ms", ""),
    ("queens", 2, "ms", "0.8"),
    ("sort", 2, "ms", "0.8"),
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
    ("idle", 1, "ms", ""),
    ("idle", 2, "ms", ""),
    ("idle", 8, "ms", ""),
];

fn run(
    program: &Path,
    row: &str,
    threads: u32,
    ours: Option<&Path>,
) -> Result<f64, Box<dyn Error>> {
    let mut command = Command::new("timeout");
    command.args(["120", "env"]);
    if let Some(library) = ours {
        command.arg(format!("LD_PRELOAD={}", library.display()));
    }
    let output = command
        .arg(program)
        .arg(row)
        .arg(threads.to_string())
        .output()?;
    let told = String::from_utf8_lossy(&output.stdout);
    told.trim().parse().map_err(|_| {
        let told = String::from_utf8_lossy(&output.stderr);
        format!("{row} with {threads} threads: {} {told}", output.status).into()
    })
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
    let rounds = std::env::args().nth(1).map_or(Ok(7), |word| word.parse())?;
    let built: PathBuf = std::env::current_exe()?
        .ancestors()
        .nth(2)
        .ok_or("an example lies in a folder of its own")?
        .to_owned();
    let library = built.join("libroving_omp.so");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/rows.c");
    let program = built.join("openmp-rows");
    let mut command = Command::new("gcc");
    command.args(["-O2", "-fopenmp"]).arg(&source).arg("-o");
    if !command.arg(&program).status()?.success() {
        return Err("gcc failed".into());
    }
    println!("row,threads,unit,libgomp,libgomp least,ours,ours least,ratio,must,rounds,load");
    for (row, threads, unit, must) in ROWS {
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
