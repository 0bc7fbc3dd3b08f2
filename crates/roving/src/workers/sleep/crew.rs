//! The threads of one pool, and how they end together.

use std::mem;

use crate::machine::duty::Due;
use crate::machine::prim::thread::JoinHandle;
use crate::machine::prim::{AtomicBool, Mutex, MutexGuard, Ordering, mutant};
use crate::machine::waiters::Waiters;

/// The threads of a pool, and how many of them have nothing to do while the pool closes.
///
/// They end together: a thief writes into the thread-local memory of its victims, and work may
/// still come from a thread that is busy. A thread counts as quiet after its last look around and
/// until it looks again, so when all are quiet, nothing runs and nothing is left.
///
/// A thread that the pool has adopted is none of these: it goes its own way, and whoever drops the
/// pool must not wait for it. But the others do not end before it has left, so that they run what
/// it adds, and stand in for it where it waits.
pub(crate) struct Crew {
    members: Mutex<Members>,
    /// No work will come from outside any more.
    closing: AtomicBool,
}

/// The duty of who has closed the pool, or was the last of its threads to find nothing to do: those
/// that sleep are to look again, or to end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum UnparkAll {}

#[derive(Default)]
struct Members {
    threads: Vec<JoinHandle<()>>,
    started: usize,
    quiet: usize,
    ended: bool,
    /// A thread that the pool has adopted has not left.
    has_adopted: bool,
    /// Nobody will join the threads.
    is_detached: bool,
    /// How many have left: they run nothing any more but the destructors of their own values.
    gone: usize,
    /// Who waits until all threads are quiet, or gone.
    waiters: Waiters,
}

impl Members {
    fn enter(&mut self, thread: JoinHandle<()>) {
        if !self.is_detached {
            self.threads.push(thread);
        }
        self.started += 1;
    }

    /// Whether nothing runs and nothing is left. A quiet thread that has mail is about to wake,
    /// also if the sender has gone quiet meanwhile.
    fn are_quiet(&self, has_mail: impl FnOnce() -> bool) -> bool {
        self.quiet == self.started && (mutant("mail_of_the_quiet") || !has_mail())
    }

    /// Whether nothing runs, nothing is left, and none of the threads is needed any more.
    fn are_over(&self, has_mail: impl FnOnce() -> bool) -> bool {
        (mutant("end_before_the_adopted") || !self.has_adopted) && self.are_quiet(has_mail)
    }
}

impl Crew {
    pub(crate) fn new() -> Crew {
        Crew {
            members: Mutex::new(Members::default()),
            closing: AtomicBool::new(false),
        }
    }

