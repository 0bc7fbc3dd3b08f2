//! Solves sudoku puzzles, and says whether a solution is the only one.
//!
//! ```text
//! cargo run --release --example sudoku                 # three hard ones
//! cargo run --release --example sudoku -- puzzles.txt  # one in a line: 81 digits, with 0 or . where it is empty
//! ```
//!
//! A search in a scope: each task fills in what is forced, and spawns a task for each digit that
//! may stand in the most constrained cell. How many tasks that makes, nobody knows before; as soon
//! as two solutions are found, the scope is cancelled, and tasks that have not begun are dropped.
#![forbid(unsafe_code)]

use std::fmt;
use std::io::Write;
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::Mutex;

use roving::Scope;
use roving_examples::{Failure, Words, read};

const USAGE: &str = "sudoku [FILE]      one puzzle in a line; default: three that are built in";

/// Each has few givens and one solution.
const PUZZLES: [&str; 3] = [
    "59.34..7..........7.4..9....7......26....34.84.8..1.....1.2...6......14..8..3....",
    ".....3.98......2...594.......1..............18.423..6.....9...6......8471.3..8.2.",
    "7.........3..7...5...4..8.....7....18..5..9...7..62.4......1..9.4..3.6..9.5......",
];

/// So many solutions are looked for: one, and one that shows that it is not the only one.
const WANTED: usize = 2;

fn main() -> ExitCode {
    roving_examples::run(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let text = match words.path() {
        Some(path) => String::from_utf8(read(&path)?)?,
        None => PUZZLES.join("\n"),
    };
    words.end()?;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let board: Board = line.trim().parse()?;
        match solve(board).as_slice() {
            [] => writeln!(out, "{line}\nhas no solution\n")?,
            [only] => writeln!(out, "{only:#}\nis the only solution\n")?,
            [one, ..] => writeln!(out, "{one:#}\nis one of several solutions\n")?,
        }
    }
    Ok(())
}

/// The digits 1 to 9 as bits 0 to 8.
type Digits = u16;
const ALL: Digits = 0x1ff;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Board {
    /// 0 where a cell is empty.
    cells: [u8; 81],
    /// The digits in each row, column and block.
    rows: [Digits; 9],
    columns: [Digits; 9],
    blocks: [Digits; 9],
}

impl Board {
    fn new() -> Board {
        Board {
            cells: [0; 81],
            rows: [0; 9],
            columns: [0; 9],
            blocks: [0; 9],
        }
    }

    /// The digits that a cell may have.
    fn free(&self, cell: usize) -> Digits {
        let (row, column) = (cell / 9, cell % 9);
        let block = row / 3 * 3 + column / 3;
        ALL & !(self.rows[row] | self.columns[column] | self.blocks[block])
    }

    /// The board with this digit, 0 to 8, in an empty cell.
    fn with(mut self, cell: usize, digit: u32) -> Board {
        let (row, column) = (cell / 9, cell % 9);
        let bit = 1 << digit;
        self.cells[cell] = digit as u8 + 1;
        self.rows[row] |= bit;
        self.columns[column] |= bit;
        self.blocks[row / 3 * 3 + column / 3] |= bit;
        self
    }

    /// The empty cell for which the fewest digits are left.
    fn tightest(&self) -> Option<usize> {
        let empty = (0..81).filter(|cell| self.cells[*cell] == 0);
        empty.min_by_key(|cell| self.free(*cell).count_ones())
    }
}

/// At most two solutions.
fn solve(board: Board) -> Vec<Board> {
    let found = Mutex::new(Vec::new());
    roving::scope(|scope| search(scope, board, &found));
    let mut found = found.into_inner().expect("no task panics");
    found.truncate(WANTED);
    found
}

fn search<'scope>(scope: &Scope<'scope>, mut board: Board, found: &'scope Mutex<Vec<Board>>) {
    while !scope.is_cancelled() {
        let Some(cell) = board.tightest() else {
            let mut found = found.lock().expect("no task panics");
            found.push(board);
            if found.len() >= WANTED {
                scope.cancel();
            }
            return;
        };
        let mut free = board.free(cell);
        if free.count_ones() != 1 {
            while free != 0 {
                let next = board.with(cell, free.trailing_zeros());
                scope.spawn(move |scope| search(scope, next, found));
                free &= free - 1;
            }
            return;
        }
        board = board.with(cell, free.trailing_zeros());
    }
}

