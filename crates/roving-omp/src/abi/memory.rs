//! Memory: `omp_alloc` and its kin, with allocators that programs make of traits, and `GOMP_alloc`
//! of the clause `allocate`.
//!
//! All of it is the memory of the process, whatever kind an allocator names: the specification lets
//! an implementation decide what each is. What it has none of (pinned memory, memory of high
//! bandwidth) no allocator can be made for.

use std::collections::BTreeSet;
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::control::change;
use crate::env;
use crate::sync::count::Budget;
use crate::team::thread::Thread;

/// `omp_allocator_handle_t`: 0 for the default one of the task, a number of a predefined one, or
/// the address of an [`Allocator`].
pub(super) type Handle = usize;

const DEFAULT_ALLOCATOR: Handle = 1;
/// The last of those that are predefined.
const PREDEFINED: Handle = 8;

/// `omp_alloctrait_t`.
#[repr(C)]
pub(super) struct Trait {
    key: c_int,
    value: usize,
}

/// An allocator that a program has made.
struct Allocator {
    alignment: usize,
    /// The bytes that it may have given away at once.
    pool: Budget,
    fallback: Fallback,
}

/// Where to turn when an allocator has nothing left.
#[derive(Clone, Copy)]
enum Fallback {
    Null,
    Abort,
    To(Handle),
}

impl Allocator {
    /// `None` for the predefined ones.
    ///
    /// # Safety
    /// It is a handle.
    unsafe fn of<'a>(handle: Handle) -> Option<&'a Allocator> {
        let made = (handle > PREDEFINED).then_some(handle as *const Allocator);
        // SAFETY: the program has not destroyed it.
        made.map(|made| unsafe { &*made })
    }

    fn from_traits(traits: &[Trait]) -> Option<Allocator> {
        let (mut alignment, mut pool) = (1, usize::MAX);
        let (mut fallback, mut other) = (DEFAULT_FALLBACK, 0);
        for &Trait { key, value } in traits {
            match (key, value) {
                (SYNC_HINT, DEFAULT | 3..=6) => {}
                (ACCESS, DEFAULT | 7..=10) => {}
                (PARTITION, DEFAULT | 15..=18) => {}
                (PINNED, DEFAULT | 0) => {}
                (ALIGNMENT, DEFAULT) => alignment = 1,
                (ALIGNMENT, value) if value.is_power_of_two() => alignment = value,
                (POOL_SIZE, DEFAULT) => pool = usize::MAX,
                (POOL_SIZE, value) => pool = value,
                (FALLBACK, DEFAULT) => fallback = DEFAULT_FALLBACK,
                (FALLBACK, DEFAULT_FALLBACK..=ALLOCATOR_FALLBACK) => fallback = value,
                (FALLBACK_DATA, value) => other = value,
                _ => return None,
            }
        }
        Some(Allocator {
            alignment,
            pool: Budget::new(pool),
            fallback: match fallback {
                NULL_FALLBACK => Fallback::Null,
                ABORT_FALLBACK => Fallback::Abort,
                ALLOCATOR_FALLBACK if other != 0 => Fallback::To(other),
                _ => Fallback::To(DEFAULT_ALLOCATOR),
            },
        })
    }
}

// Keys of traits, by number as in C.
const SYNC_HINT: c_int = 1;
const ALIGNMENT: c_int = 2;
const ACCESS: c_int = 3;
const POOL_SIZE: c_int = 4;
const FALLBACK: c_int = 5;
const FALLBACK_DATA: c_int = 6;
const PINNED: c_int = 7;
const PARTITION: c_int = 8;

// Values of traits, by number as in C.
const DEFAULT: usize = usize::MAX;
const DEFAULT_FALLBACK: usize = 11;
const NULL_FALLBACK: usize = 12;
const ABORT_FALLBACK: usize = 13;
const ALLOCATOR_FALLBACK: usize = 14;

// Kinds of memory: how many there are, and the one of which there is none.
const MEMORY_KINDS: usize = 5;
const HIGH_BANDWIDTH: usize = 3;

/// Stands in front of each piece of memory.
#[repr(C)]
struct AllocationHeader {
    /// For `free`.
    base: *mut c_void,
    size: usize,
    /// Where it is from: none of those that were asked before, and had nothing left.
    handle: Handle,
}

/// # Safety
/// It was given away by `allocate`, and not freed.
unsafe fn header<'a>(at: *mut c_void) -> &'a mut AllocationHeader {
    // SAFETY: the caller's promise.
    unsafe { &mut *at.cast::<AllocationHeader>().sub(1) }
}

/// The memory that a call asks for.
#[derive(Clone, Copy)]
struct Asked {
    alignment: usize,
    size: usize,
    zeroed: bool,
}

