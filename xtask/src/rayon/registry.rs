//! Packages from crates.io: fetched by cargo, copied out of its cache, patched.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::Result;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::report::CheckStep;
use crate::suite::programs::unused_patch;

/// The package that the drop-in stands in for.
pub(crate) const CORE: &str = "rayon-core";

/// Why packages could not be had.
pub(crate) enum Lack {
    /// Neither from the registry nor from cargo's cache. A person without a network is not at
    /// fault.
    Offline(String),
    Broken(String),
}

impl Lack {
    /// Skips the step, or fails it.
    pub(super) fn judge(self, step: &mut CheckStep) -> Result<()> {
        match self {
            Lack::Offline(reason) => {
                step.skip(reason);
                Ok(())
            }
            Lack::Broken(reason) => Err(reason),
        }
    }
}

impl From<String> for Lack {
    fn from(message: String) -> Self {
        Lack::Broken(message)
    }
}

/// Has cargo fetch these packages (name, version), and gives the folder of each in cargo's cache.
///
/// `folder` becomes a package that needs them and nothing else. The first of them must have a
/// library.
pub(crate) fn fetch(
    workspace: &Workspace,
    folder: &Path,
    packages: &[(&str, &str)],
) -> std::result::Result<Vec<PathBuf>, Lack> {
    let mut manifest = String::from(
        "[package]\nname = \"fetch\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n[dependencies]\n",
    );
    for (name, version) in packages {
        let _ = writeln!(manifest, "{name} = \"={version}\"");
    }
    write(&folder.join("Cargo.toml"), &manifest)?;
    write(&folder.join("src/lib.rs"), "")?;
    online_or_cached(workspace, folder)?;
    let value = metadata(workspace, folder, &["--offline"])?;
    let mut found: Vec<PathBuf> = Vec::new();
    for (name, version) in packages {
        let listed = manifests(&value, name)
            .find(|package| package["version"] == *version)
            .and_then(|package| package["manifest_path"].as_str());
        let place = match (listed, found.first()) {
            (Some(manifest), _) => Path::new(manifest).parent().map(Path::to_owned),
            // A program without a library is fetched, but not listed: it lies beside the others.
            (None, Some(other)) => Some(other.with_file_name(format!("{name}-{version}"))),
            (None, None) => None,
        };
        let place = place.filter(|place| place.join("Cargo.toml").is_file());
        found.push(place.ok_or_else(|| format!("cargo did not fetch {name} {version}"))?);
    }
    Ok(found)
}

/// Everything that the package in this folder needs is in cargo's cache afterwards.
pub(crate) fn online_or_cached(
    workspace: &Workspace,
    folder: &Path,
) -> std::result::Result<(), Lack> {
    let fetch = |words: &[&str]| {
        let mut command = workspace.cargo(words);
        command.current_dir(folder);
        tool::quiet(&mut command)
    };
    let online = fetch(&["fetch"])?;
    if online.ok {
        return Ok(());
    }
    let cached = fetch(&["fetch", "--offline"])?;
    if cached.ok {
        return Ok(());
    }
    let reason = online.lines.iter().find(|line| line.starts_with("error"));
    let reason = reason
        .cloned()
        .unwrap_or_else(|| "cargo fetch failed".into());
    if blames_network(&cached.lines) {
        Err(Lack::Offline(format!(
            "crates.io cannot be reached, and cargo's cache lacks packages: {reason}"
        )))
    } else {
        Err(Lack::Broken(reason))
    }
}

/// Whether an attempt without the network failed for want of it, and not because of a manifest.
fn blames_network(lines: &[String]) -> bool {
    lines.iter().any(|line| line.contains("--offline"))
}

/// Copies a package in place of what an earlier run left.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    if to.exists() {
        std::fs::remove_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
    }
    let told = |error: std::io::Error| format!("{}: {error}", from.display());
    std::fs::create_dir_all(to).map_err(told)?;
    for entry in std::fs::read_dir(from).map_err(told)? {
        let entry = entry.map_err(told)?;
        let place = to.join(entry.file_name());
        if entry.file_type().map_err(told)?.is_dir() {
            copy(&entry.path(), &place)?;
        } else {
            std::fs::copy(entry.path(), &place).map_err(told)?;
        }
    }
    Ok(())
}

