//! What a worker does while its task is away.
//!
//! It runs nothing unrelated: only what the thief that holds its task has itself left open, and
//! so on from there (leapfrogging; Wagner and Calder 1993, transitive as in Wool). Every task that
//! runs on top of a waiting frame is therefore a descendant of the awaited task, and a worker's
//! native stack is never deeper than the program's own nesting. When there is nothing of the kind
//! it parks, and a spare thread takes its core.

use std::mem;
use std::process;
use std::time::{Duration, Instant};

use crate::arena::with_core_given;
use crate::faults;
use crate::inject::Kind;
use crate::os;
use crate::prim::Ordering;
use crate::sleep::spares::StandIn;
use crate::stack::slot::{Offer, Slot};
use crate::stack::state::{Phase, State};
use crate::stack::thief::Claim;
use crate::stats::{Activity, bump};
use crate::steal::restraint::Theft;
use crate::task::Level;
use crate::watch::Why;
use crate::worker::{Taken, Worker};

/// About what a theft costs thief and victim. Who waits does so for this long before it robs its
/// thief, as the awaited task may end meanwhile; so it never loses more than twice what it must.
const THEFT_COST: Duration = Duration::from_micros(1);
/// Most links from the awaited task to the one that is run.
const CHAIN_MAX: usize = 6;
/// Most slots of one stack that are searched for further links.
const LINKS_MAX: usize = 32;

/// Most seats that one worker follows.
const FOLLOWED_MAX: usize = 16;

/// The seats that a worker follows while it is parked.
#[derive(Default)]
struct Followed {
    seats: [usize; FOLLOWED_MAX],
    length: usize,
}

impl Followed {
    /// False if it is among them already, or there is no room.
    fn add(&mut self, seat: usize) -> bool {
        let adds = self.length < FOLLOWED_MAX && !self.seats().contains(&seat);
        if adds {
            self.seats[self.length] = seat;
            self.length += 1;
        }
        adds
    }

    fn seats(&self) -> &[usize] {
        &self.seats[..self.length]
    }
}

