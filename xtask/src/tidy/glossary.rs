//! The glossary of the book: few and short entries, each linked where a page first uses its word.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::finding::Finding;

const ENTRIES_MAX: usize = 40;
const SENTENCES_MAX: usize = 2;

/// Words that have one meaning in the book. A page that links the glossary links each of these that
/// it uses. Other entries are words of everyday English as well, so only people can tell.
const CLEAR: [&str; 13] = [
    "arena",
    "caller-runs pool",
    "compensation thread",
    "continuation",
    "detached task",
    "deterministic pool",
    "help-first",
    "leapfrogging",
    "split line",
    "task stack",
    "thief",
    "trip wire",
    "work-first",
];

/// `pages` are the pages of the book, the glossary left out.
pub(crate) fn check(path: &Path, glossary: &str, pages: &[(PathBuf, String)]) -> Vec<Finding> {
    let entries = entries(glossary);
    let mut found = shape(path, &entries);
    let mut linked = BTreeSet::new();
    for (page, text) in pages {
        let links = links(text);
        for (line, name) in &links {
            if !entries.iter().any(|entry| anchor(entry.word) == *name) {
                let text = format!("the glossary has no entry `{name}`");
                found.push(Finding::new(page, line + 1, text));
            }
        }
        let names: BTreeSet<&str> = links.iter().map(|(_, name)| *name).collect();
        if names.len() < links.len() {
            let text = "a word is linked to the glossary where a page first uses it, and not again";
            found.push(Finding::new(page, 1, text));
        }
        if !names.is_empty() {
            let prose = prose(text);
            let missing = CLEAR
                .iter()
                .filter(|word| prose.contains(**word) && !names.contains(&*anchor(word)));
            found.extend(missing.map(|word| {
                let text = format!("\"{word}\" is used here: link its first use to the glossary");
                Finding::new(page, 1, text)
            }));
        }
        linked.extend(names.into_iter().map(str::to_owned));
    }
    for entry in &entries {
        if !linked.contains(&anchor(entry.word)) {
            let text = format!("no page links `{}`", entry.word);
            found.push(Finding::new(path, entry.line + 1, text));
        }
    }
    found
}

struct GlossaryEntry<'t> {
    word: &'t str,
    line: usize,
    text: String,
}

fn entries(glossary: &str) -> Vec<GlossaryEntry<'_>> {
    let mut entries: Vec<GlossaryEntry<'_>> = Vec::new();
    for (line, text) in glossary.lines().enumerate() {
        if let Some(word) = text.strip_prefix("## ") {
            let text = String::new();
            entries.push(GlossaryEntry { word, line, text });
        } else if let Some(entry) = entries.last_mut() {
            entry.text.push_str(text.trim());
            entry.text.push(' ');
        }
    }
    entries
}

fn shape(path: &Path, entries: &[GlossaryEntry<'_>]) -> Vec<Finding> {
    let mut found = Vec::new();
    if entries.len() > ENTRIES_MAX {
        let text = format!(
            "{} entries, at most {ENTRIES_MAX} are allowed",
            entries.len()
        );
        found.push(Finding::new(path, 1, text));
    }
    for pair in entries.windows(2) {
        if pair[0].word >= pair[1].word {
            let text = format!("`{}` stands before `{}`", pair[1].word, pair[0].word);
            found.push(Finding::new(path, pair[1].line + 1, text));
        }
    }
    for entry in entries {
        let count = entry.text.matches(". ").count();
        if count == 0 || count > SENTENCES_MAX {
            let text = format!("{count} sentences, of which one or {SENTENCES_MAX} are allowed");
            found.push(Finding::new(path, entry.line + 1, text));
        }
    }
    found
}

/// As mdBook makes it of a heading.
fn anchor(word: &str) -> String {
    word.replace(' ', "-")
}

/// The links to the glossary: line and entry.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut links = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let parts = line.split("](glossary.md#").skip(1);
        let names = parts.filter_map(|part| part.split_once(')'));
        links.extend(names.map(|(name, _)| (number, name)));
    }
    links
}

/// The text that people read, in small letters: without headings, code and the targets of links.
fn prose(text: &str) -> String {
    let mut prose = String::new();
    let mut is_code = false;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !line.starts_with('#') {
            let words = line.split('`').step_by(2).collect::<Vec<_>>().join("` `");
            for (place, part) in words.split("](").enumerate() {
                let rest = part.split_once(')').map_or(part, |(_, rest)| rest);
                prose.push_str(if place == 0 { part } else { rest });
            }
            prose.push(' ');
        }
    }
    prose.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GLOSSARY: &str = "# Glossary\n\nWords.\n\n## arena\n\nA set of threads. Shared.\n\n\
        ## task stack\n\nAn array.\n";

    fn found(glossary: &str, page: &str) -> Vec<String> {
        let pages = [("page.md".into(), page.to_owned())];
        let found = check(Path::new("glossary.md"), glossary, &pages);
        found.into_iter().map(|finding| finding.text).collect()
    }

    const PAGE: &str = "An [arena](glossary.md#arena) has [task stacks](glossary.md#task-stack). \
        A thief: `thief`.\n```\nthief\n```\n";

    #[test]
    fn a_page_with_all_its_links_is_good() {
        let page = PAGE.replace("A thief: ", "");
        assert_eq!(found(GLOSSARY, &page), [""; 0]);
    }

    #[test]
    fn a_word_without_its_link_is_found() {
        assert!(found(GLOSSARY, PAGE)[0].contains("\"thief\" is used here"));
        let without = "arena, [task stack](glossary.md#task-stack)\n";
        let texts = found(GLOSSARY, without);
        assert!(texts[0].contains("\"arena\"") && texts[1].contains("no page links `arena`"));
    }

    #[test]
    fn links_have_entries_and_come_once() {
        let page = "[a](glossary.md#arena) [b](glossary.md#arena) [c](glossary.md#none)\n";
        let texts = found(GLOSSARY, page);
        assert!(texts[0].contains("no entry `none`"));
        assert!(texts[1].contains("not again"));
    }

    #[test]
    fn entries_are_few_short_and_in_order() {
        let texts = found(&GLOSSARY.replace("Shared.", "Shared. By pools."), PAGE);
        assert!(texts[0].contains("3 sentences"));
        let texts = found(&GLOSSARY.replace("## arena", "## worker"), PAGE);
        assert!(texts[0].contains("`task stack` stands before `worker`"));
        let many: String = (0..41).map(|n| format!("## a{n:02}\n\nOne.\n")).collect();
        assert!(found(&many, "")[0].contains("41 entries"));
    }
}
