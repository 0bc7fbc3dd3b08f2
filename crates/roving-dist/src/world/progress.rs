//! The progress thread: polls where nobody else does, says that this rank is alive, and notices
//! when the one before it is not.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::backoff::Backoff;
use super::link::Link;
use super::whereabouts::Whereabouts;
use crate::error::Error;
use crate::unwind::lock;

/// A sign of life, from each rank to the next: the bytes of its [`Whereabouts`].
const BEAT: u32 = 2;
/// The longest sleep: how late a message can be handled when no worker polls.
const SLEEP_MAX: Duration = Duration::from_millis(2);
/// How long a rank may be silent before the run ends, unless somebody has said otherwise.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(10);
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
    here: Whereabouts,
    heard: Arc<Mutex<Heard>>,
    sent: Option<Instant>,
    looked: Instant,
}

/// The last sign of life of the rank before this one.
#[derive(Clone, Copy)]
struct Heard {
    at: Instant,
    /// None before the first one.
    from: Option<Whereabouts>,
}

impl Pulse {
    fn new(link: &Link, silence_max: Duration) -> Pulse {
        let heard = Arc::new(Mutex::new(Heard {
            at: Instant::now(),
            from: None,
        }));
        let last = Arc::clone(&heard);
        link.open(BEAT, move |_, bytes| {
            *lock(&last) = Heard {
                at: Instant::now(),
                from: Whereabouts::read(bytes),
            };
        });
        Pulse {
            silence_max,
            here: Whereabouts::of_this_process(),
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
            lock(&self.heard).at = now;
        }
        self.looked = now;
        let is_due = |sent| now.duration_since(sent) > self.silence_max / BEATS;
        if self.sent.is_none_or(is_due) {
            self.sent = Some(now);
            link.send((link.rank() + 1) % ranks, BEAT, &self.here.bytes());
            link.flush();
        }
        let heard = *lock(&self.heard);
        if now.duration_since(heard.at) > self.silence_max {
            let before = (link.rank() + ranks - 1) % ranks;
            let found = self.here.look_for(heard.from);
            let silence = format!("has been silent for {:?}: {found}", self.silence_max);
            link.fail_with(Error::at(before, ranks, silence).of_loss());
        }
    }
}
