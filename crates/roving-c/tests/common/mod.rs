//! Builds the programs in `tests/programs/` and runs them: what the tests of this crate share.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Werror", "-pedantic"];
/// The libraries of the system that a program of the static library needs.
const SYSTEM: [&str; 4] = ["-lpthread", "-ldl", "-lm", "-lrt"];

/// As users build, and as they look for mistakes.
pub(crate) const PLAIN: [&[&str]; 2] = [&["-O1"], &["-O2", "-DNDEBUG"]];
const ADDRESS: &[&str] = &[
    "-g",
    "-O1",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
];
const THREAD: &[&str] = &["-g", "-O1", "-fsanitize=thread"];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Language {
    C,
    Cpp(&'static str),
}

impl Language {
    fn compilers(self) -> [&'static str; 2] {
        match self {
            Language::C => ["gcc", "clang"],
            Language::Cpp(_) => ["g++", "clang++"],
        }
    }

    fn standard(self) -> &'static str {
        match self {
            Language::C => "-std=c11",
            Language::Cpp(standard) => standard,
        }
    }
}

/// Where cargo has put the library, beside this test.
fn libraries() -> PathBuf {
    let own = std::env::current_exe().expect("a test has a path");
    own.parent().expect("it lies in a folder").to_owned()
}

/// The program with the library that it was linked with: cargo names a folder first in which an
/// older one may lie.
pub(crate) fn run_of(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", libraries());
    command
}

/// A program, or why there is none.
pub(crate) struct Built {
    pub(crate) program: PathBuf,
    pub(crate) succeeded: bool,
    pub(crate) told: String,
}

/// Compiles, and links with the static library, or with the other if `shared`.
pub(crate) fn compile(
    compiler: &str,
    language: Language,
    flags: &[&str],
    source: &Path,
    shared: bool,
) -> Built {
    let name = format!(
        "{}-{compiler}{}",
        source.file_name().unwrap().to_string_lossy(),
        flags.concat().replace([',', '='], "-")
    );
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let (object, told) = object(compiler, language, flags, source, &program);
    if !object.exists() {
        return Built {
            program,
            succeeded: false,
            told,
        };
    }
    let mut command = Command::new(compiler);
    command.args(flags).arg(&object).arg("-o").arg(&program);
    let library = if shared {
        command
            .arg("-L")
            .arg(libraries())
            .args(["-lroving_c", "-ldl"]);
        command.arg(format!("-Wl,-rpath,{}", libraries().display()));
        "libroving_c.so"
    } else {
        command.arg(libraries().join("libroving_c.a")).args(SYSTEM);
        "libroving_c.a"
    };
    let made_of = [object, libraries().join(library)];
    let (succeeded, said) = link(&mut command, &program, &made_of);
    Built {
        program,
        succeeded,
        told: told + &said,
    }
}

/// Links, unless the same words have made the program of the same object and library before: that
/// takes most of the time of these tests when the objects are kept.
fn link(command: &mut Command, program: &Path, made_of: &[PathBuf; 2]) -> (bool, String) {
    let made = made_of.each_ref().map(|path| {
        let file = std::fs::metadata(path).expect("it is there");
        (file.len(), file.modified().expect("files have times"))
    });
    let key = format!("{made:?} {command:?}\n");
    let linked = PathBuf::from(format!("{}.linked", program.display()));
    if program.exists() && std::fs::read_to_string(&linked).is_ok_and(|last| last == key) {
        return (true, String::new());
    }
    let _ = std::fs::remove_file(&linked);
    let output = command.output().expect("the compiler was there before");
    if output.status.success() && output.stderr.is_empty() {
        std::fs::write(linked, key).expect("there is room");
    }
    (output.status.success(), text(&output.stderr))
}

/// The object of a source, if it compiles, and what the compiler said of it. Both are kept beside
/// the program: compilers take most of the time of these tests, and what they make depends on
/// nothing but the headers, the source, the words they are given and their version.
fn object(
    compiler: &str,
    language: Language,
    flags: &[&str],
    source: &Path,
    program: &Path,
) -> (PathBuf, String) {
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    let mut sum = DefaultHasher::new();
    version(compiler).hash(&mut sum);
    (language.standard(), flags, source).hash(&mut sum);
    contents(&include, |_| true).hash(&mut sum);
    // Beside it lie other programs as well: a change of one of them is nothing to this one.
    let beside = source.parent().expect("a file lies in a folder");
    let is_read = |path: &Path| path == source || path.extension().is_some_and(|end| end == "h");
    contents(beside, is_read).hash(&mut sum);
    let key = format!("{:016x}\n", sum.finish());
    let kept = |ending: &str| PathBuf::from(format!("{}.{ending}", program.display()));
    let (object, said) = (kept("o"), kept("said"));
    let last = std::fs::read_to_string(&said).unwrap_or_default();
    if let Some(told) = last.strip_prefix(&key) {
        return (object, told.to_owned());
    }
    // What was made of another source must not stay, whatever comes between.
    let _ = std::fs::remove_file(&said);
    let _ = std::fs::remove_file(&object);
    let mut command = Command::new(compiler);
    command.arg(language.standard()).args(WARNINGS).args(flags);
    command.arg("-I").arg(include).arg("-c").arg(source);
    let output = command.arg("-o").arg(&object).output();
    let told = text(&output.expect("the compiler was there before").stderr);
    std::fs::write(said, key + &told).expect("there is room");
    (object, told)
}