impl Asked {
    /// Of the system. Null if it has none.
    fn take(self, handle: Handle, alignment: usize) -> *mut c_void {
        let alignment = alignment
            .max(self.alignment)
            .max(align_of::<AllocationHeader>() * 2);
        let Some(room) = self
            .size
            .checked_add(alignment + size_of::<AllocationHeader>())
        else {
            return ptr::null_mut();
        };
        // SAFETY: the system's own calls.
        let base = unsafe {
            match self.zeroed {
                true => libc::calloc(1, room),
                false => libc::malloc(room),
            }
        };
        if base.is_null() {
            return base;
        }
        let least = base.addr() + size_of::<AllocationHeader>();
        let at = base.wrapping_byte_add(least.next_multiple_of(alignment) - base.addr());
        // SAFETY: there is room for a header before `at`, which is aligned for it.
        unsafe {
            at.cast::<AllocationHeader>()
                .sub(1)
                .write(AllocationHeader {
                    base,
                    size: self.size,
                    handle,
                });
        }
        at
    }

    /// Null if there is none, and the allocator says so.
    ///
    /// # Safety
    /// It is a handle.
    unsafe fn allocate(self, handle: Handle) -> *mut c_void {
        if self.size == 0 {
            return ptr::null_mut();
        }
        let mut handle = match handle {
            0 => Thread::current().controls().allocator,
            handle => handle,
        };
        // SAFETY: the caller's promise, and that of the program for what it falls back on. That
        // was there when the allocator was made, so they are no circle.
        while let Some(allocator) = unsafe { Allocator::of(handle) } {
            if allocator.pool.take(self.size) {
                let at = self.take(handle, allocator.alignment);
                if !at.is_null() {
                    return at;
                }
                allocator.pool.give_back(self.size);
            }
            handle = match allocator.fallback {
                Fallback::Null => return ptr::null_mut(),
                Fallback::Abort => no_memory(self.size),
                Fallback::To(other) => other,
            };
        }
        self.take(handle, 1)
    }
}

fn no_memory(size: usize) -> ! {
    env::stop(&format!("Out of memory allocating {size} bytes"))
}

/// An alignment as programs ask for it: what is none is as if they had not.
fn aligned(alignment: usize) -> usize {
    match alignment.is_power_of_two() {
        true => alignment,
        false => 1,
    }
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn omp_init_allocator(
    memory: usize,
    count: c_int,
    traits: *const Trait,
) -> Handle {
    if memory >= MEMORY_KINDS || memory == HIGH_BANDWIDTH {
        return 0;
    }
    let count = usize::try_from(count).unwrap_or(0);
    let traits = match count {
        0 => &[][..],
        // SAFETY: there are so many.
        count => unsafe { std::slice::from_raw_parts(traits, count) },
    };
    Allocator::from_traits(traits)
        .map_or(0, |made| Box::into_raw(Box::new(made)).expose_provenance())
}

/// # Safety
/// It is a handle, and is not used again.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn omp_destroy_allocator(handle: Handle) {
    if handle > PREDEFINED {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(handle as *mut Allocator) });
    }
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_set_default_allocator(handle: Handle) {
    let handle = match handle {
        0 => DEFAULT_ALLOCATOR,
        handle => handle,
    };
    change(|own| own.allocator = handle);
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_get_default_allocator() -> Handle {
    Thread::current().controls().allocator
}

/// # Safety
/// It is a handle.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_aligned_alloc(
    alignment: usize,
    size: usize,
    handle: Handle,
) -> *mut c_void {
    let asked = Asked {
        alignment: aligned(alignment),
        size,
        zeroed: false,
    };
    // SAFETY: the caller's promise.
    unsafe { asked.allocate(handle) }
}

/// # Safety
/// It is a handle.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_alloc(size: usize, handle: Handle) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { omp_aligned_alloc(1, size, handle) }
}

/// # Safety
/// It is a handle.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_aligned_calloc(
    alignment: usize,
    count: usize,
    size: usize,
    handle: Handle,
) -> *mut c_void {
    let Some(size) = count.checked_mul(size) else {
        return ptr::null_mut();
    };
    let asked = Asked {
        alignment: aligned(alignment),
        size,
        zeroed: true,
    };
    // SAFETY: the caller's promise.
    unsafe { asked.allocate(handle) }
}

/// # Safety
/// It is a handle.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_calloc(count: usize, size: usize, handle: Handle) -> *mut c_void {
    // SAFETY: the caller's promise.
    unsafe { omp_aligned_calloc(1, count, size, handle) }
}

