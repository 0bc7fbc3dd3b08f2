//! Which files may hold unsafe code: the list in the crate's root, compared both ways.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Finding, Source};

/// `root` is the crate's `lib.rs` or `main.rs`; `sources` are all files below its folder.
pub(crate) fn check(root: &Source, sources: &[Source]) -> Vec<Finding> {
    let mut found = Vec::new();
    let strict = ["#![deny(unsafe_code", "#![forbid(unsafe_code"];
    if !root
        .code
        .iter()
        .any(|code| strict.iter().any(|start| code.trim().starts_with(start)))
    {
        found.push(Finding::new(
            &root.path,
            1,
            "the crate's root lacks `#![deny(unsafe_code)]`",
        ));
    }
    let folder = root.path.parent().unwrap_or(Path::new(""));
    let (listed, bad) = list(root, sources, folder);
    found.extend(bad);
    let mut with_unsafe = BTreeSet::new();
    for source in sources {
        let Some(line) = first_unsafe(source) else {
            continue;
        };
        let name = source.path.strip_prefix(folder).unwrap_or(&source.path);
        let name = name.to_string_lossy().replace('\\', "/");
        if !listed.iter().any(|(file, _)| *file == name) {
            let text = format!("unsafe code, but `{name}` is not in the list of the crate's root");
            found.push(Finding::new(&source.path, line + 1, text));
        }
        with_unsafe.insert(name);
    }
    for (name, line) in &listed {
        if !with_unsafe.contains(name) {
            let text = format!("`{name}` is listed, but has no unsafe code");
            found.push(Finding::new(&root.path, *line, text));
        }
    }
    for source in sources {
        found.extend(reasons(source));
    }
    found
}

/// The line (from 0) of the first `unsafe` in code.
fn first_unsafe(source: &Source) -> Option<usize> {
    source.code.iter().position(|code| {
        code.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == "unsafe")
    })
}

/// The files under the heading with the word *unsafe*, and list entries that give no reason.
fn list(root: &Source, sources: &[Source], folder: &Path) -> (Vec<(String, usize)>, Vec<Finding>) {
    let mut listed = Vec::new();
    let mut bad = Vec::new();
    let mut inside = false;
    for (line, comment) in root.comment.iter().enumerate() {
        let text = comment.trim();
        if text.starts_with("# ") || text.starts_with("## ") {
            inside = text.to_lowercase().contains("unsafe");
        }
        let Some(entry) = text.strip_prefix("- `").filter(|_| inside) else {
            continue;
        };
        let Some((file, reason)) = entry.split_once('`') else {
            continue;
        };
        if reason.trim_start_matches([':', ' ', '—', '-']).is_empty() {
            let text = format!("`{file}` is listed without a reason");
            bad.push(Finding::new(&root.path, line + 1, text));
        }
        listed.push((as_file(file, sources, folder), line + 1));
    }
    (listed, bad)
}

/// A module's path as the path of its file; a path of a file stays.
fn as_file(entry: &str, sources: &[Source], folder: &Path) -> String {
    if entry.ends_with(".rs") {
        return entry.to_owned();
    }
    let base = entry.replace("::", "/");
    let nested = format!("{base}/mod.rs");
    if sources
        .iter()
        .any(|source| source.path == folder.join(&nested))
    {
        nested
    } else {
        format!("{base}.rs")
    }
}

/// Every allowance of unsafe code carries its reason: in the attribute, or behind it.
fn reasons(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    for (line, code) in source.code.iter().enumerate() {
        let allows = code.contains("allow(unsafe_code")
            || code.contains("expect(unsafe_code")
            || code.trim() == "unsafe_code,";
        let inside = source.code[line..]
            .iter()
            .take(3)
            .take_while(|code| !code.trim().is_empty());
        let told = inside.into_iter().any(|code| code.contains("reason = "))
            || !source.comment[line].trim().is_empty();
        if allows && !told {
            let text =
                "an allowance of unsafe code needs its reason: `reason = \"…\"` or a comment";
            found.push(Finding::new(&source.path, line + 1, text));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "//! A crate.\n//!\n//! # Files that may use unsafe code\n\
        //! - `slot.rs`: the cell\n//!\n//! # Other\n//! - `not_this.rs`: x\n#![deny(unsafe_code)]\n";

    fn found(root: &str, files: &[(&str, &str)]) -> Vec<String> {
        let root = Source::new("src/lib.rs".into(), root);
        let sources: Vec<Source> = files
            .iter()
            .map(|(name, text)| Source::new(Path::new("src").join(name), text))
            .collect();
        check(&root, &sources)
            .into_iter()
            .map(|finding| finding.text)
            .collect()
    }

    #[test]
    fn a_listed_file_is_clean() {
        assert!(
            found(
                ROOT,
                &[("slot.rs", "unsafe { x() }\n"), ("a.rs", "// unsafe\n")]
            )
            .is_empty()
        );
    }

    #[test]
    fn a_module_may_stand_for_its_file() {
        let root = ROOT.replace("`slot.rs`", "`stack::slot`");
        assert!(found(&root, &[("stack/slot.rs", "unsafe {}\n")]).is_empty());
        let root = ROOT.replace("`slot.rs`", "`stack`");
        assert!(found(&root, &[("stack/mod.rs", "unsafe {}\n")]).is_empty());
    }

    #[test]
    fn an_unlisted_file_is_found() {
        let text = found(
            ROOT,
            &[
                ("slot.rs", "unsafe {}\n"),
                ("b/c.rs", "unsafe impl Send for A {}\n"),
            ],
        );
        assert!(text[0].contains("`b/c.rs` is not in the list"), "{text:?}");
    }

    #[test]
    fn a_stale_entry_a_missing_reason_and_a_missing_deny_are_found() {
        assert!(found(ROOT, &[("slot.rs", "fn a() {}\n")])[0].contains("no unsafe code"));
        let root = ROOT.replace(": the cell", "");
        assert!(found(&root, &[("slot.rs", "unsafe {}\n")])[0].contains("without a reason"));
        let root = ROOT.replace("#![deny(unsafe_code)]", "");
        assert!(found(&root, &[("slot.rs", "unsafe {}\n")])[0].contains("lacks"));
    }

    #[test]
    fn an_allowance_needs_a_reason() {
        let bad = [("slot.rs", "#![allow(unsafe_code)]\nunsafe {}\n")];
        assert!(found(ROOT, &bad)[0].contains("reason"));
        let good = [(
            "slot.rs",
            "#![allow(unsafe_code, reason = \"cells\")]\nunsafe {}\n",
        )];
        assert!(found(ROOT, &good).is_empty());
    }
}
