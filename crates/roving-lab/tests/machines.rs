//! Ranks on machines that are network namespaces, over TCP: cut off, and started by a job script.

mod common;

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{LARGE, TREE, empty, mpi_place, search_of, text};

/// Machines that are network namespaces: see `examples/ranks/namespaces.sh`.
struct Machines(String);

impl Machines {
    const SCRIPT: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/ranks/namespaces.sh"
    );

    fn call(verb: &str, words: &[&str]) -> Option<String> {
        let output = Command::new(Self::SCRIPT)
            .arg(verb)
            .args(words)
            .output()
            .ok()?;
        let said = text(&output.stdout);
        if !output.status.success() {
            println!("namespaces.sh {verb}: {}", text(&output.stderr));
        }
        output.status.success().then_some(said)
    }

    /// So many; none where they cannot be made.
    fn up(letter: char, count: &str) -> Option<Machines> {
        if !cfg!(feature = "mpi") || Command::new("mpirun").arg("--version").output().is_err() {
            return None;
        }
        let machines = Machines(format!("{letter}{:x}", std::process::id() & 0xff_ffff));
        let is_up = Machines::call("up", &[&machines.0, count]).is_some();
        if !is_up {
            println!("skipped: no network namespaces here");
        }
        is_up.then_some(machines)
    }

    /// The words for `mpirun`.
    fn words(&self, count: &str) -> String {
        let words = Machines::call("words", &[&self.0, count]).expect("the script says them");
        format!(
            "{} --allow-run-as-root -x ROVING_DIST_SILENCE_S",
            words.trim()
        )
    }

    /// A command on the machine from which `mpirun` starts.
    fn command(&self, program: &[&str]) -> Command {
        let mut command = Command::new(Self::SCRIPT);
        command
            .env("OMPI_MCA_orte_tmpdir_base", mpi_place())
            .args(["run", &self.0])
            .args(program)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl Drop for Machines {
    fn drop(&mut self) {
        Machines::call("down", &[&self.0]);
    }
}

/// Waits for a checkpoint of a program that runs. False if that has ended without one.
fn wait_for_checkpoint(directory: &str, child: &mut Child) -> bool {
    let begun = Instant::now();
    let is_there = || std::path::Path::new(directory).join("latest").exists();
    while !is_there() {
        if child.try_wait().expect("it is a child").is_some() {
            return is_there();
        }
        assert!(begun.elapsed() < Duration::from_secs(300), "no checkpoint");
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Over TCP, with a machine that is unplugged for two seconds, and one that is for good.
#[test]
fn a_machine_that_is_cut_off_is_waited_for_and_then_given_up() {
    for (silence, is_mended) in [("30", true), ("2", false)] {
        let Some(machines) = Machines::up('c', "2") else {
            return;
        };
        let directory = empty(&format!("cut-off-{is_mended}"));
        let (words, exe) = (machines.words("2"), env!("CARGO_BIN_EXE_roving"));
        let launch = [
            exe,
            "launch",
            "-n",
            "2",
            "--restart",
            "3",
            "--fewer",
            "--mpirun",
            &words,
        ];
        let search = [&[exe][..], &search_of(LARGE.0, &directory)].concat();
        // Into files: what is left on a machine that is cut off has the pipes of its `mpirun`.
        let file = |name: &str| std::path::Path::new(&directory).with_extension(name);
        let made = |name: &str| std::fs::File::create(file(name)).expect("a file for what is said");
        let mut child = machines
            .command(&[&launch[..], &search].concat())
            .env("ROVING_DIST_SILENCE_S", silence)
            .stdout(made("said"))
            .stderr(made("warned"))
            .spawn()
            .expect("the script starts");
        let read = |name: &str| std::fs::read_to_string(file(name)).expect("it is there");
        if !wait_for_checkpoint(&directory, &mut child) {
            panic!("it ended without one: {}{}", read("said"), read("warned"));
        }
        Machines::call("cut", &[&machines.0, "2"]).expect("it is cut");
        if is_mended {
            std::thread::sleep(Duration::from_secs(2));
            Machines::call("mend", &[&machines.0, "2"]).expect("it is mended");
        }
        let status = child.wait().expect("it ends");
        let (said, warned) = (read("said"), read("warned"));
        assert!(status.success(), "{said}{warned}");
        assert!(said.contains(LARGE.1), "{said}{warned}");
        assert_eq!(
            warned.contains("starting again on 1 rank"),
            !is_mended,
            "{warned}"
        );
    }
}

/// The job script for Slurm, on two machines without Slurm.
#[test]
fn the_job_script_for_slurm_searches_a_tree_on_two_machines() {
    let Some(machines) = Machines::up('s', "2") else {
        return;
    };
    let scratch = empty("slurm");
    std::fs::create_dir_all(&scratch).expect("a place for checkpoints");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/ranks/slurm.sh");
    let output = machines
        .command(&[script])
        .env("ROVING_DIST_SILENCE_S", "30")
        .env("SLURM_NTASKS", "2")
        .env("SLURM_CPUS_PER_TASK", "1")
        .env("SCRATCH", &scratch)
        .env("ROVING", env!("CARGO_BIN_EXE_roving"))
        .env("INPUT", TREE)
        .env("EVERY", "10")
        .env("MPIRUN_WORDS", machines.words("2"))
        .output()
        .expect("the script starts");
    let (said, warned) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}{warned}");
    assert!(said.contains("2 ranks of 1 worker"), "{said}{warned}");
    assert!(
        said.contains("nodes 3,987, depth 5, leaves 3,232"),
        "{said}{warned}"
    );
}
