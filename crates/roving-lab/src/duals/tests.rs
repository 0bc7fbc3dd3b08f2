//! Every program, small, without a device and on simulated ones.

use roving::Amount;

use super::run::Arena;
use super::setup::{Kept, Setup};
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
        let setup = Setup::new(&wanted, &arena.load, &Kept::Nowhere).unwrap();
        for workers in [1, 3] {
            let pool = pool(workers, Amount::One, false).unwrap();
            let ran = arena.run(&pool, &setup);
            let ran =
                ran.unwrap_or_else(|failure| panic!("{name} {input} on {workers}: {failure}"));
            assert!(ran > Duration::ZERO, "{name} {input}");
        }
    }
}

#[test]
fn inputs_are_read_as_they_are_written_and_others_named() {
    for entry in &CATALOGUE {
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
        let line = Job::parse(name, Some(input)).err().unwrap().to_string();
        assert!(line.contains(named) && !line.contains('\n'), "{line}");
    }
}
