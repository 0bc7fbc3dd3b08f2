//! Mean-field equations and a discrete-event simulator of work stealing.
//!
//! * [`MeanField`]: what becomes of n processors with tasks that arrive by chance as n grows
//!   (Mitzenmacher's equations), for thieves that take none, one, a fixed number or half.
//! * [`Independent`]: the same, event by event, for an n of your choice.
//! * [`Runtime`]: the policies of the Roving runtime, event by event, on task trees ([`Tree`]) and
//!   up to four million workers.
//! * [`Ranks`]: the bags of `roving-dist`, message by message, on up to four million ranks.
//!
//! The crate knows nothing of the runtime itself but for the rules by which it decides.
//!
//! ```
//! use roving::policy::Amount;
//! use roving_model::{Binomial, MeanField, Policy, Runtime};
//!
//! // Of 100 processors at 90 % load, how many have a task to spare?
//! let steady = MeanField::new(0.9).steady(Policy::Half { threshold: 2 })?;
//! assert_eq!((steady.victims * 100.0).round(), 65.0);
//!
//! // What would 10,000 workers make of an irregular tree?
//! let tree = Binomial { seed: 1, roots: 2000, children: 4, probability: 0.24, node_ns: 50_000.0 };
//! let outcome = Runtime::new(10_000).amount(Amount::Half).run(&tree)?;
//! assert!(outcome.speedup() > 100.0);
//! # Ok::<(), roving_model::ModelError>(())
//! ```
#![forbid(unsafe_code)]

mod equations;
mod error;
mod independent;
mod policy;
mod queue;
mod random;
mod ranks;
mod runtime;
mod tree;

pub use equations::{Drain, MeanField, Moment, Steady, separate, single_thefts};
pub use error::ModelError;
pub use independent::{Independent, Seen, Service};
pub use policy::Policy;
pub use ranks::{MessageCosts, Messages, Ranks, RanksOutcome};
pub use runtime::{ByDistance, Costs, Outcome, Runtime, Sample, Topology};
pub use tree::{Binomial, Fib, Flat, Recorded, Recorder, Step, Then, Tree};
