//! Sorts in place: the lines of a file, or numbers that look random.
//!
//! ```text
//! cargo run --release --example quicksort -- 5000000
//! cargo run --release --example quicksort -- --file README.md
//! ```
//!
//! The two sides of a partition do not overlap, and the compiler can see it: so `join` may sort
//! both at the same time, without copies and without locks.
#![forbid(unsafe_code)]

use std::cmp::Ordering;
use std::io::Write;
use std::process::ExitCode;

use roving_examples::{Failure, Words, random, read};

const USAGE: &str =
    "quicksort [COUNT | --file FILE]      numbers, 0 to 200000000, default 5000000; or lines";

/// Below this length insertion sort is quicker, on one worker as on many: it is another algorithm,
/// not a limit for making tasks.
const SHORT: usize = 24;

fn main() -> ExitCode {
    roving_examples::run(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    if words.flag("--file") {
        let path = words.path().ok_or("--file wants the name of a file")?;
        words.end()?;
        let text = read(&path)?;
        let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        if lines.last().is_some_and(|line| line.is_empty()) {
            lines.pop();
        }
        sort(&mut lines);
        for line in lines {
            out.write_all(line)?;
            out.write_all(b"\n")?;
        }
        return Ok(());
    }
    let count = words.number("count", 5_000_000, 0..=200_000_000)?;
    words.end()?;
    let mut numbers = vec![0; count];
    roving::par_chunks_mut(&mut numbers, 4096, |chunk, numbers| {
        for (number, n) in numbers.iter_mut().zip(chunk as u64 * 4096..) {
            *number = random(n);
        }
    });
    sort(&mut numbers);
    if !numbers.is_sorted() {
        return Err("the numbers are not in order".into());
    }
    writeln!(out, "{count} numbers are in order")?;
    Ok(())
}

fn sort<T: Ord + Send>(values: &mut [T]) {
    if values.len() <= SHORT {
        return insert(values);
    }
    let (below, above) = partition(values);
    roving::join(|| sort(below), || sort(above));
}

/// Partitions the values: returns those less than some value between them, and those greater; equal
/// values are in their places.
fn partition<T: Ord>(values: &mut [T]) -> (&mut [T], &mut [T]) {
    let middle = middle_of_three(values);
    values.swap(0, middle);
    // [less | equal, the value itself first | not looked at | greater]
    let (mut less, mut at, mut greater) = (0, 1, values.len());
    while at < greater {
        match values[at].cmp(&values[less]) {
            Ordering::Less => {
                values.swap(at, less);
                less += 1;
                at += 1;
            }
            Ordering::Equal => at += 1,
            Ordering::Greater => {
                greater -= 1;
                values.swap(at, greater);
            }
        }
    }
    let (rest, above) = values.split_at_mut(greater);
    (&mut rest[..less], above)
}

/// The place of the middle one of three values. Where they are looked for differs with the length,
/// so that no common pattern of input makes all partitions uneven.
fn middle_of_three<T: Ord>(values: &[T]) -> usize {
    let length = values.len() as u64;
    let mut places = [0, 1, 2].map(|n| (random(length * 3 + n) % length) as usize);
    places.sort_unstable_by_key(|place| &values[*place]);
    places[1]
}

fn insert<T: Ord>(values: &mut [T]) {
    for end in 1..values.len() {
        let mut at = end;
        while at > 0 && values[at] < values[at - 1] {
            values.swap(at, at - 1);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(mut values: Vec<u64>) {
        let mut expected = values.clone();
        expected.sort();
        sort(&mut values);
        assert_eq!(values, expected);
    }

    #[test]
    fn the_order_is_that_of_the_standard_library() {
        for length in [0, 1, 2, SHORT, SHORT + 1, 1000, 50_000] {
            check((0..length as u64).map(random).collect());
            check((0..length as u64).map(|n| random(n) % 7).collect());
        }
    }

    #[test]
    fn patterns_do_no_harm() {
        check((0..50_000).collect());
        check((0..50_000).rev().collect());
        check(vec![3; 50_000]);
        check((0..50_000).map(|n| n % 2).collect());
    }

    #[test]
    fn the_program_sorts_numbers_and_lines() {
        let text = roving_examples::output(program, &["1000"]).unwrap();
        assert_eq!(text, "1000 numbers are in order\n");
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        let text = roving_examples::output(program, &["--file", manifest]).unwrap();
        let mut expected: Vec<&str> = include_str!("Cargo.toml").lines().collect();
        expected.sort();
        assert!(text.lines().eq(expected));
        assert!(roving_examples::output(program, &["--file", "no-such-file"]).is_err());
    }
}
