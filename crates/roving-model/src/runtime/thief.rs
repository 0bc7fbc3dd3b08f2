//! The thief's side: whom it visits, what it takes, and when it had better not.

use std::mem;

use roving::policy::Amount;
use roving::raw::rules::{self, WAKES_PER_CLAIM};

use super::engine::{EventKind, RuntimeEngine, span, time_of};
use super::machine::Distance;
use super::seat::{Continuation, NOBODY, SeatActivity, TaskHolder, What};
use crate::Tree;

impl<T: Tree> RuntimeEngine<'_, T> {
    /// The thread has nothing to do.
    pub(super) fn find_work(&mut self, who: u32, time: u64) {
        if self.is_spare(who) && self.active > self.rules.target {
            return self.rest(who, time);
        }
        if let Some(job) = self.jobs.pop_front() {
            let seat = &mut self.seats[who as usize];
            (seat.since, seat.spent) = (0, 0);
            seat.frames.push(Continuation::Root);
            return self.begin(who, job, time);
        }
        let next = self.ready.front().copied();
        let has_frames = |next: u32| !self.seats[next as usize].frames.is_empty();
        if !self.rules.naps && next.is_some_and(has_frames) {
            // Somebody else can use the core.
            self.want_core(who, time);
            return self.release_core(self.seats[who as usize].core, time);
        }
        let seat = &mut self.seats[who as usize];
        if seat.since == 0 {
            seat.since = time.saturating_sub(seat.spent).max(1);
        }
        let until = seat.until;
        if time < until {
            self.turn_to(who, time, SeatActivity::Restrained);
            self.plan(who, until, EventKind::Free);
        } else {
            self.search(who, time);
        }
    }

    /// The victim that had something the last time; where those near come first, they, half of the
    /// times; then all others from a random one on.
    fn search(&mut self, who: u32, time: u64) {
        let seats = self.seats.len();
        let last = self.seats[who as usize].last_victim;
        let (victim, looks) = if last != NOBODY && self.open.contains(last as usize) {
            (last as usize, 1)
        } else if let Some(near) = self.search_near(who) {
            near
        } else {
            let start = self.random.below(seats);
            match self.open.next_around(start) {
                Some(found) => (found, (found + seats - start) % seats + 1),
                None => return self.look_around(who, time),
            }
        };
        let way = (self.prices.look * looks as f64) as u64;
        self.turn_to(who, time, SeatActivity::EnRoute);
        self.set_out(who, victim as u32, time + way);
    }

    /// One of its socket that shows something, from a random one on, and after how many looks. The
    /// looks that find nothing there are not counted: they are few beside those at all.
    fn search_near(&mut self, who: u32) -> Option<(usize, usize)> {
        if !self.rules.near_first || self.random.below(2) == 0 {
            return None;
        }
        let socket = self.rules.topology.socket as usize;
        let first = who as usize / socket * socket;
        let start = first + self.random.below(socket);
        let [after, around] = [start, first].map(|from| {
            let found = self.open.next_from(from);
            found.filter(|&found| found < first + socket)
        });
        let found = after.or(around)?;
        Some((found, (found + socket - start) % socket + 1))
    }

    fn set_out(&mut self, who: u32, victim: u32, arrives: u64) {
        self.seats[who as usize].victim = victim;
        self.seats[victim as usize].reserved += 1;
        self.refresh(victim);
        self.plan(who, arrives, EventKind::Arrive);
    }

    /// Nobody shows anything: goes on looking until somebody does, then asks, then sleeps.
    fn look_around(&mut self, who: u32, time: u64) {
        self.turn_to(who, time, SeatActivity::Looking);
        let since = self.seats[who as usize].since;
        self.seats[who as usize].place = self.lookers.len() as u32;
        self.lookers.push(who);
        match time < since + self.prices.ask {
            true => self.plan(who, since + self.prices.ask, EventKind::Ask),
            false => self.count_asking(who),
        }
        let tired = (since + self.prices.patience).max(time);
        self.plan(who, tired, EventKind::Sleep);
    }

    /// It has looked around for long enough, and asks everybody for tasks.
    pub(super) fn ask(&mut self, who: u32) {
        self.calls += 1;
        self.count_asking(who);
    }

    fn count_asking(&mut self, who: u32) {
        self.seats[who as usize].asks = true;
        self.asking += 1;
    }

    /// Takes `who` out of those that look around.
    pub(super) fn stop_looking(&mut self, who: u32) {
        let seat = &mut self.seats[who as usize];
        self.asking -= usize::from(mem::take(&mut seat.asks));
        let place = mem::replace(&mut seat.place, NOBODY);
        self.lookers.swap_remove(place as usize);
        if let Some(&moved) = self.lookers.get(place as usize) {
            self.seats[moved as usize].place = place;
        }
    }

    /// `victim` shows something: of those that look around, the ones whose looks come by first see
    /// it.
    pub(super) fn summon(&mut self, victim: u32, time: u64) {
        while self.open.contains(victim as usize) && !self.lookers.is_empty() {
            let lookers = self.lookers.len();
            let who = self.next_looker(victim);
            self.stop_looking(who);
            let seat = &self.seats[who as usize];
            // Pauses get longer, twice as long after each sixth of a thief's patience.
            let tired = time.saturating_sub(seat.since) as f64 / self.prices.patience.max(1) as f64;
            let pause = self.prices.pause * 2_f64.powi((tired * 6.0).min(5.0) as i32 - 5);
            let round = self.prices.look * self.seats.len() as f64 + pause;
            // Each is somewhere on its round; this is the first of them to come by.
            let first = 1.0 - (1.0 - self.random.unit()).powf(1.0 / lookers as f64);
            self.turn_to(who, time, SeatActivity::EnRoute);
            self.set_out(who, victim, time + (round * first) as u64);
        }
    }

    /// Of those that look around, the one that comes by first; where those near come first, one of
    /// the victim's socket half of the times, if a few draws find one.
    fn next_looker(&mut self, victim: u32) -> u32 {
        let socket = self.rules.topology.socket;
        let near = self.rules.near_first && self.random.below(2) == 0;
        let draws = if near { 16 } else { 1 };
        let mut who = victim;
        for _ in 0..draws {
            who = self.lookers[self.random.below(self.lookers.len())];
            if who / socket == victim / socket {
                break;
            }
        }
        who
    }

    /// The thief is where it saw something.
    pub(super) fn arrive(&mut self, who: u32, time: u64) {
        let victim = self.seats[who as usize].victim;
        self.seats[victim as usize].reserved -= 1;
        let amount = self.rules.amount;
        // Half of what was not worth the way is not worth it either: one, to see whether it is now.
        let modest = amount == Amount::Half && self.seats[who as usize].streak > 0;
        let public = self.seats[victim as usize].public();
        let count = rules::taken_of(amount, public as usize) as u32;
        let count = count.min(if modest { 1 } else { u32::MAX });
        if count == 0 {
            self.refresh(victim);
            self.outcome.steals_empty += 1;
            return self.search(who, time);
        }
        let seat = &mut self.seats[who as usize];
        seat.last_victim = victim;
        seat.spent = time.saturating_sub(seat.since);
        seat.since = 0;
        if !self.claim(who, victim, count, time) {
            self.find_work(who, time);
        }
    }

    /// Takes the `count` oldest public tasks of `victim`, offers all but the first on, and runs
    /// that. False if it was an offer that somebody else has had.
    pub(super) fn claim(&mut self, who: u32, victim: u32, count: u32, time: u64) -> bool {
        let distance = self.distance(who, victim);
        let (line, price) = (self.prices.line(distance), self.prices.claim(distance));
        self.outcome.steals += 1;
        self.outcome.tasks_stolen += u64::from(count);
        let seat = &mut self.seats[victim as usize];
        // Claims of one stack come one after the other.
        let starts = time.max(seat.line_free);
        seat.line_free = starts + line;
        let index = seat.oldest;
        seat.oldest += count;
        let left = seat.public();
        if left < self.rules.unasked && !seat.want {
            (seat.want, seat.alarm) = (true, true);
        }
        self.refresh(victim);
        let mut began = starts + price;
        // As many as the policy says, one after the other.
        let wakes = left.min(WAKES_PER_CLAIM as u32);
        for _ in 0..wakes {
            if !self.wake_one(began) {
                break;
            }
            began += self.prices.unpark;
        }
        if count > 1 {
            began = self.offer_on(who, victim, index + 1..index + count, began);
        }
        let base = self.seats[who as usize].top();
        let slot = &mut self.seats[victim as usize].slots[index as usize];
        let what = slot.what.clone();
        match what {
            What::Task(task) => {
                slot.held = TaskHolder::Started { holder: who, base };
                self.seats[who as usize].frames.push(Continuation::Base {
                    victim,
                    index,
                    way: (began - time) as u32,
                    count,
                    began,
                });
                self.begin(who, task, began);
                true
            }
            What::Rounds { of, next, end } => {
                let way = (began - time) as u32;
                let began = self.finish(who, victim, index, began);
                self.seats[who as usize].frames.push(Continuation::Base {
                    victim: NOBODY,
                    index,
                    way,
                    count,
                    began,
                });
                self.run_rounds(who, of, next..end, began);
                true
            }
            offer => {
                // A thief that has read an offer is done with the slot.
                let began = self.finish(who, victim, index, began);
                self.run_what(who, offer, began)
            }
        }
    }

    /// Puts offers of claimed tasks on the thief's own stack. They stay until it drains that.
    fn offer_on(
        &mut self,
        who: u32,
        victim: u32,
        claimed: std::ops::Range<u32>,
        mut time: u64,
    ) -> u64 {
        let base = self.seats[who as usize].top();
        self.seats[who as usize]
            .frames
            .push(Continuation::Drain { base });
        for index in claimed {
            let stamp = self.stamps;
            let slot = &mut self.seats[victim as usize].slots[index as usize];
            let offer = match slot.what.clone() {
                What::Task(_) => {
                    self.stamps = stamp.wrapping_add(1);
                    slot.held = TaskHolder::Offered { stamp };
                    What::Offer {
                        victim,
                        index,
                        stamp,
                    }
                }
                // An offer of an offer is the offer itself.
                offer => {
                    time = self.finish(who, victim, index, time);
                    offer
                }
            };
            time = self.push_unjoined(who, offer, time);
        }
        time
    }

    /// A stolen task has ended: tells its owner, and judges whether it was worth it.
    pub(super) fn end_stolen(&mut self, who: u32, time: u64) -> u64 {
        let Some(Continuation::Base {
            victim,
            index,
            way,
            count,
            began,
        }) = self.seats[who as usize].frames.pop()
        else {
            return time;
        };
        let run = time.saturating_sub(began);
        let seat = &mut self.seats[who as usize];
        if rules::was_worth(span(run), span(u64::from(way)), count as usize) {
            (seat.streak, seat.until, seat.spent) = (0, 0, 0);
        } else {
            let (pause, streak) = rules::look_away(u32::from(seat.streak));
            seat.until = time + time_of(pause);
            seat.streak = streak as u8;
        }
        // Who has taken rounds of a loop is done with their slot already.
        match victim {
            NOBODY => time,
            victim => self.finish(who, victim, index, time),
        }
    }

    /// The task in that slot has ended. Returns when the thief goes on.
    fn finish(&mut self, who: u32, victim: u32, index: u32, time: u64) -> u64 {
        let distance = self.distance(who, victim);
        let owner = &mut self.seats[victim as usize];
        let slot = &mut owner.slots[index as usize];
        slot.held = TaskHolder::Done;
        match slot.awaited {
            true => self.tell(victim, distance, time),
            false => time,
        }
    }

    /// Tells `victim` that something has ended for which it may wait. Returns when who has ended it
    /// goes on.
    pub(super) fn tell(&mut self, victim: u32, distance: Distance, time: u64) -> u64 {
        match self.seats[victim as usize].state {
            SeatActivity::Waiting => {
                let seen = time + self.prices.finish(distance);
                self.plan(victim, seen, EventKind::Resume);
                time
            }
            SeatActivity::Parked => {
                self.outcome.wakes += 1;
                self.plan(victim, self.woken_at(time), EventKind::Resume);
                time + self.prices.unpark
            }
            _ => time,
        }
    }
}
