//! The optional features: which there are, and what the machine needs for some.

use std::fs;
use std::path::Path;

use crate::cargo::tool;
use crate::cargo::workspace::{Package, Workspace};

/// The features that serve other crates.
pub(crate) const INTEGRATIONS: [&str; 2] = ["roving/metrics", "roving/tracing"];

/// The whole lab: without it only what is run every day is built.
pub(crate) const LAB: &str = "roving-lab/full";

/// Needs an MPI library and libclang when it is built.
const MPI: &str = "mpi";
/// On by default, in the crates that pass it on.
const DIAGNOSTICS: &str = "diagnostics";
/// In no ordinary build: it goes with `--cfg loom`.
const LOOM: &str = "loom";

/// All features that this machine can build, as the word after `--features`. Back-ends of devices
/// build anywhere; drivers are looked for when the program runs.
pub(crate) fn buildable(workspace: &Workspace) -> String {
    buildable_of(&workspace.packages)
}

/// All features of these packages that this machine can build.
pub(crate) fn buildable_of<'p>(packages: impl IntoIterator<Item = &'p Package>) -> String {
    join_those(packages, has_mpi())
}

/// The optional features of the package that this machine can build, as it calls them itself.
pub(crate) fn buildable_within(package: &Package) -> String {
    let features: Vec<_> = those(package, has_mpi()).collect();
    features.join(",")
}

fn join_those<'p>(packages: impl IntoIterator<Item = &'p Package>, with_mpi: bool) -> String {
    let mut all = Vec::new();
    for package in packages {
        let features = those(package, with_mpi);
        all.extend(features.map(|feature| format!("{}/{feature}", package.name)));
    }
    all.join(",")
}

fn those(package: &Package, with_mpi: bool) -> impl Iterator<Item = &str> {
    optional(package).filter(move |feature| with_mpi || *feature != MPI)
}

/// The features of a package that one can ask for.
pub(crate) fn optional(package: &Package) -> impl Iterator<Item = &str> {
    let names = package.features.iter().map(String::as_str);
    names.filter(|name| !["default", DIAGNOSTICS, LOOM].contains(name))
}

/// Whether a package can be built without diagnostics.
pub(crate) fn can_be_silent(package: &Package) -> bool {
    package.features.iter().any(|name| name == DIAGNOSTICS)
}

/// Whether the software driver of Vulkan is here.
pub(crate) fn has_vulkan() -> bool {
    ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"]
        .into_iter()
        .any(|dir| holds(dir, "lvp_icd"))
}

/// Whether MPI programs can be built and started here.
pub(crate) fn has_mpi() -> bool {
    let has = |program| tool::works(program, &["--version"]);
    has("mpicc") && has("mpirun") && has("clang")
}

/// Whether a folder has a file whose name begins so.
fn holds(dir: &str, name: &str) -> bool {
    let Ok(files) = fs::read_dir(Path::new(dir)) else {
        return false;
    };
    files
        .flatten()
        .any(|file| file.file_name().to_string_lossy().starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_features_are_those_of_the_manifests() {
        let workspace = Workspace::find().unwrap();
        let joined = |with_mpi| join_those(&workspace.packages, with_mpi);
        let (with, without) = (joined(true), joined(false));
        for feature in [LAB].into_iter().chain(INTEGRATIONS) {
            assert!(without.split(',').any(|one| one == feature), "{feature}");
        }
        assert!(with.contains("roving-dist/mpi") && !without.contains("/mpi"));
        assert!(with.contains("roving-gpu/wgpu") && !with.contains("/loom"));
        assert!(!with.contains("/default") && !with.contains("/diagnostics"));
        let silent = |name| can_be_silent(workspace.package(name).unwrap());
        assert!(silent("roving") && silent("roving-flow") && !silent("roving-lab"));
    }

    #[test]
    fn a_folder_is_looked_through() {
        let dir = env!("CARGO_MANIFEST_DIR");
        assert!(holds(dir, "Cargo") && !holds(dir, "lvp") && !holds("/no/such/folder", ""));
    }
}
