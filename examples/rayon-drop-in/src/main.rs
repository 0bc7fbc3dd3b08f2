//! Counts the lines of all text files below a folder, in parallel, with Rayon.
//!
//! ```text
//! cargo run --release                  # of this folder
//! cargo run --release -- ../../crates  # of another
//! ```
//!
//! The program knows Rayon only. Two lines in its `Cargo.toml` make it run on Roving: see there.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use rayon::prelude::*;

/// Lines of the files of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Lines {
    files: usize,
    /// Lines with something on them.
    written: usize,
    blank: usize,
    /// Characters of the longest line.
    longest: usize,
}

impl Lines {
    fn of(text: &str) -> Lines {
        let one = Lines {
            files: 1,
            ..Lines::default()
        };
        text.lines().fold(one, |sum, line| {
            let blank = usize::from(line.trim().is_empty());
            Lines {
                written: sum.written + 1 - blank,
                blank: sum.blank + blank,
                longest: sum.longest.max(line.chars().count()),
                ..sum
            }
        })
    }

    fn plus(self, other: Lines) -> Lines {
        Lines {
            files: self.files + other.files,
            written: self.written + other.written,
            blank: self.blank + other.blank,
            longest: self.longest.max(other.longest),
        }
    }
}

/// Lines by the ending of the file's name.
type Kinds = BTreeMap<String, Lines>;

fn merge(mut into: Kinds, from: Kinds) -> Kinds {
    for (kind, lines) in from {
        let sum = into.entry(kind).or_default();
        *sum = sum.plus(lines);
    }
    into
}

/// All files below `folder`, but for build output and what begins with a dot. One task a folder.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries: Vec<fs::DirEntry> = fs::read_dir(folder)?.collect::<io::Result<_>>()?;
    let below = entries.into_par_iter().map(|entry| {
        let (path, name) = (entry.path(), entry.file_name());
        let kind = entry.file_type()?;
        if name.as_encoded_bytes().starts_with(b".") {
            Ok(Vec::new())
        } else if kind.is_dir() && name != "target" {
            files(&path)
        } else {
            Ok(Vec::from_iter(kind.is_file().then_some(path)))
        }
    });
    let below: io::Result<Vec<Vec<PathBuf>>> = below.collect();
    Ok(below?.concat())
}

/// Counts the lines of these files. What is not text does not count.
fn count(files: &[PathBuf]) -> Kinds {
    let each = files.par_iter().filter_map(|path| {
        let kind = path.extension().and_then(OsStr::to_str).unwrap_or("-");
        let text = fs::read_to_string(path).ok()?;
        Some((kind.to_owned(), Lines::of(&text)))
    });
    let parts = each.fold(Kinds::new, |kinds, one| merge(kinds, Kinds::from([one])));
    parts.reduce(Kinds::new, merge)
}

/// The kinds as a table, that with most lines first.
fn table(kinds: &Kinds) -> String {
    let mut rows: Vec<(&str, Lines)> = kinds
        .iter()
        .map(|(kind, lines)| (kind.as_str(), *lines))
        .collect();
    rows.par_sort_by_key(|(_, lines)| std::cmp::Reverse(lines.written));
    let whole = kinds
        .values()
        .fold(Lines::default(), |sum, lines| sum.plus(*lines));
    rows.push(("all", whole));
    let mut text = format!(
        "{:<12}{:>8}{:>10}{:>8}{:>10}\n",
        "kind", "files", "lines", "blank", "longest"
    );
    for (kind, lines) in rows {
        let Lines {
            files,
            written,
            blank,
            longest,
        } = lines;
        text += &format!("{kind:<12}{files:>8}{written:>10}{blank:>8}{longest:>10}\n");
    }
    text
}

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let folder = words
        .next()
        .map_or_else(|| PathBuf::from("."), PathBuf::from);
    if let Some(word) = words.next() {
        let word = word.to_string_lossy();
        eprintln!("rayon-drop-in: word `{word}` is not allowed: want one folder; leave it out");
        return ExitCode::from(2);
    }
    match files(&folder) {
        Ok(files) => {
            print!("{}", table(&count(&files)));
            println!("counted on {} threads", rayon::current_num_threads());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let folder = folder.display();
            eprintln!(
                "rayon-drop-in: folder `{folder}` is not allowed: {error}; want one that can be read"
            );
            ExitCode::from(2)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test's own with 200 files in 20 folders.
    fn folder() -> PathBuf {
        let folder = std::env::temp_dir().join(format!("rayon-drop-in-{}", std::process::id()));
        for number in 0..200 {
            let below = folder.join(format!("part-{}", number % 20));
            fs::create_dir_all(&below).expect("a folder can be made");
            let text = "one\n\n".repeat(number) + "the longest line";
            let kind = ["rs", "md"][number % 2];
            fs::write(below.join(format!("{number}.{kind}")), text).expect("a file can be written");
        }
        let hidden = folder.join(".git");
        fs::create_dir_all(&hidden).expect("a folder can be made");
        fs::write(hidden.join("config"), "no\n").expect("a file can be written");
        folder
    }

    #[test]
    fn lines_are_counted_by_kind() {
        let folder = folder();
        let files = files(&folder).expect("the folder is read");
        let kinds = count(&files);
        fs::remove_dir_all(&folder).expect("the folder is removed");
        // Even numbers: 0 + 2 + … + 198 = 9900; odd ones: 10,000; and the last line of each file.
        let want = |pairs: usize| Lines {
            files: 100,
            written: pairs + 100,
            blank: pairs,
            longest: 16,
        };
        let want = [("rs", want(9900)), ("md", want(10_000))];
        let want = want.map(|(kind, lines)| (kind.to_owned(), lines));
        assert_eq!(kinds, Kinds::from(want));
        let table = table(&kinds);
        let lines: Vec<&str> = table.lines().collect();
        assert!(
            lines[1].starts_with("md ") && lines[2].starts_with("rs "),
            "{table}"
        );
        assert!(
            lines[3].starts_with("all              200     20100   19900        16"),
            "{table}"
        );
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error() {
        assert!(files(Path::new("no such folder")).is_err());
    }
}
