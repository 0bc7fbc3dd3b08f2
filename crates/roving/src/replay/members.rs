//! Which threads take part in which deterministic pool, and what they do at the places where they
//! meet.

use std::cell::{Cell, RefCell};
use std::ptr;
use std::sync::Arc;
use std::time::Instant;

use super::baton::Baton;
use crate::machine::meeting_points::{At, Turns};
use crate::machine::per_process::PerProcess;
use crate::machine::prim::process_wide;
use crate::machine::prim::thread::{self, ThreadId};

thread_local! {
    /// The pool of which the thread is a member, and its seat there.
    static MEMBER: RefCell<Option<(Arc<Baton>, usize)>> = const { RefCell::new(None) };
    /// The visit that the thread makes, or null. Without a destructor, so that the destructors of
    /// other such values can bring something into a pool.
    static VISIT: Cell<*const Visit> = const { Cell::new(ptr::null()) };
}

process_wide! {
    /// All members of all pools.
    static MEMBERS: PerProcess<Vec<(ThreadId, Arc<Baton>, usize)>> = PerProcess::new();
}

/// The conduct of members, for [`turns::set`](crate::machine::meeting_points::set).
pub(crate) static TURNS: Turns = Turns {
    meet,
    park,
    unpark,
    now,
    away,
};

/// A thread that is about to end has no part any more. Nor has the copy of one in a forked child,
/// where nobody would give it the turn.
#[inline]
fn member() -> Option<(Arc<Baton>, usize)> {
    let member = MEMBER.try_with(|member| member.borrow().clone()).ok()?;
    member.filter(|(baton, _)| baton.is_here())
}

/// The pool that the thread visits, and its number there; none of its parent in a forked child.
#[inline]
fn visit() -> Option<(Arc<Baton>, u64)> {
    // SAFETY: set by `visited` for as long as the visit lives, on this thread.
    let visit = unsafe { VISIT.get().as_ref() }?;
    let is_here = visit.baton.is_here();
    is_here.then(|| (Arc::clone(&visit.baton), visit.number))
}

#[inline]
fn meet(at: At) {
    // Who visits a pool has its turn already.
    if let (None, Some((baton, me))) = (visit(), member()) {
        baton.meet(me, at);
    }
}

#[inline]
fn park() -> bool {
    let member = member();
    if let Some((baton, number)) = visit() {
        baton.give_up(number);
    }
    if let Some((baton, me)) = &member {
        baton.park(*me);
    }
    member.is_some()
}

#[inline]
fn unpark(thread: ThreadId) -> bool {
    let found = {
        let members = MEMBERS.lock();
        let found = members.iter().find(|(of, ..)| *of == thread);
        found.map(|(_, baton, seat)| (Arc::clone(baton), *seat))
    };
    if let Some((baton, seat)) = &found {
        baton.unpark(*seat);
    }
    found.is_some()
}

#[inline]
fn now() -> Option<Instant> {
    member().map(|(baton, _)| baton.now())
}

#[inline]
fn away(f: &mut dyn FnMut()) {
    let _away = Away::new();
    f();
}

/// As long as this stands, the calling thread blocks, if it is a member.
struct Away(Option<(Arc<Baton>, usize)>);

impl Away {
    #[inline]
    fn new() -> Away {
        let member = member();
        if let Some((baton, me)) = &member {
            baton.leave(*me);
        }
        Away(member)
    }
}

impl Drop for Away {
    #[inline]
    fn drop(&mut self) {
        if let Some((baton, me)) = self.0.as_ref().filter(|(baton, _)| baton.is_here()) {
            baton.come_back(*me);
        }
    }
}

/// As long as this stands, the calling thread is a member.
struct Attendance(Arc<Baton>, usize);

impl Drop for Attendance {
    #[inline]
    fn drop(&mut self) {
        let id = thread::current().id();
        MEMBERS.lock().retain(|(of, ..)| *of != id);
        MEMBER.take();
        if self.0.is_here() {
            self.0.depart(self.1);
        }
    }
}

impl Baton {
    /// Calls `work` on the thread of that seat, from its start to its end.
    #[inline]
    pub(crate) fn attend(self: &Arc<Baton>, seat: usize, work: &mut dyn FnMut()) {
        let id = thread::current().id();
        MEMBERS.lock().push((id, Arc::clone(self), seat));
        MEMBER.set(Some((Arc::clone(self), seat)));
        let _attendance = Attendance(Arc::clone(self), seat);
        self.arrive(seat);
        work();
    }

    /// Calls `f`, by which the calling thread brings something into the pool. In a forked child,
    /// where the pool has no threads, it is `f` that refuses.
    #[inline]
    pub(crate) fn visited(self: &Arc<Baton>, f: &mut dyn FnMut()) {
        let is_in = member().is_some_and(|(of, _)| Arc::ptr_eq(&of, self))
            || visit().is_some_and(|(of, _)| Arc::ptr_eq(&of, self));
        if is_in || !self.is_here() {
            return f();
        }
        let number = {
            let _away = Away::new();
            self.come_in()
        };
        let visit = Visit {
            baton: Arc::clone(self),
            number,
            before: VISIT.get(),
        };
        VISIT.set(&raw const visit);
        f();
    }
}

/// As long as this stands, the calling thread visits.
struct Visit {
    baton: Arc<Baton>,
    number: u64,
    /// The one that it is made in.
    before: *const Visit,
}

impl Drop for Visit {
    #[inline]
    fn drop(&mut self) {
        VISIT.set(self.before);
        if self.baton.is_here() {
            let _away = Away::new();
            self.baton.go_out(self.number);
        }
    }
}
