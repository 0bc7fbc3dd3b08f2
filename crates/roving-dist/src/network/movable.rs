//! Processes that may move from rank to rank, as their authors and their ranks see them.

use std::fmt::Display;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use serde::{Serialize, de::DeserializeOwned};

use super::Network;
use super::carried::{MovablePorts, STRANGE_PORTS, Shelf, place_of};
use super::part::RunningPart;
use super::rebalance::Rebalance;
use super::slot::{Coming, HostEvent, HostSlot, LEAVE, RECORD, ResumedProcess};

impl<'env> Network<'env> {
    /// A process that may move to another rank while the network runs: see [`Network::mover`] and
    /// [`Network::rebalance`].
    ///
    /// It is written as a `step` that is called again and again with the state and the ports. It
    /// returns both if it goes on, and `None` when the process has ended. Between two steps the
    /// process may move: its state is written with `serde`, and what lies in its channels goes with
    /// it. In a step it does not move, so a step should receive or send a few messages only.
    /// Whatever `step` captures stays, and each rank has its own.
    ///
    /// Ports may change places between two steps, and be dropped. Those that are not are returned.
    /// Messages between the process and others are written as bytes also where both are on one
    /// rank, which is slower.
    ///
    /// # Errors
    /// Of the run: [`NetworkError::Panicked`](crate::NetworkError::Panicked) if the process moves,
    /// and its state cannot be written or read, or it has kept a port that it did not return.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// let got = World::threads(2, |world| {
    ///     let mut got = Vec::new();
    ///     let mut network = Network::new(&world);
    ///     let (out, numbers) = network.channel("numbers");
    ///     let (summed, sums) = network.channel("sums");
    ///     network.source("source", out, 1..=100_u64);
    ///     network.movable("sum", (numbers, summed), 0, async |sum, (mut numbers, mut summed)| {
    ///         let sum: u64 = sum + numbers.recv().await?;
    ///         summed.send(sum).await.ok()?;
    ///         Some((sum, (numbers, summed)))
    ///     });
    ///     let (mover, into) = (network.mover(), &mut got);
    ///     network.process("sink", sums, async move |mut sums| {
    ///         while let Some(sum) = sums.recv().await {
    ///             mover.move_to("sum", sum as usize % 2); // there and back
    ///             into.push(sum);
    ///         }
    ///     });
    ///     network.pin("sink", 0);
    ///     network.run(&roving::Pool::new(1).unwrap()).unwrap();
    ///     got
    /// });
    /// assert!(got[0].iter().copied().eq((1..=100).map(|n| n * (n + 1) / 2)));
    /// ```
    pub fn movable<P, S, F, Fut>(&mut self, name: impl Display, mut ports: P, state: S, step: F)
    where
        P: MovablePorts + Send + 'env,
        S: Serialize + DeserializeOwned + Send + 'static,
        F: FnMut(S, P) -> Fut + Send + 'env,
        Fut: Future<Output = Option<(S, P)>> + Send + 'env,
    {
        let host = Host {
            process: self.shape.processes().len() as u32,
            rank: self.world.rank(),
            slot: Arc::default(),
            running: self.running.clone(),
        };
        let name = self.add_process(name, &ports);
        self.shape.set_movable(host.process);
        self.slots.push((host.process, Arc::clone(&host.slot)));
        // One that is refused does not run.
        if self.is_split() && self.invalid.is_none() {
            ports = self.split_channels(ports);
        }
        self.starts.push(Box::new(move |flow| {
            flow.process(name, ports, move |ports| host.run(ports, state, step));
        }));
    }

