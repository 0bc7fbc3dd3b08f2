//! Target regions, where there is no device: they run on the host, and data stays where it is.
//!
//! A region gets the addresses of its variables. Those of variables that it has for itself
//! (`firstprivate`) are exchanged for addresses of copies; small ones stand in the list itself.
//! Mapped variables are the program's own.

use std::ffi::{c_int, c_uint};
use std::ptr;

use crate::constructs::spawn::{self, TaskRequest, flag};
use crate::env::{Environment, stop};
use crate::task::{Code, Heritage};
use crate::team::thread::Thread;
use crate::team::{League, region};

/// Compilers pass these for the default device, and for the host by an `if` clause.
const DEFAULT: c_int = -1;
const BY_IF: c_int = -2;
/// The number of the host, as there are no devices.
pub(super) const HOST: c_int = 0;

/// Ends the program where the environment asks for devices alone, and the host is not meant.
pub(super) fn allow(device: c_int) {
    let meant = match device {
        DEFAULT => Thread::current().controls().device,
        BY_IF => HOST,
        device => device,
    };
    if meant != HOST && Environment::get().target_offload == "MANDATORY" {
        stop("OMP_TARGET_OFFLOAD is set to MANDATORY, but device not found");
    }
}

/// The flag of a construct with `nowait`.
const NOWAIT: c_uint = 1;
/// The kind of an address, in the low byte, that is exchanged for that of a copy. The rest is the
/// logarithm of its alignment.
const FIRSTPRIVATE: u16 = 0x0c;

/// The kind of an entry of GCC 13 and later: behind the copy of an array's descriptor stands that
/// of its elements, and then the place of the descriptor's entry in the list. The descriptor's copy
/// is to lead to the copy of the elements, by a pointer that is so far into it as the size says.
const ATTACH: u16 = 0x50;

/// A region as a compiler passes it.
struct Passed {
    code: Code,
    limit: u32,
    count: usize,
    addresses: *const *mut (),
    sizes: *const usize,
    kinds: *const u16,
}

/// The begin of the memory of a region's task; then come the addresses, and then the copies.
struct TargetHead {
    code: Code,
    limit: u32,
}

impl Passed {
    /// The place of each copy behind the addresses, with its size and the index of its address; and
    /// the size and alignment of all.
    fn layout(&self) -> (Vec<(usize, usize, usize)>, usize, usize) {
        let mut end = size_of::<TargetHead>() + self.count * size_of::<*mut ()>();
        let (mut copies, mut most) = (Vec::new(), align_of::<TargetHead>());
        for index in 0..self.count {
            // SAFETY: there are so many entries.
            let is_null = unsafe { *self.addresses.add(index) }.is_null();
            let (kind, size) = self.entry(index);
            if kind & 0xff == FIRSTPRIVATE && !is_null {
                let align = 1 << (kind >> 8);
                let place = end.next_multiple_of(align);
                copies.push((place, size, index));
                (end, most) = (place + size, most.max(align));
            }
        }
        (copies, end, most)
    }

    /// The kind and the size of an entry.
    fn entry(&self, index: usize) -> (u16, usize) {
        // SAFETY: there are so many kinds and sizes.
        unsafe { (*self.kinds.add(index), *self.sizes.add(index)) }
    }

    /// The entry of the descriptor that one leads to, and how far into it the pointer is.
    fn attached(&self, index: usize) -> Option<(usize, usize)> {
        let (kind, bias) = self.entry(index);
        let follows = index > 0 && self.entry(index - 1).0 & 0xff == FIRSTPRIVATE;
        // SAFETY: there are so many entries.
        let place = unsafe { *self.addresses.add(index) }.addr();
        let entry = place.wrapping_sub(self.addresses.addr()) / size_of::<*mut ()>();
        (kind & 0xff == ATTACH && follows && entry < self.count).then_some((entry, bias))
    }
}

/// Writes the memory of a region's task.
unsafe extern "C" fn fill(to: *mut (), passed: *mut ()) {
    // SAFETY: `start` passes it, and memory of its layout.
    unsafe {
        let passed = &*passed.cast::<Passed>();
        let Passed { code, limit, .. } = *passed;
        to.cast::<TargetHead>().write(TargetHead { code, limit });
        let addresses = to.cast::<TargetHead>().add(1).cast::<*mut ()>();
        if passed.count > 0 {
            ptr::copy_nonoverlapping(passed.addresses, addresses, passed.count);
        }
        for (place, size, index) in passed.layout().0 {
            let address = addresses.add(index);
            let copy = to.cast::<u8>().add(place);
            ptr::copy_nonoverlapping((*address).cast::<u8>(), copy, size);
            *address = copy.cast();
        }
        for index in 0..passed.count {
            if let Some((descriptor, bias)) = passed.attached(index) {
                let pointer = (*addresses.add(descriptor)).byte_add(bias);
                *pointer.cast::<*mut ()>() = *addresses.add(index - 1);
            }
        }
    }
}

