//! The progress thread: polls where nobody else does, says that this rank is alive, and notices
//! when the one before it is not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::backoff::Backoff;
use super::link::Link;
use crate::error::Error;

/// A sign of life, from each rank to the next.
const BEAT: u32 = 2;
/// The longest sleep: how late a message can be handled when no worker polls.
const SLEEP_MAX: Duration = Duration::from_millis(2);
/// So many signs of life are sent in the time after which a rank is given up.
const BEATS: u32 = 5;

/// One rank's progress thread.
pub(super) struct Progress {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Progress {
    /// Starts it. A rank that is silent for `silence_max` ends the run.
    pub(super) fn start(link: &Arc<Link>, silence_max: Duration) -> std::io::Result<Progress> {
        let ended = Arc::new(AtomicBool::new(false));
        let (link, seen) = (Arc::clone(link), Arc::clone(&ended));
        let pulse = Pulse::new(&link, silence_max);
        let thread = thread::Builder::new()
            .name("roving-progress".into())
            .spawn(move || run(&link, &seen, pulse))?;
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

fn run(link: &Link, ended: &AtomicBool, mut pulse: Pulse) {
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
        pulse.look(link);
        polls = link.polls();
    }
}

/// The signs of life that this rank sends, and those that it gets.
struct Pulse {
    silence_max: Duration,
    heard: Arc<Mutex<Instant>>,
    sent: Option<Instant>,
    looked: Instant,
}

impl Pulse {
    fn new(link: &Link, silence_max: Duration) -> Pulse {
        let heard = Arc::new(Mutex::new(Instant::now()));
        let last = Arc::clone(&heard);
        link.open(BEAT, move |_, _| {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        });
        Pulse {
            silence_max,
            heard,
            sent: None,
            looked: Instant::now(),
        }
    }

    fn look(&mut self, link: &Link) {
        let (now, ranks) = (Instant::now(), link.ranks());
        if ranks == 1 || link.is_faulty() {
            return;
        }
        // A process that was stopped, or had no core, must not take its own silence for the
        // other's.
        if now.duration_since(self.looked) > self.silence_max / 2 {
            *self.heard.lock().unwrap_or_else(PoisonError::into_inner) = now;
        }
        self.looked = now;
        let is_due = |sent| now.duration_since(sent) > self.silence_max / BEATS;
        if self.sent.is_none_or(is_due) {
            self.sent = Some(now);
            link.send((link.rank() + 1) % ranks, BEAT, &[]);
            link.flush();
        }
        let heard = *self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        if now.duration_since(heard) > self.silence_max {
            let before = (link.rank() + ranks - 1) % ranks;
            let silence = format!(
                "has been silent for {:?}: it was killed, or lost",
                self.silence_max
            );
            link.fail_with(Error::at(before, ranks, silence).of_loss());
        }
    }
}
