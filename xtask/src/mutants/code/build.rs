//! The copy of the workspace that has both behaviours on each line, and its test programs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::chosen::{KILLERS, Mutant, Sources};
use super::killers::MutatedProgram;
use crate::Result;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::mutants::loom;

/// How often what does not compile is left out.
const BUILDS_MAX: usize = 12;

/// Copies what git knows, but for the files that are written with both behaviours.
pub(super) fn copy(workspace: &Workspace, tree: &Path, sources: &Sources) -> Result<()> {
    let mut list = Command::new("git");
    list.args(["ls-files"]).current_dir(&workspace.root);
    let listed = tool::output(&mut list)?;
    for name in listed.lines().filter(|name| !sources.contains_key(*name)) {
        let (from, to) = (workspace.root.join(name), tree.join(name));
        let Ok(text) = fs::read(&from) else {
            continue;
        };
        // What is the same keeps its date, so that it is not built again.
        if fs::read(&to).is_ok_and(|there| there == text) {
            continue;
        }
        put(&to, text)?;
    }
    Ok(())
}

/// Writes the changed files, builds the tests, and leaves out what does not compile.
pub(super) fn build(
    workspace: &Workspace,
    tree: &Path,
    sources: &Sources,
    mutants: &mut Vec<Mutant>,
) -> Result<Vec<MutatedProgram>> {
    for _ in 0..BUILDS_MAX {
        write(sources, tree, mutants)?;
        let mut programs = Vec::new();
        let mut wrong = BTreeSet::new();
        let mut all: Vec<(&str, bool, Command)> = Vec::new();
        for (package, targets) in KILLERS {
            all.push((package, false, plain(workspace, tree, package, targets)));
        }
        for (package, _) in KILLERS {
            all.push((package, true, explorer(workspace, tree, package)));
        }
        for (package, explores, mut command) in all {
            let seen = tool::quiet(&mut command)?;
            for line in &seen.lines {
                let Ok(value) = serde_json::from_str::<Value>(line) else {
                    continue;
                };
                let ours = value["target"]["name"] == package.replace('-', "_");
                if let Some(path) = value["executable"].as_str()
                    && (ours || !explores)
                {
                    programs.push(MutatedProgram {
                        package: package.to_owned(),
                        path: PathBuf::from(path),
                        explores,
                    });
                }
                wrong.extend(errors(&value["message"]));
            }
            if !seen.ok {
                if wrong.is_empty() {
                    let told = seen.lines.iter().find(|line| line.starts_with("error"));
                    return Err(format!("the copy is not built: {told:?}"));
                }
                break;
            }
        }
        let before = mutants.len();
        leave_out(mutants, &wrong);
        if wrong.is_empty() {
            return Ok(programs);
        }
        println!("{} do not compile", before - mutants.len());
        if before == mutants.len() {
            return Err(format!("the copy does not compile: {:?}", wrong.first()));
        }
    }
    Err("the copy does not compile, whatever is left out".into())
}

/// Leaves out the mutants on these lines; where there is none, the nearest one above, which may
/// have changed what the compiler knows further down.
fn leave_out(mutants: &mut Vec<Mutant>, wrong: &BTreeSet<(String, u64)>) {
    let line = |mutant: &Mutant| mutant.site.line as u64 + 1;
    let is_on = |mutant: &Mutant| wrong.contains(&(mutant.file.clone(), line(mutant)));
    let mut out: BTreeSet<(String, u64)> = wrong.clone();
    if !mutants.iter().any(is_on) {
        for (file, at) in wrong {
            let above = mutants
                .iter()
                .filter(|mutant| mutant.file == *file && line(mutant) < *at);
            out.extend(above.map(line).max().map(|line| (file.clone(), line)));
        }
    }
    mutants.retain(|mutant| !out.contains(&(mutant.file.clone(), line(mutant))));
}

