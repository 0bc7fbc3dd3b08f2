//! Every network, small, under every placement, on one worker and on more.

use std::time::Duration;

use proptest::prelude::*;
use roving::policy::Amount;

use super::placement::{self, NamedPlacement};
use super::run::{VerifiedNetwork, pool};
use super::*;
use crate::io::input::twisted;

/// Each program small, and with channels as tight as they may be.
const SMALL: [(&str, &str); 14] = [
    ("ring", "1,rounds=5"),
    ("ring", "30,rounds=20"),
    ("ring", "9,rounds=7,capacity=3"),
    ("scatter-gather", "5,work=0,rounds=30"),
    ("scatter-gather", "3,messages=4,work=50,rounds=6"),
    ("kmeans", "4,points=500,clusters=9,processes=5"),
    ("kmeans", "1000,points=200,clusters=2,processes=1"),
    ("h264", "5,frames=6,frame_us=20"),
    ("h264", "1,frames=3,frame_us=1"),
    ("random", "A,division=30,work_ms=1,capacity=1"),
    ("random", "B,division=30,work_ms=1,capacity=1"),
    ("chain", "500,tokens=7"),
    ("compress", "1,block_kib=64,lanes=3,capacity=1"),
    ("compress", "1,block_kib=4096,lanes=9"),
];

#[test]
fn every_network_finds_the_right_answer_under_every_placement() {
    for (name, input) in SMALL {
        let verified = VerifiedNetwork::named(name, input).unwrap();
        for workers in [1, 3] {
            let pool = pool(workers, Amount::One, false).unwrap();
            for place in NamedPlacement::all() {
                for accounting in [false, true] {
                    let ran = verified.network(&pool, place, accounting);
                    let place = place.text();
                    let case = format!("{name} {input}, {place} on {workers}");
                    let ran = ran.unwrap_or_else(|failure| panic!("{case}: {failure}"));
                    assert!(verified.items() > 0 && ran.time > Duration::ZERO, "{case}");
                }
            }
        }
    }
}

#[test]
fn a_wrong_answer_is_refused() {
    let job = NetworkJob::parse("ring", Some("7,rounds=3")).unwrap();
    let right = RunAnswer([21, 0, 0]);
    assert_eq!(job.verify(right, right), Ok(()));
    let line = job.verify(RunAnswer([20, 0, 0]), right).unwrap_err();
    assert!(
        line.contains("hops 20") && line.contains("hops 21"),
        "{line}"
    );
}

#[test]
fn names_are_read_and_unknown_ones_named() {
    for entry in &CATALOGUE {
        assert!(NetworkJob::find(entry.kind.name).is_some());
        assert!(entry.kind.figures.len() <= 3 && !entry.kind.inputs.is_empty());
        for (input, _) in entry.kind.inputs {
            let program = (entry.parse)(input).unwrap();
            assert!(
                (entry.parse)(&program.input()).is_ok(),
                "{}",
                program.input()
            );
        }
    }
    let line = NetworkJob::parse("rings", None).err().unwrap().to_string();
    assert!(
        line.contains("`rings`") && line.contains("scatter-gather"),
        "{line}"
    );
    assert!(placement::parse("nowhere").is_err());
}

proptest! {
    /// Any parameters are a network whose own words mean it again, or one line that says why not.
    #[test]
    fn fuzz_parameters_of_networks(
        kind in 0..CATALOGUE.len(),
        at: usize,
        value in "[0-9]{1,3}|[0-9e._-]{0,24}|.{0,24}",
        plain: bool,
    ) {
        let entry = &CATALOGUE[kind];
        let (input, _) = entry.kind.inputs[at % entry.kind.inputs.len()];
        let text = match plain {
            true => value,
            false => twisted(input, entry.kind.params, at, &value),
        };
        match (entry.parse)(&text) {
            Ok(program) => {
                let words = program.input();
                let again = (entry.parse)(&words);
                prop_assert_eq!(again.map(|program| program.input()).ok(), Some(words));
            }
            Err(bad) => prop_assert_eq!(bad.to_string().lines().count(), 1),
        }
    }

    /// Any words for a placement are one, or one line that says why not.
    #[test]
    fn fuzz_placements_of_any_text(text in "(stealing|partitioned|adaptive)?[a-z0-9=:,._-]{0,24}|.{0,24}") {
        if let Err(bad) = placement::parse(&text) {
            prop_assert_eq!(bad.to_string().lines().count(), 1);
        }
    }
}
