//! The way in and out: named inputs and errors of one line, results, numbers, files.

#[cfg(feature = "rivals")]
pub(crate) mod csv;
pub(crate) mod figures;
pub(crate) mod input;
pub(crate) mod out;
#[cfg(feature = "rivals")]
pub(crate) mod plot;
pub(crate) mod progress;
