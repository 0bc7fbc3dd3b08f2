//! Random pools for the programs.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

use roving::policy::Amount;
use roving::policy::SpawnOrder;
use roving::{Arena, BuildError, Dropped, Pool, PoolBuilder, Priority};

use super::parallel::Thrown;
use crate::census::Census;
use crate::dog::State;
use crate::random::SplitMix;

/// Native stack of a worker: programs are nested, and debug builds have large frames.
const STACK: usize = 16 << 20;

/// Whose threads the workers of the first pool are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    Pools,
    /// Started by us.
    Ours,
    /// Of an arena with so many, whose shares all pools of the round are.
    Arena(usize),
    /// Nobody's: who calls is the worker.
    InPlace,
    /// Caller-runs, with a schedule from the seed.
    Drawn(u64),
}

impl Threads {
    /// Who calls is the worker.
    pub(crate) fn is_nobodys(self) -> bool {
        matches!(self, Threads::InPlace | Threads::Drawn(_))
    }
}

/// The pools of a round: the first, in which programs begin, and others.
#[derive(Clone, Debug)]
pub(crate) struct RoundSetup {
    pub(crate) workers: usize,
    pub(crate) amount: Amount,
    order: SpawnOrder,
    pub(crate) migrate: bool,
    /// Slots of a task stack; `None` for as many as usual.
    slots: Option<usize>,
    profile: bool,
    pub(crate) threads: Threads,
    pub(crate) others: Vec<usize>,
    /// The first pool starts with fewer workers than it can have, and is resized over and over.
    pub(crate) resizes: bool,
    priority: Priority,
}

impl RoundSetup {
    pub(crate) fn random(random: &mut SplitMix) -> RoundSetup {
        let threads = match random.below(16) {
            0 => Threads::InPlace,
            1 => Threads::Ours,
            2 | 3 => Threads::Drawn(random.next()),
            4..=7 => Threads::Arena(random.between(1, 4) as usize),
            _ => Threads::Pools,
        };
        let workers = match threads {
            Threads::InPlace => 1,
            _ => random.between(1, 8) as usize,
        };
        let resizes = !threads.is_nobodys() && threads != Threads::Ours && random.one_in(4);
        let others = random.pick(&[0, 0, 1, 2]);
        let fixed = random.between(1, 8) as usize;
        RoundSetup {
            workers,
            amount: random.pick(&[Amount::One, Amount::One, Amount::Fixed(fixed), Amount::Half]),
            order: random.pick(&[
                SpawnOrder::Adaptive,
                SpawnOrder::WorkFirst,
                SpawnOrder::HelpFirst,
            ]),
            migrate: random.one_in(12),
            slots: random.one_in(3).then(|| random.pick(&[1, 2, 3, 8, 64])),
            profile: random.one_in(4),
            threads,
            resizes,
            priority: random.pick(&[Priority::Low, Priority::Normal, Priority::High]),
            others: (0..others).map(|_| random.between(1, 3) as usize).collect(),
        }
    }

    /// The most tasks of a program: migrating parents make everything slow, and so do seeded
    /// schedules, the more the larger the program.
    pub(crate) fn tasks_max(&self) -> u64 {
        match (self.migrate, self.threads) {
            (true, _) => 500,
            (_, Threads::Drawn(_)) => 3000,
            _ => u64::MAX,
        }
    }

    /// How many workers each pool has.
    pub(crate) fn all_workers(&self) -> Vec<usize> {
        let first = std::iter::once(self.workers);
        first.chain(self.others.iter().copied()).collect()
    }

    fn builder(&self, workers: usize, arena: Option<&Arena>) -> PoolBuilder {
        let builder = match arena {
            Some(arena) => arena
                .pool()
                .priority(self.priority)
                .panic_handler(job_panicked),
            None => RoundPools::builder(),
        };
        let builder = builder
            .workers(workers)
            .steal(self.amount)
            .spawn_order(self.order)
            .profile(self.profile);
        let builder = match self.slots {
            Some(slots) => builder.task_slots(slots),
            None => builder,
        };
        match self.migrate {
            true => builder.migrate_at_each_fork(),
            false => builder,
        }
    }

    pub(crate) fn build(&self) -> Result<RoundPools, BuildError> {
        let mut threads = Vec::new();
        let arena = match self.threads {
            Threads::Arena(threads) => Some(RoundPools::arena(threads)?),
            _ => None,
        };
        let arena = arena.as_ref();
        let first = match self.resizes {
            true => self.builder(1, arena).workers_max(self.workers),
            false => self.builder(self.workers, arena),
        };
        let first = match self.threads {
            Threads::Pools | Threads::Arena(_) => first.build()?,
            Threads::InPlace => first.caller_runs().build()?,
            Threads::Drawn(seed) => first.deterministic(seed).keep_seed_quiet().build()?,
            Threads::Ours => first.build_with(|worker| {
                let thread = Builder::new().name("torture-ours".to_owned());
                threads.push(thread.stack_size(STACK).spawn(move || worker.run())?);
                Ok(())
            })?,
        };
        let mut all = vec![first];
        for workers in &self.others {
            all.push(self.builder(*workers, arena).build()?);
        }
        Ok(RoundPools {
            all,
            threads,
            in_place: self.threads.is_nobodys(),
        })
    }
}

