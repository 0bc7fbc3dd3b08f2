//! Running one rank's part of a network, from the first word between the ranks to the last.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use roving::Pool;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::Network;
use super::balancer::Balancer;
use super::cut::Resumed;
use super::cut_state::Cuts;
use super::error::{Ended, NetworkError};
use super::joint::Joint;
use super::loads::OwnLoads;
use super::move_state::Moves;
use super::part::{Crossings, NetworkPart};
use super::part_report::{PartReport, sum};
use super::post::Post;
use super::pump::pump;
use super::report::Report;
use super::shape::{Hello, Shape};
use super::state_text::Standstill;
use super::writers::Writers;
use roving_flow::raw;

use crate::checkpoint::{self, Which};
use crate::unwind::{self, lock};
use crate::world::World;
use crate::world::link::Link;

/// How late it is noticed that the ranks are out of reach of each other, that somebody waits for
/// room, or that a process has failed.
const WATCH_EVERY: Duration = Duration::from_millis(10);

/// How the network ended on one rank.
#[derive(Serialize, Deserialize)]
enum Outcome {
    Done(PartReport),
    Ended(Ended),
}

impl<'env> Network<'env> {
    /// Runs this rank's part of the network on this pool, and returns when all processes of all
    /// ranks have ended. A collective call: every rank makes it.
    ///
    /// See [`Network`] for an example.
    ///
    /// # Errors
    /// See [`NetworkError`]. All processes of all ranks have ended then, too, unless ranks are
    /// lost.
    ///
    /// # Panics
    /// With what a task panics with that a process has forked; the other ranks get an error.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// let ranks = World::threads(2, |world| {
    ///     let mut network = Network::new(&world);
    ///     network.process("only", (), async |()| {});
    ///     network.pin("only", 1);
    ///     network.run(&roving::Pool::new(1).unwrap()).unwrap().processes().next().unwrap().rank
    /// });
    /// assert_eq!(ranks, [1, 1]);
    /// ```
    pub fn run(mut self, pool: &Pool) -> Result<Report, NetworkError> {
        let world = self.world;
        let (rank, ranks) = (world.rank(), world.ranks());
        self.check();
        let hello = self.shape.hello(rank, ranks, self.invalid.take());
        let hellos: Vec<Hello> = gather(world, &hello)?;
        self.shape.agree(&hellos)?;
        let (cuts, resumed) = self.open_checkpoints()?;
        // Drops what the program has made for other ranks.
        let split = told(world, "a process of another rank", || {
            let (flow, part) = self.split(cuts);
            if let Some(resumed) = resumed {
                resumed.give(&part);
            }
            (flow, part)
        });
        let (flow, part) = unwind::resumed(split);
        let run = || run_part(world, pool, flow, &part);
        let ran = told(world, "a task of a network", run);
        // Whatever came: who resumes in the same directory must not find them at work.
        if let Some(cuts) = &part.cuts {
            cuts.finish();
        }
        if ran.is_err() {
            world.link().close(part.post.tag());
        }
        let outcome = match (part.post.ended(), unwind::resumed(ran)) {
            (Some(ended), ran) => {
                unwind::drop_quietly(ran);
                Outcome::Ended(ended)
            }
            (None, Ok(report)) => Outcome::Done(PartReport::of(&part, &report)),
            (None, Err(error)) => {
                let ended = Ended::of(rank, error);
                if !world.link().is_faulty() {
                    part.post.stop_all(ended.clone());
                }
                Outcome::Ended(ended)
            }
        };
        // Where ranks are out of reach, processes were dropped for that, and nobody is to take it
        // for a cancellation: one that is lost may hear what the others say.
        let outcomes = match world.link().fault() {
            Some(error) => Err(error.into()),
            None => gather(world, &outcome),
        };
        world.link().close(part.post.tag());
        let mut shares = Vec::new();
        for outcome in outcomes? {
            match outcome {
                Outcome::Done(share) => shares.push(share),
                Outcome::Ended(ended) => return Err(ended.into()),
            }
        }
        // After the end: what is on the disk is not needed any more.
        if let Some(cuts) = &part.cuts {
            checkpoint::close(world, &cuts.files())?;
        }
        Ok(sum(&part, shares))
    }

