//! Looks ahead in Connect Four: for each column, who wins if a stone is put there, and how soon.
//!
//! ```text
//! cargo run --release --example game-tree                # a position in which one move loses
//! cargo run --release --example game-tree -- 444 12      # after three stones in the middle, 12 stones ahead
//! ```
//!
//! Alpha-beta, with the first move of each position searched alone and its brothers at the same
//! time after it. What one brother finds, the others see when they begin: the best value so far is
//! an atomic number in the frame of their parent, which `join` lets them borrow.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;
use std::sync::atomic::{AtomicI32, Ordering};

use roving_examples::{Failure, Words};

const USAGE: &str = "game-tree [COLUMNS [AHEAD]]      columns played so far, 1 to 7 each, or - for none, default 444535; \
    how far to look, 1 to 42, default 12";

const COLUMNS: usize = 7;
const ROWS: u32 = 6;
/// The columns from the middle outwards: good moves first make good cuts.
const ORDER: [usize; COLUMNS] = [3, 2, 4, 1, 5, 0, 6];
/// More than any win is worth. A win is worth one more than the stones that are still missing then.
const MOST: i32 = 43;

fn main() -> ExitCode {
    roving_examples::run(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let played = words.path().unwrap_or_else(|| "444535".into());
    let ahead = words.number("ahead", 12, 1..=42)?;
    words.end()?;
    let played = played.to_string_lossy();
    let position = Position::after(played.trim_matches('-'))?;
    write!(out, "{position}")?;
    for (column, value) in (1..).zip(values(position, ahead)) {
        let stones = position.stones();
        let verdict = match value {
            None => "is full".to_owned(),
            Some(0) if stones + ahead >= 42 => "is a draw".to_owned(),
            Some(0) => format!("is undecided within {ahead} stones"),
            Some(value @ 1..) => format!("wins with stone {}", MOST - value),
            Some(value) => format!("loses to stone {}", MOST + value),
        };
        writeln!(out, "column {column} {verdict}")?;
    }
    Ok(())
}

/// Seven bits a column, the lowest row first; the seventh is never set, so that shifted lines do
/// not run into the next column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Position {
    /// The stones of who moves next.
    own: u64,
    all: u64,
}

impl Position {
    fn after(columns: &str) -> Result<Position, Failure> {
        let mut position = Position { own: 0, all: 0 };
        for letter in columns.chars() {
            let column = letter
                .to_digit(10)
                .filter(|column| (1..=7).contains(column));
            let column = column.ok_or_else(|| format!("`{letter}` is not a column from 1 to 7"))?;
            if position.is_won() {
                return Err(format!("`{columns}` goes on after the game has been won").into());
            }
            let next = position.with(column as usize - 1);
            position = next.ok_or_else(|| format!("column {column} has room for six stones"))?;
        }
        Ok(position)
    }

    /// With a stone of who moves next in this column, if there is room.
    fn with(self, column: usize) -> Option<Position> {
        let bottom = 1 << (7 * column);
        let all = self.all | (self.all + bottom);
        let full = all & (bottom << ROWS) != 0;
        (!full).then_some(Position {
            own: self.own ^ self.all,
            all,
        })
    }

    /// Whether the last stone made four in a line.
    fn is_won(self) -> bool {
        let stones = self.own ^ self.all;
        [1, 6, 7, 8].into_iter().any(|step| {
            let pairs = stones & (stones >> step);
            pairs & (pairs >> (2 * step)) != 0
        })
    }

    fn stones(self) -> u32 {
        self.all.count_ones()
    }

    /// The positions after each possible move, those in the middle first.
    fn moves(self) -> ([Position; COLUMNS], usize) {
        let mut found = ([self; COLUMNS], 0);
        for next in ORDER.iter().filter_map(|column| self.with(*column)) {
            found.0[found.1] = next;
            found.1 += 1;
        }
        found
    }
}

/// The value of each column for the player who moves next; `None` where it is full.
fn values(position: Position, ahead: u32) -> [Option<i32>; COLUMNS] {
    let mut values = [None; COLUMNS];
    roving::par_chunks_mut(&mut values, 1, |column, value| {
        if let Some(next) = position.with(column).filter(|_| !position.is_won()) {
            value[0] = Some(-value_of(next, ahead - 1, -MOST, MOST));
        }
    });
    values
}

