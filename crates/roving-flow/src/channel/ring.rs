//! The memory of a channel: a chain of rings, each twice as large as the one before.
//!
//! A message with number `n` lies in slot `n` modulo the ring's size. When the newest ring is full
//! and the channel's capacity allows more, the producer links a larger one and goes on there; the
//! consumer empties the old one, frees it and follows. So a channel is as large as it had to be
//! until now, no message is ever moved, and in the long run there is one ring.
//!
//! The first ring lies in the memory of the channel: with slots where messages are small, else with
//! none, so that the first message is the first of the next ring.

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::{MaybeUninit, offset_of};
use std::ptr::NonNull;

use crate::machine::prim::{AtomicPtr, AtomicU64, DataCell, Ordering};

/// Slots of a channel's first ring with any, unless its capacity is less. Loom sees rings follow
/// each other with few messages.
const SLOTS_FIRST: u32 = if cfg!(loom) { 1 } else { 2 };

/// Messages of at most so many bytes lie in the memory of the channel.
const BYTES_WITHIN: usize = 16;

/// The header before the slots of a ring.
#[repr(C)]
pub(crate) struct Ring<T> {
    /// Number of the first message that lies in the next ring. While there is none: so much less
    /// than `u64::MAX` as the number of the first message that lies here, which is more than there
    /// will ever be messages.
    end: AtomicU64,
    next: AtomicPtr<Ring<T>>,
    /// Number of slots, less one; their number is a power of two, or none. As wide as this, so that
    /// slots of any kind come after the whole header, to which there may be references.
    mask: u64,
    slots: [DataCell<MaybeUninit<T>>; 0],
}

impl<T> Ring<T> {
    /// Slots of the ring after one with `slots` (0: of the first one), in a channel that may hold
    /// `capacity` messages.
    pub(crate) fn slots_after(slots: u32, capacity: u32) -> u32 {
        let needed = capacity.checked_next_power_of_two().unwrap_or(1 << 31);
        match slots {
            0 => SLOTS_FIRST.min(needed),
            _ => slots.saturating_mul(2).min(1 << 31).min(needed.max(slots)),
        }
    }

    /// Slots of the ring in the memory of a channel that may hold `capacity` messages.
    pub(super) fn slots_within(capacity: u32) -> u32 {
        match size_of::<T>() <= BYTES_WITHIN {
            true => Ring::<T>::slots_after(0, capacity),
            false => 0,
        }
    }

    /// The memory for that many slots, and where the first one is in it.
    pub(super) fn layout(slots: u32) -> (Layout, usize) {
        const { assert!(offset_of!(Ring<T>, slots) == size_of::<Ring<T>>()) };
        let first = offset_of!(Ring<T>, slots);
        let size = Layout::array::<DataCell<MaybeUninit<T>>>(slots as usize)
            .ok()
            .and_then(|array| first.checked_add(array.size()));
        let least = size_of::<Ring<T>>();
        let layout = size
            .and_then(|size| Layout::from_size_align(size.max(least), align_of::<Ring<T>>()).ok());
        match layout {
            Some(layout) => (layout, first),
            None => handle_alloc_error(Layout::new::<Ring<T>>()),
        }
    }

    /// For the messages from `start` on; `slots` is a power of two.
    pub(crate) fn new(slots: u32, start: u64) -> NonNull<Ring<T>> {
        debug_assert!(slots.is_power_of_two());
        let (layout, _) = Ring::<T>::layout(slots);
        // SAFETY: the layout holds at least the header.
        let at = unsafe { alloc(layout) }.cast::<Ring<T>>();
        let Some(ring) = NonNull::new(at) else {
            handle_alloc_error(layout)
        };
        // SAFETY: fresh memory of that layout.
        unsafe { Ring::fill(ring, slots, start) };
        ring
    }

    /// Makes a ring for the messages from `start` on; `slots` is a power of two, or none.
    ///
    /// # Safety
    /// The memory is that of [`Self::layout`], and nobody uses it.
    pub(super) unsafe fn fill(ring: NonNull<Ring<T>>, slots: u32, start: u64) {
        let (_, offset) = Ring::<T>::layout(slots);
        // SAFETY: memory for the header and, from the offset on, for so many slots.
        unsafe {
            ring.write(Ring {
                end: AtomicU64::new(u64::MAX - start),
                next: AtomicPtr::new(std::ptr::null_mut()),
                mask: u64::from(slots).wrapping_sub(1),
                slots: [],
            });
            let first = ring.byte_add(offset).cast::<DataCell<MaybeUninit<T>>>();
            for slot in 0..slots as usize {
                first.add(slot).write(DataCell::new(MaybeUninit::uninit()));
            }
        }
    }

