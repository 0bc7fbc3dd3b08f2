//! Comments that can be read alone: the first words of a doc comment, reasons of SAFETY comments,
//! and lines of at most 100 columns.

use super::finding::Finding;
use crate::reading::RustFile;

/// A doc comment that begins so cannot be read without its neighbours, or has no subject. Rustdoc
/// shows its first sentence alone.
const OPENINGS: [&str; 3] = ["The same", "As above", "What"];

/// A SAFETY comment that begins so gives the reason of another call, which has other conditions.
const ELSEWHERE: [&str; 4] = ["as above", "as before", "as there", "the same"];

/// The most columns of a line with a comment alone.
const COLUMNS_MAX: usize = 100;

pub(crate) fn check(sources: &[RustFile]) -> Vec<Finding> {
    sources.iter().flat_map(of_file).collect()
}

fn of_file(source: &RustFile) -> Vec<Finding> {
    let mut found = Vec::new();
    let (mut before, mut is_example) = (None, false);
    for (line, raw) in source.raw.iter().enumerate() {
        let comment = alone(source, line, raw);
        let marker = comment.and_then(doc_marker);
        if marker != before {
            is_example = false;
        }
        if let Some(text) = comment {
            let words = marker.map(|marker| text[marker.len()..].trim_start());
            if let Some(words) = words.filter(|_| marker != before) {
                found.extend(opening(source, line, words));
            }
            is_example ^= words.is_some_and(|words| words.starts_with("```"));
            found.extend(safety(source, line, text));
            if !is_example {
                found.extend(width(source, line, raw));
            }
        }
        before = marker;
    }
    found
}

/// The comment of a line that holds nothing else.
fn alone<'s>(source: &RustFile, line: usize, raw: &'s str) -> Option<&'s str> {
    let text = raw.trim_start();
    (text.starts_with("//") && source.code[line].trim().is_empty()).then_some(text)
}

fn doc_marker(text: &str) -> Option<&'static str> {
    ["///", "//!"]
        .into_iter()
        .find(|marker| text.starts_with(marker) && !text.starts_with("////"))
}

fn opening(source: &RustFile, line: usize, text: &str) -> Option<Finding> {
    let opening = OPENINGS.iter().find(|opening| {
        let rest = text.strip_prefix(**opening);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })?;
    let text =
        format!("a doc comment that begins with \"{opening}\": say what the item is or does");
    Some(Finding::new(&source.path, line + 1, text))
}

fn safety(source: &RustFile, line: usize, text: &str) -> Option<Finding> {
    let reason = text
        .trim_start_matches(['/', '!', ' '])
        .strip_prefix("SAFETY:")?
        .trim_start()
        .to_lowercase();
    let word = ELSEWHERE.iter().find(|word| reason.starts_with(**word))?;
    let text =
        format!("a SAFETY comment that begins with \"{word}\": say why each condition holds here");
    Some(Finding::new(&source.path, line + 1, text))
}

/// Rows of tables and addresses cannot be broken.
fn width(source: &RustFile, line: usize, raw: &str) -> Option<Finding> {
    let columns = raw.chars().count();
    let text = raw.trim_start().trim_start_matches(['/', '!', ' ']);
    let is_whole = text.starts_with('|') || !text.trim_start_matches(['-', '*', ' ']).contains(' ');
    (columns > COLUMNS_MAX && !is_whole).then(|| {
        let text = format!("a comment of {columns} columns, at most {COLUMNS_MAX} are allowed");
        Finding::new(&source.path, line + 1, text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        let findings = of_file(&RustFile::new("a.rs".into(), text));
        findings.into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn the_first_words_of_a_doc_comment_are_judged() {
        assert!(texts("/// The same for b.\nfn a() {}\n")[0].contains("\"The same\""));
        assert!(texts("//! As above.\n")[0].contains("\"As above\""));
        assert!(texts("fn a() {}\n    /// What it does.\n")[0].contains("\"What\""));
        assert!(texts("/// Adds.\n///\n/// What is added stays.\nfn a() {}\n").is_empty());
        assert!(texts("// What a plain comment asks\n/// Whatever.\nfn a() {}\n").is_empty());
        assert!(texts("let a = \"\n/// What\n\";\n//// What\n").is_empty());
    }

    #[test]
    fn each_block_has_first_words() {
        assert_eq!(texts("//! A module.\n/// What.\nfn a() {}\n").len(), 1);
        assert_eq!(texts("/// A.\nfn a() {}\n/// What.\nfn b() {}\n").len(), 1);
    }

    #[test]
    fn a_safety_comment_gives_its_own_reason() {
        for word in ELSEWHERE {
            assert_eq!(texts(&format!("// SAFETY: {word}, up to here.\n")).len(), 1);
        }
        assert_eq!(texts("// SAFETY: As above.\n").len(), 1);
        assert!(texts("// SAFETY: private, so nobody else reads it.\n// As above.\n").is_empty());
    }

    #[test]
    fn lines_end_at_column_100() {
        let line = |length: usize| format!("// {}\n", "ab ".repeat(40)[..length - 3].to_owned());
        assert!(texts(&line(100)).is_empty());
        assert!(texts(&line(101))[0].contains("101 columns"));
        let long = "ab ".repeat(40);
        assert!(texts(&format!("/// | {long}|\n// https://{}\n", "a".repeat(100))).is_empty());
        assert!(texts(&format!("let a = 1; // {long}\n")).is_empty());
        let example = format!("/// A.\n/// ```\n/// {long};\n/// ```\n");
        assert!(texts(&format!("{example}fn a() {{}}\n")).is_empty());
        assert_eq!(texts(&format!("{example}/// {long}\n")).len(), 1);
    }
}
