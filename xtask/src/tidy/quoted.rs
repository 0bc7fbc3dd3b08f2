//! Things that pages leave out or make up: a public item that none of them names, a figure that no
//! result has, an answer that says no and does not lead to the limits.
//!
//! What this cannot see: items that only modules below a crate's root export, and methods; figures
//! that are written in words, in code, in other units than these, or that happen to be those of
//! another row; and answers whose no stands further in.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::finding::Finding;
use crate::reading::fences;

/// Units of what is measured. Bytes and milliseconds are mostly those of settings.
const UNITS: [&str; 5] = ["ns", "µs", "×", "instructions", "cycles"];
/// First words of an answer that denies something.
const DENIALS: [&str; 8] = [
    "No", "Not", "None", "Never", "Barely", "Hardly", "Nothing", "Cannot",
];

/// The names that a crate's root exports.
pub(crate) fn exported(root: &str) -> BTreeSet<String> {
    exported_paths(root).into_keys().collect()
}

/// The names that a file exports, each with its path from there: `d` with `crate`, `a`, `c`.
pub(crate) fn exported_paths(root: &str) -> BTreeMap<String, Vec<String>> {
    let mut found = BTreeMap::new();
    let mut hidden = false;
    let mut open: Option<String> = None;
    for line in root.lines().map(str::trim) {
        if let Some(text) = &mut open {
            text.push_str(line);
        } else if line.starts_with("#[") {
            hidden |= line.contains("doc(hidden)");
            continue;
        } else if let Some(rest) = line
            .strip_prefix("pub use ")
            .or_else(|| line.strip_prefix("pub mod "))
        {
            open = Some(rest.to_owned());
        } else {
            hidden &= line.starts_with("//") || line.is_empty();
            continue;
        }
        let whole = open.as_ref().is_some_and(|text| text.contains(';'));
        if let Some(text) = open.take_if(|_| whole) {
            if !hidden {
                let tree = text.split(';').next().unwrap_or_default();
                found.extend(leaves(tree, &[]));
            }
            hidden = false;
        }
    }
    found
}

/// The names in a tree such as `a::{b, c as d}`, each with its path.
pub(crate) fn leaves(tree: &str, below: &[String]) -> Vec<(String, Vec<String>)> {
    let (path, list) = match tree.split_once('{') {
        Some((path, list)) => (path, Some(list.trim_end().trim_end_matches('}'))),
        None => (tree, None),
    };
    let (path, alias) = match path.split_once(" as ") {
        Some((path, alias)) => (path, Some(alias.trim())),
        None => (path, None),
    };
    let parts = path.split("::").map(str::trim);
    let parts = parts.filter(|part| !part.is_empty() && *part != "self");
    let mut whole = below.to_vec();
    whole.extend(parts.map(str::to_owned));
    let Some(list) = list else {
        let name = alias.or(whole.last().map(String::as_str));
        let name = name.filter(|name| *name != "*").map(str::to_owned);
        return name.map(|name| (name, whole)).into_iter().collect();
    };
    let (mut found, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, letter) in list.char_indices().chain([(list.len(), ',')]) {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 0 || at == list.len() => {
                if !list[from..at].trim().is_empty() {
                    found.extend(leaves(list[from..at].trim(), &whole));
                }
                from = at + 1;
            }
            _ => {}
        }
    }
    found
}

/// The names that no page has.
pub(crate) fn untold(path: &Path, root: &str, pages: &BTreeSet<String>) -> Vec<Finding> {
    let names = exported(root)
        .into_iter()
        .filter(|name| !pages.contains(name));
    let finding = |name| Finding::new(path, 1, format!("no page names the public item `{name}`"));
    names.map(finding).collect()
}

/// The words of a page that may be names.
pub(crate) fn words(page: &str) -> impl Iterator<Item = String> {
    let words = page.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty()).map(str::to_owned)
}

/// All numbers of the results.
pub(crate) fn numbers(csv: &str) -> Vec<f64> {
    let fields = csv.split([',', '\n', '"']);
    fields
        .filter_map(|field| field.trim().parse().ok())
        .collect()
}

