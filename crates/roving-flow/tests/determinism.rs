//! Kahn's theorem: whatever the schedule, a network computes the same.

#[allow(dead_code, reason = "each test file uses a part of it")]
mod common;

use common::{Plan, Random};
use proptest::prelude::*;
use roving::Pool;
use roving_flow::Error;

proptest! {
    #![proptest_config(ProptestConfig { cases: if cfg!(miri) { 2 } else { 500 }, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_schedule_computes_the_same(
        seed: u64,
        schedules in prop::collection::vec(any::<u64>(), 3),
        workers in 1..=4_usize,
    ) {
        let plan = Plan::random(&mut Random(seed));
        let expected = plan.reference();
        let pool = Pool::new(workers).unwrap();
        for schedule in schedules {
            let (result, digests) = plan.run(schedule, &pool);
            match result {
                Ok(_) => {
                    prop_assert!(expected.stuck.is_empty());
                    prop_assert_eq!(&digests, &expected.digests);
                }
                Err(Error::Deadlock { .. }) => prop_assert!(!expected.stuck.is_empty()),
                Err(error) => prop_assert!(false, "{}", error),
            }
        }
    }
}
