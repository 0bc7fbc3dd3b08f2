//! One hash for a folder and all that is in it: it changes when any file changes, is renamed,
//! appears or goes.
//!
//! ```text
//! cargo run --release --example directory-hash -- crates
//! cargo run --release --example directory-hash -- --files crates > before
//! sha256sum --check --quiet before
//! ```
//!
//! A folder is a parallel loop over its entries, and an entry may be a folder with a loop of its
//! own: loops nest as the folders do. Files are read by the workers themselves. While the disk is
//! awaited, a worker waits too; `ROVING_WORKERS` may name more of them than there are processors
//! where disks are slow.
#![forbid(unsafe_code)]

use std::fs::{self, File, FileType};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use roving_examples::{Failure, Words};
use sha2::{Digest, Sha256};

const USAGE: &str = "directory-hash [--files] [FOLDER]      --files: also the hash of each file; \
    default: the sources of this repository";
const CRATES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates");

/// How much of a file is read at once.
const BUFFER: usize = 64 << 10;

type Hash = [u8; 32];

/// A file, a link or a folder with its hash.
struct Entry {
    path: PathBuf,
    hash: Hash,
    /// Empty for all but folders.
    entries: Vec<Entry>,
}

fn main() -> ExitCode {
    roving_examples::run(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let files = words.flag("--files");
    let folder = words.path().unwrap_or_else(|| CRATES.into());
    words.end()?;
    let root = hash(&folder)?;
    if files {
        print(&root, out)?;
    }
    let (hash, count) = (hex(&root.hash), count(&root));
    writeln!(out, "# {hash}  {}: {count} files", folder.display())?;
    Ok(())
}

/// Links are hashed by where they lead and never followed, so there is no way in a circle.
fn hash(path: &Path) -> Result<Entry, Failure> {
    let fail = |error: io::Error| format!("cannot read `{}`: {error}", path.display());
    let kind = fs::symlink_metadata(path).map_err(fail)?.file_type();
    let (hash, entries) = if kind.is_dir() {
        hash_folder(path)?
    } else {
        (hash_file(path, kind).map_err(fail)?, Vec::new())
    };
    Ok(Entry {
        path: path.to_owned(),
        hash,
        entries,
    })
}

/// The hash of a folder is that of the hashes and names of its entries, in the order of the names.
fn hash_folder(path: &Path) -> Result<(Hash, Vec<Entry>), Failure> {
    let fail = |error: io::Error| format!("cannot read `{}`: {error}", path.display());
    let names: io::Result<Vec<_>> = fs::read_dir(path)
        .map_err(fail)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect();
    let mut names = names.map_err(fail)?;
    names.sort();
    // One place for each result: whoever comes first, the order is that of the names.
    let mut results: Vec<Option<Result<Entry, Failure>>> = names.iter().map(|_| None).collect();
    roving::par_chunks_mut(&mut results, 1, |n, result| {
        result[0] = Some(hash(&path.join(&names[n])));
    });
    let entries: Result<Vec<Entry>, Failure> = results.into_iter().flatten().collect();
    let entries = entries?;
    let mut state = Sha256::new();
    for (entry, name) in entries.iter().zip(&names) {
        state.update(entry.hash);
        state.update(name.as_encoded_bytes());
        // No name has this byte, so no two lists of names look the same.
        state.update([0]);
    }
    Ok((state.finalize().into(), entries))
}

fn hash_file(path: &Path, kind: FileType) -> io::Result<Hash> {
    let mut state = Sha256::new();
    if kind.is_symlink() {
        state.update(fs::read_link(path)?.as_os_str().as_encoded_bytes());
    } else if kind.is_file() {
        let mut file = File::open(path)?;
        let mut buffer = vec![0; BUFFER];
        loop {
            match file.read(&mut buffer)? {
                0 => break,
                length => state.update(&buffer[..length]),
            }
        }
    }
    // Pipes, sockets and devices count by their names alone.
    Ok(state.finalize().into())
}

/// The files as `sha256sum` lists them.
fn print(entry: &Entry, out: &mut dyn Write) -> io::Result<()> {
    let kind = fs::symlink_metadata(&entry.path)?.file_type();
    if kind.is_file() {
        writeln!(out, "{}  {}", hex(&entry.hash), entry.path.display())?;
    }
    entry.entries.iter().try_for_each(|entry| print(entry, out))
}

/// All that is no folder.
fn count(entry: &Entry) -> usize {
    let below: usize = entry.entries.iter().map(count).sum();
    below + usize::from(!entry.path.is_dir() || entry.path.is_symlink())
}

fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hash of `abc` by the standard that defines SHA-256.
    const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

    /// A folder that is removed at the end of the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let own = format!("roving-directory-hash-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(own);
            fs::create_dir_all(path.join("inner/empty")).unwrap();
            fs::write(path.join("abc"), "abc").unwrap();
            for n in 0..12 {
                fs::write(path.join(format!("inner/{n}")), vec![n; BUFFER + 1]).unwrap();
            }
            Folder(path)
        }

        fn hash(&self) -> Hash {
            hash(&self.0).unwrap().hash
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn the_hash_of_a_file_is_the_known_one() {
        let folder = Folder::new("known");
        let entry = hash(&folder.0.join("abc")).unwrap();
        assert_eq!(hex(&entry.hash), ABC);
    }

    #[test]
    fn the_hash_of_a_folder_is_made_of_its_entries() {
        let folder = Folder::new("entries");
        let mut state = Sha256::new();
        for name in ["abc", "inner"] {
            state.update(hash(&folder.0.join(name)).unwrap().hash);
            state.update(name);
            state.update([0]);
        }
        assert_eq!(folder.hash(), <Hash>::from(state.finalize()));
    }

    #[test]
    fn it_changes_with_content_and_names_and_with_nothing_else() {
        let folder = Folder::new("changes");
        let before = folder.hash();
        assert_eq!(before, folder.hash());
        fs::rename(folder.0.join("inner/7"), folder.0.join("inner/70")).unwrap();
        assert_ne!(before, folder.hash());
        fs::rename(folder.0.join("inner/70"), folder.0.join("inner/7")).unwrap();
        assert_eq!(before, folder.hash());
        fs::write(folder.0.join("inner/7"), "other").unwrap();
        assert_ne!(before, folder.hash());
    }

    #[test]
    fn the_program_lists_files_in_the_order_of_their_names() {
        let folder = Folder::new("list");
        let name = folder.0.to_str().unwrap();
        let text = roving_examples::output(program, &["--files", name]).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 14);
        assert!(lines[0].starts_with(ABC) && lines[0].ends_with("abc"));
        assert!(lines[13].starts_with("# ") && lines[13].ends_with(": 13 files"));
        let error = roving_examples::output(program, &["no-such-folder"]).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("cannot read `no-such-folder`"), "{text}");
    }
}
