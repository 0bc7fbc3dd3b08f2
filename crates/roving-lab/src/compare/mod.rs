//! `roving compare`: one workload on Roving and on its rivals, interleaved in one run.

pub(crate) mod args;
pub(crate) mod field;

use std::path::{Path, PathBuf};

use roving::policy::Amount;

use self::args::{CompareArgs, OUT, REPEAT, STEAL, SleeperArgs, parse_workers_list};
use self::field::Field;
use crate::duals;
use crate::io::csv::Csv;
use crate::io::input::{BadInput, CommandFailure};
use crate::io::out::{make_directory, show, write};
use crate::io::plot;
use crate::job::settings::{parse_repeat, parse_steal};
use crate::machine;
use crate::machine::cores;
use crate::networks;
use crate::rivals::{self, Runtime};
use crate::timing::lanes::SERIAL;
use crate::timing::lanes::{Series, find, interleave};
use crate::workloads::{CATALOGUE, WorkloadJob, unknown};

/// The measurements, and the runtimes that took no part.
#[derive(Debug)]
pub(crate) struct Comparison {
    /// Serial first, then every runtime on every number of workers.
    pub(crate) series: Vec<Series>,
    /// Runtimes that took no part, with the reason.
    pub(crate) absent: Vec<(Runtime, String)>,
}

/// Runs `job` on every one of `runtimes` on every number of `workers`, beside a serial run, all
/// in turn. An answer that is not the right one is an error.
pub(crate) fn compare(
    field: &Field,
    runtimes: &[Runtime],
    workers: &[usize],
    rounds: usize,
) -> Result<Comparison, CommandFailure> {
    compare_amounts(field, runtimes, &[Amount::default()], workers, rounds)
}

/// Compares, with ours once for each amount that a thief may take.
fn compare_amounts(
    field: &Field,
    runtimes: &[Runtime],
    steals: &[Amount],
    workers: &[usize],
    rounds: usize,
) -> Result<Comparison, CommandFailure> {
    let mut lanes = vec![field.serial()];
    let mut absent: Vec<(Runtime, String)> = Vec::new();
    for &count in workers {
        for &runtime in runtimes {
            let started = match runtime.form() {
                Some(form) => {
                    let one = |steal: &Amount| field.ours(runtime, form, count, *steal);
                    steals.iter().map(one).collect::<Result<Vec<_>, _>>()?
                }
                None => vec![field.runtime(runtime, count)?],
            };
            for started in started {
                match started {
                    Ok(lane) => lanes.push(lane),
                    Err(why) => {
                        let known = (runtime, why.0);
                        if !absent.contains(&known) {
                            absent.push(known);
                        }
                    }
                }
            }
        }
    }
    let series = interleave(&mut lanes, rounds).map_err(CommandFailure::Run)?;
    Ok(Comparison { series, absent })
}

/// Reads `--steal` of `compare`.
fn parse_steals(text: &str) -> Result<Vec<Amount>, BadInput> {
    let mut steals: Vec<Amount> = Vec::new();
    for one in text.split(',').map(str::trim) {
        let steal = parse_steal(one)?;
        if steals.contains(&steal) {
            return Err(BadInput::new(
                "--steal",
                one,
                "each amount once",
                "remove one",
            ));
        }
        steals.push(steal);
    }
    Ok(steals)
}

/// The workload that the user named. What is none and yet can be run is said to be that.
fn job(args: &CompareArgs) -> Result<WorkloadJob, BadInput> {
    let name = &args.workload;
    let remedy = match networks::NetworkJob::find(name) {
        Some(_) => "a network is for `roving run` and `roving bench networks`",
        None if duals::has(name) => "tasks with two sides are for `roving run`",
        None => return WorkloadJob::parse(name, args.input.as_deref()),
    };
    match CATALOGUE.iter().any(|kind| kind.name == name) {
        true => WorkloadJob::parse(name, args.input.as_deref()),
        false => Err(unknown(name, remedy)),
    }
}

