//! `cargo xtask bench readme`: the rows that README.md quotes, measured again on this machine
//! within ten minutes.
//!
//! The benchmarks behind the rows are started again and again, in turn, each time as a process of
//! its own with few rounds. What one process finds is one value; the interval is from the least to
//! the greatest of them, which holds the true median with a probability that depends on how many
//! there are alone.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::report::Step;
use crate::workspace::Workspace;
use crate::{Result, tidy, tool};

/// How long all of it may take, without the build.
const ALL: Duration = Duration::from_secs(600);
/// Rounds of each process.
const ROUNDS: &str = "3";
/// With so many values, their range holds the true median with more than 96 %.
const ENOUGH: usize = 6;

/// Measures, and prints what README.md says beside what was found.
pub(crate) fn measure(workspace: &Workspace, step: &mut Step) -> Result<()> {
    let read = |name: &str| {
        let path = workspace.root.join(name);
        std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let quoted = quoted(&read("README.md")?);
    let mut files: Vec<&str> = Vec::new();
    for row in &quoted {
        if !files.contains(&row.file.as_str()) {
            files.push(&row.file);
        }
    }
    if files.is_empty() {
        return Err("README.md quotes no row of docs/results".into());
    }
    let built = workspace
        .cargo(&[
            "build",
            "--profile",
            "measure",
            "-p",
            "roving-lab",
            "--features",
            "rivals",
        ])
        .status();
    if !built.is_ok_and(|status| status.success()) {
        return Err("the lab does not build".into());
    }
    let started = Instant::now();
    let mut seen = Seen::default();
    // The shortest first, once it is known how long each takes.
    loop {
        files.sort_by_key(|file| seen.took.get(*file).copied().unwrap_or_default());
        let mut any = false;
        for file in &files {
            let first = quoted.iter().find(|row| row.file == **file);
            let runs = first
                .and_then(|row| seen.values.get(&row.what))
                .map_or(0, Vec::len);
            let needs = seen.took.get(*file).copied().unwrap_or_default();
            if started.elapsed() + needs < ALL && runs < 4 * ENOUGH {
                if let Some(why) = seen.once(workspace, file)? {
                    step.fail(why);
                    return Ok(());
                }
                any = true;
            }
        }
        if !any {
            break;
        }
    }
    let (processor, took) = (&seen.processor, started.elapsed().as_secs());
    println!("on {processor}; {took} s, processes of {ROUNDS} rounds\n");
    for line in table(&quoted, &seen.values) {
        println!("{line}");
    }
    Ok(())
}

/// All values found so far.
#[derive(Default)]
struct Seen {
    /// How long the last process of a file took.
    took: BTreeMap<String, Duration>,
    /// The values of each claim.
    values: BTreeMap<String, Vec<f64>>,
    processor: String,
}

impl Seen {
    /// Measures the rows of a file once; why that failed, if it did.
    fn once(&mut self, workspace: &Workspace, file: &str) -> Result<Option<String>> {
        let out = workspace.target.join("bench-readme");
        let name = format!("roving{}", std::env::consts::EXE_SUFFIX);
        let mut command = Command::new(workspace.target.join("measure").join(name));
        command
            .args(["bench", file, "--rounds", ROUNDS, "--out"])
            .arg(&out);
        let from = Instant::now();
        let seen = tool::quiet(command.current_dir(&workspace.root))?;
        if !seen.ok {
            let last = seen.lines.last().cloned().unwrap_or_default();
            return Ok(Some(format!("`roving bench {file}` failed: {last}")));
        }
        self.took.insert(file.to_owned(), from.elapsed());
        let path = out.join(format!("{file}.csv"));
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
        for (what, value) in claims(&text) {
            self.values.entry(what).or_default().push(value);
        }
        if let Some(processor) = machine(&text) {
            self.processor = processor;
        }
        println!("{file}: {} s", from.elapsed().as_secs());
        Ok(None)
    }
}

/// A row of README.md, and the file that it comes from.
#[derive(Debug, PartialEq, Eq)]
struct Quoted {
    what: String,
    says: String,
    file: String,
}

/// The figures that README.md quotes, with what it says and the file that each comes from.
fn quoted(page: &str) -> Vec<Quoted> {
    let figures = tidy::figures_of(page).into_iter();
    let row = |figure: tidy::Quoted<'_>| Quoted {
        what: figure.name.to_owned(),
        says: page[figure.at.clone()].to_owned(),
        file: figure.anchor.to_owned(),
    };
    figures.map(row).collect()
}

