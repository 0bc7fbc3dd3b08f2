//! A runtime as the workloads see it, so that every runtime runs the same code.

use std::hint::black_box;

/// Runs two closures, or many, possibly in parallel.
///
/// The closures get the context back because some runtimes (chili, Forte) pass their worker along
/// by hand; for the others the context is a zero-sized marker.
pub(crate) trait ForkJoin {
    /// Runs `a` and `b`, perhaps at the same time, and returns both results.
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA + Send,
        B: FnOnce(&mut Self) -> RB + Send,
        RA: Send,
        RB: Send;

    /// Runs `each(0)` to `each(tasks - 1)` as so many tasks, spawned one after the other, and
    /// waits for all: `scope` with `spawn` where the runtime has it. A runtime that has only
    /// `join` keeps this default, a tree of joins.
    fn spawn_all<F>(&mut self, tasks: usize, each: &F)
    where
        F: Fn(&mut Self, usize) + Sync,
    {
        join_all(self, 0, tasks, each);
    }

    /// Runs `each(0)` to `each(tasks - 1)` as a parallel loop, where the runtime has one: else as
    /// a tree of joins.
    fn loop_all<F>(&mut self, tasks: usize, each: &F)
    where
        F: Fn(&mut Self, usize) + Sync,
    {
        join_all(self, 0, tasks, each);
    }
}

/// A balanced tree of joins over `first .. last`.
fn join_all<C, F>(cx: &mut C, first: usize, last: usize, each: &F)
where
    C: ForkJoin + ?Sized,
    F: Fn(&mut C, usize) + Sync,
{
    match last - first {
        0 => {}
        1 => each(cx, first),
        tasks => {
            let middle = first + tasks / 2;
            cx.join(
                |cx| join_all(cx, first, middle, each),
                |cx| join_all(cx, middle, last, each),
            );
        }
    }
}

/// One call after the other.
#[derive(Debug)]
pub(crate) struct Serial;

impl ForkJoin for Serial {
    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA + Send,
        B: FnOnce(&mut Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        (a(self), b(self))
    }

    fn spawn_all<F>(&mut self, tasks: usize, each: &F)
    where
        F: Fn(&mut Self, usize) + Sync,
    {
        for task in 0..tasks {
            boxed_call(self, task, each);
        }
    }
}

/// A spawn without a runtime: the closure goes into a box and is called through it.
#[inline(always)]
fn boxed_call<C, F: Fn(&mut C, usize) + Sync>(cx: &mut C, task: usize, each: &F) {
    let call: Box<dyn FnOnce(&mut C) + '_> = black_box(Box::new(move |cx: &mut C| each(cx, task)));
    call(cx);
}

/// One call after the other, and the compiler cannot turn either into a jump or a loop: the
/// baseline for `fib`, where LLVM otherwise makes one call instead of two.
#[derive(Debug)]
pub(crate) struct SerialCalls;

impl ForkJoin for SerialCalls {
    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA + Send,
        B: FnOnce(&mut Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let ra = a(self);
        let rb = b(self);
        // Something must follow the second call, or it becomes a jump to the beginning.
        black_box(());
        (ra, rb)
    }
}

/// Serial, and counts the joins and spawns: for a workload's number of spawns, and for tests.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    /// Joins and spawned tasks so far.
    pub(crate) spawns: u64,
}

impl ForkJoin for Counting {
    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA + Send,
        B: FnOnce(&mut Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        self.spawns += 1;
        (a(self), b(self))
    }

    fn spawn_all<F>(&mut self, tasks: usize, each: &F)
    where
        F: Fn(&mut Self, usize) + Sync,
    {
        self.spawns += tasks as u64;
        (0..tasks).for_each(|task| each(self, task));
    }
}

/// Roving's own `join` and `scope`.
#[derive(Debug)]
pub(crate) struct Roving;

impl ForkJoin for Roving {
    #[inline(always)]
    fn join<A, B, RA, RB>(&mut self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce(&mut Self) -> RA + Send,
        B: FnOnce(&mut Self) -> RB + Send,
        RA: Send,
        RB: Send,
    {
        roving::join(|| a(&mut Roving), || b(&mut Roving))
    }

    fn spawn_all<F>(&mut self, tasks: usize, each: &F)
    where
        F: Fn(&mut Self, usize) + Sync,
    {
        roving::scope(|scope| {
            for task in 0..tasks {
                scope.spawn(move |_| each(&mut Roving, task));
            }
        });
    }

    fn loop_all<F>(&mut self, tasks: usize, each: &F)
    where
        F: Fn(&mut Self, usize) + Sync,
    {
        roving::par_for(0..tasks, |task| each(&mut Roving, task));
    }
}
