//! `roving launch`: a program on ranks that `mpirun` starts, and starts again when one is lost.
//!
//! In plain MPI a rank that dies ends all. A program that resumes from checkpoints by itself then
//! needs somebody who starts it once more; this is that. It restarts where a rank was lost, and
//! never where the program has failed by itself, because it would fail again.

mod termination;

use std::io::{self, ErrorKind, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use crate::io::input::{BadInput, CommandFailure, number_in};

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
pub(crate) fn run(args: &LaunchArgs) -> Result<(), CommandFailure> {
    let remedy = "one for each machine or socket is usual";
    let mut ranks = number_in("-n", &args.ranks, 1..=RANKS_MAX, remedy)?;
    let restarts = args.restart.as_deref().map_or(Ok(RESTARTS_USUAL), |text| {
        number_in("--restart", text, 0..=RESTARTS_MAX, "leave it out for none")
    })?;
    let start = Instant::now();
    termination::listen();
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
                return Err(CommandFailure::Run(format!(
                    "launch: {why}. No rank was lost, so it is not started again"
                )));
            }
            RunEnd::Lost(why) => why,
        };
        let seconds = begun.elapsed().as_secs_f64();
        let what = format!("{why} after {seconds:.1} s on {}", of(ranks));
        if restart == restarts {
            let times = times(restart);
            return Err(CommandFailure::Run(format!(
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
fn run_once(args: &LaunchArgs, ranks: u64) -> Result<RunEnd, CommandFailure> {
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
    thread::spawn(move || said.map(|said| pass_on(said, io::stderr(), &sender)));
    let mut signs = Vec::new();
    let status = wait_for(&mut child, &lines, &mut signs)
        .map_err(|error| CommandFailure::Run(format!("launch: waiting for mpirun: {error}")))?;
    if termination::is_asked() && !status.success() {
        say(
            "told to end (SIGTERM), and mpirun has ended. The last checkpoint is still there: the \
             same command goes on from it",
        );
        termination::end();
    }
    while let Ok(sign) = lines.recv_timeout(WORDS_MAX) {
        signs.push(sign);
    }
    Ok(judge(status, &signs))
}

/// Waits for the end of `mpirun`, and ends it where it does not end after a rank was lost, or after
/// it was told to. The ranks that it has left run on or are ended by MPI, and harm nothing: the
/// next run takes their directory.
fn wait_for(
    child: &mut Child,
    said: &Receiver<Sign>,
    signs: &mut Vec<Sign>,
) -> io::Result<ExitStatus> {
    let (mut lost, mut told): (Option<Instant>, Option<Instant>) = (None, None);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if told.is_none() && termination::is_asked() {
            termination::pass_on(child);
            told = Some(Instant::now());
        }
        if let Ok(sign) = said.try_recv() {
            lost.get_or_insert_with(Instant::now);
            signs.push(sign);
            continue;
        }
        let ends = [(lost, "a rank was lost"), (told, "it was told to")];
        let mut late = ends
            .iter()
            .filter(|(since, _)| since.is_some_and(|since| since.elapsed() > END_MAX));
        if let Some((_, after)) = late.next() {
            let seconds = END_MAX.as_secs();
            say(&format!(
                "mpirun has not ended {seconds} s after {after}, and is killed: a machine may be \
                 cut off"
            ));
            child.kill()?;
            return child.wait();
        }
        thread::sleep(LOOK);
    }
}

/// So many bytes of a line are looked at. No sign is longer.
const LINE_MAX: usize = 4096;

/// Prints what the run says, at once, whether its line has ended or not, and passes on what it says
/// of lost ranks.
fn pass_on(mut said: impl Read, mut to: impl Write, signs: &Sender<Sign>) {
    let (mut bytes, mut line) = ([0; LINE_MAX], Vec::new());
    let look = |line: &[u8]| {
        if let Some(sign) = sign_of(&String::from_utf8_lossy(line)) {
            // The run may have been judged already.
            let _ = signs.send(sign);
        }
    };
    loop {
        let new = match said.read(&mut bytes) {
            Ok(0) => break,
            Ok(count) => &bytes[..count],
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        // Nobody may be there who reads it: the run goes on.
        let _ = to.write_all(new);
        // A program that counts in one line returns to its beginning.
        let is_end = |byte: &u8| matches!(byte, b'\n' | b'\r');
        for piece in new.split_inclusive(is_end) {
            line.extend(piece.iter().take(LINE_MAX - line.len()));
            if piece.last().is_some_and(is_end) {
                look(&line);
                line.clear();
            }
        }
    }
    look(&line);
}

/// A line about a lost rank.
#[derive(Debug, PartialEq, Eq)]
struct Sign {
    by: Author,
    why: String,
}

/// Whose line it is. The first of these knows best: a rank that aborts because another one is
/// silent ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Author {
    /// `roving-dist`, of a rank that does not answer. Such a rank has no other sign.
    Ranks,
    /// OpenMPI, of a rank that a signal has ended.
    Noticed,
    /// OpenMPI, of a machine that is gone.
    Remote,
    /// MPICH, of a rank that a signal has ended.
    Hydra,
}

/// Reads a line of the run. The program writes there, too, whatever it likes: a sign is only a line
/// that is `roving-dist`'s or `mpirun`'s from its beginning.
fn sign_of(line: &str) -> Option<Sign> {
    // `--tag-output` of OpenMPI puts the rank before it.
    let line = line.split_once("<stderr>:").map_or(line, |(_, line)| line);
    let line = line.trim();
    let (by, why) = if let Some(why) = silence(line) {
        (Author::Ranks, why.to_owned())
    } else if starts(line, &["mpirun", "prterun"], NOTICED) {
        let why = signalled(line).unwrap_or_else(|| line.to_owned());
        (Author::Noticed, why)
    } else if starts(line, &["ORTE", "PRTE"], REMOTE) {
        (Author::Remote, line.to_owned())
    } else if line.contains(SIGNAL) && EXITS.iter().any(|words| line.starts_with(words)) {
        (
            Author::Hydra,
            line.trim_start_matches(['=', ' ']).to_owned(),
        )
    } else {
        return None;
    };
    Some(Sign { by, why })
}

/// Words of OpenMPI about a rank that a signal has ended; its version 5 goes on in the next line.
const NOTICED: &str = " noticed that process rank ";
/// And of the signal.
const EXITED: &str = "exited on signal";
/// Words of OpenMPI about a machine that is gone.
const REMOTE: &str = " has lost communication with a remote daemon";
/// Words of MPICH about how a rank ended.
const EXITS: [&str; 2] = [
    "=   EXIT STRING: ",
    "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: ",
];
/// And of the signal.
const SIGNAL: &str = "(signal ";

/// Whether one of the names begins the line, and the words follow.
fn starts(line: &str, names: &[&str], words: &str) -> bool {
    let after = |name| line.strip_prefix(name);
    let mut rests = names.iter().filter_map(|name| after(*name));
    rests.any(|rest| rest.starts_with(words))
}

/// `rank 1 of 2: has been silent for ...`, of `roving-dist`'s line about it.
fn silence(line: &str) -> Option<&str> {
    let what = line.strip_prefix("roving: ")?;
    let (ranks, how) = what.strip_prefix("rank ")?.split_once(": ")?;
    let (rank, ranks) = ranks.split_once(" of ")?;
    let is_it = rank.parse::<u64>().is_ok() && ranks.parse::<u64>().is_ok();
    (is_it && how.starts_with("has been silent for ")).then_some(what)
}

/// Tells a lost rank from a program that has failed.
fn judge(status: ExitStatus, signs: &[Sign]) -> RunEnd {
    if status.success() {
        return RunEnd::Succeeded;
    }
    if let Some(sign) = signs.iter().min_by_key(|sign| sign.by) {
        return RunEnd::Lost(sign.why.clone());
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

    /// The signs in what a run has said.
    fn signs(said: &str) -> Vec<Sign> {
        said.lines().filter_map(sign_of).collect()
    }

    const ENDED: &str =
        "mpirun noticed that process rank 1 with PID 0 on node vm exited on signal 9 (Killed).";
    const SILENT: &str = "roving: rank 2 of 3: has been silent for 2s: its process 7 is dead";

    #[test]
    fn each_byte_is_passed_on_at_once_and_each_line_is_looked_at() {
        struct Shown(Sender<Vec<u8>>);
        impl Write for Shown {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.send(bytes.to_vec()).unwrap();
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (said, mut says) = io::pipe().unwrap();
        let ((to, shown), (sender, signs)) = (mpsc::channel(), mpsc::channel());
        let thread = thread::spawn(move || pass_on(said, Shown(to), &sender));
        let long = "x".repeat(3 * LINE_MAX);
        let (begin, rest) = SILENT.split_at(20);
        for piece in ["50 %", "\r60 %", "\r", begin, rest, "\n", ENDED, &long] {
            says.write_all(piece.as_bytes()).unwrap();
            let mut seen = Vec::new();
            while seen.len() < piece.len() {
                seen.extend(shown.recv().unwrap());
            }
            assert_eq!(seen, piece.as_bytes(), "the pipe is still open");
        }
        drop(says);
        thread.join().unwrap();
        let found: Vec<Author> = signs.iter().map(|sign| sign.by).collect();
        assert_eq!(found, [Author::Ranks, Author::Noticed]);
    }

    #[test]
    fn lines_of_the_ranks_and_of_mpirun_are_signs() {
        let ended = "rank 1 was ended by signal 9 (Killed)";
        let silent = "rank 2 of 3: has been silent for 2s: its process 7 is dead";
        let wrapped = "prterun noticed that process rank 0 with PID 3 on node vm exited on";
        let tagged = format!("[1,0]<stderr>:{SILENT}");
        let dated = format!("Tue Nov 24 04:28:50 2026[1,0]<stderr>:{SILENT}");
        for (line, by, why) in [
            (SILENT, Author::Ranks, silent),
            (&tagged, Author::Ranks, silent),
            (&dated, Author::Ranks, silent),
            (ENDED, Author::Noticed, ended),
            (wrapped, Author::Noticed, wrapped),
            (
                "ORTE has lost communication with a remote daemon.",
                Author::Remote,
                "ORTE has lost communication with a remote daemon.",
            ),
            (
                "=   EXIT STRING: Killed (signal 9)",
                Author::Hydra,
                "EXIT STRING: Killed (signal 9)",
            ),
            (
                "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)",
                Author::Hydra,
                "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)",
            ),
        ] {
            let why = why.to_owned();
            assert_eq!(sign_of(&format!("{line}\n")), Some(Sign { by, why }));
        }
    }

    #[test]
    fn lines_of_the_program_are_no_signs() {
        for line in [
            "peer 10.0.0.7 has been silent for 3 s, reconnecting",
            "peer 10.0.0.7 gave up (signal 4 dBm)",
            "rank 2 of 3: has been silent for 2s",
            "roving: the sensor has been silent for 3 s",
            "roving: rank 2 of 3: the sensor has been silent for 3 s",
            "roving: rank two of 3: has been silent for 3 s",
            "the child exited on signal 9 and is started again",
            "my log: mpirun noticed that process rank 1 exited on signal 9 (Killed).",
            "we have lost communication with a remote daemon",
            "EXIT STRING: fine (signal lost)",
            "=   EXIT STRING: exited with status 3",
            "",
        ] {
            assert_eq!(sign_of(line), None, "{line}");
            assert_eq!(sign_of(&format!("[1,0]<stderr>:{line}")), None, "{line}");
        }
    }

    #[test]
    fn a_lost_rank_is_told_from_a_program_that_fails() {
        let lost = |why: &str| RunEnd::Lost(why.to_owned());
        assert_eq!(
            judge(code(137), &signs(ENDED)),
            lost("rank 1 was ended by signal 9 (Killed)")
        );
        let silence = "rank 2 of 3: has been silent for 2s: its process 7 is dead";
        assert_eq!(judge(code(75), &signs(SILENT)), lost(silence));
        // Whatever comes first.
        let both = format!("{ENDED}\n{SILENT}");
        assert_eq!(judge(code(134), &signs(&both)), lost(silence));
        assert_eq!(judge(code(75), &[]), lost("a rank was lost"));
        assert_eq!(judge(code(0), &signs(SILENT)), RunEnd::Succeeded);
        assert_eq!(judge(code(137), &[]), lost("a rank was ended by signal 9"));
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
