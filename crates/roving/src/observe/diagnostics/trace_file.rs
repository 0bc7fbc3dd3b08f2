//! A trace in the format of Chrome's trace events, which Perfetto reads.

use std::fmt;
use std::io;
use std::time::Instant;

use super::json::Text;
use super::record::Record;
use super::text::{put, seat};
use crate::machine::prim::thread::ThreadId;
use crate::observe::trace::outside;
use crate::stats::lane::{Event, Lane};

/// Takes what is written, a large piece at a time.
pub(super) type Put<'p> = &'p mut dyn FnMut(&[u8]) -> io::Result<()>;

/// Writes what the pools have recorded, and the spans of other threads. What it is written to may
/// block for long, as a pipe does, so no lock is held meanwhile: whoever ends a span takes that of
/// the threads outside.
pub(super) fn write(records: &[Record], put: Put<'_>) -> io::Result<()> {
    let mut epoch = None;
    for record in records {
        for lane in &record.lanes {
            find_first(&mut epoch, lane);
        }
    }
    let threads = threads_outside(&mut epoch);
    let mut file = File {
        text: "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n".to_owned(),
        put,
        epoch: epoch.unwrap_or_else(Instant::now),
        is_first: true,
        ids: 0,
    };
    for (number, record) in records.iter().enumerate() {
        file.pool(number + 1, record)?;
    }
    if !threads.is_empty() {
        file.name_process(0, "threads outside of pools")?;
    }
    for (number, thread) in threads.into_iter().enumerate() {
        // Its spans may have been given up meanwhile, for those of other threads.
        if let Some((name, mut lane)) = lane_outside(thread) {
            // One that has ended since may have begun before the time that all others count from.
            lane.events.retain(|event| begins(event) >= file.epoch);
            file.name_lane(0, number, &name)?;
            file.lane(0, [number; 2], &lane)?;
        }
    }
    file.text.push_str("\n]}\n");
    file.flush()
}

/// The threads outside of pools of which there are spans; `first` becomes the earliest begin of
/// these, if that is earlier.
fn threads_outside(first: &mut Option<Instant>) -> Vec<ThreadId> {
    let mut threads = Vec::new();
    for (thread, (_, lane)) in outside().iter() {
        find_first(first, lane);
        threads.push(*thread);
    }
    threads
}

/// A copy of the lane of a thread outside of pools, with the thread's name. One such copy at a time
/// is in memory.
fn lane_outside(thread: ThreadId) -> Option<(String, Lane)> {
    outside().get(&thread).cloned()
}

/// The earliest begin of all events.
#[inline(never)]
fn find_first(first: &mut Option<Instant>, lane: &Lane) {
    for event in &lane.events {
        let begins = begins(event);
        if first.is_none_or(|first| begins < first) {
            *first = Some(begins);
        }
    }
}

fn begins(event: &Event) -> Instant {
    match event {
        Event::State { from, .. } | Event::Span { from, .. } => *from,
        Event::Theft { at, .. } | Event::Woken { at, .. } => *at,
    }
}

/// So much text is kept before it is handed on.
const TEXT_MAX: usize = 1 << 16;

struct File<'p> {
    text: String,
    put: Put<'p>,
    epoch: Instant,
    is_first: bool,
    /// Of arrows, and of spans apart from the lanes.
    ids: u64,
}

/// The lanes of a worker: its states, and the program's spans.
fn tids(worker: usize) -> [usize; 2] {
    [2 * worker, 2 * worker + 1]
}

