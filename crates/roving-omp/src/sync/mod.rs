//! How threads wait for each other, where no task is to be run meanwhile.

pub(crate) mod barrier;
pub(crate) mod dock;
pub(crate) mod futex;
pub(crate) mod gate;
pub(crate) mod mutex;
pub(crate) mod patience;
