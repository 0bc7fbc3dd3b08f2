//! Where a run is checkpointed, and from where it resumes: what a user says.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files::LATEST;

/// The checkpoints of a [`Bag`](crate::Bag) or a [`Network`](crate::Network): consistent cuts
/// through all ranks, in a directory that all ranks see. A cut has the tasks still to do and the
/// result so far; or the states of the processes and the messages between them.
///
/// A cut counts when all of it is on the disk; then older ones are removed. When the run has ended,
/// none is left. A cut that cannot be written ends the run with an error.
///
/// A directory is for one run at a time. A run that is given another's takes it over: the other one
/// ends with an error when it writes its next cut. So a rank that was stopped, and comes back when
/// its run has been started anew, does no harm. Each bag and each network of a program needs a
/// directory of its own: a bag that is given another's resumes from the other's cuts, if types and
/// [words](Checkpoints::program) are the same.
///
/// ```
/// use roving_dist::Checkpoints;
/// use std::time::Duration;
///
/// let checkpoints = Checkpoints::to("/scratch/search")
///     .every(Duration::from_secs(300))
///     .program("n = 19")
///     .resume(true);
/// # let _ = checkpoints;
/// ```
#[derive(Clone, Debug)]
pub struct Checkpoints {
    pub(super) directory: PathBuf,
    pub(super) every: Duration,
    pub(super) program: String,
    pub(super) resume: bool,
}

/// How often, unless told otherwise.
const EVERY: Duration = Duration::from_secs(60);

impl Checkpoints {
    /// Creates checkpoints in this directory, once a minute. The directory is created if it does
    /// not exist.
    ///
    /// ```
    /// let checkpoints = roving_dist::Checkpoints::to("/scratch/search");
    /// # let _ = checkpoints;
    /// ```
    pub fn to(directory: impl AsRef<Path>) -> Checkpoints {
        Checkpoints {
            directory: directory.as_ref().to_owned(),
            every: EVERY,
            program: String::new(),
            resume: false,
        }
    }

    /// Sets how long after a cut is on the disk the next one begins. [`Duration::MAX`] is never.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let checkpoints = roving_dist::Checkpoints::to("x").every(Duration::from_secs(10));
    /// # let _ = checkpoints;
    /// ```
    #[must_use]
    pub fn every(mut self, every: Duration) -> Checkpoints {
        self.every = every;
        self
    }

    /// Names the program of the run: a run with another name does not resume from this one's cuts,
    /// and says so. The types of a bag's tasks and result are compared in any case, and a network's
    /// processes and channels; but nobody compares the input. So name it here: a run that resumes
    /// from another input's cut returns what comes of that one. The number of ranks may be another:
    /// each part of a cut goes to one of them.
    ///
    /// ```
    /// let checkpoints = roving_dist::Checkpoints::to("x").program("queens 14");
    /// # let _ = checkpoints;
    /// ```
    #[must_use]
    pub fn program(mut self, words: impl Into<String>) -> Checkpoints {
        self.program = words.into();
        self
    }

    /// Sets whether to resume from the last cut in the directory, if there is one. Otherwise cuts
    /// that are there are removed, and the run begins at its beginning.
    ///
    /// ```
    /// let checkpoints = roving_dist::Checkpoints::to("x").resume(true);
    /// # let _ = checkpoints;
    /// ```
    #[must_use]
    pub fn resume(mut self, resume: bool) -> Checkpoints {
        self.resume = resume;
        self
    }

    /// Returns whether a checkpoint is in the directory, to be resumed from or refused.
    ///
    /// ```
    /// let directory = std::env::temp_dir().join("roving-no-such-directory");
    /// assert!(!roving_dist::Checkpoints::to(directory).is_there());
    /// ```
    pub fn is_there(&self) -> bool {
        self.directory.join(LATEST).exists()
    }
}
