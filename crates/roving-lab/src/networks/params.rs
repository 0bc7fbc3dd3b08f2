//! Parameters of a network: `key=value` with commas between them, each a number in a range.

use std::ops::RangeInclusive;

use crate::io::input::{BadInput, number_in};
use crate::machine::memory;
use crate::workloads::parse_params;
use crate::workloads::stress::LeafWork;

/// One number that can be set.
pub(super) struct Param<'a> {
    key: &'static str,
    range: RangeInclusive<u64>,
    value: &'a mut u64,
}

impl<'a> Param<'a> {
    /// The number `value`, which holds the default now.
    pub(super) fn new(key: &'static str, range: RangeInclusive<u64>, value: &'a mut u64) -> Self {
        Param { key, range, value }
    }
}

/// Sets what `input` names; a bare word is the value of the first parameter.
pub(super) fn read(workload: &str, input: &str, params: &mut [Param<'_>]) -> Result<(), BadInput> {
    let keys: Vec<&'static str> = params.iter().map(|param| param.key).collect();
    for (key, text) in parse_params(workload, &keys, input)? {
        let found = params.iter_mut().find(|param| param.key == key);
        let param = found.expect("parse_params gives known keys only");
        let remedy = format!("leave {key} out for {}", param.value);
        let subject = format!("{workload} {key}");
        *param.value = number_in(&subject, text, param.range.clone(), &remedy)?;
    }
    Ok(())
}

/// The approximate size of a process with its channel while its network runs.
const PROCESS_BYTES: u64 = 1000;

/// An error where there is no memory for so many processes.
pub(super) fn require_processes(
    workload: &str,
    input: &str,
    processes: u64,
    remedy: &str,
) -> Result<(), BadInput> {
    memory::require(workload, input, processes * PROCESS_BYTES, remedy)
}

/// Reads the work of one message, a time or turns of a loop, when it is among `parts`; gives the
/// rest.
pub(super) fn take_work(
    workload: &str,
    input: &str,
    work: &mut LeafWork,
) -> Result<String, BadInput> {
    let mut rest = Vec::new();
    for part in input.split(',').map(str::trim) {
        match part.split_once('=') {
            Some(("work", text)) => {
                *work = LeafWork::parse(text.trim()).ok_or_else(|| {
                    let allowed = "1ns to 1s, or 0 to 1e9 turns of a loop";
                    let subject = format!("{workload} work");
                    BadInput::new(subject, text, allowed, "write work=10us, or work=0")
                })?;
            }
            _ => rest.push(part),
        }
    }
    Ok(rest.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_set_and_wrong_ones_are_named() {
        let (mut size, mut rounds) = (10, 20);
        let mut set = |input: &str| {
            let mut params = [
                Param::new("size", 1..=50, &mut size),
                Param::new("rounds", 1..=1000, &mut rounds),
            ];
            read("thing", input, &mut params)
        };
        assert_eq!(set("7,rounds=1e3"), Ok(()));
        for (input, named) in [
            ("size=51", "thing size `51`"),
            ("rounds=none", "thing rounds `none`"),
            ("depth=1", "`depth`"),
        ] {
            let line = set(input).unwrap_err().to_string();
            assert!(line.contains(named) && !line.contains('\n'), "{line}");
        }
        assert_eq!((size, rounds), (7, 1000));
    }

    #[test]
    fn work_is_a_time_or_turns() {
        let mut work = LeafWork::Turns(1);
        let rest = take_work("scatter", "40,work=10us,rounds=3", &mut work);
        assert_eq!(
            (rest, work),
            (Ok("40,rounds=3".to_owned()), LeafWork::Nanos(10_000))
        );
        assert_eq!(take_work("scatter", "work=0", &mut work), Ok(String::new()));
        assert_eq!(work, LeafWork::Turns(0));
        let line = take_work("scatter", "work=4s", &mut work)
            .unwrap_err()
            .to_string();
        assert!(line.contains("`4s`"), "{line}");
    }
}
