//! The drop-in beside stock Rayon: one program (`crates/rayon-core/bench`), built with one
//! `rayon-core` and the other, timed in turn. The row `rayon` of `roving bench`, and `roving
//! drop-in`.

mod alone;
mod means;
mod musts;
mod page;
mod ratio;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use self::musts::{DEMOS, MUSTS};
use self::ratio::{Ratio, geometric_mean, means_of_rounds, note};
use super::Scale;
use super::record::{Bound::AtMost, RowRecord};
use crate::io::figures::counted;
use crate::io::input::{BadInput, CommandFailure, number_in};
use crate::io::out::show;
use crate::rivals::drop_in::build::{Built, Core, build};
use crate::rivals::drop_in::server::{Server, THREADS};
use crate::rivals::drop_in::{BENCH, PROGRAM};
#[cfg(all(test, feature = "top"))]
pub(crate) use crate::rivals::drop_in::{build::CORE, server::THREADS as THREADS_OF_HELP};
use crate::timing::lanes::{TimedLane, interleave};

/// Rounds of most workloads, of those of which something must be reached, and of those that take
/// longer than [`LONG`].
const ROUNDS: usize = 15;
const ROUNDS_MUST: usize = 31;
const ROUNDS_LONG: usize = 9;
/// The fewest and the most, as the help says them.
#[cfg(all(test, feature = "top"))]
pub(crate) const ROUNDS_OF_HELP: (usize, usize) = (ROUNDS_LONG, ROUNDS_MUST);
const LONG: Duration = Duration::from_millis(500);
/// Times a program is asked for at once, and for those that take longer than [`SHORT`].
const REPETITIONS: usize = 3;
const SHORT: Duration = Duration::from_millis(40);

/// `roving drop-in`.
#[derive(Args, Debug)]
pub(crate) struct DropInArgs {
    /// Workloads; all when none is named.
    #[arg(value_name = "WORKLOAD")]
    workloads: Vec<String>,
    /// How many rounds; in each, both programs run once [default: 9 to 31].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    rounds: Option<String>,
    /// Call from a thread of the pool, not from the main thread.
    #[arg(long)]
    inside: bool,
    /// Small inputs and two rounds: shows that everything works, and measures badly.
    #[arg(long)]
    quick: bool,
    /// How many threads each of the two pools has [default: 2].
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    threads: Option<String>,
    /// The rayon-core to compare with stock [default: crates/rayon-core].
    #[arg(long, value_name = "DIR")]
    core: Option<PathBuf>,
    /// roving-iter in the place of rayon, instead of ours in that of rayon-core.
    #[arg(long, conflicts_with = "core")]
    iter: bool,
}

/// Both programs, running.
struct Pair {
    stock: Server,
    ours: Server,
    /// Of each of their pools.
    threads: usize,
    /// The two builds, of stock and of ours.
    built: [Built; 2],
    /// The name of ours in tables.
    name: &'static str,
    /// Names and groups of the workloads.
    workloads: Vec<(String, String)>,
}

impl Pair {
    fn start(core: &Core, flags: &[&str], threads: usize) -> Result<Pair, String> {
        let built = [build(BENCH, &Core::Stock)?, build(BENCH, core)?];
        let program = |side: usize| built[side].program(PROGRAM);
        Ok(Pair {
            stock: Server::start(program(0)?, &served(flags), threads)?,
            ours: Server::start(program(1)?, &served(flags), threads)?,
            threads,
            // Ours may have fewer of them.
            workloads: list(&alone::said(program(1)?, &["list"])?),
            name: core.name(),
            built,
        })
    }

    /// Times one workload in both, in so many rounds of the usual number.
    fn measure(
        &mut self,
        workload: &str,
        rounds: impl Fn(usize) -> usize,
    ) -> Result<Ratio, String> {
        // The inputs of the last workload may be large: both are made before anything is timed.
        let first = self.stock.ask(workload, 1)?;
        self.ours.ask(workload, 1)?;
        let repetitions = if first < SHORT { REPETITIONS } else { 1 };
        let usual = match MUSTS.iter().any(|must| must.workload == workload) {
            _ if first >= LONG => ROUNDS_LONG,
            true => ROUNDS_MUST,
            false => ROUNDS,
        };
        let (stock, ours) = (&mut self.stock, &mut self.ours);
        let mut lanes = [
            TimedLane::new("stock", self.threads, || stock.ask(workload, repetitions)),
            TimedLane::new(self.name, self.threads, || ours.ask(workload, repetitions)),
        ];
        let series = interleave(&mut lanes, rounds(usual))?;
        let [stock, ours] = &series[..] else {
            return Err("two lanes gave other than two series".into());
        };
        Ok(Ratio::of_times(workload, &stock.times, &ours.times))
    }
}