    /// # Safety
    /// The ring is alive, and so it stays while the slot is used.
    #[inline(always)]
    unsafe fn slot<'r>(ring: NonNull<Ring<T>>, number: u64) -> &'r DataCell<MaybeUninit<T>> {
        // SAFETY: the caller's promise; the index is within the slots, which follow the header at
        // the place of the empty array, because that has their alignment.
        unsafe {
            let mask = (*ring.as_ptr()).mask;
            let first = (&raw const (*ring.as_ptr()).slots).cast::<DataCell<MaybeUninit<T>>>();
            &*first.add((number & mask) as usize)
        }
    }

    /// # Safety
    /// The ring is alive, and the slot of that number is the caller's and empty.
    #[inline(always)]
    pub(crate) unsafe fn write(ring: NonNull<Ring<T>>, number: u64, value: T) {
        // SAFETY: the caller's promise.
        unsafe {
            Ring::slot(ring, number).with_mut(|slot| (*slot).write(value));
        }
    }

    /// # Safety
    /// The ring is alive, and the slot of that number is the caller's and full; it is empty now.
    #[inline(always)]
    pub(crate) unsafe fn read(ring: NonNull<Ring<T>>, number: u64) -> T {
        // SAFETY: the caller's promise.
        unsafe { Ring::slot(ring, number).with(|slot| (*slot).assume_init_read()) }
    }

    /// # Safety
    /// The ring is alive.
    pub(crate) unsafe fn len(ring: NonNull<Ring<T>>) -> u32 {
        // SAFETY: the caller's promise.
        unsafe { (*ring.as_ptr()).mask.wrapping_add(1) as u32 }
    }

    /// Producer: number of the first message that lies here, in the newest ring.
    ///
    /// # Safety
    /// The ring is alive, and no other was linked to it.
    pub(crate) unsafe fn start(ring: NonNull<Ring<T>>) -> u64 {
        // Ordering: Relaxed; written by this end alone.
        // SAFETY: the caller's promise.
        u64::MAX - unsafe { (*ring.as_ptr()).end.load(Ordering::Relaxed) }
    }

    /// Producer: the messages from `number` on lie in `next`.
    ///
    /// # Safety
    /// Both rings are alive, and no message from that number on has been published.
    pub(crate) unsafe fn link(ring: NonNull<Ring<T>>, number: u64, next: NonNull<Ring<T>>) {
        // SAFETY: the caller's promise.
        unsafe {
            // Ordering: Relaxed, both; the consumer uses them when it has seen a message of that
            // number or a higher one, which is published later. Pairs with [sent].
            (*ring.as_ptr())
                .next
                .store(next.as_ptr(), Ordering::Relaxed);
            (*ring.as_ptr()).end.store(number, Ordering::Relaxed);
        }
    }

    /// Consumer: the number of the first message that does not lie here, as far as it is published.
    ///
    /// # Safety
    /// The ring is alive.
    pub(crate) unsafe fn end(ring: NonNull<Ring<T>>) -> u64 {
        // Ordering: Relaxed; exact below every number that was acquired with [sent].
        // SAFETY: the caller's promise.
        unsafe { (*ring.as_ptr()).end.load(Ordering::Relaxed) }
    }

    /// Consumer: leaves the ring, and returns the next one.
    ///
    /// # Safety
    /// All messages of this ring are out, and one of the next ring was published.
    pub(crate) unsafe fn follow(ring: NonNull<Ring<T>>) -> NonNull<Ring<T>> {
        // SAFETY: the caller's promise; the producer has left this ring when it linked the next.
        unsafe {
            // Ordering: Relaxed; written before a message was published that the caller has seen.
            NonNull::new_unchecked((*ring.as_ptr()).next.load(Ordering::Relaxed))
        }
    }

    /// The ring after this one, if there is one.
    ///
    /// # Safety
    /// The ring is alive, and both ends of the channel are gone.
    pub(crate) unsafe fn next(ring: NonNull<Ring<T>>) -> Option<NonNull<Ring<T>>> {
        // Ordering: Relaxed; the caller is alone.
        // SAFETY: the caller's promise.
        NonNull::new(unsafe { (*ring.as_ptr()).next.load(Ordering::Relaxed) })
    }

    /// # Safety
    /// It came from [`Ring::new`], is empty, and nobody uses it any more.
    pub(crate) unsafe fn free(ring: NonNull<Ring<T>>) {
        // SAFETY: the caller's promise.
        unsafe {
            let (layout, _) = Ring::<T>::layout(Ring::len(ring));
            Ring::empty(ring);
            ring.drop_in_place();
            dealloc(ring.as_ptr().cast(), layout);
        }
    }

    /// Ends the slots, before the ring itself is dropped.
    ///
    /// # Safety
    /// They are empty, and nobody uses them any more.
    pub(super) unsafe fn empty(ring: NonNull<Ring<T>>) {
        // SAFETY: the caller's promise; the cells hold nothing that needs a drop but for loom's own
        // book-keeping.
        unsafe {
            let (_, offset) = Ring::<T>::layout(Ring::len(ring));
            let first = ring.byte_add(offset).cast::<DataCell<MaybeUninit<T>>>();
            for slot in 0..Ring::len(ring) as usize {
                first.add(slot).drop_in_place();
            }
        }
    }
}
