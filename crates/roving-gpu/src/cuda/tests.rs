//! Every operation on the device that is there; where there is none, each test says so and ends.
#![allow(unsafe_code)] // a kernel in CUDA C++

pub(super) mod peer_tests;
#[path = "../wgpu/tests/report_tests.rs"]
#[allow(
    clippy::duplicate_mod,
    reason = "each back-end can be built without the other"
)]
mod report_tests;

use std::ffi::c_int;
use std::sync::MutexGuard;

use cudarc::cublas::result::CublasError;
use cudarc::cublas::sys;

use super::harness::{self, On, buffer, first, part, value};
use super::{Nvidia, found};
use crate::backend::error::Cause;
use crate::backend::{Backend, Memory};
use crate::kernel::Kernel;
use crate::kernel::stream_call::StreamCall;
use crate::{Arg, Buffer, Choice, Devices, Dual, Kind};

pub(super) fn device() -> Option<(Nvidia, MutexGuard<'static, ()>)> {
    first(found)
}

#[test]
fn without_a_driver_that_is_what_is_said() {
    let found = found();
    assert!(!found.is_empty());
    if !super::driver::is_there() {
        let error = found[0].as_ref().unwrap_err();
        assert_eq!(error.cause(), Cause::NoDevice);
        assert!(error.text().contains("no CUDA driver"), "{error}");
        assert!(super::discover().iter().all(Result::is_err));
    }
}

#[test]
fn what_goes_up_comes_down() {
    if let Some((device, _turn)) = device() {
        harness::what_goes_up_comes_down(On(&device, 0));
    }
}

#[test]
fn a_kernel_has_its_buffers_and_values() {
    if let Some((device, _turn)) = device() {
        harness::a_kernel_has_its_buffers_and_values(On(&device, 3));
    }
}

#[test]
fn a_kernel_has_parts_of_a_buffer() {
    if let Some((device, _turn)) = device() {
        harness::a_kernel_has_parts_of_a_buffer(On(&device, 0));
    }
}

#[test]
fn more_than_there_is_is_an_error() {
    let Some((device, _turn)) = device() else {
        return;
    };
    harness::more_than_there_is_is_an_error(On(&device, 0));
    assert_eq!(device.used_bytes(), 0);
}

#[test]
fn dropped_memory_is_given_back_when_it_is_no_longer_in_use() {
    let Some((device, _turn)) = device() else {
        return;
    };
    harness::dropped_memory_is_given_back(On(&device, 0), || device.used_bytes());
}

#[test]
fn kernels_that_cannot_be_built_say_so_and_harm_nothing() {
    let Some((device, _turn)) = device() else {
        return;
    };
    harness::kernels_that_cannot_be_built_say_so(On(&device, 0), "(2)", "Kernel::cuda");
}

#[test]
fn arguments_of_the_wrong_size_are_refused() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let on = On(&device, 0);
    let memory = on.alloc(64);
    let good = || {
        vec![
            value(&[1]),
            buffer(&memory, 64, false),
            buffer(&memory, 64, true),
            value(&[1, 16]),
        ]
    };
    let mut short = good();
    short.pop();
    let mut wide = good();
    wide[0] = value(&[1, 1]);
    let mut long = good();
    long.push(value(&[1]));
    for arguments in [short, wide, long, Vec::new()] {
        let error = on.launch(&harness::SCALE, 1, arguments).wrong();
        assert_eq!(error.cause(), Cause::Kernel, "{error}");
        assert!(
            error
                .text()
                .contains("`scale`: its parameters have [4, 8, 8, 8]"),
            "{error}"
        );
    }
    on.launch(&harness::SCALE, 1, good()).right();
}

#[test]
fn memory_of_others_is_refused() {
    if let Some((device, _turn)) = device() {
        harness::memory_of_others_is_refused(On(&device, 0));
    }
}

#[test]
fn many_threads_submit_at_once() {
    if let Some((device, _turn)) = device() {
        harness::many_threads_submit_at_once(&device, || device.used_bytes());
    }
}

#[test]
fn the_end_of_an_operation_may_begin_others_and_drop_the_device() {
    if let Some((device, _turn)) = device() {
        harness::an_end_may_begin_others_and_drop_the_device(device);
    }
}

static REVERSE: Kernel =
    // SAFETY: each of the 64 threads of a block looks at one number of both, of which tests give as
    // many, or the launch is refused.
    unsafe {
        Kernel::new("reverse").cuda(
            "extern __shared__ unsigned kept[];
             extern \"C\" __global__ void reverse(unsigned *numbers, unsigned first) {
                 kept[first + threadIdx.x] = numbers[threadIdx.x];
                 __syncthreads();
                 numbers[threadIdx.x] = kept[first + 63 - threadIdx.x];
             }",
            "reverse",
            [64, 1, 1],
        )
    };

