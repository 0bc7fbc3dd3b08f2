//! Builds programs of C and Fortran, runs them with either library, and compares what they say.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// A variable of the environment, and its value.
pub(super) type Setting = (&'static str, &'static str);

/// Each program runs in each of these.
pub(super) const SETTINGS: [&[Setting]; 6] = [
    &[],
    &[("OMP_NUM_THREADS", "1")],
    &[("OMP_NUM_THREADS", "3"), ("OMP_SCHEDULE", "static,2")],
    &[("OMP_SCHEDULE", "guided"), ("OMP_CANCELLATION", "true")],
    &[("OMP_WAIT_POLICY", "passive"), ("OMP_NUM_THREADS", "4")],
    &[("GOMP_SPINCOUNT", "100"), ("OMP_THREAD_LIMIT", "3")],
];

/// The library that a program runs with.
#[derive(Clone, Copy, Debug)]
pub(super) enum Library {
    /// The compiler's own.
    Theirs,
    /// Ours, in front of the other.
    Preloaded,
    /// Ours instead of the other.
    Replaced,
}

/// Where cargo has put the libraries, beside this test.
pub(super) fn built() -> PathBuf {
    let own = std::env::current_exe().expect("a test has a path");
    own.parent()
        .expect("it lies in a folder of its own")
        .to_owned()
}

/// A folder with our library by this name, linked with versions as `cargo xtask install` does.
pub(super) fn linked(name: &str) -> PathBuf {
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
pub(super) fn replacement() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| linked("libgomp.so.1"))
}

/// Our library to preload.
pub(super) fn preloaded() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    let name = "libroving_omp.so.1";
    LIBRARY.get_or_init(|| linked(name).join(name))
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The compiler of C that is asked for by `ROVING_GCC`, or `gcc`; if it comes with OpenMP.
pub(super) fn gcc() -> Option<&'static str> {
    static NAME: OnceLock<Option<String>> = OnceLock::new();
    let name = NAME.get_or_init(|| compiler("ROVING_GCC", &["gcc"], "probe.c"));
    if name.is_none() {
        eprintln!("skipped: gcc with OpenMP is not installed");
    }
    name.as_deref()
}

/// Whether [`gcc`] knows the words of that release. A test of them is skipped otherwise.
pub(super) fn knows(release: u32) -> bool {
    let Some(gcc) = gcc() else { return false };
    let output = Command::new(gcc).arg("-dumpversion").output();
    let version = text(&output.expect("it was there before").stdout);
    let own = version
        .trim()
        .split('.')
        .next()
        .and_then(|own| own.parse().ok());
    let knows = own.is_none_or(|own: u32| own >= release);
    if !knows {
        eprintln!("skipped: {gcc} is older than GCC {release}");
    }
    knows
}

/// The first of these compilers, or that which a variable asks for, if it comes with OpenMP.
pub(super) fn compiler(variable: &str, names: &[&str], probe: &str) -> Option<String> {
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
pub(super) fn build(compiler: &str, flags: &[&str], name: &str) -> PathBuf {
    build_named(compiler, flags, name, &format!("{name}{}", flags.concat()))
}

pub(super) fn build_named(compiler: &str, flags: &[&str], name: &str, to: &str) -> PathBuf {
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
pub(super) fn run(program: &Path, settings: &[Setting], library: Library) -> Output {
    let mut command = command(program, settings, library);
    command.output().expect("it was just built")
}

/// Runs a program until it has said enough on standard error, or to its end, and returns that.
pub(super) fn told_until(command: &mut Command, is_enough: impl Fn(&str) -> bool) -> String {
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it was just built");
    let mut said = BufReader::new(child.stderr.take().expect("it is piped"));
    let mut told = String::new();
    while said.read_line(&mut told).expect("it is text") > 0 {
        if is_enough(&told) {
            // By a signal that `timeout` hands on.
            let sent = Command::new("kill").arg(child.id().to_string()).status();
            assert!(sent.expect("kill starts").success());
            break;
        }
    }
    said.read_to_string(&mut told).expect("it is text");
    child.wait().expect("it ends");
    told
}

/// A program in these settings alone.
pub(super) fn command(program: &Path, settings: &[Setting], library: Library) -> Command {
    // What hangs is ended, and told. The settings are the program's alone.
    let mut command = Command::new("timeout");
    command.args(["600", "env"]);
    // Cargo names its folder of libraries there, in which our `libgomp.so.1` may lie.
    command.args(["-u", "LD_LIBRARY_PATH"]);
    for (name, _) in std::env::vars().filter(|(name, _)| name.contains("OMP_")) {
        command.arg("-u").arg(name);
    }
    match library {
        // It looks around for long before it sleeps, also where other programs have the processors:
        // then that is where nearly all of the time goes.
        Library::Theirs if settings.iter().all(|(name, _)| *name != "GOMP_SPINCOUNT") => {
            command.arg("GOMP_SPINCOUNT=0");
        }
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
    command
}

/// Compares ours, preloaded, with theirs.
pub(super) fn same(program: &Path, settings: &[Setting]) {
    compare(program, settings, Library::Preloaded);
}

pub(super) fn compare(program: &Path, settings: &[Setting], library: Library) {
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
