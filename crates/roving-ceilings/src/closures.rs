//! Spawned closures, and loops.

use std::hint::black_box;

use roving::Pool;

use crate::Path;

/// Tasks, or loops, of a round.
const MANY: u64 = 500;
/// Slots of a task stack that is to be full.
const SLOTS: u64 = 16;

pub(crate) const SPAWN_QUEUED: Path = Path {
    name: "spawn-queued",
    operations: MANY,
    run: |pool, rounds| {
        for _ in 0..rounds {
            pool.install(|| spawn_into_one_scope(MANY));
        }
    },
};

pub(crate) const SPAWN_OF_4_WORDS: Path = Path {
    name: "spawn-of-4-words",
    operations: MANY,
    run: |pool, rounds| {
        for _ in 0..rounds {
            pool.install(|| spawn_four_words(MANY));
        }
    },
};

pub(crate) const SPAWN_IN_PLACE: Path = Path {
    name: "spawn-in-place",
    operations: MANY,
    run: |_, rounds| {
        let builder = Pool::builder().caller_runs();
        let pool = builder.task_slots(SLOTS as usize).build();
        let pool = pool.expect("it needs no thread");
        pool.install(|| spawn_into_one_scope(SLOTS + rounds * MANY));
    },
};

pub(crate) const SPAWN_DETACHED: Path = Path {
    name: "spawn-detached",
    operations: MANY,
    run: |pool, rounds| {
        for _ in 0..rounds {
            pool.install(|| {
                for number in 0..MANY {
                    roving::spawn(move || {
                        black_box(number);
                    });
                }
            });
        }
    },
};

pub(crate) const MAP_REDUCE: Path = Path {
    name: "map-reduce-of-4",
    operations: MANY,
    run: |pool, rounds| {
        pool.install(|| {
            for _ in 0..rounds * MANY {
                let sum = roving::map_reduce(0..black_box(4), 0, black_box, |a, b| a + b);
                assert_eq!(sum, 6);
            }
        });
    },
};

pub(crate) const PAR_FOR: Path = Path {
    name: "par-for-of-4",
    operations: MANY,
    run: |pool, rounds| {
        pool.install(|| {
            for _ in 0..rounds * MANY {
                roving::par_for(0..black_box(4), |place| {
                    black_box(place);
                });
            }
        });
    },
};

/// Tasks that capture two words each.
fn spawn_into_one_scope(tasks: u64) {
    let base = black_box(7);
    roving::scope(|scope| {
        for number in 0..tasks {
            scope.spawn(move |_| {
                black_box(base + number);
            });
        }
    });
}

/// Tasks that capture four words each, more than a pair of registers holds.
fn spawn_four_words(tasks: u64) {
    let (a, b, c) = black_box((7, 8, 9));
    roving::scope(|scope| {
        for number in 0..tasks {
            scope.spawn(move |_| {
                black_box(a + b + c + number);
            });
        }
    });
}
