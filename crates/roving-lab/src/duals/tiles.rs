//! Square matrices as tiles, each a buffer by itself.

use roving_gpu::Buffer;

use super::math::real::Real;
use crate::workloads::RunAnswer;
use crate::workloads::numbers::{Digest, Noise};

/// A square matrix of `across` × `across` tiles, each `side` × `side` numbers by rows; tiles by
/// rows as well.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tiles<T> {
    /// Tiles in a row.
    pub(super) across: usize,
    /// Numbers in a row of a tile.
    pub(super) side: usize,
    tiles: Vec<Vec<T>>,
}

/// The tiles of a matrix as buffers of one run.
pub(super) struct Buffers<T: Real> {
    across: usize,
    tiles: Vec<Buffer<T>>,
}

impl<T: Real> Tiles<T> {
    /// A matrix whose number in each row and column `number` gives, in the order of tiles.
    pub(super) fn new(
        across: usize,
        side: usize,
        mut number: impl FnMut(usize, usize) -> f64,
    ) -> Self {
        let tile = |place: usize| {
            let (down, right) = (place / across * side, place % across * side);
            (0..side * side)
                .map(|cell| T::near(number(down + cell / side, right + cell % side)))
                .collect()
        };
        Tiles {
            across,
            side,
            tiles: (0..across * across).map(tile).collect(),
        }
    }

    /// Whole numbers of a size such that sums of products are exact in any order.
    pub(super) fn whole(across: usize, side: usize, seed: u64) -> Self {
        let mut noise = Noise::new(seed);
        Tiles::new(across, side, |_, _| noise.whole(4))
    }

    /// Nothing but zeros.
    pub(super) fn zeros(across: usize, side: usize) -> Self {
        Tiles::new(across, side, |_, _| 0.0)
    }

    /// The tile in this row and column of tiles.
    pub(super) fn at(&self, row: usize, column: usize) -> &[T] {
        &self.tiles[row * self.across + column]
    }

    /// A tile, to be written.
    pub(super) fn at_mut(&mut self, row: usize, column: usize) -> &mut Vec<T> {
        &mut self.tiles[row * self.across + column]
    }

    /// As buffers.
    pub(super) fn buffers(&self) -> Buffers<T> {
        Buffers {
            across: self.across,
            tiles: self.tiles.iter().cloned().map(Buffer::from).collect(),
        }
    }

    /// A digest of the numbers.
    pub(super) fn digest(&self) -> RunAnswer {
        let mut digest = Digest::default();
        let numbers = self.tiles.iter().flatten();
        numbers.for_each(|number| digest.word(number.wide().to_bits()));
        RunAnswer([digest.value(), 0, 0])
    }

    /// How many numbers are within `bound` of those of `other`, in the tiles that `counts` names.
    pub(super) fn near(&self, other: &Self, bound: f64) -> u64 {
        let pairs = self
            .tiles
            .iter()
            .flatten()
            .zip(other.tiles.iter().flatten());
        pairs
            .filter(|(one, other)| (one.wide() - other.wide()).abs() <= bound)
            .count() as u64
    }

    /// How many numbers it has.
    pub(super) fn len(&self) -> u64 {
        self.tiles.iter().map(|tile| tile.len() as u64).sum()
    }
}

impl<T: Real> Buffers<T> {
    /// The tile in this row and column of tiles.
    pub(super) fn at(&self, row: usize, column: usize) -> &Buffer<T> {
        &self.tiles[row * self.across + column]
    }

    /// The present content, as the tiles of a matrix.
    pub(super) fn collect(self, side: usize) -> Tiles<T> {
        self.tiles.iter().for_each(Buffer::fetch);
        Tiles {
            across: self.across,
            side,
            tiles: self.tiles.into_iter().map(Buffer::into_vec).collect(),
        }
    }
}