/// The tasks from the awaited one to the one whose thief is robbed, each with the run it was in.
#[derive(Default)]
struct Chain<'s> {
    links: [Option<(&'s Slot, State)>; CHAIN_MAX],
    length: usize,
}

impl<'s> Chain<'s> {
    fn push(&mut self, slot: &'s Slot, state: State) -> bool {
        let room = self.length < CHAIN_MAX;
        if room {
            self.links[self.length] = Some((slot, state));
            self.length += 1;
        }
        room
    }

    fn pop(&mut self) {
        self.length -= 1;
    }

    /// Whether every task of the chain is still being run as when it was linked. Then all that
    /// its last thief has open above its base descends from the first.
    fn holds(&self) -> bool {
        let mut links = self.links[..self.length].iter().flatten();
        links.all(|(slot, state)| slot.state().same_run(*state))
    }
}

impl Worker {
    /// Returns when the task at the top of this worker's stack, which a thief has claimed, has
    /// ended or can be had back; either way its slot is free then.
    pub(crate) fn wait_for_thief(&self, index: usize) -> Taken {
        if let Some(schedule) = self.schedule() {
            return self.take_kept(schedule);
        }
        let slot = self.owner().stack().slot(index);
        let doing = self.clock().enter(Activity::Steal);
        let mut round = 0;
        let mut since = Instant::now();
        let taken = loop {
            let state = slot.state();
            match state.phase() {
                Phase::Done => {
                    self.owner().retire(index);
                    break Taken::Ended;
                }
                Phase::Offered if slot.take_back() => {
                    bump(&self.tally().take_backs, 1);
                    self.owner().release(index);
                    break Taken::Here;
                }
                Phase::Started { .. } if since.elapsed() >= THEFT_COST && self.leapfrog(slot) => {
                    since = Instant::now();
                    // Not if what there is is hardly worth it: then it is better to park.
                    round *= usize::from(self.restraint().is_on());
                }
                Phase::Started { .. } if self.serve_mailbox() => round = 0,
                Phase::Started { .. }
                    if round >= self.registry().settings.patience && !self.restraint().holds() =>
                {
                    if slot.announce_waiter(state) && self.park_awaiting(slot) {
                        round = 0;
                    }
                }
                // `Ready`: the thief is about to say what it does. It may have lost its core.
                _ => {
                    self.pause(round);
                    round += 1;
                }
            }
        };
        self.clock().enter(doing);
        taken
    }

    /// Parks until the awaited task has ended, or there may be something to do for it. True if there
    /// was before the worker could park.
    ///
    /// In a pool without spare threads for tasks this worker is the one to do it, so it *follows*
    /// those whose stacks it may rob: enters their sets of followers, and asks them for tasks. Who
    /// publishes, and finds that it was asked, wakes a follower if no worker is idle. For tasks that
    /// stand there, no wake-up is lost for the reason that none is for idle workers
    /// ([`crate::sleep`], S1 to S3). Who steals one of them is asked by itself in the follower's name,
    /// and looks for the follower with its victim; that is a hint, which can come too late for one.
    fn park_awaiting(&self, slot: &'static Slot) -> bool {
        let registry = self.registry();
        if registry.spares.stand_in == StandIn::ForAll {
            self.park_until(|| slot.state().is_done());
            return false;
        }
        let me = self.index();
        // Ordering: Relaxed, as where it is read.
        registry.following.fetch_add(1, Ordering::Relaxed);
        let mut followed = Followed::default();
        let found = self.follow(&mut Chain::default(), &mut followed, slot);
        if !found {
            // Who follows this worker has to follow further now.
            let followers = registry.seats_in_use();
            let _ = (0..followers).all(|_| registry.wake_follower(me));
            let called = |&seat: &usize| !registry.seats[seat].followers.contains(me);
            self.park_until(|| slot.state().is_done() || followed.seats().iter().any(called));
        }
        // One call, this worker answers itself.
        let mut answers = !slot.state().is_done();
        for &seat in followed.seats() {
            let was_called = !registry.seats[seat].followers.retract(me);
            if was_called && !mem::take(&mut answers) {
                self.wake_for(seat);
            }
        }
        // Ordering: Relaxed, as above.
        registry.following.fetch_sub(1, Ordering::Relaxed);
        found
    }

    /// Follows who has the task, and whoever has what it led to. True if one of them shows something
    /// that belongs to it.
    fn follow<'s>(
        &'s self,
        chain: &mut Chain<'s>,
        followed: &mut Followed,
        slot: &'s Slot,
    ) -> bool {
        let state = slot.state();
        let Phase::Started { holder, base } = state.phase() else {
            return false;
        };
        if holder == self.index() || !chain.push(slot, state) {
            return false;
        }
        let seat = &self.registry().seats[holder];
        if followed.add(holder) {
            seat.followers.announce(self.index());
            let _ = seat.stack.want();
        }
        let mut links = seat.stack.claimed_from(base).take(LINKS_MAX);
        let found = seat.stack.has_public_from(base)
            || links.any(|index| self.follow(chain, followed, seat.stack.slot(index)));
        chain.pop();
        found
    }

    /// Parks until `done`, with the core given away, and everything shown that others could do
    /// meanwhile. Whoever makes `done` true unparks the thread.
    pub(crate) fn park_until(&self, done: impl Fn() -> bool) {
        self.park_for(Why::Task, done);
    }

    /// The same, for something else than tasks.
    pub(crate) fn park_for(&self, why: Why, done: impl Fn() -> bool) {
        let registry = self.registry();
        if registry.is_left_behind() {
            // Frames further out are lent to threads that are not here: there is no way to unwind.
            os::say(&registry.left_behind());
            process::abort();
        }
        let runs_jobs = registry.spares.stand_in == StandIn::Nobody;
        self.blocking_for(why, || {
            while !done() {
                if runs_jobs {
                    registry.waiting.announce(self.index());
                }
                let served = self.serve_mailbox_parked()
                    || self.serve_further_out()
                    || runs_jobs && self.run_job_on_top();
                // The last look is under the locks, as before any sleep.
                let stays = served || runs_jobs && registry.has_jobs_from(self.class().get());
                if !stays {
                    bump(&self.tally().parks, 1);
                    faults::park();
                }
            }
        });
        if runs_jobs && !registry.waiting.retract(self.index()) && registry.has_jobs() {
            // This worker may have been meant to run it.
            registry.job_waits();
        }
    }

    /// For pools without spare threads: nobody else may be there to run it.
    fn run_job_on_top(&self) -> bool {
        let job = self.any_job();
        let is_one = job.is_some();
        if let Some(job) = job {
            let doing = self.clock().enter(Activity::Busy);
            self.run_classed(job);
            self.clock().enter(doing);
        }
        is_one
    }

    /// Calls `f`, which blocks the thread, while a spare thread has the core.
    pub(crate) fn blocking<R>(&self, f: impl FnOnce() -> R) -> R {
        self.blocking_for(Why::Blocks, f)
    }

    fn blocking_for<R>(&self, why: Why, f: impl FnOnce() -> R) -> R {
        let watch = self.registry().watch.as_ref();
        let _parked = watch.map(|watch| watch.begin(self.index(), why));
        let wake = self.owner().show_all();
        self.wake_if(wake);
        self.leave_index();
        let doing = self.clock().enter(Activity::Switch);
        // Inside of such a call another one gives nothing away: the core is somebody else's already.
        let is_outermost = !self.is_blocked().replace(true);
        if is_outermost {
            self.registry().spares.replace_me(self.registry());
        }
        self.clock().enter(Activity::Idle);
        let result = self.away(|| {
            let result = with_core_given(f);
            // What has its index may be waiting for a task with its place here.
            self.index_back();
            result
        });
        // Counted only when it does go on: what has its index may need a thread in its place.
        if is_outermost {
            self.is_blocked().set(false);
            self.registry().spares.back_again();
        }
        self.clock().enter(doing);
        result
    }

    /// [`Self::serve_mailbox`] for a worker that is parked in a wait, and may have lent its index.
    fn serve_mailbox_parked(&self) -> bool {
        if !self.lends() || self.seat().mailbox.is_hint_empty() {
            return self.serve_mailbox();
        }
        let lending = &self.registry().lending;
        lending.wake(self.index());
        let served = self.serve_mailbox();
        lending.rest(self.index());
        served
    }

    /// Broadcasts are addressed to this very worker, so they run wherever it stands.
    pub(crate) fn serve_mailbox(&self) -> bool {
        match self.seat().mailbox.pop() {
            Some(job) => {
                let doing = self.clock().enter(Activity::Busy);
                self.framed_outside(job);
                self.clock().enter(doing);
                true
            }
            None => false,
        }
    }

    /// Runs one task that the awaited one has left open, if one is public.
    fn leapfrog(&self, awaited: &'static Slot) -> bool {
        if self.restraint().holds() {
            return false;
        }
        self.leapfrog_from(&mut Chain::default(), awaited)
    }

    fn leapfrog_from<'s>(&'s self, chain: &mut Chain<'s>, slot: &'s Slot) -> bool {
        let state = slot.state();
        let Phase::Started { holder, base } = state.phase() else {
            return false;
        };
        if holder == self.index() || !chain.push(slot, state) {
            return false;
        }
        let victim = &self.registry().seats[holder].stack;
        let looked = Instant::now();
        let got = match victim.claim(base, |_| 1) {
            Claim::Won {
                index, left, short, ..
            } => {
                if left > 0 {
                    self.wake_for(holder);
                }
                self.run_if_related(chain, holder, index, short, looked);
                true
            }
            Claim::Busy => false,
            Claim::Empty => self.leapfrog_beyond(chain, holder, base),
        };
        chain.pop();
        got
    }

    /// The thief has nothing public itself: looks at who holds its subtasks.
    fn leapfrog_beyond<'s>(&'s self, chain: &mut Chain<'s>, holder: usize, base: usize) -> bool {
        let victim = &self.registry().seats[holder].stack;
        let claimed = victim.claimed_from(base);
        claimed
            .take(LINKS_MAX)
            .any(|index| self.leapfrog_from(chain, victim.slot(index)))
    }

    /// The claim is won; whether it was a claim on a descendant shows only now. If it was not,
    /// the task goes to a worker that waits for nothing.
    fn run_if_related(
        &self,
        chain: &Chain<'_>,
        victim: usize,
        index: usize,
        short: bool,
        looked: Instant,
    ) {
        if chain.holds() {
            bump(&self.tally().leapfrogs, 1);
            self.clock().enter(Activity::Busy);
            let claimed = index..index + 1;
            let began = self.run_claimed(victim, claimed, short, Level::Above);
            let _ = self.restraint().judge(Theft::of_one(looked, began));
            self.clock().enter(Activity::Steal);
        } else {
            let stack = &self.registry().seats[victim].stack;
            let offered = stack.slot(index).offer();
            if short {
                stack.raise_alarm();
            }
            let job = move || {
                let offer = Offer {
                    victim,
                    index,
                    offered,
                };
                Worker::with_current(|worker| {
                    worker.expect("jobs are run by workers").run_offered(offer);
                });
            };
            self.registry().inject(Kind::Awaited, Box::new(job));
        }
    }
}
