//! Counts the ways to put n queens on a board of n × n so that none attacks another.
//!
//! ```text
//! cargo run --release --example nqueens -- 14
//! ```
//!
//! The recursion is the serial one with `join` in it. Nothing says below which depth to stop making
//! tasks: one that nobody steals costs about as much as the call that it stands for.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use roving_examples::{Failure, Words};

const USAGE: &str = "nqueens [QUEENS]      1 to 18, default 14";

fn main() -> ExitCode {
    roving_examples::run(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let queens = words.number("queens", 14, 1..=18)?;
    words.end()?;
    writeln!(out, "{queens} queens: {} solutions", solutions(queens))?;
    Ok(())
}

/// The rows that are filled so far. One bit for each column that the next row may not use.
#[derive(Clone, Copy)]
struct Rows {
    /// All columns of the board.
    board: u32,
    /// Columns that have a queen.
    columns: u32,
    /// Columns that a queen above attacks along a diagonal, to either side.
    left: u32,
    right: u32,
}

impl Rows {
    /// With a queen in this column of the next row.
    fn with(self, queen: u32) -> Rows {
        Rows {
            columns: self.columns | queen,
            left: (self.left | queen) << 1,
            right: (self.right | queen) >> 1,
            ..self
        }
    }
}

fn solutions(queens: u32) -> u64 {
    complete(Rows {
        board: (1 << queens) - 1,
        columns: 0,
        left: 0,
        right: 0,
    })
}

/// The number of ways to fill the rows that are left.
fn complete(rows: Rows) -> u64 {
    if rows.columns == rows.board {
        return 1;
    }
    let free = rows.board & !(rows.columns | rows.left | rows.right);
    complete_with(rows, free)
}

/// Counts the completions with a queen of the next row in one of the columns `free`.
fn complete_with(rows: Rows, free: u32) -> u64 {
    if free == 0 {
        return 0;
    }
    let queen = free & free.wrapping_neg();
    let others = free & !queen;
    if others == 0 {
        return complete(rows.with(queen));
    }
    let (these, those) = roving::join(
        || complete(rows.with(queen)),
        || complete_with(rows, others),
    );
    these + those
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_the_known_ones() {
        let known = [1, 0, 0, 2, 10, 4, 40, 92, 352, 724, 2680];
        for (queens, solutions_known) in (1..).zip(known) {
            assert_eq!(solutions(queens), solutions_known, "{queens} queens");
        }
    }

    #[test]
    fn the_program_says_so() {
        let text = roving_examples::output(program, &["8"]);
        assert_eq!(text.unwrap(), "8 queens: 92 solutions\n");
        let error = roving_examples::output(program, &["19"]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "queens: `19` is not a number from 1 to 18"
        );
    }
}