    fn members(&self) -> MutexGuard<'_, Members> {
        self.members.lock()
    }

    pub(crate) fn is_closing(&self) -> bool {
        // Ordering: Relaxed; a thread that sleeps is unparked after it was set, and looks again.
        self.closing.load(Ordering::Relaxed)
    }

    /// Calls `enter`, by which the calling thread becomes one that others can unpark. Under the
    /// lock, so that the thread that closes the pool either finds it to unpark, or is seen by it.
    pub(crate) fn enlist(&self, enter: impl FnOnce()) {
        let _members = (!mutant("enlist_lock")).then(|| self.members());
        enter();
    }

    /// Calls `change`, about which the caller tells the threads afterwards: a thread that enlists
    /// meanwhile is told, or sees the change.
    pub(crate) fn under_lock(&self, change: impl FnOnce()) {
        let _members = (!mutant("resize_lock")).then(|| self.members());
        change();
    }

    /// The pool closes.
    pub(crate) fn close(&self) -> Due<UnparkAll> {
        let members = self.members();
        // Ordering: Relaxed, as in `is_closing`.
        self.closing.store(true, Ordering::Relaxed);
        drop(members);
        Due::when(true)
    }

    /// The pool closes. Where there is no thread, none goes quiet, and the pool has ended.
    pub(crate) fn end_if_empty(&self) {
        let mut members = self.members();
        members.ended |= members.started == 0 && !members.has_adopted;
    }

    /// The pool adopts a thread.
    pub(crate) fn adopt(&self) {
        self.members().has_adopted = true;
    }

    /// Whether a thread that the pool has adopted has not left.
    pub(crate) fn has_adopted(&self) -> bool {
        self.members().has_adopted
    }

    /// The adopted thread leaves.
    pub(crate) fn let_go(&self, has_mail: impl FnOnce() -> bool) -> Due<UnparkAll> {
        let mut members = self.members();
        members.has_adopted = false;
        members.ended = self.is_closing() && members.are_over(has_mail);
        Due::when(members.ended)
    }

    /// Whether a thread has been started, or is expected; it stays until the pool has ended.
    pub(crate) fn has_threads(&self) -> bool {
        self.members().started > 0
    }

    /// The pool is closed: whether its threads have found nothing more to do, although they may not
    /// end before the adopted thread has left. If not, the calling thread is unparked later.
    pub(crate) fn is_quiet(&self, has_mail: impl Fn() -> bool) -> bool {
        let mut members = self.members();
        let is_quiet = members.started == 0 || members.ended || members.are_quiet(&has_mail);
        if !is_quiet {
            members.waiters.enter();
        }
        is_quiet
    }

    /// The pool is closed: whether its threads have left. If not, the calling thread is unparked
    /// later.
    pub(crate) fn is_gone(&self) -> bool {
        let mut members = self.members();
        let is_gone = members.gone == members.started;
        if !is_gone {
            members.waiters.enter();
        }
        is_gone
    }

    /// The calling thread has left.
    pub(crate) fn go(&self) {
        let mut members = self.members();
        members.gone += 1;
        if members.gone == members.started && !mutant("gone_wakes") {
            members.waiters.tell_all();
        }
    }

    /// The pool closes, and the calling thread has found nothing to do. If all have, the pool has
    /// ended.
    pub(crate) fn go_quiet(&self, has_mail: impl FnOnce() -> bool) -> Due<UnparkAll> {
        let mut members = self.members();
        members.quiet += 1;
        if members.quiet == members.started && !mutant("quiet_wakes") {
            members.waiters.tell_all();
        }
        members.ended = members.are_over(has_mail);
        Due::when(members.ended)
    }

    /// Whether one of the threads has something to do, or looks for it: then the pool has not
    /// ended.
    pub(crate) fn is_at_work(&self) -> bool {
        let members = self.members();
        !members.ended && members.quiet < members.started
    }

    #[inline]
    pub(crate) fn has_ended(&self) -> bool {
        self.is_closing() && self.members().ended
    }

    /// Unless the pool has ended, the calling thread is no longer quiet.
    pub(crate) fn has_ended_or_be_busy(&self) -> bool {
        let mut members = self.members();
        if !members.ended {
            members.quiet -= 1;
        }
        members.ended
    }

    /// The threads to join: those started since the last call.
    pub(crate) fn take_threads(&self) -> Vec<JoinHandle<()>> {
        mem::take(&mut self.members().threads)
    }

    /// Nobody will join the threads, those included that are yet to start.
    pub(crate) fn detach(&self) {
        let mut members = self.members();
        members.is_detached = true;
        let threads = mem::take(&mut members.threads);
        drop(members);
        drop(threads);
    }

    /// The user will provide the thread of a worker.
    #[inline]
    pub(crate) fn expect_thread(&self) {
        self.members().started += 1;
    }

    /// The thread of a worker that was expected will not come.
    pub(crate) fn expect_no_thread(&self, has_mail: impl FnOnce() -> bool) -> Due<UnparkAll> {
        let mut members = self.members();
        members.started -= 1;
        members.ended = self.is_closing() && members.are_over(has_mail);
        Due::when(members.ended)
    }

    /// That thread is about to be the one of a worker.
    pub(crate) fn take_thread(&self, thread: JoinHandle<()>) {
        self.members().enter(thread);
    }

    /// Calls `start`, which starts one more thread, unless the pool has ended. False if it has:
    /// then no further thread is needed. The thread starts under the lock, so it counts before it
    /// can go quiet.
    pub(crate) fn start<E>(
        &self,
        start: impl FnOnce() -> Result<JoinHandle<()>, E>,
    ) -> Result<bool, E> {
        let mut members = self.members();
        if members.ended {
            return Ok(false);
        }
        members.enter(start()?);
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::prim::thread;

    #[test]
    fn of_a_pool_that_nobody_joins_no_handle_is_kept() {
        let start = || Ok::<_, ()>(thread::spawn(|| ()));
        let crew = Crew::new();
        assert_eq!(crew.start(start), Ok(true));
        assert_eq!(crew.take_threads().len(), 1);
        assert_eq!(crew.start(start), Ok(true));
        crew.detach();
        assert_eq!(crew.start(start), Ok(true));
        crew.take_thread(thread::spawn(|| ()));
        assert_eq!(crew.take_threads().len(), 0);
    }
}
