//! A value that is there until it is closed, and then until its last user has gone.
//!
//! The global pool lies in one: whoever uses it counts himself in and out, so that it can be shut
//! down while other threads are about to ask for it.

use std::ptr;

use crate::machine::os::forks;
use crate::machine::per_process::{PerProcess, PerProcessGuard};
use crate::machine::prim::{AtomicPtr, AtomicUsize, DataCell, Ordering, const_fn, ord};

/// A place for a value, with one word that says who may touch it.
///
/// | word | meaning | next, and by whom |
/// |---|---|---|
/// | `FREE` + n users | nothing is here; n have come and will find so | `OPEN` + n by who puts something in |
/// | `OPEN` + n users | the value is here, n use it | n ± 1 by users; 0 + n by who closes it |
/// | n users, n > 0 | closed: nobody new gets the value; n have it, or will find that they do not | n ± 1 by users |
/// | 0 | closed, and unused | `TAKEN` by whoever has left last; 1 user by who has come too late |
/// | `TAKEN` + n users | one thread takes the value out | `FREE` + n by that thread |
///
/// Who comes counts itself first and looks then, so the value stays while the word says `OPEN` plus
/// that one. Only one of those that leave can change 0 to `TAKEN`, and who comes too late leaves
/// again like the others: if it leaves last it does the taking.
pub(crate) struct Shell<T> {
    word: AtomicUsize,
    value: DataCell<Option<T>>,
}

// SAFETY: the value is shared by its users (`Sync`), and taken out by one of them (`Send`); when is
// said by the word.
unsafe impl<T: Send + Sync> Sync for Shell<T> {}

const OPEN: usize = 1;
const TAKEN: usize = 2;
const FREE: usize = 4;
/// One user.
const USER: usize = 8;

impl<T> Shell<T> {
    const_fn! {
        pub(crate) fn new() -> Shell<T> {
            Shell {
                word: AtomicUsize::new(FREE),
                value: DataCell::new(None),
            }
        }
    }

    /// Puts a value in. Gives it back if there is one, or one that is still used.
    ///
    /// # Safety
    /// One thread at a time calls this.
    #[must_use]
    pub(crate) unsafe fn open(&self, value: T) -> Option<T> {
        // Ordering: Acquire. Pairs with [shell_free]: who took the last value out is done with the
        // cell.
        let order = ord("shell_open_sees_free", Ordering::Acquire);
        if self.word.load(order) & FREE == 0 {
            return Some(value);
        }
        // SAFETY: while the word says `FREE` nobody but the caller touches the cell.
        // It is empty; what another thread had put there at a fork is not dropped.
        self.value.with_mut(|at| unsafe { at.write(Some(value)) });
        // Ordering: Edge [shell_open]: Release hands the value to its users. `FREE` becomes `OPEN`,
        // whatever the number of users is.
        self.word
            .fetch_sub(FREE - OPEN, ord("shell_open", Ordering::Release));
        None
    }

    /// Comes as a user: the value stays until [`Self::leave`]. If there is none, the caller has
    /// left already, perhaps as the last one, with the value that was here.
    pub(crate) fn enter(&self) -> Entry<'_, T> {
        // Ordering: Acquire. Pairs with [shell_open]: the value is in the cell.
        let order = ord("shell_enter", Ordering::Acquire);
        if self.word.fetch_add(USER, order) & OPEN != 0 {
            // SAFETY: the word counts this user, so nobody takes the value out before it leaves.
            let value = self.value.with(|at| unsafe { (*at).as_ref() });
            return Entry::Here(value.expect("an open shell is not empty"));
        }
        Entry::Closed(self.leave())
    }

    /// A user goes. The last one, if the shell has been closed, gets the value.
    #[must_use]
    pub(crate) fn leave(&self) -> Option<T> {
        // Ordering: Edge [shell_leave]: Release, so that the value is taken out after its uses.
        let order = ord("shell_leave", Ordering::Release);
        if self.word.fetch_sub(USER, order) != USER {
            return None;
        }
        // Ordering: Acquire. Pairs with [shell_leave], of all who have left: the decrements are
        // one release sequence. Relaxed on failure: then it is somebody else's to take.
        let order = ord("shell_take", Ordering::Acquire);
        let taken = self
            .word
            .compare_exchange(0, TAKEN, order, Ordering::Relaxed);
        taken.ok()?;
        // SAFETY: `TAKEN` was set by this thread alone, and nobody enters a shell that is not open.
        let value = self.value.with_mut(|at| unsafe { (*at).take() });
        // Ordering: Edge [shell_free]: Release hands the empty cell to who fills it next.
        self.word
            .fetch_add(FREE - TAKEN, ord("shell_free", Ordering::Release));
        value
    }

    /// From now on nobody gets the value. The caller is counted as a user.
    #[inline]
    pub(crate) fn close(&self) {
        // Ordering: Relaxed; whoever takes the value out has to acquire what its users released.
        self.word.fetch_and(!OPEN, Ordering::Relaxed);
    }
}

