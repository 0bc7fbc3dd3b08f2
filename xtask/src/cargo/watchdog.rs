//! A program that may hang: its output is kept, and it is ended with all that it started.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use crate::{Result, report};

/// How long a program may be silent, and how long it may run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) silent: Duration,
    pub(crate) whole: Duration,
    /// Beyond the limits, all that it started ends with it. For that it is cut off from the
    /// terminal: a Ctrl-C that ends us does not reach it.
    pub(crate) group: bool,
}

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramEnd {
    Success,
    /// With another status, or by a signal.
    Failure,
    /// It said nothing for so long that we ended it.
    Silent(Duration),
    /// It still spoke, but ran for so long that we ended it.
    TooLong(Duration),
}

impl ProgramEnd {
    /// The limit that it met, in words, if it was ended for that.
    pub(crate) fn overdue(self) -> Option<String> {
        match self {
            ProgramEnd::Silent(limit) => Some(format!("was silent for {} s", limit.as_secs())),
            ProgramEnd::TooLong(limit) => Some(format!("still ran after {} s", limit.as_secs())),
            ProgramEnd::Success | ProgramEnd::Failure => None,
        }
    }
}

/// The output of a program, and how it ended.
#[derive(Debug)]
pub(crate) struct WatchedOutput {
    pub(crate) end: ProgramEnd,
    /// Standard output; a last line without its end is in here too.
    pub(crate) out: Vec<String>,
    /// Standard error.
    pub(crate) err: Vec<String>,
    pub(crate) took: Duration,
    /// Seconds of processors that it used and all that it has waited for, where the system tells.
    pub(crate) used: Option<f64>,
    /// As the system tells it: the exit status, or the signal.
    pub(crate) status: Option<ExitStatus>,
}

impl WatchedOutput {
    pub(crate) fn hung(&self) -> bool {
        matches!(self.end, ProgramEnd::Silent(_) | ProgramEnd::TooLong(_))
    }

    /// Both streams, the errors last.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &String> {
        self.out.iter().chain(&self.err)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stream {
    Out,
    Err,
}

/// One stream, cut into lines as it comes.
#[derive(Default)]
struct LineCutter {
    whole: Vec<String>,
    rest: Vec<u8>,
}

impl LineCutter {
    /// Adds what was read; gives the number of lines that became whole.
    fn push(&mut self, bytes: &[u8]) -> usize {
        let before = self.whole.len();
        for byte in bytes {
            if *byte == b'\n' {
                self.close();
            } else {
                self.rest.push(*byte);
            }
        }
        self.whole.len() - before
    }

    fn close(&mut self) {
        let line = String::from_utf8_lossy(&self.rest);
        self.whole.push(line.trim_end_matches('\r').to_owned());
        self.rest.clear();
    }

