//! Whether it helps that thieves look into their own socket first, half of the times: the time of
//! irregular trees on simulated machines, over that of thieves that go by chance alone.

use roving_model::{Binomial, Costs, ModelError, Runtime, Topology};

/// Each ratio is a mean over so many seeds.
const SEEDS: u64 = 30;

/// Workers, and how many of them share a socket.
const MACHINES: [(usize, u32); 5] = [(16, 8), (64, 8), (64, 32), (128, 64), (256, 32)];

/// The trees: how many children the root has, and how long a node takes.
const TREES: [(&str, u32, f64); 4] = [
    ("short", 2_000, 100.0),
    ("100 ns", 20_000, 100.0),
    ("1 µs", 20_000, 1_000.0),
    ("10 µs", 10_000, 10_000.0),
];

/// The geometric mean over all seeds of the time with one policy over that with the other.
fn ratio(pool: Runtime, tree: &Binomial) -> Result<f64, ModelError> {
    let mut logs = 0.0;
    for seed in 1..=SEEDS {
        let by_chance = pool.seed(seed).run(tree)?.speedup();
        let near_first = pool.seed(seed).near_first(true).run(tree)?.speedup();
        logs += (by_chance / near_first).ln();
    }
    Ok((logs / SEEDS as f64).exp())
}

fn main() -> Result<(), ModelError> {
    println!("| workers, to a socket | other sockets | short | 100 ns | 1 µs | 10 µs |");
    println!("|---|---|---|---|---|---|");
    let (mut logs, mut cells) = (0.0, 0.0);
    for (workers, socket) in MACHINES {
        for times in [1.0, 4.0] {
            let mut costs = Costs::default();
            for cost in [&mut costs.claim, &mut costs.line, &mut costs.finish] {
                cost.far *= times;
            }
            let topology = Topology { pair: 1, socket };
            let pool = Runtime::new(workers).topology(topology).costs(costs);
            let mut row = format!("| {workers}, {socket} | {times} × as far |");
            for (_, roots, node_ns) in TREES {
                let tree = Binomial {
                    seed: 3,
                    roots,
                    children: 4,
                    probability: 0.2375,
                    node_ns,
                };
                let ratio = ratio(pool, &tree)?;
                logs += ratio.ln();
                cells += 1.0;
                row += &format!(" {ratio:.2} |");
            }
            println!("{row}");
        }
    }
    println!("geometric mean {:.3}", (logs / cells).exp());
    Ok(())
}
