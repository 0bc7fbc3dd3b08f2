//! The tests on a processor with a weak memory order: built for aarch64, run by QEMU.

use crate::Result;
use crate::cargo::tally::CargoTally;
use crate::cargo::workspace::Workspace;
use crate::cargo::{features, tool};
use crate::instruments::nightly;
use crate::report::CheckStep;
use crate::shipping::targets::may_build_for;

pub(crate) const TRIPLE: &str = "aarch64-unknown-linux-gnu";
/// Debian's names of the two programs.
pub(crate) const LINKER: &str = "aarch64-linux-gnu-gcc";
pub(crate) const EMULATOR: &str = "qemu-aarch64";
/// Where Debian puts the libraries of that processor.
pub(crate) const LIBRARIES: &str = "/usr/aarch64-linux-gnu";
/// The crates whose tests are run.
pub(crate) const PACKAGES: [&str; 3] = ["roving", "roving-flow", "roving-partition"];

/// Whether programs for that processor can be linked and run here.
pub(crate) fn is_here() -> bool {
    tool::works(LINKER, &["--version"]) && tool::works(EMULATOR, &["--version"])
}

/// Tests whose name says that they are about processes are left out: the emulator does not survive
/// a `fork` of a program with threads.
pub(crate) fn check(
    workspace: &Workspace,
    step: &mut CheckStep,
    no_install: bool,
    packages: &[&str],
) -> Result<()> {
    if !is_here() {
        step.skip(
            "no aarch64: apt-get install qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
        );
        return Ok(());
    }
    if !may_build_for(TRIPLE, step, no_install)? {
        return Ok(());
    }
    for package in packages {
        let runner = format!("{EMULATOR} -L {LIBRARIES}");
        let mut command = workspace.cargo(&["test", "-p", package, "--target", TRIPLE]);
        if *package == "roving" {
            command.args(["--features", &features::INTEGRATIONS.join(",")]);
        }
        for target in nightly::tests(workspace, package) {
            command.args(["--test", &target]);
        }
        command
            .args(["--lib", "--no-fail-fast"])
            .env("CARGO_PROFILE_TEST_DEBUG", "line-tables-only")
            // Emulated instructions are expensive.
            .env("CARGO_PROFILE_TEST_OPT_LEVEL", "1")
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER)
            .env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER", &runner)
            .env("ROVING_TEST_RUNNER", &runner);
        let seen = tool::watch(&mut command)?;
        CargoTally::read(&seen.lines).judge(&seen, step);
    }
    Ok(())
}