#[test]
fn a_block_shares_as_much_as_a_launch_says() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let numbers: Vec<u32> = (0..64).collect();
    let on = On(&device, 1);
    let memory = on.alloc(256);
    on.upload(bytemuck::cast_slice(&numbers), &memory).right();
    // Less than every block may have; more; less again; and more than there is anywhere.
    for shared in [256, 50 << 10, 1 << 10] {
        let first = value(&[shared as u32 / 4 - 64]);
        let arguments = vec![buffer(&memory, 256, true), first];
        on.launch_sharing(shared, &REVERSE, 1, arguments).right();
    }
    let arguments = || vec![buffer(&memory, 256, true), value(&[0])];
    let error = on.launch_sharing(1 << 30, &REVERSE, 1, arguments()).wrong();
    assert_eq!(error.cause(), Cause::Kernel, "{error}");
    assert!(
        error.text().contains("`reverse`: 1073741824 bytes"),
        "{error}"
    );
    let bytes = on.download(&memory, 256).right();
    let found = bytes
        .chunks_exact(4)
        .map(bytemuck::pod_read_unaligned::<u32>);
    assert!(found.eq((0..64).rev()));
}

static GEMM: Kernel = Kernel::new("product").library("gemm_f64");
static GEMM_NT: Kernel = Kernel::new("transposed product").library("gemm_nt_f64");
static TRSM: Kernel = Kernel::new("solution").library("trsm_f64");

fn matrix(on: On<'_>, numbers: &[f64]) -> Memory {
    let memory = on.alloc(8 * numbers.len());
    on.upload(bytemuck::cast_slice(numbers), &memory).right();
    memory
}

fn numbers(on: On<'_>, memory: &Memory, count: usize) -> Vec<f64> {
    let bytes = on.download(memory, 8 * count).right();
    bytes
        .chunks_exact(8)
        .map(bytemuck::pod_read_unaligned)
        .collect()
}

/// They are called from safe code.
#[test]
fn routines_write_to_nothing_but_what_is_updated_and_given_once() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let on = On(&device, 1);
    let (a, c) = (matrix(on, &[1.0; 4]), matrix(on, &[2.0; 5]));
    for (last, first, words) in [
        (part(&c, 0..32, false), &a, "`Arg::update`"),
        (part(&c, 8..40, true), &c, "given twice, and written"),
        (part(&c, 4..36, true), &a, "within a number"),
    ] {
        let [one, two] = [first, &a].map(|memory| buffer(memory, 32, false));
        let arguments = vec![one, two, last, value(&[2, 2, 2])];
        let error = on.launch(&GEMM, 1, arguments).wrong();
        assert!(error.text().contains(words), "{error}");
    }
    assert_eq!(numbers(on, &c, 5), [2.0; 5]);
}