impl fmt::Display for RoundSetup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} workers that steal {}, {}",
            self.workers, self.amount, self.order
        )?;
        if let Some(slots) = self.slots {
            write!(f, ", {slots} slots")?;
        }
        for (is_so, what) in [
            (self.resizes, ", resized"),
            (self.migrate, ", parents migrate at each fork"),
            (self.profile, ", profiled"),
            (self.threads == Threads::Ours, ", on threads of ours"),
            (self.threads == Threads::InPlace, ", in place"),
            (matches!(self.threads, Threads::Drawn(_)), ", by a seed"),
        ] {
            if is_so {
                f.write_str(what)?;
            }
        }
        if let Threads::Arena(threads) = self.threads {
            let priority = self.priority;
            write!(f, ", shares of {threads} threads, of class {priority:?}")?;
        }
        match self.others.is_empty() {
            true => Ok(()),
            false => write!(f, "; other pools: {:?} workers", self.others),
        }
    }
}

/// The pools of a round, once they run.
pub(crate) struct RoundPools {
    pub(crate) all: Vec<Pool>,
    threads: Vec<JoinHandle<()>>,
    in_place: bool,
}

impl RoundPools {
    /// Of a pool whose detached jobs may panic, and whose tasks may be nested as deep as programs
    /// are.
    pub(crate) fn builder() -> PoolBuilder {
        Pool::builder()
            .name("torture")
            .stack_size(STACK)
            .panic_handler(job_panicked)
    }

    /// The handle need not be kept: the arena lives as long as its shares.
    pub(crate) fn arena(threads: usize) -> Result<Arena, BuildError> {
        let builder = Arena::builder().threads(threads).name("torture");
        builder.stack_size(STACK).build()
    }

    #[cfg(target_os = "linux")]
    pub(crate) fn of(pool: Pool) -> RoundPools {
        RoundPools {
            all: vec![pool],
            threads: Vec::new(),
            in_place: false,
        }
    }

    /// Ends them at once, each with detached jobs that may not have begun. An error if one of these
    /// is neither run nor counted as dropped.
    pub(crate) fn end_now(self, census: &'static Census) -> Result<(), String> {
        const JOBS: u64 = 20;
        let ours = !self.threads.is_empty();
        let first = self.all.len() - 1;
        // The first comes last: where its threads are ours, they are joined afterwards.
        for (number, pool) in self.all.into_iter().rev().enumerate() {
            census.reset();
            for _ in 0..JOBS {
                let (owned, next) = (census.one(), census.one());
                pool.spawn(move || {
                    census.ran(1);
                    drop(owned);
                    roving::spawn(move || {
                        census.ran(1);
                        drop(next);
                    });
                });
            }
            let dropped = pool.shutdown_now();
            if !(ours && number == first) {
                check_dropped(census, dropped)?;
            }
        }
        for thread in self.threads {
            // The pool catches what its tasks panic with.
            let _ = thread.join();
        }
        census.counts().complaint().map_or(Ok(()), Err)
    }

    /// Ends them; returns when all threads have ended.
    pub(crate) fn end(self) {
        drop(self.all);
        for thread in self.threads {
            // The pool catches what its tasks panic with.
            let _ = thread.join();
        }
    }
}

/// Checks that every task that was made has run, or was counted as dropped; a job that is dropped
/// takes its next one with it.
fn check_dropped(census: &Census, dropped: Dropped) -> Result<(), String> {
    if !dropped.is_final() {
        return Err("a pool that nobody else has was not ended by shutdown_now".to_owned());
    }
    let (counts, tasks) = (census.counts(), dropped.tasks() as u64);
    if let Some(text) = counts.complaint() {
        return Err(format!("after shutdown_now: {text}"));
    }
    // A first job that is dropped is one task and two values; a second one is one of each.
    let (least, most) = (counts.ran + tasks, counts.ran + 2 * tasks);
    match (least..=most).contains(&counts.made) {
        true => Ok(()),
        false => Err(format!(
            "of {} jobs {} ran and {tasks} were dropped, says shutdown_now",
            counts.made, counts.ran
        )),
    }
}

/// Records the panic of a program's detached job.
fn job_panicked(payload: Box<dyn Any + Send>) {
    match payload.downcast::<Thrown>() {
        Ok(thrown) => {
            let (census, id) = (thrown.census(), thrown.id);
            drop(thrown);
            census.job_ended(Err(id));
        }
        // Nobody waits for it, and so nothing hides it.
        Err(_) => {
            eprintln!("a detached job panicked with something that no program throws");
            std::process::abort();
        }
    }
}

impl RoundPools {
    pub(crate) fn in_place(&self) -> bool {
        self.in_place
    }

    /// Returns a closure that describes the workers' counts at a later time, for the report of a
    /// hang; empty once the pools are gone.
    pub(crate) fn told_later(self: &Arc<Self>) -> State {
        let weak = Arc::downgrade(self);
        Arc::new(move || {
            let pools = weak.upgrade();
            pools.map_or_else(String::new, |pools| pools.state())
        })
    }

    fn state(&self) -> String {
        let mut text = String::new();
        for (number, pool) in self.all.iter().enumerate() {
            for (index, worker) in pool.profile().workers.iter().enumerate() {
                text.push_str(&format!(
                    "pool {number} worker {index}: {:?}\n",
                    worker.counters
                ));
            }
        }
        text
    }
}
