//! Orderings: each atomic access says what it orders, and each edge has two ends.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::finding::Finding;
use crate::reading::RustFile;

/// How far above an atomic access its `// Ordering:` comment may stand.
pub(crate) const COMMENT_LINES_MAX: usize = 10;

const ORDERINGS: [&str; 5] = ["Relaxed", "Acquire", "Release", "AcqRel", "SeqCst"];

/// Each access outside tests has its comment; a strong one names its edge.
pub(crate) fn check_accesses(source: &RustFile) -> Vec<Finding> {
    let tests = source.test_lines();
    let blocks = blocks(source);
    let mut found = Vec::new();
    let mut import = false;
    for (line, code) in source.code.iter().enumerate() {
        let starts = code.trim_start();
        import |= starts.starts_with("use ") || starts.starts_with("pub(crate) use ");
        let named: Vec<&str> = ORDERINGS
            .into_iter()
            .filter(|name| has_name(code, name))
            .collect();
        if !import && !tests[line] && !named.is_empty() {
            found.extend(judge(source, &blocks, line, &named));
        }
        import &= !code.contains(';');
    }
    found
}

fn judge(
    source: &RustFile,
    blocks: &[CommentBlock],
    line: usize,
    named: &[&str],
) -> Option<Finding> {
    let near = |block: &&CommentBlock| {
        block.first <= line && line.saturating_sub(block.last) <= COMMENT_LINES_MAX
    };
    let comment = blocks
        .iter()
        .rev()
        .filter(near)
        .find(|block| block.text.contains("Ordering:"));
    let named = named.join(", ");
    let text = match comment {
        None => format!(
            "{named} without an `// Ordering:` comment at most {COMMENT_LINES_MAX} lines above"
        ),
        Some(block) if named != "Relaxed" && labels(&block.text).is_empty() => {
            format!("{named}: its `// Ordering:` comment names no edge: `Pairs with [name]`")
        }
        Some(_) => return None,
    };
    Some(Finding::new(&source.path, line + 1, text))
}

/// Atomics come in by one door.
pub(crate) fn check_door(source: &RustFile) -> Vec<Finding> {
    let tests = source.test_lines();
    let mut found = Vec::new();
    for (line, code) in source
        .code
        .iter()
        .enumerate()
        .filter(|(line, _)| !tests[*line])
    {
        let outside = [
            "std::sync::atomic",
            "core::sync::atomic",
            "loom::sync::atomic",
        ];
        let ordering = code.contains("sync::atomic::Ordering");
        if outside.iter().any(|path| code.contains(path)) && !ordering {
            let text = "atomics come from `prim`, so that loom sees them";
            found.push(Finding::new(&source.path, line + 1, text));
        }
    }
    found
}

/// Where an edge is spoken of.
type Places = BTreeMap<String, Vec<(PathBuf, usize)>>;

/// All edges of one crate: each is declared once, and has at least two ends.
pub(crate) fn check_edges(sources: &[RustFile]) -> Vec<Finding> {
    let mut declared = Places::new();
    let mut named = Places::new();
    let mut found = Vec::new();
    for source in sources {
        for block in blocks(source) {
            let place = (source.path.clone(), block.first + 1);
            for name in declarations(&block.text) {
                declared.entry(name).or_default().push(place.clone());
            }
            let labels: BTreeSet<String> = labels(&block.text).into_iter().collect();
            for name in labels {
                named.entry(name).or_default().push(place.clone());
            }
            for item in items(&block.text) {
                if !sources.iter().any(|source| defines(source, &item)) {
                    let text = format!("Pairs with [`{item}`]: no such item in this crate");
                    found.push(Finding::new(&place.0, place.1, text));
                }
            }
        }
    }
    for (name, places) in &declared {
        for (path, line) in &places[1..] {
            found.push(Finding::new(
                path,
                *line,
                format!("Edge [{name}] is declared twice"),
            ));
        }
        if named.get(name).map_or(0, Vec::len) < 2 {
            let (path, line) = &places[0];
            let text = format!("Edge [{name}] has one end: no other comment names it");
            found.push(Finding::new(path, *line, text));
        }
    }
    for (name, places) in named
        .iter()
        .filter(|(name, _)| !declared.contains_key(*name))
    {
        let (path, line) = &places[0];
        let text = format!("[{name}]: there is no `Edge [{name}]:` in this crate");
        found.push(Finding::new(path, *line, text));
    }
    found
}

/// Comment lines that follow each other, as one text.
struct CommentBlock {
    first: usize,
    last: usize,
    text: String,
}

/// The blocks of plain comments; those of the documentation only where they speak of edges.
fn blocks(source: &RustFile) -> Vec<CommentBlock> {
    let mut blocks: Vec<CommentBlock> = Vec::new();
    for (line, comment) in source.comment.iter().enumerate() {
        let text = comment.trim();
        if text.is_empty() {
            continue;
        }
        let alone = source.code[line].trim().is_empty();
        match blocks.last_mut() {
            Some(block) if block.last + 1 == line && alone => {
                block.last = line;
                block.text.push(' ');
                block.text.push_str(text);
            }
            _ => blocks.push(CommentBlock {
                first: line,
                last: line,
                text: text.to_owned(),
            }),
        }
    }
    blocks
}

/// The names in `Edge [name]:`
fn declarations(text: &str) -> Vec<String> {
    let starts = text
        .match_indices("Edge [")
        .map(|(at, word)| &text[at + word.len()..]);
    let ended = starts.filter_map(|rest| rest.split_once("]:"));
    ended
        .map(|(name, _)| name.to_owned())
        .filter(|name| is_label(name))
        .collect()
}

