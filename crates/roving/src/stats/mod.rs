//! Statistics of a pool: counters that are always kept, and times that are kept on request.

mod clock;
pub(crate) mod lane;
mod profile;
mod tally;

pub(crate) use clock::{Activity, Clock, Keep, Quiet};
pub use profile::{Counters, Profile, WorkerProfile};
pub(crate) use tally::{Tally, bump};
