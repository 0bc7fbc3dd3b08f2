//! Memory of a device: what tasks have, and rooms that downloads pass through.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use ::wgpu::{Buffer, BufferDescriptor, BufferUsages, Device, Limits};

use super::fault;
use crate::backend::Memory;
use crate::error::{Cause, DeviceError};

/// What wgpu wants sizes of copies to be multiples of, and of uniform buffers, is at most this.
const GRAIN: u64 = 16;

/// How many bytes are in use, of how many.
#[derive(Debug)]
pub(super) struct Account {
    used: Mutex<u64>,
    /// Of all buffers together.
    pub(super) bytes_max: u64,
    /// Of one.
    buffer_bytes_max: u64,
}

impl Account {
    pub(super) fn new(limits: &Limits, bytes_max: u64) -> Self {
        Account {
            used: Mutex::new(0),
            bytes_max,
            buffer_bytes_max: limits
                .max_buffer_size
                .min(limits.max_storage_buffer_binding_size),
        }
    }

    pub(super) fn used(&self) -> u64 {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, bytes: u64) -> Result<(), DeviceError> {
        let refuse = |text| Err(DeviceError::new(Cause::OutOfMemory, text));
        if bytes > self.buffer_bytes_max {
            let most = self.buffer_bytes_max;
            return refuse(format!("a buffer of {bytes} bytes; it has at most {most}"));
        }
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if *used + bytes > self.bytes_max {
            let most = self.bytes_max;
            return refuse(format!("{bytes} bytes beside {used} of {most} in use"));
        }
        *used += bytes;
        Ok(())
    }

    fn give_back(&self, bytes: u64) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) -= bytes;
    }
}

/// What a [`Memory`] of this back-end is.
pub(super) struct Room {
    pub(super) buffer: Buffer,
    account: Arc<Account>,
}

impl Room {
    pub(super) fn new(
        device: &Device,
        account: &Arc<Account>,
        bytes: usize,
    ) -> Result<Self, DeviceError> {
        let size = padded(bytes);
        account.take(size)?;
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        match buffer(device, size, usage) {
            Ok(buffer) => Ok(Room {
                buffer,
                account: Arc::clone(account),
            }),
            Err(error) => {
                account.give_back(size);
                Err(error)
            }
        }
    }

    pub(super) fn of(memory: &Memory) -> Result<&Room, DeviceError> {
        memory.get().ok_or_else(|| {
            DeviceError::new(
                Cause::Kernel,
                "a buffer of another back-end was given to wgpu",
            )
        })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        self.account.give_back(self.buffer.size());
    }
}

/// So many bytes, rounded up; never none, for an empty buffer cannot be bound.
pub(super) fn padded(bytes: usize) -> u64 {
    (bytes.max(1) as u64).next_multiple_of(GRAIN)
}

fn buffer(device: &Device, size: u64, usage: BufferUsages) -> Result<Buffer, DeviceError> {
    let descriptor = BufferDescriptor {
        label: None,
        size,
        usage,
        mapped_at_creation: false,
    };
    fault::caught(device, "", || device.create_buffer(&descriptor))
}

/// Rooms that are used again, by the binary logarithm of their size: pages that are touched for the first time
/// cost more than copying does.
pub(super) struct Spare {
    usage: BufferUsages,
    sizes: Range<u32>,
    /// In each size.
    count_max: usize,
    free: Mutex<Vec<Vec<Buffer>>>,
}

impl Spare {
    /// Rooms of `2^sizes.start` bytes at least. Those of `2^sizes.end` bytes and more are not kept.
    pub(super) fn new(usage: BufferUsages, sizes: Range<u32>, count_max: usize) -> Self {
        Spare {
            usage,
            count_max,
            free: Mutex::new(vec![Vec::new(); sizes.len()]),
            sizes,
        }
    }

    fn class(&self, bytes: u64) -> u32 {
        bytes.next_power_of_two().ilog2().max(self.sizes.start)
    }

    /// A room of at least so many bytes.
    pub(super) fn take(&self, device: &Device, bytes: u64) -> Result<Buffer, DeviceError> {
        let class = self.class(bytes);
        if !self.sizes.contains(&class) {
            return buffer(device, bytes, self.usage);
        }
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        match free[(class - self.sizes.start) as usize].pop() {
            Some(room) => Ok(room),
            None => {
                drop(free);
                buffer(device, 1 << class, self.usage)
            }
        }
    }

    /// A room that is no longer used: not by the device either.
    pub(super) fn give_back(&self, room: Buffer) {
        let class = self.class(room.size());
        if self.sizes.contains(&class) {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            let free = &mut free[(class - self.sizes.start) as usize];
            if free.len() < self.count_max {
                free.push(room);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_up_and_never_nothing() {
        assert_eq!([0, 1, 16, 17].map(padded), [16, 16, 16, 32]);
    }

    #[test]
    fn an_account_refuses_what_is_too_much_and_says_why() {
        let limits = Limits {
            max_buffer_size: 100,
            max_storage_buffer_binding_size: 80,
            ..Limits::default()
        };
        let account = Account::new(&limits, 120);
        assert_eq!(account.take(96).unwrap_err().cause(), Cause::OutOfMemory);
        account.take(80).unwrap();
        let refused = account.take(48).unwrap_err();
        assert!(
            refused.text().contains("48 bytes beside 80 of 120"),
            "{refused}"
        );
        account.take(40).unwrap();
        account.give_back(80);
        assert_eq!(account.used(), 40);
    }
}
