//! Loops, with every schedule, of signed and of unsigned numbers, alone or as the first thing of a
//! region.

use std::ffi::{c_long, c_uint, c_ulong};
use std::slice;

use super::CBool;
use crate::constructs::work::{self, Asked, schedule};
use crate::env::{Schedule, ScheduleKind};
use crate::loops::plan::Range;
use crate::task::Code;
use crate::team::region;
use crate::team::thread::Thread;

/// Writes the bounds of the next iterations, if there are some.
///
/// # Safety
/// Both are there to be written.
#[inline]
unsafe fn next<T: FromBits>(first: *mut T, end: *mut T) -> bool {
    let thread = Thread::current();
    let Some(taken) = work::next(thread) else {
        return false;
    };
    let bounds = thread.share().plan().range.bounds(taken);
    // SAFETY: the caller's promise.
    unsafe {
        *first = T::from_bits(bounds.0);
        *end = T::from_bits(bounds.1);
    }
    true
}

/// A loop's variable, as a compiler passes it.
trait FromBits {
    fn from_bits(bits: u64) -> Self;
}

impl FromBits for c_long {
    fn from_bits(bits: u64) -> c_long {
        bits as c_long
    }
}

impl FromBits for c_ulong {
    fn from_bits(bits: u64) -> c_ulong {
        bits as c_ulong
    }
}

/// Comes to a loop, and takes the first iterations.
///
/// # Safety
/// As [`next`].
unsafe fn start<T: FromBits>(asked: &Asked<'_>, first: *mut T, end: *mut T) -> bool {
    work::begin(Thread::current(), asked);
    // SAFETY: the caller's promise.
    unsafe { next(first, end) }
}

fn plain(range: Range, schedule: Option<Schedule>, ordered: bool) -> Asked<'static> {
    Asked {
        range,
        schedule,
        ordered,
        doacross: None,
    }
}

/// The schedule that a compiler passes by number; `None` is `runtime`.
fn numbered(number: c_long, chunk: u64) -> Option<Schedule> {
    const MONOTONIC: c_long = 1 << 31;
    let kind = match number & !MONOTONIC {
        1 => ScheduleKind::Static,
        2 => ScheduleKind::Dynamic,
        3 => ScheduleKind::Guided,
        4 => ScheduleKind::Auto,
        _ => return None,
    };
    Some(schedule(kind, chunk))
}

macro_rules! loops {
    // A schedule with a size.
    ($($name:ident $ull:ident $next:ident $ull_next:ident = $kind:ident, $ordered:literal;)*) => {$(
        /// # Safety
        /// The last two are there to be written.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            start: c_long, end: c_long, step: c_long, chunk: c_long,
            first: *mut c_long, last: *mut c_long,
        ) -> bool {
            let chunk = schedule(ScheduleKind::$kind, chunk as u64);
            let asked = plain(Range::signed(start, end, step), Some(chunk), $ordered);
            // SAFETY: the caller's promise.
            unsafe { self::start(&asked, first, last) }
        }

        /// # Safety
        /// The last two are there to be written.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $ull(
            up: CBool, start: c_ulong, end: c_ulong, step: c_ulong, chunk: c_ulong,
            first: *mut c_ulong, last: *mut c_ulong,
        ) -> bool {
            let chunk = schedule(ScheduleKind::$kind, chunk);
            let asked = plain(Range::unsigned(up.get(), start, end, step), Some(chunk), $ordered);
            // SAFETY: the caller's promise.
            unsafe { self::start(&asked, first, last) }
        }

        nexts! { $next $ull_next }
    )*};
}

macro_rules! nexts {
    ($next:ident $ull_next:ident) => {
        /// # Safety
        /// Both are there to be written.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $next(first: *mut c_long, last: *mut c_long) -> bool {
            // SAFETY: the caller's promise.
            unsafe { next(first, last) }
        }

        /// # Safety
        /// Both are there to be written.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $ull_next(first: *mut c_ulong, last: *mut c_ulong) -> bool {
            // SAFETY: the caller's promise.
            unsafe { next(first, last) }
        }
    };
}

