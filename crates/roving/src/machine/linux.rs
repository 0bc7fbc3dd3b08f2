//! The functions of Linux's C library that the runtime calls, declared by hand. The crate `libc`
//! has them all, and cost every program that uses this crate a tenth of the time it takes to build.
//! The tests compare each number and each layout with those of `libc`.

use std::ffi::{c_int, c_long, c_ulong, c_void};

/// A bit for each processor that the system can have.
pub(crate) type CpuSet = [c_ulong; 1024 / c_ulong::BITS as usize];
/// Where a mapping begins in its file.
#[cfg(any(target_env = "gnu", target_pointer_width = "64"))]
type Offset = c_long;
#[cfg(not(any(target_env = "gnu", target_pointer_width = "64")))]
type Offset = i64;

pub(crate) const SC_NPROCESSORS_ONLN: c_int = 84;
pub(crate) const PROT_READ: c_int = 1;
pub(crate) const PROT_WRITE: c_int = 2;
pub(crate) const MAP_PRIVATE: c_int = 2;
pub(crate) const MAP_ANONYMOUS: c_int =
    match cfg!(any(target_arch = "mips", target_arch = "mips64")) {
        true => 0x800,
        false => 0x20,
    };

/// The number of the system call by which threads wait, where it is known here.
pub(crate) const FUTEX: Option<u64> =
    if cfg!(all(target_arch = "x86_64", target_pointer_width = "64")) {
        Some(202)
    } else if cfg!(any(target_arch = "x86", target_arch = "arm")) {
        Some(240)
    } else if cfg!(any(target_arch = "aarch64", target_arch = "riscv64")) {
        Some(98)
    } else {
        None
    };

pub(crate) const SIGSEGV: c_int = 11;
pub(crate) const SA_SIGINFO: c_int = 4;
pub(crate) const SA_ONSTACK: c_int = 0x0800_0000;
pub(crate) const SS_DISABLE: c_int = 2;

/// Whether [`Sigaction`], [`SignalStack`] and the numbers above are those of this system. Some
/// processors have others, for which nobody has asked yet.
pub(crate) const SIGNALS_ARE_KNOWN: bool = cfg!(any(target_env = "gnu", target_env = "musl"))
    && cfg!(any(
        target_arch = "x86",
        target_arch = "x86_64",
        target_arch = "arm",
        target_arch = "aarch64",
        target_arch = "riscv64",
        target_arch = "powerpc64",
    ));

/// How a signal is handled.
#[repr(C)]
pub(crate) struct Sigaction {
    pub(crate) handler: usize,
    /// A bit for each signal that waits meanwhile.
    mask: CpuSet,
    pub(crate) flags: c_int,
    /// Of the system's own.
    restorer: usize,
}

/// On which handlers run.
#[repr(C)]
pub(crate) struct SignalStack {
    start: *mut c_void,
    pub(crate) flags: c_int,
    bytes: usize,
}

/// The beginning of what a handler is told of a fault; the rest is of no interest.
#[repr(C)]
pub(crate) struct Fault {
    signal: c_int,
    error: c_int,
    /// Above zero where the system itself has found the fault.
    pub(crate) code: c_int,
    pub(crate) address: *mut c_void,
}

/// The attributes of a thread, in room that is enough for those of any C library.
#[repr(C, align(16))]
pub(crate) struct Attributes([u8; 128]);

