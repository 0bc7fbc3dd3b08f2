//! Parts of the matrix: quadrants of quadrants, to be read or to be written.

use super::quadtree::{Quadtree, Tile};

/// A part of the matrix to be read.
#[derive(Clone, Copy)]
pub(super) struct ReadQuadrant<'a> {
    pub(super) shape: &'a Quadtree,
    pub(super) tiles: &'a [Tile],
}

/// A part of the matrix to be written.
pub(super) struct PartMut<'a> {
    pub(super) shape: &'a Quadtree,
    pub(super) tiles: &'a mut [Tile],
}

/// The part of a quadrant to be read; `None` where all of it is zero.
pub(super) type Quadrant<'a> = Option<ReadQuadrant<'a>>;
/// The part of a quadrant to be written.
pub(super) type QuadrantMut<'a> = Option<PartMut<'a>>;

impl<'a> ReadQuadrant<'a> {
    pub(super) fn quadrants(self) -> [Quadrant<'a>; 4] {
        let mut rest = self.tiles;
        let counts = self.shape.counts();
        std::array::from_fn(|place| {
            let (tiles, after) = rest.split_at(counts[place]);
            rest = after;
            let shape = self.shape.quadrant(place)?;
            Some(ReadQuadrant { shape, tiles })
        })
    }
}

impl<'a> PartMut<'a> {
    pub(super) fn quadrants(self) -> [QuadrantMut<'a>; 4] {
        let mut rest = self.tiles;
        let counts = self.shape.counts();
        std::array::from_fn(|place| {
            let (tiles, after) = std::mem::take(&mut rest).split_at_mut(counts[place]);
            rest = after;
            let shape = self.shape.quadrant(place)?;
            Some(PartMut { shape, tiles })
        })
    }

    /// Borrows the part again for a while.
    pub(super) fn again(&mut self) -> PartMut<'_> {
        PartMut {
            shape: self.shape,
            tiles: self.tiles,
        }
    }

    pub(super) fn read(&self) -> ReadQuadrant<'_> {
        ReadQuadrant {
            shape: self.shape,
            tiles: self.tiles,
        }
    }
}
