//! The answer of a running program about its pools, and the changes between two answers.

use serde::Deserialize;

/// One answer: `ROVING_TOP`, in the module `trace` of the runtime.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct TopAnswer {
    pub(super) pid: u32,
    pub(super) pools: Vec<PoolShot>,
}

/// One pool.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct PoolShot {
    pub(super) name: String,
    pub(super) workers: usize,
    pub(super) wall_s: f64,
    pub(super) seats: Vec<WorkerShot>,
}

/// A worker, or after those a compensation thread: what it does now, and its figures since the pool
/// began.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct WorkerShot {
    pub(super) doing: String,
    busy_s: f64,
    steal_s: f64,
    idle_s: f64,
    switch_s: f64,
    frame_s: f64,
    tasks: u64,
    steals_tried: u64,
    steals_won: u64,
    tasks_stolen: u64,
    parks: u64,
    wakes: u64,
}

/// The rates of a worker slot for one interval.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rates {
    /// Shares of the time, in the order of `report::STATES`; all zero if the seat has no thread.
    pub(super) shares: [f64; 5],
    /// Events per second, as [`RATE_NAMES`] says.
    pub(super) per_s: [f64; 6],
}

/// The columns of [`Rates::per_s`].
pub(super) const RATE_NAMES: [&str; 6] = ["tasks", "tried", "steals", "stolen", "parks", "wakes"];

impl WorkerShot {
    /// Seconds in each state, in the order of `report::STATES`.
    fn states(&self) -> [f64; 5] {
        [
            self.busy_s,
            self.frame_s,
            self.switch_s,
            self.steal_s,
            self.idle_s,
        ]
    }

    fn counts(&self) -> [u64; 6] {
        [
            self.tasks,
            self.steals_tried,
            self.steals_won,
            self.tasks_stolen,
            self.parks,
            self.wakes,
        ]
    }

    /// The rates since `before`; the program may have reset its figures in between.
    fn since(&self, before: &WorkerShot, seconds: f64) -> Rates {
        let (now, then) = (self.states(), before.states());
        let spent: [f64; 5] = std::array::from_fn(|state| (now[state] - then[state]).max(0.0));
        let all: f64 = spent.iter().sum();
        let (counts, counted) = (self.counts(), before.counts());
        Rates {
            shares: spent.map(|time| if all > 0.0 { time / all } else { 0.0 }),
            per_s: std::array::from_fn(|count| {
                let events = counts[count].saturating_sub(counted[count]) as f64;
                if seconds > 0.0 { events / seconds } else { 0.0 }
            }),
        }
    }
}

impl PoolShot {
    /// The rates of each seat since `before`, or since the pool began. A compensation thread that
    /// has not been started has none.
    pub(super) fn since(&self, before: Option<&PoolShot>) -> Vec<Rates> {
        let nothing = WorkerShot::default();
        let start = before.map_or(0.0, |before| before.wall_s);
        // A reset puts the pool's own time back, too.
        let before = before.filter(|_| start <= self.wall_s);
        let seconds = self.wall_s - before.map_or(0.0, |before| before.wall_s);
        let seats = self.seats.iter().enumerate();
        seats
            .map(|(index, seat)| {
                let earlier = before.and_then(|before| before.seats.get(index));
                seat.since(earlier.unwrap_or(&nothing), seconds)
            })
            .collect()
    }
}

impl TopAnswer {
    /// Finds this pool in an earlier answer.
    pub(super) fn pool_like(&self, place: usize, pool: &PoolShot) -> Option<&PoolShot> {
        self.pools
            .get(place)
            .filter(|before| before.name == pool.name && before.workers == pool.workers)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::screen::View;
    use super::*;

    /// An answer of the runtime.
    const LINE: &str = r#"{"pid":7,"pools":[{"name":"a","workers":1,"wall_s":1.5,"seats":[{"doing":"idle",
        "busy_s":0.5,"steal_s":0,"idle_s":1,"switch_s":0,"frame_s":0,"tasks":3,"steals_tried":0,
        "steals_won":0,"tasks_stolen":0,"publications":0,"leapfrogs":0,"parks":1,"wakes":0,"suspensions":0}]}]}"#;

    proptest! {
        /// An answer with any text in it, or cut anywhere, is refused or shown.
        #[test]
        fn fuzz_answers_of_any_text(
            at: usize,
            length in 0..40_usize,
            text in "[-0-9eE.,:{}]{0,20}|.{0,9}",
        ) {
            let mut line = LINE.to_owned();
            let at = at % line.len();
            line.replace_range(at..(at + length).min(line.len()), &text);
            let Ok(now) = serde_json::from_str::<TopAnswer>(&line) else {
                return Ok(());
            };
            let before: TopAnswer = serde_json::from_str(LINE).unwrap();
            for (now, before) in [(&now, None), (&now, Some(&before)), (&before, Some(&now))] {
                let view = View {
                    now,
                    before,
                    every_ms: 250,
                    is_paused: false,
                };
                let shown = view.plain();
                prop_assert!(shown.starts_with("program "));
            }
        }
    }

    fn pool(wall_s: f64, busy_s: f64, tasks: u64) -> PoolShot {
        let seat = WorkerShot {
            busy_s,
            idle_s: wall_s - busy_s,
            tasks,
            ..WorkerShot::default()
        };
        PoolShot {
            name: "p".to_owned(),
            workers: 1,
            wall_s,
            seats: vec![seat],
        }
    }

    #[test]
    fn rates_are_of_the_interval() {
        let rates = &pool(4.0, 2.5, 300).since(Some(&pool(2.0, 2.0, 100)))[0];
        assert_eq!(rates.shares, [0.25, 0.0, 0.0, 0.0, 0.75]);
        assert_eq!(rates.per_s[0], 100.0);
    }

    #[test]
    fn a_reset_counts_from_the_reset() {
        let rates = &pool(1.0, 1.0, 50).since(Some(&pool(9.0, 2.0, 1_000)))[0];
        assert_eq!((rates.shares[0], rates.per_s[0]), (1.0, 50.0));
    }

    #[test]
    fn an_answer_of_the_runtime_is_read() {
        let snapshot: TopAnswer = serde_json::from_str(LINE).unwrap();
        assert_eq!(snapshot.pools[0].seats[0].doing, "idle");
        assert_eq!(snapshot.pools[0].since(None)[0].per_s[0], 2.0);
    }
}
