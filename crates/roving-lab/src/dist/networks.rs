//! Networks across ranks: the same programs as on one, with the first process on rank 0, which
//! keeps what was found.

use std::time::{Duration, Instant};

use roving::Pool;
use roving_dist::{Checkpoints, Network, NetworkError, World};

use super::report::{RanksReport, failure};
use super::settings::RankSettings;
use crate::io::input::{BadInput, CommandFailure};
use crate::job::report::Seconds;
use crate::job::settings::RunArgs;
use crate::networks::builder::Across;
use crate::networks::chain::ProcessChain;
use crate::networks::compress::Compress;
use crate::networks::h264::H264;
use crate::networks::kmeans::Kmeans;
use crate::networks::random::RandomNetwork;
use crate::networks::ring::Ring;
use crate::networks::scatter::Scatter;
use crate::networks::{NetworkJob, NetworkProgram};
use crate::timing::times::Times;
use crate::workloads::{Evidence, RunAnswer};

/// A program that is woven by the same code on one rank and across several.
trait Woven: NetworkProgram {
    /// Makes the processes and channels of one run.
    fn weave_across<'env>(&'env self, network: &mut Across<'_, 'env>);

    /// The answer of this rank's processes. All that the others found is added to it.
    fn part(&self, is_first: bool) -> RunAnswer {
        match is_first {
            true => self.answer(),
            false => RunAnswer::default(),
        }
    }
}

macro_rules! woven {
    ($($program:ident)+) => {
        $(impl Woven for $program {
            fn weave_across<'env>(&'env self, network: &mut Across<'_, 'env>) {
                self.weave_in(network);
            }
        })+
    };
}

woven!(Ring Scatter Kmeans Compress ProcessChain H264);

impl Woven for RandomNetwork {
    fn weave_across<'env>(&'env self, network: &mut Across<'_, 'env>) {
        self.weave_in(network);
    }

    /// Its processes add what they found wherever they are.
    fn part(&self, _: bool) -> RunAnswer {
        self.answer()
    }
}

/// `roving run ring --dist`.
pub(super) fn ring(
    world: &World,
    args: &RunArgs,
    settings: &RankSettings,
) -> Result<RanksReport, CommandFailure> {
    let ring = Ring::parse(input(args, "ring"))?;
    run(world, settings, "ring", ring)
}

/// `roving run scatter-gather --dist`.
pub(super) fn scatter(
    world: &World,
    args: &RunArgs,
    settings: &RankSettings,
) -> Result<RanksReport, CommandFailure> {
    let mut scatter = Scatter::parse(input(args, "scatter-gather"))?;
    if settings.checkpoints.is_some() && scatter.is_timed() {
        let allowed = "turns of a loop with --checkpoints, as in work=3000";
        let remedy = "give turns: how many a time has is measured anew when a run is started again";
        let bad = BadInput::new("scatter-gather", scatter.input(), allowed, remedy);
        return Err(bad.into());
    }
    share_turns(world, &mut scatter.turns)?;
    run(world, settings, "scatter-gather", scatter)
}

/// `roving run random --dist`.
pub(super) fn random(
    world: &World,
    args: &RunArgs,
    settings: &RankSettings,
) -> Result<RanksReport, CommandFailure> {
    let mut random = RandomNetwork::parse(input(args, "random"))?;
    share_turns(world, &mut random.turns)?;
    run(world, settings, "random", random)
}

/// `roving run h264 --dist`.
pub(super) fn h264(
    world: &World,
    args: &RunArgs,
    settings: &RankSettings,
) -> Result<RanksReport, CommandFailure> {
    let mut h264 = H264::parse(input(args, "h264"))?;
    share_turns(world, &mut h264.turns)?;
    run(world, settings, "h264", h264)
}

/// `roving run chain --dist`.
pub(super) fn chain(
    world: &World,
    args: &RunArgs,
    settings: &RankSettings,
) -> Result<RanksReport, CommandFailure> {
    let chain = ProcessChain::parse(input(args, "chain"))?;
    run(world, settings, "chain", chain)
}

/// Lets all ranks take rank 0's turns of a loop for a time: each has measured for itself.
fn share_turns(world: &World, turns: &mut u64) -> Result<(), CommandFailure> {
    let all = world.all_gather(&turns.to_le_bytes()).map_err(failure)?;
    let first = all.first().and_then(|bytes| bytes.first_chunk());
    *turns = first.map_or(*turns, |bytes| u64::from_le_bytes(*bytes));
    Ok(())
}

/// Returns the sum of all ranks' parts.
pub(super) fn total(world: &World, part: RunAnswer) -> Result<RunAnswer, CommandFailure> {
    let bytes: Vec<u8> = part.0.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut total = RunAnswer::default();
    for part in world.all_gather(&bytes).map_err(failure)? {
        for (sum, word) in total.0.iter_mut().zip(part.chunks_exact(8)) {
            let word = word.first_chunk().copied().map_or(0, u64::from_le_bytes);
            *sum = sum.wrapping_add(word);
        }
    }
    Ok(total)
}

