//! Runs each program in `programs/` with the compiler's own library, and again with ours, preloaded
//! and by the name of the other: the output is the same.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

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

/// The library that a program runs with.
#[derive(Clone, Copy, Debug)]
enum Library {
    /// The compiler's own.
    Theirs,
    /// Ours, in front of the other.
    Preloaded,
    /// Ours instead of the other.
    Replaced,
}

/// Where cargo has put the libraries, beside this test.
fn built() -> PathBuf {
    let own = std::env::current_exe().expect("a test has a path");
    own.parent()
        .expect("it lies in a folder of its own")
        .to_owned()
}

/// A folder with our library by this name, linked with versions as `cargo xtask install` does.
fn linked(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("as-{name}"));
    std::fs::create_dir_all(&folder).expect("there is room");
    let mut command = Command::new(gcc().expect("asked before"));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    command.arg("-L").arg(built()).arg("@libgomp.args");
    command.arg(format!("-Wl,-soname,{name}"));
    let output = command.arg("-o").arg(folder.join(name)).output();
    let output = output.expect("gcc was there before");
    assert!(output.status.success(), "{}", text(&output.stderr));
    folder
}

/// A folder with our `libgomp.so.1`.
fn replacement() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| linked("libgomp.so.1"))
}

/// Our library to preload.
fn preloaded() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    let name = "libroving_omp.so.1";
    LIBRARY.get_or_init(|| linked(name).join(name))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The compiler of C that is asked for by `ROVING_GCC`, or `gcc`; if it comes with OpenMP.
fn gcc() -> Option<&'static str> {
    static NAME: OnceLock<Option<String>> = OnceLock::new();
    let name = NAME.get_or_init(|| compiler("ROVING_GCC", &["gcc"], "probe.c"));
    if name.is_none() {
        eprintln!("skipped: gcc with OpenMP is not installed");
    }
    name.as_deref()
}

/// The first of these compilers, or that which a variable asks for, if it comes with OpenMP.
fn compiler(variable: &str, names: &[&str], probe: &str) -> Option<String> {
    let asked = std::env::var(variable);
    let names: Vec<&str> = asked.as_ref().map_or(names.to_vec(), |name| vec![name]);
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let source = tmp.join(probe);
    let empty = if probe.ends_with(".f90") {
        "end\n"
    } else {
        "int main(void) { return 0; }\n"
    };
    std::fs::write(&source, empty).expect("there is room");
    let is_there = |name: &&&str| {
        let mut command = Command::new(name);
        command.arg("-fopenmp").arg(&source).arg("-o");
        let built = command.arg(source.with_extension("probe")).output();
        built.is_ok_and(|output| output.status.success())
    };
    let found = names.iter().find(is_there).map(|name| (*name).to_owned());
    // Who asks for one wants no test that is skipped.
    assert!(
        found.is_some() || asked.is_err(),
        "{names:?} with OpenMP is not there"
    );
    found
}

/// Each program is built by one test alone: another one may be running it.
fn build(compiler: &str, flags: &[&str], name: &str) -> PathBuf {
    build_named(compiler, flags, name, &format!("{name}{}", flags.concat()))
}

