//! The task stack against a model: one owner and several thieves, one step at a time.
//!
//! The steps of a random program are done to a [`TaskStack`] and to a list in which each task says
//! who has it. What the stack hands out must be what the list says: each task once, the oldest to
//! thieves and the newest to the owner, and nothing to the holder of a stale claim.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;

use super::line::{ALARM, NOWHERE, current_line, set_current_line};
use super::owner::{Owner, Popped, Wake};
use super::owner_tests::run_nothing;
use super::policy;
use super::slot_state::{Phase, SlotState};
use super::thief::Claim;
use super::{Showing, TaskStack};
use crate::machine::duty::Due;
use crate::workers::steal::amount::Amount;

const THIEVES: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Step {
    Push,
    PushUnjoined,
    Pop,
    Claim(Amount),
    /// A leapfrogger takes nothing below this slot.
    ClaimFrom(usize),
    /// A thief begins what is offered: the number picks one of all offers ever made.
    Start(usize),
    /// A thief ends what it runs.
    Finish(usize),
    Want,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        5 => Just(Step::Push),
        3 => Just(Step::PushUnjoined),
        6 => Just(Step::Pop),
        2 => Just(Step::Claim(Amount::One)),
        1 => (2..6_usize).prop_map(|d| Step::Claim(Amount::Fixed(d))),
        1 => Just(Step::Claim(Amount::Half)),
        1 => (0..8_usize).prop_map(Step::ClaimFrom),
        4 => (0..64_usize).prop_map(Step::Start),
        2 => (0..64_usize).prop_map(Step::Finish),
        1 => Just(Step::Want),
    ]
}

fn showing() -> impl Strategy<Value = Showing> {
    let values = (
        1..20_usize,
        0..5_usize,
        0..4_usize,
        0..4_usize,
        1..4_usize,
        any::<bool>(),
        any::<bool>(),
    );
    values.prop_map(
        |(slots, unasked, more, most, least, everything, watched)| Showing {
            slots,
            unasked,
            thieves: unasked + more,
            wide: unasked + more + most,
            least,
            // Who answers only with several shows all it has.
            everything: everything || least > 1,
            watched,
        },
    )
}

/// Who has a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Has {
    Owner,
    /// A thief has claimed it, and offers it on.
    Offered,
    Started,
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    id: u64,
    unjoined: bool,
    has: Has,
}

/// An offer that was made: which task it is for, and what its slot's word was then.
#[derive(Clone, Copy, Debug)]
struct Offer {
    index: usize,
    id: u64,
    offered: SlotState,
}

/// The stack and its model.
struct Pair<'s> {
    owner: Owner<'s>,
    showing: Showing,
    /// The tasks that the stack should hold, oldest first.
    tasks: Vec<Task>,
    offers: Vec<Offer>,
    ids: u64,
    /// Each task that came out, by id: how often.
    runs: Vec<u32>,
    pushed_at_once_max: usize,
    /// At most so many of the next pushes wake somebody without being asked.
    wakes_left: u32,
}

