//! The processes that wait for room, as a look now and then finds them: a rank that never rests
//! reports them in no other way.

use std::time::{Duration, Instant};

use roving_flow::raw::{Side, Waiting};

use super::part::NetworkPart;

/// While somebody waits for room, it is looked at so often.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Looking takes one part of so many of the time, at most.
const LOOK_SHARE: u32 = 20;

/// The processes of a rank that waited for room at the last look.
pub(super) struct Writers {
    /// Ordered by process, and then by channel.
    before: Vec<Waiting>,
    due: Instant,
}

impl Writers {
    pub(super) fn new() -> Writers {
        Writers {
            before: Vec::new(),
            due: Instant::now(),
        }
    }

    /// Looks, if it is time. A process that has waited at the same place with the same counts since
    /// the last look may be in a deadlock with other ranks. Others go on, so that nobody is told
    /// about them.
    pub(super) fn look(&mut self, part: &NetworkPart) {
        if !part.inside.has_writers() {
            self.before.clear();
            return;
        }
        let begun = Instant::now();
        if begun < self.due {
            return;
        }
        let mut now = part.inside.waits();
        now.retain(|wait| wait.side == Side::Producer);
        let key = |wait: &Waiting| (wait.process, wait.channel);
        let has_not_moved = |wait: &Waiting| {
            let at = self.before.binary_search_by_key(&key(wait), key);
            at.is_ok_and(|at| self.before[at] == *wait)
        };
        match now.iter().any(has_not_moved) {
            true => part.is_quiet(),
            // Also says that there are no writers any more.
            false => {
                part.inside.look();
                part.inside.has_given();
            }
        }
        self.before = now;
        self.due = Instant::now() + LOOK_EVERY.max(begun.elapsed() * LOOK_SHARE);
    }
}
