//! Solves linear equations, A x = b, by Gaussian elimination with partial pivoting.
//!
//! ```text
//! cargo run --release --example matrix-solver -- 1500
//! cargo run --release --example matrix-solver -- --file equations.txt
//! ```
//!
//! A file has one equation in a line: the numbers of its row of A, then that of b. Each step of the
//! elimination is a loop over the rows below; the last steps have few and short rows, and nothing
//! needs to be switched off for them.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use roving_examples::{Failure, Words, random, read};

const USAGE: &str = "matrix-solver [SIZE | --file FILE]      1 to 20000, default 1500: equations whose \
    solution is 1, 2, 3 …; or those in a file";

/// A pivot that is smaller than this, beside the largest number of A, is none.
const SMALLEST: f64 = 1e-13;

fn main() -> ExitCode {
    roving_examples::run(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    if words.flag("--file") {
        let path = words.path().ok_or("--file wants the name of a file")?;
        words.end()?;
        let equations = Equations::parse(&String::from_utf8(read(&path)?)?)?;
        for (number, x) in (1..).zip(equations.solve()?) {
            writeln!(out, "x{number} = {x}")?;
        }
        return Ok(());
    }
    let size = words.number("size", 1500, 1..=20_000)?;
    words.end()?;
    let equations = Equations::invented(size);
    let solution = equations.solve()?;
    let wrong = (1..).zip(&solution).map(|(n, x)| (x - f64::from(n)).abs());
    let wrong = wrong.fold(0.0, f64::max);
    let left = equations.residual(&solution);
    writeln!(out, "{size} equations are solved")?;
    writeln!(out, "largest error of an unknown: {wrong:.1e}")?;
    writeln!(out, "largest residual of an equation: {left:.1e}")?;
    Ok(())
}

/// A and b beside each other: rows of `size + 1` numbers.
#[derive(Clone)]
struct Equations {
    size: usize,
    numbers: Vec<f64>,
}

impl Equations {
    /// Numbers of A between -1 and 1 that look random, and b such that the solution is 1, 2, 3 …
    fn invented(size: usize) -> Equations {
        let width = size + 1;
        let mut numbers = vec![0.0; size * width];
        roving::par_chunks_mut(&mut numbers, width, |row, numbers| {
            let (b, row_of_a) = numbers.split_last_mut().expect("a row has its b");
            for (column, number) in row_of_a.iter_mut().enumerate() {
                let n = random((row * size + column) as u64);
                *number = (n >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
                *b += *number * (column + 1) as f64;
            }
        });
        Equations { size, numbers }
    }

    fn parse(text: &str) -> Result<Equations, Failure> {
        let lines = text.lines().enumerate();
        let lines: Vec<_> = lines.filter(|(_, line)| !line.trim().is_empty()).collect();
        let size = lines.len();
        let mut numbers = Vec::with_capacity(size * (size + 1));
        for (at, line) in lines {
            let start = numbers.len();
            for word in line.split_whitespace() {
                let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
                let line = at + 1;
                numbers.push(number.ok_or_else(|| format!("line {line}: `{word}` is no number"))?);
            }
            let (count, wanted) = (numbers.len() - start, size + 1);
            if count != wanted {
                let line = at + 1;
                return Err(format!(
                    "line {line} has {count} numbers: {size} equations want {wanted} in each"
                )
                .into());
            }
        }
        Ok(Equations { size, numbers })
    }

    fn solve(&self) -> Result<Vec<f64>, Failure> {
        let (size, width) = (self.size, self.size + 1);
        let mut numbers = self.numbers.clone();
        let largest = numbers.iter().fold(0.0, |most: f64, n| most.max(n.abs()));
        for step in 0..size {
            let below = step..size;
            let pivot = below
                .max_by(|one, other| {
                    let of = |row: usize| numbers[row * width + step].abs();
                    of(*one).total_cmp(&of(*other))
                })
                .expect("there is a row left");
            if numbers[pivot * width + step].abs() <= SMALLEST * largest {
                let unknown = step + 1;
                return Err(format!("the equations do not determine x{unknown}").into());
            }
            let (above, rows) = numbers.split_at_mut((step + 1) * width);
            let first = &mut above[step * width..];
            if pivot > step {
                first.swap_with_slice(&mut rows[(pivot - step - 1) * width..][..width]);
            }
            let first = &first[step..];
            roving::par_chunks_mut(rows, width, |_, row| eliminate(&mut row[step..], first));
        }
        Ok(back(&numbers, size))
    }

    /// The largest difference between the two sides of an equation.
    fn residual(&self, solution: &[f64]) -> f64 {
        let width = self.size + 1;
        let of = |row: usize| {
            let row = &self.numbers[row * width..][..width];
            let sum: f64 = row.iter().zip(solution).map(|(a, x)| a * x).sum();
            (sum - row[self.size]).abs()
        };
        roving::map_reduce(0..self.size, 0.0, of, f64::max)
    }
}

/// Subtracts as much of the first row as makes the first number of this one zero.
fn eliminate(row: &mut [f64], first: &[f64]) {
    let factor = row[0] / first[0];
    for (number, above) in row.iter_mut().zip(first) {
        *number -= factor * above;
    }
}

/// The solution of equations of which each has one unknown less than the one above it.
fn back(numbers: &[f64], size: usize) -> Vec<f64> {
    let width = size + 1;
    let mut solution = vec![0.0; size];
    for row in (0..size).rev() {
        let numbers = &numbers[row * width..][..width];
        let known = row + 1..size;
        let sum: f64 = known.map(|column| numbers[column] * solution[column]).sum();
        solution[row] = (numbers[size] - sum) / numbers[row];
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_equations_are_solved_as_by_hand() {
        let equations = Equations::parse("2 1 5\n1 -1 1\n").unwrap();
        assert_eq!(equations.solve().unwrap(), [2.0, 1.0]);
        // The first pivot is in the last row.
        let equations = Equations::parse("0 0 4 8\n0 3 0 9\n2 0 0 2\n").unwrap();
        assert_eq!(equations.solve().unwrap(), [1.0, 3.0, 2.0]);
    }

    #[test]
    fn the_invented_ones_have_the_solution_that_they_were_made_for() {
        for size in [1, 2, 50, 200] {
            let equations = Equations::invented(size);
            let solution = equations.solve().unwrap();
            for (n, x) in (1..).zip(&solution) {
                assert!((x - f64::from(n)).abs() < 1e-7, "x{n} = {x} of {size}");
            }
            assert!(equations.residual(&solution) < 1e-8);
            assert!(equations.residual(&vec![0.0; size]) > 1e-3);
        }
    }

    #[test]
    fn what_cannot_be_solved_is_said() {
        let error = |text: &str| match Equations::parse(text) {
            Ok(equations) => equations.solve().unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        assert_eq!(error("1 2 3\n2 4 6\n"), "the equations do not determine x2");
        assert_eq!(
            error("1 2 3\n4 5\n"),
            "line 2 has 2 numbers: 2 equations want 3 in each"
        );
        assert_eq!(error("1 x\n"), "line 1: `x` is no number");
        assert_eq!(error("1 inf\n"), "line 1: `inf` is no number");
    }

    #[test]
    fn the_program_checks_itself() {
        let text = roving_examples::output(program, &["100"]).unwrap();
        assert!(text.starts_with("100 equations are solved\n"), "{text}");
        assert!(roving_examples::output(program, &["0"]).is_err());
    }
}
