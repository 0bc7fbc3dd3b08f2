//! Where a bag is checkpointed, and from where it resumes.

use std::hash::{BuildHasher as _, RandomState};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Bag;
use super::cut::Plan;
use super::files::{Files, LATEST, Part};
use super::format::{Cut, Identity};
use super::state::Shared;
use crate::error::Error;

/// The checkpoints of a [`Bag`]: consistent cuts through all ranks, with the tasks still to do and
/// the result so far, in a directory that all ranks see. A cut counts when all of it is on the
/// disk; then older ones are removed. When the run has ended, none is left. A cut that cannot be
/// written ends the run with an error.
///
/// A directory is for one run at a time. A run that is given another's takes it over: the other one
/// ends with an error when it writes its next cut. So a rank that was stopped, and comes back when
/// its run has been started anew, does no harm. Each bag of a program needs a directory of its own:
/// a bag that is given another's resumes from the other's cuts, if types and
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
    directory: PathBuf,
    every: Duration,
    program: String,
    resume: bool,
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
    /// and says so. The types of tasks and result are compared in any case. The number of ranks may
    /// be another: each part of a cut goes to one of them.
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
    /// that are there are removed, and the run begins at its roots.
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

/// The parts of a cut that a rank goes on with, each with the file that it stands in.
pub(super) type Loaded = Vec<(PathBuf, Part)>;

impl Bag<'_> {
    /// Sees to it that all ranks run the same, and finds what to resume from; none to begin at the
    /// roots.
    pub(super) fn open_checkpoints(
        &self,
        types: [&str; 2],
    ) -> Result<(Option<Plan>, Option<Loaded>), Error> {
        let checkpoints = self.checkpoints.as_ref();
        let identity = Identity {
            program: checkpoints.map(|checkpoints| checkpoints.program.clone()),
            types: types.map(str::to_owned),
        };
        let Some(checkpoints) = checkpoints else {
            return self.same(Ok(identity)).map(|()| (None, None));
        };
        let (rank, ranks) = (self.world.rank(), self.world.ranks());
        let reads = rank == 0 && checkpoints.resume;
        let opened = Files::new(&checkpoints.directory, &identity, rank, ranks).and_then(|files| {
            // A stranger's are left as they are, so this comes before the directory is claimed.
            if reads {
                files.last()?;
            }
            Ok(files)
        });
        self.same(opened.as_ref().map(|_| identity).map_err(Clone::clone))?;
        let mut files = opened.map_err(|error| self.world.fail(error))?;
        let claimed = (|| {
            if rank > 0 {
                return Ok((0, None));
            }
            let run = RandomState::new().hash_one(std::process::id());
            files.claim(run)?;
            // Only now: until then another run may have committed a cut.
            let last = if reads { files.last()? } else { None };
            Ok((run, last))
        })();
        let claims: Vec<(u64, Option<Cut>)> = self.agree(claimed)?;
        let (run, last) = claims[0];
        files.follow(run, last);
        let parts = match last {
            Some(cut) => files.load(cut).map(Some),
            // All ranks run the same: what is there may go.
            None if rank == 0 && !checkpoints.resume => files.clear().map(|()| None),
            None => Ok(None),
        };
        let loaded: Vec<()> = self.agree(parts.as_ref().map(drop).map_err(Clone::clone))?;
        debug_assert_eq!(loaded.len(), ranks);
        let mut plan = Plan {
            files: Arc::new(files),
            every: checkpoints.every,
            next: None,
            writers: Arc::default(),
        };
        if rank == 0 {
            plan.wait_for_next();
        }
        Ok((Some(plan), parts.ok().flatten()))
    }

    /// Sees to it that all ranks run the same.
    fn same(&self, own: Result<Identity, String>) -> Result<(), Error> {
        let all = self.agree(own)?;
        match all.iter().position(|identity| *identity != all[0]) {
            None => Ok(()),
            Some(rank) => {
                let what = format_args!(
                    "runs another bag here, {}, and rank 0 {}: the program must be the same on all \
                     ranks",
                    all[rank], all[0]
                );
                Err(Error::at(rank, self.world.ranks(), what))
            }
        }
    }

    /// Tells all ranks this one's outcome; an error of any is everybody's.
    fn agree<V: Serialize + for<'de> Deserialize<'de>>(
        &self,
        outcome: Result<V, String>,
    ) -> Result<Vec<V>, Error> {
        let failed = |error: postcard::Error| self.world.fail(format_args!("agreeing: {error}"));
        let bytes = postcard::to_stdvec(&outcome).map_err(failed)?;
        let mut values = Vec::new();
        for (rank, bytes) in self.world.all_gather(&bytes)?.iter().enumerate() {
            let outcome: Result<V, String> = postcard::from_bytes(bytes).map_err(failed)?;
            let value = outcome.map_err(|error| Error::at(rank, self.world.ranks(), error))?;
            values.push(value);
        }
        Ok(values)
    }

    /// After the end: what is on the disk is not needed any more.
    pub(super) fn close_checkpoints(&self, shared: &Arc<Shared>) -> Result<(), Error> {
        shared.wait_for_writers();
        let files = shared.with(|state| state.cuts.files());
        if let (Some(files), 0) = (files, self.world.rank()) {
            files.close().map_err(|error| self.world.fail(error))?;
        }
        Ok(())
    }
}
