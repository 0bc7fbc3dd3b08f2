//! Builds the programs in `programs/` with the compilers that are there, with all warnings as
//! errors and under sanitizers, and runs them.

mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

use common::{
    Language, PLAIN, built, compile, run_of, runs, runs_under_thread_sanitizer, source, succeeds,
    text, with_each, with_first,
};

#[test]
fn tasks_of_c() {
    runs(Language::C, "tasks.c");
}

#[test]
fn tasks_of_c_under_thread_sanitizer() {
    runs_under_thread_sanitizer(Language::C, "tasks.c");
}

#[test]
fn the_macros_in_cpp() {
    let language = Language::Cpp("-std=c++17");
    with_each(language, |compiler| {
        for flags in PLAIN {
            succeeds(&built(compiler, language, flags, "header.cpp", true));
        }
    });
}

#[test]
fn closures_of_cpp() {
    runs(Language::Cpp("-std=c++17"), "closures.cpp");
}

#[test]
fn closures_of_cpp_by_the_next_standard() {
    let language = Language::Cpp("-std=c++20");
    with_first(
        language,
        |_| true,
        |compiler| {
            succeeds(&built(
                compiler,
                language,
                &["-O2", "-g0"],
                "closures.cpp",
                true,
            ));
        },
    );
}

#[test]
fn closures_of_cpp_under_thread_sanitizer() {
    runs_under_thread_sanitizer(Language::Cpp("-std=c++17"), "closures.cpp");
}

#[test]
fn coroutines_of_cpp() {
    runs(Language::Cpp("-std=c++20"), "coroutines.cpp");
}

#[test]
fn coroutines_of_cpp_under_thread_sanitizer() {
    runs_under_thread_sanitizer(Language::Cpp("-std=c++20"), "coroutines.cpp");
}

#[test]
fn what_coroutines_keep_is_aligned() {
    runs(Language::Cpp("-std=c++20"), "aligned_coroutines.cpp");
}

#[test]
fn a_request_to_fork_has_its_child() {
    runs(Language::Cpp("-std=c++20"), "kept_requests.cpp");
}

#[test]
fn a_plain_loop_is_made_of_vectors() {
    let language = Language::Cpp("-std=c++17");
    let reports = [
        ("g++", "-fopt-info-vec-optimized", "loop vectorized"),
        ("clang++", "-Rpass=loop-vectorize", "vectorized loop"),
    ];
    with_each(language, |compiler| {
        let (_, flag, says) = reports.into_iter().find(|one| one.0 == compiler).unwrap();
        let flags = ["-O3", "-DNDEBUG", "-Wno-error", flag];
        let built = compile(compiler, language, &flags, &source("vector.cpp"), false);
        let (program, told) = (built.program, built.told);
        let mut lines = told.lines();
        let is_told = lines.any(|line| line.contains("roving.hpp") && line.contains(says));
        assert!(is_told, "{compiler}: {told}");
        succeeds(&program);
    });
}

#[test]
fn wrong_use_of_coroutines_does_not_compile() {
    let language = Language::Cpp("-std=c++20");
    let name = source("wrong_coroutines.cpp");
    let told_of = |compiler, wrong: usize| {
        let wrong = format!("-DWRONG={wrong}");
        let built = compile(compiler, language, &["-O1", &wrong], &name, false);
        (built.succeeded, built.told)
    };
    let expected = [
        "std::move a named one",
        "does nothing",
        "copied",
        "and nothing else",
        "it is the co_await that starts the child",
        "",
        "",
        "",
        "aligned to 64 bytes at most",
    ];
    with_first(
        language,
        |_| true,
        |compiler| {
            let (right, told) = told_of(compiler, 0);
            assert!(right, "{compiler}: {told}");
            for (index, expected) in expected.into_iter().enumerate() {
                let (compiles, told) = told_of(compiler, index + 1);
                assert!(!compiles, "{compiler} {}", index + 1);
                assert!(told.contains(expected), "{compiler} {index}: {told}");
            }
        },
    );
}

