//! A task that has woken another one, and lets it go first.
//!
//! Who is woken in a poll stands on the worker's stack, where it is found at once. Who wakes itself
//! to be polled again goes through its root's queue, behind all that is ready there: a lock, a job,
//! and a way through the loop of a worker. A task that does little but wake others, and has nothing
//! to do before they have had their turn, need not go that way: it takes the place of the one that
//! goes first, on the stack, where thieves find it.

use std::ptr::{self, NonNull};
use std::task::Context;

use super::drive::Frames;
use super::header::{Frame, Header, NO_CHILD, place_of};
use super::local::{Local, Next};
use super::pushed::holds_frame;
use super::root::Root;
use super::waker;
use crate::machine::meeting_points::{At, meet};
use crate::stack::slot::Slot;
use crate::workers::sleep::roster;

/// Asks for the current task to be polled again, for a poll that is about to return `Pending`; as
/// if the task woke itself. But if it has woken exactly one other task of its worker in this poll,
/// and nothing else waits for the worker, it is polled again as soon as that task has ended or is
/// suspended, by its worker, or at once by another.
///
/// ```
/// use std::task::Poll;
///
/// let mut polls = 0;
/// roving::task::block_on(std::future::poll_fn(|context| {
///     polls += 1;
///     if polls == 3 {
///         return Poll::Ready(());
///     }
///     roving::raw::tasks::yield_to_woken(context);
///     Poll::Pending
/// }));
/// assert_eq!(polls, 3);
/// ```
#[inline]
pub fn yield_to_woken(context: &Context<'_>) {
    let is_seen_to = Local::with(|local| {
        let polled = local.current.get();
        let own = waker::frame_of(context.waker());
        let is_own = own.is_some_and(|frame| ptr::eq(frame.as_ptr(), polled));
        let may = is_own && !local.has_next();
        if may {
            local.set_next(Next::Woken(polled));
        }
        may
    });
    if !is_seen_to {
        context.waker().wake_by_ref();
    }
}

impl Frames<'_> {
    /// The frame's poll came to nothing, and it has asked to be polled again. Returns what to run
    /// next.
    ///
    /// # Safety
    /// It is this worker's, and not any more afterwards. The worker runs frames above that base.
    #[inline(never)]
    pub(super) unsafe fn yield_frame(
        self,
        local: &Local,
        frame: *const Header,
        base: *const Slot,
    ) -> Option<Frame> {
        // What runs while this worker looks for the next frame runs in no task.
        local.current.set(ptr::null());
        meet(At::Suspend);
        // SAFETY: the frame is this worker's until it is passed on, and its root is kept open by
        // this worker.
        unsafe {
            let frame: Frame = NonNull::new_unchecked(frame.cast_mut());
            let header = frame.as_ref();
            let root = header.root.get();
            if header.life.is_shared() {
                header.life.schedule();
            }
            // One that has its place with a worker is not for thieves.
            let may_stay = place_of(frame).is_none() && self.may_stay(local, root, base);
            let next = match may_stay {
                true => self.pop_frame(local, base),
                false => None,
            };
            if next.is_some() && self.push_frame(frame, NO_CHILD) {
                return next;
            }
            if !local.take_count() {
                (*root).open();
            }
            Root::make_ready(root, frame);
            next.or_else(|| self.pop_frame(local, base))
        }
    }

    /// Whether the frame that has yielded may stand on the stack: just one stands there which goes
    /// first, and nobody waits for the worker to come out of its loop, or for its thread. As often
    /// as woken frames may be put there, together with them. What goes first is no closure: that is
    /// run where it is taken off, and who has yielded would be in nobody's reach meanwhile.
    fn may_stay(self, local: &Local, root: *const Root, base: *const Slot) -> bool {
        let (owner, registry, seat) = (self.0.owner(), self.0.registry(), self.0.seat());
        let is_one = owner.top() > 0 && ptr::eq(owner.stack().at(owner.top() - 1), base);
        let is_frame = || holds_frame(owner.stack().slot(owner.top() - 1));
        let waits = || {
            !registry.injector.is_hint_empty()
                || !seat.mailbox.is_hint_empty()
                || !seat.spawned.is_hint_empty()
                || seat.tasks.has_placed()
                || self.may_have_to_leave()
        };
        is_one
            && is_frame()
            && ptr::eq(local.resumes.get(), root)
            && registry.spares.takes_any(registry.settings.amount.least())
            && !waits()
            && local.may_push_woken()
    }

    /// Whether the thread is to come out of what it runs soon, because it may have to leave its
    /// seat: a hint, of few loads.
    fn may_have_to_leave(self) -> bool {
        let (registry, desk) = (self.0.registry(), &self.0.seat().desk);
        self.0.is_spare()
            || roster::is_benched(registry.as_ref(), self.0.index())
            || desk.as_ref().is_some_and(|desk| desk.is_pressed())
    }
}
