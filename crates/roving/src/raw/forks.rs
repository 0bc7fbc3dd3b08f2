//! Children of `fork`: they have none of the threads that there were.
//!
//! ```
//! let mark = roving::raw::forks::ProcessMark::here();
//! assert!(mark.is_here(), "nobody has forked in between");
//! ```

use crate::machine::os;

/// The process in which it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessMark {
    forks: usize,
}

impl ProcessMark {
    /// Marks this process. From the first mark on, forks are counted.
    #[must_use]
    pub fn here() -> ProcessMark {
        os::count_forks();
        let forks = os::forks();
        ProcessMark { forks }
    }

    /// Whether the calling process is that one, and no forked child of it. One load.
    #[must_use]
    pub fn is_here(self) -> bool {
        os::forks() == self.forks
    }
}
