//! The shortest round trip through cities that can be found before a deadline.
//!
//! ```text
//! cargo run --release --example best-tour -- 13 500         # 13 cities, 500 ms
//! cargo run --release --example best-tour -- 25 500 440000  # stop as soon as a trip is that short
//! ```
//!
//! The search runs inside a `Cancel`. Whoever asks `is_cancelled()` learns that the deadline has
//! passed, or that somebody has called `cancel()`: no flag is handed down, and no task is
//! interrupted.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use roving::{Cancel, is_cancelled, map_reduce};
use roving_examples::{Failure, Words, random};

const USAGE: &str = "best-tour [CITIES [MS [LENGTH]]]      3 to 60, default 13; a deadline, default 500; \
                     a length that is short enough, default 0";

fn main() -> ExitCode {
    roving_examples::run_once(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let cities = words.number("cities", 13, 3..=60)?;
    let limit = Duration::from_millis(words.number("ms", 500, 1..=600_000)?);
    let enough = words.number("length", 0, 0..=u64::MAX)?;
    words.end()?;
    for workers in [1, roving::current_workers()] {
        let pool = roving::Pool::new(workers)?;
        let cancel = Cancel::after(limit);
        let search = Search::new(cities, enough, cancel.clone());
        let started = Instant::now();
        // A search that was cancelled has found something all the same.
        let seen = pool.install(|| cancel.run(|| search.visit(Tour::start())));
        let time = started.elapsed().as_secs_f64();
        let (length, tour) = search.best();
        if tour.is_empty() {
            return Err("no trip was found before the deadline: give it more time".into());
        }
        let ended = match (seen.is_ok(), length <= enough) {
            (true, _) => "nothing shorter exists",
            (false, true) => "that is short enough",
            (false, false) => "the deadline has passed",
        };
        eprintln!(
            "{time:.3} s, workers: {workers}; begun: {} trips",
            search.begun.load(Ordering::Relaxed)
        );
        writeln!(out, "{length} by way of {tour:?}: {ended}")?;
        if workers == roving::current_workers() {
            break;
        }
    }
    Ok(())
}

struct Search {
    places: Vec<(f64, f64)>,
    enough: u64,
    cancel: Cancel,
    /// The shortest length so far, to be looked at by all.
    shortest: AtomicU64,
    best: Mutex<(u64, Vec<usize>)>,
    /// Counted a subtree at a time, so that the workers do not meet at it.
    begun: AtomicU64,
}

/// A way from city 0 through some others.
#[derive(Clone, Copy)]
struct Tour {
    visited: u64,
    cities: [u8; 60],
    count: usize,
    length: u64,
}

impl Tour {
    fn start() -> Tour {
        Tour {
            visited: 1,
            cities: [0; 60],
            count: 1,
            length: 0,
        }
    }

    fn last(&self) -> usize {
        self.cities[self.count - 1].into()
    }
}

impl Search {
    fn new(cities: u64, enough: u64, cancel: Cancel) -> Search {
        let place = |n| {
            (
                (random(2 * n) % 100_000) as f64,
                (random(2 * n + 1) % 100_000) as f64,
            )
        };
        Search {
            places: (0..cities).map(place).collect(),
            enough,
            cancel,
            shortest: AtomicU64::new(u64::MAX),
            best: Mutex::new((u64::MAX, Vec::new())),
            begun: AtomicU64::new(0),
        }
    }

    fn best(&self) -> (u64, Vec<usize>) {
        self.best.lock().unwrap().clone()
    }

    fn distance(&self, from: usize, to: usize) -> u64 {
        let ((x, y), (u, v)) = (self.places[from], self.places[to]);
        (x - u).hypot(y - v).round() as u64
    }

    /// Goes on from here to each city that is left, and says how many trips that were begun.
    fn visit(&self, tour: Tour) -> u64 {
        let all = self.places.len();
        if is_cancelled() || tour.length >= self.shortest.load(Ordering::Relaxed) {
            return 1;
        }
        if tour.count == all {
            self.end(&tour);
            return 1;
        }
        let next = |city: usize| {
            if tour.visited >> city & 1 == 1 {
                return 0;
            }
            let mut on = tour;
            on.visited |= 1 << city;
            on.cities[on.count] = city as u8;
            on.count += 1;
            on.length += self.distance(tour.last(), city);
            self.visit(on)
        };
        let begun = map_reduce(0..all, 0, next, |a, b| a + b) + 1;
        if tour.count == 1 {
            self.begun.store(begun, Ordering::Relaxed);
        }
        begun
    }

    fn end(&self, tour: &Tour) {
        let length = tour.length + self.distance(tour.last(), 0);
        let mut best = self.best.lock().unwrap();
        if length < best.0 {
            let cities = tour.cities[..tour.count].iter();
            *best = (length, cities.map(|city| usize::from(*city)).collect());
            self.shortest.store(length, Ordering::Relaxed);
            if length <= self.enough {
                self.cancel.cancel();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The least length over all orders of the cities.
    fn least(search: &Search, from: usize, left: &[usize]) -> u64 {
        let on = |at: usize| {
            let mut rest = left.to_vec();
            let to = rest.swap_remove(at);
            search.distance(from, to) + least(search, to, &rest)
        };
        (0..left.len())
            .map(on)
            .min()
            .unwrap_or_else(|| search.distance(from, 0))
    }

    #[test]
    fn without_a_deadline_the_shortest_is_found() {
        let search = Search::new(8, 0, Cancel::new());
        search.visit(Tour::start());
        let (length, mut cities) = search.best();
        assert_eq!(length, least(&search, 0, &[1, 2, 3, 4, 5, 6, 7]));
        cities.sort();
        assert_eq!(cities, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_trip_that_is_short_enough_ends_the_search() {
        let cancel = Cancel::new();
        let search = Search::new(60, u64::MAX, cancel.clone());
        let _begun = cancel.run(|| search.visit(Tour::start()));
        assert!(cancel.is_cancelled());
        assert_eq!(search.best().1.len(), 60);
    }

    #[test]
    fn a_deadline_that_has_passed_ends_it_too() {
        let cancel = Cancel::after(Duration::ZERO);
        let search = Search::new(60, 0, cancel.clone());
        assert!(cancel.run(|| search.visit(Tour::start())).is_err());
    }

    #[test]
    fn the_program_prints_a_line_for_each_run() {
        let text = roving_examples::output(program, &["6", "60000"]).unwrap();
        assert!(
            text.lines()
                .all(|line| line.ends_with(": nothing shorter exists")),
            "{text}"
        );
        assert!(roving_examples::output(program, &["2"]).is_err());
    }
}
