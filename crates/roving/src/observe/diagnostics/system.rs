//! The system's view of a thread: read from files on Linux, unknown elsewhere.

use std::fs;

use super::text::{cut_last, word};
use crate::machine::faults::{self, Point};
#[cfg(target_os = "linux")]
use crate::machine::linux;

#[inline(never)]
fn file(number: u32, name: &str) -> Option<String> {
    faults::ask(Point::ThreadState).ok()?;
    fs::read_to_string(format!("/proc/self/task/{number}/{name}")).ok()
}

#[inline(never)]
fn number(text: &str, place: usize) -> Option<u64> {
    word(text, place)?.parse().ok()
}

/// The time that the thread has had a processor, in nanoseconds (or in some other unit that grows).
pub(super) fn time(thread: u32) -> Option<u64> {
    if let Some(account) = file(thread, "schedstat") {
        return number(&account, 0);
    }
    let account = file(thread, "stat")?;
    let fields = after_name(&account)?;
    Some(number(fields, 11)? + number(fields, 12)?)
}

/// Whether the thread runs, or would if it got a processor.
pub(super) fn is_runnable(thread: u32) -> Option<bool> {
    let account = file(thread, "stat")?;
    Some(word(after_name(&account)?, 0)? == "R")
}

/// The fields of the file `stat` behind the name, which may hold anything.
fn after_name(account: &str) -> Option<&str> {
    Some(cut_last(account, ")")?.1)
}

/// The state of the thread, in a few words.
pub(super) fn state(thread: u32) -> String {
    let account = file(thread, "stat").unwrap_or_default();
    let fields = after_name(&account).unwrap_or_default();
    let word = match word(fields, 0).map_or(0, |word| word.as_bytes()[0]) {
        0 => "gone",
        b'R' => "running",
        b'S' => "asleep",
        b'D' => "in a device",
        b'T' | b't' => "stopped",
        _ => "ending",
    };
    let place = match word {
        "gone" => String::new(),
        _ => place(thread).unwrap_or_default(),
    };
    let within = if place.is_empty() { "" } else { " in " };
    format!("{word}{within}{place}")
}

/// Where in the system the thread is: a function of the kernel, or else the number of a system
/// call.
fn place(thread: u32) -> Option<String> {
    let function = file(thread, "wchan").filter(|name| !name.is_empty() && name != "0");
    if function.is_some() {
        return function;
    }
    let account = file(thread, "syscall")?;
    let call = word(&account, 0)?;
    let known = number(call, 0);
    #[cfg(target_os = "linux")]
    if known.is_some() && known == linux::FUTEX {
        return Some("futex".to_owned());
    }
    // A thread that runs is in none, and says so by a word.
    (known.is_some() || call == "-1").then(|| format!("system call {call}"))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::machine::os;

    #[test]
    #[cfg_attr(miri, ignore = "it reads files of the system")]
    fn the_system_knows_this_thread() {
        let own = os::thread_number().expect("Linux numbers threads");
        assert_eq!(is_runnable(own), Some(true));
        assert!(state(own).starts_with("running"), "{}", state(own));
        let before = time(own).unwrap();
        let mut x = 1_u64;
        while time(own).unwrap() == before {
            x = std::hint::black_box(x.wrapping_mul(3));
        }
        assert_eq!(state(u32::MAX), "gone");
    }
}
