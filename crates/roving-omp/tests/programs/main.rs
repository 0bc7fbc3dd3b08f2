//! Runs each program in `programs/` with the compiler's own library, and again with ours, preloaded
//! and by the name of the other: the output is the same.

mod ours;
mod running;
mod settings;

use std::path::Path;
use std::process::Command;
use std::thread;

use running::{
    Library, SETTINGS, Setting, build, build_named, built, command, compare, compiler, gcc, knows,
    preloaded, replacement, run, same, text, told_until,
};

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
fn loops_that_no_call_begins_are_cancelled() {
    let Some(gcc) = gcc() else { return };
    let on = ("OMP_CANCELLATION", "true");
    for level in ["-O0", "-O2"] {
        let program = build(gcc, &[level], "cancel.c");
        compare(&program, &[on], Library::Replaced);
        same(&program, &[on, ("OMP_WAIT_POLICY", "passive")]);
        same(&program, &[on, ("OMP_THREAD_LIMIT", "1")]);
    }
}

#[test]
fn what_is_each_threads_own() {
    compares("own.c");
}

#[test]
fn control() {
    compares("control.c");
}

#[test]
fn allocators() {
    if knows(11) {
        compares("allocators.c");
    }
}

/// Those of GCC 12 and 14 do not agree on it.
#[test]
fn there_is_no_rare_memory() {
    let Some(gcc) = gcc().filter(|_| knows(11)) else {
        return;
    };
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
fn chain() {
    compares("chain.c");
}

/// With a native stack of twice what it needs: where threads go on stealing the chain back, it
/// grows until it is over, and a longer chain alone would fill a larger one.
#[test]
fn a_chain_of_tasks_needs_a_bounded_stack() {
    let Some(gcc) = gcc() else { return };
    let program = build_named(gcc, &["-O2"], "chain.c", "long-chain");
    let run = "ulimit -s 1536; exec \"$0\" 300000";
    let mut command = command(Path::new("sh"), &[], Library::Preloaded);
    command.args(["-c", run]).arg(&program);
    let output = command.output().expect("it was just built");
    assert_eq!(text(&output.stdout), "chain: 300000\n", "{output:?}");
}

#[test]
fn target() {
    compares("target.c");
}

#[test]
fn depend() {
    compares("depend.c");
}

#[test]
fn detached() {
    if knows(11) {
        compares("detached.c");
    }
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
    let Some(gcc) = gcc().filter(|_| knows(11)) else {
        return;
    };
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
                        noted: 0 1 and then 0\n\
                        hints: 0 1\n";
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
    let is_told_with = |library| {
        let named = "has come to a barrier inside of a task";
        let watched = [("ROVING_WATCH", "1")];
        let told = |program, settings| text(&run(program, settings, library).stderr);
        // It is ended when that is said, however late it comes to it.
        let late = [watched[0], ("SECONDS", "300")];
        let is_named = |told: &str| told.contains(named);
        let said = told_until(&mut command(&stuck, &late, library), is_named);
        assert_eq!(said.matches(named).count(), 1, "{said}");
        assert!(!told(&stuck, &[]).contains(named));
        assert!(!told(&fine, &watched).contains(named));
    };
    // They mostly sleep.
    thread::scope(|s| {
        s.spawn(|| is_told_with(Library::Preloaded));
        s.spawn(|| is_told_with(Library::Replaced));
    });
}

#[test]
fn an_event_that_never_comes_is_named() {
    let Some(gcc) = gcc().filter(|_| knows(11)) else {
        return;
    };
    let program = build(gcc, &["-O1", "-pthread"], "events.c");
    let runs = |arguments: &str, watch: &str| {
        let mut command = Command::new(&program);
        command
            .env("LD_PRELOAD", preloaded())
            .env("ROVING_WATCH", watch)
            .args(arguments.split_whitespace());
        command
    };
    let told = |arguments: &str, watch: &str, stands_still: bool| {
        let output = runs(arguments, watch).output().expect("it was just built");
        assert_eq!(output.status.success(), !stands_still, "{output:?}");
        text(&output.stderr)
    };
    let named = |told: &str| {
        told.matches("a task with detach, whose code is at 0x")
            .count()
    };
    // It is ended when so many are named, however late that is.
    let until = |count: usize, arguments: &str, watch: &str| {
        told_until(&mut runs(arguments, watch), |told| named(told) == count)
    };
    // They mostly sleep: all of them at once.
    thread::scope(|s| {
        s.spawn(|| assert_eq!(named(&until(1, "1 300", "5000")), 1));
        s.spawn(|| assert_eq!(named(&told("1 4", "0", true)), 0));
        s.spawn(|| assert_eq!(named(&told("1", "60000", false)), 0));
        // The late one, too, where nobody has that much patience.
        s.spawn(|| assert_eq!(named(&until(2, "300000 300", "20")), 2));
    });
}

/// A limit of the system's leaves memory for the stacks of some threads.
#[test]
fn as_many_threads_as_the_system_gives() {
    let Some(gcc) = gcc() else { return };
    let program = build(gcc, &["-O1"], "few.c");
    let told = |limit: &str| {
        let run = format!("ulimit -v {limit}; exec \"$0\"");
        let settings = [("OMP_STACKSIZE", "1G")];
        let mut command = command(Path::new("sh"), &settings, Library::Preloaded);
        command.args(["-c", &run]).arg(&program);
        let output = command.output().expect("it was just built");
        assert!(output.status.success(), "{output:?}");
        (text(&output.stdout), text(&output.stderr))
    };
    assert_eq!(told("unlimited"), ("8\n8\n".into(), String::new()));
    let (counts, warning) = told(&(4 << 20).to_string());
    let counts: Vec<u32> = counts
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect();
    assert_eq!(counts.len(), 2, "{counts:?}");
    assert!(
        counts.iter().all(|count| (2..=4).contains(count)),
        "{counts:?}"
    );
    assert!(warning.contains("Thread creation failed"), "{warning}");
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
    let program = build(gcc, &["-O1", "-ldl"], "whose.c");
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
    let program = build_named(gcc, &[&from, &path, "-ldl"], "whose.c", "whose-linked");
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
    let map = include_str!("../../libgomp.map");
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

/// Runs a program with ours, which the other library need not run to its end.
fn says(program: &Path, argument: Option<&str>, settings: &[Setting], expected: &str) {
    for library in [Library::Preloaded, Library::Replaced] {
        let mut command = command(program, settings, library);
        let output = command.args(argument).output().expect("it was just built");
        let case = format!("{argument:?} {library:?}: {output:?}");
        assert_eq!(text(&output.stdout), expected, "{case}");
        assert!(output.status.success(), "{case}");
    }
}

#[test]
fn tasks_that_are_left_out_need_no_event() {
    let Some(gcc) = gcc().filter(|_| knows(11)) else {
        return;
    };
    let program = build(gcc, &["-O1"], "left_out.c");
    let settings = [("OMP_CANCELLATION", "true")];
    for part in ["0", "1", "2", "3"] {
        says(&program, Some(part), &settings, "0 ran\n");
    }
}

#[test]
fn an_event_ends_a_task_of_a_final_one() {
    let Some(gcc) = gcc().filter(|_| knows(11)) else {
        return;
    };
    let program = build(gcc, &["-O1", "-pthread"], "final_event.c");
    let settings = [("GOMP_SPINCOUNT", "infinite")];
    says(&program, None, &settings, "6 turns\n");
}

#[test]
fn threads_that_end_use_openmp() {
    let Some(gcc) = gcc().filter(|_| knows(11)) else {
        return;
    };
    let program = build(gcc, &["-O1", "-pthread"], "ends.c");
    let line = |name, level| format!("{name}: level {level}, 1 around, all, then 5\n");
    let threads = (line("before", 0) + &line("thread", 0)).repeat(3) + &line("main", 0);
    for (argument, level) in [(None, 0), (Some("inside"), 1)] {
        let expected = format!("{threads}3 threads, {}", line("end", level));
        says(&program, argument, &[], &expected);
    }
}

/// As in the next one.
#[test]
fn a_child_goes_on_inside_of_a_region() {
    let Some(gcc) = gcc() else { return };
    let program = build(gcc, &["-O1"], "forked_inside.c");
    let settings = [("ROVING_OMP_PROCESSORS", "64")];
    let expected = "child: 2 of 2\nchild after it: 3\nended with 0\n";
    says(&program, None, &settings, expected);
}

/// The other library's child stands still, so there is nothing to compare with.
#[test]
fn a_child_can_use_threads_again() {
    let Some(gcc) = gcc() else { return };
    let program = build(gcc, &["-O1"], "forked.c");
    let line = |name, threads| format!("{name}: {threads} threads, 499500, 144\n");
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
    let program = build(gcc, &["-fno-openmp", "-ldl"], "closed.c");
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
