//! The names that Fortran calls: those of C with a line below the name, and parameters by address.
//! Those with an 8 are for integers and logicals of eight bytes.

use std::ffi::c_int;
use std::slice;

use super::control::{self, *};
use super::memory::*;
use super::tasks::omp_fulfill_event;
use crate::task::node::LinkedTask;

macro_rules! same {
    ($($name:ident = $of:ident -> $result:ty;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name() -> $result {
            $of()
        }
    )*};
}

same! {
    omp_get_num_threads_ = omp_get_num_threads -> c_int;
    omp_get_thread_num_ = omp_get_thread_num -> c_int;
    omp_get_max_threads_ = omp_get_max_threads -> c_int;
    omp_get_num_procs_ = omp_get_num_procs -> c_int;
    omp_in_parallel_ = omp_in_parallel -> c_int;
    omp_get_dynamic_ = omp_get_dynamic -> c_int;
    omp_get_nested_ = omp_get_nested -> c_int;
    omp_get_thread_limit_ = omp_get_thread_limit -> c_int;
    omp_get_max_active_levels_ = omp_get_max_active_levels -> c_int;
    omp_get_supported_active_levels_ = omp_get_supported_active_levels -> c_int;
    omp_get_level_ = omp_get_level -> c_int;
    omp_get_active_level_ = omp_get_active_level -> c_int;
    omp_in_final_ = omp_in_final -> c_int;
    omp_in_explicit_task_ = omp_in_explicit_task -> c_int;
    omp_get_cancellation_ = omp_get_cancellation -> c_int;
    omp_get_proc_bind_ = omp_get_proc_bind -> c_int;
    omp_get_num_places_ = omp_get_num_places -> c_int;
    omp_get_place_num_ = omp_get_place_num -> c_int;
    omp_get_partition_num_places_ = omp_get_partition_num_places -> c_int;
    omp_get_max_task_priority_ = omp_get_max_task_priority -> c_int;
    omp_get_default_device_ = omp_get_default_device -> c_int;
    omp_get_num_devices_ = omp_get_num_devices -> c_int;
    omp_get_initial_device_ = omp_get_initial_device -> c_int;
    omp_get_device_num_ = omp_get_device_num -> c_int;
    omp_is_initial_device_ = omp_is_initial_device -> c_int;
    omp_get_num_teams_ = omp_get_num_teams -> c_int;
    omp_get_team_num_ = omp_get_team_num -> c_int;
    omp_get_max_teams_ = omp_get_max_teams -> c_int;
    omp_get_teams_thread_limit_ = omp_get_teams_thread_limit -> c_int;
    omp_get_default_allocator_ = omp_get_default_allocator -> Handle;
    omp_get_wtime_ = omp_get_wtime -> f64;
    omp_get_wtick_ = omp_get_wtick -> f64;
}

macro_rules! by_address {
    ($($name:ident $long:ident = $of:ident -> $result:ty;)*) => {$(
        /// # Safety
        /// The parameter is there.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(parameter: *const c_int) -> $result {
            // SAFETY: the caller's promise.
            $of(unsafe { *parameter })
        }

        /// # Safety
        /// The parameter is there.
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $long(parameter: *const i64) -> $result {
            // SAFETY: the caller's promise.
            $of(unsafe { *parameter } as c_int)
        }
    )*};
}

by_address! {
    omp_set_num_threads_ omp_set_num_threads_8_ = omp_set_num_threads -> ();
    omp_set_dynamic_ omp_set_dynamic_8_ = omp_set_dynamic -> ();
    omp_set_nested_ omp_set_nested_8_ = omp_set_nested -> ();
    omp_set_max_active_levels_ omp_set_max_active_levels_8_ = omp_set_max_active_levels -> ();
    omp_set_default_device_ omp_set_default_device_8_ = omp_set_default_device -> ();
    omp_set_num_teams_ omp_set_num_teams_8_ = omp_set_num_teams -> ();
    omp_set_teams_thread_limit_ omp_set_teams_thread_limit_8_ = omp_set_teams_thread_limit -> ();
    omp_get_ancestor_thread_num_ omp_get_ancestor_thread_num_8_
        = omp_get_ancestor_thread_num -> c_int;
    omp_get_team_size_ omp_get_team_size_8_ = omp_get_team_size -> c_int;
    omp_get_place_num_procs_ omp_get_place_num_procs_8_ = omp_get_place_num_procs -> c_int;
    omp_display_env_ omp_display_env_8_ = omp_display_env -> ();
    omp_pause_resource_all_ omp_pause_resource_all_8_ = omp_pause_resource_all -> c_int;
}

/// # Safety
/// The parameters are there.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_set_schedule_(kind: *const u32, chunk: *const c_int) {
    // SAFETY: the caller's promise.
    unsafe { omp_set_schedule(*kind, *chunk) };
}

/// # Safety
/// The parameters are there.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_set_schedule_8_(kind: *const u32, chunk: *const i64) {
    // SAFETY: the caller's promise.
    unsafe { omp_set_schedule(*kind, *chunk as c_int) };
}