fn plain(workspace: &Workspace, tree: &Path, package: &str, targets: &[&str]) -> Command {
    let mut command = workspace.cargo(&["test", "--no-run", "-p", package]);
    for target in targets {
        match *target {
            "lib" => command.arg("--lib"),
            name => command.args(["--test", name]),
        };
    }
    command
        .arg("--message-format=json")
        .current_dir(tree)
        .env(
            "CARGO_TARGET_DIR",
            workspace.target.join("code-mutants/build"),
        )
        .env("RUSTFLAGS", "--cap-lints allow");
    command
}

/// The loom tests of that package.
fn explorer(workspace: &Workspace, tree: &Path, package: &str) -> Command {
    let mut command = loom::command(workspace, &[package]);
    command
        .arg("--message-format=json")
        .current_dir(tree)
        .env("RUSTFLAGS", format!("{} --cap-lints allow", loom::FLAGS))
        .env(
            "CARGO_TARGET_DIR",
            workspace.target.join("code-mutants/loom"),
        );
    command
}

/// The lines that an error of the compiler is about.
fn errors(message: &Value) -> Vec<(String, u64)> {
    if message["level"] != "error" {
        return Vec::new();
    }
    let spans = message["spans"].as_array().into_iter().flatten();
    let places = spans.map(|span| {
        let lines = span["line_start"].as_u64()..=span["line_end"].as_u64();
        (
            span["file_name"].as_str().unwrap_or_default().to_owned(),
            lines,
        )
    });
    places
        .flat_map(|(file, lines)| {
            let (first, last) = (lines.start().unwrap_or(0), lines.end().unwrap_or(0));
            (first..=last.min(first + 12)).map(move |line| (file.clone(), line))
        })
        .collect()
}

fn write(sources: &Sources, tree: &Path, mutants: &[Mutant]) -> Result<()> {
    let mut texts = sources.clone();
    for (number, mutant) in mutants.iter().enumerate() {
        if let Some(lines) = texts.get_mut(&mutant.file) {
            lines[mutant.site.line] = mutant.site.line_with(number);
        }
    }
    for (file, lines) in texts {
        let end = if file.ends_with("lib.rs") { SWITCH } else { "" };
        let text = lines.join("\n") + "\n" + end;
        let path = tree.join(&file);
        // What is the same keeps its date, so that it is not built again.
        if fs::read_to_string(&path).is_ok_and(|there| there == text) {
            continue;
        }
        put(&path, text)?;
    }
    Ok(())
}

/// Writes a file, and makes its folder.
fn put(path: &Path, text: impl AsRef<[u8]>) -> Result<()> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all);
    made.and_then(|()| fs::write(path, text))
        .map_err(|error| format!("{}: {error}", path.display()))
}

/// Added to each crate: which line is changed; or each line is noted that is come to, once.
const SWITCH: &str = r#"
mod code_mutant {
    use std::io::Write;
    use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

    const UNREAD: usize = usize::MAX;
    const NOTES: usize = UNREAD - 1;
    const NONE: usize = UNREAD - 2;
    static CHOSEN: AtomicUsize = AtomicUsize::new(UNREAD);
    static NOTED: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

    #[inline(always)]
    pub(crate) fn on(number: usize) -> bool {
        let chosen = CHOSEN.load(Relaxed);
        chosen == number || chosen >= NOTES && slowly(number)
    }

    #[cold]
    fn slowly(number: usize) -> bool {
        let text = std::env::var("ROVING_CODE_MUTANT").unwrap_or_default();
        let path = text.starts_with('/');
        let chosen = if path { NOTES } else { text.parse().unwrap_or(NONE) };
        CHOSEN.store(chosen, Relaxed);
        let bit = 1 << (number % 64);
        if path && NOTED[number / 64].fetch_or(bit, Relaxed) & bit == 0 {
            let mut file = std::fs::OpenOptions::new();
            if let Ok(mut file) = file.append(true).create(true).open(text) {
                let _ = file.write_all(format!("{number}\n").as_bytes());
            }
        }
        chosen == number
    }
}
"#;
