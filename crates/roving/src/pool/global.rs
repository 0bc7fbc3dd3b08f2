//! The pool that is there without being built, and how it is shut down.
//!
//! It lies in a [`Shell`]: a thread that is no worker takes a [`Lease`] for as long as it uses the
//! pool, which costs two read-modify-writes and no lock. Who shuts the pool down closes the shell,
//! so that nobody new finds it, and waits; the last user to go ends the pool. A use that comes
//! later starts another one, in a shell that is free.

use std::cell::Cell;
use std::env;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::ops::Deref;
use std::sync::{Arc, Weak};

use super::error::{BuildError, Reason};
use super::home::Home;
use super::making::Making;
use super::stop::Dropped;
use super::stop::stop;
use super::{Pool, PoolBuilder};
use crate::inherit::timer;
use crate::machine::lease::{Entry, Shell, Shells};
use crate::machine::os;
use crate::machine::per_process::{PerProcess, PerProcessGuard};
use crate::machine::prim::thread::{self, ThreadId};
use crate::machine::prim::{Mutex, process_wide};
use crate::machine::waiters::Waiters;
use crate::observe::diagnostics;
use crate::workers::Worker;
use crate::workers::registry::Registry;
use crate::workers::settings::WORKERS_LIMIT;
use crate::workers::wait::wait_here;

/// The global pool of this crate.
#[derive(Debug)]
pub(crate) struct Roving;

impl Home for Roving {
    fn build() -> Pool {
        build()
    }
}

impl PoolBuilder {
    /// Starts the pool as the global one, which [`crate::join`] and the like use outside of pools.
    /// Other threads that use it meanwhile wait until it has started. If this fails, the next use
    /// starts the default one: also that of a value which the builder drops then.
    ///
    /// # Errors
    /// As [`Self::build`], and when the global pool has been started already.
    ///
    /// ```
    /// roving::Pool::builder().workers(3).build_global().unwrap();
    /// assert_eq!(roving::current_workers(), 3);
    /// ```
    #[inline]
    pub fn build_global(self) -> Result<(), BuildError> {
        set(self)
    }
}

process_wide! {
    /// Where the global pool lies, and those before it that are still used.
    static SHELLS: Shells<Global> = Shells::new();
}

thread_local! {
    /// How many leases the calling thread has.
    static LEASES: Cell<usize> = const { Cell::new(0) };
}

struct Global {
    pool: ManuallyDrop<Pool>,
    ended: Arc<Ended>,
    /// [`os::forks`] in the process whose global pool it is. In a child its users are counted for
    /// threads that are not there, so it can never be ended.
    forks: usize,
}

impl Global {
    #[inline]
    fn is_here(&self) -> bool {
        self.forks == os::forks()
    }
}

impl Drop for Global {
    fn drop(&mut self) {
        // SAFETY: it is not used again.
        self.ended
            .leave(unsafe { ManuallyDrop::take(&mut self.pool) });
    }
}

/// The state of a closed global pool, and those that wait for its end.
///
/// The last thread that uses the pool leaves it and goes on: if it waited for the pool's tasks, it
/// could wait for a lock that it holds itself. Only the threads that shut the pool down wait.
#[derive(Default)]
struct Ended {
    fate: Mutex<(Fate, Waiters)>,
}

#[derive(Default)]
enum Fate {
    #[default]
    Used,
    /// It ends by itself; whoever wants to wait for that takes it.
    Left(Pool),
    /// That thread waits for its end.
    Ending(ThreadId),
    /// With all its threads?
    Over(bool),
}

impl Ended {
    fn set(&self, fate: Fate) {
        let (old, waiters) = &mut *self.fate.lock();
        *old = fate;
        waiters.tell_all();
    }

    /// The fate, with which the pool goes to the caller if it is left; none until another thread
    /// has decided it: then the calling one is unparked.
    fn take(&self) -> Option<Fate> {
        let me = thread::current().id();
        let (fate, waiters) = &mut *self.fate.lock();
        match fate {
            Fate::Ending(thread) if *thread == me => Some(Fate::Ending(me)),
            Fate::Used | Fate::Ending(_) => {
                waiters.enter();
                None
            }
            Fate::Left(_) => Some(mem::replace(fate, Fate::Ending(me))),
            Fate::Over(is_final) => Some(Fate::Over(*is_final)),
        }
    }

