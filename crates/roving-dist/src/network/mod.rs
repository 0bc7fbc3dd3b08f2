//! Networks of processes across ranks.
//!
//! Every rank builds the same network; rank 0 says where each process runs; and each rank runs its
//! own processes as a network of `roving-flow`. A channel between two of them is that crate's own.
//! One between ranks is there on both, and what is sent on one is received on the other.

mod balancer;
mod carried;
mod checkpointed;
mod cut;
mod cut_state;
mod deadlock;
mod detective;
mod error;
mod handler;
mod incoming;
mod joint;
mod loads;
mod message;
mod movable;
mod move_state;
mod moves;
mod outgoing;
mod packed;
mod parcel;
mod part;
mod part_report;
mod post;
mod pump;
mod rebalance;
mod report;
mod run;
mod shape;
mod slot;
mod snapshot;
mod sources;
mod stage;
mod state_text;
mod writers;

use std::fmt::{self, Display, Write as _};
use std::sync::Arc;

use roving_flow::raw::{self, Side, each_port};
use roving_flow::{Canceller, In, Out, Placement, Ports};
use serde::{Serialize, de::DeserializeOwned};

pub use carried::MovablePorts;
pub use error::{Blocked, NetworkError};
pub use movable::Mover;
pub use rebalance::Rebalance;
pub use report::{ChannelReport, Growth, Moved, ProcessReport, Report};

use crate::checkpoint::Checkpoints;
use crate::world::World;
use joint::{Joint, JointOf};
use message::CHANNELS_MAX;
use part::RunningPart;
use shape::{Channel, Process, Shape};
use slot::HostSlot;

/// Capacity of a channel for which none is given.
const CAPACITY: usize = 64;
/// The most that a process or a channel may weigh.
const WEIGHT_MAX: u64 = 1 << 40;

/// Gives one process to a rank's part of the network.
type Start<'env> = Box<dyn FnOnce(&mut roving_flow::Network<'env>) + Send + 'env>;

/// A network of processes that talk through channels, across the ranks of a [`World`], while it is
/// built.
///
/// It is built and used as one of [`roving_flow`], by the same program on every rank; tokens are
/// types of `serde`. A process exists on one rank only, so it changes borrowed data on that rank.
///
/// ```
/// use roving_dist::{Network, World};
///
/// let sums = World::threads(2, |world| {
///     let mut sum = 0;
///     let mut network = Network::new(&world);
///     let (out, numbers) = network.channel("numbers");
///     let (squared, squares) = network.channel("squares");
///     network.source("source", out, 1..=5_u32);
///     network.process("square", (numbers, squared), async |(mut numbers, mut squared)| {
///         while let Some(number) = numbers.recv().await {
///             squared.send(number * number).await.unwrap();
///         }
///     });
///     network.sink("sink", squares, |square: u32| sum += square);
///     network.pin("sink", 0);
///     let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
///     assert_eq!(report.channels().map(|channel| channel.messages).sum::<u64>(), 10);
///     sum
/// });
/// assert_eq!(sums, [55, 0]);
/// ```
///
/// # Differences from one rank
///
/// * Every port has to be given to a process, and none captured: a rank could not know otherwise
///   which processes talk to each other.
/// * A process of [`Network::collect_into`] and the like collects on the rank where it runs: pin
///   it.
/// * Borrowed data must be `Send`, as there, and outlive the world's borrow.
pub struct Network<'env> {
    world: &'env World,
    flow: roving_flow::Network<'env>,
    starts: Vec<Start<'env>>,
    joints: Vec<Box<dyn Joint + 'env>>,
    shape: Shape,
    /// Of the processes that can move, ordered by their numbers.
    slots: Vec<(u32, Arc<HostSlot>)>,
    running: RunningPart,
    prefix: String,
    pins: Vec<(String, usize)>,
    weights: Vec<(String, u64)>,
    channel_limit: Option<usize>,
    checkpoints: Option<Checkpoints>,
    invalid: Option<String>,
}

impl<'env> Network<'env> {
    /// Creates an empty network across the ranks of that world.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// let reports = World::threads(3, |world| {
    ///     Network::new(&world).run(&roving::Pool::new(1).unwrap()).unwrap()
    /// });
    /// assert_eq!(reports[2].processes().len(), 0);
    /// ```
    pub fn new(world: &'env World) -> Network<'env> {
        Network {
            world,
            flow: roving_flow::Network::new(),
            starts: Vec::new(),
            joints: Vec::new(),
            shape: Shape::new(Vec::new(), Vec::new()),
            slots: Vec::new(),
            running: RunningPart::default(),
            prefix: String::new(),
            pins: Vec::new(),
            weights: Vec::new(),
            channel_limit: None,
            checkpoints: None,
            invalid: None,
        }
    }

    /// Adds a channel of capacity 64; it grows where the network would deadlock otherwise.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// World::threads(2, |world| {
    ///     let mut network = Network::new(&world);
    ///     let (out, input) = network.channel("letters");
    ///     network.source("source", out, 'a'..='z');
    ///     network.sink("sink", input, |letter| assert!(letter.is_ascii_lowercase()));
    ///     network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// });
    /// ```
    pub fn channel<T>(&mut self, name: impl Display) -> (Out<T>, In<T>)
    where
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        self.bounded(name, CAPACITY)
    }

