//! Checkpoints: a run that is lost at any moment resumes to the exact count.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{Moment, Node, children, hash, nodes, tree, watched};
use roving::Pool;
use roving_dist::{Bag, Checkpoints, Error, Local, Plan, World};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn directory(name: &str) -> PathBuf {
    let directory = std::env::temp_dir().join(format!("roving-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&directory);
    directory
}

/// Counts the trees with this number, with a cut as often as possible. At `end` a rank gives up.
fn count(
    plan: &Plan,
    checkpoints: &Checkpoints,
    seed: u64,
    end: Option<&Moment>,
) -> Vec<Result<u64, Error>> {
    World::threads_with(plan, |world| {
        let pool = Pool::new(1 + world.rank() % 2).unwrap();
        let bag = Bag::new(&world).checkpoints(checkpoints.clone());
        let work = |node: Node, local: &mut Local<'_, _, _>| {
            if end.is_some_and(Moment::has_come) {
                world.fail("stopped");
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

/// A cancelled token drops what one worker has offered to another: the run ends with an error on
/// all ranks, records nothing of it, and what it had recorded before resumes to all of it.
#[test]
fn a_cancelled_bag_is_an_error_and_resumes_to_the_exact_count() {
    watched(Duration::from_secs(300), || {
        let directory = directory("cancelled");
        let checkpoints = Checkpoints::to(&directory)
            .every(Duration::ZERO)
            .resume(true);
        for ranks in [1, 2] {
            let end = Moment::new(&directory, 0, true);
            let cancelled = World::threads(ranks, |world| {
                let pool = Pool::new(4).unwrap();
                let cancel = roving::Cancel::new();
                let bag = Bag::new(&world).checkpoints(checkpoints.clone());
                let work = |node: Node, local: &mut Local<'_, _, _>| {
                    // The first rank's token, when there is something to resume from.
                    match world.rank() {
                        0 if end.has_come() => cancel.cancel(),
                        0 => {}
                        _ => std::thread::sleep(Duration::from_millis(1)),
                    }
                    tree(node, local);
                };
                cancel.run_partial(|| bag.run(&pool, roots(3), work, |a, b| a + b))
            });
            for found in cancelled {
                let error = found.unwrap().unwrap_err().to_string();
                assert!(error.contains("rank 0 of"), "{error}");
                assert!(error.contains("the bag was cancelled"), "{error}");
            }
            assert!(end.is_saved());
            for found in count(&Plan::new(2), &checkpoints, 3, None) {
                assert_eq!(found.unwrap(), expected(3), "{ranks} ranks");
            }
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
                    1 => {
                        let end = Moment::new(&directory, hash(seed) % 40, true);
                        count(&plan, &checkpoints, seed, Some(&end))
                    }
                    // A rank is lost, at another moment each time, and once it is not. Without a
                    // core one is silent as well: for less than it may be, some time.
                    _ => {
                        let packets = (2 + hash(seed * 7) % 40) * (attempt - 1);
                        let lossy = plan.lose(lost, packets);
                        let lossy = lossy.silence_max(Duration::from_millis(50 * (attempt - 1)));
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
fn another_program_does_not_resume_and_other_ranks_do() {
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
    assert!(
        other.contains("of `a` with tasks `u64` and result `u64`, and this is `b`"),
        "{other}"
    );
    let types = World::threads(2, |world| {
        let pool = Pool::new(1).unwrap();
        let bag = Bag::new(&world).checkpoints(checkpoints("a"));
        bag.run(&pool, [0_u64], |_, local| local.add(0_u32), |a, b| a + b)
    });
    let types = types[0].as_ref().unwrap_err().to_string();
    assert!(types.contains("and result `u32`"), "{types}");
    assert!(resume(3, "a").is_ok());
    assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
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

/// A search whose result is another one where a task was lost or ran twice, even where both happen.
struct Search<T> {
    root: fn(u64) -> T,
    look: Look<T>,
}

/// Pushes the tasks that a task adds; returns a number of its own, and whether it counts.
type Look<T> = fn(&T, &mut dyn FnMut(T)) -> (u64, bool);

/// How many tasks there were, how many count, and the sum of their numbers.
type Found = (u64, u64, u64);

fn add(a: Found, b: Found) -> Found {
    (a.0 + b.0, a.1 + b.1, a.2.wrapping_add(b.2))
}

/// The nodes of an unbalanced tree; the leaves count.
const TREE: Search<Node> = Search {
    root: |seed| (seed, 0),
    look: |node, push| {
        let mut is_leaf = true;
        for child in children(*node) {
            is_leaf = false;
            push(child);
        }
        (hash(node.0), is_leaf)
    },
};

/// The ways to put eight queens on a board, a task for each queen; whole boards count.
const QUEENS: Search<(u64, Vec<u8>)> = Search {
    root: |seed| (seed, Vec::new()),
    look: |(seed, columns), push| {
        for column in 0..8 {
            let hits = |(row, other): (usize, &u8)| {
                column == *other || usize::from(column.abs_diff(*other)) == columns.len() - row
            };
            if columns.len() < 8 && !columns.iter().enumerate().any(hits) {
                let mut more = columns.clone();
                more.push(column);
                push((*seed, more));
            }
        }
        let number = columns.iter().fold(*seed, |number, column| {
            hash(number.wrapping_add(u64::from(*column)))
        });
        (number, columns.len() == 8)
    },
};

impl<T: Serialize + DeserializeOwned + Send + 'static> Search<T> {
    fn serial(&self, seed: u64) -> Found {
        let (mut open, mut found) = (vec![(self.root)(seed)], Found::default());
        while let Some(task) = open.pop() {
            let (number, counts) = (self.look)(&task, &mut |task| open.push(task));
            found = add(found, (1, u64::from(counts), number));
        }
        found
    }

    /// One run by these ranks. At `end`, a rank gives up.
    fn run(
        &self,
        plan: &Plan,
        checkpoints: &Checkpoints,
        seed: u64,
        end: Option<&Moment>,
    ) -> Vec<Result<Found, Error>> {
        World::threads_with(plan, |world| {
            let pool = Pool::new(1 + world.rank() % 2).unwrap();
            let bag = Bag::new(&world).checkpoints(checkpoints.clone());
            let work = |task: T, local: &mut Local<'_, T, Found>| {
                // Long enough for some cuts to be made.
                std::hint::black_box((0..2000).fold(0, |sum, step| hash(sum + step)));
                if end.is_some_and(Moment::has_come) {
                    world.fail("killed");
                }
                let (number, counts) = (self.look)(&task, &mut |task| local.push(task));
                local.add((1, u64::from(counts), number));
            };
            bag.run(&pool, [(self.root)(seed)], work, add)
        })
    }

    /// A search that is killed some times at random moments, on another number of ranks each time,
    /// and then is not: how often it was killed, and how often it resumed on another number.
    fn kill_and_resume(&self, seed: u64) -> (u64, u64) {
        let directory = directory(&format!("moves-{seed}"));
        let checkpoints = Checkpoints::to(&directory)
            .every(Duration::ZERO)
            .resume(true);
        let expected = self.serial(seed);
        let (mut kills, mut moved) = (0, 0);
        let (most, mut saved_by) = (1 + hash(seed) % 5, None);
        let latest = || fs::read(directory.join("latest")).ok();
        for attempt in 0.. {
            let draw = hash(seed * 1000 + attempt);
            let ranks = 1 + draw as usize % 7;
            let before = latest();
            let delay = Duration::from_micros(hash(draw) % 300);
            let plan = Plan::new(ranks).seed(draw).delay_max(delay);
            let lost = (draw >> 8) as usize % ranks;
            moved += u64::from(saved_by.is_some_and(|saved_by| saved_by != ranks));
            let found = match () {
                () if kills >= most => self.run(&plan, &checkpoints, seed, None),
                () if ranks > 1 && draw >> 16 & 1 == 1 => {
                    let plan = plan.lose(lost, 2 + (draw >> 20) % 300);
                    let plan = plan.silence_max(Duration::from_millis(50));
                    self.run(&plan, &checkpoints, seed, None)
                }
                () => {
                    let end = Moment::new(&directory, (draw >> 20) % expected.0, true);
                    self.run(&plan, &checkpoints, seed, Some(&end))
                }
            };
            if found.iter().all(Result::is_ok) {
                for found in found {
                    assert_eq!(found.unwrap(), expected, "seed {seed}, {kills} kills");
                }
                break;
            }
            assert!(attempt < 50, "seed {seed}: {found:?}");
            kills += 1;
            if latest() != before {
                saved_by = Some(ranks);
            }
        }
        fs::remove_dir_all(&directory).unwrap();
        (kills, moved)
    }
}

#[test]
fn a_bag_resumes_on_other_numbers_of_ranks_to_the_exact_result() {
    let all = std::env::var_os("ROVING_DEEP").is_some();
    let wanted = if all { 400 } else { 40 };
    watched(Duration::from_secs(300), || {
        let (mut kills, mut moved) = (0, 0);
        for seed in 0.. {
            let (killed, elsewhere) = match seed % 2 {
                0 => TREE.kill_and_resume(seed),
                _ => QUEENS.kill_and_resume(seed),
            };
            kills += killed;
            moved += elsewhere;
            if kills >= wanted {
                break;
            }
        }
        println!("{kills} kills, and {moved} runs that resumed on another number of ranks");
        assert!(moved > kills / 4, "{moved} of {kills}");
    });
}

/// The errors of two ranks that are given what four have left.
fn refused(directory: &Path) -> Vec<String> {
    let plan = Plan::new(2);
    let checkpoints = Checkpoints::to(directory).resume(true);
    let found = TREE.run(&plan, &checkpoints, 5, None);
    let errors = found
        .into_iter()
        .map(|found| found.unwrap_err().to_string());
    errors.collect()
}

#[test]
fn what_is_missing_or_damaged_is_refused_by_name_on_all_ranks() {
    let directory = directory("refused");
    watched(Duration::from_secs(300), || {
        let checkpoints = Checkpoints::to(&directory)
            .every(Duration::ZERO)
            .resume(true);
        let expected = TREE.serial(5);
        let end = Moment::new(&directory, expected.0 / 40, true);
        let found = TREE.run(&Plan::new(4), &checkpoints, 5, Some(&end));
        assert!(found.iter().all(Result::is_err), "it has ended before");
        assert!(end.is_saved());
        // A run that is killed may leave two cuts: the one that `latest` names, and a newer or an
        // older one.
        let cuts = fs::read_dir(&directory).unwrap().flatten();
        let thirds: Vec<_> = cuts
            .map(|cut| cut.path().join("rank-3"))
            .filter_map(|third| fs::read(&third).ok().map(|whole| (third, whole)))
            .collect();
        for (third, _) in &thirds {
            fs::remove_file(third).unwrap();
        }
        let errors = refused(&directory);
        for error in &errors {
            assert!(
                error.starts_with("rank 1 of 2: checkpoint `")
                    && error.contains("rank-3` is missing, one of the 4 files"),
                "{error}"
            );
        }
        let is_named = |third: &Path| errors[0].contains(&*third.to_string_lossy());
        let named = thirds.into_iter().find(|(third, _)| is_named(third));
        let (third, whole) = named.expect("the file that is missing");
        let mut damaged = whole.clone();
        damaged[whole.len() / 2] ^= 4;
        fs::write(&third, &damaged).unwrap();
        for error in refused(&directory) {
            assert!(error.contains("rank-3` is damaged: remove"), "{error}");
        }
        // What was refused is still there.
        fs::write(&third, &whole).unwrap();
        for found in TREE.run(&Plan::new(2), &checkpoints, 5, None) {
            assert_eq!(found.unwrap(), expected);
        }
    });
    fs::remove_dir_all(&directory).unwrap();
}
