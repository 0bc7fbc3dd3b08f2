//! Counts the words of files, and of all files below folders: the most frequent ones first.
//!
//! ```text
//! cargo run --release --example word-count -- docs README.md
//! ```
//!
//! All files together are cut into pieces, so that one large file is counted by all workers as
//! well. Each piece has a table of its own, and tables are merged in pairs: no lock, and no word is
//! counted in a table that two workers share.
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use roving_examples::{Failure, Words, files_below, read};

const USAGE: &str = "word-count [FILE | FOLDER]...      default: the book of this repository";
const BOOK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");

/// How many words are printed.
const SHOWN: usize = 20;
/// A piece of text that gets a table of its own: large beside a table of its words.
const PIECE: usize = 64 << 10;

/// How often each word was seen.
type Counts = HashMap<String, u64>;

fn main() -> ExitCode {
    roving_examples::run(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let mut paths: Vec<PathBuf> = std::iter::from_fn(|| words.path()).collect();
    if paths.is_empty() {
        paths.push(BOOK.into());
    }
    let mut texts = Vec::new();
    let mut others = 0;
    for path in paths {
        for file in files_below(&path)? {
            match String::from_utf8(read(&file)?) {
                Ok(text) => texts.push(text),
                Err(_) => others += 1,
            }
        }
    }
    let counts = count(&texts);
    let mut order: Vec<(&String, &u64)> = counts.iter().collect();
    // Words that are as frequent: by the alphabet, so that each run prints the same.
    order.sort_by_key(|(word, times)| (Reverse(**times), *word));
    for (word, times) in order.iter().take(SHOWN) {
        writeln!(out, "{times:9}  {word}")?;
    }
    let (all, files) = (counts.values().sum::<u64>(), texts.len());
    let different = counts.len();
    writeln!(
        out,
        "{all} words, {different} different ones, in {files} text files; {others} others left out"
    )?;
    Ok(())
}

fn count(texts: &[String]) -> Counts {
    let pieces: Vec<&str> = texts.iter().flat_map(|text| pieces(text)).collect();
    roving::map_reduce(
        0..pieces.len(),
        Counts::new(),
        |piece| count_piece(pieces[piece]),
        merge,
    )
}

/// The text in pieces that end between words.
fn pieces(mut text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    while let Some(wanted) = (PIECE..text.len()).find(|at| text.is_char_boundary(*at)) {
        let end = text[wanted..].find(|letter: char| !letter.is_alphabetic());
        let (piece, rest) = text.split_at(end.map_or(text.len(), |end| wanted + end));
        found.push(piece);
        text = rest;
    }
    found.push(text);
    found
}

fn count_piece(text: &str) -> Counts {
    let mut counts = Counts::new();
    for word in text.split(|letter: char| !letter.is_alphabetic()) {
        if word.is_empty() {
            continue;
        }
        let word = word.to_lowercase();
        *counts.entry(word).or_default() += 1;
    }
    counts
}

/// The smaller table goes into the larger one.
fn merge(one: Counts, other: Counts) -> Counts {
    let (mut into, from) = if one.len() < other.len() {
        (other, one)
    } else {
        (one, other)
    };
    for (word, times) in from {
        *into.entry(word).or_default() += times;
    }
    into
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_without_case_and_signs() {
        let texts = ["The thief, the victim.".to_owned(), "THE end\n".to_owned()];
        let counts = count(&texts);
        let times = |word: &str| counts.get(word).copied();
        assert_eq!((times("the"), times("victim")), (Some(3), Some(1)));
        assert_eq!((counts.len(), times("The")), (4, None));
    }

    #[test]
    fn pieces_end_between_words_and_are_the_whole_text() {
        // No word but `oldest` and `néwest`, however the pieces fall.
        for shift in 0..20 {
            let text = format!("{}{}", " ".repeat(shift), "oldest néwest ".repeat(20_000));
            let found = pieces(&text);
            assert!(found.len() > 3 && found.concat() == text);
            let counts = count(&[text]);
            assert_eq!(counts.len(), 2);
            assert_eq!(counts["néwest"], 20_000);
        }
    }

    #[test]
    fn a_word_longer_than_a_piece_is_one_word() {
        let text = "a".repeat(3 * PIECE);
        assert_eq!(
            count(std::slice::from_ref(&text)),
            Counts::from([(text, 1)])
        );
    }

    #[test]
    fn the_program_counts_the_licence() {
        let licence = concat!(env!("CARGO_MANIFEST_DIR"), "/../LICENSE-MIT");
        let text = roving_examples::output(program, &[licence]).unwrap();
        // By `tr -cs '[:alnum:]' '\n' < LICENSE-MIT | tr A-Z a-z | sort | uniq -c | sort -rn`.
        assert!(text.starts_with("       15  the\n"), "{text}");
        assert!(
            text.contains("in 1 text files; 0 others left out"),
            "{text}"
        );
        assert!(roving_examples::output(program, &["no-such-file"]).is_err());
    }
}
