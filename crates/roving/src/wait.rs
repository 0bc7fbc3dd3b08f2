//! What a worker does while its task is away.
//!
//! It runs nothing unrelated: only what the thief that holds its task has itself left open, and
//! so on from there (leapfrogging; Wagner and Calder 1993, transitive as in Wool). Every task that
//! runs on top of a waiting frame is therefore a descendant of the awaited task, and a worker's
//! native stack is never deeper than the program's own nesting. When there is nothing of the kind
//! it parks, and a spare thread takes its core.

use std::thread;

use crate::stack::slot::{Offer, Slot};
use crate::stack::state::{Phase, State};
use crate::stack::thief::Claim;
use crate::stats::{Activity, bump};
use crate::task::Level;
use crate::worker::{Taken, Worker};

/// Most links from the awaited task to the one that is run.
const CHAIN_MAX: usize = 6;
/// Most slots of one stack that are searched for further links.
const LINKS_MAX: usize = 32;

/// The tasks from the awaited one to the one whose thief is robbed, each with the run it was in.
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
        let slot = self.owner().stack().slot(index);
        let doing = self.clock().enter(Activity::Steal);
        let mut round = 0;
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
                Phase::Started { .. } if self.leapfrog(slot) || self.serve_mailbox() => round = 0,
                Phase::Started { .. } if round >= self.registry().settings.patience => {
                    if slot.announce_waiter(state) {
                        self.park_until(|| slot.state().is_done());
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

    /// Parks until `done`, with the core given away, and everything shown that others could do
    /// meanwhile. Whoever makes `done` true unparks the thread.
    pub(crate) fn park_until(&self, done: impl Fn() -> bool) {
        self.blocking(|| {
            while !done() {
                if !self.serve_mailbox() {
                    bump(&self.tally().parks, 1);
                    thread::park();
                }
            }
        });
    }

    /// Calls `f`, which blocks the thread, while a spare thread has the core.
    pub(crate) fn blocking<R>(&self, f: impl FnOnce() -> R) -> R {
        let wake = self.owner().show_all();
        self.wake_if(wake);
        let doing = self.clock().enter(Activity::Switch);
        self.registry().spares.replace_me(self.registry());
        self.clock().enter(Activity::Idle);
        let result = f();
        self.registry().spares.back_again();
        self.clock().enter(doing);
        result
    }

    /// Broadcasts are addressed to this very worker, so they run wherever it stands.
    pub(crate) fn serve_mailbox(&self) -> bool {
        match self.seat().mailbox.pop() {
            Some(job) => {
                let doing = self.clock().enter(Activity::Busy);
                self.framed(job);
                self.clock().enter(doing);
                true
            }
            None => false,
        }
    }

    /// Runs one task that the awaited one has left open, if one is public.
    fn leapfrog(&self, awaited: &'static Slot) -> bool {
        let mut chain = Chain {
            links: [None; CHAIN_MAX],
            length: 0,
        };
        self.leapfrog_from(&mut chain, awaited)
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
        let got = match victim.claim(base, |_| 1) {
            Claim::Won { index, short, .. } => {
                self.run_if_related(chain, holder, index, short);
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
    fn run_if_related(&self, chain: &Chain<'_>, victim: usize, index: usize, short: bool) {
        if chain.holds() {
            bump(&self.tally().leapfrogs, 1);
            self.clock().enter(Activity::Busy);
            self.run_claimed(victim, index..index + 1, short, Level::Above);
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
            self.registry().inject(Box::new(job));
        }
    }
}
