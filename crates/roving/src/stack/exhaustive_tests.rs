//! The tables of the two shared words as data, and all interleavings of one owner and three
//! thieves: a search through every state that twelve steps can lead to, with the real stack.
//!
//! A step is one change of one shared word (a method of the owner's or the thief's side). After
//! each step every change that was made must stand in a table, and at the end every row of the
//! tables must have been made. From each state the program is also run to its end: each task has
//! run once, and offers that are left begin nothing.

use std::collections::{HashSet, VecDeque};

use super::line::{ALARM, NOWHERE, set_current_line};
use super::owner::{Owner, Popped};
use super::owner_tests::run_nothing;
use super::slot_state::{Phase, SlotState};
use super::span::Span;
use super::thief::Claim;
use super::{Showing, TaskStack};

/// How many steps are explored; four more where the variable `ROVING_DEEP` is set.
const STEPS: usize = 12;
const SLOTS: usize = 2;
const THIEVES: usize = 3;

/// The phases of a slot's word, without what they carry.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Ready,
    Offered,
    Started,
    Awaited,
    Done,
}

fn kind(state: SlotState) -> Kind {
    match state.phase() {
        Phase::Ready => Kind::Ready,
        Phase::Offered => Kind::Offered,
        Phase::Started { .. } if state.has_waiter() => Kind::Awaited,
        Phase::Started { .. } => Kind::Started,
        Phase::Done => Kind::Done,
    }
}

/// The table of [`SlotState`]: from, to, whether the generation is the next one, and the method
/// that does so.
const OF_A_SLOT: [(Kind, Kind, bool, &str); 8] = [
    (Kind::Ready, Kind::Started, false, "begin"),
    (Kind::Ready, Kind::Offered, false, "offer"),
    (Kind::Offered, Kind::Started, false, "begin_offered"),
    (Kind::Offered, Kind::Ready, true, "take_back"),
    (Kind::Started, Kind::Awaited, false, "announce_waiter"),
    (Kind::Started, Kind::Done, false, "finish"),
    (Kind::Awaited, Kind::Done, false, "finish"),
    (Kind::Done, Kind::Ready, true, "retire"),
];

/// A row of the table of [`Span`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Change {
    Publish,
    TakeBack,
    Restart,
    Claim,
    Want,
}

const OF_A_SPAN: [(Change, Side); 5] = [
    (Change::Publish, Side::Owner),
    (Change::TakeBack, Side::Owner),
    (Change::Restart, Side::Owner),
    (Change::Claim, Side::Thief),
    (Change::Want, Side::Thief),
];

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Side {
    Owner,
    Thief,
}

/// Which row a change of the span is; none if it is in no row.
fn change(before: Span, after: Span) -> Option<Change> {
    let same_tasks = (before.oldest(), before.split()) == (after.oldest(), after.split());
    let wants = after.wanted() && !before.wanted();
    let keeps_want = after.wanted() == before.wanted();
    if same_tasks {
        return wants.then_some(Change::Want);
    }
    if before.public() == 0 {
        return (after.public() > 0 && !wants).then_some(Change::Restart);
    }
    let up = |a: usize, b: usize| b > a;
    match (
        before.oldest() == after.oldest(),
        before.split() == after.split(),
    ) {
        (true, false) if up(before.split(), after.split()) => (!wants).then_some(Change::Publish),
        (true, false) => keeps_want.then_some(Change::TakeBack),
        (false, true) if up(before.oldest(), after.oldest()) => {
            (after.wanted() || keeps_want).then_some(Change::Claim)
        }
        _ => None,
    }
}

/// One step of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    Push,
    /// The owner pushes a task that comes alone.
    PushAlone,
    /// The owner pops the task that stands alone.
    PopAlone,
    /// The owner pops its newest task, or goes on waiting for it.
    Pop,
    /// The owner that waits announces it.
    Announce,
    /// A thief asks for tasks.
    Want(usize),
    /// A thief claims up to two tasks, or says what becomes of those it has claimed, or ends what
    /// it runs.
    Go(usize),
    /// A thief that has nothing tries an offer.
    Try(usize, usize),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Thief {
    Free,
    /// It has claimed these and said nothing yet.
    Claimed(std::ops::Range<usize>),
    /// It runs the task in that slot; it has still to offer the one above, if it says so.
    Runs(usize, Option<usize>),
}

struct World<'s> {
    owner: Owner<'s>,
    /// The owner waits for its newest task.
    waits: bool,
    thieves: [Thief; THIEVES],
    /// Offers, in the order in which they were made: slot, the word then, and the task.
    offers: Vec<(usize, SlotState, u64)>,
    /// The ids of the tasks on the stack, oldest first.
    tasks: Vec<u64>,
    /// How often each task has run.
    runs: Vec<u8>,
}

