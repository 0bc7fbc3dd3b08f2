//! The functions that a compiler's code calls, and those that programs call by name.
//!
//! Their names, parameters and results are those that `gcc -fopenmp -S` shows, and those of the
//! OpenMP specification. None of them unwinds: what is Rust in a backtrace ends there.

use std::ffi::c_uint;

mod control;
mod critical;
mod device;
mod fortran;
mod locks;
mod loops;
mod memory;
mod missing;
mod parallel;
mod sections;
mod target;
mod tasks;
mod teams;

/// A `bool` that a compiler passes. Only its lowest byte is said: a parameter that is a `bool` of
/// Rust's, or a byte, may be read as a whole register.
#[repr(transparent)]
#[derive(Clone, Copy)]
struct CBool(c_uint);

impl CBool {
    #[inline]
    fn get(self) -> bool {
        self.0 as u8 != 0
    }
}

#[cfg(test)]
mod tests {
    /// Without optimization nothing else would tell: then a `bool` is read as a byte.
    #[test]
    #[cfg_attr(miri, ignore = "Miri reads no files")]
    fn no_function_that_c_calls_takes_a_bool() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/abi");
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let functions = text.split(concat!("extern ", "\"C\" fn ")).skip(1);
            for head in functions.filter_map(|function| function.split('{').next()) {
                let parameters = head.split(") -> ").next().unwrap_or(head);
                assert!(!parameters.contains("bool"), "{}: {head}", path.display());
            }
        }
    }
}
