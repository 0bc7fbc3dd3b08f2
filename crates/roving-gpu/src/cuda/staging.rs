//! Pinned memory of the host, through which copies go: the driver waits in the call where it copies
//! from or to memory that is not pinned.
#![allow(unsafe_code)] // memory of the driver, by address

use std::ffi::c_void;
use std::ptr::NonNull;
use std::slice;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::{CudaContext, result};

/// The most that one device pins. Copies that find no room take their time in the driver.
const PINNED_MAX: usize = 64 << 20;
/// The least that is pinned at once: a page.
const PINNED_MIN: usize = 4096;

/// The pinned memory of one device. A piece that was used is kept for another copy of its size.
pub(super) struct Staging(Arc<Pieces>);

struct Pieces {
    context: Arc<CudaContext>,
    state: Mutex<StagingState>,
}

/// Pieces that were used, and how much is pinned.
#[derive(Default)]
struct StagingState {
    /// Nobody uses these.
    free: Vec<Pinned>,
    /// Bytes, with those in use.
    pinned: usize,
}

/// Pinned bytes, a power of two of them.
struct Pinned {
    at: NonNull<u8>,
    len: usize,
}

// SAFETY: it is memory that only its owner uses, by any thread.
unsafe impl Send for Pinned {}

/// A piece that a copy has until it is dropped.
pub(super) struct Staged {
    /// Always there, until the drop.
    piece: Option<Pinned>,
    pieces: Arc<Pieces>,
}

impl Staging {
    pub(super) fn new(context: &Arc<CudaContext>) -> Self {
        Staging(Arc::new(Pieces {
            context: Arc::clone(context),
            state: Mutex::default(),
        }))
    }

    /// A piece for so many bytes. `None`, if that is nothing, or more than there may be. The
    /// context is bound to this thread.
    pub(super) fn of(&self, bytes: usize) -> Option<Staged> {
        let len = bytes.checked_next_power_of_two()?.max(PINNED_MIN);
        if bytes == 0 || len > PINNED_MAX {
            return None;
        }
        let piece = self.0.take(len)?;
        Some(Staged {
            piece: Some(piece),
            pieces: Arc::clone(&self.0),
        })
    }
}

impl Pieces {
    fn state(&self) -> MutexGuard<'_, StagingState> {
        // Each change is one that does not panic half-way.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, len: usize) -> Option<Pinned> {
        let mut state = self.state();
        if let Some(at) = state.free.iter().position(|piece| piece.len == len) {
            return Some(state.free.swap_remove(at));
        }
        // Room is made of pieces of other sizes.
        while state.pinned + len > PINNED_MAX {
            let piece = state.free.pop()?;
            state.pinned -= piece.len;
            self.unpin(&piece);
        }
        state.pinned += len;
        drop(state);
        // SAFETY: the context is bound. What is in the memory are bytes, of any value.
        let at = unsafe { result::malloc_host(len, 0) };
        match at.ok().and_then(|at| NonNull::new(at.cast::<u8>())) {
            Some(at) => {
                // SAFETY: it was just allocated with that length. After this it has a value.
                unsafe { at.as_ptr().write_bytes(0, len) };
                Some(Pinned { at, len })
            }
            None => {
                self.state().pinned -= len;
                None
            }
        }
    }

    fn unpin(&self, piece: &Pinned) {
        // Errors are those of a device that is lost.
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: the address came from `malloc_host`, and is freed once: nobody has the piece
            // any more. A copy that used it has ended before it was given back.
            let _ = unsafe { result::free_host(piece.at.as_ptr().cast::<c_void>()) };
        }
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        let free = std::mem::take(&mut self.state().free);
        free.iter().for_each(|piece| self.unpin(piece));
    }
}

impl Staged {
    /// Its first bytes. It has at least as many as it was asked for.
    pub(super) fn bytes(&mut self, len: usize) -> &mut [u8] {
        match &mut self.piece {
            // SAFETY: so many bytes were allocated there and have a value. Nobody else has them.
            Some(piece) => unsafe {
                slice::from_raw_parts_mut(piece.at.as_ptr(), len.min(piece.len))
            },
            None => &mut [],
        }
    }

    /// Its first bytes, which are now these.
    pub(super) fn filled(&mut self, from: &[u8]) -> &[u8] {
        let to = self.bytes(from.len());
        to.copy_from_slice(from);
        to
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(piece) = self.piece.take() {
            self.pieces.state().free.push(piece);
        }
    }
}
