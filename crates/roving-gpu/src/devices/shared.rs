//! The devices of a program as all handles share them.

use std::future::poll_fn;
use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Waker;
use std::thread;

use roving::raw::reports::Lookout;

use super::far_sooner::Settled;
use super::gpu_share::Shares;
use crate::backend::device_thread::DeviceThread;
use crate::buffer::wait::block;
use crate::common::Common;
use crate::device::Device;
use crate::history::file;

pub(crate) struct Inner {
    pub(crate) common: Arc<Common>,
    pub(crate) devices: Vec<Arc<Device>>,
    pub(crate) shares: Shares,
    pub(crate) settled: Settled,
    pub(crate) history_path: Option<PathBuf>,
    /// Where somebody asks for it.
    pub(crate) watch: Option<Lookout>,
}

impl Inner {
    /// Blocks until all that has ended ahead of its kernels is done.
    pub(crate) fn wait(&self) {
        self.common.check_process();
        wait(&self.devices);
    }
}

fn wait(devices: &[Arc<Device>]) {
    for device in devices {
        // Mostly there is none.
        if device.poll_down(Waker::noop()).is_pending() {
            // Whoever watches the device says what is there.
            let tell = || format!("the tasks on device `{}`", device.name);
            block(tell, poll_fn(|context| device.poll_down(context.waker())));
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if !self.common.process.is_here() {
            // All of it is the parent's, which has its own copy.
            mem::forget((mem::take(&mut self.devices), self.watch.take()));
            return;
        }
        let ending = LastHandle {
            common: Arc::clone(&self.common),
            devices: mem::take(&mut self.devices),
            history_path: self.history_path.take(),
            watch: self.watch.take(),
        };
        if DeviceThread::is_here() {
            ending.hand_over();
        } else {
            ending.end();
        }
    }
}

/// The devices when the last handle has gone.
struct LastHandle {
    common: Arc<Common>,
    devices: Vec<Arc<Device>>,
    history_path: Option<PathBuf>,
    watch: Option<Lookout>,
}

impl LastHandle {
    fn end(self) {
        // Tasks that have landed ahead of their kernels have still to be measured.
        wait(&self.devices);
        self.save();
        self.tell_errors();
    }

    /// Leaves it to a thread that is started for it: this one is one that must not wait.
    fn hand_over(self) {
        let ending = Arc::new(Mutex::new(Some(self)));
        let theirs = Arc::clone(&ending);
        let take = |ending: &Mutex<Option<LastHandle>>| {
            let mut ending = ending.lock().unwrap_or_else(PoisonError::into_inner);
            ending.take()
        };
        let thread = thread::Builder::new().name("roving-gpu-end".to_owned());
        let started = thread.spawn(move || take(&theirs).map(LastHandle::end));
        if started.is_ok() {
            return;
        }
        // The devices end by themselves; what is measured until then is not kept.
        if let Some(mut ending) = take(&ending) {
            ending.save();
            ending.common.call_due();
            // Its end is waited for.
            mem::forget(ending.watch.take());
        }
    }

    fn save(&self) {
        let measured = self.common.history.measured();
        if let Some(path) = &self.history_path {
            if !measured.kinds.is_empty() {
                // Times that cannot be kept are measured again.
                let _ = file::save(path, measured);
            }
        }
    }

    /// Blocks until the program has been told of all errors.
    fn tell_errors(&self) {
        let common = &self.common;
        // Another thread may have noted one, and not come to have it told.
        common.call_due();
        if common.poll_told(Waker::noop()).is_pending() {
            let tell = || "the callback of `on_failure`".to_owned();
            block(tell, poll_fn(|context| common.poll_told(context.waker())));
        }
        common.end_reports();
    }
}
