//! Waiting for a stolen task, sleeping, and who has which core.

use roving::raw::rules;

use super::engine::{EventKind, RuntimeEngine, time_of};
use super::seat::{Continuation, NOBODY, Seat, SeatActivity, TaskHolder};
use crate::Tree;

/// Most slots that are looked at for one look of a waiter, in all: fewer than in the runtime, since
/// it takes most of the time of simulations with many workers.
const LINKS_MAX: u32 = 12;

impl<T: Tree> RuntimeEngine<'_, T> {
    /// The newest slot's task is with a thief.
    pub(super) fn wait(&mut self, who: u32, time: u64) {
        self.turn_to(who, time, SeatActivity::Waiting);
        let seat = &mut self.seats[who as usize];
        seat.since = time;
        seat.await_newest(true);
        self.plan(who, time + time_of(rules::THEFT_COST), EventKind::Leap);
    }

    /// Lets a waiting worker look for something to do meanwhile, and park in the end.
    pub(super) fn leap(&mut self, who: u32, time: u64) {
        let seat = &self.seats[who as usize];
        let runs = match (seat.frames.last(), seat.slots.last()) {
            (Some(&Continuation::Whole { of }), _) => match self.loops[of as usize].is_running() {
                true => self.loops[of as usize].runs.clone(),
                false => return,
            },
            (_, Some(slot)) => match slot.held {
                TaskHolder::Started { holder, base } => vec![(holder, base)],
                // It has ended, and the waiter is about to see it.
                TaskHolder::Done => return,
                TaskHolder::Here | TaskHolder::Offered { .. } => return self.advance(who, time),
            },
            (_, None) => return,
        };
        let seat = &self.seats[who as usize];
        let waited = time - seat.since;
        if time >= seat.until {
            let mut links = LINKS_MAX;
            let mut look = |(holder, base)| {
                self.related(who, holder, base, rules::CHAIN_MAX as u32, &mut links)
            };
            if let Some(victim) = runs.into_iter().find_map(&mut look) {
                return self.leapfrog(who, victim, time);
            }
        }
        if waited >= self.prices.patience {
            return self.park(who, time);
        }
        let next = time_of(rules::THEFT_COST).max(waited / 2);
        let tired = self.prices.patience - waited;
        self.plan(who, time + next.min(tired), EventKind::Leap);
    }

    /// Returns a worker with public tasks that descend from the task which `holder` runs with its
    /// slots from `base` on.
    fn related(
        &self,
        who: u32,
        holder: u32,
        base: u32,
        chain: u32,
        links: &mut u32,
    ) -> Option<u32> {
        if holder == who || chain == 0 || *links == 0 {
            return None;
        }
        *links -= 1;
        let seat = &self.seats[holder as usize];
        if seat.public() > 0 {
            // Only the oldest can be claimed.
            return (seat.oldest >= base).then_some(holder);
        }
        let claimed = (base..seat.oldest.min(seat.top())).take(LINKS_MAX as usize);
        claimed
            .filter_map(|index| match seat.slots[index as usize].held {
                TaskHolder::Started { holder, base } => Some((holder, base)),
                _ => None,
            })
            .find_map(|(holder, base)| self.related(who, holder, base, chain - 1, links))
    }

    fn leapfrog(&mut self, who: u32, victim: u32, time: u64) {
        self.seats[who as usize].await_newest(false);
        self.seats[who as usize].since = 0;
        self.outcome.leapfrogs += 1;
        if !self.claim(who, victim, 1, time) {
            self.advance(who, time);
        }
    }

    /// The core goes to a compensation thread until the awaited task has ended.
    fn park(&mut self, who: u32, time: u64) {
        self.outcome.parks += 1;
        self.outcome.parks_waiting += 1;
        self.turn_to(who, time, SeatActivity::Parked);
        self.active -= 1;
        let core = self.seats[who as usize].core;
        self.release_core(core, time);
        let has_core = self.rules.naps || self.free.contains(core as usize);
        if has_core && self.active < self.rules.target {
            self.bring_in_one(core, time);
        }
    }

    fn bring_in_one(&mut self, core: u32, time: u64) {
        let spare = match self.resting.pop() {
            Some(spare) => spare,
            None if self.seats.len() < self.rules.workers + self.rules.spares => {
                self.seats.push(Seat::new(core, SeatActivity::Resting));
                self.seats.len() as u32 - 1
            }
            None => return,
        };
        self.active += 1;
        self.outcome.wakes += 1;
        self.seats[spare as usize].core = core;
        self.turn_to(spare, time, SeatActivity::Waking);
        let woken = self.woken_at(time);
        if !self.rules.naps {
            self.occupy(spare);
        }
        self.plan(spare, woken, EventKind::Woken);
    }

    /// A compensation thread that is one too many goes off duty.
    pub(super) fn rest(&mut self, who: u32, time: u64) {
        self.turn_to(who, time, SeatActivity::Resting);
        self.seats[who as usize].since = 0;
        self.active -= 1;
        self.resting.push(who);
        self.release_core(self.seats[who as usize].core, time);
    }

    /// The awaited task has ended, and its owner knows.
    pub(super) fn resume(&mut self, who: u32, time: u64) {
        let seat = &mut self.seats[who as usize];
        seat.since = 0;
        if seat.state == SeatActivity::Waiting {
            self.turn_to(who, time, SeatActivity::Running);
            return self.advance(who, time);
        }
        self.active += 1;
        self.turn_to(who, time, SeatActivity::Ready);
        self.seats[who as usize].midstep = false;
        if !self.take_core(who) {
            if self.rules.naps {
                return self.ready.push_back(who);
            }
            let core = self.seats[who as usize].core;
            self.make_way(self.cores[core as usize], time);
            if !self.take_core(who) {
                return self.ready.push_back(who);
            }
        }
        self.run_ready(who, time);
    }

    /// `other` leaves its core to a thread whose awaited task has ended.
    fn make_way(&mut self, other: u32, time: u64) {
        match self.seats[other as usize].state {
            SeatActivity::Running => {
                let seat = &mut self.seats[other as usize];
                (seat.midstep, seat.due) = (true, seat.due.saturating_sub(time));
            }
            SeatActivity::Looking => self.stop_looking(other),
            SeatActivity::EnRoute => {
                let victim = self.seats[other as usize].victim;
                self.seats[victim as usize].reserved -= 1;
                self.refresh(victim);
            }
            _ => {}
        }
        let seat = &self.seats[other as usize];
        let searches = seat.frames.is_empty() && self.is_spare(other);
        if searches && self.active > self.rules.target {
            return self.rest(other, time);
        }
        let core = seat.core;
        let midstep = seat.midstep;
        self.want_core(other, time);
        self.seats[other as usize].midstep = midstep;
        self.vacate(core);
    }

    /// `who` has no core any more, and wants one.
    pub(super) fn want_core(&mut self, who: u32, time: u64) {
        self.turn_to(who, time, SeatActivity::Ready);
        self.seats[who as usize].midstep = false;
        self.ready.push_back(who);
    }

    fn vacate(&mut self, core: u32) {
        self.cores[core as usize] = NOBODY;
        self.free.insert(core as usize);
    }

    fn occupy(&mut self, who: u32) {
        let core = self.seats[who as usize].core as usize;
        self.cores[core] = who;
        self.free.remove(core);
    }

    /// The core where `who` was before, or another. False if all are taken.
    fn take_core(&mut self, who: u32) -> bool {
        let last = self.seats[who as usize].core as usize;
        let Some(core) = self.free.next_around(last) else {
            return false;
        };
        self.seats[who as usize].core = core as u32;
        self.occupy(who);
        true
    }

    /// Nobody runs on the core any more but the next that wants to.
    pub(super) fn release_core(&mut self, core: u32, time: u64) {
        self.vacate(core);
        if let Some(next) = self.ready.pop_front() {
            self.seats[next as usize].core = core;
            self.occupy(next);
            self.run_ready(next, time);
        }
    }

    fn run_ready(&mut self, who: u32, time: u64) {
        let seat = &mut self.seats[who as usize];
        if std::mem::take(&mut seat.midstep) {
            let due = time + seat.due;
            self.work_until(who, time, due);
        } else {
            self.turn_to(who, time, SeatActivity::Running);
            self.advance(who, time);
        }
    }

    /// Parks for want of work.
    pub(super) fn sleep(&mut self, who: u32, time: u64) {
        self.stop_looking(who);
        self.outcome.parks += 1;
        self.turn_to(who, time, SeatActivity::Asleep);
        self.calls += 1;
        self.idle.insert(who as usize);
        self.release_core(self.seats[who as usize].core, time);
    }

    /// Unparks one worker that sleeps, if there is one.
    pub(super) fn wake_one(&mut self, time: u64) -> bool {
        let Some(sleeper) = self.idle.next_from(0) else {
            return false;
        };
        self.idle.remove(sleeper);
        self.outcome.wakes += 1;
        let who = sleeper as u32;
        self.turn_to(who, time, SeatActivity::Waking);
        self.plan(who, self.woken_at(time), EventKind::Woken);
        true
    }

    /// The thread's task sleeps for so long, the core's own time for that included.
    pub(super) fn nap(&mut self, who: u32, time: u64, length: u64) {
        self.turn_to(who, time, SeatActivity::Napping);
        self.release_core(self.seats[who as usize].core, time);
        let asleep = length.saturating_sub(self.prices.nap);
        self.plan(who, time + asleep, EventKind::Woken);
    }

    /// The thread's task has slept.
    fn rise(&mut self, who: u32, time: u64) {
        let has_core = self.take_core(who);
        if !has_core {
            self.want_core(who, time);
        }
        let seat = &mut self.seats[who as usize];
        (seat.midstep, seat.due) = (true, self.prices.nap);
        if has_core {
            self.run_ready(who, time);
        }
    }

    /// An unparked thread runs.
    pub(super) fn woken(&mut self, who: u32, time: u64) {
        if self.seats[who as usize].state == SeatActivity::Napping {
            return self.rise(who, time);
        }
        let seat = &mut self.seats[who as usize];
        (seat.since, seat.spent, seat.until, seat.midstep) = (0, 0, 0, false);
        let core = seat.core as usize;
        if self.cores[core] == who || self.take_core(who) {
            self.find_work(who, time);
        } else {
            self.want_core(who, time);
        }
    }
}

/// A frame is no larger than it need be: a million workers have several each.
const _: () = assert!(size_of::<Continuation>() <= 32);
