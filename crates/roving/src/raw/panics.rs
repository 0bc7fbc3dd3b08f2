//! Panics of the program's code where nobody is who could take them: on a thread that has to go on,
//! under a wake, in a drop.
//!
//! ```
//! use roving::raw::panics::{contain, drop_quietly, run_quietly, text};
//!
//! struct Bomb;
//! impl Drop for Bomb {
//!     fn drop(&mut self) {
//!         panic!("in the drop of a payload");
//!     }
//! }
//!
//! assert_eq!(contain(|| 7), Ok(7));
//! assert_eq!(contain(|| -> u32 { panic!("of {}", "it") }), Err(Some("of it".to_owned())));
//! assert_eq!(contain(|| -> u32 { std::panic::panic_any(Bomb) }), Err(None));
//! run_quietly(|| panic!("nobody hears it"));
//! drop_quietly(Bomb);
//! assert_eq!((text(&"it"), text(&7)), (Some("it"), None));
//! ```

pub use crate::machine::unwind::{contain, drop_quietly, run_quietly, text};
