//! Pages and documentation comments: what they name must exist, and their code must run.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::finding::Finding;
use crate::reading::{Fence, RustFile, code_spans, fences};

/// Names like those of our crates that mean something else.
// Where `roving compare` writes, and our async tasks as it names them.
const NO_CRATES: [&str; 4] = [
    "roving-results",
    "roving-fork",
    "roving-spawn",
    "roving-branch",
];

/// How the head of a table ends whose last column names tests.
const HELD: &str = "| held by |";

/// Everything that a page may name.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) root: PathBuf,
    pub(crate) crates: BTreeSet<String>,
    /// Every file and folder, from the root, with `/`.
    pub(crate) paths: BTreeSet<String>,
    /// Every function in the files of Rust, and each that those of C define or call.
    pub(crate) functions: BTreeSet<String>,
    /// Every verb of xtask.
    pub(crate) verbs: BTreeSet<String>,
}

/// A Markdown page.
pub(crate) fn check_page(path: &Path, text: &str, known: &Known) -> Vec<Finding> {
    let fences = fences(
        text.lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line)),
    );
    let mut found = Vec::new();
    if path.ends_with("docs/faq.md") {
        found.extend(answers(path, text));
    }
    if path.ends_with("docs/regressions.md") && !text.contains(HELD) {
        let text = format!("no table here ends with a column `{HELD}`");
        found.push(Finding::new(path, 1, text));
    }
    for fence in &fences {
        found.extend(code(path, fence, known));
    }
    let mut of_tests = false;
    let inside = |line: usize| {
        fences
            .iter()
            .any(|fence| (fence.line..=fence.line + fence.body.len() + 1).contains(&line))
    };
    for (index, text) in text.lines().enumerate() {
        let line = index + 1;
        if inside(line) {
            continue;
        }
        for span in code_spans(text) {
            found.extend(span_known(path, line, span, known));
        }
        for link in links(text) {
            found.extend(link_known(path, line, &link, known));
        }
        of_tests = text.starts_with('|') && (of_tests || text.ends_with(HELD));
        let cell = || text.rsplit_once(" | ").filter(|_| of_tests);
        if let Some((_, names)) = text.split_once("Held by").or_else(cell) {
            found.extend(held_known(path, line, names, known));
        }
    }
    found
}

/// The tests that hold what a line claims, but commands and crates, which are looked up like any
/// other.
fn held_known(path: &Path, line: usize, names: &str, known: &Known) -> Vec<Finding> {
    let names = code_spans(names);
    let is_known = |name: &str| {
        let last = name.rsplit("::").next().unwrap_or(name);
        let is_command = name.starts_with("cargo ") || name.starts_with("torture ");
        is_command
            || known.crates.contains(name)
            || known.functions.contains(last)
            || known.paths.contains(name)
    };
    let unknown = names.into_iter().filter(|name| !is_known(name));
    let told = |name: &str| Finding::new(path, line, format!("held by `{name}`: no such test"));
    unknown.map(told).collect()
}

/// The questions whose answer links nothing that confirms it: a page, an item, or the limits.
fn answers(path: &Path, text: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut open: Option<(usize, &str, bool)> = None;
    let mut close = |open: Option<(usize, &str, bool)>| {
        if let Some((line, question, false)) = open {
            let text = format!("the answer to `{question}` links nothing that confirms it");
            found.push(Finding::new(path, line, text));
        }
    };
    for (index, text) in text.lines().enumerate() {
        if text.starts_with('#') {
            let question = text.strip_prefix("### ");
            close(open.take());
            open = question.map(|question| (index + 1, question, false));
        } else if let Some((_, _, linked)) = &mut open {
            *linked |= text.contains("](");
        }
    }
    close(open);
    found
}

