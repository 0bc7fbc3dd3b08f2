//! The row from which the paper's Table 1 and Figures 4 to 7 can be drawn: one file for each. As
//! there, the accounting is on.

use std::cell::RefCell;

use super::spread::{divisions, input};
use crate::bench::Scale;
use crate::bench::record::RowRecord;
use crate::bench::row::Drawn;
use crate::io::csv::Csv;
use crate::io::figures::counted;
use crate::io::figures::figures;
use crate::io::input::CommandFailure;
use crate::io::plot::{self, Curve};
use crate::networks::placement::NamedPlacement;
use crate::networks::report::NetworkTraffic;
use crate::networks::run::VerifiedNetwork;
use crate::timing::lanes::{Series, interleave};

/// Numbers of workers.
const WORKERS: [usize; 2] = [1, 2];
/// The work of a message of scatter-gather, in µs, and the rounds that make it a tenth of a second.
const WORKS_US: [(u64, u64); 9] = [
    (0, 2000),
    (1, 2000),
    (2, 1000),
    (5, 400),
    (10, 200),
    (20, 100),
    (40, 50),
    (70, 29),
    (100, 20),
];

/// One program under one placement on so many workers.
struct Cell {
    place: NamedPlacement,
    workers: usize,
    series: Series,
    traffic: Vec<NetworkTraffic>,
}

/// All that the paper shows.
pub(in crate::bench) fn paper(scale: &Scale) -> Result<Drawn, CommandFailure> {
    let mut record = RowRecord::default();
    let table = table_1(scale, &mut record)?;
    let (four, five) = figures_4_and_5(scale, &mut record)?;
    let six = figure_6(scale, &mut record)?;
    let seven = figure_7(scale, &mut record)?;
    let title = "Network B: speed-up over serial";
    let fifth = plotted(&five, title, "work_division").map_err(CommandFailure::Run)?;
    let title = "Scatter-gather: speed-up over serial";
    let sixth = plotted(&six, title, "work_us").map_err(CommandFailure::Run)?;
    let files = vec![
        ("table-1.csv", table.text()),
        ("figure-4.csv", four.text()),
        ("figure-5.csv", five.text()),
        ("figure-5.svg", fifth),
        ("figure-6.csv", six.text()),
        ("figure-6.svg", sixth),
        ("figure-7.csv", seven.text()),
    ];
    Ok((record, files))
}

/// Runs a program under these placements on each number of workers, in turn.
fn cells(
    record: &mut RowRecord,
    of: &str,
    verified: &VerifiedNetwork,
    places: &[NamedPlacement],
    rounds: usize,
) -> Result<Vec<Cell>, CommandFailure> {
    let pairs: Vec<(NamedPlacement, usize)> = places
        .iter()
        .flat_map(|place| WORKERS.map(|workers| (*place, workers)))
        .collect();
    watched(record, of, verified, pairs, rounds)
}

/// Measures any pairs of placement and number of workers.
fn watched(
    record: &mut RowRecord,
    of: &str,
    verified: &VerifiedNetwork,
    pairs: Vec<(NamedPlacement, usize)>,
    rounds: usize,
) -> Result<Vec<Cell>, CommandFailure> {
    let seen: Vec<RefCell<Vec<NetworkTraffic>>> =
        pairs.iter().map(|_| RefCell::default()).collect();
    let mut lanes = Vec::new();
    for ((place, workers), seen) in pairs.iter().zip(&seen) {
        let lane = verified.watched(*place, *workers, true, |ran| {
            seen.borrow_mut().push(NetworkTraffic::from(&ran.report));
        });
        lanes.push(lane?);
    }
    let series = interleave(&mut lanes, rounds).map_err(CommandFailure::Run)?;
    drop(lanes);
    let rows = pairs.into_iter().zip(series).zip(seen);
    let cells = rows.map(|(((place, workers), series), seen)| {
        record.single(
            &format!("{of}, {}, {}", place.text(), counted(workers, "worker")),
            "s",
            series.times.median(),
        );
        // The first run warmed up; a lane that is slow has none but that.
        let mut traffic = seen.into_inner();
        traffic.drain(..traffic.len() - series.times.len());
        Cell {
            place,
            workers,
            series,
            traffic,
        }
    });
    Ok(cells.collect())
}

/// Least, lower quartile, median, upper quartile and greatest of some times.
fn five_numbers(series: &Series) -> [f64; 5] {
    let mut times: Vec<f64> = series.times.seconds().collect();
    times.sort_unstable_by(f64::total_cmp);
    [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| {
        let place = part * (times.len() - 1) as f64;
        let (low, high) = (times[place.floor() as usize], times[place.ceil() as usize]);
        low + (high - low) * place.fract()
    })
}

