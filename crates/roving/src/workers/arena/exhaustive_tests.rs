//! The table of a seat's word as data, and all interleavings of any number of callers and three
//! threads: a search through every state that there is, with the real word.
//!
//! A step is one change of the word or of the board. After each step the change that was made must
//! stand in the table, there must be one request for a seat that is in state 1 and none for any
//! other, and a call that no thread has heard must be one that a thread is going to hear. At the
//! end every row of the table must have been made.

use std::collections::{BTreeSet, HashSet};

use super::word::{Called, SeatWord};

const THREADS: usize = 3;

/// The values of the word, without the number of the thread.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Seat {
    Left,
    Asked,
    Taken,
    Called,
}

fn seat(word: usize) -> Seat {
    match word {
        0 => Seat::Left,
        1 => Seat::Asked,
        _ if word % 2 == 0 => Seat::Taken,
        _ => Seat::Called,
    }
}

/// The table of [`SeatWord`]: the method, from and to.
const TABLE: [(Step, Seat, Seat); 12] = [
    (Step::Call, Seat::Left, Seat::Asked),
    (Step::Call, Seat::Asked, Seat::Asked),
    (Step::Call, Seat::Taken, Seat::Called),
    (Step::Call, Seat::Called, Seat::Called),
    (Step::Take, Seat::Asked, Seat::Taken),
    (Step::TakeFree, Seat::Left, Seat::Taken),
    (Step::Heed, Seat::Taken, Seat::Taken),
    (Step::Heed, Seat::Called, Seat::Taken),
    (Step::Leave, Seat::Taken, Seat::Left),
    (Step::Leave, Seat::Called, Seat::Asked),
    (Step::LeaveCalled, Seat::Taken, Seat::Asked),
    (Step::LeaveCalled, Seat::Called, Seat::Asked),
];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Step {
    /// Somebody calls. The request that may be due is put on the board by a step of its own.
    Call,
    Put,
    /// A thread takes the request off the board.
    Accept,
    Take,
    TakeFree,
    Heed,
    /// After a look in which it has found nothing.
    Leave,
    /// With work left.
    LeaveCalled,
}

const STEPS: [Step; 8] = [
    Step::Call,
    Step::Put,
    Step::Accept,
    Step::Take,
    Step::TakeFree,
    Step::Heed,
    Step::Leave,
    Step::LeaveCalled,
];

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Thread {
    Away,
    /// It has the request.
    Coming,
    There,
    /// It has heeded, and looks around for the last time.
    Looking,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct World {
    word: usize,
    /// Requests that are about to be put on the board, and those that are there.
    due: usize,
    requests: usize,
    threads: [Thread; THREADS],
    /// Somebody has called, and no thread has looked around since.
    unheard: bool,
}

impl World {
    fn new() -> World {
        World {
            word: 0,
            due: 0,
            requests: 0,
            threads: [Thread::Away; THREADS],
            unheard: false,
        }
    }

    /// The world after that step of that thread; none if it cannot make it.
    fn after(&self, step: Step, thread: usize) -> Option<World> {
        let mut next = self.clone();
        let word = SeatWord::of(self.word);
        let at = &mut next.threads[thread];
        match (step, *at) {
            // One caller is like another.
            (Step::Call, _) if thread == 0 => {
                next.unheard = true;
                match word.call() {
                    Called::Nobody => next.due += 1,
                    Called::Already => assert_eq!(self.word, 1),
                    Called::Thread(number) => assert!(self.is_at(number)),
                }
            }
            (Step::Put, _) if thread == 0 && self.due > 0 => {
                next.due -= 1;
                next.requests += 1;
            }
            (Step::Accept, Thread::Away) if self.requests > 0 => {
                next.requests -= 1;
                *at = Thread::Coming;
            }
            (Step::Take, Thread::Coming) => {
                word.take(thread);
                *at = Thread::There;
                next.unheard = false;
            }
            (Step::TakeFree, Thread::Away) if word.take_free(thread) => *at = Thread::There,
            (Step::Heed, Thread::There | Thread::Looking) => {
                word.heed();
                *at = Thread::Looking;
                next.unheard = false;
            }
            (Step::Leave, Thread::Looking) => {
                next.due += usize::from(word.leave().told());
                *at = Thread::Away;
            }
            (Step::LeaveCalled, Thread::There | Thread::Looking) => {
                assert!(word.leave_called().told());
                next.due += 1;
                *at = Thread::Away;
            }
            _ => return None,
        }
        next.word = word.value();
        Some(next)
    }

    fn is_at(&self, thread: usize) -> bool {
        matches!(self.threads[thread], Thread::There | Thread::Looking)
    }

    fn check(&self) {
        let there: Vec<usize> = (0..THREADS).filter(|thread| self.is_at(*thread)).collect();
        let named = (self.word >> 1).checked_sub(1);
        assert_eq!(there, Vec::from_iter(named), "{self:?}");
        let coming = |thread: &&Thread| **thread == Thread::Coming;
        let coming = self.threads.iter().filter(coming).count();
        let asked = self.due + self.requests + coming;
        assert_eq!(asked, usize::from(self.word == 1), "{self:?}");
        assert!(!self.unheard || self.word % 2 == 1, "{self:?}");
    }
}

#[test]
fn every_step_of_a_seat_keeps_its_promises() {
    let mut seen = HashSet::from([World::new()]);
    let mut open = vec![World::new()];
    let mut made = BTreeSet::new();
    while let Some(world) = open.pop() {
        let steps = STEPS.into_iter();
        for (step, thread) in steps.flat_map(|step| (0..THREADS).map(move |one| (step, one))) {
            let Some(next) = world.after(step, thread) else {
                continue;
            };
            next.check();
            if !matches!(step, Step::Put | Step::Accept) {
                made.insert((step, seat(world.word), seat(next.word)));
            }
            if seen.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    println!("{} states", seen.len());
    assert_eq!(made, BTreeSet::from(TABLE));
}
