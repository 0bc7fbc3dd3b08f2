//! Loops: over a range of indices, block by block, with or without a result.

use std::ffi::c_void;
use std::ops::Range;

use roving::raw::loops::{Sink, feed_pieces, run_on_worker};

use roving::raw::foreign;

use crate::call::{Border, Sendable, function, required, zeroed};
use crate::status::{Status, guard};

/// Does a block: the indices from `from` up to, and without, `to`.
type Block =
    unsafe extern "C-unwind" fn(worker: *const (), from: usize, to: usize, arg: *mut c_void);
/// Does a block, and adds what it came to to a total.
type Fold = unsafe extern "C-unwind" fn(
    worker: *const (),
    from: usize,
    to: usize,
    total: *mut c_void,
    arg: *mut c_void,
);
/// Adds the total of the following indices to another.
type Combine =
    unsafe extern "C-unwind" fn(total: *mut c_void, following: *const c_void, arg: *mut c_void);

struct Each {
    block: Block,
    arg: Sendable,
}

impl Sink<Range<usize>> for Each {
    type State = ();
    type Outcome = ();

    fn begin(&self) {}
    fn feed(&self, (): (), range: Range<usize>) {
        let _border = Border::cross();
        // SAFETY: who gave the function has promised that it can be called.
        unsafe { (self.block)(foreign::wire(), range.start, range.end, self.arg.0) };
    }
    fn end(&self, (): ()) {}
    fn resume(&self, (): ()) {}
    fn join(&self, (): (), (): ()) {}
}

/// # Safety
/// The block can be called on any worker.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_for(
    from: usize,
    to: usize,
    block: Option<Block>,
    arg: *mut c_void,
) -> Status {
    guard(|| {
        let block = function(block, "block")?;
        let arg = Sendable(arg);
        let each = Each { block, arg };
        run_on_worker(|| feed_pieces(from..to.max(from), &each, ()));
        Ok(())
    })
}

/// Of totals, as the header says.
const ALIGNMENT: usize = 64;

/// A total, whose type the caller knows. It stands in more memory than it needs, where that is
/// aligned: an allocation that is aligned takes several times as long with glibc.
struct Total(Vec<u128>);

impl Total {
    fn zeroed(bytes: usize) -> Total {
        let spare = ALIGNMENT - align_of::<u128>();
        Total(zeroed(bytes.saturating_add(spare)))
    }

    fn at(&mut self) -> *mut c_void {
        let memory = self.0.as_mut_ptr();
        let skipped = memory.addr().wrapping_neg() % ALIGNMENT;
        memory.wrapping_byte_add(skipped).cast()
    }
}

struct Reduction {
    fold: Fold,
    combine: Combine,
    identity: Sendable,
    bytes: usize,
    arg: Sendable,
}

impl Sink<Range<usize>> for Reduction {
    type State = Total;
    type Outcome = Total;

    fn begin(&self) -> Total {
        let mut total = Total::zeroed(self.bytes);
        let Sendable(identity) = self.identity;
        // SAFETY: it has so many bytes, and so has the new total.
        unsafe {
            std::ptr::copy_nonoverlapping(identity.cast::<u8>(), total.at().cast(), self.bytes);
        }
        total
    }

    fn feed(&self, mut total: Total, range: Range<usize>) -> Total {
        let (from, to) = (range.start, range.end);
        let _border = Border::cross();
        // SAFETY: who gave the function has promised that it can be called.
        unsafe { (self.fold)(foreign::wire(), from, to, total.at(), self.arg.0) };
        total
    }

    fn end(&self, total: Total) -> Total {
        total
    }

    fn resume(&self, total: Total) -> Total {
        total
    }

    fn join(&self, mut lower: Total, mut upper: Total) -> Total {
        // SAFETY: as for `fold`.
        unsafe { (self.combine)(lower.at(), upper.at(), self.arg.0) };
        lower
    }
}

/// `roving_reduction` of the header. It is read once, before any of the functions is called.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Described {
    bytes: usize,
    identity: *const c_void,
    fold: Option<Fold>,
    combine: Option<Combine>,
}

/// # Safety
/// The functions can be called on any worker; identity and result have `bytes` bytes.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn roving_reduce(
    from: usize,
    to: usize,
    reduction: *const Described,
    arg: *mut c_void,
    result: *mut c_void,
) -> Status {
    guard(|| {
        let described = required(reduction.cast_mut(), "reduction")?;
        // SAFETY: not null, and valid, says the caller.
        let described = unsafe { *described };
        let result = required(result, "result")?;
        let identity = required(described.identity.cast_mut(), "identity")?;
        let reduction = Reduction {
            fold: function(described.fold, "fold")?,
            combine: function(described.combine, "combine")?,
            identity: Sendable(identity),
            bytes: described.bytes,
            arg: Sendable(arg),
        };
        let range = from..to.max(from);
        let mut total = run_on_worker(|| feed_pieces(range, &reduction, reduction.begin()));
        // SAFETY: both have so many bytes, says the caller.
        unsafe {
            let bytes = described.bytes;
            std::ptr::copy_nonoverlapping(total.at().cast::<u8>(), result.cast(), bytes);
        }
        Ok(())
    })
}
