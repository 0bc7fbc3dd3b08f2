//! The simulator by itself. How near it is to the real runtime is measured by `roving bench model`.

use proptest::prelude::*;

use super::{Amount, ByDistance, Costs, Runtime, Topology};
use crate::{Binomial, Fib, Flat, Recorded};

const TREE: Binomial = Binomial {
    seed: 3,
    roots: 400,
    children: 5,
    probability: 0.18,
    node_ns: 5000.0,
};

fn amounts() -> [Amount; 4] {
    [
        Amount::One,
        Amount::Fixed(2),
        Amount::Fixed(5),
        Amount::Half,
    ]
}

#[test]
fn all_work_is_done_whatever_the_policy() {
    let serial = Runtime::new(1).run(&TREE).unwrap();
    assert!(serial.tasks > 2000 && serial.steals == 0 && serial.parks == 0);
    let joins = Costs::default().join * serial.joins as f64;
    assert!((serial.time_ns - serial.work_ns - joins).abs() < serial.joins as f64);
    for workers in [2, 3, 8, 64, 1000] {
        for amount in amounts() {
            let outcome = Runtime::new(workers).amount(amount).run(&TREE).unwrap();
            let what = format!("{workers} workers, {amount}");
            assert_eq!(outcome.tasks, serial.tasks, "{what}");
            assert_eq!(outcome.joins, serial.joins, "{what}");
            assert!((outcome.work_ns - serial.work_ns).abs() < 1e-3, "{what}");
            assert!(
                outcome.speedup() <= workers as f64,
                "{what}: {}",
                outcome.speedup()
            );
            assert!(
                outcome.tasks_stolen >= outcome.steals && outcome.busy <= 1.0,
                "{what}"
            );
        }
    }
}

#[test]
fn few_workers_are_kept_busy() {
    for (workers, least) in [(2, 1.8), (4, 3.4), (8, 6.0)] {
        let outcome = Runtime::new(workers).run(&TREE).unwrap();
        assert!(
            outcome.speedup() > least,
            "{workers}: {}",
            outcome.speedup()
        );
    }
    let fib = Fib {
        n: 25,
        call_ns: 20.0,
    };
    let (one, two) = (
        Runtime::new(1).run(&fib).unwrap(),
        Runtime::new(2).run(&fib).unwrap(),
    );
    assert!(
        one.time_ns / two.time_ns > 1.9,
        "{}",
        one.time_ns / two.time_ns
    );
}

#[test]
fn what_is_far_away_takes_longer() {
    let near = Runtime::new(16).topology(Topology {
        pair: 2,
        socket: 16,
    });
    let far = Costs {
        claim: ByDistance {
            pair: 150.0,
            socket: 400.0,
            far: 50_000.0,
        },
        ..Costs::default()
    };
    let spread = near.topology(Topology { pair: 2, socket: 2 }).costs(far);
    let (near, spread) = (near.run(&TREE).unwrap(), spread.run(&TREE).unwrap());
    assert!(spread.time_ns > near.time_ns);
}

#[test]
fn flat_tasks_overflow_the_stack_and_are_all_done() {
    let flat = Flat {
        tasks: 30_000,
        task_ns: 300.0,
        spawn_ns: 5.0,
    };
    for workers in [1, 2, 7] {
        for amount in amounts() {
            let outcome = Runtime::new(workers).amount(amount).run(&flat).unwrap();
            assert_eq!(outcome.tasks, 30_001, "{workers} workers, {amount}");
        }
    }
}

/// Twelve times as many tasks as a stack has slots. Scopes of 100,000 tasks that sleep a
/// millisecond were measured to be 9.1 times as fast on 10 workers, and 46 times on 50.
#[test]
fn an_owner_with_a_full_stack_keeps_its_thieves_busy() {
    let flat = Flat {
        tasks: 100_000,
        task_ns: 1e6,
        spawn_ns: 5.0,
    };
    for (workers, measured) in [(10, 9.1), (50, 46.0)] {
        for amount in amounts() {
            let outcome = Runtime::new(workers).amount(amount).run(&flat).unwrap();
            let speedup = outcome.speedup();
            let off = (speedup / measured - 1.0).abs();
            assert!(off < 0.1, "{workers} workers, {amount}: {speedup}");
        }
    }
}

#[test]
fn a_worker_whose_task_is_away_gives_its_core_to_a_spare_thread() {
    // Two short tasks over two long ones: whoever waits finds nothing of its own.
    let text = "roving-tree 1\n0 1\n1 1\n2 4000000\n2 9000000\n1 1\n2 2000000\n2 100000\n";
    let tree = Recorded::read(text.as_bytes()).unwrap();
    let outcome = Runtime::new(3).run(&tree).unwrap();
    assert!(
        outcome.parks_waiting > 0 && outcome.spares > 0,
        "{outcome:?}"
    );
    assert!(
        outcome.time_ns >= 9e6 && outcome.time_ns < 9.5e6,
        "{outcome:?}"
    );
}

