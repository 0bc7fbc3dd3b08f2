//! The book in `docs/`: each page is in its table of contents, each link and picture resolves, and
//! mdBook, where it is installed, builds it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::tally::is_warning;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::report::CheckStep;
use crate::{Result, reading};

/// The table of contents.
const SUMMARY: &str = "SUMMARY.md";
/// Pages below it need not be in the table of contents: they are written by programs.
const RESULTS: &str = "results/";
/// How pages name what is in the repository and not in the book.
const REPOSITORY: [&str; 2] = [
    "https://github.com/roving-rs/roving/blob/main/",
    "https://github.com/roving-rs/roving/tree/main/",
];
/// How pages call an example.
const EXAMPLE: &str = "--example ";
/// The package with the examples that are told of.
const EXAMPLES: &str = "roving-examples";

pub(super) fn check(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    let book = BookPages::read(&workspace.root)?;
    let found = book.faults();
    println!(
        "{} pages of the book are linked as they are",
        book.pages.len()
    );
    for fault in found.into_iter().chain(examples(workspace)?) {
        step.fail(fault);
    }
    build(workspace, step)
}

/// The pages and files below `docs/`, by their names from there, with `/`.
struct BookPages {
    summary: String,
    pages: Vec<(String, String)>,
    /// Pages that are not in the book, from the root.
    others: Vec<(String, String)>,
    /// Everything else in the repository that a page may name, from the root.
    files: BTreeSet<String>,
}

impl BookPages {
    fn read(root: &Path) -> Result<BookPages> {
        let docs = root.join("docs");
        let text = |path: &Path| {
            std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
        };
        let mut pages = Vec::new();
        for path in reading::files(&docs, &["md"]) {
            let name = short(&docs, &path);
            if name != SUMMARY {
                pages.push((name, text(&path)?));
            }
        }
        let mut others = Vec::new();
        for path in reading::files(root, &["md"]) {
            if !path.starts_with(&docs) {
                others.push((short(root, &path), text(&path)?));
            }
        }
        let mut files = BTreeSet::new();
        for path in reading::files(root, &[]) {
            let parts = path.ancestors().take_while(|part| *part != root);
            files.extend(parts.map(|part| short(root, part)));
        }
        Ok(BookPages {
            summary: text(&docs.join(SUMMARY))?,
            pages,
            others,
            files,
        })
    }

    fn faults(&self) -> Vec<String> {
        let listed: Vec<String> = links(&self.summary)
            .into_iter()
            .map(|(_, link)| link)
            .filter(|link| !link.is_empty())
            .collect();
        let mut found = Vec::new();
        for (at, name) in listed.iter().enumerate() {
            if listed[..at].contains(name) {
                found.push(format!("{SUMMARY} names {name} twice"));
            }
            if !self.pages.iter().any(|(page, _)| page == name) {
                found.push(format!("{SUMMARY} names {name}, which is not there"));
            }
        }
        for (name, text) in &self.pages {
            if listed.contains(name) {
                for (line, link) in links(text) {
                    let fault = self.fault(&listed, name, &link);
                    found.extend(fault.map(|fault| format!("docs/{name}:{line}: {fault}")));
                }
            } else if !name.starts_with(RESULTS) {
                found.push(format!("docs/{name} is not in {SUMMARY}"));
            }
            found.extend(self.addresses(&format!("docs/{name}"), text));
        }
        for (name, text) in &self.others {
            found.extend(self.addresses(name, text));
        }
        found
    }

    /// Addresses of what the repository does not have.
    fn addresses(&self, page: &str, text: &str) -> Vec<String> {
        let named = links(text).into_iter();
        let named = named.filter_map(|(line, link)| Some((line, in_repository(&link)?.to_owned())));
        named
            .filter(|(_, path)| !self.files.contains(path))
            .map(|(line, path)| format!("{page}:{line}: the repository has no `{path}`"))
            .collect()
    }

    /// Returns the fault of a link or picture of a page of the book.
    fn fault(&self, listed: &[String], page: &str, link: &str) -> Option<String> {
        let file = link.split('#').next().unwrap_or(link);
        if file.is_empty() || link.contains("://") || link.starts_with("mailto:") {
            return None;
        }
        let Some(target) = resolved(page, file) else {
            return Some(format!(
                "`{link}` leaves the book: name it by {}",
                REPOSITORY[0]
            ));
        };
        if target.ends_with(".md") {
            let unknown = !listed.contains(&target);
            return unknown.then(|| format!("`{link}` is not a page of the book"));
        }
        let there = self.files.contains(&format!("docs/{target}"));
        (!there).then(|| format!("`{link}` is not there"))
    }
}

