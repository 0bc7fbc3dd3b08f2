//! Programs across ranks, as users of `roving run … --dist` meet them.

mod common;
#[path = "common/ranks.rs"]
mod ranks;

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use common::{LARGE, TREE, directory, empty, mpirun, roving, search_of, text};
use ranks::{
    BETWEEN, PATIENCE, disturbed, has_ended, launch, ranks, ranks_of, send, signal, start,
};
use serde_json::Value;

#[test]
fn one_rank_needs_no_mpirun() {
    for workers in ["1", "3"] {
        let output = roving(&[
            "run",
            "uts",
            "--input",
            TREE,
            "--dist",
            "--workers",
            workers,
            "--repeat",
            "2",
            "--json",
            "-",
        ]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["items"], 3987, "{report}");
        assert_eq!(report["verified"], "serial", "{report}");
        assert_eq!(report["ranks"], 1, "{report}");
    }
}

#[test]
fn rank_0_prints_the_verified_tree_and_the_others_nothing() {
    for count in [2, 3] {
        let words = ["run", "uts", "--input", TREE, "--dist", "--workers", "1"];
        let Some((succeeded, said, warned)) = ranks(count, &words) else {
            return;
        };
        assert!(succeeded, "{said}{warned}");
        assert_eq!(
            said.matches("nodes 3,987, depth 5, leaves 3,232").count(),
            1,
            "{said}"
        );
        assert!(
            said.contains(&format!("{count} ranks of 1 worker")),
            "{said}"
        );
    }
}

/// Bags and all networks, on even and on crowded ranks. Each holds what it found against what is
/// known, wherever its processes are.
#[test]
fn every_program_is_verified_across_ranks() {
    let programs: &[(&str, &str)] = &[
        ("nqueens", "8"),
        #[cfg(feature = "gpu")]
        ("mandelbrot", "96,tile=16,most=300"),
        ("ring", "processes=20,rounds=5"),
        ("scatter-gather", "5,work=10,rounds=4"),
        ("kmeans", "rounds=3,points=500,clusters=7,processes=4"),
        ("compress", "1,block_kib=64,lanes=3"),
        ("random", "B,division=20,work_ms=1"),
        ("h264", "3,frames=4,frame_us=50"),
        ("chain", "processes=300,tokens=3"),
    ];
    for (program, input) in programs {
        for count in [2, 4] {
            let words = ["run", program, "--input", input, "--dist"];
            let words = [&words[..], &["--workers", "1", "--repeat", "2"]].concat();
            let Some((succeeded, said, warned)) = ranks(count, &words) else {
                return;
            };
            assert!(succeeded, "{program} on {count} ranks: {said}{warned}");
            assert!(said.contains("  verified "), "{said}");
            assert!(
                said.contains(&format!("{count} ranks of 1 worker")),
                "{said}"
            );
        }
    }
}

#[test]
fn what_is_wrong_is_one_line_of_rank_0() {
    let missing = directory("missing").join("report.json");
    let missing = missing.to_str().unwrap();
    for (words, said) in [
        (
            &["run", "fib", "--dist"][..],
            "--dist of `fib` is not allowed",
        ),
        (
            &["run", "uts", "--dist", "--form", "fork"],
            "--form `fork` is not allowed",
        ),
        (
            &["run", "uts", "--dist", "--input", "T99"],
            "`9` is not allowed",
        ),
        (&["run", "uts", "--dist", "--json", missing], "--json"),
        (
            &["run", "compress", "--dist", "--checkpoints", missing],
            "want one of uts, nqueens",
        ),
        (
            &["run", "scatter-gather", "--dist", "--checkpoints", missing],
            "want turns of a loop with --checkpoints",
        ),
        (
            &["run", "uts", "--dist", "--every", "10"],
            "--every `10` is not allowed: want --checkpoints with it",
        ),
        (
            &[
                "run",
                "uts",
                "--dist",
                "--checkpoints",
                missing,
                "--repeat",
                "2",
            ],
            "--repeat `2` is not allowed: want 1 with --checkpoints",
        ),
    ] {
        let output = roving(words);
        let warned = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {warned}");
        assert_eq!(warned.lines().count(), 1, "{warned}");
        assert!(warned.contains(said), "{warned}");
        if let Some((succeeded, _, warned)) = ranks(2, words) {
            assert!(!succeeded, "{words:?}");
            let ours = warned.lines().filter(|line| line.starts_with("roving: "));
            assert_eq!(ours.count(), 1, "{warned}");
        }
    }
}

