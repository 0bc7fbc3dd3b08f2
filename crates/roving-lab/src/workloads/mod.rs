//! The programs that are run: each is written once, generic over [`ForkJoin`], and checks its
//! own answer.

mod cholesky;
mod dense;
mod fft;
pub(crate) mod fib;
mod flat;
mod listed;
mod matmul;
pub(crate) mod nqueens;
pub(crate) mod numbers;
mod part;
pub(crate) mod simd;
mod skynet;
mod sort;
mod sparselu;
mod strassen;
pub(crate) mod stress;
mod substring;
mod triangular;
pub(crate) mod uts;
mod workload;

use std::pin::Pin;

use roving::task::{Scope, Task};

pub(crate) use self::listed::{ListedJob, ListedProgram};
pub(crate) use self::workload::{
    Evidence, RunAnswer, TimedAnswer, Workload, WorkloadKind, parse_params,
};
use crate::forms::fork_join::ForkJoin;
use crate::forms::tasks::BranchOrder;
use crate::io::input::BadInput;

/// Declares [`WorkloadJob`] with one variant a workload, and passes every call on.
macro_rules! jobs {
    ($($variant:ident($workload:ty)),+ $(,)?) => {
        /// Any workload with its parameters.
        #[derive(Debug)]
        pub(crate) enum WorkloadJob {
            $(#[doc = stringify!($workload)] $variant($workload),)+
        }

        impl WorkloadJob {
            /// The workload `name` on `input`, or on its default input.
            pub(crate) fn parse(name: &str, input: Option<&str>) -> Result<WorkloadJob, BadInput> {
                $(if name == <$workload>::NAME {
                    let input = input.unwrap_or(<$workload>::INPUTS[0].0);
                    return Ok(WorkloadJob::$variant(<$workload>::parse(input)?));
                })+
                Err(unknown(name, "`roving list` shows them with their inputs, and the networks"))
            }

            /// The description of this kind of workload.
            pub(crate) fn kind(&self) -> &'static WorkloadKind {
                let name = match self { $(WorkloadJob::$variant(_) => <$workload>::NAME,)+ };
                CATALOGUE.iter().find(|kind| kind.name == name).expect("every job has its kind")
            }

            /// See [`Workload::input`].
            pub(crate) fn input(&self) -> String {
                match self { $(WorkloadJob::$variant(work) => work.input(),)+ }
            }

            /// See [`Workload::stack_bytes`].
            pub(crate) fn stack_bytes(&self) -> usize {
                match self { $(WorkloadJob::$variant(work) => work.stack_bytes(),)+ }
            }

            /// See [`Workload::set_proof`].
            pub(crate) fn set_proof(&mut self, on: bool) -> bool {
                match self { $(WorkloadJob::$variant(work) => work.set_proof(on),)+ }
            }

            /// See [`Workload::prepare`].
            pub(crate) fn prepare(&mut self) {
                match self { $(WorkloadJob::$variant(work) => work.prepare(),)+ }
            }

            /// See [`Workload::run`].
            pub(crate) fn run<C: ForkJoin>(&mut self, cx: &mut C) {
                match self { $(WorkloadJob::$variant(work) => work.run(cx),)+ }
            }

            /// See [`Workload::task`].
            pub(crate) fn task<'scope, O: BranchOrder>(
                &'scope mut self,
                scope: Scope<'scope>,
            ) -> Pin<Box<dyn Task<()> + 'scope>> {
                match self { $(WorkloadJob::$variant(work) => Box::pin(work.task::<O>(scope)),)+ }
            }

            /// See [`Workload::run_serial`].
            pub(crate) fn run_serial(&mut self) {
                match self { $(WorkloadJob::$variant(work) => work.run_serial(),)+ }
            }

            /// See [`Workload::answer`].
            pub(crate) fn answer(&self) -> RunAnswer {
                match self { $(WorkloadJob::$variant(work) => work.answer(),)+ }
            }

            /// See [`Workload::expected`].
            pub(crate) fn expected(&self) -> Option<(RunAnswer, Evidence)> {
                match self { $(WorkloadJob::$variant(work) => work.expected(),)+ }
            }

            /// See [`Workload::demanded`].
            pub(crate) fn demanded(&self) -> Vec<u64> {
                match self { $(WorkloadJob::$variant(work) => work.demanded(),)+ }
            }

            /// See [`Workload::notes`].
            pub(crate) fn notes(&mut self) -> Vec<(&'static str, String)> {
                match self { $(WorkloadJob::$variant(work) => work.notes(),)+ }
            }

            /// See [`Workload::items`].
            pub(crate) fn items(&self, answer: &RunAnswer) -> u64 {
                match self { $(WorkloadJob::$variant(work) => work.items(answer),)+ }
            }
        }

        /// All kinds of workload, in the order of `roving list`.
        pub(crate) const CATALOGUE: &[WorkloadKind] = &[$(WorkloadKind {
            name: <$workload>::NAME,
            about: <$workload>::ABOUT,
            inputs: <$workload>::INPUTS,
            params: <$workload>::PARAMS,
            items: <$workload>::ITEMS,
            figures: <$workload>::FIGURES,
            serial: <$workload>::SERIAL,
        },)+];
    };
}

