//! The other tests of this back-end once more, each time in a process whose loader finds the fake
//! CUDA driver; how often that was called; and mistakes, which that driver has to find.
#![allow(unsafe_code)] // asks the driver; mistakes that cannot be made without

use std::any::Any;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, mem, process, ptr};

use cudarc::driver::{CudaContext, result};

use super::harness::{On, buffer};
use super::tests::device;
use super::tests::peer_tests::sum_of_both;
use crate::backend::Backend;
use crate::backend::error::Cause;
use crate::{Arg, Buffer, Choice, Devices, Dual, Kernel, Kind};

/// Says in which of our processes a test runs.
const CHILD: &str = "ROVING_FAKE_CUDA_CHILD";

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// A function of the fake driver that no other has.
fn function(name: &CStr) -> *mut c_void {
    // SAFETY: both texts end with NUL, and the library is loaded already.
    let found = unsafe { dlsym(dlopen(c"libcuda.so".as_ptr(), 2), name.as_ptr()) };
    assert!(!found.is_null(), "this is not the fake driver");
    found
}

/// How often the fake driver was asked for that.
fn count(what: &str) -> u64 {
    type Count = unsafe extern "C" fn(*const c_char) -> u64;
    let what = CString::new(what).unwrap();
    // SAFETY: the function has that type, and the text ends with NUL.
    unsafe {
        let function = function(c"roving_fake_cuda_count");
        mem::transmute::<*mut c_void, Count>(function)(what.as_ptr())
    }
}

/// Lets the devices do nothing, or go on.
fn hold(is_held: bool) {
    type Hold = unsafe extern "C" fn(c_int);
    // SAFETY: the function has that type.
    unsafe {
        let function = function(c"roving_fake_cuda_hold");
        mem::transmute::<*mut c_void, Hold>(function)(c_int::from(is_held));
    }
}

/// Whether this is a process with the fake driver; else the test is one that `run` will call.
fn is_here() -> bool {
    env::var_os(CHILD).is_some()
}

/// Where cargo has put the fake driver: beside this test.
fn library() -> PathBuf {
    let own = env::current_exe().unwrap();
    let library = own.with_file_name("libroving_fake_cuda.so");
    assert!(library.exists(), "{} is not there", library.display());
    library
}

/// Runs these tests of this program with the fake driver, one at a time.
fn run(filter: &[&str], settings: &[(&str, &str)]) -> Output {
    run_by(["cuda.so", "nvrtc.so", "cublas.so"], filter, settings)
}

/// [`run`], with libraries of these names.
fn run_by(names: [&str; 3], filter: &[&str], settings: &[(&str, &str)]) -> Output {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    // Ordering: Relaxed; a number that nobody else has.
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = format!("roving-gpu-fake-{}-{number}", process::id());
    let folder = env::temp_dir().join(folder);
    fs::create_dir_all(&folder).unwrap();
    for name in names {
        symlink(library(), folder.join(format!("lib{name}"))).unwrap();
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(filter)
        .args(["--test-threads=1", "--nocapture"]);
    let kept = library().with_file_name("fake-cuda-kernels");
    fs::create_dir_all(&kept).unwrap();
    command.env("ROVING_FAKE_CUDA_KEPT", kept);
    command.env("LD_LIBRARY_PATH", &folder).env(CHILD, "1");
    command.envs(settings.iter().copied());
    let output = command.output().unwrap();
    fs::remove_dir_all(folder).unwrap();
    output
}

fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}\n{err}")
}

/// One of the tests that are ignored.
fn run_one(name: &str, settings: &[(&str, &str)]) -> Output {
    run(&[name, "--exact", "--ignored"], settings)
}

/// One of the tests that are ignored passes.
fn passes(name: &str, settings: &[(&str, &str)]) {
    let output = run_one(name, settings);
    let text = text(&output);
    let has_passed = output.status.success() && text.contains("1 passed");
    assert!(has_passed, "{name}, {settings:?}: {text}");
}

