//! A folder for the files of one program, gone when the program is.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, fs, io, process};

/// A folder of our own in the system's place for temporary files (on Unix, `TMPDIR` names another).
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    /// Makes it.
    pub(super) fn new() -> io::Result<Scratch> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        // Ordering: only that no two get the same number.
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("roving-{}-{number}", process::id()));
        fs::create_dir_all(&folder)?;
        Ok(Scratch(folder))
    }

    /// A file in it.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_differ_and_end_with_their_owner() {
        let (one, other) = (Scratch::new().unwrap(), Scratch::new().unwrap());
        let file = one.path("file");
        fs::write(&file, "words").unwrap();
        assert_ne!(file, other.path("file"));
        drop(one);
        assert!(!file.exists() && other.path("").exists());
    }
}
