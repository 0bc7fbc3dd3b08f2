//! Which files may hold unsafe code: the list in the crate's root, compared both ways.

use std::collections::BTreeSet;
use std::path::Path;

use super::finding::Finding;
use crate::reading::RustFile;

/// `root` is the crate's `lib.rs` or `main.rs`; `sources` are all files below its folder.
pub(crate) fn check(root: &RustFile, sources: &[RustFile]) -> Vec<Finding> {
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
    let listed = list(root);
    let mut used = BTreeSet::new();
    for source in sources {
        let Some(line) = first_unsafe(source) else {
            continue;
        };
        let file = source.path.strip_prefix(folder).unwrap_or(&source.path);
        let file = file.to_string_lossy().replace('\\', "/");
        match listed.iter().find(|entry| entry.covers(&file)) {
            Some(entry) => {
                used.insert(entry.name.clone());
            }
            None => {
                let text =
                    format!("unsafe code, but `{file}` is not in the list of the crate's root");
                found.push(Finding::new(&source.path, line + 1, text));
            }
        }
    }
    for entry in &listed {
        if entry.reason.is_empty() {
            let text = format!("`{}` is listed without a reason", entry.name);
            found.push(Finding::new(&root.path, entry.line, text));
        }
        if !used.contains(&entry.name) {
            let text = format!("`{}` is listed, but has no unsafe code", entry.name);
            found.push(Finding::new(&root.path, entry.line, text));
        }
    }
    let reasons = |source| reasons(folder, source, &listed);
    found.extend(sources.iter().flat_map(reasons));
    found
}

/// The line (from 0) of the first `unsafe` in code.
fn first_unsafe(source: &RustFile) -> Option<usize> {
    source.code.iter().position(|code| {
        code.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == "unsafe")
    })
}

/// A module, with all below it, or a file, that may hold unsafe code.
struct UnsafeAllowance {
    name: String,
    reason: String,
    line: usize,
}

impl UnsafeAllowance {
    fn covers(&self, file: &str) -> bool {
        let base = self.name.trim_end_matches(".rs").replace("::", "/");
        file == format!("{base}.rs") || file.starts_with(&format!("{base}/"))
    }
}

/// The list under the heading with the word *unsafe*: rows of a table or points of a list, the
/// names in backticks first, then the reason.
fn list(root: &RustFile) -> Vec<UnsafeAllowance> {
    let mut listed = Vec::new();
    let mut inside = false;
    for (line, comment) in root.comment.iter().enumerate() {
        let text = comment.trim();
        if text.starts_with("# ") || text.starts_with("## ") {
            inside = text.to_lowercase().contains("unsafe");
        }
        let row = text
            .strip_prefix("| `")
            .and_then(|row| row.split_once(" |"));
        let point = text
            .strip_prefix("- `")
            .and_then(|point| point.split_once("`"));
        let Some((names, reason)) = row.or(point).filter(|_| inside) else {
            continue;
        };
        let reason = reason.trim_matches([':', ' ', '-', '|']).to_owned();
        for name in names.split(['`', ',', ' ']).filter(|name| !name.is_empty()) {
            listed.push(UnsafeAllowance {
                name: name.to_owned(),
                reason: reason.clone(),
                line: line + 1,
            });
        }
    }
    listed
}

/// Every allowance of unsafe code carries its reason: in the attribute, behind it, or in the list
/// when it allows a listed module.
fn reasons(folder: &Path, source: &RustFile, listed: &[UnsafeAllowance]) -> Vec<Finding> {
    let mut found = Vec::new();
    let below = source.path.strip_prefix(folder).unwrap_or(&source.path);
    let below = below.with_extension("");
    let below = match below.file_name() {
        Some(name) if name == "mod" || name == "lib" || name == "main" => below.parent(),
        _ => Some(below.as_path()),
    };
    let below = below.unwrap_or(Path::new(""));
    for (line, code) in source.code.iter().enumerate() {
        if !code.contains("allow(unsafe_code") && !code.contains("expect(unsafe_code") {
            continue;
        }
        let near = &source.code[line..source.code.len().min(line + 4)];
        let module = near.iter().find_map(|code| {
            let code = code.trim().strip_prefix("pub(crate) ").unwrap_or(code);
            code.trim().strip_prefix("mod ")
        });
        let module = module.map(|name| below.join(name.trim_end_matches(';')));
        let module = module.map(|path| path.to_string_lossy().replace('/', "::"));
        let told = near.iter().any(|code| code.contains("reason = "))
            || !source.comment[line].trim().is_empty()
            || module.is_some_and(|name| listed.iter().any(|entry| entry.name == name));
        if !told {
            let text = "an allowance of unsafe code needs its reason, here or in the root's list";
            found.push(Finding::new(&source.path, line + 1, text));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "//! A crate.\n//!\n//! # Files that may use unsafe code\n\
        //! - `slot.rs`: the cell\n//!\n//! # Other\n//! - `not_this.rs`:
        //!   x\n#![deny(unsafe_code)]\n";

    fn found(root: &str, files: &[(&str, &str)]) -> Vec<String> {
        let root = RustFile::new("src/lib.rs".into(), root);
        let sources: Vec<RustFile> = files
            .iter()
            .map(|(name, text)| RustFile::new(Path::new("src").join(name), text))
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
    fn a_table_of_modules_covers_what_is_below_them() {
        let root = "//! # What may be unsafe\n//!\n//! | module | reason |\n//! |---|---|\n\
            //! | `stack`, `join` | slots |\n#![deny(unsafe_code)]\n#[allow(unsafe_code)]\nmod stack;\n";
        let files = [
            ("stack/slot.rs", "unsafe {}\n"),
            ("join.rs", "unsafe {}\n"),
            ("lib.rs", root),
        ];
        assert!(found(root, &files).is_empty(), "{:?}", found(root, &files));
        assert!(found(root, &files[..1])[0].contains("`join` is listed, but"));
        let bare = root.replace("slots", "");
        assert!(
            found(&bare, &files[..2])
                .iter()
                .all(|text| text.contains("without a reason"))
        );
        let other = root.replace("mod stack", "mod other");
        assert!(
            found(root, &[files[0], files[1], ("lib.rs", &other)])[0].contains("needs its reason")
        );
    }

    #[test]
    fn a_module_inside_another_is_listed_with_its_path() {
        let root = "//! # What may be unsafe\n//!\n//! | module | reason |\n//! |---|---|\n\
            //! | `a::b` | slots |\n#![deny(unsafe_code)]\nmod a;\n";
        let room = "#[allow(unsafe_code)]\npub(crate) mod b;\n";
        let files = [
            ("lib.rs", root),
            ("a/mod.rs", room),
            ("a/b.rs", "unsafe {}\n"),
        ];
        assert!(found(root, &files).is_empty(), "{:?}", found(root, &files));
        let files = [
            ("lib.rs", root),
            ("c/mod.rs", room),
            ("a/b.rs", "unsafe {}\n"),
        ];
        assert!(found(root, &files)[0].contains("needs its reason"));
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
