//! Programs whose leaves sleep, described by the line that asks for a run: the laboratory knows the
//! shapes, this program knows how to do each part with Rayon.
//!
//! ```text
//! inside ended 0 j(300,p(40,40))     from inside the pool, until all has ended, no share spins
//! callers begun 0.5 300 l(1,2,3)     each part from a thread outside, until the last leaf began
//! ```
//!
//! A number is a leaf of so many µs, `s` is a series, `j` a `join`, `p` a scope that spawns, `l` a
//! parallel loop.

use std::io::{self, BufRead, Write};
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::alone::cpu_nanos;

/// The native stack of a worker, as the laboratory's pools have it.
const STACK_BYTES: usize = 2 << 20;

/// A part of a program.
#[derive(Debug, PartialEq)]
enum ProgramPart {
    Leaf(Duration),
    Series(Vec<ProgramPart>),
    Join(Vec<ProgramPart>),
    Spawn(Vec<ProgramPart>),
    Loop(Vec<ProgramPart>),
}

/// One line: what is to be run.
#[derive(Debug, PartialEq)]
struct ShapeRequest {
    entry: CalledFrom,
    until: Until,
    spin: f64,
    parts: Vec<ProgramPart>,
}

/// Who calls the parts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CalledFrom {
    Inside,
    Callers,
    TwoPools,
}

/// The end of the time that counts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Until {
    Ended,
    Begun,
}

impl FromStr for ShapeRequest {
    type Err = String;

    fn from_str(line: &str) -> Result<ShapeRequest, String> {
        let wrong = || format!("line `{line}` is not allowed: say `inside ended 0 p(300,400)`");
        let mut words = line.split_whitespace();
        let entry = match words.next() {
            Some("inside") => CalledFrom::Inside,
            Some("callers") => CalledFrom::Callers,
            Some("two-pools") => CalledFrom::TwoPools,
            _ => return Err(wrong()),
        };
        let until = match words.next() {
            Some("ended") => Until::Ended,
            Some("begun") => Until::Begun,
            _ => return Err(wrong()),
        };
        let spin = words.next().and_then(|word| word.parse().ok());
        let spin = spin.filter(|share| (0.0..=1.0).contains(share));
        let parts: Option<Vec<ProgramPart>> = words.map(parse).collect();
        let parts = parts.filter(|parts| !parts.is_empty());
        Ok(ShapeRequest {
            entry,
            until,
            spin: spin.ok_or_else(wrong)?,
            parts: parts.ok_or_else(wrong)?,
        })
    }
}

/// Reads a whole word as one part.
fn parse(word: &str) -> Option<ProgramPart> {
    let mut rest = word;
    parse_part(&mut rest).filter(|_| rest.is_empty())
}

fn parse_part(rest: &mut &str) -> Option<ProgramPart> {
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 {
        let (number, after) = rest.split_at(digits);
        *rest = after;
        return Some(ProgramPart::Leaf(Duration::from_micros(
            number.parse().ok()?,
        )));
    }
    let (head, inner) = rest.split_once('(')?;
    *rest = inner;
    let mut parts = Vec::new();
    loop {
        parts.push(parse_part(rest)?);
        let end = rest.chars().next()?;
        *rest = &rest[end.len_utf8()..];
        match end {
            ',' => {}
            ')' => break,
            _ => return None,
        }
    }
    match head {
        "s" => Some(ProgramPart::Series(parts)),
        "j" if parts.len() == 2 => Some(ProgramPart::Join(parts)),
        "p" => Some(ProgramPart::Spawn(parts)),
        "l" => Some(ProgramPart::Loop(parts)),
        _ => None,
    }
}

/// Two pools, and when the last leaf began.
struct Runner {
    pools: [ThreadPool; 2],
    epoch: Instant,
    begun_ns: AtomicU64,
}

impl Runner {
    fn new(workers: usize) -> Result<Runner, String> {
        let pool = || {
            let builder = ThreadPoolBuilder::new().num_threads(workers);
            let built = builder.stack_size(STACK_BYTES).build();
            built.map_err(|error| format!("no pool of {workers} threads: {error}"))
        };
        Ok(Runner {
            pools: [pool()?, pool()?],
            epoch: Instant::now(),
            begun_ns: AtomicU64::new(0),
        })
    }

