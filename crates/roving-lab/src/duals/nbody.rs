//! `nbody`: bodies that attract each other, all pairs, in blocks. What one block does to another is
//! a task with two sides.

use std::time::{Duration, Instant};

use roving::task::{Scope, Task};
use roving_gpu::Buffer;

use super::event::OnceEvent;
use super::math::bodies::{self, Four};
use super::program::{DualEntry, DualProgram, PoolAndDevices};
use super::steps;
use crate::io::input::{BadInput, CommandFailure, number_in};
use crate::workloads::numbers::Noise;
use crate::workloads::{RunAnswer, TimedAnswer, WorkloadKind, parse_params};

/// The entry in the catalogue.
pub(super) const ENTRY: DualEntry = DualEntry {
    kind: WorkloadKind {
        name: "nbody",
        about: "bodies that attract each other, all pairs in blocks, a few steps",
        inputs: &[
            ("4096", "4,096 bodies in blocks of 512, 4 steps"),
            ("1024,block=128", "1,024 bodies in blocks of 128"),
            ("65536,block=4096", "65,536 bodies in blocks of 4,096"),
        ],
        params: "bodies, from 1 to 1e6; block=BODIES, a divisor of them; steps=N, from 1 to 1000",
        items: "pairs",
        figures: &["right"],
        serial: "the CPU sides alone",
    },
    parse,
};

/// Added to each squared distance.
pub(super) const SOFTENING_SQUARED: f32 = 1e-3;
/// The time of a step.
const STEP: f32 = 1e-3;
/// The most blocks.
const BLOCKS_MAX: u64 = 256;

struct Nbody {
    blocks: usize,
    block: usize,
    steps: usize,
    bodies: Vec<Four>,
    /// Where the serial run found them.
    expected: Vec<Four>,
}

fn parse(input: &str) -> Result<Box<dyn DualProgram>, BadInput> {
    let (mut count, mut block, mut steps) = (4096, None, 4);
    let remedy = "take nbody 4096";
    for (key, value) in parse_params("nbody", &["bodies", "block", "steps"], input)? {
        match key {
            "bodies" => count = number_in("nbody bodies", value, 1..=1_000_000, remedy)?,
            "block" => {
                block = Some(number_in(
                    "nbody block",
                    value,
                    1..=1_000_000,
                    "leave it out",
                )?)
            }
            _ => steps = number_in("nbody steps", value, 1..=1000, "leave it out for 4")?,
        }
    }
    let fitting = || (1..=count.min(512)).rev().find(|block| count % block == 0);
    let block = block.or_else(fitting).unwrap_or(count);
    if count % block != 0 || count / block > BLOCKS_MAX {
        let allowed = format!("a divisor of {count}, and one in {BLOCKS_MAX} of it at least");
        return Err(BadInput::new(
            "nbody block",
            block,
            allowed,
            "write block=BODIES",
        ));
    }
    Ok(Box::new(Nbody {
        blocks: (count / block) as usize,
        block: block as usize,
        steps: steps as usize,
        bodies: Vec::new(),
        expected: Vec::new(),
    }))
}

/// The state that the tasks of one run share.
struct NbodyRun {
    steps: usize,
    blocks: usize,
    /// Where the bodies of each block are at each step.
    places: Vec<Buffer<Four>>,
    /// Whether that is known.
    known: Vec<OnceEvent>,
    velocities: Vec<Buffer<Four>>,
    forces: Vec<Buffer<Four>>,
}

impl NbodyRun {
    /// One block, step by step.
    fn block<'env>(
        &'env self,
        place: &'env PoolAndDevices<'env>,
        block: usize,
    ) -> impl Task<()> + 'env {
        async move {
            let forces = &self.forces[block];
            for step in 0..self.steps {
                let here = step * self.blocks;
                // Each begins with itself, so not all want the same one first.
                for other in (0..self.blocks).map(|n| (block + n) % self.blocks) {
                    self.known[here + other].wait().await;
                    let (on, from) = (&self.places[here + block], &self.places[here + other]);
                    steps::attract(place, on, from, SOFTENING_SQUARED, forces).await;
                }
                let next = &self.places[here + self.blocks + block];
                let from = &self.places[here + block];
                steps::advance(place, from, &self.velocities[block], forces, next, STEP).await;
                self.known[here + self.blocks + block].happen();
            }
        }
    }
}