    /// Puts a rank's border into each of these channels.
    fn split_channels<P: MovablePorts>(&mut self, ports: P) -> P {
        let mut shelf = Shelf::of(&ports);
        shelf
            .fill(ports)
            .unwrap_or_else(|_| unreachable!("it was made for these"));
        let mut keys: Vec<_> = shelf.ports.keys().copied().collect();
        // In an order that is the same on every rank.
        keys.sort_unstable();
        for key in keys {
            let channel = self.shape.at(place_of(key));
            let port = shelf.ports.get_mut(&key);
            let (Some(channel), Some(port)) = (channel, port) else {
                continue;
            };
            let name = self.shape.channel(channel).to_owned();
            let split = self.joints[channel as usize].split(&mut self.flow, &name, &mut **port);
            if let Some(side) = split {
                self.shape.split(channel, side);
            }
        }
        P::take_back(&mut shelf)
            .unwrap_or_else(|| unreachable!("they were put there in this order"))
    }

    /// Returns a handle that moves movable processes while the network runs, for any thread of any
    /// rank.
    ///
    /// ```
    /// roving_dist::World::threads(2, |world| {
    ///     let network = roving_dist::Network::new(&world);
    ///     let mover = network.mover();
    ///     assert!(!mover.move_to("nobody", 1)); // the network does not run
    /// });
    /// ```
    pub fn mover(&self) -> Mover {
        Mover {
            running: self.running.clone(),
        }
    }

    /// Lets movable processes move to other ranks while the network runs, so that all ranks have
    /// about equal load and few messages are sent between them (Devine et al.). Processes that are
    /// [pinned](Self::pin) stay; and [`Mover::move_to`](crate::Mover::move_to) goes on to work.
    /// Every rank calls it alike, or none.
    ///
    /// The time of processes is estimated by timing some of their polls. Ranks are taken to be
    /// alike. [`Report::moves`](crate::Report::moves) says what has moved.
    ///
    /// ```
    /// use roving_dist::{Network, Rebalance, World};
    ///
    /// let sums = World::threads(2, |world| {
    ///     let mut sum = 0;
    ///     let mut network = Network::new(&world);
    ///     let (out, mut last) = network.channel("numbers");
    ///     network.source("source", out, 1..=100_u64);
    ///     for stage in 0..4 {
    ///         let (out, next) = network.channel(format_args!("after {stage}"));
    ///         network.movable(stage, (last, out), 0_u64, async |count, (mut input, mut out)| {
    ///             let number: u64 = input.recv().await?;
    ///             out.send(number + count).await.ok()?;
    ///             Some((count + 1, (input, out)))
    ///         });
    ///         last = next;
    ///     }
    ///     network.sink("sink", last, |number| sum += number);
    ///     network.pin("sink", 0);
    ///     network.rebalance(Rebalance::default());
    ///     let report = network.run(&roving::Pool::new(1).unwrap()).unwrap();
    ///     for moved in &report.moves {
    ///         println!("{moved:?}");
    ///     }
    ///     sum
    /// });
    /// assert_eq!(sums[0], 5050 + 4 * 4950);
    /// ```
    ///
    /// # Errors
    /// Of the run: [`NetworkError::Invalid`](crate::NetworkError::Invalid) if a figure is out of
    /// range, or ranks differ in it.
    pub fn rebalance(&mut self, rebalance: Rebalance) {
        if let Err(message) = rebalance.check() {
            self.refuse(message);
        }
        roving_flow::raw::metered(&mut self.flow);
        self.shape.set_rebalance(rebalance);
    }
}

/// A handle that moves movable processes: see [`Network::mover`].
///
/// ```
/// use roving_dist::{Network, World};
///
/// let reports = World::threads(2, |world| {
///     let mut network = Network::new(&world);
///     let (out, numbers) = network.channel("numbers");
///     network.source("source", out, 1..=100_u32);
///     let mover = network.mover();
///     network.movable("sum", numbers, 0_u32, move |sum, mut numbers| {
///         mover.move_to("sum", 1); // after this step
///         async move { Some((sum + numbers.recv().await?, numbers)) }
///     });
///     network.pin("sum", 0);
///     network.run(&roving::Pool::new(1).unwrap()).unwrap()
/// });
/// assert!(reports[0].moves.len() <= 1);
/// ```
#[derive(Clone)]
pub struct Mover {
    running: RunningPart,
}

