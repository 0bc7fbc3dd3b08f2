//! Random programs: all of a program follows from its seed and its size.

use std::sync::Arc;

use roving::Priority;

use super::node::*;
use crate::random::SplitMix;

/// The limits of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// About how many tasks.
    pub(crate) tasks: u64,
    /// Other pools, numbered from 1.
    pub(crate) pools: usize,
    /// Whether the first pool may be entered from another.
    pub(crate) may_come_back: bool,
    /// To how many workers the first pool can be resized; then nothing is broadcast, because nobody
    /// knows to how many that would be.
    pub(crate) resize: Option<usize>,
    /// Whether anything throws.
    pub(crate) throws: bool,
}

/// Deepest nesting of what is written down. Full trees come on top.
const DEPTH_MAX: u32 = 48;
/// How many expensive things one program does: threads started, pools entered, all workers called.
const COSTLY_MAX: u32 = 16;
/// Classes of detached jobs.
const PRIORITIES: [Option<Priority>; 4] = [
    None,
    Some(Priority::Low),
    Some(Priority::Normal),
    Some(Priority::High),
];
/// Longest chain of tasks that spawn each other.
const CHAIN_MAX: u32 = 1000;

/// The program of that seed.
pub(crate) fn program(seed: u64, limits: Limits) -> ClosureNode {
    let mut maker = Maker {
        random: SplitMix::new(seed),
        limits,
        costly: COSTLY_MAX,
        next_id: 1,
        in_job: false,
        in_stop: false,
    };
    maker.node(limits.tasks, 0)
}

struct Maker {
    random: SplitMix,
    limits: Limits,
    costly: u32,
    next_id: Id,
    in_job: bool,
    in_stop: bool,
}

impl Maker {
    fn id(&mut self) -> Id {
        self.next_id += 1;
        self.next_id
    }

    fn may_cost(&mut self) -> bool {
        let may = self.costly > 0;
        self.costly = self.costly.saturating_sub(1);
        may
    }

    /// Splits what is left of a budget into parts of very different sizes.
    fn parts(&mut self, budget: u64, count: usize) -> Vec<u64> {
        let mut left = budget;
        let mut parts = Vec::with_capacity(count);
        for part in 0..count {
            let share = match part + 1 == count {
                true => left,
                false => self.random.below(left + 1),
            };
            parts.push(share);
            left -= share;
        }
        parts
    }

    fn leaf(&mut self) -> ClosureNode {
        match self.limits.throws && self.random.one_in(12) {
            true => ClosureNode::Throw(self.id()),
            false if self.random.one_in(4) => ClosureNode::Seen,
            false => ClosureNode::Leaf(self.random.next()),
        }
    }

    /// A program of about `budget` tasks.
    fn node(&mut self, budget: u64, depth: u32) -> ClosureNode {
        if budget == 0 || depth >= DEPTH_MAX {
            return self.leaf();
        }
        if self.random.one_in(9) {
            return self.rare(budget, depth + 1);
        }
        match self.random.below(16) {
            0..=4 => ClosureNode::Join(self.two(budget - 1, depth + 1)),
            5 => ClosureNode::Wide(self.two(budget - 1, depth + 1)),
            6..=9 => self.scope(budget, depth + 1),
            10..=12 => self.bulk(budget),
            _ => ClosureNode::Root {
                pool: None,
                task: Box::new(self.task(budget, depth + 1)),
            },
        }
    }

    fn two(&mut self, budget: u64, depth: u32) -> Box<(ClosureNode, ClosureNode)> {
        let parts = self.parts(budget, 2);
        Box::new((self.node(parts[0], depth), self.node(parts[1], depth)))
    }

    /// All of the budget in one plain shape.
    fn bulk(&mut self, budget: u64) -> ClosureNode {
        let (seed, owned) = (self.random.next(), self.random.one_in(2));
        let tasks = u32::try_from(budget).unwrap_or(u32::MAX);
        match self.random.below(6) {
            0..=2 => ClosureNode::Heap {
                depth: (budget + 1).ilog2().min(24),
                seed,
                owned,
            },
            3 => ClosureNode::Flat {
                // On a full task stack each runs on top of the one before.
                tasks: tasks.min(CHAIN_MAX),
                seed,
                shape: SpawnShape::Chain,
            },
            _ => ClosureNode::Flat {
                tasks,
                seed,
                shape: self
                    .random
                    .pick(&[SpawnShape::Bare, SpawnShape::Owned, SpawnShape::Tree]),
            },
        }
    }