fn has_compiler() -> bool {
    let there = Command::new("c++").arg("--version").output().is_ok();
    if !there {
        eprintln!("skipped: there is no C++ compiler, by which the fake driver builds kernels");
    }
    there
}

/// All of them, with one device and with two, with memory in the order of streams and without, and
/// with a compiler that does not know the device.
#[test]
fn all_tests_of_the_back_end_pass() {
    if is_here() || !has_compiler() {
        return;
    }
    for settings in [
        &[][..],
        &[("ROVING_FAKE_CUDA_POOLS", "0")],
        &[("ROVING_FAKE_CUDA_DEVICES", "2")],
        &[("ROVING_FAKE_CUDA_NVRTC", "86")],
    ] {
        let output = run(&["cuda::tests"], settings);
        let text = text(&output);
        assert!(output.status.success(), "{settings:?}: {text}");
        assert!(!text.contains("skipped"), "{settings:?}: {text}");
        assert!(
            text.contains("a_kernel_has_its_buffers_and_values ... ok"),
            "{text}"
        );
    }
}

/// As a machine has them that was set up to run programs, and not to build them.
#[test]
fn libraries_are_found_by_the_names_of_their_versions() {
    if is_here() || !has_compiler() {
        return;
    }
    for version in ["12", "13"] {
        let names = [
            &format!("nvrtc.so.{version}"),
            &format!("cublas.so.{version}"),
        ];
        let names = ["cuda.so.1", names[0], names[1]];
        let output = run_by(names, &["cuda::tests"], &[]);
        let text = text(&output);
        assert!(output.status.success(), "CUDA {version}: {text}");
        assert!(!text.contains("skipped"), "CUDA {version}: {text}");
        let routines = "routines_of_the_library_are_right ... ok";
        assert!(text.contains(routines), "CUDA {version}: {text}");
    }
}

/// The headers of the toolkit are found where `CUDA_PATH` says that it is.
#[test]
fn headers_of_the_toolkit_are_found() {
    if is_here() || !has_compiler() {
        return;
    }
    let toolkit = env::temp_dir().join(format!("roving-gpu-toolkit-{}", process::id()));
    fs::create_dir_all(toolkit.join("include")).unwrap();
    fs::write(toolkit.join("include/cuda_fp16.h"), "#define FOUND 5u\n").unwrap();
    let name = "cuda::fake_tests::included_from_the_toolkit";
    let settings = [("CUDA_PATH", toolkit.to_str().unwrap())];
    passes(name, &settings);
    fs::remove_dir_all(&toolkit).unwrap();
}

/// Those below that ask the driver what it has counted.
#[test]
fn counts_are_right() {
    if is_here() || !has_compiler() {
        return;
    }
    for name in [
        "counted_a_chain_of_kernels_waits_for_nothing",
        "counted_streams_follow_each_other_by_events",
        "counted_memory_is_pinned_once_for_copies_of_a_size",
    ] {
        passes(&format!("cuda::fake_tests::{name}"), &[]);
    }
}

/// Where the first launch of a kernel takes the host long, the device waits for it meanwhile, and
/// that is no time of the kernel.
#[test]
fn loading_a_kernel_is_none_of_its_time() {
    if is_here() || !has_compiler() {
        return;
    }
    let name = "cuda::fake_tests::loaded_kernels_are_as_fast_as_they_are";
    passes(name, &[("ROVING_FAKE_CUDA_LOAD_MS", "200")]);
}

/// Others may have let go of some memory by the next launch.
#[test]
fn a_kernel_for_which_there_was_no_memory_is_built_later() {
    if is_here() || !has_compiler() {
        return;
    }
    let name = "cuda::fake_tests::short_of_memory_for_a_kernel";
    for short in ["ROVING_FAKE_CUDA_SHORT", "ROVING_FAKE_CUDA_NVRTC_SHORT"] {
        passes(name, &[(short, "2")]);
    }
}