impl Mover {
    /// Asks for the movable processes of that name to be on that rank, and returns at once; the
    /// last request counts. In a group, the name begins with the group's. Ranks beyond the last one
    /// are counted from 0 again.
    ///
    /// A process moves when its step has ended: never, if it waits in a step for ever. False when
    /// no network runs or there is no such process, or one rank only.
    ///
    /// ```
    /// use roving_dist::{Network, World};
    ///
    /// let reports = World::threads(2, |world| {
    ///     let mut network = Network::new(&world);
    ///     let (out, numbers) = network.channel("numbers");
    ///     network.source("source", out, 1..=100_u32);
    ///     let mover = network.mover();
    ///     network.movable("sum", numbers, 0_u32, move |sum, mut numbers| {
    ///         mover.move_to("sum", 1); // after this step
    ///         async move { Some((sum + numbers.recv().await?, numbers)) }
    ///     });
    ///     network.pin("sum", 0);
    ///     network.run(&roving::Pool::new(1).unwrap()).unwrap()
    /// });
    /// assert!(reports[0].processes().nth(1).is_some_and(|sum| sum.moves <= 1));
    /// ```
    pub fn move_to(&self, name: &str, rank: usize) -> bool {
        self.running
            .part()
            .is_some_and(|part| part.want(name, rank))
    }
}

/// Prints what the rank waits for, while the network runs.
impl std::fmt::Debug for Mover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.running.part() {
            Some(part) => f.write_str(&part.told()?),
            None => f.write_str("no network runs here"),
        }
    }
}

/// The process that a rank runs for a movable one, whether that is here or not.
struct Host {
    process: u32,
    rank: usize,
    slot: Arc<HostSlot>,
    running: RunningPart,
}

impl Host {
    async fn run<P, S, F, Fut>(self, ports: P, state: S, mut step: F)
    where
        P: MovablePorts,
        S: Serialize + DeserializeOwned,
        F: FnMut(S, P) -> Fut,
        Fut: Future<Output = Option<(S, P)>>,
    {
        let is_here = match self.running.part() {
            None => true,
            // Where it is at first: it can have moved here before this host was polled.
            Some(part) => part.shape.rank_of(self.process) == self.rank,
        };
        let mut shelf = Shelf::of(&ports);
        let mut here = None;
        match (is_here, self.slot.take_resumed()) {
            (true, None) => here = Some((state, ports)),
            (true, Some(ResumedProcess::Between(coming))) => {
                lay_aside(ports, &mut shelf);
                here = Some(begin(coming, &mut shelf));
            }
            (true, Some(ResumedProcess::Ended)) => {
                drop((ports, step));
                return self.ended().await;
            }
            (false, _) => lay_aside(ports, &mut shelf),
        }
        loop {
            let (state, ports): (S, P) = match here.take() {
                Some(here) => here,
                None => match self.slot.event().await {
                    HostEvent::Begin(coming) => begin(coming, &mut shelf),
                    HostEvent::Retire => return,
                    HostEvent::Go { .. } | HostEvent::Stay | HostEvent::Record => continue,
                },
            };
            // As it is now, it may be without what it had other tasks do.
            unless_cancelled().await;
            let asked = self.slot.take_asked();
            if asked != 0 {
                self.has_left().await;
                let ports = match asked & RECORD {
                    0 => ports,
                    _ => self.record(&state, ports, &mut shelf),
                };
                here = match asked & LEAVE {
                    0 => Some((state, ports)),
                    _ => self.stop(state, ports, &mut shelf).await,
                };
                continue;
            }
            here = step(state, ports).await;
            if here.is_none() {
                unless_cancelled().await;
                drop(step);
                return self.ended().await;
            }
        }
    }

