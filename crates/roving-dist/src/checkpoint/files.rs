//! Cuts on the disk.
//!
//! ```text
//! DIR/run                            which run writes here
//! DIR/cut-7-RUN/rank-0 … rank-3      each rank's part
//! DIR/latest                         which cut is whole
//! ```
//!
//! Each file begins with a magic word and a [`format::FileHead`], and ends with a checksum. It is
//! written under another name, brought to the disk, and renamed, so it is there as a whole or not
//! at all. `latest` is written when all parts of its cut are there; only then are other cuts
//! removed. Names are brought to the disk as well, before anything relies on them: that of the
//! directory when it is created, those of a part and of its cut before rank 0 is told, that of
//! `latest` before other cuts go.
//!
//! # Who reads what
//!
//! `latest` says how many parts its cut has, M. Of N ranks that resume, rank r reads the parts r,
//! r + N, r + 2 N, … below M: each part is read by one rank, whatever N is. Of a network each rank
//! reads all, and takes what belongs to its processes. A part says which one it is, of which run
//! and of which cut, so one that stands under another's name is refused.
//!
//! # Two runs
//!
//! A run that begins writes its number into `run`, and another run's rank that comes back from a
//! stop finds it there: it commits nothing and removes nothing. What it had begun to write is below
//! a cut with its own run's number, where nobody reads it. It may have been stopped between its
//! look at `run` and the renaming of `latest`. So it writes the new `latest` under another name
//! before it looks, and a run that has written its number into `run` removes such names before it
//! reads `latest`. A rank that has looked too early for the new number then either finds its file
//! gone, and renames nothing, or has renamed it before `latest` was read.

use std::fmt::Display;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::format::{self, Cut, Identity, damaged, encode};

/// The file that says which cut is whole.
pub(super) const LATEST: &str = "latest";
/// The file that says which run writes.
const RUN: &str = "run";
/// The end of the name of a file that is being written.
const PART: &str = ".part";

/// The parts of a cut that a rank reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Which {
    /// Its share: each part is read by one rank.
    Shared,
    All,
}

/// Where the cuts of one run are, and whose they are.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    directory: PathBuf,
    identity: Identity,
    rank: usize,
    ranks: usize,
    run: u64,
    /// The number of the first cut of this run, less one: those before are of runs before.
    base: u32,
}

impl Files {
    pub(crate) fn new(
        directory: &Path,
        identity: &Identity,
        rank: usize,
        ranks: usize,
    ) -> Result<Files, String> {
        if directory.as_os_str().is_empty() {
            return Err("checkpoints in ``: the path is empty: name a directory".to_owned());
        }
        create(directory).map_err(|error| {
            format!(
                "checkpoints in `{}`: {error}: take a directory that can be written",
                directory.display()
            )
        })?;
        Ok(Files {
            directory: directory.to_owned(),
            identity: identity.clone(),
            rank,
            ranks,
            run: 0,
            base: 0,
        })
    }

    /// From now on these are the files of this run, whose cuts follow that one.
    pub(super) fn follow(&mut self, run: u64, last: Option<Cut>) {
        self.run = run;
        self.base = last.map_or(0, |cut| cut.number);
    }

    /// At rank 0: takes the directory for this run. From now on no other run commits a cut.
    pub(super) fn claim(&self, run: u64) -> Result<(), String> {
        let path = self.run();
        self.refuse_strangers()?;
        let written = replace(&path, run, run_text(run).as_bytes());
        let written = written.and_then(|()| sync(&self.directory));
        written.map_err(|error| self.no_room(&path, &error))?;
        for path in self.others_latest(run) {
            self.remove_file(&path)?;
        }
        Ok(())
    }

    /// An error if a file with one of our names is not ours: nothing of somebody else's is replaced
    /// or removed.
    fn refuse_strangers(&self) -> Result<(), String> {
        let is_run = |bytes: &[u8]| std::str::from_utf8(bytes).ok().and_then(run_of).is_some();
        for path in [self.run(), self.latest()] {
            match fs::read(&path) {
                Ok(bytes) if is_run(&bytes) || bytes.starts_with(format::MAGIC) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Ok(_) => {
                    return Err(format!(
                        "`{}` is no file of a checkpoint: take a directory of their own for \
                         checkpoints, which may be one that does not exist yet",
                        path.display()
                    ));
                }
                Err(error) => return Err(self.failed(&path, &error)),
            }
        }
        Ok(())
    }

    /// At the other ranks, when rank 0 has claimed the directory: an error if this one does not see
    /// it.
    pub(super) fn see_claim(&self) -> Result<(), String> {
        if self.is_ours()? {
            return Ok(());
        }
        Err(format!(
            "checkpoints in `{}`: rank 0 has written there, and this rank does not see it: all \
             ranks need one directory, so name it by its whole path, in a file system that they \
             share",
            self.directory.display()
        ))
    }

