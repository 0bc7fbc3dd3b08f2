//! Programs that are bags by nature: searches, and pictures in tiles.

use std::time::{Duration, Instant};

use roving::Pool;
use roving_dist::{Bag, Checkpoints, Local, World};

#[cfg(feature = "gpu")]
use super::networks;
use super::report::{RanksReport, failure};
use super::settings::RankSettings;
#[cfg(feature = "gpu")]
use crate::duals::DualProgram as _;
#[cfg(feature = "gpu")]
use crate::duals::mandelbrot::Mandelbrot;
use crate::io::input::CommandFailure;
use crate::job::report::Seconds;
use crate::job::settings::RunArgs;
use crate::timing::times::Times;
use crate::workloads::nqueens::{Nqueens, QueensBoard};
use crate::workloads::{Evidence, RunAnswer, Workload};

/// A bag, with checkpoints or without.
pub(super) fn bag(world: &World, checkpoints: Option<Checkpoints>) -> Bag<'_> {
    let bag = Bag::new(world);
    match checkpoints {
        Some(checkpoints) => bag.checkpoints(checkpoints),
        None => bag,
    }
}

/// A program that is run as a bag, and its answer.
pub(super) struct Searched {
    pub(super) name: &'static str,
    pub(super) input: String,
    pub(super) figures: &'static [&'static str],
    pub(super) expected: RunAnswer,
    pub(super) evidence: Evidence,
    pub(super) items: u64,
}

impl Searched {
    /// A workload of the laboratory, whose answer is known.
    pub(super) fn of<W: Workload>(work: &W, expected: RunAnswer, evidence: Evidence) -> Searched {
        Searched {
            name: W::NAME,
            input: work.input(),
            figures: W::FIGURES,
            expected,
            evidence,
            items: work.items(&expected),
        }
    }

    /// Runs and verifies it as `settings` say. `search` is one run by all ranks.
    pub(super) fn run(
        self,
        world: &World,
        settings: &RankSettings,
        mut search: impl FnMut(
            &Pool,
            Option<Checkpoints>,
        ) -> Result<(Duration, RunAnswer), CommandFailure>,
    ) -> Result<RanksReport, CommandFailure> {
        let Searched { name, expected, .. } = self;
        let pool = settings.pool()?;
        let checkpoints = settings.checkpoints_of(name, &self.input);
        let resumes = checkpoints.as_ref().is_some_and(Checkpoints::is_there);
        let mut times = Times::default();
        for _ in 0..settings.repeat {
            let (time, found) = search(&pool, checkpoints.clone())?;
            if found != expected {
                return Err(CommandFailure::Run(format!(
                    "{name} {}: found {:?}, expected {:?}",
                    self.input, found.0, expected.0
                )));
            }
            times.push(time);
        }
        let notes = resumes.then(|| settings.resumed()).flatten();
        Ok(RanksReport {
            workload: name,
            input: self.input,
            ranks: world.ranks(),
            workers_per_rank: settings.workers,
            verified: self.evidence.word(),
            items_per_s: self.items as f64 / times.median(),
            seconds: Seconds::from(&times),
            found: self.figures.iter().copied().zip(expected.0).collect(),
            items: self.items,
            notes: notes.into_iter().collect(),
        })
    }
}

/// A run that all ranks begin at once, and its time.
pub(super) fn timed<R>(
    world: &World,
    run: impl FnOnce() -> Result<R, roving_dist::Error>,
) -> Result<(Duration, R), CommandFailure> {
    world.barrier().map_err(failure)?;
    let start = Instant::now();
    let found = run().map_err(failure)?;
    Ok((start.elapsed(), found))
}

