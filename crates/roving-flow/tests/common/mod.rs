//! Random networks with a sequential reference.
//!
//! Each process runs a script of receives and sends, and keeps a digest of what it has received.
//! The reference runs the same scripts one after the other with channels without bound: by Kahn's
//! theorem every run must come to the same digests, and whoever is stuck there is stuck in every
//! run.

use std::collections::VecDeque;
use std::io::Write as _;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use roving::Pool;
use roving_flow::{Error, In, Network, Out, Report};

/// A random number generator (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Less than `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }
}

fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// One step of a script. Ports by number within the process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Op {
    Receive(usize),
    Send(usize),
    DropIn(usize),
    DropOut(usize),
    Panic,
}

/// A network of scripts.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Capacity, producer, consumer.
    pub(crate) channels: Vec<(usize, usize, usize)>,
    pub(crate) scripts: Vec<Vec<Op>>,
}

/// The expected outcome of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Outcome {
    pub(crate) digests: Vec<u64>,
    /// Processes that wait for ever.
    pub(crate) stuck: Vec<usize>,
}

impl Plan {
    /// Capacities of 1 to 3. Half of the plans come from a trace that ran to its end, so that they
    /// can; in the other half something is changed.
    pub(crate) fn random(random: &mut Random) -> Plan {
        let processes = 2 + random.below(7);
        let channels: Vec<_> = (0..1 + random.below(2 * processes))
            .map(|_| {
                (
                    1 + random.below(3),
                    random.below(processes),
                    random.below(processes),
                )
            })
            .collect();
        let mut plan = Plan {
            channels,
            scripts: vec![Vec::new(); processes],
        };
        let mut queued = vec![0_usize; plan.channels.len()];
        for _ in 0..random.below(40 * processes) {
            let channel = random.below(plan.channels.len());
            let (_, producer, consumer) = plan.channels[channel];
            // Bursts: so channels fill up.
            for _ in 0..1 + random.below(5) {
                if queued[channel] > 0 && random.below(2) == 0 {
                    queued[channel] -= 1;
                    let port = plan.port(channel, false);
                    plan.scripts[consumer].push(Op::Receive(port));
                } else {
                    queued[channel] += 1;
                    let port = plan.port(channel, true);
                    plan.scripts[producer].push(Op::Send(port));
                }
            }
        }
        if random.below(2) == 0 {
            plan.change(random);
        }
        plan
    }

    /// Changes single steps: the result may be stuck.
    fn change(&mut self, random: &mut Random) {
        for _ in 0..1 + random.below(3) {
            let process = random.below(self.scripts.len());
            let (ins, outs) = (self.ports(process, false), self.ports(process, true));
            let (ins, outs) = (ins.len(), outs.len());
            let length = self.scripts[process].len();
            let at = random.below(length + 1);
            let op = match random.below(5) {
                0 if ins > 0 => Op::Receive(random.below(ins)),
                1 if outs > 0 => Op::Send(random.below(outs)),
                2 if ins > 0 => Op::DropIn(random.below(ins)),
                3 if outs > 0 => Op::DropOut(random.below(outs)),
                _ if at < length => {
                    self.scripts[process].remove(at);
                    continue;
                }
                _ => continue,
            };
            self.scripts[process].insert(at, op);
        }
    }

    /// The channels of that process at one end, in order.
    fn ports(&self, process: usize, sends: bool) -> Vec<usize> {
        let channels = self.channels.iter().enumerate();
        let own = channels.filter(|&(_, &(_, producer, consumer))| {
            process == if sends { producer } else { consumer }
        });
        own.map(|(channel, _)| channel).collect()
    }

    fn port(&self, channel: usize, sends: bool) -> usize {
        let (_, producer, consumer) = self.channels[channel];
        let ports = self.ports(if sends { producer } else { consumer }, sends);
        ports.iter().position(|&one| one == channel).unwrap()
    }

