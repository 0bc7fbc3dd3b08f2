//! The simulated machine: how far its cores are from each other, and what things take on it.

use roving::raw::rules::PATIENCE;

use crate::ModelError;

/// How far two cores are from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Distance {
    Pair,
    Socket,
    Far,
}

/// Which cores are near each other: core i is in pair `i / pair` and in socket `i / socket`.
///
/// ```
/// let two_sockets = roving_model::Topology { pair: 2, socket: 48 };
/// assert_eq!(roving_model::Topology::default().socket, 64);
/// # let _ = two_sockets;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Cores that share their nearest cache; 1 if none do.
    pub pair: u32,
    /// Cores of a socket.
    pub socket: u32,
}

impl Default for Topology {
    /// Single cores, 64 to a socket.
    fn default() -> Topology {
        Topology {
            pair: 1,
            socket: 64,
        }
    }
}

impl Topology {
    pub(super) fn distance(&self, a: u32, b: u32) -> Distance {
        if a / self.pair == b / self.pair {
            Distance::Pair
        } else if a / self.socket == b / self.socket {
            Distance::Socket
        } else {
            Distance::Far
        }
    }
}

/// A time that depends on the distance, in ns.
///
/// ```
/// let claim = roving_model::ByDistance { pair: 40.0, socket: 150.0, far: 400.0 };
/// assert!(claim.pair < claim.far);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ByDistance {
    /// Between cores of a pair.
    pub pair: f64,
    /// Between cores of a socket.
    pub socket: f64,
    /// Between sockets.
    pub far: f64,
}

impl ByDistance {
    pub(super) fn at(&self, distance: Distance) -> f64 {
        match distance {
            Distance::Pair => self.pair,
            Distance::Socket => self.socket,
            Distance::Far => self.far,
        }
    }
}

/// The time of the runtime's own steps, in ns. The default figures are those of a virtual machine
/// with two cores of one socket (AMD EPYC, 2.6 GHz), and guesses for other distances; `roving
/// model` measures those of the machine that it runs on.
///
/// ```
/// use roving_model::Costs;
/// let slow = Costs { wake: 100_000.0, ..Costs::default() };
/// assert!(slow.wake > Costs::default().wake);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Pushing and popping a private task.
    pub join: f64,
    /// Moving the split line: one compare-and-swap.
    pub publish: f64,
    /// Taking back a task that was public.
    pub take_back: f64,
    /// A look at one victim that shows nothing.
    pub look: f64,
    /// The longest pause between two looks.
    pub pause: f64,
    /// From the first fruitless look until a thief asks owners to show more.
    pub ask: f64,
    /// From the first fruitless look until a worker parks.
    pub patience: f64,
    /// From seeing a task until it runs on the thief's core.
    pub claim: ByDistance,
    /// A cache line from one core to the other.
    pub line: ByDistance,
    /// From the end of a stolen task until its owner, which looks for it, goes on.
    pub finish: ByDistance,
    /// Unparking another thread.
    pub unpark: f64,
    /// From that until it runs.
    pub wake: f64,
    /// The time of a core that a task takes which sleeps: to fall asleep, and to go on.
    pub nap: f64,
}

impl Default for Costs {
    fn default() -> Costs {
        Costs {
            join: 2.0,
            publish: 12.0,
            take_back: 12.0,
            look: 4.0,
            pause: 300.0,
            ask: 200.0,
            patience: PATIENCE.as_nanos() as f64,
            claim: ByDistance {
                pair: 150.0,
                socket: 400.0,
                far: 1000.0,
            },
            line: ByDistance {
                pair: 30.0,
                socket: 100.0,
                far: 250.0,
            },
            finish: ByDistance {
                pair: 60.0,
                socket: 200.0,
                far: 500.0,
            },
            unpark: 3000.0,
            wake: 20_000.0,
            nap: 5000.0,
        }
    }
}

impl Costs {
    /// Every figure with its name.
    fn all(&self) -> [(&'static str, f64); 19] {
        [
            ("join", self.join),
            ("publish", self.publish),
            ("take_back", self.take_back),
            ("look", self.look),
            ("pause", self.pause),
            ("ask", self.ask),
            ("patience", self.patience),
            ("claim.pair", self.claim.pair),
            ("claim.socket", self.claim.socket),
            ("claim.far", self.claim.far),
            ("line.pair", self.line.pair),
            ("line.socket", self.line.socket),
            ("line.far", self.line.far),
            ("finish.pair", self.finish.pair),
            ("finish.socket", self.finish.socket),
            ("finish.far", self.finish.far),
            ("unpark", self.unpark),
            ("wake", self.wake),
            ("nap", self.nap),
        ]
    }

    pub(super) fn check(&self) -> Result<(), ModelError> {
        let bad = self
            .all()
            .into_iter()
            .find(|(_, ns)| !(0.0..=1e9).contains(ns));
        match bad {
            None => Ok(()),
            Some((name, ns)) => Err(ModelError::new(
                format!("cost {name}"),
                ns,
                "0 to 1e9 ns",
                "take that of Costs::default()",
            )),
        }
    }
}
