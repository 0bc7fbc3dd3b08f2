//! `roving repro --against DIR`: the verdicts of this run compared with those of another.

use std::fs;
use std::path::Path;

use super::verdict::FindingVerdict;
use crate::io::csv::Csv;
use crate::io::input::{BadInput, CommandFailure};

/// The verdict of each figure in another run's report.
#[derive(Debug)]
pub(super) struct Other(Vec<(String, String)>);

/// How many verdicts of two runs are alike, open or unlike.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Compared {
    /// Both runs give the same verdict.
    alike: usize,
    /// One of the runs at least says that it cannot tell, or has no such figure.
    open: usize,
    /// Two verdicts that contradict each other, each with its figure.
    unlike: Vec<String>,
}

impl Other {
    /// Reads the verdicts of the report in a folder that an earlier run wrote to.
    pub(super) fn read(out: &Path) -> Result<Other, BadInput> {
        let path = out.join("report/verdicts.csv");
        let bad = |why: String| {
            let allowed = format!("a folder that `roving repro --out` wrote ({why})");
            BadInput::new("--against", out.display(), allowed, "run it there first")
        };
        let text = fs::read_to_string(&path).map_err(|error| bad(error.to_string()))?;
        Other::parse(&text).map_err(bad)
    }

    fn parse(text: &str) -> Result<Other, String> {
        let csv = Csv::parse(text)?;
        let mut found: Vec<(String, String)> = Vec::new();
        for row in &csv.rows {
            let (figure, verdict) = (csv.field(row, "figure")?, csv.field(row, "verdict")?);
            if found.last().is_none_or(|(last, _)| last != figure) {
                found.push((figure.to_owned(), verdict.to_owned()));
            }
        }
        Ok(Other(found))
    }

    /// Compares the verdicts of some figures with those of the other run.
    pub(super) fn compare<'a>(
        &self,
        figures: impl Iterator<Item = (&'a str, FindingVerdict)>,
    ) -> Compared {
        let mut compared = Compared::default();
        let open = FindingVerdict::CannotTell.words();
        for (name, verdict) in figures {
            let (other, here) = (self.0.iter().find(|one| one.0 == name), verdict.words());
            match other.map(|one| one.1.as_str()) {
                Some(there) if there == here && here != open => compared.alike += 1,
                Some(there) if there != open && here != open => {
                    let line = format!("{name}: {here}, and {there} in the other run");
                    compared.unlike.push(line);
                }
                _ => compared.open += 1,
            }
        }
        compared
    }
}

impl Compared {
    /// One line on success; the contradictions as a failure.
    pub(super) fn end(&self) -> Result<String, CommandFailure> {
        let Compared {
            alike,
            open,
            unlike,
        } = self;
        if unlike.is_empty() {
            return Ok(format!(
                "compared with the other run: {alike} verdicts alike, none contradicts; {open} where a run cannot tell"
            ));
        }
        let all = unlike.join("; ");
        Err(CommandFailure::Run(format!(
            "{} of {} verdicts contradict the other run's: {all}",
            unlike.len(),
            alike + open + unlike.len()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHER: &str = "figure,verdict,claim\n\
        a,holds here,\"one, two\"\na,holds here,three\nb,not here,\nc,cannot tell,\nd,not enough cores to tell,\n";

    fn compare(figures: &[(&str, FindingVerdict)]) -> Compared {
        Other::parse(OTHER)
            .unwrap()
            .compare(figures.iter().copied())
    }

    #[test]
    fn verdicts_alike_or_open_are_no_contradiction() {
        let found = compare(&[
            ("a", FindingVerdict::Holds),
            ("b", FindingVerdict::CannotTell),
            ("c", FindingVerdict::NotHere),
            ("d", FindingVerdict::TooFewCores),
            ("e", FindingVerdict::Holds),
        ]);
        assert_eq!((found.alike, found.open, found.unlike.len()), (2, 3, 0));
        assert!(found.end().unwrap().contains("2 verdicts alike"));
        assert_eq!(compare(&[("c", FindingVerdict::CannotTell)]).open, 1);
    }

    #[test]
    fn a_verdict_that_turns_is_a_failure_that_names_the_figure() {
        let turned = [
            ("a", FindingVerdict::NotHere),
            ("b", FindingVerdict::Holds),
            ("d", FindingVerdict::Holds),
        ];
        let found = compare(&turned);
        assert_eq!(found.unlike.len(), 3);
        let line = found.end().unwrap_err().to_string();
        assert!(line.contains("3 of 3") && line.contains("a: not here, and holds here"));
    }

    #[test]
    fn a_folder_without_verdicts_and_a_file_of_something_else_are_refused() {
        let nowhere = Other::read(Path::new("/nowhere/at/all")).unwrap_err();
        assert!(nowhere.to_string().contains("`/nowhere/at/all`"));
        assert!(Other::parse("figure,answer\na,yes\n").is_err());
        assert!(Other::parse("").is_err());
    }
}