    /// One process after the other, as far as each can go, until none can.
    pub(crate) fn reference(&self) -> Outcome {
        let count = self.scripts.len();
        let mut queues = vec![VecDeque::new(); self.channels.len()];
        let mut in_open = vec![true; self.channels.len()];
        let mut out_open = vec![true; self.channels.len()];
        let mut at = vec![0; count];
        let mut digests: Vec<u64> = (0..count as u64).collect();
        loop {
            let mut moved = false;
            for process in 0..count {
                let (ins, outs) = (self.ports(process, false), self.ports(process, true));
                while let Some(&op) = self.scripts[process].get(at[process]) {
                    let digest = &mut digests[process];
                    match op {
                        Op::Receive(port) => match queues[ins[port]].pop_front() {
                            Some(message) if in_open[ins[port]] => {
                                *digest = after(*digest, Some(message))
                            }
                            _ if !out_open[ins[port]] || !in_open[ins[port]] => {
                                *digest = after(*digest, None);
                            }
                            _ => break,
                        },
                        Op::Send(port) => {
                            if in_open[outs[port]] && out_open[outs[port]] {
                                queues[outs[port]].push_back(*digest);
                            }
                            *digest = mix(*digest);
                        }
                        Op::DropIn(port) => in_open[ins[port]] = false,
                        Op::DropOut(port) => out_open[outs[port]] = false,
                        Op::Panic => unreachable!("added to plans that have a reference already"),
                    }
                    at[process] += 1;
                    moved = true;
                }
                if at[process] == self.scripts[process].len() {
                    let mut close = |open: &mut Vec<bool>, ports: &[usize]| {
                        for &port in ports {
                            moved |= std::mem::replace(&mut open[port], false);
                        }
                    };
                    close(&mut in_open, &ins);
                    close(&mut out_open, &outs);
                }
            }
            if !moved {
                break;
            }
        }
        let stuck = (0..count).filter(|&process| at[process] < self.scripts[process].len());
        Outcome {
            stuck: stuck.collect(),
            digests,
        }
    }

    /// Builds the network; `schedule` says where processes give their worker away.
    pub(crate) fn network<'env>(
        &'env self,
        schedule: u64,
        digests: &'env mut [u64],
    ) -> Network<'env> {
        let mut network = Network::new();
        let (mut outs, mut ins) = (Vec::new(), Vec::new());
        for (channel, &(capacity, ..)) in self.channels.iter().enumerate() {
            let (out, input) = network.bounded::<u64>(channel, capacity);
            outs.push(Some(out));
            ins.push(Some(input));
        }
        for (process, digest) in digests.iter_mut().enumerate() {
            let own = self.ports(process, false);
            let ins: Vec<_> = own.into_iter().map(|channel| ins[channel].take()).collect();
            let own = self.ports(process, true);
            let outs: Vec<_> = own
                .into_iter()
                .map(|channel| outs[channel].take())
                .collect();
            let script = &self.scripts[process];
            let random = Random(schedule ^ mix(process as u64));
            *digest = process as u64;
            network.process(process, (ins, outs), move |(ins, outs)| {
                run(script, ins, outs, digest, random)
            });
        }
        network
    }

    /// Runs it. A run that hangs ends the test with the seed.
    pub(crate) fn run(&self, seed: u64, pool: &Pool) -> (Result<Report, Error>, Vec<u64>) {
        let mut digests = vec![0; self.scripts.len()];
        let network = self.network(seed, &mut digests);
        let _guard = Guard::new(seed);
        let result = network.run(pool);
        (result, digests)
    }
}

fn after(digest: u64, message: Option<u64>) -> u64 {
    mix(digest ^ message.map_or(1, mix))
}

async fn run(
    script: &[Op],
    mut ins: Vec<Option<In<u64>>>,
    mut outs: Vec<Option<Out<u64>>>,
    digest: &mut u64,
    mut random: Random,
) {
    for &op in script {
        if random.below(4) == 0 {
            GiveWay(false).await;
        }
        match op {
            Op::Receive(port) => {
                let message = match &mut ins[port] {
                    Some(port) => port.recv().await,
                    None => None,
                };
                *digest = after(*digest, message);
            }
            Op::Send(port) => {
                if let Some(port) = &mut outs[port] {
                    // Whether the other end is there still is a matter of speed.
                    let _ = port.send(*digest).await;
                }
                *digest = mix(*digest);
            }
            Op::DropIn(port) => ins[port] = None,
            Op::DropOut(port) => outs[port] = None,
            Op::Panic => panic!("as the plan says"),
        }
    }
}

/// Is ready when it is polled for the second time.
struct GiveWay(bool);

impl Future for GiveWay {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if self.0 {
            return Poll::Ready(());
        }
        self.0 = true;
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

/// Ends the process of the test, with the seed, when it is not dropped in time.
pub(crate) struct Guard(Option<mpsc::Sender<()>>);

impl Guard {
    pub(crate) fn new(seed: u64) -> Guard {
        let (alive, watched) = mpsc::channel::<()>();
        thread::spawn(move || {
            // Under Miri, all takes longer.
            let limit = Duration::from_secs(if cfg!(miri) { 3600 } else { 300 });
            if watched.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                // Not with a macro: what those print is kept back until the test has ended.
                let text = format!("\nthe network with seed {seed} hangs\n");
                let _ = std::io::stderr().write_all(text.as_bytes());
                std::process::abort();
            }
        });
        Guard(Some(alive))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0 = None;
    }
}