#[test]
fn checkpoints_are_for_ranks() {
    let output = roving(&["run", "uts", "--checkpoints", "anywhere"]);
    let warned = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{warned}");
    assert_eq!(warned.lines().count(), 1, "{warned}");
    assert!(warned.contains("add --dist"), "{warned}");
}

#[test]
fn several_ranks_without_mpi_are_one_line_that_says_how_to_build_it() {
    if cfg!(feature = "mpi") {
        return;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_roving"))
        .args(["run", "uts", "--dist"])
        .env("OMPI_COMM_WORLD_SIZE", "2")
        .output()
        .unwrap();
    let warned = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{warned}");
    assert_eq!(warned.lines().count(), 1, "{warned}");
    assert!(warned.contains("--features mpi"), "{warned}");
}

#[test]
fn a_search_resumes_on_as_many_ranks_or_on_others() {
    disturbed("resumes", |(tree, nodes), directory| {
        for count in [3, 1, 2] {
            let mut child = match count {
                1 => Command::new(env!("CARGO_BIN_EXE_roving")),
                _ if cfg!(feature = "mpi") => mpirun(count, env!("CARGO_BIN_EXE_roving")),
                _ => return Some(()),
            };
            let Some(mut child) = start(child.args(search_of(tree, directory))) else {
                return Some(());
            };
            if count != 2 {
                signal(&mut child, directory, count, 0, "-9")?;
            }
            let output = child.wait_with_output().unwrap();
            let (said, warned) = (text(&output.stdout), text(&output.stderr));
            assert_eq!(output.status.success(), count == 2, "{warned}");
            if count == 1 {
                let other = ["run", "uts", "--input", "T3", "--dist", "--workers", "1"];
                let other = roving(&[&other[..], &["--checkpoints", directory]].concat());
                let warned = text(&other.stderr);
                assert!(!other.status.success(), "{warned}");
                let another = "is of another program, or of the same with another input: of `uts";
                assert!(warned.contains(another), "{warned}");
            }
            if count == 2 {
                assert!(said.contains("resumed        from `"), "{said}{warned}");
                assert!(said.contains(nodes), "{said}{warned}");
            }
        }
        Some(())
    });
}

/// The program ends, with that in its answer. Returns what it has warned of.
fn ends_well(child: Child, answer: &str) -> String {
    let output = child.wait_with_output().unwrap();
    let (said, warned) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}{warned}");
    assert!(said.contains(answer), "{said}{warned}");
    warned
}

#[test]
fn a_killed_rank_is_noticed_and_the_search_goes_on_to_the_exact_count() {
    disturbed("killed", |(tree, nodes), directory| {
        let search = search_of(tree, directory);
        let program = [&[env!("CARGO_BIN_EXE_roving")][..], &search].concat();
        let words = ["-n", "3", "--restart", "5", "--fewer"];
        let Some(mut command) = launch(&words, &program) else {
            return Some(());
        };
        let mut child = command.spawn().expect("the command starts");
        for (ranks, which) in [(3, 1), (2, 0)] {
            signal(&mut child, directory, ranks, which, "-9")?;
        }
        let warned = ends_well(child, nodes);
        for line in [
            "was ended by signal 9",
            "on 3 ranks; starting again on 2 ranks, restart 1 of 5",
            "on 2 ranks; starting again on 1 rank, restart 2 of 5",
            "roving launch: ended well on 1 rank after 2 restarts in",
        ] {
            assert!(warned.contains(line), "{line}: {warned}");
        }
        Some(())
    });
}

/// It is held against the serial run, each time.
#[test]
fn a_network_whose_ranks_are_killed_goes_on_to_the_same_answer() {
    let directory = empty("killed-network");
    let program = [env!("CARGO_BIN_EXE_roving"), "run", "scatter-gather"];
    let input = ["--input", "4,work=100000,rounds=300", "--dist"];
    let options = ["--workers", "1", "--every", "10", "--checkpoints"];
    let program = [&program[..], &input, &options, &[&directory]].concat();
    let words = ["-n", "3", "--restart", "5", "--fewer"];
    let Some(mut command) = launch(&words, &program) else {
        return;
    };
    let mut child = command.spawn().expect("the command starts");
    for (ranks, which) in [(3, 1), (2, 0)] {
        let sent = signal(&mut child, &directory, ranks, which, "-9");
        assert!(sent.is_some(), "it ended too early");
    }
    let output = child.wait_with_output().unwrap();
    let (said, warned) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}{warned}");
    assert!(said.contains("verified       serial"), "{said}{warned}");
    assert!(said.contains("resumed        from `"), "{said}{warned}");
    assert!(
        warned.contains("ended well on 1 rank after 2 restarts in"),
        "{warned}"
    );
}

