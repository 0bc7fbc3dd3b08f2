//! Values that tasks inherit, and messages.

use std::hint::black_box;

use roving::{Pool, context};
use roving_flow::{In, Network, Out};

use crate::Path;

/// Contexts of a round.
const MANY: u64 = 500;
/// Processes of the ring.
const PROCESSES: u64 = 8;
/// Rounds of the token in a round.
const TURNS: u64 = 50;

pub(crate) const CONTEXT: Path = Path {
    name: "context-with",
    operations: MANY,
    run: |pool, rounds| {
        pool.install(|| {
            for number in 0..rounds * MANY {
                context::with(number, || black_box(number));
            }
        });
    },
};

pub(crate) const RING_HOP: Path = Path {
    name: "ring-hop",
    operations: PROCESSES * TURNS,
    run: |pool, rounds| ring(pool, rounds * TURNS),
};

/// Sends a token so often round the ring, through channels of one place.
fn ring(pool: &Pool, turns: u64) {
    let mut network = Network::new();
    let (first, mut held) = network.bounded::<u64>("hop 0", 1);
    for place in 1..PROCESSES {
        let (out, next) = network.bounded::<u64>(format_args!("hop {place}"), 1);
        network.process(format_args!("forward {place}"), (held, out), forward);
        held = next;
    }
    let start = async move |(mut input, mut out): (In<u64>, Out<u64>)| {
        let mut hops = 0;
        for _ in 0..turns {
            out.send(hops + 1).await.expect("the ring is closed");
            hops = input.recv().await.expect("the ring is closed");
        }
        assert_eq!(hops, turns * PROCESSES);
    };
    network.process("start", (held, first), start);
    network.run(pool).expect("a ring with a token goes on");
}

/// Passes the token on.
async fn forward((mut input, mut out): (In<u64>, Out<u64>)) {
    while let Some(hops) = input.recv().await {
        if out.send(hops + 1).await.is_err() {
            break;
        }
    }
}
