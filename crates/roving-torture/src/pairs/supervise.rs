//! The process that has others run programs, and makes smaller what they die of.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::cover::{Cover, PAIR_LEAST, TRIPLE_LEAST};
use super::generate::Recipe;
use super::name::{Name, features, focus};
use super::program::Edits;
use crate::random::mix2;
use crate::row::{BrokenPromise, Outcome, RowFigure, RowRun};

/// Steps of a program, at most, before those that its focus asks for.
pub(crate) const STEPS_MAX: u32 = 24;
/// How long one process runs programs.
const CHUNK: Duration = Duration::from_secs(20);
/// How often a smaller program runs without failing before it counts as right, and how long at
/// most.
const TIMES: u64 = 300;
const PATIENCE_S: u64 = 20;
/// The longest time for making a program smaller.
const SHRINKING: Duration = Duration::from_secs(600);
fn torture() -> Result<Command, BrokenPromise> {
    let path = std::env::current_exe().map_err(|error| failed(error.to_string(), String::new()))?;
    let mut command = Command::new(path);
    command.stdin(Stdio::null());
    Ok(command)
}

fn failed(text: String, replay: String) -> BrokenPromise {
    BrokenPromise { text, replay }
}

/// Programs until the time is over, by processes that follow each other.
pub(crate) fn run(run: &RowRun<'_>) -> Outcome {
    let file = std::env::temp_dir().join(format!("roving-pairs-{}", std::process::id()));
    let result = chunks(run, &file);
    let cover = Cover::read(&file);
    let _ = std::fs::remove_file(&file);
    print!("{}", cover.table());
    result?;
    if let Some(folder) = run.out {
        let path = folder.join("torture-pairs.csv");
        let written =
            std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, cover.csv()));
        written.map_err(|error| failed(format!("{}: {error}", path.display()), run.replay()))?;
    }
    Ok(figures(&cover, run))
}

/// Processes side by side: most of the time a program's threads wait for each other.
fn lanes() -> usize {
    2 * thread::available_parallelism().map_or(1, |cores| cores.get().min(32))
}

/// The counts of all processes, in a file that each new one reads.
struct Book<'f> {
    file: &'f Path,
    cover: Mutex<Cover>,
    next: AtomicU64,
    failed: AtomicBool,
}

impl Book<'_> {
    /// Whether all has met that is asked for.
    fn has_enough(&self, run: &RowRun<'_>) -> bool {
        let cover = self.cover.lock().unwrap_or_else(PoisonError::into_inner);
        let (pairs, met) = cover.pairs_with(PAIR_LEAST);
        let (triples, of_three) = cover.triples_with(TRIPLE_LEAST);
        !is_full(run) || (met, of_three) == (pairs, triples)
    }

    /// Adds the counts of a process, and returns how it stands.
    fn enter(&self, own: &Path) -> String {
        let mut cover = self.cover.lock().unwrap_or_else(PoisonError::into_inner);
        cover.add_all(&Cover::read(own));
        let _ = cover.write(self.file);
        let (pairs, met) = cover.pairs_with(PAIR_LEAST);
        let (triples, of_three) = cover.triples_with(TRIPLE_LEAST);
        format!(
            "{} programs, {met} of {pairs} pairs, {of_three} of {triples} triples",
            cover.programs
        )
    }
}

fn chunks(run: &RowRun<'_>, file: &Path) -> Result<(), BrokenPromise> {
    let book = Book {
        file,
        cover: Mutex::new(Cover::new()),
        next: AtomicU64::new(0),
        failed: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..lanes())
            .map(|lane| {
                let (book, own) = (&book, file.with_extension(lane.to_string()));
                scope.spawn(move || {
                    let result = lane_of(run, book, &own);
                    let _ = std::fs::remove_file(own);
                    book.failed.fetch_or(result.is_err(), Relaxed);
                    result
                })
            })
            .collect();
        let join = |lane: thread::ScopedJoinHandle<'_, _>| match lane.join() {
            Ok(result) => result,
            Err(payload) => std::panic::resume_unwind(payload),
        };
        let results: Vec<_> = lanes.into_iter().map(join).collect();
        results.into_iter().collect()
    })
}

/// Processes one after the other, until the time is over or something has failed.
fn lane_of(run: &RowRun<'_>, book: &Book<'_>, own: &Path) -> Result<(), BrokenPromise> {
    loop {
        if run.is_over(book.has_enough(run)) || book.failed.load(Relaxed) {
            return Ok(());
        }
        let seed = mix2(run.seed, book.next.fetch_add(1, Relaxed));
        chunk(seed, run.time.min(CHUNK), run, [book.file, own])?;
        let text = book.enter(own);
        run.tell(|| text);
    }
}

fn chunk(
    seed: u64,
    time: Duration,
    run: &RowRun<'_>,
    files: [&Path; 2],
) -> Result<(), BrokenPromise> {
    let mut command = torture()?;
    // The process that has a program which hangs says which, before it is thought to hang itself.
    let patience_s = (run.dog.limit().as_secs() / 2).max(1);
    command
        .args(["pairs", "--inside", "--seed", &seed.to_string()])
        .args(["--seconds", &time.as_secs_f64().to_string()])
        .args(["--patience-s", &patience_s.to_string()])
        .args(["--steps", &STEPS_MAX.to_string()])
        .arg("--cover")
        .args(files)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let leash = run.dog.watch("programs of another process", run.replay());
    let mut child = command
        .spawn()
        .map_err(|error| failed(error.to_string(), run.replay()))?;
    let errors = child.stderr.take();
    let errors = thread::spawn(move || {
        let mut text = String::new();
        let _ = errors.map(|mut errors| errors.read_to_string(&mut text));
        text
    });
    let mut last = String::new();
    if let Some(out) = child.stdout.take() {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            leash.stroke();
            last = line;
        }
    }
    let status = child.wait();
    drop(leash);
    let text = errors.join().unwrap_or_default();
    match status {
        Ok(status) if status.success() => Ok(()),
        other => Err(explained(&last, &format!("{other:?}\n{text}"), run)),
    }
}

