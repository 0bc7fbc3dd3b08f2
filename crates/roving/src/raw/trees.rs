//! Coroutines whose code is not Rust: the other seam of `roving-c`.
//!
//! ```
//! use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
//! use roving::raw::trees::{Code, Head, Tree, Words, push, push_unjoined, take_above, take_newest, top};
//!
//! /// A coroutine begins with its head.
//! #[repr(C)]
//! struct Counts {
//!     head: std::mem::MaybeUninit<Head>,
//!     tree: *const Tree,
//!     runs: AtomicU32,
//! }
//!
//! /// What a thief calls: it joins the tree while it runs the coroutine.
//! unsafe extern "C" fn stolen(_wire: *const (), head: *mut Head) {
//!     let counts = head.cast::<Counts>();
//!     // SAFETY: the head of a `Counts`, which lives until its tree has ended.
//!     unsafe { Tree::join_in((*counts).tree, || _ = (*counts).runs.fetch_add(1, Relaxed)) };
//! }
//! /// One address, by which the pushes are known.
//! static CODE: Code = stolen;
//!
//! let mut counts = Counts {
//!     head: std::mem::MaybeUninit::uninit(),
//!     tree: std::ptr::null(),
//!     runs: AtomicU32::new(0),
//! };
//! let at = std::ptr::from_mut(&mut counts);
//! let body = |tree: &Tree| {
//!     let (base, key) = (top(), std::ptr::without_provenance(7));
//!     let words = Words { key, tree, head: at.cast() };
//!     // SAFETY: what is pushed here is taken here: a pool of one worker has no thief.
//!     unsafe {
//!         (*at).tree = tree;
//!         assert!(push(CODE, words) && take_newest(CODE, 7).is_some());
//!         assert!(push_unjoined(CODE, words) && take_above(base).is_some());
//!     }
//! };
//! # struct Sends<T>(T);
//! # // SAFETY: used on the one worker while this thread waits.
//! # unsafe impl<T> Send for Sends<T> {}
//! # impl<T> Sends<T> { fn get(self) -> T { self.0 } }
//! # let body = Sends(body);
//! let pool = roving::Pool::new(1)?;
//! // SAFETY: the body leaves nothing on the stack, and does not unwind.
//! assert!(pool.install(|| unsafe { Tree::run(body.get()) }));
//! assert_eq!(counts.runs.into_inner(), 0, "nobody has stolen it");
//! assert!(!Tree::has_token(), "nothing is cancelled here");
//! # Ok::<(), roving::BuildError>(())
//! ```

pub use crate::forkjoin::trees::{
    Code, Head, RUN, Tree, Words, push, push_unjoined, take_above, take_newest, top,
};
