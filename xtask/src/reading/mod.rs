//! How sources and pages are read, whoever reads them.

mod fences;
mod figures;
mod source;

use std::path::{Path, PathBuf};

use crate::Result;

pub(crate) use fences::{Fence, fences};
pub(crate) use figures::{Quoted, fields, quoted};
pub(crate) use source::RustFile;

/// Whether a file is part of a crate's tests.
pub(crate) fn is_for_tests(path: &Path) -> bool {
    path.file_stem().is_some_and(|stem| {
        let stem = stem.to_string_lossy();
        let is_test = stem == "tests" || stem.starts_with("loom") || stem.ends_with("_tests");
        is_test || stem == "compile_fail"
    })
}

/// The Rust files below a folder.
pub(crate) fn sources(folder: &Path) -> Result<Vec<RustFile>> {
    files(folder, &["rs"])
        .iter()
        .map(|path| RustFile::read(path))
        .collect()
}

/// The texts between backticks.
pub(crate) fn code_spans(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The text of a page.
pub(crate) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// All files below a folder with one of these endings (all files when none is given), sorted; not
/// build output, not what git keeps for itself.
pub(crate) fn files(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            continue;
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            if path.is_dir() {
                if name != "target" && name != ".git" {
                    open.push(path);
                }
            } else if endings.is_empty()
                || endings.iter().any(|end| name.ends_with(&format!(".{end}")))
            {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
