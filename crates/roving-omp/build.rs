//! Names the shared library, and keeps it loaded.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux") {
        // A program finds it by its name, wherever it was when the program was linked. The number
        // is that of `libgomp.so.1`, whose interface it has.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libroving_omp.so.1");
        // Its threads run its code when a program has closed it.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
