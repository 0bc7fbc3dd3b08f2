//! A program watches its workers here: traces of what they did, and reports of standstills.
//!
//! The names that a program gives to its spans and its locks are always there. Who reads them is
//! [`diagnostics`]; without the feature of that name an empty module has its place.

#[cfg(feature = "diagnostics")]
pub(crate) mod diagnostics;
#[cfg(not(feature = "diagnostics"))]
#[path = "absent.rs"]
pub(crate) mod diagnostics;
pub mod trace;
mod variable;
pub mod watch;