/// The path in the repository that a link names by its address, if it does.
fn in_repository(link: &str) -> Option<&str> {
    let path = REPOSITORY
        .iter()
        .find_map(|start| link.strip_prefix(start))?;
    Some(path.split('#').next().unwrap_or(path).trim_end_matches('/'))
}

/// A path from a page's folder as a path from the book's, if it is in the book.
fn resolved(page: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

fn short(root: &Path, path: &Path) -> String {
    let short = path.strip_prefix(root).unwrap_or(path);
    short.to_string_lossy().replace('\\', "/")
}

/// The line and target of each link and picture outside of code.
fn links(text: &str) -> Vec<(usize, String)> {
    let lines = || text.lines().enumerate().map(|(at, line)| (at + 1, line));
    let fences = reading::fences(lines());
    let in_code = |line: usize| {
        let mut fences = fences.iter();
        fences.any(|fence| (fence.line..=fence.line + fence.body.len() + 1).contains(&line))
    };
    let mut found = Vec::new();
    for (number, line) in lines().filter(|(number, _)| !in_code(*number)) {
        for (at, word) in line.match_indices("](") {
            // Between backticks it is code: as many stand before it as do not close.
            let code = line[..at].matches('`').count() % 2 == 1;
            if let (false, Some((link, _))) = (code, line[at + word.len()..].split_once(')')) {
                found.push((number, link.to_owned()));
            }
        }
    }
    found
}

/// Each example that a page calls is one, and each of ours is in the book.
fn examples(workspace: &Workspace) -> Result<Vec<String>> {
    let names = |package: &str| -> BTreeSet<String> {
        let packages = workspace.packages.iter();
        let packages = packages.filter(|one| package.is_empty() || one.name == package);
        packages
            .flat_map(|package| &package.targets)
            .filter(|target| target.kind == "example")
            .map(|target| target.name.clone())
            .collect()
    };
    let all = names("");
    let mut in_book = BTreeSet::new();
    let mut found = Vec::new();
    for path in reading::files(&workspace.root, &["md"]) {
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
        let page = workspace.short(&path);
        for name in called(&text) {
            if !all.contains(&name) {
                found.push(format!("{page}: there is no example `{name}`"));
            }
            if page.starts_with("docs/") {
                in_book.insert(name);
            }
        }
    }
    for name in names(EXAMPLES).difference(&in_book) {
        found.push(format!("docs/ does not call the example `{name}`"));
    }
    Ok(found)
}

/// The words behind `--example`.
fn called(text: &str) -> Vec<String> {
    let calls = text.match_indices(EXAMPLE);
    calls
        .map(|(at, word)| {
            let rest = text[at + word.len()..].chars();
            rest.take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c))
                .collect()
        })
        .filter(|name: &String| name.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect()
}

/// With mdBook, if it is here, into the folder of build output; then each link of what it wrote is
/// followed, since it is mdBook that says what a heading's anchor is.
fn build(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    let mdbook = std::env::var("MDBOOK").unwrap_or_else(|_| "mdbook".into());
    if !tool::works(&mdbook, &["--version"]) {
        step.skip(
            "mdbook is not installed, so the book is checked and not built: cargo install --locked mdbook",
        );
        return Ok(());
    }
    let out = workspace.target.join("book");
    let mut command = Command::new(mdbook);
    command.args(["build", "docs", "--dest-dir"]).arg(&out);
    let seen = tool::watch(command.current_dir(&workspace.root))?;
    let warns =
        |line: &&String| is_warning(line) || line.contains("WARN") || line.contains("ERROR");
    if let Some(line) = seen.lines.iter().find(warns) {
        step.fail(line.clone());
    } else if !seen.ok {
        step.fail("mdbook failed");
    }
    for fault in dead_ends(&out)? {
        step.fail(fault);
    }
    println!("the book: {}", out.join("index.html").display());
    Ok(())
}

/// Links of the built book that lead nowhere.
fn dead_ends(out: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    // Its links are those of the folder that was not found.
    let pages = reading::files(out, &["html"]).into_iter();
    for path in pages.filter(|path| !path.ends_with("404.html")) {
        let text = std::fs::read_to_string(&path).map_err(|error| error.to_string())?;
        for link in attributes(&text) {
            if !leads(&path, &text, &link) {
                found.push(format!("{}: `{link}` leads nowhere", short(out, &path)));
            }
        }
    }
    Ok(found)
}

