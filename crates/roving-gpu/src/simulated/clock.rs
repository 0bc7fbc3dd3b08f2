//! When things happen on a simulated device: its thread.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use roving::raw::panics::contain;

use super::execute::{Fault, execute};
use super::failure::Failure;
use super::memory::Gauge;
use super::work::Work;
use crate::backend::device_thread::DeviceThread;
use crate::backend::error::{Cause, DeviceError};

/// An operation that begins or ends at that time.
struct Event {
    at: Instant,
    number: u64,
    work: Work,
    declared: Duration,
    stage: EventStage,
}

enum EventStage {
    Begin(Option<Failure>),
    End(Result<Duration, Fault>),
}

impl Event {
    fn key(&self) -> (Instant, u64) {
        (self.at, self.number)
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// The events to come, and when each stream and engine is free.
struct Timetable {
    events: BinaryHeap<Reverse<Event>>,
    numbers: u64,
    /// When each of them is free again.
    streams: Vec<Instant>,
    engines: [Instant; 4],
    stops: bool,
    /// The thread has ended, or is about to: nobody takes an event any more.
    is_left: bool,
}

/// The parts that the thread of a device shares with those that submit.
struct EventLoop {
    state: Mutex<Timetable>,
    changed: Condvar,
    gauge: Gauge,
}

impl EventLoop {
    fn lock(&self) -> MutexGuard<'_, Timetable> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) struct Clock {
    shared: Arc<EventLoop>,
    thread: Option<JoinHandle<()>>,
}

impl Clock {
    pub(super) fn start(streams: usize, gauge: Gauge) -> Clock {
        let now = Instant::now();
        let shared = Arc::new(EventLoop {
            state: Mutex::new(Timetable {
                events: BinaryHeap::new(),
                numbers: 0,
                streams: vec![now; streams],
                engines: [now; 4],
                stops: false,
                is_left: false,
            }),
            changed: Condvar::new(),
            gauge,
        });
        let run = Arc::clone(&shared);
        let builder = thread::Builder::new().name("simulated-gpu".to_owned());
        let thread = builder.spawn(move || run.run()).ok();
        Clock { shared, thread }
    }

    /// Lets all that comes on `stream` begin after what `other` has now.
    pub(super) fn follow(&self, stream: usize, other: usize) {
        let end = {
            let state = self.shared.lock();
            state.streams[other % state.streams.len()]
        };
        self.not_before(stream, end);
    }

    /// Returns when it begins.
    pub(super) fn submit(
        &self,
        (stream, engine): (usize, Option<usize>),
        declared: Duration,
        work: Work,
        failure: Option<Failure>,
    ) -> Instant {
        if self.thread.is_none() || self.shared.gauge.is_lost() {
            work.done(Err(lost()));
            return Instant::now();
        }
        let mut state = self.shared.lock();
        if state.is_left {
            drop(state);
            work.done(Err(left()));
            return Instant::now();
        }
        let stream = stream % state.streams.len();
        let mut at = Instant::now().max(state.streams[stream]);
        if let Some(engine) = engine {
            at = at.max(state.engines[engine]);
            state.engines[engine] = at + declared;
        }
        state.streams[stream] = at + declared;
        state.numbers += 1;
        let number = state.numbers;
        state.events.push(Reverse(Event {
            at,
            number,
            work,
            declared,
            stage: EventStage::Begin(failure),
        }));
        drop(state);
        self.shared.changed.notify_one();
        at
    }

    /// Lets all that comes on a stream begin at that moment at the earliest.
    pub(super) fn not_before(&self, stream: usize, at: Instant) {
        let mut state = self.shared.lock();
        let streams = state.streams.len();
        let stream = &mut state.streams[stream % streams];
        *stream = at.max(*stream);
    }
}

impl EventLoop {
    /// The thread: it sleeps until something is to begin or to end.
    fn run(&self) {
        let _here = DeviceThread::enter();
        let _end = ThreadEnd(self);
        loop {
            let event = {
                let mut state = self.lock();
                loop {
                    if state.stops {
                        return;
                    }
                    let next = state.events.peek().map(|Reverse(event)| event.at);
                    let Some(at) = next else {
                        state = wait(self.changed.wait(state));
                        continue;
                    };
                    let left = at.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        break state.events.pop();
                    }
                    state = match self.changed.wait_timeout(state, left) {
                        Ok((state, _)) => state,
                        Err(poisoned) => poisoned.into_inner().0,
                    };
                }
            };
            if let Some(Reverse(event)) = event {
                self.happen(event);
            }
        }
    }

    fn happen(&self, mut event: Event) {
        match event.stage {
            EventStage::End(Err(Fault::Refused(error))) => finish(|| event.work.refused(error)),
            EventStage::End(Err(Fault::Failed(error))) => finish(|| event.work.done(Err(error))),
            EventStage::End(Ok(time)) => finish(|| event.work.done(Ok(time))),
            EventStage::Begin(_) if self.gauge.is_lost() => {
                finish(|| event.work.done(Err(lost())));
            }
            EventStage::Begin(failure) => {
                let begun = Instant::now();
                let executed = execute(&mut event.work, failure);
                if failure == Some(Failure::Lost) {
                    self.gauge.lose();
                    finish(|| event.work.done(Err(lost())));
                    self.fail_all(lost);
                    return;
                }
                // Where the host is slower than what was declared, it took as long as it took.
                let time = event.declared.max(begun.elapsed());
                event.stage = EventStage::End(executed.map(|()| time));
                event.at += event.declared;
                self.lock().events.push(Reverse(event));
            }
        }
    }

    /// Everything that was under way is lost.
    fn fail_all(&self, error: fn() -> DeviceError) {
        let events = std::mem::take(&mut self.lock().events);
        for Reverse(event) in events {
            finish(|| event.work.done(Err(error())));
        }
    }
}

/// A panic in there has dropped the operation, and who waits for it has been told by that.
fn finish(end: impl FnOnce()) {
    let _ = contain(end);
}

/// The end of the thread, also by a panic: nobody waits for ever.
struct ThreadEnd<'a>(&'a EventLoop);