/// Two rows and three columns, so that no side passes for another.
#[test]
fn routines_of_the_library_are_right() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let on = On(&device, 2);
    let read = |memory: &Memory, count: usize| buffer(memory, 8 * count, false);
    let update = |memory: &Memory, count: usize| buffer(memory, 8 * count, true);
    let a = matrix(on, &[1.0, 2.0, 3.0, 4.0]);
    let b = matrix(on, &[5.0, 6.0, 7.0, 8.0, 9.0, 10.0]);
    let c = matrix(on, &[100.0; 6]);
    let launched = on.launch(
        &GEMM,
        1,
        vec![
            read(&a, 4),
            read(&b, 6),
            update(&c, 6),
            value(&[2, 3, 2, 0]),
        ],
    );
    if let (Err(error), ()) = launched.wait() {
        // Without the library, a kernel without a source cannot be.
        assert!(error.text().contains("Kernel::cuda"), "{error}");
        eprintln!("skipped: cuBLAS is not there");
        return;
    }
    assert_eq!(
        numbers(on, &c, 6),
        [121.0, 124.0, 127.0, 147.0, 154.0, 161.0]
    );
    // b as three rows of two: [5 6] [7 8] [9 10].
    let arguments = vec![
        read(&a, 4),
        read(&b, 6),
        update(&c, 6),
        value(&[2, 3, 2, 0]),
    ];
    on.launch(&GEMM_NT, 1, arguments).right();
    assert_eq!(numbers(on, &c, 6), [104.0, 101.0, 98.0, 108.0, 101.0, 94.0]);
    // X · lᵀ with l = [2 ·] [3 4], X = [1 2] [3 4] [5 6]; what is above the diagonal is not read.
    let l = matrix(on, &[2.0, f64::NAN, 3.0, 4.0]);
    let x = matrix(on, &[2.0, 11.0, 6.0, 25.0, 10.0, 39.0]);
    on.launch(
        &TRSM,
        1,
        vec![read(&l, 4), update(&x, 6), value(&[3, 2, 0, 0])],
    )
    .right();
    assert_eq!(numbers(on, &x, 6), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    // The same, of a part: what is before it stays.
    let both = [[7.0; 6], [2.0, 11.0, 6.0, 25.0, 10.0, 39.0]].concat();
    let both = matrix(on, &both);
    let arguments = |rows| {
        let update = part(&both, 48..96, true);
        vec![read(&l, 4), update, value(&[rows, 2, 0, 0])]
    };
    on.launch(&TRSM, 1, arguments(3)).right();
    let found = numbers(on, &both, 12);
    assert_eq!(found[..6], [7.0; 6]);
    assert_eq!(found[6..], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let error = on.launch(&TRSM, 1, arguments(4)).wrong();
    assert_eq!(error.cause(), Cause::Kernel, "{error}");
    let error = on
        .launch(
            &TRSM,
            1,
            vec![read(&l, 4), update(&x, 6), value(&[4, 2, 0, 0])],
        )
        .wrong();
    assert_eq!(error.cause(), Cause::Kernel, "{error}");
}

/// cuBLAS by the program's own handle, which it keeps with the stream.
struct OwnBlas(sys::cublasHandle_t);

impl Drop for OwnBlas {
    fn drop(&mut self) {
        // SAFETY: made in `own_product`, and given back once, by the thread that has used it.
        unsafe { cudarc::cublas::result::destroy_handle(self.0) }.unwrap();
    }
}

/// c += a · b, of square matrices; the value is their size.
fn own_product(call: &mut StreamCall<'_>) -> Result<(), String> {
    let (a, b, c) = (call.read(), call.read(), call.update());
    let size = call.value::<[u32; 1]>()[0] as c_int;
    if [a, b, c]
        .iter()
        .any(|matrix| matrix.bytes != 8 * (size * size) as usize)
    {
        return Err(format!("no matrices of {size} rows"));
    }
    let made = call.kept(|stream| {
        let blas = OwnBlas(cudarc::cublas::result::create_handle()?);
        // SAFETY: the handle lives, and goes before the stream.
        unsafe { cudarc::cublas::result::set_stream(blas.0, stream.cast()) }?;
        Ok(blas)
    });
    let blas = made.map_err(|error: CublasError| error.to_string())?;
    let (no, one) = (sys::cublasOperation_t::CUBLAS_OP_N, 1.0_f64);
    let [a, b, c] = [a, b, c].map(|matrix| matrix.address as *mut f64);
    // SAFETY: the handle lives, and the matrices have that size. By columns, as cuBLAS sees them,
    // each is its transpose.
    let done = unsafe {
        cudarc::cublas::result::dgemm(
            blas.0, no, no, size, size, size, &one, b, size, a, size, &one, c, size,
        )
    };
    done.map_err(|error| error.to_string())
}

// SAFETY: `own_product` keeps within the bytes of its arguments, and writes to the third.
static OWN_PRODUCT: Kernel = unsafe { Kernel::new("own product").stream(own_product) };
static OWN_ERROR: Kernel =
    // SAFETY: it queues nothing.
    unsafe { Kernel::new("own error").stream(|call| Err(format!("no {:?}", call.groups()))) };

#[test]
fn a_function_of_the_program_queues_on_the_stream() {
    let Some((device, _turn)) = device() else {
        return;
    };
    // SAFETY: as in `Blas::new`.
    if !unsafe { sys::is_culib_present() } {
        eprintln!("skipped: cuBLAS is not there");
        return;
    }
    let on = On(&device, 1);
    let a = matrix(on, &[1.0, 2.0, 3.0, 4.0]);
    // The second half is b.
    let both = matrix(on, &[0.0, 0.0, 0.0, 0.0, 5.0, 6.0, 7.0, 8.0]);
    let c = matrix(on, &[100.0; 4]);
    let arguments = |size| {
        let (a, b) = (buffer(&a, 32, false), part(&both, 32..64, false));
        vec![a, b, buffer(&c, 32, true), value(&[size])]
    };
    on.launch(&OWN_PRODUCT, 1, arguments(2)).right();
    assert_eq!(numbers(on, &c, 4), [119.0, 122.0, 143.0, 150.0]);
    // Again, by the same handle, and on a stream that has its own.
    on.launch(&OWN_PRODUCT, 1, arguments(2)).right();
    device.follow(2, 1);
    let other = On(&device, 2);
    other.launch(&OWN_PRODUCT, 1, arguments(2)).right();
    assert_eq!(numbers(other, &c, 4), [157.0, 166.0, 229.0, 250.0]);

    let wrong = |kernel, arguments, text: &str| {
        let error = on.launch(kernel, 1, arguments).wrong();
        assert_eq!(error.cause(), Cause::Kernel, "{error}");
        assert!(error.text().contains(text), "{error}");
    };
    wrong(
        &OWN_PRODUCT,
        arguments(3),
        "`own product`: no matrices of 3 rows",
    );
    wrong(&OWN_ERROR, Vec::new(), "`own error`: no [1, 1, 1]");
    let mut short = arguments(2);
    short.truncate(2);
    wrong(
        &OWN_PRODUCT,
        short,
        "panicked: argument 2 was asked for; the launch has 2",
    );
    let mut readable = arguments(2);
    readable[2] = buffer(&c, 32, false);
    wrong(
        &OWN_PRODUCT,
        readable,
        "panicked: argument 2 may only be read",
    );
    let sharing = on.launch_sharing(64, &OWN_PRODUCT, 1, arguments(2)).wrong();
    assert!(sharing.text().contains("`Arg::shared`"), "{sharing}");
    on.launch(&OWN_PRODUCT, 1, arguments(2)).right();
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the drop of a payload");
    }
}

