//! The workers of a pool that work. The others sleep outside of the idle set, *benched*: nobody
//! wakes them for work, but for what is addressed to them. Those whose thread has gone for good are
//! *vacant*: they count nowhere, and what is addressed to them is dropped.
//!
//! **A change of the size.** A benched worker looks at the size and parks; who changes the size
//! unparks it afterwards. A thread that has only begun may be missed by that, but then it sees the
//! new size: the crew's lock orders the two. A worker that was taken out of the idle set by
//! somebody who has work for it, and finds itself benched, passes the call on. A worker that enters
//! the set while it is being benched does so when it is called.
//!
//! **Mail for a seat that becomes vacant.** Who vacates a seat says so first and empties the
//! mailbox then; who posts looks after it has posted. The lock of the mailbox orders the two, so
//! one of them finds the job.
//!
//! **A pool whose only thread was adopted and has gone.** Its worker is an *orphan*, and gets a
//! thread of the pool's own when there is something to run. Who goes says so first and looks for
//! jobs and mail then; who adds some looks after it has added it. The lock of the queue orders the
//! two, so one of them finds the other, and starts the thread.

use std::io;
use std::sync::Arc;

use super::parts::Parts;
use crate::machine::prim::{AtomicBool, AtomicUsize, Mutex, MutexGuard, Ordering, mutant};
use crate::machine::unwind::drop_quietly;
use crate::workers::inject::JobKind;
use crate::workers::job::Job;

/// Which workers work: those below an index, but for those that have no thread.
pub(crate) struct Roster {
    size: AtomicUsize,
    /// How many workers are to work. Held while that is changed, or a worker goes for good.
    wanted: Mutex<usize>,
    /// The adopted thread has ended, which was the only one, and its worker is to get another one.
    /// Written under the lock of `wanted`.
    is_orphaned: AtomicBool,
}

impl Roster {
    pub(crate) fn new(workers: usize) -> Roster {
        Roster {
            size: AtomicUsize::new(workers),
            wanted: Mutex::new(workers),
            is_orphaned: AtomicBool::new(false),
        }
    }

    /// The workers below this index work, but for those that have no thread.
    pub(crate) fn size(&self) -> usize {
        // Ordering: Relaxed; who is benched, or no longer, is unparked after the change, and looks
        // again. A thread that has not come yet to be unparked sees the change by the crew's lock.
        self.size.load(Ordering::Relaxed)
    }

    /// Whether the only worker is to get another thread.
    #[inline]
    pub(crate) fn is_orphaned(&self) -> bool {
        // Ordering: Relaxed; who adds something looks after the queue's lock, see the module.
        self.is_orphaned.load(Ordering::Relaxed)
    }

    fn set_orphaned(&self, is_orphaned: bool) {
        // Ordering: Relaxed, as in `is_orphaned`.
        self.is_orphaned.store(is_orphaned, Ordering::Relaxed);
    }

    /// The lock under which the size changes.
    pub(crate) fn wanted(&self) -> MutexGuard<'_, usize> {
        self.wanted.lock()
    }
}

/// The workers that have a thread, or are to have one.
pub(crate) fn manned(pool: &impl Parts) -> impl Iterator<Item = usize> {
    (0..pool.workers()).filter(|&seat| !pool.is_vacant(seat))
}

/// How many workers work.
pub(crate) fn working(pool: &impl Parts) -> usize {
    let size = pool.roster().size();
    manned(pool).take_while(|&seat| seat < size).count()
}

/// Whether the worker is one of those that do not work. Of a compensation thread it is not.
pub(crate) fn is_benched(pool: &impl Parts, seat: usize) -> bool {
    seat >= pool.roster().size() && seat < pool.workers()
}

/// From now on that many workers work, at least one and at most all.
pub(crate) fn resize(pool: &Arc<impl Parts>, workers: usize) {
    let mut wanted = pool.roster().wanted();
    *wanted = workers;
    set_size(pool, working(pool.as_ref()), *wanted);
}

/// As many of those that have a thread work as are wanted; `before` have until now. Under the lock.
fn set_size(pool: &Arc<impl Parts>, before: usize, wanted: usize) {
    let old = pool.roster().size();
    let last = manned(pool.as_ref()).take(wanted).last();
    let size = last.map_or(wanted, |last| last + 1);
    // Under the lock, so that a thread which begins either is found by `unpark`, or sees the size.
    pool.crew().under_lock(|| {
        // Ordering: Relaxed, as in `Roster::size`.
        pool.roster().size.store(size, Ordering::Relaxed);
    });
    pool.spares().resize(pool, before, working(pool.as_ref()));
    for seat in size.min(old)..size.max(old) {
        if size < old {
            let called = pool.idle().retract(seat);
            called.waive("the worker finds itself benched and passes the call on");
        }
        if !mutant("resize_unparks") {
            pool.unpark(seat);
        }
    }
}

