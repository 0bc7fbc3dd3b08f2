//! The input and the outcome of a row.

use std::fmt;
use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::dog::Dog;

/// The verdict on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FigureVerdict {
    /// It is as it must be.
    Held,
    /// It is not.
    Broken,
    /// Nothing is wrong, but the time was too short for the number that is asked for.
    Short,
    /// Nothing is asked for.
    Told,
    /// This system cannot say.
    Skipped,
}

impl fmt::Display for FigureVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FigureVerdict::Held => "held",
            FigureVerdict::Broken => "broken",
            FigureVerdict::Short => "short",
            FigureVerdict::Told => "told",
            FigureVerdict::Skipped => "skipped",
        })
    }
}

/// One figure of a row.
#[derive(Clone, Debug)]
pub(crate) struct RowFigure {
    pub(crate) what: String,
    pub(crate) value: f64,
    pub(crate) unit: &'static str,
    pub(crate) must: String,
    pub(crate) verdict: FigureVerdict,
}

impl RowFigure {
    /// A figure by the way.
    pub(crate) fn told(what: impl Into<String>, value: f64, unit: &'static str) -> RowFigure {
        RowFigure {
            what: what.into(),
            value,
            unit,
            must: String::new(),
            verdict: FigureVerdict::Told,
        }
    }

    /// At most `bound`, or the promise is broken.
    pub(crate) fn at_most(
        what: impl Into<String>,
        value: f64,
        bound: f64,
        unit: &'static str,
    ) -> RowFigure {
        let verdict = match value <= bound {
            true => FigureVerdict::Held,
            false => FigureVerdict::Broken,
        };
        RowFigure {
            what: what.into(),
            value,
            unit,
            must: format!("≤ {}", plain(bound)),
            verdict,
        }
    }

    /// At least `target`, or the time was too short.
    pub(crate) fn at_least(
        what: impl Into<String>,
        value: f64,
        target: f64,
        unit: &'static str,
    ) -> RowFigure {
        let verdict = match value >= target {
            true => FigureVerdict::Held,
            false => FigureVerdict::Short,
        };
        RowFigure {
            what: what.into(),
            value,
            unit,
            must: format!("≥ {}", plain(target)),
            verdict,
        }
    }

    /// A figure that this system cannot give.
    pub(crate) fn skipped(what: impl Into<String>, unit: &'static str) -> RowFigure {
        RowFigure {
            what: what.into(),
            value: f64::NAN,
            unit,
            must: String::new(),
            verdict: FigureVerdict::Skipped,
        }
    }
}

/// A number as one writes it: without a fraction where it has none, or is large.
pub(crate) fn plain(value: f64) -> String {
    if value.is_nan() {
        return "?".to_owned();
    }
    if value.fract() == 0.0 || value.abs() >= 1000.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

/// A promise broken: what happened, and how to see it again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BrokenPromise {
    pub(crate) text: String,
    pub(crate) replay: String,
}

/// The outcome of a row.
pub(crate) type Outcome = Result<Vec<RowFigure>, BrokenPromise>;

/// The input of a row.
pub(crate) struct RowRun<'a> {
    pub(crate) row: &'static str,
    pub(crate) seed: u64,
    /// Its time.
    pub(crate) time: Duration,
    /// Where tables go, if anywhere.
    pub(crate) out: Option<&'a std::path::Path>,
    /// The part of the full number that is asked for.
    pub(crate) part: f64,
    pub(crate) dog: &'a Dog,
    pub(crate) progress: &'a ProgressLine,
    pub(crate) start: Instant,
}

impl RowRun<'_> {
    /// That many of a number that the full run has to reach.
    pub(crate) fn part_of(&self, full: f64, least: f64) -> f64 {
        (full * self.part).ceil().clamp(least.min(full), full)
    }

    /// The command that runs this row again with the same seed.
    pub(crate) fn replay(&self) -> String {
        let minutes = (self.time.as_secs_f64() / 60.0).max(0.05);
        format!(
            "torture {} --seed {} --minutes {minutes:.2}",
            self.row, self.seed
        )
    }

    pub(crate) fn failure(&self, text: impl Into<String>) -> BrokenPromise {
        BrokenPromise {
            text: text.into(),
            replay: self.replay(),
        }
    }

    /// Whether the row's time is over, or, with its number not reached, twice that.
    pub(crate) fn is_over(&self, has_enough: bool) -> bool {
        let time = match has_enough {
            true => self.time,
            false => self.time * 2,
        };
        self.start.elapsed() >= time
    }

    pub(crate) fn tell(&self, text: impl FnOnce() -> String) {
        self.progress.tell(self.row, text);
    }
}

/// The line that shows how far a row is: over and over where somebody looks, else now and then.
pub(crate) struct ProgressLine {
    last: Mutex<Option<Instant>>,
    is_terminal: bool,
}

impl ProgressLine {
    pub(crate) fn new() -> ProgressLine {
        ProgressLine {
            last: Mutex::default(),
            is_terminal: std::io::stderr().is_terminal(),
        }
    }

    fn tell(&self, row: &str, text: impl FnOnce() -> String) {
        let pause = match self.is_terminal {
            true => Duration::from_millis(500),
            false => Duration::from_secs(20),
        };
        let Ok(mut last) = self.last.try_lock() else {
            return;
        };
        let now = Instant::now();
        match *last {
            Some(before) if now - before < pause => return,
            None if !self.is_terminal => return *last = Some(now),
            _ => *last = Some(now),
        }
        let end = if self.is_terminal { "\x1b[K\r" } else { "\n" };
        let mut out = std::io::stderr().lock();
        let _ = write!(out, "{row:9} … {}{end}", text());
        let _ = out.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_judge_themselves() {
        assert_eq!(
            RowFigure::at_most("wrong", 0.0, 0.0, "programs").verdict,
            FigureVerdict::Held
        );
        assert_eq!(
            RowFigure::at_most("wrong", 1.0, 0.0, "programs").verdict,
            FigureVerdict::Broken
        );
        assert_eq!(
            RowFigure::at_least("tasks", 9.0, 10.0, "tasks").verdict,
            FigureVerdict::Short
        );
        assert_eq!(
            RowFigure::at_least("tasks", 10.0, 10.0, "tasks").verdict,
            FigureVerdict::Held
        );
    }

    #[test]
    fn numbers_are_plain() {
        assert_eq!(plain(1e9), "1000000000");
        assert_eq!(plain(0.5), "0.50");
        assert_eq!(plain(1234.5), "1234");
        assert_eq!(plain(f64::NAN), "?");
    }
}
