//! A word about a thread that waits for other ranks for long, where `ROVING_WATCH` asks for it.

use std::time::{Duration, Instant};

use crate::prim::{tell_standstill, watch_patience};

/// One wait, which is told once when it has taken as long as `ROVING_WATCH` says.
pub(crate) struct Patience {
    /// None where nobody asks.
    most: Option<Duration>,
    since: Option<Instant>,
    is_told: bool,
}

impl Patience {
    pub(crate) fn new() -> Patience {
        Patience {
            most: watch_patience(),
            since: None,
            is_told: false,
        }
    }

    /// Whether somebody asks to be told.
    pub(crate) fn is_asked(&self) -> bool {
        self.most.is_some()
    }

    /// Something has come: what follows is another wait.
    pub(crate) fn renew(&mut self) {
        (self.since, self.is_told) = (None, false);
    }

    /// Nothing has come yet. `tell` says who waits, and for what.
    pub(crate) fn look(&mut self, tell: impl FnOnce() -> String) {
        let Some(most) = self.most.filter(|_| !self.is_told) else {
            return;
        };
        let now = Instant::now();
        if now.duration_since(*self.since.get_or_insert(now)) >= most {
            self.is_told = true;
            let text = format!("roving-dist: after {most:?} {}\n", tell());
            tell_standstill(&text);
        }
    }
}
