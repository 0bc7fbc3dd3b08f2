//! Devices that copy from each other.
#![allow(unsafe_code)] // copies by address

use std::ptr;

use super::{Driver, Handle, Use, not_live};
use crate::refusal::{Answer, INVALID_VALUE, PEER_ACCESS_ALREADY_ENABLED, Refusal, mistake};

impl Driver {
    /// Whether a device can look at the memory of another one.
    pub(crate) fn is_peer(&mut self, device: i32, peer: i32) -> Answer<bool> {
        let both = [self.device(device)?, self.device(peer)?];
        Ok(self.settings.peers && both[0] != both[1])
    }

    /// Lets a device look at what is in the pool of another one, or in its own.
    pub(crate) fn open_pool(&mut self, pool: u64, device: i32) -> Answer<()> {
        let owner = pool.checked_sub(16).and_then(|n| i32::try_from(n).ok());
        let Some(owner) = owner.filter(|owner| self.device(*owner).is_ok()) else {
            return mistake("a pool is used that never was");
        };
        if owner != device && !self.is_peer(device, owner)? {
            return Err(Refusal::Code(INVALID_VALUE));
        }
        Ok(())
    }

    /// Lets the current context look at the memory of another one.
    pub(crate) fn open_peer(&mut self, peer: Handle) -> Answer<()> {
        let current = self.bound()?;
        let owner = live!(self, contexts, "context", peer)?.device as i32;
        let guest = self.contexts[&current].device as i32;
        if !self.is_peer(guest, owner)? {
            return Err(Refusal::Code(INVALID_VALUE));
        }
        match self.peers.insert((current, peer)) {
            true => Ok(()),
            false => Err(Refusal::Code(PEER_ACCESS_ALREADY_ENABLED)),
        }
    }

    /// Copies from memory of one context to memory of another, on a stream of the current one; also
    /// where the two cannot look at each other's.
    pub(crate) fn copy_between(
        &mut self,
        stream: Handle,
        [to, from]: [u64; 2],
        contexts: [Handle; 2],
        len: usize,
    ) -> Answer<()> {
        self.on(stream)?;
        let bytes = len as u64;
        let uses = [(to, true), (from, false)].map(|(at, writes)| Use {
            bytes: at..at + bytes,
            writes,
        });
        let what = "a copy between devices";
        for (of, context) in uses.iter().zip(contexts) {
            if let Some(code) = live!(self, contexts, "context", context)?.lost {
                return Err(Refusal::Code(code));
            }
            if len > 0 && self.block(&of.bytes, what)?.context != context {
                return mistake(format!(
                    "{what} is told another context than that of its memory"
                ));
            }
        }
        if len == 0 {
            return Ok(());
        }
        let copy = move || {
            // SAFETY: both are in live blocks of that size, and stay: to free one earlier is a
            // mistake that is found.
            unsafe { ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, len) };
            true
        };
        self.give_run_for(stream, &uses, what, &contexts, None, Box::new(copy))
    }
}
