//! Threads that park until something changes.

use super::meeting_points::unpark;
use super::prim::thread::{self, Thread};

/// Threads that park until something changes. It stands beside that, under its lock: who looks and
/// does not find the change enters under the lock, and who makes it tells all.
#[derive(Default)]
pub(crate) struct Waiters(Vec<Thread>);

impl Waiters {
    /// The calling thread parks, and looks again whenever it is unparked.
    pub(crate) fn enter(&mut self) {
        let me = thread::current();
        if self.0.iter().all(|thread| thread.id() != me.id()) {
            self.0.push(me);
        }
    }

    pub(crate) fn tell_all(&mut self) {
        self.0.drain(..).for_each(|thread| unpark(&thread));
    }
}
