//! The rows about quiet: what an idle pool costs, and how fast it wakes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::Scale;
use super::probe::{self, Probe};
use super::record::{Bound::AtMost, RowRecord};
use crate::io::input::CommandFailure;
use crate::machine;
use crate::machine::cores;
use crate::rivals::Runtime;
use crate::timing::lanes::{TimedLane, find, interleave};

/// CPU time of an idle pool in two seconds, in a process of its own.
pub(super) fn idle(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    if machine::cpu_time().is_none() {
        record
            .absent
            .push("idle: this system does not say how much CPU a thread has used".into());
        return Ok(record);
    }
    let runtimes = [
        Runtime::Roving,
        Runtime::Rayon,
        Runtime::Forte,
        Runtime::Tokio,
        Runtime::Chili,
    ];
    let mut lanes: Vec<TimedLane<'_>> = Vec::new();
    let asked = |runtime: Option<Runtime>| {
        let probe = Probe::Idle {
            runtime,
            workers: cores(),
        };
        let nanos = probe::ask(&probe).map_err(|failure| failure.to_string())?;
        Ok(Duration::from_nanos(nanos as u64))
    };
    lanes.push(TimedLane::new("no pool", 0, move || asked(None)));
    for runtime in runtimes {
        lanes.push(TimedLane::new(runtime.name(), cores(), move || {
            asked(Some(runtime))
        }));
    }
    let series = interleave(&mut lanes, scale.rounds(5)).map_err(CommandFailure::Run)?;
    for one in &series {
        record.series("CPU of the whole process in 2 s of idling", one, "ms", 1e3);
    }
    let missing = || CommandFailure::Run("roving was not measured".into());
    let ours = find(&series, "roving", cores())
        .ok_or_else(missing)?
        .times
        .median()
        * 1e3;
    record.claim(
        "idle pool: CPU in 2 s",
        "ms",
        ours,
        AtMost(0.3),
        AtMost(0.2),
    );
    Ok(record)
}

/// From a call outside an idle pool until the first instruction inside.
pub(super) fn wake(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    let workers = cores();
    let bare = Bare::new();
    let ours = roving::Pool::builder().workers(workers).build();
    let ours = ours.map_err(|error| CommandFailure::Run(format!("no pool: {error}")))?;
    let rayon = rayon::ThreadPoolBuilder::new().num_threads(workers).build();
    let rayon =
        rayon.map_err(|error| CommandFailure::Run(format!("no pool of rayon's: {error}")))?;
    let tokio = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(workers)
        .build();
    let tokio =
        tokio.map_err(|error| CommandFailure::Run(format!("no runtime of tokio's: {error}")))?;
    let mut lanes = vec![
        TimedLane::new("bare thread unpark", 1, || Ok(bare.wake())),
        TimedLane::new("roving", workers, || {
            Ok(until(|| ours.install(Instant::now)))
        }),
        TimedLane::new("rayon", workers, || {
            Ok(until(|| rayon.install(Instant::now)))
        }),
        TimedLane::new("tokio", workers, || {
            let (tell, told) = mpsc::channel();
            let start = Instant::now();
            tokio.spawn(async move { tell.send(Instant::now()) });
            let woken = told.recv().map_err(|error| error.to_string())?;
            Ok(woken.duration_since(start))
        }),
    ];
    let series = interleave(&mut lanes, scale.wakes).map_err(CommandFailure::Run)?;
    for one in &series {
        record.series("wake-up from outside", one, "µs", 1e6);
    }
    let ratio = series[0].speedup_over(&series[1]);
    record.claim(
        "wake-up from outside over a bare thread unpark",
        "×",
        ratio,
        AtMost(1.6),
        AtMost(1.2),
    );
    Ok(record)
}

/// How long after now `woken` says that it began.
fn until(woken: impl FnOnce() -> Instant) -> Duration {
    let start = Instant::now();
    woken().duration_since(start)
}

/// A thread that parks until it is told to wake, without any runtime.
struct Bare {
    go: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
    woken: mpsc::Receiver<Instant>,
}

impl Bare {
    fn new() -> Bare {
        let go = Arc::new(AtomicBool::new(false));
        let (tell, woken) = mpsc::channel();
        let flag = go.clone();
        let thread = thread::spawn(move || {
            loop {
                // Ordering: nothing but the flag is handed over.
                while !flag.swap(false, Ordering::Relaxed) {
                    thread::park();
                }
                if tell.send(Instant::now()).is_err() {
                    break;
                }
            }
        });
        Bare {
            go,
            thread: Some(thread),
            woken,
        }
    }

    fn wake(&self) -> Duration {
        until(|| {
            self.unpark();
            self.woken.recv().unwrap_or_else(|_| Instant::now())
        })
    }

    fn unpark(&self) {
        // Ordering: nothing but the flag is handed over.
        self.go.store(true, Ordering::Relaxed);
        self.thread
            .iter()
            .for_each(|thread| thread.thread().unpark());
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // Without its receiver the thread ends at the next wake-up.
        self.woken = mpsc::channel().1;
        self.unpark();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_thread_wakes_each_time_and_ends() {
        let bare = Bare::new();
        for _ in 0..20 {
            let start = Instant::now();
            let wake = bare.wake();
            assert!(wake <= start.elapsed());
        }
    }
}
