//! The pulse: says that this rank is alive, and notices when the one before it is not.
//!
//! Its thread does nothing else. Code of the program, which may take long, runs on others: the
//! engine is free meanwhile, so that signs of life leave. They are heard by who polls; while nobody
//! does, because messages that have come are being handled, nobody counts as silent.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::link::Link;
use super::whereabouts::Whereabouts;
use crate::error::Error;
use crate::unwind::lock;

/// A sign of life, from each rank to the next: the bytes of its [`Whereabouts`].
const BEAT: u32 = 2;
/// How long a rank may be silent before the run ends, unless somebody has said otherwise.
pub(super) const SILENCE_MAX: Duration = Duration::from_secs(10);
/// So many signs of life are sent in that time.
const BEATS: u32 = 5;

/// One rank's pulse; it stops when this is dropped.
pub(super) struct Pulse {
    /// None where there is no other rank.
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Pulse {
    /// Starts it. A rank that is silent for `silence_max` ends the run.
    pub(super) fn start(link: &Arc<Link>, silence_max: Duration) -> std::io::Result<Pulse> {
        if link.ranks() == 1 {
            return Ok(Pulse { thread: None });
        }
        let (stop, stops) = mpsc::channel();
        let (link, mut listener) = (Arc::clone(link), Listener::new(link, silence_max));
        let thread = thread::Builder::new()
            .name("roving-pulse".into())
            .spawn(move || {
                let pause = silence_max / BEATS;
                loop {
                    listener.beat(&link);
                    if stops.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                        return;
                    }
                    listener.listen(&link);
                }
            })?;
        Ok(Pulse {
            thread: Some((stop, thread)),
        })
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.thread.take() {
            drop(stop);
            // It has no code that panics.
            let _ = thread.join();
        }
    }
}

/// The state of the thread: what it has heard of the rank before this one.
struct Listener {
    silence_max: Duration,
    here: Whereabouts,
    /// None before its first sign of life.
    there: Arc<Mutex<Option<Whereabouts>>>,
    /// At the last look.
    heard: u64,
    vain: u64,
    /// So many looks in a row have found nothing of it, though all that had come was taken.
    silent: u32,
}

impl Listener {
    fn new(link: &Link, silence_max: Duration) -> Listener {
        let there = Arc::new(Mutex::new(None));
        let last = Arc::clone(&there);
        link.open(BEAT, move |_, bytes| {
            *lock(&last) = Whereabouts::read(bytes)
        });
        Listener {
            silence_max,
            here: Whereabouts::of_this_process(),
            there,
            heard: 0,
            vain: 0,
            silent: 0,
        }
    }

    fn beat(&self, link: &Link) {
        if !link.is_faulty() {
            let next = (link.rank() + 1) % link.ranks();
            link.send_apart(next, BEAT, &self.here.bytes());
        }
    }

    /// Looks whether something has come since the last time. A process that was stopped, or had no
    /// core, looks once in that time.
    fn listen(&mut self, link: &Link) {
        let (heard, vain) = (link.heard(), link.vain());
        if heard != self.heard {
            self.silent = 0;
        } else if vain != self.vain {
            self.silent += 1;
        }
        (self.heard, self.vain) = (heard, vain);
        if self.silent >= BEATS && !link.is_faulty() {
            let found = self.here.look_for(*lock(&self.there));
            let silence = format!("has been silent for {:?}: {found}", self.silence_max);
            link.fail_with(Error::at(link.before(), link.ranks(), silence).of_loss());
        }
    }
}
