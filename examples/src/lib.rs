//! The parts that the example programs share and that are of no interest in them: command lines,
//! files, and numbers to try them with.
//!
//! ```
//! use std::io::Write as _;
//!
//! use roving_examples::output;
//!
//! let text = output(
//!     |words, out| {
//!         let n = words.number("count", 3, 1..=9)?;
//!         words.end()?;
//!         Ok(writeln!(out, "{n} of 9")?)
//!     },
//!     &["5"],
//! );
//! assert_eq!(text.unwrap(), "5 of 9\n");
//! ```
#![forbid(unsafe_code)]

use std::error::Error;
use std::fmt::Display;
use std::io::{BufWriter, ErrorKind, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{fs, io, thread, vec};

/// Why a program ends early; printed as one line.
pub type Failure = Box<dyn Error + Send + Sync>;

/// A program: the words behind its name, and where its output goes.
pub type Program = fn(&mut Words, &mut dyn Write) -> Result<(), Failure>;

/// How long a program may take in a test.
const TEST_TIME_MAX: Duration = Duration::from_secs(300);

/// The words of a command line, taken one after the other.
#[derive(Debug)]
pub struct Words(vec::IntoIter<String>);

impl Words {
    /// The next word as a number within a range; the default when there is no word.
    pub fn number<T>(
        &mut self,
        what: &str,
        default: T,
        range: RangeInclusive<T>,
    ) -> Result<T, Failure>
    where
        T: FromStr + PartialOrd + Display,
    {
        let Some(word) = self.0.next() else {
            return Ok(default);
        };
        match word.parse() {
            Ok(number) if range.contains(&number) => Ok(number),
            _ => {
                let (low, high) = (range.start(), range.end());
                Err(format!("{what}: `{word}` is not a number from {low} to {high}").into())
            }
        }
    }

    /// The next word as the name of a file or folder.
    pub fn path(&mut self) -> Option<PathBuf> {
        self.0.next().map(PathBuf::from)
    }

    /// Whether the next word is this one; if so, it is taken.
    pub fn flag(&mut self, flag: &str) -> bool {
        let here = self.0.as_slice().first().is_some_and(|word| word == flag);
        if here {
            self.0.next();
        }
        here
    }

    /// No further words are known.
    pub fn end(&mut self) -> Result<(), Failure> {
        match self.0.next() {
            Some(word) => Err(format!("`{word}` is one word too many: see --help").into()),
            None => Ok(()),
        }
    }
}

/// Runs the `main` of each program: `--help` prints the usage; a failure is one line and exit
/// status 2. Says how long the program took, and then how long it takes on one worker: as good as
/// serial, since a task that nobody steals costs about as much as a call.
pub fn run(usage: &str, program: Program) -> ExitCode {
    run_and_then(usage, program, |words, time| {
        let workers = roving::current_workers();
        print_time(workers, time);
        // Who has a profile or a trace made wants to see one run.
        let is_watched = std::env::vars_os().any(|(name, _)| {
            let name = name.to_string_lossy();
            name.starts_with("ROVING_") && name != "ROVING_WORKERS"
        });
        if workers == 1 || is_watched {
            return Ok(());
        }
        let one = roving::Pool::new(1)?;
        let started = Instant::now();
        one.install(|| program(&mut Words(words.into_iter()), &mut io::sink()))?;
        print_time(1, started.elapsed());
        Ok(())
    })
}

/// Runs the `main` of a program that itself compares what is parallel with what is not, such as by
/// [`beside_serial`]; else as [`run`].
pub fn run_once(usage: &str, program: Program) -> ExitCode {
    run_and_then(usage, program, |_, _| Ok(()))
}

/// Does the same serially and in parallel, and says on standard error how long each took. Results
/// that differ are a failure.
pub fn beside_serial<T: PartialEq>(
    serial: impl FnOnce() -> T,
    parallel: impl FnOnce() -> T,
) -> Result<T, Failure> {
    let started = Instant::now();
    let expected = serial();
    eprintln!("{:.3} s serially", started.elapsed().as_secs_f64());
    let started = Instant::now();
    let found = parallel();
    print_time(roving::current_workers(), started.elapsed());
    if found != expected {
        return Err("the parallel result is another than the serial one".into());
    }
    Ok(found)
}

fn print_time(workers: usize, time: Duration) {
    let plural = if workers == 1 { "" } else { "s" };
    eprintln!("{:.3} s on {workers} worker{plural}", time.as_secs_f64());
}

/// Calls `then` with the words and the time after a run that went well.
fn run_and_then(
    usage: &str,
    program: Program,
    then: impl FnOnce(Vec<String>, Duration) -> Result<(), Failure>,
) -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.iter().any(|word| word == "--help" || word == "-h") {
        println!("usage: {usage}");
        return ExitCode::SUCCESS;
    }
    let started = Instant::now();
    let mut out = BufWriter::new(io::stdout());
    let ended = program(&mut Words(words.clone().into_iter()), &mut out)
        .and_then(|()| out.flush().map_err(Failure::from))
        .and_then(|()| then(words, started.elapsed()));
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads our output, `head` for instance, has had enough.
        Err(failure) if is_broken_pipe(&failure) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(2)
        }
    }
}

