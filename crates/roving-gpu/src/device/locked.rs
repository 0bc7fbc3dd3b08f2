//! A device while somebody has locked it.

use std::ops::{Deref, DerefMut};
use std::sync::MutexGuard;

use super::{Device, State};

/// The device, locked. Buffers that went meanwhile are buried when it is open again.
pub(super) struct Locked<'d> {
    device: &'d Device,
    state: Option<MutexGuard<'d, State>>,
}

impl<'d> Locked<'d> {
    pub(super) fn new(device: &'d Device, state: MutexGuard<'d, State>) -> Self {
        Locked {
            device,
            state: Some(state),
        }
    }
}

impl Deref for Locked<'_> {
    type Target = State;

    fn deref(&self) -> &State {
        self.state
            .as_ref()
            .expect("it is locked until it is dropped")
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut State {
        self.state
            .as_mut()
            .expect("it is locked until it is dropped")
    }
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        self.state = None;
        self.device.tidy();
    }
}
