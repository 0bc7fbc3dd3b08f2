//! Ways to put queens on a board so that none attacks another, searched for by several ranks.
//!
//! ```text
//! cargo run --release --example two-ranks --features ranks -- 14
//! ```
//!
//! Nobody knows how many tasks there will be, nor how they are spread: a rank without tasks asks
//! others, and those that have some give half. Without `mpirun` the two ranks are threads of this
//! process. With the feature `mpi`, and started by `mpirun -n 4`, they are four processes, on one
//! machine or on many.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use roving::Pool;
use roving_dist::{Bag, Error, World};
use roving_examples::{Failure, Words, beside_serial};

const USAGE: &str = "two-ranks [QUEENS]      1 to 18, default 14";

fn main() -> ExitCode {
    roving_examples::run_once(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let queens = words.number("queens", 14, 1..=18)?;
    words.end()?;
    let world = World::init()?;
    let board = Board {
        queens,
        ..Board::default()
    };
    let is_first = world.rank() == 0;
    let ways = if world.ranks() > 1 {
        search(&world, board)?
    } else {
        let both = || World::threads(2, |world| search(&world, board).unwrap_or_default());
        beside_serial(|| vec![board.ways(); 2], both)?[0]
    };
    world.finish()?;
    if !is_first {
        return Ok(());
    }
    writeln!(out, "{ways} ways")?;
    Ok(())
}

/// The number of ways to end this board, the same on each rank.
fn search(world: &World, board: Board) -> Result<u64, Error> {
    let workers = (roving::current_workers() / world.ranks()).max(1);
    let pool = Pool::new(workers).map_err(|error| world.fail(error))?;
    let first = Some(board.to_task());
    Bag::new(world).run(
        &pool,
        first,
        |task, local| {
            let board = Board::of_task(task);
            // Where few rows are left, a task is not worth its way to another rank.
            if board.queens - board.rows() <= 6 {
                *local.result() += board.ways();
                return;
            }
            for next in board.next() {
                local.push(next.to_task());
            }
        },
        |a: u64, b| a + b,
    )
}

/// A board whose upper rows have a queen each; what they attack in the next row, a bit a column.
#[derive(Clone, Copy, Default)]
struct Board {
    queens: u32,
    columns: u32,
    falling: u32,
    rising: u32,
}

impl Board {
    fn rows(&self) -> u32 {
        self.columns.count_ones()
    }

    /// With a queen more, in each column of the next row that none attacks.
    fn next(self) -> impl Iterator<Item = Board> {
        let attacked = self.columns | self.falling | self.rising;
        let free = (0..self.queens)
            .map(|column| 1 << column)
            .filter(move |column| attacked & column == 0);
        free.map(move |column| Board {
            queens: self.queens,
            columns: self.columns | column,
            falling: (self.falling | column) << 1,
            rising: (self.rising | column) >> 1,
        })
    }

    fn ways(self) -> u64 {
        if self.rows() == self.queens {
            return 1;
        }
        self.next().map(Board::ways).sum()
    }

    /// The form in which `serde` can send it.
    fn to_task(self) -> [u32; 4] {
        [self.queens, self.columns, self.falling, self.rising]
    }

    fn of_task([queens, columns, falling, rising]: [u32; 4]) -> Board {
        Board {
            queens,
            columns,
            falling,
            rising,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ranks_find_the_published_numbers() {
        for (queens, ways) in [(1, 1), (4, 2), (8, 92), (9, 352)] {
            let board = Board {
                queens,
                ..Board::default()
            };
            let found = World::threads(2, |world| search(&world, board).unwrap());
            assert_eq!(found, [ways; 2]);
        }
    }

    #[test]
    fn the_program_says_how_many() {
        assert_eq!(
            roving_examples::output(program, &["8"]).unwrap(),
            "92 ways\n"
        );
        assert!(roving_examples::output(program, &["19"]).is_err());
    }
}
