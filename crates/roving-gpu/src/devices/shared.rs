//! The devices of a program as all handles share them.

use std::future::poll_fn;
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Waker;

use roving::raw::reports::Lookout;

use super::far_sooner::Settled;
use super::gpu_share::Shares;
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
    pub(crate) _watch: Option<Lookout>,
}

impl Inner {
    /// Blocks until all that has ended ahead of its kernels is done.
    pub(crate) fn wait(&self) {
        for device in &self.devices {
            // Mostly there is none.
            if device.poll_down(Waker::noop()).is_pending() {
                // Whoever watches the device says what is there.
                let tell = || format!("the tasks on device `{}`", device.name);
                block(tell, poll_fn(|context| device.poll_down(context.waker())));
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
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Tasks that have landed ahead of their kernels have still to be measured.
        self.wait();
        let measured = self.common.history.measured();
        if let Some(path) = &self.history_path {
            if !measured.kinds.is_empty() {
                // Times that cannot be kept are measured again.
                let _ = file::save(path, measured);
            }
        }
        self.tell_errors();
    }
}
