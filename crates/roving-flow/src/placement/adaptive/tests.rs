use super::*;
use crate::state::meter::Spent;

/// A network that moves so many messages a millisecond, by how it is placed.
struct Model {
    stealing: u64,
    parts: u64,
    one: u64,
}

impl Model {
    fn rate(&self, name: &str) -> u64 {
        match name {
            "stealing" => self.stealing,
            "parts" => self.parts,
            _ => self.one,
        }
    }
}

/// Returns the placement of each millisecond, and how many messages moved in all.
fn run(model: &Model, milliseconds: u64) -> (Vec<&'static str>, u64) {
    metered(milliseconds, |name, _| (model.rate(name), 0))
}

/// Runs a network that `meter` describes: by the placement and the time in µs, how many
/// messages move in a millisecond, and for how many of its µs the workers are busy.
fn metered(
    milliseconds: u64,
    mut meter: impl FnMut(&str, u64) -> (u64, u64),
) -> (Vec<&'static str>, u64) {
    let shape = Shape {
        processes: 4,
        channels: vec![(0, 1), (1, 2), (2, 3)],
    };
    let mut policy = Adaptive::new(&Placement::adaptive(), &shape, 2).unwrap();
    assert!(policy.first().iter().all(|&place| place == ANYWHERE));
    let (mut name, mut total, mut at_us, mut busy_us) = ("stealing", 0, 0, 0);
    let mut names = Vec::new();
    while at_us < milliseconds * 1000 {
        // In steps of 250 µs, of which all times of the policy are multiples.
        for _ in 0..policy.wait().as_micros() / 250 {
            let (rate, busy) = meter(name, at_us);
            total += rate / 4;
            busy_us += busy / 4;
            at_us += 250;
        }
        names.resize((at_us / 1000) as usize, name);
        let seen = NetworkFigures {
            at_ns: at_us * 1000,
            busy_ns: busy_us * 1000,
            looks_ns: 0,
            processes: vec![Spent::default(); 4],
            messages: vec![total, 0, 0],
        };
        if let Some(change) = policy.look(&seen) {
            name = change.name;
            let first = change.places[0];
            assert_eq!(name == "stealing", first == ANYWHERE);
            assert_eq!(name == "one", change.places.iter().all(|&place| place == 0));
        }
    }
    (names, total)
}

/// The times at which a worker has no processor: four milliseconds on average, and then as long
/// with one.
struct Preempted {
    noise: u32,
    is_off: bool,
    until_us: u64,
}

impl Preempted {
    fn new(seed: u32) -> Preempted {
        Preempted {
            noise: seed.wrapping_mul(0x9E37_79B9) | 1,
            is_off: false,
            until_us: 0,
        }
    }

    fn is_off(&mut self, at_us: u64) -> bool {
        while at_us >= self.until_us {
            // Marsaglia's xorshift.
            self.noise ^= self.noise << 13;
            self.noise ^= self.noise >> 17;
            self.noise ^= self.noise << 5;
            self.until_us += u64::from(self.noise % 8000);
            self.is_off = !self.is_off;
        }
        self.is_off
    }
}

/// Two workers that now and then have no processor: the messages of the worst and the best of
/// twenty runs of a second, and the mean share of the time in which one worker has them all.
/// Both workers move `both` messages a millisecond, and a tenth of that while one waits.
fn on_a_busy_machine(both: u64, one: u64) -> (u64, u64, f64) {
    let runs = (1..=20).map(|seed| {
        let mut workers = [seed, 100 + seed].map(Preempted::new);
        metered(1000, |name, at_us| {
            let off = workers.each_mut().map(|worker| worker.is_off(at_us));
            let rate = match (name, off) {
                ("one", [false, _]) => one,
                ("one", _) | (_, [true, true]) => 0,
                (_, [false, false]) => both,
                _ => both / 10,
            };
            (rate, 0)
        })
    });
    let runs: Vec<_> = runs.collect();
    let totals = runs.iter().map(|(_, total)| *total);
    let shares = runs.iter().map(|(names, _)| share(names, "one"));
    (
        totals.clone().min().unwrap(),
        totals.max().unwrap(),
        shares.sum::<f64>() / 20.0,
    )
}

#[test]
fn workers_that_wait_for_processors_do_not_hide_that_one_is_faster() {
    let (worst, best, one) = on_a_busy_machine(8_000, 8_000);
    assert!(one > 0.7, "{one}");
    assert!(best < worst * 8 / 5, "{worst} to {best}");
}

#[test]
fn workers_that_wait_for_processors_do_not_hide_that_both_are_faster() {
    let (worst, best, one) = on_a_busy_machine(8_000, 2_000);
    assert!(one < 0.1, "{one}");
    assert!(best < worst * 5 / 4, "{worst} to {best}");
}

