//! How far a run is, and about how long it will still take.

use std::cell::RefCell;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often the bar is drawn while nothing else changes.
const TICK: Duration = Duration::from_millis(500);

/// A bar on a terminal; elsewhere a line for each group.
pub(super) struct GroupProgress {
    bar: Option<ProgressBar>,
    groups: usize,
    now: RefCell<(usize, String, Instant)>,
}

impl GroupProgress {
    /// For so many groups, which take about so long.
    pub(super) fn new(groups: usize, left: Duration) -> GroupProgress {
        let bar = (groups > 0 && std::io::stderr().is_terminal()).then(|| {
            let bar =
                ProgressBar::with_draw_target(Some(groups as u64), ProgressDrawTarget::stderr());
            let style =
                ProgressStyle::with_template("{bar:24} {pos} of {len}, {elapsed} gone, {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message(about(left));
            bar.enable_steady_tick(TICK);
            bar
        });
        GroupProgress {
            bar,
            groups,
            now: RefCell::new((0, String::new(), Instant::now())),
        }
    }

    /// A group begins; from here it takes about `left` to the end.
    pub(super) fn begin(&self, group: &str, left: Duration) {
        let mut now = self.now.borrow_mut();
        *now = (
            now.0 + 1,
            format!("{}: {group}", about(left)),
            Instant::now(),
        );
        if let Some(bar) = &self.bar {
            bar.set_message(now.1.clone());
        }
    }

    /// It is complete.
    pub(super) fn end(&self) {
        let now = self.now.borrow();
        match &self.bar {
            Some(bar) => bar.inc(1),
            None => eprintln!(
                "{} of {}, {} took {:.1} s",
                now.0,
                self.groups,
                now.1,
                now.2.elapsed().as_secs_f64()
            ),
        }
    }
}

impl Drop for GroupProgress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// `about 3 min left`.
fn about(left: Duration) -> String {
    let seconds = left.as_secs();
    if seconds >= 90 {
        format!("about {} min left", (seconds + 30) / 60)
    } else {
        format!("about {seconds} s left")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_said_in_the_unit_that_fits() {
        for (seconds, want) in [
            (0, "about 0 s left"),
            (89, "about 89 s left"),
            (240, "about 4 min left"),
        ] {
            assert_eq!(about(Duration::from_secs(seconds)), want);
        }
    }
}