/// `roving compare`.
pub(crate) fn run(args: &CompareArgs) -> Result<(), CommandFailure> {
    if args.sleepers != SleeperArgs::default() {
        let line =
            "--shapes, --load, --spin, --crowded and --quick are words of `compare sleepers`";
        return Err(BadInput::line(line).into());
    }
    let job = job(args)?;
    let against = args.against.as_deref().unwrap_or("all");
    let mut runtimes = vec![Runtime::Roving];
    runtimes.extend(Runtime::parse_list(against)?);
    let workers = match &args.workers {
        Some(text) => parse_workers_list(text)?,
        None if cores() == 1 => vec![1],
        None => vec![1, cores()],
    };
    let steal = args.steal.as_deref().unwrap_or(STEAL);
    let steals = parse_steals(steal)?;
    let rounds = args.repeat.as_deref().map_or(Ok(REPEAT), parse_repeat)?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(OUT));
    make_directory(&out)?;
    rivals::deepen_stacks();
    let (name, input) = (job.kind().name, job.input());
    let comparison = compare_amounts(&Field::new(job)?, &runtimes, &steals, &workers, rounds)?;
    show(format_args!(
        "{}",
        table(&comparison, &format!("{name} {input}"))
    ))?;
    let command = command(args, &workers, rounds, against);
    write_files(&comparison, &out, name, &input, &command)
}

/// The command with all defaults spelt out.
fn command(args: &CompareArgs, workers: &[usize], rounds: usize, against: &str) -> String {
    let workers = workers
        .iter()
        .map(usize::to_string)
        .collect::<Vec<_>>()
        .join(",");
    let input = args
        .input
        .as_ref()
        .map_or(String::new(), |input| format!(" --input {input}"));
    let workload = &args.workload;
    let steal = args.steal.as_deref().unwrap_or(STEAL);
    format!(
        "roving compare {workload}{input} --against {against} --steal {steal} --workers {workers} \
         --repeat {rounds}"
    )
}

/// The table for people, with the ratio to the best rival below it.
fn table(comparison: &Comparison, title: &str) -> String {
    let serial = &comparison.series[0];
    let mut text = format!(
        "{title}\n{:<24}{:>8}{:>14}{:>14}{:>6}{:>12}\n",
        "runtime", "workers", "median s", "min s", "runs", "× serial"
    );
    for one in &comparison.series {
        text.push_str(&format!(
            "{:<24}{:>8}{:>14.6}{:>14.6}{:>6}{:>12.2}\n",
            one.name,
            one.workers,
            one.times.median(),
            one.times.min(),
            one.times.len(),
            one.speedup_over(serial)
        ));
    }
    for (runtime, why) in &comparison.absent {
        text.push_str(&format!("{:<24}left out: {why}\n", runtime.name()));
    }
    for (workers, ours, best) in against_best(&comparison.series) {
        let ratio = best.speedup_over(ours);
        let verdict = if ratio <= 1.0 { "ahead of" } else { "behind" };
        text.push_str(&format!(
            "roving on {workers}: {ratio:.2} × the time of the best rival ({}): {verdict} it\n",
            best.name
        ));
    }
    text
}

/// For each number of workers on which there is a rival: it, our series and the best rival's.
pub(crate) fn against_best(series: &[Series]) -> Vec<(usize, &Series, &Series)> {
    let ours = Runtime::Roving.name();
    let rows = series
        .iter()
        .filter(|one| one.name == ours)
        .filter_map(|one| {
            let rivals = series
                .iter()
                .filter(|other| other.workers == one.workers)
                .filter(|other| !is_ours(&other.name) && other.name != SERIAL);
            let best = rivals.min_by(|a, b| a.times.median().total_cmp(&b.times.median()))?;
            Some((one.workers, one, best))
        });
    rows.collect()
}

/// The runtime of a series; an amount may stand behind its name.
fn runtime_of(series: &str) -> Option<Runtime> {
    let name = series.split(' ').next()?;
    let all = Runtime::OURS.into_iter().chain(Runtime::RIVALS);
    let mut all = all.chain([Runtime::DropIn]);
    all.find(|runtime| runtime.name() == name)
}

/// Whether a series is Roving's, in any form.
fn is_ours(series: &str) -> bool {
    runtime_of(series).is_some_and(Runtime::is_ours)
}

/// The CSV of a comparison.
fn csv(comparison: &Comparison, workload: &str, input: &str, command: &str) -> Csv {
    let mut csv = Csv::new(&[
        "workload",
        "input",
        "runtime",
        "version",
        "workers",
        "seconds_median",
        "seconds_min",
        "runs",
        "speedup",
        "command",
        "machine",
    ]);
    let machine = machine::line();
    for one in &comparison.series {
        let version = runtime_of(&one.name).map(Runtime::version);
        csv.push(vec![
            workload.into(),
            input.into(),
            one.name.clone(),
            version.unwrap_or_default().into(),
            one.workers.to_string(),
            format!("{:.9}", one.times.median()),
            format!("{:.9}", one.times.min()),
            one.times.len().to_string(),
            format!("{:.4}", one.speedup_over(&comparison.series[0])),
            command.into(),
            machine.clone(),
        ]);
    }
    csv
}

