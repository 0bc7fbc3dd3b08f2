//! A reduction in which every detail of the order shows.

use std::sync::{Mutex, OnceLock, PoisonError};

use roving::Pool;

use super::node::leaf_value;

/// Elements of a leaf.
pub(super) const GRAIN: usize = 5;

/// A function x ↦ ax + b: to do one after the other is associative, and which comes first matters.
/// And a sum of fractions, which is not even associative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Reduction {
    a: u64,
    b: u64,
    sum: f64,
}

pub(super) fn term(value: u64) -> Reduction {
    Reduction {
        a: value | 1,
        b: value.rotate_left(17),
        sum: (value >> 40) as f64 / 3.0,
    }
}

impl Reduction {
    pub(super) const NONE: Reduction = Reduction {
        a: 1,
        b: 0,
        sum: 0.0,
    };

    pub(super) fn then(self, next: Reduction) -> Reduction {
        Reduction {
            a: self.a.wrapping_mul(next.a),
            b: self.b.wrapping_mul(next.a).wrapping_add(next.b),
            sum: self.sum + next.sum,
        }
    }

    pub(super) fn value(self) -> u64 {
        self.a ^ self.b.rotate_left(1) ^ self.sum.to_bits().rotate_left(2)
    }
}

/// The function from the first element to the last; the sum from one worker, which is no thread.
pub(super) fn serial(seed: u64, end: usize) -> u64 {
    static ALONE: OnceLock<Mutex<Pool>> = OnceLock::new();
    let build = || {
        let alone = Pool::builder().caller_runs().build();
        Mutex::new(alone.expect("it starts no thread"))
    };
    let element = |index: usize| term(leaf_value(seed, index as u64));
    let alone = ALONE.get_or_init(build).lock();
    let alone = alone
        .unwrap_or_else(PoisonError::into_inner)
        .install(|| roving::reduce(0..end, GRAIN, || Reduction::NONE, element, Reduction::then));
    let all = (0..end).map(element).fold(Reduction::NONE, Reduction::then);
    Reduction {
        sum: alone.sum,
        ..all
    }
    .value()
}
