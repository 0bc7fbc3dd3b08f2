//! The kernels as functions for the host: what the simulated device runs.

use roving_gpu::HostCall;

use super::super::math::bodies::{self, Four};
use super::super::math::dense;
use super::super::math::filter::{self, Filter};
use super::super::math::plane::{self, Rectangle};
use super::super::math::real::Real;
use super::super::pace::WorkPace;

fn sizes(call: &mut HostCall<'_>) -> [usize; 3] {
    let [m, n, k, _] = call.value::<[u32; 4]>().map(|size| size as usize);
    [m, n, k]
}

pub(super) fn gemm<T: Real>(call: &mut HostCall<'_>) {
    let (a, b, c) = (call.read::<T>(), call.read::<T>(), call.update::<T>());
    dense::multiply(sizes(call), a, b, c);
}

pub(super) fn gemm_nt<T: Real>(call: &mut HostCall<'_>) {
    let (a, b, c) = (call.read::<T>(), call.read::<T>(), call.update::<T>());
    dense::subtract_transposed(sizes(call), a, b, c);
}

pub(super) fn trsm<T: Real>(call: &mut HostCall<'_>) {
    let (l, a) = (call.read::<T>(), call.update::<T>());
    let [m, n, _] = sizes(call);
    dense::solve_transposed(m, n, l, a);
}

pub(super) fn nbody(call: &mut HostCall<'_>) {
    let (pulled, pulling) = (call.read::<Four>(), call.read::<Four>());
    let forces = call.update::<Four>();
    let [_, _, softening_squared, _] = call.value::<[u32; 4]>();
    bodies::attract(pulled, pulling, f32::from_bits(softening_squared), forces);
}

/// The seventh word says how many nanoseconds 1024 iterations are said to take, for a simulated
/// device, which cannot know how many there will be.
pub(super) fn mandelbrot(call: &mut HostCall<'_>) {
    let counts = call.update::<u32>();
    let [left, top, step, width, height, most, nanos_of_1024, _] = call.value::<[u32; 8]>();
    let [left, top, step] = [left, top, step].map(f32::from_bits);
    let rectangle = Rectangle {
        left,
        top,
        step,
        width: width as usize,
        height: height as usize,
    };
    let pace = match nanos_of_1024 {
        0 => WorkPace::default(),
        nanos => WorkPace::of(1024e9 / f64::from(nanos)),
    };
    pace.spend_counted(|| {
        plane::escapes(rectangle, most, counts);
        ((), counts.iter().map(|count| f64::from(*count)).sum())
    });
}

pub(super) fn filter_square(call: &mut HostCall<'_>) {
    let (source, filtered) = (call.read::<u32>(), call.update::<u32>());
    let [width, height, radius, threshold] = call.value::<[u32; 4]>();
    let what = Filter {
        width: width as usize,
        height: height as usize,
        radius: radius as usize,
        threshold,
    };
    filter::filter(what, source, filtered);
}
