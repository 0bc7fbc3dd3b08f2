//! Runs each program in `programs/` with the compiler's own library, and again with ours preloaded:
//! the output is the same.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A variable of the environment, and its value.
type Setting = (&'static str, &'static str);

/// Each program runs in each of these.
const SETTINGS: [&[Setting]; 6] = [
    &[],
    &[("OMP_NUM_THREADS", "1")],
    &[("OMP_NUM_THREADS", "3"), ("OMP_SCHEDULE", "static,2")],
    &[("OMP_SCHEDULE", "guided"), ("OMP_CANCELLATION", "true")],
    &[("OMP_WAIT_POLICY", "passive"), ("OMP_NUM_THREADS", "4")],
    &[("GOMP_SPINCOUNT", "100"), ("OMP_THREAD_LIMIT", "3")],
];

/// Where cargo has put the library, beside this test.
fn library() -> PathBuf {
    let own = std::env::current_exe().expect("a test has a path");
    own.with_file_name("libroving_omp.so")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The first of these compilers that is there and comes with OpenMP.
fn compiler(names: &[&'static str], probe: &str) -> Option<&'static str> {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = tmp.join(probe);
    let empty = if probe.ends_with(".f90") {
        "end\n"
    } else {
        "int main(void) { return 0; }\n"
    };
    std::fs::write(&source, empty).expect("there is room");
    names.iter().copied().find(|name| {
        let mut command = Command::new(name);
        command.arg("-fopenmp").arg(&source).arg("-o");
        let built = command.arg(source.with_extension("probe")).output();
        built.is_ok_and(|output| output.status.success())
    })
}

fn build(compiler: &str, flags: &[&str], name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name);
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = tmp.join(format!("{name}{}", flags.concat()));
    let mut command = Command::new(compiler);
    command.arg("-fopenmp").args(flags).arg(&source);
    command.arg("-J").arg(tmp).arg("-o").arg(&program);
    if !compiler.contains("fortran") {
        command = Command::new(compiler);
        command.arg("-fopenmp").args(flags).arg(&source);
        command.arg("-o").arg(&program);
    }
    let output = command.output().expect("the compiler was there before");
    let told = text(&output.stderr);
    assert!(
        output.status.success(),
        "{compiler} {flags:?} {name}:\n{told}"
    );
    program
}

/// Runs a program in these settings alone, with ours or without.
fn run(program: &Path, settings: &[Setting], ours: bool) -> Output {
    // What hangs is ended, and told. The settings are the program's alone.
    let mut command = Command::new("timeout");
    command.args(["120", "env"]);
    for (name, _) in std::env::vars().filter(|(name, _)| name.contains("OMP_")) {
        command.arg("-u").arg(name);
    }
    if ours {
        command.arg(format!("LD_PRELOAD={}", library().display()));
    }
    let said = settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    command.args(said).arg(program);
    command.output().expect("it was just built")
}

fn same(program: &Path, settings: &[Setting]) {
    let theirs = run(program, settings, false);
    let ours = run(program, settings, true);
    let name = program.display();
    let told = text(&ours.stderr);
    assert_eq!(ours.status, theirs.status, "{name} {settings:?}: {told}");
    assert_eq!(
        text(&ours.stdout),
        text(&theirs.stdout),
        "{name} {settings:?}: {told}"
    );
    assert!(!theirs.stdout.is_empty(), "{name} says something");
}

/// Builds a program of C in two ways, and compares it in each setting.
fn compares(name: &str) {
    let Some(gcc) = compiler(&["gcc"], &format!("{name}.probe.c")) else {
        eprintln!("skipped: gcc with OpenMP is not installed");
        return;
    };
    same(&build(gcc, &["-O0"], name), &[]);
    let program = build(gcc, &["-O2"], name);
    for settings in SETTINGS {
        same(&program, settings);
    }
}

#[test]
fn regions() {
    compares("regions.c");
}

#[test]
fn loops() {
    compares("loops.c");
}

#[test]
fn control() {
    compares("control.c");
}

#[test]
fn tasks() {
    compares("tasks.c");
}

#[test]
fn depend() {
    compares("depend.c");
}

/// The compiler that is there may have no word for it, and its own library not know it.
#[test]
fn all_memory() {
    let Some(gcc) = compiler(&["gcc"], "memory.probe.c") else {
        eprintln!("skipped: gcc with OpenMP is not installed");
        return;
    };
    let program = build(gcc, &["-O1"], "memory.c");
    for settings in SETTINGS {
        let output = run(&program, settings, true);
        let told = text(&output.stdout);
        assert_eq!(told, "30 rounds, 0 wrong\n", "{settings:?}");
    }
}

#[test]
fn nested() {
    compares("nested.c");
    // Inner regions get threads where processors are free; this machine may have none.
    if let Some(gcc) = compiler(&["gcc"], "nested.probe.c") {
        let program = build(gcc, &["-O1"], "nested.c");
        for processors in ["3", "6", "64"] {
            same(&program, &[("ROVING_OMP_PROCESSORS", processors)]);
        }
    }
}

#[test]
fn fortran() {
    let names = ["gfortran", "gfortran-14", "gfortran-13", "gfortran-12"];
    let Some(gfortran) = compiler(&names, "fortran.probe.f90") else {
        eprintln!("skipped: gfortran is not installed");
        return;
    };
    let program = build(gfortran, &["-O1"], "fortran.f90");
    for settings in SETTINGS {
        same(&program, settings);
    }
}

/// Roots, forks and ends: what is not there with the other library to compare with in any order.
#[test]
fn roots() {
    compares("roots.c");
}

/// A wrong value in the environment is told as the other library tells it, and left out.
#[test]
fn wrong_values_are_told() {
    let Some(gcc) = compiler(&["gcc"], "wrong.probe.c") else {
        eprintln!("skipped: gcc with OpenMP is not installed");
        return;
    };
    let program = build(gcc, &["-O1"], "control.c");
    let wrong: [Setting; 16] = [
        ("OMP_NUM_THREADS", "abc"),
        ("OMP_NUM_THREADS", "0"),
        ("OMP_NUM_THREADS", "3,x"),
        ("OMP_SCHEDULE", "foo"),
        ("OMP_SCHEDULE", "dynamic,x"),
        ("OMP_DYNAMIC", "maybe"),
        ("OMP_STACKSIZE", "1Z"),
        ("OMP_WAIT_POLICY", "x"),
        ("OMP_MAX_ACTIVE_LEVELS", "-1"),
        ("OMP_THREAD_LIMIT", "0"),
        ("GOMP_SPINCOUNT", "q"),
        ("OMP_PROC_BIND", "x"),
        ("OMP_PLACES", "foo"),
        ("OMP_CANCELLATION", "x"),
        ("OMP_DISPLAY_ENV", "x"),
        ("OMP_DEFAULT_DEVICE", "-1"),
    ];
    for setting in wrong {
        same(&program, &[setting]);
        let theirs = text(&run(&program, &[setting], false).stderr);
        let ours = text(&run(&program, &[setting], true).stderr);
        // The other library is loaded as well, and says it, too: so it is there twice.
        assert!(!theirs.is_empty(), "{setting:?}");
        assert_eq!(ours, theirs.repeat(2), "{setting:?}");
    }
}

/// The settings are shown as the other library shows them.
#[test]
fn the_environment_is_shown() {
    let Some(gcc) = compiler(&["gcc"], "shown.probe.c") else {
        eprintln!("skipped: gcc with OpenMP is not installed");
        return;
    };
    let program = build(gcc, &["-O0"], "control.c");
    let shown: [&[Setting]; 3] = [
        &[],
        &[("OMP_NUM_THREADS", "3,2"), ("OMP_SCHEDULE", "guided,4")],
        &[("OMP_STACKSIZE", "3M"), ("OMP_PROC_BIND", "close,spread")],
    ];
    for settings in shown {
        let settings = [settings, &[("OMP_DISPLAY_ENV", "true")]].concat();
        let theirs = text(&run(&program, &settings, false).stderr);
        let ours = text(&run(&program, &settings, true).stderr);
        assert!(theirs.contains("OMP_NUM_THREADS"), "{theirs}");
        assert_eq!(ours, theirs.repeat(2), "{settings:?}");
    }
}

/// A function that is not implemented says its name.
#[test]
fn what_is_missing_stops_the_program() {
    let Some(gcc) = compiler(&["gcc"], "missing.probe.c") else {
        eprintln!("skipped: gcc with OpenMP is not installed");
        return;
    };
    let program = build(gcc, &["-O0"], "missing.c");
    let output = run(&program, &[], true);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("GOMP_parallel_start is not implemented"),
        "{told}"
    );
    assert!(output.stdout.is_empty(), "it went on");
}
