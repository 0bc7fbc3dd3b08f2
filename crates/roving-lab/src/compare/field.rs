//! One job, and the lanes in which serial code, Roving and its rivals do it.

use std::cell::RefCell;
use std::time::Instant;

use roving::Pool;
use roving::policy::Amount;

use crate::forms::tasks::Form;
use crate::io::input::CommandFailure;
use crate::job::measure;
use crate::rivals::{Absent, Contender, Runtime, start_ours};
use crate::timing::lanes::{SERIAL, TimedLane};
use crate::workloads::{RunAnswer, WorkloadJob};

/// A job with its right answer. All lanes share the job, since they take turns.
#[derive(Debug)]
pub(crate) struct Field {
    job: RefCell<WorkloadJob>,
    answer: RunAnswer,
}

impl Field {
    /// Rehearses the job serially, and holds its answer against what is known.
    pub(crate) fn new(mut job: WorkloadJob) -> Result<Field, CommandFailure> {
        let (_, answer) = measure::rehearse(&mut job)?;
        job.verify(answer, answer).map_err(CommandFailure::Run)?;
        Ok(Field {
            job: RefCell::new(job),
            answer,
        })
    }

    /// How many items the answer stands for.
    pub(crate) fn items(&self) -> u64 {
        self.job.borrow().items(&self.answer)
    }

    /// Checks an answer of the job, wherever it ran.
    pub(crate) fn check(&self, found: RunAnswer) -> Result<(), String> {
        self.job.borrow().verify(found, self.answer).map(|_| ())
    }

    /// Plain calls on one thread.
    pub(crate) fn serial(&self) -> TimedLane<'_> {
        TimedLane::new(SERIAL, 1, || {
            let run = measure::serial(&mut self.job.borrow_mut());
            let (time, found) = run.map_err(|failure| failure.to_string())?;
            self.check(found).map(|()| time)
        })
    }

    /// Another serial form of the job.
    pub(crate) fn serial_form<'a>(
        &'a self,
        name: &str,
        form: impl Fn(&mut WorkloadJob) + Sync + 'a,
    ) -> TimedLane<'a> {
        TimedLane::new(name, 1, move || {
            let job = &mut *self.job.borrow_mut();
            let run = measure::on_stack(job.stack_bytes(), || {
                let start = Instant::now();
                form(job);
                (start.elapsed(), job.answer())
            });
            let (time, found) = run.map_err(|failure| failure.to_string())?;
            job.verify(found, self.answer).map(|_| time)
        })
    }

    /// A runtime on `workers`, once a rehearsal has found the right answer; or why it is absent.
    pub(crate) fn runtime(
        &self,
        runtime: Runtime,
        workers: usize,
    ) -> Result<Result<TimedLane<'_>, Absent>, CommandFailure> {
        let started = runtime.start(&self.job.borrow(), workers);
        match started {
            Ok(contender) => self.contender(runtime.name(), workers, contender).map(Ok),
            Err(why) => Ok(Err(why)),
        }
    }

    /// One of ours with thieves that take this much: the amount stands behind its name, unless it
    /// is the usual one.
    pub(crate) fn ours(
        &self,
        runtime: Runtime,
        form: Form,
        workers: usize,
        steal: Amount,
    ) -> Result<Result<TimedLane<'_>, Absent>, CommandFailure> {
        let name = if steal == Amount::default() {
            runtime.name().to_owned()
        } else {
            format!("{} {steal}", runtime.name())
        };
        let started = start_ours(&self.job.borrow(), workers, form, steal);
        match started {
            Ok(contender) => self.contender(&name, workers, contender).map(Ok),
            Err(why) => Ok(Err(why)),
        }
    }

    /// A contender that has been started for this job.
    pub(crate) fn contender(
        &self,
        name: &str,
        workers: usize,
        mut contender: Box<dyn Contender>,
    ) -> Result<TimedLane<'_>, CommandFailure> {
        let rehearsed = contender.rehearse(&mut self.job.borrow_mut());
        rehearsed
            .and_then(|run| self.check(run.answer))
            .map_err(|why| CommandFailure::Run(format!("{name} on {workers}: {why}")))?;
        Ok(TimedLane::new(name, workers, move || {
            let run = contender.run(&mut self.job.borrow_mut())?;
            self.check(run.answer).map(|()| run.time)
        }))
    }

    /// Roving on a pool of the caller's making.
    pub(crate) fn pool(&self, name: &str, pool: Pool) -> TimedLane<'_> {
        TimedLane::new(name, pool.workers(), move || {
            let (time, found) = measure::parallel(&mut self.job.borrow_mut(), &pool, Form::Join);
            self.check(found).map(|()| time)
        })
    }

    /// The native stack that the job may need.
    pub(crate) fn stack_bytes(&self) -> usize {
        self.job.borrow().stack_bytes()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::workloads::TimedAnswer;

    struct Liar;

    impl Contender for Liar {
        fn run(&mut self, _: &mut WorkloadJob) -> Result<TimedAnswer, String> {
            Ok(TimedAnswer {
                time: Duration::from_millis(1),
                answer: RunAnswer([56, 0, 0]),
            })
        }
    }

    /// Tells the truth when it is rehearsed only.
    struct LaterLiar;

    impl Contender for LaterLiar {
        fn run(&mut self, job: &mut WorkloadJob) -> Result<TimedAnswer, String> {
            Liar.run(job)
        }

        fn rehearse(&mut self, _: &mut WorkloadJob) -> Result<TimedAnswer, String> {
            Ok(TimedAnswer {
                time: Duration::from_millis(1),
                answer: RunAnswer([55, 0, 0]),
            })
        }
    }

    #[test]
    fn a_wrong_answer_is_an_error_that_names_the_runtime() {
        let field = Field::new(WorkloadJob::parse("fib", Some("10")).unwrap()).unwrap();
        let error = field
            .contender("liar", 2, Box::new(Liar))
            .err()
            .unwrap()
            .to_string();
        assert!(
            error.starts_with("liar on 2: fib 10 found value 56"),
            "{error}"
        );
        let mut lanes = vec![field.contender("liar", 1, Box::new(LaterLiar)).unwrap()];
        let error = crate::timing::lanes::interleave(&mut lanes, 1).unwrap_err();
        assert!(
            error.starts_with("liar on 1: fib 10 found value 56"),
            "{error}"
        );
    }
}
