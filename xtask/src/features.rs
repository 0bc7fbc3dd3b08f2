//! The optional features: what the machine needs for each, and their tests.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::cargo_test::Tally;
use crate::report::Step;
use crate::workspace::Workspace;
use crate::{Result, tool};

/// The features that serve other crates.
pub(crate) const INTEGRATIONS: [&str; 2] = ["roving/metrics", "roving/tracing"];

/// The whole lab: without it only what is run every day is built.
pub(crate) const LAB: &str = "roving-lab/full";

/// Back-ends of devices. They build anywhere; drivers are looked for when the program runs.
const DEVICES: [&str; 4] = [
    "roving-gpu/cuda",
    "roving-gpu/wgpu",
    "roving-lab/cuda",
    "roving-lab/wgpu",
];

/// Features that need MPI and libclang when they are built.
const MPI: [&str; 2] = ["roving-dist/mpi", "roving-lab/mpi"];

/// All features that this machine can build, as the word after `--features`.
pub(crate) fn buildable() -> String {
    let mpi = if has_mpi() { &MPI[..] } else { &[] };
    [&[LAB][..], &INTEGRATIONS, &DEVICES, mpi]
        .concat()
        .join(",")
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

/// The tests of what the runtime does for other crates.
pub(crate) fn integrations(workspace: &Workspace, step: &mut Step) -> Result<()> {
    for target in [&["--test", "metrics", "--test", "tracing"][..], &["--doc"]] {
        let mut command = tests(workspace, &["roving"], &INTEGRATIONS.join(","));
        run(command.args(target), step)?;
    }
    run(&mut tests(workspace, &["roving-examples"], "others"), step)
}

/// The tests of the crates that have devices, with both back-ends built in. Those of Vulkan run on
/// the software driver; those of CUDA say what they skip.
pub(crate) fn devices(workspace: &Workspace, step: &mut Step) -> Result<()> {
    if !has_vulkan() {
        step.skip("no software driver of Vulkan (mesa-vulkan-drivers): its tests find no device");
    }
    let mut command = tests(workspace, &["roving-gpu", "roving-lab"], &DEVICES.join(","));
    // Mesa warns where it has no such folder.
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        command.env("XDG_RUNTIME_DIR", std::env::temp_dir());
    }
    run(&mut command, step)
}

/// The tests of the crates that have ranks, which start `mpirun`.
pub(crate) fn ranks(workspace: &Workspace, step: &mut Step) -> Result<()> {
    if !has_mpi() {
        step.skip("no MPI (libopenmpi-dev, openmpi-bin, libclang-dev, clang): ranks are threads");
        return Ok(());
    }
    run(
        &mut tests(workspace, &["roving-dist", "roving-lab"], &MPI.join(",")),
        step,
    )
}

fn tests(workspace: &Workspace, packages: &[&str], features: &str) -> Command {
    let mut command = workspace.cargo(&["test", "--no-fail-fast", "--features", features]);
    for package in packages {
        command.args(["-p", package]);
    }
    command
}

fn run(command: &mut Command, step: &mut Step) -> Result<()> {
    let seen = tool::watch(command)?;
    Tally::read(&seen.lines).judge(&seen, step);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_one_of_a_package() {
        let workspace = Workspace::find().unwrap();
        for feature in [LAB]
            .into_iter()
            .chain(INTEGRATIONS)
            .chain(DEVICES)
            .chain(MPI)
        {
            let (package, name) = feature.split_once('/').unwrap();
            let dir = &workspace.package(package).unwrap().dir;
            let manifest = fs::read_to_string(dir.join("Cargo.toml")).unwrap();
            let line = format!("\n{name} = [");
            assert!(manifest.contains(&line), "{package} has no {name}");
        }
    }

    #[test]
    fn a_folder_is_looked_through() {
        let dir = env!("CARGO_MANIFEST_DIR");
        assert!(holds(dir, "Cargo") && !holds(dir, "lvp") && !holds("/no/such/folder", ""));
    }
}
