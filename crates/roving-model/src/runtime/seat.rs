//! One simulated thread, with its task stack, and the loops that threads are in.

use crate::Then;

/// No seat, no core.
pub(super) const NOBODY: u32 = u32::MAX;

/// The content of a slot of a task stack.
#[derive(Clone, Debug)]
pub(super) enum What<K> {
    /// A task.
    Task(K),
    /// The offer of one that stands in another stack: who comes first may have it.
    Offer { victim: u32, index: u32, stamp: u32 },
    /// Rounds of a loop. Whoever has taken them is done with the slot.
    Rounds { of: u32, next: u32, end: u32 },
}

/// The worker that has the task of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskHolder {
    /// Its owner.
    Here,
    /// A thief offers it on.
    Offered { stamp: u32 },
    /// A thief runs it, with what it leads to in slots from `base` on.
    Started { holder: u32, base: u32 },
    /// It has ended.
    Done,
}

#[derive(Clone, Debug)]
pub(super) struct StackSlot<K> {
    pub(super) what: What<K>,
    pub(super) held: TaskHolder,
    /// The owner waits for it.
    pub(super) awaited: bool,
}

/// The continuation of a thread when its present task has ended.
#[derive(Clone, Copy, Debug)]
pub(super) enum Continuation {
    /// The whole work.
    Root,
    /// The newest slot is the join's second task.
    Join { after: u64 },
    /// The work after both tasks of a join.
    After { after: u64 },
    /// The end of a task of `victim`.
    Base {
        victim: u32,
        index: u32,
        /// How long it took to get hold of it, and how many tasks came along.
        way: u32,
        count: u32,
        began: u64,
    },
    /// A spawner: `next` of `count` tasks made; after these, all slots from `base` on are waited
    /// for.
    Spread {
        spawner: u32,
        next: u32,
        count: u32,
        base: u32,
        each: f32,
    },
    /// The task that follows in a series.
    Next { task: u32 },
    /// Rounds `next .. end` of a loop, and what was split off of them in slots from `base` on.
    Rounds {
        of: u32,
        next: u32,
        end: u32,
        base: u32,
    },
    /// Who has called a loop waits until all of it has ended.
    Whole { of: u32 },
    /// A task that found no room has run in place: now what keeps the slots from `base` on from
    /// becoming free.
    Stranded { base: u32 },
    /// All slots from `base` on are waited for.
    Drain { base: u32 },
}

/// The activity of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeatActivity {
    /// Runs a task.
    Running,
    /// Its task sleeps, and so does the thread.
    Napping,
    /// Looks for the end of a stolen task.
    Waiting,
    /// Sleeps until a stolen task has ended.
    Parked,
    /// Looks around; no victim shows anything.
    Looking,
    /// Looks around, and is about to see what `victim` shows.
    EnRoute,
    /// Looks away for a while.
    Restrained,
    /// Parked for want of work.
    Asleep,
    /// A compensation thread off duty.
    Resting,
    /// Was unparked, and does not run yet.
    Waking,
    /// Wants a core.
    Ready,
}

/// One thread.
#[derive(Debug)]
pub(super) struct Seat<K> {
    pub(super) slots: Vec<StackSlot<K>>,
    pub(super) frames: Vec<Continuation>,
    /// The continuation after the present step.
    pub(super) then: Then<K>,
    /// Slots `oldest .. split` are public.
    pub(super) oldest: u32,
    pub(super) split: u32,
    /// `oldest` as the owner last saw it.
    pub(super) seen: u32,
    /// The split line has fallen since a publication last raised it.
    pub(super) has_shrunk: bool,
    /// Slots with tasks that no join waits for.
    pub(super) unjoined: u32,
    pub(super) state: SeatActivity,
    /// A thief has asked; the owner has been told.
    pub(super) want: bool,
    pub(super) alarm: bool,
    /// It looks around, and has asked everybody for tasks.
    pub(super) asks: bool,
    /// So many of its next publications wake a worker each.
    pub(super) wakes_owed: u8,
    /// It lost its core in the middle of a step.
    pub(super) midstep: bool,
    pub(super) credit: u8,
    /// Steals in a row that were not worth it.
    pub(super) streak: u8,
    /// Up to which call of all sleepers it has answered.
    pub(super) answered: u32,
    /// Events with another number are void.
    pub(super) turn: u32,
    pub(super) core: u32,
    pub(super) victim: u32,
    pub(super) last_victim: u32,
    /// Thieves that are on their way to what is public.
    pub(super) reserved: u32,
    /// Its place among those that look around.
    pub(super) place: u32,
    pub(super) credited: u64,
    /// Since when it has looked around in vain, or waited.
    pub(super) since: u64,
    /// How long before that it looked in vain.
    pub(super) spent: u64,
    /// Until when it looks away.
    pub(super) until: u64,
    /// When the step ends that runs; once it has lost its core, how long that has still to run.
    pub(super) due: u64,
    /// Until when the line with its span is on its way to a thief.
    pub(super) line_free: u64,
    /// When it was last accounted for.
    pub(super) accounted: u64,
}

impl<K> Seat<K> {
    pub(super) fn new(core: u32, state: SeatActivity) -> Seat<K> {
        Seat {
            slots: Vec::new(),
            frames: Vec::new(),
            then: Then::End,
            oldest: 0,
            split: 0,
            seen: 0,
            has_shrunk: false,
            unjoined: 0,
            state,
            want: false,
            // A thief may have asked before the owner started: the first push looks.
            alarm: true,
            asks: false,
            wakes_owed: 0,
            midstep: false,
            credit: 0,
            streak: 0,
            answered: 0,
            turn: 0,
            core,
            victim: NOBODY,
            last_victim: NOBODY,
            reserved: 0,
            place: NOBODY,
            credited: 0,
            since: 0,
            spent: 0,
            until: 0,
            due: 0,
            line_free: 0,
            accounted: 0,
        }
    }

    /// Whether the newest slot is waited for; not where a whole loop is.
    pub(super) fn await_newest(&mut self, awaits: bool) {
        let of_loop = matches!(self.frames.last(), Some(Continuation::Whole { .. }));
        if let Some(slot) = self.slots.last_mut().filter(|_| !of_loop) {
            slot.awaited = awaits;
        }
    }

    /// The index of the first free slot.
    pub(super) fn top(&self) -> u32 {
        self.slots.len() as u32
    }

    /// How many tasks are public.
    pub(super) fn public(&self) -> u32 {
        self.split - self.oldest
    }

    /// The number of public tasks without those that thieves are on their way to.
    pub(super) fn unreserved(&self) -> u32 {
        self.public().saturating_sub(self.reserved)
    }
}

/// A loop that has begun.
#[derive(Debug, Default)]
pub(super) struct Loop {
    /// The place of the task whose children the rounds are.
    pub(super) spawner: u32,
    /// Parts that somebody runs, or that stand in a slot.
    pub(super) parts: u32,
    /// Nobody when the loop has ended and its caller knows.
    pub(super) caller: u32,
    /// Threads that run parts of it, and from which slot on.
    pub(super) runs: Vec<(u32, u32)>,
}

impl Loop {
    pub(super) fn is_running(&self) -> bool {
        self.parts > 0
    }
}
