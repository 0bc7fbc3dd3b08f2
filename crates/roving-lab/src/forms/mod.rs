//! The forms in which a workload is written once for all: closures, and async tasks in an order.

pub(crate) mod fork_join;
pub(crate) mod tasks;
