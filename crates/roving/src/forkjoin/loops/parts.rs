//! A loop that was asked for work: parts on many workers, none of which waits for another.
//!
//! A worker that is asked cuts what it has left, pushes the upper half as a task, and goes on with
//! the lower one. At its end it pops the newest half: if nobody took that, the worker goes on with
//! it, as adjacent pieces need no combination. A thief takes a half out of its slot at once, as it
//! takes frames, and puts a [`MeetingNode`] in its place, where the lower part and the upper one
//! meet. Whoever comes there last combines the two and goes on upwards; so all outcomes are
//! combined in the order of their units, and a worker that has come first has nothing to wait for.
//! Only the caller waits: for the outcome of the whole.
//!
//! ```text
//!   caller's part              node A            A: lower is what is left of the caller's part
//!   [0 .. 40) [40 .. 50) ...     /  \               below the half that was stolen,
//!        what it pushed     node B   part [50..100)   upper is that half. B was made for a half
//!                           /    \                    that the caller split off later.
//!                  part [0..25)   part [25..50)
//! ```

use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::mem::MaybeUninit;
use std::panic::{self, AssertUnwindSafe};
use std::ptr::NonNull;

use super::early_end::Early;
use super::meet::{Meeting, Side};
use super::pace::Pace;
use super::pieces::{Fed, Loop, Piece, Sink, with_worker};
use crate::forkjoin::whole::Whole;
use crate::inherit::cancelled::keep_first;
use crate::machine::prim::Mutex;
use crate::machine::unwind::{drop_quietly, with_frame_lent};
use crate::stack::slot::{Further, PartHead, Slot, fits};
use crate::workers::Worker;
use crate::workers::frames::Level;
use crate::workers::own_tasks::Own;
use crate::workers::wait::Taken;

/// Most halves that a part can have pushed and not yet popped: each is half of what was left.
const PUSHED_MAX: usize = usize::BITS as usize;

/// Feeds the piece to the sink on this worker and on those that ask.
pub(super) fn run<P, S>(
    all: &Loop<'_, S>,
    worker: &Worker,
    pace: Pace,
    piece: P,
    state: S::State,
) -> S::State
where
    P: Piece,
    S: Sink<P>,
{
    let team = Team::<P, S> {
        sink: all.sink,
        early: all.early,
        whole: Whole::new(worker),
        panic: Mutex::new(None),
        outcome: UnsafeCell::new(None),
    };
    let alone = with_frame_lent(|| {
        // With none of its slots in use an adopted thread would leave its pool where that is
        // dropped, which what feeds, cuts and closes pieces may do.
        let (_, outer_floor) = worker.owner().open_frame();
        let alone = match team.share(worker, pace, piece, Some(state), Target::Caller) {
            Shared::Open(Target::Caller, Some(state)) => Some(state),
            shared => {
                let (target, outcome) = team.close(shared);
                // SAFETY: the part of the caller, who waits for the whole below.
                unsafe { Team::put(&raw const team, worker, target, outcome) };
                team.whole.wait(worker);
                None
            }
        };
        worker.owner().close_frame(outer_floor);
        alone
    });
    if let Some(state) = alone {
        return state;
    }
    let outcome = team.outcome.into_inner();
    if let Some(payload) = team.panic.into_inner() {
        drop_quietly(outcome);
        panic::resume_unwind(payload);
    }
    all.sink
        .resume(outcome.expect("a loop without a panic has an outcome"))
}

/// The parts of one loop, in the frame of its caller.
struct Team<P, S: Sink<P>> {
    /// Both are borrowed by the caller until all parts have ended.
    sink: *const S,
    early: *const Early,
    whole: Whole,
    /// The payload of the first part that panicked; see [`keep_first`].
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Of the whole; `None` if a part has panicked. Written before `whole` says that all have
    /// ended, and read after.
    outcome: UnsafeCell<Option<S::Outcome>>,
}

