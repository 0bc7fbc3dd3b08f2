//! Requests on a web server by status, hour, path and client, from its access log.
//!
//! ```text
//! cargo run --release --example log-analytics -- access.log
//! ```
//!
//! The log is in the common or the combined format of most servers. It is cut into pieces at the
//! ends of lines; each is summed up by itself, and the sums are added in pairs. `map_reduce`
//! decides how, and as addition does not care, the result is the same in each run.
#![forbid(unsafe_code)]

use std::cmp::Reverse;
use std::collections::HashMap;
use std::io::Write;
use std::process::ExitCode;

use roving_examples::{Failure, Words, random, read};

const USAGE: &str = "log-analytics [FILE]      default: a log of 1000000 requests that it invents";

const INVENTED: u64 = 1_000_000;
/// How many paths and clients are printed.
const SHOWN: usize = 5;
/// A piece of the log that gets a sum of its own.
const PIECE: usize = 256 << 10;

fn main() -> ExitCode {
    roving_examples::run(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let log = match words.path() {
        Some(path) => read(&path)?,
        None => invent(INVENTED),
    };
    words.end()?;
    Ok(sum_up(&log).print(out)?)
}

/// A line of the log.
#[derive(Debug, PartialEq, Eq)]
struct Request<'log> {
    client: &'log str,
    hour: usize,
    path: &'log str,
    status: u16,
    bytes: u64,
}

impl<'log> Request<'log> {
    /// `client identity user [day/month/year:hour:minute:second zone] "method path version" status
    /// bytes …`
    fn parse(line: &'log str) -> Option<Request<'log>> {
        let (client, rest) = line.split_once(' ')?;
        let (_, rest) = rest.split_once('[')?;
        let (time, rest) = rest.split_once("] \"")?;
        let hour = time
            .split(':')
            .nth(1)?
            .parse()
            .ok()
            .filter(|hour| *hour < 24)?;
        let (request, rest) = rest.split_once("\" ")?;
        let target = request.split(' ').nth(1)?;
        let path = target.split('?').next()?;
        let mut words = rest.split(' ');
        let status = words.next()?.parse().ok()?;
        // A dash stands for no bytes at all.
        let bytes = match words.next()? {
            "-" => 0,
            word => word.parse().ok()?,
        };
        let known = (100..600).contains(&status);
        known.then_some(Request {
            client,
            hour,
            path,
            status,
            bytes,
        })
    }
}

/// The sums of a part of the log. The names are borrowed from the log itself.
#[derive(Clone, Default)]
struct Sums<'log> {
    requests: u64,
    bytes: u64,
    /// Lines that are no requests.
    others: u64,
    /// By the first digit of the status.
    statuses: [u64; 6],
    hours: [u64; 24],
    paths: HashMap<&'log str, u64>,
    clients: HashMap<&'log str, u64>,
}

fn sum_up(log: &[u8]) -> Sums<'_> {
    let pieces = pieces(log);
    roving::map_reduce(
        0..pieces.len(),
        Sums::default(),
        |piece| Sums::of(pieces[piece]),
        Sums::plus,
    )
}

/// The log in pieces that end with lines.
fn pieces(mut log: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while log.len() > PIECE {
        let end = log[PIECE..].iter().position(|byte| *byte == b'\n');
        let (piece, rest) = log.split_at(end.map_or(log.len(), |end| PIECE + end + 1));
        found.push(piece);
        log = rest;
    }
    found.push(log);
    found
}

impl<'log> Sums<'log> {
    fn of(piece: &'log [u8]) -> Sums<'log> {
        let mut sums = Sums::default();
        for line in piece.split(|byte| *byte == b'\n') {
            let line = line.trim_ascii_end();
            if line.is_empty() {
                continue;
            }
            match std::str::from_utf8(line).ok().and_then(Request::parse) {
                Some(request) => sums.add(&request),
                None => sums.others += 1,
            }
        }
        sums
    }

    fn add(&mut self, request: &Request<'log>) {
        self.requests += 1;
        self.bytes += request.bytes;
        self.statuses[usize::from(request.status / 100)] += 1;
        self.hours[request.hour] += 1;
        *self.paths.entry(request.path).or_default() += 1;
        *self.clients.entry(request.client).or_default() += 1;
    }

    fn plus(mut self, other: Sums<'log>) -> Sums<'log> {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.others += other.others;
        add_all(&mut self.statuses, &other.statuses);
        add_all(&mut self.hours, &other.hours);
        self.paths = merge(self.paths, other.paths);
        self.clients = merge(self.clients, other.clients);
        self
    }

    fn print(&self, out: &mut dyn Write) -> std::io::Result<()> {
        let (requests, others, megabytes) = (self.requests, self.others, self.bytes as f64 / 1e6);
        writeln!(
            out,
            "{requests} requests, {megabytes:.1} MB; {others} other lines\n"
        )?;
        for (first, count) in self
            .statuses
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
        {
            let share = *count as f64 / requests as f64 * 100.0;
            writeln!(out, "status {first}xx  {count:8}  {share:5.1} %")?;
        }
        let most = self.hours.iter().copied().max().unwrap_or(0).max(1);
        writeln!(out)?;
        for (hour, count) in self.hours.iter().enumerate() {
            let bar = "#".repeat((count * 50).div_ceil(most) as usize);
            writeln!(
                out,
                "{}",
                format!("{hour:02} h  {count:8}  {bar}").trim_end()
            )?;
        }
        for (what, counts) in [("path", &self.paths), ("client", &self.clients)] {
            writeln!(out, "\n   times  {what}")?;
            for (name, count) in most_frequent(counts) {
                writeln!(out, "{count:8}  {name}")?;
            }
        }
        Ok(())
    }
}

fn add_all(into: &mut [u64], from: &[u64]) {
    for (sum, number) in into.iter_mut().zip(from) {
        *sum += number;
    }
}

/// The smaller table goes into the larger one.
fn merge<'log>(
    one: HashMap<&'log str, u64>,
    other: HashMap<&'log str, u64>,
) -> HashMap<&'log str, u64> {
    let (mut into, from) = if one.len() < other.len() {
        (other, one)
    } else {
        (one, other)
    };
    for (name, count) in from {
        *into.entry(name).or_default() += count;
    }
    into
}