    /// It is between two steps. Waits until all that it has sent has left this rank: another thread
    /// may be at it.
    async fn has_left(&self) {
        poll_fn(|context| match self.running.part() {
            Some(part) => part.poll_left(self.process, context),
            None => Poll::Ready(()),
        })
        .await;
    }

    /// It has ended. Stays until all know, so that this rank's network runs for as long as there is
    /// anything to move.
    async fn ended(&self) {
        let Some(part) = self.running.part() else {
            return;
        };
        part.done(self.process);
        drop(part);
        while !matches!(self.slot.event().await, HostEvent::Retire) {}
    }

    /// It is between two steps, and was asked to be recorded in a checkpoint. Gives its ports back.
    fn record<S, P>(&self, state: &S, ports: P, shelf: &mut Shelf) -> P
    where
        S: Serialize,
        P: MovablePorts,
    {
        let Some(part) = self.running.part() else {
            return ports;
        };
        let Some(number) = part.cut_without(self.process) else {
            return ports;
        };
        let state = write(state);
        lay_aside(ports, shelf);
        if let Err(complaint) = part.record(self.process, number, state, shelf) {
            panic!("{complaint}");
        }
        P::take_back(shelf).unwrap_or_else(|| unreachable!("they were put there in this order"))
    }

    /// It was asked to stop. Gives state and ports back if it stays.
    async fn stop<S, P>(&self, state: S, mut ports: P, shelf: &mut Shelf) -> Option<(S, P)>
    where
        S: Serialize,
        P: MovablePorts,
    {
        let Some(part) = self.running.part() else {
            return Some((state, ports));
        };
        part.stopped(self.process);
        // Else the part could not end before this process.
        drop(part);
        let (to, number) = loop {
            match self.slot.event().await {
                HostEvent::Go { to, number } => break (to, number),
                HostEvent::Record => ports = self.record(&state, ports, shelf),
                HostEvent::Begin(_) | HostEvent::Stay | HostEvent::Retire => {
                    return Some((state, ports));
                }
            }
        };
        let state = write(&state);
        let part = self.running.part()?;
        lay_aside(ports, shelf);
        match part.pack(self.process, number, state, shelf) {
            Ok(parcel) => part.send_parcel(to, parcel),
            Err(complaint) => panic!("{complaint}"),
        }
        None
    }
}

/// Waits for the end, where the run was cancelled by a token or its pool: then scopes have dropped
/// tasks and loops have ended early, so neither the state nor the end of a process counts. A run
/// that was cancelled stays so.
async fn unless_cancelled() {
    if roving::is_cancelled() {
        std::future::pending().await
    }
}

/// Puts the ports of the process onto its shelf.
fn lay_aside(ports: impl MovablePorts, shelf: &mut Shelf) {
    if let Err(complaint) = shelf.fill(ports) {
        panic!("{complaint}");
    }
}

/// The bytes of a state.
fn write<S: Serialize>(state: &S) -> Vec<u8> {
    postcard::to_stdvec(state)
        .unwrap_or_else(|error| panic!("its state cannot be written as bytes: {error}"))
}

/// The process is here: its state, and the ports that it still has.
fn begin<S: DeserializeOwned, P: MovablePorts>(coming: Coming, shelf: &mut Shelf) -> (S, P) {
    let state = read(&coming.state);
    shelf.layout = coming.layout.into();
    let Some(ports) = P::take_back(shelf) else {
        panic!("{STRANGE_PORTS}");
    };
    // It has dropped them elsewhere.
    shelf.ports.clear();
    (state, ports)
}

fn read<S: DeserializeOwned>(bytes: &[u8]) -> S {
    match postcard::take_from_bytes(bytes) {
        Ok((state, [])) => state,
        Ok((_, rest)) => panic!(
            "its state is read in another way than it was written: {} bytes are left",
            rest.len()
        ),
        Err(error) => panic!("its state is read in another way than it was written: {error}"),
    }
}