impl<'s> World<'s> {
    fn stack(&self) -> &'s TaskStack {
        self.owner.stack()
    }

    fn run(&mut self, index: usize) {
        // SAFETY: begun or popped, so the slot is the caller's; there is one thread.
        let id = unsafe { self.stack().slot(index).take::<u64>() };
        assert_eq!(id, self.tasks[index], "the slot holds its task");
        self.runs[id as usize] += 1;
        assert_eq!(self.runs[id as usize], 1, "task {id} ran twice");
    }

    /// Does the step. False if there is nothing of the kind to do.
    fn step(&mut self, step: Step) -> bool {
        match step {
            Step::Push => self.push(),
            Step::PushAlone => self.push_alone(),
            Step::PopAlone => self.pop_alone(),
            Step::Pop => self.pop(),
            Step::Announce => {
                let Some(index) = self.tasks.len().checked_sub(1).filter(|_| self.waits) else {
                    return false;
                };
                let slot = self.stack().slot(index);
                let state = slot.state();
                kind(state) == Kind::Started && slot.announce_waiter(state)
            }
            Step::Want(_) => {
                let asks = !self.stack().is_wanted();
                if asks {
                    let _ = self.stack().want();
                }
                asks
            }
            Step::Go(thief) => self.go(thief),
            Step::Try(thief, offer) => self.try_offer(thief, offer),
        }
    }

    fn push(&mut self) -> bool {
        if self.waits || self.tasks.len() == SLOTS {
            return false;
        }
        let id = self.runs.len() as u64;
        let pushed = self.owner.push(run_nothing, id);
        pushed.expect("there is room").1.waive("nobody sleeps");
        self.tasks.push(id);
        self.runs.push(0);
        true
    }

    fn push_alone(&mut self) -> bool {
        let id = self.runs.len() as u64;
        let pushes = !self.waits && self.owner.push_alone(run_nothing, id);
        if pushes {
            self.tasks.push(id);
            self.runs.push(0);
        }
        pushes
    }

    fn pop_alone(&mut self) -> bool {
        let pops = !self.waits && self.owner.pop_alone().is_some();
        if pops {
            self.run(self.tasks.len() - 1);
            self.tasks.pop();
        }
        pops
    }

    fn pop(&mut self) -> bool {
        let Some(index) = self.tasks.len().checked_sub(1) else {
            return false;
        };
        self.owner.answer_alarm();
        if !self.waits {
            if self.owner.pop_awake(index) == Popped::Here {
                self.run(index);
                self.tasks.pop();
            } else {
                self.waits = true;
            }
            return true;
        }
        let slot = self.stack().slot(index);
        match slot.state().phase() {
            Phase::Done => self.owner.retire(index),
            Phase::Offered if slot.take_back() => {
                self.owner.release(index);
                self.run(index);
            }
            _ => return false,
        }
        self.waits = false;
        self.tasks.pop();
        true
    }

    fn go(&mut self, thief: usize) -> bool {
        match self.thieves[thief].clone() {
            Thief::Free => match self.stack().claim(0, |_| 2) {
                Claim::Won {
                    index,
                    count,
                    remind,
                    ..
                } => {
                    remind.pay(|| self.stack().raise_alarm());
                    self.thieves[thief] = Thief::Claimed(index..index + count);
                    true
                }
                Claim::Empty | Claim::Busy => false,
            },
            Thief::Claimed(claimed) => {
                self.stack().slot(claimed.start).begin(1 + thief, 0);
                self.run(claimed.start);
                let further = (claimed.len() > 1).then_some(claimed.start + 1);
                self.thieves[thief] = Thief::Runs(claimed.start, further);
                true
            }
            Thief::Runs(runs, Some(further)) => {
                let offered = self.stack().slot(further).offer();
                self.offers.push((further, offered, self.tasks[further]));
                self.thieves[thief] = Thief::Runs(runs, None);
                true
            }
            Thief::Runs(runs, None) => {
                let ended = self.stack().slot(runs).finish();
                ended.waive("the owner does not park");
                self.thieves[thief] = Thief::Free;
                true
            }
        }
    }

    fn try_offer(&mut self, thief: usize, offer: usize) -> bool {
        let (true, Some(&(index, offered, id))) =
            (self.thieves[thief] == Thief::Free, self.offers.get(offer))
        else {
            return false;
        };
        let begun = self
            .stack()
            .slot(index)
            .begin_offered(offered, 1 + thief, 0);
        if begun {
            assert_eq!(
                self.tasks.get(index),
                Some(&id),
                "a stale offer began a task"
            );
            self.run(index);
            self.thieves[thief] = Thief::Runs(index, None);
        }
        begun
    }

    fn words(&self) -> (Span, [SlotState; SLOTS]) {
        // Ordering: SeqCst, for want of a reason to choose another.
        let span = Span(self.stack().span.load(std::sync::atomic::Ordering::SeqCst));
        (
            span,
            std::array::from_fn(|at| self.stack().slot(at).state()),
        )
    }

    /// All that the future depends on.
    fn key(&self) -> String {
        let own = &self.stack().own;
        let (span, slots) = self.words();
        format!(
            "{span:?} {slots:?} {:?} {:?} {:?} {:?} {} {}",
            (
                own.split.get(),
                own.oldest_seen.get(),
                own.has_shrunk.get(),
                own.owes_answer.get(),
                (own.alone.get() != NOWHERE).then(|| self.stack().index(own.alone.get()))
            ),
            self.thieves,
            self.offers,
            self.tasks,
            self.waits,
            self.owner.line().push_limit.get().is_null()
        )
    }

    /// Everybody goes on until nothing is left.
    fn run_to_the_end(&mut self) {
        while !self.tasks.is_empty() {
            let pops = self.step(Step::Pop);
            let busy = (0..THIEVES).find(|&thief| self.thieves[thief] != Thief::Free);
            let goes = busy.is_some_and(|thief| self.step(Step::Go(thief)));
            assert!(pops || goes, "the owner waits for ever: {}", self.key());
        }
        for thief in 0..THIEVES {
            while self.thieves[thief] != Thief::Free {
                self.step(Step::Go(thief));
            }
        }
        for offer in 0..self.offers.len() {
            assert!(
                !self.step(Step::Try(0, offer)),
                "a stale offer began a task"
            );
        }
        assert!(
            self.runs.iter().all(|&runs| runs == 1),
            "each task ran once"
        );
    }
}

