//! temporary
use super::math::bodies::{self, Four};
use super::math::dense;
use super::math::filter::{self, Filter};
use super::math::plane::{self, Rectangle};
use super::math::real::Real;
use roving_gpu::{HostCall, Kernel};

macro_rules! of {
    ($name:ident, $entry:literal, $real:ident, $file:literal, $block:expr, $host:expr) => {
        pub(super) static $name: Kernel = Kernel::new($entry)
            .wgsl(
                concat!(
                    "alias real = ",
                    stringify!($real),
                    ";\n",
                    include_str!(concat!("kernels/", $file, ".wgsl"))
                ),
                $entry,
            )
            .host($host);
    };
}
fn gemm<T: Real>(call: &mut HostCall<'_>) {
    let (a, b, c) = (call.read::<T>(), call.read::<T>(), call.update::<T>());
    let [m, n, k, _] = call.value::<[u32; 4]>().map(|s| s as usize);
    dense::multiply([m, n, k], a, b, c);
}
fn gemm_nt<T: Real>(call: &mut HostCall<'_>) {
    let (a, b, c) = (call.read::<T>(), call.read::<T>(), call.update::<T>());
    let [m, n, k, _] = call.value::<[u32; 4]>().map(|s| s as usize);
    dense::subtract_transposed([m, n, k], a, b, c);
}
fn trsm<T: Real>(call: &mut HostCall<'_>) {
    let (l, a) = (call.read::<T>(), call.update::<T>());
    let [m, n, _, _] = call.value::<[u32; 4]>().map(|s| s as usize);
    dense::solve_transposed(m, n, l, a);
}
fn nbody(call: &mut HostCall<'_>) {
    let (on, from, forces) = (
        call.read::<Four>(),
        call.read::<Four>(),
        call.update::<Four>(),
    );
    let [_, _, softening, _] = call.value::<[u32; 4]>();
    bodies::attract(on, from, f32::from_bits(softening), forces);
}
fn mandelbrot(call: &mut HostCall<'_>) {
    let counts = call.update::<u32>();
    let [left, top, step, width, height, most, _said, _] = call.value::<[u32; 8]>();
    let [left, top, step] = [left, top, step].map(f32::from_bits);
    plane::escapes(
        Rectangle {
            left,
            top,
            step,
            width: width as usize,
            height: height as usize,
        },
        most,
        counts,
    );
}
fn filter(call: &mut HostCall<'_>) {
    let (s, t) = (call.read::<u32>(), call.update::<u32>());
    let [w, h, radius, threshold] = call.value::<[u32; 4]>();
    filter::filter(
        Filter {
            width: w as usize,
            height: h as usize,
            radius: radius as usize,
            threshold,
        },
        s,
        t,
    );
}
of!(GEMM_F32, "gemm", f32, "gemm", [8, 8, 1], gemm::<f32>);
of!(GEMM_F64, "gemm", f64, "gemm", [8, 8, 1], gemm::<f64>);
of!(
    GEMM_NT_F32,
    "gemm_nt",
    f32,
    "gemm",
    [8, 8, 1],
    gemm_nt::<f32>
);
of!(
    GEMM_NT_F64,
    "gemm_nt",
    f64,
    "gemm",
    [8, 8, 1],
    gemm_nt::<f64>
);
of!(TRSM_F32, "trsm", f32, "trsm", [8, 8, 1], trsm::<f32>);
of!(TRSM_F64, "trsm", f64, "trsm", [8, 8, 1], trsm::<f64>);
of!(NBODY, "nbody", f32, "nbody", [8, 8, 1], nbody);
of!(
    MANDELBROT,
    "mandelbrot",
    f32,
    "mandelbrot",
    [8, 8, 1],
    mandelbrot
);
of!(FILTER, "filter_square", f32, "filter", [8, 8, 1], filter);
