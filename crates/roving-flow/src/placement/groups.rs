//! Very large networks, placed by groups of processes that talk.
//!
//! A partitioner needs hundreds of bytes for each vertex of a graph, and seconds for a million. Far
//! fewer are enough for any number of workers. So neighbours are grouped once, before the network
//! runs: the policy sees groups in the place of processes, and the channels between them.

use super::Placement;
use super::snapshot::{PlacedNetwork, Shape, inside, is_moved};
use crate::channel::shared::Shared;
use crate::state::meter::{Meter, Spent};

/// Networks with more processes are placed by groups.
const PROCESSES_MAX: usize = 100_000;
/// So many groups are formed, and at most twice as many.
const GROUPS: usize = 1 << 14;

/// A network, by groups of its processes.
pub(crate) struct Grouped<'n> {
    network: &'n Shared,
    groups: Groups,
}

impl<'n> Grouped<'n> {
    /// `None` if the network is small enough to be partitioned process by process, or is not
    /// partitioned.
    pub(crate) fn new(
        placement: &Placement,
        network: &'n Shared,
        workers: usize,
    ) -> Option<Grouped<'n>> {
        let is_partitioned = matches!(placement, Placement::Partitioned { .. }) && workers > 1;
        let processes = network.controls().len();
        (is_partitioned && processes > PROCESSES_MAX).then(|| Grouped {
            groups: Groups::new(
                processes,
                processes.div_ceil(GROUPS),
                inside(&network.channels()).map(|(_, ends)| ends),
            ),
            network,
        })
    }
}

impl PlacedNetwork for Grouped<'_> {
    fn shape(&self) -> Shape {
        let channels = self.network.channels();
        let between = inside(&channels).filter_map(|(_, ends)| self.groups.between(ends));
        Shape {
            processes: self.groups.count,
            channels: between.collect(),
        }
    }

    fn read_messages(&self, into: &mut Vec<u64>) {
        let channels = self.network.channels();
        let between = inside(&channels).filter(|(_, ends)| self.groups.between(*ends).is_some());
        into.extend(between.map(|(channel, _)| channel.sent().number()));
    }

    fn read_spent(&self, meter: &Meter, into: &mut Vec<Spent>) {
        let processes = (0..self.groups.of.len()).map(|process| meter.spent(process));
        self.groups.sum(processes, into);
    }

    fn move_all(&self, places: &[u32]) -> usize {
        let processes = self.network.places().iter().zip(&self.groups.of);
        let moved = processes.filter(|(place, group)| is_moved(place, places[**group as usize]));
        moved.count()
    }
}

/// Which processes belong together.
struct Groups {
    /// The group of each process.
    of: Vec<u32>,
    count: usize,
}

impl Groups {
    /// Groups of at most `most` processes: along the channels, in their order, as long as they are
    /// not too large; and then what is left over, also those that have nothing to do with each
    /// other.
    fn new(
        processes: usize,
        most: usize,
        channels: impl Iterator<Item = (usize, usize)>,
    ) -> Groups {
        // A forest, each tree of which is a group. A parent has a lower index.
        let mut of: Vec<u32> = (0..processes as u32).collect();
        let mut sizes = vec![1_u32; processes];
        for (from, to) in channels {
            let (one, other) = (root(&mut of, from), root(&mut of, to));
            let size = sizes[one] + sizes[other];
            if one != other && size as usize <= most {
                let (low, high) = (one.min(other), one.max(other));
                (of[high], sizes[low]) = (low as u32, size);
            }
        }
        let (mut count, mut room) = (0, 0);
        for process in 0..processes {
            let parent = of[process] as usize;
            if parent != process {
                // It has its number already.
                of[process] = of[parent];
                continue;
            }
            let size = sizes[process] as usize;
            if size > room {
                (count, room) = (count + 1, most);
            }
            room -= size;
            of[process] = count as u32 - 1;
        }
        Groups { of, count }
    }

    /// The groups that a channel joins, if these are two.
    fn between(&self, (from, to): (usize, usize)) -> Option<(usize, usize)> {
        let (from, to) = (self.of[from] as usize, self.of[to] as usize);
        (from != to).then_some((from, to))
    }

    /// Of each group the time of its processes, when the last of them stopped, and whether all have
    /// ended.
    fn sum(&self, processes: impl Iterator<Item = Spent>, into: &mut Vec<Spent>) {
        let nothing = Spent {
            has_ended: true,
            ..Spent::default()
        };
        into.resize(self.count, nothing);
        for (&group, spent) in self.of.iter().zip(processes) {
            let sum = &mut into[group as usize];
            sum.time_ns = sum.time_ns.saturating_add(spent.time_ns);
            sum.stopped_ns = sum.stopped_ns.max(spent.stopped_ns);
            sum.has_ended &= spent.has_ended;
        }
    }
}

/// The root of a process's tree. Each second step of the way becomes shorter.
fn root(of: &mut [u32], process: usize) -> usize {
    let mut at = process;
    while of[at] as usize != at {
        of[at] = of[of[at] as usize];
        at = of[at] as usize;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_cut_into_pieces() {
        let groups = Groups::new(10, 4, (1..10).map(|process| (process - 1, process)));
        assert_eq!(groups.of, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
        assert_eq!(groups.between((3, 4)), Some((0, 1)));
        assert_eq!(groups.between((4, 5)), None);
    }

    #[test]
    fn those_that_talk_are_together_whatever_their_order() {
        let groups = Groups::new(8, 2, [(0, 7), (6, 1), (2, 5), (4, 3), (0, 1)].into_iter());
        let pairs = [(0, 7), (6, 1), (2, 5), (4, 3)];
        assert_eq!(groups.count, 4);
        assert!(pairs.iter().all(|&pair| groups.between(pair).is_none()));
    }

    #[test]
    fn what_is_left_over_fills_few_groups() {
        let star = Groups::new(1001, 10, (1..1001).map(|leaf| (0, leaf)));
        assert_eq!(star.count, 101);
        let mut sizes = vec![0; star.count];
        star.of.iter().for_each(|&group| sizes[group as usize] += 1);
        assert!(sizes.iter().all(|&size| size <= 10), "{sizes:?}");
    }

    #[test]
    fn a_group_has_spent_what_its_processes_have() {
        let groups = Groups::new(3, 2, [(0, 1)].into_iter());
        let spent = |time_ns, stopped_ns, has_ended| Spent {
            time_ns,
            stopped_ns,
            has_ended,
        };
        let mut sums = Vec::new();
        let each = [spent(5, 40, true), spent(7, 20, false), spent(1, 2, true)];
        groups.sum(each.into_iter(), &mut sums);
        assert_eq!(sums, [spent(12, 40, false), spent(1, 2, true)]);
    }
}