fn leads(page: &Path, text: &str, link: &str) -> bool {
    if link.contains("://") || link.starts_with("mailto:") || link.starts_with("data:") {
        return true;
    }
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    if file.is_empty() {
        return anchor.is_empty() || text.contains(&format!("id=\"{anchor}\""));
    }
    let target: PathBuf = page.parent().unwrap_or(Path::new("")).join(file);
    match std::fs::read(&target) {
        Ok(bytes) if !anchor.is_empty() && file.ends_with(".html") => {
            let text = String::from_utf8_lossy(&bytes);
            let on = elsewhere(&text).map_or_else(String::new, str::to_owned);
            leads(&target, &text, &format!("{on}#{anchor}"))
        }
        Ok(_) => true,
        Err(_) => target.is_dir(),
    }
}

/// Where a page sends its readers at once; they keep their anchor.
fn elsewhere(html: &str) -> Option<&str> {
    let (_, rest) = html.split_once("http-equiv=\"refresh\"")?;
    let (_, rest) = rest.split_once("URL=")?;
    rest.split('"').next()
}

/// The values of `href` and `src`.
fn attributes(html: &str) -> Vec<String> {
    let starts = [" href=\"", " src=\""];
    let values = starts.iter().flat_map(|start| {
        let all = html.match_indices(start);
        all.filter_map(|(at, start)| html[at + start.len()..].split_once('"'))
    });
    values
        .map(|(value, _)| value.replace("&amp;", "&"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(summary: &str, page: &str) -> Vec<String> {
        let pages = [
            ("a.md", page),
            ("b.md", "[a](a.md#x)"),
            ("results/r.md", "[x](x.md)"),
        ];
        let files = [
            "docs/a.md",
            "docs/b.md",
            "docs/pictures/p.svg",
            "examples/e.rs",
        ];
        let book = BookPages {
            summary: summary.to_owned(),
            pages: pages.map(|(name, text)| (name.into(), text.into())).into(),
            others: vec![("README.md".into(), OTHER.into())],
            files: files.map(str::to_owned).into(),
        };
        book.faults()
    }

    const OTHER: &str = "[e](https://github.com/roving-rs/roving/tree/main/examples/e.rs)";
    const BOTH: &str = "[A](a.md)\n- [B](b.md)\n- [Later]()\n";

    #[test]
    fn a_book_that_hangs_together_is_clean() {
        let page = "[b](b.md) ![p](pictures/p.svg) [x](https://example.org) `[y](y.md)` [here](#h) \
            [e](https://github.com/roving-rs/roving/blob/main/examples/e.rs#L1)\n```text\n[z](z.md)\n```\n";
        assert_eq!(faults(BOTH, page), [""; 0]);
    }

    #[test]
    fn pages_that_are_missing_doubled_or_unlisted_are_found() {
        assert_eq!(faults("[A](a.md)", ""), ["docs/b.md is not in SUMMARY.md"]);
        let twice = "[A](a.md) [B](b.md) [A](a.md)";
        assert_eq!(faults(twice, ""), ["SUMMARY.md names a.md twice"]);
        let gone = "[A](a.md) [B](b.md) [C](c.md)";
        assert_eq!(
            faults(gone, ""),
            ["SUMMARY.md names c.md, which is not there"]
        );
    }

    #[test]
    fn links_that_leave_the_book_or_lead_nowhere_are_found() {
        for (link, word) in [
            ("[c](c.md)", "not a page"),
            ("![p](pictures/q.svg)", "not there"),
            ("[r](../README.md)", "leaves the book"),
            ("[r](results/r.md)", "not a page"),
            (
                "[e](https://github.com/roving-rs/roving/blob/main/examples/f.rs)",
                "repository has no",
            ),
        ] {
            let found = faults("[A](a.md) [B](b.md)", link);
            assert!(
                found.len() == 1 && found[0].contains(word),
                "{link}: {found:?}"
            );
        }
    }

    #[test]
    fn names_of_examples_are_read() {
        let text = "`cargo run --release --example ray-tracer -- 9`, `--example NAME`\n--example nqueens\n";
        assert_eq!(called(text), ["ray-tracer", "nqueens"]);
    }

    #[test]
    fn html_that_leads_nowhere_is_found() {
        let page = Path::new("no-such-folder/a.html");
        let text = "<h1 id=\"top\"><a href=\"#top\"><img src=\"b.svg\">";
        assert_eq!(attributes(text), ["#top", "b.svg"]);
        assert!(leads(page, text, "#top") && leads(page, text, "https://example.org"));
        assert!(!leads(page, text, "#gone") && !leads(page, text, "b.svg"));
        let on = "<meta http-equiv=\"refresh\" content=\"0; URL=index.html\">";
        assert_eq!((elsewhere(on), elsewhere(text)), (Some("index.html"), None));
    }
}
