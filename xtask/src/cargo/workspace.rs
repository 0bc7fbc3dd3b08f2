//! The workspace as cargo describes it.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::Result;
use crate::cargo::tool;

/// Whether cargo keeps parts of what it compiles for the next time.
const INCREMENTAL: &str = "CARGO_INCREMENTAL";

/// One of our own packages.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    /// Folder of its manifest.
    pub(crate) dir: PathBuf,
    /// Names of all packages that it names, by kind.
    pub(crate) needs: Vec<Need>,
    pub(crate) targets: Vec<BuildTarget>,
    /// Those that can be switched on, `default` among them.
    pub(crate) features: Vec<String>,
}

/// One dependency in a manifest.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    pub(crate) name: String,
    /// Needed by its tests only.
    pub(crate) dev: bool,
}

/// One thing that cargo builds from a package.
#[derive(Clone, Debug)]
pub(crate) struct BuildTarget {
    pub(crate) name: String,
    /// `lib`, `bin`, `test`, `example`, `bench`, `custom-build`
    pub(crate) kind: String,
    /// Root file.
    pub(crate) file: PathBuf,
    /// It is left out unless some feature is on.
    pub(crate) has_condition: bool,
}

/// The whole repository.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    pub(crate) packages: Vec<Package>,
}

impl Workspace {
    pub(crate) fn find() -> Result<Self> {
        let own = std::env::var("CARGO_MANIFEST_DIR")
            .unwrap_or_else(|_| env!("CARGO_MANIFEST_DIR").to_owned());
        let mut command = Command::new(cargo());
        command
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(own);
        let text = tool::output(&mut command)?;
        let value =
            serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
        Ok(Self::read(&value))
    }

    /// Adds the packages of other workspaces in this repository.
    pub(crate) fn with(&self, others: &[Workspace]) -> Result<Self> {
        let mut all = self.clone();
        for other in others {
            let mut command = other.cargo(&["metadata", "--no-deps", "--format-version", "1"]);
            let text = tool::output(&mut command)?;
            let value =
                serde_json::from_str(&text).map_err(|error| format!("cargo metadata: {error}"))?;
            all.packages.extend(Self::read(&value).packages);
        }
        all.packages.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    fn read(value: &Value) -> Self {
        let mut packages: Vec<Package> = list(&value["packages"]).iter().map(package).collect();
        packages.sort_by(|a, b| a.name.cmp(&b.name));
        Workspace {
            root: PathBuf::from(text(&value["workspace_root"])),
            target: PathBuf::from(text(&value["target_directory"])),
            packages,
        }
    }

    pub(crate) fn package(&self, name: &str) -> Option<&Package> {
        self.packages.iter().find(|package| package.name == name)
    }

    /// `cargo` with these words, in the root. It keeps nothing for a next build after a change,
    /// unless it is told to: that is a quarter of what a build takes in a new clone.
    pub(crate) fn cargo(&self, words: &[&str]) -> Command {
        let mut command = Command::new(cargo());
        command.args(words).current_dir(&self.root);
        if std::env::var_os(INCREMENTAL).is_none() {
            command.env(INCREMENTAL, "0");
        }
        command
    }

    /// A path as people name it: from the root, with `/`.
    pub(crate) fn short(&self, path: &Path) -> String {
        path.strip_prefix(&self.root)
            .unwrap_or(path)
            .to_string_lossy()
            .replace('\\', "/")
    }
}

/// The cargo that runs us, or the one in the path.
fn cargo() -> String {
    std::env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

fn package(value: &Value) -> Package {
    let manifest = PathBuf::from(text(&value["manifest_path"]));
    let needs = list(&value["dependencies"]).iter().map(|need| Need {
        name: text(&need["name"]),
        dev: need["kind"] == "dev",
    });
    let targets = list(&value["targets"]).iter().map(|target| BuildTarget {
        name: text(&target["name"]),
        kind: text(&target["kind"][0]),
        file: PathBuf::from(text(&target["src_path"])),
        has_condition: !list(&target["required-features"]).is_empty(),
    });
    Package {
        name: text(&value["name"]),
        dir: manifest.parent().map(Path::to_owned).unwrap_or_default(),
        needs: needs.collect(),
        targets: targets.collect(),
        features: value["features"]
            .as_object()
            .map(|features| features.keys().cloned().collect())
            .unwrap_or_default(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_is_read() {
        let value = serde_json::json!({
            "workspace_root": "/w", "target_directory": "/w/target",
            "packages": [{
                "name": "flow", "manifest_path": "/w/crates/flow/Cargo.toml",
                "dependencies": [{"name": "roving", "kind": null}, {"name": "loom", "kind": "dev"}],
                "targets": [{"name": "flow", "kind": ["lib"], "src_path": "/w/crates/flow/src/lib.rs"}],
                "features": {"default": ["fast"], "fast": []},
            }],
        });
        let workspace = Workspace::read(&value);
        let flow = workspace.package("flow").unwrap();
        assert_eq!(flow.dir, Path::new("/w/crates/flow"));
        assert!(!flow.needs[0].dev && flow.needs[1].dev);
        assert_eq!(flow.targets[0].kind, "lib");
        assert_eq!(flow.features, ["default", "fast"]);
        assert_eq!(
            workspace.short(Path::new("/w/crates/flow/src")),
            "crates/flow/src"
        );
    }

    #[test]
    fn this_repository_is_found() {
        let workspace = Workspace::find().unwrap();
        assert!(workspace.package("xtask").is_some() && workspace.package("roving").is_some());
        assert!(workspace.package("rayon-core").is_none());
        let other = Workspace {
            root: workspace.root.join("crates/rayon-core"),
            ..Workspace::default()
        };
        let all = workspace.with(&[other]).unwrap();
        assert!(all.package("xtask").is_some() && all.package("rayon-core").is_some());
    }
}
