//! Checkpoints: a run that is lost at any moment resumes to the exact count.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{Node, hash, nodes, tree, watched};
use roving::Pool;
use roving_dist::{Bag, Checkpoints, Error, Local, Plan, World};

fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("roving-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    directory
}

/// Counts the trees with this number, with a cut as often as possible. Where `stop_at` is a file,
/// tasks are slow until it is there, and then some rank gives up.
fn count(
    plan: &Plan,
    checkpoints: &Checkpoints,
    seed: u64,
    stop_at: Option<&Path>,
) -> Vec<Result<u64, Error>> {
    World::threads_with(plan, |world| {
        let pool = Pool::new(1 + world.rank() % 2).unwrap();
        let bag = Bag::new(&world).checkpoints(checkpoints.clone());
        let work = |node: Node, local: &mut Local<'_, _, _>| {
            match stop_at.map(Path::exists) {
                Some(true) if node.0 % 40 == 0 => drop(world.fail("stopped")),
                Some(false) => std::thread::sleep(Duration::from_micros(20)),
                _ => {}
            }
            // Long enough for some cuts to be made.
            std::hint::black_box((0..300).fold(0, |sum, step| hash(sum + step)));
            tree(node, local);
        };
        bag.run(&pool, roots(seed), work, |a, b| a + b)
    })
}

/// The roots of the trees with this number.
fn roots(seed: u64) -> [Node; 2] {
    [(seed, 0), (seed + 1000, 0)]
}

/// How many nodes they have.
fn expected(seed: u64) -> u64 {
    roots(seed).into_iter().map(nodes).sum()
}

#[test]
fn cuts_do_not_change_the_count() {
    watched(Duration::from_secs(300), || {
        let directory = directory("cuts");
        for seed in 0..20 {
            let plan = Plan::new(1 + seed as usize % 4)
                .seed(seed)
                .delay_max(Duration::from_micros(hash(seed) % 200));
            let checkpoints = Checkpoints::to(&directory).every(Duration::ZERO);
            for found in count(&plan, &checkpoints, seed, None) {
                assert_eq!(found.unwrap(), expected(seed), "seed {seed}");
            }
            let left: Vec<_> = fs::read_dir(&directory).unwrap().collect();
            assert!(left.is_empty(), "seed {seed}: {left:?}");
        }
        fs::remove_dir_all(&directory).unwrap();
    });
}

#[test]
fn a_rank_that_is_lost_ends_the_run_and_it_resumes_to_the_exact_count() {
    watched(Duration::from_secs(300), || {
        let mut resumed = 0;
        for seed in 0..20 {
            let directory = directory(&format!("lost-{seed}"));
            let ranks = 2 + seed as usize % 3;
            let checkpoints = Checkpoints::to(&directory)
                .every(Duration::ZERO)
                .resume(true);
            let lost = hash(seed) as usize % ranks;
            let latest = directory.join("latest");
            for attempt in 1.. {
                let plan = Plan::new(ranks).seed(seed);
                let found = match attempt {
                    // A rank gives up, when there is something to resume from.
                    1 => count(&plan, &checkpoints, seed, Some(&latest)),
                    // A rank is lost, at another moment each time, and once it is not.
                    _ => {
                        let packets = (2 + hash(seed * 7) % 40) * (attempt - 1);
                        let lossy = plan.lose(lost, packets);
                        let lossy = lossy.silence_max(Duration::from_millis(50));
                        count(&lossy, &checkpoints, seed, None)
                    }
                };
                if found.iter().all(Result::is_ok) {
                    for found in found {
                        assert_eq!(found.unwrap(), expected(seed), "seed {seed}");
                    }
                    break;
                }
                assert!(attempt < 100, "seed {seed}: {found:?}");
                resumed += usize::from(latest.exists());
            }
            fs::remove_dir_all(&directory).unwrap();
        }
        println!("{resumed} runs resumed");
        assert!(resumed > 0, "no run had anything to resume from");
    });
}

#[test]
fn another_program_or_other_ranks_do_not_resume() {
    let directory = directory("strangers");
    let checkpoints = |words: &str| {
        Checkpoints::to(&directory)
            .every(Duration::ZERO)
            .program(words)
            .resume(true)
    };
    // A run that is given up when some cuts are there leaves the last.
    let failed = World::threads(2, |world| {
        let pool = Pool::new(1).unwrap();
        let bag = Bag::new(&world).checkpoints(checkpoints("a"));
        let work = |number: u64, local: &mut Local<'_, u64, u64>| {
            if directory.join("latest").exists() {
                world.fail("enough");
            }
            std::thread::sleep(Duration::from_micros(100));
            local.push(number + 1);
            *local.result() += 1;
        };
        bag.run(&pool, [0], work, |a, b| a + b).unwrap_err()
    });
    assert!(failed[1].to_string().contains("enough"), "{failed:?}");
    let resume = |ranks, words: &str| {
        let errors = World::threads(ranks, |world| {
            let pool = Pool::new(1).unwrap();
            let bag = Bag::new(&world).checkpoints(checkpoints(words));
            bag.run(&pool, [0_u64], |_, local| local.add(0_u64), |a, b| a + b)
        });
        errors.into_iter().next().unwrap()
    };
    let other = resume(2, "b").unwrap_err().to_string();
    assert!(
        other.contains("rank 0 of 2") && other.contains("another program"),
        "{other}"
    );
    let more = resume(3, "a").unwrap_err().to_string();
    assert!(more.contains("is of 2 ranks, and these are 3"), "{more}");
    assert!(resume(2, "a").is_ok());
    fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error_of_its_rank() {
    let file = directory("file");
    fs::write(&file, "in the way").unwrap();
    let errors = World::threads(2, |world| {
        let pool = Pool::new(1).unwrap();
        let bag = Bag::new(&world).checkpoints(Checkpoints::to(file.join("below")));
        let count = bag.run(&pool, [0_u64], |_, local| local.add(1_u64), |a, b| a + b);
        count.unwrap_err().to_string()
    });
    for error in errors {
        assert!(error.starts_with("rank 0 of 2: checkpoints in"), "{error}");
    }
    fs::remove_file(&file).unwrap();
}

#[test]
fn a_run_that_ranks_do_not_agree_on_leaves_the_checkpoints_that_are_there() {
    let directory = directory("agreed");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("latest"), "of another run").unwrap();
    watched(Duration::from_secs(300), || {
        let errors = World::threads(2, |world| {
            let pool = Pool::new(1).unwrap();
            let words = format!("of rank {}", world.rank());
            let checkpoints = Checkpoints::to(&directory).program(words);
            let bag = Bag::new(&world).checkpoints(checkpoints);
            bag.run(&pool, [0_u64], |_, local| local.add(1_u64), |a, b| a + b)
                .unwrap_err()
        });
        for error in errors {
            assert!(error.to_string().contains("another bag"), "{error}");
        }
    });
    assert!(directory.join("latest").exists());
    fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn checkpoints_may_be_as_seldom_as_never() {
    let directory = directory("never");
    watched(Duration::from_secs(300), || {
        let checkpoints = Checkpoints::to(&directory).every(Duration::MAX);
        for found in count(&Plan::new(2), &checkpoints, 3, None) {
            assert_eq!(found.unwrap(), expected(3));
        }
    });
    fs::remove_dir_all(&directory).unwrap();
}
