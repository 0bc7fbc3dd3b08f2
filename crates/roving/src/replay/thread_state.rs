//! Whether a thread sleeps, as the system has it.

use std::fs;

/// Returns where the system says it of the calling thread; empty where it does not.
#[inline]
pub(super) fn here() -> String {
    let here = match cfg!(all(target_os = "linux", not(miri))) {
        true => fs::read_link("/proc/thread-self").ok(),
        false => None,
    };
    here.map_or_else(String::new, |link| format!("/proc/{}/stat", link.display()))
}

/// Whether the thread sleeps of which that place says it; `None` if that is not known.
#[inline]
pub(super) fn sleeps(at: &str) -> Option<bool> {
    if at.is_empty() {
        return None;
    }
    let text = fs::read_to_string(at).ok()?;
    // After the name, which may hold anything.
    let (_, after) = text.rsplit_once(')')?;
    // Not so one that waits for the disk, or for memory.
    Some(after.trim_start().starts_with('S'))
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::{here, sleeps};

    #[test]
    fn a_thread_that_waits_sleeps_and_one_that_asks_does_not() {
        assert_eq!(sleeps(&here()), Some(false));
        let (there, is_there) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let waits = thread::spawn(move || {
            there.send(here()).unwrap();
            let _ = ends.recv();
        });
        let state = is_there.recv().unwrap();
        while sleeps(&state) != Some(true) {
            thread::yield_now();
        }
        drop(end);
        waits.join().unwrap();
        // The system may still show a thread that has been joined.
        while sleeps(&state).is_some() {
            thread::yield_now();
        }
    }
}
