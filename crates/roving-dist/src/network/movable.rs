//! Processes that may move from rank to rank, as their authors and their ranks see them.

use std::fmt::Display;
use std::sync::Arc;

use roving_flow::bridge::{Side, each_port};
use serde::{Serialize, de::DeserializeOwned};

use super::Network;
use super::carried::MovablePorts;
use super::slot::{Event, Running, Slot};

impl<'env> Network<'env> {
    /// A process that may move to another rank while the network runs: see [`Network::mover`] and
    /// [`Network::rebalance`].
    ///
    /// It is written as a `step` that is called again and again with the state and the ports. It returns both if it goes
    /// on, and `None` when the process has ended. Between two steps the process may move: its state is written with
    /// `serde`, and what lies in its channels goes with it. In a step it does not move, so a step should
    /// receive or send a few messages only. Whatever `step` captures stays, and each rank has its own.
    ///
    /// A port that the process has dropped is closed wherever it moves, though it is there again. Messages between the process
    /// and others are written as bytes also where both are on one rank, which is slower.
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
    ///     let mover = network.mover();
    ///     network.process("sink", sums, async |mut sums| {
    ///         while let Some(sum) = sums.recv().await {
    ///             mover.move_to("sum", sum as usize % 2); // there and back
    ///             got.push(sum);
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
        if self.world.ranks() > 1 {
            self.split_channels(&mut ports);
        }
        self.starts.push(Box::new(move |flow| {
            flow.process(name, ports, move |ports| host.run(ports, state, step));
        }));
    }

    /// Puts a rank's border into each of these channels.
    fn split_channels(&mut self, ports: &mut impl MovablePorts) {
        let mut places = Vec::new();
        each_port(ports, |place, _| places.push(place));
        let mut places = places.into_iter();
        ports.each(&mut |port| {
            let channel = places.next().and_then(|place| self.shape.at(place));
            let Some(channel) = channel else { return };
            let name = self.shape.channel(channel).to_owned();
            let split = self.joints[channel as usize].split(&mut self.flow, &name, port);
            if let Some(side) = split {
                self.shape.split(channel, side);
            }
        });
    }

    /// A handle that has movable processes moved, and may be used by any thread of any rank, while the network runs.
    ///
    /// See [`Network::movable`] for an example.
    pub fn mover(&self) -> Mover {
        Mover {
            running: self.running.clone(),
        }
    }
}

/// Has movable processes moved: see [`Network::mover`].
#[derive(Clone)]
pub struct Mover {
    running: Running,
}

impl Mover {
    /// Asks for the movable processes of that name to be on that rank, and returns at once; the last request counts. In a
    /// group, the name begins with the group's. Ranks beyond the last one are counted from 0 again.
    ///
    /// A process moves when its step has ended: never, if it waits in a step for ever. False when no network runs or there is no such
    /// process, or one rank only.
    ///
    /// See [`Network::movable`] for an example.
    pub fn move_to(&self, name: &str, rank: usize) -> bool {
        self.running
            .part()
            .is_some_and(|part| part.want(name, rank))
    }
}

impl std::fmt::Debug for Mover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mover").finish_non_exhaustive()
    }
}

/// The process that a rank runs for a movable one, whether that is here or not.
struct Host {
    process: u32,
    rank: usize,
    slot: Arc<Slot>,
    running: Running,
}

impl Host {
    async fn run<P, S, F, Fut>(self, mut ports: P, state: S, mut step: F)
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
        let mut state = is_here.then_some(state);
        loop {
            let now = match state.take() {
                Some(now) => now,
                None => match self.slot.event().await {
                    Event::Begin(bytes) => read(&bytes),
                    Event::Retire => return,
                    Event::Go { .. } | Event::Stay => continue,
                },
            };
            if self.slot.take_asked() {
                state = self.stop(now, &mut ports).await;
                continue;
            }
            let Some((next, again)) = step(now, ports).await else {
                return self.ended().await;
            };
            (state, ports) = (Some(next), again);
        }
    }

    /// It has ended. Stays until all know, so that this rank's network runs for as long as there is anything to move.
    async fn ended(&self) {
        let Some(part) = self.running.part() else {
            return;
        };
        part.done(self.process);
        drop(part);
        while !matches!(self.slot.event().await, Event::Retire) {}
    }

    /// It was asked to stop. Gives the state back if it stays.
    async fn stop<S: Serialize>(&self, state: S, ports: &mut impl MovablePorts) -> Option<S> {
        let Some(part) = self.running.part() else {
            return Some(state);
        };
        part.stopped(self.process);
        // Else the part could not end before this process.
        drop(part);
        let Event::Go { to, number } = self.slot.event().await else {
            return Some(state);
        };
        let state = postcard::to_stdvec(&state)
            .unwrap_or_else(|error| panic!("its state cannot be written as bytes: {error}"));
        let part = self.running.part()?;
        let mut parcel = part.pack(self.process, number, state);
        let mut places = Vec::new();
        each_port(ports, |place, side| places.push((place, side)));
        let mut places = places.into_iter();
        ports.each(&mut |port| match places.next() {
            Some((place, Side::Consumer)) => part.pack_input(&mut parcel, place, port),
            Some((place, Side::Producer)) => part.pack_output(&mut parcel, place, port),
            None => {}
        });
        part.pack_rest(&mut parcel);
        part.send_parcel(to, parcel);
        None
    }
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