impl Nbody {
    /// Forces are sums of numbers of either sign: two ways of adding differ by a few in a thousand
    /// of what is left at most, here of how far the bodies go.
    fn right(&self, found: &[Four]) -> u64 {
        let way = |before: &Four, after: &Four| {
            (0..3)
                .map(|axis| f64::from(after[axis] - before[axis]).powi(2))
                .sum::<f64>()
        };
        let pairs = self.bodies.iter().zip(&self.expected);
        let ways: f64 = pairs.map(|(before, after)| way(before, after)).sum();
        let bound = (ways / self.bodies.len() as f64).sqrt() * 5e-3;
        let pairs = found.iter().zip(&self.expected);
        pairs
            .filter(|(one, other)| way(one, other).sqrt() <= bound)
            .count() as u64
    }

    fn pairs(&self) -> f64 {
        (self.bodies.len() as f64).powi(2) * self.steps as f64
    }
}

impl DualProgram for Nbody {
    fn input(&self) -> String {
        let Nbody {
            blocks,
            block,
            steps,
            ..
        } = self;
        format!("{},block={block},steps={steps}", blocks * block)
    }

    fn prepare(&mut self) -> Result<(), CommandFailure> {
        let mut noise = Noise::new(77);
        let mut body = |_| {
            let [x, y, z] = [noise.unit(), noise.unit(), noise.unit()].map(|unit| unit as f32);
            [x, y, z, 1.0 + noise.unit() as f32 * 0.5]
        };
        self.bodies = (0..self.blocks * self.block).map(&mut body).collect();
        Ok(())
    }

    fn serial(&mut self) -> Duration {
        let mut bodies = self.bodies.clone();
        let (mut velocities, mut forces) =
            (vec![[0.0; 4]; bodies.len()], vec![[0.0; 4]; bodies.len()]);
        let start = Instant::now();
        for _ in 0..self.steps {
            let blocks = bodies.chunks(self.block).zip(forces.chunks_mut(self.block));
            for (on, forces) in blocks {
                for from in bodies.chunks(self.block) {
                    bodies::attract(on, from, SOFTENING_SQUARED, forces);
                }
            }
            bodies::advance(&mut bodies, &mut velocities, &mut forces, STEP);
        }
        let time = start.elapsed();
        self.expected = bodies;
        time
    }

    fn run(&self, place: &PoolAndDevices<'_>) -> Result<TimedAnswer, CommandFailure> {
        let still = |count: usize| (0..count).map(|_| Buffer::zeroed(self.block)).collect();
        let mut run = NbodyRun {
            steps: self.steps,
            blocks: self.blocks,
            places: self
                .bodies
                .chunks(self.block)
                .map(|all| Buffer::from(all.to_vec()))
                .collect(),
            known: (0..self.blocks * (self.steps + 1))
                .map(|_| OnceEvent::default())
                .collect(),
            velocities: still(self.blocks),
            forces: still(self.blocks),
        };
        run.places.extend(still(self.blocks * self.steps) as Vec<_>);
        run.known[..self.blocks].iter().for_each(OnceEvent::happen);
        let start = Instant::now();
        place.pool.run(|scope: Scope<'_>| {
            let run = &run;
            async move {
                let tasks: Vec<_> = (0..run.blocks)
                    .map(|block| scope.spawn(run.block(place, block)))
                    .collect();
                for task in tasks {
                    task.await;
                }
            }
        });
        let last = run.places.split_off(self.blocks * self.steps);
        last.iter().for_each(Buffer::fetch);
        let found: Vec<Four> = last.into_iter().flat_map(Buffer::into_vec).collect();
        let time = start.elapsed();
        Ok(TimedAnswer {
            time,
            answer: RunAnswer([self.right(&found), 0, 0]),
        })
    }

    fn expected(&self) -> RunAnswer {
        RunAnswer([self.bodies.len() as u64, 0, 0])
    }

    fn work(&self) -> f64 {
        self.pairs()
    }

    fn tasks(&self) -> u64 {
        (self.blocks * self.blocks * self.steps) as u64
    }

    fn items(&self) -> u64 {
        self.pairs() as u64
    }
}
