//! Panics that end here: their payloads, whose drop may panic as well, and their text.

use std::any::Any;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::process;

/// How many payloads in a row may panic when they are dropped.
const PAYLOADS_MAX: usize = 16;

/// Drops a value whose drop may panic. Such a panic ends here, and so do those of the payloads that
/// are dropped for it; the panic hook has told of each.
pub fn drop_quietly<T>(value: T) {
    let mut outcome = panic::catch_unwind(AssertUnwindSafe(|| drop(value)));
    for _ in 0..PAYLOADS_MAX {
        match outcome {
            Ok(()) => return,
            Err(payload) => {
                outcome = panic::catch_unwind(AssertUnwindSafe(|| drop(payload)));
            }
        }
    }
    // One whose payloads go on panicking is beyond help, and leaking it is safe.
    mem::forget(outcome);
}

/// A result that nobody gets if what comes beside it panics: then a panic of its drop ends here.
pub(crate) struct Quiet<T>(pub(crate) Option<T>);

impl<T> Drop for Quiet<T> {
    #[inline]
    fn drop(&mut self) {
        if mem::needs_drop::<T>() {
            if let Some(value) = self.0.take() {
                drop_quietly(value);
            }
        }
    }
}

/// Calls `f`, and returns `kept` with what that returns. If `f` panics, nobody gets `kept`: then a
/// panic of its drop ends here.
#[inline(always)]
pub(crate) fn beside<T, R>(kept: T, f: impl FnOnce() -> R) -> (T, R) {
    if const { !mem::needs_drop::<T>() } {
        return (kept, f());
    }
    let mut kept = Quiet(Some(kept));
    let result = f();
    (kept.0.take().expect("nobody else takes it"), result)
}

/// Calls `f`, foreign code whose panic has nobody to go to: the panic hook has told it.
pub fn run_quietly(f: impl FnOnce()) {
    match panic::catch_unwind(AssertUnwindSafe(f)) {
        // The model checker panics with a fault that it has found.
        Err(payload) if cfg!(loom) => panic::resume_unwind(payload),
        outcome => drop_quietly(outcome),
    }
}

/// Calls `f`, foreign code, and says what it panicked with, if that is a text. The panic ends here,
/// and so do those in the drop of its payload.
///
/// # Errors
///
/// `f` panicked, with this text.
pub fn contain<R>(f: impl FnOnce() -> R) -> Result<R, Option<String>> {
    panic::catch_unwind(AssertUnwindSafe(f)).map_err(|payload| {
        let text = text(&*payload).map(str::to_owned);
        drop_quietly(payload);
        text
    })
}

/// The message of a panic, if it is text.
#[must_use]
pub fn text(payload: &(dyn Any + Send)) -> Option<&str> {
    let text = payload.downcast_ref::<&str>().copied();
    text.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}

/// Calls `f`, in which other threads use the caller's frame. Rather than let the frame go under
/// their hands, a panic of `f` ends the process; nothing that `f` calls should panic.
pub(crate) fn with_frame_lent<R>(f: impl FnOnce() -> R) -> R {
    struct AbortOnUnwind;
    impl Drop for AbortOnUnwind {
        fn drop(&mut self) {
            eprintln!("roving: a panic while other threads use the frame: a defect of roving");
            process::abort();
        }
    }
    let guard = AbortOnUnwind;
    let result = f();
    mem::forget(guard);
    result
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::panic;

    use super::{PAYLOADS_MAX, contain, text};

    thread_local! {
        static PANICS: Cell<usize> = const { Cell::new(0) };
    }

    /// Its drop panics with another one of its kind, as often as [`PANICS`] says. It has no size:
    /// one that is forgotten leaks nothing.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            if let Some(left) = PANICS.get().checked_sub(1) {
                PANICS.set(left);
                panic::panic_any(Bomb);
            }
        }
    }

    #[test]
    fn neither_a_panic_nor_the_drop_of_its_payload_gets_out() {
        assert_eq!(contain(|| 7), Ok(7));
        assert_eq!(
            contain(|| panic!("a text")),
            Err::<(), _>(Some("a text".into()))
        );
        assert_eq!(
            contain(|| panic!("a {}", 2)),
            Err::<(), _>(Some("a 2".into()))
        );
        for (panics, left) in [(0, 0), (1, 0), (2, 0), (PAYLOADS_MAX + 3, 2)] {
            PANICS.set(panics);
            assert_eq!(contain(|| panic::panic_any(Bomb)), Err::<(), _>(None));
            // The last one that was tried is forgotten.
            assert_eq!(PANICS.replace(0), left);
        }
    }

    #[test]
    fn a_panic_says_what_it_is() {
        assert_eq!(text(&"one"), Some("one"));
        assert_eq!(text(&"two".to_owned()), Some("two"));
        assert_eq!(text(&3), None);
    }
}