#[test]
#[ignore = "needs the fake driver: see `a_kernel_for_which_there_was_no_memory_is_built_later`"]
fn short_of_memory_for_a_kernel() {
    let (device, _turn) = device().unwrap();
    let on = On(&device, 0);
    let memory = device.alloc(4).unwrap();
    let up = on.upload(&1_u32.to_ne_bytes(), &memory);
    up.right();
    let launch = || on.launch(&NEXT, 1, vec![buffer(&memory, 4, true)]);
    for _ in 0..2 {
        let (outcome, _) = launch().wait();
        assert_eq!(outcome.unwrap_err().cause(), Cause::OutOfMemory);
    }
    launch().right();
    assert_eq!(on.download(&memory, 4).right(), after(1).to_ne_bytes());
}

#[test]
#[ignore = "needs the fake driver: see `loading_a_kernel_is_none_of_its_time`"]
fn loaded_kernels_are_as_fast_as_they_are() {
    let (device, _turn) = device().unwrap();
    let builder = Devices::builder().backend(device);
    let devices = builder.choice(Choice::Gpu).build().unwrap();
    let number = Buffer::from(vec![1_u32]);
    // Each of the streams launches it for the first time.
    (0..20).for_each(|_| next(&devices, &number));
    assert_eq!(*number.read(), [after(20)]);
    devices.wait();
    let kernel_s = devices.profile().devices[0].kernel_s;
    assert!(0.0 < kernel_s && kernel_s < 0.1, "{kernel_s}");
    let described = devices.describe();
    let samples = described.split("chain:").nth(1).unwrap();
    assert!(samples.contains("fake (cuda): 0.00"), "{described}");
    assert!(!samples.contains("(20 samples)"), "{described}");
}

/// A program that uses CUDA itself finds the context that it has made current, or none.
#[test]
fn the_context_of_a_caller_stays_current() {
    if is_here() {
        return;
    }
    let two = ("ROVING_FAKE_CUDA_DEVICES", "2");
    for pools in ["0", "1"] {
        let settings = [two, ("ROVING_FAKE_CUDA_POOLS", pools)];
        passes("cuda::fake_tests::current_is_the_callers", &settings);
    }
}

#[test]
#[ignore = "needs the fake driver: see `the_context_of_a_caller_stays_current`"]
fn current_is_the_callers() {
    let own = CudaContext::new(1).unwrap();
    let both = [ptr::null_mut(), own.cu_ctx()];
    for (wanted, is_memory_last) in both.into_iter().flat_map(|one| [(one, false), (one, true)]) {
        // SAFETY: the context is alive, or none.
        unsafe { result::ctx::set_current(wanted) }.unwrap();
        let check = |when: &str| {
            let current = result::ctx::get_current().unwrap();
            assert_eq!(current.unwrap_or(ptr::null_mut()), wanted, "{when}");
        };
        let (device, turn) = device().unwrap();
        check("opened");
        let memory = device.alloc(100).unwrap();
        check("allocated");
        drop(device.alloc(100).unwrap());
        check("freed");
        let (first, last): (Box<dyn Any>, Box<dyn Any>) = match is_memory_last {
            true => (Box::new(device), Box::new(memory)),
            false => (Box::new(memory), Box::new(device)),
        };
        drop(first);
        check("one is gone");
        drop(last);
        check("all is gone");
        drop(turn);
    }
}

/// Also where the two cannot look at each other's memory, and where that is not of pools.
#[test]
fn copies_between_devices_are_counted_right() {
    if is_here() || !has_compiler() {
        return;
    }
    for (settings, opened) in [
        (&[][..], ["1", "0"]),
        (&[("ROVING_FAKE_CUDA_PEERS", "0")], ["0", "0"]),
        (&[("ROVING_FAKE_CUDA_POOLS", "0")], ["0", "1"]),
    ] {
        let name = "cuda::fake_tests::counted_copies_between_devices";
        let opened = [("POOLS_OPENED", opened[0]), ("CONTEXTS_OPENED", opened[1])];
        let settings = [settings, &opened, &[("ROVING_FAKE_CUDA_DEVICES", "2")]].concat();
        passes(name, &settings);
    }
}

