//! Scotch, by the few functions that are needed of it: pins by `SCOTCH_graphMapFixed`, distances by
//! a tree with two branches.

use std::ffi::{c_double, c_int, c_void};
use std::ptr;

use roving_partition::{Partition, Partitioner, Problem};

use crate::compressed::Compressed;
use crate::graphs::FAR;

pub(crate) struct Scotch {
    pub(crate) seed: u64,
}

/// A graph, an architecture or a strategy: what the library makes and frees itself.
type Opaque = *mut c_void;

#[link(name = "scotch")]
#[link(name = "scotcherr")]
unsafe extern "C" {
    fn SCOTCH_graphAlloc() -> Opaque;
    fn SCOTCH_graphInit(graph: Opaque) -> c_int;
    fn SCOTCH_graphExit(graph: Opaque);
    fn SCOTCH_graphBuild(
        graph: Opaque,
        base: c_int,
        vertices: c_int,
        starts: *const c_int,
        ends: *const c_int,
        vertex_weights: *const c_int,
        labels: *const c_int,
        edges: c_int,
        neighbours: *const c_int,
        edge_weights: *const c_int,
    ) -> c_int;
    fn SCOTCH_graphMapFixed(
        graph: Opaque,
        arch: Opaque,
        strategy: Opaque,
        parts: *mut c_int,
    ) -> c_int;
    fn SCOTCH_archAlloc() -> Opaque;
    fn SCOTCH_archInit(arch: Opaque) -> c_int;
    fn SCOTCH_archExit(arch: Opaque);
    fn SCOTCH_archCmplt(arch: Opaque, parts: c_int) -> c_int;
    fn SCOTCH_archTleaf(
        arch: Opaque,
        levels: c_int,
        sizes: *const c_int,
        links: *const c_int,
    ) -> c_int;
    fn SCOTCH_stratAlloc() -> Opaque;
    fn SCOTCH_stratInit(strategy: Opaque) -> c_int;
    fn SCOTCH_stratExit(strategy: Opaque);
    fn SCOTCH_stratGraphMapBuild(
        strategy: Opaque,
        flags: c_int,
        parts: c_int,
        imbalance: c_double,
    ) -> c_int;
    fn SCOTCH_randomSeed(seed: c_int);
    fn SCOTCH_randomReset();
    fn SCOTCH_memFree(of: Opaque);
}

/// `SCOTCH_STRATQUALITY | SCOTCH_STRATBALANCE` of scotch.h.
const FLAGS: c_int = 1 | 4;

impl Partitioner for Scotch {
    fn partition(&self, problem: &Problem<'_>) -> Partition {
        let graph = Compressed::new(problem.graph());
        let pins = (0..problem.graph().vertices()).map(|vertex| problem.graph().pin(vertex));
        let mut parts: Vec<c_int> = pins
            .map(|pin| pin.map_or(-1, |part| part as c_int))
            .collect();
        map(&graph, problem, self.seed, &mut parts);
        let parts = parts.into_iter().map(|part| part as u32);
        problem
            .partition(parts.collect())
            .expect("Scotch keeps pins")
    }
}

fn map(graph: &Compressed, problem: &Problem<'_>, seed: u64, parts: &mut [c_int]) {
    let (count, vertices) = (problem.parts() as c_int, parts.len() as c_int);
    let edges = graph.neighbours.len() as c_int;
    let sizes = [2, count / 2];
    let links = [FAR as c_int - 1, 1];
    // SAFETY: each object is made and initialised before it is used, and left and freed afterwards;
    // the arrays have the lengths that are said, and outlive the graph; `parts` has an entry for
    // each vertex, -1 or a part below `count`.
    unsafe {
        SCOTCH_randomSeed(seed as c_int);
        SCOTCH_randomReset();
        let (scotch, arch, strategy) =
            (SCOTCH_graphAlloc(), SCOTCH_archAlloc(), SCOTCH_stratAlloc());
        assert!(
            !scotch.is_null() && !arch.is_null() && !strategy.is_null(),
            "out of memory"
        );
        let mut failed =
            SCOTCH_graphInit(scotch) + SCOTCH_archInit(arch) + SCOTCH_stratInit(strategy);
        failed += SCOTCH_graphBuild(
            scotch,
            0,
            vertices,
            graph.starts.as_ptr(),
            ptr::null(),
            graph.vertex_weights.as_ptr(),
            ptr::null(),
            edges,
            graph.neighbours.as_ptr(),
            graph.edge_weights.as_ptr(),
        );
        failed += match problem.distance().is_uniform() {
            true => SCOTCH_archCmplt(arch, count),
            false => SCOTCH_archTleaf(arch, 2, sizes.as_ptr(), links.as_ptr()),
        };
        failed += SCOTCH_stratGraphMapBuild(strategy, FLAGS, count, 0.03);
        failed += SCOTCH_graphMapFixed(scotch, arch, strategy, parts.as_mut_ptr());
        assert_eq!(failed, 0, "Scotch refuses a graph that is well formed");
        SCOTCH_graphExit(scotch);
        SCOTCH_archExit(arch);
        SCOTCH_stratExit(strategy);
        for of in [scotch, arch, strategy] {
            SCOTCH_memFree(of);
        }
    }
}