/// The flags that both programs get.
fn flags(args: &DropInArgs) -> Vec<&'static str> {
    let flags = [(args.quick, "--quick"), (args.inside, "--inside")];
    let set = flags.into_iter().filter(|(is_set, _)| *is_set);
    set.map(|(_, flag)| flag).collect()
}

/// The words with which a program answers for workloads.
fn served<'w>(flags: &[&'w str]) -> Vec<&'w str> {
    let words = ["serve"].into_iter().chain(flags.iter().copied());
    words.collect()
}

/// `NAME GROUP`, one a line.
fn list(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().flat_map(|line| line.split_once(' '));
    let owned = lines.map(|(name, group)| (name.to_owned(), group.to_owned()));
    owned.collect()
}

pub(super) use self::means::{crowded, iter};

/// The row `rayon`, and its page.
pub(super) fn rayon(scale: &Scale) -> Result<(RowRecord, String), CommandFailure> {
    let mut record = RowRecord::default();
    let flags: &[&str] = if scale.quick { &["--quick"] } else { &[] };
    let started = Core::ours().and_then(|core| Ok((Pair::start(&core, flags, THREADS)?, core)));
    let (mut pair, core) = match started {
        Ok(started) => started,
        Err(why) => {
            record.absent.push(why);
            let page = page::page(&record, &[], &["none", "none"]);
            return Ok((record, page));
        }
    };
    let mut ratios = Vec::new();
    for (workload, group) in pair.workloads.clone() {
        let ratio = pair.measure(&workload, |usual| scale.rounds(usual));
        let ratio = ratio.map_err(CommandFailure::Run)?;
        note(&mut record, ("drop-in", THREADS), &ratio, "µs", 1e6);
        ratios.push((ratio, group));
    }
    claims(&mut record, &ratios, scale.quick)?;
    alone::all(&mut record, &pair.built, scale).map_err(CommandFailure::Run)?;
    alone::locks(&mut record, &core, scale).map_err(CommandFailure::Run)?;
    let versions = pair.built.each_ref().map(|built| built.version.as_str());
    let page = page::page(&record, &ratios, &versions);
    Ok((record, page))
}

/// The rows of the table, and the mean over the demonstration programs.
fn claims(
    record: &mut RowRecord,
    ratios: &[(Ratio, String)],
    is_quick: bool,
) -> Result<(), CommandFailure> {
    let small = if is_quick { ", but small" } else { "" };
    for must in &MUSTS {
        let found = ratios.iter().find(|(ratio, _)| ratio.name == must.workload);
        let missing = || CommandFailure::Run(format!("{} was not measured", must.workload));
        let value = found.ok_or_else(missing)?.0.value();
        let what = format!("{}{small}: drop-in / stock Rayon", must.about);
        record.claim(what, "×", value, AtMost(must.must), AtMost(must.stretch));
    }
    let demos = ratios.iter().filter(|(_, group)| group == "demo");
    let demos: Vec<&Ratio> = demos.map(|(ratio, _)| ratio).collect();
    let what = format!(
        "geometric mean over {} of Rayon's demo benchmarks{small}: drop-in / stock Rayon",
        demos.len()
    );
    for (place, mean) in means_of_rounds(&demos).into_iter().enumerate() {
        record.single(&format!("{what}, round {}", place + 1), "×", mean);
    }
    let (must, stretch) = DEMOS;
    record.claim(
        what,
        "×",
        geometric_mean(&demos),
        AtMost(must),
        AtMost(stretch),
    );
    Ok(())
}