/// The error for a name that is none of a workload.
pub(crate) fn unknown(name: &str, remedy: &str) -> BadInput {
    let names: Vec<_> = CATALOGUE.iter().map(|kind| kind.name).collect();
    let allowed = format!("one of {}", names.join(", "));
    BadInput::new("workload", name, allowed, remedy)
}

jobs! {
    Fib(fib::FibNumber),
    Uts(uts::Uts),
    Stress(stress::Stress),
    Nqueens(nqueens::Nqueens),
    Flat(flat::FlatTasks),
    Matmul(matmul::Matmul),
    Sort(sort::Sort),
    Strassen(strassen::Strassen),
    SparseLu(sparselu::SparseLu),
    Fft(fft::Fft),
    Cholesky(cholesky::Cholesky),
    Substring(substring::Substring),
    Skynet(skynet::Skynet),
}

impl WorkloadJob {
    /// Holds `found` against what is known, else against `serial`; says what it was held against.
    /// Where the definition demands some figures only, the others are held against `serial`.
    pub(crate) fn verify(&self, found: RunAnswer, serial: RunAnswer) -> Result<Evidence, String> {
        let (want, evidence) = self.wanted(serial);
        if found == want {
            return Ok(evidence);
        }
        let kind = self.kind();
        let figures = |answer: &RunAnswer| {
            let named = kind.figures.iter().zip(answer.0);
            named
                .map(|(name, figure)| format!("{name} {figure}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        Err(format!(
            "{} {} found {}, but {} are {}",
            kind.name,
            self.input(),
            figures(&found),
            match evidence {
                Evidence::Published => "the published figures",
                Evidence::Definition => "the figures by definition",
                Evidence::Serial => "the figures of the serial run",
            },
            figures(&want),
        ))
    }
}

impl WorkloadJob {
    /// The answer that a run must give, and what says so.
    fn wanted(&self, serial: RunAnswer) -> (RunAnswer, Evidence) {
        if let Some(expected) = self.expected() {
            return expected;
        }
        let demanded = self.demanded();
        if demanded.is_empty() {
            return (serial, Evidence::Serial);
        }
        let mut want = serial;
        want.0[..demanded.len()].copy_from_slice(&demanded);
        (want, Evidence::Definition)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::io::input::twisted;

    proptest! {
        /// Any parameters are a job whose own words mean it again, or one line that says why not.
        #[test]
        fn fuzz_parameters_of_any_text(
            kind in 0..CATALOGUE.len(),
            at: usize,
            value in "[0-9]{1,3}|[0-9e._-]{0,24}|.{0,24}",
            plain: bool,
        ) {
            let kind = &CATALOGUE[kind];
            let (input, _) = kind.inputs[at % kind.inputs.len()];
            let text = match plain {
                true => value,
                false => twisted(input, kind.params, at, &value),
            };
            match WorkloadJob::parse(kind.name, Some(&text)) {
                Ok(job) => {
                    let words = job.input();
                    let again = WorkloadJob::parse(kind.name, Some(&words));
                    prop_assert_eq!(again.map(|job| job.input()).ok(), Some(words));
                }
                Err(bad) => prop_assert_eq!(bad.to_string().lines().count(), 1),
            }
        }
    }
}