impl Cell {
    fn heads(&self) -> [String; 2] {
        [self.place.name().into(), self.workers.to_string()]
    }

    /// The mean of something in the traffic of a run.
    fn mean(&self, of: impl Fn(&NetworkTraffic) -> f64) -> f64 {
        self.traffic.iter().map(of).sum::<f64>() / self.traffic.len() as f64
    }
}

/// Table 1: the ring, by placement and number of workers.
fn table_1(scale: &Scale, record: &mut RowRecord) -> Result<Csv, CommandFailure> {
    let input = if scale.quick { "small" } else { "paper" };
    let verified = VerifiedNetwork::named("ring", input)?;
    let of = format!("ring {input}");
    let mut csv = Csv::new(&[
        "placement",
        "workers",
        "runs",
        "seconds_median",
        "seconds_min",
    ]);
    for cell in cells(
        record,
        &of,
        &verified,
        &NamedPlacement::all(),
        scale.rounds(9),
    )? {
        let times = &cell.series.times;
        let ends = [
            times.len().to_string(),
            figures(times.median()),
            figures(times.min()),
        ];
        csv.push(cell.heads().into_iter().chain(ends).collect());
    }
    Ok(csv)
}

/// The programs of Figure 4: name in the paper, parameter, ours, its input.
fn programs(scale: &Scale) -> Vec<(String, u64, &'static str, String)> {
    let mut programs = Vec::new();
    let sizes: &[u64] = if scale.quick {
        &[128]
    } else {
        &[128, 256, 512]
    };
    for &processes in sizes {
        let input = if scale.quick {
            format!("{},frames=2,frame_us=500", processes / 16)
        } else {
            processes.to_string()
        };
        programs.push(("H.264".into(), processes, "h264", input));
    }
    let kmeans = if scale.quick {
        "3,points=2000,clusters=9,processes=6"
    } else {
        "20"
    };
    programs.push(("k-means".into(), 128, "kmeans", kmeans.into()));
    for network in ["A", "B"] {
        for division in divisions(scale) {
            let input = input(scale, network, *division);
            programs.push((format!("RND-{network}"), *division, "random", input));
        }
    }
    programs
}

/// Figure 4: running times of all programs. Figure 5: more about network B.
fn figures_4_and_5(scale: &Scale, record: &mut RowRecord) -> Result<(Csv, Csv), CommandFailure> {
    let mut four = Csv::new(&[
        "network",
        "parameter",
        "placement",
        "workers",
        "runs",
        "seconds_min",
        "seconds_lower_quartile",
        "seconds_median",
        "seconds_upper_quartile",
        "seconds_max",
        "repartitions_mean",
    ]);
    let mut five = Csv::new(&[
        "work_division",
        "placement",
        "workers",
        "seconds_median",
        "speedup_over_serial",
        "local_share",
        "messages_per_s",
        "migrations_mean",
    ]);
    for (network, parameter, name, input) in programs(scale) {
        let verified = VerifiedNetwork::named(name, &input)?;
        let of = format!("{name} {input}");
        let serial = verified.serial()?.as_secs_f64();
        for cell in cells(
            record,
            &of,
            &verified,
            &NamedPlacement::all(),
            scale.rounds(3),
        )? {
            let mut row = vec![network.clone(), parameter.to_string()];
            row.extend(cell.heads());
            row.push(cell.series.times.len().to_string());
            row.extend(five_numbers(&cell.series).map(figures));
            row.push(figures(cell.mean(|traffic| traffic.repartitions as f64)));
            four.push(row);
            if network == "RND-B" {
                let median = cell.series.times.median();
                let mut row = vec![parameter.to_string()];
                row.extend(cell.heads());
                row.push(figures(median));
                row.push(figures(serial / median));
                row.push(figures(cell.mean(NetworkTraffic::local_share)));
                row.push(figures(
                    cell.mean(|traffic| traffic.messages as f64) / median,
                ));
                row.push(figures(cell.mean(|traffic| traffic.migrations as f64)));
                five.push(row);
            }
        }
    }
    Ok((four, five))
}

