//! The memory of devices, by functions: all of it is the host's, as there is no other device.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::target::{HOST, allow};
use crate::constructs::spawn::{self, TaskRequest, flag};

/// `omp_initial_device`.
const INITIAL: c_int = -1;

/// Whether it is the number of a device that is there. Ends the program where that has to be so.
fn is_there(device: c_int) -> bool {
    let is_host = device == HOST || device == INITIAL;
    if !is_host {
        allow(device);
    }
    is_host
}

#[unsafe(no_mangle)]
extern "C" fn omp_target_alloc(size: usize, device: c_int) -> *mut c_void {
    match is_there(device) {
        // SAFETY: any size will do.
        true => unsafe { libc::malloc(size) },
        false => ptr::null_mut(),
    }
}

/// # Safety
/// It is of [`omp_target_alloc`], and is not used again.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_target_free(at: *mut c_void, device: c_int) {
    if !at.is_null() && is_there(device) {
        // SAFETY: the caller's promise.
        unsafe { libc::free(at) };
    }
}

#[unsafe(no_mangle)]
extern "C" fn omp_target_is_present(_at: *const c_void, device: c_int) -> c_int {
    is_there(device).into()
}

#[unsafe(no_mangle)]
extern "C" fn omp_target_is_accessible(_at: *const c_void, _size: usize, device: c_int) -> c_int {
    is_there(device).into()
}

#[unsafe(no_mangle)]
extern "C" fn omp_get_mapped_ptr(at: *const c_void, device: c_int) -> *mut c_void {
    match is_there(device) {
        true => at.cast_mut(),
        false => ptr::null_mut(),
    }
}

/// On the host nothing has another place, so none can be named.
#[unsafe(no_mangle)]
extern "C" fn omp_target_associate_ptr(
    _host: *const c_void,
    _there: *const c_void,
    _size: usize,
    _offset: usize,
    device: c_int,
) -> c_int {
    is_there(device);
    libc::EINVAL
}

#[unsafe(no_mangle)]
extern "C" fn omp_target_disassociate_ptr(_host: *const c_void, device: c_int) -> c_int {
    is_there(device);
    libc::EINVAL
}

/// A block of elements, as a part of two tables.
struct Block {
    to: *mut u8,
    from: *const u8,
    element: usize,
    /// For each dimension: how many there are of the block, where it begins in both tables, and how
    /// many there are of these.
    dimensions: Vec<[usize; 5]>,
}

impl Block {
    /// # Safety
    /// Where there are numbers of dimensions, all five lists have so many.
    unsafe fn new(
        (to, from): (*mut c_void, *const c_void),
        element: usize,
        count: usize,
        lists: [*const usize; 5],
    ) -> Block {
        // SAFETY: the caller's promise.
        let of = |index| lists.map(|list: *const usize| unsafe { *list.add(index) });
        Block {
            to: to.cast(),
            from: from.cast(),
            element,
            dimensions: (0..count).map(of).collect(),
        }
    }

    /// Copies what there is of it from one dimension on.
    ///
    /// # Safety
    /// Both tables are there, at least where the block is, and apart.
    unsafe fn copy(&self, dimension: usize, to: usize, from: usize) {
        let [count, to_begin, from_begin, to_count, from_count] = self.dimensions[dimension];
        let (to, from) = (to * to_count + to_begin, from * from_count + from_begin);
        if dimension + 1 < self.dimensions.len() {
            for index in 0..count {
                // SAFETY: the caller's promise.
                unsafe { self.copy(dimension + 1, to + index, from + index) };
            }
        } else if count > 0 {
            // SAFETY: the caller's promise.
            unsafe {
                let (to, from) = (
                    self.to.add(to * self.element),
                    self.from.add(from * self.element),
                );
                ptr::copy_nonoverlapping(from, to, count * self.element);
            }
        }
    }

