//! Memory of devices and of the host, and copies between them.
#![allow(unsafe_code)] // copies by address

use std::ops::Range;
use std::ptr;

use super::{Driver, Handle, StreamStep, Use, is_in};
use crate::memory::MemoryBlock;
use crate::refusal::{Answer, INVALID_VALUE, OUT_OF_MEMORY, Refusal, mistake};

impl Driver {
    /// How much of the current context's device is free, and how much there is.
    pub(crate) fn room(&mut self) -> Answer<(u64, u64)> {
        let context = self.bound()?;
        let device = self.contexts[&context].device;
        let all = self.settings.bytes;
        Ok((all - self.devices[device].used, all))
    }

    pub(crate) fn alloc(&mut self, len: usize) -> Answer<u64> {
        let context = self.bound()?;
        if len == 0 {
            return Err(Refusal::Code(INVALID_VALUE));
        }
        if self.room()?.0 < len as u64 {
            return Err(Refusal::Code(OUT_OF_MEMORY));
        }
        let block = MemoryBlock::new(context, len).ok_or(Refusal::Code(OUT_OF_MEMORY))?;
        let address = block.address();
        self.blocks.insert(address, block);
        let device = self.contexts[&context].device;
        self.devices[device].used += len as u64;
        Ok(address)
    }

    /// Others may use it when they are after this operation of the stream.
    pub(crate) fn alloc_on(&mut self, stream: Handle, len: usize) -> Answer<u64> {
        self.on(stream)?;
        if !self.settings.pools {
            return mistake(
                "memory is asked for in the order of a stream of a device without pools",
            );
        }
        // What the same stream frees before is there for it.
        if self.room()?.0 < len as u64 {
            self.run(stream, u64::MAX)?;
        }
        let address = self.alloc(len)?;
        let bytes = address..address + len as u64;
        let all = [Use {
            bytes,
            writes: true,
        }];
        self.give(stream, &all, "an allocation", |_| StreamStep::Nothing)?;
        Ok(address)
    }

    fn begins(&mut self, address: u64) -> Answer<Range<u64>> {
        let Some(block) = self.blocks.get(&address) else {
            return mistake(format!("{address:#x} is freed, where no block begins"));
        };
        if let Some(by) = &block.freed_by {
            return mistake(format!("memory is freed that {by} has freed"));
        }
        Ok(block.range())
    }

    pub(crate) fn free_on(&mut self, stream: Handle, address: u64) -> Answer<()> {
        self.on(stream)?;
        let bytes = self.begins(address)?;
        let all = [Use {
            bytes,
            writes: true,
        }];
        self.give(stream, &all, "freeing", |_| StreamStep::Free(address))?;
        if let Some(block) = self.blocks.get_mut(&address) {
            block.freed_by = Some(format!("stream {stream:#x}"));
        }
        Ok(())
    }

    pub(crate) fn free_now(&mut self, address: u64) -> Answer<()> {
        self.waited();
        let context = self.bound()?;
        self.begins(address)?;
        let block = &self.blocks[&address];
        if block.context != context {
            return mistake("memory of another context is freed");
        }
        if let Some(what) = block.in_use(&self.host) {
            return mistake(format!("memory is freed that {what} may still use"));
        }
        block.check_guards("something")?;
        let device = self.contexts[&context].device;
        self.devices[device].used -= block.len() as u64;
        self.blocks.remove(&address);
        Ok(())
    }

    pub(crate) fn pin(&mut self, len: usize) -> Answer<u64> {
        let context = self.bound()?;
        if len == 0 {
            return Err(Refusal::Code(INVALID_VALUE));
        }
        let block = MemoryBlock::new(context, len).ok_or(Refusal::Code(OUT_OF_MEMORY))?;
        let address = block.address();
        self.pinned.insert(address, block);
        Ok(address)
    }

    pub(crate) fn unpin(&mut self, address: u64) -> Answer<()> {
        self.bound()?;
        let Some(block) = self.pinned.get(&address) else {
            return mistake(format!(
                "{address:#x} is freed, where no pinned block begins"
            ));
        };
        if let Some(what) = block.in_use(&self.host) {
            return mistake(format!("pinned memory is freed that {what} may still use"));
        }
        block.check_guards("something")?;
        self.pinned.remove(&address);
        Ok(())
    }

    /// Copies to the device. Memory that is not pinned is read at once, and the call may wait.
    ///
    /// # Safety
    /// The bytes are there.
    pub(crate) unsafe fn copy_in(
        &mut self,
        stream: Handle,
        to: u64,
        from: u64,
        len: usize,
    ) -> Answer<()> {
        self.on(stream)?;
        let bytes = len as u64;
        let mut uses = vec![Use {
            bytes: to..to + bytes,
            writes: true,
        }];
        if len == 0 {
            return Ok(());
        }
        if is_in(&self.pinned, from) {
            uses.push(Use {
                bytes: from..from + bytes,
                writes: false,
            });
            let copy = move || {
                // SAFETY: both are in live blocks of that size, and stay: to free them earlier is a
                // mistake that is found.
                unsafe { ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, len) };
                true
            };
            return self.give_run(stream, &uses, "a copy to the device", None, Box::new(copy));
        }
        // SAFETY: the bytes are there, as the caller promises.
        let staged = unsafe { std::slice::from_raw_parts(from as *const u8, len) }.to_vec();
        let copy = move || {
            // SAFETY: the room is in a live block of that size, and stays: to free it earlier is a
            // mistake that is found.
            unsafe { ptr::copy_nonoverlapping(staged.as_ptr(), to as *mut u8, staged.len()) };
            true
        };
        self.give_run(stream, &uses, "a copy to the device", None, Box::new(copy))?;
        self.count("copies that wait");
        self.waited();
        self.run(stream, u64::MAX)
    }

    /// Copies from the device. If the room is not pinned, the call waits.
    ///
    /// # Safety
    /// The room is there, until the copy has run.
    pub(crate) unsafe fn copy_out(
        &mut self,
        stream: Handle,
        to: u64,
        from: u64,
        len: usize,
    ) -> Answer<()> {
        self.on(stream)?;
        if len == 0 {
            return Ok(());
        }
        let bytes = len as u64;
        let mut uses = vec![Use {
            bytes: from..from + bytes,
            writes: false,
        }];
        let is_pinned = is_in(&self.pinned, to);
        if is_pinned {
            uses.push(Use {
                bytes: to..to + bytes,
                writes: true,
            });
        }
        let copy = move || {
            // SAFETY: the bytes are in a live block of that size, and stay: to free it earlier is a
            // mistake that is found. The room is there, as the caller promises.
            unsafe { ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, len) };
            true
        };
        self.give_run(
            stream,
            &uses,
            "a copy from the device",
            None,
            Box::new(copy),
        )?;
        if !is_pinned {
            self.count("copies that wait");
            self.wait_stream(stream)?;
        }
        Ok(())
    }
}
