//! The watchdog: what has not come to an end within its time hangs, and the process ends with all
//! that is known about it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::system;

/// Says more about a thing that hangs.
pub(crate) type State = Arc<dyn Fn() -> String + Send + Sync>;

struct LeashedThing {
    since: Instant,
    what: String,
    replay: String,
    state: Option<State>,
}

#[derive(Default)]
struct Kennel {
    watched: BTreeMap<u64, LeashedThing>,
    next: u64,
}

/// Watches any number of things at once.
#[derive(Clone)]
pub(crate) struct Dog {
    kennel: Arc<Mutex<Kennel>>,
    limit: Duration,
}

/// A leash of the watchdog: what it watches is over when this is dropped.
pub(crate) struct Leash<'d> {
    dog: &'d Dog,
    number: u64,
}

impl Dog {
    /// Each thing has `limit`.
    pub(crate) fn new(limit: Duration) -> Dog {
        let dog = Dog {
            kennel: Arc::default(),
            limit,
        };
        let own = dog.clone();
        // It watches to the end of the process.
        thread::spawn(move || {
            loop {
                thread::sleep(Duration::from_millis(500).min(own.limit));
                if let Some(text) = own.look(Instant::now()) {
                    eprintln!("{text}");
                    std::process::abort();
                }
            }
        });
        dog
    }

    fn kennel(&self) -> MutexGuard<'_, Kennel> {
        self.kennel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// `replay` is the command that does it again.
    pub(crate) fn watch(&self, what: impl Into<String>, replay: impl Into<String>) -> Leash<'_> {
        self.watch_with(what.into(), replay.into(), None)
    }

    pub(crate) fn watch_with(
        &self,
        what: String,
        replay: String,
        state: Option<State>,
    ) -> Leash<'_> {
        let mut kennel = self.kennel();
        kennel.next += 1;
        let number = kennel.next;
        let since = Instant::now();
        let watched = LeashedThing {
            since,
            what,
            replay,
            state,
        };
        kennel.watched.insert(number, watched);
        Leash { dog: self, number }
    }

    /// Describes whatever hangs at that time.
    fn look(&self, now: Instant) -> Option<String> {
        let (mut text, state) = {
            let kennel = self.kennel();
            let hangs =
                |watched: &&LeashedThing| now.saturating_duration_since(watched.since) > self.limit;
            let watched = kennel.watched.values().find(hangs)?;
            let (what, replay) = (&watched.what, &watched.replay);
            let seconds = self.limit.as_secs();
            let text = format!("\n{what}: hangs, not over after {seconds} s\nreplay: {replay}\n");
            (text, watched.state.clone())
        };
        if let Some(state) = state {
            text.push_str(&state());
        }
        text.push_str("threads:\n");
        text.push_str(&system::thread_table());
        Some(text)
    }
}

impl Leash<'_> {
    /// There was progress: the time begins again.
    pub(crate) fn stroke(&self) {
        let mut kennel = self.dog.kennel();
        if let Some(watched) = kennel.watched.get_mut(&self.number) {
            watched.since = Instant::now();
        }
    }
}

impl Drop for Leash<'_> {
    fn drop(&mut self) {
        let mut kennel = self.dog.kennel();
        kennel.watched.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_over_in_time_is_told_and_what_is_over_is_not() {
        let dog = Dog::new(Duration::from_secs(1000));
        let later = Instant::now() + Duration::from_secs(2000);
        assert!(dog.look(later).is_none());
        let state: State = Arc::new(|| "two workers are parked\n".to_owned());
        let leash = dog.watch_with("a program".into(), "torture it".into(), Some(state));
        assert!(dog.look(Instant::now()).is_none());
        let text = dog.look(later).unwrap();
        for part in [
            "a program: hangs",
            "1000 s",
            "replay: torture it",
            "two workers are parked",
        ] {
            assert!(text.contains(part), "{text}");
        }
        leash.stroke();
        assert!(
            dog.look(Instant::now() + Duration::from_secs(900))
                .is_none()
        );
        drop(leash);
        assert!(dog.look(later).is_none());
    }
}
