//! Ranks that are threads of one process: packets are handed from mailbox to mailbox.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::plan::Plan;
use super::random::Random;
use super::transport::{Packet, Transport};
use crate::error::Error;
use crate::prim::{AtomicBool, Mutex, MutexGuard, Ordering};

/// A packet on its way.
struct Sent {
    packet: Packet,
    /// When it arrives; at once where nothing is delayed.
    due: Option<Instant>,
}

/// The messages that have been sent to one rank, by sender.
struct Mailbox {
    is_filled: AtomicBool,
    from: Mutex<Vec<VecDeque<Sent>>>,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Vec<VecDeque<Sent>>> {
        self.from.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One rank's end.
pub(crate) struct ThreadTransport {
    rank: usize,
    mailboxes: Arc<[Mailbox]>,
    delay_max: Duration,
    random: Random,
    /// How many packets this rank still sends before it is lost.
    packets_left: Option<u64>,
    /// The rank whose packets are taken first.
    first: usize,
    /// How many have come, by sender.
    heard: Vec<u64>,
    /// Buffers that have been received.
    spent: Vec<Vec<u8>>,
}

/// Most packets taken from a mailbox at once.
const TOGETHER: usize = 64;
/// Most buffers kept.
const SPENT_MAX: usize = 16;

/// The ends of as many ranks as `plan` has.
pub(crate) fn ends(plan: &Plan) -> Vec<ThreadTransport> {
    let mailbox = || Mailbox {
        is_filled: AtomicBool::new(false),
        from: Mutex::new((0..plan.ranks).map(|_| VecDeque::new()).collect()),
    };
    let mailboxes: Arc<[Mailbox]> = (0..plan.ranks).map(|_| mailbox()).collect();
    let end = |rank| ThreadTransport {
        rank,
        mailboxes: Arc::clone(&mailboxes),
        delay_max: plan.delay_max,
        random: Random::new(plan.seed, rank),
        packets_left: plan
            .lost
            .and_then(|(lost, packets)| (lost == rank).then_some(packets)),
        first: 0,
        heard: vec![0; plan.ranks],
        spent: Vec::new(),
    };
    (0..plan.ranks).map(end).collect()
}

impl ThreadTransport {
    fn send(&mut self, to: usize, packet: Packet) {
        if let Some(left) = &mut self.packets_left {
            if *left == 0 {
                return;
            }
            *left -= 1;
        }
        let delay_max = self.delay_max.as_nanos() as u64;
        let due = (delay_max > 0)
            .then(|| Instant::now() + Duration::from_nanos(self.random.below(delay_max)));
        let mailbox = &self.mailboxes[to];
        mailbox.lock()[self.rank].push_back(Sent { packet, due });
        // Ordering: Relaxed; a hint to look under the lock, where the packet is. A receiver that
        // does not see it looks again: nobody waits for this without looking now and then.
        mailbox.is_filled.store(true, Ordering::Relaxed);
    }

    /// Takes what is due from the mailbox.
    fn fetch(&mut self, arrived: &mut Vec<(usize, Packet)>) {
        let most = arrived.len() + TOGETHER;
        let mailbox = &self.mailboxes[self.rank];
        // Ordering: Relaxed, as in `send`.
        if !mailbox.is_filled.load(Ordering::Relaxed) {
            return;
        }
        let mut from = mailbox.lock();
        let now = (!self.delay_max.is_zero()).then(Instant::now);
        let mut is_filled = false;
        // After the one whose packets were taken last: a rank that sends much lets others in.
        let (first, ranks) = (self.first, from.len());
        for sender in (0..ranks).map(|at| (first + at) % ranks) {
            let packets = &mut from[sender];
            while let Some(sent) = packets.front() {
                if arrived.len() == most || sent.due > now {
                    is_filled = true;
                    break;
                }
                let sent = packets.pop_front();
                arrived.extend(sent.map(|sent| (sender, sent.packet)));
                self.heard[sender] += 1;
                self.first = (sender + 1) % ranks;
            }
        }
        // Ordering: Relaxed; senders write it only after they held the lock that is held here.
        mailbox.is_filled.store(is_filled, Ordering::Relaxed);
    }
}

impl Transport for ThreadTransport {
    fn send_batch(&mut self, to: usize, batch: &mut Vec<u8>) -> Result<(), Error> {
        let empty = self.spent.pop().unwrap_or_default();
        self.send(to, Packet::Batch(std::mem::replace(batch, empty)));
        Ok(())
    }

    fn send_bulk(&mut self, to: usize, tag: u32, bytes: Vec<u8>) -> Result<(), Error> {
        self.send(to, Packet::Bulk(tag, bytes));
        Ok(())
    }

    fn receive(&mut self, arrived: &mut Vec<(usize, Packet)>) -> Result<bool, Error> {
        let before = arrived.len();
        self.fetch(arrived);
        Ok(arrived.len() > before)
    }

    fn heard(&self, from: usize) -> u64 {
        self.heard[from]
    }

    fn keep(&mut self, mut spent: Vec<u8>) {
        if self.spent.len() < SPENT_MAX {
            spent.clear();
            self.spent.push(spent);
        }
    }

    fn is_sent(&mut self) -> Result<bool, Error> {
        Ok(true)
    }

    fn abort(&mut self, _: i32) {}

    fn finish(&mut self) -> Result<(), Error> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_that_sends_much_lets_others_in() {
        let mut ends = ends(&Plan::new(3));
        for _ in 0..3 * TOGETHER {
            ends[0].send(2, Packet::Batch(vec![0]));
        }
        ends[1].send(2, Packet::Batch(vec![1]));
        let mut came = Vec::new();
        for _ in 0..2 {
            ends[2].receive(&mut came).unwrap();
        }
        assert!(came.iter().any(|(from, _)| *from == 1), "only rank 0's");
        while ends[2].receive(&mut came).unwrap() {}
        assert_eq!(came.len(), 3 * TOGETHER + 1);
    }
}
