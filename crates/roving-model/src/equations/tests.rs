//! The equations against figures that an independent integrator, closed forms and a simulation of
//! thousands of processors agree on.

use super::{MeanField, separate, single_thefts};
use crate::Policy;

const LOADS: [f64; 6] = [0.5, 0.7, 0.8, 0.9, 0.95, 0.99];

fn policy(text: &str) -> Policy {
    text.parse().unwrap()
}

/// Whether `value` is `figure`, to the figure's last place.
fn assert_figure(value: f64, figure: &str, what: &str) {
    let places = figure.split_once('.').map_or(0, |(_, after)| after.len());
    // Some figures were rounded, some cut off.
    let slack = 0.1_f64.powi(places as i32);
    let wanted: f64 = figure.parse().unwrap();
    assert!(
        (value - wanted).abs() <= slack,
        "{what}: {value}, not {figure}"
    );
}

#[test]
fn mean_times_in_the_system() {
    // Policy, retry rate, and E[T] at the six loads.
    let table: [(&str, f64, [&str; 6]); 10] = [
        (
            "one:2",
            0.0,
            ["1.618", "2.107", "2.562", "3.541", "4.888", "10.46"],
        ),
        (
            "one:3",
            0.0,
            ["1.743", "2.350", "2.924", "4.200", "6.009", "13.741"],
        ),
        (
            "one:4",
            0.0,
            ["1.836", "2.546", "3.209", "4.687", "6.817", "16.125"],
        ),
        (
            "fixed:2:4",
            0.0,
            ["1.800", "2.408", "2.929", "4.011", "5.483", "11.63"],
        ),
        (
            "fixed:3:6",
            0.0,
            ["1.913", "2.686", "3.305", "4.481", "5.996", "12.264"],
        ),
        (
            "half:2",
            0.0,
            ["1.588", "1.975", "2.283", "2.836", "3.446", "5.231"],
        ),
        (
            "one:2",
            1.0,
            ["1.366", "1.690", "2.000", "2.679", "3.623", "7.553"],
        ),
        (
            "half:2",
            1.0,
            ["1.353", "1.630", "1.866", "2.311", "2.819", "4.330"],
        ),
        (
            "one:2",
            10.0,
            ["1.084", "1.180", "1.283", "1.534", "1.906", "3.541"],
        ),
        (
            "half:2",
            10.0,
            ["1.084", "1.177", "1.274", "1.492", "1.780", "2.738"],
        ),
    ];
    for (text, retry, times) in table {
        for (load, time) in LOADS.into_iter().zip(times) {
            let steady = MeanField::new(load)
                .retry(retry)
                .steady(policy(text))
                .unwrap();
            assert_figure(
                steady.time_in_system,
                time,
                &format!("{text} r={retry} l={load}"),
            );
            assert!((steady.busy - load).abs() < 1e-6, "throughput");
        }
    }
}

#[test]
fn without_thefts_the_queues_are_separate() {
    for load in [0.5, 0.9, 0.93, 0.99, 0.999] {
        let steady = MeanField::new(load).steady(Policy::None).unwrap();
        assert!((steady.time_in_system / separate(load) - 1.0).abs() < 1e-6);
        assert!((steady.victims - load * load).abs() < 1e-7);
        assert_eq!(steady.steals_per_task, 0.0);
    }
}

/// The closed form of separate queues is where the differential equations lead, spawned tasks
/// included.
#[test]
fn separate_queues_do_not_change() {
    for spawning in [0.0, 0.3] {
        let model = MeanField::new(0.6).spawning(spawning);
        let steady = model.steady(Policy::None).unwrap();
        let system = model.system(Policy::None, steady.levels.len() - 1).unwrap();
        let mut change = vec![0.0; system.size()];
        system.derive(&steady.levels[1..], &mut change);
        assert!(change.iter().all(|change| change.abs() < 1e-12));
        assert!((steady.busy - 0.6 / (1.0 - spawning)).abs() < 1e-12);
    }
}

