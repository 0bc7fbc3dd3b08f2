//! `roving run … --device` on the fake CUDA driver: the same code as with a device of NVIDIA, with
//! the routines of cuBLAS and with the kernels that stand in for them.
#![cfg(target_os = "linux")]

mod common;

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use common::{directory, text};
use serde_json::Value;

/// Programs and inputs, and whether they launch kernels.
const PROGRAMS: [(&str, &str, bool); 9] = [
    ("matmul", "128,tile=32", true),
    ("matmul", "96,tile=24,numbers=f64", true),
    ("cholesky", "96,tile=24", true),
    ("cholesky", "96,tile=24,numbers=f64", true),
    ("nbody", "128,block=32,steps=2", true),
    ("mandelbrot", "64,tile=16,most=100", true),
    ("image-pipeline", "6,side=48", true),
    ("fib", "15", false),
    ("flat", "1000", false),
];

/// A folder with these libraries, for the loader. None where the fake driver cannot build kernels.
fn with_libraries(libraries: &[&str], name: &str) -> Option<PathBuf> {
    if Command::new("c++").arg("--version").output().is_err() {
        eprintln!("skipped: there is no C++ compiler, by which the fake driver builds kernels");
        return None;
    }
    let folder = directory(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let own = env::current_exe().expect("a test has a path");
    for library in libraries {
        let link = folder.join(format!("lib{library}.so"));
        symlink(own.with_file_name("libroving_fake_cuda.so"), link).expect("a link");
    }
    Some(folder)
}

/// Where kernels that are built stay for the next process.
fn kept() -> PathBuf {
    let folder = directory("fake-cuda-kept");
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

/// Runs everything with these libraries where the loader looks.
fn all_run_with(libraries: &[&str], name: &str) {
    let Some(folder) = with_libraries(libraries, name) else {
        return;
    };
    for (program, input, launches) in PROGRAMS {
        for choice in ["gpu", "auto"] {
            let mut command = Command::new(env!("CARGO_BIN_EXE_roving"));
            command.args(["run", program, "--input", input, "--device", choice]);
            command.args(["--repeat", "2", "--profile", "--json", "-"]);
            command.env("LD_LIBRARY_PATH", &folder);
            command.env("ROVING_FAKE_CUDA_KEPT", kept());
            command.env("ROVING_GPU_HISTORY", folder.join("history.json"));
            let output = command.output().expect("the command starts");
            let said = text(&output.stderr);
            assert!(
                output.status.success(),
                "{program} {input} {choice}: {said}"
            );
            let result: Value = serde_json::from_str(&text(&output.stdout)).expect("JSON");
            assert_eq!(result["devices"], "fake (cuda)", "{result}");
            assert_eq!(result["verified"], "serial");
            let launched = result["lanes"][0]["launches"].as_u64();
            if choice == "gpu" {
                assert_eq!(launched > Some(0), launches, "{result}");
            }
            // A failure of the device would have been told, and the CPU would have done the work.
            assert!(said.is_empty(), "{program} {input} {choice}: {said}");
        }
    }
}

#[test]
fn every_program_is_right_with_the_routines() {
    all_run_with(&["cuda", "nvrtc", "cublas"], "fake-cuda-routines");
}

#[test]
fn every_program_is_right_with_its_own_kernels() {
    all_run_with(&["cuda", "nvrtc"], "fake-cuda-kernels");
}

#[cfg(feature = "rivals")]
#[test]
fn the_row_of_results_is_measured() {
    let folder = with_libraries(&["cuda", "nvrtc", "cublas"], "fake-cuda-row");
    let Some(folder) = folder else { return };
    let mut command = Command::new(env!("CARGO_BIN_EXE_roving"));
    command
        .args(["bench", "--quick", "duals-cuda", "--out"])
        .arg(&folder);
    command.env("LD_LIBRARY_PATH", &folder);
    command.env("ROVING_FAKE_CUDA_KEPT", kept());
    command.env("ROVING_GPU_HISTORY", folder.join("history.json"));
    let output = command.output().expect("the command starts");
    let said = text(&output.stderr);
    assert!(output.status.success(), "{said}");
    let csv = fs::read_to_string(folder.join("duals-cuda.csv")).expect("the CSV");
    assert_eq!(csv.matches("\nclaim,").count(), 6, "{csv}");
    let kernel = csv.lines().find(|line| line.contains("the kernel alone"));
    let value = kernel.and_then(|line| line.split("cuBLAS\",s,").nth(1));
    let value = value.and_then(|rest| rest.split(',').next()?.parse::<f64>().ok());
    assert!(value.is_some_and(|s| s > 0.0 && s.is_finite()), "{csv}");
}