/// Who frees knows where it is from: the second parameter is a hint.
///
/// # Safety
/// It was given away here, and is not used again; or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_free(at: *mut c_void, _handle: Handle) {
    if at.is_null() {
        return;
    }
    // SAFETY: the caller's promise, all.
    unsafe {
        let header = header(at);
        if let Some(allocator) = Allocator::of(header.handle) {
            allocator.pool.give_back(header.size);
        }
        libc::free(header.base);
    }
}

/// # Safety
/// It was given away here; or null. Unless the result is null, it is not used again. They are
/// handles.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_realloc(
    at: *mut c_void,
    size: usize,
    handle: Handle,
    from: Handle,
) -> *mut c_void {
    if at.is_null() {
        // SAFETY: the caller's promise.
        return unsafe { omp_alloc(size, handle) };
    }
    if size == 0 {
        // SAFETY: the caller's promise.
        unsafe { omp_free(at, from) };
        return ptr::null_mut();
    }
    // SAFETY: the caller's promise, all.
    unsafe {
        let (own, old) = (header(at).handle, header(at).size);
        let handle = if handle == 0 { own } else { handle };
        // Both are there while bytes move from the one to the other, so both count.
        let grown = omp_alloc(size, handle);
        if !grown.is_null() {
            ptr::copy_nonoverlapping(at.cast::<u8>(), grown.cast(), old.min(size));
            omp_free(at, from);
        }
        grown
    }
}

/// For `allocate` clauses and directives: who asks does not look whether there was memory.
///
/// # Safety
/// It is a handle.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_alloc(alignment: usize, size: usize, handle: Handle) -> *mut c_void {
    // SAFETY: the caller's promise.
    let at = unsafe { omp_aligned_alloc(alignment, size, handle) };
    if at.is_null() && size > 0 {
        no_memory(size);
    }
    at
}

/// # Safety
/// As of [`omp_free`].
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_free(at: *mut c_void, handle: Handle) {
    // SAFETY: the caller's promise.
    unsafe { omp_free(at, handle) };
}

/// Memory of variables of Fortran's whose descriptors have no room for the note that it was given
/// away here.
static NOTED: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

fn noted() -> MutexGuard<'static, BTreeSet<usize>> {
    NOTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `allocators` in Fortran (GCC 14): the memory is to be given back here.
#[unsafe(no_mangle)]
extern "C" fn GOMP_add_alloc(at: *mut c_void) {
    noted().insert(at.addr());
}

/// Whether memory was noted. A compiler asks right before it gives it back or exchanges it, and
/// notes it again where it stays: the note goes by this.
#[unsafe(no_mangle)]
extern "C" fn GOMP_is_alloc(at: *mut c_void) -> bool {
    noted().remove(&at.addr())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(bytes: usize) -> Handle {
        let of = |key, value| Trait { key, value };
        let traits = [of(POOL_SIZE, bytes), of(FALLBACK, NULL_FALLBACK)];
        // SAFETY: there are two.
        unsafe { omp_init_allocator(0, 2, traits.as_ptr()) }
    }

    #[test]
    fn a_pool_gives_what_it_has_and_gets_it_back() {
        let handle = pool(100);
        // SAFETY: each piece is freed once, and the allocator when nothing is left of it.
        unsafe {
            let first = omp_alloc(60, handle);
            assert!(!first.is_null());
            assert!(omp_alloc(41, handle).is_null());
            let second = omp_alloc(40, handle);
            assert!(!second.is_null());
            omp_free(second, 0);
            // One that cannot grow stays as it is, and counts.
            assert!(omp_realloc(first, 61, 0, 0).is_null());
            assert!(omp_alloc(41, handle).is_null());
            let first = omp_realloc(first, 10, 0, 0);
            let third = omp_aligned_alloc(4096, 90, handle);
            assert_eq!(third.addr() % 4096, 0);
            assert!(omp_alloc(1, handle).is_null());
            omp_free(first, handle);
            omp_free(third, handle);
            omp_destroy_allocator(handle);
        }
    }

    #[test]
    fn what_another_allocator_gave_counts_there() {
        let (small, large) = (pool(10), pool(100));
        // SAFETY: each piece is freed once, and each allocator when nothing is left of it.
        unsafe {
            let first = omp_calloc(5, 2, small);
            let first = omp_realloc(first, 100, large, small);
            assert_eq!(*first.cast::<[u8; 10]>(), [0; 10]);
            assert!(omp_alloc(1, large).is_null());
            let second = omp_alloc(10, small);
            assert!(!second.is_null());
            omp_free(first, large);
            omp_free(second, small);
            omp_destroy_allocator(small);
            omp_destroy_allocator(large);
        }
    }
}