    /// Copies it; after the objects, and before what comes after them, if there are some. Returns
    /// what the functions return.
    ///
    /// # Safety
    /// As [`Block::copy`], until what comes after the objects; and there are so many objects.
    unsafe fn copied(self, objects: c_int, list: *const [usize; 2]) -> c_int {
        let Some(objects) = usize::try_from(objects).ok().filter(|&count| count > 0) else {
            // SAFETY: the caller's promise.
            unsafe { self.copy(0, 0, 0) };
            return 0;
        };
        let place = |index| list.wrapping_add(index).cast::<usize>();
        let number = ptr::without_provenance::<usize>;
        let head = [0, objects, 0, 0, 0].map(number);
        let depend: Vec<_> = head.into_iter().chain((0..objects).map(place)).collect();
        let mut own = Some(self);
        let data = (&raw mut own).cast();
        let (size, align) = (size_of::<Option<Block>>(), align_of::<Option<Block>>());
        spawn::task(&TaskRequest {
            flags: flag::DEPEND,
            depend: depend.as_ptr(),
            ..TaskRequest::plain(run, data, Some(take), (size, align))
        });
        0
    }
}

/// Moves a block into a task's memory.
unsafe extern "C" fn take(to: *mut (), from: *mut ()) {
    // SAFETY: `copied` passes both.
    unsafe {
        to.cast::<Option<Block>>()
            .write((*from.cast::<Option<Block>>()).take())
    };
}

/// Copies the block in a task's memory.
unsafe extern "C" fn run(data: *mut ()) {
    // SAFETY: `take` has written it. Who called for it keeps the tables.
    unsafe {
        if let Some(block) = (*data.cast::<Option<Block>>()).take() {
            block.copy(0, 0, 0);
        }
    }
}

/// # Safety
/// Both are there, as far as is said, and the objects until they are used.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_target_memcpy_async(
    to: *mut c_void,
    from: *const c_void,
    length: usize,
    to_begin: usize,
    from_begin: usize,
    to_device: c_int,
    from_device: c_int,
    objects: c_int,
    list: *const [usize; 2],
) -> c_int {
    if !(is_there(to_device) && is_there(from_device)) {
        return libc::EINVAL;
    }
    let lists = [&length, &to_begin, &from_begin, &0, &0].map(ptr::from_ref);
    // SAFETY: lists of one number each; the caller's promise.
    unsafe { Block::new((to, from), 1, 1, lists).copied(objects, list) }
}

/// # Safety
/// As [`omp_target_memcpy_async`].
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_target_memcpy(
    to: *mut c_void,
    from: *const c_void,
    length: usize,
    to_begin: usize,
    from_begin: usize,
    to_device: c_int,
    from_device: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        omp_target_memcpy_async(
            to,
            from,
            length,
            to_begin,
            from_begin,
            to_device,
            from_device,
            0,
            ptr::null(),
        )
    }
}

/// # Safety
/// As [`omp_target_memcpy_async`], with lists of so many numbers.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_target_memcpy_rect_async(
    to: *mut c_void,
    from: *const c_void,
    element: usize,
    dimensions: c_int,
    volume: *const usize,
    to_begin: *const usize,
    from_begin: *const usize,
    to_counts: *const usize,
    from_counts: *const usize,
    to_device: c_int,
    from_device: c_int,
    objects: c_int,
    list: *const [usize; 2],
) -> c_int {
    if to.is_null() && from.is_null() {
        // How many dimensions there may be.
        return c_int::MAX;
    }
    let count = usize::try_from(dimensions).unwrap_or(0);
    if !(is_there(to_device) && is_there(from_device)) || element == 0 || count == 0 {
        return libc::EINVAL;
    }
    let lists = [volume, to_begin, from_begin, to_counts, from_counts];
    // SAFETY: the caller's promise.
    unsafe { Block::new((to, from), element, count, lists).copied(objects, list) }
}

/// # Safety
/// As [`omp_target_memcpy_rect_async`].
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_target_memcpy_rect(
    to: *mut c_void,
    from: *const c_void,
    element: usize,
    dimensions: c_int,
    volume: *const usize,
    to_begin: *const usize,
    from_begin: *const usize,
    to_counts: *const usize,
    from_counts: *const usize,
    to_device: c_int,
    from_device: c_int,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        omp_target_memcpy_rect_async(
            to,
            from,
            element,
            dimensions,
            volume,
            to_begin,
            from_begin,
            to_counts,
            from_counts,
            to_device,
            from_device,
            0,
            ptr::null(),
        )
    }
}