/// `roving run kmeans --dist`.
pub(super) fn kmeans(
    world: &World,
    args: &RunArgs,
    settings: &RankSettings,
) -> Result<RanksReport, CommandFailure> {
    let mut kmeans = Kmeans::parse(input(args, "kmeans"))?;
    kmeans.prepare()?;
    run(world, settings, "kmeans", kmeans)
}

/// `roving run compress --dist`. Rank 0 has the file, and writes the other one.
pub(super) fn compress(
    world: &World,
    args: &RunArgs,
    settings: &RankSettings,
) -> Result<RanksReport, CommandFailure> {
    let mut compress = Compress::parse(input(args, "compress"))?;
    let prepared = match world.rank() {
        0 => compress.prepare(),
        _ => Ok(()),
    };
    agree(world, prepared)?;
    run(world, settings, "compress", compress)
}

/// The input that was asked for, or the first one.
fn input<'a>(args: &'a RunArgs, name: &str) -> &'a str {
    let first = || NetworkJob::find(name).map_or("", |entry| entry.kind.inputs[0].0);
    args.input.as_deref().unwrap_or_else(first)
}

/// Lets all ranks fail if one has failed.
fn agree<T>(world: &World, outcome: Result<T, CommandFailure>) -> Result<T, CommandFailure> {
    let text = outcome.as_ref().err().map(CommandFailure::to_string);
    let all = world.all_gather(text.as_deref().unwrap_or("").as_bytes());
    let wrong = all.map_err(failure)?;
    let wrong = wrong.into_iter().find(|text| !text.is_empty());
    match (outcome, wrong) {
        (Ok(_), Some(text)) => Err(CommandFailure::Run(
            String::from_utf8_lossy(&text).into_owned(),
        )),
        (outcome, _) => outcome,
    }
}

fn run(
    world: &World,
    settings: &RankSettings,
    name: &'static str,
    program: impl Woven,
) -> Result<RanksReport, CommandFailure> {
    let pool = settings.pool()?;
    let checkpoints = settings.checkpoints_of(name, &program.input());
    let resumes = checkpoints.as_ref().is_some_and(Checkpoints::is_there);
    let may_move = settings.rebalance.is_some() || checkpoints.is_some();
    let is_first = world.rank() == 0;
    // The others wait: their cores are not to do the same a second time.
    let serial = match is_first {
        true => program.serial().map(Some),
        false => Ok(None),
    };
    let serial = agree(world, serial)?;
    let job_kind = &NetworkJob::find(name)
        .ok_or_else(|| CommandFailure::Run(format!("no {name}")))?
        .kind;
    let mut times = Times::default();
    let (mut crossing, mut answer) = (0, RunAnswer::default());
    let mut moved = None;
    for _ in 0..settings.repeat {
        if is_first {
            program.ready("network");
        }
        let mut network = woven(world, checkpoints.clone(), may_move, &program);
        if let Some(rebalance) = settings.rebalance {
            network.rebalance(rebalance);
        }
        let (time, report) = timed(network, world, &pool, name, &program)?;
        times.push(time);
        answer = total(world, program.part(is_first))?;
        let verdict = serial.map_or(Ok(()), |serial| verify(name, &program, answer, serial));
        agree(world, verdict)?;
        let channels = report.channels().filter(|channel| channel.crosses);
        crossing = channels.map(|channel| channel.messages).sum();
        moved = settings.rebalance.map(|_| moves(&report));
    }
    let items = program.items(&answer);
    let between = format!("{} messages", crate::io::input::grouped(crossing));
    let notes = [
        Some(("between ranks", between)),
        moved.map(|text| ("moved", text)),
        settings.resumed().filter(|_| resumes),
    ];
    Ok(RanksReport {
        workload: name,
        input: program.input(),
        ranks: world.ranks(),
        workers_per_rank: settings.workers,
        verified: match program.expected() {
            Some(_) => Evidence::Definition.word(),
            None => Evidence::Serial.word(),
        },
        items_per_s: items as f64 / times.median(),
        seconds: Seconds::from(&times),
        found: job_kind.figures.iter().copied().zip(answer.0).collect(),
        items,
        notes: notes.into_iter().flatten().collect(),
    })
}

/// One run, begun by all ranks at once.
fn timed(
    network: Network<'_>,
    world: &World,
    pool: &Pool,
    name: &str,
    program: &impl Woven,
) -> Result<(Duration, roving_dist::Report), CommandFailure> {
    world.barrier().map_err(failure)?;
    let start = Instant::now();
    let report = network
        .run(pool)
        .map_err(|error| failed(name, program, &error))?;
    Ok((program.span().unwrap_or_else(|| start.elapsed()), report))
}

