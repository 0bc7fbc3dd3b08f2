//! The parts of a figure in the report: the paper's finding, the measurements here, and a rule that
//! decides whether the finding holds here.

use super::seen::SeenPoints;
use super::spread::Spread;
use super::verdict::Judgement;

/// One of the four papers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paper {
    /// Faxén, 2009.
    Wool,
    /// Adnan and Sato, 2012.
    StackThreads,
    /// Vrba and others, 2009.
    Nornir,
    /// Pinto and Maillard.
    Worms,
}

impl Paper {
    /// All of them, in the order of the report.
    pub(super) const ALL: [Paper; 4] = [
        Paper::Wool,
        Paper::StackThreads,
        Paper::Nornir,
        Paper::Worms,
    ];

    /// The word on the command line, with which the names of its figures begin.
    pub(super) fn word(self) -> &'static str {
        match self {
            Paper::Wool => "wool",
            Paper::StackThreads => "stackthreads",
            Paper::Nornir => "nornir",
            Paper::Worms => "worms",
        }
    }

    /// The name of the system.
    pub(super) fn system(self) -> &'static str {
        match self {
            Paper::Wool => "Wool",
            Paper::StackThreads => "StackThreads/MP, extended",
            Paper::Nornir => "Nornir",
            Paper::Worms => "WORMS",
        }
    }

    /// Who wrote it, what, when, and on what they measured.
    pub(super) fn citation(self) -> &'static str {
        match self {
            Paper::Wool => {
                "Karl-Filip Faxén, Efficient Work Stealing for Fine-Grained Parallelism, slides, 26 November 2009. \
                 The slides do not name the machine. Their text has no page numbers, so slides are cited by title."
            }
            Paper::StackThreads => {
                "Adnan and Mitsuhisa Sato, Dynamic Multiple Work Stealing Strategy for Flexible Load Balancing, \
                 IEICE Transactions E95-D, 2012, page 1565. Two AMD Opteron 6168 with 12 cores each, 12 GB, \
                 GCC 4.4.3, Intel C 11.1, GCC 2.8.1 (section 4)."
            }
            Paper::Nornir => {
                "Željko Vrba, Håvard Espeland, Pål Halvorsen and Carsten Griwodz, Limits of Work-Stealing \
                 Scheduling, JSSPP 2009, LNCS 5798, pages 280 to 299. Four dual-core AMD Opteron at 2.6 GHz, 64 GB, \
                 Linux 2.6.27.3, GCC 4.3.2 (section 3)."
            }
            Paper::Worms => {
                "Vinícius Garcia Pinto and Nicolas Maillard, Preliminary Experiments with Work-First and Help-First \
                 Scheduling Policies in WORMS. Two Intel Xeon E5-2630 with 6 cores each at 2.30 GHz, 32 GB, \
                 g++ 4.8.1, Boost 1.56 (section 4.1)."
            }
        }
    }
}

/// Where the numbers come from that are shown as the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// A table, or numbers in the text: as printed.
    Printed,
    /// A plot of which the text says some numbers; only those are shown.
    SaidOfPlot,
    /// A plot, and no number of it stands in the text.
    PlotOnly,
}

impl Reading {
    /// The mark in the report.
    pub(super) fn mark(self) -> &'static str {
        match self {
            Reading::Printed => "as printed",
            Reading::SaidOfPlot => {
                "a plot in the paper: shown are only the numbers that its text states, none is read off the plot"
            }
            Reading::PlotOnly => {
                "a plot in the paper, of which the text that we have states no numbers: none is shown, none is \
                 read off"
            }
        }
    }
}

/// How a sheet is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Curves over numbers.
    Lines,
    /// Curves over the logarithms of numbers.
    LogLines,
    /// Curves over the logarithms of numbers, with a logarithmic height.
    LogLog,
    /// Lying bars.
    Bars,
    /// Lying bars on a logarithmic scale.
    LogBars,
    /// One lying bar for each x, divided among the series.
    Stacks,
    /// Boxes with whiskers and outliers.
    Boxes,
}

/// The place of a value on the x axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum X {
    /// A number.
    Number(f64),
    /// A word, as the name of a runtime.
    Word(String),
}

impl From<&str> for X {
    fn from(word: &str) -> X {
        X::Word(word.to_owned())
    }
}

impl From<String> for X {
    fn from(word: String) -> X {
        X::Word(word)
    }
}

impl From<f64> for X {
    fn from(number: f64) -> X {
        X::Number(number)
    }
}

impl From<usize> for X {
    fn from(number: usize) -> X {
        X::Number(number as f64)
    }
}

