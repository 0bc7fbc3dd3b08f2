//! The measured points as figures look at them.

use super::plan::SizeAndMachine;
use super::spread::median;
use super::store::MeasuredPoint;

/// All points, and what was planned.
pub(super) struct SeenPoints<'a> {
    /// The points.
    pub(super) points: &'a [MeasuredPoint],
    /// Size, workers, cores.
    pub(super) plan: &'a SizeAndMachine,
}

/// The metric of times.
pub(super) const TIME: &str = "time_s";

impl SeenPoints<'_> {
    /// The values of one thing; none where it was not measured.
    pub(super) fn values(
        &self,
        group: &str,
        series: &str,
        workers: usize,
        metric: &str,
    ) -> Option<&[f64]> {
        let wanted = |point: &&MeasuredPoint| {
            (&*point.group, &*point.series, point.workers, &*point.metric)
                == (group, series, workers, metric)
        };
        let point = self.points.iter().find(wanted)?;
        (!point.values.is_empty()).then_some(&point.values[..])
    }

    /// The median of one thing.
    pub(super) fn median(
        &self,
        group: &str,
        series: &str,
        workers: usize,
        metric: &str,
    ) -> Option<f64> {
        self.values(group, series, workers, metric).map(median)
    }

    /// The median time of a series, in seconds.
    pub(super) fn time(&self, group: &str, series: &str, workers: usize) -> Option<f64> {
        self.median(group, series, workers, TIME)
    }

    /// How many times faster than the median serial run each run was.
    pub(super) fn speedups(&self, group: &str, series: &str, workers: usize) -> Option<Vec<f64>> {
        let serial = self.time(group, SERIAL, 1)?;
        let times = self.values(group, series, workers, TIME)?;
        Some(times.iter().map(|time| serial / time).collect())
    }

    /// The median of [`SeenPoints::speedups`].
    pub(super) fn speedup(&self, group: &str, series: &str, workers: usize) -> Option<f64> {
        self.speedups(group, series, workers).as_deref().map(median)
    }

    /// The names of the series of a group in a metric, in the order in which they were measured.
    pub(super) fn series(&self, group: &str, metric: &str) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for point in self
            .points
            .iter()
            .filter(|point| point.group == group && point.metric == metric)
        {
            if !names.contains(&&*point.series) && !point.values.is_empty() {
                names.push(&point.series);
            }
        }
        names
    }

    /// The notes on measurements that were not possible in the groups of a figure, each once.
    pub(super) fn notes(&self, uses: impl Fn(&str) -> bool) -> Vec<&str> {
        let mut notes: Vec<&str> = Vec::new();
        for point in self
            .points
            .iter()
            .filter(|point| uses(&point.group) && !point.note.is_empty())
        {
            if !notes.contains(&&*point.note) {
                notes.push(&point.note);
            }
        }
        notes
    }

    /// The most workers that were measured.
    pub(super) fn most(&self) -> usize {
        self.plan.workers.last().copied().unwrap_or(1)
    }
}

/// The series by which speed-ups divide.
pub(super) const SERIAL: &str = crate::timing::lanes::SERIAL;
