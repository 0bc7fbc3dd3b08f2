//! `roving repro`: the tables and figures of the four papers, measured here, beside what the papers
//! found.
//!
//! Figures are drawn from groups of points. A group is measured in turn, lane by lane, within the
//! time that it has, and kept as soon as it is complete, so that an interrupted run goes on where
//! it was. The report is made of whatever points there are.

mod against;
mod clock;
mod contest;
mod draw;
mod figure;
mod ladder;
mod mann_whitney;
mod nornir;
mod page;
mod plan;
mod progress;
mod seen;
#[cfg(test)]
mod sides;
mod sizes;
mod spread;
mod stackthreads;
mod store;
mod verdict;
mod wool;
mod worms;

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;

use self::against::Other;
use self::figure::{Figure, Paper};
use self::page::PageHead;
use self::plan::{Budget, MeasureGroup, SizeAndMachine};
use self::progress::GroupProgress;
use self::seen::SeenPoints;
use self::store::{Origin, PointStore, fingerprint};
use crate::io::input::{BadInput, CommandFailure};
use crate::io::out::show;
use crate::io::out::{make_directory, write};
use crate::machine;
use crate::rivals;

/// Where points and report go when the user names no place.
pub(crate) const OUT: &str = "roving-results/repro";

/// `roving repro`.
#[derive(Args, Debug)]
pub(crate) struct ReproArgs {
    /// all; a paper: wool, stackthreads, nornir, worms; or a figure, as wool-ladder; several are
    /// possible [default: all].
    #[arg(value_name = "WHAT")]
    what: Vec<String>,
    /// Small inputs: everything in under five minutes on two cores. This is the default.
    #[arg(long)]
    quick: bool,
    /// The papers' sizes.
    #[arg(long, conflicts_with = "quick")]
    full: bool,
    /// Where points and report go [default: roving-results/repro].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// The folder of an earlier run: fail where a verdict contradicts its verdict; those that say
    /// "cannot tell" aside.
    #[arg(long, value_name = "DIR")]
    against: Option<PathBuf>,
}

impl ReproArgs {
    /// The plan: small inputs unless the user asks for the papers'.
    fn plan(&self) -> SizeAndMachine {
        SizeAndMachine::here(!self.full)
    }
}

/// All figures, in the order of the report.
fn catalogue() -> Vec<&'static Figure> {
    let all = [
        &wool::FIGURES[..],
        &stackthreads::FIGURES[..],
        &nornir::FIGURES[..],
        &worms::FIGURES[..],
    ];
    all.into_iter().flatten().collect()
}

/// The words for the papers.
#[cfg(all(test, feature = "top"))]
pub(crate) fn papers() -> [&'static str; 4] {
    Paper::ALL.map(Paper::word)
}

/// All groups of a plan.
fn groups(plan: &SizeAndMachine) -> Vec<MeasureGroup> {
    let papers = [
        wool::groups(plan),
        stackthreads::groups(plan),
        nornir::groups(plan),
        worms::groups(plan),
    ];
    papers.into_iter().flatten().collect()
}

/// The figures that the user named, or all.
fn chosen(names: &[String]) -> Result<Vec<&'static Figure>, BadInput> {
    let all = catalogue();
    if names.is_empty() {
        return Ok(all);
    }
    let mut wanted = vec![false; all.len()];
    for name in names {
        let before = wanted.iter().filter(|one| **one).count();
        let mut known = false;
        for (figure, wanted) in all.iter().zip(&mut wanted) {
            if name == "all" || name == figure.name || name == figure.paper.word() {
                (*wanted, known) = (true, true);
            }
        }
        if !known {
            return Err(unknown(name, &all));
        }
        let after = wanted.iter().filter(|one| **one).count();
        if after == before {
            return Err(BadInput::new(
                "figure",
                name,
                "each once",
                "leave the second out",
            ));
        }
    }
    Ok(all
        .into_iter()
        .zip(wanted)
        .filter(|one| one.1)
        .map(|one| one.0)
        .collect())
}

fn unknown(name: &str, all: &[&Figure]) -> BadInput {
    let papers = Paper::ALL.map(Paper::word).join(", ");
    let paper = Paper::ALL
        .into_iter()
        .find(|paper| name.starts_with(paper.word()));
    let figures = all
        .iter()
        .filter(|figure| paper.is_none_or(|paper| figure.paper == paper));
    let figures: Vec<&str> = figures.map(|figure| figure.name).collect();
    let allowed = format!("all, {papers}, or a figure: {}", figures.join(", "));
    BadInput::new("figure", name, allowed, "leave it out for all")
}

