//! `docs/results`: on which commit each file was measured, which are older than what they measure,
//! the rows of the first page measured again, and what each long check came to last.

mod again;
mod age;
pub(crate) mod last_runs;

pub(crate) use again::measure as readme;
pub(crate) use age::{Ages, mark, note};