impl File<'_> {
    fn pool(&mut self, pid: usize, record: &Record) -> io::Result<()> {
        self.name_process(pid, &format!("pool {pid}: {}", record.name))?;
        for (index, lane) in record.lanes.iter().enumerate() {
            let name = seat(index, record.workers);
            let is_span = |event: &Event| matches!(event, Event::Span { moved: false, .. });
            let [states, spans] = tids(index);
            self.name_lane(pid, states, &name)?;
            if lane.events.iter().any(is_span) {
                self.name_lane(pid, spans, &format!("{name}: spans"))?;
            }
            self.lane(pid, [states, spans], lane)?;
        }
        Ok(())
    }

    fn lane(&mut self, pid: usize, tids: [usize; 2], lane: &Lane) -> io::Result<()> {
        for event in &lane.events {
            match event {
                Event::State { activity, from, to } => {
                    let name = Text(activity.word());
                    let when = (*from, *to);
                    self.slice(&name, "state", pid, tids[0], when)?;
                }
                Event::Theft { victim, tasks, at } => {
                    let from_to = [self::tids(*victim)[0], tids[0]];
                    // Rust 1.85 ends what is formatted with its statement.
                    self.arrow(
                        "steal",
                        pid,
                        from_to,
                        *at,
                        format_args!(",\"args\":{{\"tasks\":{tasks}}}"),
                    )?;
                }
                Event::Woken { by: Some(by), at } => {
                    let from_to = [self::tids(*by)[0], tids[0]];
                    self.arrow("wake", pid, from_to, *at, format_args!(""))?;
                }
                Event::Woken { by: None, at } => {
                    let at = Micros(self.ns(*at));
                    self.event(format_args!(
                        "\"name\":\"woken from outside\",\"ph\":\"I\",\"s\":\"t\",\"ts\":{at},\"pid\":{pid},\"tid\":{}",
                        tids[0]
                    ))?;
                }
                Event::Span {
                    name,
                    from,
                    to,
                    moved: false,
                } => self.slice(&Text(name), "span", pid, tids[1], (*from, *to))?,
                Event::Span { name, from, to, .. } => {
                    self.apart(&Text(name), pid, tids[1], (*from, *to))?;
                }
            }
        }
        if let (1.., Some(first)) = (lane.left_out, lane.events.front()) {
            let (from, tid) = (Micros(self.ns(begins(first))), tids[0]);
            self.event(format_args!(
                "\"name\":\"{} events before this are left out: the last {} are kept\",\"ph\":\"I\",\"s\":\"t\",\
                 \"ts\":{from},\"pid\":{pid},\"tid\":{tid}",
                lane.left_out,
                lane.events.len()
            ))?;
        }
        Ok(())
    }

    fn slice(
        &mut self,
        name: &Text<'_>,
        category: &str,
        pid: usize,
        tid: usize,
        (from, to): (Instant, Instant),
    ) -> io::Result<()> {
        let (ts, end) = (self.ns(from), self.ns(to));
        self.event(format_args!(
            "\"name\":{name},\"cat\":\"{category}\",\"ph\":\"X\",\"ts\":{},\"dur\":{},\"pid\":{pid},\"tid\":{tid}",
            Micros(ts),
            Micros(end - ts)
        ))
    }

    /// From one worker to another, with more fields at its head.
    fn arrow(
        &mut self,
        name: &str,
        pid: usize,
        [from, to]: [usize; 2],
        at: Instant,
        more: fmt::Arguments<'_>,
    ) -> io::Result<()> {
        self.ids += 1;
        let (id, ts) = (self.ids, Micros(self.ns(at)));
        self.event(format_args!(
            "\"name\":\"{name}\",\"cat\":\"{name}\",\"ph\":\"s\",\"id\":{id},\"ts\":{ts},\"pid\":{pid},\"tid\":{from}"
        ))?;
        self.event(format_args!(
            "\"name\":\"{name}\",\"cat\":\"{name}\",\"ph\":\"f\",\"bp\":\"e\",\"id\":{id},\"ts\":{ts},\"pid\":{pid},\
             \"tid\":{to}{more}"
        ))
    }

    /// A span that ended on another lane than it began on.
    fn apart(
        &mut self,
        name: &Text<'_>,
        pid: usize,
        tid: usize,
        when: (Instant, Instant),
    ) -> io::Result<()> {
        self.ids += 1;
        let id = self.ids;
        for (phase, at) in [("b", when.0), ("e", when.1)] {
            let ts = Micros(self.ns(at));
            self.event(format_args!(
                "\"name\":{name},\"cat\":\"span\",\"ph\":\"{phase}\",\"id\":{id},\"ts\":{ts},\"pid\":{pid},\"tid\":{tid}"
            ))?;
        }
        Ok(())
    }

    #[inline(never)]
    fn name_process(&mut self, pid: usize, name: &str) -> io::Result<()> {
        self.event(format_args!(
            "\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{pid},\"args\":{{\"name\":{}}}",
            Text(name)
        ))
    }

    #[inline(never)]
    fn name_lane(&mut self, pid: usize, tid: usize, name: &str) -> io::Result<()> {
        self.event(format_args!(
            "\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"name\":{}}}",
            Text(name)
        ))?;
        self.event(format_args!(
            "\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":{pid},\"tid\":{tid},\"args\":{{\"sort_index\":{tid}}}"
        ))
    }

    #[inline(never)]
    fn event(&mut self, fields: fmt::Arguments<'_>) -> io::Result<()> {
        let comma = if self.is_first { "" } else { ",\n" };
        self.is_first = false;
        put(&mut self.text, format_args!("{comma}{{{fields}}}"));
        match self.text.len() < TEXT_MAX {
            true => Ok(()),
            false => self.flush(),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let taken = (self.put)(self.text.as_bytes());
        self.text.clear();
        taken
    }

    /// A trace is no six centuries long.
    fn ns(&self, at: Instant) -> u64 {
        at.saturating_duration_since(self.epoch).as_nanos() as u64
    }
}

/// Nanoseconds, written as microseconds.
struct Micros(u64);

impl fmt::Display for Micros {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.0 / 1_000, self.0 % 1_000)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Activity;

    #[test]
    fn a_lane_that_was_full_says_so_where_it_begins() {
        let start = Instant::now();
        let at = |us| start + std::time::Duration::from_micros(us);
        let mut lane = Lane {
            left_out: 7,
            ..Lane::default()
        };
        lane.state(Activity::Busy, at(5), at(9));
        let mut file = File {
            text: String::new(),
            put: &mut |_| Ok(()),
            epoch: start,
            is_first: true,
            ids: 0,
        };
        file.lane(1, [2, 3], &lane).unwrap();
        let text = file.text;
        let said = "\"name\":\"7 events before this are left out: the last 1 are kept\",\"ph\":\"I\",\"s\":\"t\",\"ts\":5.000,\"pid\":1,\"tid\":2";
        assert!(text.contains(said), "{text}");
    }

    #[test]
    fn nanoseconds_are_kept() {
        assert_eq!(Micros(1_234_005).to_string(), "1234.005");
    }
}
