//! How this process was started: alone, or as one of several ranks.

use std::env;
use std::fs;
use std::thread;

/// What those who start ranks leave in the environment of each.
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

/// How many cores this machine has. Ranks may be bound to some of them each, so what this process may use
/// says nothing about that.
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
    fn lists_of_cores_are_counted() {
        assert_eq!(count("0-3,6"), Some(5));
        assert_eq!(count("0"), Some(1));
        assert_eq!(count("3-0"), None);
        assert_eq!(count(""), None);
        assert!(cores() > 0);
    }
}
