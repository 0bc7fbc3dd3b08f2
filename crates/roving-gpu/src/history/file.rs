//! The file in which history is kept between runs.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::Measured;

/// The version of the file's format.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Saved {
    format: u32,
    measured: Measured,
}

/// Reads the file; empty where there is none. An error is one line that says what follows from it.
pub(crate) fn load(path: &Path) -> Result<Measured, String> {
    let told = |reason: String| {
        format!(
            "{}: {reason}; starting without measured times, and the file will be replaced",
            path.display()
        )
    };
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Measured::default()),
        Err(error) => return Err(told(error.to_string())),
    };
    read(&text).map_err(told)
}

fn read(text: &str) -> Result<Measured, String> {
    let saved: Saved = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if saved.format != FORMAT {
        return Err(format!("format {}, not {FORMAT}", saved.format));
    }
    let measured = saved.measured;
    let laws = measured.kinds.values().flat_map(|sides| sides.values());
    let lines = measured.transfers.values().flatten();
    if !laws.into_iter().all(|law| law.is_sound()) || !lines.into_iter().all(|line| line.is_sound())
    {
        return Err("numbers that nothing can have taken".to_owned());
    }
    Ok(measured)
}

/// Replaces the file at once: whoever reads it meanwhile finds the old one or the new one, whole.
pub(crate) fn save(path: &Path, measured: Measured) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let saved = Saved {
        format: FORMAT,
        measured,
    };
    let mut name = path.file_name().unwrap_or_default().to_owned();
    // Several `Devices` of a process may save at once.
    static SAVES: AtomicU64 = AtomicU64::new(0);
    // Ordering: Relaxed: only that all are different matters.
    let save = SAVES.fetch_add(1, Ordering::Relaxed);
    name.push(format!(".{}-{save}.new", process::id()));
    let new = path.with_file_name(name);
    let written = serde_json::to_string_pretty(&saved)
        .map_err(io::Error::other)
        .and_then(|text| fs::write(&new, text))
        .and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}

/// Where it is unless said otherwise: `ROVING_GPU_HISTORY`, or below the user's cache directory.
/// `None` if that is `off`, or there is no such directory.
pub(crate) fn default_path() -> Option<PathBuf> {
    if let Some(path) = env::var_os("ROVING_GPU_HISTORY") {
        return (path != "off" && !path.is_empty()).then(|| path.into());
    }
    let home = |rest: &str| env::var_os("HOME").map(|home| Path::new(&home).join(rest));
    let cache = if cfg!(windows) {
        env::var_os("LOCALAPPDATA").map(PathBuf::from)
    } else if cfg!(target_os = "macos") {
        home("Library/Caches")
    } else {
        let set = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        set.filter(|path| path.is_absolute())
            .or_else(|| home(".cache"))
    };
    Some(cache?.join("roving").join("gpu-history.json"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::history::{History, MeasuredSide};

    fn folder(name: &str) -> PathBuf {
        let folder = env::temp_dir().join(format!("roving-gpu-{}-{name}", process::id()));
        let _ = fs::remove_dir_all(&folder);
        folder
    }

    proptest! {
        /// A file of any text, and a good one with something else in one place, is read or is told
        /// of.
        #[test]
        fn fuzz_histories_of_any_text(text: String, at: usize, length in 0..40_usize) {
            let good = r#"{"format":1,"measured":{"kinds":{"a":{"cpu":{"buckets":{"0":{"samples":1,"work":1.0,"seconds":1.0}}}}},"transfers":{}}}"#;
            let from = at % good.len();
            let to = (from + length).min(good.len());
            let changed = format!("{}{text}{}", &good[..from], &good[to..]);
            for text in [&text, &changed] {
                if let Err(reason) = read(text) {
                    prop_assert!(!reason.contains('\n'));
                }
            }
        }
    }

    #[test]
    fn what_is_saved_is_loaded() {
        let folder = folder("round");
        let path = folder.join("below").join("history.json");
        assert_eq!(load(&path), Ok(Measured::default()));
        let history = History::default();
        history.record("gemm", MeasuredSide::Cpu, 100.0, 1.5);
        history.record("gemm", MeasuredSide::Device("fast"), 100.0, 0.25);
        history.record_transfer("fast", 1, 1e6, 1e-3);
        save(&path, history.measured()).unwrap();
        assert_eq!(load(&path), Ok(history.measured()));
        // Nothing but the file is left.
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_damaged_file_is_told_and_left_out() {
        let folder = folder("damaged");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("history.json");
        let bucket = r#"{"samples":1,"work":1.0,"seconds":-1.0}"#;
        let negative = format!(
            r#"{{"format":1,"measured":{{"kinds":{{"a":{{"cpu":{{"buckets":{{"0":{bucket}}}}}}}}},"transfers":{{}}}}}}"#
        );
        for text in [
            "",
            "{",
            "[]",
            r#"{"format":2,"measured":{"kinds":{},"transfers":{}}}"#,
            &negative,
        ] {
            fs::write(&path, text).unwrap();
            let error = load(&path).unwrap_err();
            assert!(
                error.contains("history.json") && !error.contains('\n'),
                "{error}"
            );
        }
        assert!(load(&path).unwrap_err().contains("numbers"));
        fs::remove_dir_all(folder).unwrap();
    }
}