/// The failure of the program that was begun last, and the smallest one that fails.
fn explained(last: &str, text: &str, run: &RowRun<'_>) -> BrokenPromise {
    let Some(name) = name_of(last) else {
        return failed(text.to_owned(), run.replay());
    };
    let leash = run.dog.watch("making a program smaller", name.replay());
    let smallest = smallest(&name, || leash.stroke());
    drop(leash);
    let told = match smallest {
        None => "it did not fail again".to_owned(),
        Some((small, why)) => format!("smallest: {}\n{}\n{why}", small.program(), small.replay()),
    };
    failed(format!("{}\n{text}\n{told}", name.program()), name.replay())
}

/// Reads the words that a process says before a program.
fn name_of(line: &str) -> Option<Name> {
    let words: Vec<&str> = line.split(' ').collect();
    let after = |word: &str| {
        let at = words.iter().position(|one| *one == word)?;
        words.get(at + 1).copied()
    };
    Some(Name {
        seed: after("--replay")?.parse().ok()?,
        recipe: Recipe {
            steps: after("--steps")?.parse().ok()?,
            focus: after("--focus").and_then(|text| focus(text).ok()),
            without: features(after("--without").unwrap_or_default()).ok()?,
        },
        edits: Edits::default(),
    })
}

/// The smallest program found that fails, if it fails again at all.
pub(crate) fn smallest(name: &Name, stroke: impl Fn()) -> Option<(Name, String)> {
    let mut best = name.clone();
    let mut why = (0..3).find_map(|_| fails(&best, &stroke))?;
    let start = Instant::now();
    'smaller: while start.elapsed() < SHRINKING {
        let whole = Name {
            edits: Edits::default(),
            ..best.clone()
        };
        for edits in whole.program().smaller(&best.edits) {
            let candidate = Name {
                edits,
                ..best.clone()
            };
            if let Some(text) = fails(&candidate, &stroke) {
                (best, why) = (candidate, text);
                continue 'smaller;
            }
            if start.elapsed() > SHRINKING {
                break 'smaller;
            }
        }
        break;
    }
    Some((best, why))
}

/// Runs it many times in a process of its own; what it said if that went wrong.
fn fails(name: &Name, stroke: &impl Fn()) -> Option<String> {
    let mut command = torture().ok()?;
    command
        .args(name.words())
        .args(["--times", &TIMES.to_string()])
        .args(["--patience-s", &(PATIENCE_S / 2).to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().ok()?;
    let (out, errors) = (reader(child.stdout.take()), reader(child.stderr.take()));
    let status = waited(&mut child, stroke);
    let text = [out, errors].map(|one| one.join().unwrap_or_default());
    let last = |text: &str| {
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(40)..].join("\n")
    };
    match status {
        // In that time it has not failed.
        None => None,
        Some(status) if status.success() => None,
        Some(status) => Some(format!("{status}\n{}\n{}", last(&text[0]), last(&text[1]))),
    }
}

fn reader<R: std::io::Read + Send + 'static>(from: Option<R>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.map(|mut from| from.read_to_end(&mut bytes));
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for its end, for so long; `None` where it was still well.
fn waited(child: &mut Child, stroke: &impl Fn()) -> Option<std::process::ExitStatus> {
    let start = Instant::now();
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if start.elapsed() > Duration::from_secs(PATIENCE_S) {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        stroke();
        thread::sleep(Duration::from_millis(5));
    }
}

/// Whether the row runs for long enough that everything is to meet.
fn is_full(run: &RowRun<'_>) -> bool {
    run.part >= 1.0
}

fn figures(cover: &Cover, run: &RowRun<'_>) -> Vec<RowFigure> {
    let (pairs, pairs_met) = cover.pairs_with(PAIR_LEAST);
    let (_, pairs_once) = cover.pairs_with(1);
    let (triples, triples_met) = cover.triples_with(TRIPLE_LEAST);
    let met = |what: &str, met: usize, all: usize| match is_full(run) {
        true => RowFigure::at_least(what, met as f64, all as f64, "combinations"),
        false => RowFigure::told(what, met as f64, "combinations"),
    };
    vec![
        RowFigure::told("programs run", cover.programs as f64, "programs"),
        RowFigure::at_most(
            "programs wrong, hung, leaked or crashed",
            0.0,
            0.0,
            "programs",
        ),
        met("pairs of features in 1,000 programs", pairs_met, pairs),
        RowFigure::told(
            "pairs of features in one program at least",
            pairs_once as f64,
            "combinations",
        ),
        RowFigure::told("pairs of features", pairs as f64, "combinations"),
        met("triples of features in 10 programs", triples_met, triples),
        RowFigure::told("triples of features", triples as f64, "combinations"),
        RowFigure::told("steps run", cover.steps as f64, "steps"),
        RowFigure::told(
            "programs with the pair that was met least",
            f64::from(cover.least_pair().2),
            "programs",
        ),
    ]
}
