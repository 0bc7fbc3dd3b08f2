//! Programs across ranks, as users of `roving run … --dist` meet them.

mod common;

use std::process::{Command, Stdio};

use common::{directory, mpirun, roving, text};
use serde_json::Value;

/// A tree of 3,987 nodes.
const TREE: &str = "-t1 -a3 -d5 -b4 -r19";

/// The output of the command as ranks of `mpirun`; `None` where there is no MPI.
fn ranks(count: usize, words: &[&str]) -> Option<(bool, String, String)> {
    if !cfg!(feature = "mpi") {
        return None;
    }
    let output = mpirun(count, env!("CARGO_BIN_EXE_roving"))
        .args(words)
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) => {
            let (said, warned) = (text(&output.stdout), text(&output.stderr));
            Some((output.status.success(), said, warned))
        }
        Err(error) => {
            println!("skipped: no mpirun here ({error})");
            None
        }
    }
}

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
