//! Mutants of code: one changed line at a time, in the modules on which all else stands, must make
//! a test fail.
//!
//! One build serves all: a copy of the workspace has both behaviours on each line, and an
//! environment variable chooses which line is changed. What does not compile is left out. A mutant
//! that no test kills is a missing test, or stands with its reason in `mutants-code.txt`.

mod build;
mod chosen;
mod killers;
mod rules;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::time::Duration;

use crate::Result;
use crate::cargo::workspace::Workspace;
use crate::report::{CheckReport, CheckStep};
use chosen::{Mutant, find};
use killers::MutantFate;

pub(crate) use chosen::{PLAN, SamplePlan};

/// Mutants that nobody can tell from the code, each with its reason.
const LIST: &str = "crates/roving/mutants-code.txt";
/// The least share of killed mutants, of those that are no equals, in percent.
const KILLED_LEAST: f64 = 95.0;

pub(crate) fn verb(workspace: &Workspace, report: &mut CheckReport, plan: SamplePlan) {
    report.step("code-mutants", |step| check(workspace, step, plan));
}

pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep, plan: SamplePlan) -> Result<()> {
    let folder = workspace.target.join("code-mutants");
    let tree = folder.join("tree");
    let (sources, mut mutants) = find(&workspace.root)?;
    build::copy(workspace, &tree, &sources)?;
    println!("{} places to change", mutants.len());
    let programs = build::build(workspace, &tree, &sources, &mut mutants)?;
    println!("{} of them compile", mutants.len());
    let limit = Duration::from_secs_f64(plan.slowest_s);
    let killers = killers::baseline(programs, limit, &folder)?;
    let chosen = killers::draw(&mutants, &plan);
    let fates = killers::run_all(&killers, &mutants, &chosen, plan.minutes);
    let text = fs::read_to_string(workspace.root.join(LIST))
        .map_err(|error| format!("{LIST}: {error}"))?;
    let equals = equals(&text);
    if let Some(path) = &plan.csv {
        fs::write(path, csv(&mutants, &fates, &equals))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    judge(step, &mutants, &fates, &equals);
    Ok(())
}

/// The names of the equals.
fn equals(text: &str) -> BTreeSet<&str> {
    let lines = text.lines().filter(|line| !line.starts_with([' ', '#']));
    lines
        .map(str::trim_end)
        .filter(|line| !line.is_empty())
        .collect()
}

/// One line for each mutant that was tried.
fn csv(mutants: &[Mutant], fates: &BTreeMap<usize, MutantFate>, equals: &BTreeSet<&str>) -> String {
    let mut text = "mutant,line,outcome,by\n".to_owned();
    for (number, fate) in fates {
        let name = mutants[*number].name();
        let (outcome, by) = match fate {
            MutantFate::Killed(by) => ("killed", by.as_str()),
            _ if equals.contains(name.as_str()) => ("equal", ""),
            MutantFate::Survived => ("survived", ""),
            MutantFate::Unreached => ("unreached", ""),
        };
        let (name, line) = (name.replace('"', "\"\""), mutants[*number].site.line + 1);
        let _ = writeln!(text, "\"{name}\",{line},{outcome},{by}");
    }
    text
}

fn judge(
    step: &mut CheckStep,
    mutants: &[Mutant],
    fates: &BTreeMap<usize, MutantFate>,
    equals: &BTreeSet<&str>,
) {
    let is_killed = |fate: &&MutantFate| matches!(fate, MutantFate::Killed(_));
    let killed = fates.values().filter(is_killed).count();
    let survivors = fates.iter().filter(|(_, fate)| !is_killed(fate));
    let names: Vec<String> = survivors
        .map(|(number, _)| mutants[*number].name())
        .collect();
    let (known, new): (Vec<_>, Vec<_>) = names
        .iter()
        .partition(|name| equals.contains(name.as_str()));
    let all = (killed + new.len()).max(1);
    let share = 100.0 * killed as f64 / all as f64;
    println!(
        "{killed} killed, {} survived, {} equal: {share:.1} % of {all}",
        new.len(),
        known.len()
    );
    new.iter().for_each(|name| println!("survivor: {name}"));
    step.counts.passed += killed as u64;
    if share < KILLED_LEAST {
        step.counts.failed += new.len() as u64;
        step.fail(format!(
            "{share:.1} % killed, at least {KILLED_LEAST} % must be"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_equals_are_named_and_reasoned() {
        let text = "# words\nroving/src/a.rs: not: x\n    reason\n\nroving/src/b.rs: without: y;\n    why\n";
        let found: Vec<&str> = equals(text).into_iter().collect();
        assert_eq!(
            found,
            ["roving/src/a.rs: not: x", "roving/src/b.rs: without: y;"]
        );
    }

    #[test]
    fn each_equal_is_a_place_that_there_is() {
        let workspace = Workspace::find().unwrap();
        let (_, mutants) = find(&workspace.root).unwrap();
        let names: BTreeSet<String> = mutants.iter().map(Mutant::name).collect();
        let text = fs::read_to_string(workspace.root.join(LIST)).unwrap();
        let gone: Vec<&str> = equals(&text)
            .into_iter()
            .filter(|name| !names.contains(*name))
            .collect();
        assert!(gone.is_empty(), "{gone:#?}");
    }
}
