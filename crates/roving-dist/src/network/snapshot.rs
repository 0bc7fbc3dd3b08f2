//! The graph of which process waits for which across ranks, as each rank saw its own part at one
//! time.

use roving_flow::raw::{self, Side, Verdict, Waiting};
use serde::{Deserialize, Serialize};

/// The producer's end of a channel between ranks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Sent {
    pub(super) channel: u32,
    pub(super) sent: u64,
    pub(super) capacity: Option<u64>,
}

/// The consumer's end of such a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct TakenCount {
    pub(super) channel: u32,
    pub(super) taken: u64,
}

/// The wait of one process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct ProcessWait {
    /// Numbers of the whole network.
    pub(super) process: u32,
    pub(super) channel: u32,
    pub(super) to_send: bool,
    /// The process at the other end, where that is on the same rank.
    pub(super) target: Option<u32>,
    pub(super) capacity: Option<u64>,
    pub(super) sent: u64,
    pub(super) taken: u64,
}

/// The part of one rank: read while its processes ran.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Snapshot {
    pub(super) waits: Vec<ProcessWait>,
    /// Ends of channels between ranks; those only where neither end is known to be gone.
    pub(super) sent: Vec<Sent>,
    pub(super) taken: Vec<TakenCount>,
}

/// Which processes have the ends of a channel.
pub(super) struct Ends {
    pub(super) producer: u32,
    pub(super) consumer: u32,
}

/// The waits of the whole network, as the parts say; those that are not for a process that waits as
/// well are left out together with all waits of their process.
fn whole(parts: &[Snapshot], ends: impl Fn(u32) -> Option<Ends>) -> Vec<Waiting> {
    let mut sent: Vec<Sent> = parts.iter().flat_map(|part| &part.sent).copied().collect();
    let mut taken: Vec<TakenCount> = parts.iter().flat_map(|part| &part.taken).copied().collect();
    sent.sort_unstable_by_key(|one| one.channel);
    taken.sort_unstable_by_key(|one| one.channel);
    let mut waits: Vec<Waiting> = Vec::new();
    for wait in parts.iter().flat_map(|part| &part.waits) {
        let mut waiting = Waiting {
            process: wait.process as usize,
            channel: wait.channel as usize,
            side: if wait.to_send {
                Side::Producer
            } else {
                Side::Consumer
            },
            target: wait.target.map(|target| target as usize),
            capacity: wait.capacity.map(|capacity| capacity as usize),
            sent: wait.sent,
            taken: wait.taken,
        };
        if wait.target.is_none() {
            // A target that is not there leads out of the graph: so does an end that is gone or a
            // token that is under way.
            let at_sent = sent.binary_search_by_key(&wait.channel, |one| one.channel);
            let at_taken = taken.binary_search_by_key(&wait.channel, |one| one.channel);
            if let (Ok(at_sent), Ok(at_taken), Some(ends)) = (at_sent, at_taken, ends(wait.channel))
            {
                let (sent, taken) = (sent[at_sent], taken[at_taken].taken);
                let under_way = sent.sent.saturating_sub(taken);
                let is_stuck = match wait.to_send {
                    true => sent.capacity.is_some_and(|capacity| under_way >= capacity),
                    false => under_way == 0,
                };
                let target = if wait.to_send {
                    ends.consumer
                } else {
                    ends.producer
                };
                waiting.target = is_stuck.then_some(target as usize);
                waiting.capacity = sent.capacity.map(|capacity| capacity as usize);
                (waiting.sent, waiting.taken) = (sent.sent, taken);
            }
        }
        waits.push(waiting);
    }
    waits.sort_by_key(|one| one.process);
    waits
}

