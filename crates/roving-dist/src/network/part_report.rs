//! The report of each rank about its part of a network, and the sum of all.

use std::sync::Arc;
use std::time::Duration;

use roving_flow::ChannelAccount;
use serde::{Deserialize, Serialize};

use super::part::NetworkPart;
use super::report::{Figures, Growth, Moved, Report};
use crate::unwind::lock;

/// The report of one rank about its part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PartReport {
    elapsed: Duration,
    deterministic: bool,
    growths: Vec<Growth>,
    /// Of rank 0.
    moves: Vec<Moved>,
    /// Process, busy time, switches, migrations.
    processes: Vec<(u32, Duration, u64, u64)>,
    /// Channel, messages, bytes, capacity: of those whose producer is here.
    sent: Vec<(u32, u64, u64, Option<u64>)>,
    /// Channel, messages, and of these local and remote: of those whose consumer is here.
    received: Vec<(u32, u64, Option<Stayed>)>,
}

/// Messages that stayed on one worker, and the others.
type Stayed = (u64, u64);

impl PartReport {
    pub(super) fn of(part: &NetworkPart, report: &roving_flow::Report) -> PartReport {
        let rank = part.post.rank();
        let mut share = PartReport {
            elapsed: report.elapsed,
            deterministic: report.deterministic,
            growths: lock(&part.growths).clone(),
            moves: lock(&part.moves).log().to_vec(),
            processes: Vec::new(),
            sent: Vec::new(),
            received: Vec::new(),
        };
        share
            .growths
            .extend(report.growths.iter().map(|growth| Growth {
                // Every channel of this rank's network is one of the whole.
                channel: part.shape.at(growth.channel).unwrap_or(u32::MAX) as usize,
                from: growth.from,
                to: growth.to,
            }));
        for (process, &number) in report.processes().zip(&part.locals) {
            if let Some(account) = process.account {
                let (switches, migrations) = (account.switches, account.migrations);
                let figures = (number, account.busy, switches, migrations);
                share.processes.push(figures);
            }
        }
        let channels: Vec<_> = report.channels().collect();
        for (number, built) in (0..).zip(part.shape.channels()) {
            let (from, to) = part.shape.way(number).unwrap_or((rank, rank));
            let outgoing = &part.crossings.outgoing[number as usize];
            let incoming = &part.crossings.incoming[number as usize];
            let is_split = part.shape.is_split(number);
            if from == rank || is_split && outgoing.is_some() {
                let channel = &channels[built.halves.0 as usize];
                let capacity = match outgoing {
                    Some(outgoing) => outgoing.capacity(),
                    None => channel.capacity,
                };
                let capacity = capacity.map(|capacity| capacity as u64);
                let figures = (number, channel.messages, channel.bytes, capacity);
                share.sent.push(figures);
            }
            if to == rank || is_split && incoming.is_some() {
                let channel = &channels[built.halves.1 as usize];
                let left = incoming.as_ref().map_or(0, |incoming| incoming.left());
                let account = channel.account.map(|one| (one.local, one.remote));
                share
                    .received
                    .push((number, channel.received - left, account));
            }
        }
        share
    }
}

/// Puts the shares of all ranks together.
pub(super) fn sum(part: &NetworkPart, shares: Vec<PartReport>) -> Report {
    let shape = &part.shape;
    let places = lock(&part.moves).places().to_vec();
    let mut report = Report {
        elapsed: Duration::ZERO,
        deterministic: true,
        growths: Vec::new(),
        moves: Vec::new(),
        shape: Arc::new(shape.with_ranks(places)),
        accounts: vec![None; shape.processes().len()],
        channels: vec![Figures::default(); shape.channels().len()],
    };
    for share in shares {
        report.elapsed = report.elapsed.max(share.elapsed);
        report.deterministic &= share.deterministic;
        report.growths.extend(share.growths);
        report.moves.extend(share.moves);
        for (process, busy, switches, migrations) in share.processes {
            let account = report.accounts[process as usize].get_or_insert_default();
            account.busy += busy;
            account.switches += switches;
            account.migrations += migrations;
        }
        for (channel, messages, bytes, capacity) in share.sent {
            let figures = &mut report.channels[channel as usize];
            figures.messages += messages;
            figures.bytes += bytes;
            let capacity = capacity.map(|capacity| capacity as usize);
            figures.capacity = figures.capacity.max(capacity);
        }
        for (channel, received, account) in share.received {
            let figures = &mut report.channels[channel as usize];
            figures.received += received;
            if let Some((local, remote)) = account {
                let account: &mut ChannelAccount = figures.account.get_or_insert_default();
                account.local += local;
                account.remote += remote;
            }
        }
    }
    report
}
