//! The measured points, kept one by one in a file of lines of JSON, so that a run that was
//! interrupted goes on where it was.
//!
//! The first line says what the points belong to: size, machine, program. Points of another size,
//! machine or program are kept apart, in a file of their own.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::io::input::CommandFailure;

/// The values of one thing that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct MeasuredPoint {
    /// The group of measurements; its points were measured in turn.
    pub(super) group: String,
    /// The runtime, the strategy, the step.
    pub(super) series: String,
    /// On how many workers.
    pub(super) workers: usize,
    /// The metric of the values, with their unit last.
    pub(super) metric: String,
    /// The values, in the order of the runs; none where it could not be measured.
    pub(super) values: Vec<f64>,
    /// Why there are none, or what to know about them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) note: String,
}

/// The origin of points.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// `quick` or `full`.
    pub(super) size: String,
    /// The machine that measured.
    pub(super) machine: String,
    /// A number made of the program's own bytes: another build is another program.
    pub(super) build: String,
    /// The commit that the sources were at.
    pub(super) commit: String,
}

impl Origin {
    /// Whether points of one may stand beside points of the other. The commit alone does not matter
    /// where the program is the same, byte by byte.
    fn same(&self, other: &Origin) -> bool {
        (&self.size, &self.machine, &self.build) == (&other.size, &other.machine, &other.build)
    }

    /// In words.
    pub(super) fn text(&self) -> String {
        let Origin {
            size,
            machine,
            build,
            commit,
        } = self;
        format!("{size}; {machine}; commit {commit}; build {build}")
    }

    /// The name of the file, so that points of different origin never meet in one.
    fn file(&self) -> String {
        let word =
            fingerprint(format!("{}\n{}\n{}", self.size, self.machine, self.build).as_bytes());
        format!("points-{}-{}.jsonl", self.size, &word[..8])
    }
}

/// Sixteen hexadecimal digits made of some bytes (FNV-1a).
pub(super) fn fingerprint(bytes: &[u8]) -> String {
    let step = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x}", bytes.iter().fold(0xcbf2_9ce4_8422_2325, step))
}

/// One group's end: from here on it need not be measured again.
#[derive(Serialize, Deserialize)]
struct Done {
    done: String,
}

/// The points of one origin, in memory and in their file.
#[derive(Debug)]
pub(super) struct PointStore {
    /// The origin of its points.
    pub(super) origin: Origin,
    /// All points of groups that are complete.
    pub(super) points: Vec<MeasuredPoint>,
    /// The groups that are complete.
    pub(super) done: Vec<String>,
    path: PathBuf,
    file: File,
}

impl PointStore {
    /// Opens the file of `origin` in `out`, and says in whole lines what was found there.
    pub(super) fn open(
        out: &Path,
        origin: &Origin,
    ) -> Result<(PointStore, Vec<String>), CommandFailure> {
        let path = out.join(origin.file());
        let mut said = others(out, &path);
        let text = fs::read_to_string(&path).unwrap_or_default();
        let (kept, points, done) = read(&text);
        let kept = match kept {
            Some(kept) if kept.same(origin) => Some(kept),
            Some(kept) => {
                // The name of the file is made of the origin: somebody has written into it.
                let aside = path.with_extension("jsonl.other");
                fs::rename(&path, &aside).map_err(|error| unwritable(&path, &error))?;
                said.push(format!(
                    "kept apart in {}: {}",
                    aside.display(),
                    kept.text()
                ));
                None
            }
            None => None,
        };
        let (points, done) = if kept.is_some() {
            (points, done)
        } else {
            Default::default()
        };
        if !done.is_empty() {
            let groups = crate::io::figures::counted(done.len(), "group");
            said.push(format!(
                "continues with {groups} of measurements from {}",
                path.display()
            ));
        }
        let origin = kept.unwrap_or_else(|| origin.clone());
        let file = rewritten(&path, &origin, &points, &done)?;
        let store = PointStore {
            origin,
            points,
            done,
            path,
            file,
        };
        Ok((store, said))
    }

    /// Keeps a point that has just been measured.
    pub(super) fn push(&mut self, point: MeasuredPoint) -> Result<(), CommandFailure> {
        line(&mut self.file, &point).map_err(|error| unwritable(&self.path, &error))?;
        self.points.push(point);
        Ok(())
    }

