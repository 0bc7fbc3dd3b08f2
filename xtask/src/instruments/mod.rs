//! The tests under something that watches them or stands in for the machine: Miri, sanitizers,
//! valgrind and its counts of instructions, an emulated processor.

pub(crate) mod ceilings;
pub(crate) mod emulated;
pub(crate) mod miri;
pub(crate) mod nightly;
pub(crate) mod valgrind;
