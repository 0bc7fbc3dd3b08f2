//! How processes that wait for each other are judged, wherever they are.

use super::Side;
use crate::channel::shared::ChannelWait;
use crate::channel::words::UNBOUNDED;
use crate::deadlock;

/// A channel that a suspended process waits for; a process that waits for any of several channels
/// has several.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The process.
    pub process: usize,
    /// The channel that it waits at.
    pub channel: usize,
    /// Its end of that channel.
    pub side: Side,
    /// The process at the other end, unless that is held outside.
    pub target: Option<usize>,
    /// The channel's capacity.
    pub capacity: Option<usize>,
    /// Messages that were sent.
    pub sent: u64,
    /// Messages that were taken.
    pub taken: u64,
}

impl From<deadlock::Waiting> for Waiting {
    fn from(one: deadlock::Waiting) -> Waiting {
        Waiting {
            process: one.wait.process as usize,
            channel: one.wait.channel as usize,
            side: Side::of(one.wait.end),
            target: one.target.map(|target| target as usize),
            capacity: (one.capacity != UNBOUNDED).then_some(one.capacity as usize),
            sent: one.sent,
            taken: one.taken,
        }
    }
}

impl From<&Waiting> for deadlock::Waiting {
    fn from(one: &Waiting) -> deadlock::Waiting {
        deadlock::Waiting {
            wait: ChannelWait {
                process: one.process as u32,
                channel: one.channel as u32,
                end: one.side.end(),
            },
            target: one.target.map(|target| target as u32),
            capacity: one.capacity.map_or(UNBOUNDED, |capacity| capacity as u32),
            sent: one.sent,
            taken: one.taken,
        }
    }
}

/// A decision about processes that wait for each other only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// A channel is to grow.
    Grow {
        /// Which one.
        channel: usize,
        /// Its capacity.
        from: usize,
        /// Its new capacity.
        to: usize,
    },
    /// Nothing helps: each of these waits for the next one, the last for the first. Process,
    /// channel, and its end.
    Deadlock(Vec<(usize, usize, Side)>),
    /// A deadlock that a larger channel would resolve, but no channel may be larger than this.
    Full(Vec<(usize, usize, Side)>, usize),
}

/// Returns those of these waits, which are ordered by process, that belong to processes that wait
/// for each other only.
pub fn stuck(waits: &[Waiting]) -> Vec<Waiting> {
    let waits: Vec<deadlock::Waiting> = waits.iter().map(Into::into).collect();
    deadlock::stuck(&waits)
        .into_iter()
        .map(Waiting::from)
        .collect()
}

/// Decides about all processes that [`stuck`] has found, where no channel may hold more than
/// `limit`.
pub fn verdicts(stuck: &[Waiting], limit: Option<usize>) -> Vec<Verdict> {
    let waits: Vec<deadlock::Waiting> = stuck.iter().map(Into::into).collect();
    let limit = limit.and_then(|limit| u32::try_from(limit).ok());
    let plain = |cycle: Vec<ChannelWait>| {
        let waits = cycle.iter();
        waits
            .map(|wait| {
                let (process, channel) = (wait.process as usize, wait.channel as usize);
                (process, channel, Side::of(wait.end))
            })
            .collect()
    };
    let verdicts = deadlock::verdicts_of(&waits, limit.unwrap_or(UNBOUNDED)).into_iter();
    verdicts
        .map(|verdict| match verdict {
            deadlock::Verdict::Grow(growth) => Verdict::Grow {
                channel: growth.channel as usize,
                from: growth.from as usize,
                to: growth.to as usize,
            },
            deadlock::Verdict::Deadlock(cycle) => Verdict::Deadlock(plain(cycle)),
            deadlock::Verdict::Full(cycle, limit) => Verdict::Full(plain(cycle), limit as usize),
        })
        .collect()
}