/// A rank that is stopped is given up by the others, and harms nothing when it goes on.
#[test]
fn a_stopped_rank_is_given_up_and_the_search_goes_on_to_the_exact_count() {
    disturbed("stopped", |(tree, nodes), directory| {
        let search = search_of(tree, directory);
        let program = [&[env!("CARGO_BIN_EXE_roving")][..], &search].concat();
        let Some(mut command) = launch(&["-n", "2", "--restart", "5"], &program) else {
            return Some(());
        };
        let child = command.env("ROVING_DIST_SILENCE_S", "2").spawn();
        let mut child = child.expect("the command starts");
        signal(&mut child, directory, 2, 1, "-STOP")?;
        let warned = ends_well(child, nodes);
        assert!(
            warned.contains("has been silent for 2s: its process ")
                && warned.contains(" lives, and is stopped by a signal after"),
            "{warned}"
        );
        Some(())
    });
}

/// A rank that is stopped for less than it may be silent.
#[test]
fn a_stopped_rank_that_goes_on_in_time_is_not_given_up() {
    disturbed("paused", |(tree, nodes), directory| {
        let search = search_of(tree, directory);
        let program = [&[env!("CARGO_BIN_EXE_roving")][..], &search].concat();
        let Some(mut command) = launch(&["-n", "2", "--restart", "5"], &program) else {
            return Some(());
        };
        // Much longer, for ranks are silent as well where the machine has no time for them.
        let child = command.env("ROVING_DIST_SILENCE_S", "60").spawn();
        let mut child = child.expect("the command starts");
        let (_, stopped) = signal(&mut child, directory, 2, 1, "-STOP")?;
        std::thread::sleep(Duration::from_secs(4));
        send("-CONT", stopped);
        let warned = ends_well(child, nodes);
        assert!(!warned.contains("starting again"), "{warned}");
        Some(())
    });
}

/// All ranks of a run are stopped, as those of a machine that is cut off; another run goes on from
/// its checkpoint; then they come back.
#[test]
fn ranks_that_come_back_to_a_search_that_was_resumed_change_nothing() {
    if !cfg!(feature = "mpi") {
        return;
    }
    disturbed("come-back", |(tree, nodes), directory| {
        let mut older = mpirun(2, env!("CARGO_BIN_EXE_roving"));
        let Some(mut older) = start(older.args(search_of(tree, directory))) else {
            return Some(());
        };
        let (stopped, first) = signal(&mut older, directory, 2, 0, "-STOP")?;
        let others = || stopped.iter().filter(|process| **process != first);
        others().for_each(|process| send("-STOP", *process));
        let latest = std::path::Path::new(directory).join("latest");
        let before = std::fs::read(&latest).expect("there is a checkpoint");
        let mut newer = Command::new(env!("CARGO_BIN_EXE_roving"));
        let newer = newer.args(search_of(tree, directory));
        let mut newer = start(newer).expect("the command starts");
        let begun = Instant::now();
        while std::fs::read(&latest).ok().as_ref() == Some(&before) {
            assert!(begun.elapsed() < PATIENCE, "no checkpoint");
            std::thread::sleep(BETWEEN);
        }
        stopped.iter().for_each(|process| send("-CONT", *process));
        let output = older.wait_with_output().unwrap();
        if has_ended(&mut newer) {
            // Before they came back, for all that is known.
            return None;
        }
        let warned = text(&output.stderr);
        assert!(!output.status.success(), "{warned}");
        assert!(
            warned.contains("another run has taken the directory"),
            "{warned}"
        );
        let output = newer.wait_with_output().unwrap();
        let (said, warned) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{said}{warned}");
        assert!(said.contains("resumed        from `"), "{said}");
        assert!(said.contains(nodes), "{said}{warned}");
        let left = std::fs::read_dir(directory).expect("it is there").count();
        assert_eq!(left, 0, "a run that has ended leaves nothing");
        Some(())
    });
}