#[test]
fn misuse_of_coroutines_says_what_and_where() {
    let told = [
        (
            "before-join",
            ":16: the result of a child before its task has joined",
        ),
        ("twice-taken", ":24: the result of a child was taken before"),
        (
            "twice-begun",
            ":32: a task is begun that was begun or moved before",
        ),
        ("of-failed", ":44: a child has no result to take"),
        ("of-none", ":50: the result of a child that was not begun"),
    ];
    let language = Language::Cpp("-std=c++20");
    with_each(language, |compiler| {
        let program = built(
            compiler,
            language,
            &["-O1"],
            "misused_coroutines.cpp",
            false,
        );
        for (word, what) in told {
            let output = run_of(&program).arg(word).output().unwrap();
            let told = text(&output.stderr);
            assert!(!output.status.success(), "{compiler} {word}");
            let is_told = told.contains("roving: misuse: ") && told.contains(what);
            assert!(is_told, "{compiler} {word}: {told}");
        }
    });
}

#[test]
fn totals_of_a_reduction_are_aligned() {
    runs(Language::C, "aligned_totals.c");
}

#[test]
fn the_rest_of_the_header() {
    runs(Language::C, "runtime.c");
}

#[test]
fn a_destructor_of_a_thread_may_call_when_the_library_has_nothing_left_there() {
    runs(Language::Cpp("-std=c++17"), "thread_end.cpp");
}

#[test]
fn a_task_that_cannot_begin_gives_back_what_it_was_given() {
    runs(Language::Cpp("-std=c++20"), "failed_calls.cpp");
}

/// With which a source becomes a library for `dlopen`.
fn library_flags<'a>(others: &[&'a str]) -> Vec<&'a str> {
    // clang says of `-shared` that it is for the linker alone.
    let quiet = "-Wno-unused-command-line-argument";
    [&["-O1", "-fPIC", "-shared", quiet], others].concat()
}

/// Both with the shared library, and so on the same workers.
#[test]
fn a_program_and_a_library_fork_coroutines_of_each_other() {
    let language = Language::Cpp("-std=c++20");
    let made =
        |compiler, flags: &[&str]| built(compiler, language, flags, "loaded_coroutines.cpp", true);
    with_first(
        language,
        |_| true,
        |compiler| {
            let library = made(compiler, &library_flags(&["-DLIBRARY"]));
            let mut command = run_of(&made(compiler, PLAIN[0]));
            let output = command.arg(&library).output().expect("just built");
            let told = text(&output.stderr);
            assert!(output.status.success(), "{compiler}: {told}");
        },
    );
}

/// Runs a program that loads two libraries, each with the static library in it, and returns one.
fn loads_two_libraries(compiler: &str, flags: &[&str], mode: &str) -> PathBuf {
    let language = Language::Cpp("-std=c++20");
    let [one, two] = ["-DNUMBER=1", "-DNUMBER=2"].map(|number| {
        let flags = library_flags(&[flags, &[number]].concat());
        built(compiler, language, &flags, "one_of_two.cpp", false)
    });
    let of_c = if compiler == "g++" { "gcc" } else { "clang" };
    let program = built(of_c, Language::C, PLAIN[0], "two_libraries.c", false);
    let mut command = run_of(&program);
    let output = command.args([&one, &two]).arg(mode).output();
    let output = output.expect("just built");
    let told = text(&output.stderr);
    assert!(output.status.success(), "{compiler} {mode}: {told}");
    one
}

/// gcc makes one of a variable of an inline function for the whole process, unless it is hidden.
#[test]
fn two_libraries_of_one_program_have_workers_of_their_own() {
    let language = Language::Cpp("-std=c++20");
    with_first(
        language,
        |_| true,
        |compiler| {
            let library = loads_two_libraries(compiler, &[], "local");
            let Ok(listed) = Command::new("nm").arg("-C").arg(library).output() else {
                eprintln!("skipped: nm is not installed");
                return;
            };
            let listed = text(&listed.stdout);
            assert!(listed.contains("roving::detail::"), "{compiler}: {listed}");
            // Of the kind of those of which a process has one.
            let mut shared = listed.lines().filter(|line| line.contains(" u "));
            let ours = shared.find(|line| line.contains("roving"));
            assert_eq!(ours, None, "{compiler}");
        },
    );
}

/// As docs/coming-from-c.md says: else the one calls functions of the header that are the other's.
#[test]
fn two_libraries_that_hide_what_is_inline_may_see_each_other() {
    let flags = ["-fvisibility-inlines-hidden", "-Wl,--exclude-libs,ALL"];
    with_first(
        Language::Cpp("-std=c++20"),
        |_| true,
        |compiler| {
            loads_two_libraries(compiler, &flags, "global");
        },
    );
}

