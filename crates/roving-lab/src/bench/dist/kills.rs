//! The row about searches and networks of which ranks are killed: `roving launch --restart` starts
//! them again, on as many ranks or on one fewer each time, and the answer must be exact.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use serde_json::{Deserializer, Value};

use super::ask::has_ranks;
use crate::bench::Scale;
use crate::bench::record::{Bound::AtLeast, RowRecord};
use crate::io::input::CommandFailure;
use crate::workloads::Workload as _;
use crate::workloads::uts::Uts;

/// A rank is killed at most so long after the ranks of its run have appeared, or after the first
/// checkpoint of that run: while MPI begins, in the search, or when it has ended.
const KILL_AFTER_MAX: Duration = Duration::from_millis(1000);
/// The most kills of one search.
const KILLS_MAX: u64 = 4;
/// How long ranks may take to appear, or a search to end.
const WAIT_MAX: Duration = Duration::from_secs(300);

/// A program whose ranks are killed.
struct KilledProgram {
    name: &'static str,
    input: &'static str,
    /// The first figure that it must find; none if it holds that against a serial run itself.
    expected: Option<u64>,
}

/// The ends of all runs of a program.
#[derive(Default)]
struct Ends {
    runs: u64,
    exact: u64,
    kills: u64,
    restarts: u64,
    /// Restarts on fewer ranks.
    fewer: u64,
    /// Restarts that found a checkpoint.
    resumed: u64,
}

/// Answers that are exact, of a search and of a network with so many kills each.
pub(in crate::bench) fn kills(scale: &Scale) -> Result<RowRecord, CommandFailure> {
    let mut record = RowRecord::default();
    if !has_ranks(&mut record) {
        return Ok(record);
    }
    if !Path::new("/proc/self/cmdline").exists() {
        record
            .absent
            .push("ranks cannot be found: there is no /proc".into());
        return Ok(record);
    }
    let (tree, network, kills) = match scale.quick {
        true => ("T1", "4,work=100000,rounds=300", 4),
        false => ("T1L", "4,work=300000,rounds=2000", 200),
    };
    let expected = Uts::parse(tree)?.expected();
    let targets = [
        KilledProgram {
            name: "uts",
            input: tree,
            expected: Some(expected.map_or(0, |(answer, _)| answer.0[0])),
        },
        KilledProgram {
            name: "scatter-gather",
            input: network,
            expected: None,
        },
    ];
    let mut draw = Draw(2026);
    for target in targets {
        kills_of(&target, kills, &mut draw, &mut record)?;
    }
    Ok(record)
}

/// Adds the figures of one program.
fn kills_of(
    target: &KilledProgram,
    kills: u64,
    draw: &mut Draw,
    record: &mut RowRecord,
) -> Result<(), CommandFailure> {
    let mut ends = Ends::default();
    while ends.kills < kills {
        one_run(target, draw, &mut ends)?;
    }
    let KilledProgram { name, input, .. } = target;
    let counts = [
        ("runs", ends.runs),
        ("kills by signal 9", ends.kills),
        ("restarts", ends.restarts),
        ("restarts on fewer ranks", ends.fewer),
        ("restarts from a checkpoint", ends.resumed),
    ];
    for (what, count) in counts {
        record.single(
            &format!("{name} {input}, ranks killed: {what}"),
            "times",
            count as f64,
        );
    }
    let share = ends.exact as f64 / ends.runs as f64;
    let what = format!(
        "{name} {input}: answers exact with {} ranks killed at random",
        ends.kills
    );
    record.claim(what, "of all", share, AtLeast(1.0), None);
    Ok(())
}

/// Numbers that look random (SplitMix64), the same in every run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// One run under the launcher, with its kills.
fn one_run(target: &KilledProgram, draw: &mut Draw, ends: &mut Ends) -> Result<(), CommandFailure> {
    let name = format!("roving-bench-kills-{}-{}", std::process::id(), ends.runs);
    let directory = std::env::temp_dir().join(name);
    let _ = fs::remove_dir_all(&directory);
    let (ranks, fewer) = (2 + draw.below(3), draw.below(2) == 0);
    let child = launch(target, &directory, ranks, fewer)?;
    let id = child.id();
    // It is read while it runs, or a pipe that is full would stop it.
    let reader = thread::spawn(move || child.wait_with_output());
    let mut hunt = Hunt {
        directory: directory.clone(),
        launcher: id,
        known: HashSet::new(),
    };
    for _ in 0..=draw.below(KILLS_MAX) {
        let after = Duration::from_micros(draw.below(KILL_AFTER_MAX.as_micros() as u64));
        let Some(had_checkpoint) = hunt.kill_one(after, draw)? else {
            break;
        };
        ends.kills += 1;
        ends.resumed += u64::from(had_checkpoint);
    }
    let failed =
        |why: String| CommandFailure::Run(format!("{ranks} ranks, run {}: {why}", ends.runs));
    let output = reader
        .join()
        .map_err(|_| failed("its reader panicked".into()))?;
    let output = output.map_err(|error| failed(error.to_string()))?;
    let (said, warned) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    if !output.status.success() {
        return Err(failed(format!("launch failed: {warned}")));
    }
    let restarts = warned.matches("; starting again on ").count() as u64;
    ends.restarts += restarts;
    ends.fewer += if fewer { restarts.min(ranks - 1) } else { 0 };
    ends.runs += 1;
    ends.exact += u64::from(is_exact(target, &said));
    let _ = fs::remove_dir_all(&directory);
    Ok(())
}

