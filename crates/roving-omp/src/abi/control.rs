//! The functions by which programs ask and set: `omp_get_…` and `omp_set_…`.

use std::ffi::{CStr, c_char, c_int};
use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::env::{self, Controls, Environment, LEVELS_MAX, Schedule, ScheduleKind};
use crate::team::Team;
use crate::team::thread::Thread;

/// Asks for a number.
macro_rules! numbers {
    ($($name:ident = $ask:expr;)*) => {$(
        #[unsafe(no_mangle)]
        pub(super) extern "C" fn $name() -> c_int {
            let ask: fn(&Thread) -> c_int = $ask;
            ask(Thread::current())
        }
    )*};
}

fn settings() -> &'static Environment {
    Environment::get()
}

numbers! {
    omp_get_num_threads = |thread| thread.team().threads() as c_int;
    omp_get_thread_num = |thread| thread.num() as c_int;
    omp_get_max_threads = |thread| thread.controls().threads as c_int;
    omp_get_num_procs = |_| settings().processors as c_int;
    omp_in_parallel = |thread| (thread.team().region().active > 0).into();
    omp_get_dynamic = |thread| thread.controls().dynamic.into();
    omp_get_nested = |thread| {
        let (active, most) = (thread.team().region().active, thread.controls().max_active);
        (most > 1 && most > active).into()
    };
    omp_get_thread_limit = |thread| {
        thread.controls().thread_limit.min(c_int::MAX as u32) as c_int
    };
    omp_get_max_active_levels = |thread| thread.controls().max_active as c_int;
    omp_get_supported_active_levels = |_| LEVELS_MAX as c_int;
    omp_get_level = |thread| thread.team().region().level as c_int;
    omp_get_active_level = |thread| thread.team().region().active as c_int;
    omp_in_final = |thread| thread.task().heritage().is_final.into();
    omp_in_explicit_task = |thread| (!thread.task().is_implicit()).into();
    omp_get_cancellation = |_| settings().cancellation.into();
    omp_get_proc_bind = |thread| thread.controls().bind as c_int;
    omp_get_num_places = |_| settings().places.len() as c_int;
    omp_get_place_num = |thread| thread.site.get().map_or(-1, |site| site.place as c_int);
    omp_get_partition_num_places = |thread| partition(thread).len() as c_int;
    omp_get_max_task_priority = |_| settings().task_priority.min(c_int::MAX as u64) as c_int;
    omp_get_default_device = |thread| thread.controls().device;
    omp_get_num_devices = |_| 0;
    omp_get_initial_device = |_| 0;
    omp_get_device_num = |_| 0;
    omp_is_initial_device = |_| 1;
    omp_get_num_teams = |thread| thread.league.get().teams as c_int;
    omp_get_team_num = |thread| thread.league.get().num as c_int;
    // Ordering: Relaxed; numbers that stand for themselves.
    omp_get_max_teams = |_| TEAMS.load(Ordering::Relaxed) as c_int;
    omp_get_teams_thread_limit = |_| TEAMS_LIMIT.load(Ordering::Relaxed) as c_int;
}

/// Set by programs; 0 for what the environment says, which is read first.
static TEAMS: AtomicU32 = AtomicU32::new(0);
static TEAMS_LIMIT: AtomicU32 = AtomicU32::new(0);

/// The teams and the limit that a league without numbers of its own gets.
pub(super) fn teams_asked() -> (u32, u32) {
    // Ordering: Relaxed, both; numbers that stand for themselves.
    let (teams, limit) = (
        TEAMS.load(Ordering::Relaxed),
        TEAMS_LIMIT.load(Ordering::Relaxed),
    );
    let or = |said: u32, otherwise: u32| if said > 0 { said } else { otherwise };
    let settings = settings();
    (
        or(teams, settings.teams),
        or(limit, settings.teams_thread_limit),
    )
}

/// The places among which the threads of the thread's regions are bound; none, if they are not.
fn partition(thread: &Thread) -> Range<usize> {
    let own = thread.site.get().map(|site| site.partition);
    own.map_or(0..0, |own| own.first..own.first + own.len)
}