/// Decides about a network that was looked at twice, the second time after the first was over:
/// nothing, unless the same processes are stuck for the same reasons in both.
///
/// A process that waits at the same place with the same counts in both has been suspended in
/// between, for it goes on by taking what it waits for, which counts. So all processes that are
/// stuck were suspended at one and the same time, namely between the two looks; and the counts of
/// their ends, which nothing else changes, were those, so that nothing was under way to any of
/// them.
pub(super) fn judge(
    first: &[Snapshot],
    second: &[Snapshot],
    limit: Option<usize>,
    ends: impl Fn(u32) -> Option<Ends>,
) -> Vec<Verdict> {
    let before = raw::stuck(&whole(first, &ends));
    if before.is_empty() {
        return Vec::new();
    }
    // Of the second look, just these: who is stuck by then as well has to wait for the next look.
    let is_known = |one: &Waiting| {
        let at = before.binary_search_by_key(&one.process, |other| other.process);
        at.is_ok()
    };
    let mut after = whole(second, &ends);
    after.retain(is_known);
    if before != after {
        return Vec::new();
    }
    raw::verdicts(&before, limit)
}

/// Whether there is anything stuck at all.
pub(super) fn is_suspect(parts: &[Snapshot], ends: impl Fn(u32) -> Option<Ends>) -> bool {
    !raw::stuck(&whole(parts, ends)).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two processes on two ranks: 0 sends to 1 by channel 0, 1 to 0 by channel 1.
    fn ends(channel: u32) -> Option<Ends> {
        Some(Ends {
            producer: channel,
            consumer: 1 - channel,
        })
    }

    fn wait(process: u32, channel: u32, to_send: bool) -> ProcessWait {
        ProcessWait {
            process,
            channel,
            to_send,
            target: None,
            capacity: None,
            sent: 0,
            taken: 0,
        }
    }

    /// Rank `rank` has sent and taken so many, and its process waits like that.
    fn part(rank: u32, sent: u64, taken: u64, to_send: bool) -> Snapshot {
        let channel = if to_send { rank } else { 1 - rank };
        Snapshot {
            waits: vec![wait(rank, channel, to_send)],
            sent: vec![Sent {
                channel: rank,
                sent,
                capacity: Some(2),
            }],
            taken: vec![TakenCount {
                channel: 1 - rank,
                taken,
            }],
        }
    }

    #[test]
    fn two_that_wait_for_a_message_are_a_deadlock() {
        let look = [part(0, 4, 7, false), part(1, 7, 4, false)];
        let verdicts = judge(&look, &look, None, ends);
        let cycle = vec![(0, 1, Side::Consumer), (1, 0, Side::Consumer)];
        assert_eq!(verdicts, [Verdict::Deadlock(cycle)]);
    }

    #[test]
    fn a_token_under_way_is_no_deadlock() {
        let look = [part(0, 5, 7, false), part(1, 7, 4, false)];
        assert!(!is_suspect(&look, ends));
        assert_eq!(judge(&look, &look, None, ends), []);
    }

    #[test]
    fn the_full_channel_of_a_circle_grows() {
        let look = [part(0, 6, 7, true), part(1, 7, 4, false)];
        // Process 1 waits for process 0 at channel 0? No: it waits for tokens of channel 0, which
        // has two.
        assert!(!is_suspect(&look, ends));
        let mut look = [part(0, 6, 7, true), part(1, 9, 4, true)];
        let verdicts = judge(&look, &look, None, ends);
        let grow = Verdict::Grow {
            channel: 0,
            from: 2,
            to: 4,
        };
        assert_eq!(verdicts, [grow]);
        assert!(matches!(
            judge(&look, &look, Some(2), ends)[..],
            [Verdict::Full(_, 2)]
        ));
        // Room that the producer has not heard of.
        look[1].taken[0].taken = 5;
        assert_eq!(judge(&look, &look, None, ends), []);
    }

    #[test]
    fn what_has_moved_between_the_looks_is_not_judged() {
        let first = [part(0, 4, 7, false), part(1, 7, 4, false)];
        let second = [part(0, 4, 8, false), part(1, 8, 4, false)];
        assert!(is_suspect(&first, ends) && is_suspect(&second, ends));
        assert_eq!(judge(&first, &second, None, ends), []);
    }

    #[test]
    fn an_end_that_is_gone_is_no_deadlock() {
        let mut look = [part(0, 4, 7, false), part(1, 7, 4, false)];
        look[0].sent.clear();
        assert_eq!(judge(&look, &look, None, ends), []);
    }
}