/// Tasks that sleep need a core to fall asleep and to go on, so few cores let no more through.
#[test]
fn threads_take_turns_at_the_cores_that_there_are() {
    let flat = Flat {
        tasks: 3200,
        task_ns: 1e6,
        spawn_ns: 5.0,
    };
    let costs = Costs {
        nap: 50_000.0,
        ..Costs::default()
    };
    let pool = Runtime::new(64).sleeping(true).costs(costs);
    let time = |cores| pool.cores(cores).run(&flat).unwrap().time_ns;
    let least = |cores| 3200.0 * 50_000.0 / f64::from(cores);
    let by_workers = 3200.0 * 1e6 / 64.0;
    assert!((1.0..1.1).contains(&(time(1) / least(1))), "{}", time(1));
    assert!((1.0..1.2).contains(&(time(2) / least(2))), "{}", time(2));
    assert!(
        (1.0..1.1).contains(&(time(64) / by_workers)),
        "{}",
        time(64)
    );
    let all = pool.run(&flat).unwrap().time_ns;
    assert!((0.9..1.1).contains(&(time(64) / all)), "{all}");
}

/// A worker that is parked in a wait gets a thread in its place also where no core is free at that
/// moment: the others only wait for one.
#[test]
fn who_sleeps_in_a_task_has_no_core_that_others_could_use() {
    let text = "roving-tree 1\n0 1\n1 1\n2 4000000\n2 9000000\n1 1\n2 2000000\n2 100000\n";
    let tree = Recorded::read(text.as_bytes()).unwrap();
    let pool = Runtime::new(3).sleeping(true);
    for cores in [1, 2, 3] {
        let outcome = pool.cores(cores).run(&tree).unwrap();
        assert!(
            outcome.parks_waiting > 0 && outcome.spares > 0,
            "{outcome:?}"
        );
        let time = outcome.time_ns;
        assert!((9e6..9.5e6).contains(&time), "{cores} cores: {outcome:?}");
    }
}

#[test]
fn many_workers_on_little_work() {
    let outcome = Runtime::new(20_000).run(&TREE).unwrap();
    assert!(outcome.speedup() > 5.0, "{}", outcome.speedup());
    let samples = &outcome.samples;
    assert!(samples.len() > 10 && samples.iter().all(|sample| sample.busy <= 1.0));
}

/// Whom a thief asks first changes who does what, and nothing that is done.
#[test]
fn near_ones_first_is_another_order_of_the_same_work() {
    let tree = Binomial {
        seed: 5,
        roots: 300,
        children: 4,
        probability: 0.2,
        node_ns: 500.0,
    };
    for (workers, socket) in [(1, 1), (7, 3), (64, 16)] {
        let pool = Runtime::new(workers).topology(Topology { pair: 1, socket });
        let by_chance = pool.run(&tree).unwrap();
        let near = pool.near_first(true).run(&tree).unwrap();
        assert_eq!(
            (near.work_ns, near.tasks),
            (by_chance.work_ns, by_chance.tasks)
        );
        assert_eq!(near == by_chance, workers == 1, "{workers}");
        assert_eq!(near, pool.near_first(true).run(&tree).unwrap());
    }
}

#[test]
fn what_makes_no_sense_is_named() {
    let fib = Fib { n: 3, call_ns: 1.0 };
    for (pool, names) in [
        (Runtime::new(0), "`0`"),
        (Runtime::new(1 << 30), "4194304"),
        (Runtime::new(2).amount(Amount::Fixed(65)), "1 to 64"),
        (
            Runtime::new(2).topology(Topology {
                pair: 3,
                socket: 64,
            }),
            "pairs",
        ),
        (
            Runtime::new(2).costs(Costs {
                wake: f64::NAN,
                ..Costs::default()
            }),
            "cost wake",
        ),
    ] {
        let error = pool.run(&fib).unwrap_err().to_string();
        assert!(error.contains(names) && !error.contains('\n'), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Any tree, any pool: it ends, and does each task once.
    #[test]
    fn every_run_ends(
        seed in 0u64..1000,
        workers in 1usize..40,
        children in 1u32..9,
        node_ns in 1.0..20_000.0f64,
        amount in prop::sample::select(amounts().to_vec()),
        wake in 0.0..50_000.0f64,
    ) {
        let tree = Binomial {
            seed,
            roots: 60,
            children,
            probability: 0.9 / f64::from(children),
            node_ns,
        };
        let costs = Costs { wake, ..Costs::default() };
        let serial = Runtime::new(1).run(&tree).unwrap();
        let outcome = Runtime::new(workers).amount(amount).costs(costs).seed(seed).run(&tree).unwrap();
        prop_assert_eq!(outcome.tasks, serial.tasks);
        prop_assert!(outcome.time_ns >= serial.work_ns / workers as f64 - 1.0);
    }
}
