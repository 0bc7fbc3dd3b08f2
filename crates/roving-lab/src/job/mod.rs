//! One job of `roving run`: the words for it, its runs, and the report of them.

pub(crate) mod measure;
pub(crate) mod report;
pub(crate) mod settings;
