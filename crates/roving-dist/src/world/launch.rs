//! How this process was started: alone, or as one of several ranks.

use std::env;
use std::fs;
use std::thread;
#[cfg(any(feature = "mpi", test))]
use std::time::Duration;

#[cfg(any(feature = "mpi", test))]
use crate::error::Error;

/// The environment variables that launchers of ranks set for each of them.
const SIGNS: [&str; 5] = [
    "OMPI_COMM_WORLD_SIZE",
    "PMIX_RANK",
    "PMI_RANK",
    "PMI_SIZE",
    "MV2_COMM_WORLD_SIZE",
];

/// Whether somebody started this process as a rank.
pub(super) fn is_rank() -> bool {
    SIGNS.iter().any(|sign| env::var_os(sign).is_some())
}

fn number(name: &str) -> Option<usize> {
    env::var(name).ok()?.parse().ok()
}

/// How long a rank may be silent: what the environment says, in seconds, or else `plain`.
#[cfg(feature = "mpi")]
pub(super) fn silence_max(plain: Duration) -> Result<Duration, Error> {
    match env::var(SILENCE) {
        Ok(text) => parse_silence(&text),
        Err(_) => Ok(plain),
    }
}

/// The variable that says how long a rank may be silent.
#[cfg(any(feature = "mpi", test))]
const SILENCE: &str = "ROVING_DIST_SILENCE_S";

#[cfg(any(feature = "mpi", test))]
fn parse_silence(text: &str) -> Result<Duration, Error> {
    let seconds = text
        .parse()
        .ok()
        .filter(|seconds| (1..=1_000_000).contains(seconds));
    seconds.map(Duration::from_secs).ok_or_else(|| {
        Error::anywhere(format_args!(
            "{SILENCE} `{text}` is not allowed: want whole seconds from 1 to 1000000; leave it out for 10"
        ))
    })
}

/// How many ranks were started, if the environment says so.
#[cfg(not(feature = "mpi"))]
pub(super) fn ranks() -> Option<usize> {
    ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"]
        .into_iter()
        .find_map(number)
}

/// How many of `ranks` are on this machine: all of them, if nobody says.
#[cfg(feature = "mpi")]
pub(super) fn ranks_here(ranks: usize) -> usize {
    [
        "OMPI_COMM_WORLD_LOCAL_SIZE",
        "MPI_LOCALNRANKS",
        "MV2_COMM_WORLD_LOCAL_SIZE",
    ]
    .into_iter()
    .find_map(number)
    .unwrap_or(ranks)
}

/// How many cores this machine has. Ranks may be bound to some of them each, so what this process
/// may use says nothing about that.
pub(super) fn cores() -> usize {
    let online = fs::read_to_string("/sys/devices/system/cpu/online");
    let counted = online.ok().and_then(|list| count(list.trim()));
    let usable = thread::available_parallelism().map_or(1, usize::from);
    counted.unwrap_or(usable).max(usable)
}

/// Counts a list like `0-3,6`.
fn count(list: &str) -> Option<usize> {
    let mut cores = 0;
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        cores += last.checked_sub(first)? + 1;
    }
    Some(cores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_a_rank_may_be_silent_is_checked() {
        assert_eq!(parse_silence("30"), Ok(Duration::from_secs(30)));
        for bad in ["", "0", "-1", "ten", "1000001"] {
            let error = parse_silence(bad).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("ROVING_DIST_SILENCE_S `{bad}`")),
                "{error}"
            );
        }
    }

    #[test]
    fn lists_of_cores_are_counted() {
        assert_eq!(count("0-3,6"), Some(5));
        assert_eq!(count("0"), Some(1));
        assert_eq!(count("3-0"), None);
        assert_eq!(count(""), None);
        assert!(cores() > 0);
    }
}
