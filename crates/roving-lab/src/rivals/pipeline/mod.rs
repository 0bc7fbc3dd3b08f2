//! The pipeline of `compress` as one would write it with others: the same blocks, the same codec,
//! the same output. Each starts its threads once, but for the one that has threads of its own, not
//! a pool.

mod crossbeam;
mod job;
mod rayon;
mod tokio;

use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) use self::job::{CompressJob, RivalPipeline};
use crate::networks::NetworkProgram as _;
use crate::networks::compress::Compress;

/// All of them, with so many threads for the compression.
pub(crate) fn all(workers: usize) -> Result<Vec<Box<dyn RivalPipeline>>, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("no pool of {workers}: {error}");
    Ok(vec![
        Box::new(rayon::pool(workers).map_err(|error| wrong(&error))?),
        Box::new(crossbeam::Threads::new(workers)),
        Box::new(tokio::BlockTasks::start(workers).map_err(|error| wrong(&error))?),
    ])
}

/// One timed run, whose output must be that of the serial run.
pub(crate) fn timed(
    pipeline: &mut dyn RivalPipeline,
    program: &Compress,
) -> Result<Duration, String> {
    let name = pipeline.name();
    let to = program.out(name);
    let job = CompressJob {
        from: program.plain().to_owned(),
        to: Path::new(&to).to_owned(),
        block_bytes: program.block_bytes(),
    };
    program.ready(name);
    let start = Instant::now();
    pipeline.run(job).map_err(|error| error.to_string())?;
    let time = start.elapsed();
    program.compare(name)?;
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_write_what_a_serial_run_does() {
        for input in ["1,block_kib=16", "1,block_kib=2000"] {
            let mut program = Compress::parse(input).unwrap();
            program.prepare().unwrap();
            program.serial().unwrap();
            for workers in [1, 3] {
                for mut pipeline in all(workers).unwrap() {
                    for _ in 0..2 {
                        let run = timed(pipeline.as_mut(), &program);
                        assert!(run.is_ok(), "{}: {run:?}", pipeline.name());
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_read_is_an_error_for_all() {
        let mut program = Compress::parse("1").unwrap();
        program.prepare().unwrap();
        for mut pipeline in all(2).unwrap() {
            let job = CompressJob {
                from: program.out("nobody"),
                to: program.out(pipeline.name()),
                block_bytes: 1024,
            };
            assert!(pipeline.run(job).is_err(), "{}", pipeline.name());
        }
    }
}