    fn leave(&self, pool: Pool) {
        pool.begin_to_end();
        self.set(Fate::Left(pool));
    }

    /// Returns when the pool has ended, and whether with all its threads; at once, with none, if
    /// the calling thread waits for that further out, beneath what it runs on top of its wait.
    #[inline]
    fn wait(&self) -> Option<bool> {
        let taken = Cell::new(None);
        wait_here(|| {
            let fate = self.take();
            let is_decided = fate.is_some();
            taken.set(fate);
            is_decided
        });
        match taken.into_inner()? {
            Fate::Left(pool) => {
                let is_final = pool.end();
                // Before anybody hears that it has ended.
                drop(pool);
                self.set(Fate::Over(is_final));
                Some(is_final)
            }
            Fate::Over(is_final) => Some(is_final),
            Fate::Used | Fate::Ending(_) => None,
        }
    }
}

process_wide! {
    /// Pools that have been closed and have not ended as far as is known: also those that were shut
    /// down by who used them, and so could not wait.
    static CLOSED: PerProcess<Vec<Closed>> = PerProcess::new();
}

#[derive(Clone)]
struct Closed {
    registry: Weak<Registry>,
    ended: Arc<Ended>,
}

#[inline]
fn closed() -> PerProcessGuard<'static, Vec<Closed>> {
    CLOSED.lock()
}

impl Closed {
    /// Whether the calling thread uses it.
    #[inline]
    fn is_own(&self) -> bool {
        let is_own = self.registry.upgrade().is_some_and(|registry| {
            Worker::is_or_was(&registry) || registry.seats.have_thread(thread::current().id())
        });
        is_own || LEASES.get() > 0
    }

    /// Whether nobody has to wait for it any more. Drops no pool, so that it may be asked under a
    /// lock.
    #[inline]
    fn is_over(&self) -> bool {
        let is_gone = self.registry.strong_count() == 0;
        is_gone || matches!(self.ended.fate.lock().0, Fate::Over(_))
    }
}

/// A guard of the global pool. Keep it briefly: a pool that is shut down waits for it. See
/// [`set_global`](crate::raw::calls::set_global).
pub struct Lease {
    shell: &'static Shell<Global>,
    global: *const Global,
    /// Counted on the thread that has it.
    _not_send: PhantomData<*const ()>,
}

impl Deref for Lease {
    type Target = Pool;

    fn deref(&self) -> &Pool {
        &self.global().pool
    }
}

impl Lease {
    #[inline]
    fn global(&self) -> &Global {
        // SAFETY: the shell counts this lease as a user, and keeps the pool until it leaves.
        unsafe { &*self.global }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        LEASES.set(LEASES.get() - 1);
        // The last user of a pool that has been shut down ends it.
        drop(self.shell.leave());
    }
}

impl fmt::Debug for Lease {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&**self).finish()
    }
}

/// The global pool, if there is one.
fn find() -> Option<Lease> {
    enter(SHELLS.current()?)
}

fn enter(shell: &'static Shell<Global>) -> Option<Lease> {
    match shell.enter() {
        Entry::Here(global) => {
            LEASES.set(LEASES.get() + 1);
            Some(Lease {
                shell,
                global,
                _not_send: PhantomData,
            })
        }
        Entry::Closed(last) => {
            drop(last);
            None
        }
    }
}

/// The pool that serves a thread whose home is `H`; started if there is none.
#[inline]
pub(crate) fn of<H: Home>() -> Lease {
    get_or(H::build)
}

/// The global pool; `build` makes it if there is none.
pub(crate) fn get_or(build: impl FnOnce() -> Pool) -> Lease {
    if let Some(lease) = find() {
        return lease;
    }
    let making = Making::begin();
    if let Some(lease) = find() {
        return lease;
    }
    let placed = place(build());
    // Before the pool is dropped, if there is one already.
    drop(making);
    placed.unwrap_or_else(|(there, _)| there)
}

/// Makes what `build` returns the global pool, unless there is one, which is the error `exists`.
pub(crate) fn set_built<E>(
    build: impl FnOnce() -> Result<Pool, E>,
    exists: impl FnOnce() -> E,
) -> Result<Lease, E> {
    let making = Making::begin();
    if find().is_some() {
        return Err(exists());
    }
    let placed = place(build()?);
    // Before the pool is dropped, if there is one already.
    drop(making);
    placed.map_err(|_| exists())
}