/// The result of [`Shell::enter`].
pub(crate) enum Entry<'s, T> {
    /// The value, until the caller leaves.
    Here(&'s T),
    /// None. The caller does not have to leave, but to see to what came out.
    Closed(Option<T>),
}

/// Shells for one value after the other, of which one at most is open.
pub(crate) struct Shells<T: 'static> {
    /// The shell that the first value lies in, and each one that is put in when no other is used
    /// any more, but in a forked child. So a library that is unloaded leaves nothing behind.
    first: Shell<T>,
    /// The shell that is open; or null.
    current: AtomicPtr<Shell<T>>,
    /// Further shells, for values that were put in while others were still used. The lock is held
    /// while a value is put in and while its shell is closed, so under it a current shell is an
    /// open one.
    further: PerProcess<Vec<&'static Shell<T>>>,
}

impl<T> Shells<T> {
    const_fn! {
        pub(crate) fn new() -> Shells<T> {
            Shells {
                first: Shell::new(),
                current: AtomicPtr::new(ptr::null_mut()),
                further: PerProcess::new(),
            }
        }
    }

    /// The shell that is open, or was so a moment ago.
    pub(crate) fn current(&'static self) -> Option<&'static Shell<T>> {
        // Ordering: Acquire. Pairs with [shell]: the shell has been made.
        let shell = self.current.load(ord("current_shell", Ordering::Acquire));
        // SAFETY: shells are never freed.
        unsafe { shell.as_ref() }
    }

    /// The right to put a value in, and to close its shell.
    pub(crate) fn lock(&'static self) -> Key<T> {
        Key {
            shells: self,
            further: self.further.lock(),
        }
    }
}

/// One thread at a time has it.
pub(crate) struct Key<T: 'static> {
    shells: &'static Shells<T>,
    further: PerProcessGuard<'static, Vec<&'static Shell<T>>>,
}

impl<T> Key<T> {
    /// Puts the value into a free shell, which becomes the current one. No other one is open.
    pub(crate) fn put(&mut self, value: T) -> &'static Shell<T> {
        let mut value = Some(value);
        let mut try_in = |shell: &'static Shell<T>| {
            // SAFETY: this thread has the lock, so it alone opens a shell.
            value = unsafe { shell.open(value.take()?) };
            value.is_none().then_some(shell)
        };
        // In a forked child somebody may be counted there for ever who came too late at the fork:
        // then its value would never be taken out.
        let first = (forks() == 0).then(|| try_in(&self.shells.first)).flatten();
        let free = first.or_else(|| self.further.iter().find_map(|shell| try_in(shell)));
        let shell = free.unwrap_or_else(|| {
            let shell: &'static Shell<T> = Box::leak(Box::new(Shell::new()));
            self.further.push(shell);
            try_in(shell).expect("a new shell is free")
        });
        // Ordering: Edge [shell]: Release, so that who finds the shell finds it made.
        let order = ord("put_shell", Ordering::Release);
        let at = ptr::from_ref(shell).cast_mut();
        self.shells.current.store(at, order);
        shell
    }

    /// Closes the current shell, of which the caller is a user.
    pub(crate) fn close(&mut self, shell: &Shell<T>) {
        shell.close();
        // Ordering: Relaxed; who still finds the shell finds it closed.
        self.shells
            .current
            .store(ptr::null_mut(), Ordering::Relaxed);
    }
}

#[cfg(all(test, target_os = "linux", not(any(loom, miri))))]
#[path = "lease_process_tests.rs"]
mod process_tests;

#[cfg(all(test, loom))]
mod loom_tests {
    use std::sync::Arc;

    use loom::thread;

    use super::{Entry, Shell, Shells};
    use crate::machine::prim::{AtomicUsize, DataCell, Ordering, explore};

    /// A value for the shell to hold: loom sees every access to its cell, and drops are counted.
    struct Watched {
        cell: DataCell<u64>,
        dropped: Arc<AtomicUsize>,
    }

    // SAFETY: loom checks that touches of the cell do not overlap with its writes.
    unsafe impl Sync for Watched {}

    impl Watched {
        fn new(value: u64, dropped: &Arc<AtomicUsize>) -> Watched {
            let (cell, dropped) = (DataCell::new(0), Arc::clone(dropped));
            // SAFETY: nobody else has it yet.
            cell.with_mut(|at| unsafe { *at = value });
            Watched { cell, dropped }
        }

