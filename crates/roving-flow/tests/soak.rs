//! Many random networks with cycles and tiny channels: none hangs, each deadlock that larger
//! channels resolve is resolved, and each that nothing resolves is named.
//!
//! `ROVING_SOAK=10000` runs as many; fewer otherwise.

#[allow(dead_code, reason = "each test file uses a part of it")]
mod common;

use common::{Guard, Op, Plan, Random};
use roving::Pool;
use roving_flow::{Error, Operation};

fn networks() -> u64 {
    let asked = std::env::var("ROVING_SOAK").ok();
    asked.map_or(if cfg!(miri) { 12 } else { 2000 }, |text| {
        text.parse().expect("ROVING_SOAK is a number of networks")
    })
}

/// How many of the networks show what a test is for, at least: else it would show nothing.
const LEAST: u64 = if cfg!(miri) { 0 } else { 10 };

fn pools() -> Vec<Pool> {
    (1..=4).map(|workers| Pool::new(workers).unwrap()).collect()
}

#[test]
fn random_networks_end_as_the_reference_does() {
    let pools = pools();
    let (mut resolved, mut stuck) = (0_u64, 0_u64);
    for seed in 0..networks() {
        let mut random = Random(seed);
        let plan = Plan::random(&mut random);
        let expected = plan.reference();
        let (result, digests) = plan.run(seed, &pools[seed as usize % pools.len()]);
        match result {
            Ok(report) => {
                assert_eq!(
                    expected.stuck, [0; 0],
                    "seed {seed}: a deadlock was not named"
                );
                assert_eq!(digests, expected.digests, "seed {seed}");
                assert!(report.deterministic);
                resolved += u64::from(!report.growths.is_empty());
            }
            Err(Error::Deadlock { cycle }) => {
                stuck += 1;
                assert!(!cycle.is_empty());
                for (one, next) in cycle.iter().zip(cycle.iter().cycle().skip(1)) {
                    let process = one.process.parse().unwrap();
                    assert!(expected.stuck.contains(&process), "seed {seed}: {one}");
                    assert_eq!(one.waits_for, next.process, "seed {seed}");
                    assert_eq!(one.operation, Operation::Receive, "seed {seed}");
                }
            }
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    println!("{resolved} networks grew, {stuck} were stuck");
    assert!(resolved > LEAST && stuck > LEAST, "{resolved} {stuck}");
}

#[test]
fn a_panic_anywhere_is_named_and_ends_the_network() {
    let pools = pools();
    let mut named = 0_u64;
    for seed in 0..networks() / 4 {
        let mut random = Random(seed ^ 0xabcd);
        let mut plan = Plan::random(&mut random);
        let process = random.below(plan.scripts.len());
        let at = random.below(plan.scripts[process].len() + 1);
        plan.scripts[process].insert(at, Op::Panic);
        let (result, _) = plan.run(seed, &pools[seed as usize % pools.len()]);
        match result.unwrap_err() {
            Error::Panicked { process: name, .. } => {
                named += 1;
                assert_eq!(name, process.to_string(), "seed {seed}");
            }
            // It comes to the panic only if it is not stuck before.
            Error::Deadlock { .. } => {}
            error => panic!("seed {seed}: {error}"),
        }
    }
    assert!(named > LEAST, "{named}");
}

#[test]
fn a_network_can_be_cancelled_at_any_time() {
    let pools = pools();
    let mut cancelled = 0;
    for seed in 0..networks() / 4 {
        let mut random = Random(seed ^ 0x1234);
        let plan = Plan::random(&mut random);
        let pool = &pools[seed as usize % pools.len()];
        let mut digests = vec![0; plan.scripts.len()];
        let network = plan.network(seed, &mut digests);
        let canceller = network.canceller();
        let _guard = Guard::new(seed);
        let delay = random.below(100) as u32;
        let result = std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(std::time::Duration::from_micros(1) * delay);
                canceller.cancel();
            });
            network.run(pool)
        });
        match result {
            Err(Error::Cancelled) => cancelled += 1,
            Ok(_) | Err(Error::Deadlock { .. }) => {}
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    // Under Miri there are few, and each may have ended before.
    assert!(cancelled > 0 || cfg!(miri));
}
