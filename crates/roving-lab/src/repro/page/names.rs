//! The names of series, and which colour and mark each has.

use crate::repro::contest::STATES;
use crate::repro::figure::Sheet;

/// How many colours there are.
pub(super) const COLOURS: usize = 10;

/// The names of all series of a figure: one has the same colour and mark in all its charts.
pub(super) struct Names<'a>(Vec<&'a str>);

impl<'a> Names<'a> {
    /// Of these sheets, in the order of their first rows.
    pub(super) fn of(sheets: &'a [Sheet]) -> Names<'a> {
        let mut names: Vec<&str> = Vec::new();
        for name in sheets.iter().flat_map(Sheet::series) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        Names(names)
    }

    /// The place of a series; the states of a worker have the same in all figures.
    pub(super) fn place(&self, name: &str) -> usize {
        // Behind the state stands in brackets what it is, where that differs between the paper and
        // here.
        let state = name.split(" (").next().unwrap_or(name);
        let state = STATES.iter().position(|one| *one == state);
        let place = || self.0.iter().position(|one| *one == name);
        state.or_else(place).unwrap_or_default()
    }

    /// The colour of a series.
    pub(super) fn colour(&self, name: &str) -> usize {
        self.place(name) % COLOURS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repro::figure::Form;

    #[test]
    fn a_series_has_one_colour_in_all_charts_of_a_figure() {
        let sheet = |series: &[&str]| {
            let mut sheet = Sheet::new("a", "x", "y", Form::Lines);
            for series in series {
                sheet.push(*series, 1.0, vec![1.0]);
            }
            sheet
        };
        let sheets = [sheet(&["roving", "rayon"]), sheet(&["rayon", "chili"])];
        let names = Names::of(&sheets);
        let found = ["roving", "rayon", "chili"].map(|name| names.colour(name));
        assert_eq!(found, [0, 1, 2]);
        assert_eq!(names.colour("frame"), 4);
        assert_eq!(names.colour("frame (allocation)"), 4);
    }
}
