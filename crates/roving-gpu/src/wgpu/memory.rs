//! Memory of a device: what tasks have, and rooms that downloads pass through.

use std::sync::{Arc, Mutex, PoisonError};

use ::wgpu::{Buffer, BufferDescriptor, BufferUsages, Device, Limits};

use super::fault;
use crate::backend::Memory;
use crate::backend::error::{Cause, DeviceError};

/// The largest alignment that wgpu wants of the sizes of copies and of uniform buffers.
const GRAIN: u64 = 16;

/// How many bytes are in use, of how many.
#[derive(Debug)]
pub(super) struct MemoryBudget {
    used: Mutex<u64>,
    /// Of all buffers together.
    pub(super) bytes_max: u64,
    /// Of one.
    pub(super) buffer_bytes_max: u64,
}

impl MemoryBudget {
    pub(super) fn new(limits: &Limits, bytes_max: u64) -> Self {
        MemoryBudget {
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

/// A [`Memory`] of this back-end.
pub(super) struct Room {
    pub(super) buffer: Buffer,
    /// As many as were asked for; the buffer may have more.
    pub(super) bytes: usize,
    account: Arc<MemoryBudget>,
}

impl Room {
    pub(super) fn new(
        device: &Device,
        account: &Arc<MemoryBudget>,
        bytes: usize,
    ) -> Result<Self, DeviceError> {
        let size = padded(bytes);
        account.take(size)?;
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        match buffer(device, size, usage) {
            Ok(buffer) => Ok(Room {
                buffer,
                bytes,
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

/// Rooms that are used again, by the binary logarithm of their size: pages that are touched for the
/// first time cost more than copying does.
pub(super) struct Spare {
    usage: BufferUsages,
    /// The logarithm of the smallest room.
    least: u32,
    /// Of all that is kept while it is not used.
    bytes_max: u64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    bytes: u64,
    /// By the logarithm of their size, less the smallest.
    rooms: Vec<Vec<Buffer>>,
}

impl Spare {
    /// Rooms of `2^least` bytes at least; those that are not used have `bytes_max` at most.
    pub(super) fn new(usage: BufferUsages, least: u32, bytes_max: u64) -> Self {
        Spare {
            usage,
            least,
            bytes_max,
            kept: Mutex::default(),
        }
    }

    fn class(&self, bytes: u64) -> u32 {
        bytes.next_power_of_two().ilog2().max(self.least)
    }

    /// A room of at least so many bytes.
    pub(super) fn take(&self, device: &Device, bytes: u64) -> Result<Buffer, DeviceError> {
        let class = self.class(bytes);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let rooms = kept.rooms.get_mut((class - self.least) as usize);
        if let Some(room) = rooms.and_then(Vec::pop) {
            kept.bytes -= room.size();
            return Ok(room);
        }
        drop(kept);
        // Large ones are as large as they must be: the next power of two may be more than there can
        // be.
        let size = if 1 << class > self.bytes_max {
            bytes
        } else {
            1 << class
        };
        buffer(device, size, self.usage)
    }

    /// A room that is no longer used: not by the device either.
    pub(super) fn give_back(&self, room: Buffer) {
        let class = self.class(room.size());
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if room.size() == 1 << class && kept.bytes + room.size() <= self.bytes_max {
            let place = (class - self.least) as usize;
            if kept.rooms.len() <= place {
                kept.rooms.resize_with(place + 1, Vec::new);
            }
            kept.bytes += room.size();
            kept.rooms[place].push(room);
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
        let account = MemoryBudget::new(&limits, 120);
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