    fn run(&self, order: &ShapeRequest) -> Duration {
        let (called, spin) = (Instant::now(), order.spin);
        let [pool, inner] = &self.pools;
        let ended = match order.entry {
            CalledFrom::Inside => pool.install(|| {
                let start = Instant::now();
                order.parts.iter().for_each(|part| self.walk(part, spin));
                start.elapsed()
            }),
            CalledFrom::Callers => {
                let start = Instant::now();
                thread::scope(|scope| {
                    for part in &order.parts {
                        scope.spawn(|| pool.install(|| self.walk(part, spin)));
                    }
                });
                start.elapsed()
            }
            CalledFrom::TwoPools => pool.install(|| {
                let start = Instant::now();
                let each = |part| inner.install(|| self.walk(part, spin));
                order.parts.par_iter().for_each(each);
                start.elapsed()
            }),
        };
        match order.until {
            Until::Ended => ended,
            Until::Begun => {
                // Ordering: Relaxed; the end of the run orders all leaves before this.
                let begun = Duration::from_nanos(self.begun_ns.load(Ordering::Relaxed));
                (self.epoch + begun).saturating_duration_since(called)
            }
        }
    }

    fn walk(&self, part: &ProgramPart, spin: f64) {
        let each = |part| self.walk(part, spin);
        match part {
            ProgramPart::Leaf(time) => self.pass(*time, spin),
            ProgramPart::Series(parts) => parts.iter().for_each(each),
            ProgramPart::Join(both) => {
                rayon::join(|| each(&both[0]), || each(&both[1]));
            }
            ProgramPart::Spawn(parts) => rayon::scope(|scope| {
                for part in parts {
                    scope.spawn(move |_| self.walk(part, spin));
                }
            }),
            ProgramPart::Loop(parts) => {
                let rounds = (0..parts.len()).into_par_iter();
                rounds.for_each(|round| self.walk(&parts[round], spin));
            }
        }
    }

    fn pass(&self, time: Duration, spin: f64) {
        let start = Instant::now();
        let begun_ns = start.duration_since(self.epoch).as_nanos() as u64;
        // Ordering: Relaxed, as where it is read.
        self.begun_ns.fetch_max(begun_ns, Ordering::Relaxed);
        let spins = time.mul_f64(spin);
        while start.elapsed() < spins {
            std::hint::spin_loop();
        }
        if time > spins {
            thread::sleep(time - spins);
        }
    }
}

/// Answers each line with one line until they end: `times`, the time and the CPU of all threads in
/// ns, or `error` and the reason.
pub(crate) fn serve(
    workers: &str,
    orders: impl BufRead,
    mut answers: impl Write,
) -> Result<(), String> {
    // Else each leaf sleeps some 50 µs longer than it was asked to. Threads inherit it.
    let _ = std::fs::write("/proc/self/timerslack_ns", "1");
    let number = workers
        .parse()
        .ok()
        .filter(|count| (1..=512).contains(count));
    let number = number.ok_or_else(|| format!("workers `{workers}`: want 1 to 512"))?;
    let runner = Runner::new(number)?;
    let gone = |error: io::Error| format!("cannot answer: {error}");
    for line in orders.lines() {
        let answer = match line.map_err(gone)?.parse::<ShapeRequest>() {
            Ok(order) => {
                let before = cpu_nanos().unwrap_or_default();
                let time = runner.run(&order).as_nanos();
                let cpu = cpu_nanos().unwrap_or_default().saturating_sub(before);
                format!("times {time} {cpu}")
            }
            Err(why) => format!("error {why}"),
        };
        writeln!(answers, "{answer}").map_err(gone)?;
        answers.flush().map_err(gone)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shape_runs_as_long_as_its_leaves() {
        let lines = "inside ended 0 s(2000,p(1000,1000))\n\
                     callers ended 0.5 1000 j(500,l(500,500))\n\
                     two-pools begun 0 1000 1000\n";
        let mut answers = Vec::new();
        serve("3", lines.as_bytes(), &mut answers).unwrap();
        let text = String::from_utf8(answers).unwrap();
        let times = text.lines().map(|line| {
            let mut words = line.split_whitespace();
            assert_eq!(words.next(), Some("times"));
            let numbers: Vec<u64> = words.map(|word| word.parse().unwrap()).collect();
            assert_eq!(numbers.len(), 2);
            numbers[0]
        });
        let times: Vec<u64> = times.collect();
        assert!(times[0] >= 3_000_000 && times[1] >= 1_000_000, "{text}");
        assert!(times[2] > 0, "{text}");
    }

    #[test]
    fn a_wrong_line_is_told() {
        for line in [
            "",
            "inside",
            "inside ended",
            "inside ended 2 1",
            "inside ended 0",
            "inside ended 0 x",
            "inside ended 0 j(1)",
            "inside ended 0 p(1",
            "inside ended 0 p(1)2",
            "out ended 0 1",
            "inside ended 0 p(1;2)",
            "inside ended 0 p()",
        ] {
            let error = line.parse::<ShapeRequest>().unwrap_err();
            assert!(error.contains(&format!("`{line}`")), "{error}");
        }
        let none: &[u8] = &[];
        assert!(serve("0", none, Vec::new()).is_err());
    }
}
