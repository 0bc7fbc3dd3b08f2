//! Sheets that many figures have: speed-ups, throughput, shares of time.

use super::contest::STATES;
use super::figure::{Form, Sheet};
use super::seen::{SeenPoints, TIME};
use super::spread::median;

/// Speed-up over the median serial run, by the number of workers; a curve for each series.
pub(super) fn speedups(seen: &SeenPoints<'_>, title: &str, group: &str) -> Sheet {
    let mut sheet = Sheet::new(title, "workers", "speed-up over serial", Form::Lines);
    for series in series(seen, group) {
        for &workers in &seen.plan.workers {
            if let Some(values) = seen.speedups(group, &series, workers) {
                sheet.push(series.clone(), workers, values);
            }
        }
    }
    sheet
}

/// The series of a group that are not serial.
pub(super) fn series(seen: &SeenPoints<'_>, group: &str) -> Vec<String> {
    let names = seen.series(group, TIME).into_iter();
    names
        .filter(|name| *name != super::seen::SERIAL)
        .map(str::to_owned)
        .collect()
}

/// Items in a second, in millions, by the number of workers; a curve for each series.
pub(super) fn throughput(seen: &SeenPoints<'_>, title: &str, group: &str, of: &str) -> Sheet {
    let unit = format!("million {of}/s");
    let mut sheet = Sheet::new(title, "workers", &unit, Form::Lines);
    let Some(items) = seen.median(group, "items", 1, "items") else {
        return sheet;
    };
    for series in series(seen, group) {
        for &workers in &seen.plan.workers {
            if let Some(times) = seen.values(group, &series, workers, TIME) {
                let rates = times.iter().map(|time| items / time / 1e6).collect();
                sheet.push(series.clone(), workers, rates);
            }
        }
    }
    sheet
}

/// How the time of all workers divides among their states, for each series of profiles.
pub(super) fn shares(seen: &SeenPoints<'_>, title: &str, group: &str, workers: usize) -> Sheet {
    let mut sheet = Sheet::new(title, "strategy", "% of the workers' time", Form::Stacks);
    for series in seen.series(group, "busy_share") {
        for state in STATES {
            let metric = format!("{state}_share");
            if let Some(values) = seen.values(group, series, workers, &metric) {
                let percent = values.iter().map(|share| share * 100.0).collect();
                let state = if state == "frame" { OUR_FRAMES } else { state };
                sheet.push(state, named(series), percent);
            }
        }
    }
    sheet
}

/// The fifth state as we have it: StackThreads/MP exports frames to a heap, and ours allocates
/// them.
const OUR_FRAMES: &str = "frame (allocation)";

/// How much of the time of all workers is neither work nor idling, for each series of profiles.
pub(super) fn beside(seen: &SeenPoints<'_>, title: &str, group: &str, workers: usize) -> Sheet {
    let mut sheet = Sheet::new(title, "strategy", "% of the workers' time", Form::Bars);
    for series in seen.series(group, "busy_share") {
        let of = |state: &str| seen.values(group, series, workers, &format!("{state}_share"));
        if let Some(((steal, switch), frame)) = of("steal").zip(of("switch")).zip(of("frame")) {
            let sums = steal.iter().zip(switch).zip(frame);
            let percent = sums.map(|((steal, switch), frame)| (steal + switch + frame) * 100.0);
            sheet.push("here", named(series), percent.collect());
        }
    }
    sheet
}

/// The paper's name for a strategy behind ours.
pub(super) fn named(amount: &str) -> String {
    match amount {
        "one" => "one (st_org)".to_owned(),
        "half" => "half (st_dyn)".to_owned(),
        fixed => format!("{fixed} (st_sta)"),
    }
}

/// The share of a state in percent, as a median.
pub(super) fn share(
    seen: &SeenPoints<'_>,
    group: &str,
    amount: &str,
    workers: usize,
    state: &str,
) -> Option<f64> {
    let share = seen.median(group, amount, workers, &format!("{state}_share"))?;
    Some(share * 100.0)
}

/// The series with the greatest median speed-up on so many workers among those for which `of`
/// holds.
pub(super) fn fastest(
    seen: &SeenPoints<'_>,
    group: &str,
    workers: usize,
    of: impl Fn(&str) -> bool,
) -> Option<(String, f64)> {
    let names = series(seen, group).into_iter().filter(|name| of(name));
    let speeds = names.filter_map(|name| {
        let speed = median(&seen.speedups(group, &name, workers)?);
        Some((name, speed))
    });
    speeds.max_by(|one, other| one.1.total_cmp(&other.1))
}

/// A number as a paper prints it, with all its digits.
pub(super) fn exact(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() >= 1000.0 {
        return crate::io::input::grouped(value as u64);
    }
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_numbers_keep_their_digits() {
        for (value, want) in [(11.48, "11.48"), (4_112_897.0, "4,112,897"), (3.0, "3")] {
            assert_eq!(exact(value), want);
        }
    }

    #[test]
    fn strategies_have_their_names_in_the_paper() {
        let names = ["one", "half", "fixed:20"].map(named);
        assert_eq!(
            names,
            ["one (st_org)", "half (st_dyn)", "fixed:20 (st_sta)"]
        );
    }
}
