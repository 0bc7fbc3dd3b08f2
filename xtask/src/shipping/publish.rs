//! The crates that are published, packaged from a clean clone in their order: each builds from what
//! is in its package, and that is what it should be.

use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::report::CheckStep;

/// In the order in which they depend on each other.
pub(crate) const PUBLISHED: [&str; 8] = [
    "roving",
    "roving-c",
    "roving-omp",
    "roving-iter",
    "roving-partition",
    "roving-flow",
    "roving-gpu",
    "roving-dist",
];
/// In each package, with the text that the repository has.
const LICENCES: [&str; 2] = ["LICENSE-MIT", "LICENSE-APACHE"];
/// In each package.
const NEEDED: [&str; 3] = ["Cargo.toml", "README.md", "src/lib.rs"];
/// Lines in the manifest of each package.
const SAID: [&str; 8] = [
    "description = ",
    "documentation = ",
    "homepage = ",
    "repository = ",
    "license = ",
    "categories = ",
    "keywords = ",
    "rust-version = ",
];
/// For our own tools only, and so in no package.
const OURS: [&str; 4] = ["tests/", "examples/", "loom.txt", "mutants"];
/// Features of which the pages at docs.rs show nothing.
const WITHOUT_PAGES: [&str; 3] = ["default", "diagnostics", "loom"];

pub(crate) fn check(workspace: &Workspace, step: &mut CheckStep) -> Result<()> {
    for package in &workspace.packages {
        let path = package.dir.join("Cargo.toml");
        let manifest = std::fs::read_to_string(&path)
            .map_err(|error| format!("{}: {error}", path.display()))?;
        if let Some(complaint) = judge_manifest(&package.name, &manifest) {
            step.fail(complaint);
        }
    }
    let clone = clone(workspace)?;
    let target = target(workspace, &clone)?;
    let mut command = workspace.cargo(&["package"]);
    command.current_dir(&clone).env("CARGO_TARGET_DIR", &target);
    for name in PUBLISHED {
        command.args(["-p", name]);
    }
    if !tool::watch(&mut command)?.ok {
        step.fail("`cargo package` failed");
        return Ok(());
    }
    let version = version(workspace)?;
    for name in PUBLISHED {
        let folder = format!("{name}-{version}");
        let archive = target.join("package").join(format!("{folder}.crate"));
        judge(workspace, name, &folder, &archive, step)?;
        step.counts.passed += 1;
    }
    Ok(())
}

/// A clone has what is committed, and nothing that lies beside it.
fn clone(workspace: &Workspace) -> Result<std::path::PathBuf> {
    let clone = workspace.target.join("package-clone");
    let _ = std::fs::remove_dir_all(&clone);
    let mut command = Command::new("git");
    command.args(["clone", "--quiet", "--depth", "1"]);
    command.arg(format!("file://{}", workspace.root.display()));
    tool::output(command.arg(&clone))?;
    Ok(clone)
}

/// Each commit has a folder of its own. The packages lie in a registry in there, and cargo unpacks
/// a version of a registry once: in the folder of another commit it would build that one's sources.
fn target(workspace: &Workspace, clone: &Path) -> Result<std::path::PathBuf> {
    let mut command = Command::new("git");
    let commit = tool::output(command.args(["rev-parse", "HEAD"]).current_dir(clone))?;
    let all = workspace.target.join("package-target");
    let target = all.join(commit.trim());
    if !target.exists() {
        let _ = std::fs::remove_dir_all(&all);
    }
    Ok(target)
}

pub(crate) fn version(workspace: &Workspace) -> Result<String> {
    let manifest = std::fs::read_to_string(workspace.root.join("Cargo.toml"))
        .map_err(|error| format!("Cargo.toml: {error}"))?;
    let line = manifest
        .lines()
        .find_map(|line| line.strip_prefix("version = "));
    let version = line.ok_or("the workspace has no version")?;
    Ok(version.trim_matches('"').to_owned())
}

/// Each package is either published or says that it is not.
fn judge_manifest(name: &str, manifest: &str) -> Option<String> {
    let is_kept = manifest.lines().any(|line| line == "publish = false");
    match (PUBLISHED.contains(&name), is_kept) {
        (true, true) => Some(format!("{name} is to be published, and `publish` is false")),
        (false, false) => Some(format!("{name} is not published: `publish = false`")),
        _ => None,
    }
}