impl<'s> Pair<'s> {
    fn stack(&self) -> &'s TaskStack {
        self.owner.stack()
    }

    /// How many tasks nobody has claimed.
    fn unclaimed(&self) -> usize {
        self.tasks.iter().filter(|t| t.has == Has::Owner).count()
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Push => self.push(false),
            Step::PushUnjoined => self.push(true),
            Step::Pop => self.pop(),
            Step::Claim(amount) => self.claim(amount),
            Step::ClaimFrom(base) => self.claim_from(base),
            Step::Start(pick) => self.start(pick),
            Step::Finish(pick) => self.finish(pick),
            Step::Want => self.want(),
        }
        self.check();
    }

    /// Whether there is enough for a thief to take any.
    fn has_enough(&self) -> bool {
        self.unclaimed() >= self.showing.least
    }

    fn push(&mut self, unjoined: bool) {
        let id = self.ids;
        let wanted = self.stack().is_wanted();
        let outcome = match unjoined {
            true => self.owner.push_unjoined(run_nothing, id),
            false => self.push_as_join_does(id),
        };
        if self.tasks.len() == self.showing.slots {
            self.make_room();
        }
        let full = self.tasks.len() == self.showing.slots;
        let wake = match outcome {
            Ok(wake) => {
                assert!(!full, "a push into a full stack went through");
                wake
            }
            Err((payload, wake)) => {
                assert!(full, "a push failed though there was room");
                assert_eq!(payload, id, "the payload comes back");
                let answers = wanted && self.has_enough();
                assert!(
                    !answers || self.stack().public() > 0,
                    "a push answers the want flag"
                );
                // It may have shown all before, so it need not wake.
                let told = wake.told();
                let (may_wake, owed) = policy::wakes(wanted, self.wakes_left);
                assert!(!told || may_wake, "a wake-up that nobody wanted");
                self.wakes_left = if told { owed } else { self.wakes_left };
                return;
            }
        };
        let has = Has::Owner;
        self.tasks.push(Task { id, unjoined, has });
        self.ids += 1;
        self.runs.push(0);
        self.pushed_at_once_max = self.pushed_at_once_max.max(self.tasks.len());
        let answers = wanted && self.has_enough();
        self.wakes(wake, answers);
        assert_eq!(
            self.stack().is_wanted(),
            wanted && !answers,
            "a push answers the want flag"
        );
        let shown = self.stack().public();
        assert!(
            shown >= self.showing.unasked.min(self.unclaimed()),
            "too few are public"
        );
        if answers && self.showing.everything {
            assert_eq!(shown, self.unclaimed(), "asked, everything is made public");
        }
    }

    /// A push wakes when somebody wanted work, and a few of those that follow do so, too.
    fn wakes(&mut self, wake: Due<Wake>, answers: bool) {
        let told = wake.told();
        let (may_wake, owed) = policy::wakes(answers, self.wakes_left);
        assert!(told || !answers, "a push wakes when somebody wanted work");
        assert!(!told || may_wake, "a wake-up that nobody wanted");
        self.wakes_left = if told { owed } else { self.wakes_left };
    }

    /// A push into a full stack first frees what has ended at its top and is nobody's to join.
    fn make_room(&mut self) {
        while self
            .tasks
            .last()
            .is_some_and(|t| t.unjoined && t.has == Has::Done)
        {
            self.tasks.pop();
        }
    }

    /// The fast path of `join`, or else one of the slow ones: half of the tasks come alone where
    /// they can, as those of forks do.
    fn push_as_join_does(&self, id: u64) -> Result<Due<Wake>, (u64, Due<Wake>)> {
        // SAFETY: this thread's line is that of its stack, or the alarm.
        let line = unsafe { &*current_line() };
        let slot = line.top.get();
        if slot < line.push_limit.get() {
            // SAFETY: below the limit, the slot at the top is free, private and this thread's.
            unsafe { (*slot).fill(run_nothing, id) };
            line.top.set(slot.wrapping_add(1));
            return Ok(Due::none());
        }
        if id % 2 == 0 && self.owner.push_alone(run_nothing, id) {
            return Ok(Due::none());
        }
        self.owner.push(run_nothing, id).map(|(_, wake)| wake)
    }

    fn pop(&mut self) {
        let Some(task) = self.tasks.last().copied() else {
            return;
        };
        let index = self.tasks.len() - 1;
        let slot = self.stack().slot(index);
        let wanted = self.stack().is_wanted();
        let popped = match task.unjoined {
            true => self.pop_as_drain_does(index),
            false => self.pop_as_join_does(index),
        };
        match task.has {
            Has::Owner => {
                assert_eq!(popped, Popped::Here, "nobody had claimed {task:?}");
                self.came_out(index, task.id);
            }
            Has::Offered => {
                assert_eq!(popped, Popped::Away, "a thief had claimed {task:?}");
                assert!(slot.take_back(), "nobody had begun {task:?}");
                self.owner.release(index);
                self.came_out(index, task.id);
            }
            Has::Started | Has::Done => {
                assert_eq!(popped, Popped::Away, "a thief had begun {task:?}");
                assert!(!slot.take_back(), "what is begun cannot be had back");
                if task.has == Has::Started {
                    self.finish_task(index);
                }
                // SAFETY: the thief has ended the task and left this result.
                let result = unsafe { slot.take::<u64>() };
                assert_eq!(result, !task.id, "the thief's result");
                self.owner.retire(index);
            }
        }
        self.tasks.pop();
        if wanted && !self.stack().is_wanted() {
            self.wakes_left = policy::wakes(true, 0).1;
        }
        if popped == Popped::Here && wanted && self.has_enough() {
            assert!(self.stack().public() > 0, "a pop answers the want flag");
        }
    }

    /// The fast path of `join`, or else the slow one.
    fn pop_as_join_does(&self, index: usize) -> Popped {
        // SAFETY: this thread's line is that of its stack, or the alarm.
        let line = unsafe { &*current_line() };
        let slot = self.stack().at(index);
        if slot >= line.pop_limit.get() {
            line.top.set(slot);
            return Popped::Here;
        }
        if self.ids % 3 > 0 && self.owner.pop_alone().is_some() {
            return Popped::Here;
        }
        self.owner.answer_alarm();
        self.owner.pop_awake(index)
    }

    /// The fast path of the end of a scope, or else the slow one.
    fn pop_as_drain_does(&self, index: usize) -> Popped {
        if let Some(slot) = self.owner.pop_unjoined() {
            assert_eq!(slot, self.stack().at(index));
            return Popped::Here;
        }
        self.owner.answer_alarm();
        self.owner.pop_awake(index)
    }

    /// Takes the task out of its slot, and counts that.
    fn came_out(&mut self, index: usize, id: u64) {
        // SAFETY: popped or started, so the slot is this thread's for now.
        let got = unsafe { self.stack().slot(index).take::<u64>() };
        assert_eq!(got, id, "the slot holds its task");
        self.runs[id as usize] += 1;
        assert_eq!(self.runs[id as usize], 1, "task {id} was handed out twice");
    }

    fn claim(&mut self, amount: Amount) {
        let public = self.stack().public();
        match self.stack().claim(0, |public| amount.of(public)) {
            Claim::Empty => assert_eq!(amount.of(public), 0, "enough was public"),
            Claim::Busy => panic!("nobody was in the way"),
            Claim::Won {
                index,
                count,
                left,
                remind,
            } => {
                assert_eq!(count, amount.of(public), "{amount} of {public}");
                assert_eq!(left, public - count);
                let oldest = self.tasks.iter().position(|task| task.has == Has::Owner);
                assert_eq!(Some(index), oldest, "the oldest goes first");
                if left < self.showing.unasked {
                    let wanted = self.stack().is_wanted();
                    assert!(wanted, "a thief that leaves little asks for more");
                }
                remind.pay(|| self.stack().raise_alarm());
                self.take_claimed(index..index + count);
            }
        }
    }

    /// A thief begins the first task that it claimed, and offers the others.
    fn take_claimed(&mut self, claimed: Range<usize>) {
        for index in claimed.clone() {
            let slot = self.stack().slot(index);
            let task = &mut self.tasks[index];
            assert_eq!(task.has, Has::Owner);
            if index == claimed.start {
                slot.begin(1, 0);
                task.has = Has::Started;
                let id = task.id;
                self.came_out(index, id);
            } else {
                task.has = Has::Offered;
                let (id, offered) = (task.id, slot.offer());
                self.offers.push(Offer { index, id, offered });
            }
        }
    }

    fn claim_from(&mut self, base: usize) {
        let oldest = self.tasks.iter().position(|task| task.has == Has::Owner);
        if oldest.is_none_or(|oldest| oldest < base) {
            let claim = self.stack().claim(base, |_| 1);
            assert_eq!(claim, Claim::Empty, "nothing below {base} may be taken");
        }
    }

    fn start(&mut self, pick: usize) {
        if self.offers.is_empty() {
            return;
        }
        // The offer stays in the list: tried again, it is stale.
        let offer = self.offers[pick % self.offers.len()];
        let task = self.tasks.get(offer.index);
        let stands = task.is_some_and(|task| task.id == offer.id && task.has == Has::Offered);
        let (holder, base) = (1 + pick % THIEVES, pick % 7);
        let slot = self.stack().slot(offer.index);
        let begun = slot.begin_offered(offer.offered, holder, base);
        assert_eq!(begun, stands, "{offer:?}");
        if begun {
            assert_eq!(slot.state().phase(), Phase::Started { holder, base });
            self.tasks[offer.index].has = Has::Started;
            self.came_out(offer.index, offer.id);
        }
    }

    fn finish(&mut self, pick: usize) {
        let started = |task: &Task| task.has == Has::Started;
        let count = self.tasks.iter().filter(|task| started(task)).count();
        if count > 0 {
            let mut all = (0..self.tasks.len()).filter(|&index| started(&self.tasks[index]));
            let index = all.nth(pick % count).expect("fewer than there are");
            self.finish_task(index);
        }
    }

    fn finish_task(&mut self, index: usize) {
        let slot = self.stack().slot(index);
        // SAFETY: the thief has begun the task and taken its payload out.
        unsafe { slot.put(!self.tasks[index].id) };
        assert!(!slot.finish().told(), "nobody waits");
        assert!(slot.state().is_done());
        self.tasks[index].has = Has::Done;
    }

    fn want(&mut self) {
        assert_eq!(self.stack().want(), self.stack().public());
        assert!(self.stack().is_wanted());
    }

    /// Checks the invariants that hold between any two steps.
    fn check(&self) {
        let (stack, line) = (self.stack(), self.owner.line());
        assert_eq!(self.owner.top(), self.tasks.len());
        let claimed = self.tasks.len() - self.unclaimed();
        let prefix = self.tasks[..claimed]
            .iter()
            .all(|task| task.has != Has::Owner);
        assert!(prefix, "what is claimed is the oldest: {:?}", self.tasks);
        assert!(
            stack.public() <= self.unclaimed(),
            "only what is pending is public"
        );
        if stack.public() > 0 {
            assert_eq!(
                stack.own.split.get(),
                claimed + stack.public(),
                "the owner knows the line"
            );
        }
        let stands_alone = stack.own.alone.get() == line.top.get().wrapping_sub(1);
        assert!(
            !stands_alone || claimed + 1 >= self.tasks.len(),
            "below it is nothing"
        );
        let joined = self.tasks.iter().rposition(|task| !task.unjoined);
        let limit = line.pop_limit.get();
        if let Some(joined) = joined {
            let fast = stack.at(joined) >= limit;
            let on_top = joined + 1 == self.tasks.len();
            // A fast pop of what has something above it would lose that.
            assert!(on_top || !fast, "the barrier stands above unjoined tasks");
            if on_top && joined >= stack.own.split.get() {
                assert!(fast, "the pop of a private task is fast");
            }
            if joined < stack.own.split.get() {
                assert!(!fast, "a public task is popped slowly");
            }
        }
        assert!(line.push_limit.get() <= stack.at(self.showing.slots));
        let unjoined = self.tasks.iter().rposition(|task| task.unjoined);
        let barrier = unjoined.map_or(std::ptr::null(), |index| stack.at(index + 1));
        assert_eq!(
            line.barrier.get(),
            barrier,
            "above the newest unjoined task"
        );
        let some = barrier.is_null() || !line.spawn_limit.get().is_null();
        let fast = line.drain_limit.get() != NOWHERE;
        assert!(
            some || !fast,
            "a spawn is fast where a pop of a spawned task is"
        );
        // The first is spawned slowly where it changes how many are shown.
        let alone = self.showing.thieves == 0;
        assert!(alone || !barrier.is_null() || line.spawn_limit.get().is_null());
        if alone && fast {
            assert!(!line.spawn_limit.get().is_null(), "nothing is shown");
        }
        if fast {
            assert_eq!(line.drain_limit.get(), stack.at(stack.own.split.get()));
        }
    }
}

