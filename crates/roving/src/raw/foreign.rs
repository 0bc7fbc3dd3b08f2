//! Tasks whose code is not Rust: the seam of `roving-c`.
//!
//! What the header of `roving-c` does in C stands here in Rust: a task is pushed with its words,
//! and popped by who pushed it, or left with its result by the thief that ran it.
//!
//! ```
//! use roving::raw::foreign::{LAYOUT, Layout, Left, Opaque, Words, depth, has_pushed_above, pop, push, run, wire};
//!
//! /// The code of the task: doubles its first word.
//! unsafe extern "C-unwind" fn double(_wire: *const (), slot: *mut ()) {
//!     // SAFETY: a slot whose first word is set.
//!     unsafe { *slot.byte_add(LAYOUT.slot_words).cast::<u64>() *= 2 };
//! }
//!
//! /// What a thief calls.
//! unsafe extern "C-unwind" fn stolen(slot: *mut ()) -> Left {
//!     // SAFETY: a thief's call, with the slot that was pushed with this code.
//!     unsafe { run(slot, double) }
//! }
//!
//! const _: Layout = LAYOUT; // the sizes and places that the other language has to agree with
//! let pool = roving::Pool::new(1)?;
//! pool.install(|| {
//!     let before = depth().expect("a worker");
//!     // SAFETY: a function of the layout that `Opaque` stands for.
//!     let code = unsafe { std::mem::transmute::<unsafe extern "C-unwind" fn(*mut ()) -> Left, Opaque>(stolen) };
//!     // SAFETY: pushed and popped here, in order; `stolen` may be called on any worker.
//!     unsafe {
//!         let slot = push(code, Words::new([21, 0, 0, 0])).expect("there is room");
//!         assert!(has_pushed_above(before));
//!         if pop(slot) {
//!             double(wire(), slot);
//!         }
//!         assert_eq!(*slot.byte_add(LAYOUT.slot_words).cast::<u64>(), 42);
//!     }
//! });
//! # Ok::<(), roving::BuildError>(())
//! ```

pub use crate::forkjoin::foreign::{
    Code, LAYOUT, Layout, Left, Opaque, Words, depth, has_pushed_above, pop, push, run, wire,
};
