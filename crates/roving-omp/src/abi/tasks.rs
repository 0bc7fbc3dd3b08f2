//! Explicit tasks.

use std::ffi::{c_int, c_long, c_uint, c_ulong};

use roving::raw::hosted;

use super::CBool;
use crate::constructs::spawn::{self, TaskRequest, flag};
use crate::constructs::{reduction, taskgroup, taskloop};
use crate::loops::plan::Range;
use crate::task::body::{Code, Copy};
use crate::task::node::LinkedTask;
use crate::team::thread::Thread;

/// The code of GCC 9 and 10 does not pass the last parameter, and no flag that says to look at it.
#[unsafe(no_mangle)]
extern "C" fn GOMP_task(
    code: Code,
    data: *mut (),
    copy: Option<Copy>,
    size: c_long,
    align: c_long,
    may_wait: CBool,
    flags: c_uint,
    depend: *const *const usize,
    _priority: c_int,
    event: *mut *const LinkedTask,
) {
    let (plain, bytes) = (flag::DEPEND | flag::DETACH | flag::FINAL, size as usize);
    let is_small = copy.is_none() && spawn::is_small(bytes, align as usize);
    let may_wait = may_wait.get();
    if may_wait && flags & plain == 0 && is_small && spawn::small(code, data, bytes) {
        return;
    }
    spawn::task(&TaskRequest {
        code,
        data,
        copy,
        size: bytes,
        align: align as usize,
        may_wait,
        flags,
        depend,
        event,
    });
}

macro_rules! taskloops {
    ($($name:ident($($up:ident)?) $type:ty, $range:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(
            code: Code,
            data: *mut (),
            copy: Option<Copy>,
            size: c_long,
            align: c_long,
            flags: c_uint,
            tasks: c_ulong,
            _priority: c_int,
            start: $type,
            end: $type,
            step: $type,
        ) {
            let layout = (size as usize, align as usize);
            let asked = TaskRequest {
                flags,
                ..TaskRequest::plain(code, data, copy, layout)
            };
            let range: fn(u32, $type, $type, $type) -> Range = $range;
            taskloop::run(&asked, tasks, range(flags, start, end, step));
        }
    )*};
}

taskloops! {
    GOMP_taskloop() c_long, |_, start, end, step| Range::signed(start, end, step);
    GOMP_taskloop_ull() c_ulong, |flags, start, end, step| {
        Range::unsigned(flags & flag::UP != 0, start, end, step)
    };
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_taskwait() {
    spawn::wait();
}

/// # Safety
/// The list is a compiler's.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_taskwait_depend(list: *const *const usize) {
    // SAFETY: the caller's promise.
    unsafe { spawn::wait_depend(list) };
}

/// A task is never moved to another thread, and what may run on top of it is what it waits for:
/// there is nothing to yield to. Who calls it in a loop may wait for tasks that others could run.
#[unsafe(no_mangle)]
extern "C" fn GOMP_taskyield() {
    hosted::show();
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_taskgroup_start() {
    taskgroup::start(Thread::current());
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_taskgroup_end() {
    taskgroup::end(Thread::current());
}

/// # Safety
/// The description is a compiler's.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_taskgroup_reduction_register(description: *mut usize) {
    // SAFETY: the caller's promise.
    unsafe { reduction::register(description) };
}

/// # Safety
/// The description was registered, and its copies are not used any more.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_taskgroup_reduction_unregister(description: *mut usize) {
    // SAFETY: the caller's promise.
    unsafe { reduction::free(description) };
}

/// # Safety
/// There are so many addresses, of registered variables.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_task_reduction_remap(
    count: usize,
    originals: usize,
    addresses: *mut usize,
) {
    // SAFETY: the caller's promise.
    unsafe { reduction::remap(count, originals, addresses) };
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_workshare_task_reduction_unregister(cancelled: CBool) {
    reduction::part(Thread::current(), cancelled.get());
}

/// # Safety
/// The event is one of a task with `detach`, and has not come yet.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn omp_fulfill_event(event: *const LinkedTask) {
    // SAFETY: the caller's promise.
    unsafe { spawn::fulfill(event) };
}
