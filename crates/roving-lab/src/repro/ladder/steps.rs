//! The steps of the two ladders.

/// How a task that nobody stole is joined: the steps of the slide "Results for inlining
/// optimizations".
pub(in super::super) const JOINS: [&str; 5] = [
    "base: a lock at each join",
    "synchronise on the task",
    "task-specific join",
    "private tasks, none private",
    "private tasks, all private",
];

/// How a task is stolen: the steps of the slide "Optimizing steals: stress tests".
pub(in super::super) const STEALS: [&str; 5] = [
    "base: lock",
    "+ peek",
    "+ trylock",
    "+ no lock",
    "+ no peek",
];

/// A lock is taken at each join.
pub(super) const BASE: u8 = 0;
/// Owner and thief meet in the task's state word; a task is still called through a pointer.
pub(super) const ON_TASK: u8 = 1;
/// The join knows its task, and calls it directly.
pub(super) const SPECIFIC: u8 = 2;
/// The join asks whether its task is private, and none is.
pub(super) const NONE_PRIVATE: u8 = 3;
/// All tasks are private until a thief asks for some.
pub(super) const ALL_PRIVATE: u8 = 4;

/// A thief locks the victim, then looks.
pub(super) const LOCK: u8 = 0;
/// A thief looks before it locks.
pub(super) const PEEK: u8 = 1;
/// A thief that finds the lock taken goes on to another victim.
pub(super) const TRYLOCK: u8 = 2;
/// Thieves do without the lock.
pub(super) const NO_LOCK: u8 = 3;
/// Without the lock, and without looking first.
pub(super) const NO_PEEK: u8 = 4;

/// Calls `$go::<JOIN, STEAL>($($argument),*)` with the constants of a step.
macro_rules! at_step {
    ($step:expr, $go:ident($($argument:expr),*)) => {
        match $step {
            Step::Join(0) => $go::<BASE, LOCK>($($argument),*),
            Step::Join(1) => $go::<ON_TASK, LOCK>($($argument),*),
            Step::Join(2) => $go::<SPECIFIC, LOCK>($($argument),*),
            Step::Join(3) => $go::<NONE_PRIVATE, LOCK>($($argument),*),
            Step::Join(_) => $go::<ALL_PRIVATE, LOCK>($($argument),*),
            Step::Steal(0) => $go::<SPECIFIC, LOCK>($($argument),*),
            Step::Steal(1) => $go::<SPECIFIC, PEEK>($($argument),*),
            Step::Steal(2) => $go::<SPECIFIC, TRYLOCK>($($argument),*),
            Step::Steal(3) => $go::<SPECIFIC, NO_LOCK>($($argument),*),
            Step::Steal(_) => $go::<SPECIFIC, NO_PEEK>($($argument),*),
        }
    };
}
pub(super) use at_step;

/// A step of one of the two ladders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Step {
    /// Of [`JOINS`].
    Join(usize),
    /// Of [`STEALS`].
    Steal(usize),
}

impl Step {
    /// Its name in the report.
    pub(in super::super) fn name(self) -> &'static str {
        match self {
            Step::Join(step) => JOINS[step],
            Step::Steal(step) => STEALS[step],
        }
    }
}
