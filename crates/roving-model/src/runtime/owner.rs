//! The owner's side of a task stack: as `roving`'s, rule for rule.

use roving::policy::Amount;
use roving::raw::rules::{self, About};

use super::engine::{RuntimeEngine, span, ticks};
use super::rules::SLOTS;
use super::seat::{Continuation, NOBODY, Seat, StackSlot, TaskHolder, What};
use crate::{Then, Tree};

/// The result of taking the newest slot off.
pub(super) enum Popped<K> {
    Here(What<K>),
    /// A thief has run it.
    Ended,
    /// A thief runs it.
    Away,
}

impl<T: Tree> RuntimeEngine<'_, T> {
    /// Pushes the second task of a join. Returns when the owner goes on.
    pub(super) fn push_joined(&mut self, who: u32, task: T::Task, time: u64) -> u64 {
        self.fill(who, What::Task(task));
        let time = time + self.prices.join;
        if self.rules.workers == 1 {
            return time;
        }
        self.pushed(who, time, true)
    }

    /// Pushes a task that stays until it is drained.
    pub(super) fn push_unjoined(&mut self, who: u32, what: What<T::Task>, time: u64) -> u64 {
        self.fill(who, what);
        let seat = &mut self.seats[who as usize];
        seat.unjoined += 1;
        let time = time + self.prices.join;
        if self.rules.workers == 1 {
            return time;
        }
        let time = self.pushed(who, time, false);
        // Half of what is there is public, or a part of that.
        let seat = &self.seats[who as usize];
        let [seen, split, top] = [seat.seen, seat.split, seat.top()].map(|at| at as usize);
        let least = rules::split_spawned(seen, split, top, seat.has_shrunk);
        match least > split {
            true => self.publish(who, least as u32, time),
            false => time,
        }
    }

    fn fill(&mut self, who: u32, what: What<T::Task>) {
        self.seats[who as usize].slots.push(StackSlot {
            what,
            held: TaskHolder::Here,
            awaited: false,
        });
    }

    /// How many tasks are to be public before anybody asks.
    fn unasked(&self, who: u32) -> u32 {
        let seat = &self.seats[who as usize];
        if seat.credit > 0 {
            self.rules.wide
        } else if seat.unjoined == 0 {
            self.rules.unasked
        } else {
            self.rules.thieves
        }
    }

    /// Whether somebody wants work that was not answered yet, and there is enough to be taken.
    fn can_answer(&mut self, who: u32) -> bool {
        let (calls, least) = (self.calls, self.rules.least);
        let seat = &mut self.seats[who as usize];
        if !seat.alarm && seat.answered == calls {
            return false;
        }
        seat.alarm = true;
        seat.seen = seat.oldest;
        seat.top() - seat.oldest >= least
    }

    /// Whether others would take more than the owner shows them: the moment to split a loop.
    pub(super) fn is_asked(&self, who: u32) -> bool {
        let seat = &self.seats[who as usize];
        let owed = seat.alarm || seat.answered != self.calls;
        self.rules.workers > 1 && (owed || seat.split - seat.seen < self.rules.thieves)
    }

    /// Pushes what was split off a loop.
    pub(super) fn push_cut(&mut self, who: u32, upper: What<T::Task>, time: u64) -> u64 {
        self.fill(who, upper);
        self.pushed(who, time + self.prices.join, true)
    }

    fn pushed(&mut self, who: u32, time: u64, looks: bool) -> u64 {
        let answers = self.can_answer(who);
        let shown = |seat: &Seat<T::Task>| seat.split - seat.seen;
        if looks && (shown(&self.seats[who as usize]) < self.rules.unasked || answers) {
            self.top_up(who, time);
        }
        let short = shown(&self.seats[who as usize]) < self.unasked(who);
        match short || answers {
            true => self.publish(who, self.seats[who as usize].split, time),
            false => time,
        }
    }

    /// No credit is left: looks at the clock.
    fn top_up(&mut self, who: u32, time: u64) {
        let seat = &mut self.seats[who as usize];
        if seat.credit > 0 {
            return;
        }
        let since = (seat.credited > 0).then(|| span(time - seat.credited));
        let credit = rules::credit(since);
        if credit > 0 {
            seat.credit = credit as u8;
            seat.credited = time.max(1);
        }
    }

    /// Moves the split line up: as far as is shown unasked, at least to `least`, and further when
    /// somebody wants work; then a sleeper is woken. Returns when the owner goes on.
    fn publish(&mut self, who: u32, least: u32, time: u64) -> u64 {
        let (calls, unasked) = (self.calls, self.unasked(who));
        let amount = self.rules.amount;
        let seat = &mut self.seats[who as usize];
        let wanted = seat.want || seat.answered != calls;
        let about = About {
            oldest: seat.oldest as usize,
            split: seat.split as usize,
            top: seat.top() as usize,
            least: least as usize,
            unasked: unasked as usize,
            wanted,
            everything: amount != Amount::One || seat.credit > 0,
        };
        let new_split = about.split_after() as u32;
        let enough = new_split - seat.oldest >= self.rules.least;
        seat.split = new_split;
        (seat.seen, seat.has_shrunk) = (seat.oldest, false);
        seat.credit = seat.credit.saturating_sub(1);
        if enough {
            (seat.want, seat.alarm, seat.answered) = (false, false, calls);
        } else {
            seat.alarm = wanted;
        }
        self.outcome.publications += 1;
        let mut time = time + self.prices.publish;
        self.refresh(who);
        self.summon(who, time);
        let seat = &mut self.seats[who as usize];
        let (wakes, owed) = rules::wakes(wanted && enough, u32::from(seat.wakes_owed));
        seat.wakes_owed = owed as u8;
        // Those that look around find it, and nobody is woken for that.
        if wakes && self.asking == 0 && self.wake_one(time) {
            time += self.prices.unpark;
        }
        time
    }

    /// The owner is about to run spawned tasks, each of which may take long.
    fn show_spawned(&mut self, who: u32, time: u64) -> u64 {
        let seat = &self.seats[who as usize];
        if self.rules.unasked == 0 || seat.top() <= seat.split + 1 {
            return time;
        }
        self.top_up(who, time);
        match self.seats[who as usize].credit > 0 {
            true => self.publish(who, self.seats[who as usize].split, time),
            false => time,
        }
    }

    /// Answers a demand, if there is one and anything private to show.
    fn show_if_asked(&mut self, who: u32, time: u64) -> u64 {
        let seat = &self.seats[who as usize];
        let has_private = seat.split < seat.top();
        match self.rules.workers > 1 && has_private && self.can_answer(who) {
            true => self.publish(who, self.seats[who as usize].split, time),
            false => time,
        }
    }

    /// Takes the newest slot off, if it can be had.
    pub(super) fn pop(&mut self, who: u32, time: &mut u64) -> Popped<T::Task> {
        let unasked = self.unasked(who);
        let seat = &mut self.seats[who as usize];
        let Some(slot) = seat.slots.last() else {
            return Popped::Ended;
        };
        let index = seat.top() - 1;
        if index < seat.oldest {
            match slot.held {
                TaskHolder::Done => {
                    seat.release(index);
                    return Popped::Ended;
                }
                TaskHolder::Started { .. } => return Popped::Away,
                TaskHolder::Offered { .. } | TaskHolder::Here => {
                    let what = seat.release(index);
                    return what.map_or(Popped::Ended, Popped::Here);
                }
            }
        }
        if index < seat.split {
            // It was public and nobody came: others are taken back with it while enough stays.
            let (oldest, newest) = (seat.oldest as usize, index as usize);
            seat.split =
                rules::split_taken_back(oldest, newest, unasked as usize, seat.alarm) as u32;
            (seat.seen, seat.has_shrunk) = (seat.oldest, true);
            *time += self.prices.take_back;
        }
        let what = seat.slots.pop().map(|slot| slot.what);
        self.refresh(who);
        *time = self.show_if_asked(who, *time);
        what.map_or(Popped::Ended, Popped::Here)
    }

    /// Goes on below the task of a thread that has just ended.
    pub(super) fn advance(&mut self, who: u32, mut time: u64) {
        loop {
            let frame = self.seats[who as usize].frames.last().copied();
            match frame {
                None => return self.find_work(who, time),
                Some(Continuation::Root) => {
                    self.roots -= 1;
                    if self.roots == 0 {
                        self.ended = Some(time);
                        return;
                    }
                    self.seats[who as usize].frames.pop();
                }
                Some(Continuation::After { after }) => {
                    self.seats[who as usize].frames.pop();
                    return self.work_until(who, time, time + after);
                }
                Some(Continuation::Base { .. }) => time = self.end_stolen(who, time),
                Some(Continuation::Next { task }) => {
                    self.seats[who as usize].frames.pop();
                    let Some(task) = self.kept[task as usize].take() else {
                        continue;
                    };
                    return self.begin(who, task, time);
                }
                Some(Continuation::Rounds { .. }) => {
                    if self.next_round(who, &mut time) {
                        return;
                    }
                }
                Some(Continuation::Whole { of }) => {
                    if self.loops[of as usize].is_running() {
                        return self.wait(who, time);
                    }
                    self.seats[who as usize].frames.pop();
                    self.loops[of as usize].caller = NOBODY;
                }
                Some(Continuation::Spread { .. }) => {
                    if self.spread(who, &mut time) {
                        return;
                    }
                }
                Some(Continuation::Stranded { base }) => {
                    if self.run_stranded(who, base, time) {
                        return;
                    }
                }
                Some(Continuation::Join { .. } | Continuation::Drain { .. }) => {
                    if self.take_newest(who, &mut time) {
                        return;
                    }
                }
            }
        }
    }

    /// The newest frame waits for the newest slot. False if that is settled, and the thread goes
    /// on.
    fn take_newest(&mut self, who: u32, time: &mut u64) -> bool {
        let after = match self.seats[who as usize].frames.last() {
            Some(&Continuation::Drain { base }) if self.seats[who as usize].top() <= base => {
                self.seats[who as usize].frames.pop();
                return false;
            }
            Some(&Continuation::Join { after }) => Some(after),
            _ => None,
        };
        let popped = self.pop(who, time);
        if matches!(popped, Popped::Away) {
            self.wait(who, *time);
            return true;
        }
        let seat = &mut self.seats[who as usize];
        match after {
            // A frame that waits for a drained slot waits for the next one too.
            None => seat.unjoined -= 1,
            Some(after) => {
                seat.frames.pop();
                if after > 0 {
                    seat.frames.push(Continuation::After { after });
                }
            }
        }
        match popped {
            Popped::Here(what) => self.run_what(who, what, *time),
            Popped::Ended | Popped::Away => false,
        }
    }

    /// Makes the spawner's next task. False if all are made.
    fn spread(&mut self, who: u32, time: &mut u64) -> bool {
        let seat = &mut self.seats[who as usize];
        let full = seat.slots.len() >= SLOTS;
        let Some(Continuation::Spread {
            spawner,
            next,
            count,
            base,
            each,
        }) = seat.frames.last_mut()
        else {
            return false;
        };
        let (place, base) = (*spawner as usize, *base);
        if *next == *count {
            seat.frames.pop();
            seat.frames.push(Continuation::Drain { base });
            self.kept[place] = None;
            *time = self.show_spawned(who, *time);
            return false;
        }
        let (number, each) = (*next, ticks(f64::from(*each)));
        *next += 1;
        let Some(spawner) = &self.kept[place] else {
            return false;
        };
        let child = self.tree.child(spawner, number);
        if full && !self.make_room(who, base) {
            // The task runs in place. Thieves that have asked are answered before.
            let time = self.show_if_asked(who, *time);
            let frames = &mut self.seats[who as usize].frames;
            frames.push(Continuation::Stranded { base });
            self.begin(who, child, time + each);
            return true;
        }
        let due = self.push_unjoined(who, What::Task(child), *time + each);
        self.seats[who as usize].then = Then::End;
        self.work_until(who, *time, due);
        true
    }

    /// The stack was full. While what nobody has claimed of it is less than a thief takes at once,
    /// no slot below becomes free: the owner runs that itself, the newest first. False if there is
    /// no more of it.
    fn run_stranded(&mut self, who: u32, base: u32, time: u64) -> bool {
        let least = self.rules.least;
        let seat = &mut self.seats[who as usize];
        seat.seen = seat.oldest;
        let unclaimed = seat.top() - seat.oldest;
        if unclaimed == 0 || unclaimed >= least || seat.top() <= base {
            seat.frames.pop();
            self.make_room(who, base);
            return false;
        }
        seat.unjoined -= 1;
        let top = seat.top() - 1;
        seat.split = seat.split.min(top);
        let newest = seat.slots.pop();
        self.refresh(who);
        newest.is_some_and(|newest| self.run_what(who, newest.what, time))
    }

    /// Frees the newest slots whose tasks thieves have ended. Whether there were any.
    fn make_room(&mut self, who: u32, base: u32) -> bool {
        let seat = &mut self.seats[who as usize];
        let before = seat.top();
        while seat.top() > base
            && seat
                .slots
                .last()
                .is_some_and(|slot| slot.held == TaskHolder::Done)
        {
            seat.release(seat.top() - 1);
            seat.unjoined -= 1;
        }
        let freed = seat.top() < before;
        self.refresh(who);
        freed
    }

    /// Runs what stood in a slot. False if it was an offer that somebody else has had.
    pub(super) fn run_what(&mut self, who: u32, what: What<T::Task>, time: u64) -> bool {
        let (victim, index, stamp) = match what {
            What::Task(task) => {
                self.begin(who, task, time);
                return true;
            }
            What::Rounds { of, next, end } => {
                self.run_rounds(who, of, next..end, time);
                return true;
            }
            What::Offer {
                victim,
                index,
                stamp,
            } => (victim, index, stamp),
        };
        let base = self.seats[who as usize].top();
        let slot = self.seats[victim as usize].slots.get_mut(index as usize);
        let offered = slot.filter(|slot| slot.held == TaskHolder::Offered { stamp });
        let Some((slot, What::Task(task))) = offered.map(|slot| {
            let what = slot.what.clone();
            (slot, what)
        }) else {
            return false;
        };
        slot.held = TaskHolder::Started { holder: who, base };
        let price = self.prices.claim(self.distance(who, victim));
        let began = time + price;
        self.seats[who as usize].frames.push(Continuation::Base {
            victim,
            index,
            way: price as u32,
            count: 1,
            began,
        });
        self.begin(who, task, began);
        true
    }
}

impl<K> Seat<K> {
    /// The newest slot, which a thief had claimed, is free again.
    fn release(&mut self, index: u32) -> Option<What<K>> {
        (self.oldest, self.split, self.seen) = (index, index, index);
        self.slots.pop().map(|slot| slot.what)
    }
}