#[test]
#[ignore = "needs the fake driver: see `copies_between_devices_are_counted_right`"]
fn counted_copies_between_devices() {
    let opened = ["cuMemPoolSetAccess", "cuCtxEnablePeerAccess"];
    for _ in 0..2 {
        sum_of_both();
    }
    assert_eq!(count("cuMemcpyPeerAsync"), 2);
    assert_eq!(count("copies that wait"), 0);
    // Each time for devices that were opened anew.
    let wanted = ["POOLS_OPENED", "CONTEXTS_OPENED"].map(|name| env::var(name).unwrap());
    assert_eq!(
        opened.map(count),
        wanted.map(|times| 2 * times.parse::<u64>().unwrap())
    );
}

#[test]
fn a_lost_device_is_told() {
    if is_here() || !has_compiler() {
        return;
    }
    for name in [
        "zz_a_lost_device_fails_all_that_is_asked_of_it",
        "zz_what_only_a_lost_device_had_is_told",
    ] {
        passes(&format!("cuda::tests::{name}"), &[]);
    }
}

/// Each of the mistakes below ends its process with these words.
#[test]
fn mistakes_are_found() {
    if is_here() {
        return;
    }
    for (name, words) in [
        (
            "mistake_of_two_streams",
            "no event and no wait orders the two",
        ),
        ("mistake_of_memory", "may still use"),
        ("mistake_of_a_device_that_stays", "there is still a context"),
    ] {
        let output = run_one(&format!("cuda::fake_tests::{name}"), &[]);
        let text = text(&output);
        assert!(!output.status.success(), "{name} was not found: {text}");
        assert!(
            text.contains("the fake CUDA driver: ") && text.contains(words),
            "{text}"
        );
    }
}

static NEXT: Kernel =
    // SAFETY: one thread looks at one number, which each launch has.
    unsafe {
        Kernel::new("next").cuda(
            "extern \"C\" __global__ void next(unsigned *number) { *number = *number * 3 + 1; }",
            "next",
            [1, 1, 1],
        )
    };
static CHAIN: Kind = Kind::new("chain");

fn next(devices: &Devices, number: &Buffer<u32>) {
    let task = Dual::new(&CHAIN, &[1])
        .updates(number)
        .gpu(async |gpu| gpu.launch(&NEXT, [1, 1, 1], &[Arg::update(number)]).await);
    task.run(devices).unwrap();
}

/// The numbers that so many kernels make of 1.
fn after(kernels: u32) -> u32 {
    (0..kernels).fold(1, |number: u32, _| number.wrapping_mul(3).wrapping_add(1))
}

#[test]
#[ignore = "needs the fake driver: see `counts_are_right`"]
fn counted_a_chain_of_kernels_waits_for_nothing() {
    let (device, _turn) = device().unwrap();
    let devices = Devices::builder()
        .backend(device)
        .choice(Choice::Gpu)
        .build()
        .unwrap();
    let number = Buffer::from(vec![1_u32]);
    next(&devices, &number);
    assert_eq!(*number.read(), [after(1)]);
    let waits = ["cuEventSynchronize", "cuStreamSynchronize"];
    let before = waits.map(count);
    // Each task comes to its end while the device does nothing.
    hold(true);
    for _ in 1..1000 {
        next(&devices, &number);
    }
    hold(false);
    assert_eq!(*number.read(), [after(1000)]);
    let now = waits.map(count);
    // Halves of what is left, and the copy back; and again for what came late.
    assert!(now[0] - before[0] <= 20, "{before:?} {now:?}");
    assert_eq!((now[1], count("round trips")), (before[1], 0));
    assert_eq!(count("cuLaunchKernel"), 1000);
    assert_eq!(
        ["cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"].map(count),
        [1, 2]
    );
    assert_eq!(count("copies that wait"), 0);
}

