//! Spans of time, for pictures.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::DeviceEngine;

/// One line of the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    /// A worker of the pool; threads that are none share one.
    Cpu { worker: Option<usize> },
    /// A stream of a device.
    Stream { device: usize, stream: usize },
    /// A direction of transfers of a device.
    Transfer { device: usize, direction: usize },
}

#[derive(Clone, Debug)]
struct RecordedSpan {
    row: Row,
    name: &'static str,
    end: Instant,
    time: Duration,
}

/// Records spans while it is switched on.
#[derive(Debug)]
pub(crate) struct Recorder {
    is_on: AtomicBool,
    opened: Instant,
    spans: Mutex<Vec<RecordedSpan>>,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Recorder {
            is_on: AtomicBool::new(false),
            opened: Instant::now(),
            spans: Mutex::new(Vec::new()),
        }
    }

    pub(crate) fn switch(&self, on: bool) {
        // Ordering: Relaxed: a switch; nothing is read because of it.
        self.is_on.store(on, Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        // Ordering: Relaxed: as in `switch`.
        self.is_on.load(Ordering::Relaxed)
    }

    fn record(&self, row: Row, name: &'static str, time: Duration) {
        let end = Instant::now();
        let mut spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
        spans.push(RecordedSpan {
            row,
            name,
            end,
            time,
        });
    }

    /// An operation of a device that has just ended.
    pub(crate) fn device(
        &self,
        device: usize,
        stream: usize,
        engine: DeviceEngine,
        name: &'static str,
        time: Duration,
    ) {
        if self.is_on() {
            let row = match engine.direction() {
                Some(direction) => Row::Transfer { device, direction },
                None => Row::Stream { device, stream },
            };
            self.record(row, name, time);
        }
    }

    /// A CPU side that has just ended on this thread.
    pub(crate) fn cpu(&self, name: &'static str, time: Duration) {
        if self.is_on() {
            let worker = roving::current_worker();
            self.record(Row::Cpu { worker }, name, time);
        }
    }

    /// Writes what was recorded as the JSON that Chrome and Perfetto read. Process 0 is the CPU,
    /// process n + 1 is device n.
    pub(crate) fn write(&self, devices: &[String], mut to: impl Write) -> io::Result<()> {
        let mut spans = {
            let spans = self.spans.lock().unwrap_or_else(PoisonError::into_inner);
            spans.clone()
        };
        let start = |span: &RecordedSpan| {
            let end = span.end.saturating_duration_since(self.opened);
            end.saturating_sub(span.time)
        };
        spans.sort_by_key(|span| (span.row, start(span)));
        let mut events = Vec::with_capacity(spans.len() + 16);
        events.push(meta("process_name", 0, 0, "CPU"));
        for (number, name) in devices.iter().enumerate() {
            events.push(meta("process_name", number + 1, 0, name));
        }
        let mut known = None;
        for span in &spans {
            let (process, thread, name) = span.row.place();
            if known != Some(span.row) {
                known = Some(span.row);
                events.push(meta("thread_name", process, thread, &name));
            }
            events.push(json!({
                "ph": "X", "name": span.name, "pid": process, "tid": thread,
                "ts": start(span).as_secs_f64() * 1e6,
                "dur": span.time.as_secs_f64() * 1e6,
            }));
        }
        let all = json!({"displayTimeUnit": "ms", "traceEvents": events});
        serde_json::to_writer(&mut to, &all)?;
        to.flush()
    }
}

fn meta(what: &str, process: usize, thread: usize, name: &str) -> Value {
    json!({"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}})
}

impl Row {
    /// Process, thread, and the name of that.
    fn place(self) -> (usize, usize, String) {
        match self {
            Row::Cpu { worker: None } => (0, 0, "others".to_owned()),
            Row::Cpu {
                worker: Some(index),
            } => (0, index + 1, format!("worker {index}")),
            Row::Transfer {
                device,
                direction: 0,
            } => (device + 1, 0, "to the device".to_owned()),
            Row::Transfer {
                device,
                direction: 1,
            } => (device + 1, 1, "from the device".to_owned()),
            Row::Transfer { device, .. } => (device + 1, 2, "from other devices".to_owned()),
            Row::Stream { device, stream } => (
                device + 1,
                stream.saturating_add(3),
                format!("stream {stream}"),
            ),
        }
    }
}
