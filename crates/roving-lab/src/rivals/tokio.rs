//! tokio: async tasks. It has no `join` for closures, so the workloads are written anew as tasks
//! that spawn their children but one, go on with that one, and await the others.

use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use ::tokio::runtime::{Builder, Runtime};

use super::plain::Plain;
use super::{Absent, Contender};
use crate::workloads::nqueens::QueensBoard;
use crate::workloads::stress::leaf;
use crate::workloads::uts::{
    CompiledTree, Hash, Portable, SubtreeCounts, TOGETHER, TreeSearch, UtsNode,
};
use crate::workloads::{RunAnswer, TimedAnswer, WorkloadJob};

/// A task that may recurse.
type Task<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// tokio's runtime with many threads, and the job that it was started for.
pub(super) struct TokioJob {
    runtime: Runtime,
    plain: Plain,
}

impl TokioJob {
    pub(super) fn start(job: &WorkloadJob, workers: usize) -> Result<Box<dyn Contender>, Absent> {
        let Some(plain) = Plain::from_job(job) else {
            let why = format!("it has no program for {} {}", job.kind().name, job.input());
            return Err(Absent(why));
        };
        match Builder::new_multi_thread().worker_threads(workers).build() {
            Ok(runtime) => Ok(Box::new(TokioJob { runtime, plain })),
            Err(error) => Err(Absent(format!(
                "tokio made no runtime of {workers}: {error}"
            ))),
        }
    }

    fn run(&self, count: bool) -> Result<TimedAnswer, String> {
        let work = work(self.plain, count);
        // The clock runs inside: entering the runtime from outside is not part of the time.
        let timed = self.runtime.spawn(async move {
            let start = Instant::now();
            let answer = work.await;
            (start.elapsed(), answer)
        });
        let (time, answer) = self
            .runtime
            .block_on(timed)
            .map_err(|error| error.to_string())?;
        Ok(TimedAnswer { time, answer })
    }
}

impl Contender for TokioJob {
    fn run(&mut self, _: &mut WorkloadJob) -> Result<TimedAnswer, String> {
        TokioJob::run(self, false)
    }

    fn rehearse(&mut self, _: &mut WorkloadJob) -> Result<TimedAnswer, String> {
        TokioJob::run(self, true)
    }
}

/// The whole job as one task. With `count` the tasks of `flat` count themselves.
fn work(plain: Plain, count: bool) -> Task<RunAnswer> {
    let one = |value| RunAnswer([value, 0, 0]);
    match plain {
        Plain::Fib(n) => Box::pin(async move { one(fib(black_box(n)).await) }),
        Plain::NQueens(n) => Box::pin(async move {
            let counts = queens(QueensBoard::default(), 0, n as u8).await;
            one(counts)
        }),
        Plain::Flat(tasks) => Box::pin(async move { one(flat(tasks, count).await) }),
        Plain::Stress {
            depth,
            turns,
            repeats,
        } => Box::pin(async move {
            let mut total = 0u64;
            for _ in 0..repeats {
                total = total.wrapping_add(stress(depth, turns).await);
            }
            one(total)
        }),
        Plain::Uts(params, portable) => {
            let tree = Arc::new(CompiledTree::new(params));
            Box::pin(async move {
                let found = search(tree, portable).await;
                RunAnswer([found.nodes, u64::from(found.depth), found.leaves])
            })
        }
    }
}