/// Every `[name]` that is no index, no link and not in backticks.
fn labels(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for plain in text.split('`').step_by(2) {
        for (at, _) in plain.match_indices('[') {
            let before = plain[..at].chars().next_back();
            let Some((name, after)) = plain[at + 1..].split_once(']') else {
                continue;
            };
            let index = before.is_some_and(|c| c.is_alphanumeric() || "_#!])".contains(c));
            if !index && !after.starts_with(['(', '[']) && is_label(name) {
                found.push(name.to_owned());
            }
        }
    }
    found
}

/// The items that "pairs with" names: in brackets and backticks.
fn items(text: &str) -> Vec<String> {
    let starts = text
        .match_indices("airs with [`")
        .map(|(at, word)| &text[at + word.len()..]);
    starts
        .filter_map(|rest| rest.split_once("`]"))
        .map(|(item, _)| item.to_owned())
        .collect()
}

fn is_label(name: &str) -> bool {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    name.len() > 2 && name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(good)
}

fn has_name(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let inside = |letter: Option<char>| letter.is_some_and(|c| c.is_alphanumeric() || c == '_');
        !inside(code[..at].chars().next_back()) && !inside(code[at + name.len()..].chars().next())
    })
}

/// Whether the file defines an item or a field of the last name in this path.
fn defines(source: &RustFile, item: &str) -> bool {
    let last = item
        .rsplit("::")
        .next()
        .unwrap_or(item)
        .trim_end_matches("()");
    let kinds = [
        "fn",
        "struct",
        "enum",
        "trait",
        "const",
        "static",
        "mod",
        "type",
        "macro_rules!",
    ];
    source.code.iter().any(|code| {
        kinds.iter().any(|kind| {
            let start = format!("{kind} {last}");
            code.match_indices(&start)
                .any(|(at, _)| has_name(&code[at + kind.len()..], last))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> RustFile {
        RustFile::new("a.rs".into(), text)
    }

    fn edges(text: &str) -> Vec<String> {
        check_edges(&[source(text)])
            .into_iter()
            .map(|finding| finding.text)
            .collect()
    }

    const GOOD: &str = "\
//! Edge [claim]: the slot's contents.
use std::sync::atomic::Ordering::{Acquire, Release};
fn a() {
    // Ordering: Release, for the contents.
    // Pairs with [claim].
    x.store(1, Release);
    x.load(Acquire); // Ordering: Pairs with [claim].
    // Ordering: Relaxed, a number for people.
    y.load(Relaxed);
}
";

    #[test]
    fn a_file_with_its_comments_is_clean() {
        assert!(check_accesses(&source(GOOD)).is_empty());
        assert!(edges(GOOD).is_empty(), "{:?}", edges(GOOD));
    }

    #[test]
    fn an_access_without_a_comment_is_found() {
        let found = check_accesses(&source("fn a() {\n    x.load(Ordering::Relaxed);\n}\n"));
        assert!(found[0].text.contains("without an `// Ordering:` comment") && found[0].line == 2);
        let far = format!(
            "// Ordering: Relaxed.\n{}x.load(Relaxed);\n",
            "\n".repeat(10)
        );
        assert_eq!(check_accesses(&source(&far)).len(), 1);
        let near = format!(
            "// Ordering: Relaxed.\n{}x.load(Relaxed);\n",
            "\n".repeat(9)
        );
        assert!(check_accesses(&source(&near)).is_empty());
    }

    #[test]
    fn a_strong_access_must_name_its_edge() {
        let found = check_accesses(&source(
            "// Ordering: Acquire, of course.\nx.load(Acquire);\n",
        ));
        assert!(found[0].text.contains("names no edge"));
    }

    #[test]
    fn other_orderings_and_tests_are_left_alone() {
        assert!(check_accesses(&source("a.cmp(&b) == Ordering::Less;\n")).is_empty());
        let test = "#[cfg(test)]\nmod tests {\n    fn a() {\n        x.load(Relaxed);\n    }\n}\n";
        assert!(check_accesses(&source(test)).is_empty());
    }

    #[test]
    fn an_edge_needs_a_declaration_and_two_ends() {
        assert!(edges("// Ordering: Pairs with [nothing].\n")[0].contains("no `Edge [nothing]:`"));
        assert!(edges("// Edge [one]: x.\n")[0].contains("one end"));
        assert!(edges("// Edge [one]: x.\n\n// Pairs with [one].\n").is_empty());
        let twice = "// Edge [one]: x.\n\n// Edge [one]: y.\n";
        assert!(edges(twice)[0].contains("declared twice"));
    }

    #[test]
    fn an_item_must_exist() {
        assert!(edges("// Pairs with [`Owner::publish`].\nfn publish() {}\n").is_empty());
        assert!(edges("// Pairs with [`Owner::publish`].\nfn publish_all() {}\n").len() == 1);
    }

    #[test]
    fn labels_are_told_from_indices_links_and_code() {
        let text = "Pairs with [one] and [two_b] ([three]). `[four]`, a[five], [x](six), [`Seven`], [0..n]";
        assert_eq!(labels(text), ["one", "two_b", "three"]);
    }

    #[test]
    fn atomics_come_in_by_one_door() {
        assert_eq!(
            check_door(&source("use std::sync::atomic::AtomicU64;\n")).len(),
            1
        );
        let good = "use crate::prim::AtomicU64;\nuse std::sync::atomic::Ordering::Relaxed;\n";
        assert!(check_door(&source(good)).is_empty());
    }
}
