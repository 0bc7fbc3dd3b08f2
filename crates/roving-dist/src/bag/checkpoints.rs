//! Where a bag is checkpointed, and from where it resumes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Bag;
use super::cut::Plan;
use super::files::{Files, Part, checksum};
use super::state::Shared;
use crate::error::Error;

/// The checkpoints of a [`Bag`]: consistent cuts through all ranks, with the tasks still to do and
/// the result so far, in a directory that all ranks see. A cut counts when all of it is on the
/// disk; then older ones are removed. When the run has ended, none is left. A cut that cannot be
/// written ends the run with an error.
///
/// A directory is for one run at a time: nothing keeps a second one out that is given the same.
/// Each bag of a program needs its own. A bag that is given another's resumes from the other's
/// cuts, if types and [words](Checkpoints::program) are the same.
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
    /// and says so. The types of tasks and result are compared in any case, and so is the number of
    /// ranks.
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
}

/// A rank's message to the others before a run.
#[derive(Serialize, Deserialize)]
struct Opening {
    fingerprint: u64,
    /// At rank 0: the cut to resume from.
    last: Option<u32>,
}

impl Bag<'_> {
    /// Sees to it that all ranks run the same, and finds what to resume from.
    pub(super) fn open_checkpoints(
        &self,
        types: &[&str],
    ) -> Result<(Option<Plan>, Option<Part>), Error> {
        let words = self
            .checkpoints
            .as_ref()
            .map(|checkpoints| &*checkpoints.program);
        let fingerprint = fingerprint(types, words);
        let (rank, ranks) = (self.world.rank(), self.world.ranks());
        let opened = self.checkpoints.as_ref().map(|checkpoints| {
            let files = Files::new(&checkpoints.directory, fingerprint, rank, ranks)?;
            let mut last = None;
            if rank == 0 && checkpoints.resume {
                last = files.last()?;
            }
            Ok((files, last))
        });
        let opened = opened.transpose();
        let last = opened
            .as_ref()
            .map(|opened| opened.as_ref().and_then(|(_, last)| *last));
        let opening = last.map(|last| Opening { fingerprint, last });
        let openings: Vec<Opening> = self.agree(opening.map_err(Clone::clone))?;
        for (rank, opening) in openings.iter().enumerate() {
            if opening.fingerprint != fingerprint {
                let what = "runs another bag here: the program must be the same on all ranks";
                return Err(Error::at(rank, ranks, what));
            }
        }
        let (Ok(Some((mut files, _))), Some(checkpoints)) = (opened, &self.checkpoints) else {
            return Ok((None, None));
        };
        let last = openings[0].last;
        let part = match last {
            Some(number) => files.load(number).map(Some),
            // All ranks run the same: what is there may go.
            None if rank == 0 && !checkpoints.resume => files.clear().map(|()| None),
            None => Ok(None),
        };
        let loaded: Vec<()> = self.agree(part.as_ref().map(drop).map_err(Clone::clone))?;
        debug_assert_eq!(loaded.len(), ranks);
        files.follow(last.unwrap_or(0));
        let mut plan = Plan {
            files: Arc::new(files),
            every: checkpoints.every,
            next: None,
            writers: Arc::default(),
        };
        if rank == 0 {
            plan.wait_for_next();
        }
        Ok((Some(plan), part.ok().flatten()))
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
            files.clear().map_err(|error| self.world.fail(error))?;
        }
        Ok(())
    }
}

/// Of what is run: 64 bits that differ where it does.
fn fingerprint(types: &[&str], program: Option<&str>) -> u64 {
    let mut words = types.join("\n");
    if let Some(program) = program {
        words.push('\n');
        words.push_str(program);
    }
    checksum(words.as_bytes())
}
