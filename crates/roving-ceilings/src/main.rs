//! The fast paths of Roving, each so many times and then twice as often, between marks at which
//! callgrind writes down what it has counted. `cargo xtask ceilings` runs this program under it:
//! the difference of two counts is that of the operations alone, without the start of a process or
//! of a pool, and it is the same in each run.
//!
//! All is done by one thread, in a pool that is this thread: nothing depends on how threads take
//! turns.
#![forbid(unsafe_code)]

mod closures;
mod others;
mod trees;

use std::hint::black_box;

use roving::Pool;

/// One path.
struct Path {
    /// The word in the list of ceilings.
    name: &'static str,
    /// How many operations a round has.
    operations: u64,
    /// Makes so many rounds.
    run: fn(&Pool, u64),
}

/// All paths, in the order of the list.
const PATHS: [Path; 15] = [
    trees::JOIN_BY_REFERENCE,
    trees::JOIN_BY_MOVE,
    trees::JOIN_OF_4_WORDS,
    trees::JOIN_OF_6_WORDS,
    trees::SKYNET,
    trees::SKYNET_BY_SCOPE,
    trees::FORK_AND_CALL,
    closures::SPAWN_QUEUED,
    closures::SPAWN_OF_4_WORDS,
    closures::SPAWN_IN_PLACE,
    closures::SPAWN_DETACHED,
    closures::MAP_REDUCE,
    closures::PAR_FOR,
    others::CONTEXT,
    others::RING_HOP,
];

/// Rounds of the shorter run.
const ROUNDS: u64 = 20;

/// Callgrind writes down its counts, and begins anew, whenever this returns.
#[inline(never)]
fn mark() {
    black_box(());
}

fn main() {
    for path in &PATHS {
        let pool = Pool::builder().caller_runs().build();
        let pool = pool.expect("it needs no thread");
        // What grows when it is first used has grown.
        (path.run)(&pool, 2 * ROUNDS);
        mark();
        (path.run)(&pool, ROUNDS);
        mark();
        (path.run)(&pool, 2 * ROUNDS);
        mark();
        println!("{},{}", path.name, ROUNDS * path.operations);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_path_runs_and_has_a_name_of_its_own() {
        for (place, path) in PATHS.iter().enumerate() {
            assert!(PATHS[..place].iter().all(|other| other.name != path.name));
            let pool = Pool::builder().caller_runs().build().unwrap();
            (path.run)(&pool, 2);
        }
    }
}