#[test]
fn single_thefts_are_as_the_closed_form_says() {
    // The table of `mean_times_in_the_system` has the heaviest, which take longest, as well.
    let loads = [0.5, 0.9, 0.95, 0.1, 0.7, 0.8, 0.99];
    let tried = std::env::var_os("ROVING_DEEP").map_or(3, |_| loads.len());
    for load in loads.into_iter().take(tried) {
        for threshold in [2, 3, 4, 9] {
            let steady = MeanField::new(load)
                .steady(Policy::One { threshold })
                .unwrap();
            let (time, victims) = single_thefts(load, threshold).unwrap();
            let what = format!("l={load}, T={threshold}");
            assert!((steady.time_in_system / time - 1.0).abs() < 1e-6, "{what}");
            assert!((steady.victims - victims).abs() < 1e-7, "{what}");
            // From the threshold on the fractions fall geometrically.
            let (first, ratio) = (threshold as usize, load / (1.0 + load - victims));
            let above = steady.levels[first] * ratio.powi(3);
            assert!((steady.levels[first + 3] - above).abs() < 1e-7, "{what}");
        }
    }
    for (load, time) in [(0.5, "1.6180"), (0.9, "3.5414"), (0.99, "10.4624")] {
        assert_figure(single_thefts(load, 2).unwrap().0, time, "closed form");
    }
}

#[test]
fn how_often_thieves_come() {
    for (text, steals, victims) in [
        ("one", ".1824", ".6459"),
        ("fixed:2:4", ".0662", ".7504"),
        ("half", ".1824", ".6459"),
    ] {
        let steady = MeanField::new(0.9).steady(policy(text)).unwrap();
        assert_figure(steady.steals_per_task, steals, text);
        assert_figure(steady.victims, victims, text);
    }
    let one = MeanField::new(0.9).steady(policy("one")).unwrap();
    assert_figure(one.attempts_per_task, ".2824", "attempts");
}

#[test]
fn a_drain_by_policy() {
    let model = MeanField::new(0.0).retry(10.0);
    for (text, busy, time) in [
        ("one", [".301", ".360", ".377", ".082"], "10.99"),
        ("fixed:4:5", [".423", ".607", ".379", ".025"], "10.12"),
        ("half", [".916", ".871", ".132", ""], "6.42"),
    ] {
        let drain = model.drain(policy(text), 0.05, 64).unwrap();
        assert_figure(drain.time, time, text);
        assert!((drain.ideal_time - 3.2).abs() < 1e-12);
        for (at, busy) in [1.0, 2.0, 5.0, 10.0].into_iter().zip(busy) {
            if !busy.is_empty() {
                let moment = drain.at(at).unwrap();
                // The published figures of the drain come from fixed steps.
                let busy: f64 = busy.parse().unwrap();
                let what = format!("{text} at {at}: {}", moment.busy);
                assert!((moment.busy - busy).abs() < 0.002, "{what}");
            }
        }
    }
    let alone = model.drain(Policy::None, 0.05, 64).unwrap();
    assert_figure(alone.time, "72.7", "no thefts");
}

#[test]
fn spawning_and_delay() {
    // Of each task come 1 / (1 - g) in all.
    let spawning = MeanField::new(0.45)
        .spawning(0.5)
        .steady(policy("one"))
        .unwrap();
    assert!((spawning.busy - 0.9).abs() < 1e-6);
    let at_once = MeanField::new(0.9).steady(policy("one")).unwrap();
    let mut last = at_once.time_in_system;
    for transfer_time in [0.05, 0.25, 1.0] {
        let model = MeanField::new(0.9).transfer_time(transfer_time);
        let delayed = model.steady(policy("one")).unwrap();
        assert!((delayed.busy - 0.9).abs() < 1e-6);
        assert!(delayed.time_in_system > last, "{transfer_time}");
        last = delayed.time_in_system;
        if transfer_time < 0.1 {
            assert!(last / at_once.time_in_system < 1.05);
        }
    }
}

#[test]
fn what_makes_no_sense_is_named() {
    let one = policy("one");
    for (error, names) in [
        (MeanField::new(1.0).steady(one), "below 1"),
        (MeanField::new(0.5).spawning(0.6).steady(one), "`1.1`"),
        (MeanField::new(f64::NAN).steady(one), "NaN"),
        (MeanField::new(0.5).retry(-1.0).steady(one), "`-1`"),
        (MeanField::new(0.5).transfer_time(1e-6).steady(one), "0.01"),
        (
            MeanField::new(0.5)
                .transfer_time(1.0)
                .steady(policy("half")),
            "half",
        ),
    ] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains(names) && !error.contains('\n'), "{error}");
    }
    let model = MeanField::new(0.0);
    assert!(
        model
            .drain(one, 0.0, 3)
            .unwrap_err()
            .to_string()
            .contains("0.05")
    );
    assert!(
        model
            .drain(one, 0.5, 0)
            .unwrap_err()
            .to_string()
            .contains("1 to 4096")
    );
}
