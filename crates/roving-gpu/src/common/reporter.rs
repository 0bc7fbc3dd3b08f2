//! The calls of the program's function for errors of devices.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread;

use roving::raw::panics::contain;

use crate::backend::device_thread::DeviceThread;
use crate::backend::error::DeviceError;
use crate::buffer::wait::wake_all;

/// The report of a device's error: each cause is reported once for each device, by
/// [`DevicesBuilder::on_failure`](crate::DevicesBuilder::on_failure).
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use roving_gpu::{Buffer, Cause, Choice, DeviceReport, Devices, Dual, Failure, Kind, Simulated};
///
/// static SIDE: Kind = Kind::new("side");
/// let reports = Arc::new(Mutex::new(Vec::new()));
/// let list = Arc::clone(&reports);
/// let devices = Devices::builder()
///     .backend(Simulated::new().name("toy").fail_at(0, Failure::Lost))
///     .choice(Choice::Gpu)
///     .on_failure(move |report: &DeviceReport| list.lock().unwrap().push(report.clone()))
///     .build()
///     .unwrap();
/// let numbers = Buffer::from(vec![1_u32]);
/// Dual::new(&SIDE, &[1]).reads(&numbers).cpu(|| ()).gpu(async |_gpu| Ok(())).run(&devices);
/// drop(devices);
/// let reports = reports.lock().unwrap();
/// assert_eq!((reports[0].device.as_str(), reports[0].error.cause()), ("toy", Cause::Lost));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceReport {
    /// The name of the device.
    pub device: String,
    /// The error.
    pub error: DeviceError,
}

impl fmt::Display for DeviceReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.device, self.error)
    }
}

pub(crate) type OnFailure = Box<dyn Fn(&DeviceReport) + Send + Sync>;

/// The function and the reports that it is still to be called with. It may wait for the device that
/// a report is of, so it is called on a thread that no device needs: one that is started when there
/// is a report, and ends with the last of them. There are few: one for each device and cause.
pub(crate) struct Reporter {
    state: Mutex<ReporterState>,
}

struct ReporterState {
    /// Until the last handle of the devices has gone: the function may own a buffer that is at one
    /// of them, and would keep it, with all that it needs, for ever.
    call: Option<Arc<OnFailure>>,
    /// The oldest first.
    due: VecDeque<DeviceReport>,
    /// A thread makes the calls. In a forked child, which has none of the parent's, nobody waits
    /// for it: who has devices of the parent there does not come here.
    is_called: bool,
    /// Whoever waits until all calls have been made.
    waiters: Vec<Waker>,
}

impl Reporter {
    pub(super) fn new(call: OnFailure) -> Arc<Reporter> {
        Arc::new(Reporter {
            state: Mutex::new(ReporterState {
                call: Some(Arc::new(call)),
                due: VecDeque::new(),
                is_called: false,
                waiters: Vec::new(),
            }),
        })
    }

    fn lock(&self) -> MutexGuard<'_, ReporterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// [`Reporter::call_due`] is to follow, when nothing else is left to do for the device.
    pub(super) fn put(&self, report: DeviceReport) {
        let mut state = self.lock();
        if state.call.is_some() {
            state.due.push_back(report);
        }
    }

    /// Has the calls made that are due. They are made here, if there can be no other thread.
    pub(super) fn call_due(self: &Arc<Self>) {
        let mut state = self.lock();
        if state.due.is_empty() || state.is_called {
            return;
        }
        state.is_called = true;
        drop(state);
        let own = Arc::clone(self);
        let thread = thread::Builder::new().name("roving-gpu-reports".to_owned());
        if thread.spawn(move || own.call_all()).is_err() {
            self.call_all();
        }
    }

    fn call_all(&self) {
        let mut state = self.lock();
        while let Some(report) = state.due.pop_front() {
            let call = state.call.clone();
            drop(state);
            if let Some(call) = call {
                let _ = DeviceThread::during(|| contain(|| call(&report)));
            }
            state = self.lock();
        }
        state.is_called = false;
        let waiters = std::mem::take(&mut state.waiters);
        drop(state);
        wake_all(waiters);
    }

    /// Drops the function, when all calls have been made: there are no more.
    pub(super) fn end(&self) {
        let call = self.lock().call.take();
        // With no lock: it is the program's.
        let _ = contain(|| drop(call));
    }

    /// Whether all calls have been made; if not, wakes when they have.
    pub(super) fn poll_idle(&self, waker: &Waker) -> Poll<()> {
        let waker = waker.clone();
        let mut state = self.lock();
        if state.is_called {
            state.waiters.push(waker);
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

impl fmt::Debug for Reporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reporter").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, channel};

    use super::*;
    use crate::backend::error::Cause;

    fn report(number: usize) -> DeviceReport {
        DeviceReport {
            device: number.to_string(),
            error: DeviceError::new(Cause::Lost, "as planned"),
        }
    }

    /// One that sends the names of devices, and whether another thread has called it.
    fn sender() -> (Arc<Reporter>, Receiver<(String, bool)>) {
        let (sender, names) = channel();
        let (own, sender) = (thread::current().id(), Mutex::new(sender));
        let reporter = Reporter::new(Box::new(move |report| {
            let sent = (report.device.clone(), thread::current().id() != own);
            sender.lock().unwrap().send(sent).unwrap();
        }));
        (reporter, names)
    }

    #[test]
    fn calls_come_one_by_one_on_a_thread_of_their_own() {
        let (reporter, names) = sender();
        for round in 0..3 {
            (0..4).for_each(|at| reporter.put(report(round * 4 + at)));
            reporter.call_due();
            reporter.call_due();
            for at in 0..4 {
                let name = (round * 4 + at).to_string();
                assert_eq!(names.recv().unwrap(), (name, true));
            }
        }
        while reporter.poll_idle(Waker::noop()).is_pending() {
            thread::yield_now();
        }
    }
}
