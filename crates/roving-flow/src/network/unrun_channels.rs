//! The channels of a network, until it runs.

use std::mem;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::channel::Handle;
use crate::channel::shared::Shared;

/// The channels of a network that is built. Where it never runs, whoever waits at one of them is
/// told when this is dropped: see [`Shared::never_begins`].
pub(crate) struct UnrunChannels {
    channels: Vec<Handle>,
    /// None when the network runs.
    shared: Option<Arc<Shared>>,
}

impl UnrunChannels {
    pub(super) fn new(shared: &Arc<Shared>) -> UnrunChannels {
        UnrunChannels {
            channels: Vec::new(),
            shared: Some(Arc::clone(shared)),
        }
    }

    /// The network runs.
    pub(super) fn run(mut self) -> Vec<Handle> {
        self.shared = None;
        mem::take(&mut self.channels)
    }
}

impl Deref for UnrunChannels {
    type Target = Vec<Handle>;

    fn deref(&self) -> &Vec<Handle> {
        &self.channels
    }
}

impl DerefMut for UnrunChannels {
    fn deref_mut(&mut self) -> &mut Vec<Handle> {
        &mut self.channels
    }
}

impl Drop for UnrunChannels {
    fn drop(&mut self) {
        if let Some(shared) = &self.shared {
            shared.never_begins(&self.channels);
        }
    }
}
