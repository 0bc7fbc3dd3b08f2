//! `uts` across ranks: a bag of nodes whose children are to be looked at.

use std::time::Duration;

use roving::Pool;
use roving_dist::{Checkpoints, Local, World};
use serde::{Deserialize, Serialize};

use super::bags::{self, Searched};
use super::report::RanksReport;
use super::settings::RankSettings;
use crate::io::input::CommandFailure;
use crate::job::settings::RunArgs;
#[cfg(target_arch = "x86_64")]
use crate::workloads::uts::ShaNi;
use crate::workloads::uts::{
    Hash, NodeDigest, Portable, SubtreeCounts, TOGETHER, TreeSearch, Uts, UtsNode, answer,
};
use crate::workloads::{Evidence, Workload};

/// Siblings whose subtrees are to be searched: the children `first .. last` of `parent`.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Siblings {
    parent: NodeDigest,
    first: u32,
    last: u32,
    height: u32,
}

impl Siblings {
    /// Looks at a few of them, and adds all others and all children as tasks.
    #[inline]
    fn search<H: Hash>(
        self,
        search: &TreeSearch<'_, H>,
        local: &mut Local<'_, Siblings, SubtreeCounts>,
    ) {
        let Siblings {
            parent,
            first,
            mut last,
            height,
        } = self;
        while (last - first) as usize > TOGETHER {
            let half = (last - first).div_ceil(2).next_multiple_of(TOGETHER as u32);
            let middle = first + half;
            local.push(Siblings {
                first: middle,
                last,
                ..self
            });
            last = middle;
        }
        let mut nodes = [UtsNode::default(); TOGETHER];
        let count = (last - first) as usize;
        let inner = search.look(&parent, first, &mut nodes[..count], height);
        let found = local.result();
        *found = found.and(SubtreeCounts {
            nodes: count as u64,
            leaves: (count - inner) as u64,
            depth: height,
        });
        for node in &nodes[..inner] {
            local.push(Siblings {
                parent: node.state,
                first: 0,
                last: node.children,
                height: height + 1,
            });
        }
    }
}

/// One search by all ranks.
fn search_with<H: Hash>(
    world: &World,
    pool: &Pool,
    search: &TreeSearch<'_, H>,
    checkpoints: Option<Checkpoints>,
) -> Result<SubtreeCounts, roving_dist::Error> {
    let root = search.root();
    let below = (root.children > 0).then_some(Siblings {
        parent: root.state,
        first: 0,
        last: root.children,
        height: 1,
    });
    let work = |siblings: Siblings, local: &mut Local<'_, _, _>| siblings.search(search, local);
    let found = bags::bag(world, checkpoints).run(pool, below, work, SubtreeCounts::and)?;
    Ok(found.and(SubtreeCounts {
        nodes: 1,
        leaves: u64::from(root.children == 0),
        depth: 0,
    }))
}

/// The instructions of this CPU for SHA-1, if there are any and they are to be used.
#[cfg(target_arch = "x86_64")]
fn detect(portable: bool) -> Option<ShaNi> {
    if portable { None } else { ShaNi::detect() }
}

/// Elsewhere there is no choice.
#[cfg(not(target_arch = "x86_64"))]
fn detect(_portable: bool) -> Option<Portable> {
    None
}

/// One timed search, begun by all ranks at once.
pub(crate) fn search(
    world: &World,
    pool: &Pool,
    work: &Uts,
    checkpoints: Option<Checkpoints>,
) -> Result<(Duration, SubtreeCounts), CommandFailure> {
    let (tree, portable) = work.tree();
    bags::timed(world, || match detect(portable) {
        #[cfg(target_arch = "x86_64")]
        Some(hash) => search_with(world, pool, &TreeSearch::new(tree, hash, 0), checkpoints),
        _ => search_with(
            world,
            pool,
            &TreeSearch::new(tree, Portable, 0),
            checkpoints,
        ),
    })
}

/// `roving run uts --dist`.
pub(super) fn run(
    world: &World,
    args: &RunArgs,
    settings: &RankSettings,
) -> Result<RanksReport, CommandFailure> {
    let mut work = Uts::parse(args.input.as_deref().unwrap_or(Uts::INPUTS[0].0))?;
    let (expected, evidence) = match work.expected() {
        Some(expected) => expected,
        None => {
            crate::job::measure::on_stack(work.stack_bytes(), || work.run_serial())?;
            (work.answer(), Evidence::Serial)
        }
    };
    let searched = Searched::of(&work, expected, evidence);
    searched.run(world, settings, |pool, checkpoints| {
        let (time, found) = search(world, pool, &work, checkpoints)?;
        Ok((time, answer(&found)))
    })
}