/// For 20 ms of each 100 nothing moves, because no worker has a processor.
#[test]
fn a_standstill_does_not_bring_stealing_back_and_work_does() {
    let has_work = |at_us: u64| at_us > 500_000;
    let (names, _) = metered(1000, |name, at_us| match (name, has_work(at_us)) {
        (_, false) if at_us / 20_000 % 5 == 4 => (0, 0),
        ("one", false) => (8_000, 1_000),
        (_, false) => (4_000, 2_000),
        ("one", true) => (300, 1_000),
        (_, true) => (600, 2_000),
    });
    let (before, after) = names.split_at(500);
    assert!(share(before, "one") > 0.85, "{}", share(before, "one"));
    assert!(
        share(after, "stealing") > 0.95,
        "{}",
        share(after, "stealing")
    );
}

fn share(names: &[&str], name: &str) -> f64 {
    names.iter().filter(|&&of| of == name).count() as f64 / names.len() as f64
}

#[test]
fn messages_that_carry_work_are_left_to_stealing() {
    let model = Model {
        stealing: 500,
        parts: 5000,
        one: 5000,
    };
    let (names, _) = run(&model, 2000);
    assert_eq!(share(&names, "stealing"), 1.0);
}

#[test]
fn what_moves_twice_as_many_messages_is_kept() {
    let (names, _) = run(
        &Model {
            stealing: 5_000,
            parts: 10_000,
            one: 4_000,
        },
        2000,
    );
    assert!(share(&names, "parts") > 0.9, "{}", share(&names, "parts"));
    let (names, _) = run(
        &Model {
            stealing: 5_000,
            parts: 4_000,
            one: 10_000,
        },
        2000,
    );
    assert!(share(&names, "one") > 0.9, "{}", share(&names, "one"));
}

#[test]
fn trials_that_fail_cost_little() {
    let model = Model {
        stealing: 10_000,
        parts: 1_000,
        one: 1_000,
    };
    let (names, total) = run(&model, 1000);
    assert!(
        share(&names, "stealing") > 0.96,
        "{}",
        share(&names, "stealing")
    );
    assert!(total > 10_000 * 960, "{total}");
}

/// Every ninth millisecond moves twice as many messages, whatever the placement.
#[test]
fn one_lucky_measurement_keeps_nothing() {
    let shape = Shape {
        processes: 2,
        channels: vec![(0, 1)],
    };
    let mut policy = Adaptive::new(&Placement::adaptive(), &shape, 2).unwrap();
    policy.first();
    let (mut total, mut at_us, mut last) = (0, 0, "stealing");
    for look in 0.. {
        let wait_us = policy.wait().as_micros() as u64;
        at_us += wait_us;
        total += wait_us * if look % 9 == 2 { 20 } else { 10 };
        let seen = NetworkFigures {
            at_ns: at_us * 1000,
            processes: vec![Spent::default(); 2],
            messages: vec![total],
            ..NetworkFigures::default()
        };
        last = policy.look(&seen).map_or(last, |change| change.name);
        assert_eq!(policy.kept, Arm::Stealing);
        if at_us > 1_000_000 {
            break;
        }
    }
    assert!(
        policy.retries.iter().any(|retry| retry.after_ns > RETRY_NS),
        "{last}"
    );
}

/// After half a second, stealing moves half as many messages as before.
#[test]
fn when_the_kept_placement_has_become_slower_others_are_tried_at_once() {
    let shape = Shape {
        processes: 2,
        channels: vec![(0, 1)],
    };
    let mut policy = Adaptive::new(&Placement::adaptive(), &shape, 2).unwrap();
    policy.first();
    let (mut total, mut at_us, mut name) = (0, 0, "stealing");
    while at_us < 600_000 {
        let wait_us = policy.wait().as_micros() as u64;
        at_us += wait_us;
        let rate = match name {
            "stealing" if at_us < 500_000 => 10,
            "stealing" => 5,
            _ => 8,
        };
        total += wait_us * rate;
        let seen = NetworkFigures {
            at_ns: at_us * 1000,
            processes: vec![Spent::default(); 2],
            messages: vec![total],
            ..NetworkFigures::default()
        };
        name = policy.look(&seen).map_or(name, |change| change.name);
    }
    assert_ne!(policy.kept, Arm::Stealing);
}

/// One worker, though, leaves processors to others.
#[test]
fn parts_that_are_a_little_faster_are_not_worth_a_move_but_one_worker_is() {
    let model = Model {
        stealing: 10_000,
        parts: 10_500,
        one: 9_000,
    };
    let (names, _) = run(&model, 2000);
    let stealing = share(&names, "stealing");
    assert!(stealing > 0.8, "{stealing}");
    let (names, _) = run(
        &Model {
            one: 10_100,
            ..model
        },
        2000,
    );
    assert!(share(&names, "one") > 0.8, "{}", share(&names, "one"));
}
