//! Items that any thread leaves for those that wait, and the count that these wait for.
//!
//! | word | meaning | written by |
//! |---|---|---|
//! | `open` | how many have entered and not left | who enters, before those that wait come; who leaves |
//! | `has_some` | whether there are items | under their lock; read without it as a hint |
//! | `has_been_used` | whether anybody ever entered | the same thread as `open` |

use super::count::OpenCount;
use super::gate::Gate;
use crate::prim::{AtomicBool, Mutex, MutexGuard, Ordering};

pub(crate) struct Mail<T> {
    open: OpenCount,
    has_been_used: AtomicBool,
    items: Mutex<Vec<T>>,
    has_some: AtomicBool,
    gate: Gate,
}

impl<T> Default for Mail<T> {
    fn default() -> Mail<T> {
        Mail {
            open: OpenCount::default(),
            has_been_used: AtomicBool::new(false),
            items: Mutex::new(Vec::new()),
            has_some: AtomicBool::new(false),
            gate: Gate::default(),
        }
    }
}

impl<T> Mail<T> {
    fn items(&self) -> MutexGuard<'_, Vec<T>> {
        self.items.lock().unwrap_or_else(|error| error.into_inner())
    }

    /// One more is to be waited for.
    pub(crate) fn enter(&self) {
        // Ordering: Relaxed; who enters it has not come to the barrier.
        self.has_been_used.store(true, Ordering::Relaxed);
        self.open.enter();
    }

    /// One of them has ended.
    ///
    /// # Safety
    /// As [`Mail::tell`].
    pub(crate) unsafe fn leave(at: *const Mail<T>) {
        // SAFETY: the caller's promise; it is there when the count changes.
        unsafe { Mail::tell(at, || (*at).open.leave()) };
    }

    /// Changes something that those may sleep for who wait, and wakes them. The lock keeps the mail
    /// there until the bell has rung: who ends it takes the lock once more ([`Mail::close`]).
    ///
    /// # Safety
    /// The mail is there until the change. It may end before this returns, so there is no reference
    /// to it by then.
    pub(crate) unsafe fn tell<R>(at: *const Mail<T>, change: impl FnOnce() -> R) -> R {
        // SAFETY: there by the caller's promise until the change, and by the lock until that goes.
        unsafe {
            let _items = (*at).items();
            let result = change();
            (*at).gate.ring();
            result
        }
    }

    /// Whether all that have entered have left.
    pub(crate) fn is_over(&self) -> bool {
        self.open.has_left(0)
    }

    /// Whether anybody ever entered.
    pub(crate) fn has_been_used(&self) -> bool {
        // Ordering: Relaxed; who has come to the barrier before has said so.
        self.has_been_used.load(Ordering::Relaxed)
    }

    #[inline]
    pub(crate) fn has_some(&self) -> bool {
        // Ordering: Relaxed; the lock orders what is in there.
        self.has_some.load(Ordering::Relaxed)
    }

    /// Whether there is one of those `wanted`.
    pub(crate) fn has(&self, wanted: impl Fn(&T) -> bool) -> bool {
        self.has_some() && self.items().iter().any(wanted)
    }

    /// Leaves an item to who waits.
    pub(crate) fn post(&self, item: T) {
        let mut items = self.items();
        items.push(item);
        // Ordering: Relaxed; as in `has_some`.
        self.has_some.store(true, Ordering::Relaxed);
        drop(items);
        self.gate.ring();
    }

    /// Takes the newest of those `wanted`.
    pub(crate) fn take(&self, wanted: impl Fn(&T) -> bool) -> Option<T> {
        let mut items = self.items();
        let at = items.iter().rposition(wanted);
        let item = at.map(|at| items.remove(at));
        // Ordering: Relaxed; as in `has_some`.
        self.has_some.store(!items.is_empty(), Ordering::Relaxed);
        item
    }

    /// Wakes those that wait, to look again at what they wait for.
    pub(crate) fn ring(&self) {
        self.gate.ring();
    }

    /// Sleeps until somebody posts, leaves, tells or rings, unless it is `done`.
    pub(crate) fn wait(&self, done: impl Fn() -> bool) {
        self.gate.wait(|_| done());
    }

    /// Returns when the last that has left is done with the mail: it is over.
    pub(crate) fn close(&self) {
        drop(self.items());
    }
}
