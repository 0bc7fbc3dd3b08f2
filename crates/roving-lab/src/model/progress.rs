//! How far a simulation is.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over simulated tasks, with the time that is left. On a terminal only.
pub(super) struct SimulationBar {
    bar: ProgressBar,
    done: u64,
}

impl SimulationBar {
    /// Over `runs` simulations of the same work.
    pub(super) fn new(title: &str, runs: usize) -> SimulationBar {
        let bar =
            ProgressBar::with_draw_target(Some(runs as u64 * 1000), ProgressDrawTarget::stderr());
        let style =
            ProgressStyle::with_template("{msg} {bar:30} {percent}%, {elapsed}, {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar.set_message(title.to_owned());
        bar.enable_steady_tick(Duration::from_secs(1));
        SimulationBar { bar, done: 0 }
    }

    /// `part` of the present simulation is done.
    pub(super) fn part(&self, part: f64) {
        self.bar
            .set_position(self.done + (part.min(1.0) * 1000.0) as u64);
    }

    /// The present simulation is done.
    pub(super) fn step(&mut self) {
        self.done += 1000;
        self.bar.set_position(self.done);
    }
}

impl Drop for SimulationBar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
