//! Every program, small, without a device and on simulated ones.

use std::sync::mpsc;
use std::time::Duration;

use roving::policy::Amount;
use roving_gpu::KindProfile;

use super::run::Arena;
use super::setup::Setup;
use super::words::Wanted;
use super::*;
use crate::networks::run::pool;

/// Each program small, with both kinds of numbers and with sides that are no round numbers.
const SMALL: [(&str, &str); 13] = [
    ("matmul", "96,tile=32"),
    ("matmul", "75,tile=25,numbers=f64"),
    ("matmul", "7"),
    ("cholesky", "100,tile=20"),
    ("cholesky", "96,tile=32,numbers=f64"),
    ("cholesky", "5"),
    ("nbody", "120,block=30,steps=3"),
    ("nbody", "33,steps=2"),
    ("mandelbrot", "60,tile=12,most=200"),
    ("image-pipeline", "11,side=40,radius=2"),
    ("image-pipeline", "1,side=1,radius=16"),
    ("fib", "16"),
    ("flat", "2000"),
];

#[test]
fn every_program_finds_the_right_answer_without_a_device() {
    for (name, input) in SMALL {
        let arena = Arena::named(name, input).unwrap();
        let program = &arena.job.program;
        assert!(
            program.items() > 0 && program.tasks() > 0 && program.work() > 0.0,
            "{name} {input}"
        );
        let wanted = Wanted::parse("none").unwrap();
        let setup = Setup::new(&wanted, &arena.load).unwrap();
        for workers in [1, 3] {
            let pool = pool(workers, Amount::One, false).unwrap();
            let ran = arena.run(&pool, &setup);
            let ran =
                ran.unwrap_or_else(|failure| panic!("{name} {input} on {workers}: {failure}"));
            assert!(ran > Duration::ZERO, "{name} {input}");
        }
    }
}

/// Runs on a simulated device that is not slowed down by much. On another thread, so that one that
/// hangs fails.
fn simulated(
    arena: Arena,
    workers: usize,
    words: String,
) -> (Result<Duration, String>, Setup, Arena) {
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || {
        let wanted = Wanted::parse(&words).unwrap();
        let setup = Setup::new(&wanted, &arena.load).unwrap();
        let pool = pool(workers, Amount::One, false).unwrap();
        let ran = arena
            .run(&pool, &setup)
            .map_err(|failure| failure.to_string());
        drop(pool);
        let _ = sender.send((ran, setup, arena));
    });
    ended
        .recv_timeout(Duration::from_secs(120))
        .expect("it ends")
}

fn small(name: &str, input: &str) -> Arena {
    let mut arena = Arena::named(name, input).unwrap();
    arena.load.task_s = 2e-5;
    arena
}

#[test]
fn every_program_finds_the_right_answer_on_simulated_devices() {
    for (name, input) in SMALL {
        let mut arena = small(name, input);
        for words in [
            "sim:5",
            "sim:0.3",
            "sim:5,gpu",
            "sim:2,cpu",
            "sim:2,split:0.5",
            "sim:2,gpu,rate:200",
            "sim:2,gpu,memory:0",
        ] {
            let (ran, setup, back) = simulated(arena, 2, words.into());
            assert!(ran.is_ok(), "{name} {input} on {words}: {ran:?}");
            let profile = setup.devices.profile();
            let on_device: u64 = profile.kinds.values().map(KindProfile::gpu_tasks).sum();
            let two_sides = !["fib", "flat"].contains(&name) && (name, input) != ("cholesky", "5");
            match words {
                "sim:5,gpu" | "sim:2,gpu,rate:200" if two_sides => {
                    assert!(on_device > 0, "{name} {input} on {words}: {profile}");
                }
                "sim:2,cpu" | "sim:2,gpu,memory:0" => {
                    assert_eq!(on_device, 0, "{name} {input} on {words}: {profile}");
                }
                _ => {}
            }
            arena = back;
        }
    }
}

/// The device is lost at each of its operations in turn, until there are no more of them.
#[test]
fn nothing_is_lost_with_the_device_whenever_that_is() {
    for (name, input) in [("matmul", "48,tile=16"), ("cholesky", "64,tile=16")] {
        let mut arena = small(name, input);
        let mut failures = 0;
        for operation in 0.. {
            let (ran, setup, back) = simulated(arena, 2, format!("sim:3,gpu,fail:{operation}"));
            assert!(ran.is_ok(), "{name} {input}, lost at {operation}: {ran:?}");
            arena = back;
            if !setup.devices.profile().devices[0].is_lost {
                break;
            }
            failures += 1;
            assert!(failures < 10_000, "the device has an end");
        }
        // At least a launch for each task with two sides.
        assert!(
            failures as u64 >= arena.job.program.tasks() / 2,
            "{name}: {failures}"
        );
    }
}

#[test]
fn inputs_are_read_as_they_are_written_and_others_named() {
    for entry in &super::catalogue::CATALOGUE {
        assert!(entry.kind.figures.len() <= 3 && !entry.kind.inputs.is_empty());
        let input = SMALL
            .iter()
            .find(|(name, _)| *name == entry.kind.name)
            .unwrap()
            .1;
        let program = (entry.parse)(input).unwrap();
        assert_eq!(
            (entry.parse)(&program.input()).unwrap().input(),
            program.input()
        );
        if entry.kind.name != "fib" {
            let line = (entry.parse)("0").err().unwrap().to_string();
            assert!(line.contains("`0`") && !line.contains('\n'), "{line}");
        }
        assert!((entry.parse)("wrong=1").is_err() && (entry.parse)("x").is_err());
    }
    for (name, input, named) in [
        ("matmul", "100,tile=30", "`30`"),
        ("matmul", "100,numbers=f16", "`f16`"),
        ("cholesky", "1000,tile=10", "`10`"),
        ("nbody", "100,block=7", "`7`"),
        ("mandelbrot", "64,tile=128", "`128`"),
        ("image-pipeline", "folder=no/such", "`no/such`"),
        ("sort", "1", "`sort`"),
    ] {
        let line = DualJob::parse(name, Some(input)).err().unwrap().to_string();
        assert!(line.contains(named) && !line.contains('\n'), "{line}");
    }
}