    /// Finds what the run resumes from, if it has checkpoints and there is something.
    fn open_checkpoints(&self) -> Result<(Option<Cuts>, Option<Resumed>), NetworkError> {
        let Some(checkpoints) = &self.checkpoints else {
            return Ok((None, None));
        };
        let world = self.world;
        let (shape, which) = (&self.shape, Which::All);
        let (plan, loaded) =
            checkpoint::open(world, Some(checkpoints), "network", shape.words(), which)?;
        let resumed = loaded.map(|shares| {
            let (processes, channels) = (shape.processes().len(), shape.channels().len());
            let resumed = Resumed::new(shares, processes, channels);
            let wrong = "the checkpoint has not each process of the network once: remove the \
                         directory to start anew";
            resumed.ok_or_else(|| world.fail(wrong))
        });
        Ok((plan.map(Cuts::new), resumed.transpose()?))
    }

    /// Splits the network: returns the part that runs here, and the state that it needs for the
    /// rest. Processes of other ranks are dropped, and their ends of channels taken over.
    pub(super) fn split(
        self,
        cuts: Option<Cuts>,
    ) -> (roving_flow::Network<'env>, Arc<NetworkPart>) {
        let is_split = self.is_split();
        let Network {
            world,
            mut flow,
            starts,
            mut joints,
            shape,
            slots,
            running,
            channel_limit,
            ..
        } = self;
        let (rank, link) = (world.rank(), world.link());
        let mut locals = Vec::new();
        for (process, start) in (0..).zip(starts) {
            let is_movable = shape.processes()[process as usize].is_movable;
            if is_movable || shape.rank_of(process) == rank {
                locals.push(process);
                start(&mut flow);
            }
        }
        let names = shape.channels().iter().map(|channel| channel.name.clone());
        let mut post = Post::new(link, link.tags(1), flow.canceller(), names.collect());
        if cuts.is_some() {
            post.watch_races(raw::inside(&flow));
        }
        let post = Arc::new(post);
        let crossings = Crossings::new(&mut joints, &shape, &post);
        let part = Arc::new(NetworkPart {
            post,
            inside: raw::inside(&flow),
            live: flow.live(),
            moves: Mutex::new(Moves::new(shape.ranks().to_vec())),
            cuts,
            own_turn: Mutex::new(()),
            slots,
            balancer: Balancer::new(&shape, world.ranks()),
            shape: Arc::new(shape),
            crossings,
            locals,
            channel_limit,
            detective: Mutex::default(),
            growths: Mutex::default(),
            is_at_rest: AtomicBool::new(false),
            may_spin: AtomicBool::new(false),
        });
        if is_split {
            running.begin(&part);
        }
        (flow, part)
    }
}

