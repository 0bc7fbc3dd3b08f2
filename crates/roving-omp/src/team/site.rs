//! Where the threads of a region are bound, as `proc_bind` and `OMP_PROC_BIND` say: the places
//! that they get of those of the thread that has met the region.

use crate::env::{Bind, Environment, places};

/// Places that follow each other in the list of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    pub(crate) first: usize,
    pub(crate) len: usize,
}

/// The place of a thread that is bound, and those among which the threads of its regions are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    pub(crate) place: usize,
    pub(crate) partition: Partition,
}

impl Site {
    /// Of an initial thread; `None` where threads are not bound.
    pub(crate) fn initial() -> Option<Site> {
        let settings = Environment::get();
        let len = settings.places.len();
        let is_bound = settings.controls.bind != Bind::False && len > 0;
        is_bound.then_some(Site {
            place: 0,
            partition: Partition { first: 0, len },
        })
    }

    /// Binds the calling thread to the place.
    pub(crate) fn bind(self) {
        places::bind(&Environment::get().places[self.place]);
    }

    /// That of thread `num` of a region of so many threads, which a thread at this site has met.
    /// The first thread stays where it is.
    pub(crate) fn of(self, bind: Bind, num: usize, threads: usize) -> Site {
        let Partition { first, len } = self.partition;
        let own = self.place - first;
        let at = |place: usize, partition| Site {
            place: first + place,
            partition,
        };
        match bind {
            Bind::False | Bind::Primary => self,
            Bind::True | Bind::Close => {
                let further = if threads > len {
                    part_of(num, threads, len)
                } else {
                    num
                };
                at((own + further) % len, self.partition)
            }
            Bind::Spread if threads > len => {
                let place = (own + part_of(num, threads, len)) % len;
                let partition = Partition {
                    first: first + place,
                    len: 1,
                };
                at(place, partition)
            }
            Bind::Spread => {
                // As many parts of the partition as there are threads, the first ones longer.
                let part = (part_of(own, len, threads) + num) % threads;
                let (least, longer) = (len / threads, len % threads);
                let begin = part * least + part.min(longer);
                let partition = Partition {
                    first: first + begin,
                    len: least + usize::from(part < longer),
                };
                at(if num == 0 { own } else { begin }, partition)
            }
        }
    }
}

/// In which of `parts` parts an item is, where all are as long as each other and the first ones by
/// one longer.
fn part_of(item: usize, items: usize, parts: usize) -> usize {
    let (least, longer) = (items / parts, items % parts);
    match item < longer * (least + 1) {
        true => item / (least + 1),
        false => longer + (item - longer * (least + 1)) / least,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(place: usize, first: usize, len: usize) -> Site {
        let partition = Partition { first, len };
        Site { place, partition }
    }

    /// The places of the threads of a region.
    fn places(from: Site, bind: Bind, threads: usize) -> Vec<usize> {
        (0..threads)
            .map(|num| from.of(bind, num, threads).place)
            .collect()
    }

    #[test]
    fn threads_are_close_to_the_first_and_go_round() {
        assert_eq!(places(site(1, 0, 4), Bind::Close, 3), [1, 2, 3]);
        assert_eq!(places(site(3, 0, 4), Bind::True, 3), [3, 0, 1]);
        assert_eq!(places(site(5, 4, 2), Bind::Close, 5), [5, 5, 5, 4, 4]);
        assert_eq!(places(site(2, 0, 4), Bind::Primary, 3), [2, 2, 2]);
        assert_eq!(places(site(2, 0, 4), Bind::False, 3), [2, 2, 2]);
    }

    #[test]
    fn threads_are_spread_over_parts_of_the_partition() {
        let from = site(0, 0, 8);
        assert_eq!(places(from, Bind::Spread, 3), [0, 3, 6]);
        assert_eq!(from.of(Bind::Spread, 1, 3), site(3, 3, 3));
        assert_eq!(from.of(Bind::Spread, 2, 3), site(6, 6, 2));
        // The first thread is in the part that its own place is in.
        assert_eq!(site(4, 0, 8).of(Bind::Spread, 0, 3), site(4, 3, 3));
        assert_eq!(places(site(4, 0, 8), Bind::Spread, 3), [4, 6, 0]);
        // More threads than places: one place each.
        assert_eq!(places(site(1, 0, 2), Bind::Spread, 4), [1, 1, 0, 0]);
        assert_eq!(site(1, 0, 2).of(Bind::Spread, 3, 4), site(0, 0, 1));
    }

    #[test]
    fn parts_of_a_region_s_threads_are_in_their_partitions() {
        for len in 1..7 {
            for own in 0..len {
                for threads in 1..15 {
                    for bind in [Bind::Close, Bind::Spread, Bind::Primary] {
                        let from = site(10 + own, 10, len);
                        for num in 0..threads {
                            let Site { place, partition } = from.of(bind, num, threads);
                            let end = partition.first + partition.len;
                            assert!((partition.first..end).contains(&place));
                            assert!(partition.first >= 10 && end <= 10 + len);
                            assert!(num > 0 || place == from.place);
                        }
                    }
                }
            }
        }
    }
}
