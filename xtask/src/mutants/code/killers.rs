//! Which test programs kill a mutant.
//!
//! Before anything is changed, each program says which of the lines it comes to at all: only those
//! mutants can it kill.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::chosen::{EXPLORERS, Mutant, SamplePlan};
use crate::Result;
use crate::cargo::watchdog::{self, Limits, ProgramEnd};
use crate::mutants::loom;

/// Read by each changed program: the number of the mutant, or the path of the file to which the
/// numbers of the lines go that it comes to.
pub(super) const VARIABLE: &str = "ROVING_CODE_MUTANT";
/// A mutant by which a program takes longer than that, and than six times as long as without, is
/// killed: it hangs.
const HANGS_AFTER: Duration = Duration::from_secs(30);
/// How long all loom tests of a crate may take without a mutant, and those of a module with one. A
/// program that is ended then has killed nothing: it has more to explore.
const EXPLORES_FOR: Duration = Duration::from_secs(900);
const EXPLORES_MUTANT_FOR: Duration = Duration::from_secs(120);
/// Mutants at a time: test programs wait for most of their time.
const LANES: usize = 6;

/// A program of tests as it was built.
pub(super) struct MutatedProgram {
    pub(super) package: String,
    pub(super) path: PathBuf,
    /// Its tests are those that a model checker runs.
    pub(super) explores: bool,
}

/// A test program, how long it runs without a mutant, and the mutants that it comes to.
pub(super) struct Killer {
    built: MutatedProgram,
    time: Duration,
    reached: BTreeSet<usize>,
}

/// The end of a mutant: the program that killed it, or whether any came to its line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MutantFate {
    Killed(String),
    Survived,
    Unreached,
}

/// Runs each program without a mutant: one that fails, or takes longer than that, is left out. The
/// fastest come first, and those that explore last.
pub(super) fn baseline(
    programs: Vec<MutatedProgram>,
    limit: Duration,
    folder: &Path,
) -> Result<Vec<Killer>> {
    let mut killers = Vec::new();
    for built in programs {
        let limit = if built.explores { EXPLORES_FOR } else { limit };
        let start = Instant::now();
        let end = run(&built, None, limit)?;
        let time = start.elapsed();
        println!("{:.1} s: {}", time.as_secs_f64(), built.path.display());
        match end {
            ProgramEnd::Success => {
                let reached = reached(&built, 4 * limit, &folder.join("reached"))?;
                killers.push(Killer {
                    built,
                    time,
                    reached,
                });
            }
            // Too slow, or one that counts on processors which others use: it kills nothing.
            _ => println!("left out: {}", built.path.display()),
        }
    }
    if killers.is_empty() {
        return Err("no program passes as it is".into());
    }
    killers.sort_by_key(|killer| (killer.built.explores, killer.time));
    Ok(killers)
}

/// The lines that a program comes to.
fn reached(built: &MutatedProgram, limit: Duration, file: &Path) -> Result<BTreeSet<usize>> {
    let _ = fs::remove_file(file);
    // Whether its tests pass while it writes does not matter.
    let _ = run_with(built, &file.to_string_lossy(), None, limit)?;
    let text = fs::read_to_string(file).unwrap_or_default();
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

fn run(
    built: &MutatedProgram,
    mutant: Option<(usize, &Mutant)>,
    limit: Duration,
) -> Result<ProgramEnd> {
    let number = mutant.map_or_else(String::new, |(number, _)| number.to_string());
    run_with(built, &number, mutant.map(|(_, mutant)| mutant), limit)
}

fn run_with(
    built: &MutatedProgram,
    variable: &str,
    mutant: Option<&Mutant>,
    limit: Duration,
) -> Result<ProgramEnd> {
    let limits = Limits {
        silent: limit,
        whole: limit,
        group: true,
    };
    let mut command = Command::new(&built.path);
    command.env(VARIABLE, variable);
    if built.explores {
        let words = mutant.map_or(&[loom::PREFIX][..], words);
        command.args(words).args(["--skip", loom::CANARY]);
    }
    Ok(watchdog::run(&mut command, limits, false)?.end)
}

/// The words in the names of the loom tests that are asked about it.
fn words(mutant: &Mutant) -> &'static [&'static str] {
    let path = mutant.file.trim_start_matches("crates/");
    let all = EXPLORERS
        .iter()
        .filter(|(place, _)| path.starts_with(place));
    all.map(|(_, words)| *words)
        .next()
        .unwrap_or(&[loom::PREFIX])
}