impl Crossings {
    /// The ends here of channels that lead to other ranks, or may come to.
    fn new(joints: &mut [Box<dyn Joint + '_>], shape: &Shape, post: &Arc<Post>) -> Crossings {
        let rank = post.rank();
        let mut crossings = Crossings {
            outgoing: joints.iter().map(|_| None).collect(),
            incoming: joints.iter().map(|_| None).collect(),
        };
        let can_be_here = |process: Option<u32>| {
            process.is_some_and(|process| {
                shape.rank_of(process) == rank || shape.processes()[process as usize].is_movable
            })
        };
        for (number, joint) in (0..).zip(joints) {
            let Some(way) = shape.way(number) else {
                continue;
            };
            let (at, channel) = (number as usize, &shape.channels()[number as usize]);
            if way.0 == way.1 && !shape.is_split(number) {
                continue;
            }
            if can_be_here(channel.producer) {
                crossings.outgoing[at] = joint.outgoing(number, way, post);
            }
            if can_be_here(channel.consumer) {
                crossings.incoming[at] = joint.incoming(number, way, post);
            }
        }
        crossings
    }
}

/// Calls `f`, which runs code of the program: the other ranks hear of a panic of it.
fn told<V>(world: &World, which: &str, f: impl FnOnce() -> V) -> thread::Result<V> {
    match world.ranks() {
        // Nobody is to be told, and the world stays of use to who catches the panic.
        1 => catch_unwind(AssertUnwindSafe(f)),
        _ => world.link().told(which, f),
    }
}

/// Runs what is here, with all that connects it to the rest.
fn run_part(
    world: &World,
    pool: &Pool,
    mut flow: roving_flow::Network<'_>,
    part: &Arc<NetworkPart>,
) -> Result<roving_flow::Report, roving_flow::Error> {
    if world.ranks() == 1 && part.cuts.is_none() {
        return flow.run(pool);
    }
    // The network keeps this for as long as there is a handle of it, of which the part has some.
    let resting = Arc::downgrade(part);
    raw::at_rest(&mut flow, move || {
        if let Some(part) = resting.upgrade() {
            part.rests();
        }
    });
    raw::beside(&mut flow, pump(Arc::clone(part)));
    let _ended_at_the_end = EndOnDrop(&part.crossings);
    let Crossings { outgoing, incoming } = &part.crossings;
    outgoing
        .iter()
        .flatten()
        .for_each(|one| Arc::clone(one).start());
    incoming
        .iter()
        .flatten()
        .for_each(|one| Arc::clone(one).start());
    let handled = Arc::clone(part);
    world.link().open(part.post.tag(), move |from, bytes| {
        handled.message(from, bytes);
        handled.inside.has_given();
    });
    let ran = watched(world.link(), part, pool.workers(), || flow.run(pool));
    world.link().flush();
    ran
}

/// Ends all channels that leave this rank or come here, by a panic as well: until then they keep
/// themselves.
struct EndOnDrop<'c>(&'c Crossings);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        let Crossings { outgoing, incoming } = self.0;
        outgoing.iter().flatten().for_each(|one| one.end());
        incoming.iter().flatten().for_each(|one| one.close());
    }
}

/// Calls `run`, and meanwhile sees to it that it ends when the ranks are out of reach of each
/// other, that deadlocks are looked for while somebody waits for room, that others hear of a
/// process that fails, and that rank 0 hears what is done.
fn watched<R>(link: &Link, part: &NetworkPart, workers: usize, run: impl FnOnce() -> R) -> R {
    let over = Over::default();
    thread::scope(|scope| {
        let watch = || {
            let mut writers = Writers::new();
            let mut standstill = Standstill::new();
            let mut loads = OwnLoads::new(part, workers);
            let every = loads.as_ref().map_or(WATCH_EVERY, OwnLoads::every);
            while !over.wait(every.min(WATCH_EVERY)) {
                if link.is_faulty() {
                    part.post.cancel();
                }
                part.handle_own();
                part.post.wake_due();
                writers.look(part);
                standstill.look(part);
                part.cut_if_due();
                if let Some(loads) = &mut loads {
                    loads.look(part);
                }
                tell_failure(part);
            }
            part.post.wake_due();
        };
        let watcher = thread::Builder::new().name("roving-watch".into());
        if let Err(error) = watcher.spawn_scoped(scope, watch) {
            link.fail(format_args!("no thread to watch the ranks: {error}"));
            part.post.cancel();
            part.post.wake_due();
        }
        let _told_at_the_end = Tell(&over);
        run()
    })
}

/// When a process here has failed, others of this rank may compute for long before they are
/// dropped: the other ranks need not wait for that.
fn tell_failure(part: &NetworkPart) {
    if part.inside.is_stopped() && part.post.ended().is_none() {
        if let Some(error) = part.inside.failed_so_far() {
            part.post.stop_all(Ended::of(part.post.rank(), error));
        }
    }
}

/// Whether the network has ended here.
#[derive(Default)]
struct Over {
    is_over: Mutex<bool>,
    told: Condvar,
}

impl Over {
    /// Waits for that, at most so long.
    fn wait(&self, most: Duration) -> bool {
        let guard = lock(&self.is_over);
        if *guard {
            return true;
        }
        let waited = self.told.wait_timeout(guard, most);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Says so when it is dropped, by a panic as well.
struct Tell<'o>(&'o Over);

impl Drop for Tell<'_> {
    fn drop(&mut self) {
        *lock(&self.0.is_over) = true;
        self.0.told.notify_all();
    }
}