fn is_broken_pipe(failure: &Failure) -> bool {
    let error = failure.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

/// For tests: what the program writes when it is called with these words. One that does not end
/// within five minutes is a failure, too.
pub fn output(program: Program, words: &[&str]) -> Result<String, Failure> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut out = Vec::new();
        let ended = program(&mut Words(words.into_iter()), &mut out);
        // Nobody listens any more when it took too long.
        let _ = sender.send(ended.map(|()| out));
    });
    let out = receiver
        .recv_timeout(TEST_TIME_MAX)
        .map_err(|_| "the program panicked, or did not end")??;
    Ok(String::from_utf8(out)?)
}

/// A file's bytes, or a line that says which file could not be read.
pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| format!("cannot read `{}`: {error}", path.display()).into())
}

/// All files at or below a path in the order of their names, without those that are hidden and
/// without build output.
pub fn files_below(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fail = |error| format!("cannot read `{}`: {error}", path.display());
    if !fs::metadata(path).map_err(fail)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries: io::Result<Vec<_>> = fs::read_dir(path).map_err(fail)?.collect();
    let mut entries = entries.map_err(fail)?;
    entries.sort_by_key(fs::DirEntry::file_name);
    let mut found = Vec::new();
    for entry in entries {
        let name = entry.file_name();
        let kind = entry.file_type().map_err(fail)?;
        let left_out = name.as_encoded_bytes().starts_with(b".") || name == "target";
        if !left_out && !kind.is_symlink() {
            found.extend(files_below(&entry.path())?);
        }
    }
    Ok(found)
}

/// A number that looks random, the same for the same `n` in each run (the finalizer of SplitMix64).
/// It has no state, so parallel loops can ask for any of them.
pub fn random(n: u64) -> u64 {
    let mut z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A picture of 8-bit red, green and blue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels in a row.
    pub width: usize,
    /// Three bytes a pixel, row by row from the top.
    pub rgb: Vec<u8>,
}

impl Picture {
    /// A black picture.
    pub fn new(width: usize, height: usize) -> Picture {
        Picture {
            width,
            rgb: vec![0; width * height * 3],
        }
    }

    /// The number of rows.
    pub fn height(&self) -> usize {
        self.rgb.len() / 3 / self.width
    }

    /// The picture as a PNG file.
    pub fn to_png(&self) -> Result<Vec<u8>, Failure> {
        let mut bytes = Vec::new();
        let (width, height) = (u32::try_from(self.width)?, u32::try_from(self.height())?);
        let mut encoder = png::Encoder::new(&mut bytes, width, height);
        encoder.set_color(png::ColorType::Rgb);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.rgb)?;
        writer.finish()?;
        Ok(bytes)
    }

    /// Reads a PNG file of any kind; grey becomes red, green and blue, transparency is left out.
    pub fn from_png(bytes: &[u8]) -> Result<Picture, Failure> {
        let mut decoder = png::Decoder::new(io::Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info()?;
        let size = reader
            .output_buffer_size()
            .ok_or("the picture is too large")?;
        let mut raw = vec![0; size];
        let info = reader.next_frame(&mut raw)?;
        raw.truncate(info.buffer_size());
        let channels = info.color_type.samples();
        let mut rgb = Vec::with_capacity(raw.len() / channels * 3);
        for pixel in raw.chunks_exact(channels) {
            match pixel {
                [grey] | [grey, _] => rgb.extend([*grey; 3]),
                [red, green, blue, ..] => rgb.extend([*red, *green, *blue]),
                [] => {}
            }
        }
        Ok(Picture {
            width: info.width as usize,
            rgb,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Words {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Words(words.into_iter())
    }

    #[test]
    fn numbers_have_a_default_and_a_range() {
        assert_eq!(words(&[]).number("n", 7, 1..=9).unwrap(), 7);
        assert_eq!(words(&["3"]).number("n", 7, 1..=9).unwrap(), 3);
        for bad in ["0", "10", "x", "", "-1"] {
            let error = words(&[bad]).number("n", 7_u8, 1..=9).unwrap_err();
            let text = format!("n: `{bad}` is not a number from 1 to 9");
            assert_eq!(error.to_string(), text);
        }
        assert!(words(&["3"]).end().is_err());
    }

    #[test]
    fn flags_are_taken_once() {
        let mut some = words(&["--all", "x"]);
        assert!(some.flag("--all") && !some.flag("--all"));
        assert_eq!(some.path().unwrap(), PathBuf::from("x"));
        assert!(some.end().is_ok());
    }

    #[test]
    fn files_are_found_without_hidden_ones() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        assert_eq!(files_below(&folder).unwrap(), [folder.join("lib.rs")]);
        let error = files_below(Path::new("no-such-file")).unwrap_err();
        assert!(error.to_string().starts_with("cannot read `no-such-file`"));
    }

    #[test]
    fn random_numbers_are_those_of_splitmix() {
        // The first of the published generator with seed 0.
        assert_eq!(random(0), 0xe220_a839_7b1d_cdaf);
    }

    #[test]
    fn pictures_become_files_and_back() {
        let mut picture = Picture::new(3, 2);
        picture.rgb[4] = 200;
        let bytes = picture.to_png().unwrap();
        assert_eq!(Picture::from_png(&bytes).unwrap(), picture);
        assert_eq!(picture.height(), 2);
        assert!(Picture::from_png(b"no picture").is_err());
    }
}