static OWN_BOMB: Kernel =
    // SAFETY: it queues nothing.
    unsafe { Kernel::new("own bomb").stream(|_| std::panic::panic_any(Bomb)) };

#[test]
fn a_payload_of_a_function_whose_drop_panics_is_a_failure_of_that() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let on = On(&device, 0);
    for _ in 0..2 {
        let error = on.launch(&OWN_BOMB, 1, Vec::new()).wrong();
        assert_eq!(error.cause(), Cause::Kernel, "{error}");
        assert!(error.text().contains("panicked: with no text"), "{error}");
    }
}

/// As a GPU side: behind a kernel that is compiled, and before another, with nothing waited for.
#[test]
fn a_function_on_the_stream_is_ordered_as_a_kernel() {
    let Some((device, _turn)) = device() else {
        return;
    };
    // SAFETY: as in `Blas::new`.
    if !unsafe { sys::is_culib_present() } {
        eprintln!("skipped: cuBLAS is not there");
        return;
    }
    static ADD: Kernel =
        // SAFETY: each of the four threads looks at one number of both.
        unsafe {
            Kernel::new("add").cuda(
                "extern \"C\" __global__ void add(const double *from, double *to) {
                     to[threadIdx.x] += from[threadIdx.x];
                 }",
                "add",
                [4, 1, 1],
            )
        };
    static STEP: Kind = Kind::new("step");
    let devices = Devices::builder()
        .backend(device)
        .choice(Choice::Gpu)
        .build();
    let devices = devices.unwrap();
    let a = Buffer::from(vec![1.0_f64, 1.0, 0.0, 1.0]);
    let [b, c] = [vec![1.0_f64, 0.0, 0.0, 1.0], vec![0.0; 4]].map(Buffer::from);
    let (mut b_now, mut c_now) = ([1.0, 0.0, 0.0, 1.0], [0.0; 4]);
    for _ in 0..20 {
        // c += a · b, then b += c.
        let product = Dual::new(&STEP, &[1]).reads(&a).reads(&b).updates(&c);
        let product = product.gpu(async |gpu| {
            let arguments = [
                Arg::read(&a),
                Arg::read(&b),
                Arg::update(&c),
                Arg::value(&2_u32),
            ];
            gpu.launch(&OWN_PRODUCT, [1, 1, 1], &arguments).await
        });
        product.run(&devices).unwrap();
        let sum = Dual::new(&STEP, &[1]).reads(&c).updates(&b);
        let sum = sum.gpu(async |gpu| {
            gpu.launch(&ADD, [1, 1, 1], &[Arg::read(&c), Arg::update(&b)])
                .await
        });
        sum.run(&devices).unwrap();
        let [b0, b1, b2, b3]: [f64; 4] = b_now;
        let product = [b0 + b2, b1 + b3, b2, b3];
        (0..4).for_each(|at| c_now[at] += product[at]);
        (0..4).for_each(|at| b_now[at] += c_now[at]);
    }
    assert_eq!(*c.read(), c_now);
    assert_eq!(*b.read(), b_now);
}

