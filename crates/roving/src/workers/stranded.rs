//! Tasks that lie on top of a full stack, and that no thief comes for.

use crate::workers::Worker;
use crate::workers::frames::Level;

/// The newest tasks of a worker, where they are fewer than thieves take at once.
#[derive(Clone, Copy)]
pub(crate) struct Stranded<'w>(pub(crate) &'w Worker);

impl Stranded<'_> {
    /// A task has been run in place because the stack was full. With it run those that thieves do
    /// not come for, being fewer than they take at once; else the stack would stay full for ever.
    pub(crate) fn run(self) {
        if self.0.registry().settings.amount.least() > 1 {
            self.run_all();
        }
    }

    #[cold]
    fn run_all(self) {
        while let Some((index, wake)) = self.0.owner().pop_stranded() {
            self.0.wake_if(wake);
            // SAFETY: taken off the stack, and run once.
            let further = unsafe { self.0.owner().stack().slot(index).run() };
            self.0.run_further(further, Level::Above);
        }
    }
}