/// `roving run nqueens --dist`.
pub(super) fn nqueens(
    world: &World,
    args: &RunArgs,
    settings: &RankSettings,
) -> Result<RanksReport, CommandFailure> {
    let work = Nqueens::parse(args.input.as_deref().unwrap_or(Nqueens::INPUTS[0].0))?;
    let n = work.n;
    let (expected, evidence) = work.expected().ok_or_else(|| {
        CommandFailure::Run(format!("nobody knows how many ways there are for {n}"))
    })?;
    let searched = Searched::of(&work, expected, evidence);
    searched.run(world, settings, |pool, checkpoints| {
        let (time, found) = timed(world, || {
            let place = |board: QueensBoard, local: &mut Local<'_, QueensBoard, u64>| {
                if board.rows == n {
                    *local.result() += 1;
                }
                let columns = 0..if board.rows < n { n as u8 } else { 0 };
                for column in columns.filter(|column| board.is_safe(*column)) {
                    local.push(board.with(column));
                }
            };
            bag(world, checkpoints).run(pool, [QueensBoard::default()], place, |a, b| a + b)
        })?;
        Ok((time, RunAnswer([found, 0, 0])))
    })
}

/// `roving run mandelbrot --dist`: each tile is a task, and rank 0 gets the picture.
#[cfg(feature = "gpu")]
pub(super) fn mandelbrot(
    world: &World,
    args: &RunArgs,
    settings: &RankSettings,
) -> Result<RanksReport, CommandFailure> {
    let (name, usual) = Mandelbrot::FIRST;
    let mut work = Mandelbrot::parse(args.input.as_deref().unwrap_or(usual))?;
    // The others wait: their cores are not to do the same a second time.
    if world.rank() == 0 {
        work.serial();
    }
    let expected = networks::total(world, work.expected())?;
    let searched = Searched {
        name,
        input: work.input(),
        figures: Mandelbrot::FIGURES,
        expected,
        evidence: Evidence::Serial,
        items: work.items(),
    };
    searched.run(world, settings, |pool, checkpoints| {
        let (time, tiles) = timed(world, || {
            let compute = |number: usize, local: &mut Local<'_, usize, Vec<(usize, Vec<u32>)>>| {
                let counts = work.tile(number);
                local.result().push((number, counts));
            };
            let add = |mut a: Vec<_>, mut b: Vec<_>| {
                a.append(&mut b);
                a
            };
            bag(world, checkpoints).run(pool, work.numbers(), compute, add)
        })?;
        let same = match world.rank() {
            0 => work.same(&tiles),
            _ => 0,
        };
        let right = networks::total(world, RunAnswer([same, 0, 0]))?;
        Ok((time, right))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: RankSettings = RankSettings {
        workers: 1,
        repeat: 2,
        rebalance: None,
        checkpoints: None,
    };

    fn words(input: &str) -> RunArgs {
        RunArgs {
            input: Some(input.to_owned()),
            ..RunArgs::default()
        }
    }

    #[test]
    fn bags_find_the_same_across_ranks() {
        for ranks in [1, 2, 3] {
            let reports = World::threads(ranks, |world| {
                let queens = nqueens(&world, &words("8"), &SETTINGS);
                queens.map_err(|error| error.to_string())
            });
            for report in reports {
                let report = report.unwrap();
                assert_eq!(report.found, [("solutions", 92)], "{ranks} ranks");
                assert_eq!(report.verified, "published");
            }
            #[cfg(feature = "gpu")]
            for report in World::threads(ranks, |world| {
                let tiles = mandelbrot(&world, &words("96,tile=16,most=300"), &SETTINGS);
                tiles.map_err(|error| error.to_string())
            }) {
                assert_eq!(
                    report.unwrap().found,
                    [("points", 96 * 96)],
                    "{ranks} ranks"
                );
            }
        }
    }

    /// A board with one solution that is lost, or found twice, is not verified.
    #[test]
    fn a_wrong_answer_is_an_error() {
        let searched = |expected| Searched {
            name: "nqueens",
            input: "8".into(),
            figures: &["solutions"],
            expected: RunAnswer([expected, 0, 0]),
            evidence: Evidence::Published,
            items: 92,
        };
        World::threads(1, |world| {
            for (found, is_right) in [(91, false), (92, true), (93, false)] {
                let run = |_: &Pool, _| Ok((Duration::ZERO, RunAnswer([found, 0, 0])));
                let report = searched(92).run(&world, &SETTINGS, run);
                assert_eq!(report.is_ok(), is_right, "{found}");
            }
        });
    }
}