macro_rules! runtime_loops {
    ($($name:ident $ull:ident $next:ident $ull_next:ident = $ordered:literal;)*) => {$(
        /// # Safety
        /// The last two are there to be written.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            start: c_long, end: c_long, step: c_long, first: *mut c_long, last: *mut c_long,
        ) -> bool {
            let asked = plain(Range::signed(start, end, step), None, $ordered);
            // SAFETY: the caller's promise.
            unsafe { self::start(&asked, first, last) }
        }

        /// # Safety
        /// The last two are there to be written.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $ull(
            up: CBool, start: c_ulong, end: c_ulong, step: c_ulong,
            first: *mut c_ulong, last: *mut c_ulong,
        ) -> bool {
            let asked = plain(Range::unsigned(up.get(), start, end, step), None, $ordered);
            // SAFETY: the caller's promise.
            unsafe { self::start(&asked, first, last) }
        }

        nexts! { $next $ull_next }
    )*};
}

loops! {
    GOMP_loop_static_start GOMP_loop_ull_static_start
        GOMP_loop_static_next GOMP_loop_ull_static_next = Static, false;
    GOMP_loop_dynamic_start GOMP_loop_ull_dynamic_start
        GOMP_loop_dynamic_next GOMP_loop_ull_dynamic_next = Dynamic, false;
    GOMP_loop_guided_start GOMP_loop_ull_guided_start
        GOMP_loop_guided_next GOMP_loop_ull_guided_next = Guided, false;
    GOMP_loop_nonmonotonic_dynamic_start GOMP_loop_ull_nonmonotonic_dynamic_start
        GOMP_loop_nonmonotonic_dynamic_next GOMP_loop_ull_nonmonotonic_dynamic_next
        = Dynamic, false;
    GOMP_loop_nonmonotonic_guided_start GOMP_loop_ull_nonmonotonic_guided_start
        GOMP_loop_nonmonotonic_guided_next GOMP_loop_ull_nonmonotonic_guided_next
        = Guided, false;
    GOMP_loop_ordered_static_start GOMP_loop_ull_ordered_static_start
        GOMP_loop_ordered_static_next GOMP_loop_ull_ordered_static_next = Static, true;
    GOMP_loop_ordered_dynamic_start GOMP_loop_ull_ordered_dynamic_start
        GOMP_loop_ordered_dynamic_next GOMP_loop_ull_ordered_dynamic_next = Dynamic, true;
    GOMP_loop_ordered_guided_start GOMP_loop_ull_ordered_guided_start
        GOMP_loop_ordered_guided_next GOMP_loop_ull_ordered_guided_next = Guided, true;
}

runtime_loops! {
    GOMP_loop_runtime_start GOMP_loop_ull_runtime_start
        GOMP_loop_runtime_next GOMP_loop_ull_runtime_next = false;
    GOMP_loop_nonmonotonic_runtime_start GOMP_loop_ull_nonmonotonic_runtime_start
        GOMP_loop_nonmonotonic_runtime_next GOMP_loop_ull_nonmonotonic_runtime_next = false;
    GOMP_loop_maybe_nonmonotonic_runtime_start GOMP_loop_ull_maybe_nonmonotonic_runtime_start
        GOMP_loop_maybe_nonmonotonic_runtime_next GOMP_loop_ull_maybe_nonmonotonic_runtime_next
        = false;
    GOMP_loop_ordered_runtime_start GOMP_loop_ull_ordered_runtime_start
        GOMP_loop_ordered_runtime_next GOMP_loop_ull_ordered_runtime_next = true;
}

