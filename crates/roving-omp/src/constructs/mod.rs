//! The constructs that a thread comes to in a region: loops and sections, tasks, loops of tasks,
//! groups of tasks, and reductions over them.

pub(crate) mod reduction;
pub(crate) mod spawn;
pub(crate) mod taskgroup;
pub(crate) mod taskloop;
pub(crate) mod work;