/// One run of `scatter-gather`, whose processes can move, also without checkpoints.
pub(crate) fn scatter_once(
    world: &World,
    pool: &Pool,
    scatter: &Scatter,
    checkpoints: Option<Checkpoints>,
) -> Result<(Duration, RunAnswer), CommandFailure> {
    let network = woven(world, checkpoints, true, scatter);
    let (time, _) = timed(network, world, pool, "scatter-gather", scatter)?;
    Ok((time, total(world, scatter.part(world.rank() == 0))?))
}

/// The network of one run.
fn woven<'env>(
    world: &'env World,
    checkpoints: Option<Checkpoints>,
    may_move: bool,
    program: &'env impl Woven,
) -> Network<'env> {
    let mut network = Network::new(world);
    if let Some(checkpoints) = checkpoints {
        network.checkpoints(checkpoints);
    }
    program.weave_across(&mut Across {
        network: &mut network,
        may_move,
    });
    network
}

/// The moves of the last run.
fn moves(report: &roving_dist::Report) -> String {
    let bytes: u64 = report.moves.iter().map(|moved| moved.bytes).sum();
    match report.moves.last() {
        None => "nothing".into(),
        Some(last) => format!(
            "{} processes with {bytes} bytes of state; the last one after {:.3} s",
            report.moves.len(),
            last.at.as_secs_f64()
        ),
    }
}

fn failed(name: &str, program: &impl NetworkProgram, error: &NetworkError) -> CommandFailure {
    CommandFailure::Run(format!("{name} {}: {error}", program.input()))
}

/// Holds what the run found against what is known, else against the serial run.
fn verify(
    name: &str,
    program: &impl NetworkProgram,
    found: RunAnswer,
    serial: RunAnswer,
) -> Result<(), CommandFailure> {
    let want = program.expected().unwrap_or(serial);
    if found == want {
        return program.check().map_err(CommandFailure::Run);
    }
    let (found, want, input) = (found.0, want.0, program.input());
    Err(CommandFailure::Run(format!(
        "{name} {input} found {found:?}, but right are {want:?}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// On so many ranks that are threads.
    fn small(
        ranks: usize,
        name: &'static str,
        parse: impl Fn() -> Box<dyn Fn(&World) -> Result<RanksReport, CommandFailure>> + Sync,
    ) {
        for report in World::threads(ranks, |world| {
            parse()(&world).map_err(|error| error.to_string())
        }) {
            let report = report.unwrap();
            assert_eq!((report.workload, report.ranks), (name, ranks));
        }
    }

    const SETTINGS: RankSettings = RankSettings {
        workers: 1,
        repeat: 2,
        rebalance: None,
        checkpoints: None,
    };

    #[test]
    fn networks_find_the_same_across_ranks() {
        for ranks in [1, 2, 4] {
            small(ranks, "ring", || {
                Box::new(|world| {
                    run(
                        world,
                        &SETTINGS,
                        "ring",
                        Ring::parse("processes=20,rounds=5")?,
                    )
                })
            });
            small(ranks, "scatter-gather", || {
                Box::new(|world| {
                    run(
                        world,
                        &SETTINGS,
                        "scatter-gather",
                        Scatter::parse("5,work=10,rounds=4")?,
                    )
                })
            });
            small(ranks, "scatter-gather", || {
                Box::new(|world| {
                    let settings = RankSettings {
                        rebalance: Some(roving_dist::Rebalance::default()),
                        ..SETTINGS
                    };
                    let scatter = Scatter::parse("9,work=100,rounds=40,uneven=1")?;
                    run(world, &settings, "scatter-gather", scatter)
                })
            });
            small(ranks, "kmeans", || {
                Box::new(|world| {
                    let mut kmeans = Kmeans::parse("rounds=3,points=500,clusters=7,processes=4")?;
                    kmeans.prepare()?;
                    run(world, &SETTINGS, "kmeans", kmeans)
                })
            });
            small(ranks, "chain", || {
                Box::new(|world| {
                    let chain = ProcessChain::parse("processes=500,tokens=3")?;
                    run(world, &SETTINGS, "chain", chain)
                })
            });
            small(ranks, "h264", || {
                Box::new(|world| {
                    let mut h264 = H264::parse("3,frames=4,frame_us=50")?;
                    share_turns(world, &mut h264.turns)?;
                    run(world, &SETTINGS, "h264", h264)
                })
            });
            small(ranks, "random", || {
                Box::new(|world| {
                    let mut random = RandomNetwork::parse("B,division=20,work_ms=1")?;
                    share_turns(world, &mut random.turns)?;
                    run(world, &SETTINGS, "random", random)
                })
            });
            small(ranks, "compress", || {
                Box::new(|world| {
                    let mut compress = Compress::parse("1,block_kib=64,lanes=3")?;
                    if world.rank() == 0 {
                        compress.prepare()?;
                    }
                    run(world, &SETTINGS, "compress", compress)
                })
            });
        }
    }
}
