//! Conway's Game of Life on a board whose edges meet.

use rayon::prelude::*;

use crate::random::Random;
use crate::work::{Scale, Work, value};

struct Board {
    side: usize,
    generations: usize,
    alive: Vec<bool>,
}

fn board(side: usize, generations: usize) -> Board {
    let mut random = Random::new(31);
    let alive = (0..side * side).map(|_| random.below(3) == 0).collect();
    Board {
        side,
        generations,
        alive,
    }
}

impl Board {
    /// Whether the cell lives in the next generation.
    fn next(&self, alive: &[bool], cell: usize) -> bool {
        let (row, column, side) = (cell / self.side, cell % self.side, self.side);
        let rows = [(row + side - 1) % side, row, (row + 1) % side];
        let columns = [(column + side - 1) % side, column, (column + 1) % side];
        let mut living = 0;
        for row in rows {
            for column in columns {
                living += u32::from(alive[row * side + column]);
            }
        }
        // The cell itself was counted.
        living == 3 || (living == 4 && alive[cell])
    }

    /// All generations, by whatever fills in one.
    fn play(&self, fill: impl Fn(&[bool], &mut Vec<bool>)) -> Vec<bool> {
        let mut now = self.alive.clone();
        let mut then = vec![false; now.len()];
        for _ in 0..self.generations {
            fill(&now, &mut then);
            std::mem::swap(&mut now, &mut then);
        }
        now
    }

    fn serial(&self) -> Vec<bool> {
        self.play(|now, then| {
            for (cell, alive) in then.iter_mut().enumerate() {
                *alive = self.next(now, cell);
            }
        })
    }
}

/// Each generation is a `par_iter` over all cells.
pub(crate) fn by_cell(scale: Scale) -> Box<dyn Work> {
    value(board(200, scale.size(20, 2)), Board::serial, |board| {
        board.play(|now, then| {
            let cells = (0..now.len()).into_par_iter();
            cells
                .map(|cell| board.next(now, cell))
                .collect_into_vec(then);
        })
    })
}

/// Each generation is a `par_bridge` over all cells.
pub(crate) fn by_bridge(scale: Scale) -> Box<dyn Work> {
    value(board(scale.size(200, 40), 2), Board::serial, |board| {
        board.play(|now, then| {
            let cells = then.iter_mut().enumerate().par_bridge();
            cells.for_each(|(cell, alive)| *alive = board.next(now, cell));
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blinker_turns() {
        let mut board = board(5, 1);
        let line = |cells: [usize; 3]| {
            let mut alive = vec![false; 25];
            cells.iter().for_each(|cell| alive[*cell] = true);
            alive
        };
        board.alive = line([11, 12, 13]);
        assert_eq!(board.serial(), line([7, 12, 17]));
    }
}
