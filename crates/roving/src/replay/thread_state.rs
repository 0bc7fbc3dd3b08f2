//! Whether threads sleep, as the system has it.

use std::fs;
use std::path::Path;

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
    // Not so one that waits for the disk, or for memory.
    Some(state(Path::new(at))? == 'S')
}

/// Whether other threads of the process than the calling one run, wait for a core, for the disk or
/// for memory. Not known is no.
#[inline]
pub(super) fn others_are_at_work() -> bool {
    let me = here();
    let me = Path::new(&me);
    // That file is in a directory of the thread's own, which is beside those of the others.
    let Some(Ok(threads)) = me.ancestors().nth(2).map(fs::read_dir) else {
        return false;
    };
    let files = threads.flatten().map(|thread| thread.path().join("stat"));
    files
        .filter(|at| at != me)
        .any(|at| matches!(state(&at), Some('R' | 'D')))
}

/// The letter that stands for what a thread does.
#[inline]
fn state(at: &Path) -> Option<char> {
    let text = fs::read_to_string(at).ok()?;
    // After the name, which may hold anything.
    let (_, after) = text.rsplit_once(')')?;
    after.trim_start().chars().next()
}

#[cfg(all(test, target_os = "linux", not(miri)))]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::mpsc;
    use std::thread;

    use super::{here, others_are_at_work, sleeps};

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

    /// Without that thread there may be others, of other tests.
    #[test]
    fn a_thread_that_runs_is_at_work() {
        let ends = AtomicBool::new(false);
        thread::scope(|s| {
            s.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
            let seen = (0..1000).filter(|_| others_are_at_work()).count();
            ends.store(true, Ordering::Relaxed);
            assert!(seen > 990, "{seen} of 1000");
        });
    }
}
