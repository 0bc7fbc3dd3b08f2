//! `roving compare sleepers`: how many workers share work, seen on few cores.

mod bound;
pub(crate) mod cell;
pub(crate) mod field;
pub(crate) mod kept;
pub(crate) mod networks;
mod ours;
mod predict;
pub(crate) mod settings;
pub(crate) mod verdict;

use self::field::measure;
use self::kept::Kept;
use self::settings::{FORMS, GridSettings, ROUNDS, WORKERS, command};
use self::verdict::{picture, table};
use crate::compare::args::{CompareArgs, OUT, parse_workers_list};

use crate::io::input::{BadInput, CommandFailure, number_in};
use crate::io::out::{make_directory, show, write};
use crate::job::settings::parse_repeat;
use crate::rivals::Runtime;
use crate::shapes::shape::{KINDS, Leaves, ShapeKind};

/// The shapes that the user named, or all.
fn chosen(text: Option<&str>) -> Result<Vec<&'static ShapeKind>, BadInput> {
    let find = |name: &str| {
        let found = KINDS.iter().find(|kind| kind.name == name);
        found.ok_or_else(|| {
            let all: Vec<&str> = KINDS.iter().map(|kind| kind.name).collect();
            let allowed = format!("some of {}", all.join(", "));
            BadInput::new("--shapes", name, allowed, "leave it out for all")
        })
    };
    match text {
        None => Ok(KINDS.iter().collect()),
        Some(text) => text.split(',').map(|name| find(name.trim())).collect(),
    }
}

fn settings(args: &CompareArgs) -> Result<GridSettings, BadInput> {
    let own = &args.sleepers;
    if args.input.is_some() || args.steal.is_some() {
        let line = "sleepers have no --input and no --steal; `--shapes` says what runs";
        return Err(BadInput::line(line));
    }
    let shapes = own.shapes.as_deref();
    let shapes = shapes.or(own
        .quick
        .then_some("flat-uneven,tree,callers,two-pools,start-tree"));
    let workers = match &args.workers {
        Some(text) => parse_workers_list(text)?,
        None if own.quick => vec![2, 8],
        None => WORKERS.to_vec(),
    };
    let mut forms = vec![Runtime::Roving];
    match args.against.as_deref() {
        Some(text) => forms.extend(Runtime::parse_list(text)?),
        None => forms = FORMS.to_vec(),
    }
    let number = |name, text: &Option<String>, most| {
        let text = text.as_deref().unwrap_or("0");
        number_in(name, text, 0..=most, "leave it out for none")
    };
    Ok(GridSettings {
        workers,
        kinds: chosen(shapes)?,
        forms,
        rounds: match &args.repeat {
            Some(text) => parse_repeat(text)?,
            None if own.quick => 2,
            None => ROUNDS,
        },
        leaves: Leaves {
            spin: number("--spin", &own.spin, 100)? as f64 / 100.0,
        },
        crowded: own.crowded,
        load: number("--load", &own.load, 64)? as usize,
    })
}

/// `roving compare sleepers`.
pub(crate) fn run(args: &CompareArgs) -> Result<(), CommandFailure> {
    let settings = settings(args)?;
    let out = args.out.clone().unwrap_or_else(|| OUT.into());
    make_directory(&out)?;
    let (cells, absent) = measure(&settings, &mut Kept::nowhere())?;
    show(format_args!("{}", table(&cells)))?;
    for why in absent {
        show(format_args!("left out: {why}\n"))?;
    }
    let csv = verdict::csv(&cells, &command(&settings));
    let path = |ending| out.join(format!("compare-sleepers.{ending}"));
    write(&path("csv"), &csv.text())?;
    show(format_args!("written: {}\n", path("csv").display()))?;
    if let Some(plot) = picture(&cells).map_err(CommandFailure::Run)? {
        write(&path("svg"), &plot)?;
        show(format_args!("written: {}\n", path("svg").display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::args::{SLEEPERS, SleeperArgs};

    #[test]
    fn shapes_are_chosen_by_name() {
        assert_eq!(chosen(None).unwrap().len(), KINDS.len());
        let names: Vec<_> = chosen(Some("uts, tree")).unwrap();
        assert_eq!((names[0].name, names[1].name), ("uts", "tree"));
        let error = chosen(Some("cube")).unwrap_err().to_string();
        assert!(
            error.contains("`cube`") && error.contains("flat-even"),
            "{error}"
        );
    }

    #[test]
    fn words_of_sleepers_are_read() {
        let words = |own: SleeperArgs| CompareArgs {
            workload: SLEEPERS.into(),
            input: None,
            against: None,
            steal: None,
            workers: None,
            repeat: None,
            out: None,
            sleepers: own,
        };
        let plain = settings(&words(SleeperArgs::default())).unwrap();
        assert_eq!((plain.kinds.len(), plain.rounds), (KINDS.len(), ROUNDS));
        assert_eq!((plain.load, plain.leaves.spin), (0, 0.0));
        assert_eq!(
            (&plain.workers[..], &plain.forms[..]),
            (&WORKERS[..], &FORMS[..])
        );
        let own = SleeperArgs {
            spin: Some("25".into()),
            load: Some("2".into()),
            crowded: true,
            quick: true,
            shapes: None,
        };
        let small = settings(&words(own)).unwrap();
        assert!(small.kinds.len() < KINDS.len() && small.workers.len() < WORKERS.len());
        assert!(small.crowded && small.rounds < ROUNDS);
        assert_eq!((small.load, small.leaves.spin), (2, 0.25));
        assert!(command(&small).ends_with("--load 2 --spin 25 --crowded"));
        let bad = SleeperArgs {
            spin: Some("101".into()),
            ..SleeperArgs::default()
        };
        assert!(settings(&words(bad)).is_err());
    }
}
