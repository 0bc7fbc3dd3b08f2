//! Compiles the rivals that are written in C++, where that is possible, and notes which versions
//! of the rivals and of the compiler this binary is made with. Nothing here can fail the build:
//! a rival that cannot be built is left out, and `roving compare` says why.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the versions of the Rust rivals stand.
const LOCK: &str = "../../Cargo.lock";

/// A rival in C++.
struct Program {
    /// The prefix of its variables.
    key: &'static str,
    source: &'static str,
    flags: &'static [&'static str],
    /// The header that the compiler misses when the library is not there, and the package to
    /// install.
    header: &'static str,
    remedy: &'static str,
}

const PROGRAMS: [Program; 2] = [
    Program {
        key: "TBB",
        source: "cpp/tbb.cpp",
        flags: &["-ltbb", "-pthread"],
        header: "tbb/",
        remedy: "oneTBB's headers (Debian's libtbb-dev) were not found",
    },
    Program {
        key: "OPENMP",
        source: "cpp/openmp.cpp",
        flags: &["-fopenmp"],
        header: "omp.h",
        remedy: "the compiler's OpenMP (omp.h) was not found",
    },
];

fn main() {
    for path in ["build.rs", "cpp", LOCK] {
        if Path::new(path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    println!("cargo::rerun-if-env-changed=CXX");
    note(
        "RUSTC_VERSION",
        &first_line(&variable("RUSTC"), &["--version"]).unwrap_or_default(),
    );
    note("CARGO_PROFILE", &profile().unwrap_or_default());
    if env::var_os("CARGO_FEATURE_RIVALS").is_none() {
        return;
    }
    let lock = fs::read_to_string(LOCK).unwrap_or_default();
    for package in [
        "rayon",
        "chili",
        "forte",
        "tokio",
        "crossbeam-channel",
        "lz4_flex",
    ] {
        let version = locked_version(&lock, package).unwrap_or("of unknown version");
        let key = package.to_uppercase().replace('-', "_");
        note(&format!("{key}_VERSION"), version);
    }
    std::thread::scope(|scope| {
        let builds = PROGRAMS
            .each_ref()
            .map(|program| (program, scope.spawn(|| compile(program))));
        for (program, build) in builds {
            let built = build
                .join()
                .unwrap_or_else(|_| Err("its build script panicked".into()));
            let (path, version, absent) = match built {
                Ok((path, version)) => (path.display().to_string(), version, String::new()),
                Err(why) => (String::new(), String::new(), why),
            };
            note(&format!("{}_PROGRAM", program.key), &path);
            note(&format!("{}_VERSION", program.key), &version);
            note(&format!("{}_ABSENT", program.key), &absent);
        }
    });
}

/// A variable that the crate reads with `env!`.
fn note(key: &str, value: &str) {
    println!("cargo::rustc-env=ROVING_{key}={value}");
}

/// The folder below `target` in which this is built: it has the name of the profile.
fn profile() -> Option<String> {
    let folder = variable("OUT_DIR");
    let folder = Path::new(&folder).ancestors().nth(3)?.file_name()?;
    Some(folder.to_string_lossy().into_owned())
}

fn variable(key: &str) -> String {
    env::var(key).unwrap_or_default()
}

/// The version of `package` in a lock file.
fn locked_version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    lines
        .nth(1)?
        .strip_prefix("version = \"")?
        .strip_suffix('"')
}

/// Builds one program; its path and the version of its runtime, or why there is none.
fn compile(program: &Program) -> Result<(PathBuf, String), String> {
    if variable("TARGET") != variable("HOST") {
        return Err("this binary was built on another kind of machine".into());
    }
    let compiler = env::var("CXX").unwrap_or_else(|_| "g++".into());
    let name = format!(
        "rival-{}{}",
        program.key.to_lowercase(),
        env::consts::EXE_SUFFIX
    );
    let path = Path::new(&variable("OUT_DIR")).join(name);
    let output = Command::new(&compiler)
        .args(["-O3", "-std=c++17", program.source, "-o"])
        .arg(&path)
        .args(program.flags)
        .output()
        .map_err(|_| format!("`{compiler}` was not found when this binary was built"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let error = said
            .lines()
            .find(|line| line.contains("error"))
            .unwrap_or("it said nothing");
        if error.contains(program.header) {
            return Err(format!("{} when this binary was built", program.remedy));
        }
        return Err(format!("`{compiler}` could not build it: {}", error.trim()));
    }
    let version = first_line(&path.display().to_string(), &["version"])
        .ok_or("its program does not start on the machine that built it")?;
    Ok((path, version))
}

/// The first line that a command prints.
fn first_line(command: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(command).args(arguments).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?;
    output
        .status
        .success()
        .then(|| said.lines().next().unwrap_or_default().to_owned())
}
