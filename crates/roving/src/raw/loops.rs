//! Loops over whatever can be cut: the seam of `roving-iter`. A [`Piece`] is cut while other
//! workers ask for some of it, and a [`Sink`] takes what is cut, block by block. Work that is made
//! of joins, as a sort is, ends early as a loop does by a [`Heed`].
//!
//! ```
//! use roving::raw::loops::{Heed, Piece, Sink, feed_pieces, run_on_worker};
//!
//! /// The numbers of a range.
//! struct Numbers(std::ops::Range<usize>);
//!
//! impl Piece for Numbers {
//!     fn units(&self) -> usize {
//!         self.0.len()
//!     }
//!     fn cut(self, at: usize) -> (Self, Self) {
//!         let middle = self.0.start + at;
//!         (Numbers(self.0.start..middle), Numbers(middle..self.0.end))
//!     }
//!     fn least(&self) -> usize {
//!         100
//!     }
//!     fn most(&self) -> usize {
//!         10_000
//!     }
//! }
//!
//! /// Adds them up.
//! struct Sum;
//!
//! impl Sink<Numbers> for Sum {
//!     type State = usize;
//!     type Outcome = usize;
//!     fn begin(&self) -> usize {
//!         0
//!     }
//!     fn feed(&self, sum: usize, piece: Numbers) -> usize {
//!         sum + piece.0.sum::<usize>()
//!     }
//!     fn end(&self, sum: usize) -> usize {
//!         sum
//!     }
//!     fn resume(&self, sum: usize) -> usize {
//!         sum
//!     }
//!     fn join(&self, lower: usize, upper: usize) -> usize {
//!         lower + upper
//!     }
//!     fn is_done(&self, _: &usize, _: &Numbers) -> bool {
//!         false // a search would leave out the rest behind its find
//!     }
//! }
//!
//! let sum = run_on_worker(|| feed_pieces(Numbers(0..100_000), &Sum, 0));
//! assert_eq!(sum, 4_999_950_000);
//!
//! let cancel = roving::Cancel::new();
//! let outcome = cancel.run(|| {
//!     let heed = Heed::of_caller();
//!     assert!(heed.is_due(), "there is a token");
//!     heed.look();
//!     cancel.cancel();
//!     heed.look();
//!     unreachable!("it unwinds, as a loop does");
//! });
//! assert_eq!(outcome, Err(roving::CancelledError));
//! ```

pub use crate::forkjoin::loops::early_end::Heed;
pub use crate::forkjoin::loops::pieces::{Piece, Sink, feed_pieces, run_on_worker};
