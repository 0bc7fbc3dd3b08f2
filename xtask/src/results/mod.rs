//! `docs/results`: on which commit each file was measured, which are older than what they measure,
//! and the rows of the first page measured again.

mod again;
mod age;

pub(crate) use again::measure as readme;
pub(crate) use age::{Ages, mark, note};
