//! Programs as data: what they do stands in the tree, so that it can be evaluated serially and in
//! parallel, and made smaller.

use std::sync::Arc;

use roving::Priority;

use crate::random::mix2;

/// The payload of a panic: each place that throws has a number of its own.
pub(crate) type Id = u32;

/// A closure's part of a program.
#[derive(Clone, Debug)]
pub(crate) enum ClosureNode {
    Leaf(u64),
    Throw(Id),
    Join(Box<(ClosureNode, ClosureNode)>),
    /// `join_context`, with closures and results that do not fit a slot.
    Wide(Box<(ClosureNode, ClosureNode)>),
    /// A full binary tree of joins. Its closures own counted values, or nothing at all.
    Heap {
        depth: u32,
        seed: u64,
        owned: bool,
    },
    Scope {
        kind: ScopeKind,
        steps: Vec<ScopeStep>,
    },
    /// Many small tasks in one scope.
    Flat {
        tasks: u32,
        seed: u64,
        shape: SpawnShape,
    },
    /// A scope that is cancelled before it spawns: nothing of it runs.
    Cancelled {
        tasks: u32,
    },
    /// A scope that one of its tasks cancels: nobody knows how many run.
    Cancelling {
        tasks: u32,
        by: u32,
    },
    Loop {
        kind: LoopKind,
        end: u32,
        seed: u64,
        throw: Option<(u32, Id)>,
    },
    /// Where a panic ends.
    Catch(Box<ClosureNode>),
    /// Once on each worker; the worker with that index throws, if there is one.
    Broadcast {
        seed: u64,
        throw: Option<(u32, Id)>,
    },
    Blocking {
        sleep_us: u32,
        node: Box<ClosureNode>,
    },
    /// In another pool, or in the same.
    Install {
        pool: usize,
        node: Box<ClosureNode>,
    },
    /// A root of async tasks: here, or in that pool.
    Root {
        pool: Option<usize>,
        task: Box<TaskNode>,
    },
    /// With a tag that everything inside inherits.
    Tagged {
        tag: u64,
        node: Box<ClosureNode>,
    },
    /// The innermost tag.
    Seen,
    /// Under a request to stop.
    Stoppable {
        stop: Stop,
        node: Box<ClosureNode>,
    },
    /// Async tasks that wait until they are cancelled.
    Waits {
        by_deadline: bool,
    },
    /// A detached job. Its result is looked for at the end of the program.
    Job {
        /// Of a class, in the program's first pool.
        priority: Option<Priority>,
        node: Arc<ClosureNode>,
    },
    /// The first pool has so many workers from now on.
    Resize(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScopeKind {
    Scope,
    InPlace,
    /// In place, of the program's first pool, whichever pool this is.
    InPlaceOf(usize),
}

/// When a part is asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    Never,
    Before,
    /// Some time, by another thread.
    Outside,
    /// When so many microseconds are over.
    After(u32),
}

/// A step in the body of a scope, one after the other.
#[derive(Clone, Debug)]
pub(crate) enum ScopeStep {
    Spawn(ClosureNode),
    /// With a tag of its own.
    SpawnTagged(u64, ClosureNode),
    /// A task that spawns another before it does its own part.
    Chain(ClosureNode, ClosureNode),
    /// In the body itself.
    Here(ClosureNode),
    /// From a thread that is no worker.
    Foreign(ClosureNode),
    /// On each worker.
    Broadcast(u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpawnShape {
    /// The body spawns them all; closures own nothing.
    Bare,
    /// The body spawns them all; each owns a counted value.
    Owned,
    /// Each spawns the next.
    Chain,
    /// Each spawns two more.
    Tree,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopKind {
    For,
    Chunks,
    MapReduce,
    /// Combined in an order that depends on the range alone.
    Reduce,
}

/// An async task's part of a program.
#[derive(Clone, Debug)]
pub(crate) enum TaskNode {
    Tree(TaskTree),
    /// A full binary tree of tasks.
    Fib {
        depth: u32,
        seed: u64,
        how: How,
    },
    /// Many small tasks, of which so many handles are held at a time.
    Loop {
        tasks: u32,
        held: u32,
        seed: u64,
        how: How,
    },
}

/// A task with children.
#[derive(Clone, Debug)]
pub(crate) struct TaskTree {
    pub(crate) value: u64,
    pub(crate) pause: Pause,
    pub(crate) inner: Option<ClosureNode>,
    pub(crate) children: Vec<Child>,
    /// Thrown after the children were made, before those are awaited that wait for the end.
    pub(crate) throw: Option<Id>,
}

/// How a task lets others go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    None,
    /// Woken in its own poll by the lent waker.
    ByRef,
    /// Woken in its own poll by a waker of its own.
    Own,
    /// Woken by a thread that is no worker.
    Foreign,
}

/// A child of a task.
#[derive(Clone, Debug)]
pub(crate) struct Child {
    pub(crate) how: How,
    pub(crate) fate: Fate,
    /// A tag that the child inherits if it is spawned.
    pub(crate) tag: Option<u64>,
    pub(crate) node: TaskNode,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Fork,
    Spawn,
    Branch,
    Call,
}

/// The fate of a child's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    AwaitedAtOnce,
    AwaitedAtTheEnd,
    Dropped,
    /// Dropped; the child sends its result by another way.
    Message,
    /// Awaited by another child.
    PassedOn,
}

/// The value at a leaf of a full tree or a flat scope.
pub(crate) fn leaf_value(seed: u64, index: u64) -> u64 {
    mix2(seed, index)
}