/// Figure 6: scatter-gather under stealing, by the work of a message.
fn figure_6(scale: &Scale, record: &mut RowRecord) -> Result<Csv, CommandFailure> {
    let mut csv = Csv::new(&[
        "work_us",
        "placement",
        "workers",
        "messages",
        "seconds_median",
        "speedup_over_serial",
    ]);
    let works = if scale.quick {
        &WORKS_US[..3]
    } else {
        &WORKS_US[..]
    };
    for &(work_us, rounds) in works {
        let rounds = if scale.quick { 2 } else { rounds };
        let work = if work_us == 0 {
            "0".to_owned()
        } else {
            format!("{work_us}us")
        };
        let input = format!("work={work},rounds={rounds}");
        let verified = VerifiedNetwork::named("scatter-gather", &input)?;
        let of = format!("scatter-gather {input}");
        let serial = verified.serial()?.as_secs_f64();
        for cell in cells(
            record,
            &of,
            &verified,
            &[NamedPlacement::default()],
            scale.rounds(7),
        )? {
            let median = cell.series.times.median();
            let mut row = vec![work_us.to_string()];
            row.extend(cell.heads());
            row.extend([
                verified.items().to_string(),
                figures(median),
                figures(serial / median),
            ]);
            csv.push(row);
        }
    }
    Ok(csv)
}

/// Figure 7: how long runs of network B took, and how often it was partitioned, by the idle time
/// that asks for it; run by run. 0 stands for stealing, as in the paper.
fn figure_7(scale: &Scale, record: &mut RowRecord) -> Result<Csv, CommandFailure> {
    let verified = VerifiedNetwork::named("random", &input(scale, "B", 1000))?;
    let mut csv = Csv::new(&["idle_threshold_us", "run", "seconds", "repartitions"]);
    let mut pairs = vec![(NamedPlacement::default(), 2)];
    pairs.extend(NamedPlacement::thresholds().map(|place| (place, 2)));
    for cell in watched(
        record,
        "random B, d = 1000",
        &verified,
        pairs,
        scale.rounds(10),
    )? {
        let threshold = cell.place.threshold_us().unwrap_or(0).to_string();
        let runs = cell.series.times.seconds().zip(&cell.traffic);
        for (run, (seconds, traffic)) in runs.enumerate() {
            let (run, repartitions) = (run.to_string(), traffic.repartitions.to_string());
            csv.push(vec![threshold.clone(), run, figures(seconds), repartitions]);
        }
    }
    Ok(csv)
}

/// Draws the column `speedup_over_serial` over the column `x`, a curve for each placement and
/// number of workers. What has no place on a logarithmic scale is left out.
fn plotted(csv: &Csv, title: &str, x: &str) -> Result<String, String> {
    let mut curves: Vec<Curve> = Vec::new();
    for row in &csv.rows {
        let field = |name| csv.field(row, name);
        let number = |name| -> Result<f64, String> {
            let text = field(name)?;
            text.parse()
                .map_err(|_| format!("{name} `{text}` is no number"))
        };
        let point = (number(x)?, number("speedup_over_serial")?);
        if point.0 <= 0.0 {
            continue;
        }
        let workers = number("workers")? as usize;
        let name = format!("{}, {}", field("placement")?, counted(workers, "worker"));
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve {
                name,
                points: vec![point],
            }),
        }
    }
    plot::curves(title, &x.replace('_', " "), "speed-up", &curves)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::timing::times::Times;

    #[test]
    fn a_sheet_is_plotted_without_what_has_no_place() {
        let mut csv = Csv::new(&["work_us", "placement", "workers", "speedup_over_serial"]);
        for row in [
            "0 stealing 2 0.01",
            "1 stealing 2 1.3",
            "10 stealing 2 1.9",
            "1 adaptive 1 0.8",
        ] {
            csv.push(row.split(' ').map(str::to_owned).collect());
        }
        let svg = plotted(&csv, "Speed", "work_us").unwrap();
        for word in ["stealing, 2 workers", "adaptive, 1 worker", "work us"] {
            assert!(svg.contains(word), "no {word} in {svg}");
        }
        assert!(plotted(&csv, "Speed", "placement").is_err());
        assert!(plotted(&csv, "Speed", "division").is_err());
    }

    #[test]
    fn five_numbers_lie_where_they_should() {
        let mut times = Times::default();
        for time_ms in [50, 10, 40, 20, 30] {
            times.push(Duration::from_millis(time_ms));
        }
        let series = Series {
            name: "stealing".into(),
            workers: 2,
            times,
        };
        let found = five_numbers(&series);
        for (number, want) in found.iter().zip([0.01, 0.02, 0.03, 0.04, 0.05]) {
            assert!((number - want).abs() < 1e-9, "{found:?}");
        }
    }
}