fn judge(
    workspace: &Workspace,
    name: &str,
    folder: &str,
    archive: &Path,
    step: &mut CheckStep,
) -> Result<()> {
    let listed = tool::output(Command::new("tar").arg("-tzf").arg(archive))?;
    let prefix = format!("{folder}/");
    let files = listed.lines().filter_map(|line| line.strip_prefix(&prefix));
    let files: Vec<&str> = files.collect();
    for complaint in judge_files(&files) {
        step.fail(format!("{name}: {complaint}"));
    }
    let read = |file: &str| {
        let mut command = Command::new("tar");
        command.arg("-xOzf").arg(archive);
        tool::output(command.arg(format!("{prefix}{file}")))
    };
    let manifest = read("Cargo.toml")?;
    for said in SAID {
        if !manifest.lines().any(|line| line.starts_with(said)) {
            step.fail(format!("{name}: its manifest says nothing of {said:?}"));
        }
    }
    for complaint in judge_features(&manifest)
        .into_iter()
        .chain(judge_pins(&manifest))
    {
        step.fail(format!("{name}: {complaint}"));
    }
    for licence in LICENCES {
        let ours = std::fs::read_to_string(workspace.root.join(licence))
            .map_err(|error| format!("{licence}: {error}"))?;
        if files.contains(&licence) && read(licence)?.trim() != ours.trim() {
            step.fail(format!("{name}: {licence} is not that of the repository"));
        }
    }
    Ok(())
}

fn judge_files(files: &[&str]) -> Vec<String> {
    let needed = LICENCES.into_iter().chain(NEEDED);
    let missing = needed.filter(|file| !files.contains(file));
    let mut found: Vec<String> = missing.map(|file| format!("{file} is missing")).collect();
    for file in files {
        if OURS.iter().any(|start| file.starts_with(start)) {
            found.push(format!("{file} is for our tools only"));
        }
    }
    found
}

/// The lines of a section of a packed manifest, of which cargo writes each with a heading.
fn section<'m>(manifest: &'m str, heading: &str) -> Option<Vec<&'m str>> {
    let mut lines = manifest.lines().skip_while(|line| *line != heading);
    lines.next()?;
    Some(lines.take_while(|line| !line.starts_with('[')).collect())
}

/// Where features add to the interface, the manifest says with which of them docs.rs builds.
fn judge_features(manifest: &str) -> Option<String> {
    let features = section(manifest, "[features]").unwrap_or_default();
    let names = features.iter().filter_map(|line| line.split_once(" = "));
    let mut names = names.map(|(name, _)| name.trim_matches('"'));
    let shown = names.find(|name| !WITHOUT_PAGES.contains(name))?;
    let is_said = section(manifest, "[package.metadata.docs.rs]").is_some();
    (!is_said).then(|| format!("there is `{shown}`, and nothing for docs.rs"))
}

/// Crates of ours use parts of each other that no version number covers.
fn judge_pins(manifest: &str) -> Vec<String> {
    let headings = manifest
        .lines()
        .filter(|line| line.contains("dependencies.roving") && !line.contains("dev-dependencies"));
    let loose = headings.filter(|heading| {
        let lines = section(manifest, heading).unwrap_or_default();
        !lines.iter().any(|line| line.starts_with("version = \"="))
    });
    loose
        .map(|heading| format!("{heading} is not pinned"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_ours_are_pinned_and_features_are_for_docs_rs() {
        let pinned = "[dependencies.roving]\nversion = \"=0.1.0\"\n";
        let loose = "[target.x.dependencies.roving-flow]\nversion = \"0.1.0\"\n\n[lib]\n";
        assert!(judge_pins(pinned).is_empty());
        assert_eq!(judge_pins(&[pinned, loose].concat()).len(), 1);
        let features = "[features]\ndefault = []\nloom = [\"dep:loom\"]\n";
        assert_eq!(judge_features(features), None);
        let more = [features, "mpi = []\n"].concat();
        assert!(judge_features(&more).is_some());
        let said = "\n[package.metadata.docs.rs]\nfeatures = []\n";
        assert_eq!(judge_features(&[&more, said].concat()), None);
    }

    #[test]
    fn a_package_has_what_it_needs_and_no_more() {
        let good = [
            "Cargo.toml",
            "README.md",
            "LICENSE-MIT",
            "LICENSE-APACHE",
            "src/lib.rs",
        ];
        assert!(judge_files(&good).is_empty());
        assert_eq!(judge_files(&good[..2]).len(), 3);
        let more = [&good[..], &["tests/join.rs", "loom.txt"]].concat();
        assert_eq!(judge_files(&more).len(), 2);
    }

    #[test]
    fn a_package_is_published_or_says_that_it_is_not() {
        assert_eq!(judge_manifest("roving", "[package]\n"), None);
        assert_eq!(judge_manifest("xtask", "publish = false\n"), None);
        assert!(judge_manifest("roving", "publish = false\n").is_some());
        assert!(judge_manifest("xtask", "[package]\n").is_some());
    }
}
