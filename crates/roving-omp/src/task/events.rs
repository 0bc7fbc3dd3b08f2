//! Under `ROVING_WATCH`, tasks with `detach` whose event does not come are named.

use std::ffi::{CStr, c_void};
use std::mem;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use roving::raw;

use super::body::Code;
use super::node::LinkedTask;

/// Tasks whose event is to come, and the code of each.
static EXPECTED: Mutex<Vec<(Weak<LinkedTask>, Code)>> = Mutex::new(Vec::new());

fn expected() -> MutexGuard<'static, Vec<(Weak<LinkedTask>, Code)>> {
    EXPECTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A task with an event begins.
pub(crate) fn expect(node: &Arc<LinkedTask>, code: Code) {
    if raw::reports::watch_patience().is_some() {
        let mut all = expected();
        all.retain(|(node, _)| node.strong_count() > 0);
        all.push((Arc::downgrade(node), code));
    }
}

/// A wait that is watched, as long as this is there.
pub(crate) struct WatchedWait {
    _until_dropped: Sender<()>,
}

/// A thread is about to sleep until tasks have ended that stand on no stack. If that lasts, those
/// are named whose event alone is missing.
pub(crate) fn watch() -> Option<WatchedWait> {
    let patience = raw::reports::watch_patience()?;
    let (held, dropped) = channel();
    let watch = move || {
        if dropped.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
            tell(patience);
        }
    };
    let name = thread::Builder::new().name("openmp-watch".to_owned());
    name.spawn(watch).ok()?;
    Some(WatchedWait {
        _until_dropped: held,
    })
}

/// Names each task once.
fn tell(patience: Duration) {
    let mut missing = Vec::new();
    expected().retain(|(node, code)| {
        let is_missing = node.upgrade().is_some_and(|node| node.lacks_event_alone());
        if is_missing {
            missing.push(place(*code));
        }
        !is_missing
    });
    if !missing.is_empty() {
        raw::reports::tell_standstill(&format!(
            "roving-omp: a thread has waited {patience:?} for tasks whose event has not come: their \
             code has run, and nobody has called omp_fulfill_event for them.\n  {}\n",
            missing.join("\n  ")
        ));
    }
}

/// Where code is, as `addr2line -e` takes it.
fn place(code: Code) -> String {
    // SAFETY: null in all places.
    let mut found: libc::Dl_info = unsafe { mem::zeroed() };
    let at = code as *const c_void;
    // SAFETY: there is room for what it finds.
    if unsafe { libc::dladdr(at, &mut found) } == 0 || found.dli_fname.is_null() {
        return format!("a task with detach, whose code is at {at:p}");
    }
    // SAFETY: a string that stays as long as the file is loaded, which the code is in.
    let file = unsafe { CStr::from_ptr(found.dli_fname) }.to_string_lossy();
    let offset = at.addr() - found.dli_fbase.addr();
    format!("a task with detach, whose code is at {offset:#x} of {file}")
}