unsafe extern "C" {
    pub(crate) fn sysconf(name: c_int) -> c_long;
    /// In microseconds, by POSIX.
    pub(crate) fn clock() -> c_long;
    pub(crate) fn sched_getaffinity(thread: c_int, bytes: usize, set: *mut CpuSet) -> c_int;
    pub(crate) fn sched_setaffinity(thread: c_int, bytes: usize, set: *const CpuSet) -> c_int;

    pub(crate) fn mmap(
        wish: *mut c_void,
        bytes: usize,
        access: c_int,
        kind: c_int,
        file: c_int,
        at: Offset,
    ) -> *mut c_void;
    pub(crate) fn munmap(start: *mut c_void, bytes: usize) -> c_int;

    pub(crate) fn sigaction(signal: c_int, new: *const Sigaction, old: *mut Sigaction) -> c_int;
    pub(crate) fn sigaltstack(new: *const SignalStack, old: *mut SignalStack) -> c_int;
    pub(crate) fn raise(signal: c_int) -> c_int;
    pub(crate) fn write(file: c_int, from: *const c_void, bytes: usize) -> isize;

    /// A thread is a number in some C libraries and an address in others, of the same size.
    pub(crate) fn pthread_self() -> usize;
    pub(crate) fn pthread_getattr_np(thread: usize, to: *mut Attributes) -> c_int;
    pub(crate) fn pthread_attr_getstack(
        of: *const Attributes,
        lowest: *mut *mut c_void,
        bytes: *mut usize,
    ) -> c_int;
    pub(crate) fn pthread_attr_getguardsize(of: *const Attributes, bytes: *mut usize) -> c_int;
    pub(crate) fn pthread_attr_destroy(attributes: *mut Attributes) -> c_int;
}

/// Compared when the tests are compiled, so that `cargo check` does it for systems on which they
/// cannot run.
#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    const fn is_same<Ours, Theirs>() -> bool {
        size_of::<Ours>() == size_of::<Theirs>() && align_of::<Ours>() == align_of::<Theirs>()
    }

    const _: () = {
        assert!(is_same::<CpuSet, libc::cpu_set_t>());
        assert!(is_same::<Offset, libc::off_t>());
        assert!(SC_NPROCESSORS_ONLN == libc::_SC_NPROCESSORS_ONLN);
        assert!(PROT_READ == libc::PROT_READ && PROT_WRITE == libc::PROT_WRITE);
        assert!(MAP_PRIVATE == libc::MAP_PRIVATE && MAP_ANONYMOUS == libc::MAP_ANONYMOUS);
        if let Some(number) = FUTEX {
            assert!(number == libc::SYS_futex as u64);
        }
    };

    const _: () = if SIGNALS_ARE_KNOWN {
        assert!(SIGSEGV == libc::SIGSEGV && SS_DISABLE == libc::SS_DISABLE);
        assert!(SA_SIGINFO == libc::SA_SIGINFO && SA_ONSTACK == libc::SA_ONSTACK);

        use libc::{pthread_attr_t, pthread_t, sigaction, sigset_t, stack_t};
        assert!(is_same::<Sigaction, sigaction>());
        assert!(is_same::<CpuSet, sigset_t>());
        assert!(offset_of!(Sigaction, handler) == offset_of!(sigaction, sa_sigaction));
        assert!(offset_of!(Sigaction, mask) == offset_of!(sigaction, sa_mask));
        assert!(offset_of!(Sigaction, flags) == offset_of!(sigaction, sa_flags));
        assert!(offset_of!(Sigaction, restorer) == offset_of!(sigaction, sa_restorer));
        assert!(is_same::<SignalStack, stack_t>());
        assert!(offset_of!(SignalStack, start) == offset_of!(stack_t, ss_sp));
        assert!(offset_of!(SignalStack, flags) == offset_of!(stack_t, ss_flags));
        assert!(offset_of!(SignalStack, bytes) == offset_of!(stack_t, ss_size));
        assert!(size_of::<Fault>() <= size_of::<libc::siginfo_t>());
        assert!(offset_of!(Fault, code) == offset_of!(libc::siginfo_t, si_code));
        assert!(size_of::<Attributes>() >= size_of::<pthread_attr_t>());
        assert!(align_of::<Attributes>() >= align_of::<pthread_attr_t>());
        assert!(is_same::<usize, pthread_t>());
    };

    #[test]
    fn the_address_of_a_fault_is_where_libc_reads_it() {
        if !SIGNALS_ARE_KNOWN {
            return;
        }
        // SAFETY: all-zero is a value of it.
        let mut told: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let fault = (&raw mut told).cast::<Fault>();
        // SAFETY: `Fault` is no larger, and its fields are numbers and an address.
        unsafe { (*fault).address = std::ptr::without_provenance_mut(4096) };
        // SAFETY: what was written is the address of a fault.
        assert_eq!(unsafe { told.si_addr() }.addr(), 4096);
    }
}
