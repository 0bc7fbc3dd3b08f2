//! The shortest round trip through all cities, by branch and bound. A task takes the most promising
//! trip that is begun, and spawns a task for each way to go on.

use std::collections::BinaryHeap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rayon::Scope;

use crate::random::Random;
use crate::work::{Scale, Work, value};

/// With so many cities left, one task tries all ways.
const CUT_OFF: u32 = 6;

/// Distances between cities, in rows.
struct Map {
    cities: usize,
    ways: Vec<u64>,
}

impl Map {
    fn new(cities: usize) -> Map {
        let mut random = Random::new(37);
        let places: Vec<(f64, f64)> = (0..cities)
            .map(|_| (random.unit(), random.unit()))
            .collect();
        let way = |a: &(f64, f64), b: &(f64, f64)| (a.0 - b.0).hypot(a.1 - b.1) * 1e6;
        let rows = places
            .iter()
            .flat_map(|a| places.iter().map(move |b| way(a, b) as u64));
        Map {
            cities,
            ways: rows.collect(),
        }
    }

    fn way(&self, a: usize, b: usize) -> u64 {
        self.ways[a * self.cities + b]
    }

    /// Cities that are not in `seen`.
    fn left(&self, seen: u32) -> impl Iterator<Item = usize> {
        (0..self.cities).filter(move |city| seen & (1 << city) == 0)
    }

    /// The least that the rest of a trip takes: into each city that is left, and home, by the
    /// shortest way there is.
    fn rest(&self, seen: u32) -> u64 {
        let into = |city: usize| {
            let from = (0..self.cities).filter(|from| *from != city);
            from.map(|from| self.way(from, city)).min().unwrap_or(0)
        };
        self.left(seen).map(into).sum::<u64>() + into(0)
    }

    /// The shortest trip, by dynamic programming over sets of cities (Held and Karp).
    fn shortest(&self) -> u64 {
        let sets = 1usize << self.cities;
        let mut best = vec![u64::MAX; sets * self.cities];
        best[self.cities] = 0; // only city 0 seen, and there
        for seen in (1..sets).step_by(2) {
            for at in 0..self.cities {
                let so_far = best[seen * self.cities + at];
                if so_far == u64::MAX {
                    continue;
                }
                for next in self.left(seen as u32) {
                    let slot = &mut best[(seen | 1 << next) * self.cities + next];
                    *slot = (*slot).min(so_far + self.way(at, next));
                }
            }
        }
        let whole = (1..self.cities)
            .map(|at| best[(sets - 1) * self.cities + at].saturating_add(self.way(at, 0)));
        whole.min().unwrap_or(0)
    }
}

/// A trip that is begun. The least bound is the greatest in the heap.
#[derive(PartialEq, Eq)]
struct Trip {
    bound: u64,
    length: u64,
    seen: u32,
    at: usize,
}

impl Ord for Trip {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |trip: &Trip| {
            (
                std::cmp::Reverse(trip.bound),
                trip.seen,
                trip.at,
                trip.length,
            )
        };
        key(self).cmp(&key(other))
    }
}

impl PartialOrd for Trip {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

struct Search<'m> {
    map: &'m Map,
    begun: Mutex<BinaryHeap<Trip>>,
    best: AtomicU64,
}

impl Search<'_> {
    fn best(&self) -> u64 {
        // Ordering: an old value only means that more trips are tried.
        self.best.load(Ordering::Relaxed)
    }

    fn whole(&self, length: u64) {
        // Ordering: nothing but the number is shared; the scope's end orders the last read.
        self.best.fetch_min(length, Ordering::Relaxed);
    }

    fn push(&self, trip: Trip) {
        let begun = self.begun.lock();
        begun
            .unwrap_or_else(|poisoned| poisoned.into_inner())
            .push(trip);
    }

    fn pop(&self) -> Option<Trip> {
        let begun = self.begun.lock();
        begun.unwrap_or_else(|poisoned| poisoned.into_inner()).pop()
    }

    /// Goes on with the most promising trip.
    fn step<'s>(&'s self, scope: &Scope<'s>) {
        let Some(trip) = self.pop() else {
            return;
        };
        if trip.bound >= self.best() {
            return;
        }
        if self.map.cities as u32 - trip.seen.count_ones() <= CUT_OFF {
            return self.try_all(trip.at, trip.seen, trip.length);
        }
        for next in self.map.left(trip.seen) {
            let length = trip.length + self.map.way(trip.at, next);
            let seen = trip.seen | 1 << next;
            let bound = length + self.map.rest(seen);
            if bound < self.best() {
                self.push(Trip {
                    bound,
                    length,
                    seen,
                    at: next,
                });
                scope.spawn(|scope| self.step(scope));
            }
        }
    }

    fn try_all(&self, at: usize, seen: u32, length: u64) {
        if length >= self.best() {
            return;
        }
        let mut left = self.map.left(seen).peekable();
        if left.peek().is_none() {
            return self.whole(length + self.map.way(at, 0));
        }
        for next in left {
            self.try_all(next, seen | 1 << next, length + self.map.way(at, next));
        }
    }
}

fn search(map: &Map) -> u64 {
    let search = Search {
        map,
        begun: Mutex::default(),
        best: AtomicU64::new(u64::MAX),
    };
    let start = Trip {
        bound: 0,
        length: 0,
        seen: 1,
        at: 0,
    };
    search.push(start);
    rayon::scope(|scope| search.step(scope));
    search.best()
}

/// The round trip, by spawned tasks.
pub(crate) fn tsp(scale: Scale) -> Box<dyn Work> {
    value(Map::new(scale.size(12, 8)), Map::shortest, search)
}
