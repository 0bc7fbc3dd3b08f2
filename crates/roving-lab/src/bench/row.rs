//! A row of the results: its name, and how it is measured.

use super::record::Record;
use super::scale::Scale;
use crate::input::Failure;

/// A table, and files from which figures can be drawn, by their names.
pub(super) type Drawn = (Record, Vec<(&'static str, String)>);

/// One row of the results.
pub(super) struct Row {
    /// The word on the command line, and the file's name.
    pub(super) name: &'static str,
    /// The subject of the row.
    pub(super) about: &'static str,
    pub(super) measure: Measure,
}

pub(super) enum Measure {
    /// A table.
    Table(fn(&Scale) -> Result<Record, Failure>),
    /// A table and a plot.
    Plotted(fn(&Scale) -> Result<(Record, String), Failure>),
    /// A table too long for the summary, and a page that shows it.
    Paged(fn(&Scale) -> Result<(Record, String), Failure>),
    /// A table too long for the summary, and files from which figures can be drawn.
    Drawn(fn(&Scale) -> Result<Drawn, Failure>),
}

/// A row, for the table of all.
pub(super) const fn row(name: &'static str, about: &'static str, measure: Measure) -> Row {
    Row {
        name,
        about,
        measure,
    }
}
