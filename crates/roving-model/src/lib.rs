//! Mean-field equations and a discrete-event simulator of work stealing.
#![forbid(unsafe_code)]

mod equations;
mod error;
mod independent;
mod policy;
mod queue;
mod random;
mod runtime;
mod tree;

pub use equations::{Drain, MeanField, Moment, Steady, separate, single_thefts};
pub use error::ModelError;
pub use independent::{Independent, Seen, Service};
pub use policy::Policy;
pub use runtime::{Amount, ByDistance, Costs, Outcome, Runtime, Sample, Topology};
pub use tree::{Binomial, Fib, Flat, Recorded, Recorder, Step, Then, Tree};
