//! `cargo xtask bench readme`: the rows that README.md quotes, measured again on this machine
//! within ten minutes.
//!
//! The benchmarks behind the rows are started again and again, in turn, each time as a process of
//! its own with few rounds. What one process finds is one value; the interval is from the least to
//! the greatest of them, which holds the true median with a probability that depends on how many
//! there are alone. A benchmark that takes minutes runs once, and each of its rounds is one value.
//!
//! What was found is kept beside the results, by processor, and stands on README.md as a table: so
//! that page says on which processors a figure was seen.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::Result;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::reading::{self, fields};
use crate::report::CheckStep;

/// How long all of it may take, without the build.
const ALL: Duration = Duration::from_secs(600);
/// With so many values, their range holds the true median with more than 96 %.
const ENOUGH: usize = 6;
/// After so many values no more are asked for.
const PLENTY: usize = 4 * ENOUGH;

/// Rounds of each process. That of `rayon` takes minutes, and tells each of its rounds; each round
/// of `idle` is two seconds of rest for each runtime. That of `fib-1` leaves out, in a single
/// round, what takes longer than all else.
fn rounds(file: &str) -> &'static str {
    match file {
        "rayon" => "6",
        "fib-1" | "idle" => "1",
        _ => "3",
    }
}

/// Measures, and prints what README.md says beside what was found.
pub(crate) fn measure(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
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
    if files.contains(&"rayon") {
        // That row builds programs, which is not measured: a quick run does.
        let mut quick = lab(
            workspace,
            &["bench", "--quick", "rayon"],
            "bench-readme-quick",
        );
        tool::quiet(&mut quick)?;
    }
    let started = Instant::now();
    let mut seen = MeasuredValues::default();
    while let Some(file) = seen.next(&quoted, &files, ALL.saturating_sub(started.elapsed())) {
        if let Some(why) = seen.once(workspace, file)? {
            step.fail(why);
            return Ok(());
        }
    }
    let (processor, took) = (&seen.processor, started.elapsed().as_secs());
    println!("on {processor}; {took} s\n");
    for line in table(&quoted, &seen.values) {
        println!("{line}");
    }
    seen.keep(workspace, &quoted)?;
    super::note(workspace)
}

/// The lab with these words, which writes into a folder of the build's.
fn lab(workspace: &Workspace, words: &[&str], folder: &str) -> Command {
    let name = format!("roving{}", std::env::consts::EXE_SUFFIX);
    let mut command = Command::new(workspace.target.join("measure").join(name));
    command.args(words).arg("--out");
    command.arg(workspace.target.join(folder));
    command.current_dir(&workspace.root);
    command
}

/// All values found so far.
#[derive(Default)]
struct MeasuredValues {
    /// How long the last process of a file took.
    took: BTreeMap<String, Duration>,
    /// The values of each claim.
    values: BTreeMap<String, Vec<f64>>,
    processor: String,
}

impl MeasuredValues {
    /// The file to measure next, within the time that is left: those with too few values first, and
    /// of these the one that takes the least time; none when there is time for no other.
    fn next<'f>(&self, quoted: &[Quoted], files: &[&'f str], left: Duration) -> Option<&'f str> {
        let values = |file: &str| {
            let rows = quoted.iter().filter(|row| row.file == file);
            let values = rows.map(|row| self.values.get(&row.what).map_or(0, Vec::len));
            values.max().unwrap_or(0)
        };
        let took = |file: &str| self.took.get(file).copied().unwrap_or_default();
        let open = files.iter().copied();
        let gives = |file: &str| values(file) > 0 || !self.took.contains_key(file);
        let open = open.filter(|file| gives(file) && values(file) < PLENTY && took(file) < left);
        open.min_by_key(|file| (values(file).min(ENOUGH), took(file)))
    }

    /// Writes the intervals into the list, in the place of those that this processor had.
    fn keep(&self, workspace: &Workspace, quoted: &[Quoted]) -> Result<()> {
        let path = workspace.root.join(KEPT);
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        let text = kept_with(&kept, quoted, &self.values, &self.processor);
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// Measures the rows of a file once; why that failed, if it did.
    fn once(&mut self, workspace: &Workspace, file: &str) -> Result<Option<String>> {
        let folder = "bench-readme";
        let mut command = lab(
            workspace,
            &["bench", file, "--rounds", rounds(file)],
            folder,
        );
        let from = Instant::now();
        let seen = tool::quiet(&mut command)?;
        if !seen.ok {
            let last = seen.lines.last().cloned().unwrap_or_default();
            return Ok(Some(format!("`roving bench {file}` failed: {last}")));
        }
        let took = self.took.insert(file.to_owned(), from.elapsed());
        let path = workspace.target.join(folder).join(format!("{file}.csv"));
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
        for (what, value) in claims(&text) {
            self.values.entry(what).or_default().push(value);
        }
        for why in absent(&text).iter().filter(|_| took.is_none()) {
            println!("{file}: left out: {why}");
        }
        if let Some(processor) = machine(&text) {
            self.processor = processor;
        }
        println!("{file}: {} s", from.elapsed().as_secs());
        Ok(None)
    }
}

