//! Interleaved timing: one serial run, one parallel run, and again; medians of both.

use std::time::{Duration, Instant};

use crate::forms::fork_join::{Counting, Roving};
use crate::forms::tasks::{Adaptive, BranchOrder, Form, HelpFirst, WorkFirst};
use crate::io::input::CommandFailure;
use crate::workloads::{RunAnswer, WorkloadJob};

/// Runs `work` on a thread of its own with `stack_bytes` of native stack.
pub(crate) fn on_stack<R: Send>(
    stack_bytes: usize,
    work: impl FnOnce() -> R + Send,
) -> Result<R, CommandFailure> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("serial".into())
            .stack_size(stack_bytes);
        let handle = thread.spawn_scoped(scope, work).map_err(|error| {
            let mebibytes = stack_bytes >> 20;
            CommandFailure::Run(format!(
                "no thread with a stack of {mebibytes} MiB: {error}"
            ))
        })?;
        handle
            .join()
            .map_err(|_| CommandFailure::Run("a serial run panicked".into()))
    })
}

/// One timed serial run, on a thread with a stack deep enough.
pub(crate) fn serial(job: &mut WorkloadJob) -> Result<(Duration, RunAnswer), CommandFailure> {
    on_stack(job.stack_bytes(), || {
        job.prepare();
        let start = Instant::now();
        job.run_serial();
        (start.elapsed(), job.answer())
    })
}

/// An untimed serial run: warms code and memory, counts the spawns, and gives the answer that
/// the parallel runs are held against.
pub(crate) fn rehearse(job: &mut WorkloadJob) -> Result<(u64, RunAnswer), CommandFailure> {
    on_stack(job.stack_bytes(), || {
        let mut counting = Counting::default();
        job.set_proof(true);
        job.prepare();
        job.run(&mut counting);
        job.set_proof(false);
        (counting.spawns, job.answer())
    })
}

/// One timed run in `pool`. The clock runs inside the pool: entering it is not part of the time.
pub(crate) fn parallel(
    job: &mut WorkloadJob,
    pool: &roving::Pool,
    form: Form,
) -> (Duration, RunAnswer) {
    job.prepare();
    let time = match form {
        Form::Join => pool.install(|| {
            let start = Instant::now();
            job.run(&mut Roving);
            start.elapsed()
        }),
        Form::Fork => tasks::<WorkFirst>(job, pool),
        Form::Spawn => tasks::<HelpFirst>(job, pool),
        Form::Branch => tasks::<Adaptive>(job, pool),
    };
    (time, job.answer())
}

/// The time of one run as async tasks. The clock starts when the first of them does; it stops when
/// all have ended, which only the caller of the pool sees, so leaving the pool is part of the time.
fn tasks<O: BranchOrder>(job: &mut WorkloadJob, pool: &roving::Pool) -> Duration {
    let start = pool.run(|scope| {
        let root = job.task::<O>(scope);
        async move {
            let start = Instant::now();
            root.await;
            start
        }
    });
    start.elapsed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_gets_the_stack_it_asks_for() {
        fn deep(levels: u64) -> u64 {
            let frame = std::hint::black_box([levels; 64]);
            if levels == 0 {
                frame[63]
            } else {
                deep(levels - 1) + frame[0].min(1)
            }
        }
        // 100,000 frames of over 512 bytes: more than any default stack.
        assert!(matches!(on_stack(256 << 20, || deep(100_000)), Ok(100_000)));
    }
}
