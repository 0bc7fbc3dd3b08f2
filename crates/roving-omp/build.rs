//! Names the shared library.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // A program finds it by its name, wherever it was when the program was linked.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libroving_omp.so");
    }
}
