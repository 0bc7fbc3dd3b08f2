//! The start of a pool.

use std::io;
use std::sync::Arc;

use super::error::{BuildError, Reason};
use super::{Pool, enter_books, muster};
use crate::machine::os;
use crate::workers::Worker;
use crate::workers::registry::Registry;
use crate::workers::settings::Settings;
use crate::workers::sleep::Parts;

impl Pool {
    /// The pool, and why it has fewer workers than were asked for.
    pub(super) fn start(settings: Box<Settings>) -> Result<(Pool, Option<BuildError>), BuildError> {
        let is_exact = settings.workers_least == settings.workers || settings.arena.is_some();
        if !is_exact && !settings.in_place && !settings.adopts {
            return muster::start(settings);
        }
        let start = |registry: &Arc<Registry>, index| registry.start_thread(index).map(drop);
        Ok((Pool::start_with(settings, start)?, None))
    }

    /// Has `start` see to a thread for each worker that needs one.
    pub(super) fn start_with(
        settings: Box<Settings>,
        mut start: impl FnMut(&Arc<Registry>, usize) -> io::Result<()>,
    ) -> Result<Pool, BuildError> {
        let threads = match (settings.in_place, settings.adopts) {
            (true, _) => 0..0,
            (false, adopts) => usize::from(adopts)..settings.workers,
        };
        os::count_forks();
        let arena = settings.arena.clone();
        let registry = Registry::new(settings);
        let registry = registry.map_err(|settings| Reason::Memory(settings.workers))?;
        let pool = Pool {
            registry: Arc::new(registry),
            _arena: arena,
        };
        let registry = &pool.registry;
        enter_books(registry);
        if let Some(share) = &registry.share {
            share.belongs_to(registry);
            registry.put_to_sleep();
            return Ok(pool);
        }
        if registry.settings.adopts && !Worker::adopt(registry) {
            return Err(Reason::IsWorker.into());
        }
        for index in threads {
            // An error drops the pool, which ends the threads that were started.
            start(registry, index).map_err(|error| Reason::Thread {
                index,
                error: Arc::new(error),
            })?;
        }
        Ok(pool)
    }
}
