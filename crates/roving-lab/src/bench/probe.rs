//! Questions that need a process of their own: how much memory, CPU or instructions one pool costs.
//! The command asks itself, by the hidden subcommand `probe`.

use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use roving::Pool;
use roving::policy::Amount;

use super::dist;
use crate::forms::fork_join::Roving;
use crate::io::input::{BadInput, CommandFailure, number_in};
use crate::io::out::show;
use crate::machine::cpu_time;
use crate::machine::memory;
use crate::networks::run::{once, pool};
use crate::networks::{self, placement};
use crate::rivals::{Runtime, alone};
use crate::workloads::WorkloadJob;

/// How long an idle pool is watched, after it had time to fall asleep.
const WATCH: Duration = Duration::from_secs(2);
const SETTLE: Duration = Duration::from_millis(300);

/// One question. The answer is one number, or one line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Probe {
    /// Bytes that `flat` holds at most, over those held before the pool was made.
    FlatMemory {
        /// Who spawns.
        runtime: Runtime,
        /// On how many workers.
        workers: usize,
        /// How many tasks.
        tasks: String,
    },
    /// Bytes that one run of a network holds at most, over those held before.
    NetworkMemory {
        /// Which network.
        network: String,
        /// Its input.
        input: String,
        /// Where its processes run.
        placement: String,
        /// On how many workers.
        workers: usize,
    },
    /// Nanoseconds of CPU that the process uses in two seconds.
    Idle {
        /// Whose pool is idle; none for a process without one.
        runtime: Option<Runtime>,
        /// Of how many workers.
        workers: usize,
    },
    /// One run of a job, in the form that [`alone`] reads.
    Run {
        /// The tasks count themselves.
        rehearse: bool,
        /// The runtime that runs it.
        runtime: Runtime,
        /// The number of workers.
        workers: usize,
        /// The workload.
        workload: String,
        /// Its input.
        input: String,
    },
    /// `fib` once, for callgrind to count its instructions. The answer is the number.
    Fib {
        /// By joins on the calling thread, or by plain calls.
        joins: bool,
        /// Which.
        n: u64,
    },
}

impl Probe {
    /// The words after `roving probe`.
    pub(super) fn words(&self) -> Vec<String> {
        match self {
            Probe::FlatMemory {
                runtime,
                workers,
                tasks,
            } => {
                vec![
                    "flat-memory".into(),
                    runtime.name().into(),
                    workers.to_string(),
                    tasks.clone(),
                ]
            }
            Probe::NetworkMemory {
                network,
                input,
                placement,
                workers,
            } => vec![
                "network-memory".into(),
                network.clone(),
                input.clone(),
                placement.clone(),
                workers.to_string(),
            ],
            Probe::Idle { runtime, workers } => {
                let name = runtime.map_or("nobody", Runtime::name);
                vec!["idle".into(), name.into(), workers.to_string()]
            }
            Probe::Run {
                rehearse,
                runtime,
                workers,
                workload,
                input,
            } => vec![
                if *rehearse { "rehearse" } else { "run" }.into(),
                runtime.name().into(),
                workers.to_string(),
                workload.clone(),
                input.clone(),
            ],
            Probe::Fib { joins, n } => {
                vec![
                    "fib".into(),
                    if *joins { "joins" } else { "calls" }.into(),
                    n.to_string(),
                ]
            }
        }
    }

    fn parse(words: &[String]) -> Result<Probe, BadInput> {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let remedy = "`roving bench` asks right";
        let workers = |text| Ok(number_in("workers", text, 1..=768, remedy)? as usize);
        let runtime = |name| {
            let all = Runtime::OURS.into_iter().chain(Runtime::RIVALS);
            let found = all.into_iter().find(|runtime| runtime.name() == name);
            found.ok_or_else(|| BadInput::new("runtime", name, "a runtime's name", remedy))
        };
        Ok(match words[..] {
            ["flat-memory", name, count, tasks] => Probe::FlatMemory {
                runtime: runtime(name)?,
                workers: workers(count)?,
                tasks: tasks.to_owned(),
            },
            ["network-memory", network, input, placement, count] => Probe::NetworkMemory {
                network: network.to_owned(),
                input: input.to_owned(),
                placement: placement.to_owned(),
                workers: workers(count)?,
            },
            ["idle", "nobody", count] => Probe::Idle {
                runtime: None,
                workers: workers(count)?,
            },
            ["idle", name, count] => Probe::Idle {
                runtime: Some(runtime(name)?),
                workers: workers(count)?,
            },
            [kind @ ("run" | "rehearse"), name, count, workload, input] => Probe::Run {
                rehearse: kind == "rehearse",
                runtime: runtime(name)?,
                workers: workers(count)?,
                workload: workload.to_owned(),
                input: input.to_owned(),
            },
            ["fib", kind @ ("joins" | "calls"), n] => {
                let n = number_in("n", n, 0..=50, remedy)?;
                Probe::Fib {
                    joins: kind == "joins",
                    n,
                }
            }
            _ => {
                let allowed = "flat-memory RUNTIME WORKERS TASKS, idle RUNTIME WORKERS, \
                               network-memory NETWORK INPUT PLACEMENT WORKERS, \
                               or fib joins|calls N";
                return Err(BadInput::new("probe", words.join(" "), allowed, remedy));
            }
        })
    }

    fn answer(&self) -> Result<String, CommandFailure> {
        let number = match self {
            Probe::FlatMemory {
                runtime,
                workers,
                tasks,
            } => flat_memory(*runtime, *workers, tasks),
            Probe::NetworkMemory {
                network,
                input,
                placement,
                workers,
            } => network_memory(network, input, placement, *workers),
            Probe::Idle { runtime, workers } => idle(*runtime, *workers),
            Probe::Fib { joins, n } => fib(*joins, *n),
            Probe::Run {
                rehearse,
                runtime,
                workers,
                workload,
                input,
            } => {
                let job = WorkloadJob::parse(workload, Some(input))?;
                return alone::answer(*rehearse, *runtime, *workers, job);
            }
        };
        number.map(|number| number.to_string())
    }
}

