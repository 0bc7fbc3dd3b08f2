//! Tools for several tests.
#![allow(dead_code, reason = "not every test needs all of it")]

use std::ffi::OsStr;
use std::io::Write as _;
use std::panic::Location;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use roving_dist::{Local, Plan};
use serde::{Deserialize, Serialize, Serializer};

/// A number that looks random.
pub(crate) fn hash(number: u64) -> u64 {
    let mut word = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A node of an unbalanced tree: its number and its depth.
pub(crate) type Node = (u64, u32);

/// The children of a node: many near the root, further down two with a probability a little below
/// one half.
pub(crate) fn children((number, depth): Node) -> impl Iterator<Item = Node> {
    let draw = hash(number);
    let count = match depth {
        0 => 60,
        1..=400 if draw % 1000 < 490 => 2,
        _ => 0,
    };
    (0..count).map(move |place| (hash(draw ^ (place + 1)), depth + 1))
}

/// How many nodes there are, this one included.
pub(crate) fn nodes(root: Node) -> u64 {
    let mut open = vec![root];
    let mut count = 0;
    while let Some(node) = open.pop() {
        count += 1;
        open.extend(children(node));
    }
    count
}

/// The task of a bag that counts them.
pub(crate) fn tree(node: Node, local: &mut Local<'_, Node, u64>) {
    *local.result() += 1;
    for child in children(node) {
        local.push(child);
    }
}

/// So many ranks; those of two seeds in three deliver late.
pub(crate) fn plan(ranks: usize, seed: u64) -> Plan {
    let plan = Plan::new(ranks).seed(seed);
    match seed % 3 {
        0 => plan,
        _ => plan.delay_max(Duration::from_micros(hash(seed) % 400)),
    }
}

/// Calls `f`, and ends the process if it takes longer than that: a test that hangs has failed.
#[track_caller]
pub(crate) fn watched<R>(most: Duration, f: impl FnOnce() -> R) -> R {
    watched_telling(most, String::new, f)
}

/// How long a test that hangs may take to say what it waits for.
const TELL_MAX: Duration = Duration::from_secs(10);

/// [`watched`] by somebody who says at the end what is waited for.
#[track_caller]
pub(crate) fn watched_telling<R>(
    most: Duration,
    tell: impl FnOnce() -> String + Send + 'static,
    f: impl FnOnce() -> R,
) -> R {
    let place = Location::caller();
    let (done, waits) = mpsc::channel::<()>();
    let watchdog = thread::spawn(move || {
        if waits.recv_timeout(most) == Err(RecvTimeoutError::Timeout) {
            // Not with a macro: what those print is kept back until the test has ended.
            let text = format!("\nthe test at {place} hangs: not done after {most:?}\n");
            let _ = std::io::stderr().write_all(text.as_bytes());
            // On a thread of its own: what it looks at may be locked for ever.
            let (told, is_told) = mpsc::channel();
            thread::spawn(move || told.send(tell()));
            let text = is_told.recv_timeout(TELL_MAX);
            let text = text.unwrap_or_else(|_| "what it waits for is locked\n".into());
            let _ = std::io::stderr().write_all(text.as_bytes());
            process::abort();
        }
    });
    let result = f();
    drop(done);
    watchdog.join().unwrap();
    result
}

/// The longest time for which ranks may be silent in [`with_patience`].
const SILENCE_MOST: Duration = Duration::from_secs(30);

/// Runs ranks that may be silent for so long, and again for twice as long if it was in vain: on a
/// busy machine a rank that is not lost has no core for a while, and is silent as well.
pub(crate) fn with_patience(first: Duration, run: impl Fn(Duration) -> Result<(), String>) {
    let mut silence = first;
    while let Err(complaint) = run(silence) {
        assert!(silence < SILENCE_MOST, "{complaint}");
        silence *= 2;
    }
}

/// The moment in a run with checkpoints at which it is ended: after so many steps, and if it waits
/// for that, when there is a checkpoint of this run. How soon one is on the disk is not for a test
/// to say, so steps are slow until then.
pub(crate) struct Moment {
    steps: AtomicU64,
    after: u64,
    waits: bool,
    latest: PathBuf,
    before: Option<Vec<u8>>,
}

/// The longest that a step waits.
const SLOW_MS: u64 = 20;

impl Moment {
    /// Before the run begins.
    pub(crate) fn new(directory: &Path, after: u64, waits: bool) -> Moment {
        let latest = directory.join("latest");
        Moment {
            steps: AtomicU64::new(0),
            after,
            waits,
            before: std::fs::read(&latest).ok(),
            latest,
        }
    }

    /// Counts a step. Whether the moment has come.
    pub(crate) fn has_come(&self) -> bool {
        // Ordering: Relaxed; a count.
        let number = self.steps.fetch_add(1, Ordering::Relaxed);
        let Some(late) = number.checked_sub(self.after) else {
            return false;
        };
        if !self.waits || self.is_saved() {
            return true;
        }
        thread::sleep(Duration::from_millis((late + 1).min(SLOW_MS)));
        false
    }

    /// Whether there is a checkpoint of this run, which has not come to its end.
    pub(crate) fn is_saved(&self) -> bool {
        std::fs::read(&self.latest).ok() != self.before
    }
}

/// Lets the others of the worker go on.
pub(crate) async fn pause() {
    let mut is_over = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

/// A directory that is not there.
pub(crate) fn directory(name: &str) -> PathBuf {
    let name = format!("{name}-{}", std::process::id());
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&directory);
    directory
}

/// The state of one process of a test, which shows whether that is recorded.
#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct Shown(pub(crate) u64);

/// How often it was recorded in this run: once in each checkpoint.
static RECORDS: AtomicU64 = AtomicU64::new(0);

impl Serialize for Shown {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        RECORDS.fetch_add(1, Ordering::SeqCst);
        to.serialize_u64(self.0)
    }
}

impl Shown {
    /// Before a network runs.
    pub(crate) fn new(number: u64) -> Shown {
        RECORDS.store(0, Ordering::SeqCst);
        Shown(number)
    }

    /// Whether rank 0's part of the next checkpoint is on the disk, in the first run with that
    /// directory. While the process is in a step, it is missing there.
    pub(crate) fn is_next_begun(directory: &Path) -> bool {
        let cut = format!("cut-{}-", RECORDS.load(Ordering::SeqCst) + 1);
        let is_begun = |path: PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(&cut) && path.join("rank-0").exists()
        };
        let entries = std::fs::read_dir(directory).into_iter().flatten();
        entries.flatten().any(|entry| is_begun(entry.path()))
    }
}

/// `mpirun` for so many ranks of a program. Several at once must not share the place of their
/// files: one removes what another has just made.
pub(crate) fn mpirun(ranks: usize, program: impl AsRef<OsStr>) -> Command {
    static STARTED: AtomicUsize = AtomicUsize::new(0);
    // Ordering: Relaxed; a number that nobody else has.
    let number = STARTED.fetch_add(1, Ordering::Relaxed);
    let place = format!("mpi-{}-{number}", std::process::id());
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(place);
    std::fs::create_dir_all(&place).expect("a place for the files of mpirun");
    let mut command = Command::new("mpirun");
    command
        .env("OMPI_MCA_orte_tmpdir_base", place)
        .args(["--allow-run-as-root", "--oversubscribe", "-n"])
        .arg(ranks.to_string())
        .arg(program.as_ref());
    command
}
