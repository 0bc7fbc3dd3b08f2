//! Policies that decide how tasks are spread over the workers: how many one steal takes, and
//! whether a child or its parent goes on.
//!
//! A program that only wants its work done needs none of them: the defaults are what is best for
//! most. They are for those who compare policies, and for work of a shape that is known. A pool
//! gets them from its builder; both are also text, for command lines.
//!
//! | policy | given to a pool by |
//! |---|---|
//! | [`Amount`]: how many tasks one steal takes | [`PoolBuilder::steal`](crate::PoolBuilder::steal) |
//! | [`SpawnOrder`]: how a task goes on that has branched | [`PoolBuilder::spawn_order`](crate::PoolBuilder::spawn_order) |
//!
//! ```
//! use roving::Pool;
//! use roving::policy::{Amount, SpawnOrder};
//!
//! // As a program would take them from its arguments.
//! let amount: Amount = "half".parse()?;
//! let order: SpawnOrder = "work-first".parse()?;
//! let pool = Pool::builder().workers(2).steal(amount).spawn_order(order).build()?;
//! assert_eq!(pool.install(|| roving::join(|| 1, || 2)), (1, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crate::workers::frames::order::{ParseSpawnOrderError, SpawnOrder};
pub use crate::workers::steal::amount::{Amount, ParseAmountError};