/// A stream is behind those that it is told to follow; else the driver would end the process.
#[test]
#[ignore = "needs the fake driver: see `counts_are_right`"]
fn counted_streams_follow_each_other_by_events() {
    let (device, _turn) = device().unwrap();
    let memory = device.alloc(4).unwrap();
    let at = |stream| On(&device, stream);
    let mut launches = Vec::new();
    let up = at(0).upload(&1_u32.to_ne_bytes(), &memory);
    for stream in 0..200 {
        device.follow(stream + 1, stream);
        launches.push(at(stream + 1).launch(&NEXT, 1, vec![buffer(&memory, 4, true)]));
    }
    let down = at(200).download(&memory, 4).right();
    up.right();
    launches.into_iter().for_each(|launch| launch.right());
    assert_eq!(down, after(200).to_ne_bytes());
    // And one for the allocation, on each of the four streams.
    assert_eq!(count("cuStreamWaitEvent"), 204);
    assert_eq!(count("copies that wait"), 0);
}

#[test]
#[ignore = "needs the fake driver: see `counts_are_right`"]
fn counted_memory_is_pinned_once_for_copies_of_a_size() {
    let (device, _turn) = device().unwrap();
    let (on, bytes) = (On(&device, 0), 100_000);
    let memory = device.alloc(bytes).unwrap();
    for round in 0..20 {
        on.upload(&vec![round; bytes], &memory).right();
        assert_eq!(on.download(&memory, bytes).right(), vec![round; bytes]);
    }
    // The piece of one may still be on its way back when the next one wants one.
    assert!((1..=2).contains(&count("cuMemHostAlloc")));
    assert_eq!(count("copies that wait"), 0);
    // More than is ever pinned.
    let large = device.alloc(65 << 20).unwrap();
    on.upload(&vec![1; 65 << 20], &large).right();
    assert_eq!(count("copies that wait"), 1);
}

#[test]
#[ignore = "needs a header: see `headers_of_the_toolkit_are_found`"]
fn included_from_the_toolkit() {
    static FOUND: Kernel =
        // SAFETY: one thread writes to one number, which the launch has.
        unsafe {
            Kernel::new("found").cuda(
                "#include <cuda_fp16.h>
                 extern \"C\" __global__ void found(unsigned *number) { *number = FOUND; }",
                "found",
                [1, 1, 1],
            )
        };
    let (device, _turn) = device().unwrap();
    let on = On(&device, 0);
    let memory = device.alloc(4).unwrap();
    on.launch(&FOUND, 1, vec![buffer(&memory, 4, true)]).right();
    assert_eq!(on.download(&memory, 4).right(), 5_u32.to_ne_bytes());
}

#[test]
#[ignore = "a mistake: ends the process"]
fn mistake_of_two_streams() {
    let context = CudaContext::new(0).unwrap();
    let streams = [(); 2].map(|()| context.new_stream().unwrap());
    let mut bytes = [0_u8; 64];
    // SAFETY: there is none, which the driver has to find: nothing orders the two copies.
    unsafe {
        let address = result::malloc_sync(64).unwrap();
        let [up, down] = streams.each_ref().map(|stream| stream.cu_stream());
        result::memcpy_htod_async(address, &[1_u8; 64], up).unwrap();
        result::memcpy_dtoh_async(&mut bytes, address, down).unwrap();
    }
}

#[test]
#[ignore = "a mistake: ends the process"]
fn mistake_of_memory() {
    let context = CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    // SAFETY: there is none, which the driver has to find: the copy may go on.
    unsafe {
        let address = result::malloc_sync(64).unwrap();
        result::memcpy_htod_async(address, &[1_u8; 64], stream.cu_stream()).unwrap();
        result::free_sync(address).unwrap();
    }
}

#[test]
#[ignore = "a mistake: ends the process"]
fn mistake_of_a_device_that_stays() {
    mem::forget(device());
}