    fn scope(&mut self, budget: u64, depth: u32) -> ClosureNode {
        let count = self.random.between(1, 6) as usize;
        let mut steps = Vec::with_capacity(count);
        for part in self.parts(budget, count) {
            steps.push(self.step(part, depth));
        }
        let kind = match self.random.below(8) {
            0..=4 => ScopeKind::Scope,
            5 if self.limits.pools > 0 && !self.in_job && self.may_cost() => {
                ScopeKind::InPlaceOf(self.other_pool())
            }
            _ => ScopeKind::InPlace,
        };
        ClosureNode::Scope { kind, steps }
    }

    fn step(&mut self, budget: u64, depth: u32) -> ScopeStep {
        let budget = budget.saturating_sub(1);
        match self.random.below(16) {
            0..=7 => ScopeStep::Spawn(self.node(budget, depth)),
            8 => ScopeStep::SpawnTagged(self.random.next(), self.node(budget, depth)),
            9..=11 => {
                let parts = self.parts(budget, 2);
                ScopeStep::Chain(self.node(parts[0], depth), self.node(parts[1], depth))
            }
            12 if self.may_cost() => ScopeStep::Foreign(self.node(budget, depth)),
            13 if self.limits.resize.is_none() && self.may_cost() => {
                ScopeStep::Broadcast(self.random.next())
            }
            _ => ScopeStep::Here(self.node(budget, depth)),
        }
    }

    fn other_pool(&mut self) -> usize {
        let first = usize::from(!self.limits.may_come_back);
        self.random.between(first as u64, self.limits.pools as u64) as usize
    }

    fn rare(&mut self, budget: u64, depth: u32) -> ClosureNode {
        let small = (budget.min(64)) as u32;
        match self.random.below(17) {
            16 if self.limits.resize.is_some() && !self.in_job => {
                let most = self.limits.resize.unwrap_or(1) as u64;
                ClosureNode::Resize(self.random.between(1, most) as usize)
            }
            0 => ClosureNode::Cancelled { tasks: small },
            1 => ClosureNode::Cancelling {
                tasks: small,
                by: self.random.below(u64::from(small)) as u32,
            },
            2 | 3 => self.counted_loop(budget),
            4..=6 => ClosureNode::Catch(Box::new(self.node(budget, depth))),
            7 if self.limits.resize.is_none() && self.may_cost() => ClosureNode::Broadcast {
                seed: self.random.next(),
                throw: (self.limits.throws && self.random.one_in(2))
                    .then(|| (self.random.below(8) as u32, self.id())),
            },
            8 if self.may_cost() => ClosureNode::Blocking {
                sleep_us: self.random.pick(&[0, 0, 1, 100]),
                node: Box::new(self.node(budget, depth)),
            },
            9 if self.may_enter() => ClosureNode::Install {
                pool: self.other_pool(),
                node: Box::new(self.node(budget, depth)),
            },
            10 if self.may_enter() => ClosureNode::Root {
                pool: Some(self.other_pool()),
                task: Box::new(self.task(budget, depth)),
            },
            12 | 13 => ClosureNode::Tagged {
                tag: self.random.next(),
                node: Box::new(self.node(budget, depth)),
            },
            14 => self.stoppable(budget, depth),
            15 if self.may_cost() => ClosureNode::Waits {
                by_deadline: self.random.one_in(4),
            },
            // A detached job in a part that may be stopped may be dropped; then nobody hears of it.
            11 if !self.in_job && !self.in_stop && self.may_cost() => {
                self.in_job = true;
                let node = self.node(budget, depth);
                self.in_job = false;
                ClosureNode::Job {
                    priority: self.random.pick(&PRIORITIES),
                    node: Arc::new(node),
                }
            }
            _ => self.bulk(budget),
        }
    }

    fn stoppable(&mut self, budget: u64, depth: u32) -> ClosureNode {
        let after = self.random.below(300) as u32;
        let stop = match self.may_cost() {
            true => self
                .random
                .pick(&[Stop::Never, Stop::Outside, Stop::After(after)]),
            false => self.random.pick(&[Stop::Never, Stop::Before]),
        };
        let before = self.in_stop;
        self.in_stop |= stop != Stop::Never;
        let node = Box::new(self.node(budget, depth));
        self.in_stop = before;
        ClosureNode::Stoppable { stop, node }
    }

    /// A job outlives the program's hold on its pools.
    fn may_enter(&mut self) -> bool {
        self.limits.pools > 0 && !self.in_job && self.may_cost()
    }