/// The first few; those that are as frequent by their names.
fn most_frequent<'log>(counts: &HashMap<&'log str, u64>) -> Vec<(&'log str, u64)> {
    let mut order: Vec<_> = counts.iter().map(|(name, count)| (*name, *count)).collect();
    order.sort_by_key(|(name, count)| (Reverse(*count), *name));
    order.truncate(SHOWN);
    order
}

/// A day of a server: quiet nights, a few clients that ask a lot, a few pages that are asked for a
/// lot.
fn invent(requests: u64) -> Vec<u8> {
    let mut pieces = vec![String::new(); requests.div_ceil(1000) as usize];
    roving::par_chunks_mut(&mut pieces, 1, |piece, text| {
        let first = piece as u64 * 1000;
        text[0] = (first..requests.min(first + 1000))
            .map(invent_line)
            .collect();
    });
    pieces.concat().into_bytes()
}

fn invent_line(n: u64) -> String {
    const PATHS: [&str; 6] = [
        "/",
        "/news",
        "/search?q=wool",
        "/images/sheep.png",
        "/login",
        "/old",
    ];
    let any = |salt: u64, below: u64| random(n * 8 + salt) % below;
    // The smaller of two: low numbers are more frequent.
    let low = |salt: u64, below: u64| any(salt, below).min(any(salt + 1, below));
    let second = (any(0, 86_400) + any(1, 86_400)) / 2;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let client = low(2, 250) + 1;
    let path = PATHS[low(4, 6) as usize];
    let status = match any(6, 100) {
        _ if path == "/old" => 404,
        0 => 500,
        1..=4 => 302,
        _ => 200,
    };
    let bytes = any(7, 20_000);
    format!(
        "10.0.0.{client} - - [20/Nov/2026:{hour:02}:{minute:02}:{second:02} +0000] \
         \"GET {path} HTTP/1.1\" {status} {bytes}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "192.0.2.7 - ann [01/Feb/2026:13:55:36 +0100] \"GET /a/b?x=1 HTTP/1.1\" 200 2326 \"-\" \"Lynx\"";

    #[test]
    fn a_line_is_taken_apart() {
        let request = Request {
            client: "192.0.2.7",
            hour: 13,
            path: "/a/b",
            status: 200,
            bytes: 2326,
        };
        assert_eq!(Request::parse(LINE), Some(request));
        let none = LINE.replace(" 2326", " -");
        assert_eq!(Request::parse(&none).unwrap().bytes, 0);
    }

    #[test]
    fn what_is_no_request_is_counted_and_left_out() {
        for (from, to) in [
            (":13:", ":24:"),
            (" 200 ", " 999 "),
            ("GET ", "GET"),
            ("[", ""),
        ] {
            let line = LINE
                .replacen(from, to, 1)
                .replace("GET/a/b?x=1 HTTP/1.1", "GET");
            assert_eq!(Request::parse(&line), None, "{line}");
        }
        let log = format!("{LINE}\r\nno request\n\n{LINE}");
        let mut bytes = log.into_bytes();
        bytes.extend(b"\n\xff\xff\n");
        let sums = sum_up(&bytes);
        assert_eq!((sums.requests, sums.others, sums.bytes), (2, 2, 4652));
        assert_eq!(sums.paths, HashMap::from([("/a/b", 2)]));
    }

    #[test]
    fn pieces_add_up_to_the_sum_of_all_lines() {
        let log = invent(20_000);
        assert!(pieces(&log).len() > 5);
        let (parts, whole) = (sum_up(&log), Sums::of(&log));
        assert_eq!((parts.requests, parts.others), (20_000, 0));
        assert_eq!(parts.bytes, whole.bytes);
        assert_eq!(parts.statuses, whole.statuses);
        assert_eq!(parts.hours, whole.hours);
        assert!(parts.paths == whole.paths && parts.clients == whole.clients);
    }

    #[test]
    fn the_program_prints_what_it_found() {
        let own = format!("roving-log-analytics-{}.log", std::process::id());
        let path = std::env::temp_dir().join(own);
        let other = LINE
            .replace(" 200 ", " 503 ")
            .replace("192.0.2.7", "192.0.2.8");
        std::fs::write(&path, format!("{LINE}\n{other}\n{LINE}\n")).unwrap();
        let text = roving_examples::output(program, &[path.to_str().unwrap()]).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert!(
            text.starts_with("3 requests, 0.0 MB; 0 other lines\n"),
            "{text}"
        );
        assert!(text.contains("status 2xx         2   66.7 %\n"), "{text}");
        assert!(text.contains("13 h         3  #####"), "{text}");
        assert!(text.contains("       3  /a/b\n"), "{text}");
        assert!(
            text.contains("       2  192.0.2.7\n       1  192.0.2.8\n"),
            "{text}"
        );
        assert!(roving_examples::output(program, &["no-such-file"]).is_err());
    }
}