/// Gives every rank what all say.
fn gather<T: Serialize + DeserializeOwned>(
    world: &World,
    mine: &T,
) -> Result<Vec<T>, NetworkError> {
    let bytes = postcard::to_stdvec(mine);
    let bytes = bytes.map_err(|error| world.fail(format_args!("encoding: {error}")))?;
    let all = world.all_gather(&bytes)?;
    let read = |bytes: &Vec<u8>| {
        let value = postcard::from_bytes(bytes);
        value
            .map_err(|error| world.fail(format_args!("another rank runs another program: {error}")))
    };
    Ok(all.iter().map(read).collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use roving_flow::{In, Out};

    use super::super::message::CutMessage;
    use super::*;
    use crate::checkpoint::Checkpoints;

    /// Runs a network as its ranks do, and waits until nothing is left of the rank's part. With a
    /// process that can move, or none.
    fn run_and_forget(world: &World, can_move: bool) {
        let mut network = Network::new(world);
        let (out, input) = network.bounded("numbers", 2);
        network.source("source", out, 0..20_u32);
        let input = match can_move {
            true => passed_on(&mut network, input),
            false => input,
        };
        network.sink("sink", input, |_| {});
        network.pin("source", 0);
        network.pin("sink", 1);
        network.check();
        let hello = network.shape.hello(world.rank(), world.ranks(), None);
        let hellos = gather(world, &hello).unwrap();
        assert!(network.shape.agree(&hellos).is_ok());
        let (flow, part) = network.split(None);
        run_part(world, &Pool::new(1).unwrap(), flow, &part).unwrap();
        gather(world, &()).unwrap();
        world.link().close(part.post.tag());
        let left = Arc::downgrade(&part);
        let Crossings { outgoing, incoming } = &part.crossings;
        let outgoing: Vec<_> = outgoing.iter().flatten().map(Arc::downgrade).collect();
        let incoming: Vec<_> = incoming.iter().flatten().map(Arc::downgrade).collect();
        assert!(outgoing.len() + incoming.len() > 0);
        drop(part);
        // The handler of its messages is dropped by whoever polls next: by another thread perhaps,
        // which can still be at the ends of channels when the part is out of reach.
        let is_all_gone = || {
            left.strong_count() == 0
                && outgoing.iter().all(|one| one.strong_count() == 0)
                && incoming.iter().all(|one| one.strong_count() == 0)
        };
        let gone = world
            .link()
            .wait(String::new, || is_all_gone().then_some(()));
        gone.unwrap();
    }

    fn passed_on(network: &mut Network<'_>, input: In<u32>) -> In<u32> {
        let (out, passed) = network.bounded("passed", 2);
        network.movable("mover", (input, out), (), async |(), ports| {
            let (mut input, mut out): (In<u32>, Out<u32>) = ports;
            out.send(input.recv().await?).await.ok()?;
            Some(((), (input, out)))
        });
        passed
    }

    #[test]
    fn a_network_that_has_run_leaves_nothing_behind() {
        let (done, is_done) = mpsc::channel();
        thread::spawn(move || {
            for can_move in [false, true] {
                World::threads(2, |world| run_and_forget(&world, can_move));
            }
            let _ = done.send(());
        });
        let ended = is_done.recv_timeout(Duration::from_secs(60));
        assert_eq!(ended, Ok(()), "something keeps it");
    }

    /// The next cut may be due in the moment in which one is over. Whoever begins it must not be
    /// overtaken by the end of the one before, after which processes may move.
    #[test]
    fn no_cut_is_due_before_the_end_of_the_last_one_is_known() {
        let name = format!("roving-due-{}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        World::threads(1, |world| {
            let mut network = Network::new(&world);
            network.checkpoints(Checkpoints::to(&directory).every(Duration::ZERO));
            let (cuts, _) = network.open_checkpoints().unwrap();
            let (_flow, part) = network.split(cuts);
            part.cut_if_due();
            assert!(!part.cuts.as_ref().unwrap().is_due(), "it is being made");
            thread::scope(|scope| {
                let moves = lock(&part.moves);
                let over = scope.spawn(|| part.cutting(0, CutMessage::Over));
                // Time for the other thread to come to the lock.
                for _ in 0..100 {
                    assert!(!part.cuts.as_ref().unwrap().is_due());
                    thread::sleep(Duration::from_millis(1));
                }
                drop(moves);
                over.join().unwrap();
            });
            assert!(part.cuts.as_ref().unwrap().is_due());
        });
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