/// `roving probe`.
pub(crate) fn run(words: &[String]) -> Result<(), CommandFailure> {
    if let Some(answered) = dist::answer(words) {
        return answered;
    }
    show(format_args!("{}\n", Probe::parse(words)?.answer()?))?;
    Ok(())
}

/// The answer of a process of its own.
pub(super) fn ask(probe: &Probe) -> Result<f64, CommandFailure> {
    let failed =
        |why: String| CommandFailure::Run(format!("probe {}: {why}", probe.words().join(" ")));
    let exe = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let asked = Command::new(exe)
        .arg("probe")
        .args(probe.words())
        .stderr(Stdio::inherit())
        .output();
    let output = asked.map_err(|error| failed(error.to_string()))?;
    let said = String::from_utf8_lossy(&output.stdout);
    said.trim()
        .parse()
        .map_err(|_| failed(format!("it said `{}`", said.trim())))
}

fn flat_memory(runtime: Runtime, workers: usize, tasks: &str) -> Result<f64, CommandFailure> {
    let mut job = WorkloadJob::parse("flat", Some(tasks))?;
    let unknown = || CommandFailure::Run("this system does not say how much memory is held".into());
    let base = memory::restart_peak().ok_or_else(unknown)?;
    let mut contender = runtime
        .start_here(&job, workers)
        .map_err(|why| CommandFailure::Run(why.0))?;
    for _ in 0..3 {
        contender.run(&mut job).map_err(CommandFailure::Run)?;
    }
    let peak = memory::peak_bytes().ok_or_else(unknown)?;
    Ok(peak.saturating_sub(base) as f64)
}

fn network_memory(
    network: &str,
    input: &str,
    placement: &str,
    workers: usize,
) -> Result<f64, CommandFailure> {
    let job = networks::NetworkJob::parse(network, Some(input))?;
    let place = placement::parse(placement)?;
    let pool = pool(workers, Amount::default(), false)?;
    let unknown = || CommandFailure::Run("this system does not say how much memory is held".into());
    let base = memory::restart_peak().ok_or_else(unknown)?;
    let ran = once(&job, &pool, place, false)?;
    let peak = memory::peak_bytes().ok_or_else(unknown)?;
    job.verify(ran.answer, ran.answer)
        .map_err(CommandFailure::Run)?;
    Ok(peak.saturating_sub(base) as f64)
}

fn idle(runtime: Option<Runtime>, workers: usize) -> Result<f64, CommandFailure> {
    let mut job = WorkloadJob::parse("fib", Some("22"))?;
    let mut contender = match runtime {
        Some(runtime) => Some(
            runtime
                .start_here(&job, workers)
                .map_err(|why| CommandFailure::Run(why.0))?,
        ),
        None => None,
    };
    if let Some(contender) = &mut contender {
        contender.run(&mut job).map_err(CommandFailure::Run)?;
    }
    sleep(SETTLE);
    let unknown = || CommandFailure::Run("this system does not say how much CPU is used".into());
    let before = cpu_time().ok_or_else(unknown)?;
    sleep(WATCH);
    let after = cpu_time().ok_or_else(unknown)?;
    drop(contender);
    Ok(after.saturating_sub(before).as_nanos() as f64)
}

fn fib(joins: bool, n: u64) -> Result<f64, CommandFailure> {
    let mut job = WorkloadJob::parse("fib", Some(&n.to_string()))?;
    if joins {
        let pool = Pool::builder().caller_runs().build();
        let pool = pool.map_err(|error| CommandFailure::Run(format!("no pool: {error}")))?;
        pool.install(|| job.run(&mut Roving));
    } else {
        job.run_serial();
    }
    job.verify(job.answer(), job.answer())
        .map_err(CommandFailure::Run)?;
    Ok(job.answer().0[0] as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_read_as_they_are_written() {
        let questions = [
            Probe::FlatMemory {
                runtime: Runtime::Rayon,
                workers: 2,
                tasks: "1000".into(),
            },
            Probe::Idle {
                runtime: Some(Runtime::Roving),
                workers: 3,
            },
            Probe::Idle {
                runtime: None,
                workers: 1,
            },
            Probe::Run {
                rehearse: true,
                runtime: Runtime::Forte,
                workers: 2,
                workload: "uts".into(),
                input: "-t3 -b3 -d7".into(),
            },
            Probe::NetworkMemory {
                network: "chain".into(),
                input: "100".into(),
                placement: "stealing".into(),
                workers: 2,
            },
            Probe::Fib { joins: true, n: 20 },
            Probe::Fib {
                joins: false,
                n: 20,
            },
        ];
        for question in questions {
            assert_eq!(Probe::parse(&question.words()).unwrap(), question);
        }
        for bad in [
            "",
            "fib",
            "fib joins x",
            "idle cilk 2",
            "idle roving 0",
            "flat-memory rayon 2",
        ] {
            let words: Vec<String> = bad.split_whitespace().map(str::to_owned).collect();
            assert!(Probe::parse(&words).is_err(), "{bad}");
        }
    }

    #[test]
    fn fib_is_right_either_way() {
        for joins in [true, false] {
            // On a thread of its own, since the pool takes the calling thread as its worker.
            let found = std::thread::spawn(move || fib(joins, 15).ok())
                .join()
                .unwrap();
            assert_eq!(found, Some(610.0));
        }
    }
}
