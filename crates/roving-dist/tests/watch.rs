//! Ranks that wait say what they wait for, where `ROVING_WATCH` asks for it.

mod common;

use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use common::watched;
use roving::{Pool, watch};
use roving_dist::{Bag, Network, World};
use roving_flow::{In, Out};

/// Longer than any of these takes.
const MOST: Duration = Duration::from_secs(120);
/// How long a rank waits before it says so; and how often it is looked whether it has.
const PATIENCE_MS: &str = "20";
const LOOK: Duration = Duration::from_millis(1);

/// All that has been told.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<String>>);

impl Told {
    fn begin() -> Told {
        let told = Told::default();
        let reporter = told.clone();
        watch::on_report(move |text| *reporter.0.lock().unwrap() += text);
        told
    }

    /// Waits until somebody has told that. A test whose ranks say nothing ends by its watchdog.
    fn wait_for(&self, text: &str) {
        self.wait_for_any(&[text]);
    }

    /// [`Told::wait_for`] one of these.
    fn wait_for_any(&self, texts: &[&str]) {
        let is_told = |text: &&str| self.0.lock().unwrap().contains(*text);
        while !texts.iter().any(is_told) {
            thread::sleep(LOOK);
        }
    }
}

/// Runs this test in a process of its own with the variable set.
fn asked_for(test: &str, f: impl FnOnce(&Told)) {
    if std::env::var_os("ROVING_WATCH").is_some() {
        return watched(MOST, || f(&Told::begin()));
    }
    let status = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env("ROVING_WATCH", PATIENCE_MS)
        .status();
    assert!(status.unwrap().success());
}

#[test]
fn ranks_that_meet_say_who_is_missing() {
    asked_for("ranks_that_meet_say_who_is_missing", |told| {
        World::threads(3, |world| {
            if world.rank() == 2 {
                // Rank 1 may come when rank 0 has waited for long.
                told.wait_for_any(&[
                    "rank 0 of 3 waits for ranks [2], which have not come to the same call",
                    "rank 0 of 3 waits for ranks [1, 2], which have not come to the same call",
                ]);
                told.wait_for("rank 1 of 3 waits for rank 0's answer");
            }
            world.barrier().unwrap();
        });
    });
}

#[test]
fn a_rank_whose_processes_wait_says_for_which_channels() {
    asked_for(
        "a_rank_whose_processes_wait_says_for_which_channels",
        |told| {
            World::threads(2, |world| {
                let mut network = Network::new(&world);
                let (out, input) = network.bounded::<u32>("numbers", 1);
                network.process("slow", out, async |mut out: Out<u32>| {
                    told.wait_for("nothing moves on rank 1");
                    told.wait_for("`eager` waits to receive from `numbers`");
                    out.send(1).await.unwrap();
                });
                network.process("eager", input, async |mut input: In<u32>| {
                    assert_eq!(input.recv().await, Some(1));
                });
                network.pin("slow", 0);
                network.pin("eager", 1);
                network.run(&Pool::new(1).unwrap()).unwrap();
            });
        },
    );
}

#[test]
fn a_rank_without_tasks_says_whom_it_has_asked() {
    asked_for("a_rank_without_tasks_says_whom_it_has_asked", |told| {
        World::threads(2, |world| {
            let pool = Pool::new(1).unwrap();
            let ran = Bag::new(&world).run(
                &pool,
                [()],
                |(), local| {
                    told.wait_for("rank 1 of 2 has no task of a bag: ");
                    local.add(1);
                },
                |a: u64, b| a + b,
            );
            assert_eq!(ran, Ok(1));
        });
        // It has asked before or after the other one has begun.
        let all = told.0.lock().unwrap();
        let asked = [
            "it waits for rank 0's answer",
            "ranks [0] know that it wants some",
        ];
        assert!(asked.iter().any(|text| all.contains(text)), "{all}");
    });
}