/// The figures of a page that no result has, rounded as the page rounds.
pub(crate) fn made_up(path: &Path, page: &str, known: &[f64]) -> Vec<Finding> {
    let numbered = || page.lines().enumerate().map(|(at, line)| (at + 1, line));
    let fences = fences(numbered());
    let in_code = |line: usize| {
        let mut fences = fences.iter();
        fences.any(|fence| (fence.line..=fence.line + fence.body.len() + 1).contains(&line))
    };
    let mut found = Vec::new();
    for (number, line) in numbered().filter(|(number, _)| !in_code(*number)) {
        for (text, unit) in figures(line) {
            let places = text.split_once('.').map_or(0, |(_, after)| after.len());
            let plain = text.replace(',', "");
            let is_it = |value: &&f64| format!("{value:.places$}") == plain;
            if !known.iter().any(|value| is_it(&value)) {
                let text = format!("`{text} {unit}` is in no file of docs/results");
                found.push(Finding::new(path, number, text));
            }
        }
    }
    found
}

/// Numbers with their units, outside of code.
fn figures(line: &str) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for part in line.split('`').step_by(2) {
        let words: Vec<&str> = part.split_whitespace().collect();
        for pair in words.windows(2) {
            let unit = pair[1].trim_end_matches(['.', ',', ';', ':', ')', '|']);
            let unit = UNITS.into_iter().find(|one| *one == unit);
            let number = pair[0].trim_start_matches(['(', '~']);
            let plain = number
                .chars()
                .all(|c| c.is_ascii_digit() || ".,".contains(c));
            let is_number = plain && number.starts_with(|c: char| c.is_ascii_digit());
            if let Some(unit) = unit.filter(|_| is_number) {
                found.push((number.to_owned(), unit));
            }
        }
    }
    found
}

/// The questions whose answer denies something and does not lead to the limits.
pub(crate) fn denials(path: &Path, page: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut lines = page.lines().enumerate().peekable();
    while let Some((at, line)) = lines.next() {
        let Some(question) = line.strip_prefix("### ") else {
            continue;
        };
        let mut answer = String::new();
        while let Some((_, line)) = lines.next_if(|(_, line)| !line.starts_with('#')) {
            answer.push_str(line);
            answer.push('\n');
        }
        let first = words(&answer).next().unwrap_or_default();
        if DENIALS.contains(&first.as_str()) && !answer.contains("limits)") {
            let text = format!("the answer to `{question}` says no and does not link the limits");
            found.push(Finding::new(path, at + 1, text));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exported_names_are_read_and_hidden_ones_are_not() {
        let root = "//! a\npub use crate::a::{B, c as d};\npub mod e;\n#[doc(hidden)]\n/// x\npub mod f;\n\
            pub use g::H;\npub use {\n    i::{J, n::o},\n    K,\n};\nmod l;\npub use m::*;\n";
        let found: Vec<String> = exported(root).into_iter().collect();
        assert_eq!(found, ["B", "H", "J", "K", "d", "e", "o"]);
        let pages: BTreeSet<String> = words("`B`, d::e and H or J, o").collect();
        let missing = untold(Path::new("lib.rs"), root, &pages);
        assert_eq!(missing.len(), 1);
        assert!(missing[0].text.contains("`K`"));
    }

    #[test]
    fn figures_must_stand_in_a_result() {
        let known = numbers("what,value\n\"a, b\",13.34\nc,1200\n");
        let found = |page: &str| made_up(Path::new("a.md"), page, &known).len();
        for good in [
            "13.3 ns and 13 ns.",
            "(1,200 µs)",
            "8 ms",
            "`7 ns`",
            "```text\n7 ns\n```\n",
            "a × b",
        ] {
            assert_eq!(found(good), 0, "{good}");
        }
        for bad in ["13.4 ns", "| 7 µs |", "2 ×, or so"] {
            assert_eq!(found(bad), 1, "{bad}");
        }
    }

    #[test]
    fn a_no_leads_to_the_limits() {
        let page =
            |answer: &str| format!("# Q\n### A?\n\n{answer}\n## B\n### C?\n\nYes. [x](y.md)\n");
        let found = |answer: &str| denials(Path::new("faq.md"), &page(answer)).len();
        assert_eq!(
            found("No. See [limits](https://a.b/c#status-and-limits)."),
            0
        );
        assert_eq!(found("Any number does. [x](y.md)"), 0);
        assert_eq!(found("No. [x](y.md)"), 1);
        assert_eq!(found("Barely: see [x](y.md)"), 1);
    }
}
