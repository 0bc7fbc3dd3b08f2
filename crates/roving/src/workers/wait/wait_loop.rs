//! Waiting for a task that a thief has.
//!
//! A waiting worker runs nothing unrelated: only what the thief that holds its task has itself left
//! open, and so on from there (leapfrogging; Wagner and Calder 1993, transitive as in Wool). Every
//! task that runs on top of a waiting frame is therefore a descendant of the awaited task, and a
//! worker's native stack is never deeper than the program's own nesting. When there is no such
//! task, the worker parks, and a compensation thread takes its core.
//!
//! The loops are here, and know of a worker only what [`Waiter`] says, so that they are explored by
//! the model checker as they are; `worker_side` is the worker's side of them.

use std::cell::Cell;
use std::mem;
use std::slice;
use std::time::{Duration, Instant};

use super::followed::Followed;
use crate::machine::duty::Due;
use crate::machine::meeting_points::{At, Since, meet, now, park};
use crate::machine::prim::{Ordering, mutant, thread};
use crate::stack::owner::Owner;
use crate::stack::slot_state::{Phase, SlotState};
use crate::stack::task_word::TaskWord;
use crate::stack::thief::{Claim, Remind};
use crate::stats::Activity;
use crate::workers::priority::Priority;
use crate::workers::sleep::Parts;
use crate::workers::sleep::sleep_loop::Sleeper;

/// The fate of a task that its owner wants back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub(crate) enum Taken {
    /// It is the owner's to run.
    Here,
    /// A thief has run it: what it came to is in the payload.
    Ended,
}

/// A worker whose task is away, as the loops here see it.
pub(crate) trait Waiter<'s>: Sleeper {
    fn owner(&self) -> &Owner<'s>;
    /// Whether tasks are worth the way to them at present.
    fn steals_back(&self) -> bool;
    /// Whether so much stands on its native stack that it only waits: those that work on what it
    /// waits for end by themselves.
    fn is_deep(&self) -> bool;
    /// Runs the task, or gives it away if the chain that led to it has broken since.
    fn run_found(&self, chain: &Chain<'_>, found: Found);
    /// The round in which the worker is that has just run a task.
    fn round_after(&self, round: usize) -> usize;
    /// Runs work that may run on top of any parked frame.
    fn serve_parked(&self) -> bool;
    /// Runs a job that is not below that class on top of its frame.
    fn run_job(&self, least: Priority) -> bool;
    /// The lowest class of jobs that may run on top of its frame.
    fn class(&self) -> Priority;
    /// Lets some time pass between two looks.
    fn pause(&self, round: usize);
    /// Whether it has looked for long enough to park.
    fn is_tired(&self, round: usize) -> bool;
    /// Calls [`park_while_away`], with the core given away meanwhile.
    fn park_until(&self, done: impl Fn() -> bool);
    fn wake_for(&self, seat: usize);
    /// Wakes workers for what a claim has left there.
    fn wake_for_left(&self, seat: usize, left: usize);
    /// It has taken an offered task back: a count.
    fn count_take_back(&self);
    /// Those that it follows, while it is parked.
    fn followed(&self) -> &Cell<Followed>;
}

/// A task that is the thief's own subtask, as far as can be told before it is claimed; claimed now.
pub(crate) struct Found {
    pub(crate) holder: usize,
    pub(crate) index: usize,
    pub(crate) remind: Due<Remind>,
    pub(crate) looked: Instant,
}

/// The approximate cost of a steal to thief and victim. A waiting worker waits for this long before
/// it steals from its thief, as the awaited task may end meanwhile; so it never loses more than
/// twice the least possible.
pub const THEFT_COST: Duration = Duration::from_micros(1);
/// Most links from the awaited task to the one that is run.
pub const CHAIN_MAX: usize = 6;
/// Most slots of one stack that are searched for further links.
const LINKS_MAX: usize = 32;

/// The tasks from the awaited one to the one whose thief is stolen from, each with the run it was
/// in.
#[derive(Default)]
pub(crate) struct Chain<'s> {
    links: [Option<(&'s TaskWord, SlotState)>; CHAIN_MAX],
    length: usize,
}

impl<'s> Chain<'s> {
    fn push(&mut self, word: &'s TaskWord, state: SlotState) -> bool {
        let room = self.length < CHAIN_MAX;
        if room {
            self.links[self.length] = Some((word, state));
            self.length += 1;
        }
        room
    }

    fn pop(&mut self) {
        self.length -= 1;
    }

    /// Whether every task of the chain is still being run as when it was linked. Then all that
    /// its last thief has open above its base descends from the first.
    pub(crate) fn holds(&self) -> bool {
        let mut links = self.links[..self.length].iter().flatten();
        links.all(|(word, state)| word.state().same_run(*state))
    }
}

/// Returns when the task at the top of this worker's stack, which a thief has claimed, has
/// ended or can be had back; either way its slot is free then.
pub(crate) fn wait_for_thief<'s>(waiter: &impl Waiter<'s>, index: usize) -> Taken {
    let owner = waiter.owner();
    let word: &TaskWord = owner.stack().slot(index);
    let taken = wait_for(waiter, word, slice::from_ref(word));
    match taken {
        Taken::Ended => owner.retire(index),
        Taken::Here => owner.release(index),
    }
    taken
}

