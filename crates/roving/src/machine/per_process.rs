//! Values behind a lock that the whole process uses, and no forked child of it.
//!
//! A child has the memory of its parent, and of its threads one. If another thread of the parent
//! had the lock at the fork, nobody opens it in the child. So the lock of such a value stands in
//! several places, and by the number of [`forks`] a child uses another place than its parent. There
//! it finds no value yet: what threads of the parent have entered is mostly no business of its own.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use super::os::forks;
use super::prim::{Condvar, Mutex, MutexGuard, const_fn};

/// A process that is a child so many times over uses the place of an ancestor, whose value is left
/// there. If another thread of that ancestor had it locked at the fork, the process waits for ever.
const PLACES: usize = 4;

/// A value of each process, behind a lock.
pub(crate) struct PerProcess<T>([Place<T>; PLACES]);

struct Place<T> {
    own: Mutex<ProcessValue<T>>,
    changed: Condvar,
}

/// The value, and the number of [`forks`] in the process that has put it there.
struct ProcessValue<T> {
    forks: usize,
    value: Option<T>,
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
            PerProcess([Place::new(), Place::new(), Place::new(), Place::new()])
        }
    }

    /// The value of this process, which begins as the default one.
    #[inline]
    pub(crate) fn lock(&self) -> PerProcessGuard<'_, T>
    where
        T: Default,
    {
        self.lock_made(|_| T::default())
    }

    /// The value of this process. In a forked child it begins as what `inherit` makes of the
    /// nearest ancestor's that has one, or as the default one where that may stand behind a lock
    /// that is locked: who would open it is not here.
    pub(crate) fn lock_inherited(&self, inherit: impl FnOnce(&T) -> T) -> PerProcessGuard<'_, T>
    where
        T: Default,
    {
        self.lock_made(|left| self.of_ancestor(left, inherit).unwrap_or_default())
    }

    fn of_ancestor(&self, left: &ProcessValue<T>, inherit: impl FnOnce(&T) -> T) -> Option<T> {
        let others = (1..PLACES).map_while(|back| {
            let place = &self.0[(forks() + PLACES - back) % PLACES];
            place.own.try_lock()
        });
        let others: Vec<_> = others.collect();
        // Places in which an ancestor can have left a value, from the nearest on, up to one that is
        // locked. The last is the one that this process uses now.
        let seen = others.len();
        let is_all = seen == PLACES - 1;
        let values = others
            .iter()
            .map(|own| &**own)
            .chain(is_all.then_some(left));
        let nearest = values
            .filter(|own| own.value.is_some())
            .max_by_key(|own| own.forks)?;
        let is_nearest = is_all || nearest.forks + seen >= forks();
        nearest.value.as_ref().filter(|_| is_nearest).map(inherit)
    }

    fn lock_made(&self, make: impl FnOnce(&ProcessValue<T>) -> T) -> PerProcessGuard<'_, T> {
        let mut own = self.place().own.lock();
        if own.value.is_none() || own.forks != forks() {
            // The pools of an ancestor may be locked, and its threads are not here.
            let made = make(&own);
            mem::forget(own.value.replace(made));
            own.forks = forks();
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
        &self.0[forks() % PLACES]
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