/// Writes a file and the folders above it.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    make_folder(path)?;
    std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

pub(crate) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn make_folder(path: &Path) -> Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// The words that put the package at `path` in the place of the one from crates.io.
pub(crate) fn patch(path: &Path) -> [String; 2] {
    // A path in single quotes is literal in TOML, backslashes included.
    let path = path.display();
    [
        "--config".into(),
        format!("patch.crates-io.{CORE}.path='{path}'"),
    ]
}

/// Fails unless the package in `folder` is linked with the `rayon-core` at `path`, and with no
/// other.
pub(crate) fn require_patch(workspace: &Workspace, folder: &Path, path: &Path) -> Result<()> {
    let words = patch(path);
    // With all features, so that one behind which Rayon stands is seen, and a second rayon-core
    // too.
    let value = metadata(workspace, folder, &["--all-features", &words[0], &words[1]])?;
    let wanted = path.join("Cargo.toml");
    let linked: Vec<&str> = manifests(&value, CORE)
        .filter_map(|package| package["manifest_path"].as_str())
        .collect();
    match linked[..] {
        [one] if same(Path::new(one), &wanted) => Ok(()),
        [] => Err(format!("{} does not need {CORE}", folder.display())),
        _ => Err(format!(
            "linked with {linked:?}, not with {} alone",
            wanted.display()
        )),
    }
}

fn same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}

/// Asks cargo about a package and its dependencies.
fn metadata(workspace: &Workspace, folder: &Path, words: &[&str]) -> Result<Value> {
    let mut command = workspace.cargo(&["metadata", "--format-version", "1"]);
    command.args(words).current_dir(folder);
    let seen = tool::quiet(&mut command)?;
    if let Some(line) = unused_patch(seen.lines.iter()) {
        return Err(line);
    }
    let error = || {
        let line = seen.lines.iter().find(|line| line.starts_with("error"));
        line.cloned()
            .unwrap_or_else(|| "cargo metadata failed".into())
    };
    let json = seen.lines.iter().find(|line| line.starts_with('{'));
    match (seen.ok, json) {
        (true, Some(json)) => {
            serde_json::from_str(json).map_err(|error| format!("cargo metadata: {error}"))
        }
        _ => Err(error()),
    }
}

fn manifests<'a>(metadata: &'a Value, name: &'a str) -> impl Iterator<Item = &'a Value> {
    let packages = metadata["packages"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    packages
        .iter()
        .filter(move |package| package["name"] == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_found_by_name() {
        let value = serde_json::json!({"packages": [
            {"name": "rayon", "manifest_path": "/r/Cargo.toml"},
            {"name": "rayon-core", "manifest_path": "/c/Cargo.toml"},
        ]});
        let found: Vec<&Value> = manifests(&value, CORE).collect();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0]["manifest_path"], "/c/Cargo.toml");
        assert_eq!(manifests(&serde_json::json!({}), CORE).count(), 0);
    }

    #[test]
    fn a_bad_manifest_is_not_a_missing_network() {
        let cargo = |line: &str| blames_network(&["error: failed".into(), line.to_owned()]);
        assert!(cargo(
            "  attempting to make an HTTP request, but --offline was specified"
        ));
        assert!(cargo(
            "As a reminder, you're using offline mode (--offline) which can sometimes"
        ));
        assert!(!cargo("error: unquoted keys cannot be empty"));
    }

    #[test]
    fn a_path_is_handed_to_cargo_as_it_is() {
        let words = patch(Path::new(r"C:\roving\crates\rayon-core"));
        assert_eq!(
            words[1],
            r"patch.crates-io.rayon-core.path='C:\roving\crates\rayon-core'"
        );
    }
}
