//! `sections`: a loop over their numbers, which begin with 1; 0 says that there are no more.

use std::ffi::c_uint;
use std::ptr;

use crate::constructs::work::{self, Asked, schedule};
use crate::env::ScheduleKind;
use crate::loops::plan::Range;
use crate::task::Code;
use crate::team::thread::Thread;

fn sections(count: c_uint) -> Asked<'static> {
    Asked {
        range: Range::upto(count.into()),
        schedule: Some(schedule(ScheduleKind::Dynamic, 1)),
        ordered: false,
        doacross: None,
    }
}

fn next(thread: &Thread) -> c_uint {
    work::next(thread).map_or(0, |(from, _)| from as c_uint + 1)
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_sections_start(count: c_uint) -> c_uint {
    let thread = Thread::current();
    work::begin(thread, &sections(count));
    next(thread)
}

/// # Safety
/// The addresses are null, or of what a compiler says.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_sections2_start(
    count: c_uint,
    reductions: *mut usize,
    memory: *mut *mut (),
) -> c_uint {
    let thread = Thread::current();
    // SAFETY: the caller's promise.
    unsafe { work::begin_sharing(thread, &sections(count), reductions, memory) };
    next(thread)
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_sections_next() -> c_uint {
    next(Thread::current())
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_sections_end() {
    super::loops::end(Thread::current());
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_sections_end_nowait() {
    work::leave(Thread::current());
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_sections_end_cancel() -> bool {
    let thread = Thread::current();
    work::leave(thread);
    let team = thread.team();
    team.wait_for_all(thread, &team.meeting.barrier, true)
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_parallel_sections(
    code: Code,
    data: *mut (),
    threads: c_uint,
    count: c_uint,
    flags: c_uint,
) {
    super::loops::parallel(code, data, threads, flags, &sections(count));
}

/// # Safety
/// The address is of what a compiler says.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_scope_start(reductions: *mut usize) {
    let thread = Thread::current();
    // SAFETY: the caller's promise.
    unsafe { work::begin_sharing(thread, &sections(0), reductions, ptr::null_mut()) };
    work::leave(thread);
}