/// Runs the steps, then pops the rest: it must come off in order, and every task must have run
/// once.
fn run_program(showing: Showing, steps: &[Step]) {
    let stack = TaskStack::new(showing);
    // SAFETY: this thread is the only one, and there is no other owner.
    let owner = unsafe { Owner::new(&stack) };
    owner.attach();
    let mut pair = Pair {
        owner,
        showing,
        tasks: Vec::new(),
        offers: Vec::new(),
        ids: 0,
        runs: Vec::new(),
        pushed_at_once_max: 0,
        wakes_left: 0,
    };
    for &step in steps {
        pair.step(step);
    }
    while !pair.tasks.is_empty() {
        pair.step(Step::Pop);
    }
    for pick in 0..pair.offers.len() {
        pair.step(Step::Start(pick));
    }
    assert!(
        pair.runs.iter().all(|&runs| runs == 1),
        "each task came out once"
    );
    let counters = stack.tally().read();
    if showing.watched {
        assert_eq!(counters.tasks, pair.ids);
        assert_eq!(counters.max_depth, pair.pushed_at_once_max as u64);
    }
    set_current_line(&raw const ALARM);
}

/// Random programs in a run of the tests; more where the variable `ROVING_DEEP` is set.
fn cases() -> u32 {
    match std::env::var_os("ROVING_DEEP") {
        _ if cfg!(miri) => 2,
        Some(_) => 2000,
        None => 500,
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn the_stack_hands_out_what_the_model_says(
        showing in showing(),
        steps in vec(step(), 1..if cfg!(miri) { 12 } else { 160 }),
    ) {
        run_program(showing, &steps);
    }
}

/// A claim of an earlier task never starts a later task that uses its slot again.
#[test]
fn an_old_claim_of_a_slot_used_again_is_stale() {
    let showing = Showing {
        slots: 4,
        unasked: 1,
        thieves: 1,
        wide: 2,
        least: 1,
        everything: false,
        watched: false,
    };
    let mut steps = Vec::new();
    for round in 0..if cfg!(miri) { 12 } else { 200 } {
        steps.extend([Step::Push, Step::Claim(Amount::One)]);
        // Taken back, or begun and ended; then all earlier claims are tried.
        if round % 2 == 0 {
            steps.push(Step::Start(round));
        }
        steps.push(Step::Pop);
        steps.extend((0..=round).map(Step::Start));
    }
    run_program(showing, &steps);
}
