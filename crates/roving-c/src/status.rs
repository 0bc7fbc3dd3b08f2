//! The result of every call: a code, its text, and what exactly was wrong.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{self, AssertUnwindSafe};

use roving::raw::panics;
use roving::{BuildError, CancelledError};

/// `roving_status` of the header, by number.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    Ok,
    Argument,
    Build,
    Panic,
    Cancelled,
    NotAWorker,
    Version,
    Memory,
}

/// All of them, with what they mean.
const TEXTS: [(Status, &CStr); 8] = [
    (Status::Ok, c"no error"),
    (
        Status::Argument,
        c"an argument is out of range, or null where it must not be",
    ),
    (Status::Build, c"the pool cannot be built"),
    (
        Status::Panic,
        c"a panic of Rust code ended the call, after all that it had spawned",
    ),
    (
        Status::Cancelled,
        c"a request to stop came before all was done",
    ),
    (
        Status::NotAWorker,
        c"the calling thread is no worker of the pool in question",
    ),
    (
        Status::Version,
        c"roving.h and the library are of different versions: build against the header that was \
          installed with it",
    ),
    (Status::Memory, c"there is no memory"),
];

/// Why a call failed, for the thread that made it.
pub(crate) struct CallFailure {
    pub(crate) status: Status,
    pub(crate) detail: String,
}

impl CallFailure {
    pub(crate) fn argument(detail: impl Into<String>) -> CallFailure {
        let status = Status::Argument;
        let detail = detail.into();
        CallFailure { status, detail }
    }

    pub(crate) fn of(status: Status) -> CallFailure {
        let (_, text) = TEXTS[status as usize];
        let detail = text.to_string_lossy().into_owned();
        CallFailure { status, detail }
    }
}

impl From<BuildError> for CallFailure {
    fn from(error: BuildError) -> CallFailure {
        let status = Status::Build;
        let detail = error.to_string();
        CallFailure { status, detail }
    }
}

impl From<CancelledError> for CallFailure {
    fn from(_: CancelledError) -> CallFailure {
        CallFailure::of(Status::Cancelled)
    }
}

/// There is no memory of so many bytes.
pub(crate) struct NoMemory(pub(crate) usize);

impl NoMemory {
    /// Ends the call, also from within what other workers do for it.
    #[cold]
    pub(crate) fn unwind(self) -> ! {
        panic::resume_unwind(Box::new(self))
    }
}

thread_local! {
    /// The last failure of a call of this thread. A thread that ends drops it, maybe before others
    /// that call: no detail is kept of what fails from there on.
    static DETAIL: RefCell<CString> = RefCell::default();
}

/// Does what a call is for. Nothing unwinds out of it into the caller, which is not Rust: a panic
/// becomes a code, and so does a request to stop that unwinds.
pub(crate) fn guard(f: impl FnOnce() -> Result<(), CallFailure>) -> Status {
    let failure = match panic::catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(())) => return Status::Ok,
        Ok(Err(failure)) => failure,
        Err(payload) => unwound(payload),
    };
    let CallFailure { status, detail } = failure;
    let detail = CString::new(detail.replace('\0', "\\0")).unwrap_or_default();
    let _ = DETAIL.try_with(|last| last.replace(detail));
    status
}

fn unwound(payload: Box<dyn Any + Send>) -> CallFailure {
    if payload.is::<CancelledError>() {
        return CallFailure::of(Status::Cancelled);
    }
    if let Some(NoMemory(bytes)) = payload.downcast_ref() {
        let status = Status::Memory;
        let detail = format!("there is no memory of {bytes} bytes");
        return CallFailure { status, detail };
    }
    let text = panics::text(&*payload);
    let detail = text.unwrap_or("a panic without a message").to_owned();
    panics::drop_quietly(payload);
    let status = Status::Panic;
    CallFailure { status, detail }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn roving_error_text(status: c_int) -> *const c_char {
    let known = TEXTS.iter().find(|(known, _)| *known as c_int == status);
    known
        .map_or(c"no code of roving's", |(_, text)| text)
        .as_ptr()
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn roving_error_detail() -> *const c_char {
    // Valid until this thread's next failure.
    let detail = DETAIL.try_with(|detail| detail.borrow().as_ptr());
    detail.unwrap_or(c"".as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_stand_in_the_order_of_the_codes() {
        for (at, (status, text)) in TEXTS.iter().enumerate() {
            assert_eq!(*status as usize, at);
            assert!(!text.is_empty());
        }
    }

    #[test]
    fn each_end_of_a_call_has_its_code_and_its_detail() {
        let detail = || {
            // SAFETY: the string is this thread's, and stays until its next failure.
            let text = unsafe { CStr::from_ptr(roving_error_detail()) };
            text.to_str().unwrap().to_owned()
        };
        assert_eq!(guard(|| Ok(())), Status::Ok);
        assert_eq!(guard(|| panic!("too {}", "far")), Status::Panic);
        assert_eq!(detail(), "too far");
        assert_eq!(
            guard(|| panic::resume_unwind(Box::new(CancelledError))),
            Status::Cancelled
        );
        assert_eq!(
            guard(|| Err(CallFailure::argument("a\0b"))),
            Status::Argument
        );
        assert_eq!(detail(), "a\\0b");
        let unbuilt = guard(|| {
            roving::Pool::new(0)?;
            Ok(())
        });
        assert_eq!(unbuilt, Status::Build);
        assert!(detail().starts_with("0 workers"));
    }

    #[test]
    fn codes_that_nobody_gave_have_a_text_too() {
        // SAFETY: a constant.
        let text = unsafe { CStr::from_ptr(roving_error_text(99)) };
        assert_eq!(text, c"no code of roving's");
    }
}
