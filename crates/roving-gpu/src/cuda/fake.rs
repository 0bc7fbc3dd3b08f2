//! The other tests of this back-end once more, each time in a process whose loader finds the fake
//! CUDA driver; and mistakes, which that driver has to find.
#![allow(unsafe_code)] // mistakes that cannot be made without

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::{env, fs, mem, process};

use cudarc::driver::{CudaContext, result};

use super::tests::device;

/// Says in which of our processes a test runs.
const CHILD: &str = "ROVING_FAKE_CUDA_CHILD";

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
    let folder = env::temp_dir().join(format!("roving-gpu-fake-{}", process::id()));
    fs::create_dir_all(&folder).unwrap();
    for name in ["cuda", "nvrtc", "cublas"] {
        // Tests of this process share the folder.
        let _ = symlink(library(), folder.join(format!("lib{name}.so")));
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(filter)
        .args(["--test-threads=1", "--nocapture"]);
    command.env("LD_LIBRARY_PATH", &folder).env(CHILD, "1");
    command.envs(settings.iter().copied());
    command.output().unwrap()
}

fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    format!("{out}\n{err}")
}

fn has_compiler() -> bool {
    let there = Command::new("c++").arg("--version").output().is_ok();
    if !there {
        eprintln!("skipped: there is no C++ compiler, by which the fake driver builds kernels");
    }
    there
}

/// All of them, with one device and with two, with memory in the order of streams and without.
#[test]
fn all_tests_of_the_back_end_pass() {
    if is_here() || !has_compiler() {
        return;
    }
    for settings in [
        &[][..],
        &[("ROVING_FAKE_CUDA_POOLS", "0")],
        &[("ROVING_FAKE_CUDA_DEVICES", "2")],
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

#[test]
fn a_lost_device_is_told() {
    if is_here() || !has_compiler() {
        return;
    }
    let output = run(&["cuda::tests::zz_", "--ignored"], &[]);
    let text = text(&output);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
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
        let output = run(
            &[&format!("cuda::fake::{name}"), "--exact", "--ignored"],
            &[],
        );
        let text = text(&output);
        assert!(!output.status.success(), "{name} was not found: {text}");
        assert!(
            text.contains("the fake CUDA driver: ") && text.contains(words),
            "{text}"
        );
    }
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
