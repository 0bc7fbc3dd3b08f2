//! Blocks of memory, of a device or pinned on the host, and who uses them.
#![allow(unsafe_code)] // allocates, copies and frees by address

use std::alloc::{Layout, alloc, dealloc};
use std::ops::Range;
use std::slice;

use crate::clock::VectorClock;
use crate::refusal::{Answer, mistake};

/// Bytes before and behind each block that nobody may change.
const GUARD: usize = 256;
const GUARDED: u8 = 0xa7;
/// A new block is full of this: what was never written looks like nothing else.
const FRESH: u8 = 0xd5;

/// Bytes with guards around them.
#[derive(Debug)]
pub(crate) struct Bytes {
    whole: *mut u8,
    len: usize,
}

// SAFETY: it is memory of its own, and all that uses it has the driver's lock.
unsafe impl Send for Bytes {}

impl Bytes {
    fn layout(len: usize) -> Layout {
        Layout::from_size_align(len + 2 * GUARD, GUARD).expect("no program has that much")
    }

    /// `None`, if the host has not so much.
    fn new(len: usize) -> Option<Bytes> {
        // SAFETY: with the guards the layout is not empty.
        let whole = unsafe { alloc(Self::layout(len)) };
        if whole.is_null() {
            return None;
        }
        // SAFETY: the three parts are all of what was allocated.
        unsafe {
            whole.write_bytes(GUARDED, GUARD);
            whole.add(GUARD).write_bytes(FRESH, len);
            whole.add(GUARD + len).write_bytes(GUARDED, GUARD);
        }
        Some(Bytes { whole, len })
    }

    fn address(&self) -> u64 {
        self.whole as u64 + GUARD as u64
    }

    fn is_whole(&self) -> bool {
        // SAFETY: both guards are part of what was allocated and written.
        let guards = unsafe {
            [
                slice::from_raw_parts(self.whole, GUARD),
                slice::from_raw_parts(self.whole.add(GUARD + self.len), GUARD),
            ]
        };
        guards.concat().iter().all(|byte| *byte == GUARDED)
    }
}

impl Drop for Bytes {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed once, here.
        unsafe { dealloc(self.whole, Self::layout(self.len)) }
    }
}

/// One use of some bytes by an operation of a stream.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) bytes: Range<u64>,
    pub(crate) stream: u64,
    pub(crate) number: u64,
    pub(crate) writes: bool,
    pub(crate) what: String,
}

/// One allocation, with those that use it.
#[derive(Debug)]
pub(crate) struct MemoryBlock {
    pub(crate) context: u64,
    pub(crate) bytes: Bytes,
    /// The operation that frees it is on a stream.
    pub(crate) freed_by: Option<String>,
    /// Those that may conflict with what comes.
    accesses: Vec<Access>,
}

impl MemoryBlock {
    /// `None`, if the host has not so much.
    pub(crate) fn new(context: u64, len: usize) -> Option<MemoryBlock> {
        Some(MemoryBlock {
            context,
            bytes: Bytes::new(len)?,
            freed_by: None,
            accesses: Vec::new(),
        })
    }

    pub(crate) fn address(&self) -> u64 {
        self.bytes.address()
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len
    }

    pub(crate) fn range(&self) -> Range<u64> {
        self.address()..self.address() + self.bytes.len as u64
    }

    /// Whether the guards are as they were.
    pub(crate) fn check_guards(&self, what: &str) -> Answer<()> {
        if self.bytes.is_whole() {
            return Ok(());
        }
        mistake(format!(
            "{what} wrote outside of a block of {} bytes",
            self.bytes.len
        ))
    }

    /// Notes a use by something that begins after all that `clock` knows. A mistake, if it is not
    /// ordered with another use, and one of the two writes.
    pub(crate) fn meet(&mut self, new: Access, clock: &VectorClock) -> Answer<()> {
        if let Some(by) = &self.freed_by {
            return mistake(format!("{} uses memory after {by} freed it", new.what));
        }
        for old in &self.accesses {
            let overlap = old.bytes.start < new.bytes.end && new.bytes.start < old.bytes.end;
            if overlap && (old.writes || new.writes) && !clock.knows(old.stream, old.number) {
                let verb = |access: &Access| if access.writes { "writes" } else { "reads" };
                return mistake(format!(
                    "{} {} memory that {} still {}: no event and no wait orders the two",
                    new.what,
                    verb(&new),
                    old.what,
                    verb(old)
                ));
            }
        }
        // What the new one covers and follows need not be met again: who follows the new one
        // follows it as well.
        self.accesses.retain(|old| {
            let covered = new.bytes.start <= old.bytes.start && old.bytes.end <= new.bytes.end;
            !(covered && clock.knows(old.stream, old.number) && (new.writes || !old.writes))
        });
        self.accesses.push(new);
        Ok(())
    }

    /// Whether something that does not know it may be in use.
    pub(crate) fn in_use(&self, clock: &VectorClock) -> Option<&str> {
        let mut late = self.accesses.iter();
        let late = late.find(|old| !clock.knows(old.stream, old.number));
        late.map(|access| &access.what[..])
    }
}
