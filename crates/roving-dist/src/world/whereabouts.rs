//! Where a rank's process is, so that another rank can say more of its silence than that.
//!
//! A rank that is silent may be dead, stopped, or busy; or the way to it is cut. Nobody can tell
//! from afar. A rank on the same machine asks the system.

use std::fmt;
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::process;

/// Which process a rank is, and on which machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Whereabouts {
    /// Names the running system and the space of its process numbers; none if it has no name.
    machine: Option<u64>,
    process: u32,
}

/// How a silent rank was found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SilentRank {
    /// Nobody can look there.
    Elsewhere,
    Gone(u32),
    Stopped(u32),
    Running(u32),
}

impl Whereabouts {
    /// Returns those of this process.
    pub(super) fn of_this_process() -> Whereabouts {
        let boot = fs::read("/proc/sys/kernel/random/boot_id").ok();
        let space = fs::read_link("/proc/self/ns/pid").ok();
        let machine = boot.zip(space).map(|names| {
            let mut hasher = DefaultHasher::new();
            names.hash(&mut hasher);
            hasher.finish()
        });
        Whereabouts {
            machine,
            process: process::id(),
        }
    }

    /// Returns the bytes that [`Whereabouts::read`] reads.
    pub(super) fn bytes(self) -> Vec<u8> {
        let process = self.process.to_le_bytes();
        let machine = self.machine.map(u64::to_le_bytes).unwrap_or_default();
        match self.machine {
            Some(_) => [&process[..], &machine].concat(),
            None => process.to_vec(),
        }
    }

    /// Reads them; none from bytes that are something else.
    pub(super) fn read(bytes: &[u8]) -> Option<Whereabouts> {
        let (process, rest) = bytes.split_first_chunk::<4>()?;
        let machine = match rest {
            [] => None,
            rest => Some(u64::from_le_bytes(rest.try_into().ok()?)),
        };
        Some(Whereabouts {
            machine,
            process: u32::from_le_bytes(*process),
        })
    }

    /// Looks for a process that is silent.
    pub(super) fn look_for(self, other: Option<Whereabouts>) -> SilentRank {
        match other {
            // Ranks that are threads have one process, and it runs.
            Some(other) if other != self && other.machine.is_some() => {
                if other.machine == self.machine {
                    state_of(other.process)
                } else {
                    SilentRank::Elsewhere
                }
            }
            _ => SilentRank::Elsewhere,
        }
    }
}

/// The state of a process of this machine.
fn state_of(process: u32) -> SilentRank {
    let status = fs::read_to_string(format!("/proc/{process}/stat"));
    // The name before it may hold anything, brackets too.
    let state = status
        .as_deref()
        .ok()
        .and_then(|text| text.rsplit_once(')'))
        .and_then(|(_, rest)| rest.trim_start().chars().next());
    match state {
        None | Some('Z' | 'X') => SilentRank::Gone(process),
        Some('T' | 't') => SilentRank::Stopped(process),
        Some(_) => SilentRank::Running(process),
    }
}

impl fmt::Display for SilentRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SilentRank::Elsewhere => {
                f.write_str("it was killed or stopped, or its machine is cut off")
            }
            SilentRank::Gone(process) => write!(f, "its process {process} is dead"),
            SilentRank::Stopped(process) => {
                write!(f, "its process {process} lives, and is stopped by a signal")
            }
            SilentRank::Running(process) => {
                write!(f, "its process {process} lives, and nothing comes from it")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whereabouts_are_read_as_they_were_written() {
        let here = Whereabouts::of_this_process();
        assert_eq!(Whereabouts::read(&here.bytes()), Some(here));
        let nowhere = Whereabouts {
            machine: None,
            ..here
        };
        assert_eq!(Whereabouts::read(&nowhere.bytes()), Some(nowhere));
        for length in [0, 3, 5, 11, 13] {
            assert_eq!(Whereabouts::read(&vec![7; length]), None, "{length}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_dead_process_is_told_from_one_that_is_stopped_or_runs() {
        use std::process::{Command, Stdio};
        use std::time::{Duration, Instant};

        let here = Whereabouts::of_this_process();
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let process = child.id();
        let there = Some(Whereabouts { process, ..here });
        let waits_for = |found: SilentRank| {
            let begun = Instant::now();
            while here.look_for(there) != found {
                assert!(begun.elapsed() < Duration::from_secs(60), "never {found}");
            }
        };
        let signal = |signal: &str| {
            let sent = Command::new("kill")
                .args([signal, &process.to_string()])
                .status();
            assert!(sent.unwrap().success());
        };
        waits_for(SilentRank::Running(process));
        signal("-STOP");
        waits_for(SilentRank::Stopped(process));
        signal("-CONT");
        waits_for(SilentRank::Running(process));
        child.kill().unwrap();
        // Nobody has heard of its end yet.
        waits_for(SilentRank::Gone(process));
        child.wait().unwrap();
        waits_for(SilentRank::Gone(process));
    }

    #[test]
    fn of_other_machines_and_of_threads_nothing_is_known() {
        let here = Whereabouts::of_this_process();
        let away = Whereabouts {
            machine: here.machine.map(|machine| !machine),
            process: here.process.wrapping_add(1),
        };
        for other in [None, Some(here), Some(away)] {
            assert_eq!(here.look_for(other), SilentRank::Elsewhere);
        }
    }
}
