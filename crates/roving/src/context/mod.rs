//! What everything inside inherits: values, and requests to stop.

mod cancel;
mod timer;
pub(crate) mod token;

pub use cancel::{Cancel, Cancelled, is_cancelled};