/// # Safety
/// Both are there to be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_schedule_(kind: *mut u32, chunk: *mut c_int) {
    // SAFETY: the caller's promise.
    unsafe { omp_get_schedule(kind, chunk) };
}

/// # Safety
/// Both are there to be written.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_schedule_8_(kind: *mut u32, chunk: *mut i64) {
    let mut short = 0;
    // SAFETY: the caller's promise.
    unsafe {
        omp_get_schedule(kind, &mut short);
        *chunk = short.into();
    }
}

/// # Safety
/// The parameter is there, and room for all processors of the place.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_place_proc_ids_(place: *const c_int, ids: *mut c_int) {
    // SAFETY: the caller's promise.
    unsafe { omp_get_place_proc_ids(*place, ids) };
}

/// # Safety
/// There is room for all places.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_partition_place_nums_(nums: *mut c_int) {
    // SAFETY: the caller's promise.
    unsafe { omp_get_partition_place_nums(nums) };
}

/// # Safety
/// The parameter is there, and room for all processors of the place.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_place_proc_ids_8_(place: *const i64, ids: *mut i64) {
    // SAFETY: the caller's promise.
    unsafe {
        let place = *place as c_int;
        let count = usize::try_from(omp_get_place_num_procs(place)).unwrap_or(0);
        let mut short = vec![0; count];
        omp_get_place_proc_ids(place, short.as_mut_ptr());
        for (index, id) in short.into_iter().enumerate() {
            *ids.add(index) = id.into();
        }
    }
}

/// # Safety
/// There is room for all places.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_partition_place_nums_8_(nums: *mut i64) {
    let count = usize::try_from(omp_get_partition_num_places()).unwrap_or(0);
    let mut short = vec![0; count];
    // SAFETY: the caller's promise.
    unsafe {
        omp_get_partition_place_nums(short.as_mut_ptr());
        for (index, num) in short.into_iter().enumerate() {
            *nums.add(index) = num.into();
        }
    }
}

/// # Safety
/// The event is there, and has not been fulfilled.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_fulfill_event_(event: *const *const LinkedTask) {
    // SAFETY: the caller's promise.
    unsafe { omp_fulfill_event(*event) };
}

/// # Safety
/// The parameters are there, and as many traits as they say.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_init_allocator_(
    memory: *const usize,
    count: *const c_int,
    traits: *const Trait,
) -> Handle {
    // SAFETY: the caller's promise.
    unsafe { omp_init_allocator(*memory, *count, traits) }
}

/// # Safety
/// The parameters are there, and as many traits as they say.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_init_allocator_8_(
    memory: *const usize,
    count: *const i64,
    traits: *const Trait,
) -> Handle {
    // SAFETY: the caller's promise.
    unsafe { omp_init_allocator(*memory, *count as c_int, traits) }
}

/// # Safety
/// It is a handle, and is not used again.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_destroy_allocator_(handle: *const Handle) {
    // SAFETY: the caller's promise.
    unsafe { omp_destroy_allocator(*handle) };
}

/// # Safety
/// The parameter is there.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_set_default_allocator_(handle: *const Handle) {
    // SAFETY: the caller's promise.
    omp_set_default_allocator(unsafe { *handle });
}

/// # Safety
/// The parameters are there.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_pause_resource_(kind: *const c_int, device: *const c_int) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { omp_pause_resource(*kind, *device) }
}

/// A text of Fortran's, as a string.
///
/// # Safety
/// There are so many bytes.
unsafe fn text(at: *const u8, length: usize) -> String {
    // SAFETY: the caller's promise.
    let bytes = unsafe { slice::from_raw_parts(at, length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// Gives a text to Fortran, with spaces up to the end of the room. Returns its length.
///
/// # Safety
/// There is room for so many bytes.
unsafe fn give(text: &str, room: *mut u8, length: usize) -> c_int {
    // SAFETY: the caller's promise.
    let room = unsafe { slice::from_raw_parts_mut(room, length) };
    room.fill(b' ');
    let count = text.len().min(length);
    room[..count].copy_from_slice(&text.as_bytes()[..count]);
    text.len() as c_int
}

/// # Safety
/// There are so many bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_set_affinity_format_(format: *const u8, length: usize) {
    // SAFETY: the caller's promise.
    control::set_format(&unsafe { text(format, length) });
}

/// # Safety
/// There is room for so many bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_affinity_format_(room: *mut u8, length: usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { give(&control::format(), room, length) }
}

/// # Safety
/// There are so many bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_display_affinity_(format: *const u8, length: usize) {
    // SAFETY: the caller's promise.
    eprintln!("{}", control::shown(&unsafe { text(format, length) }));
}

/// # Safety
/// There are so many bytes of the format, and so much room.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_capture_affinity_(
    room: *mut u8,
    format: *const u8,
    length: usize,
    format_length: usize,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { give(&control::shown(&text(format, format_length)), room, length) }
}
