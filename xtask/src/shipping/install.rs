//! `install`: the library for C and C++, its headers, and what build tools look for; and the one
//! for programs with OpenMP, to preload, to link with, and by the name of the compiler's own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Result;
use crate::cargo::tool;
use crate::cargo::workspace::Workspace;
use crate::shipping::publish;

/// The libraries that cargo builds, by the names that they have on the systems that have them.
const LIBRARIES: [&str; 3] = ["libroving_c.a", "libroving_c.so", "libroving_c.dylib"];

/// The library for programs with OpenMP, as cargo names it and as programs look for it.
const OPENMP: &str = "libroving_omp.so";
const OPENMP_NUMBERED: &str = "libroving_omp.so.1";

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
    if built.join(OPENMP).exists() {
        openmp(workspace, &built, &prefix.join("lib"))?;
    }
    Ok(())
}

/// The library with its name for linkers, and once more as `libgomp.so.1`, in a folder of its own,
/// since nobody should find it by chance. Both are linked anew, with versions, which cargo cannot
/// give: without them a library to preload also took the calls that are meant for LLVM's.
fn openmp(workspace: &Workspace, built: &Path, lib: &Path) -> Result<()> {
    let linked = |name: &str| {
        let path = built.join(name);
        let mut command = Command::new("cc");
        command.current_dir(workspace.root.join("crates/roving-omp"));
        command.arg("-L").arg(built).arg("@libgomp.args");
        command.arg(format!("-Wl,-soname,{name}"));
        match tool::watch(command.arg("-o").arg(&path))?.ok {
            true => read(&path),
            false => Err(format!("{name} was not linked")),
        }
    };
    write(&lib.join(OPENMP_NUMBERED), &linked(OPENMP_NUMBERED)?)?;
    let link = lib.join(OPENMP);
    if link.is_symlink() || link.exists() {
        fs::remove_file(&link).map_err(|error| told(&link, error))?;
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(OPENMP_NUMBERED, &link).map_err(|error| told(&link, error))?;
    println!("{}", link.display());
    let replacement = "libgomp.so.1";
    write(
        &lib.join("roving-omp").join(replacement),
        &linked(replacement)?,
    )
}

fn told(path: &Path, error: std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(|error| told(path, error))
}

/// A program may be running with the old one: that stays as it is, under no name.
fn write(path: &Path, content: &[u8]) -> Result<()> {
    let folder = path.parent().map_or_else(PathBuf::new, Path::to_owned);
    fs::create_dir_all(folder).map_err(|error| told(path, error))?;
    if path.exists() {
        fs::remove_file(path).map_err(|error| told(path, error))?;
    }
    fs::write(path, content).map_err(|error| told(path, error))?;
    println!("{}", path.display());
    Ok(())
}