/// The value for who moves next if it lies between `alpha` and `beta`; otherwise a bound on the
/// same side.
fn value_of(position: Position, ahead: u32, alpha: i32, beta: i32) -> i32 {
    let stones = position.stones() as i32;
    if position.is_won() {
        return stones - MOST;
    }
    // The soonest win is with the next stone but none.
    let (moves, count) = position.moves();
    if ahead == 0 || count == 0 {
        return 0;
    }
    let first = -value_of(moves[0], ahead - 1, -beta, -alpha);
    let best = AtomicI32::new(first);
    try_all(&moves[1..count], ahead, &best, alpha, beta);
    best.into_inner()
}

/// Raises `best` to the best of these moves, or to some value that `beta` does not allow.
fn try_all(moves: &[Position], ahead: u32, best: &AtomicI32, alpha: i32, beta: i32) {
    match moves {
        [] => {}
        [only] => {
            // Ordering: Relaxed here and below. The number is all that is shared, and an old one
            // costs time, not truth.
            let alpha = alpha.max(best.load(Ordering::Relaxed));
            if alpha < beta {
                let value = -value_of(*only, ahead - 1, -beta, -alpha);
                best.fetch_max(value, Ordering::Relaxed);
            }
        }
        _ => {
            let (these, those) = moves.split_at(moves.len() / 2);
            roving::join(
                || try_all(these, ahead, best, alpha, beta),
                || try_all(those, ahead, best, alpha, beta),
            );
        }
    }
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Who began has the stones of who moves next when their number is even.
        let first = if self.stones().is_multiple_of(2) {
            self.own
        } else {
            self.own ^ self.all
        };
        for row in (0..ROWS).rev() {
            for column in 0..COLUMNS as u32 {
                let bit = 1 << (7 * column + row);
                let stone = match (self.all & bit != 0, first & bit != 0) {
                    (false, _) => '.',
                    (true, true) => 'x',
                    (true, false) => 'o',
                };
                write!(f, "{stone} ")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition: all moves, nothing cut.
    fn minimax(position: Position, ahead: u32) -> i32 {
        if position.is_won() {
            return position.stones() as i32 - MOST;
        }
        let (moves, count) = position.moves();
        let moves = moves[..count].iter().filter(|_| ahead > 0);
        moves
            .map(|next| -minimax(*next, ahead - 1))
            .max()
            .unwrap_or(0)
    }

    #[test]
    fn nothing_that_matters_is_cut() {
        for played in ["", "4", "4433", "112233", "44444535", "1212123", "776655"] {
            let position = Position::after(played).unwrap();
            for ahead in 1..6 {
                for (column, value) in values(position, ahead).into_iter().enumerate() {
                    let next = position.with(column);
                    let expected = next.map(|next| -minimax(next, ahead - 1));
                    assert_eq!(
                        value, expected,
                        "{played:?}, {ahead} ahead, column {column}"
                    );
                }
            }
        }
    }

    #[test]
    fn lines_in_all_four_directions_win() {
        for won in ["1213141", "1727374", "12233434474", "76655454414"] {
            let last = Position::after(won).unwrap();
            let before = Position::after(&won[..won.len() - 1]).unwrap();
            assert!(last.is_won() && !before.is_won(), "{won}");
        }
        // Three above each other at the top of a column, and one at the bottom of the next.
        assert!(!Position::after("1112121").unwrap().is_won());
    }

    #[test]
    fn an_open_three_is_won_with_stone_seven() {
        // x: 3, 4, 5; o on top of them. 2 and 6 both win, whatever else is played.
        let text = roving_examples::output(program, &["334455", "2"]).unwrap();
        assert!(text.contains("column 2 wins with stone 7\n"), "{text}");
        assert!(text.contains("column 6 wins with stone 7\n"), "{text}");
        assert!(
            text.contains("column 1 is undecided within 2 stones\n"),
            "{text}"
        );
        assert!(text.starts_with(". . . . . . . \n"), "{text}");
    }

    #[test]
    fn bad_columns_are_named() {
        let error = |words: &[&str]| {
            roving_examples::output(program, words)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(error(&["48"]), "`8` is not a column from 1 to 7");
        assert_eq!(error(&["1111111"]), "column 1 has room for six stones");
        assert!(error(&["12131411"]).contains("after the game has been won"));
        assert!(error(&["-", "0"]).starts_with("ahead: `0`"));
    }
}