/// Where the outcome of a part goes.
enum Target<P, S: Sink<P>> {
    /// It is that of the whole.
    Caller,
    Node(Side, NonNull<MeetingNode<P, S>>),
}

/// The state or the outcome of a part, and where that belongs; `None` if the part panicked.
enum Shared<P, S: Sink<P>> {
    /// Nothing of it was taken, so what is behind it may go on from its state.
    Open(Target<P, S>, Option<S::State>),
    Closed(Target<P, S>, Option<S::Outcome>),
}

/// A half that was split off, in its slot.
struct Half<P, S: Sink<P>> {
    team: *const Team<P, S>,
    piece: P,
}

/// A stolen half, and where its outcome meets that of what is below.
#[repr(C)]
struct MeetingNode<P, S: Sink<P>> {
    head: PartHead,
    team: *const Team<P, S>,
    /// Of the upper part, until it begins.
    piece: Cell<Option<P>>,
    /// Where the outcome of both goes. Written by the lower part before it comes to the meeting,
    /// and read by who comes last.
    target: Cell<Target<P, S>>,
    meeting: Meeting<Option<S::Outcome>>,
}

impl<P: Piece, S: Sink<P>> Team<P, S> {
    fn all(&self) -> Loop<'_, S> {
        // SAFETY: the caller of the loop has borrowed both until all parts have ended.
        unsafe {
            Loop {
                sink: &*self.sink,
                early: &*self.early,
            }
        }
    }

    /// Calls `f`, which is the user's. If that panics, the loop ends, and there is no outcome.
    fn caught<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        panic::catch_unwind(AssertUnwindSafe(f))
            .inspect_err(|_| self.all().early.end())
            .map_err(|payload| self.panicked(payload))
            .ok()
    }

    fn panicked(&self, payload: Box<dyn Any + Send>) {
        let beaten = keep_first(&mut self.panic.lock(), payload);
        drop_quietly(beaten);
    }

    /// Feeds the piece, and what of it was split off and not taken. Returns what it came to, which
    /// belongs to `target`, if nothing was taken.
    fn share(
        &self,
        worker: &Worker,
        mut pace: Pace,
        piece: P,
        state: Option<S::State>,
        target: Target<P, S>,
    ) -> Shared<P, S> {
        let mut pushed = Pushed::default();
        let (mut piece, mut state) = (piece, state);
        // An upper half for which there was no room.
        let mut kept = None;
        let newest_taken = loop {
            if let Some(before) = state {
                let is_to_cut = |pace: &mut Pace, left| {
                    let asks = kept.is_none() && pushed.has_room() && worker.owner().is_asked();
                    asks && pace.is_worth_a_cut(worker, left)
                };
                let all = self.all();
                let pace = &mut pace;
                let feed = || all.feed(worker, pace, piece, before, is_to_cut);
                state = match self.caught(feed) {
                    Some(Fed::UpTo(whole, left, before)) => {
                        match self.caught(|| whole.cut(left / 2)) {
                            Some((lower, upper)) => {
                                match self.push(worker, upper) {
                                    Ok(slot) => pushed.add(slot),
                                    Err(upper) => kept = Some(upper),
                                }
                                (piece, state) = (lower, Some(before));
                                continue;
                            }
                            None => {
                                drop_quietly(before);
                                None
                            }
                        }
                    }
                    Some(Fed::Through(after)) => {
                        all.early.learn(pace);
                        Some(after)
                    }
                    None => None,
                };
            } else {
                drop_quietly(piece);
            }
            if let Some(upper) = kept.take() {
                piece = upper;
                continue;
            }
            let Some(slot) = pushed.pop() else {
                return Shared::Open(target, state);
            };
            match Own(worker).take_joined(slot) {
                // SAFETY: popped, with the half still inside.
                Taken::Here => piece = unsafe { Half::<P, S>::take(&*slot) }.piece,
                // SAFETY: the thief has put the node in.
                Taken::Ended => break unsafe { (*slot).take::<NonNull<MeetingNode<P, S>>>() },
            }
        };
        // Before other halves run here: those may have nothing to do when this part has failed,
        // which the sink may hear of no sooner.
        let outcome = self.end(state);
        self.link(worker, &mut pushed, newest_taken, target);
        Shared::Closed(Target::Node(Side::Lower, newest_taken), outcome)
    }

    /// Links the nodes of all that a part has pushed to each other: the newest half that was taken
    /// is the lower neighbour of the next older one, and so on. A half that was claimed, but not
    /// begun, runs here, as a part of its own.
    fn link(
        &self,
        worker: &Worker,
        pushed: &mut Pushed,
        newest: NonNull<MeetingNode<P, S>>,
        target: Target<P, S>,
    ) {
        let mut lowest = newest;
        while let Some(slot) = pushed.pop() {
            let further = match Own(worker).take_joined(slot) {
                // SAFETY: popped, with the half still inside.
                Taken::Here => unsafe { run_half::<P, S>(&*slot) },
                Taken::Ended => Further::Nothing,
            };
            // SAFETY: the thief, or this thread just now, has put the node in.
            let node = unsafe { (*slot).take::<NonNull<MeetingNode<P, S>>>() };
            let target = Target::Node(Side::Lower, node);
            // SAFETY: its lower part, which is this one, has not yet come.
            unsafe { lowest.as_ref() }.target.set(target);
            lowest = node;
            worker.run_further(further, Level::Above);
        }
        // SAFETY: the lower part of that node is this one, and has not yet come.
        unsafe { lowest.as_ref() }.target.set(target);
    }

    /// Pushes a half for others to take. `Err` gives it back: a worker is asked only while there is
    /// room, but what cuts a piece is the user's, and may have spawned until there was none.
    fn push(&self, worker: &Worker, piece: P) -> Result<*const Slot, P> {
        let half = Half { team: self, piece };
        let pushed = match const { fits::<Half<P, S>>() } {
            true => worker.owner().push(run_half::<P, S>, half),
            false => {
                let pushed = worker.owner().push(run_half::<P, S>, Box::new(half));
                pushed.map_err(|(half, wake)| (*half, wake))
            }
        };
        let (pushed, wake) = match pushed {
            Ok((slot, wake)) => (Ok(slot), wake),
            Err((half, wake)) => (Err(half.piece), wake),
        };
        worker.wake_if(wake);
        pushed
    }

    fn end(&self, state: Option<S::State>) -> Option<S::Outcome> {
        state.and_then(|state| self.caught(|| self.all().sink.end(state)))
    }

    fn close(&self, shared: Shared<P, S>) -> (Target<P, S>, Option<S::Outcome>) {
        match shared {
            Shared::Open(target, state) => (target, self.end(state)),
            Shared::Closed(target, outcome) => (target, outcome),
        }
    }

    /// Puts the outcome of a part where it belongs. If the other part of that meeting has ended,
    /// combines the two, and goes on upwards. The caller of the loop may go on, and the team be
    /// gone, when this returns.
    ///
    /// # Safety
    /// The team is alive, which it is as long as one part of it has not come to its target; and
    /// this is the part of `target`.
    unsafe fn put(
        this: *const Self,
        worker: &Worker,
        target: Target<P, S>,
        outcome: Option<S::Outcome>,
    ) {
        let (mut target, mut outcome) = (target, outcome);
        while let Target::Node(side, node) = target {
            // SAFETY: alive, because this part has not come.
            let met = unsafe { Meeting::come(&raw const (*node.as_ptr()).meeting, side, outcome) };
            let Some(both) = met else { return };
            // SAFETY: both have come, so the node is this thread's; a box leaked it.
            let node = unsafe { Box::from_raw(node.as_ptr()) };
            target = node.target.replace(Target::Caller);
            drop(node);
            // SAFETY: this part has not come to its new target, so the team is alive.
            outcome = unsafe { (*this).combine(worker, both) };
        }
        // SAFETY: it is the outcome of the whole, for which the caller waits: until `finish` the
        // team is alive, and this thread the only one that uses it.
        unsafe {
            *(*this).outcome.get() = outcome;
            Whole::end(&raw const (*this).whole, worker);
        }
    }

    fn combine(
        &self,
        worker: &Worker,
        both: (Option<S::Outcome>, Option<S::Outcome>),
    ) -> Option<S::Outcome> {
        let (lower, upper) = match both {
            (Some(lower), Some(upper)) => (lower, upper),
            left => {
                drop_quietly(left);
                return None;
            }
        };
        let join = || self.caught(|| self.all().sink.join(lower, upper));
        // SAFETY: what is combined here has not come to its target.
        unsafe { self.whole.enter(worker, join) }
    }
}

