//! `roving launch`: a program on ranks that `mpirun` starts, and starts again when one is lost.
//!
//! In plain MPI a rank that dies ends all. A program that resumes from checkpoints by itself then
//! needs somebody who starts it once more; this is that. It restarts where a rank was lost, and
//! never where the program has failed by itself, because it would fail again.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use crate::input::{BadInput, Failure, number_in};

/// `roving launch`. Values are strings here, so that their errors are ours.
#[derive(Args, Debug)]
pub(crate) struct LaunchArgs {
    /// How many ranks.
    #[arg(short = 'n', value_name = "N", allow_hyphen_values = true)]
    ranks: String,
    /// How often the program is started again, at most, when a rank was lost [default: 0].
    #[arg(long, value_name = "K", allow_hyphen_values = true)]
    restart: Option<String>,
    /// Start again on one rank fewer each time, as long as there is one.
    #[arg(long)]
    fewer: bool,
    /// More words for `mpirun`, as in `--mpirun "--hostfile hosts"`.
    #[arg(long, value_name = "WORDS", allow_hyphen_values = true)]
    mpirun: Option<String>,
    /// The program and its words. It has to resume from its checkpoints by itself, as `roving run
    /// uts --dist --checkpoints DIR` does.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    program: Vec<String>,
}

/// The most ranks that `-n` takes.
const RANKS_MAX: u64 = 1 << 20;
/// How many restarts, unless told otherwise.
pub(crate) const RESTARTS_USUAL: u64 = 0;
/// The most restarts that `--restart` takes.
const RESTARTS_MAX: u64 = 1_000_000;
/// The status of a run that `roving-dist` has ended because a rank was silent, or could not be
/// reached: `EX_TEMPFAIL` of `sysexits.h`.
const LOST: i32 = 75;

/// How long `mpirun` may take to end after a rank was lost. It waits for ever for a machine that is
/// cut off.
const END_MAX: Duration = Duration::from_secs(20);
/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(10);
/// How long its last words may take. Their pipe stays open while a process is left that has it.
const WORDS_MAX: Duration = Duration::from_secs(1);

/// Signals that end a rank which does not end by itself: abort, bus error, arithmetic, kill, fault,
/// termination. `mpirun` ends with 128 more.
const SIGNALS: [i32; 6] = [6, 7, 8, 9, 11, 15];

/// The end of one run.
#[derive(Debug, PartialEq, Eq)]
enum RunEnd {
    Succeeded,
    /// Why; another run may go on.
    Lost(String),
    /// Why; another run would come to the same.
    Failed(String),
}

/// `roving launch`.
pub(crate) fn run(args: &LaunchArgs) -> Result<(), Failure> {
    let remedy = "one for each machine or socket is usual";
    let mut ranks = number_in("-n", &args.ranks, 1..=RANKS_MAX, remedy)?;
    let restarts = args.restart.as_deref().map_or(Ok(RESTARTS_USUAL), |text| {
        number_in("--restart", text, 0..=RESTARTS_MAX, "leave it out for none")
    })?;
    let start = Instant::now();
    for restart in 0.. {
        let begun = Instant::now();
        let why = match run_once(args, ranks)? {
            RunEnd::Succeeded if restart == 0 => return Ok(()),
            RunEnd::Succeeded => {
                let seconds = start.elapsed().as_secs_f64();
                let times = times(restart);
                say(&format!(
                    "ended well on {} after {times} in {seconds:.1} s",
                    of(ranks)
                ));
                return Ok(());
            }
            RunEnd::Failed(why) => {
                return Err(Failure::Run(format!(
                    "launch: {why}. No rank was lost, so it is not started again"
                )));
            }
            RunEnd::Lost(why) => why,
        };
        let seconds = begun.elapsed().as_secs_f64();
        let what = format!("{why} after {seconds:.1} s on {}", of(ranks));
        if restart == restarts {
            let times = times(restart);
            return Err(Failure::Run(format!(
                "launch: {what}; {times}, and no more are allowed. The last checkpoint is still \
                 there: the same command goes on from it, with --restart {} or more",
                restarts + 1
            )));
        }
        ranks -= u64::from(args.fewer && ranks > 1);
        let next = restart + 1;
        say(&format!(
            "{what}; starting again on {}, restart {next} of {restarts}",
            of(ranks)
        ));
    }
    Ok(())
}

fn times(restarts: u64) -> String {
    match restarts {
        1 => "1 restart".into(),
        many => format!("{many} restarts"),
    }
}

fn of(ranks: u64) -> String {
    match ranks {
        1 => "1 rank".into(),
        many => format!("{many} ranks"),
    }
}

/// One line for the user, whatever has become of standard error.
fn say(line: &str) {
    let _ = io::stderr().write_all(format!("roving launch: {line}\n").as_bytes());
}

/// One run, to its end.
fn run_once(args: &LaunchArgs, ranks: u64) -> Result<RunEnd, Failure> {
    let more = args.mpirun.as_deref().unwrap_or_default();
    let started = Command::new("mpirun")
        .arg("-n")
        .arg(ranks.to_string())
        .args(more.split_whitespace())
        .args(&args.program)
        .stderr(Stdio::piped())
        .spawn();
    let mut child = started.map_err(|error| {
        BadInput::line(format!(
            "launch needs `mpirun`, which does not start here ({error}): install an MPI, on Debian \
             openmpi-bin, or put it into PATH"
        ))
    })?;
    let (sender, lines) = mpsc::channel();
    let said = child.stderr.take();
    // It ends with the pipe; until then, what comes late is printed, too.
    thread::spawn(move || said.map(|said| pass_on(said, &sender)));
    let mut signs = Vec::new();
    let status = wait_for(&mut child, &lines, &mut signs)
        .map_err(|error| Failure::Run(format!("launch: waiting for mpirun: {error}")))?;
    while let Ok(line) = lines.recv_timeout(WORDS_MAX) {
        signs.push(line);
    }
    Ok(judge(status, &signs))
}

