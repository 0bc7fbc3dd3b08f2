//! The kernels of the table in [`super`]: WGSL and CUDA stand in files beside this one, host
//! functions in `host.rs`. With cuBLAS, products and solutions are its own.
#![allow(unsafe_code)] // kernels in CUDA C++

mod host;
#[cfg(test)]
mod tests;

use roving_gpu::Kernel;

/// A kernel whose function has the name of its entry in all three.
macro_rules! kernel {
    ($name:expr, $entry:ident, $file:literal, $block:expr, $host:expr) => {
        kernel!($name, $entry, $file, "", "", $block, $host)
    };
    ($name:expr, $entry:ident, $file:literal, $wgsl:expr, $cuda:expr, $block:expr, $host:expr) => {
        // SAFETY: each kernel leaves out what is beyond the sizes that it is given as a value,
        // writes only to its last buffer, each number by one thread, and `steps.rs` takes the sizes
        // from those of the buffers.
        unsafe {
            Kernel::new($name)
                .wgsl(
                    concat!($wgsl, include_str!(concat!($file, ".wgsl"))),
                    stringify!($entry),
                )
                .cuda(
                    concat!($cuda, include_str!(concat!($file, ".cu"))),
                    stringify!($entry),
                    $block,
                )
                .host($host)
        }
    };
}

/// A kernel for numbers of 32 and of 64 bits, and its name in the vendor's library.
macro_rules! kernels {
    ($short:ident, $long:ident, $entry:ident, $file:literal, $block:expr) => {
        /// For f32.
        pub(super) static $short: Kernel = kernel!(
            concat!(stringify!($entry), " f32"),
            $entry,
            $file,
            "alias real = f32;\n",
            "typedef float real;\n",
            $block,
            host::$entry::<f32>
        )
        .library(concat!(stringify!($entry), "_f32"));

        /// For f64.
        pub(super) static $long: Kernel = kernel!(
            concat!(stringify!($entry), " f64"),
            $entry,
            $file,
            "alias real = f64;\n",
            "typedef double real;\n",
            $block,
            host::$entry::<f64>
        )
        .library(concat!(stringify!($entry), "_f64"));
    };
}

kernels!(GEMM_F32, GEMM_F64, gemm, "gemm", [8, 8, 1]);
kernels!(GEMM_NT_F32, GEMM_NT_F64, gemm_nt, "gemm", [8, 8, 1]);
kernels!(TRSM_F32, TRSM_F64, trsm, "trsm", [128, 1, 1]);

pub(super) static NBODY: Kernel = kernel!("nbody", nbody, "nbody", [64, 1, 1], host::nbody);
pub(super) static MANDELBROT: Kernel = kernel!(
    "mandelbrot",
    mandelbrot,
    "mandelbrot",
    [8, 8, 1],
    host::mandelbrot
);
pub(super) static FILTER: Kernel = kernel!(
    "filter",
    filter_square,
    "filter",
    [8, 8, 1],
    host::filter_square
);
