//! A row of the results: its name, and how it is measured.

use super::record::RowRecord;
use super::scale::Scale;
use crate::io::input::CommandFailure;

/// A table, and files from which figures can be drawn, by their names.
pub(super) type Drawn = (RowRecord, Vec<(&'static str, String)>);

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
    Table(fn(&Scale) -> Result<RowRecord, CommandFailure>),
    /// A table and a plot.
    Plotted(fn(&Scale) -> Result<(RowRecord, String), CommandFailure>),
    /// A table too long for the summary, and a page that shows it.
    Paged(fn(&Scale) -> Result<(RowRecord, String), CommandFailure>),
    /// A table too long for the summary, and files from which figures can be drawn.
    Drawn(fn(&Scale) -> Result<Drawn, CommandFailure>),
}

/// A row, for the table of all.
pub(super) const fn row(name: &'static str, about: &'static str, measure: Measure) -> Row {
    Row {
        name,
        about,
        measure,
    }
}
