//! The door to the checks that explore the protocols of this crate, for crates with protocols of
//! their own: `cargo xtask loom` and `cargo xtask mutants` in the repository.
//!
//! In a program all of this is folded away. Built with `--cfg loom` and the feature `loom`, a
//! [`DataCell`] tells the model checker who reads and writes it, and what has a name can be
//! weakened. Then `explore` and `explore_within` stand here too: they run a small program in all
//! its executions. `Woken` is a waker for such a program, which counts its calls.
//!
//! ```
//! use std::sync::atomic::{AtomicBool, Ordering::Release};
//! use roving::raw::prim::{DataCell, mutant, ord, pause};
//!
//! struct Letter {
//!     text: DataCell<u32>,
//!     is_there: AtomicBool,
//! }
//!
//! let letter = Letter { text: DataCell::new(0), is_there: AtomicBool::new(false) };
//! // SAFETY: nobody else has it yet.
//! letter.text.with_mut(|text| unsafe { *text = 42 });
//! pause(); // here a thread may lose its core: `--cfg roving_pauses` sees to it
//! if !mutant("letter_is_shown") {
//!     letter.is_there.store(true, ord("letter_is_there", Release));
//! }
//! // SAFETY: nobody writes any more.
//! assert_eq!(letter.text.with(|text| unsafe { *text }), 42);
//! assert!(letter.is_there.into_inner());
//! ```

pub use crate::machine::prim::{DataCell, mutant, ord, pause};
#[cfg(loom)]
pub use crate::machine::prim::{Woken, explore, explore_within};