/// Waits for the end of `mpirun`, and ends it where it does not end after a rank was lost. The
/// ranks that it has left run on or are ended by MPI, and harm nothing: the next run takes their
/// directory.
fn wait_for(
    child: &mut Child,
    lines: &Receiver<String>,
    signs: &mut Vec<String>,
) -> io::Result<ExitStatus> {
    let mut lost: Option<Instant> = None;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if let Ok(line) = lines.try_recv() {
            lost.get_or_insert_with(Instant::now);
            signs.push(line);
            continue;
        }
        if lost.is_some_and(|lost| lost.elapsed() > END_MAX) {
            let seconds = END_MAX.as_secs();
            say(&format!(
                "mpirun has not ended {seconds} s after a rank was lost, and is killed: a machine \
                 may be cut off"
            ));
            child.kill()?;
            return child.wait();
        }
        thread::sleep(LOOK);
    }
}

/// Prints what the run says on standard error, and passes on the lines that say how ranks ended.
fn pass_on(said: ChildStderr, signs: &Sender<String>) {
    let (mut said, mut line) = (BufReader::new(said), Vec::new());
    while said.read_until(b'\n', &mut line).unwrap_or(0) > 0 {
        // Nobody may be there who reads it: the run goes on.
        let _ = io::stderr().write_all(&line);
        let text = String::from_utf8_lossy(&line);
        if [EXITED, SIGNAL, REMOTE, SILENT]
            .iter()
            .any(|sign| text.contains(sign))
        {
            // The run may have been judged already.
            let _ = signs.send(text.trim().to_owned());
        }
        line.clear();
    }
}

/// Words of OpenMPI about a rank that a signal has ended.
const EXITED: &str = "exited on signal";
/// Words of MPICH about one.
const SIGNAL: &str = "(signal ";
/// Words of OpenMPI about a machine that is gone.
const REMOTE: &str = "lost communication with a remote daemon";
/// Words of `roving-dist` about a rank that does not answer.
const SILENT: &str = "has been silent for";

/// Tells a lost rank from a program that has failed.
fn judge(status: ExitStatus, signs: &[String]) -> RunEnd {
    if status.success() {
        return RunEnd::Succeeded;
    }
    // The silence of a rank has no other sign; and a rank that aborts because of it ends by one.
    let sign = |words: &str| signs.iter().find(|line| line.contains(words));
    if let Some(line) = sign(SILENT) {
        return RunEnd::Lost(line.trim_start_matches("roving: ").to_owned());
    }
    if let Some(line) = sign(EXITED) {
        return RunEnd::Lost(signalled(line).unwrap_or_else(|| line.clone()));
    }
    if let Some(line) = sign(REMOTE).or_else(|| sign(SIGNAL)) {
        return RunEnd::Lost(line.clone());
    }
    match status.code() {
        Some(LOST) => RunEnd::Lost("a rank was lost".into()),
        // OpenMPI does not always say so.
        Some(code) if SIGNALS.contains(&(code - 128)) => {
            RunEnd::Lost(format!("a rank was ended by signal {}", code - 128))
        }
        Some(code) => RunEnd::Failed(format!("the program ended with status {code}")),
        None => RunEnd::Failed(format!("mpirun itself was ended ({status})")),
    }
}

/// `rank 1 was killed by signal 9 (Killed)`, of OpenMPI's line about it.
fn signalled(line: &str) -> Option<String> {
    let (_, rank) = line.split_once("process rank ")?;
    let rank = rank.split_whitespace().next()?;
    let (_, signal) = line.split_once(EXITED)?;
    let signal = signal.trim().trim_end_matches('.');
    Some(format!("rank {rank} was ended by signal {signal}"))
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    fn code(code: i32) -> ExitStatus {
        ExitStatus::from_raw(code << 8)
    }

    #[test]
    fn a_lost_rank_is_told_from_a_program_that_fails() {
        let line =
            "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).";
        assert_eq!(
            judge(code(137), &[line.to_owned()]),
            RunEnd::Lost("rank 1 was ended by signal 9 (Killed)".into())
        );
        let line = "roving: rank 2 of 3: has been silent for 2s: its process 7 is dead";
        assert_eq!(
            judge(code(75), &[line.to_owned()]),
            RunEnd::Lost("rank 2 of 3: has been silent for 2s: its process 7 is dead".into())
        );
        assert_eq!(judge(code(75), &[]), RunEnd::Lost("a rank was lost".into()));
        assert_eq!(judge(code(0), &[line.to_owned()]), RunEnd::Succeeded);
        assert_eq!(
            judge(code(137), &[]),
            RunEnd::Lost("a rank was ended by signal 9".into())
        );
        // 132 is a program that is not there.
        for status in [1, 2, 132] {
            let why = format!("the program ended with status {status}");
            assert_eq!(judge(code(status), &[]), RunEnd::Failed(why));
        }
        let ended = judge(ExitStatus::from_raw(15), &[]);
        assert!(
            matches!(&ended, RunEnd::Failed(why) if why.contains("signal: 15")),
            "{ended:?}"
        );
    }
}