/// `roving drop-in`: a table of the workloads.
pub(crate) fn run(args: &DropInArgs) -> Result<(), CommandFailure> {
    let rounds = args.rounds.as_deref();
    let rounds = rounds.map(|text| number_in("rounds", text, 1..=1000, "leave it out for 9 to 31"));
    let rounds = rounds.transpose()?.map(|rounds| rounds as usize);
    let rounds = rounds.or(args.quick.then_some(2));
    let threads = args.threads.as_deref();
    let remedy = "leave it out for the two of the results";
    let threads = threads.map(|text| number_in("threads", text, 1..=1024, remedy));
    let threads = threads
        .transpose()?
        .map_or(THREADS, |threads| threads as usize);
    let core = match &args.core {
        _ if args.iter => Core::Iter,
        None => Core::ours().map_err(CommandFailure::Run)?,
        Some(folder) => Core::in_folder(folder).map_err(|why| {
            let (shown, allowed) = (folder.display(), "a folder with a package rayon-core");
            BadInput::new("core", shown, allowed, why)
        })?,
    };
    let mut pair = Pair::start(&core, &flags(args), threads).map_err(CommandFailure::Run)?;
    let names = chosen(&args.workloads, &pair.workloads)?;
    let [stock, ours] = pair.built.each_ref().map(|built| &built.version);
    show(format_args!(
        "rayon-core: stock {stock}, {} {ours}; {}\n",
        pair.name,
        counted(threads, "thread")
    ))?;
    show(format_args!("{}\n", page::HEAD_LINE))?;
    let mut demos = Vec::new();
    for (name, group) in names {
        let ratio = pair.measure(&name, |usual| rounds.unwrap_or(usual));
        let ratio = ratio.map_err(CommandFailure::Run)?;
        let must = MUSTS.iter().find(|must| must.workload == name);
        show(format_args!("{}\n", page::line(&ratio, must)))?;
        demos.extend((group == "demo").then_some(ratio));
    }
    if !demos.is_empty() {
        let mean = geometric_mean(&demos.iter().collect::<Vec<_>>());
        let (count, (must, _)) = (demos.len(), DEMOS);
        show(format_args!(
            "geometric mean over {count} demo benchmarks: {mean:.3} (want at most {must})\n"
        ))?;
    }
    Ok(())
}

/// The workloads that the user named, or all.
fn chosen(names: &[String], known: &[(String, String)]) -> Result<Vec<(String, String)>, BadInput> {
    let find = |name: &String| {
        let found = known.iter().find(|(known, _)| known == name);
        found.cloned().ok_or_else(|| {
            let all: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
            let allowed = format!("some of {}", all.join(", "));
            BadInput::new("workload", name, allowed, "leave it out for all")
        })
    };
    if names.is_empty() {
        return Ok(known.to_vec());
    }
    names.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Vec<(String, String)> {
        list("sum-1e3 row\nnbody demo\n")
    }

    #[test]
    fn both_programs_are_told_where_to_call_from_and_how_much() {
        let args = |inside, quick| DropInArgs {
            workloads: Vec::new(),
            rounds: None,
            inside,
            quick,
            threads: None,
            core: None,
            iter: false,
        };
        assert!(flags(&args(false, false)).is_empty());
        assert_eq!(flags(&args(true, true)), ["--quick", "--inside"]);
    }

    #[test]
    fn workloads_are_chosen_by_name() {
        assert_eq!(chosen(&[], &known()).unwrap(), known());
        let one = chosen(&["nbody".into()], &known()).unwrap();
        assert_eq!(one, [("nbody".into(), "demo".into())]);
        let error = chosen(&["body".into()], &known()).unwrap_err().to_string();
        assert!(
            error.contains("`body`") && error.contains("sum-1e3, nbody"),
            "{error}"
        );
    }

    #[test]
    fn claims_need_their_workloads_and_count_the_demos() {
        let one = |name: &str| Ratio::new(name, &[2.0], &[1.0]);
        let mut ratios: Vec<(Ratio, String)> = MUSTS
            .iter()
            .map(|must| (one(must.workload), "row".to_owned()))
            .collect();
        ratios.push((one("nbody"), "demo".into()));
        let mut record = RowRecord::default();
        claims(&mut record, &ratios, true).unwrap();
        assert!(record.claims[0].what.contains("1e3 items, but small"));
        assert_eq!(record.claims.len(), MUSTS.len() + 1);
        let last = record.claims.last().unwrap();
        assert!(last.what.contains("over 1 of") && last.verdict() == "stretch");
        let round = record.measurements.last().unwrap();
        assert_eq!(round.what, format!("{}, round 1", last.what));
        assert_eq!(round.median, 0.5);
        ratios.remove(0);
        let error = claims(&mut RowRecord::default(), &ratios, false).unwrap_err();
        assert_eq!(error.to_string(), "sum-1e3 was not measured");
    }
}