/// Writes the CSV and the plot, and says where.
fn write_files(
    comparison: &Comparison,
    out: &Path,
    workload: &str,
    input: &str,
    command: &str,
) -> Result<(), CommandFailure> {
    let plain = |character: char| character.is_ascii_alphanumeric() || character == '-';
    let stem: String = format!("compare-{workload}-{input}")
        .chars()
        .map(|c| if plain(c) { c } else { '_' })
        .collect();
    let csv_path = out.join(format!("{stem}.csv"));
    write(&csv_path, &csv(comparison, workload, input, command).text())?;
    let plot_path = out.join(format!("{stem}.svg"));
    let title = format!("{workload} {input}: speed-up over serial");
    write(
        &plot_path,
        &speedup_plot(&comparison.series, &title).map_err(CommandFailure::Run)?,
    )?;
    show(format_args!(
        "written: {}, {}\n",
        csv_path.display(),
        plot_path.display()
    ))?;
    Ok(())
}

/// Bars for up to two numbers of workers, curves for more.
pub(crate) fn speedup_plot(series: &[Series], title: &str) -> Result<String, String> {
    let serial = find(series, SERIAL, 1).ok_or("no serial series")?;
    let mut counts: Vec<usize> = series
        .iter()
        .filter(|one| one.name != SERIAL)
        .map(|one| one.workers)
        .collect();
    counts.sort_unstable();
    counts.dedup();
    let mut names: Vec<&str> = Vec::new();
    for one in series.iter().filter(|one| one.name != SERIAL) {
        if !names.contains(&one.name.as_str()) {
            names.push(&one.name);
        }
    }
    let value = |name: &str, workers| Some(find(series, name, workers)?.speedup_over(serial));
    if counts.len() > 2 {
        let curves: Vec<plot::Curve> = names
            .iter()
            .map(|name| plot::Curve {
                name: (*name).to_owned(),
                points: counts
                    .iter()
                    .filter_map(|&n| Some((n as f64, value(name, n)?)))
                    .collect(),
            })
            .collect();
        return plot::curves(title, "workers", "speed-up over serial", &curves);
    }
    let bars: Vec<plot::Bar> = names
        .iter()
        .map(|name| plot::Bar {
            name: (*name).to_owned(),
            values: counts.iter().map(|&n| value(name, n)).collect(),
        })
        .collect();
    let legend: Vec<String> = counts
        .iter()
        .map(|n| {
            if *n == 1 {
                "1 worker".into()
            } else {
                format!("{n} workers")
            }
        })
        .collect();
    plot::bars(title, &legend, &bars)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::io::plot::tests::assert_svg;
    use crate::timing::times::Times;

    fn series(name: &str, workers: usize, times_ms: &[u64]) -> Series {
        let mut times = Times::default();
        times_ms
            .iter()
            .for_each(|time_ms| times.push(Duration::from_millis(*time_ms)));
        Series {
            name: name.into(),
            workers,
            times,
        }
    }

    fn sample() -> Comparison {
        let series = vec![
            series(SERIAL, 1, &[100, 101, 99]),
            series("roving", 1, &[102]),
            series("rayon", 1, &[130]),
            series("roving", 2, &[52, 50, 51]),
            series("rayon", 2, &[80, 81, 79]),
            series("chili", 2, &[60]),
        ];
        Comparison {
            series,
            absent: vec![(Runtime::Tbb, "no headers".into())],
        }
    }

    #[test]
    fn the_ratio_is_ours_over_the_fastest_rival_on_as_many_workers() {
        let sample = sample();
        let best = against_best(&sample.series);
        let names: Vec<_> = best
            .iter()
            .map(|(workers, _, best)| (*workers, &*best.name))
            .collect();
        assert_eq!(names, [(1, "rayon"), (2, "chili")]);
        let text = table(&sample, "uts T3");
        assert!(
            text.contains("roving on 2: 0.85 × the time of the best rival (chili): ahead"),
            "{text}"
        );
        let left_out = text.lines().find(|line| line.starts_with("tbb "));
        assert!(
            left_out.is_some_and(|line| line.ends_with(" left out: no headers")),
            "{text}"
        );
        assert!(
            text.lines()
                .any(|line| line.starts_with("roving ") && line.ends_with(" 1.96")),
            "{text}"
        );
    }

    #[test]
    fn the_csv_has_a_row_for_each_series() {
        let csv = csv(
            &sample(),
            "uts",
            "T3",
            "roving compare uts --against rayon,chili",
        );
        let again = Csv::parse(&csv.text()).unwrap();
        assert_eq!(again.rows.len(), 6);
        let row = &again.rows[4];
        for (column, value) in [
            ("workload", "uts"),
            ("input", "T3"),
            ("runtime", "rayon"),
            ("version", env!("ROVING_RAYON_VERSION")),
            ("workers", "2"),
            ("seconds_median", "0.080000000"),
            ("seconds_min", "0.079000000"),
            ("runs", "3"),
            ("speedup", "1.2500"),
            ("command", "roving compare uts --against rayon,chili"),
        ] {
            assert_eq!(again.field(row, column).unwrap(), value, "{column}");
        }
    }

    #[test]
    fn the_plot_has_bars_for_two_counts_and_curves_for_three() {
        let mut sample = sample();
        let bars = speedup_plot(&sample.series, "uts").unwrap();
        assert_svg(&bars);
        assert!(bars.contains("1.96") && bars.contains("2 workers") && !bars.contains("serial<"));
        sample.series.push(series("roving", 4, &[26]));
        let curves = speedup_plot(&sample.series, "uts").unwrap();
        assert_svg(&curves);
        assert!(curves.contains("<circle"));
    }

    #[test]
    fn every_runtime_finds_the_right_answers_on_small_inputs() {
        for (workload, input) in [
            ("fib", "15"),
            ("uts", "-t0 -b100 -q0.124875 -m8 -r42"),
            ("uts", "-t1 -a2 -d8 -b4 -r502"),
            ("nqueens", "6"),
            ("stress", "leaf=100,depth=3,repeats=20"),
            ("flat", "1000"),
            ("matmul", "64"),
            ("sort", "5000"),
            ("strassen", "128"),
            ("sparselu", "6x10"),
            ("fft", "4096"),
            ("cholesky", "100"),
            ("substring", "10"),
            ("skynet", "1e3"),
            ("skynet", "1e2,by=scope"),
        ] {
            let mut runtimes = Runtime::OURS.to_vec();
            runtimes.extend(Runtime::RIVALS);
            let job = WorkloadJob::parse(workload, Some(input)).unwrap();
            // Alone, and with another: once is enough.
            let workers = if workload == "fib" { &[1, 2][..] } else { &[2] };
            let compared = compare(&Field::new(job).unwrap(), &runtimes, workers, 1);
            let Ok(compared) = compared else {
                panic!("{workload} {input}: {compared:?}")
            };
            assert_eq!(
                compared.series.len() + workers.len() * compared.absent.len(),
                1 + workers.len() * runtimes.len()
            );
            let absent: Vec<_> = compared.absent.iter().map(|(who, _)| *who).collect();
            for (who, why) in &compared.absent {
                assert!(
                    !matches!(who, Runtime::Roving | Runtime::Rayon | Runtime::Chili),
                    "{why}"
                );
            }
            let plain = ["fib", "uts", "nqueens", "stress", "flat"].contains(&workload);
            assert!(
                plain != absent.contains(&Runtime::Tokio),
                "{workload}: {absent:?}"
            );
        }
    }

    #[test]
    fn ours_take_part_once_for_each_amount() {
        let field = Field::new(WorkloadJob::parse("uts", Some("-t0 -b100 -q0.2 -m4 -r0")).unwrap());
        let steals = parse_steals("one, fixed:3,half").unwrap();
        let runtimes = [Runtime::Roving, Runtime::RovingFork, Runtime::Rayon];
        let compared = compare_amounts(&field.unwrap(), &runtimes, &steals, &[2], 1).unwrap();
        let names: Vec<_> = compared.series.iter().map(|one| &*one.name).collect();
        let want = [
            SERIAL,
            "roving",
            "roving fixed:3",
            "roving half",
            "roving-fork",
            "roving-fork fixed:3",
            "roving-fork half",
            "rayon",
        ];
        assert_eq!(names, want);
        assert_eq!(against_best(&compared.series).len(), 1);
        assert!(is_ours("roving-fork half") && !is_ours("rayon") && !is_ours(SERIAL));
        for bad in ["", "one,one", "half,all", "fixed:0"] {
            assert!(parse_steals(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn workers_are_a_list() {
        assert_eq!(parse_workers_list("4,1, 2,1").unwrap(), [1, 2, 4]);
        for bad in ["", "0", "1,,2", "two", "1,9999"] {
            assert!(parse_workers_list(bad).is_err(), "{bad}");
        }
    }
}
