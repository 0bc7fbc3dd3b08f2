//! The format of a file of a cut: whose it is and which, a body, and a checksum.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The first bytes of every file, whatever the version.
pub(super) const MAGIC: &[u8; 7] = b"rovcut-";
/// The next byte: the version of the format.
const VERSION: u8 = b'3';

/// All that must be the same for a run that resumes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    /// The words of the program about itself; none where there are no checkpoints.
    pub(crate) program: Option<String>,
    /// The types of a bag or the shape of a network, in words.
    pub(crate) runs: String,
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.program.as_deref().unwrap_or_default();
        write!(f, "`{program}` with {}", self.runs)
    }
}

/// A cut on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cut {
    /// The run that has made it.
    pub(super) run: u64,
    /// Counts on from run to run.
    pub(super) number: u32,
    /// How many parts it has.
    pub(crate) ranks: u32,
}

/// The first words of every file.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileHead {
    identity: Identity,
    cut: Cut,
    /// Which part; none in `latest`.
    part: Option<u32>,
}

/// The bytes of a file with this body.
pub(super) fn seal(
    identity: &Identity,
    cut: Cut,
    part: Option<u32>,
    body: &[u8],
) -> Result<Vec<u8>, String> {
    let header = FileHead {
        identity: identity.clone(),
        cut,
        part,
    };
    let mut bytes = MAGIC.to_vec();
    bytes.push(VERSION);
    bytes.extend(encode(&header)?);
    bytes.extend(body);
    bytes.extend(checksum(&bytes).to_le_bytes());
    Ok(bytes)
}

/// The cut, the part and the body of a file, if it is whole and of this program.
pub(super) fn open<'b>(
    identity: &Identity,
    path: &Path,
    bytes: &'b [u8],
) -> Result<(Cut, Option<u32>, &'b [u8]), String> {
    let split = bytes.split_last_chunk::<8>();
    let whole = split.filter(|(bytes, sum)| checksum(bytes) == u64::from_le_bytes(**sum));
    let rest = whole.and_then(|(bytes, _)| bytes.strip_prefix(MAGIC)?.split_first());
    let Some((version, rest)) = rest else {
        return Err(damaged(path));
    };
    if *version != VERSION {
        return Err(format!(
            "checkpoint `{}` is of another version of Roving (format {}, this is {}): resume \
                 with the program that has written it, or remove the directory to start anew",
            path.display(),
            char::from(*version),
            char::from(VERSION)
        ));
    }
    let header = postcard::take_from_bytes::<FileHead>(rest);
    let (header, body) = header.map_err(|_| damaged(path))?;
    if header.identity != *identity {
        return Err(format!(
            "checkpoint `{}` is of another program, or of the same with another input: of {}, \
                 and this is {}: take another directory",
            path.display(),
            header.identity,
            identity
        ));
    }
    if header.cut.ranks == 0 || header.part.is_some_and(|part| part >= header.cut.ranks) {
        return Err(damaged(path));
    }
    Ok((header.cut, header.part, body))
}

/// The error about a file that is not as it was written.
pub(super) fn damaged(path: &Path) -> String {
    format!(
        "checkpoint `{}` is damaged: remove the directory to start anew",
        path.display()
    )
}

/// Encodes what stands in a file.
pub(super) fn encode(value: &impl Serialize) -> Result<Vec<u8>, String> {
    postcard::to_stdvec(value).map_err(|error| format!("encoding a checkpoint: {error}"))
}

/// FNV-1a: notices what a torn or damaged file comes to.
pub(super) fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The identity of a program with these words.
    pub(crate) fn identity(program: &str) -> Identity {
        Identity {
            program: Some(program.into()),
            runs: "tasks `u32` and result `u64`".into(),
        }
    }

    proptest! {
        /// A file of any bytes, and one with any body whose checksum is right, is read or is
        /// damaged.
        #[test]
        fn fuzz_cuts_of_any_bytes(bytes: Vec<u8>, is_ours: bool) {
            let ours = identity("a");
            let mut file = Vec::new();
            if is_ours {
                file.extend(MAGIC);
                file.push(VERSION);
                file.extend(encode(&ours).unwrap());
            }
            file.extend(&bytes);
            if is_ours {
                file.extend(checksum(&file).to_le_bytes());
            }
            if let Ok((_, _, body)) = open(&ours, Path::new("any"), &file) {
                let read = postcard::from_bytes::<(Vec<Vec<u8>>, Vec<u8>)>(body);
                let held = read.map_or(0, |(tasks, result)| {
                    result.len() + tasks.iter().map(Vec::len).sum::<usize>()
                });
                prop_assert!(held <= body.len());
            }
        }
    }
}
