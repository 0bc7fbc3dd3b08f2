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
    if let Some(pool) = GLOBAL.get() {
        return pool;
    }
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    GLOBAL.get_or_init(|| match configured().and_then(PoolBuilder::build) {
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
    let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
    if GLOBAL.get().is_some() {
        return Err(Reason::GlobalExists.into());
    }
    let pool = builder.build()?;
    GLOBAL.set(pool).map_err(|_| Reason::GlobalExists.into())
}