impl Drop for ThreadEnd<'_> {
    fn drop(&mut self) {
        self.0.lock().is_left = true;
        self.0.fail_all(left);
    }
}

fn wait<T>(result: Result<T, PoisonError<T>>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

fn lost() -> DeviceError {
    DeviceError::new(Cause::Lost, "as planned")
}

fn left() -> DeviceError {
    DeviceError::new(Cause::Lost, "the thread of the device has ended")
}

impl Drop for Clock {
    fn drop(&mut self) {
        self.shared.lock().stops = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            // Also another device's thread: that one may be about to join this one.
            if !DeviceThread::is_here() {
                let _ = thread.join();
            }
        }
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::backend::{Done, HostBytes, Memory, Outcome, Upload};
    use crate::simulated::memory::SimulatedMemory;

    struct Bytes([u8; 4]);

    impl HostBytes for Bytes {
        fn bytes(&self) -> &[u8] {
            &self.0
        }
    }

    /// Copies four bytes to memory of that length.
    fn submit(clock: &Clock, len: usize) -> Receiver<Outcome> {
        let (sender, outcome) = channel();
        let piece = SimulatedMemory::new(len, 100, &Gauge::default()).unwrap();
        let upload = Upload {
            from: Arc::new(Bytes([1; 4])),
            to: Memory::new(Arc::new(piece)),
            done: Done::new(move |outcome, _| sender.send(outcome).unwrap()),
        };
        let declared = Duration::from_millis(20);
        clock.submit((0, None), declared, Work::Upload(upload), None);
        outcome
    }

    /// The copy of what does not fit ends the thread.
    #[test]
    fn what_a_thread_leaves_behind_fails_and_so_does_what_comes_later() {
        let clock = Clock::start(1, Gauge::default());
        let outcomes = [4, 3, 4].map(|len| submit(&clock, len));
        let [first, second, third] = outcomes.map(|outcome| outcome.recv().unwrap());
        assert!(first.is_ok(), "{first:?}");
        assert_eq!(second.unwrap_err().cause(), Cause::Lost);
        assert_eq!(third.unwrap_err(), left());
        assert_eq!(submit(&clock, 4).recv().unwrap().unwrap_err(), left());
    }
}