/// The fields of a line of CSV.
fn fields(line: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => found.push(String::new()),
            other => {
                if let Some(last) = found.last_mut() {
                    last.push(other);
                }
            }
        }
    }
    found
}

/// Each claim of a file, and its value.
fn claims(csv: &str) -> Vec<(String, f64)> {
    let rows = csv.lines().map(fields);
    let claims = rows.filter(|row| row.len() > 3 && row[0] == "claim");
    let claims = claims.filter_map(|row| Some((row[1].clone(), row[3].parse().ok()?)));
    claims.collect()
}

/// The machine of a file: its processor and cores.
fn machine(csv: &str) -> Option<String> {
    let row = fields(csv.lines().nth(1)?);
    let parts: Vec<&str> = row.last()?.split("; ").take(2).collect();
    Some(parts.join("; "))
}

/// The table of what README.md says beside what was found.
fn table(quoted: &[Quoted], found: &BTreeMap<String, Vec<f64>>) -> Vec<String> {
    let head = [
        "| what | README.md | here: median | from | to | processes | sure |",
        "|---|---|---|---|---|---|---|",
    ];
    let mut lines: Vec<String> = head.map(str::to_owned).to_vec();
    for Quoted { what, says, .. } in quoted {
        let mut values = found.get(what).cloned().unwrap_or_default();
        values.sort_unstable_by(f64::total_cmp);
        let (Some(least), Some(most)) = (values.first(), values.last()) else {
            lines.push(format!("| {what} | {says} | not measured here | | | 0 | |"));
            continue;
        };
        let n = values.len();
        let median = (values[(n - 1) / 2] + values[n / 2]) / 2.0;
        let sure = (1.0 - 0.5f64.powi(n as i32 - 1)) * 100.0;
        let few = if n < ENOUGH {
            ", too few for an interval"
        } else {
            ""
        };
        lines.push(format!(
            "| {what} | {says} | {median:.4} | {least:.4} | {most:.4} | {n} | {sure:.1} %{few} |"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const CSV: &str = "kind,what,unit,value,min,runs,must,stretch,verdict,command,machine\n\
        measurement,\"fib(40), serial\",s,0.36,0.35,9,,,,bench fib-1,\"A CPU; 2 cores; Linux\"\n\
        claim,\"fib(40), 1 worker: ours, theirs\",×,0.57,,,,,,bench fib-1,\"A CPU; 2 cores; Linux\"\n";

    #[test]
    fn figures_of_the_first_page_are_found_with_their_files() {
        let page = "It takes [0.6 ×](docs/results/README.md#fib-1 \"fib(40): ours / theirs\") the time. [x](y.md)";
        let found = quoted(page);
        assert_eq!(found.len(), 1);
        let one = &found[0];
        let all = [&*one.what, &*one.says, &*one.file];
        assert_eq!(all, ["fib(40): ours / theirs", "0.6 ×", "fib-1"]);
    }

    #[test]
    fn values_are_read_from_the_files() {
        let found = claims(CSV);
        assert_eq!(
            found,
            [("fib(40), 1 worker: ours, theirs".to_owned(), 0.57)]
        );
        assert_eq!(machine(CSV).as_deref(), Some("A CPU; 2 cores"));
    }

    #[test]
    fn an_interval_says_how_sure_it_is() {
        let row = |what: &str| Quoted {
            what: what.into(),
            says: "1 ×".into(),
            file: "a".into(),
        };
        let found = BTreeMap::from([
            ("a".to_owned(), vec![3.0, 1.0, 2.0, 4.0, 6.0, 5.0]),
            ("b".to_owned(), vec![1.0]),
        ]);
        let lines = table(&[row("a"), row("b"), row("c")], &found);
        assert_eq!(
            lines[2],
            "| a | 1 × | 3.5000 | 1.0000 | 6.0000 | 6 | 96.9 % |"
        );
        assert!(lines[3].contains("0.0 %, too few"), "{}", lines[3]);
        assert!(lines[4].contains("not measured"));
    }
}
