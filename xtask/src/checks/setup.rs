//! Setting up a fresh machine: Debian packages, and parts of the Rust toolchain.

use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::cargo::workspace::Workspace;
use crate::cargo::{features, tool};
use crate::instruments::emulated;
use crate::report::CheckStep;

/// A Debian package, how to see that it is there, and what is left out without it.
struct Wanted {
    package: &'static str,
    present: fn() -> bool,
    without: &'static str,
}

const NO_VULKAN: &str = "the tests of Vulkan devices find no device";
const NO_MPI: &str = "the tests with ranks of MPI are left out";

const NO_AARCH64: &str = "the tests on an emulated aarch64 are left out";

const WANTED: [Wanted; 12] = [
    Wanted {
        package: "g++",
        present: || tool::works("g++", &["--version"]),
        without: "the C++ rivals (oneTBB, OpenMP) are left out of `roving compare`",
    },
    Wanted {
        package: "libtbb-dev",
        present: || Path::new("/usr/include/tbb/task_group.h").exists(),
        without: "the oneTBB rival is left out of `roving compare`",
    },
    Wanted {
        package: "valgrind",
        present: || tool::works("valgrind", &["--version"]),
        without: "instruction counts are left out: no check of ceilings, no row of `roving bench`",
    },
    Wanted {
        package: "libvulkan1",
        present: features::has_vulkan,
        without: NO_VULKAN,
    },
    Wanted {
        package: "mesa-vulkan-drivers",
        present: features::has_vulkan,
        without: NO_VULKAN,
    },
    Wanted {
        package: "libopenmpi-dev",
        present: || tool::works("mpicc", &["--version"]),
        without: NO_MPI,
    },
    Wanted {
        package: "openmpi-bin",
        present: || tool::works("mpirun", &["--version"]),
        without: NO_MPI,
    },
    Wanted {
        package: "libclang-dev",
        present: || tool::works("clang", &["--version"]),
        without: NO_MPI,
    },
    Wanted {
        package: "clang",
        present: || tool::works("clang", &["--version"]),
        without: NO_MPI,
    },
    Wanted {
        package: "qemu-user",
        present: || tool::works(emulated::EMULATOR, &["--version"]),
        without: NO_AARCH64,
    },
    Wanted {
        package: "gcc-aarch64-linux-gnu",
        present: || tool::works(emulated::LINKER, &["--version"]),
        without: NO_AARCH64,
    },
    Wanted {
        package: "libc6-dev-arm64-cross",
        present: || Path::new(emulated::LIBRARIES).join("lib").exists(),
        without: NO_AARCH64,
    },
];

/// Installs what is missing where it may, and says plainly what stays missing.
pub(crate) fn prepare(workspace: &Workspace, step: &mut CheckStep, no_install: bool) -> Result<()> {
    toolchain(workspace, step, no_install);
    let missing: Vec<&Wanted> = WANTED.iter().filter(|wanted| !(wanted.present)()).collect();
    if missing.is_empty() {
        let names = WANTED.map(|wanted| wanted.package);
        println!("{} are here", names.join(", "));
        return Ok(());
    }
    let names: Vec<&str> = missing.iter().map(|wanted| wanted.package).collect();
    let why = match (no_install, installer()) {
        (true, _) => "--no-install was given".to_owned(),
        (false, None) => "no apt-get as root or by a sudo without password".to_owned(),
        (false, Some(prefix)) => {
            install(prefix, &names)?;
            "apt-get did not bring it".to_owned()
        }
    };
    for wanted in missing.iter().filter(|wanted| !(wanted.present)()) {
        step.skip(format!("{}: {why}; {}", wanted.package, wanted.without));
    }
    Ok(())
}

/// rustfmt and clippy: without them two checks cannot be done, so their lack is a failure.
fn toolchain(workspace: &Workspace, step: &mut CheckStep, no_install: bool) {
    for component in ["rustfmt", "clippy"] {
        let sub = if component == "rustfmt" {
            "fmt"
        } else {
            "clippy"
        };
        let present = || {
            let mut command = workspace.cargo(&[sub, "--version"]);
            tool::quiet(&mut command).is_ok_and(|seen| seen.ok)
        };
        if present() {
            continue;
        }
        let may = !no_install && tool::works("rustup", &["--version"]);
        if may {
            let _ = tool::watch(Command::new("rustup").args(["component", "add", component]));
        }
        if !present() {
            step.fail(format!(
                "{component} is missing: run `rustup component add {component}`"
            ));
        }
    }
}

/// How apt-get may be called: as root, through sudo, or not at all.
fn installer() -> Option<&'static [&'static str]> {
    if !tool::works("apt-get", &["--version"]) {
        return None;
    }
    let root = Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|id| id.stdout.trim_ascii() == b"0");
    if root {
        Some(&["apt-get"])
    } else if tool::works("sudo", &["-n", "true"]) {
        Some(&["sudo", "-n", "apt-get"])
    } else {
        None
    }
}

fn install(prefix: &[&str], packages: &[&str]) -> Result<()> {
    let apt = |words: &[&str]| {
        let mut command = Command::new(prefix[0]);
        command
            .args(&prefix[1..])
            .args(words)
            .env("DEBIAN_FRONTEND", "noninteractive");
        tool::watch(&mut command)
    };
    let words = [
        &["install", "-y", "-q", "--no-install-recommends"],
        packages,
    ]
    .concat();
    // The package lists are often there already; fetch them only when they are not.
    if !apt(&words)?.ok {
        apt(&["update", "-q"])?;
        apt(&words)?;
    }
    Ok(())
}
