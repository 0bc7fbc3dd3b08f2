//! The other form of each workload: async tasks, made work-first, help-first, or as the runtime
//! sees fit. Leaf code and checks are those of the closures.
//!
//! A task that has made several children awaits the newest first: help-first, that is the one on
//! top of the worker's stack, and nobody has taken it unless the others are taken, too.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use roving::task::{Fork, Forked, Scope};

use crate::io::input::BadInput;

/// In which order a task and its child go on.
pub(crate) trait BranchOrder: Copy + fmt::Debug + Send + Sync + 'static {
    /// Makes `child` a task of its own. Awaited, it gives the handle of the child.
    fn branch<'scope, F>(scope: Scope<'scope>, child: F) -> Branch<'scope, F::Output>
    where
        F: Future + Send + 'scope,
        F::Output: Send + 'scope;
}

/// A child that is being made. One type for all orders: with a type for each, named by the trait,
/// compilers before Rust 1.90 do not see that tasks which borrow are `Send`.
#[derive(Debug)]
pub(crate) enum Branch<'scope, T> {
    /// It runs when this is awaited.
    Forking(Fork<'scope, T>),
    /// It is there for thieves.
    Spawned(Option<Forked<T>>),
}

impl<T> Future for Branch<'_, T> {
    type Output = Forked<T>;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Forked<T>> {
        match self.get_mut() {
            Branch::Forking(fork) => Pin::new(fork).poll(context),
            Branch::Spawned(child) => Poll::Ready(child.take().expect("it is awaited once")),
        }
    }
}

/// The child runs at once, and thieves take its parent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkFirst;

impl BranchOrder for WorkFirst {
    #[inline(always)]
    fn branch<'scope, F>(scope: Scope<'scope>, child: F) -> Branch<'scope, F::Output>
    where
        F: Future + Send + 'scope,
        F::Output: Send + 'scope,
    {
        Branch::Forking(scope.fork(child))
    }
}

/// The parent goes on, and thieves take the child.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HelpFirst;

impl BranchOrder for HelpFirst {
    #[inline(always)]
    fn branch<'scope, F>(scope: Scope<'scope>, child: F) -> Branch<'scope, F::Output>
    where
        F: Future + Send + 'scope,
        F::Output: Send + 'scope,
    {
        Branch::Spawned(Some(scope.spawn(child)))
    }
}

/// The runtime chooses, at each place in the program and each time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Adaptive;

impl BranchOrder for Adaptive {
    #[inline(always)]
    #[track_caller]
    fn branch<'scope, F>(scope: Scope<'scope>, child: F) -> Branch<'scope, F::Output>
    where
        F: Future + Send + 'scope,
        F::Output: Send + 'scope,
    {
        Branch::Forking(scope.branch(child))
    }
}

/// In which form Roving runs a workload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Form {
    /// Closures, by `join` and `scope`.
    #[default]
    Join,
    /// Async tasks by `fork`: work-first.
    Fork,
    /// Async tasks by `spawn`: help-first.
    Spawn,
    /// Async tasks by `branch`: adaptive.
    Branch,
}

impl Form {
    /// All forms, in the order of tables.
    pub(crate) const ALL: [Form; 4] = [Form::Join, Form::Fork, Form::Spawn, Form::Branch];

    /// The word on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Form::Join => "join",
            Form::Fork => "fork",
            Form::Spawn => "spawn",
            Form::Branch => "branch",
        }
    }

    /// Reads `--form`.
    pub(crate) fn parse(text: &str) -> Result<Form, BadInput> {
        let found = Form::ALL.into_iter().find(|form| form.name() == text);
        found.ok_or_else(|| {
            let names = Form::ALL.map(Form::name).join(", ");
            let allowed = format!("one of {names}");
            BadInput::new("--form", text, allowed, "leave it out for join")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::measure;
    use crate::workloads::WorkloadJob;

    #[test]
    fn every_workload_finds_the_same_as_tasks_in_any_order() {
        for (workload, input) in [
            ("fib", "16"),
            ("uts", "-t0 -b100 -q0.124875 -m8 -r42"),
            ("uts", "-t1 -a2 -d8 -b4 -r502"),
            ("uts", "-t0 -b0"),
            ("stress", "leaf=10,depth=4,repeats=10"),
            ("nqueens", "7"),
            ("flat", "3000"),
            ("matmul", "128"),
            ("sort", "30000"),
            ("strassen", "256"),
            ("sparselu", "12x8"),
            ("sparselu", "1x3"),
            ("fft", "64K"),
            ("fft", "16"),
            ("cholesky", "300"),
            ("cholesky", "1"),
            ("substring", "12"),
            ("substring", "1"),
            ("skynet", "1"),
            ("skynet", "1e3"),
            ("skynet", "1e3,by=scope"),
        ] {
            let mut job = WorkloadJob::parse(workload, Some(input)).unwrap();
            let (_, reference) = measure::rehearse(&mut job).unwrap();
            for (workers, form) in [1, 3]
                .into_iter()
                .flat_map(|n| Form::ALL.map(|form| (n, form)))
            {
                let pool = roving::Pool::new(workers).unwrap();
                job.set_proof(true);
                let (_, found) = measure::parallel(&mut job, &pool, form);
                let verdict = job.verify(found, reference);
                let case = format!("{workload} {input}, {form:?} on {workers}");
                assert!(verdict.is_ok(), "{case}: {verdict:?}");
            }
        }
    }

    #[test]
    fn forms_are_read_by_name() {
        for form in Form::ALL {
            assert_eq!(Form::parse(form.name()), Ok(form));
        }
        let error = Form::parse("thread").unwrap_err().to_string();
        assert!(
            error.contains("`thread`") && error.contains("join, fork"),
            "{error}"
        );
    }
}
