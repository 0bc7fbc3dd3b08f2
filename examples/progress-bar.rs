//! The longest Collatz sequence that begins below a limit, with a progress bar of the crate
//! `indicatif`.
//!
//! ```text
//! cargo run --release --example progress-bar --features progress -- 3000000
//! ```
//!
//! The bar may be told from any worker. It is told once for each piece of the loop, because a
//! counter that all workers write for each number would cost more than the numbers do.
#![forbid(unsafe_code)]

use std::io::Write;
use std::ops::Range;
use std::process::ExitCode;

use indicatif::{ProgressBar, ProgressStyle};
use roving_examples::{Failure, Words, beside_serial};

const USAGE: &str = "progress-bar [LIMIT]      2 to 1000000000, default 3000000";

/// Numbers between two steps of the bar.
const PIECE: u64 = 10_000;

fn main() -> ExitCode {
    roving_examples::run_once(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let limit = words.number("limit", 3_000_000, 2..=1_000_000_000)?;
    words.end()?;
    let style = ProgressStyle::with_template("{msg:9} {bar:40} {percent:>3} % {eta}")?;
    let bar = |name| {
        ProgressBar::new(limit)
            .with_style(style.clone())
            .with_message(name)
    };
    let serial = || {
        let bar = bar("serial");
        let pieces = pieces(limit).map(|piece| longest(piece, &bar));
        let longest = pieces.max();
        bar.finish_and_clear();
        longest
    };
    let parallel = || {
        let bar = bar("parallel");
        let pieces: Vec<Range<u64>> = pieces(limit).collect();
        let longest = roving::map_reduce(
            0..pieces.len(),
            None,
            |piece| Some(longest(pieces[piece].clone(), &bar)),
            Option::max,
        );
        bar.finish_and_clear();
        longest
    };
    let Some((steps, start)) = beside_serial(serial, parallel)? else {
        return Err("there is no number below that limit".into());
    };
    writeln!(out, "{start} takes {steps} steps to 1")?;
    Ok(())
}

fn pieces(limit: u64) -> impl Iterator<Item = Range<u64>> {
    (1..limit)
        .step_by(PIECE as usize)
        .map(move |from| from..limit.min(from + PIECE))
}

/// The number of steps and the number that needs most of them; of several, the greatest.
fn longest(numbers: Range<u64>, bar: &ProgressBar) -> (u32, u64) {
    let count = numbers.end - numbers.start;
    let longest = numbers.map(|number| (steps(number), number)).max();
    bar.inc(count);
    longest.unwrap_or((0, 1))
}

fn steps(mut number: u64) -> u32 {
    let mut steps = 0;
    while number != 1 {
        number = if number.is_multiple_of(2) {
            number / 2
        } else {
            3 * number + 1
        };
        steps += 1;
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_sequences_are_the_known_ones() {
        for (limit, line) in [
            ("10", "9 takes 19 steps"),
            ("1000000", "837799 takes 524 steps"),
        ] {
            let text = roving_examples::output(program, &[limit]).unwrap();
            assert_eq!(text, format!("{line} to 1\n"));
        }
    }

    #[test]
    fn the_bar_is_told_of_each_number() {
        let bar = ProgressBar::hidden();
        let pieces: Vec<Range<u64>> = pieces(25_001).collect();
        roving::par_for(0..pieces.len(), |piece| {
            longest(pieces[piece].clone(), &bar);
        });
        assert_eq!((pieces.len(), bar.position()), (3, 25_000));
    }
}