/// Runs the region.
unsafe extern "C" fn enter(data: *mut ()) {
    // SAFETY: `fill` has written it, and nobody else has it.
    let (head, addresses) = unsafe {
        (
            &*data.cast::<TargetHead>(),
            data.cast::<TargetHead>().add(1),
        )
    };
    let mut controls = Heritage::initial().controls;
    controls.limit_threads(head.limit);
    region::alone(head.code, addresses.cast(), controls, League::ONE);
}

/// The value of `thread_limit` among the arguments, or 0. Each has a number in the second byte;
/// its value stands in the upper bits or, as the bit 7 says, in the next word. 0 ends them.
///
/// # Safety
/// They are a compiler's; or null.
unsafe fn limit_of(mut arguments: *const usize) -> u32 {
    const THREAD_LIMIT: usize = 2;
    let mut limit = 0;
    // SAFETY: the caller's promise: they end with 0.
    while let Some(&word) = unsafe { arguments.as_ref() }.filter(|&&word| word != 0) {
        let is_apart = word & (1 << 7) != 0;
        // SAFETY: as the bit says.
        let value = unsafe {
            arguments = arguments.add(1 + usize::from(is_apart));
            match is_apart {
                true => *arguments.sub(1),
                false => word >> 16,
            }
        };
        if word >> 8 & 0xff == THREAD_LIMIT {
            limit = u32::try_from(value).unwrap_or(0);
        }
    }
    limit
}

/// Makes the task of a construct with dependences, which is done before the construct ends unless
/// that says `nowait`.
fn depending(asked: TaskRequest, flags: c_uint, depend: *const *const usize) {
    spawn::task(&TaskRequest {
        may_wait: flags & NOWAIT != 0,
        flags: flag::DEPEND,
        depend,
        ..asked
    });
}

/// # Safety
/// All of it is a compiler's.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_target_ext(
    device: c_int,
    code: Code,
    count: usize,
    addresses: *const *mut (),
    sizes: *const usize,
    kinds: *const u16,
    flags: c_uint,
    depend: *const *const usize,
    arguments: *const usize,
) {
    allow(device);
    let mut passed = Passed {
        code,
        // SAFETY: the caller's promise.
        limit: unsafe { limit_of(arguments) },
        count,
        addresses,
        sizes,
        kinds,
    };
    let (_, size, align) = passed.layout();
    let data = (&raw mut passed).cast();
    let asked = TaskRequest::plain(enter, data, Some(fill), (size, align));
    match depend.is_null() {
        // Nothing that a program may see tells whether `nowait` has waited.
        // SAFETY: `enter` gets what `fill` has written.
        true => unsafe { enter(asked.copied().at()) },
        false => depending(asked, flags, depend),
    }
}

unsafe extern "C" fn nothing(_: *mut ()) {}

/// A construct that moves data between the host and a device: it comes after all that it depends
/// on, and before all that depends on it.
fn moves(device: c_int, flags: c_uint, depend: *const *const usize) {
    allow(device);
    if !depend.is_null() {
        let asked = TaskRequest::plain(nothing, ptr::null_mut(), None, (0, 1));
        depending(asked, flags, depend);
    }
}

macro_rules! movers {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(
            device: c_int,
            _count: usize,
            _addresses: *const *mut (),
            _sizes: *const usize,
            _kinds: *const u16,
            flags: c_uint,
            depend: *const *const usize,
        ) {
            moves(device, flags, depend);
        }
    )*};
}

movers! { GOMP_target_update_ext GOMP_target_enter_exit_data }

#[unsafe(no_mangle)]
extern "C" fn GOMP_target_data_ext(
    device: c_int,
    _count: usize,
    _addresses: *const *mut (),
    _sizes: *const usize,
    _kinds: *const u16,
) {
    allow(device);
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_target_end_data() {}

/// `taskwait` with `depend` and `nowait`: later tasks may depend on it.
#[unsafe(no_mangle)]
extern "C" fn GOMP_taskwait_depend_nowait(depend: *const *const usize) {
    moves(HOST, NOWAIT, depend);
}

/// Code has one address, as there is no device with another.
#[unsafe(no_mangle)]
extern "C" fn GOMP_target_map_indirect_ptr(code: *mut ()) -> *mut () {
    code
}

/// Programs that were built for devices as well say where code for these is: for none that is here.
macro_rules! offloads {
    ($($name:ident($($parameter:ty),*))*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name($(_: $parameter),*) {}
    )*};
}

offloads! {
    GOMP_offload_register(*const (), c_int, *const ())
    GOMP_offload_register_ver(c_uint, *const (), c_int, *const ())
    GOMP_offload_unregister(*const (), c_int, *const ())
    GOMP_offload_unregister_ver(c_uint, *const (), c_int, *const ())
}
