//! The checkpoints of a run: begun by all ranks together, written by threads beside it, and removed
//! at its end.

use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::directory::Checkpoints;
use super::files::{Files, Which};
use super::format::{Cut, Identity};
use crate::error::Error;
use crate::unwind::{contain, lock};
use crate::world::World;
use crate::world::link::Link;

/// The parts of a cut that a rank goes on with, each with the file that it stands in.
pub(crate) type Loaded<B> = Vec<(PathBuf, B)>;

/// How the cuts of a run are made.
pub(crate) struct CutPlan {
    pub(crate) files: Arc<Files>,
    pub(crate) every: Duration,
    /// At rank 0: when the next cut is due; none while one is being made, or if there is to be
    /// none.
    pub(crate) next: Option<Instant>,
    pub(crate) writers: Writers,
}

impl CutPlan {
    /// At rank 0: no cut is being made; the next one comes after a while, or never if that is too
    /// long for a clock.
    pub(crate) fn wait_for_next(&mut self) {
        self.next = Instant::now().checked_add(self.every);
    }

    /// At rank 0: whether the next cut is due. From now on one is being made.
    pub(crate) fn take_due(&mut self, now: Instant) -> bool {
        self.next.take_if(|next| *next <= now).is_some()
    }
}

/// Threads that write.
#[derive(Clone, Default)]
pub(crate) struct Writers(Arc<Mutex<Vec<JoinHandle<()>>>>);

impl Writers {
    /// Calls `f` by a thread of its own; an error or a panic of it ends the run.
    pub(crate) fn write(
        &self,
        link: &Arc<Link>,
        what: &str,
        f: impl FnOnce() -> Result<(), String> + Send + 'static,
    ) {
        let failing = Arc::clone(link);
        let thread = thread::Builder::new()
            .name(format!("roving-{what}"))
            .spawn(move || {
                let error = match contain(f) {
                    Ok(Ok(())) => return,
                    Ok(Err(error)) => error,
                    Err(what) => format!("writing a checkpoint panicked: {what}"),
                };
                failing.fail(error);
            });
        match thread {
            Ok(thread) => {
                let mut writers = lock(&self.0);
                writers.retain(|writer| !writer.is_finished());
                writers.push(thread);
            }
            Err(error) => {
                link.fail(format_args!("no thread to write a checkpoint: {error}"));
            }
        }
    }

    /// Waits for all that is being written.
    pub(crate) fn wait(&self) {
        loop {
            let writer = lock(&self.0).pop();
            match writer {
                // It has reported what went wrong, a panic too.
                Some(writer) => drop(writer.join()),
                None => return,
            }
        }
    }
}

/// Sees to it that all ranks run the same, a bag or a network, and finds what to resume from; none
/// to begin at the beginning.
pub(crate) fn open<B: DeserializeOwned>(
    world: &World,
    checkpoints: Option<&Checkpoints>,
    noun: &str,
    runs: String,
    which: Which,
) -> Result<(Option<CutPlan>, Option<Loaded<B>>), Error> {
    let identity = Identity {
        program: checkpoints.map(|checkpoints| checkpoints.program.clone()),
        runs,
    };
    let Some(checkpoints) = checkpoints else {
        return same(world, noun, Ok(identity)).map(|()| (None, None));
    };
    let (rank, ranks) = (world.rank(), world.ranks());
    let reads = rank == 0 && checkpoints.resume;
    let opened = Files::new(&checkpoints.directory, &identity, rank, ranks).and_then(|files| {
        // A stranger's are left as they are, so this comes before the directory is claimed.
        if reads {
            files.last()?;
        }
        Ok(files)
    });
    same(
        world,
        noun,
        opened.as_ref().map(|_| identity).map_err(Clone::clone),
    )?;
    let mut files = opened.map_err(|error| world.fail(error))?;
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
    let claims: Vec<(u64, Option<Cut>)> = agree(world, claimed)?;
    let (run, last) = claims[0];
    files.follow(run, last);
    let parts = files.see_claim().and_then(|()| match last {
        Some(cut) => files.load(cut, which).map(Some),
        // All ranks run the same: what is there may go.
        None if rank == 0 && !checkpoints.resume => files.clear().map(|()| None),
        None => Ok(None),
    });
    let loaded: Vec<()> = agree(world, parts.as_ref().map(drop).map_err(Clone::clone))?;
    debug_assert_eq!(loaded.len(), ranks);
    let mut plan = CutPlan {
        files: Arc::new(files),
        every: checkpoints.every,
        next: None,
        writers: Writers::default(),
    };
    if rank == 0 {
        plan.wait_for_next();
    }
    Ok((Some(plan), parts.ok().flatten()))
}

/// Sees to it that all ranks run the same.
fn same(world: &World, noun: &str, own: Result<Identity, String>) -> Result<(), Error> {
    let all = agree(world, own)?;
    match all.iter().position(|identity| *identity != all[0]) {
        None => Ok(()),
        Some(rank) => {
            let what = format!(
                "runs another {noun} here, {}, and rank 0 {}: the program must be the same on all \
                 ranks",
                all[rank], all[0]
            );
            Err(Error::at(rank, world.ranks(), what))
        }
    }
}

/// Tells all ranks this one's outcome; an error of any is everybody's.
fn agree<V: Serialize + for<'de> Deserialize<'de>>(
    world: &World,
    outcome: Result<V, String>,
) -> Result<Vec<V>, Error> {
    let failed = |error: postcard::Error| world.fail(format_args!("agreeing: {error}"));
    let bytes = postcard::to_stdvec(&outcome).map_err(failed)?;
    let mut values = Vec::new();
    for (rank, bytes) in world.all_gather(&bytes)?.iter().enumerate() {
        let outcome: Result<V, String> = postcard::from_bytes(bytes).map_err(failed)?;
        let value = outcome.map_err(|error| Error::at(rank, world.ranks(), error))?;
        values.push(value);
    }
    Ok(values)
}

/// After the end: what is on the disk is not needed any more.
pub(crate) fn close(world: &World, files: &Files) -> Result<(), Error> {
    match world.rank() {
        0 => files.close().map_err(|error| world.fail(error)),
        _ => Ok(()),
    }
}