/// Those files of a folder that are asked for, in the order of their names.
fn contents(folder: &Path, is_read: impl Fn(&Path) -> bool) -> BTreeMap<PathBuf, Vec<u8>> {
    let files = std::fs::read_dir(folder).expect("it is there").flatten();
    let paths = files.map(|file| file.path()).filter(|path| is_read(path));
    let read = |path: PathBuf| (path.clone(), std::fs::read(path).unwrap_or_default());
    paths.map(read).collect()
}

/// The name and version that a compiler gives itself, if it is there.
fn version(compiler: &str) -> Option<String> {
    let asked = Command::new(compiler).arg("--version").output().ok()?;
    asked.status.success().then(|| text(&asked.stdout))
}

/// Whether the compiler comes with that sanitizer's library, and programs of it run here. Several
/// tests ask at once, so each has files of its own.
fn sanitizes(compiler: &str, flags: &[&str]) -> bool {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    // Ordering: Relaxed; a number that nobody else has.
    let name = format!(
        "{compiler}-asked-{}.c",
        ASKED.fetch_add(1, Ordering::Relaxed)
    );
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("there is room");
    let program = source.with_extension(flags.concat().replace([',', '='], "-"));
    let mut command = Command::new(compiler);
    command.args(flags).args(["-x", "c"]).arg(&source);
    let built = command.arg("-o").arg(&program).output();
    built.is_ok_and(|output| output.status.success())
        && run_of(&program)
            .output()
            .is_ok_and(|output| output.status.success())
}

pub(crate) fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name)
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Does something with each compiler of the language that is there.
pub(crate) fn with_each(language: Language, mut act: impl FnMut(&'static str)) {
    for compiler in language.compilers() {
        match version(compiler).is_some() {
            true => act(compiler),
            false => eprintln!("skipped: {compiler} is not installed"),
        }
    }
}

/// Whether all is to be tried: to compile C++ takes long.
fn is_deep() -> bool {
    std::env::var_os("ROVING_DEEP").is_some()
}

/// Does something with the first compiler of the language that is there and with which the rest
/// holds, and with the other one too where all is to be tried.
pub(crate) fn with_first(
    language: Language,
    holds: impl Fn(&str) -> bool,
    act: impl FnMut(&'static str),
) {
    let count = if is_deep() { 2 } else { 1 };
    let is_there = |compiler: &&str| version(compiler).is_some() && holds(compiler);
    let compilers = language.compilers().into_iter().filter(is_there);
    let tried: Vec<&str> = compilers.take(count).collect();
    if tried.is_empty() {
        eprintln!("skipped: no compiler of {language:?} is installed, or none with what it takes");
    }
    tried.into_iter().for_each(act);
}

/// Does something with a compiler of the language that has that sanitizer.
fn with_sanitizer(language: Language, flags: &[&str], act: impl FnMut(&'static str)) {
    with_first(language, |compiler| sanitizes(compiler, flags), act);
}

pub(crate) fn built(
    compiler: &str,
    language: Language,
    flags: &[&str],
    name: &str,
    shared: bool,
) -> PathBuf {
    let built = compile(compiler, language, flags, &source(name), shared);
    let told = built.told;
    assert!(built.succeeded, "{compiler} {flags:?} {name}:\n{told}");
    built.program
}

/// Builds and runs a program in each way.
pub(crate) fn runs(language: Language, name: &str) {
    let [first, other] = PLAIN;
    with_each(language, |compiler| {
        succeeds(&built(compiler, language, first, name, true));
    });
    with_first(
        language,
        |_| true,
        |compiler| {
            succeeds(&built(compiler, language, other, name, false));
        },
    );
    if language == Language::C || is_deep() {
        with_sanitizer(language, ADDRESS, |compiler| {
            succeeds(&built(compiler, language, ADDRESS, name, false));
        });
    }
}

pub(crate) fn succeeds(program: &Path) {
    let output = run_of(program).output().expect("just built");
    let told = text(&output.stderr);
    let status = output.status;
    assert!(status.success(), "{}: {status}\n{told}", program.display());
}

/// The library is not instrumented: its own calls are left out, and the header tells of its edges.
pub(crate) fn runs_under_thread_sanitizer(language: Language, name: &str) {
    with_sanitizer(language, THREAD, |compiler| {
        let program = built(compiler, language, THREAD, name, true);
        let suppressions = program.with_extension("suppressions");
        std::fs::write(&suppressions, "called_from_lib:libroving_c.so\n").expect("there is room");
        let options = format!("suppressions={}", suppressions.display());
        let mut command = run_of(&program);
        let output = command.env("TSAN_OPTIONS", options).output().unwrap();
        let told = text(&output.stderr);
        assert!(output.status.success(), "{compiler} {name}:\n{told}");
    });
}
