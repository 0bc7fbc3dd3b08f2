//! When no rank has a task, and none is under way: the algorithm of Dijkstra and Scholten (1980).
//!
//! A rank is *engaged* from when it gets tasks until it has none and owes nothing. Each message
//! with tasks is answered by one acknowledgement: at once by a rank that is engaged; by a rank that
//! is not, when it is engaged no more. The sender of the message that engaged a rank is that rank's
//! *parent*. A rank's *deficit* counts the messages with tasks that it has sent and that are not
//! acknowledged. At the start every rank is engaged, with its own number without the highest bit as
//! its parent, as if that had sent it a message; rank 0 has none. So a rank hears no more of the
//! start than it has [`children`], at most as many as its number has bits, and the same tree
//! carries the news of the end.
//!
//! Rank 0 *ends* when it has no task and its deficit is 0. Then nobody has a task and none is under
//! way:
//!
//! 1. *A rank that is not engaged has no task, and deficit 0.* It had when it left
//!    ([`Engagement::leave`]), and it sends only what it has; a message with tasks engages it
//!    before they are its own.
//! 2. *The deficit of p is the number of messages with tasks from p under way, plus the
//!    acknowledgements to p under way, plus the ranks that are engaged and have p as their parent.*
//!    So at the start. Sending adds one to both sides. Arrival at an engaged rank turns a message
//!    into an acknowledgement; at another one into an engaged rank; whose leaving turns that into
//!    an acknowledgement; whose arrival takes one off both sides.
//! 3. *From each engaged rank its parents lead to rank 0.* So at the start. A rank that is engaged
//!    later gets a parent that had sent, and whose deficit counts that message: by 1 the parent is
//!    still engaged. A rank cannot leave before its deficit is 0, that is, by 2, before all whose
//!    parent it is have left; so no link of a chain is lost, and no cycle is closed, since whom it
//!    engages was not engaged.
//!
//! Now let rank 0 have deficit 0 and no task. By 2 no engaged rank has rank 0 as its parent, so by
//! 3 no other rank is engaged at all, and by 1 none has a task, and all deficits are 0; by 2 no
//! message with tasks is under way. In return, when nobody has a task and all messages have
//! arrived, the leaves of the tree leave one after the other, so rank 0 does end. Nothing is
//! assumed about the order of messages.

/// One rank's part in it.
#[derive(Clone, Debug)]
pub struct Engagement {
    rank: usize,
    /// Whom to acknowledge when this rank leaves; of rank 0, unused.
    parent: usize,
    is_engaged: bool,
    deficit: u64,
}

/// The duty of a rank that has run out of tasks.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub enum Left {
    /// Nothing: messages of this rank are not acknowledged yet, or it has left before.
    No,
    /// The parent gets an acknowledgement.
    Acknowledge(usize),
    /// Rank 0: there is no task anywhere.
    Ended,
}

impl Engagement {
    /// At the start, when any rank may have tasks.
    pub fn new(rank: usize, ranks: usize) -> Engagement {
        let highest = rank.checked_ilog2().map_or(0, |bit| 1 << bit);
        Engagement {
            rank,
            parent: rank - highest,
            is_engaged: true,
            deficit: children(rank, ranks).count() as u64,
        }
    }

    /// This rank, which has tasks, sends some.
    pub fn sends(&mut self) {
        debug_assert!(self.is_engaged, "only who has tasks can send them");
        self.deficit += 1;
    }

    /// Tasks have come from that rank. Whether it gets an acknowledgement at once.
    #[must_use]
    pub fn receives(&mut self, from: usize) -> bool {
        if self.is_engaged {
            return true;
        }
        self.is_engaged = true;
        self.parent = from;
        false
    }

    /// How many messages with tasks it has sent that are not acknowledged.
    pub(crate) fn deficit(&self) -> u64 {
        self.deficit
    }

    /// An acknowledgement has come.
    pub fn is_acknowledged(&mut self) {
        debug_assert!(self.deficit > 0, "one for each message");
        self.deficit -= 1;
    }

    /// This rank has no task, and none has come.
    pub fn leave(&mut self) -> Left {
        if self.deficit > 0 || !self.is_engaged {
            return Left::No;
        }
        if self.rank == 0 {
            return Left::Ended;
        }
        self.is_engaged = false;
        Left::Acknowledge(self.parent)
    }
}

/// The ranks whose number without the highest bit is this one's.
pub fn children(rank: usize, ranks: usize) -> impl Iterator<Item = usize> {
    let bits = (0..usize::BITS - 1).map(|bit| 1 << bit);
    let above = bits.skip_while(move |bit| *bit <= rank);
    above
        .map(move |bit| rank + bit)
        .take_while(move |child| *child < ranks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::random::Random;

    #[test]
    fn each_rank_but_0_is_the_child_of_its_parent_alone() {
        for ranks in 1..200 {
            let mut parents = vec![Vec::new(); ranks];
            for rank in 0..ranks {
                for child in children(rank, ranks) {
                    parents[child].push(rank);
                }
            }
            assert!(parents[0].is_empty());
            for (rank, parents) in parents.iter().enumerate().skip(1) {
                assert_eq!(
                    parents[..],
                    [Engagement::new(rank, ranks).parent],
                    "{rank} of {ranks}"
                );
            }
        }
    }

    /// A message under way between ranks: so many tasks, or an acknowledgement.
    enum Under {
        Tasks(u64),
        Acknowledgement,
    }

    /// Ranks that spawn, send and run tasks in random order, with messages in any order at all:
    /// rank 0 ends exactly when nothing is left, and always ends.
    #[test]
    fn rank_0_ends_when_nothing_is_left_and_never_before() {
        for seed in 0..2000 {
            let mut random = Random::new(seed, 0);
            let ranks = 1 + random.below(6) as usize;
            let mut all: Vec<_> = (0..ranks)
                .map(|rank| Engagement::new(rank, ranks))
                .collect();
            let mut tasks: Vec<u64> = (0..ranks).map(|_| random.below(4)).collect();
            let mut under: Vec<(usize, usize, Under)> = Vec::new();
            let mut spawns = 60;
            for step in 0.. {
                assert!(step < 1_000_000, "seed {seed}: does not end");
                if !under.is_empty() && random.below(2) == 0 {
                    let (from, to, what) =
                        under.swap_remove(random.below(under.len() as u64) as usize);
                    match what {
                        Under::Acknowledgement => all[to].is_acknowledged(),
                        Under::Tasks(count) => {
                            tasks[to] += count;
                            if all[to].receives(from) {
                                under.push((to, from, Under::Acknowledgement));
                            }
                        }
                    }
                    continue;
                }
                let rank = random.below(ranks as u64) as usize;
                if tasks[rank] == 0 {
                    match all[rank].leave() {
                        Left::No => {}
                        Left::Acknowledge(parent) => {
                            under.push((rank, parent, Under::Acknowledgement));
                        }
                        Left::Ended => {
                            assert_eq!(tasks.iter().sum::<u64>(), 0, "seed {seed}");
                            assert!(under.is_empty(), "seed {seed}");
                            break;
                        }
                    }
                } else if ranks > 1 && random.below(3) == 0 {
                    let to = (rank + 1 + random.below(ranks as u64 - 1) as usize) % ranks;
                    let count = 1 + random.below(tasks[rank]);
                    tasks[rank] -= count;
                    all[rank].sends();
                    under.push((rank, to, Under::Tasks(count)));
                } else {
                    tasks[rank] -= 1;
                    let children = random.below(3).min(spawns);
                    spawns -= children;
                    tasks[rank] += children;
                }
            }
        }
    }
}
