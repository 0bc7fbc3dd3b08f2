//! The only door to atomics, cells and fences: `std`, or loom when built with `--cfg loom`, so that
//! the same algorithm runs and is explored.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex,
    atomic::{AtomicPtr, AtomicU32, AtomicU64},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize},
};

pub(crate) use std::sync::atomic::Ordering;

#[cfg(loom)]
pub(crate) use roving::prim::explore;
pub(crate) use roving::prim::{DataCell, ord};

/// One half of a point in the manner of Dekker: what this thread wrote before is visible to others
/// before it reads what comes after. The other half is another such fence. `SeqCst`, but for mutants.
///
/// ThreadSanitizer knows no fences; a read-modify-write of one word by all stands in for it there.
#[cfg(not(any(loom, roving_tsan)))]
#[inline(always)]
pub fn fence(_: Ordering) {
    // A locked instruction is what orders a store before a load on this processor, and costs half
    // of what `mfence` does.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: changes no bit of the word at the stack pointer, which is this thread's; nothing is
    // pushed, and the flags are not said to be preserved.
    unsafe {
        std::arch::asm!("lock or dword ptr [rsp], 0", options(nostack));
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    std::sync::atomic::fence(Ordering::SeqCst);
}

/// As above.
#[cfg(roving_tsan)]
pub fn fence(_: Ordering) {
    static ALL: AtomicU32 = AtomicU32::new(0);
    ALL.fetch_add(1, Ordering::SeqCst);
}

#[cfg(loom)]
pub(crate) fn fence(ordering: Ordering) {
    if ordering != Ordering::Relaxed {
        loom::sync::atomic::fence(Ordering::SeqCst);
    }
}

/// Writes a word, and then is a [`fence`]: one instruction where the processor has it.
#[cfg(not(any(loom, roving_tsan)))]
#[inline(always)]
pub(crate) fn swap_and_fence(word: &AtomicU32, value: u32, _: Ordering) {
    word.swap(value, Ordering::SeqCst);
    // On x86-64 the exchange is a full barrier; elsewhere it is none for the loads that follow.
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    std::sync::atomic::fence(Ordering::SeqCst);
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    std::sync::atomic::compiler_fence(Ordering::SeqCst);
}

#[cfg(any(loom, roving_tsan))]
pub(crate) fn swap_and_fence(word: &AtomicU32, value: u32, ordering: Ordering) {
    let access = match ordering {
        Ordering::Relaxed => Ordering::Relaxed,
        _ => Ordering::AcqRel,
    };
    word.swap(value, access);
    fence(ordering);
}
