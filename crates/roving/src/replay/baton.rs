//! The turn: of the threads of a deterministic pool one goes on at a time.
//!
//! | a member is | when |
//! |---|---|
//! | absent | its thread has not been started, or has ended |
//! | ready | it goes on when it gets the turn; who has the turn is ready |
//! | parked | it is ready when somebody unparks it |
//! | away | it blocks where nothing here sees it: it asks for the turn when it comes back |
//!
//! Who gives the turn up passes it to one that is ready, whom the schedule draws. If none is, the
//! pool is *at rest*.
//!
//! A thread outside that calls into the pool *visits* it. It waits until the pool is at rest, has
//! the turn while it brings its work, gives it up before it parks, and returns when the pool is at
//! rest again. So a call finds the pool in a state that is a function of the seed, whatever the
//! threads outside do with their time. A pool that does not come to rest within [`MANY`] steps is
//! not waited for: what it does then may depend on the caller.
//!
//! A member may block on something that another member has, such as a lock that is held across a
//! `join`. Then it sleeps, although it has the turn. Those who wait for theirs look now and then
//! whether that is so, and take it away. But it may also sleep for a moment, until a thread that
//! takes no turns has left the allocator, say; and if that one has lost its core there, the moment
//! is long. As long as other threads of the process are at work, they wait for longer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Schedule;
use super::thread_state;
use crate::machine::meeting_points::At;
use crate::machine::os::forks;
use crate::machine::prim::{Condvar, Mutex, MutexGuard};

/// After so many steps a pool is not waited for any more.
const MANY: u64 = 50_000;
/// How long who waits for its turn does so before it looks for the first time, and at most, whether
/// the one that has it sleeps.
const LOOK_MIN: Duration = Duration::from_micros(250);
const LOOK_MAX: Duration = Duration::from_millis(64);
/// After so many looks in a row that found it asleep, and no step between them, it loses the turn
/// if no other thread of the process is at work.
const LOOKS: u32 = 3;
/// And after so many in any case, 8 ms: some threads that share a core have each had it by then.
const LOOKS_BESIDE: u32 = 5;