const TWICE: &str = "#pragma once
#include \"deep/zero.cuh\"
__device__ inline float twice(float x) { return x + x + zero; }";
const ZERO: &str = "__device__ const float zero = 0;";

static INCLUDES: Kernel =
    // SAFETY: each of the 64 threads looks at one number, of which tests give as many.
    unsafe {
        Kernel::new("includes")
            .cuda(
                "#include \"twice.cuh\"
                 extern \"C\" __global__ void includes(float *numbers) {
                     numbers[threadIdx.x] = twice(numbers[threadIdx.x]);
                 }",
                "includes",
                [64, 1, 1],
            )
            .headers(&[("twice.cuh", TWICE), ("deep/zero.cuh", ZERO)])
    };
static INCLUDES_NOTHING: Kernel =
    // SAFETY: it is not compiled.
    unsafe {
        Kernel::new("includes nothing").cuda(
            "#include \"twice.cuh\"
             extern \"C\" __global__ void includes(float *numbers) {}",
            "includes",
            [64, 1, 1],
        )
    };

#[test]
fn a_kernel_includes_the_headers_that_it_is_given() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let on = On(&device, 0);
    let memory = on.alloc(256);
    on.upload(bytemuck::cast_slice(&[1.5_f32; 64]), &memory)
        .right();
    on.launch(&INCLUDES, 1, vec![buffer(&memory, 256, true)])
        .right();
    let found = on.download(&memory, 256).right();
    assert_eq!(found, bytemuck::cast_slice::<f32, u8>(&[3.0; 64]));
    let error = on.launch(&INCLUDES_NOTHING, 1, vec![buffer(&memory, 256, true)]);
    let error = error.wrong();
    assert_eq!(error.cause(), Cause::Kernel, "{error}");
    assert!(error.text().contains("twice.cuh"), "{error}");
}

static STRAY: Kernel =
    // SAFETY: there is none: it is to end the device's context. The address is not one of the host.
    unsafe {
        Kernel::new("stray").cuda(
            "extern \"C\" __global__ void stray(float *numbers) { numbers[1ull << 44] = 1; }",
            "stray",
            [1, 1, 1],
        )
    };

/// Runs last by its name, and alone by its turn: the context of the process does not survive it.
#[test]
#[ignore = "leaves the process without a device; run it by itself"]
fn zz_a_lost_device_fails_all_that_is_asked_of_it() {
    let Some((device, _turn)) = device() else {
        return;
    };
    let on = On(&device, 0);
    let memory = on.alloc(64);
    let error = on
        .launch(&STRAY, 1, vec![buffer(&memory, 64, true)])
        .wrong();
    assert_eq!(error.cause(), Cause::Lost, "{error}");
    assert_eq!(on.download(&memory, 64).wrong().cause(), Cause::Lost);
    assert_eq!(device.alloc(64).unwrap_err().cause(), Cause::Lost);
}

/// A task, with a kernel whose threads share memory, has left on the device what goes with it.
#[test]
#[ignore = "leaves the process without a device; run it by itself"]
fn zz_what_only_a_lost_device_had_is_told() {
    static KIND: Kind = Kind::new("on a device");
    let Some((device, _turn)) = device() else {
        return;
    };
    let name = device.name();
    let builder = Devices::builder().backend(device);
    let devices = builder.choice(Choice::Gpu).build().unwrap();
    let (kept, other) = (Buffer::<u32>::zeroed(64), Buffer::<u32>::zeroed(64));
    let task = Dual::new(&KIND, &[1]).updates(&kept).gpu(async |gpu| {
        let arguments = [Arg::update(&kept), Arg::shared(256), Arg::value(&0_u32)];
        gpu.launch(&REVERSE, [1, 1, 1], &arguments).await
    });
    task.run(&devices).unwrap();
    let stray = Dual::new(&KIND, &[1]).updates(&other);
    let stray = stray.gpu(async |gpu| gpu.launch(&STRAY, [1, 1, 1], &[Arg::update(&other)]).await);
    // Its own end may come first, or that of the device.
    drop(stray.run(&devices));
    devices.wait();
    assert!(devices.profile().devices[0].is_lost);
    let read = |buffer: &Buffer<u32>| {
        let read = std::panic::catch_unwind(|| buffer.read().to_vec());
        read.map_err(|payload| *payload.downcast::<String>().unwrap())
    };
    let text = read(&kept).unwrap_err();
    assert!(text.contains("is lost") && text.contains(&name), "{text}");
    // A task that had not ended has written nothing.
    match read(&other) {
        Ok(numbers) => assert_eq!(numbers, [0; 64]),
        Err(text) => assert!(text.contains("is lost"), "{text}"),
    }
}