/// Starts a run with checkpoints there.
fn launch(
    target: &KilledProgram,
    directory: &Path,
    ranks: u64,
    fewer: bool,
) -> Result<Child, CommandFailure> {
    let exe = std::env::current_exe();
    let exe = exe.map_err(|error| CommandFailure::Run(error.to_string()))?;
    let mut command = Command::new(&exe);
    command.args(["launch", "-n", &ranks.to_string(), "--restart", "20"]);
    if fewer {
        command.arg("--fewer");
    }
    command
        .args(["--mpirun", "--allow-run-as-root --oversubscribe"])
        .arg(exe);
    command.args([
        "run",
        target.name,
        "--input",
        target.input,
        "--dist",
        "--workers",
        "1",
        "--json",
        "-",
    ]);
    command
        .args(["--every", "20", "--checkpoints"])
        .arg(directory);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let started = command.spawn();
    started.map_err(|error| CommandFailure::Run(format!("launch does not start: {error}")))
}

/// Whether each report on standard output has the right figure. A run that was killed after its
/// report is started again, and gives another.
fn is_exact(target: &KilledProgram, said: &str) -> bool {
    let (mut reports, mut exact) = (0, 0);
    for report in Deserializer::from_str(said).into_iter::<Value>() {
        let Ok(report) = report else {
            break;
        };
        reports += 1;
        exact += u64::from(match target.expected {
            Some(expected) => report["found"][0][1].as_u64() == Some(expected),
            None => report["verified"] == "serial",
        });
    }
    reports > 0 && exact == reports
}

/// The search for ranks of one launcher.
struct Hunt {
    directory: PathBuf,
    launcher: u32,
    /// Ranks of its runs before.
    known: HashSet<u32>,
}

impl Hunt {
    /// Waits for the ranks of the next run, and after a while kills one of them. Whether there was
    /// a checkpoint then; none if the launcher has ended.
    fn kill_one(
        &mut self,
        after: Duration,
        draw: &mut Draw,
    ) -> Result<Option<bool>, CommandFailure> {
        let begun = Instant::now();
        while !self.ranks().iter().any(|rank| !self.known.contains(rank)) {
            if is_over(self.launcher) {
                return Ok(None);
            }
            if begun.elapsed() > WAIT_MAX {
                return Err(CommandFailure::Run(
                    "the ranks do not appear, nor does launch end".into(),
                ));
            }
            thread::sleep(Duration::from_millis(2));
        }
        let before = self.written();
        if draw.below(2) == 0 {
            while self.written() == before && begun.elapsed() < WAIT_MAX && !is_over(self.launcher)
            {
                thread::sleep(Duration::from_millis(2));
            }
        }
        thread::sleep(after);
        let ranks = self.ranks();
        self.known.extend(&ranks);
        let has_checkpoint = self.written().is_some();
        let Some(rank) = ranks.get(draw.below(ranks.len().max(1) as u64) as usize) else {
            // The run has ended meanwhile.
            return Ok(None);
        };
        let killed = Command::new("kill")
            .args(["-9", &rank.to_string()])
            .stderr(Stdio::null())
            .status();
        let killed = killed.is_ok_and(|status| status.success());
        Ok(killed.then_some(has_checkpoint))
    }

    /// When the last checkpoint was written.
    fn written(&self) -> Option<SystemTime> {
        let latest = fs::metadata(self.directory.join("latest"));
        latest.and_then(|file| file.modified()).ok()
    }

    /// The processes of `roving run` that have this directory among their words.
    fn ranks(&self) -> Vec<u32> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        let ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        let is_rank = |id: &u32| {
            let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            let mut words = words.split(|byte| *byte == 0).skip(1);
            let directory = self.directory.as_os_str().as_encoded_bytes();
            words.next() == Some(b"run") && words.any(|word| word == directory)
        };
        ids.filter(is_rank).collect()
    }
}

/// Whether a process has ended.
fn is_over(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let state = status.rsplit_once(')').map(|(_, rest)| rest.trim_start());
    state.is_none_or(|state| state.starts_with(['Z', 'X']))
}