/// Returns when what the word stands for has ended, or was taken back. Meanwhile the worker runs
/// what those have left open that are at work on it, as `runs` says.
pub(crate) fn wait_for<'s>(waiter: &impl Waiter<'s>, word: &TaskWord, runs: &[TaskWord]) -> Taken {
    let runs = if waiter.is_deep() { &[] } else { runs };
    let mut round = 0;
    let mut since = Since::now();
    loop {
        let state = word.state();
        match state.phase() {
            Phase::Done => return Taken::Ended,
            Phase::Offered if word.take_back() => {
                waiter.count_take_back();
                return Taken::Here;
            }
            Phase::Started { .. } if since.is_past(THEFT_COST) && leapfrog(waiter, runs) => {
                since = Since::now();
                round = waiter.round_after(round);
            }
            Phase::Started { .. } if waiter.serve_mailbox() => round = 0,
            Phase::Started { .. } if waiter.is_tired(round) => {
                let announced = mutant("announce_waiter") || word.announce_waiter(state);
                meet(At::Sleep);
                if announced && park_awaiting(waiter, word, runs) {
                    round = 0;
                }
            }
            // The thief is about to say what it does, and has lost its core: nobody would unpark.
            Phase::Ready if waiter.is_tired(round) => {
                meet(At::Poll);
                thread::yield_now();
            }
            _ => {
                waiter.pause(round);
                round += 1;
            }
        }
    }
}

/// Parks until the awaited task has ended, or there may be a subtask of it to run. True if there
/// was one before the worker could park.
fn park_awaiting<'s>(waiter: &impl Waiter<'s>, word: &TaskWord, runs: &[TaskWord]) -> bool {
    let alone = || waiter.park_until(|| word.state().is_done());
    let following = || park_following(waiter, word, runs);
    waiter.pool().spares().park_awaiting(alone, following)
}

/// As [`park_awaiting`], in a pool without compensation threads for tasks.
///
/// There this worker has to run such subtasks itself. So it *follows* the workers from which it may
/// steal: it enters their sets of followers, and asks them for tasks. A worker that publishes on
/// demand wakes a follower if no worker is idle. Published tasks cannot be missed: the argument is
/// S1 to S3 in [`crate::workers::sleep`]. A thief that steals one of these tasks asks itself in the
/// follower's name, and looks for the follower at its victim; that is a hint, which can come too
/// late.
fn park_following<'s>(waiter: &impl Waiter<'s>, word: &TaskWord, runs: &[TaskWord]) -> bool {
    let (pool, me) = (waiter.pool(), waiter.index());
    // Ordering: Relaxed, as where it is read.
    pool.following().fetch_add(1, Ordering::Relaxed);
    let mut followed = Followed::default();
    let found = runs.iter().any(|run| {
        let mut chain = Chain::default();
        follow(pool.as_ref(), me, &mut chain, &mut followed, run)
    });
    waiter.followed().set(followed);
    if !found {
        // Who follows this worker has to follow further now.
        let followers = pool.in_use().count();
        let _ = (0..followers).all(|_| pool.wake_follower(me));
        let called = |&seat: &usize| !pool.followers(seat).contains(me);
        waiter.park_until(|| word.state().is_done() || followed.seats().iter().any(called));
    }
    // One call, this worker answers itself.
    unfollow(waiter, !word.state().is_done());
    // Ordering: Relaxed, as above.
    pool.following().fetch_sub(1, Ordering::Relaxed);
    found
}

/// The worker follows nobody any more. It has been called for what it can take itself, if it
/// `answers`; all other calls go to others.
fn unfollow<'s>(waiter: &impl Waiter<'s>, mut answers: bool) {
    let (pool, me) = (waiter.pool(), waiter.index());
    for &seat in waiter.followed().take().seats() {
        let called = pool.followers(seat).retract(me);
        called.pay(|| {
            if !mem::take(&mut answers) {
                waiter.wake_for(seat);
            }
        });
    }
}

/// The worker, which may be parked in a wait, is about to run something on top of that, or to wait
/// for something else: it can take nothing of those that it follows meanwhile, so others are called
/// for it. Its wait looks again afterwards, as after a call.
pub(crate) fn turn_away<'s>(waiter: &impl Waiter<'s>) {
    unfollow(waiter, false);
}

