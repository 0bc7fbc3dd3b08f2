//! A word about devices on which nothing ends, where `ROVING_WATCH` asks for it.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use roving::raw::reports;

use crate::device::Device;

/// Watches devices for as long as it lives. A device stands still when there are tasks on it, and
/// two looks find that none has ended in between; that is told once.
pub(crate) struct Watch {
    /// Dropped to end the thread.
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    pub(crate) fn start(devices: &[Arc<Device>]) -> Option<Watch> {
        let patience = reports::watch_patience()?;
        let (over, ends) = mpsc::channel();
        let mut watched: Vec<_> = devices.iter().map(Watched::new).collect();
        let watch = move || {
            while ends.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                watched.iter_mut().for_each(|one| one.look(patience));
            }
        };
        let name = thread::Builder::new().name("roving-gpu-watch".into());
        // Without the thread the devices work all the same.
        let thread = name.spawn(watch).ok()?;
        Some(Watch {
            over: Some(over),
            thread: Some(thread),
        })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(thread) = self.thread.take() {
            // It prints, and may panic by that: no reason to fail.
            let _ = thread.join();
        }
    }
}

/// One device.
struct Watched {
    device: Weak<Device>,
    /// How many tasks had ended at the last look.
    ended: usize,
    is_told: bool,
}

impl Watched {
    fn new(device: &Arc<Device>) -> Watched {
        Watched {
            device: Arc::downgrade(device),
            ended: usize::MAX,
            is_told: false,
        }
    }

    fn look(&mut self, patience: Duration) {
        let Some(device) = self.device.upgrade() else {
            return;
        };
        let (ended, aboard) = device.told();
        let has_stood = std::mem::replace(&mut self.ended, ended) == ended;
        match aboard {
            Some(aboard) if has_stood => {
                if !std::mem::replace(&mut self.is_told, true) {
                    let name = &device.name;
                    let text = format!(
                        "roving-gpu: no task on device `{name}` has ended for {patience:?}: {aboard}\n"
                    );
                    reports::tell_standstill(&text);
                }
            }
            _ => self.is_told = false,
        }
    }
}
