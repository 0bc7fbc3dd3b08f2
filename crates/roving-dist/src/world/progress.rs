//! The progress thread: polls where nobody else does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::backoff::Backoff;
use super::link::Link;

/// The longest sleep: how late a message can be handled when no worker polls.
const SLEEP_MAX: Duration = Duration::from_millis(2);

/// One rank's progress thread.
pub(super) struct Progress {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts it.
    pub(super) fn start(link: &Arc<Link>) -> std::io::Result<Progress> {
        let ended = Arc::new(AtomicBool::new(false));
        let (link, seen) = (Arc::clone(link), Arc::clone(&ended));
        let thread = thread::Builder::new()
            .name("roving-progress".into())
            .spawn(move || run(&link, &seen))?;
        Ok(Progress {
            ended,
            thread: Some(thread),
        })
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        // Ordering: Relaxed; nothing but the request to end.
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panic of the thread has been reported as a fault already.
            let _ = thread.join();
        }
    }
}

fn run(link: &Link, ended: &AtomicBool) {
    let mut backoff = Backoff::sleeping(SLEEP_MAX);
    let mut polls = link.polls();
    // Ordering: Relaxed; a request. The thread that makes it waits for this one.
    while !ended.load(Ordering::Relaxed) {
        let others = link.polls() != polls;
        if others {
            // Workers poll, and oftener than this thread would.
            thread::park_timeout(SLEEP_MAX);
        } else if link.poll() {
            backoff.reset();
        } else {
            thread::park_timeout(backoff.next().unwrap_or_default());
        }
        polls = link.polls();
    }
}
