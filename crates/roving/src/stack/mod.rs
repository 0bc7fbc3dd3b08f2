//! The task stack: the one thing that an owner and its thieves share.
//!
//! ```text
//!            oldest        split          top
//!   0  claimed  |  public    |   private   |   free           end
//! ```
//!
//! A fixed array of [`Slot`]s. The owner pushes and pops at the top; thieves claim the oldest
//! public tasks. Private tasks are the owner's alone and cost plain loads and stores; the *split
//! line* between public and private moves only by the owner's hand. Three words are shared:
//!
//! * [`span::Span`], one a stack: which tasks are public;
//! * [`slot_state::SlotState`], one a slot: who runs a task, and whether it has ended;
//! * the owner's line pointer ([`line`]): a thief overwrites it to raise the alarm.
//!
//! After Wool (private tasks, synchronise on the task, trip wire; Faxén 2009) and Lace (split
//! line moved on demand, claims by one compare-and-swap on the packed word; van Dijk and van de
//! Pol 2014). Against both: several tasks can be claimed at once, and those beyond the first are
//! offered on, under a generation, and can be taken back; as many tasks as there are thieves are
//! public before anybody asks; and the trip wire costs the owner no comparison of its own.
//!
//! # What is not promised
//!
//! An owner that pushes and pops nothing for long shows what it showed before: the
//! [`Showing::wide`] oldest tasks if it pushed them at leisure, [`Showing::unasked`] of them if
//! they are of the kind that comes by the million, and of spawned ones at least half of what is
//! there. The rest waits for the owner's next push or pop, at which it answers whoever asked
//! meanwhile.

pub(crate) mod line;
pub(crate) mod owner;
pub(crate) mod policy;
pub(crate) mod slot;
pub(crate) mod slot_state;
mod slots;
pub(crate) mod span;
pub(crate) mod task_word;
pub(crate) mod thief;

#[cfg(test)]
mod exhaustive_tests;
#[cfg(all(test, loom))]
pub(crate) mod loom_tests;
#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod owner_tests;

use std::cell::Cell;
use std::ptr;
use std::time::Instant;

use crate::machine::prim::{AtomicPtr, AtomicU64, Mutex, Padded};
use crate::stats::Tally;
use line::Line;
use slot::Slot;

/// How a stack shows its tasks; the same for every worker of a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Showing {
    /// Number of slots.
    pub(crate) slots: usize,
    /// How many tasks are public before anybody asks: fields of [`policy::Shown`].
    pub(crate) unasked: usize,
    pub(crate) thieves: usize,
    pub(crate) wide: usize,
    /// A demand is not answered with fewer public tasks than these: nobody would take them.
    pub(crate) least: usize,
    /// Whether a thief's demand publishes everything, or half of what is private.
    pub(crate) everything: bool,
    /// Every push takes the slow path, where it is counted, and where others may go on
    /// ([`crate::machine::meeting_points`]).
    pub(crate) watched: bool,
}

#[cfg(test)]
impl Showing {
    /// That of a small stack, for tests.
    pub(crate) const SMALL: Showing = Showing {
        slots: 2,
        unasked: 1,
        thieves: 1,
        wide: 1,
        least: 1,
        everything: false,
        watched: false,
    };
}

/// The stack of one worker. See the module for the picture. What the owner writes, what thieves
/// write and what nobody writes stand on different cache lines.
pub(crate) struct TaskStack {
    line: Line,
    own: Padded<Own>,
    span: Padded<AtomicU64>,
    showing: Showing,
    /// The owner thread's line pointer, null until it has started.
    wire: AtomicPtr<AtomicPtr<Line>>,
    /// The trip wire of an owner that may end before its thieves do; then `wire` stays null.
    lent_wire: Mutex<Option<line::LentWire>>,
    slots: slots::Slots,
}

/// State that only the owner's slow paths use.
struct Own {
    /// The split line. The span's is the same while it shows a public task; otherwise everything
    /// below this one is claimed, and the span may show any equal pair.
    split: Cell<usize>,
    /// `oldest` as the owner last saw it; thieves may have claimed more since.
    oldest_seen: Cell<usize>,
    /// The split line has fallen since a publication last raised it.
    has_shrunk: Cell<bool>,
    /// Where the next task comes alone, or where that task stands; see [`owner::Owner::pop_alone`].
    /// [`line::NOWHERE`] if there is more to ask.
    alone: Cell<*const Slot>,
    /// Slots below belong to frames further out, see [`owner::Owner::open_frame`]; null in none.
    floor: Cell<*const Slot>,
    /// An alarm was raised, and the span not yet changed since.
    owes_answer: Cell<bool>,
    /// So many of the next publications wake a worker each, see [`policy::wakes`].
    wakes_owed: Cell<u32>,
    /// How many publications may follow before it is [`Showing::unasked`] that counts, not `wide`.
    credit: Cell<u32>,
    /// How many ends of scopes go by without a look at the clock.
    looks_left_out: Cell<u32>,
    /// When the credit was last topped up.
    credited: Cell<Option<Instant>>,
    tally: Tally,
}

// SAFETY: thieves reach `span`, `wire`, and the words of slots, which are atomics, and the cells
// of a slot only after a claim gave it to them (`state`). Everything else is used through
// `owner::Owner`, of which there is one, on one thread.
unsafe impl Sync for TaskStack {}
// SAFETY: the raw pointers lead into the stack's own slots.
unsafe impl Send for TaskStack {}

impl TaskStack {
    /// For tests.
    #[cfg(test)]
    pub(crate) fn new(showing: Showing) -> TaskStack {
        TaskStack::try_new(showing).expect("a test has memory")
    }

    /// `None` when there is no memory for its slots.
    pub(crate) fn try_new(showing: Showing) -> Option<TaskStack> {
        assert!(
            showing.slots <= span::SLOTS_MAX,
            "a stack has at most {} slots",
            span::SLOTS_MAX
        );
        let slots = slots::Slots::new(showing.slots)?;
        let own = Own {
            split: Cell::new(0),
            oldest_seen: Cell::new(0),
            has_shrunk: Cell::new(false),
            alone: Cell::new(line::NOWHERE),
            floor: Cell::new(ptr::null()),
            // A thief may want work before the owner has started: the first push looks.
            owes_answer: Cell::new(true),
            credit: Cell::new(0),
            wakes_owed: Cell::new(0),
            looks_left_out: Cell::new(0),
            credited: Cell::new(None),
            tally: Tally::default(),
        };
        Some(TaskStack {
            line: Line::new(slots.as_ptr()),
            own: Padded(own),
            span: Padded(AtomicU64::new(0)),
            showing,
            wire: AtomicPtr::new(ptr::null_mut()),
            lent_wire: Mutex::new(None),
            slots,
        })
    }

    pub(crate) fn slot(&self, index: usize) -> &Slot {
        &self.slots[index]
    }

    /// Owner: whether no frame is open.
    pub(crate) fn is_frameless(&self) -> bool {
        self.own.floor.get().is_null()
    }

    /// Written by the owner, read by anybody.
    pub(crate) fn tally(&self) -> &Tally {
        &self.own.tally
    }

    /// The index of a slot of this stack.
    pub(crate) fn index(&self, slot: *const Slot) -> usize {
        (slot.addr() - self.slots.as_ptr().addr()) / size_of::<Slot>()
    }

    /// The slot at `index`, or one past the last.
    pub(crate) fn at(&self, index: usize) -> *const Slot {
        debug_assert!(index <= self.slots.len());
        // SAFETY: within the slice, or one past its end.
        unsafe { self.slots.as_ptr().add(index) }
    }
}