/// The documentation comments of a Rust file.
pub(crate) fn check_source(source: &RustFile, known: &Known) -> Vec<Finding> {
    let docs: Vec<(usize, &str)> = source
        .raw
        .iter()
        .enumerate()
        .filter(|(index, _)| source.code[*index].trim().is_empty())
        .filter_map(|(index, raw)| {
            let text = raw.trim_start();
            let doc = text
                .strip_prefix("//!")
                .or_else(|| text.strip_prefix("///"))?;
            Some((index + 1, doc))
        })
        .collect();
    let fences = fences(docs.iter().copied());
    let mut found = Vec::new();
    for fence in &fences {
        if fence.info.split([',', ' ']).any(|word| word == "ignore") {
            let text = "an `ignore` code block: nobody compiles it";
            found.push(Finding::new(&source.path, fence.line, text));
        }
    }
    for (line, text) in docs {
        let inside = fences
            .iter()
            .any(|fence| (fence.line..=fence.line + fence.body.len() + 1).contains(&line));
        if !inside {
            for span in code_spans(text) {
                found.extend(span_known(&source.path, line, span, known));
            }
            // Rustdoc looks after links to items, and not after addresses.
            for link in links(text).iter().filter(|link| link.starts_with(OURS)) {
                found.extend(link_known(&source.path, line, link, known));
            }
        }
    }
    found
}

/// The block runs, or is in a language that is not run; a shell block calls what exists.
fn code(path: &Path, fence: &Fence, known: &Known) -> Vec<Finding> {
    let mut found = Vec::new();
    let info = fence.info.as_str();
    let quiet = ["sh", "toml", "text", "json", "csv", "cpp", "c"];
    if info.contains("ignore") || info.contains("no_run") {
        let text = format!("a code block that is not run: `{info}`");
        found.push(Finding::new(path, fence.line, text));
    } else if !fence.is_rust() && !quiet.contains(&info) {
        let text = format!("code block in `{info}`: say rust, or one of {quiet:?}");
        found.push(Finding::new(path, fence.line, text));
    }
    for (index, line) in fence.body.iter().enumerate().filter(|_| info == "sh") {
        let line_number = fence.line + index + 1;
        if let Some(verb) = line.trim().strip_prefix("cargo xtask ") {
            let verb = verb.split_whitespace().next().unwrap_or_default();
            if !known.verbs.contains(verb) {
                found.push(Finding::new(
                    path,
                    line_number,
                    format!("xtask has no verb `{verb}`"),
                ));
            }
        }
    }
    found
}

/// Checks a text between backticks: a crate, a path, a verb, or something else.
fn span_known(path: &Path, line: usize, span: &str, known: &Known) -> Option<Finding> {
    if let Some(verb) = span.strip_prefix("cargo xtask ") {
        let verb = verb.split_whitespace().next().unwrap_or_default();
        let unknown = verb.starts_with(char::is_alphabetic) && !known.verbs.contains(verb);
        return unknown.then(|| Finding::new(path, line, format!("xtask has no verb `{verb}`")));
    }
    if span.starts_with("roving-") && span.bytes().all(|b| b.is_ascii_lowercase() || b == b'-') {
        let unknown = !known.crates.contains(span) && !NO_CRATES.contains(&span);
        return unknown.then(|| Finding::new(path, line, format!("there is no crate `{span}`")));
    }
    if !is_path(span) {
        return None;
    }
    let wanted = span.trim_end_matches('/');
    let here = path.strip_prefix(&known.root).unwrap_or(path);
    let folders = here
        .ancestors()
        .skip(1)
        .map(|folder| folder.to_string_lossy().replace('\\', "/"));
    let exists = folders.into_iter().any(|folder| {
        ["", "src/", "tests/"].iter().any(|middle| {
            let start = if folder.is_empty() {
                String::new()
            } else {
                format!("{folder}/")
            };
            known.paths.contains(&format!("{start}{middle}{wanted}"))
        })
    });
    let tail = format!("/{wanted}");
    let by_name = known.paths.iter().any(|path| path.ends_with(&tail));
    (!exists && !by_name).then(|| Finding::new(path, line, format!("there is no `{span}`")))
}