impl<P, S: Sink<P>> Half<P, S> {
    /// # Safety
    /// The caller has the slot to itself, and it holds a half, which is not used again.
    unsafe fn take(slot: &Slot) -> Half<P, S> {
        // SAFETY: the caller's promise; `Team::push` chooses in the same way.
        unsafe {
            match const { fits::<Half<P, S>>() } {
                true => slot.take::<Half<P, S>>(),
                false => *slot.take::<Box<Half<P, S>>>(),
            }
        }
    }
}

/// Takes a half out of its slot, and leaves the node there. The slot's owner waits for no more than
/// that.
///
/// # Safety
/// As [`crate::stack::slot::Run`]; the slot holds a [`Half`].
unsafe extern "C-unwind" fn run_half<P: Piece, S: Sink<P>>(slot: &Slot) -> Further {
    // SAFETY: the half that `Team::push` put in.
    let Half { team, piece } = unsafe { Half::<P, S>::take(slot) };
    let node = Box::new(MeetingNode {
        head: PartHead {
            run: run_node::<P, S>,
        },
        team,
        piece: Cell::new(Some(piece)),
        target: Cell::new(Target::Caller),
        meeting: Meeting::new(),
    });
    let node = NonNull::from(Box::leak(node));
    // SAFETY: the slot stays this thread's until it says that the task has ended.
    unsafe { slot.put(node) };
    Further::Part(node.cast())
}

