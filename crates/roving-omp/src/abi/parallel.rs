//! Regions, barriers, `single`, and `cancel`.

use std::ffi::{c_int, c_uint};
use std::ptr;
use std::sync::atomic::Ordering;

use super::CBool;
use crate::constructs::reduction;
use crate::constructs::work;
use crate::env::Environment;
use crate::task::Code;
use crate::task::group::Group;
use crate::team::region::{self, RegionRequest};
use crate::team::thread::Thread;

pub(super) fn asked(code: Code, data: *mut (), threads: c_uint, flags: c_uint) -> RegionRequest {
    RegionRequest {
        code,
        data,
        threads,
        bind: flags & 7,
    }
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_parallel(code: Code, data: *mut (), threads: c_uint, flags: c_uint) {
    region::begin(&asked(code, data, threads, flags), None, None);
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_parallel_reductions(
    code: Code,
    data: *mut (),
    threads: c_uint,
    flags: c_uint,
) -> c_uint {
    let register = |threads| {
        // SAFETY: the data begins with the address of the description, which is a compiler's.
        let description = unsafe { *data.cast::<*mut usize>() };
        // SAFETY: that description; nobody else has it yet.
        unsafe { reduction::make(description, threads) };
        Group::of_region(description)
    };
    region::begin(&asked(code, data, threads, flags), None, Some(&register))
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_barrier() {
    let thread = Thread::current();
    let team = thread.team();
    team.wait_for_all(thread, &team.meeting.barrier, false);
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_barrier_cancel() -> bool {
    let thread = Thread::current();
    let team = thread.team();
    team.wait_for_all(thread, &team.meeting.barrier, true)
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_single_start() -> bool {
    work::is_first(Thread::current())
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_single_copy_start() -> *mut () {
    let thread = Thread::current();
    if work::is_first(thread) {
        return ptr::null_mut();
    }
    let team = thread.team();
    team.wait_for_all(thread, &team.meeting.barrier, false);
    // Ordering: Relaxed; the barrier orders it.
    team.copied.load(Ordering::Relaxed)
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_single_copy_end(data: *mut ()) {
    let thread = Thread::current();
    let team = thread.team();
    if team.threads() > 1 {
        // Ordering: Relaxed; the barrier orders it.
        team.copied.store(data, Ordering::Relaxed);
        team.wait_for_all(thread, &team.meeting.barrier, false);
    }
}

/// The constructs that `cancel` names, as a compiler passes them.
mod what {
    pub(super) const PARALLEL: i32 = 1;
    pub(super) const TASKGROUP: i32 = 8;
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_cancel(which: c_int, does: CBool) -> bool {
    if !does.get() || !Environment::get().cancellation {
        return GOMP_cancellation_point(which);
    }
    let thread = Thread::current();
    let team = thread.team();
    match which {
        what::PARALLEL => {
            // Ordering: Relaxed; who waits is woken after it, by a read-modify-write.
            team.cancelled.store(true, Ordering::Relaxed);
            team.meeting.wake_sleepers(&team.meeting.barrier);
        }
        what::TASKGROUP => {
            // SAFETY: a group stays until its tasks have ended.
            if let Some(group) = unsafe { thread.task().heritage().group.as_ref() } {
                group.cancel();
            }
        }
        _ => work::cancel(thread),
    }
    true
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_cancellation_point(which: c_int) -> bool {
    if !Environment::get().cancellation {
        return false;
    }
    let thread = Thread::current();
    let team = thread.team();
    match which {
        what::PARALLEL => team.is_cancelled(),
        what::TASKGROUP => {
            // SAFETY: a group stays until its tasks have ended.
            let group = unsafe { thread.task().heritage().group.as_ref() };
            team.is_cancelled() || group.is_some_and(Group::is_cancelled)
        }
        _ => work::is_cancelled(thread),
    }
}
