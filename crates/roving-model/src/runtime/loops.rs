//! Loops whose parts do not wait for each other: who has called one waits for the whole.

use std::ops::Range;

use super::engine::{RuntimeEngine, ticks};
use super::owner::Popped;
use super::seat::{Continuation, Loop, NOBODY, What};
use crate::{Then, Tree};

/// Most parts that are noted for a waiting caller.
const RUNS_MAX: usize = 16;
/// Parts of loops that are split off cost this.
const CUT_NS: f64 = 40.0;

impl<T: Tree> RuntimeEngine<'_, T> {
    pub(super) fn begin_loop(&mut self, who: u32, spawner: T::Task, count: u32, time: u64) {
        let begun = Loop {
            spawner: self.keep(spawner),
            caller: who,
            ..Loop::default()
        };
        let vacant = self.loops.iter().position(|one| one.caller == NOBODY);
        let of = vacant.unwrap_or(self.loops.len());
        match self.loops.get_mut(of) {
            Some(vacant) => *vacant = begun,
            None => self.loops.push(begun),
        }
        let of = of as u32;
        self.seats[who as usize]
            .frames
            .push(Continuation::Whole { of });
        self.loops[of as usize].parts = 1;
        self.run_rounds(who, of, 0..count, time);
    }

    /// Runs a part of a loop that this thread has.
    pub(super) fn run_rounds(&mut self, who: u32, of: u32, rounds: Range<u32>, time: u64) {
        let base = self.seats[who as usize].top();
        self.seats[who as usize].frames.push(Continuation::Rounds {
            of,
            next: rounds.start,
            end: rounds.end,
            base,
        });
        let (caller, runs) = (
            self.loops[of as usize].caller,
            &mut self.loops[of as usize].runs,
        );
        if who != caller && runs.len() < RUNS_MAX {
            runs.push((who, base));
        }
        self.seats[who as usize].then = Then::End;
        self.work_until(who, time, time);
    }

    /// The next round of the part at the top. False if the part has ended.
    pub(super) fn next_round(&mut self, who: u32, time: &mut u64) -> bool {
        let asked = self.is_asked(who);
        let seat = &mut self.seats[who as usize];
        let Some(&Continuation::Rounds {
            of,
            next,
            end,
            base,
        }) = seat.frames.last()
        else {
            return false;
        };
        if next == end {
            return self.take_rounds(who, time);
        }
        let mut end = end;
        if end - next > 1 && asked {
            let middle = next + (end - next).div_ceil(2);
            let upper = What::Rounds {
                of,
                next: middle,
                end,
            };
            self.loops[of as usize].parts += 1;
            *time = self.push_cut(who, upper, *time + ticks(CUT_NS));
            end = middle;
            self.set_rounds(who, of, next, end, base);
            return self.next_round(who, time);
        }
        self.set_rounds(who, of, next + 1, end, base);
        let spawner = self.loops[of as usize].spawner as usize;
        let Some(spawner) = &self.kept[spawner] else {
            return false;
        };
        let child = self.tree.child(spawner, next);
        self.begin(who, child, *time);
        true
    }

    fn set_rounds(&mut self, who: u32, of: u32, next: u32, end: u32, base: u32) {
        if let Some(frame) = self.seats[who as usize].frames.last_mut() {
            *frame = Continuation::Rounds {
                of,
                next,
                end,
                base,
            };
        }
    }

    /// Goes on with the newest half that nobody has taken; there is none if the part has ended.
    fn take_rounds(&mut self, who: u32, time: &mut u64) -> bool {
        let seat = &self.seats[who as usize];
        let Some(&Continuation::Rounds { of, base, .. }) = seat.frames.last() else {
            return false;
        };
        while self.seats[who as usize].top() > base {
            if let Popped::Here(What::Rounds { of, next, end }) = self.pop(who, time) {
                self.loops[of as usize].parts -= 1;
                self.set_rounds(who, of, next, end, base);
                return self.next_round(who, time);
            }
        }
        self.seats[who as usize].frames.pop();
        let ended = &mut self.loops[of as usize];
        ended.parts -= 1;
        ended.runs.retain(|&run| run != (who, base));
        if ended.parts == 0 {
            let (caller, spawner) = (ended.caller, ended.spawner);
            self.kept[spawner as usize] = None;
            if caller != who {
                *time = self.tell(caller, self.distance(who, caller), *time);
            }
        }
        false
    }
}
