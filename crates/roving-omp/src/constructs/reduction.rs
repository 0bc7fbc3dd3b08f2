//! `task_reduction` and `in_reduction`: each thread has a copy of what is reduced, in memory that a
//! group owns, and a task is told where that of its thread is.
//!
//! A compiler describes the copies by an array of words:
//!
//! | word | meaning |
//! |---|---|
//! | 0 | number of variables |
//! | 1 | bytes of one thread's copies |
//! | 2 | their alignment; from the registration on, the address of all copies, or 0 if there are none |
//! | 4 | the next such array, or null |
//! | 6 | the end of all copies, from the registration on |
//! | 7 + 3k | the address of variable k; then where its copy is among those of a thread |

use std::ptr;

use super::taskgroup;
use crate::task::group::Group;
use crate::team::thread::Thread;

const COUNT: usize = 0;
const BYTES: usize = 1;
const COPIES: usize = 2;
const NEXT: usize = 4;
const END: usize = 6;
const FIRST: usize = 7;
const STEP: usize = 3;

/// Makes the copies for so many threads. All of them are zero, which says that they are not set.
///
/// # Safety
/// The description is a compiler's.
pub(crate) unsafe fn make(description: *mut usize, threads: u32) {
    let mut at = description;
    while !at.is_null() {
        // SAFETY: the caller's promise; the next is one as well.
        unsafe {
            let bytes = *at.add(BYTES) * threads as usize;
            let align = (*at.add(COPIES)).max(size_of::<usize>());
            let mut copies = ptr::null_mut();
            if libc::posix_memalign(&mut copies, align, bytes.max(1)) != 0 {
                crate::env::stop(&format!("Out of memory allocating {bytes} bytes"));
            }
            ptr::write_bytes(copies.cast::<u8>(), 0, bytes);
            *at.add(COPIES) = copies as usize;
            *at.add(END) = copies as usize + bytes;
            at = *at.add(NEXT) as *mut usize;
        }
    }
}

/// There are no copies: the compiler's code is to merge and free none.
///
/// # Safety
/// The description is a compiler's.
pub(crate) unsafe fn leave_out(description: *mut usize) {
    // SAFETY: the caller's promise.
    unsafe { *description.add(COPIES) = 0 };
}

/// Where the copies are.
///
/// # Safety
/// They were made by [`make`].
pub(crate) unsafe fn copies(description: *mut usize) -> *mut () {
    // SAFETY: the caller's promise.
    unsafe { *description.add(COPIES) as *mut () }
}

/// The calling thread begins a group whose tasks reduce that, with copies that another thread has
/// made.
///
/// # Safety
/// The description is a compiler's, of what that thread has described too.
pub(crate) unsafe fn join(thread: &Thread, description: *mut usize, copies: *mut ()) {
    let threads = thread.team().threads() as usize;
    // SAFETY: the caller's promise.
    unsafe {
        let bytes = *description.add(BYTES) * threads;
        *description.add(COPIES) = copies as usize;
        *description.add(END) = copies as usize + bytes;
        taskgroup::start(thread);
        if let Some(group) = thread.task().heritage().group.as_ref() {
            group.reduce(description);
            group.belong_to_construct();
        }
    }
}

/// The calling thread ends such a group. The copies go when all have come here.
pub(crate) fn part(thread: &Thread, cancelled: bool) {
    // SAFETY: a group stays until its tasks have ended.
    let group = unsafe { thread.task().heritage().group.as_ref() };
    let description = group.map_or(ptr::null_mut(), Group::reductions);
    // SAFETY: the description is this thread's, which has not left its construct.
    let copies = unsafe { copies(description) };
    taskgroup::end(thread);
    let team = thread.team();
    if cancelled {
        team.copies.leave(copies);
    } else {
        team.wait_for_all(thread, &team.meeting.barrier, false);
        if thread.num() == 0 {
            // SAFETY: made by `make`, and all threads are past their use.
            unsafe { libc::free(copies.cast()) };
        }
    }
}

/// Frees the copies.
///
/// # Safety
/// They were made by [`make`], and nobody uses them any more.
pub(crate) unsafe fn free(description: *mut usize) {
    let mut at = description;
    while !at.is_null() {
        // SAFETY: the caller's promise.
        unsafe {
            libc::free(*at.add(COPIES) as *mut _);
            at = *at.add(NEXT) as *mut usize;
        }
    }
}

/// Finds the copy of the calling thread, and the variable itself.
///
/// # Safety
/// The group's description is a compiler's, with copies.
unsafe fn find(description: *mut usize, address: usize, num: usize) -> Option<(usize, usize)> {
    let mut at = description;
    while !at.is_null() {
        // SAFETY: the caller's promise.
        unsafe {
            let (count, bytes) = (*at.add(COUNT), *at.add(BYTES));
            let (copies, end) = (*at.add(COPIES), *at.add(END));
            for index in 0..count {
                let variable = *at.add(FIRST + STEP * index);
                let offset = *at.add(FIRST + STEP * index + 1);
                // It may be named by another thread's copy of it.
                let inside = address.wrapping_sub(copies);
                let is_copy = (copies..end).contains(&address) && inside % bytes == offset;
                if variable == address || is_copy {
                    return Some((copies + num * bytes + offset, variable));
                }
            }
            at = *at.add(NEXT) as *mut usize;
        }
    }
    None
}

/// Puts the addresses of this thread's copies in the place of those of `count` variables; behind
/// them the addresses of the first `originals` variables themselves.
///
/// # Safety
/// There are so many addresses, each of a variable that a group around this task has registered.
pub(crate) unsafe fn remap(count: usize, originals: usize, addresses: *mut usize) {
    let thread = Thread::current();
    let num = thread.num() as usize;
    for index in 0..count {
        // SAFETY: the caller's promise.
        let address = unsafe { *addresses.add(index) };
        let mut group = thread.task().heritage().group;
        let mut found = None;
        // SAFETY: groups stay until their tasks have ended.
        while let (None, Some(one)) = (found, unsafe { group.as_ref() }) {
            // SAFETY: registered by a compiler's code.
            found = unsafe { find(one.reductions(), address, num) };
            group = one.outer_group;
        }
        let Some((copy, variable)) = found else {
            crate::env::stop(
                "couldn't find matching task_reduction or reduction with task modifier",
            );
        };
        // SAFETY: the caller's promise.
        unsafe {
            *addresses.add(index) = copy;
            if index < originals {
                *addresses.add(count + index) = variable;
            }
        }
    }
}

/// The calling task's innermost group reduces that.
///
/// # Safety
/// The description is a compiler's.
pub(crate) unsafe fn register(description: *mut usize) {
    let thread = Thread::current();
    // SAFETY: a group stays until its tasks have ended.
    let group: Option<&Group> = unsafe { thread.task().heritage().group.as_ref() };
    let Some(group) = group else {
        crate::env::stop("a reduction of tasks outside of a taskgroup");
    };
    // SAFETY: the caller's promise.
    unsafe { make(description, thread.team().threads()) };
    group.reduce(description);
}
