//! Why a pool could not be built.

use std::error::Error;
use std::fmt;
use std::io;

/// A pool could not be built.
///
/// ```
/// use rayon_core::ThreadPoolBuilder;
///
/// ThreadPoolBuilder::new().build_global().unwrap();
/// let error = ThreadPoolBuilder::new().build_global().unwrap_err();
/// assert!(error.to_string().ends_with("has already been initialized."));
/// ```
#[derive(Debug)]
pub struct ThreadPoolBuildError {
    reason: Reason,
}

#[derive(Debug)]
pub(super) enum Reason {
    GlobalPoolExists,
    CurrentThreadInPool,
    Pool(roving::BuildError),
}

impl ThreadPoolBuildError {
    /// The system's error about a thread.
    fn io_error(&self) -> Option<&io::Error> {
        match &self.reason {
            Reason::Pool(error) => error.source()?.downcast_ref(),
            _ => None,
        }
    }

    pub(crate) fn is_unsupported(&self) -> bool {
        self.io_error()
            .is_some_and(|error| error.kind() == io::ErrorKind::Unsupported)
    }
}

impl From<Reason> for ThreadPoolBuildError {
    fn from(reason: Reason) -> ThreadPoolBuildError {
        ThreadPoolBuildError { reason }
    }
}

impl From<roving::BuildError> for ThreadPoolBuildError {
    fn from(error: roving::BuildError) -> ThreadPoolBuildError {
        Reason::Pool(error).into()
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.reason, self.io_error()) {
            (Reason::GlobalPoolExists, _) => {
                f.write_str("The global thread pool has already been initialized.")
            }
            (Reason::CurrentThreadInPool, _) => {
                f.write_str("The current thread is already part of another thread pool.")
            }
            // Programs match on this text, which is the system's alone in Rayon.
            (Reason::Pool(_), Some(error)) => error.fmt(f),
            (Reason::Pool(error), None) => error.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.io_error().map(|error| error as _)
    }
}