    /// Files that other runs would rename to `latest`.
    fn others_latest(&self, run: u64) -> Vec<PathBuf> {
        let own = beside(&self.latest(), run);
        let entries = fs::read_dir(&self.directory)
            .into_iter()
            .flatten()
            .flatten();
        let is_one = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            is_part(&name) && name.starts_with(LATEST) && *path != own
        };
        entries.map(|entry| entry.path()).filter(is_one).collect()
    }

    /// Whether no other run has taken the directory since.
    fn is_ours(&self) -> Result<bool, String> {
        let path = self.run();
        match fs::read(&path) {
            Ok(bytes) => Ok(bytes == run_text(self.run).as_bytes()),
            // It has come to its end, or somebody has removed the directory.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(self.failed(&path, &error)),
        }
    }

    fn failed(&self, path: &Path, error: &dyn Display) -> String {
        format!("checkpoint `{}`: {error}", path.display())
    }

    /// Another run removes what this one is writing, so whose the directory is is said first.
    fn not_written(&self, path: &Path, error: &io::Error) -> String {
        self.stay()
            .err()
            .unwrap_or_else(|| self.no_room(path, error))
    }

    fn no_room(&self, path: &Path, error: &io::Error) -> String {
        let remedy = "take a directory that can be written, with room for two checkpoints";
        self.failed(path, &format_args!("{error}: {remedy}"))
    }

    fn run(&self) -> PathBuf {
        self.directory.join(RUN)
    }

    fn cut(&self, cut: Cut) -> PathBuf {
        let name = format!("cut-{}-{}", cut.number, run_text(cut.run));
        self.directory.join(name)
    }

    /// Where a part of a cut is.
    pub(super) fn part(&self, cut: Cut, part: u32) -> PathBuf {
        self.cut(cut).join(format!("rank-{part}"))
    }

    fn latest(&self) -> PathBuf {
        self.directory.join(LATEST)
    }

    /// The cut of this run with this number.
    fn own(&self, number: u32) -> Cut {
        Cut {
            run: self.run,
            number: self.base + number,
            ranks: self.ranks as u32,
        }
    }

    /// Writes this rank's part of the cut with that number.
    pub(crate) fn save(&self, number: u32, part: &impl Serialize) -> Result<(), String> {
        let cut = self.own(number);
        let path = self.part(cut, self.rank as u32);
        let body = encode(part)?;
        let bytes = format::seal(&self.identity, cut, Some(self.rank as u32), &body)?;
        let written = (|| {
            fs::create_dir_all(self.cut(cut))?;
            replace(&path, self.run, &bytes)?;
            sync(&self.cut(cut))?;
            sync(&self.directory)
        })();
        written.map_err(|error| {
            let _ = fs::remove_file(&path);
            // Where other ranks have written there, it stays.
            let _ = fs::remove_dir(self.cut(cut));
            self.not_written(&path, &error)
        })
    }

    /// At rank 0: all parts are there. Other cuts go.
    pub(crate) fn commit(&self, number: u32) -> Result<(), String> {
        let (cut, path) = (self.own(number), self.latest());
        let left = self.leftovers(Some(cut));
        let bytes = format::seal(&self.identity, cut, None, &[])?;
        let failed = |error| self.not_written(&path, &error);
        let written = write_beside(&path, self.run, &bytes).map_err(failed)?;
        self.stay()
            .inspect_err(|_| drop(fs::remove_file(&written)))?;
        fs::rename(written, &path).map_err(failed)?;
        sync(&self.directory).map_err(failed)?;
        // Where another run has come meanwhile, it may go on from one of them.
        self.stay()?;
        remove(&left);
        Ok(())
    }

    /// An error if the directory is another run's by now.
    fn stay(&self) -> Result<(), String> {
        if self.is_ours()? {
            return Ok(());
        }
        Err(format!(
            "checkpoints in `{}`: another run has taken the directory since this one began, or \
             somebody has removed it: each run at a time needs its own",
            self.directory.display()
        ))
    }

    /// The last whole cut, if there is one.
    pub(super) fn last(&self) -> Result<Option<Cut>, String> {
        let path = self.latest();
        match fs::read(&path) {
            Ok(bytes) => match format::open(&self.identity, &path, &bytes)? {
                (cut, None, _) => Ok(Some(cut)),
                _ => Err(damaged(&path)),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed(&path, &error)),
        }
    }

    /// Reads some parts of a cut, each with its path.
    pub(super) fn load<B: DeserializeOwned>(
        &self,
        cut: Cut,
        which: Which,
    ) -> Result<Vec<(PathBuf, B)>, String> {
        let own = match which {
            Which::Shared => (self.rank as u32..cut.ranks).step_by(self.ranks),
            Which::All => (0..cut.ranks).step_by(1),
        };
        let read = own.map(|part| {
            let path = self.part(cut, part);
            let part = self.read(&path, cut, part)?;
            Ok((path, part))
        });
        read.collect()
    }

    fn read<B: DeserializeOwned>(&self, path: &Path, cut: Cut, part: u32) -> Result<B, String> {
        let bytes = fs::read(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => format!(
                "checkpoint `{}` is missing, one of the {} files of the last checkpoint: bring it \
                 to where all ranks see it, or remove the directory to start anew",
                path.display(),
                cut.ranks
            ),
            _ => self.failed(path, &error),
        })?;
        let (found, which, body) = format::open(&self.identity, path, &bytes)?;
        if (found, which) != (cut, Some(part)) {
            return Err(format!(
                "checkpoint `{}` is another file of the same program, under this one's name: bring \
                 the right one back, or remove the directory to start anew",
                path.display()
            ));
        }
        let read = postcard::take_from_bytes(body).ok();
        match read {
            Some((part, [])) => Ok(part),
            _ => Err(damaged(path)),
        }
    }

    /// At rank 0, at the start of a run that does not resume: no cut stays.
    pub(super) fn clear(&self) -> Result<(), String> {
        let left = self.leftovers(None);
        self.remove_file(&self.latest())?;
        remove(&left);
        Ok(())
    }

    /// At rank 0, when the run has ended: nothing stays, unless another run has taken the
    /// directory.
    pub(crate) fn close(&self) -> Result<(), String> {
        if self.is_ours()? {
            self.clear()?;
            self.remove_file(&self.run())?;
        }
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> Result<(), String> {
        let removed = match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => sync(&self.directory),
        };
        removed.map_err(|error| self.failed(path, &error))
    }

    /// All cuts that are there, but for that one, and files that a run that was killed was writing.
    fn leftovers(&self, cut: Option<Cut>) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            return Vec::new();
        };
        let kept = cut.map(|cut| self.cut(cut));
        let is_left = |entry: &fs::DirEntry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            (is_cut(&name) || is_part(&name)) && Some(entry.path()) != kept
        };
        let left = entries.flatten().filter(is_left);
        left.map(|entry| entry.path()).collect()
    }
}

