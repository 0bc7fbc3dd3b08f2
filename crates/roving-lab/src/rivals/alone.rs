//! A rival in a process of its own that lives for one run only: for a pool that is never quiet,
//! and so would slow down everybody else whose turn it is.

use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::program::{line, parse};
use super::{Absent, Contender, Runtime, deepen_stacks};
use crate::io::input::CommandFailure;
use crate::workloads::{TimedAnswer, WorkloadJob};

/// Runs that warm the pool before the one that counts.
const WARM: usize = 2;
/// How long a run may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often we look whether it has ended.
const LOOK: Duration = Duration::from_millis(20);

/// Starts this command again for each run, as `roving probe run …`.
pub(super) struct Alone {
    words: [String; 4],
}

impl Alone {
    pub(super) fn new(runtime: Runtime, job: &WorkloadJob, workers: usize) -> Alone {
        let input = match job {
            // As many turns here as there: a leaf in µs would be measured anew.
            WorkloadJob::Stress(stress) => {
                let (depth, turns, repeats) = stress.shape();
                format!("leaf={turns},depth={depth},repeats={repeats}")
            }
            other => other.input(),
        };
        let (name, workload) = (runtime.name().to_owned(), job.kind().name.to_owned());
        Alone {
            words: [name, workers.to_string(), workload, input],
        }
    }

    fn ask(&self, kind: &str) -> Result<TimedAnswer, String> {
        let exe = std::env::current_exe().map_err(|error| error.to_string())?;
        let child = Command::new(exe)
            .args(["probe", kind])
            .args(&self.words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn();
        let output = ended(child.map_err(|error| error.to_string())?, PATIENCE)?;
        parse(output.trim())
    }
}

/// The output of `child` until it ends; after `patience` it is killed.
fn ended(mut child: Child, patience: Duration) -> Result<String, String> {
    let start = Instant::now();
    while child
        .try_wait()
        .map_err(|error| error.to_string())?
        .is_none()
    {
        if start.elapsed() > patience {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!(
                "it did not end within {} s; leave it out",
                patience.as_secs()
            ));
        }
        sleep(LOOK);
    }
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

impl Contender for Alone {
    fn run(&mut self, _: &mut WorkloadJob) -> Result<TimedAnswer, String> {
        self.ask("run")
    }

    fn rehearse(&mut self, _: &mut WorkloadJob) -> Result<TimedAnswer, String> {
        self.ask("rehearse")
    }
}

/// `roving probe run` and `rehearse`: one run on warm threads, as one line.
pub(crate) fn answer(
    rehearse: bool,
    runtime: Runtime,
    workers: usize,
    mut job: WorkloadJob,
) -> Result<String, CommandFailure> {
    deepen_stacks();
    let started = runtime.start_here(&job, workers);
    let mut contender = started.map_err(|why: Absent| CommandFailure::Run(why.0))?;
    let mut run = contender.rehearse(&mut job).map_err(CommandFailure::Run)?;
    if !rehearse {
        for _ in 0..=WARM {
            run = contender.run(&mut job).map_err(CommandFailure::Run)?;
        }
    }
    Ok(line(&run))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str) -> Child {
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    #[test]
    fn what_a_process_says_is_heard_and_one_that_hangs_is_ended() {
        assert_eq!(ended(shell("echo here"), PATIENCE).unwrap(), "here\n");
        let start = Instant::now();
        let error = ended(shell("exec sleep 60"), Duration::from_millis(50)).unwrap_err();
        assert!(error.contains("did not end") && start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn a_stress_keeps_its_turns() {
        let job = WorkloadJob::parse("stress", Some("leaf=70,depth=2,repeats=3")).unwrap();
        let alone = Alone::new(Runtime::Forte, &job, 2);
        assert_eq!(
            alone.words,
            ["forte", "2", "stress", "leaf=70,depth=2,repeats=3"]
        );
    }
}
