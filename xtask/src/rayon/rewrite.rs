//! rayon-core's own unit tests, rewritten so that they test another crate from outside.
//!
//! Each file of unit tests becomes an integration test: `crate::` and `super::` become
//! `rayon_core::`, and the private items that the tests use get stand-ins made of public ones. What
//! cannot be said with public items is left out, by name and with the reason.

/// A test that cannot be run from outside.
pub(crate) struct LeftOut {
    /// The file in the package.
    pub(crate) file: &'static str,
    pub(crate) test: &'static str,
    pub(crate) reason: &'static str,
}

/// All tests that are left out; each must exist in the stock sources. At present every one can be
/// rewritten.
pub(crate) const LEFT_OUT: [LeftOut; 0] = [];

/// In the place of `crate::unwind`: what its one function does, with the standard library.
const UNWIND: &str = "
mod unwind {
    pub fn halt_unwinding<R>(op: impl FnOnce() -> R) -> std::thread::Result<R> {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(op))
    }
}
";

/// In the place of `crate::registry`. A scope's closure runs on a worker of the current pool or,
/// outside of any, of the global one; the tests use neither argument. A worker has stopped when the
/// guard that a broadcast left in its thread is dropped.
const REGISTRY: &str = "
mod registry {
    use std::cell::RefCell;
    use std::sync::Arc;
    use std::time::Duration;

    pub fn in_worker<R: Send>(op: impl FnOnce((), bool) -> R + Send) -> R {
        let injected = rayon_core::current_thread_index().is_none();
        rayon_core::scope(|_| op((), injected))
    }

    thread_local!(static GUARD: RefCell<Option<Arc<()>>> = const { RefCell::new(None) });

    pub struct Registry {
        guard: Arc<()>,
        num_threads: usize,
    }

    pub fn of(pool: &rayon_core::ThreadPool) -> Registry {
        let guard = Arc::new(());
        pool.broadcast(|_| GUARD.set(Some(Arc::clone(&guard))));
        let num_threads = pool.current_num_threads();
        assert_eq!(Arc::strong_count(&guard), num_threads + 1);
        Registry { guard, num_threads }
    }

    impl Registry {
        pub fn num_threads(&self) -> usize {
            self.num_threads
        }