/// `roving repro`.
pub(crate) fn run(args: &ReproArgs) -> Result<(), CommandFailure> {
    let figures = chosen(&args.what)?;
    let other = args.against.as_deref().map(Other::read).transpose()?;
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(OUT));
    make_directory(&out)?;
    let pages = out.join("report");
    make_directory(&pages)?;
    rivals::deepen_stacks();
    let plan = args.plan();
    let (mut store, said) = PointStore::open(&out, &origin(&plan))?;
    for line in said {
        show(format_args!("{line}\n"))?;
    }
    let all = groups(&plan);
    let wanted = |group: &&MeasureGroup| figures.iter().any(|figure| figure.uses(&group.name));
    let left: Vec<&MeasureGroup> = all
        .iter()
        .filter(wanted)
        .filter(|group| !store.done.contains(&group.name))
        .collect();
    let measured = measure(&plan, &left, &mut store);
    // Whatever stopped it: what was measured before is shown.
    let head = head(&plan, &out, &store.origin);
    let seen = SeenPoints {
        points: &store.points,
        plan: &plan,
    };
    let index = report(&pages, &head, &seen)?;
    measured?;
    let mut verdicts = Vec::new();
    for figure in figures {
        let judgement = page::judged(figure, &seen);
        verdicts.push((figure.name, judgement.verdict));
        show(format_args!(
            "{:<24} {:<24} {}\n",
            figure.name,
            judgement.verdict.words(),
            judgement.sentence
        ))?;
    }
    show(format_args!("written: {}\n", index.display()))?;
    if let Some(other) = other {
        let compared = other.compare(verdicts.into_iter()).end()?;
        show(format_args!("{compared}\n"))?;
    }
    Ok(())
}

/// Measures what is not there yet, and keeps each group as soon as it is complete.
fn measure(
    plan: &SizeAndMachine,
    left: &[&MeasureGroup],
    store: &mut PointStore,
) -> Result<(), CommandFailure> {
    let mut budget = Budget::new(plan, left.iter().copied());
    let progress = GroupProgress::new(left.len(), budget.left());
    for group in left {
        progress.begin(&group.name, budget.left());
        let rounds = budget.allow(group);
        for point in (group.measure)(plan, &rounds)? {
            store.push(point)?;
        }
        store.finish(&group.name)?;
        progress.end();
    }
    Ok(())
}

/// Writes the page and the tables; the path of the page.
fn report(pages: &Path, head: &PageHead, seen: &SeenPoints<'_>) -> Result<PathBuf, CommandFailure> {
    let figures = catalogue();
    for figure in &figures {
        write(
            &pages.join(format!("{}.csv", figure.name)),
            &page::csv(head, figure, seen).text(),
        )?;
    }
    write(
        &pages.join("verdicts.csv"),
        &page::verdicts(&figures, seen).text(),
    )?;
    write(&pages.join("sizes.csv"), &sizes::csv(seen.plan).text())?;
    let index = pages.join("index.html");
    write(&index, &page::page(head, &figures, seen))?;
    Ok(index)
}

/// The origin of points that are measured now.
fn origin(plan: &SizeAndMachine) -> Origin {
    let program = std::env::current_exe()
        .and_then(fs::read)
        .unwrap_or_default();
    Origin {
        size: plan.size().to_owned(),
        machine: machine::hardware(),
        build: fingerprint(&program),
        commit: machine::commit(),
    }
}

