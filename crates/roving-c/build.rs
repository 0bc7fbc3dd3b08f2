//! Names the shared library, and builds the C part of the test `mixed`, in which C and Rust call
//! each other. Without a C compiler, and in a package, which has no tests, there is none, and the
//! test says so.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = "tests/mixed/mixed.c";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_c)");
    println!("cargo::rerun-if-env-changed=CC");
    println!("cargo::rerun-if-env-changed=AR");
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // A program finds it by its name, wherever it was when the program was linked.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libroving_c.so");
    }
    if !Path::new(SOURCE).exists() {
        return;
    }
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rerun-if-changed=include/roving.h");
    let is_native = env::var("HOST") == env::var("TARGET");
    if let Some(archive) = is_native.then(compile).flatten() {
        println!("cargo::rustc-cfg=has_c");
        println!("cargo::rustc-link-arg-tests={}", archive.display());
    }
}

/// An archive, of which the other tests take nothing: the header's check of its layout, which runs
/// when a program is loaded, would be a part of all of them. `None` unless there is a compiler; its
/// complaints are those of the test `programs`.
fn compile() -> Option<PathBuf> {
    let object = PathBuf::from(env::var_os("OUT_DIR")?).join("mixed.o");
    let mut command = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
    command.args([
        "-std=c11",
        "-O1",
        "-fPIC",
        "-fexceptions",
        "-Iinclude",
        "-c",
        SOURCE,
        "-o",
    ]);
    let output = command.arg(&object).output().ok()?;
    if !output.status.success() {
        return None;
    }
    let archive = object.with_file_name("libmixed.a");
    let mut command = Command::new(env::var_os("AR").unwrap_or_else(|| "ar".into()));
    let output = command
        .arg("crs")
        .arg(&archive)
        .arg(&object)
        .output()
        .ok()?;
    output.status.success().then_some(archive)
}