/// Makes the pool the global one, unless there is one: what was called while it was made may have
/// used that. Then the pool comes back, and a lease of that one.
fn place(pool: Pool) -> Result<Lease, (Lease, Pool)> {
    let mut key = SHELLS.lock();
    if let Some(there) = find() {
        return Err((there, pool));
    }
    let shell = key.put(Global {
        pool: ManuallyDrop::new(pool),
        ended: Arc::default(),
        forks: os::forks(),
    });
    Ok(enter(shell).expect("nobody closes it without the key"))
}

/// The global pool as the environment wants it: as many workers as `ROVING_WORKERS` says, or as the
/// process may use cores. Nobody is there to get an error: what is wrong is one line on standard
/// error, and the program goes on with as many workers as there can be.
pub(super) fn build() -> Pool {
    let (builder, wrong) = configured();
    match builder.workers_at_least(1).build_short() {
        Ok((pool, short)) => {
            let workers = pool.workers();
            say_all(wrong, short, &format!("with {workers} workers"));
            pool
        }
        Err(error) => {
            // A machine that starts no threads still gets its work done.
            say_all(wrong, Some(error), "without threads");
            let built = Pool::builder().caller_runs().build();
            built.unwrap_or_else(|error| panic!("{error}"))
        }
    }
}

/// Says what is wrong, a line each, and how the program goes on.
fn say_all(wrong: Option<BuildError>, short: Option<BuildError>, how: &str) {
    for error in wrong.into_iter().chain(short) {
        os::say(&format!("{error}; going on {how}"));
    }
}

/// An empty variable is one that is not set. With a bad one, the default and an error.
fn configured() -> (PoolBuilder, Option<BuildError>) {
    let builder = Pool::builder();
    let text = env::var_os("ROVING_WORKERS").unwrap_or_default();
    let text = text.to_string_lossy();
    match workers_of(&text) {
        Ok(None) => (builder, None),
        Ok(Some(workers)) => (builder.workers(workers), None),
        Err(()) => {
            let reason = Reason::WorkersVariable(text.into_owned());
            (builder, Some(reason.into()))
        }
    }
}

/// The number that a value of the variable says, if it is not empty.
fn workers_of(text: &str) -> Result<Option<usize>, ()> {
    const LIMIT: u64 = WORKERS_LIMIT as u64;
    match text.trim_ascii() {
        "" => Ok(None),
        // Of one width everywhere: each has its own code in `std`.
        text => match text.parse::<u64>() {
            Ok(workers @ 1..=LIMIT) => Ok(Some(workers as usize)),
            _ => Err(()),
        },
    }
}

#[inline]
pub(super) fn set(builder: PoolBuilder) -> Result<(), BuildError> {
    set_built(|| builder.build(), || Reason::GlobalExists.into()).map(drop)
}

/// Shuts the global pool down as a drop does: spawned tasks still run. Returns when they have run,
/// when the calls of all threads that use the pool have returned, and when its threads have been
/// joined (that of deadlines as well); its memory is freed then. Without a global pool it does
/// nothing.
///
/// A use that comes later, or at the same time, starts a fresh pool, by first use or by
/// [`PoolBuilder::build_global`]. So a library that is to be unloaded calls this when none of its
/// threads will use the pool again; see the page "Stopping" of the book. In a forked child it
/// leaves the parent's pool alone and lets the child start its own.
///
/// # Errors
/// The calling thread uses the pool itself, or one that was shut down before and has not ended: as
/// one of its workers, or in a call such as [`crate::in_place_scope`] that it is inside of. Then
/// this does not wait, and the pool ends by itself when its last user has gone; a later call, by a
/// thread that does not use it, waits for that too. Also in a forked child, and when the pool has a
/// thread of the user's own.
///
/// ```
/// assert_eq!(roving::join(|| 1, || 2), (1, 2));
/// roving::embed::shutdown_global()?;
/// assert_eq!(roving::join(|| 3, || 4), (3, 4), "by a fresh pool");
/// roving::embed::shutdown_global()?;
/// # Ok::<(), roving::embed::StillUsedError>(())
/// ```
#[inline]
pub fn shutdown_global() -> Result<(), StillUsedError> {
    match shut_down(false).is_final() {
        true => Ok(()),
        false => Err(StillUsedError(())),
    }
}

