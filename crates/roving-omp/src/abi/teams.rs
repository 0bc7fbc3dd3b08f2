//! Teams on the host, and errors.

use std::ffi::{c_char, c_uint};
use std::slice;

use super::{CBool, control};
use crate::env;
use crate::task::Code;
use crate::team::thread::Thread;
use crate::team::{League, region};

/// A league on the host: its teams run one after the other.
#[unsafe(no_mangle)]
extern "C" fn GOMP_teams_reg(
    code: Code,
    data: *mut (),
    teams: c_uint,
    limit: c_uint,
    _flags: c_uint,
) {
    let (said, said_limit) = control::teams_asked();
    let or = |asked: u32, said: u32| if asked > 0 { asked } else { said };
    let teams = or(teams, said).max(1);
    let mut controls = Thread::current().controls();
    controls.limit_threads(or(limit, said_limit));
    for num in 0..teams {
        region::alone(code, data, controls, League { teams, num });
    }
}

/// Compilers before GCC 12 call it in a target region: on the host its league has one team.
#[unsafe(no_mangle)]
extern "C" fn GOMP_teams(_teams: c_uint, limit: c_uint) {
    control::change(|own| own.limit_threads(limit));
}

/// Called in a target region before each team of its league, which run one after the other. True
/// if there is one more.
#[unsafe(no_mangle)]
extern "C" fn GOMP_teams4(least: c_uint, _most: c_uint, limit: c_uint, first: CBool) -> bool {
    let first = first.get();
    let thread = Thread::current();
    let League { teams, num } = thread.league.get();
    let (teams, num) = match first {
        true => (least.max(1), 0),
        false => (teams, num + 1),
    };
    if first {
        control::change(|own| own.limit_threads(limit));
    }
    if num < teams {
        thread.league.set(League { teams, num });
    }
    num < teams
}

/// # Safety
/// There are so many bytes; or null.
unsafe fn text(at: *const c_char, length: usize) -> String {
    if at.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise. All bits set stand for a string that ends by itself.
    let bytes = unsafe {
        match length {
            usize::MAX => std::ffi::CStr::from_ptr(at).to_bytes(),
            length => slice::from_raw_parts(at.cast(), length),
        }
    };
    String::from_utf8_lossy(bytes).into_owned()
}

/// # Safety
/// There are so many bytes; or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_warning(at: *const c_char, length: usize) {
    // SAFETY: the caller's promise.
    let text = unsafe { text(at, length) };
    let colon = if text.is_empty() { "" } else { ": " };
    env::warn(&format!("error directive encountered{colon}{text}"));
}

/// # Safety
/// There are so many bytes; or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn GOMP_error(at: *const c_char, length: usize) -> ! {
    // SAFETY: the caller's promise.
    let text = unsafe { text(at, length) };
    let colon = if text.is_empty() { "" } else { ": " };
    env::stop(&format!(
        "fatal error: error directive encountered{colon}{text}"
    ))
}