/// Changes what the calling task has for itself.
pub(super) fn change(with: impl FnOnce(&mut Controls)) {
    let thread = Thread::current();
    thread.change(with);
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_set_num_threads(threads: c_int) {
    change(|own| own.threads = u32::try_from(threads).unwrap_or(1).max(1));
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_set_dynamic(dynamic: c_int) {
    change(|own| own.dynamic = dynamic != 0);
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_set_nested(nested: c_int) {
    change(|own| match nested {
        0 => own.max_active = own.max_active.min(1),
        _ if own.max_active > 1 => {}
        _ => own.max_active = LEVELS_MAX,
    });
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_set_max_active_levels(levels: c_int) {
    if let Ok(levels) = u32::try_from(levels) {
        change(|own| own.max_active = levels.min(LEVELS_MAX));
    }
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_set_default_device(device: c_int) {
    change(|own| own.device = device.max(0));
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_set_num_teams(teams: c_int) {
    // Ordering: Relaxed; a number that stands for itself.
    TEAMS.store(u32::try_from(teams).unwrap_or(0), Ordering::Relaxed);
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_set_teams_thread_limit(limit: c_int) {
    // Ordering: Relaxed; a number that stands for itself.
    TEAMS_LIMIT.store(u32::try_from(limit).unwrap_or(0), Ordering::Relaxed);
}

/// The bit that a kind has if it is monotonic.
const MONOTONIC: u32 = 1 << 31;

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_set_schedule(kind: u32, chunk: c_int) {
    let chunk = u64::try_from(chunk).unwrap_or(0);
    let monotonic = kind & MONOTONIC != 0;
    let (kind, least) = match kind & !MONOTONIC {
        1 => (ScheduleKind::Static, 0),
        2 => (ScheduleKind::Dynamic, 1),
        3 => (ScheduleKind::Guided, 1),
        4 => (ScheduleKind::Auto, 0),
        _ => return,
    };
    let chunk = if kind == ScheduleKind::Auto { 0 } else { chunk };
    let schedule = Schedule {
        kind,
        monotonic,
        chunk: chunk.max(least),
    };
    change(|own| own.schedule = schedule);
}

/// # Safety
/// Both are there to be written.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn omp_get_schedule(kind: *mut u32, chunk: *mut c_int) {
    let schedule = Thread::current().controls().schedule;
    let number = match schedule.kind {
        ScheduleKind::Static => 1,
        ScheduleKind::Dynamic => 2,
        ScheduleKind::Guided => 3,
        ScheduleKind::Auto => 4,
    };
    let modifier = if schedule.monotonic { MONOTONIC } else { 0 };
    // SAFETY: the caller's promise.
    unsafe {
        *kind = number | modifier;
        *chunk = schedule.chunk.min(c_int::MAX as u64) as c_int;
    }
}

/// The number of the thread's ancestor at a level, and the size of its team.
fn ancestor(level: c_int) -> Option<(u32, u32)> {
    let thread = Thread::current();
    let (mut team, mut num): (*const Team, u32) = (thread.team(), thread.num());
    loop {
        // SAFETY: a team stays as long as one of its threads is in an inner region.
        let region = unsafe { team.as_ref() }?.region();
        if level >= 0 && region.level == level as u32 {
            return Some((num, region.threads));
        }
        (team, num) = (region.outer, region.outer_num);
    }
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_get_ancestor_thread_num(level: c_int) -> c_int {
    ancestor(level).map_or(-1, |(num, _)| num as c_int)
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_get_team_size(level: c_int) -> c_int {
    ancestor(level).map_or(-1, |(_, threads)| threads as c_int)
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_get_place_num_procs(place: c_int) -> c_int {
    let place = usize::try_from(place)
        .ok()
        .and_then(|place| settings().places.get(place));
    place.map_or(0, |place| place.len() as c_int)
}

/// # Safety
/// There is room for all processors of the place.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn omp_get_place_proc_ids(place: c_int, ids: *mut c_int) {
    let place = usize::try_from(place)
        .ok()
        .and_then(|place| settings().places.get(place));
    for (index, &cpu) in place.into_iter().flatten().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { *ids.add(index) = cpu as c_int };
    }
}

/// # Safety
/// There is room for all places of the partition.
#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn omp_get_partition_place_nums(nums: *mut c_int) {
    for (index, place) in partition(Thread::current()).enumerate() {
        // SAFETY: the caller's promise.
        unsafe { *nums.add(index) = place as c_int };
    }
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_get_wtime() -> f64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    BEGAN.get_or_init(Instant::now).elapsed().as_secs_f64()
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_get_wtick() -> f64 {
    1e-9
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_display_env(verbose: c_int) {
    env::print(settings(), verbose != 0);
}

/// There is nothing to give back: threads that have nothing to do sleep.
#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_pause_resource(_kind: c_int, _device: c_int) -> c_int {
    c_int::from(Thread::current().team().region().level > 0)
}

#[unsafe(no_mangle)]
pub(super) extern "C" fn omp_pause_resource_all(kind: c_int) -> c_int {
    omp_pause_resource(kind, 0)
}

/// The format of `omp_display_affinity`, if a program has set one.
static FORMAT: Mutex<Option<String>> = Mutex::new(None);

pub(super) fn format() -> String {
    let set = FORMAT.lock().unwrap_or_else(PoisonError::into_inner);
    set.clone()
        .unwrap_or_else(|| settings().affinity_format.clone())
}

/// # Safety
/// It is a string.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_set_affinity_format(text: *const c_char) {
    // SAFETY: the caller's promise.
    set_format(&unsafe { CStr::from_ptr(text) }.to_string_lossy());
}

pub(super) fn set_format(text: &str) {
    *FORMAT.lock().unwrap_or_else(PoisonError::into_inner) = Some(text.to_owned());
}

/// Copies a text as far as there is room, and returns its length.
///
/// # Safety
/// There is room for so many bytes.
unsafe fn give(text: &str, buffer: *mut c_char, size: usize) -> usize {
    if size > 0 {
        let count = text.len().min(size - 1);
        // SAFETY: the caller's promise.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), count);
            *buffer.add(count) = 0;
        }
    }
    text.len()
}

/// # Safety
/// There is room for so many bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_get_affinity_format(buffer: *mut c_char, size: usize) -> usize {
    // SAFETY: the caller's promise.
    unsafe { give(&format(), buffer, size) }
}

/// # Safety
/// There is room for so many bytes, and the format is a string or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_capture_affinity(
    buffer: *mut c_char,
    size: usize,
    said: *const c_char,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { give(&affinity(said), buffer, size) }
}

/// # Safety
/// The format is a string or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn omp_display_affinity(said: *const c_char) {
    // SAFETY: the caller's promise.
    eprintln!("{}", unsafe { affinity(said) });
}

/// # Safety
/// As [`omp_display_affinity`].
unsafe fn affinity(said: *const c_char) -> String {
    match said.is_null() {
        true => shown(""),
        // SAFETY: the caller's promise.
        false => shown(&unsafe { CStr::from_ptr(said) }.to_string_lossy()),
    }
}

/// The calling thread, by a format; or by that which is set, if this is empty.
pub(super) fn shown(said: &str) -> String {
    let thread = Thread::current();
    match said.is_empty() {
        true => fill(&format(), thread),
        false => fill(said, thread),
    }
}

/// A field is filled up to so many characters: more are a mistake, and may be more than there is
/// memory for.
const WIDEST: usize = 1 << 16;

/// The values of the fields of a format.
fn fill(format: &str, thread: &Thread) -> String {
    let region = thread.team().region();
    let mut text = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        text.push_str(&rest[..at]);
        let field = &rest[at + 1..];
        let digits = field.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let options = &field[..field.len() - digits.len()];
        let (name, after) = match digits.strip_prefix('{') {
            Some(long) => long.split_once('}').unwrap_or((long, "")),
            None => digits.split_at(digits.chars().next().map_or(0, char::len_utf8)),
        };
        rest = after;
        let value = match name {
            "%" => "%".to_owned(),
            "t" | "team_num" => thread.league.get().num.to_string(),
            "T" | "num_teams" => thread.league.get().teams.to_string(),
            "L" | "nesting_level" => region.level.to_string(),
            "n" | "thread_num" => thread.num().to_string(),
            "N" | "num_threads" => region.threads.to_string(),
            "a" | "ancestor_tnum" => {
                omp_get_ancestor_thread_num(region.level as c_int - 1).to_string()
            }
            "H" | "host" => host(),
            "P" | "process_id" => std::process::id().to_string(),
            // SAFETY: the system's own call.
            "i" | "native_thread_id" => unsafe { libc::syscall(libc::SYS_gettid) }.to_string(),
            "A" | "thread_affinity" => ranges(&env::places::allowed()),
            _ => String::new(),
        };
        let fill = if options.starts_with('0') { '0' } else { ' ' };
        let digits: String = options.chars().filter(char::is_ascii_digit).collect();
        let width = digits.parse().map_or(0, |width: usize| width.min(WIDEST));
        let missing = fill
            .to_string()
            .repeat(usize::saturating_sub(width, value.len()));
        match options.contains('.') {
            true => text.push_str(&(missing + &value)),
            false => text.push_str(&(value + &missing)),
        }
    }
    text + rest
}

fn host() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: there is room for one byte more than is said.
    unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) };
    CStr::from_bytes_until_nul(&name)
        .map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// `0-3,5`.
fn ranges(cpus: &[usize]) -> String {
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for &cpu in cpus {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == cpu => *last = cpu,
            _ => parts.push((cpu, cpu)),
        }
    }
    let text = |&(first, last): &(usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    parts.iter().map(text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_shown_as_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn fields_of_a_format_are_filled_in() {
        let thread = Thread::current();
        assert_eq!(fill("%n/%N %% %{nesting_level}", thread), "0/1 % 0");
        assert_eq!(fill("[%3n][%.3n][%0.3n]", thread), "[0  ][  0][000]");
    }
}