/// Runs the upper part of a node.
///
/// # Safety
/// The node is alive, of these types, and this is the only call for it.
unsafe fn run_node<P: Piece, S: Sink<P>>(node: NonNull<PartHead>) {
    let node = node.cast::<MeetingNode<P, S>>();
    with_worker(|worker| {
        // SAFETY: the node is alive until its upper part has come, which is this one; and so is the
        // team.
        let (this, piece) = unsafe { (node.as_ref().team, node.as_ref().piece.take()) };
        // SAFETY: the team is alive until its parts have come.
        let team = unsafe { &*this };
        let part = || {
            let piece = piece.expect("a part begins once");
            let state = team.caught(|| team.all().sink.begin());
            let target = Target::Node(Side::Upper, node);
            team.close(team.share(worker, team.all().early.pace(), piece, state, target))
        };
        // SAFETY: the part has not come to its target.
        let (target, outcome) = unsafe { team.whole.run_part(worker, part) };
        // SAFETY: the part has not come to its target before.
        unsafe { Team::put(this, worker, target, outcome) };
    });
}

/// The slots of what a part has pushed, and not yet popped.
struct Pushed {
    slots: [MaybeUninit<*const Slot>; PUSHED_MAX],
    length: usize,
}

impl Default for Pushed {
    fn default() -> Pushed {
        Pushed {
            slots: [MaybeUninit::uninit(); PUSHED_MAX],
            length: 0,
        }
    }
}

impl Pushed {
    fn has_room(&self) -> bool {
        self.length < PUSHED_MAX
    }

    fn add(&mut self, slot: *const Slot) {
        self.slots[self.length].write(slot);
        self.length += 1;
    }

    fn pop(&mut self) -> Option<*const Slot> {
        self.length = self.length.checked_sub(1)?;
        // SAFETY: written by `add`.
        Some(unsafe { self.slots[self.length].assume_init() })
    }
}