/// Removes these. One that cannot be removed stays, and is never read.
fn remove(left: &[PathBuf]) {
    for path in left {
        let _ = fs::remove_dir_all(path).or_else(|_| fs::remove_file(path));
    }
}

fn run_text(run: u64) -> String {
    format!("{run:016x}")
}

/// The run of which that is the text.
fn run_of(text: &str) -> Option<u64> {
    let run = u64::from_str_radix(text, 16).ok()?;
    (run_text(run) == text).then_some(run)
}

/// Whether a folder with that name holds a cut.
fn is_cut(name: &str) -> bool {
    let name = name
        .strip_prefix("cut-")
        .and_then(|name| name.split_once('-'));
    name.is_some_and(|(number, run)| number.parse::<u32>().is_ok() && run_of(run).is_some())
}

/// Whether a file with that name is one that is being written.
fn is_part(name: &str) -> bool {
    let name = name
        .strip_suffix(PART)
        .and_then(|name| name.split_once('.'));
    name.is_some_and(|(of, run)| [RUN, LATEST].contains(&of) && run_of(run).is_some())
}

/// Writes a file, so that it is there as a whole or as it was before.
fn replace(path: &Path, run: u64, bytes: &[u8]) -> io::Result<()> {
    fs::rename(write_beside(path, run, bytes)?, path)
}

/// Writes what is to become `path`, under a name that is this run's alone.
fn write_beside(path: &Path, run: u64, bytes: &[u8]) -> io::Result<PathBuf> {
    let beside = beside(path, run);
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    // Half of a file is of no use, and takes room that the next try may need.
    written.inspect_err(|_| drop(fs::remove_file(&beside)))?;
    Ok(beside)
}

fn beside(path: &Path, run: u64) -> PathBuf {
    path.with_extension(format!("{}{PART}", run_text(run)))
}

/// Brings the names in a directory to the disk. File systems that cannot do that for directories
/// say so, and do what they do.
#[cfg(unix)]
fn sync(directory: &Path) -> io::Result<()> {
    match File::open(directory)?.sync_all() {
        Err(error) if is_unsupported(&error) => Ok(()),
        synced => synced,
    }
}

/// Creates a directory, and those above it, and brings their names to the disk, but where somebody
/// else's directory may be written and not be read.
fn create(directory: &Path) -> io::Result<()> {
    let is_new = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
    let new: Vec<&Path> = directory.ancestors().take_while(is_new).collect();
    fs::create_dir_all(directory)?;
    for path in new {
        let above = path.parent().filter(|above| !above.as_os_str().is_empty());
        match sync(above.unwrap_or(Path::new("."))) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            synced => synced?,
        }
    }
    Ok(())
}

#[cfg(unix)]
fn is_unsupported(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
    )
}

/// A directory cannot be opened as a file here.
#[cfg(not(unix))]
fn sync(_directory: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
