//! The state of a process that others may see while it runs.

use super::process_waker::TaskWaker;
use super::process_word::AtomicWord;

/// The part of a process that others see while it runs: how it is woken, and what it waits for.
pub(crate) struct Control {
    pub(crate) task: TaskWaker,
    pub(crate) word: AtomicWord,
}

impl Control {
    /// Of a process that has not begun.
    pub(crate) fn new() -> Control {
        Control {
            task: TaskWaker::new(),
            word: AtomicWord::new(),
        }
    }
}
