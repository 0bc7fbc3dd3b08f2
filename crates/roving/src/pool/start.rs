//! The start of a pool.

use std::io;
use std::sync::Arc;

use super::error::{BuildError, Reason};
use super::hooks::HOOKS;
use super::{Pool, fewer_workers, making};
use crate::machine::os;
use crate::observe::diagnostics;
use crate::workers::arena::Landlord;
use crate::workers::registry::{Plan, Registry};
use crate::workers::sleep::Parts;

impl Pool {
    /// The pool, and why it has fewer workers than were asked for.
    pub(super) fn start(
        (settings, kind): Plan,
        arena: Option<Box<dyn Landlord>>,
    ) -> Result<(Pool, Option<BuildError>), BuildError> {
        if kind.workers_least(settings.workers_least, settings.workers) < settings.workers {
            return fewer_workers::start((settings, kind));
        }
        let start = |registry: &Arc<Registry>, index| registry.start_thread(index).map(drop);
        Ok((Pool::start_with((settings, kind), arena, start)?, None))
    }

    /// Has `start` see to a thread for each worker that needs one.
    pub(super) fn start_with(
        (settings, kind): Plan,
        arena: Option<Box<dyn Landlord>>,
        mut start: impl FnMut(&Arc<Registry>, usize) -> io::Result<()>,
    ) -> Result<Pool, BuildError> {
        let threads = kind.threads(settings.workers);
        os::count_forks();
        let registry = Registry::new((settings, kind), HOOKS);
        let registry = registry.map_err(|(settings, _)| {
            making::give_up();
            Reason::Memory(settings.workers)
        })?;
        let pool = Pool {
            registry,
            _arena: arena,
        };
        let registry = &pool.registry;
        diagnostics::enter(registry);
        let start = |index| {
            start(registry, index).map_err(|error| Reason::Thread {
                index,
                error: Arc::new(error),
            })
        };
        let begun = registry.kind.begin(registry).map_err(Reason::Unfit);
        // An error drops the pool, which ends the threads that were started.
        if let Err(reason) = begun.and_then(|()| threads.into_iter().try_for_each(start)) {
            making::give_up();
            return Err(reason.into());
        }
        // They have begun when somebody first comes.
        registry.kind.visit(&mut || ());
        Ok(pool)
    }
}
