//! METIS, which knows neither pins nor distances.

use metis::Graph as MetisGraph;
use metis::option::{Seed, UFactor};
use roving_partition::{Partition, Partitioner, Problem};

use crate::compressed::Compressed;

pub(crate) struct Metis {
    pub(crate) seed: u64,
}

impl Partitioner for Metis {
    fn partition(&self, problem: &Problem<'_>) -> Partition {
        let graph = Compressed::new(problem.graph());
        let mut parts = vec![0; problem.graph().vertices()];
        MetisGraph::new(1, problem.parts() as i32, &graph.starts, &graph.neighbours)
            .expect("the graph is well formed")
            .set_vwgt(&graph.vertex_weights)
            .set_adjwgt(&graph.edge_weights)
            .set_option(UFactor(30))
            .set_option(Seed(self.seed as i32))
            .part_kway(&mut parts)
            .expect("METIS partitions what is well formed");
        let parts = parts.into_iter().map(|part| part as u32);
        problem
            .partition(parts.collect())
            .expect("METIS is not asked for pins")
    }
}
