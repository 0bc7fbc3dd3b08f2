//! The state of a network as its placement sees it.

use roving::raw::tasks::Place;

use crate::channel::shared::Shared;
use crate::channel::words::{ChannelEnd, Words};
use crate::channel::{Handle, OUTSIDE};
use crate::state::meter::{Meter, Spent};
use roving_partition::{Load, Traffic};

/// The place of a process that any worker may run.
pub(super) const ANYWHERE: u32 = u32::MAX;

/// The processes and channels of a network.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) processes: usize,
    /// The sender and the receiver of each channel; channels that lead outside are left out.
    pub(crate) channels: Vec<(usize, usize)>,
}

/// A network as its placement sees it.
pub(crate) trait PlacedNetwork: Sync {
    fn shape(&self) -> Shape;
    /// The messages that have passed so far along each channel of the shape, in its order.
    fn read_messages(&self, into: &mut Vec<u64>);
    /// The time that each process has spent so far.
    fn read_spent(&self, meter: &Meter, into: &mut Vec<Spent>);
    /// Gives all processes their places; how many had another one before.
    fn move_all(&self, places: &[u32]) -> usize;
}

impl PlacedNetwork for Shared {
    fn shape(&self) -> Shape {
        Shape {
            processes: self.controls().len(),
            channels: inside(&self.channels()).map(|(_, ends)| ends).collect(),
        }
    }

    fn read_messages(&self, into: &mut Vec<u64>) {
        let channels = self.channels();
        into.extend(inside(&channels).map(|(channel, _)| channel.sent().number()));
    }

    fn read_spent(&self, meter: &Meter, into: &mut Vec<Spent>) {
        into.extend((0..self.controls().len()).map(|process| meter.spent(process)));
    }

    fn move_all(&self, places: &[u32]) -> usize {
        let moves = self.places().iter().zip(places);
        moves.filter(|(place, new)| is_moved(place, **new)).count()
    }
}

/// Gives a process its place; whether it had another one before.
pub(super) fn is_moved(place: &Place, new: u32) -> bool {
    let new = (new != ANYWHERE).then_some(new as usize);
    let is_moved = place.get() != new;
    if is_moved {
        place.set(new);
    }
    is_moved
}

/// The channels between processes, with these.
pub(super) fn inside(channels: &[Handle]) -> impl Iterator<Item = (&Handle, (usize, usize))> {
    channels
        .iter()
        .filter_map(|channel| Some((channel, ends(channel)?)))
}

/// The process that sends there and the one that receives, if both ends are processes. That is
/// settled before the network runs.
fn ends(channel: &Words) -> Option<(usize, usize)> {
    let [from, to] = [ChannelEnd::Writer, ChannelEnd::Reader].map(|end| channel.process(end));
    (from != OUTSIDE && to != OUTSIDE).then_some((from as usize, to as usize))
}

/// All figures at one time, since the network began.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetworkFigures {
    pub(crate) at_ns: u64,
    pub(crate) busy_ns: u64,
    /// The time that looking at the network, and partitioning it, has taken so far.
    pub(crate) looks_ns: u64,
    pub(crate) processes: Vec<Spent>,
    pub(crate) messages: Vec<u64>,
}

impl NetworkFigures {
    pub(crate) fn total_messages(&self) -> u64 {
        self.messages.iter().sum()
    }

    /// The work since `before`. A process that has ended weighs nothing; `overhead_ns` is the cost
    /// of a message at each of its ends.
    pub(crate) fn load_since(
        &self,
        before: &NetworkFigures,
        shape: &Shape,
        overhead_ns: u64,
    ) -> Load {
        let spent = self.processes.iter().enumerate().map(|(process, spent)| {
            let earlier = before.processes.get(process).map_or(0, |of| of.time_ns);
            spent.time_ns.saturating_sub(earlier)
        });
        let mut load = Load {
            processes: spent.collect(),
            channels: Vec::with_capacity(shape.channels.len()),
        };
        for (channel, &(from, to)) in shape.channels.iter().enumerate() {
            let earlier = before.messages.get(channel).copied().unwrap_or(0);
            let messages = self.messages[channel].saturating_sub(earlier);
            load.channels.push(Traffic { from, to, messages });
            for end in [from, to] {
                load.processes[end] += messages.saturating_mul(overhead_ns);
            }
        }
        for (process, spent) in self.processes.iter().enumerate() {
            if spent.has_ended {
                load.processes[process] = 0;
            }
        }
        load
    }

    pub(crate) fn blocked_ns(&self) -> Vec<u64> {
        let blocked = self
            .processes
            .iter()
            .map(|of| self.at_ns.saturating_sub(of.stopped_ns));
        blocked.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{NetworkFigures, Shape};
    use crate::state::meter::Spent;

    #[test]
    fn a_load_is_what_was_done_in_between() {
        let shape = Shape {
            processes: 3,
            channels: vec![(0, 1), (1, 2)],
        };
        let spent = |time_ns, has_ended| Spent {
            time_ns,
            has_ended,
            ..Spent::default()
        };
        let before = NetworkFigures {
            processes: vec![spent(10, false), spent(20, false), spent(30, false)],
            messages: vec![100, 200],
            ..NetworkFigures::default()
        };
        let now = NetworkFigures {
            processes: vec![spent(15, false), spent(21, true), spent(37, false)],
            messages: vec![101, 203],
            ..NetworkFigures::default()
        };
        let load = now.load_since(&before, &shape, 10);
        assert_eq!(load.processes, [5 + 10, 0, 7 + 30]);
        assert_eq!(
            load.channels
                .iter()
                .map(|of| of.messages)
                .collect::<Vec<_>>(),
            [1, 3]
        );
        let all = now.load_since(&NetworkFigures::default(), &shape, 0);
        assert_eq!(all.processes, [15, 0, 37]);
    }
}