/// Who sends SIGTERM to `launch`, as a job's scheduler does, ends all of it.
#[cfg(unix)]
#[test]
fn a_launch_that_is_told_to_end_ends_its_ranks() {
    use std::os::unix::process::ExitStatusExt as _;
    let directory = empty("told-to-end");
    let program = [
        &[env!("CARGO_BIN_EXE_roving")][..],
        &search_of(LARGE.0, &directory),
    ]
    .concat();
    let Some(mut command) = launch(&["-n", "2", "--restart", "5"], &program) else {
        return;
    };
    let mut child = command.spawn().expect("the command starts");
    let begun = Instant::now();
    let wait_for = |ranks: usize, meanwhile: &mut dyn FnMut()| {
        while ranks_of(&directory).len() != ranks {
            assert!(begun.elapsed() < PATIENCE, "{ranks} ranks");
            meanwhile();
            std::thread::sleep(BETWEEN);
        }
    };
    wait_for(2, &mut || {
        assert!(!has_ended(&mut child), "it ended too early")
    });
    send("-TERM", child.id());
    let output = child.wait_with_output().unwrap();
    let warned = text(&output.stderr);
    assert_eq!(output.status.signal(), Some(15), "{warned}");
    assert!(!warned.contains("starting again"), "{warned}");
    assert!(warned.contains("roving launch: told to end"), "{warned}");
    wait_for(0, &mut || ());
}

#[test]
fn the_restarts_have_a_limit() {
    let program = ["sh", "-c", "kill -9 $$"];
    let Some(mut command) = launch(&["-n", "1", "--restart", "2"], &program) else {
        return;
    };
    let output = command.output().unwrap();
    let warned = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{warned}");
    assert_eq!(
        warned.matches("starting again on 1 rank").count(),
        2,
        "{warned}"
    );
    assert!(
        warned.contains("2 restarts, and no more are allowed. The last checkpoint"),
        "{warned}"
    );
}

#[test]
fn a_program_that_fails_is_not_started_again() {
    let Some(mut command) = launch(&["-n", "2", "--restart", "9"], &["sh", "-c", "exit 3"]) else {
        return;
    };
    let output = command.output().unwrap();
    let warned = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{warned}");
    assert!(!warned.contains("starting again"), "{warned}");
    assert!(
        warned.contains("launch: the program ended with status 3. No rank was lost"),
        "{warned}"
    );
}

/// Its log reads like a loss, and is its own.
#[test]
fn a_program_that_logs_silence_and_signals_and_fails_is_not_started_again() {
    let log = "echo 'peer 10.0.0.7 has been silent for 3 s, reconnecting' >&2; \
               echo 'peer 10.0.0.7 gave up (signal 4 dBm)' >&2; exit 1";
    let Some(mut command) = launch(&["-n", "1", "--restart", "8"], &["sh", "-c", log]) else {
        return;
    };
    let output = command.output().unwrap();
    let warned = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{warned}");
    assert!(
        warned.contains("has been silent for 3 s, reconnecting"),
        "{warned}"
    );
    assert!(!warned.contains("starting again"), "{warned}");
    assert!(
        warned.contains("launch: the program ended with status 1. No rank was lost"),
        "{warned}"
    );
}

/// An `mpirun` that says that a rank is silent and then waits for ever, as it does for a machine
/// that is cut off; and a process that keeps its pipe open. The second time it ends well.
#[cfg(unix)]
#[test]
fn a_mpirun_that_does_not_end_after_a_loss_is_killed() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = empty("stuck-mpirun");
    std::fs::create_dir_all(&place).expect("a place for the program");
    let script = format!(
        "#!/bin/sh\n[ -e {place}/once ] && exit 0\ntouch {place}/once\n\
         echo 'roving: rank 1 of 2: has been silent for 2s: gone' >&2\n\
         sleep 600 > /dev/null &\necho $! > {place}/keeps\nexec sleep 600\n"
    );
    let program = std::path::Path::new(&place).join("mpirun");
    std::fs::write(&program, script).expect("it is written");
    let may_run = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&program, may_run).expect("it may be run");
    let path = format!("{place}:{}", std::env::var("PATH").unwrap_or_default());
    let output = Command::new(env!("CARGO_BIN_EXE_roving"))
        .args(["launch", "-n", "2", "--restart", "1", "true"])
        .env("PATH", path)
        .output()
        .expect("the command starts");
    let warned = text(&output.stderr);
    assert!(output.status.success(), "{warned}");
    assert!(
        warned.contains("mpirun has not ended 20 s after a rank was lost"),
        "{warned}"
    );
    assert!(
        warned.contains("starting again on 2 ranks, restart 1 of 1"),
        "{warned}"
    );
    // Nobody has waited for the end of the pipe.
    let keeps = std::fs::read_to_string(format!("{place}/keeps")).expect("it has begun");
    send("-KILL", keeps.trim().parse().expect("its number"));
}