/// The list of what was measured again, and its head.
const KEPT: &str = "docs/results/readme.csv";
const HEAD: &str = "processor,what,unit,median,low,high,values";

/// The list with what was found on a processor. A row of which there are too few values for an
/// interval stays as it was.
fn kept_with(
    kept: &str,
    quoted: &[Quoted],
    found: &BTreeMap<String, Vec<f64>>,
    processor: &str,
) -> String {
    let mut rows: Vec<(String, String, String)> = Vec::new();
    for line in kept.lines().skip(1) {
        let all = fields(line);
        if let [processor, what, ..] = &all[..] {
            rows.push((processor.clone(), what.clone(), line.to_owned()));
        }
    }
    for Quoted { what, says, .. } in quoted {
        let Some(one) = found.get(what).and_then(|values| Spread::of(values)) else {
            continue;
        };
        let unit = says.split_once(' ').map_or("", |(_, unit)| unit);
        let Spread {
            median,
            low,
            high,
            n,
        } = one;
        let line = format!(
            "\"{processor}\",\"{what}\",{unit},{},{},{},{n}",
            digits(median),
            digits(low),
            digits(high)
        );
        match rows
            .iter_mut()
            .find(|row| row.0 == processor && row.1 == *what)
        {
            Some(row) => row.2 = line,
            None => rows.push((processor.to_owned(), what.clone(), line)),
        }
    }
    let mut text = format!("{HEAD}\n");
    for (_, _, line) in rows {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// Four digits of a number.
fn digits(value: f64) -> String {
    let whole = if value == 0.0 {
        0
    } else {
        value.abs().log10().floor() as i32
    };
    format!("{value:.*}", (3 - whole).clamp(0, 6) as usize)
}

/// Enough values for an interval.
struct Spread {
    median: f64,
    low: f64,
    high: f64,
    n: usize,
}

impl Spread {
    fn of(values: &[f64]) -> Option<Spread> {
        let mut sorted = values.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let n = sorted.len();
        (n >= ENOUGH).then(|| Spread {
            median: (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0,
            low: sorted[0],
            high: sorted[n - 1],
            n,
        })
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
    let figures = reading::quoted(page).into_iter();
    let row = |figure: reading::Quoted<'_>| Quoted {
        what: figure.name.to_owned(),
        says: page[figure.at.clone()].to_owned(),
        file: figure.anchor.to_owned(),
    };
    figures.map(row).collect()
}

/// Each claim of a file, and its value; or its values, where the file tells each round.
fn claims(csv: &str) -> Vec<(String, f64)> {
    let rows: Vec<Vec<String>> = csv
        .lines()
        .map(fields)
        .filter(|row| row.len() > 3)
        .collect();
    let value = |row: &Vec<String>| row[3].parse::<f64>().ok();
    let mut found = Vec::new();
    for claim in rows.iter().filter(|row| row[0] == "claim") {
        let name = format!("{}, round ", claim[1]);
        let rounds = rows.iter().filter(|row| row[1].starts_with(&name));
        let rounds: Vec<f64> = rounds.filter_map(value).collect();
        let values = if rounds.is_empty() {
            value(claim).into_iter().collect()
        } else {
            rounds
        };
        found.extend(values.into_iter().map(|value| (claim[1].clone(), value)));
    }
    found
}

/// The reasons why something took no part.
fn absent(csv: &str) -> Vec<String> {
    let rows = csv.lines().map(fields);
    let absent = rows.filter(|row| row.len() > 1 && row[0] == "absent");
    absent.map(|row| row[1].clone()).collect()
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
        "| what | README.md | here: median | from | to | values | sure |",
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
        let sure = match n {
            // A number of runs has no median.
            _ if says.ends_with(" runs") => "counted".to_owned(),
            0..ENOUGH => format!("{sure:.1} %, too few for an interval"),
            _ => format!("{sure:.1} %"),
        };
        lines.push(format!(
            "| {what} | {says} | {median:.4} | {least:.4} | {most:.4} | {n} | {sure} |"
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
    fn rounds_that_a_file_tells_are_the_values_of_their_claim() {
        let row = |kind: &str, what: &str, value: f64| format!("{kind},\"{what}\",×,{value},,,\n");
        let told = [
            row("measurement", "a / b, round 1", 0.5),
            row("measurement", "a / b, round 2", 0.25),
            row("claim", "a / b", 0.4),
            row("claim", "a", 3.0),
        ];
        let found = claims(&told.concat());
        let one = |what: &str, value| (what.to_owned(), value);
        assert_eq!(
            found,
            [one("a / b", 0.5), one("a / b", 0.25), one("a", 3.0)]
        );
    }

    #[test]
    fn files_with_too_few_values_come_first_and_none_when_time_is_up() {
        let row = |file: &str| Quoted {
            what: file.into(),
            says: "1 ×".into(),
            file: file.into(),
        };
        let quoted = [row("short"), row("long")];
        let mut seen = MeasuredValues::default();
        seen.took.insert("short".into(), Duration::from_secs(1));
        seen.took.insert("long".into(), Duration::from_secs(100));
        seen.values.insert("short".into(), vec![1.0; ENOUGH]);
        seen.values.insert("long".into(), vec![1.0]);
        let next = |seen: &MeasuredValues, left| {
            seen.next(&quoted, &["short", "long"], Duration::from_secs(left))
                .map(str::to_owned)
        };
        assert_eq!(next(&seen, 500).as_deref(), Some("long"));
        assert_eq!(next(&seen, 50).as_deref(), Some("short"));
        assert_eq!(next(&seen, 1), None);
        seen.values.insert("long".into(), vec![1.0; PLENTY]);
        assert_eq!(next(&seen, 500).as_deref(), Some("short"));
        // One that gave nothing gives nothing again.
        seen.values.remove("short");
        assert_eq!(next(&seen, 500), None);
    }

    #[test]
    fn a_processor_keeps_its_rows_beside_those_of_others() {
        let row = |what: &str| Quoted {
            what: what.into(),
            says: "0.14 ×".into(),
            file: "a".into(),
        };
        let values = |value: f64| BTreeMap::from([("a, b".to_owned(), vec![value; ENOUGH])]);
        let quoted = [row("a, b"), row("c")];
        let one = kept_with("", &quoted, &values(0.25), "P");
        assert_eq!(
            one,
            format!("{HEAD}\n\"P\",\"a, b\",×,0.2500,0.2500,0.2500,6\n")
        );
        let both = kept_with(&one, &quoted, &values(12.0), "Q");
        assert_eq!(both.lines().count(), 3);
        let again = kept_with(&both, &quoted, &values(1234.5), "P");
        assert!(
            again.contains("\"P\",\"a, b\",×,1234,1234,1234,6"),
            "{again}"
        );
        assert!(again.contains("\"Q\",\"a, b\",×,12.00") && again.lines().count() == 3);
        let few = BTreeMap::from([("a, b".to_owned(), vec![1.0; ENOUGH - 1])]);
        assert_eq!(kept_with(&again, &quoted, &few, "P"), again);
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
        let runs = Quoted {
            says: "0 runs".into(),
            ..row("b")
        };
        assert!(table(&[runs], &found)[2].ends_with("| 1 | counted |"));
    }
}
