//! The start of a pool.

use std::io;
use std::sync::Arc;

use super::error::{BuildError, Reason};
use super::hooks::HOOKS;
use super::{Pool, enter_books, muster};
use crate::machine::os;
use crate::workers::arena::Arena;
use crate::workers::registry::Registry;
use crate::workers::settings::Settings;
use crate::workers::sleep::Parts;
use crate::workers::worker::adopted::adopt;

impl Pool {
    /// The pool, and why it has fewer workers than were asked for.
    pub(super) fn start(
        settings: Box<Settings>,
        arena: Option<Arena>,
    ) -> Result<(Pool, Option<BuildError>), BuildError> {
        let is_exact = settings.workers_least == settings.workers || settings.arena.is_some();
        if !is_exact && !settings.in_place && !settings.adopts {
            return muster::start(settings);
        }
        let start = |registry: &Arc<Registry>, index| registry.start_thread(index).map(drop);
        Ok((Pool::start_with(settings, arena, start)?, None))
    }

    /// Has `start` see to a thread for each worker that needs one.
    pub(super) fn start_with(
        settings: Box<Settings>,
        arena: Option<Arena>,
        mut start: impl FnMut(&Arc<Registry>, usize) -> io::Result<()>,
    ) -> Result<Pool, BuildError> {
        let threads = match (settings.in_place, settings.adopts) {
            (true, _) => 0..0,
            (false, adopts) => usize::from(adopts)..settings.workers,
        };
        os::count_forks();
        let registry = Registry::new(settings, HOOKS);
        let registry = registry.map_err(|settings| Reason::Memory(settings.workers))?;
        let pool = Pool {
            registry: Arc::new(registry),
            _arena: arena,
        };
        let registry = &pool.registry;
        enter_books(registry);
        if let Some(share) = &registry.share {
            share.belongs_to(Arc::downgrade(registry) as _);
            registry.put_to_sleep();
            return Ok(pool);
        }
        if registry.settings.adopts && !adopt(registry) {
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
