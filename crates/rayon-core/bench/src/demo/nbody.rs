//! Bodies that attract each other: each step looks at all pairs.

use rayon::prelude::*;

use crate::random::Random;
use crate::work::{Scale, Work, nearly, value};

/// How long a step is.
const STEP: f64 = 0.01;
/// Added to each squared distance, so that near bodies do not fly apart.
const SOFTENING: f64 = 1e-3;

type Vector = [f64; 3];

#[derive(Clone, Debug, PartialEq)]
struct PointMass {
    place: Vector,
    speed: Vector,
    mass: f64,
}

fn bodies(scale: Scale) -> Vec<PointMass> {
    let mut random = Random::new(11);
    let mut vector = |by: f64| [0; 3].map(|_: i32| random.unit() * by);
    let body = |number: usize| PointMass {
        place: vector(1.0),
        speed: vector(0.1),
        mass: 1.0 + (number % 5) as f64,
    };
    (0..scale.size(1000, 24)).map(body).collect()
}

fn add(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// The acceleration of `body` by `other`.
fn pull(body: &PointMass, other: &PointMass) -> Vector {
    let way = [0, 1, 2].map(|axis| other.place[axis] - body.place[axis]);
    let square = way.iter().map(|part| part * part).sum::<f64>() + SOFTENING;
    let strength = other.mass / (square * square.sqrt());
    way.map(|part| part * strength)
}

fn pull_of_all(body: &PointMass, all: &[PointMass]) -> Vector {
    let pulls = all.iter().map(|other| pull(body, other));
    pulls.fold([0.0; 3], add)
}

fn moved(body: &PointMass, pull: Vector) -> PointMass {
    let speed = add(body.speed, pull.map(|part| part * STEP));
    PointMass {
        place: add(body.place, speed.map(|part| part * STEP)),
        speed,
        mass: body.mass,
    }
}

/// Two steps, by whatever makes one.
fn steps(start: &[PointMass], step: impl Fn(&[PointMass]) -> Vec<PointMass>) -> Vec<PointMass> {
    step(&step(start))
}

fn serial(all: &[PointMass]) -> Vec<PointMass> {
    let each = all.iter().map(|body| moved(body, pull_of_all(body, all)));
    each.collect()
}

/// All bodies in parallel.
pub(crate) fn by_body(scale: Scale) -> Box<dyn Work> {
    value(
        bodies(scale),
        |start| steps(start, serial),
        |start| {
            steps(start, |all| {
                let each = all.par_iter();
                each.map(|body| moved(body, pull_of_all(body, all)))
                    .collect()
            })
        },
    )
}

/// All pairs in parallel: the sum for each body is a `fold` and a `reduce` as well.
pub(crate) fn by_pair(scale: Scale) -> Box<dyn Work> {
    let near = |a: &Vec<PointMass>, b: &Vec<PointMass>| {
        // Sums in another order differ in the last bits.
        let close = |a: &PointMass, b: &PointMass| {
            let pairs = a.place.iter().zip(&b.place);
            pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-6)
        };
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| close(a, b))
    };
    let parallel = |start: &Vec<PointMass>| {
        steps(start, |all| {
            let each = all.par_iter().map(|body| {
                let pulls = all.par_iter().map(|other| pull(body, other));
                moved(body, pulls.fold(|| [0.0; 3], add).reduce(|| [0.0; 3], add))
            });
            each.collect()
        })
    };
    nearly(bodies(scale), |start| steps(start, serial), parallel, near)
}
