//! Cuts on the disk.
//!
//! ```text
//! DIR/cut-7/rank-0 … rank-3    each rank's part
//! DIR/latest                   which cut is whole
//! ```
//!
//! Each file begins with a magic word, the program's fingerprint, the number of ranks and of the
//! cut, and ends with a checksum. It is written under another name, brought to the disk, and
//! renamed, so it is there as a whole or not at all. `latest` is written when all parts of its cut
//! are there; only then are older cuts removed. Names are brought to the disk as well, before
//! anything relies on them: those of a part and of its cut before rank 0 is told, that of `latest`
//! before older cuts go.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// The first bytes of every file; the last letter counts versions of the format.
const MAGIC: &[u8; 8] = b"rovbag-1";

/// One rank's part of a cut.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Part {
    /// Which cut.
    pub(super) number: u32,
    /// The tasks, in several encoded lists.
    pub(super) tasks: Vec<Vec<u8>>,
    /// The result so far, encoded.
    pub(super) result: Vec<u8>,
}

/// Where the cuts of one run are, and whose they are.
#[derive(Clone, Debug)]
pub(super) struct Files {
    directory: PathBuf,
    /// A hash of all that must be the same for a run that resumes.
    fingerprint: u64,
    rank: usize,
    ranks: usize,
    /// The number of the first cut of this run, less one: those before are of runs before.
    base: u32,
}

impl Files {
    pub(super) fn new(
        directory: &Path,
        fingerprint: u64,
        rank: usize,
        ranks: usize,
    ) -> Result<Files, String> {
        fs::create_dir_all(directory).map_err(|error| {
            format!(
                "checkpoints in `{}`: {error}: take a directory that can be written",
                directory.display()
            )
        })?;
        Ok(Files {
            directory: directory.to_owned(),
            fingerprint,
            rank,
            ranks,
            base: 0,
        })
    }

    /// Cuts of this run follow that one.
    pub(super) fn follow(&mut self, number: u32) {
        self.base = number;
    }

    fn cut(&self, number: u32) -> PathBuf {
        self.directory.join(format!("cut-{number}"))
    }

    fn part(&self, number: u32) -> PathBuf {
        self.cut(number).join(format!("rank-{}", self.rank))
    }

    fn latest(&self) -> PathBuf {
        self.directory.join("latest")
    }

    /// Writes this rank's part.
    pub(super) fn save(&self, part: &Part) -> Result<(), String> {
        let number = self.base + part.number;
        let path = self.part(number);
        let body = postcard::to_stdvec(&(&part.tasks, &part.result));
        let body = body.map_err(|error| format!("encoding a checkpoint: {error}"))?;
        let written = (|| {
            fs::create_dir_all(self.cut(number))?;
            self.write(&path, number, &body)?;
            sync(&self.cut(number))?;
            sync(&self.directory)
        })();
        written.map_err(|error| format!("checkpoint `{}`: {error}", path.display()))
    }

    /// At rank 0: all parts are there. Older cuts go.
    pub(super) fn commit(&self, number: u32) -> Result<(), String> {
        let number = self.base + number;
        let path = self.latest();
        let written = self
            .write(&path, number, &[])
            .and_then(|()| sync(&self.directory));
        written.map_err(|error| format!("checkpoint `{}`: {error}", path.display()))?;
        self.remove_cuts(|cut| cut < number);
        Ok(())
    }

    /// The number of the last whole cut, if there is one.
    pub(super) fn last(&self) -> Result<Option<u32>, String> {
        let path = self.latest();
        match fs::read(&path) {
            Ok(bytes) => self.check(&path, &bytes).map(|(number, _)| Some(number)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("checkpoint `{}`: {error}", path.display())),
        }
    }

    /// Reads this rank's part of a cut.
    pub(super) fn load(&self, number: u32) -> Result<Part, String> {
        let path = self.part(number);
        let bytes =
            fs::read(&path).map_err(|error| format!("checkpoint `{}`: {error}", path.display()))?;
        let (found, body) = self.check(&path, &bytes)?;
        let damaged = || {
            format!(
                "checkpoint `{}` is damaged: remove the directory to start anew",
                path.display()
            )
        };
        if found != number {
            return Err(damaged());
        }
        let (tasks, result) = postcard::from_bytes(body).map_err(|_| damaged())?;
        Ok(Part {
            number,
            tasks,
            result,
        })
    }