/// A relative path of a file that a repository holds, or of a folder with its `/`.
fn is_path(span: &str) -> bool {
    const ENDS: [&str; 9] = [
        ".rs", ".md", ".toml", ".csv", ".svg", ".txt", ".cpp", ".json", "/",
    ];
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    let outside = ["/", "target/", "~", "."];
    span.len() > 3
        && span.chars().all(plain)
        && ENDS.iter().any(|end| span.ends_with(end))
        && !span.starts_with("..")
        && !span.contains("//")
        && (!outside.iter().any(|start| span.starts_with(start)) || span.starts_with(".ci/"))
}

/// The targets of `[text](target)` and of `[text](target "title")`.
fn links(text: &str) -> Vec<String> {
    let starts = text
        .match_indices("](")
        .map(|(at, word)| &text[at + word.len()..]);
    starts
        .filter_map(|rest| rest.split_once(')'))
        .map(|(link, _)| link.split(" \"").next().unwrap_or(link).to_owned())
        .collect()
}

/// Where this repository is shown: an address that begins so leads to one of our own files.
const OURS: &str = "https://github.com/roving-rs/roving";

/// The file that an address of this repository leads to, and the heading in it.
fn own_file<'l>(link: &'l str, known: &Known) -> Option<(PathBuf, &'l str)> {
    let rest = link.strip_prefix(OURS)?;
    let (file, anchor) = rest.split_once('#').unwrap_or((rest, ""));
    if file.is_empty() {
        return Some((known.root.join("README.md"), anchor));
    }
    let mut shown = ["/blob/main/", "/tree/main/"].iter();
    let file = shown.find_map(|middle| file.strip_prefix(middle))?;
    Some((known.root.join(file), anchor))
}

fn link_known(path: &Path, line: usize, link: &str, known: &Known) -> Option<Finding> {
    let (target, anchor) = if link.contains("://") {
        own_file(link, known)?
    } else if link.starts_with("mailto:") {
        return None;
    } else {
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        match file {
            "" => (path.to_owned(), anchor),
            file => (path.parent().unwrap_or(Path::new("")).join(file), anchor),
        }
    };
    if !target.exists() {
        return Some(Finding::new(
            path,
            line,
            format!("the link `{link}` leads nowhere"),
        ));
    }
    if anchor.is_empty() || target.extension().is_none_or(|end| end != "md") {
        return None;
    }
    let page = std::fs::read_to_string(&target).unwrap_or_default();
    let known = page
        .lines()
        .filter(|line| line.starts_with('#'))
        .any(|line| slug(line) == anchor);
    (!known).then(|| Finding::new(path, line, format!("the link `{link}` names no heading")))
}

