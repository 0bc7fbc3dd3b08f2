//! Bags between ranks that are threads: exact in every run, whatever the messages' order.

mod common;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use common::{hash, nodes, tree, watched};
use roving::Pool;
use roving_dist::{Bag, Error, Local, Plan, World};
use serde::{Deserialize, Deserializer, Serialize};

/// Counts a tree of about so many nodes on `plan`'s ranks, with so many workers each.
fn count(plan: &Plan, workers: usize, seed: u64) -> Vec<u64> {
    World::threads_with(plan, |world| {
        let pool = Pool::new(workers).unwrap();
        Bag::new(&world)
            .run(&pool, [(seed, 0)], tree, |a, b| a + b)
            .unwrap()
    })
}

#[test]
fn counts_are_exact_on_1_2_4_and_8_ranks_in_100_runs() {
    watched(Duration::from_secs(300), || {
        for run in 0..100 {
            let expected = nodes((run, 0));
            for ranks in [1, 2, 4, 8] {
                let found = count(&Plan::new(ranks), 1 + run as usize % 2, run);
                assert_eq!(found, vec![expected; ranks], "run {run}, {ranks} ranks");
            }
        }
    });
}

#[test]
fn counts_are_exact_when_messages_are_late() {
    watched(Duration::from_secs(300), || {
        for seed in 0..40 {
            let delay = Duration::from_micros(hash(seed) % 2000);
            let plan = Plan::new(2 + seed as usize % 5).seed(seed).delay_max(delay);
            let expected = nodes((seed, 0));
            for found in count(&plan, 1, seed) {
                assert_eq!(found, expected, "seed {seed}");
            }
        }
    });
}

/// Each rank's outcome for a bag of numbers that count down to 0.
fn count_down(
    ranks: usize,
    work: impl Fn(u64, &mut Local<'_, u64, u64>) + Sync,
) -> Vec<Result<u64, Error>> {
    World::threads(ranks, |world| {
        let pool = Pool::new(1).unwrap();
        Bag::new(&world).run(&pool, [0], &work, |a, b| a + b)
    })
}

#[test]
fn a_panic_in_a_task_is_an_error_on_all_other_ranks() {
    watched(Duration::from_secs(300), || {
        let outcome = std::panic::catch_unwind(|| {
            count_down(3, |number, local| {
                assert!(number < 100, "number {number}");
                local.push(number + 1);
                local.push(number + 1);
            })
        });
        let payload = outcome.unwrap_err().downcast::<String>().unwrap();
        assert_eq!(*payload, "number 100");
    });
}

#[test]
fn a_failure_while_tasks_run_ends_the_bag_on_all_ranks() {
    watched(Duration::from_secs(300), || {
        let errors = World::threads(3, |world| {
            let pool = Pool::new(2).unwrap();
            let work = |number: u64, local: &mut Local<'_, u64, u64>| {
                if number == 500 {
                    world.fail("out of paper");
                }
                local.push(number + 1);
            };
            Bag::new(&world)
                .run(&pool, [0], work, |a, b| a + b)
                .unwrap_err()
        });
        for error in errors {
            assert!(error.to_string().ends_with("out of paper"), "{error}");
        }
    });
}

#[test]
fn an_empty_bag_ends_and_several_bags_follow_each_other() {
    watched(Duration::from_secs(300), || {
        let sums = World::threads(4, |world| {
            let pool = Pool::new(1).unwrap();
            let bag = Bag::new(&world);
            let empty = bag.run(
                &pool,
                [],
                |number: u64, local| local.add(number),
                |a, b| a + b,
            );
            let sums: Vec<u64> = (0..50)
                .map(|last| {
                    bag.run(
                        &pool,
                        0..last,
                        |number, local| local.add(number),
                        |a, b| a + b,
                    )
                    .unwrap()
                })
                .collect();
            (empty.unwrap(), sums)
        });
        for (empty, sums) in sums {
            assert_eq!(empty, 0);
            assert!(
                sums.iter()
                    .zip(0_u64..)
                    .all(|(sum, last)| *sum == last * last.saturating_sub(1) / 2)
            );
        }
    });
}

#[test]
fn all_ranks_get_work_and_the_roots_are_those_of_rank_0() {
    watched(Duration::from_secs(300), || {
        let (has_work, added) = ([false; 4].map(AtomicBool::new), AtomicU64::new(0));
        let ran = World::threads(4, |world| {
            let pool = Pool::new(1).unwrap();
            let roots = if world.rank() == 0 { 0..400_u64 } else { 0..7 };
            let bag = Bag::new(&world);
            let work = |number, local: &mut Local<'_, u64, Vec<u64>>| {
                std::thread::sleep(Duration::from_micros(300));
                local.result().resize(4, 0);
                local.result()[world.rank()] += 1;
                // Ordering: Relaxed, all; flags and a count. There is another task for each that
                // ends until all ranks have had one, whenever they come to ask.
                has_work[world.rank()].store(true, Ordering::Relaxed);
                if !has_work.iter().all(|one| one.load(Ordering::Relaxed)) {
                    added.fetch_add(1, Ordering::Relaxed);
                    local.push(number);
                }
            };
            let add = |a: Vec<u64>, b: Vec<u64>| {
                (0..4)
                    .map(|rank| a.get(rank).unwrap_or(&0) + b.get(rank).unwrap_or(&0))
                    .collect()
            };
            bag.run(&pool, roots, work, add).unwrap()
        });
        for counts in ran {
            // Ordering: Relaxed; the ranks have ended.
            let all = 400 + added.load(Ordering::Relaxed);
            assert_eq!(counts.iter().sum::<u64>(), all, "{counts:?}");
            assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
        }
    });
}

