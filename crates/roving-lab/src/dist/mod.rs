//! `roving run … --dist`: programs across ranks. Each rank runs the same; rank 0 prints.

mod bags;
pub(crate) mod networks;
mod report;
pub(crate) mod settings;
pub(crate) mod uts;

use roving_dist::World;

use crate::io::input::{BadInput, CommandFailure};
use crate::io::out::Sink;
use crate::job::settings::RunArgs;
use report::RanksReport;
pub(crate) use report::failure;
use settings::RankSettings;

/// A program that runs across ranks.
struct RankProgram {
    name: &'static str,
    /// Every rank calls it; only rank 0's report is shown.
    run: fn(&World, &RunArgs, &RankSettings) -> Result<RanksReport, CommandFailure>,
    /// It has processes that can.
    may_move: bool,
    /// It can be checkpointed: a bag, or a network by steps.
    resumes: bool,
}

/// All of them.
const PROGRAMS: [RankProgram; if cfg!(feature = "gpu") { 10 } else { 9 }] = [
    RankProgram {
        resumes: true,
        ..program("uts", uts::run)
    },
    RankProgram {
        resumes: true,
        ..program("nqueens", bags::nqueens)
    },
    #[cfg(feature = "gpu")]
    RankProgram {
        resumes: true,
        ..program("mandelbrot", bags::mandelbrot)
    },
    RankProgram {
        resumes: true,
        ..program("ring", networks::ring)
    },
    RankProgram {
        may_move: true,
        resumes: true,
        ..program("scatter-gather", networks::scatter)
    },
    RankProgram {
        resumes: true,
        ..program("kmeans", networks::kmeans)
    },
    program("compress", networks::compress),
    program("random", networks::random),
    program("h264", networks::h264),
    RankProgram {
        resumes: true,
        ..program("chain", networks::chain)
    },
];

const fn program(
    name: &'static str,
    run: fn(&World, &RunArgs, &RankSettings) -> Result<RanksReport, CommandFailure>,
) -> RankProgram {
    RankProgram {
        name,
        run,
        may_move: false,
        resumes: false,
    }
}

/// `roving run … --dist`.
pub(crate) fn run(args: &RunArgs) -> Result<(), CommandFailure> {
    let world =
        World::init().map_err(|error| CommandFailure::Input(BadInput::line(error.to_string())))?;
    let is_first = world.rank() == 0;
    let outcome = run_in(&world, args);
    let parted = world
        .finish()
        .map_err(|error| CommandFailure::Run(error.to_string()));
    // What went wrong went wrong on all ranks, and is said once.
    if is_first {
        outcome.and(parted)
    } else {
        Ok(())
    }
}

fn run_in(world: &World, args: &RunArgs) -> Result<(), CommandFailure> {
    let Some(program) = PROGRAMS
        .iter()
        .find(|program| program.name == args.workload)
    else {
        let names: Vec<_> = PROGRAMS.iter().map(|program| program.name).collect();
        let allowed = format!("one of {}", names.join(", "));
        return Err(BadInput::new("--dist of", &args.workload, allowed, "leave --dist out").into());
    };
    let settings = RankSettings::parse(world, args)?;
    if let (Some(place), true) = (
        &args.placement,
        settings.rebalance.is_some() && !program.may_move,
    ) {
        let movable = PROGRAMS.iter().filter(|one| one.may_move);
        let names: Vec<_> = movable.map(|one| one.name).collect();
        let allowed = format!(
            "stealing for {}: it has no processes that move",
            program.name
        );
        let remedy = format!("leave it out, or run {}", names.join(" or "));
        return Err(BadInput::new("--placement with --dist", place, allowed, remedy).into());
    }
    if let (Some((directory, _)), false) = (&settings.checkpoints, program.resumes) {
        let resuming = PROGRAMS.iter().filter(|one| one.resumes);
        let names: Vec<_> = resuming.map(|one| one.name).collect();
        let allowed = format!("one of {}", names.join(", "));
        let directory = directory.display();
        let remedy = "leave it out";
        return Err(BadInput::new("--checkpoints", directory, allowed, remedy).into());
    }
    let sink = match world.rank() {
        0 => Some(Sink::open(args.json.as_deref())),
        _ => None,
    };
    // Whether rank 0 can write is everybody's business.
    let can_write = !matches!(sink, Some(Err(_)));
    let all = world.all_gather(&[u8::from(can_write)]).map_err(failure)?;
    if all.iter().any(|one| one != &[1]) {
        let line = "rank 0 cannot write what `--json` names";
        return Err(match sink {
            Some(Err(error)) => error.into(),
            _ => CommandFailure::Run(line.into()),
        });
    }
    let report = (program.run)(world, args, &settings)?;
    match sink {
        Some(sink) => sink?.write(&report.json(), &report.table()),
        None => Ok(()),
    }
}
