//! The owner's side in a pool whose schedule is drawn from a seed ([`crate::replay`]).
//!
//! There, every push is refused as if the stack were full, so whoever pushes has to say what
//! becomes of the task. What it decides to keep for later stands here: tasks of scopes, all of them
//! private, to be taken off in any order by the one thread that plays all workers.

use super::owner::Owner;
use super::slot::Run;

impl Owner<'_> {
    /// Keeps a task that stays until the enclosing scope ends. Gives the payload back if the stack
    /// is full.
    pub(crate) fn keep<T>(&self, run: Run, payload: T) -> Result<(), T> {
        self.answer_alarm();
        if self.is_full() {
            return Err(payload);
        }
        let top = self.top();
        let stack = self.stack();
        // SAFETY: the slot is the owner's, free, and nothing is public here.
        unsafe { stack.slot(top).fill(run, payload) };
        if stack.showing.counting {
            self.count_push(top + 1);
        }
        self.line().top.set(stack.at(top + 1));
        self.raise_barrier();
        self.settle();
        Ok(())
    }

    /// The slots from the returned index on belong to the innermost open frame.
    pub(crate) fn floor(&self) -> usize {
        match self.stack().own.floor.get() {
            floor if floor.is_null() => 0,
            floor => self.stack().index(floor),
        }
    }

    /// Brings the kept task at `index` to the top, in exchange for the one that is there.
    pub(crate) fn bring_to_top(&self, index: usize) {
        let stack = self.stack();
        let newest = self.top() - 1;
        debug_assert!(index <= newest);
        // SAFETY: the slots are the owner's, and all private: nothing is public here. No task here
        // relies on its place: neither a join nor a fork has been pushed.
        unsafe { stack.slot(index).swap(stack.slot(newest)) };
    }

    /// The kept task at the top is the caller's to run, or has been run: its slot is free.
    pub(crate) fn let_go(&self) {
        self.drop_top(self.top() - 1);
        self.settle();
    }

    /// Pops the newest task, which was begun in its slot and has ended there.
    pub(crate) fn let_go_ended(&self) {
        self.stack().slot(self.top() - 1).retire();
        self.let_go();
    }
}