/// Shuts the global pool down like [`shutdown_global`], but drops detached tasks that have not
/// begun instead of running them: [`Pool::shutdown_now`] for the global pool. Returns how many
/// these were, and whether the pool has ended.
///
/// ```
/// for _ in 0..100 {
///     roving::spawn(|| ());
/// }
/// let dropped = roving::embed::shutdown_global_now();
/// assert!(dropped.tasks() <= 100 && dropped.is_final());
/// ```
#[inline]
pub fn shutdown_global_now() -> Dropped {
    shut_down(true)
}

#[inline]
fn shut_down(now: bool) -> Dropped {
    let dropped = shut_down_and_wait(now);
    // When nothing holds a registry any more.
    if dropped.is_final() {
        leave_nothing();
    }
    dropped
}

#[inline]
fn shut_down_and_wait(now: bool) -> Dropped {
    // One that is being made is found.
    let making = Making::begin();
    let mut key = SHELLS.lock();
    let lease = find();
    if let Some(lease) = &lease {
        key.close(lease.shell);
        if lease.global().is_here() {
            closed().push(Closed {
                registry: Arc::downgrade(lease.registry()),
                ended: Arc::clone(&lease.global().ended),
            });
        }
    }
    drop(key);
    drop(making);
    let Some(lease) = lease else {
        return Dropped::nothing(end_closed(None));
    };
    let registry = Arc::clone(lease.registry());
    if !lease.global().is_here() {
        LEASES.set(LEASES.get() - 1);
        mem::forget((lease, Arc::clone(&registry)));
        return Dropped::of(&registry, false);
    }
    if now {
        stop(&registry);
    }
    let ended = Arc::clone(&lease.global().ended);
    drop(lease);
    let is_final = end_closed(Some(&ended));
    Dropped::of(&registry, is_final)
}

/// Returns when all pools that have been closed have ended; false, if of the `last` a thread is the
/// user's, or at once if one of them is the calling thread's own: another one may wait for that.
#[inline]
fn end_closed(last: Option<&Arc<Ended>>) -> bool {
    closed().retain(|one| !one.is_over());
    let all = closed().clone();
    if all.iter().any(Closed::is_own) {
        return false;
    }
    let mut is_final = true;
    for one in &all {
        // Who shut down an earlier one was told of its threads.
        let is_last = last.is_some_and(|last| Arc::ptr_eq(last, &one.ended));
        is_final &= one
            .ended
            .wait()
            .is_some_and(|is_final| is_final || !is_last);
    }
    let mut left = closed();
    left.retain(|one| !one.is_over());
    left.shrink_to_fit();
    is_final
}

/// Ends the threads that serve all pools, and that come back when they are needed.
#[inline]
fn leave_nothing() {
    timer::stop();
    diagnostics::rest();
}

/// The error of a global pool that cannot end yet, because the calling thread uses it itself, or
/// the user's own threads do.
///
/// ```
/// let error = roving::in_place_scope(|_| roving::embed::shutdown_global()).unwrap_err();
/// assert!(error.to_string().starts_with("the global pool is still used"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StillUsedError(());

impl fmt::Display for StillUsedError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the global pool is still used by the calling thread, by threads of the user's own, or by \
             the parent of this process: it ends by itself when its last user has gone; to wait for \
             that, call shutdown_global on a thread that is outside of the pool",
        )
    }
}

impl std::error::Error for StillUsedError {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::pool::testing::of_any_text())]

        /// Any text is nothing, a number that a pool can have, or refused.
        #[test]
        fn fuzz_the_variable_of_the_workers(text in "[ 0-9+-]{0,12}|.{0,24}") {
            match workers_of(&text) {
                Ok(None) => prop_assert!(text.trim_ascii().is_empty()),
                Ok(Some(workers)) => {
                    prop_assert!((1..=WORKERS_LIMIT).contains(&workers));
                    prop_assert_eq!(text.trim_ascii().parse(), Ok(workers));
                }
                Err(()) => prop_assert!(!text.trim_ascii().is_empty()),
            }
        }
    }

    #[test]
    fn the_variable_is_a_number_of_workers() {
        assert_eq!(workers_of("  "), Ok(None));
        assert_eq!(workers_of(" 3 "), Ok(Some(3)));
        for bad in ["0", "-1", "many", "1.5", "99999999999999999999999"] {
            assert_eq!(workers_of(bad), Err(()), "{bad}");
        }
    }
}