    fn finish(mut self) -> Vec<String> {
        if !self.rest.is_empty() {
            self.close();
        }
        self.whole
    }
}

/// Runs a program within its limits; `show` prints its output as it comes.
pub(crate) fn run(command: &mut Command, limits: Limits, show: bool) -> Result<WatchedOutput> {
    let name = command.get_program().to_string_lossy().into_owned();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    if limits.group {
        lead_a_group(command);
    }
    let started = Instant::now();
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot start `{name}`: {error}"))?;
    let (sender, receiver) = mpsc::channel();
    forward(child.stdout.take(), Stream::Out, sender.clone());
    forward(child.stderr.take(), Stream::Err, sender);
    let (mut out, mut err) = (LineCutter::default(), LineCutter::default());
    let mut spoke = Instant::now();
    let (mut stopped, mut ended, mut used) = (None, None, None);
    loop {
        match receiver.recv_timeout(Duration::from_millis(100)) {
            Ok((stream, bytes)) => {
                spoke = Instant::now();
                let lines = match stream {
                    Stream::Out => &mut out,
                    Stream::Err => &mut err,
                };
                let new = lines.push(&bytes);
                for line in lines.whole[lines.whole.len() - new..]
                    .iter()
                    .filter(|_| show)
                {
                    println!("{line}");
                }
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) if over(&mut child, &mut used) => {
                let ended = ended.get_or_insert_with(Instant::now);
                if is_given_up(ended.elapsed(), spoke.elapsed()) {
                    break;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if stopped.is_none() {
            stopped = overdue(started, spoke, limits);
            if stopped.is_some() {
                end(&mut child, limits.group);
                spoke = Instant::now();
            }
        }
    }
    // It has closed its pipes: mostly it has ended, or is about to.
    while !over(&mut child, &mut used) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let status = child.wait().map_err(|error| format!("`{name}`: {error}"))?;
    let end = match stopped {
        Some(end) => end,
        None if status.success() => ProgramEnd::Success,
        None => ProgramEnd::Failure,
    };
    Ok(WatchedOutput {
        end,
        out: out.finish(),
        err: err.finish(),
        took: started.elapsed(),
        used,
        status: Some(status),
    })
}

/// How long the pipes of an ended program are read on.
const GRACE: Duration = Duration::from_secs(5);

/// Whether they are read no longer, when it was seen to have ended and last said something so long
/// ago: something that it started holds them. What it said at its end may still be on its way, also
/// if it said nothing for long before.
fn is_given_up(ended: Duration, silent: Duration) -> bool {
    ended.min(silent) > GRACE
}

fn overdue(started: Instant, spoke: Instant, limits: Limits) -> Option<ProgramEnd> {
    if spoke.elapsed() > limits.silent {
        Some(ProgramEnd::Silent(limits.silent))
    } else if started.elapsed() > limits.whole {
        Some(ProgramEnd::TooLong(limits.whole))
    } else {
        None
    }
}

/// Whether it has ended. What it used is told only before somebody waits for it.
fn over(child: &mut Child, used: &mut Option<f64>) -> bool {
    if used.is_some() {
        return true;
    }
    match report::ended(child.id()) {
        Some((false, _)) => return false,
        Some((true, seconds)) => *used = Some(seconds),
        None => {}
    }
    child.try_wait().map_or(true, |status| status.is_some())
}

/// Sends what a stream brings until it ends.
fn forward(
    stream: Option<impl Read + Send + 'static>,
    which: Stream,
    sender: Sender<(Stream, Vec<u8>)>,
) {
    let Some(mut stream) = stream else { return };
    std::thread::spawn(move || {
        let mut buffer = [0; 8192];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) | Err(_) => return,
                Ok(length) if sender.send((which, buffer[..length].to_vec())).is_err() => return,
                Ok(_) => {}
            }
        }
    });
}

/// The program and all that it starts can be ended together.
fn lead_a_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

fn end(child: &mut Child, group: bool) {
    if group {
        end_group(child.id());
    }
    // Where the program for that is missing, at least the first of them ends.
    let _ = child.kill();
}

fn end_group(id: u32) {
    let mut command = if cfg!(windows) {
        let mut command = Command::new("taskkill");
        command.args(["/T", "/F", "/PID", &id.to_string()]);
        command
    } else {
        let mut command = Command::new("kill");
        command.args(["-KILL", "--", &format!("-{id}")]);
        command
    };
    let _ = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(silent_ms: u64, whole_ms: u64) -> Limits {
        Limits {
            silent: Duration::from_millis(silent_ms),
            whole: Duration::from_millis(whole_ms),
            group: true,
        }
    }

    #[test]
    fn the_last_words_of_a_program_that_was_silent_for_long_are_read() {
        let (now, long) = (Duration::from_millis(100), Duration::from_secs(60));
        assert!(!is_given_up(now, long) && !is_given_up(long, now));
        assert!(is_given_up(long, long));
    }

    #[test]
    fn a_program_that_ends_is_not_disturbed() {
        let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
        let long = limits(60_000, 60_000);
        let seen = run(Command::new(&rustc).arg("--version"), long, false).unwrap();
        assert_eq!(seen.end, ProgramEnd::Success);
        assert!(seen.out[0].starts_with("rustc ") && seen.err.is_empty());
        let seen = run(Command::new(&rustc).arg("--no-such-option"), long, false).unwrap();
        assert_eq!(seen.end, ProgramEnd::Failure);
        assert!(!seen.hung() && !seen.err.is_empty());
    }

    /// Its own, and that of what it has started and waited for.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_time_of_processors_is_told() {
        let text = "i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done";
        for text in [text.to_owned(), format!("({text}); true")] {
            let long = limits(60_000, 60_000);
            let seen = run(Command::new("sh").args(["-c", &text]), long, false).unwrap();
            assert!(seen.used.is_some_and(|used| used > 0.02), "{seen:?}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn silence_and_endless_talk_are_ended_with_their_children() {
        let shell = |text: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", text]);
            command
        };
        // The grandchild holds the pipes, and says its number before it falls silent.
        let text = "sleep 600 & echo $!; printf two; wait";
        let silent_after = |seconds: u64| {
            let seen = run(&mut shell(text), limits(1000 * seconds, 600_000), false).unwrap();
            assert_eq!(seen.end, ProgramEnd::Silent(Duration::from_secs(seconds)));
            seen
        };
        // Where it had no core before it came to speak, it gets more time.
        let mut tried = [3, 100].into_iter().map(silent_after);
        let seen = tried.find(|seen| seen.out.len() == 2).unwrap();
        assert_eq!(seen.out[1], "two");
        // Where nobody reaps it, it stays as a dead entry in the list of processes.
        let stat = format!("/proc/{}/stat", seen.out[0]);
        let dead = || std::fs::read_to_string(&stat).is_ok_and(|text| text.contains(") Z"));
        let gone = || dead() || !crate::cargo::tool::works("kill", &["-0", &seen.out[0]]);
        assert!((0..10_000).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            gone()
        }));
        let talk = run(
            &mut shell("while :; do echo x; sleep 0.05; done"),
            limits(60_000, 400),
            false,
        );
        assert!(matches!(talk.unwrap().end, ProgramEnd::TooLong(_)));
    }

    #[test]
    fn lines_may_come_in_pieces() {
        let mut lines = LineCutter::default();
        assert_eq!(lines.push(b"te"), 0);
        assert_eq!(lines.push(b"st\r\nnext\nla"), 2);
        assert_eq!(lines.finish(), ["test", "next", "la"]);
    }
}