        pub fn wait_until_stopped(&self) {
            for _ in 0..6000 {
                if Arc::strong_count(&self.guard) == 1 {
                    return;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            panic!(\"{} workers never stopped\", Arc::strong_count(&self.guard) - 1);
        }
    }
}
";
/// How the tests take a pool's registry, and what stands for it.
const FIELD: [&str; 2] = [
    "Arc::clone(&thread_pool.registry)",
    "crate::registry::of(&thread_pool)",
];

/// The integration test made of a file of unit tests, without these tests.
pub(crate) fn integration_test(text: &str, left_out: &[&str]) -> crate::Result<String> {
    let mut text = text.to_owned();
    for test in left_out {
        text = without(&text, test)?;
    }
    text = text.replace(FIELD[0], FIELD[1]);
    let mut rewritten = String::from("#![allow(unused)]\n");
    for line in text.lines() {
        // Our stand-in has this name already.
        if line.trim() != "use crate::unwind;" {
            rewritten.push_str(&names(line));
        }
        rewritten.push('\n');
    }
    let uses = |word: &str| text.contains(word);
    if uses("unwind::") {
        rewritten.push_str(UNWIND);
    }
    if uses("registry::") {
        rewritten.push_str(REGISTRY);
    }
    Ok(rewritten)
}

/// The paths of one line, seen from outside the crate.
fn names(line: &str) -> String {
    let private = ["crate::unwind::", "crate::registry::"];
    let mut line = line.to_owned();
    for (index, path) in private.iter().enumerate() {
        line = line.replace(path, &format!("\u{1}{index}"));
    }
    line = line
        .replace("crate::", "rayon_core::")
        .replace("super::", "rayon_core::");
    for (index, path) in private.iter().enumerate() {
        line = line.replace(&format!("\u{1}{index}"), path);
    }
    line
}

/// The text with this test compiled out.
pub(super) fn without(text: &str, test: &str) -> crate::Result<String> {
    let lines: Vec<&str> = text.lines().collect();
    let head = format!("fn {test}(");
    // It may be made by a macro, of which the name is the last word.
    let made = format!(", {test});");
    let is_head = |line: &&str| {
        line.trim_start_matches("pub ").starts_with(&head)
            || (line.contains("!(") && line.ends_with(&made))
    };
    let at = lines.iter().position(is_head);
    let mut at = at.ok_or_else(|| {
        format!("there is no test {test} any more: take it from the table of those left out")
    })?;
    // Up to the end of what stands above, over attributes of several lines.
    let is_above = |line: &str| !["", "}"].contains(&line) && !line.ends_with(';');
    while at > 0 && is_above(lines[at - 1]) {
        at -= 1;
    }
    let mut kept = lines[..at].to_vec();
    kept.push("#[cfg(any())]");
    kept.extend(&lines[at..]);
    Ok(kept.join("\n"))
}

/// The number of tests in a file, macros not counted.
pub(crate) fn tests_in(text: &str) -> u64 {
    text.lines().filter(|line| line.trim() == "#[test]").count() as u64
}

/// The Rust code blocks of a file's documentation, at the same lines of a file that holds nothing
/// else; and their number.
pub(crate) fn documentation(text: &str) -> (String, u64) {
    let mut written = String::new();
    let mut blocks = 0;
    // Whether a block is open, and whether it is Rust.
    let mut open: Option<bool> = None;
    for line in text.lines() {
        let doc = doc_text(line, open.is_some());
        let fence = doc.filter(|doc| doc.trim_start().starts_with("```"));
        let mut keep = open == Some(true);
        match (fence, open) {
            (Some(fence), None) => {
                let rust = is_rust(fence.trim_start().trim_start_matches('`'));
                blocks += u64::from(rust);
                keep = rust;
                open = Some(rust);
            }
            (Some(_), Some(_)) => open = None,
            (None, _) => {}
        }
        written.push_str("//!");
        if let (true, Some(doc)) = (keep, doc) {
            written.push(' ');
            written.push_str(doc.strip_prefix(' ').unwrap_or(doc).trim_end());
        }
        written.push('\n');
    }
    (written, blocks)
}

/// The text of a documentation comment, if the line is one. Inside a block comment that has opened
/// a code block, every line is.
fn doc_text(line: &str, inside: bool) -> Option<&str> {
    let trimmed = line.trim_start();
    let start = ["///", "//!", "/*!", "/**"];
    if let Some(text) = start.iter().find_map(|start| trimmed.strip_prefix(start)) {
        return Some(text);
    }
    inside.then(|| line.trim_end().trim_end_matches("*/"))
}

/// Whether rustdoc takes a block with these words for a test.
fn is_rust(info: &str) -> bool {
    let rust = |word: &str| {
        ["rust", "should_panic", "no_run", "compile_fail"].contains(&word)
            || word.starts_with("ignore-")
            || (word.len() == 5 && word.starts_with('E'))
    };
    info.split([',', ' '])
        .map(str::trim)
        .filter(|word| !word.is_empty())
        .all(rust)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STOCK: &str = "#![cfg(test)]\nuse crate::unwind;\nuse super::*;\nuse crate::{join, Scope};\n\n\
        #[test]\nfn kept() {\n    crate::unwind::halt_unwinding(|| crate::spawn(|| ()));\n}\n\n\
        /// Reads a field.\n#[test]\n#[ignore]\nfn inner() {\n    pool.registry;\n}\n";

    #[test]
    fn paths_are_seen_from_outside() {
        let text = integration_test(STOCK, &["inner"]).unwrap();
        assert!(text.contains("use rayon_core::*;\nuse rayon_core::{join, Scope};"));
        assert!(text.contains("crate::unwind::halt_unwinding(|| rayon_core::spawn"));
        assert!(text.contains("mod unwind {") && !text.contains("mod registry {"));
        let text = integration_test("let r = Arc::clone(&thread_pool.registry);\n", &[]).unwrap();
        assert!(text.contains("let r = crate::registry::of(&thread_pool);\n\nmod registry {"));
        assert!(!text.contains("use crate::unwind;"));
        assert_eq!(tests_in(STOCK), 2);
    }

    #[test]
    fn a_test_left_out_is_cut_with_its_attributes() {
        let text = integration_test(STOCK, &["inner"]).unwrap();
        assert!(
            text.contains("}\n\n#[cfg(any())]\n/// Reads a field.\n#[test]\n#[ignore]\nfn inner()")
        );
        assert!(
            integration_test(STOCK, &["gone"])
                .unwrap_err()
                .contains("no test gone")
        );
    }

    #[test]
    fn code_blocks_keep_their_lines() {
        let text = "/// Words.\n/// ```\n/// # use a;\n/// a();\n/// ```\nfn f() {}\n/// ```text\n/// no\n/// ```\n";
        let (written, blocks) = documentation(text);
        assert_eq!(blocks, 1);
        let lines: Vec<&str> = written.lines().collect();
        assert_eq!(
            lines[..6],
            [
                "//!",
                "//! ```",
                "//! # use a;",
                "//! a();",
                "//! ```",
                "//!"
            ]
        );
        assert!(lines[6..].iter().all(|line| *line == "//!"));
        assert_eq!(lines.len(), text.lines().count());
    }

    #[test]
    fn blocks_in_block_comments_are_found() {
        let text = "/*! ```compile_fail,E0277\n\nlet x = 1;\n\n``` */\nfn f() {}\n";
        let (written, blocks) = documentation(text);
        assert_eq!(blocks, 1);
        assert_eq!(
            written,
            "//! ```compile_fail,E0277\n//!\n//! let x = 1;\n//!\n//! ```\n//!\n"
                .replace("//!\n//! let", "//! \n//! let")
                .replace("1;\n//!\n", "1;\n//! \n")
        );
    }

    #[test]
    fn only_rust_is_run() {
        for good in [
            "",
            "rust",
            "ignore-wasm",
            "compile_fail,E0524",
            "rust,should_panic",
        ] {
            assert!(is_rust(good), "{good}");
        }
        for bad in ["text", "ascii", "notrust", "toml"] {
            assert!(!is_rust(bad), "{bad}");
        }
    }
}