fn build_named(compiler: &str, flags: &[&str], name: &str, to: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name);
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = tmp.join(to);
    let mut command = Command::new(compiler);
    command.arg("-fopenmp").arg(&source).args(flags);
    command.arg("-J").arg(tmp).arg("-o").arg(&program);
    if !compiler.contains("fortran") {
        command = Command::new(compiler);
        command.arg("-fopenmp").arg(&source).args(flags);
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

/// Runs a program in these settings alone.
fn run(program: &Path, settings: &[Setting], library: Library) -> Output {
    // What hangs is ended, and told. The settings are the program's alone.
    let mut command = Command::new("timeout");
    command.args(["120", "env"]);
    // Cargo names its folder of libraries there, in which our `libgomp.so.1` may lie.
    command.args(["-u", "LD_LIBRARY_PATH"]);
    for (name, _) in std::env::vars().filter(|(name, _)| name.contains("OMP_")) {
        command.arg("-u").arg(name);
    }
    match library {
        Library::Theirs => {}
        Library::Preloaded => {
            command.arg(format!("LD_PRELOAD={}", preloaded().display()));
        }
        Library::Replaced => {
            command.arg(format!("LD_LIBRARY_PATH={}", replacement().display()));
        }
    }
    let said = settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    command.args(said).arg(program);
    command.output().expect("it was just built")
}

/// Compares ours, preloaded, with theirs.
fn same(program: &Path, settings: &[Setting]) {
    compare(program, settings, Library::Preloaded);
}

fn compare(program: &Path, settings: &[Setting], library: Library) {
    let theirs = run(program, settings, Library::Theirs);
    let ours = run(program, settings, library);
    let told = text(&ours.stderr);
    let case = format!("{} {settings:?} {library:?}: {told}", program.display());
    assert_eq!(ours.status, theirs.status, "{case}");
    assert_eq!(text(&ours.stdout), text(&theirs.stdout), "{case}");
    assert!(!theirs.stdout.is_empty(), "{case}: it says something");
    // Above all, the dynamic linker has nothing to say.
    if let Library::Replaced = library {
        assert_eq!(told, text(&theirs.stderr), "{case}");
    }
}

/// Builds a program of C in two ways, and compares it in each setting.
fn compares(name: &str) {
    let Some(gcc) = gcc() else { return };
    same(&build(gcc, &["-O0"], name), &[]);
    let program = build(gcc, &["-O2"], name);
    for settings in SETTINGS {
        same(&program, settings);
    }
    compare(&program, SETTINGS[2], Library::Replaced);
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
fn allocators() {
    compares("allocators.c");
}

/// Those of GCC 12 and 14 do not agree on it.
#[test]
fn there_is_no_rare_memory() {
    let Some(gcc) = gcc() else { return };
    let program = build_named(gcc, &[], "allocators.c", "rare");
    let mut command = Command::new(program);
    command.arg("rare");
    command.env("LD_PRELOAD", preloaded());
    let said = text(&command.output().expect("it was just built").stdout);
    assert_eq!(
        said,
        "{omp_atk_pinned, omp_atv_true}: none\nof high bandwidth: 0\n"
    );
}

#[test]
fn tasks() {
    compares("tasks.c");
}

#[test]
fn target() {
    compares("target.c");
}

#[test]
fn depend() {
    compares("depend.c");
}

/// The compiler that is there may have no word for it, and its own library not know it.
#[test]
fn all_memory() {
    let Some(gcc) = gcc() else { return };
    let program = build(gcc, &["-O1"], "memory.c");
    for settings in SETTINGS {
        let output = run(&program, settings, Library::Preloaded);
        let told = text(&output.stdout);
        assert_eq!(told, "30 rounds, 0 wrong\n", "{settings:?}");
    }
}

/// As `all_memory`. The library that is there does not have all that is called, so the program is
/// linked with ours by the name of the other.
#[test]
fn what_later_compilers_call() {
    let Some(gcc) = gcc() else { return };
    let library = replacement().join("libgomp.so.1");
    let flags = ["-O1", &library.display().to_string()];
    let program = build_named(gcc, &flags, "later.c", "later");
    for settings in SETTINGS {
        let output = run(&program, settings, Library::Replaced);
        let told = text(&output.stdout) + &text(&output.stderr);
        let expected = "taskwait: 50 of 50\n\
                        copies: 0 wrong, told 0, at once 0, elsewhere 1\n\
                        events: 11 11\n\
                        in a task: 1, and then 0\n\
                        same: 1 1, there: 1 0\n\
                        code: 1\n\
                        noted: 0 1 and then 0\n";
        assert_eq!(told, expected, "{settings:?}");
    }
}

/// Where devices are asked for and the host is not meant, the program ends.
#[test]
fn devices_that_are_asked_for() {
    let Some(gcc) = gcc() else { return };
    let program = build_named(gcc, &[], "target.c", "asked");
    for offload in ["disabled", "default"] {
        compare(
            &program,
            &[("OMP_TARGET_OFFLOAD", offload)],
            Library::Replaced,
        );
    }
    // That of GCC 12 goes on until another device is meant.
    let settings = [("OMP_TARGET_OFFLOAD", "mandatory")];
    let theirs = run(&program, &settings, Library::Theirs);
    let ours = run(&program, &settings, Library::Replaced);
    assert_eq!(ours.status.code(), Some(1));
    assert_eq!(ours.status, theirs.status);
    assert_eq!(text(&ours.stdout), "", "it went on");
    let told = "OMP_TARGET_OFFLOAD is set to MANDATORY";
    assert!(text(&ours.stderr).contains(told) && text(&theirs.stderr).contains(told));
    let host = [settings[0], ("OMP_DEFAULT_DEVICE", "0")];
    compare(&program, &host, Library::Replaced);
}

#[test]
fn nested() {
    compares("nested.c");
    // Inner regions get threads where processors are free; this machine may have none.
    if let Some(gcc) = gcc() {
        let program = build(gcc, &["-O1"], "nested.c");
        for processors in ["3", "6", "64"] {
            same(&program, &[("ROVING_OMP_PROCESSORS", processors)]);
        }
    }
}

#[test]
fn fortran() {
    let names = ["gfortran", "gfortran-14", "gfortran-13", "gfortran-12"];
    let Some(gfortran) = compiler("ROVING_GFORTRAN", &names, "probe.f90") else {
        eprintln!("skipped: gfortran is not installed");
        return;
    };
    let program = build(&gfortran, &["-O1"], "fortran.f90");
    for settings in SETTINGS {
        same(&program, settings);
    }
    compare(&program, SETTINGS[2], Library::Replaced);
}

/// Roots, forks and ends: what is not there with the other library to compare with in any order.
#[test]
fn roots() {
    compares("roots.c");
}

/// A wrong value in the environment is told as the other library tells it, and left out.
#[test]
fn wrong_values_are_told() {
    let Some(gcc) = gcc() else { return };
    let program = build(gcc, &["-O1"], "control.c");
    let wrong: [Setting; 17] = [
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
        ("OMP_ALLOCATOR", "large"),
    ];
    for setting in wrong {
        same(&program, &[setting]);
        let theirs = text(&run(&program, &[setting], Library::Theirs).stderr);
        let ours = text(&run(&program, &[setting], Library::Preloaded).stderr);
        // The other library is loaded as well, and says it, too: so it is there twice. That of
        // GCC 13 and later says the value as well.
        let (name, own) = (setting.0, ours.strip_prefix(&theirs).unwrap_or_default());
        let after = theirs.split(name).last().unwrap_or_default();
        assert!(own.contains(name) && theirs.contains(name), "{setting:?}");
        assert!(
            own == theirs || !after.trim().is_empty(),
            "{setting:?}: {ours}"
        );
    }
}

/// The settings are shown as the other library shows them.
#[test]
fn the_environment_is_shown() {
    let Some(gcc) = gcc() else { return };
    let program = build_named(gcc, &[], "control.c", "shown");
    // That of GCC 13 and later shows 1 thread and 1 level where nothing is said of them.
    let shown: [&[Setting]; 4] = [
        &[("OMP_NUM_THREADS", "2")],
        &[
            ("OMP_NUM_THREADS", "4"),
            ("OMP_ALLOCATOR", "Omp_Const_Mem_Alloc"),
        ],
        &[
            ("OMP_NUM_THREADS", "3,2"),
            ("OMP_MAX_ACTIVE_LEVELS", "7"),
            ("OMP_SCHEDULE", "guided,4"),
        ],
        &[
            ("OMP_NUM_THREADS", "2"),
            ("OMP_MAX_ACTIVE_LEVELS", "1"),
            ("OMP_STACKSIZE", "3M"),
            ("OMP_PROC_BIND", "close,spread"),
        ],
    ];
    for settings in shown {
        let settings = [settings, &[("OMP_DISPLAY_ENV", "true")]].concat();
        let theirs = text(&run(&program, &settings, Library::Theirs).stderr);
        let ours = text(&run(&program, &settings, Library::Preloaded).stderr);
        assert!(theirs.contains("OMP_NUM_THREADS"), "{theirs}");
        let own = ours.strip_prefix(&theirs).unwrap_or_default();
        assert_eq!(plain(own), plain(&theirs), "{settings:?}");
        let ours = text(&run(&program, &settings, Library::Replaced).stderr);
        assert_eq!(ours, own, "{settings:?}");
    }
}

/// The library of GCC 13 and later says for which devices a setting is.
fn plain(shown: &str) -> String {
    shown.replace("[host] ", "").replace("[all] ", "")
}

/// A function that is not implemented says its name.
#[test]
fn what_is_missing_stops_the_program() {
    let Some(gcc) = gcc() else { return };
    let program = build(gcc, &["-O0"], "missing.c");
    let output = run(&program, &[], Library::Preloaded);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("GOMP_parallel_start is not implemented"),
        "{told}"
    );
    assert!(output.stdout.is_empty(), "it went on");
}

/// The watch names what cannot go on, and nobody else does.
#[test]
fn a_barrier_inside_of_a_task_is_named() {
    let Some(gcc) = gcc() else { return };
    let stuck = build(gcc, &["-O1"], "stuck.c");
    let fine = build_named(gcc, &[], "regions.c", "watched");
    for library in [Library::Preloaded, Library::Replaced] {
        let named = "has come to a barrier inside of a task";
        let watched = [("ROVING_WATCH", "1")];
        let told = |program, settings| text(&run(program, settings, library).stderr);
        assert_eq!(told(&stuck, &watched).matches(named).count(), 1);
        assert!(!told(&stuck, &[]).contains(named));
        assert!(!told(&fine, &watched).contains(named));
    }
}

/// The functions come from where they should, by each way to get them.
#[test]
fn programs_are_run_by_the_library_that_is_meant() {
    let Some(gcc) = gcc() else { return };
    let whose = |program: &Path, library| {
        let output = run(program, &[("OMP_DYNAMIC", "false")], library);
        let told = text(&output.stderr);
        assert!(output.status.success() && told.is_empty(), "{told}");
        text(&output.stdout)
    };
    let program = build(gcc, &["-O1"], "whose.c");
    let theirs = whose(&program, Library::Theirs);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent();
    let target = target.expect("a folder of cargo's").display().to_string();
    let is_theirs = theirs.contains("libgomp.so.1") && !theirs.contains(&target);
    assert!(is_theirs, "{theirs}");
    let from = preloaded().display().to_string();
    let found = whose(&program, Library::Preloaded);
    assert_eq!(found, format!("2 {from}\n"));
    let replaced = replacement().join("libgomp.so.1");
    let found = whose(&program, Library::Replaced);
    assert_eq!(found, format!("2 {}\n", replaced.display()));
    // Linked with it, in front of the other: found by its own name with a number.
    let folder = preloaded().parent().expect("a file is in a folder");
    let path = format!("-Wl,-rpath,{}", folder.display());
    let program = build_named(gcc, &[&from, &path], "whose.c", "whose-linked");
    let found = whose(&program, Library::Theirs);
    assert_eq!(found, format!("2 {from}\n"));
}

/// Calls that a version says to be for another runtime are not taken from that.
#[test]
fn another_runtime_keeps_its_calls() {
    let Some(gcc) = gcc() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let versions = folder.join("other.map");
    std::fs::write(&versions, "VERSION { global: omp_*; };\n").expect("there is room");
    let script = format!("-Wl,--version-script={}", versions.display());
    let flags = ["-shared", "-fPIC", "-fno-openmp", "-DOTHER", &script];
    let other = build_named(gcc, &flags, "beside.c", "libother.so");
    let other = other.display().to_string();
    let path = format!("-Wl,-rpath,{}", folder.display());
    let program = build_named(
        gcc,
        &["-Wl,--no-as-needed", &other, &path],
        "beside.c",
        "beside",
    );
    for library in [Library::Theirs, Library::Preloaded, Library::Replaced] {
        let told = text(&run(&program, &[], library).stdout);
        assert_eq!(told, "3 threads, the other's 42\n", "{library:?}");
    }
}

/// Each function of theirs is one of ours, with the same version; and each of ours has one.
#[test]
fn functions_have_the_versions_of_theirs() {
    let Some(gcc) = gcc() else { return };
    let functions = |library: &Path| -> Vec<String> {
        let mut command = Command::new("nm");
        command.args(["-D", "--defined-only"]).arg(library);
        let output = command.output().expect("it is a part of the linker");
        assert!(output.status.success(), "{}", text(&output.stderr));
        let told = text(&output.stdout);
        let line = |line: &str| match line.split_whitespace().collect::<Vec<_>>()[..] {
            [_, "T" | "i" | "W", name] => Some(name.to_owned()),
            _ => None,
        };
        told.lines().filter_map(line).collect()
    };
    let of_compiler = Command::new(gcc)
        .arg("-print-file-name=libgomp.so.1")
        .output();
    let of_compiler = text(&of_compiler.expect("it was there before").stdout);
    let theirs = functions(Path::new(of_compiler.trim()));
    let replaced = functions(&replacement().join("libgomp.so.1"));
    // For accelerators there is nothing. A version that the map does not have came after GCC 14.
    let map = include_str!("../libgomp.map");
    let is_meant = |name: &&String| match name.split_once("@@") {
        Some((name, version)) => {
            let is_other = ["acc_", "GOACC_", "GOMP_PLUGIN_"];
            !is_other.iter().any(|other| name.starts_with(other))
                && map.contains(&format!("\n{version} {{"))
        }
        None => false,
    };
    let missing: Vec<_> = theirs
        .iter()
        .filter(is_meant)
        .filter(|name| !replaced.contains(name))
        .collect();
    assert!(theirs.iter().filter(is_meant).count() > 200, "{theirs:?}");
    assert_eq!(missing, Vec::<&String>::new());
    let mut names: Vec<_> = replaced
        .iter()
        .filter_map(|name| Some(name.split_once("@@")?.0.to_owned()))
        .collect();
    // As cargo links it, without versions.
    let mut exported = functions(&built().join("libroving_omp.so"));
    exported.sort();
    names.sort();
    assert_eq!(names, exported, "libgomp.map has all of them");
}

/// The other library's child stands still, so there is nothing to compare with.
#[test]
fn a_child_can_use_threads_again() {
    let Some(gcc) = gcc() else { return };
    let program = build(gcc, &["-O1"], "forked.c");
    let line = |name, threads| format!("{name}: {threads} threads, 499500, 610\n");
    let grandchild = line("grandchild", 4) + &line("grandchild", 2);
    let child = line("child", 4) + &grandchild + &line("child", 2);
    let expected = line("parent", 3) + &child.repeat(3) + &line("parent", 3);
    for library in [Library::Preloaded, Library::Replaced] {
        for policy in ["active", "passive"] {
            let output = run(&program, &[("OMP_WAIT_POLICY", policy)], library);
            assert_eq!(text(&output.stdout), expected, "{library:?} {policy}");
            assert!(output.status.success(), "{library:?} {policy}");
        }
    }
}

/// Threads stay when what has used them is closed, and so does the library. The other one is gone
/// then, and its threads with it, if they are in time: there is nothing to compare with.
#[test]
fn a_part_is_loaded_and_closed() {
    let Some(gcc) = gcc() else { return };
    build(gcc, &["-shared", "-fPIC", "-DPART"], "closed.c");
    let program = build(gcc, &["-fno-openmp"], "closed.c");
    for settings in SETTINGS {
        for library in [Library::Preloaded, Library::Replaced] {
            let output = run(&program, settings, library);
            let case = format!("{settings:?} {library:?}: {}", text(&output.stderr));
            // Loaded anew each time: it begins to count its calls.
            assert_eq!(
                text(&output.stdout),
                "4996001 4996002\n".repeat(5),
                "{case}"
            );
            assert!(output.status.success(), "{case}");
        }
    }
}
