//! Compiles and runs every Rust code block of the book, the README and the crates' pages, with
//! `rustdoc --test` on the Markdown files themselves; then the book as a whole.

mod book;
mod c;
mod calls;
mod shell;

pub(crate) use shell::check as commands;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::cargo::tally::CargoTally;
use crate::cargo::workspace::Workspace;
use crate::cargo::{features, lint, tool};
use crate::report::CheckStep;
use crate::{Result, reading};

/// The libraries that pages may use, by the names of their crates.
const LIBRARIES: [&str; 7] = [
    "roving",
    "roving_dist",
    "roving_flow",
    "roving_gpu",
    "roving_iter",
    "roving_model",
    "roving_partition",
];

pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    let libraries = build(workspace, step)?;
    let deps = libraries[0]
        .parent()
        .map(|dir| dir.join("deps"))
        .unwrap_or_default();
    let mut pages = 0;
    for page in reading::files(&workspace.root, &["md"]) {
        let text = std::fs::read_to_string(&page).map_err(|error| error.to_string())?;
        if blocks(&text) == 0 {
            continue;
        }
        pages += 1;
        let mut command = rustdoc(&page, &libraries, &deps);
        command.current_dir(&workspace.root);
        let seen = tool::watch(&mut command)?;
        let tally = CargoTally::read(&seen.lines);
        let ran = tally.sum();
        let mut own = CheckStep::default();
        tally.judge(&seen, &mut own);
        step.counts.add(ran);
        let short = workspace.short(&page);
        for complaint in own.complaints {
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
    calls::check(workspace, step)?;
    book::check(workspace, step)
}

fn rustdoc(page: &Path, libraries: &[PathBuf], deps: &Path) -> Command {
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
    for (name, library) in LIBRARIES.iter().zip(libraries) {
        command
            .arg("--extern")
            .arg(format!("{name}={}", library.display()));
    }
    command.arg(page);
    command
}

/// Builds the libraries and returns the paths of their `.rlib` files. They are those that the tests
/// use, so that nothing is built twice: with the same features, and with a small test beside them,
/// for which cargo takes the tests' own dependencies into account.
fn build(workspace: &Workspace, step: &mut CheckStep) -> Result<Vec<PathBuf>> {
    let words = ["build", "--workspace", "--lib", "--test", "smoke"];
    let mut command = workspace.cargo(&words);
    command.args(["--features", &features::buildable(workspace)]);
    command.arg("--message-format=json-render-diagnostics");
    let text = tool::output(lint::linted(&mut command))?;
    let mut found = vec![None; LIBRARIES.len()];
    for line in text.lines() {
        let Ok(value) = serde_json::from_str::<Value>(line) else {
            continue;
        };
        let is_it = |name: &str| value["target"]["name"] == name;
        let place = LIBRARIES.iter().position(|name| is_it(name));
        if let (true, Some(place)) = (value["reason"] == "compiler-artifact", place) {
            let files = value["filenames"].as_array().cloned().unwrap_or_default();
            let mut names = files.iter().filter_map(Value::as_str);
            let library = names.find(|name| name.ends_with(".rlib"));
            found[place] = library.map(PathBuf::from).or(found[place].take());
        }
    }
    for (name, library) in LIBRARIES.iter().zip(&found) {
        if library.is_none() {
            step.fail(format!("cargo built no library `{name}`"));
        }
    }
    let all: Option<Vec<PathBuf>> = found.into_iter().collect();
    all.ok_or_else(|| "nothing to test the pages with".into())
}

/// The number of Rust code blocks of a page, as rustdoc counts them.
fn blocks(text: &str) -> u64 {
    let infos = reading::fences(
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
