//! A word about devices on which nothing ends, where `ROVING_WATCH` asks for it.

use std::ops::ControlFlow;
use std::sync::{Arc, Weak};
use std::time::Duration;

use roving::raw::reports::{self, Lookout};

use crate::device::Device;

/// Watches devices for as long as the lookout lives. A device stands still when there are tasks on
/// it, and two looks find that none has ended in between; that is told once.
pub(crate) fn start(devices: &[Arc<Device>]) -> Option<Lookout> {
    let patience = reports::watch_patience()?;
    let mut watched: Vec<_> = devices.iter().map(WatchedDevice::new).collect();
    Lookout::start("roving-gpu-watch", patience, move || {
        watched.iter_mut().for_each(|one| one.look(patience));
        ControlFlow::Continue(())
    })
}

/// One device.
struct WatchedDevice {
    device: Weak<Device>,
    /// How many tasks had ended at the last look.
    ended: usize,
    is_told: bool,
}

impl WatchedDevice {
    fn new(device: &Arc<Device>) -> WatchedDevice {
        WatchedDevice {
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