macro_rules! general_loops {
    ($($name:ident $ull:ident = $ordered:literal;)*) => {$(
        /// # Safety
        /// All addresses are null, or of what a compiler says.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            start: c_long, end: c_long, step: c_long, kind: c_long, chunk: c_long,
            first: *mut c_long, last: *mut c_long,
            reductions: *mut usize, memory: *mut *mut (),
        ) -> bool {
            let range = Range::signed(start, end, step);
            let asked = plain(range, numbered(kind, chunk as u64), $ordered);
            // SAFETY: the caller's promise.
            unsafe { general(&asked, first, last, reductions, memory) }
        }

        /// # Safety
        /// All addresses are null, or of what a compiler says.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $ull(
            up: CBool, start: c_ulong, end: c_ulong, step: c_ulong, kind: c_long, chunk: c_ulong,
            first: *mut c_ulong, last: *mut c_ulong,
            reductions: *mut usize, memory: *mut *mut (),
        ) -> bool {
            let range = Range::unsigned(up.get(), start, end, step);
            let asked = plain(range, numbered(kind, chunk), $ordered);
            // SAFETY: the caller's promise.
            unsafe { general(&asked, first, last, reductions, memory) }
        }
    )*};
}

general_loops! {
    GOMP_loop_start GOMP_loop_ull_start = false;
    GOMP_loop_ordered_start GOMP_loop_ull_ordered_start = true;
}

/// A loop with all that there can be. A loop that only registers takes no iterations here: a
/// compiler passes no bounds then.
///
/// # Safety
/// As [`next`]; the others are a compiler's, or null.
unsafe fn general<T: FromBits>(
    asked: &Asked<'_>,
    first: *mut T,
    last: *mut T,
    reductions: *mut usize,
    memory: *mut *mut (),
) -> bool {
    let thread = Thread::current();
    // SAFETY: the caller's promise.
    unsafe {
        work::begin_sharing(thread, asked, reductions, memory);
        first.is_null() || next(first, last)
    }
}

/// # Safety
/// There are so many counts.
unsafe fn doacross<'a>(
    levels: c_uint,
    counts: *const c_long,
    schedule: Option<Schedule>,
) -> Asked<'a> {
    // SAFETY: the caller's promise.
    let counts = unsafe { slice::from_raw_parts(counts, levels as usize) };
    Asked {
        range: Range::signed(0, counts[0], 1),
        schedule,
        ordered: false,
        doacross: Some(counts),
    }
}

macro_rules! doacross_loops {
    ($($name:ident $ull:ident = $kind:ident;)*) => {$(
        /// # Safety
        /// There are so many counts; the last two are there to be written.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(
            levels: c_uint, counts: *const c_long, chunk: c_long,
            first: *mut c_long, last: *mut c_long,
        ) -> bool {
            // SAFETY: the caller's promise.
            unsafe {
                let chunk = schedule(ScheduleKind::$kind, chunk as u64);
                start(&doacross(levels, counts, Some(chunk)), first, last)
            }
        }

        /// # Safety
        /// As that of signed numbers: the bits are the same.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $ull(
            levels: c_uint, counts: *const c_long, chunk: c_long,
            first: *mut c_long, last: *mut c_long,
        ) -> bool {
            // SAFETY: the caller's promise.
            unsafe { $name(levels, counts, chunk, first, last) }
        }
    )*};
}

doacross_loops! {
    GOMP_loop_doacross_static_start GOMP_loop_ull_doacross_static_start = Static;
    GOMP_loop_doacross_dynamic_start GOMP_loop_ull_doacross_dynamic_start = Dynamic;
    GOMP_loop_doacross_guided_start GOMP_loop_ull_doacross_guided_start = Guided;
}

macro_rules! doacross_rest {
    ($($runtime:ident $general:ident)*) => {$(
        /// # Safety
        /// There are so many counts; the last two are there to be written.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $runtime(
            levels: c_uint, counts: *const c_long, first: *mut c_long, last: *mut c_long,
        ) -> bool {
            // SAFETY: the caller's promise.
            unsafe { start(&doacross(levels, counts, None), first, last) }
        }

        /// # Safety
        /// As above; the other addresses are null, or of what a compiler says.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $general(
            levels: c_uint, counts: *const c_long, kind: c_long, chunk: c_long,
            first: *mut c_long, last: *mut c_long,
            reductions: *mut usize, memory: *mut *mut (),
        ) -> bool {
            // SAFETY: the caller's promise.
            unsafe {
                let asked = doacross(levels, counts, numbered(kind, chunk as u64));
                general(&asked, first, last, reductions, memory)
            }
        }
    )*};
}

