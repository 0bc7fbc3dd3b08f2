//! Wool's ladder: a task stack of the lab's own in which each of Wool's optimisations can be left
//! out, so that what each of them brings can be measured in one program, with one compiler, on one
//! machine.
//!
//! It is made for measuring, not for use: a worker that waits for a stolen task only spins, a panic
//! in a task ends the process, and thieves never sleep while a job runs. Roving itself stands on
//! the last step.

mod pool;
mod stack;
mod steps;

pub(super) use self::pool::Pool;
pub(super) use self::steps::{JOINS, STEALS, Step};