        fn look(&self) -> u64 {
            // SAFETY: loom checks it.
            self.cell.with(|at| unsafe { *at })
        }
    }

    impl Drop for Watched {
        fn drop(&mut self) {
            // SAFETY: loom checks that all looks have come before.
            self.cell.with_mut(|at| unsafe { *at = 0 });
            // Ordering: Relaxed; read after all threads have been joined.
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn use_once(shell: &Shell<Watched>) -> u64 {
        match shell.enter() {
            Entry::Here(value) => {
                let seen = value.look();
                drop(shell.leave());
                seen
            }
            Entry::Closed(value) => {
                drop(value);
                0
            }
        }
    }

    fn close(shell: &Shell<Watched>) {
        match shell.enter() {
            Entry::Here(_) => {
                shell.close();
                drop(shell.leave());
            }
            Entry::Closed(value) => drop(value),
        }
    }

    /// Two users and one that closes: the value lasts as long as its users, and is dropped once.
    #[test]
    fn loom_shell_value_outlives_its_users_and_is_taken_once() {
        explore(|| {
            let dropped = Arc::new(AtomicUsize::new(0));
            let shell = Arc::new(Shell::new());
            // SAFETY: nobody else has the shell yet.
            assert!(unsafe { shell.open(Watched::new(7, &dropped)) }.is_none());
            let users: Vec<_> = (0..2)
                .map(|_| {
                    let shell = Arc::clone(&shell);
                    thread::spawn(move || use_once(&shell))
                })
                .collect();
            close(&shell);
            for user in users {
                let seen = user.join().unwrap();
                assert!(seen == 7 || seen == 0, "{seen}");
            }
            // Ordering: Relaxed; all threads have been joined.
            assert_eq!(dropped.load(Ordering::Relaxed), 1);
        });
    }

    /// One opens, another uses what it finds: it sees the value whole.
    #[test]
    fn loom_shell_user_sees_what_was_put_in() {
        explore(|| {
            let dropped = Arc::new(AtomicUsize::new(0));
            let shell = Arc::new(Shell::new());
            let user = {
                let shell = Arc::clone(&shell);
                thread::spawn(move || use_once(&shell))
            };
            // SAFETY: this thread alone opens it.
            assert!(unsafe { shell.open(Watched::new(7, &dropped)) }.is_none());
            let seen = user.join().unwrap();
            assert!(seen == 7 || seen == 0, "{seen}");
            // Ordering: Relaxed; all threads have been joined.
            assert_eq!(dropped.load(Ordering::Relaxed), 0);
            close(&shell);
            // Ordering: Relaxed, as above.
            assert_eq!(dropped.load(Ordering::Relaxed), 1);
        });
    }

    /// The last user takes the value out while another thread wants to put the next one in.
    #[test]
    fn loom_shell_is_filled_again_after_it_was_emptied() {
        explore(|| {
            let dropped = Arc::new(AtomicUsize::new(0));
            let shell = Arc::new(Shell::new());
            // SAFETY: nobody else has the shell yet.
            assert!(unsafe { shell.open(Watched::new(7, &dropped)) }.is_none());
            let closer = {
                let shell = Arc::clone(&shell);
                thread::spawn(move || close(&shell))
            };
            // SAFETY: from here on this thread alone opens it.
            let back = unsafe { shell.open(Watched::new(9, &dropped)) };
            let is_in = back.is_none();
            drop(back);
            closer.join().unwrap();
            let seen = use_once(&shell);
            assert_eq!(seen == 9, is_in, "{seen}");
            close(&shell);
            // Ordering: Relaxed; all threads have been joined.
            assert_eq!(dropped.load(Ordering::Relaxed), 2);
        });
    }

    /// One value is still used when the next one is put in: that gets a shell of its own, which who
    /// finds it finds made.
    #[test]
    fn loom_who_finds_a_shell_finds_it_made() {
        explore(|| {
            let dropped = Arc::new(AtomicUsize::new(0));
            let shells: &'static Shells<Watched> = Box::leak(Box::new(Shells::new()));
            let first = shells.lock().put(Watched::new(7, &dropped));
            assert!(matches!(first.enter(), Entry::Here(_)));
            shells.lock().close(first);
            let user = thread::spawn(move || shells.current().map_or(0, use_once));
            let second = shells.lock().put(Watched::new(9, &dropped));
            assert!(!std::ptr::eq(first, second), "it is used");
            let seen = user.join().unwrap();
            assert!(seen == 9 || seen == 0, "{seen}");
            drop(first.leave());
            close(second);
            // Ordering: Relaxed; all threads have been joined.
            assert_eq!(dropped.load(Ordering::Relaxed), 2);
        });
    }
}
