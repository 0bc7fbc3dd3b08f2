//! Rivals that are programs of their own, in C++ (see `cpp/`): started once for a job, they make
//! their threads, sleep until they are told to run, and answer with one line of JSON.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::plain::Plain;
use super::{Absent, Contender, Runtime};
use crate::workloads::uts::Params;
use crate::workloads::{RunAnswer, TimedAnswer, WorkloadJob};

/// The build script's result for a program.
struct BuildOutcome {
    /// Where it is; empty when it could not be built.
    path: &'static str,
    /// Why it could not be built.
    absent: &'static str,
}

fn built(runtime: Runtime) -> BuildOutcome {
    match runtime {
        Runtime::OpenMp => BuildOutcome {
            path: env!("ROVING_OPENMP_PROGRAM"),
            absent: env!("ROVING_OPENMP_ABSENT"),
        },
        _ => BuildOutcome {
            path: env!("ROVING_TBB_PROGRAM"),
            absent: env!("ROVING_TBB_ABSENT"),
        },
    }
}

/// A running program.
pub(super) struct RunningProgram {
    child: Child,
    /// None once it has been told that nothing more will come.
    orders: Option<ChildStdin>,
    answers: Lines<BufReader<ChildStdout>>,
}

/// One line of a program.
#[derive(Debug, Deserialize, Serialize)]
struct ProgramLine {
    seconds: f64,
    answer: [u64; 3],
}

impl RunningProgram {
    /// Starts the program of `runtime` for `job`.
    pub(super) fn start(
        runtime: Runtime,
        job: &WorkloadJob,
        workers: usize,
    ) -> Result<Box<dyn Contender>, Absent> {
        let built = built(runtime);
        if !built.absent.is_empty() {
            return Err(Absent(built.absent.to_owned()));
        }
        if !Path::new(built.path).exists() {
            let why = "its program is not where this binary was built; build it here";
            return Err(Absent(why.to_owned()));
        }
        let Some(words) = words(job) else {
            let why = format!("it has no program for {} {}", job.kind().name, job.input());
            return Err(Absent(why));
        };
        let stack_mebibytes = job.stack_bytes().div_ceil(1 << 20).max(64);
        let child = Command::new(built.path)
            .arg(workers.to_string())
            .args(words)
            .env("OMP_STACKSIZE", format!("{stack_mebibytes}M"))
            .env_remove("OMP_NUM_THREADS")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|error| Absent(format!("its program: {error}")))?;
        match (child.stdin.take(), child.stdout.take()) {
            (orders @ Some(_), Some(answers)) => {
                let answers = BufReader::new(answers).lines();
                Ok(Box::new(RunningProgram {
                    child,
                    orders,
                    answers,
                }))
            }
            _ => Err(Absent(
                "its program has no standard input and output".to_owned(),
            )),
        }
    }

    fn order(&mut self, word: &str) -> Result<TimedAnswer, String> {
        let gone = || "its program ended before its time".to_owned();
        let orders = self.orders.as_mut().ok_or_else(gone)?;
        orders.write_all(word.as_bytes()).map_err(|_| gone())?;
        let line = self
            .answers
            .next()
            .ok_or_else(gone)?
            .map_err(|error| error.to_string())?;
        parse(&line)
    }
}

/// Writes what [`parse`] reads.
pub(super) fn line(run: &TimedAnswer) -> String {
    let line = ProgramLine {
        seconds: run.time.as_secs_f64(),
        answer: run.answer.0,
    };
    serde_json::to_string(&line).unwrap_or_default()
}

/// Reads one line of a program.
pub(super) fn parse(line: &str) -> Result<TimedAnswer, String> {
    let wrong = || format!("its program said `{line}`");
    let said: ProgramLine = serde_json::from_str(line).map_err(|_| wrong())?;
    let time = Duration::try_from_secs_f64(said.seconds).map_err(|_| wrong())?;
    Ok(TimedAnswer {
        time,
        answer: RunAnswer(said.answer),
    })
}

impl Contender for RunningProgram {
    fn run(&mut self, _: &mut WorkloadJob) -> Result<TimedAnswer, String> {
        self.order("run\n")
    }

    fn rehearse(&mut self, _: &mut WorkloadJob) -> Result<TimedAnswer, String> {
        self.order("check\n")
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        // The end of its input ends the program; then nothing is left behind.
        self.orders = None;
        let _ = self.child.wait();
    }
}

/// The job in the words that the programs read; none where they have no code for it.
fn words(job: &WorkloadJob) -> Option<Vec<String>> {
    let plain = Plain::from_job(job)?;
    let numbers = |name: &str, numbers: &[u64]| {
        let mut words = vec![name.to_owned()];
        words.extend(numbers.iter().map(u64::to_string));
        words
    };
    Some(match plain {
        Plain::Fib(n) => numbers("fib", &[n]),
        Plain::NQueens(n) => numbers("nqueens", &[n]),
        Plain::Flat(tasks) => numbers("flat", &[tasks]),
        Plain::Stress {
            depth,
            turns,
            repeats,
        } => numbers("stress", &[depth, turns, repeats]),
        Plain::Uts(params, portable) => {
            let mut words = numbers("uts", &[]);
            words.extend(flags(&params));
            words.extend(portable.then(|| "portable".to_owned()));
            words
        }
    })
}

/// The parameters of a tree as UTS writes them. Rust prints a float so that it reads back the same.
fn flags(params: &Params) -> [String; 9] {
    [
        format!("-t{}", params.kind as u32),
        format!("-a{}", params.shape as u32),
        format!("-b{}", params.b),
        format!("-d{}", params.d),
        format!("-q{}", params.q),
        format!("-m{}", params.m),
        format!("-r{}", params.r),
        format!("-f{}", params.f),
        format!("-g{}", params.g),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_time_and_an_answer() {
        let run = parse("{\"seconds\":0.250000000,\"answer\":[4112897,1572,3599034]}").unwrap();
        assert_eq!(run.time, Duration::from_millis(250));
        assert_eq!(run.answer, RunAnswer([4_112_897, 1572, 3_599_034]));
        for bad in [
            "",
            "{}",
            "{\"seconds\":-1,\"answer\":[1,2,3]}",
            "{\"seconds\":1,\"answer\":[1]}",
        ] {
            assert_eq!(parse(bad).unwrap_err(), format!("its program said `{bad}`"));
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let run = TimedAnswer {
            time: Duration::from_nanos(123_456_789),
            answer: RunAnswer([1, 2, u64::MAX]),
        };
        let again = parse(&line(&run)).unwrap();
        assert_eq!((again.time, again.answer), (run.time, run.answer));
    }

    #[test]
    fn a_tree_is_written_as_uts_writes_it() {
        let job = WorkloadJob::parse("uts", Some("portable T4")).unwrap();
        let want = "uts -t2 -a0 -b6 -d16 -q0.234375 -m4 -r1 -f0.5 -g1 portable";
        assert_eq!(words(&job).unwrap().join(" "), want);
        let job = WorkloadJob::parse("fib", Some("25")).unwrap();
        assert_eq!(words(&job).unwrap(), ["fib", "25"]);
    }
}
