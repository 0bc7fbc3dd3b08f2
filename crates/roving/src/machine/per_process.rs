//! Values behind a lock that the whole process uses, or all users of one pool without threads, and
//! no forked child of it.
//!
//! A child has the memory of its parent, and of its threads one. If another thread of the parent
//! had the lock at the fork, nobody opens it in the child. So the lock of such a value stands in
//! several places, and each process that uses the value takes the place after that of the last of
//! its ancestors that did. There it finds no value yet: what threads of the parent have entered is
//! mostly no business of its own.
//!
//! Nobody touches the place after his own. So a child finds it open whatever other threads of its
//! parent did at the fork, also if they were looking for what that process inherits.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use super::os::forks;
use super::prim::unexplored::AtomicUsize;
use super::prim::{Condvar, Mutex, MutexGuard, Ordering, const_fn};

/// A process that comes after so many others in its line that use the value takes the place of the
/// first, whose value is left there. If another thread of that ancestor had it locked at the fork,
/// the process waits for ever.
const PLACES: usize = 5;

/// A value of each process, behind a lock.
pub(crate) struct PerProcess<T> {
    places: [Place<T>; PLACES],
    /// The place that was taken last, and [`forks`] in the process that has taken it: the remainder
    /// of a division by [`PLACES`], and the quotient.
    taken: AtomicUsize,
}

struct Place<T> {
    own: Mutex<ProcessValue<T>>,
    changed: Condvar,
}

/// The value, and the number of [`forks`] in the process that has put it there.
struct ProcessValue<T> {
    forks: usize,
    value: Option<T>,
}

impl<T> ProcessValue<T> {
    #[cold]
    #[inline(never)]
    fn begin(&mut self, make: impl FnOnce() -> T) {
        // The pools of an ancestor may be locked, and its threads are not here.
        mem::forget(self.value.replace(make()));
        self.forks = forks();
    }
}

impl<T> Place<T> {
    const_fn! {
        fn new() -> Place<T> {
            let own = ProcessValue {
                forks: 0,
                value: None,
            };
            Place {
                own: Mutex::new(own),
                changed: Condvar::new(),
            }
        }
    }
}

impl<T> PerProcess<T> {
    const_fn! {
        pub(crate) fn new() -> PerProcess<T> {
            PerProcess {
                places: [Place::new(), Place::new(), Place::new(), Place::new(), Place::new()],
                taken: AtomicUsize::new(0),
            }
        }
    }

    /// The value of this process, which begins as the default one.
    #[inline]
    pub(crate) fn lock(&self) -> PerProcessGuard<'_, T>
    where
        T: Default,
    {
        self.lock_made(T::default)
    }

    /// The value of this process. In a forked child it begins as what `inherit` makes of the
    /// nearest ancestor's that has one, or as the default one where that is locked: who would open
    /// it is not here.
    pub(crate) fn lock_inherited(&self, inherit: impl FnOnce(&T) -> T) -> PerProcessGuard<'_, T>
    where
        T: Default,
    {
        self.lock_made(|| self.of_ancestor(inherit).unwrap_or_default())
    }

    fn of_ancestor(&self, inherit: impl FnOnce(&T) -> T) -> Option<T> {
        // Who was forked before it had made its value has left an older one in its place, or none.
        // So there are two to look at, up to one that is locked.
        let own = self.own_place();
        let lasts = [1, 2].map(|back| &self.places[(own + PLACES - back) % PLACES]);
        let lasts: Vec<_> = lasts.iter().map_while(|last| last.own.try_lock()).collect();
        let nearest = lasts
            .iter()
            .filter(|last| last.value.is_some())
            .max_by_key(|last| last.forks)?;
        nearest.value.as_ref().map(inherit)
    }

    #[inline]
    fn lock_made(&self, make: impl FnOnce() -> T) -> PerProcessGuard<'_, T> {
        let mut own = self.place().own.lock();
        if own.value.is_none() || own.forks != forks() {
            own.begin(make);
        }
        PerProcessGuard(own)
    }

    pub(crate) fn notify_all(&self) {
        self.place().changed.notify_all();
    }

    /// Waits until notified, or for no reason.
    pub(crate) fn wait<'a>(&'a self, guard: PerProcessGuard<'a, T>) -> PerProcessGuard<'a, T> {
        PerProcessGuard(self.place().changed.wait(guard.0))
    }

    /// Waits until notified, for that time, or for no reason. True if the time is over.
    pub(crate) fn wait_timeout<'a>(
        &'a self,
        guard: PerProcessGuard<'a, T>,
        time: Duration,
    ) -> (PerProcessGuard<'a, T>, bool) {
        let (own, is_over) = self.place().changed.wait_timeout(guard.0, time);
        (PerProcessGuard(own), is_over)
    }

    fn place(&self) -> &Place<T> {
        &self.places[self.own_place()]
    }

    fn own_place(&self) -> usize {
        let here = forks();
        // As in any process that has no parent of ours: nobody has taken another place there.
        if here == 0 {
            return 0;
        }
        // Ordering: Relaxed, all; it only says in which place to look, and that has a lock.
        let mut taken = self.taken.load(Ordering::Relaxed);
        while taken / PLACES != here {
            let next = here * PLACES + (taken + 1) % PLACES;
            let relaxed = Ordering::Relaxed;
            match self.taken.compare_exchange(taken, next, relaxed, relaxed) {
                Ok(_) => return next % PLACES,
                Err(by_another) => taken = by_another,
            }
        }
        taken % PLACES
    }
}

/// The locked value.
pub(crate) struct PerProcessGuard<'a, T>(MutexGuard<'a, ProcessValue<T>>);

const IS_THERE: &str = "the value was made when it was locked";

impl<T> Deref for PerProcessGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.0.value.as_ref().expect(IS_THERE)
    }
}

impl<T> DerefMut for PerProcessGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.0.value.as_mut().expect(IS_THERE)
    }
}
