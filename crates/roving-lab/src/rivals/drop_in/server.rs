//! A program that waits for orders: a line in, `times NS…` or `error WHY` out. Both
//! programs stay alive, so that their pools are warm, and idle while it is the other's turn.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::timing::times::Times;

/// Threads of each pool, unless it is said otherwise.
pub(crate) const THREADS: usize = 2;
/// Has glibc keep the memory that a program frees. To give it back and to fault it in again takes
/// longer than what is measured, and happens now and then.
const KEEP_MEMORY: [(&str, &str); 2] = [
    ("MALLOC_MMAP_THRESHOLD_", "33554432"),
    ("MALLOC_TRIM_THRESHOLD_", "4294967296"),
];
/// How long one answer may take. A program that hangs is ended.
const PATIENCE: Duration = Duration::from_secs(300);

/// `program` with the words, and so many threads.
pub(crate) fn command(program: &Path, words: &[&str], threads: usize) -> Command {
    let mut command = Command::new(program);
    command
        .args(words)
        .env("RAYON_NUM_THREADS", threads.to_string());
    command
}

/// A running program.
pub(crate) struct Server {
    child: Child,
    /// None once it has been told that nothing more will come.
    orders: Option<ChildStdin>,
    answers: Receiver<String>,
    patience: Duration,
}

impl Server {
    pub(crate) fn start(program: &Path, words: &[&str], threads: usize) -> Result<Server, String> {
        Server::listen(command(program, words, threads).envs(KEEP_MEMORY))
    }

    fn listen(command: &mut Command) -> Result<Server, String> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| format!("a program does not start: {error}"))?;
        match (child.stdin.take(), child.stdout.take()) {
            (orders @ Some(_), Some(said)) => {
                let (tell, answers) = mpsc::channel();
                // It ends with the program, or when nobody listens any more.
                thread::spawn(move || {
                    let mut lines = BufReader::new(said).lines().map_while(Result::ok);
                    lines.try_for_each(|line| tell.send(line))
                });
                Ok(Server {
                    child,
                    orders,
                    answers,
                    patience: PATIENCE,
                })
            }
            _ => Err("the program has no standard input and output".to_owned()),
        }
    }

    /// The median time of a run, by so many repetitions.
    pub(crate) fn ask(&mut self, workload: &str, repetitions: usize) -> Result<Duration, String> {
        let times = self.say(&format!("{workload} {repetitions}"))?;
        if times.len() != repetitions {
            let said = times.len();
            return Err(format!("the program said {said} times, not {repetitions}"));
        }
        Ok(Duration::from_secs_f64(times.median()))
    }

    /// The times that it answers to a line.
    pub(crate) fn say(&mut self, order: &str) -> Result<Times, String> {
        let gone = || "the program ended before its time".to_owned();
        let orders = self.orders.as_mut().ok_or_else(gone)?;
        writeln!(orders, "{order}").map_err(|_| gone())?;
        let line = match self.answers.recv_timeout(self.patience) {
            Ok(line) => line,
            Err(RecvTimeoutError::Disconnected) => return Err(gone()),
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.child.kill();
                let (patience, what) = (self.patience, order.split(' ').next().unwrap_or_default());
                return Err(format!("{what}: no answer within {patience:?}: it hangs"));
            }
        };
        parse(&line)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The end of its input ends the program; then nothing is left behind.
        self.orders = None;
        let _ = self.child.wait();
    }
}

/// Reads one answer.
fn parse(line: &str) -> Result<Times, String> {
    let wrong = || format!("the program said `{line}`");
    let (word, rest) = line.split_once(' ').ok_or_else(wrong)?;
    match word {
        "times" => {
            let mut times = Times::default();
            for word in rest.split_whitespace() {
                let nanos: f64 = word.parse().map_err(|_| wrong())?;
                times.push(Duration::try_from_secs_f64(nanos * 1e-9).map_err(|_| wrong())?);
            }
            Ok(times)
        }
        "error" => Err(rest.to_owned()),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_times_or_a_reason() {
        let times = parse("times 1500.0 2500.0 9000000.5").unwrap();
        assert_eq!((times.len(), times.median()), (3, 2.5e-6));
        let why = parse("error nested: run 0 differs from the serial run");
        assert_eq!(
            why.unwrap_err(),
            "nested: run 0 differs from the serial run"
        );
        for bad in ["", "times", "times x", "times -1", "times 1 NaN", "time 3"] {
            let error = parse(bad).unwrap_err();
            assert_eq!(error, format!("the program said `{bad}`"));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_program_is_asked_again_and_again_until_it_ends() {
        let script = "read a; echo times 1000 3000; read a; echo times 1000";
        let mut server = Server::listen(Command::new("sh").args(["-c", script])).unwrap();
        assert_eq!(server.ask("sum", 2), Ok(Duration::from_micros(2)));
        let error = server.ask("sum", 2).unwrap_err();
        assert!(error.contains("1 times, not 2"), "{error}");
        let error = server.ask("sum", 2).unwrap_err();
        assert!(error.contains("ended before its time"), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_program_that_hangs_is_ended() {
        let mut server = Server::listen(Command::new("sh").args(["-c", "exec sleep 60"])).unwrap();
        server.patience = Duration::from_millis(50);
        let error = server.ask("nested", 1).unwrap_err();
        assert!(error.contains("nested: no answer within 50ms"), "{error}");
        let start = std::time::Instant::now();
        drop(server);
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}