/// Without a backtrace, for which there is no memory either.
#[test]
fn the_workers_of_a_pool_that_cannot_be_built_are_none() {
    with_each(Language::C, |compiler| {
        let program = built(compiler, Language::C, PLAIN[0], "no_memory.c", false);
        let output = run_of(&program).env("RUST_BACKTRACE", "0").output();
        let output = output.expect("just built");
        assert!(output.status.success(), "{compiler}: {output:?}");
    });
}

#[test]
fn misuse_says_what_and_where() {
    let told = [
        (
            "forgets",
            "forgets returned, and a task was not synced: ROVING_SPAWN of leaf at ",
            ":11",
        ),
        (
            "twice",
            "ROVING_SYNC of leaf at ",
            ":19: it is synced, but was not spawned by this thread",
        ),
        (
            "out-of-order",
            "before a task that was spawned later: ROVING_SPAWN of leaf at ",
            ":25",
        ),
        (
            "outside",
            "it was spawned on a thread that is no worker",
            "",
        ),
        (
            "body-forgets",
            "given to the library returned, and a task was not synced: ROVING_SPAWN of leaf at ",
            ":40",
        ),
    ];
    with_each(Language::C, |compiler| {
        let program = built(compiler, Language::C, &["-O1"], "misuse.c", false);
        for (word, what, place) in told {
            let output = run_of(&program).arg(word).output().unwrap();
            let told = text(&output.stderr);
            assert!(!output.status.success(), "{compiler} {word}");
            assert!(told.contains("roving: misuse: "), "{word}: {told}");
            assert!(
                told.contains(what) && told.contains(place),
                "{word}: {told}"
            );
        }
    });
}

#[test]
fn a_task_that_was_left_behind_ends_the_process_in_release_builds_too() {
    with_each(Language::C, |compiler| {
        let program = built(compiler, Language::C, PLAIN[1], "misuse.c", false);
        let output = run_of(&program).arg("leaves-behind").output();
        let output = output.unwrap();
        let told = text(&output.stderr);
        assert!(!output.status.success(), "{compiler}");
        assert!(told.contains("was left behind"), "{compiler}: {told}");
    });
}

#[test]
fn an_exception_that_leaves_a_task_ends_the_process_wherever_that_runs() {
    let language = Language::Cpp("-std=c++17");
    with_each(language, |compiler| {
        for flags in PLAIN {
            let program = built(compiler, language, flags, "throws.cpp", true);
            for word in ["calls", "syncs", "runs", "loops"] {
                let output = run_of(&program).arg(word).output().unwrap();
                let told = text(&output.stderr);
                assert!(!output.status.success(), "{compiler} {word}: {told}");
                assert!(!told.contains("caught"), "{compiler} {word}: {told}");
            }
        }
    });
}

#[test]
fn a_handle_of_another_task_does_not_compile() {
    with_each(Language::C, |compiler| {
        let name = source("wrong_handle.c");
        let built = compile(compiler, Language::C, &["-O1"], &name, false);
        let told = built.told;
        assert!(!built.succeeded, "{compiler}");
        assert!(told.contains("other_spawned"), "{compiler}: {told}");
    });
}

/// The pool is the global one, which nobody makes: so the program is refused when it is loaded.
#[test]
fn a_program_with_another_header_is_refused() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("other-header");
    std::fs::create_dir_all(&folder).expect("there is room");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let header = std::fs::read_to_string(root.join("include/roving.h")).expect("it is there");
    let ours = "roving_slot *top_;";
    assert!(header.contains(ours));
    let other = header.replace(ours, &format!("roving_slot *newest_; {ours}"));
    std::fs::write(folder.join("roving.h"), other).expect("there is room");
    // It takes the header beside it.
    let path = folder.join("refused.c");
    std::fs::copy(source("other_header.c"), &path).expect("there is room");
    with_each(Language::C, |compiler| {
        for shared in [false, true] {
            let right = built(compiler, Language::C, PLAIN[0], "other_header.c", shared);
            succeeds(&right);
            let built = compile(compiler, Language::C, PLAIN[0], &path, shared);
            assert!(built.succeeded, "{}", built.told);
            let output = run_of(&built.program).output().expect("just built");
            let told = text(&output.stderr);
            assert!(!output.status.success(), "{compiler}: it went on");
            assert!(told.contains("a roving.h of another version"), "{told}");
            assert!(output.stdout.is_empty(), "it began");
        }
    });
}