/// Follows who has the task, and whoever has what it led to. True if one of them shows something
/// that belongs to it.
fn follow<'s, P: Parts>(
    pool: &'s P,
    me: usize,
    chain: &mut Chain<'s>,
    followed: &mut Followed,
    word: &'s TaskWord,
) -> bool {
    let state = word.state();
    let Phase::Started { holder, base } = state.phase() else {
        return false;
    };
    if holder == me || !chain.push(word, state) {
        return false;
    }
    let stack = pool.stack(holder);
    if followed.add(holder) {
        pool.followers(holder).announce(me);
        if !mutant("ask_followed") {
            let _ = stack.want();
        }
    }
    let mut links = stack.claimed_from(base).take(LINKS_MAX);
    let shows = !mutant("look_at_followed") && stack.has_public_from(base);
    let found = shows || links.any(|index| follow(pool, me, chain, followed, stack.slot(index)));
    chain.pop();
    found
}

/// The loop of a worker that is parked in a wait. Whatever makes `done` true unparks the thread.
pub(crate) fn park_while_away<'s>(waiter: &impl Waiter<'s>, done: impl Fn() -> bool) {
    let (pool, me) = (waiter.pool().as_ref(), waiter.index());
    let spares = pool.spares();
    while !done() {
        spares.on_call(pool, me);
        meet(At::Sleep);
        if !(serve(waiter) || spares.leaves_job(pool, waiter.class())) {
            waiter.count_park();
            park();
        }
    }
}

/// Runs one thing that may run on top of a worker's parked frame. False if there is none.
pub(crate) fn serve<'s>(waiter: &impl Waiter<'s>) -> bool {
    let (pool, me) = (waiter.pool().as_ref(), waiter.index());
    let run = |least| waiter.run_job(least);
    let run_job = || pool.spares().run_on_call(pool, me, waiter.class(), run);
    waiter.serve_parked() || run_job()
}

/// Calls `f`, in which the worker parks or blocks, while another thread has its core. `is_blocked`
/// says whether that is so already: inside of such a call another one gives nothing away.
pub(crate) fn give_core<'s, R>(
    waiter: &impl Waiter<'s>,
    is_blocked: &Cell<bool>,
    f: impl FnOnce() -> R,
) -> R {
    let pool = waiter.pool();
    // All that the worker has pushed, since it answers no thief meanwhile.
    if !mutant("blocking_shows") {
        let wake = waiter.owner().show_all();
        wake.pay(|| waiter.wake_for(waiter.index()));
    }
    waiter.turn_to(Activity::Switch);
    let is_outermost = !is_blocked.replace(true);
    if is_outermost && !mutant("blocking_calls") {
        pool.spares().replace_me(pool);
    }
    waiter.turn_to(Activity::Wait);
    let result = f();
    // Counted only when it does go on: what has its index may need a thread in its place.
    if is_outermost {
        is_blocked.set(false);
        pool.spares().back_again();
    }
    result
}

/// Runs one task that one of these runs has left open, if one is public.
fn leapfrog<'s>(waiter: &impl Waiter<'s>, runs: &[TaskWord]) -> bool {
    waiter.steals_back()
        && runs.iter().any(|run| {
            let mut chain = Chain::default();
            let found = find(waiter, &mut chain, run);
            let is_found = found.is_some();
            if let Some(found) = found {
                waiter.run_found(&chain, found);
            }
            is_found
        })
}

/// Claims a task that the one of this word has led to. The chain is the way from there to it.
fn find<'a, 's>(
    waiter: &'a impl Waiter<'s>,
    chain: &mut Chain<'a>,
    word: &'a TaskWord,
) -> Option<Found> {
    let state = word.state();
    let Phase::Started { holder, base } = state.phase() else {
        return None;
    };
    if holder == waiter.index() || !chain.push(word, state) {
        return None;
    }
    let stack = waiter.pool().stack(holder);
    meet(At::Look);
    let looked = now();
    let found = match stack.claim(base, |_| 1) {
        Claim::Won {
            index,
            left,
            remind,
            ..
        } => {
            waiter.wake_for_left(holder, left);
            return Some(Found {
                holder,
                index,
                remind,
                looked,
            });
        }
        Claim::Busy => None,
        // The thief has nothing public itself: perhaps those have that hold its subtasks.
        Claim::Empty => {
            let mut claimed = stack.claimed_from(base).take(LINKS_MAX);
            claimed.find_map(|index| find(waiter, chain, stack.slot(index)))
        }
    };
    if found.is_none() {
        chain.pop();
    }
    found
}