/// Does the steps with a new stack, and then `then`.
fn with_world<R>(steps: &[Step], then: impl FnOnce(&mut World<'_>) -> R) -> R {
    let stack = TaskStack::new(Showing {
        slots: SLOTS,
        ..Showing::SMALL
    });
    // SAFETY: there is one thread, and no other owner.
    let owner = unsafe { Owner::new(&stack) };
    owner.attach();
    let mut world = World {
        owner,
        waits: false,
        thieves: std::array::from_fn(|_| Thief::Free),
        offers: Vec::new(),
        tasks: Vec::new(),
        runs: Vec::new(),
    };
    for &step in steps {
        world.step(step);
    }
    let result = then(&mut world);
    set_current_line(&raw const ALARM);
    result
}

fn all_steps(offers: usize) -> impl Iterator<Item = Step> {
    let of_thief = move |thief| {
        let tries = (0..offers).map(move |offer| Step::Try(thief, offer));
        [Step::Want(thief), Step::Go(thief)]
            .into_iter()
            .chain(tries)
    };
    let of_owner = [
        Step::Push,
        Step::PushAlone,
        Step::Pop,
        Step::PopAlone,
        Step::Announce,
    ];
    of_owner.into_iter().chain((0..THIEVES).flat_map(of_thief))
}

/// The rows that were made.
#[derive(Default)]
struct Made {
    slot: HashSet<(Kind, Kind, bool)>,
    span: HashSet<(Change, Side)>,
}

impl Made {
    fn compare(
        &mut self,
        step: Step,
        before: (Span, [SlotState; SLOTS]),
        after: (Span, [SlotState; SLOTS]),
    ) {
        let side = match step {
            Step::Push | Step::PushAlone | Step::Pop | Step::PopAlone | Step::Announce => {
                Side::Owner
            }
            Step::Want(_) | Step::Go(_) | Step::Try(..) => Side::Thief,
        };
        if before.0 != after.0 {
            let row = change(before.0, after.0).map(|change| (change, side));
            let row = row.filter(|row| OF_A_SPAN.contains(row));
            let said = || format!("{step:?}: no row for {:?} to {:?}", before.0, after.0);
            self.span
                .insert(row.unwrap_or_else(|| panic!("{}", said())));
        }
        for (old, new) in before.1.into_iter().zip(after.1) {
            if old != new {
                let row = (kind(old), kind(new), new.is_next_generation_of(old));
                let in_table = |&(from, to, next, _)| (from, to, next) == row;
                assert!(
                    OF_A_SLOT.iter().any(in_table),
                    "{step:?}: no row for {old:?} to {new:?}"
                );
                self.slot.insert(row);
            }
        }
    }
}

#[test]
fn every_step_of_a_small_stack_keeps_its_promises() {
    let deep = std::env::var_os("ROVING_DEEP").is_some();
    let most = if cfg!(miri) {
        3
    } else {
        STEPS + 4 * usize::from(deep)
    };
    let mut seen = HashSet::new();
    let mut open = VecDeque::from([Vec::new()]);
    let mut made = Made::default();
    let mut steps_done = 0_u64;
    while let Some(path) = open.pop_front() {
        let offers = with_world(&path, |world| world.offers.len());
        for step in all_steps(offers) {
            let next = with_world(&path, |world| {
                let before = world.words();
                if !world.step(step) {
                    return None;
                }
                made.compare(step, before, world.words());
                let key = world.key();
                world.run_to_the_end();
                Some(key)
            });
            steps_done += u64::from(next.is_some());
            if next.is_some_and(|key| seen.insert(key)) && path.len() + 1 < most {
                open.push_back([&path[..], &[step]].concat());
            }
        }
    }
    println!("{} states, {steps_done} steps", seen.len());
    if !cfg!(miri) {
        for (from, to, next, method) in OF_A_SLOT {
            let is_made = made.slot.contains(&(from, to, next));
            assert!(is_made, "{method} never led from {from:?} to {to:?}");
        }
        assert_eq!(made.span.len(), OF_A_SPAN.len(), "{:?}", made.span);
    }
}