doacross_rest! {
    GOMP_loop_doacross_runtime_start GOMP_loop_doacross_start
    GOMP_loop_ull_doacross_runtime_start GOMP_loop_ull_doacross_start
}

/// The numbers of the outer and inner loops of an iteration.
const LEVELS_MAX: usize = 16;

fn post(counts: *const c_long) {
    let share = Thread::current().share();
    if let Some(doacross) = share.doacross() {
        // SAFETY: a compiler passes one for each level.
        let counts = unsafe { slice::from_raw_parts(counts, doacross.levels()) };
        doacross.post(&share.gate, counts);
    }
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_doacross_post(counts: *const c_long) {
    post(counts);
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_doacross_ull_post(counts: *const c_long) {
    post(counts);
}

macro_rules! doacross_waits {
    ($($name:ident)*) => {$(
        /// A compiler passes as many numbers as there are levels; what is read beyond them is not
        /// used. Of sixteen, all but the first six stand in the caller's frame, whose memory is
        /// there.
        #[unsafe(no_mangle)]
        extern "C" fn $name(
            a: c_long, b: c_long, c: c_long, d: c_long, e: c_long, f: c_long, g: c_long,
            h: c_long, i: c_long, j: c_long, k: c_long, l: c_long, m: c_long, n: c_long,
            o: c_long, p: c_long,
        ) {
            let numbers = [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p];
            let share = Thread::current().share();
            if let Some(doacross) = share.doacross() {
                let levels = doacross.levels();
                if levels > LEVELS_MAX {
                    crate::env::stop("ordered(n) with more than 16 loops is not implemented");
                }
                doacross.wait(&share.gate, &numbers[..levels]);
            }
        }
    )*};
}

doacross_waits! { GOMP_doacross_wait GOMP_doacross_ull_wait }

macro_rules! parallel_loops {
    ($($name:ident = $kind:ident;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(
            code: Code, data: *mut (), threads: c_uint,
            start: c_long, end: c_long, step: c_long, chunk: c_long, flags: c_uint,
        ) {
            let chunk = schedule(ScheduleKind::$kind, chunk as u64);
            let asked = plain(Range::signed(start, end, step), Some(chunk), false);
            parallel(code, data, threads, flags, &asked);
        }
    )*};
}

parallel_loops! {
    GOMP_parallel_loop_static = Static;
    GOMP_parallel_loop_dynamic = Dynamic;
    GOMP_parallel_loop_guided = Guided;
    GOMP_parallel_loop_nonmonotonic_dynamic = Dynamic;
    GOMP_parallel_loop_nonmonotonic_guided = Guided;
}

macro_rules! parallel_runtime_loops {
    ($($name:ident)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(
            code: Code, data: *mut (), threads: c_uint,
            start: c_long, end: c_long, step: c_long, flags: c_uint,
        ) {
            let asked = plain(Range::signed(start, end, step), None, false);
            parallel(code, data, threads, flags, &asked);
        }
    )*};
}

parallel_runtime_loops! {
    GOMP_parallel_loop_runtime
    GOMP_parallel_loop_nonmonotonic_runtime
    GOMP_parallel_loop_maybe_nonmonotonic_runtime
}

/// A region that begins in a loop.
pub(super) fn parallel(
    code: Code,
    data: *mut (),
    threads: c_uint,
    flags: c_uint,
    asked: &Asked<'_>,
) {
    let thread = Thread::current();
    let first = |threads| asked.plan(thread, threads);
    let region = super::parallel::asked(code, data, threads, flags);
    region::begin(&region, Some(&first), None);
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_loop_end() {
    end(Thread::current());
}

pub(super) fn end(thread: &Thread) {
    work::leave(thread);
    let team = thread.team();
    team.wait_for_all(thread, &team.meeting.barrier, false);
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_loop_end_nowait() {
    work::leave(Thread::current());
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_loop_end_cancel() -> bool {
    let thread = Thread::current();
    work::leave(thread);
    let team = thread.team();
    team.wait_for_all(thread, &team.meeting.barrier, true)
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_ordered_start() {
    work::wait_in_order(Thread::current());
}

#[unsafe(no_mangle)]
extern "C" fn GOMP_ordered_end() {}
