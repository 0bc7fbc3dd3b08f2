//! The pool that is there without being built.

use std::env;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::builder::{BuildError, Reason};
use super::{Pool, PoolBuilder};

static GLOBAL: OnceLock<Pool> = OnceLock::new();
static STARTING: Mutex<()> = Mutex::new(());

/// The global pool, started if need be: as many workers as `ROVING_WORKERS` says, or as the
/// process may use cores.
pub(crate) fn get() -> &'static Pool {
    get_or(|| match configured().and_then(PoolBuilder::build) {
        Ok(pool) => pool,
        Err(error) => {
            // Nobody to return it to; a machine that starts no threads still gets its work done.
            eprintln!("roving: {error}; going on without threads");
            Pool::builder()
                .use_current_thread()
                .build()
                .expect("it starts no thread")
        }
    })
}

/// The global pool; `build` makes it if there is none.
pub(crate) fn get_or(build: impl FnOnce() -> Pool) -> &'static Pool {
    if let Some(pool) = GLOBAL.get() {
        return pool;
    }
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    GLOBAL.get_or_init(build)
}

fn configured() -> Result<PoolBuilder, BuildError> {
    let builder = Pool::builder();
    match env::var("ROVING_WORKERS") {
        Err(_) => Ok(builder),
        Ok(text) => match text.trim().parse() {
            Ok(workers) if workers > 0 => Ok(builder.workers(workers)),
            _ => Err(Reason::WorkersVariable(text).into()),
        },
    }
}

pub(super) fn set(builder: PoolBuilder) -> Result<(), BuildError> {
    set_built(|| builder.build(), || Reason::GlobalExists.into()).map(drop)
}

/// Makes what `build` returns the global pool, unless there is one, which is the error `exists`.
pub(crate) fn set_built<E>(
    build: impl FnOnce() -> Result<Pool, E>,
    exists: impl FnOnce() -> E,
) -> Result<&'static Pool, E> {
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if GLOBAL.get().is_some() {
        return Err(exists());
    }
    let pool = build()?;
    Ok(GLOBAL.get_or_init(|| pool))
}