impl FromStr for Board {
    type Err = String;

    fn from_str(text: &str) -> Result<Board, String> {
        let count = text.chars().count();
        if count != 81 {
            return Err(format!("`{text}` has {count} cells: a puzzle has 81"));
        }
        let mut board = Board::new();
        for (cell, letter) in text.chars().enumerate() {
            let (row, column) = (cell / 9 + 1, cell % 9 + 1);
            match letter {
                '0' | '.' => {}
                '1'..='9' => {
                    let digit = letter as u32 - '1' as u32;
                    if board.free(cell) & 1 << digit == 0 {
                        return Err(format!(
                            "{letter} in row {row}, column {column} is there twice"
                        ));
                    }
                    board = board.with(cell, digit);
                }
                _ => {
                    return Err(format!(
                        "`{letter}` in row {row}, column {column}: write 1 to 9, or . where it is empty"
                    ));
                }
            }
        }
        Ok(board)
    }
}

/// In one line, or with `{:#}` in nine.
impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (cell, digit) in self.cells.iter().enumerate() {
            match (f.alternate(), cell % 27, cell % 9, cell % 3) {
                (true, 0, _, _) if cell > 0 => f.write_str("\n\n")?,
                (true, _, 0, _) if cell > 0 => f.write_str("\n")?,
                (true, _, 3 | 6, _) => f.write_str("  ")?,
                (true, _, 1.., _) => f.write_str(" ")?,
                _ => {}
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A full board by a formula: each row is the one above, moved by three, or by one after a
    /// block.
    fn full() -> Board {
        (0..81).fold(Board::new(), |board, cell| {
            let (row, column) = (cell / 9, cell % 9);
            let digit = (row * 3 + row / 3 + column) % 9;
            assert!(board.free(cell) & 1 << digit != 0);
            board.with(cell, digit as u32)
        })
    }

    /// That board without these cells.
    fn without(cells: &[usize]) -> Board {
        let full = full();
        let kept = (0..81).filter(|cell| !cells.contains(cell));
        kept.fold(Board::new(), |board, cell| {
            board.with(cell, u32::from(full.cells[cell]) - 1)
        })
    }

    #[test]
    fn what_was_taken_away_is_found_again() {
        let row: Vec<usize> = (0..9).collect();
        let diagonal: Vec<usize> = (0..9).map(|n| n * 10).collect();
        for cells in [&[][..], &[40], &row, &diagonal] {
            assert_eq!(solve(without(cells)), [full()]);
        }
    }

    #[test]
    fn the_built_in_puzzles_have_one_solution_each() {
        for puzzle in PUZZLES {
            let board: Board = puzzle.parse().unwrap();
            let [solution] = solve(board)[..] else {
                panic!("{puzzle}")
            };
            // No digit was changed, and the solution obeys the rules.
            let given = board.cells.iter().zip(&solution.cells);
            assert!(
                given
                    .into_iter()
                    .all(|(one, other)| *one == 0 || one == other)
            );
            assert_eq!(solution.to_string().parse::<Board>(), Ok(solution));
            assert!(!solution.cells.contains(&0));
        }
    }

    #[test]
    fn two_solutions_and_none_are_told_apart() {
        assert_eq!(solve(Board::new()).len(), 2);
        // Row 1 wants a 9 in its last cell, which column 9 has already.
        let text = format!("12345678.........9{}", ".".repeat(63));
        assert_eq!(solve(text.parse().unwrap()), []);
    }

    #[test]
    fn bad_puzzles_are_named() {
        let parse = |text: &str| text.parse::<Board>().unwrap_err();
        assert_eq!(parse("123"), "`123` has 3 cells: a puzzle has 81");
        let twice = format!("11{}", ".".repeat(79));
        assert_eq!(parse(&twice), "1 in row 1, column 2 is there twice");
        let strange = format!(".x{}", ".".repeat(79));
        assert!(parse(&strange).starts_with("`x` in row 1, column 2"));
    }

    #[test]
    fn the_program_solves_its_own() {
        let text = roving_examples::output(program, &[]).unwrap();
        assert_eq!(text.matches("is the only solution").count(), 3, "{text}");
        assert!(text.lines().all(|line| line.len() < 30));
    }
}