    /// Marks a group as complete.
    pub(super) fn finish(&mut self, group: &str) -> Result<(), CommandFailure> {
        let done = Done {
            done: group.to_owned(),
        };
        line(&mut self.file, &done).map_err(|error| unwritable(&self.path, &error))?;
        self.done.push(done.done);
        Ok(())
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> CommandFailure {
    CommandFailure::Run(format!("{} cannot be written: {error}", path.display()))
}

/// Writes one line, and sees that it reaches the disk: whoever kills us later does not take it
/// away.
fn line(file: &mut File, value: &impl Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_string(value)?;
    text.push('\n');
    file.write_all(text.as_bytes())?;
    file.sync_data()
}

/// The descriptions of other files in the folder: points of other origin.
fn others(out: &Path, ours: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(out) else {
        return Vec::new();
    };
    let mut said: Vec<String> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path != ours && path.extension().is_some_and(|ending| ending == "jsonl"))
        .filter_map(|path| {
            let (origin, points, _) = read(&fs::read_to_string(&path).ok()?);
            let points = crate::io::figures::counted(points.len(), "point");
            Some(format!(
                "keeps apart {} with {points}: {}",
                path.display(),
                origin?.text()
            ))
        })
        .collect();
    said.sort();
    said
}

/// The origin, the points of complete groups, and the complete groups. A line that was torn by the
/// end of the process, and the points of a group that was not complete, count for nothing.
fn read(text: &str) -> (Option<Origin>, Vec<MeasuredPoint>, Vec<String>) {
    let mut lines = text.lines();
    let origin = lines
        .next()
        .and_then(|first| serde_json::from_str(first).ok());
    let (mut points, mut open, mut done) = (Vec::new(), Vec::new(), Vec::new());
    for line in lines {
        if let Ok(end) = serde_json::from_str::<Done>(line) {
            points.append(&mut open);
            done.push(end.done);
        } else if let Ok(point) = serde_json::from_str::<MeasuredPoint>(line) {
            open.push(point);
        }
    }
    (origin, points, done)
}

/// Writes what is kept into a new file and puts it in the place of the old one.
fn rewritten(
    path: &Path,
    origin: &Origin,
    points: &[MeasuredPoint],
    done: &[String],
) -> Result<File, CommandFailure> {
    let failed = |error: std::io::Error| unwritable(path, &error);
    let fresh = path.with_extension("jsonl.new");
    let mut file = File::create(&fresh).map_err(failed)?;
    line(&mut file, origin).map_err(failed)?;
    for group in done {
        for point in points.iter().filter(|point| point.group == *group) {
            line(&mut file, point).map_err(failed)?;
        }
        line(
            &mut file,
            &Done {
                done: group.clone(),
            },
        )
        .map_err(failed)?;
    }
    drop(file);
    fs::rename(&fresh, path).map_err(failed)?;
    OpenOptions::new().append(true).open(path).map_err(failed)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An empty folder for one test.
    pub(in crate::repro) fn folder(name: &str) -> PathBuf {
        let folder =
            std::env::temp_dir().join(format!("roving-repro-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn origin(size: &str) -> Origin {
        Origin {
            size: size.into(),
            machine: "two cores".into(),
            build: "0123".into(),
            commit: "abc".into(),
        }
    }

    fn point(group: &str, value: f64) -> MeasuredPoint {
        MeasuredPoint {
            group: group.into(),
            series: "roving".into(),
            workers: 2,
            metric: "time_s".into(),
            values: vec![value, 0.1 + 0.2],
            note: String::new(),
        }
    }

    #[test]
    fn complete_groups_are_taken_up_again_as_they_were() {
        let out = folder("again");
        let (mut store, said) = PointStore::open(&out, &origin("quick")).unwrap();
        assert!(said.is_empty(), "{said:?}");
        store.push(point("a", 1.0)).unwrap();
        store.finish("a").unwrap();
        store.push(point("b", 2.0)).unwrap();
        let path = store.path.clone();
        drop(store);
        // The process was killed in the middle of a line.
        fs::write(
            &path,
            fs::read_to_string(&path).unwrap() + "{\"group\":\"b\",\"ser",
        )
        .unwrap();
        let (store, said) = PointStore::open(&out, &origin("quick")).unwrap();
        assert_eq!(
            (&store.points[..], &store.done[..]),
            (&[point("a", 1.0)][..], &["a".to_owned()][..])
        );
        assert!(
            said.len() == 1 && said[0].contains("continues with 1 group"),
            "{said:?}"
        );
        drop(store);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
        fs::remove_dir_all(out).unwrap();
    }

    #[test]
    fn a_value_is_read_back_as_it_was_written() {
        // A parser that rounds on its way gets the last bit of some of these wrong.
        for number in 1..=2000 {
            let written = point("a", 3.3e-7 / f64::from(number));
            let text = serde_json::to_string(&written).unwrap();
            assert_eq!(
                serde_json::from_str::<MeasuredPoint>(&text).unwrap(),
                written
            );
        }
    }

    #[test]
    fn another_size_machine_or_build_is_kept_apart_and_said() {
        let out = folder("apart");
        let (mut store, _) = PointStore::open(&out, &origin("quick")).unwrap();
        store.push(point("a", 1.0)).unwrap();
        store.finish("a").unwrap();
        drop(store);
        for other in [
            origin("full"),
            Origin {
                machine: "one core".into(),
                ..origin("quick")
            },
            Origin {
                build: "4567".into(),
                ..origin("quick")
            },
        ] {
            let (store, said) = PointStore::open(&out, &other).unwrap();
            assert!(store.done.is_empty());
            assert!(
                said.iter()
                    .any(|line| line.contains("keeps apart") && line.contains("1 point")),
                "{said:?}"
            );
        }
        // A commit that changes nothing in the program does not.
        let same = Origin {
            commit: "def".into(),
            ..origin("quick")
        };
        let (store, _) = PointStore::open(&out, &same).unwrap();
        assert_eq!((store.done.len(), &*store.origin.commit), (1, "abc"));
        drop(store);
        fs::remove_dir_all(out).unwrap();
    }

    #[test]
    fn a_file_that_is_no_store_of_ours_is_begun_anew() {
        let out = folder("damaged");
        let (store, _) = PointStore::open(&out, &origin("quick")).unwrap();
        let path = store.path.clone();
        drop(store);
        fs::write(&path, "no JSON\n{\"done\":\"a\"}\n").unwrap();
        let (store, _) = PointStore::open(&out, &origin("quick")).unwrap();
        assert!(store.done.is_empty() && store.points.is_empty());
        drop(store);
        fs::remove_dir_all(out).unwrap();
    }

    #[test]
    fn fingerprints_are_of_the_bytes() {
        assert_eq!(fingerprint(b""), "cbf29ce484222325");
        assert_eq!(fingerprint(b"a"), "af63dc4c8601ec8c");
    }
}