/// The anchor that a heading gets.
fn slug(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text
        .chars()
        .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> Known {
        let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Known {
            root: PathBuf::from("/w"),
            crates: set(&["roving", "roving-lab"]),
            paths: set(&[
                "docs/a.md",
                "crates/roving/src/stack/slot.rs",
                "crates/roving/src/stack",
                "deny.toml",
            ]),
            functions: set(&["contract_1"]),
            verbs: set(&["test", "tidy"]),
        }
    }

    fn page(text: &str) -> Vec<String> {
        let found = check_page(Path::new("/w/docs/b.md"), text, &known());
        found.into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn an_answer_links_what_confirms_it() {
        let asked = |answer: &str| {
            let text = format!(
                "# Questions\n\n## Rest\n\n### Is it quiet?\n\n{answer}\n\n## Other\n[link](https://example.org)\n"
            );
            check_page(Path::new("/w/docs/faq.md"), &text, &known()).len()
        };
        assert_eq!(asked("No."), 1);
        assert_eq!(asked("No, see [the contract](https://example.org)."), 0);
    }

    #[test]
    fn what_exists_may_be_named() {
        let good = "`crates/roving/src/stack/`, `slot.rs`, `stack/slot.rs`, `deny.toml`, `a.md`, `roving-lab`, `a/b`, \
            `target/x.csv`, `cargo xtask tidy`, `*.rs`, `x.y()`\n\nHeld by `tests::contract_1` and `cargo xtask tidy`\n\n\
            ```sh\ncargo xtask test --no-install\n```\n```rust\nlet a = 1;\n```\n";
        assert!(page(good).is_empty(), "{:?}", page(good));
    }

    #[test]
    fn what_does_not_exist_is_found() {
        for bad in [
            "`crates/roving/src/gone.rs`",
            "`docs/gone/`",
            "`gone.toml`",
            "`roving-gone`",
            "`cargo xtask gone`",
            "Held by `gone`",
            "[x](gone.md)",
            "[x](gone.md \"a title (of it)\")",
            "```sh\ncargo xtask gone\n```",
        ] {
            assert_eq!(page(bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn tests_that_a_table_names_are_there() {
        let table = |cell: &str| format!("| what | held by |\n|---|---|\n| `b` | {cell} |\n");
        let good = "`contract_1`; `cargo xtask tidy`, `A::contract_1` of `roving-lab`";
        let good = table(good) + "\n| what | else |\n|---|---|\n| a | `gone` |\n";
        assert!(page(&good).is_empty(), "{:?}", page(&good));
        let bad = check_page(
            Path::new("/w/docs/b.md"),
            &table("`contract_1`, `gone`"),
            &known(),
        );
        assert_eq!(bad.len(), 1, "{bad:?}");
        assert_eq!(
            (bad[0].line, &*bad[0].text),
            (3, "held by `gone`: no such test")
        );
        let regressions = |text| check_page(Path::new("/w/docs/regressions.md"), text, &known());
        assert_eq!(regressions("# A page without a table\n").len(), 1);
        assert!(regressions(&table("`contract_1`")).is_empty());
    }

    #[test]
    fn addresses_of_this_repository_lead_to_a_file_and_a_heading() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let known = Known { root, ..known() };
        let found = |link: &str| {
            let page = check_page(
                Path::new("/w/a.md"),
                &format!("[a]({OURS}{link})\n"),
                &known,
            );
            let text = format!("//! [a]({OURS}{link})\n");
            let source = check_source(&RustFile::new("/w/a.rs".into(), &text), &known);
            assert_eq!(page.len(), source.len(), "{link}");
            page.len()
        };
        for good in [
            "",
            "#status-and-limits",
            "/issues",
            "/blob/main/docs/faq.md#trust",
            "/tree/main/examples",
        ] {
            assert_eq!(found(good), 0, "{good}");
        }
        for bad in [
            "#limits",
            "/blob/main/docs/gone.md",
            "/blob/main/docs/faq.md#gone",
            "/tree/main/gone",
        ] {
            assert_eq!(found(bad), 1, "{bad}");
        }
    }

    #[test]
    fn blocks_that_nobody_runs_are_found() {
        for bad in ["```ignore\n```", "```rust,no_run\n```", "```console\n```"] {
            assert_eq!(page(bad).len(), 1, "{bad}");
        }
        let source = RustFile::new(
            "/w/a.rs".into(),
            "/// ```ignore\n/// x\n/// ```\nfn a() {}\n",
        );
        assert_eq!(check_source(&source, &known()).len(), 1);
    }

    #[test]
    fn documentation_comments_are_read() {
        let at = PathBuf::from("/w/crates/roving/src/lib.rs");
        let good = "//! See `stack/slot.rs`.\n// Not a page: `gone.rs`\n";
        assert!(check_source(&RustFile::new(at.clone(), good), &known()).is_empty());
        let text = "const A: &str = \"\\\n/// See `gone.rs`.\n\";\n";
        assert!(check_source(&RustFile::new(at.clone(), text), &known()).is_empty());
        let bad = "/// See `stack/gone.rs`.\nfn a() {}\n";
        assert_eq!(check_source(&RustFile::new(at, bad), &known()).len(), 1);
    }

    #[test]
    fn fences_keep_their_lines() {
        let text = "a\n````text\n```rust\n````\n";
        let found = fences(text.lines().enumerate());
        assert_eq!(
            found,
            [Fence {
                line: 1,
                info: "text".into(),
                body: vec!["```rust".into()]
            }]
        );
    }

    #[test]
    fn headings_become_anchors() {
        assert_eq!(slug("## Waiting, and locks"), "waiting-and-locks");
    }
}
