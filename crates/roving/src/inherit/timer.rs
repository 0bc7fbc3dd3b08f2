//! Wakes who is suspended until a deadline. There is no ticker: a thread exists while somebody
//! waits for one, and for a second after that.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use super::token::Token;
use crate::machine::per_process::{PerProcess, PerProcessGuard};
use crate::machine::prim::{mutant, process_wide, time_until};
use crate::machine::service::{self, Service};

/// The key of a token's entry in the timer.
pub(super) type Entry = (Instant, u64);

/// How long the thread stays when nobody waits any more: to start one costs more than to keep it.
const LINGER: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Timer {
    entries: BTreeMap<Entry, Weak<Token>>,
    next: u64,
    service: Service,
}

process_wide! {
    /// Who waits in the parent is not to be woken in a forked child.
    static TIMER: PerProcess<Timer> = PerProcess::new();
}

#[inline]
fn timer() -> PerProcessGuard<'static, Timer> {
    TIMER.lock()
}

/// Has who waits at `token` woken at that time; `None` if there is no thread for it, and none can
/// be started. Holds the token's lock: nothing here takes another.
#[inline]
pub(super) fn enter(deadline: Instant, token: &Arc<Token>) -> Option<Entry> {
    let mut timer = timer();
    timer.service.start("roving-timer", run).ok()?;
    if !mutant("timer_is_told") {
        TIMER.notify_all();
    }
    let entry = (deadline, timer.next);
    timer.next += 1;
    timer.entries.insert(entry, Arc::downgrade(token));
    Some(entry)
}

/// Nobody waits for that any more.
#[inline]
pub(super) fn leave(entry: Entry) {
    timer().entries.remove(&entry);
}

/// How many wait for a deadline of that time.
#[cfg(test)]
pub(crate) fn entered(deadline: Instant) -> usize {
    let entries = &timer().entries;
    entries.range((deadline, 0)..=(deadline, u64::MAX)).count()
}

/// Ends the thread, if there is one and nobody waits: before the code is unloaded. It comes back
/// when it is needed.
#[inline]
pub(crate) fn stop() {
    let threads = {
        let mut timer = timer();
        let thread = match mutant("stop_looks") || timer.entries.is_empty() {
            true => timer.service.end(),
            false => None,
        };
        [timer.service.take_retired(), thread]
    };
    TIMER.notify_all();
    threads.into_iter().flatten().for_each(service::join);
}

/// The thread, until it is no longer the one of that number.
#[inline]
fn run(number: u64) {
    let mut timer = timer();
    while timer.service.is_served_by(number) {
        let next = timer.entries.first_key_value();
        match next.map(|(&(at, _), _)| time_until(at)) {
            Some(None) => {
                let token = timer
                    .entries
                    .pop_first()
                    .and_then(|(_, token)| token.upgrade());
                drop(timer);
                if let Some(token) = token {
                    token.come();
                }
                timer = self::timer();
            }
            Some(Some(time)) => timer = TIMER.wait_timeout(timer, time).0,
            None => {
                let (held, is_over) = TIMER.wait_timeout(timer, LINGER);
                timer = held;
                // Unless it was stopped meanwhile: then the thread there is another one.
                let is_it = timer.service.is_served_by(number);
                let is_idle = mutant("retire_looks") || timer.entries.is_empty();
                if is_it && is_over && is_idle {
                    timer.service.retire();
                }
            }
        }
    }
}