    /// At rank 0, when nothing is left to do, or at the start of a run that does not resume: no cut
    /// stays.
    pub(super) fn clear(&self) -> Result<(), String> {
        let path = self.latest();
        let removed = match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => sync(&self.directory),
        };
        removed.map_err(|error| format!("checkpoint `{}`: {error}", path.display()))?;
        self.remove_cuts(|_| true);
        Ok(())
    }

    /// Removes these cuts. A file that cannot be removed stays, and is never read.
    fn remove_cuts(&self, which: impl Fn(u32) -> bool) {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            return;
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("cut-"));
            if number
                .and_then(|number| number.parse().ok())
                .is_some_and(&which)
            {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    fn write(&self, path: &Path, number: u32, body: &[u8]) -> io::Result<()> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.fingerprint.to_le_bytes());
        bytes.extend((self.ranks as u32).to_le_bytes());
        bytes.extend(number.to_le_bytes());
        bytes.extend(body);
        bytes.extend(checksum(&bytes).to_le_bytes());
        let other = path.with_extension("part");
        let mut file = File::create(&other)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        drop(file);
        fs::rename(&other, path)
    }

    /// The number of the cut and the body of a file, if it is whole and of this program and these
    /// ranks.
    fn check<'b>(&self, path: &Path, bytes: &'b [u8]) -> Result<(u32, &'b [u8]), String> {
        let path = path.display();
        let parsed = (|| {
            let (bytes, sum) = bytes.split_last_chunk::<8>()?;
            if checksum(bytes) != u64::from_le_bytes(*sum) {
                return None;
            }
            let rest = bytes.strip_prefix(MAGIC)?;
            let (fingerprint, rest) = rest.split_first_chunk::<8>()?;
            let (ranks, rest) = rest.split_first_chunk::<4>()?;
            let (number, body) = rest.split_first_chunk::<4>()?;
            let ranks = u32::from_le_bytes(*ranks);
            Some((
                u64::from_le_bytes(*fingerprint),
                ranks,
                u32::from_le_bytes(*number),
                body,
            ))
        })();
        let Some((fingerprint, ranks, number, body)) = parsed else {
            return Err(format!(
                "checkpoint `{path}` is damaged: remove the directory to start anew"
            ));
        };
        if ranks as usize != self.ranks {
            return Err(format!(
                "checkpoint `{path}` is of {ranks} ranks, and these are {}: resume with as many as before",
                self.ranks
            ));
        }
        if fingerprint != self.fingerprint {
            return Err(format!(
                "checkpoint `{path}` is of another program, or of the same with another input: take another directory"
            ));
        }
        Ok((number, body))
    }
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

/// FNV-1a: notices what a torn or damaged file comes to.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn directory(name: &str) -> PathBuf {
        let directory = std::env::temp_dir().join(format!("roving-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&directory);
        directory
    }

    fn some(number: u32) -> Part {
        Part {
            number,
            tasks: vec![vec![1, 2, 3], vec![]],
            result: vec![9; 100],
        }
    }

    proptest! {
        /// A file of any bytes, and one with any body whose checksum is right, is read or is
        /// damaged.
        #[test]
        fn fuzz_cuts_of_any_bytes(bytes: Vec<u8>, is_ours: bool) {
            let files = Files {
                directory: PathBuf::new(),
                fingerprint: 7,
                rank: 0,
                ranks: 1,
                base: 0,
            };
            let mut file = Vec::new();
            if is_ours {
                file.extend(MAGIC);
                file.extend(7_u64.to_le_bytes());
                file.extend(1_u32.to_le_bytes());
            }
            file.extend(&bytes);
            if is_ours {
                file.extend(checksum(&file).to_le_bytes());
            }
            if let Ok((_, body)) = files.check(Path::new("any"), &file) {
                let read = postcard::from_bytes::<(Vec<Vec<u8>>, Vec<u8>)>(body);
                let held = read.map_or(0, |(tasks, result)| {
                    result.len() + tasks.iter().map(Vec::len).sum::<usize>()
                });
                prop_assert!(held <= body.len());
            }
        }
    }

    #[test]
    fn a_cut_is_read_as_it_was_written_and_older_ones_go() {
        let directory = directory("files");
        let files = Files::new(&directory, 7, 0, 1).unwrap();
        assert_eq!(files.last(), Ok(None));
        for number in 1..=3 {
            files.save(&some(number)).unwrap();
            assert_eq!(
                files.last(),
                Ok(number.checked_sub(1).filter(|last| *last > 0))
            );
            files.commit(number).unwrap();
            assert_eq!(files.last(), Ok(Some(number)));
            assert_eq!(files.load(number), Ok(some(number)));
        }
        assert!(!directory.join("cut-2").exists());
        files.clear().unwrap();
        assert_eq!(files.last(), Ok(None));
        assert!(!directory.join("cut-3").exists());
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn damage_and_strangers_are_errors() {
        let directory = directory("damage");
        let files = Files::new(&directory, 7, 0, 1).unwrap();
        files.save(&some(1)).unwrap();
        files.commit(1).unwrap();
        let other = Files::new(&directory, 8, 0, 1).unwrap();
        assert!(other.last().unwrap_err().contains("another program"));
        let more = Files::new(&directory, 7, 0, 2).unwrap();
        assert!(
            more.last()
                .unwrap_err()
                .contains("is of 1 ranks, and these are 2")
        );
        let path = directory.join("cut-1/rank-0");
        let whole = fs::read(&path).unwrap();
        for place in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x10;
            fs::write(&path, &bytes).unwrap();
            assert!(
                files.load(1).unwrap_err().contains("damaged"),
                "byte {place}"
            );
            fs::write(&path, &whole[..place]).unwrap();
            assert!(
                files.load(1).unwrap_err().contains("damaged"),
                "{place} bytes"
            );
        }
        fs::remove_dir_all(&directory).unwrap();
    }
}
