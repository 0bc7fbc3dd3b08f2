//! Tests of the environment: its words are read, told and followed as by the other library.

use super::running::{Library, Setting, build, build_named, compare, gcc, run, same, text};

/// A wrong value in the environment is told as the other library tells it, and left out.
#[test]
fn wrong_values_are_told() {
    let Some(gcc) = gcc() else { return };
    let program = build(gcc, &["-O1"], "control.c");
    let wrong: [Setting; 25] = [
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
        ("OMP_MAX_TASK_PRIORITY", "-1"),
        ("OMP_NESTED", "maybe"),
        ("OMP_NUM_TEAMS", "0"),
        ("OMP_TEAMS_THREAD_LIMIT", "x"),
        ("OMP_TARGET_OFFLOAD", "sometimes"),
        ("OMP_DISPLAY_AFFINITY", "x"),
        ("GOMP_STACKSIZE", "x"),
        ("OMP_THREAD_LIMIT", "99999999999999999999999"),
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

/// Each region binds its threads anew, as `proc_bind` says. (Not compared with `true` for
/// `OMP_PROC_BIND`: there that of GCC 12 says of threads that they are at places where they are
/// not bound.)
#[test]
fn bound() {
    let Some(gcc) = gcc() else { return };
    let program = build(gcc, &["-O1"], "bound.c");
    // So that inner regions get the threads that they ask for.
    let all = ("ROVING_OMP_PROCESSORS", "64");
    let nested = ("OMP_MAX_ACTIVE_LEVELS", "2");
    for bind in [
        "false",
        "close",
        "spread",
        "master",
        "spread,close",
        "close,spread",
    ] {
        for places in ["threads", "threads(1)", "{0},{0},{0},{0}"] {
            let settings = [("OMP_PROC_BIND", bind), ("OMP_PLACES", places), nested, all];
            for library in [Library::Preloaded, Library::Replaced] {
                compare(&program, &settings, library);
            }
        }
        compare(
            &program,
            &[("OMP_PROC_BIND", bind), nested, all],
            Library::Replaced,
        );
    }
    compare(&program, &[nested, all], Library::Replaced);
    let bound = [
        ("OMP_PROC_BIND", "true"),
        ("OMP_PLACES", "threads"),
        nested,
        all,
    ];
    let told = text(&run(&program, &bound, Library::Replaced).stdout);
    let close = [
        ("OMP_PROC_BIND", "close"),
        ("OMP_PLACES", "threads"),
        nested,
        all,
    ];
    let as_close = text(&run(&program, &close, Library::Replaced).stdout);
    assert_eq!(told.replace("bind 1", "bind 3"), as_close);
}