/// Those that are asked for, or as many as are, by the seed.
pub(super) fn draw(mutants: &[Mutant], plan: &SamplePlan) -> Vec<usize> {
    let mixed = |number: usize| {
        let mut word = (number as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ plan.seed;
        word = (word ^ (word >> 31)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word ^ (word >> 29)
    };
    let is_asked = |number: &usize| {
        let name = mutants[*number].name();
        plan.only
            .as_ref()
            .is_none_or(|only| name.contains(only.as_str()))
    };
    let mut all: Vec<usize> = (0..mutants.len()).filter(is_asked).collect();
    all.sort_by_key(|number| mixed(*number));
    all.truncate(plan.sample);
    all
}

pub(super) fn run_all(
    killers: &[Killer],
    mutants: &[Mutant],
    chosen: &[usize],
    minutes: f64,
) -> BTreeMap<usize, MutantFate> {
    let over = Instant::now() + Duration::from_secs_f64(60.0 * minutes);
    let queue = Mutex::new(VecDeque::from(chosen.to_vec()));
    let fates = Mutex::new(BTreeMap::new());
    let next = || {
        let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
        (Instant::now() < over).then(|| queue.pop_front()).flatten()
    };
    std::thread::scope(|lanes| {
        for _ in 0..LANES {
            lanes.spawn(|| {
                while let Some(number) = next() {
                    let fate = fate_of(killers, &mutants[number], number);
                    let name = mutants[number].name();
                    let line = mutants[number].site.line + 1;
                    match &fate {
                        MutantFate::Killed(by) => println!("killed    {name} ({line}), by {by}"),
                        MutantFate::Survived => println!("SURVIVED  {name} ({line})"),
                        MutantFate::Unreached => println!("UNREACHED {name} ({line})"),
                    }
                    let mut fates = fates.lock().unwrap_or_else(PoisonError::into_inner);
                    fates.insert(number, fate);
                }
            });
        }
    });
    fates.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn fate_of(killers: &[Killer], mutant: &Mutant, number: usize) -> MutantFate {
    let is_own = |built: &MutatedProgram| {
        mutant
            .file
            .starts_with(&format!("crates/{}/", built.package))
    };
    let comes = |killer: &&Killer| {
        let Killer { built, reached, .. } = killer;
        reached.contains(&number) && (!built.explores || is_own(built))
    };
    if !killers.iter().any(|killer| comes(&killer)) {
        return MutantFate::Unreached;
    }
    let killer = killers
        .iter()
        .filter(comes)
        .find(|killer| kills(killer, mutant, number));
    killer.map_or(MutantFate::Survived, |killer| {
        MutantFate::Killed(killer.name())
    })
}

/// Whether the program fails with the mutant, and, just then, not without.
fn kills(killer: &Killer, mutant: &Mutant, number: usize) -> bool {
    let Killer { built, time, .. } = killer;
    if built.explores {
        let end = run(built, Some((number, mutant)), EXPLORES_MUTANT_FOR);
        return matches!(end, Ok(ProgramEnd::Failure));
    }
    let limit = HANGS_AFTER.max(6 * *time);
    let fails = |mutant| !matches!(run(built, mutant, limit), Ok(ProgramEnd::Success));
    fails(Some((number, mutant))) && !fails(None)
}

impl Killer {
    fn name(&self) -> String {
        let file = self.built.path.file_name().unwrap_or_default();
        let file = file.to_string_lossy();
        let name = file.rsplit_once('-').map_or(&*file, |(name, _)| name);
        match self.built.explores {
            true => format!("{name} under loom"),
            false => name.to_owned(),
        }
    }
}
