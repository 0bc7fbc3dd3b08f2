//! Places where a panic can be made to happen: callbacks and destructors, numbered as they are
//! reached.

use std::any::Any;
use std::panic;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};
use std::thread;

use roving::Pool;

use crate::census::{Census, Counted};

/// The payload of an injected panic.
pub(crate) struct Injected;

/// The places that one run reaches.
pub(crate) struct Sites {
    pub(crate) census: &'static Census,
    reached: AtomicU64,
    /// The number of the place that panics.
    at: AtomicU64,
    fired: Mutex<Option<&'static str>>,
    /// Where the injected panic came out.
    received: AtomicU64,
    /// Callbacks that have begun and not ended.
    inside: AtomicI64,
    /// Panics of the program's own, which are no injected ones.
    foreign: AtomicBool,
}

/// No place panics.
pub(crate) const NOWHERE: u64 = u64::MAX;

/// How a run went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunOutcome {
    pub(crate) reached: u64,
    pub(crate) fired: Option<&'static str>,
    pub(crate) received: u64,
    pub(crate) inside: i64,
    pub(crate) foreign: bool,
}

/// The input of a program, which is called on a plain thread: it enters the pool itself.
pub(crate) struct Attacked<'p> {
    pub(crate) sites: &'static Sites,
    pub(crate) pool: &'p Pool,
    pub(crate) other: &'p Pool,
}

/// A callback that has begun.
pub(crate) struct BegunCallback(&'static Sites);

impl Drop for BegunCallback {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, SeqCst);
    }
}

impl Sites {
    pub(crate) fn leak() -> &'static Sites {
        Box::leak(Box::new(Sites {
            census: Census::leak(),
            reached: AtomicU64::new(0),
            at: AtomicU64::new(NOWHERE),
            fired: Mutex::default(),
            received: AtomicU64::new(0),
            inside: AtomicI64::new(0),
            foreign: AtomicBool::new(false),
        }))
    }

    /// The next run begins; the place of that number is to panic.
    pub(crate) fn reset(&self, at: u64) {
        self.census.reset();
        self.reached.store(0, SeqCst);
        self.at.store(at, SeqCst);
        *self.fired.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.received.store(0, SeqCst);
        self.inside.store(0, SeqCst);
        self.foreign.store(false, SeqCst);
    }

    pub(crate) fn seen(&self) -> RunOutcome {
        RunOutcome {
            reached: self.reached.load(SeqCst),
            fired: *self.fired.lock().unwrap_or_else(PoisonError::into_inner),
            received: self.received.load(SeqCst),
            inside: self.inside.load(SeqCst),
            foreign: self.foreign.load(SeqCst),
        }
    }

    /// A callback begins: it is a place. What is returned is kept to its end.
    pub(crate) fn enter(&'static self, what: &'static str) -> BegunCallback {
        self.inside.fetch_add(1, SeqCst);
        let inside = BegunCallback(self);
        self.reach(what);
        inside
    }

    fn reach(&self, what: &'static str) {
        let number = self.reached.fetch_add(1, SeqCst);
        // One that panics while another panic is on its way would be the program's own fault.
        if number == self.at.load(SeqCst) && !thread::panicking() {
            *self.fired.lock().unwrap_or_else(PoisonError::into_inner) = Some(what);
            panic::resume_unwind(Box::new(Injected));
        }
    }

    /// Somebody was handed that payload.
    pub(crate) fn receive(&self, payload: &(dyn Any + Send)) {
        if payload.is::<Injected>() {
            self.received.fetch_add(1, SeqCst);
        } else {
            self.foreign.store(true, SeqCst);
        }
    }

    /// A value whose destructor is a place.
    pub(crate) fn value(&'static self, what: &'static str) -> ArmedValue {
        ArmedValue {
            what,
            sites: self,
            _counted: self.census.one(),
        }
    }
}

/// Its destructor may panic; it is counted as dropped all the same.
pub(crate) struct ArmedValue {
    what: &'static str,
    sites: &'static Sites,
    _counted: Counted,
}

impl Clone for ArmedValue {
    fn clone(&self) -> ArmedValue {
        let _inside = self.sites.enter("a clone");
        self.sites.value(self.what)
    }
}

impl Drop for ArmedValue {
    fn drop(&mut self) {
        self.sites.reach(self.what);
    }
}

/// A value of more than a slot holds.
#[derive(Clone)]
pub(crate) struct Large(
    #[expect(dead_code, reason = "its drop counts")] ArmedValue,
    [u64; 16],
);

impl Large {
    pub(crate) fn new(value: ArmedValue) -> Large {
        Large(value, [7; 16])
    }

    pub(crate) fn look(&self) {
        assert_eq!(self.1, [7; 16], "a value changed on its way");
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    #[test]
    fn one_place_panics_and_its_value_is_dropped_once() {
        let sites = Sites::leak();
        let run = || {
            let _value = sites.value("a value");
            let _inside = sites.enter("a callback");
        };
        sites.reset(NOWHERE);
        run();
        assert_eq!(sites.seen().reached, 2);
        for (at, what) in ["a callback", "a value"].into_iter().enumerate() {
            sites.reset(at as u64);
            let payload = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
            sites.receive(&*payload);
            let seen = sites.seen();
            assert_eq!((seen.fired, seen.received, seen.inside), (Some(what), 1, 0));
            assert_eq!(sites.census.counts().complaint(), None);
        }
    }
}