#[test]
fn a_panic_of_reduce_ends_tasks_that_would_go_on() {
    watched(Duration::from_secs(300), || {
        let outcome = std::panic::catch_unwind(|| {
            World::threads(1, |world| {
                let pool = Pool::new(2).unwrap();
                // One of two workers has the number that counts up for ever, and the other comes to
                // an end.
                let work = |number: u64, local: &mut Local<'_, u64, u64>| {
                    if number >= 1000 {
                        local.push(number + 1);
                    }
                    *local.result() += 1;
                };
                let reduce = |_, _| panic!("no sums today");
                Bag::new(&world).run(&pool, 0..=1000, work, reduce)
            })
        });
        let payload = outcome.unwrap_err().downcast::<&str>().unwrap();
        assert_eq!(*payload, "no sums today");
    });
}

#[test]
fn a_panic_of_the_roots_is_an_error_on_the_other_ranks() {
    watched(Duration::from_secs(300), || {
        let errors = World::threads(2, |world| {
            let pool = Pool::new(1).unwrap();
            let roots = (0..10_u64).inspect(|number| assert!(*number < 5, "no more roots"));
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                Bag::new(&world).run(&pool, roots, |_, local| local.add(1_u64), |a, b| a + b)
            }));
            match outcome {
                Ok(found) => found.unwrap_err().to_string(),
                // The one whose roots they are goes on, and must not leave the others waiting.
                Err(_) => world.barrier().unwrap_err().to_string(),
            }
        });
        for error in errors {
            let expected = "rank 0 of 2: the roots of a bag panicked: no more roots";
            assert_eq!(error, expected);
        }
    });
}

/// How often a result has been read from bytes.
static READ: AtomicUsize = AtomicUsize::new(0);

#[derive(Clone, Default, PartialEq, Eq, Debug, Serialize)]
struct Numbers(Vec<u64>);

impl<'de> Deserialize<'de> for Numbers {
    fn deserialize<D: Deserializer<'de>>(bytes: D) -> Result<Self, D::Error> {
        // Ordering: Relaxed; a count, read when the ranks have ended.
        READ.fetch_add(1, Ordering::Relaxed);
        Vec::deserialize(bytes).map(Numbers)
    }
}

#[test]
fn only_rank_0_gets_the_results_of_all_and_the_others_the_total() {
    watched(Duration::from_secs(300), || {
        let totals = World::threads(4, |world| {
            let pool = Pool::new(1).unwrap();
            let work = |number, local: &mut Local<'_, u64, Numbers>| {
                local.result().0.push(number);
            };
            let reduce = |mut a: Numbers, mut b: Numbers| {
                a.0.append(&mut b.0);
                a
            };
            Bag::new(&world)
                .run(&pool, 0..10_000, work, reduce)
                .unwrap()
        });
        for mut total in totals {
            total.0.sort_unstable();
            assert!(total.0.iter().copied().eq(0..10_000));
        }
        // Ordering: Relaxed; the ranks have ended.
        assert_eq!(READ.load(Ordering::Relaxed), 3 + 3);
    });
}

thread_local! {
    static HAS_NO_RESULT: Cell<bool> = const { Cell::new(false) };
}

#[derive(Debug, Serialize, Deserialize)]
struct Sum(u64);

impl Default for Sum {
    fn default() -> Sum {
        assert!(!HAS_NO_RESULT.get(), "there is no sum");
        Sum(0)
    }
}

/// The result of nothing is made by the program's own code, on each rank before any task.
#[test]
fn a_panic_that_makes_no_result_is_an_error_on_all_other_ranks() {
    watched(Duration::from_secs(300), || {
        let outcomes = World::threads(3, |world| {
            HAS_NO_RESULT.set(world.rank() == 1);
            let pool = Pool::new(1).unwrap();
            let run = || {
                let work = |number: u64, local: &mut Local<'_, u64, Sum>| local.add(Sum(number));
                Bag::new(&world).run(&pool, 0..100, work, |a, b| Sum(a.0 + b.0))
            };
            catch_unwind(AssertUnwindSafe(run))
        });
        for (rank, outcome) in outcomes.into_iter().enumerate() {
            match outcome {
                Ok(ran) => {
                    let error = ran.unwrap_err().to_string();
                    assert!(
                        rank != 1 && error.contains("there is no sum"),
                        "{rank}: {error}"
                    );
                }
                Err(_) => assert_eq!(rank, 1),
            }
        }
    });
}