/// The worker goes for good, or never comes: another one works in its place, if one is benched.
/// What is addressed to it is dropped. False, with nothing done, if `but_the_last` and nobody else
/// is left.
pub(crate) fn vacate(pool: &Arc<impl Parts>, seat: usize, but_the_last: bool) -> bool {
    let wanted = pool.roster().wanted();
    if but_the_last && manned(pool.as_ref()).all(|other| other == seat) {
        return false;
    }
    let before = working(pool.as_ref());
    pool.set_vacant(seat);
    set_size(pool, before, *wanted);
    drop(wanted);
    pool.close_place(seat);
    if !mutant("vacate_drops_mail") {
        drop_mail(pool.as_ref(), seat);
    }
    true
}

/// The adopted thread is a worker no longer. If it was the only one, and the pool is not closed,
/// the worker gets a thread of the pool's own as soon as there is something to run.
#[inline]
pub(crate) fn let_go(pool: &Arc<impl Parts>) {
    let is_the_last = !vacate(pool, 0, !pool.crew().is_closing());
    if is_the_last {
        // Under the lock, by which the worker's next thread sees what this one has left.
        let _wanted = pool.roster().wanted();
        pool.roster().set_orphaned(true);
    }
    let ended = pool.crew().let_go(|| pool.has_mail());
    ended.pay(|| pool.unpark_all());
    let has_some = || pool.has_jobs() || !pool.mailbox(0).is_surely_empty();
    if is_the_last && !mutant("orphan_looks_for_jobs") && has_some() {
        // Else the next one who adds something tries again, and says so if it fails.
        let _ = replace_adopted(pool);
    }
}

/// A job, or mail, was added to a pool whose only thread may have been an adopted one that has
/// ended meanwhile. Without a thread to be had it waits for who next adds something.
#[inline]
pub(crate) fn look_for_orphan(pool: &Arc<impl Parts>) {
    if pool.roster().is_orphaned() && !mutant("look_for_orphan") {
        let _ = replace_adopted(pool);
    }
}

/// Starts a thread for the worker whose adopted thread has ended, unless that has been done or the
/// pool has ended.
#[cold]
pub(crate) fn replace_adopted(pool: &Arc<impl Parts>) -> io::Result<()> {
    let _wanted = pool.roster().wanted();
    if pool.roster().is_orphaned() && pool.start_thread(0)? {
        pool.roster().set_orphaned(false);
    }
    Ok(())
}

/// Nobody comes for what is in the mailbox.
fn drop_mail(pool: &impl Parts, seat: usize) {
    pool.mailbox(seat).take_all().for_each(drop_quietly);
}

/// Gives a job to one worker; `is_here` says whether the calling thread is that worker. If it has
/// no thread, or none any more, the job is dropped.
pub(crate) fn post(
    pool: &impl Parts,
    seat: usize,
    kind: JobKind,
    job: Job,
    is_here: impl Fn() -> bool,
) {
    let nobody_comes = || pool.is_vacant(seat) || pool.crew().has_ended() && !is_here();
    // First, because the worker itself may have posted something that it still comes for, in
    // `on_exit`.
    if nobody_comes() {
        return drop_quietly(job);
    }
    pool.mailbox(seat).push(kind, job);
    pool.unpark(seat);
    if !mutant("post_looks_again") && nobody_comes() {
        drop_mail(pool, seat);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use crate::Pool;
    use crate::workers::Worker;

    #[test]
    fn a_compensation_thread_at_work_is_not_benched() {
        let pool = Pool::new(1).unwrap();
        pool.install(|| {
            let (begun, begins) = mpsc::channel();
            let (end, ends) = mpsc::channel::<()>();
            crate::spawn(move || {
                begun.send(()).unwrap();
                let _ = ends.recv();
            });
            crate::blocking(|| begins.recv()).unwrap();
            let rests =
                |seat| Worker::with_current(|worker| worker.unwrap().registry().rests(seat));
            assert!(
                !rests(1),
                "it runs the job in the place of the worker that blocked"
            );
            drop(end);
        });
    }
}
