//! Makes small pictures of large ones: a pipeline of processes and channels, on `roving-flow`.
//!
//! ```text
//! cargo run --release --example image-pipeline                  # pictures that it paints itself
//! cargo run --release --example image-pipeline -- photos small  # all PNG files of one folder into another
//! ```
//!
//! Reading, decoding, shrinking and encoding each have processes of their own. A channel holds four
//! pictures, so memory holds few of them however many there are: a stage that is ahead is suspended
//! until there is room, and its worker does what is missing elsewhere. Pictures come out in the
//! order in which they went in.
#![forbid(unsafe_code)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use roving::Pool;
use roving_examples::{Failure, Picture, Words, files_below, read};
use roving_flow::Network;

const USAGE: &str = "image-pipeline [FROM TO [WIDTH]]      two folders, and the width of the small pictures, \
    1 to 4096, default 160; without folders it paints pictures of its own";

/// Pictures that may lie in a channel.
const WAITING: usize = 4;
/// How many pictures are painted, and how wide.
const PAINTED: usize = 24;
const PAINTED_WIDTH: usize = 960;

fn main() -> ExitCode {
    roving_examples::run(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let from = words.path();
    let to = words.path();
    let width = words.number("width", 160, 1..=4096)?;
    words.end()?;
    let jobs = match &from {
        Some(folder) => jobs_in(folder)?,
        None => (0..PAINTED).map(Job::Paint).collect(),
    };
    let to = match (&from, to) {
        (Some(_), None) => return Err("say where the small pictures go: FROM TO".into()),
        (_, Some(to)) => to,
        (None, None) => env::temp_dir().join("roving-image-pipeline"),
    };
    fs::create_dir_all(&to).map_err(|error| format!("cannot make `{}`: {error}", to.display()))?;
    let written = shrink_all(&jobs, &to, width)?;
    for path in &written {
        writeln!(out, "{}", path.display())?;
    }
    let count = written.len();
    writeln!(out, "{count} pictures, at most {width} pixels wide")?;
    Ok(())
}

/// A picture that is to be shrunk.
enum Job {
    /// One of the files, which have numbers so that no two small ones have the same name.
    File(usize, PathBuf),
    Paint(usize),
}

fn jobs_in(folder: &Path) -> Result<Vec<Job>, Failure> {
    let files = files_below(folder)?.into_iter();
    let png = |path: &PathBuf| {
        path.extension()
            .is_some_and(|end| end.eq_ignore_ascii_case("png"))
    };
    let jobs: Vec<Job> = (0..)
        .zip(files.filter(png))
        .map(|(number, path)| Job::File(number, path))
        .collect();
    if jobs.is_empty() {
        let name = folder.display();
        return Err(format!("there is no PNG file below `{name}`").into());
    }
    Ok(jobs)
}

impl Job {
    /// The name of the small picture.
    fn name(&self) -> String {
        match self {
            Job::Paint(number) => format!("painted-{number:02}.png"),
            Job::File(number, path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                format!("{number:04}-{name}")
            }
        }
    }

    fn picture(&self) -> Result<Picture, Failure> {
        match self {
            Job::Paint(number) => Ok(paint(*number)),
            Job::File(_, path) => {
                let name = path.display();
                Picture::from_png(&read(path)?).map_err(|error| format!("`{name}`: {error}").into())
            }
        }
    }
}

fn shrink_all(jobs: &[Job], to: &Path, width: usize) -> Result<Vec<PathBuf>, Failure> {
    let each = roving::current_workers();
    let mut written = Vec::new();

    let mut network = Network::new();
    let (out_job, job) = network.bounded("jobs", WAITING);
    let (out_large, large) = network.bounded("large pictures", WAITING);
    let (out_small, small) = network.bounded("small pictures", WAITING);
    let (out_file, files) = network.bounded("files", WAITING);
    network.source("list", out_job, jobs);
    network.try_stage("read", each, job, out_large, |job: &Job| {
        Ok::<_, Failure>((job.name(), job.picture()?))
    });
    network.stage("shrink", each, large, out_small, |(name, large)| {
        (name, shrink(&large, width))
    });
    network.try_stage(
        "encode",
        each,
        small,
        out_file,
        |(name, small): (_, Picture)| Ok::<_, Failure>((name, small.to_png()?)),
    );
    network.try_sink("write", files, |(name, bytes): (String, Vec<u8>)| {
        let path = to.join(name);
        let fail = |error| format!("cannot write `{}`: {error}", path.display());
        fs::write(&path, bytes).map_err(fail)?;
        written.push(path);
        Ok::<_, Failure>(())
    });
    network
        .run(&Pool::current())
        .map_err(|error| error.to_string())?;
    Ok(written)
}

/// As wide as told, if it is not smaller already: each pixel is the mean of those that it stands
/// for.
fn shrink(large: &Picture, width: usize) -> Picture {
    if large.width <= width {
        return large.clone();
    }
    let height = (large.height() * width / large.width).max(1);
    let mut small = Picture::new(width, height);
    // The rows of one picture are a parallel loop: a process may use everything that its workers
    // can do.
    roving::par_chunks_mut(&mut small.rgb, width * 3, |row, pixels| {
        let rows = part(row, height, large.height());
        for (column, pixel) in pixels.chunks_exact_mut(3).enumerate() {
            let columns = part(column, width, large.width);
            let count = (rows.len() * columns.len()) as u32;
            for (colour, byte) in pixel.iter_mut().enumerate() {
                let of_row = |row: usize| {
                    let byte = |column: usize| large.rgb[(row * large.width + column) * 3 + colour];
                    columns
                        .clone()
                        .map(|column| u32::from(byte(column)))
                        .sum::<u32>()
                };
                let sum: u32 = rows.clone().map(of_row).sum();
                *byte = ((sum + count / 2) / count) as u8;
            }
        }
    });
    small
}

/// The n-th of `parts` equal parts of so many rows or columns.
fn part(n: usize, parts: usize, length: usize) -> std::ops::Range<usize> {
    let start = n * length / parts;
    start..((n + 1) * length / parts).max(start + 1)
}

/// A Julia set, another one for each number.
fn paint(number: usize) -> Picture {
    let mut picture = Picture::new(PAINTED_WIDTH, PAINTED_WIDTH * 3 / 4);
    let angle = 0.8 + number as f64 * 0.045;
    let (re, im) = (-0.7885 * angle.cos(), 0.7885 * angle.sin());
    let scale = 3.0 / PAINTED_WIDTH as f64;
    let height = picture.height();
    roving::par_chunks_mut(&mut picture.rgb, PAINTED_WIDTH * 3, |row, pixels| {
        for (column, pixel) in pixels.chunks_exact_mut(3).enumerate() {
            let mut x = (column as f64 - PAINTED_WIDTH as f64 / 2.0) * scale;
            let mut y = (row as f64 - height as f64 / 2.0) * scale;
            let mut turns = 0_u32;
            while x * x + y * y < 4.0 && turns < 255 {
                (x, y) = (x * x - y * y + re, 2.0 * x * y + im);
                turns += 1;
            }
            // What never leaves stays dark.
            let bright = if turns == 255 { 0 } else { turns * 6 };
            let colour = [bright, 20 + bright / 2, 60 + bright / 3];
            for (byte, value) in pixel.iter_mut().zip(colour) {
                *byte = value.min(255) as u8;
            }
        }
    });
    picture
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new folder, removed at the end of the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let own = format!("roving-image-pipeline-{name}-{}", std::process::id());
            let path = env::temp_dir().join(own);
            fs::create_dir_all(path.join("in")).unwrap();
            Folder(path)
        }

        fn call(&self, width: &str) -> Result<String, Failure> {
            let (from, to) = (self.0.join("in"), self.0.join("out"));
            let words = [from.to_str().unwrap(), to.to_str().unwrap(), width];
            roving_examples::output(program, &words)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_pixel_is_the_mean_of_those_that_it_stands_for() {
        let large = Picture {
            width: 4,
            rgb: [[0, 10, 20], [4, 10, 20], [100, 0, 0], [200, 0, 1]]
                .iter()
                .flatten()
                .copied()
                .cycle()
                .take(4 * 2 * 3)
                .collect(),
        };
        let small = shrink(&large, 2);
        assert_eq!(small.rgb, [2, 10, 20, 150, 0, 1]);
        assert_eq!((small.width, small.height()), (2, 1));
        assert_eq!(shrink(&large, 4), large);
    }

    #[test]
    fn all_pictures_of_a_folder_come_out_in_order() {
        let folder = Folder::new("order");
        for n in 0..20_u8 {
            let mut picture = Picture::new(64, 32);
            picture.rgb.fill(n);
            fs::write(
                folder.0.join(format!("in/{n:02}.png")),
                picture.to_png().unwrap(),
            )
            .unwrap();
        }
        fs::write(folder.0.join("in/other.txt"), "no picture").unwrap();
        let text = folder.call("16").unwrap();
        assert!(
            text.ends_with("\n20 pictures, at most 16 pixels wide\n"),
            "{text}"
        );
        for (n, path) in (0..20_u8).zip(text.lines()) {
            assert!(path.ends_with(&format!("{n:02}.png")), "{path}");
            let small = Picture::from_png(&fs::read(path).unwrap()).unwrap();
            assert_eq!((small.width, small.height()), (16, 8));
            assert!(small.rgb.iter().all(|byte| *byte == n));
        }
    }

    #[test]
    fn a_file_that_is_no_picture_is_named() {
        let folder = Folder::new("bad");
        assert!(
            folder
                .call("16")
                .unwrap_err()
                .to_string()
                .starts_with("there is no PNG file")
        );
        fs::write(folder.0.join("in/bad.png"), "no picture").unwrap();
        let error = folder.call("16").unwrap_err().to_string();
        assert!(
            error.contains("bad.png") && !error.contains('\n'),
            "{error}"
        );
        assert!(roving_examples::output(program, &["photos"]).is_err());
    }

    #[test]
    fn painted_pictures_differ() {
        assert_ne!(paint(0), paint(1));
    }
}
