//! A bar over the runs of a command: on a terminal only, and only once the work has taken a second.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long nothing is shown; then, how often the bar is drawn.
const QUIET: Duration = Duration::from_secs(1);
/// Characters of the bar.
const WIDTH: usize = 30;

/// The bar.
pub(crate) struct RunsBar {
    done: Arc<AtomicUsize>,
    /// Dropped, it tells the thread that draws to end.
    ended: Option<Sender<()>>,
    drawer: Option<JoinHandle<()>>,
}

impl RunsBar {
    /// A bar over so many runs.
    pub(crate) fn new(title: String, runs: usize) -> Self {
        let done = Arc::new(AtomicUsize::new(0));
        let (ended, end) = mpsc::channel();
        let seen = Arc::clone(&done);
        let begun = Instant::now();
        let draw = move || {
            let mut drawn = false;
            while end.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
                // Ordering: Relaxed; a number to be shown.
                let line = line(&title, seen.load(Ordering::Relaxed), runs, begun.elapsed());
                // What cannot be drawn is not missed.
                let _ = write!(io::stderr(), "\r{line}\x1b[K");
                drawn = true;
            }
            if drawn {
                let _ = write!(io::stderr(), "\r\x1b[K");
            }
        };
        // Without a terminal, or without the thread, nothing is shown, and nothing else is lost.
        let thread = || thread::Builder::new().name("progress".into()).spawn(draw);
        let drawer = io::stderr().is_terminal().then(thread);
        RunsBar {
            done,
            ended: Some(ended),
            drawer: drawer.and_then(Result::ok),
        }
    }

    /// One run is done.
    pub(crate) fn step(&self) {
        // Ordering: Relaxed, as above.
        self.done.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for RunsBar {
    fn drop(&mut self) {
        self.ended = None;
        if let Some(drawer) = self.drawer.take() {
            // It cannot panic in a way that matters: it only draws.
            let _ = drawer.join();
        }
    }
}

fn line(title: &str, done: usize, runs: usize, time: Duration) -> String {
    let full = WIDTH * done.min(runs) / runs.max(1);
    let (full, empty) = ("█".repeat(full), "░".repeat(WIDTH - full));
    let seconds = time.as_secs();
    format!("{title} {full}{empty} {done} of {runs} runs, {seconds} s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_fills_up() {
        let drawn = |done| line("uts T3", done, 10, Duration::from_millis(2500));
        let marks = |done| drawn(done).matches('█').count();
        assert_eq!((marks(0), marks(5), marks(10)), (0, 15, 30));
        assert!(drawn(5).starts_with("uts T3 █"), "{}", drawn(5));
        assert!(drawn(5).ends_with("5 of 10 runs, 2 s"), "{}", drawn(5));
        // More than were announced, or none: the bar stays as wide.
        assert_eq!(
            (marks(11), line("", 0, 0, QUIET).matches('░').count()),
            (30, 30)
        );
    }

    #[test]
    fn its_thread_ends_with_it() {
        let progress = RunsBar::new("a title".into(), 2);
        progress.step();
        drop(progress);
    }
}