fn head(plan: &SizeAndMachine, out: &Path, origin: &Origin) -> PageHead {
    let warning = cfg!(debug_assertions).then_some(
        "This program was built without optimisation: its figures say nothing. Build it with --release.",
    );
    PageHead {
        origin: origin.clone(),
        words: format!("--{} --out {}", plan.size(), out.display()),
        moment: machine::moment(),
        warning,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_all_parts_and_every_group_is_used() {
        for (quick, cores) in [(true, 1), (true, 2), (false, 2), (true, 24)] {
            let plan = SizeAndMachine::on(quick, cores);
            let groups = groups(&plan);
            let figures = catalogue();
            for (place, figure) in figures.iter().enumerate() {
                assert!(
                    figure.name.starts_with(figure.paper.word()),
                    "{}",
                    figure.name
                );
                for part in [
                    figure.title,
                    figure.finding,
                    figure.source,
                    figure.here,
                    figure.rule,
                ] {
                    assert!(
                        part.len() > 8 && !part.contains('\n'),
                        "{}: {part}",
                        figure.name
                    );
                }
                assert!(
                    figures[..place]
                        .iter()
                        .all(|other| other.name != figure.name)
                );
                for name in figure.groups {
                    let one = Figure {
                        groups: std::slice::from_ref(name),
                        ..copy(figure)
                    };
                    // Where there is no second core, nobody can steal.
                    let used = groups.iter().any(|group| one.uses(&group.name));
                    assert!(
                        used || (cores == 1 && *name == "wool-steal/"),
                        "{}: {name}",
                        figure.name
                    );
                }
                let numbers: usize = (figure.printed)()
                    .iter()
                    .map(|sheet| sheet.rows.len())
                    .sum();
                assert_eq!(
                    numbers == 0,
                    figure.reading == figure::Reading::PlotOnly,
                    "{}",
                    figure.name
                );
            }
            for (place, group) in groups.iter().enumerate() {
                assert!(
                    figures.iter().any(|figure| figure.uses(&group.name)),
                    "{} is not used",
                    group.name
                );
                assert!(
                    groups[..place].iter().all(|other| other.name != group.name),
                    "{} twice",
                    group.name
                );
            }
        }
    }

    fn copy(figure: &Figure) -> Figure {
        Figure { ..*figure }
    }

    #[test]
    fn the_page_of_the_papers_names_each_figure_and_no_other() {
        let page = include_str!("../../../../docs/papers.md");
        let papers = Paper::ALL.map(Paper::word);
        let is_name = |word: &&str| {
            let mut papers = papers.iter();
            papers.any(|paper| {
                word.strip_prefix(paper)
                    .is_some_and(|rest| rest.starts_with('-'))
            })
        };
        let named: Vec<&str> = page.split('`').skip(1).step_by(2).filter(is_name).collect();
        for figure in catalogue() {
            assert!(named.contains(&figure.name), "{} is missing", figure.name);
        }
        for name in named {
            assert!(
                catalogue().iter().any(|figure| figure.name == name),
                "{name}"
            );
        }
        // Every table and figure of the papers that have numbers for theirs.
        let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).collect();
        let section = |title: &str| {
            let from = page.find(title).expect("its section");
            let rest = &page[from + 3..];
            &rest[..rest.find("\n## ").unwrap_or(rest.len())]
        };
        for (title, figures, tables) in [
            ("## StackThreads", 24, 2),
            ("## Nornir", 7, 1),
            ("## WORMS", 2, 0),
        ] {
            let text = section(title);
            let has = |kind: &str, number: u32| {
                let lines = text
                    .lines()
                    .filter(|line| line.starts_with(&format!("| {kind}")));
                lines.into_iter().any(|line| {
                    let first = line.split('|').nth(1).unwrap_or_default();
                    let mut numbers = first.split(' ').filter_map(|word| word.parse::<u32>().ok());
                    let (low, high) = (numbers.next(), numbers.next());
                    low.is_some_and(|low| (low..=high.unwrap_or(low)).contains(&number))
                })
            };
            for number in 1..=figures {
                assert!(has("figure", number), "{title}: figure {number}");
            }
            for number in 1..=tables {
                assert!(has("table", number), "{title}: table {number}");
            }
        }
        // A row says what stands in it, and why unless it is reproduced as it is.
        for row in rows.iter().filter(|row| !row.starts_with("| where")) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            assert_eq!(cells.len(), 7, "{row}");
            assert!(["reproduced", "partly", "not"].contains(&cells[4]), "{row}");
            assert!(cells[4] == "reproduced" || !cells[5].is_empty(), "{row}");
        }
    }

    #[test]
    fn a_run_is_quick_unless_it_is_full() {
        let args = |quick, full| ReproArgs {
            what: Vec::new(),
            quick,
            full,
            out: None,
            against: None,
        };
        assert!(args(false, false).plan().quick && args(true, false).plan().quick);
        assert!(!args(false, true).plan().quick);
    }

    #[test]
    fn a_quick_run_is_planned_for_less_than_five_minutes() {
        let plan = SizeAndMachine::on(true, 2);
        let seconds: f64 = groups(&plan).iter().map(|group| group.seconds).sum();
        assert!(seconds < 240.0, "{seconds} s");
    }

    #[test]
    fn figures_are_chosen_by_name_by_paper_or_all() {
        let names = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            chosen(&words)
                .map(|figures| figures.iter().map(|figure| figure.name).collect::<Vec<_>>())
        };
        assert_eq!(names(&[]).unwrap().len(), catalogue().len());
        assert_eq!(names(&["all"]).unwrap().len(), catalogue().len());
        assert_eq!(
            names(&["worms"]).unwrap(),
            ["worms-figure-1", "worms-figure-2"]
        );
        let mixed = names(&["nornir-table-1", "wool-ladder"]).unwrap();
        assert_eq!(mixed, ["wool-ladder", "nornir-table-1"]);
        for bad in ["wool-figure-1", "cilk", ""] {
            let line = names(&[bad]).unwrap_err().to_string();
            assert!(
                line.contains(&format!("`{bad}`")) && line.contains("wool-ladder"),
                "{line}"
            );
        }
        assert!(names(&["wool", "wool-ladder"]).is_err());
    }
}