/// The turn of a pool, and those who take part.
pub(crate) struct Baton {
    pub(crate) schedule: Schedule,
    state: Mutex<State>,
    /// That a member has the turn, one for each.
    turns: Box<[Condvar]>,
    /// That the pool is at rest.
    rests: Condvar,
    began: Instant,
    /// [`forks`] in the process that has the threads.
    forks: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turn {
    Nobody,
    /// A thread from outside, by its number.
    Visitor(u64),
    /// A member, by its seat.
    Of(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Doing {
    Absent,
    Ready,
    Parked,
    Away,
}

struct Member {
    doing: Doing,
    /// It was unparked while it was not parked.
    told: bool,
    /// It has seen that it has the turn.
    goes: bool,
    /// Where the system says whether its thread sleeps; `None` until that has come.
    state_at: Option<String>,
}

struct State {
    turn: Turn,
    members: Box<[Member]>,
    /// Those from here on have never had a thread.
    used: usize,
    steps: u64,
    visits: u64,
    /// Of the last visitor that got the turn, as in [`Member`].
    visitor_at: String,
}

type Held<'b> = MutexGuard<'b, State>;

/// A waiting thread's memory of the one that has the turn.
struct SeenTurn {
    turn: Turn,
    steps: u64,
    looks: u32,
    next: Duration,
}

impl Default for SeenTurn {
    #[inline]
    fn default() -> SeenTurn {
        let (turn, steps, looks) = (Turn::Nobody, 0, 0);
        let next = LOOK_MIN;
        SeenTurn {
            turn,
            steps,
            looks,
            next,
        }
    }
}

impl Baton {
    /// For members at as many seats as there can be.
    #[inline]
    pub(crate) fn new(schedule: Schedule, seats: usize) -> Arc<Baton> {
        let member = |_| Member {
            doing: Doing::Absent,
            told: false,
            goes: false,
            state_at: None,
        };
        Arc::new(Baton {
            schedule,
            state: Mutex::new(State {
                turn: Turn::Nobody,
                members: (0..seats).map(member).collect(),
                used: 0,
                steps: 0,
                visits: 0,
                visitor_at: String::new(),
            }),
            turns: (0..seats).map(|_| Condvar::new()).collect(),
            rests: Condvar::new(),
            began: Instant::now(),
            forks: forks(),
        })
    }

    /// Whether the threads of the pool are in this process, and not in one that it was forked from.
    #[inline]
    pub(super) fn is_here(&self) -> bool {
        self.forks == forks()
    }

    #[inline]
    fn state(&self) -> Held<'_> {
        self.state.lock()
    }

    /// The pool's own time.
    #[inline]
    pub(super) fn now(&self) -> Instant {
        let steps = self.state().steps;
        self.began + Duration::from_nanos(steps * self.schedule.tick())
    }

    /// A thread is about to be started for that seat.
    #[inline]
    pub(crate) fn expect(&self, seat: usize) {
        let mut state = self.state();
        state.members[seat].doing = Doing::Ready;
        state.used = state.used.max(seat + 1);
    }

    /// The thread for that seat could not be started.
    #[inline]
    pub(crate) fn expect_no_more(&self, seat: usize) {
        let mut state = self.state();
        state.members[seat].doing = Doing::Absent;
        if state.turn == Turn::Of(seat) {
            self.pass(&mut state);
        }
    }

    /// The thread of that seat has come. Returns when it has the turn.
    #[inline]
    pub(super) fn arrive(&self, seat: usize) {
        let mut state = self.state();
        state.members[seat].state_at = Some(thread_state::here());
        state.used = state.used.max(seat + 1);
        let is_expected = state.members[seat].doing == Doing::Ready;
        state.members[seat].doing = Doing::Ready;
        if !is_expected && state.turn == Turn::Nobody {
            self.pass(&mut state);
        }
        drop(self.wait_for_turn(state, seat));
    }

    /// The thread of that seat ends.
    #[inline]
    pub(super) fn depart(&self, seat: usize) {
        let mut state = self.state();
        state.members[seat].doing = Doing::Absent;
        state.members[seat].state_at = None;
        state.members[seat].goes = false;
        if state.turn == Turn::Of(seat) {
            self.pass(&mut state);
        }
    }

    /// The member is at that place, and others may go on in its stead.
    #[inline]
    pub(super) fn meet(&self, me: usize, at: At) {
        let mut state = self.with_turn(me);
        state.steps += 1;
        let others = state.ready().filter(|&other| other != me).count();
        if others == 0 || !self.schedule.changes(at) {
            return;
        }
        let chosen = self.schedule.pick(others);
        let next = state.ready().filter(|&other| other != me).nth(chosen);
        let next = next.expect("so many are ready");
        self.schedule
            .note(&|| format!("worker {me}, {}: worker {next} goes on", at.name()));
        self.give(&mut state, next);
        drop(self.wait_for_turn(state, me));
    }

    /// The member parks, unless it was unparked before.
    #[inline]
    pub(super) fn park(&self, me: usize) {
        let mut state = self.with_turn(me);
        if std::mem::take(&mut state.members[me].told) {
            drop(state);
            return self.meet(me, At::Park);
        }
        state.steps += 1;
        state.members[me].doing = Doing::Parked;
        self.pass(&mut state);
        drop(self.wait_for_turn(state, me));
    }

    /// Whatever thread this is, it unparks that member.
    #[inline]
    pub(super) fn unpark(&self, seat: usize) {
        let mut state = self.state();
        let member = &mut state.members[seat];
        match member.doing {
            Doing::Parked => member.doing = Doing::Ready,
            _ => member.told = true,
        }
        if state.turn == Turn::Nobody {
            self.pass(&mut state);
        }
    }

    /// The member is about to block.
    #[inline]
    pub(super) fn leave(&self, me: usize) {
        let mut state = self.state();
        state.members[me].doing = Doing::Away;
        if state.turn == Turn::Of(me) {
            self.pass(&mut state);
        }
    }

    /// The member comes back, and waits for its turn.
    #[inline]
    pub(super) fn come_back(&self, me: usize) {
        drop(self.with_turn(me));
    }

    /// The calling thread, from outside, gets the turn when the pool is at rest. Returns its
    /// number.
    #[inline]
    pub(super) fn come_in(&self) -> u64 {
        let mut state = self.state();
        let (visitor, here) = (state.visits, thread_state::here());
        state.visits += 1;
        if state.turn == Turn::Nobody {
            self.pass(&mut state);
        }
        let mut state = self.wait_for_rest(state);
        if state.turn == Turn::Nobody {
            state.turn = Turn::Visitor(visitor);
            state.visitor_at = here;
        }
        visitor
    }

    /// The visitor parks, or has done what it came for.
    #[inline]
    pub(super) fn give_up(&self, visitor: u64) {
        let mut state = self.state();
        if state.turn == Turn::Visitor(visitor) {
            self.pass(&mut state);
        }
    }

    /// The visitor goes when the pool is at rest.
    #[inline]
    pub(super) fn go_out(&self, visitor: u64) {
        self.give_up(visitor);
        drop(self.wait_for_rest(self.state()));
        if visitor == 0 {
            // Who has built the pool.
            self.schedule.begin();
        }
    }

    /// The member has the turn when this returns, though it may have lost it.
    #[inline]
    fn with_turn(&self, me: usize) -> Held<'_> {
        let mut state = self.state();
        if state.turn != Turn::Of(me) {
            state.members[me].doing = Doing::Ready;
            if state.turn == Turn::Nobody {
                self.pass(&mut state);
            }
        }
        self.wait_for_turn(state, me)
    }

    #[inline]
    fn wait_for_turn<'b>(&'b self, mut state: Held<'b>, me: usize) -> Held<'b> {
        let mut watched = SeenTurn::default();
        while state.turn != Turn::Of(me) {
            state.members[me].goes = false;
            state = self.wait(&self.turns[me], state, &mut watched);
        }
        state.members[me].goes = true;
        state
    }

    #[inline]
    fn wait_for_rest<'b>(&'b self, mut state: Held<'b>) -> Held<'b> {
        let (mut watched, first) = (SeenTurn::default(), state.steps);
        while state.turn != Turn::Nobody && state.steps - first < MANY {
            state = self.wait(&self.rests, state, &mut watched);
        }
        state
    }

    /// Nobody who has the turn goes on with it: the schedule draws who does.
    #[inline]
    fn pass(&self, state: &mut State) {
        let count = state.ready().count();
        if count == 0 {
            state.turn = Turn::Nobody;
            return self.rests.notify_all();
        }
        let chosen = self.schedule.pick(count);
        let next = state.ready().nth(chosen).expect("so many are ready");
        let before = state.turn;
        self.schedule
            .note(&|| format!("{} stops: worker {next} goes on", before.name()));
        self.give(state, next);
    }

    #[inline]
    fn give(&self, state: &mut State, next: usize) {
        state.turn = Turn::Of(next);
        self.turns[next].notify_one();
    }

    /// Waits until notified, or for a while; then looks whether who has the turn sleeps.
    #[inline]
    fn wait<'b>(&'b self, changed: &Condvar, state: Held<'b>, watched: &mut SeenTurn) -> Held<'b> {
        let (mut state, is_over) = changed.wait_timeout(state, watched.next);
        if !is_over {
            return state;
        }
        if (state.turn, state.steps) != (watched.turn, watched.steps) {
            (watched.turn, watched.steps, watched.looks) = (state.turn, state.steps, 0);
        }
        let is_last = watched.next == LOOK_MAX;
        watched.next = LOOK_MAX.min(2 * watched.next);
        let Some(at) = state.of_turn() else {
            return state;
        };
        drop(state);
        let looks = match thread_state::sleeps(&at).unwrap_or(is_last) {
            true => watched.looks + 1,
            false => 0,
        };
        let blocks =
            looks >= LOOKS && (looks >= LOOKS_BESIDE || !thread_state::others_are_at_work());
        state = self.state();
        if (state.turn, state.steps) == (watched.turn, watched.steps) {
            watched.looks = looks;
            if blocks {
                self.take_away(&mut state);
            }
        }
        state
    }

    /// Who has the turn sleeps.
    #[inline]
    fn take_away(&self, state: &mut State) {
        let turn = state.turn;
        self.schedule.note(&|| format!("{} blocks", turn.name()));
        if let Turn::Of(seat) = turn {
            state.members[seat].doing = Doing::Away;
        }
        self.pass(state);
    }
}

impl Turn {
    #[inline]
    fn name(self) -> String {
        match self {
            Turn::Nobody => "nobody".to_owned(),
            Turn::Visitor(_) => "a caller".to_owned(),
            Turn::Of(seat) => format!("worker {seat}"),
        }
    }
}

impl State {
    /// The members that can go on.
    #[inline]
    fn ready(&self) -> impl Iterator<Item = usize> + '_ {
        let members = self.members[..self.used].iter().enumerate();
        let ready = members.filter(|(_, member)| member.doing == Doing::Ready);
        ready.map(|(seat, _)| seat)
    }

    /// Where the system says whether the thread sleeps that has the turn; `None` if there is none,
    /// or it has not seen yet that it has it.
    #[inline]
    fn of_turn(&self) -> Option<String> {
        match self.turn {
            Turn::Nobody => None,
            Turn::Visitor(_) => Some(self.visitor_at.clone()),
            Turn::Of(seat) => {
                let member = &self.members[seat];
                member.state_at.clone().filter(|_| member.goes)
            }
        }
    }
}