impl X {
    /// For tables.
    pub(super) fn text(&self) -> String {
        match self {
            X::Number(number) => number.to_string(),
            X::Word(word) => word.clone(),
        }
    }
}

/// One value with its spread.
#[derive(Clone, Debug)]
pub(super) struct FigureRow {
    /// The curve, or the legend entry.
    pub(super) series: String,
    /// Where.
    pub(super) x: X,
    /// How much.
    pub(super) spread: Spread,
    /// The sample itself, where there is one.
    pub(super) values: Vec<f64>,
}

/// The unit of values that are counted, and the same in every run.
pub(super) const COUNTED: &str = "nodes";

/// Values that are drawn in one plot.
#[derive(Clone, Debug)]
pub(super) struct Sheet {
    /// The title above it.
    pub(super) title: String,
    /// The label of the x axis.
    pub(super) x: String,
    /// The label of the values, with their unit last.
    pub(super) y: String,
    /// How it is drawn.
    pub(super) form: Form,
    /// The values.
    pub(super) rows: Vec<FigureRow>,
}

impl Sheet {
    /// A sheet without values.
    pub(super) fn new(title: impl Into<String>, x: &str, y: &str, form: Form) -> Sheet {
        Sheet {
            title: title.into(),
            x: x.to_owned(),
            y: y.to_owned(),
            form,
            rows: Vec::new(),
        }
    }

    /// Numbers of a paper: series, x, value.
    pub(super) fn printed<T: Into<X> + Clone>(mut self, rows: &[(&str, T, f64)]) -> Sheet {
        self.rows
            .extend(rows.iter().map(|(series, x, value)| FigureRow {
                series: (*series).to_owned(),
                x: x.clone().into(),
                spread: Spread::printed(*value),
                values: Vec::new(),
            }));
        self
    }

    /// A measured value; nothing where there is no sample.
    pub(super) fn push(&mut self, series: impl Into<String>, x: impl Into<X>, values: Vec<f64>) {
        if let Some(spread) = Spread::of(&values) {
            self.rows.push(FigureRow {
                series: series.into(),
                x: x.into(),
                spread,
                values,
            });
        }
    }

    /// The median of a series at a place.
    pub(super) fn median(&self, series: &str, x: impl Into<X>) -> Option<f64> {
        self.row(series, x).map(|row| row.spread.median)
    }

    /// The row of a series at a place.
    pub(super) fn row(&self, series: &str, x: impl Into<X>) -> Option<&FigureRow> {
        let x = x.into();
        self.rows
            .iter()
            .find(|row| row.series == series && row.x == x)
    }

    /// The names of the series, in the order of their first rows.
    pub(super) fn series(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !names.contains(&row.series.as_str()) {
                names.push(&row.series);
            }
        }
        names
    }
}

/// Whose question a verdict answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asker {
    /// The paper states what the rule tests.
    Paper,
    /// The paper has a plot and says nothing of it: the question is ours, and its verdict is
    /// counted apart.
    Ours,
}

/// A figure or a table of a paper.
pub(super) struct Figure {
    /// The word on the command line; it begins with that of the paper.
    pub(super) name: &'static str,
    /// Whose it is.
    pub(super) paper: Paper,
    /// The subject.
    pub(super) title: &'static str,
    /// The paper's finding, in our words.
    pub(super) finding: &'static str,
    /// Where in the paper.
    pub(super) source: &'static str,
    /// The kind of its numbers.
    pub(super) reading: Reading,
    /// Whose question the rule answers.
    pub(super) asker: Asker,
    /// Its numbers.
    pub(super) printed: fn() -> Vec<Sheet>,
    /// The differences here, in one or two sentences.
    pub(super) here: &'static str,
    /// The rule by which the finding is judged, in words.
    pub(super) rule: &'static str,
    /// Names of the groups of measurements that it is drawn from; a name ends with `/` where it
    /// stands for all that begin with it.
    pub(super) groups: &'static [&'static str],
    /// Draws it.
    pub(super) sheets: fn(&SeenPoints<'_>) -> Vec<Sheet>,
    /// Judges it.
    pub(super) judge: fn(&SeenPoints<'_>) -> Option<Judgement>,
}

impl Figure {
    /// Whether it is drawn from this group.
    pub(super) fn uses(&self, group: &str) -> bool {
        self.groups.iter().any(|name| match name.strip_suffix('/') {
            Some(stem) => group
                .strip_prefix(stem)
                .is_some_and(|rest| rest.starts_with('/')),
            None => *name == group,
        })
    }
}
