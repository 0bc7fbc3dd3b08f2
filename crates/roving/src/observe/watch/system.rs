//! The system's view of a thread: read from files on Linux, unknown elsewhere.

use std::fs;

use crate::machine::faults::{self, Point};

fn file(number: u32, name: &str) -> Option<String> {
    faults::ask(Point::ThreadState).ok()?;
    fs::read_to_string(format!("/proc/self/task/{number}/{name}")).ok()
}

/// The time that the thread has had a processor, in nanoseconds (or in some other unit that grows).
pub(super) fn time(number: u32) -> Option<u64> {
    if let Some(account) = file(number, "schedstat") {
        return account.split_whitespace().next()?.parse().ok();
    }
    let account = file(number, "stat")?;
    let mut fields = after_name(&account)?.skip(11);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(user + system)
}

/// Whether the thread runs, or would if it got a processor.
pub(super) fn is_runnable(number: u32) -> Option<bool> {
    let account = file(number, "stat")?;
    Some(after_name(&account)?.next()? == "R")
}

/// The fields of the file `stat` behind the name, which may hold anything.
fn after_name(account: &str) -> Option<impl Iterator<Item = &str>> {
    Some(account.rsplit_once(')')?.1.split_whitespace())
}

/// The state of the thread, in a few words.
pub(super) fn state(number: u32) -> String {
    let account = file(number, "stat");
    let letter = account
        .as_deref()
        .and_then(|account| after_name(account)?.next());
    let word = match letter {
        None => return "gone".to_owned(),
        Some("R") => "running",
        Some("S") => "asleep",
        Some("D") => "in a device",
        Some("T" | "t") => "stopped",
        Some(_) => "ending",
    };
    match place(number) {
        Some(place) => format!("{word} in {place}"),
        None => word.to_owned(),
    }
}

/// Where in the system the thread is: a function of the kernel, or else the number of a system
/// call.
fn place(number: u32) -> Option<String> {
    let function = file(number, "wchan").filter(|name| !name.is_empty() && name != "0");
    function.or_else(|| {
        let call = file(number, "syscall")?;
        let call = call.split_whitespace().next()?;
        call.parse::<i64>().ok()?;
        // Compared as text, because the width of a call's number differs between processors.
        #[cfg(target_os = "linux")]
        if call == libc::SYS_futex.to_string() {
            return Some("futex".to_owned());
        }
        Some(format!("system call {call}"))
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::machine::os;

    #[test]
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
