//! Compiles and runs every Rust code block of the book, the README and the crates' pages, with
//! `rustdoc --test` on the Markdown files themselves.

mod calls;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::cargo_test::Tally;
use crate::report::Step;
use crate::workspace::Workspace;
use crate::{Result, tidy, tool};

pub(crate) fn check(workspace: &Workspace, step: &mut Step) -> Result<()> {
    let library = build(workspace, step)?;
    let deps = library
        .parent()
        .map(|dir| dir.join("deps"))
        .unwrap_or_default();
    let mut pages = 0;
    for page in tidy::files(&workspace.root, &["md"]) {
        let text = std::fs::read_to_string(&page).map_err(|error| error.to_string())?;
        if blocks(&text) == 0 {
            continue;
        }
        pages += 1;
        let mut command = rustdoc(&page, &library, &deps);
        command.current_dir(&workspace.root);
        let seen = tool::watch(&mut command)?;
        let tally = Tally::read(&seen.lines);
        let ran = tally.sum();
        let mut own = Step::default();
        tally.judge(&seen, &mut own);
        step.counts.add(ran);
        let short = workspace.short(&page);
        for complaint in own.complaints() {
            step.fail(format!("{short}: {complaint}"));
        }
        if ran.passed + ran.failed + ran.skipped < blocks(&text) {
            step.fail(format!(
                "{short}: {} code blocks, fewer tests ran",
                blocks(&text)
            ));
        }
    }
    if pages == 0 {
        step.fail("no page with a code block was found");
    }
    calls::check(workspace, step)
}

fn rustdoc(page: &Path, library: &Path, deps: &Path) -> Command {
    let mut command = Command::new(std::env::var("RUSTDOC").unwrap_or_else(|_| "rustdoc".into()));
    command.args([
        "--test",
        "--edition",
        "2024",
        "--test-args",
        "--color=never",
    ]);
    command
        .arg("-L")
        .arg(format!("dependency={}", deps.display()));
    command
        .arg("--extern")
        .arg(format!("roving={}", library.display()));
    command.arg(page);
    command
}

/// Builds the library and returns the path of its `.rlib`.
fn build(workspace: &Workspace, step: &mut Step) -> Result<PathBuf> {
    let words = [
        "build",
        "-p",
        "roving",
        "--lib",
        "--message-format=json-render-diagnostics",
    ];
    let text = tool::output(&mut workspace.cargo(&words))?;
    let mut found = None;
    for line in text.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        if value["reason"] == "compiler-artifact" && value["target"]["name"] == "roving" {
            let files = value["filenames"].as_array().cloned().unwrap_or_default();
            let names = files.iter().filter_map(Value::as_str);
            found = names
                .into_iter()
                .find(|name| name.ends_with(".rlib"))
                .map(PathBuf::from)
                .or(found);
        }
    }
    if found.is_none() {
        step.fail("cargo built no library `roving`");
    }
    found.ok_or_else(|| "nothing to test the pages with".into())
}

/// The number of Rust code blocks of a page, as rustdoc counts them.
fn blocks(text: &str) -> u64 {
    let infos = tidy::fences(
        text.lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line)),
    );
    infos.iter().filter(|fence| fence.is_rust()).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rust_blocks_are_counted() {
        let page = "```rust\nfn a() {}\n```\ntext\n```sh\nls\n```\n```\nlet x = 1;\n```\n\
            ```compile_fail\nx\n```\n```toml\na = 1\n```\n";
        assert_eq!(blocks(page), 3);
    }
}
