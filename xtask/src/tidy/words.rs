//! One word for one thing.

use std::path::Path;

use super::finding::Finding;
use crate::reading::RustFile;

/// Banned words, each with the word to use. Lower case; found at word boundaries.
const BANNED: [(&str, &str); 15] = [
    ("thread pool", "pool"),
    ("worker thread", "worker"),
    ("front of the queue", "oldest"),
    ("front of the stack", "oldest"),
    ("front of the deque", "oldest"),
    ("back of the queue", "newest"),
    ("back of the stack", "newest"),
    ("back of the deque", "newest"),
    ("work item", "task"),
    ("work unit", "task"),
    ("todo", "do it, or open an issue"),
    ("fixme", "fix it, or open an issue"),
    ("xxx", "say what is meant"),
    ("blazing", "a number"),
    ("blazingly", "a number"),
];

/// Qualifiers that stand before a name which ends in a unit belong behind the unit.
const QUALIFIERS: [&str; 5] = ["max_", "min_", "total_", "mean_", "median_"];
const UNITS: [&str; 6] = ["_ns", "_us", "_ms", "_s", "_bytes", "_kib"];

/// Comments and names of a Rust file.
pub(crate) fn check(source: &RustFile) -> Vec<Finding> {
    let mut found = Vec::new();
    for (line, comment) in source.comment.iter().enumerate() {
        found.extend(banned(&source.path, line + 1, comment));
    }
    for (line, code) in source.code.iter().enumerate() {
        for name in names(code) {
            if let Some(better) = units_last(name) {
                let text = format!("`{name}`: unit and qualifier last: `{better}`");
                found.push(Finding::new(&source.path, line + 1, text));
            }
        }
    }
    found
}

/// The text of a page, code blocks included.
pub(crate) fn check_page(path: &Path, text: &str) -> Vec<Finding> {
    let lines = text.lines().enumerate();
    lines
        .flat_map(|(line, text)| banned(path, line + 1, text))
        .collect()
}

fn banned(path: &Path, line: usize, text: &str) -> Vec<Finding> {
    let lower = text.to_lowercase();
    let mut found = Vec::new();
    for (word, better) in BANNED {
        let hit = lower.match_indices(word).any(|(at, _)| {
            let before = lower[..at].chars().next_back();
            let after = lower[at + word.len()..].chars().next();
            let inside =
                |letter: Option<char>| letter.is_some_and(|c| c.is_alphanumeric() || c == '_');
            // One `s` behind a word is its plural.
            !inside(before) && (!inside(after) || after == Some('s'))
        });
        if hit {
            found.push(Finding::new(
                path,
                line,
                format!("\"{word}\": say {better}"),
            ));
        }
    }
    found
}

fn names(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|name| !name.is_empty())
}

/// `max_park_us` → `park_us_max`
fn units_last(name: &str) -> Option<String> {
    let qualifier = QUALIFIERS
        .iter()
        .find(|qualifier| name.starts_with(**qualifier))?;
    UNITS.iter().find(|unit| name.ends_with(**unit))?;
    let rest = &name[qualifier.len()..];
    Some(format!("{rest}_{}", qualifier.trim_end_matches('_')))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        check(&RustFile::new("a.rs".into(), text)).len()
    }

    #[test]
    fn banned_words_are_found_in_comments_and_pages() {
        assert_eq!(count("// A Thread pool.\nfn a() {}\n"), 1);
        assert_eq!(
            count("// A pool; the newest slot.\nlet a = \"thread pool\";\n"),
            0
        );
        assert_eq!(
            check_page(Path::new("a.md"), "one\nall worker threads\n").len(),
            1
        );
        assert_eq!(
            check_page(Path::new("a.md"), "the workers' threads\n").len(),
            0
        );
    }

    #[test]
    fn each_banned_word_can_be_found() {
        for (word, _) in BANNED {
            assert_eq!(count(&format!("// {word}\n")), 1, "{word}");
        }
    }

    #[test]
    fn words_inside_words_are_left_alone() {
        assert_eq!(count("// mastodons, maxxxx\n"), 0);
    }

    #[test]
    fn units_stand_last() {
        assert_eq!(units_last("max_park_us"), Some("park_us_max".into()));
        assert_eq!(count("let max_park_us = 1;\n"), 1);
        assert_eq!(count("let park_us_max = max_depth;\n"), 0);
    }
}
