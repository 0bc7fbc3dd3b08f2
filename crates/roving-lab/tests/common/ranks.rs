//! Ranks of a program, which are disturbed while they run.

use std::io::Read as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::common::{LARGE, empty, mpi_place, mpirun, text};

/// Whoever waits for longer waits in vain.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);
/// How long who waits for processes or files does not look: to look costs milliseconds.
pub(super) const BETWEEN: Duration = Duration::from_millis(10);

/// Trees for searches that are disturbed before they end, and how many nodes they have: one for a
/// start, and one that takes longer for where that has ended too early. Most of the time of these
/// tests is what is searched after the disturbance.
pub(super) const DISTURBED: [(&str, &str); 2] = match cfg!(debug_assertions) {
    // The same tree in two fifths of the time: the hash of the crate is optimised, ours is not.
    true => [("portable T1", LARGE.1), LARGE],
    false => [("T1L", "nodes 102,181,082"), LARGE],
};

/// Disturbs a search of a tree with checkpoints in a directory, which `act` does unless the search
/// has ended before.
pub(super) fn disturbed(name: &str, act: impl Fn((&str, &str), &str) -> Option<()>) {
    let mut done = DISTURBED.into_iter().map(|tree| act(tree, &empty(name)));
    assert!(done.any(|done| done.is_some()), "it ended too early");
}

/// Starts ranks that print to pipes; `None` where there is no `mpirun`.
pub(super) fn start(command: &mut Command) -> Option<Child> {
    let piped = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    match piped.spawn() {
        Ok(child) => Some(child),
        Err(error) => {
            println!("skipped: no mpirun here ({error})");
            None
        }
    }
}

/// The output of the command as ranks of `mpirun`; `None` where there is no MPI.
pub(super) fn ranks(count: usize, words: &[&str]) -> Option<(bool, String, String)> {
    if !cfg!(feature = "mpi") {
        return None;
    }
    let child = start(mpirun(count, env!("CARGO_BIN_EXE_roving")).args(words))?;
    let output = child.wait_with_output().unwrap();
    let (said, warned) = (text(&output.stdout), text(&output.stderr));
    Some((output.status.success(), said, warned))
}

/// `roving launch` with these words, then a program; none where there is no MPI.
pub(super) fn launch(words: &[&str], program: &[&str]) -> Option<Command> {
    if !cfg!(feature = "mpi") {
        return None;
    }
    if let Err(error) = Command::new("mpirun").arg("--version").output() {
        println!("skipped: no mpirun here ({error})");
        return None;
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_roving"));
    command
        .env("OMPI_MCA_orte_tmpdir_base", mpi_place())
        .args(["launch", "--mpirun", "--allow-run-as-root --oversubscribe"])
        .args(words)
        .args(program)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Some(command)
}

/// The processes of `roving run` whose words name this directory: the ranks.
pub(super) fn ranks_of(directory: &str) -> Vec<u32> {
    let ids = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let ids = ids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_rank = |id: &u32| {
        let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
        words.get(1) == Some(&&b"run"[..]) && words.contains(&directory.as_bytes())
    };
    ids.filter(is_rank).collect()
}

/// Sends a signal to a process.
pub(super) fn send(signal: &str, process: u32) {
    let sent = Command::new("kill")
        .args([signal, &process.to_string()])
        .status();
    assert!(sent.expect("kill starts").success());
}

/// Sends a signal to one of so many ranks of a program, when there is a checkpoint. Returns all of
/// them, and that one; nothing where the program has come to its end before.
pub(super) fn signal(
    program: &mut Child,
    directory: &str,
    ranks: usize,
    which: usize,
    signal: &str,
) -> Option<(Vec<u32>, u32)> {
    let latest = std::path::Path::new(directory).join("latest");
    let begun = Instant::now();
    let mut before = None;
    loop {
        let written = std::fs::metadata(&latest)
            .and_then(|file| file.modified())
            .ok();
        let found = ranks_of(directory);
        // A newer one than that from which these ranks have resumed.
        if written.is_some()
            && before.is_some_and(|before| before != written)
            && found.len() == ranks
        {
            let which = found[which % ranks];
            send(signal, which);
            return Some((found, which));
        }
        if found.len() == ranks && before.is_none() {
            before = Some(written);
        }
        let found = found.len();
        assert!(begun.elapsed() < PATIENCE, "{found} ranks, {written:?}");
        if has_ended(program) {
            return None;
        }
        std::thread::sleep(BETWEEN);
    }
}

/// Whether the program has ended. Who waits for something that it does waits in vain when it has
/// failed.
pub(super) fn has_ended(program: &mut Child) -> bool {
    let status = program.try_wait().expect("it is a child");
    if let Some(status) = status.filter(|status| !status.success()) {
        let mut warned = String::new();
        if let Some(pipe) = &mut program.stderr {
            let _ = pipe.read_to_string(&mut warned);
        }
        panic!("it has ended meanwhile, {status}: {warned}");
    }
    status.is_some()
}
