//! Statistics of a pool: counters that are always kept, and times that are kept on request.

mod activity;
mod clock;
pub(crate) mod lane;
mod profile;
mod tally;

pub(crate) use activity::Activity;
pub(crate) use clock::{Clock, Keep, Quiet};
pub use profile::{Counters, Profile, WorkerProfile};
pub(crate) use tally::{Tally, bump};
