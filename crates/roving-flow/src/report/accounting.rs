//! The cost of processes and channels, counted by a wrapper around each process, so that neither
//! ports nor processes know of it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::{ChannelAccount, ProcessAccount};
use crate::channel::shared::Shared;
use crate::channel::words::ChannelEnd;
use crate::channel::{Handle, OUTSIDE};
use crate::machine::prim::{AtomicU32, AtomicU64, Ordering};
use crate::process::OfProcess;

/// No worker.
const NOWHERE: u32 = u32::MAX;

/// All that is counted.
pub(crate) struct Accounts {
    processes: Box<[Account]>,
    channels: Box<[Traffic]>,
    /// The inputs of each process.
    inputs: Box<[Vec<Handle>]>,
}

/// Of a process; written by whoever polls it.
#[derive(Default)]
#[repr(align(64))]
struct Account {
    busy_ns: AtomicU64,
    switches: AtomicU64,
    migrations: AtomicU64,
    /// The worker that polled it last, and one more.
    worker: AtomicU32,
}

/// Of a channel; written by whoever polls its consumer.
#[derive(Default)]
struct Traffic {
    local: AtomicU64,
    remote: AtomicU64,
}

/// By one thread at a time.
fn add(counter: &AtomicU64, more: u64) {
    // Ordering: Relaxed, both; a process is polled by one worker at a time, and passed on by what
    // orders all it has done. Who reads while it runs gets a figure that was right some time ago.
    counter.store(counter.load(Ordering::Relaxed) + more, Ordering::Relaxed);
}

fn read(counter: &AtomicU64) -> u64 {
    // Ordering: Relaxed; a figure.
    counter.load(Ordering::Relaxed)
}

impl Accounts {
    pub(crate) fn new(shared: &Shared) -> Accounts {
        let count = shared.controls().len();
        let channels = shared.channels();
        let mut inputs = vec![Vec::new(); count];
        for channel in channels.iter() {
            let consumer = channel.process(ChannelEnd::Reader);
            if consumer != OUTSIDE {
                inputs[consumer as usize].push(channel.clone());
            }
        }
        Accounts {
            processes: (0..count).map(|_| Account::default()).collect(),
            channels: channels.iter().map(|_| Traffic::default()).collect(),
            inputs: inputs.into(),
        }
    }

    /// Of all processes and all channels.
    pub(crate) fn figures(&self) -> (Vec<ProcessAccount>, Vec<ChannelAccount>) {
        let processes = self.processes.iter().map(|account| ProcessAccount {
            busy: Duration::from_nanos(read(&account.busy_ns)),
            switches: read(&account.switches),
            migrations: read(&account.migrations),
        });
        let channels = self.channels.iter().map(|traffic| ChannelAccount {
            local: read(&traffic.local),
            remote: read(&traffic.remote),
        });
        (processes.collect(), channels.collect())
    }

    /// A process is about to be polled; returns the worker.
    fn begin(&self, process: u32) -> u32 {
        let account = &self.processes[process as usize];
        let worker = roving::current_worker().map_or(NOWHERE, |worker| worker as u32 + 1);
        // Ordering: Relaxed, both; a figure, to those who receive from this process.
        let last = account.worker.load(Ordering::Relaxed);
        if last != worker {
            account.worker.store(worker, Ordering::Relaxed);
            add(&account.migrations, u64::from(last != 0));
        }
        worker
    }

    /// It has been polled for that long; `seen` is what it had received from each input before.
    fn end(&self, process: u32, worker: u32, spent: Duration, seen: &mut [u64]) {
        let account = &self.processes[process as usize];
        add(&account.busy_ns, spent.as_nanos() as u64);
        add(&account.switches, 1);
        for (channel, seen) in self.inputs[process as usize].iter().zip(seen) {
            let taken = channel.taken().number();
            let more = taken - *seen;
            if more == 0 {
                continue;
            }
            *seen = taken;
            let traffic = &self.channels[channel.index()];
            let producer = channel.process(ChannelEnd::Writer);
            let from = self.processes.get(producer as usize);
            // Ordering: Relaxed; a figure.
            let is_local = from.is_some_and(|from| from.worker.load(Ordering::Relaxed) == worker);
            add(
                if is_local {
                    &traffic.local
                } else {
                    &traffic.remote
                },
                more,
            );
        }
    }
}

/// The future of a process, with its polls counted.
pub(crate) struct Accounted<F> {
    future: Pin<Box<F>>,
    accounts: Arc<Accounts>,
    process: u32,
    /// How many messages it had received from each input when it was polled last.
    seen: Vec<u64>,
}

impl<F: OfProcess> Accounted<F> {
    pub(crate) fn new(future: F, accounts: &Arc<Accounts>, process: u32) -> Accounted<F> {
        Accounted {
            process,
            seen: vec![0; accounts.inputs[process as usize].len()],
            future: Box::pin(future),
            accounts: Arc::clone(accounts),
        }
    }
}

impl<F: OfProcess> Future for Accounted<F> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let worker = this.accounts.begin(this.process);
        let began = Instant::now();
        let polled = this.future.as_mut().poll(context);
        this.accounts
            .end(this.process, worker, began.elapsed(), &mut this.seen);
        polled
    }
}

impl<F: OfProcess> OfProcess for Accounted<F> {
    fn process(self: Pin<&mut Self>) -> (*const Shared, u32) {
        self.get_mut().future.as_mut().process()
    }
}
