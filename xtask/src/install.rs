//! `install`: the library for C and C++, its headers, and what build tools look for; and the one to
//! preload for programs with OpenMP.

use std::fs;
use std::path::{Path, PathBuf};

use crate::workspace::Workspace;
use crate::{Result, publish, tool};

/// The libraries that cargo builds, by the names that they have on the systems that have them.
const LIBRARIES: [&str; 4] = [
    "libroving_c.a",
    "libroving_c.so",
    "libroving_c.dylib",
    "libroving_omp.so",
];

/// Copied from `crates/roving-c`, and where to; `.in` files get the version.
const FILES: [(&str, &str); 6] = [
    ("include/roving.h", "include"),
    ("include/roving.hpp", "include"),
    ("include/roving_task.hpp", "include"),
    ("pkg/roving.pc.in", "lib/pkgconfig"),
    ("pkg/roving-config.cmake", "lib/cmake/roving"),
    ("pkg/roving-config-version.cmake.in", "lib/cmake/roving"),
];

/// The verb: optimised.
pub(crate) fn verb(workspace: &Workspace, prefix: &Path) -> Result<bool> {
    install(workspace, prefix, true)?;
    Ok(true)
}

/// Builds the library and puts everything below the prefix. Prints each file that it writes.
pub(crate) fn install(workspace: &Workspace, prefix: &Path, release: bool) -> Result<()> {
    let mut command = workspace.cargo(&["build", "-p", "roving-c", "-p", "roving-omp"]);
    if release {
        command.arg("--release");
    }
    if !tool::watch(&mut command)?.ok {
        return Err("the library was not built".into());
    }
    let built = workspace
        .target
        .join(if release { "release" } else { "debug" });
    let crate_dir = workspace.root.join("crates/roving-c");
    let version = publish::version(workspace)?;
    for name in LIBRARIES {
        let from = built.join(name);
        if from.exists() {
            write(&prefix.join("lib").join(name), &read(&from)?)?;
        }
    }
    for (from, folder) in FILES {
        let path = crate_dir.join(from);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let content = read(&path)?;
        let to = prefix.join(folder);
        match name.strip_suffix(".in") {
            None => write(&to.join(&*name), &content)?,
            Some(name) => {
                let text = String::from_utf8_lossy(&content).replace("@VERSION@", &version);
                write(&to.join(name), text.as_bytes())?;
            }
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// A program may be running with the old one: that stays as it is, under no name.
fn write(path: &Path, content: &[u8]) -> Result<()> {
    let told = |error: std::io::Error| format!("{}: {error}", path.display());
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    fs::create_dir_all(folder).map_err(told)?;
    if path.exists() {
        fs::remove_file(path).map_err(told)?;
    }
    fs::write(path, content).map_err(told)?;
    println!("{}", path.display());
    Ok(())
}