/// The value of a task that was spawned; its panic is ours.
pub(super) async fn joined<T>(handle: ::tokio::task::JoinHandle<T>) -> T {
    match handle.await {
        Ok(value) => value,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn fib(n: u64) -> Task<u64> {
    Box::pin(async move {
        if n < 2 {
            return n;
        }
        let other = ::tokio::spawn(fib(n - 2));
        let one = fib(n - 1).await;
        one + joined(other).await
    })
}

/// The ways to add queens to `board`, which has `rows` of them, until there are `n`.
fn queens(board: QueensBoard, rows: u8, n: u8) -> Task<u64> {
    Box::pin(async move {
        if rows == n {
            return 1;
        }
        let mut safe = (0..n).filter(|column| board.is_safe(*column));
        let Some(last) = safe.next() else { return 0 };
        let others: Vec<_> = safe
            .map(|column| ::tokio::spawn(queens(board.with(column), rows + 1, n)))
            .collect();
        let mut ways = queens(board.with(last), rows + 1, n).await;
        for other in others {
            ways += joined(other).await;
        }
        ways
    })
}

fn stress(depth: u64, turns: u64) -> Task<u64> {
    Box::pin(async move {
        if depth == 0 {
            return leaf(turns);
        }
        let other = ::tokio::spawn(stress(depth - 1, turns));
        let one = stress(depth - 1, turns).await;
        one.wrapping_add(joined(other).await)
    })
}

/// Empty tasks, spawned one after the other; or tasks that count themselves.
async fn flat(tasks: u64, count: bool) -> u64 {
    let counter = Arc::new(AtomicU64::new(0));
    let mut handles = Vec::with_capacity(tasks as usize);
    for _ in 0..tasks {
        let counter = count.then(|| counter.clone());
        handles.push(::tokio::spawn(async move {
            if let Some(counter) = counter {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        }));
    }
    for handle in handles {
        joined(handle).await;
    }
    if count {
        counter.load(Ordering::Relaxed)
    } else {
        tasks
    }
}

/// The whole tree, with the hash that Roving's own search would take.
async fn search(tree: Arc<CompiledTree>, portable: bool) -> SubtreeCounts {
    #[cfg(target_arch = "x86_64")]
    if let (false, Some(hash)) = (portable, crate::workloads::uts::ShaNi::detect()) {
        return search_with(tree, hash).await;
    }
    let _ = portable; // elsewhere there is no choice
    search_with(tree, Portable).await
}

async fn search_with<H: Hash + 'static>(tree: Arc<CompiledTree>, hash: H) -> SubtreeCounts {
    let root = TreeSearch::new(&tree, hash, u32::MAX).root();
    let leaves = u64::from(root.children == 0);
    let here = SubtreeCounts {
        nodes: 1,
        leaves,
        depth: 0,
    };
    here.and(below(tree, hash, root, 0).await)
}

/// All below `node`, which is at `height`.
fn below<H: Hash + 'static>(
    tree: Arc<CompiledTree>,
    hash: H,
    node: UtsNode,
    height: u32,
) -> Task<SubtreeCounts> {
    Box::pin(async move {
        let together = TOGETHER as u32;
        let mut tasks = Vec::new();
        for first in (0..node.children).step_by(TOGETHER) {
            let last = node.children.min(first + together);
            tasks.push(batch(tree.clone(), hash, node, first..last, height + 1));
        }
        sum(tasks).await
    })
}

/// The children in `places` of `parent`, which are at `height`, and all below them.
fn batch<H: Hash + 'static>(
    tree: Arc<CompiledTree>,
    hash: H,
    parent: UtsNode,
    places: std::ops::Range<u32>,
    height: u32,
) -> Task<SubtreeCounts> {
    Box::pin(async move {
        let mut nodes = [UtsNode::default(); TOGETHER];
        let nodes = &mut nodes[..places.len()];
        let search = TreeSearch::new(&tree, hash, u32::MAX);
        let inner = search.look(&parent.state, places.start, nodes, height);
        let (all, leaves) = (nodes.len() as u64, (nodes.len() - inner) as u64);
        let here = SubtreeCounts {
            nodes: all,
            leaves,
            depth: height,
        };
        let inner = nodes[..inner].iter();
        let tasks = inner
            .map(|node| below(tree.clone(), hash, *node, height))
            .collect();
        here.and(sum(tasks).await)
    })
}

/// The sum of what all `tasks` find: all but the last are spawned.
async fn sum(mut tasks: Vec<Task<SubtreeCounts>>) -> SubtreeCounts {
    let Some(last) = tasks.pop() else {
        return SubtreeCounts::default();
    };
    let others: Vec<_> = tasks.into_iter().map(::tokio::spawn).collect();
    let mut found = last.await;
    for other in others {
        found = found.and(joined(other).await);
    }
    found
}
