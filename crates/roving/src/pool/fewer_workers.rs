//! Pools that make do with fewer workers than were asked for.
//!
//! The threads are started first. How many there are then is how many workers the pool has, so
//! nobody ever sees a worker without a thread.

use std::io;
use std::sync::Arc;

use super::Pool;
use super::error::{BuildError, Reason};
use super::hooks::HOOKS;
use super::making;
use crate::machine::faults;
use crate::machine::os;
use crate::machine::prim::thread::JoinHandle;
use crate::machine::prim::{Condvar, Mutex};
use crate::observe::diagnostics;
use crate::workers::registry::{Plan, Registry};
use crate::workers::settings::Settings;
use crate::workers::thread_loop::run_thread;

/// A thread that waits to hear which worker it is, or that it is none.
struct Recruit {
    thread: JoinHandle<()>,
    orders: Arc<Orders>,
}

/// The word for a recruit. A channel of `std` would do, and is a tenth of the code of this crate.
struct Orders {
    word: Mutex<Word>,
    given: Condvar,
}

enum Word {
    /// Not given yet.
    Wait,
    /// Be that worker.
    Come(Arc<Registry>, usize),
    /// End.
    Go,
}

impl Orders {
    fn new() -> Orders {
        Orders {
            word: Mutex::new(Word::Wait),
            given: Condvar::new(),
        }
    }

    fn give(&self, word: Word) {
        *self.word.lock() = word;
        self.given.notify_one();
    }

    /// Waits for a word, and takes it.
    fn take(&self) -> Option<(Arc<Registry>, usize)> {
        let mut word = self.word.lock();
        loop {
            match std::mem::replace(&mut *word, Word::Wait) {
                Word::Come(registry, index) => return Some((registry, index)),
                Word::Go => return None,
                Word::Wait => word = self.given.wait(word),
            }
        }
    }
}

impl Recruit {
    fn new(settings: &Settings, index: usize) -> io::Result<Recruit> {
        let orders = Arc::new(Orders::new());
        let ordered = Arc::clone(&orders);
        let run = move || {
            let taken = ordered.take();
            drop(ordered);
            if let Some((registry, index)) = taken {
                run_thread(registry, index);
            }
        };
        let thread = faults::start(settings.thread(index), run)?;
        Ok(Recruit { thread, orders })
    }

    fn dismiss(self) {
        self.orders.give(Word::Go);
        // It has nothing of its own to report.
        let _ = self.thread.join();
    }
}

/// Starts a pool of as many workers as there are threads to be had, `settings.workers` at most and
/// `settings.workers_least` at least. Returns it with the reason why there are no more.
pub(super) fn start(
    (mut settings, mut kind): Plan,
) -> Result<(Pool, Option<BuildError>), BuildError> {
    let mut short = None;
    let mut recruits = Vec::new();
    for index in 0..settings.workers {
        match Recruit::new(&settings, index) {
            Ok(recruit) => recruits.push(recruit),
            Err(error) => {
                let error = Arc::new(error);
                short = Some(Reason::Thread { index, error });
                break;
            }
        }
    }
    os::count_forks();
    loop {
        if recruits.len() < settings.workers_least {
            recruits.into_iter().for_each(Recruit::dismiss);
            making::give_up();
            let reason = short.expect("nothing has failed, so there is a thread for each worker");
            return Err(reason.into());
        }
        settings.workers = recruits.len();
        match Registry::new((settings, kind), HOOKS) {
            Ok(registry) => return Ok((deploy(registry, recruits), short.map(BuildError::from))),
            Err(returned) => {
                (settings, kind) = returned;
                short = Some(Reason::Memory(settings.workers));
                recruits.pop().into_iter().for_each(Recruit::dismiss);
            }
        }
    }
}

fn deploy(registry: Arc<Registry>, recruits: Vec<Recruit>) -> Pool {
    diagnostics::enter(&registry);
    for (index, recruit) in recruits.into_iter().enumerate() {
        registry.crew.take_thread(recruit.thread);
        let word = Word::Come(Arc::clone(&registry), index);
        recruit.orders.give(word);
    }
    Pool {
        registry,
        // A share starts no threads, and so never has too few.
        _arena: None,
    }
}
