//! A thread that serves all pools of the process. It is started when it is needed, and ends by
//! itself when it is not.

use std::io;

use crate::machine::faults;
use crate::machine::os;
#[cfg(doc)]
use crate::machine::per_process::PerProcess;
use crate::machine::prim::mutant;
use crate::machine::prim::thread::{self, Builder, JoinHandle};

/// Which thread serves now, if one does. Stands in a [`PerProcess`] value, together with what it
/// serves for: threads do not survive a fork.
pub(crate) struct Service {
    thread: Option<JoinHandle<()>>,
    /// One that has ended by itself. Who unloads the library joins it.
    retired: Option<JoinHandle<()>>,
    /// Of the thread that serves: an earlier one, which has not noticed yet, ends.
    number: u64,
}

impl Default for Service {
    /// In a forked child the numbers begin above those of its ancestors: a copy of one of their
    /// threads, which has forked itself, is not taken for the one that serves.
    fn default() -> Service {
        Service {
            thread: None,
            retired: None,
            number: (os::forks() as u64) << 32,
        }
    }
}

impl Service {
    /// If no thread serves, starts one, which calls `run` with its number.
    pub(crate) fn start(&mut self, name: &str, run: fn(u64)) -> io::Result<()> {
        if self.thread.as_ref().is_some_and(|at| !at.is_finished()) {
            return Ok(());
        }
        self.number += 1;
        let number = self.number;
        let builder = Builder::new().name(name.to_owned());
        self.thread = Some(faults::start(builder, move || run(number))?);
        Ok(())
    }

    /// Whether the thread of that number serves.
    pub(crate) fn is_served_by(&self, number: u64) -> bool {
        mutant("service_number") || self.number == number
    }

    /// The thread that serves, which calls this, ends: who comes next finds none, and starts
    /// another.
    pub(crate) fn retire(&mut self) {
        let ended = self.end();
        // ThreadSanitizer calls a thread that has ended, and that nobody joins, a leak.
        self.retired = ended.filter(|_| cfg!(not(roving_tsan)));
    }

    /// From now on none serves. Returns the one that did, to be woken, and joined without the lock.
    pub(crate) fn end(&mut self) -> Option<JoinHandle<()>> {
        self.number += 1;
        self.thread.take()
    }

    /// The one that has ended by itself, to be joined.
    #[inline]
    pub(crate) fn take_retired(&mut self) -> Option<JoinHandle<()>> {
        self.retired.take()
    }
}

/// Waits for the end of a thread that was told to end. What it calls may be the program's own, and
/// so come here on the thread itself, which then ends afterwards.
pub(crate) fn join(thread: JoinHandle<()>) {
    if thread.thread().id() != thread::current().id() {
        // It has no panic of its own to report.
        let _ = thread.join();
    }
}