    fn counted_loop(&mut self, budget: u64) -> ClosureNode {
        let end = self.random.magnitude(budget.clamp(1, 5000)) as u32;
        let throws = self.limits.throws && self.random.one_in(3);
        ClosureNode::Loop {
            kind: self.random.pick(&[
                LoopKind::For,
                LoopKind::Chunks,
                LoopKind::MapReduce,
                LoopKind::Reduce,
            ]),
            end,
            seed: self.random.next(),
            throw: throws.then(|| (self.random.below(u64::from(end)) as u32, self.id())),
        }
    }

    fn how(&mut self) -> How {
        self.random
            .pick(&[How::Fork, How::Fork, How::Spawn, How::Branch, How::Call])
    }

    fn task(&mut self, budget: u64, depth: u32) -> TaskNode {
        let budget = budget.saturating_sub(1);
        if budget == 0 || depth >= DEPTH_MAX {
            return TaskNode::Tree(self.tree(Vec::new(), None));
        }
        match self.random.below(8) {
            0 => TaskNode::Fib {
                depth: (budget + 1).ilog2().min(24),
                seed: self.random.next(),
                how: self.how(),
            },
            1 => TaskNode::Loop {
                tasks: u32::try_from(budget).unwrap_or(u32::MAX),
                held: self.random.pick(&[1, 2, 64]),
                seed: self.random.next(),
                how: self.how(),
            },
            _ => {
                let count = self.random.between(1, 5) as usize;
                let mut parts = self.parts(budget, count);
                let inner = (self.random.one_in(4)).then(|| {
                    let part = parts.pop().unwrap_or(0);
                    self.node(part, depth + 1)
                });
                let children = parts
                    .into_iter()
                    .map(|part| Child {
                        how: self.how(),
                        fate: self.fate(),
                        tag: self.random.one_in(8).then(|| self.random.next()),
                        node: self.task(part, depth + 1),
                    })
                    .collect();
                TaskNode::Tree(self.tree(children, inner))
            }
        }
    }

    fn fate(&mut self) -> Fate {
        self.random.pick(&[
            Fate::AwaitedAtOnce,
            Fate::AwaitedAtOnce,
            Fate::AwaitedAtTheEnd,
            Fate::AwaitedAtTheEnd,
            Fate::AwaitedAtTheEnd,
            Fate::Dropped,
            Fate::Message,
            Fate::PassedOn,
        ])
    }

    fn tree(&mut self, children: Vec<Child>, inner: Option<ClosureNode>) -> TaskTree {
        let throws = self.limits.throws && self.random.one_in(12);
        let pause = match self.random.below(12) {
            0 => Pause::ByRef,
            1 => Pause::Own,
            2 if self.may_cost() => Pause::Foreign,
            _ => Pause::None,
        };
        TaskTree {
            value: self.random.next(),
            pause,
            inner,
            children,
            throw: throws.then(|| self.id()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every word of the language, as the programs' own text has it.
    const WORDS: [&str; 46] = [
        "Leaf",
        "Throw",
        "Join",
        "Wide",
        "Heap",
        "Scope {",
        "Flat",
        "Cancelled",
        "Cancelling",
        "Loop",
        "Catch",
        "Broadcast {",
        "Blocking",
        "Install",
        "Root",
        "Tagged {",
        "Seen",
        "Stoppable",
        "Never",
        "Before",
        "Outside",
        "After",
        "Waits",
        "Job",
        "InPlace",
        "InPlaceOf",
        "Spawn(",
        "SpawnTagged",
        "Chain(",
        "Here",
        "Foreign(",
        "Broadcast(",
        "MapReduce",
        "kind: Reduce",
        "Chunks",
        "Fib",
        "ByRef",
        "Own",
        "pause: Foreign",
        "Fork",
        "Branch",
        "Call",
        "Dropped",
        "Message",
        "PassedOn",
        "AwaitedAtTheEnd",
    ];

    #[test]
    fn programs_use_every_word_and_follow_from_their_seed() {
        let limits = Limits {
            tasks: 2000,
            pools: 2,
            may_come_back: true,
            resize: None,
            throws: true,
        };
        let text = |seed| format!("{:?}", program(seed, limits));
        assert_eq!(text(1), text(1));
        let all: String = (0..400).map(text).collect();
        for word in WORDS {
            assert!(all.contains(word), "{word}");
        }
    }

    #[test]
    fn nothing_throws_where_nothing_may() {
        let limits = Limits {
            tasks: 500,
            pools: 0,
            may_come_back: true,
            resize: None,
            throws: false,
        };
        for seed in 0..200 {
            let text = format!("{:?}", program(seed, limits));
            assert!(
                !text.contains("Throw(") && !text.contains("Install"),
                "{text}"
            );
        }
    }
}