    /// Adds a channel of the given capacity, counted on the whole way from its producer to its
    /// consumer; it grows where the network would deadlock otherwise.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// World::threads(2, |world| {
    ///     let mut network = Network::new(&world);
    ///     let (out, input) = network.bounded("letters", 1);
    ///     network.source("source", out, 'a'..='z');
    ///     network.sink("sink", input, |letter| assert!(letter.is_ascii_lowercase()));
    ///     network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// });
    /// ```
    pub fn bounded<T>(&mut self, name: impl Display, capacity: usize) -> (Out<T>, In<T>)
    where
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        self.open(name, Some(capacity))
    }

    /// Adds a channel without a bound: a process that sends there never waits.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// World::threads(2, |world| {
    ///     let mut network = Network::new(&world);
    ///     let (out, input) = network.unbounded("letters");
    ///     network.source("source", out, 'a'..='z');
    ///     network.sink("sink", input, |letter| assert!(letter.is_ascii_lowercase()));
    ///     network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// });
    /// ```
    pub fn unbounded<T>(&mut self, name: impl Display) -> (Out<T>, In<T>)
    where
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        self.open(name, None)
    }

    fn open<T>(&mut self, name: impl Display, capacity: Option<usize>) -> (Out<T>, In<T>)
    where
        T: Serialize + DeserializeOwned + Send + 'static,
    {
        let name = format!("{}{name}", self.prefix);
        let (out, input, bridge) = raw::bridged(&mut self.flow, &name, capacity);
        if self.joints.len() == CHANNELS_MAX {
            self.refuse(format!(
                "channel `{name}` is one too many; at most {CHANNELS_MAX} are allowed: make fewer"
            ));
        }
        self.joints.push(Box::new(JointOf {
            bridge,
            second: None,
            capacity,
        }));
        self.shape.add_channel(Channel {
            name,
            token: std::any::type_name::<T>(),
            capacity,
            producer: None,
            consumer: None,
            weight: 1,
            halves: (0, 0),
        });
        (out, input)
    }

    /// Adds a process. `body` gets the ports, and is an `async` closure, or a closure that returns
    /// a future. It is called on the rank where the process runs; on the others, it is dropped.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// World::threads(2, |world| {
    ///     let mut network = Network::new(&world);
    ///     let (out, input) = network.channel("numbers");
    ///     network.source("source", out, [7_u32]);
    ///     network.process("sink", input, async |mut input| {
    ///         assert_eq!(input.recv().await, Some(7));
    ///     });
    ///     network.run(&roving::Pool::new(1).unwrap()).unwrap();
    /// });
    /// ```
    pub fn process<P, F, Fut>(&mut self, name: impl Display, ports: P, body: F)
    where
        P: Ports + Send + 'env,
        F: FnOnce(P) -> Fut + Send + 'env,
        Fut: Future<Output = ()> + Send + 'env,
    {
        let name = self.add_process(name, &ports);
        self.starts
            .push(Box::new(move |flow| flow.process(name, ports, body)));
    }

    /// Adds a process that may fail: an error ends the network on all ranks, as a panic does.
    ///
    /// ```
    /// use roving_dist::{Network, NetworkError, World};
    ///
    /// World::threads(2, |world| {
    ///     let mut network = Network::new(&world);
    ///     let (out, input) = network.channel::<String>("lines");
    ///     network.source("source", out, ["1", "2", "three"].map(String::from));
    ///     network.try_process("parse", input, async |mut input| {
    ///         while let Some(line) = input.recv().await {
    ///             line.parse::<u32>()?;
    ///         }
    ///         Ok::<(), std::num::ParseIntError>(())
    ///     });
    ///     let error = network.run(&roving::Pool::new(1).unwrap()).unwrap_err();
    ///     assert!(matches!(&error, NetworkError::Failed { process, .. } if process == "parse"));
    /// });
    /// ```
    pub fn try_process<P, F, Fut, E>(&mut self, name: impl Display, ports: P, body: F)
    where
        P: Ports + Send + 'env,
        F: FnOnce(P) -> Fut + Send + 'env,
        Fut: Future<Output = Result<(), E>> + Send + 'env,
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'env,
    {
        let name = self.add_process(name, &ports);
        self.starts
            .push(Box::new(move |flow| flow.try_process(name, ports, body)));
    }

    fn add_process(&mut self, name: impl Display, ports: &impl Ports) -> String {
        let name = format!("{}{name}", self.prefix);
        let mut is_strange = false;
        let process = self.shape.add_process(Process {
            name: name.clone(),
            weight: 1,
            pin: None,
            is_movable: false,
        });
        let own = raw::address_of(&self.flow);
        each_port(ports, |channel, side, network| {
            is_strange |= network != own || !self.shape.give_port(channel, side, process);
        });
        if is_strange {
            self.refuse(format!(
                "process `{name}` has a port of another network: give it ports of its own"
            ));
        }
        name
    }

    /// Adds a part of the network: the names of all that `build` adds begin with this name and a
    /// slash.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// World::threads(1, |world| {
    ///     let mut network = Network::new(&world);
    ///     network.group("left", |network| network.process("hand", (), async |()| {}));
    ///     let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
    ///     assert_eq!(report.processes().next().unwrap().name, "left/hand");
    /// });
    /// ```
    pub fn group<R>(&mut self, name: impl Display, build: impl FnOnce(&mut Self) -> R) -> R {
        let outer = self.prefix.len();
        // Writing to a string does not fail, but what is written may say that it does: then the
        // group has that part of its name.
        let _ = write!(self.prefix, "{name}/");
        let result = build(self);
        self.prefix.truncate(outer);
        result
    }

    /// Pins the processes of that name to that rank; in a group, it is a name of the group.
    ///
    /// Ranks beyond the last one are counted from 0 again, so that the same program runs on fewer.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// World::threads(3, |world| {
    ///     let mut network = Network::new(&world);
    ///     network.process("there", (), async |()| {});
    ///     network.pin("there", 2);
    ///     let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
    ///     assert_eq!(report.processes().next().unwrap().rank, 2);
    /// });
    /// ```
    pub fn pin(&mut self, name: impl Display, rank: usize) {
        let name = format!("{}{name}", self.prefix);
        self.pins.push((name, rank % self.world.ranks()));
    }

    /// Sets the weight of the processes of that name when processes are spread over the ranks, by
    /// their time or their work; 1 by default. Each rank gets about as much weight.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// World::threads(2, |world| {
    ///     let mut network = Network::new(&world);
    ///     for name in ["light", "as light", "heavy"] {
    ///         network.process(name, (), async |()| {});
    ///     }
    ///     network.weight("heavy", 2);
    ///     let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
    ///     let ranks: Vec<_> = report.processes().map(|process| process.rank).collect();
    ///     assert!(ranks[0] == ranks[1] && ranks[0] != ranks[2]);
    /// });
    /// ```
    pub fn weight(&mut self, name: impl Display, weight: u64) {
        let name = format!("{}{name}", self.prefix);
        if weight > WEIGHT_MAX {
            self.refuse(format!(
                "process `{name}`: a weight of {weight} is not in 0..={WEIGHT_MAX}: divide all by a \
                 common factor"
            ));
        } else {
            self.weights.push((name, weight));
        }
    }

    /// Spreads the processes by the measurements of an earlier run of the same network: the time of
    /// each process, if it was run with [`Self::accounting`], and the messages of each channel. The
    /// report of rank 0 decides.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// fn build(world: &World) -> Network<'_> {
    ///     let mut network = Network::new(world);
    ///     let (out, input) = network.channel("numbers");
    ///     network.source("source", out, 0..1000_u32);
    ///     network.sink("sink", input, |_| {});
    ///     network
    /// }
    ///
    /// World::threads(2, |world| {
    ///     let pool = roving::Pool::new(1).unwrap();
    ///     let mut first = build(&world);
    ///     first.accounting(true);
    ///     let report = first.run(&pool).unwrap();
    ///     let mut second = build(&world);
    ///     second.measured(&report);
    ///     second.run(&pool).unwrap();
    /// });
    /// ```
    pub fn measured(&mut self, report: &Report) {
        let busy = report.processes().map(|one| Some(one.account?.busy));
        let messages = report.channels().map(|one| one.messages);
        let (busy, messages): (Vec<_>, Vec<_>) = (busy.collect(), messages.collect());
        let reason = self.shape.weigh(&busy, &messages);
        if let Some(reason) = reason {
            self.refuse(reason);
        }
    }

    /// Sets where the processes of a rank run within it: see [`roving_flow::Placement`].
    ///
    /// ```
    /// use roving_dist::{Network, World};
    /// use roving_flow::Placement;
    ///
    /// World::threads(2, |world| {
    ///     let mut network = Network::new(&world);
    ///     network.placement(Placement::adaptive());
    ///     network.process("alone", (), async |()| {});
    ///     network.run(&roving::Pool::new(2).unwrap()).unwrap();
    /// });
    /// ```
    pub fn placement(&mut self, placement: Placement) {
        self.flow.placement(placement);
    }

    /// Sets whether the network counts how long each process runs: see
    /// [`roving_flow::Network::accounting`].
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// World::threads(2, |world| {
    ///     let mut network = Network::new(&world);
    ///     network.accounting(true);
    ///     network.process("alone", (), async |()| {});
    ///     let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
    ///     assert!(report.processes().all(|process| process.account.is_some()));
    /// });
    /// ```
    pub fn accounting(&mut self, on: bool) {
        self.flow.accounting(on);
    }

    /// Sets the largest capacity to which a channel may grow: a deadlock that would take more is an
    /// error. No limit by default.
    ///
    /// ```
    /// use roving_dist::{Network, NetworkError, World};
    ///
    /// World::threads(2, |world| {
    ///     let mut network = Network::new(&world);
    ///     network.channel_limit(8);
    ///     let (mut batch, input) = network.bounded::<u32>("batch", 2);
    ///     let (mut go, may_go) = network.bounded::<()>("go", 1);
    ///     network.process("sender", (batch, go), async |(mut batch, mut go)| {
    ///         for number in 0..40 {
    ///             batch.send(number).await.unwrap();
    ///         }
    ///         go.send(()).await.unwrap();
    ///     });
    ///     network.process("receiver", (input, may_go), async |(mut input, mut may_go)| {
    ///         may_go.recv().await;
    ///         while input.recv().await.is_some() {}
    ///     });
    ///     network.pin("sender", 0);
    ///     network.pin("receiver", 1);
    ///     let error = network.run(&roving::Pool::new(1).unwrap()).unwrap_err();
    ///     assert!(matches!(error, NetworkError::Full { limit: 8, .. }));
    /// });
    /// ```
    pub fn channel_limit(&mut self, messages: usize) {
        self.channel_limit = Some(messages);
        self.flow.channel_limit(messages);
    }

    /// Returns a handle that ends the network on all ranks, from any thread, at any time.
    ///
    /// ```
    /// use roving_dist::{Network, NetworkError, World};
    ///
    /// World::threads(2, |world| {
    ///     let mut network = Network::new(&world);
    ///     let (out, input) = network.channel("numbers");
    ///     network.source("for ever", out, 0_u64..);
    ///     let canceller = network.canceller();
    ///     network.sink("sink", input, move |number| {
    ///         if number == 1000 {
    ///             canceller.cancel();
    ///         }
    ///     });
    ///     network.pin("sink", 1);
    ///     let error = network.run(&roving::Pool::new(2).unwrap()).unwrap_err();
    ///     assert_eq!(error, NetworkError::Cancelled { rank: 1 });
    /// });
    /// ```
    pub fn canceller(&self) -> Canceller {
        self.flow.canceller()
    }

    /// The network cannot be run, for that reason; the first one counts.
    fn refuse(&mut self, reason: String) {
        self.invalid.get_or_insert(reason);
    }

    /// Checks the network when it has been built.
    fn check(&mut self) {
        for (name, rank) in std::mem::take(&mut self.pins) {
            if !self.shape.pin(&name, rank) {
                self.refuse(format!(
                    "process `{name}` is pinned to rank {rank}, but there is none of that name: give \
                     the name of a process"
                ));
            }
        }
        for (name, weight) in std::mem::take(&mut self.weights) {
            if !self.shape.weight(&name, weight) {
                self.refuse(format!(
                    "process `{name}` is to weigh {weight}, but there is none of that name: give the \
                     name of a process"
                ));
            }
        }
        if let (Some(process), Some(_)) = (self.shape.not_movable(), &self.checkpoints) {
            self.refuse(format!(
                "process `{process}` cannot be checkpointed: make it by steps, with `Network::movable`, \
                 or leave the checkpoints out"
            ));
        }
        let held = |(channel, joint): (&Channel, &dyn Joint)| {
            let ends = [
                (channel.producer, Side::Producer, "output"),
                (channel.consumer, Side::Consumer, "input"),
            ];
            let mut loose = ends.into_iter();
            let loose =
                loose.find(|(holder, side, _)| holder.is_none() && !joint.is_gone(*side))?;
            Some((channel.name.clone(), loose.2))
        };
        let joints = self.joints.iter().map(|joint| &**joint as &dyn Joint);
        let loose = self.shape.channels().iter().zip(joints).find_map(held);
        if let Some((name, port)) = loose {
            self.refuse(format!(
                "the {port} of channel `{name}` is given to no process, which across ranks each port has \
                 to be: give it to one, or drop it"
            ));
        }
    }
}

impl fmt::Debug for Network<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Network")
            .field("processes", &self.starts.len())
            .field("channels", &self.joints.len())
            .finish_non_exhaustive()
    }
}
