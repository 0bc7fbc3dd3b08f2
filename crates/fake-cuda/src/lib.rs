//! A CUDA driver that needs no device: the entry points of the driver, of NVRTC and of cuBLAS that
//! `roving-gpu` calls, in one library, which a program finds where the loader looks for libraries.
//!
//! Streams compute as late as they can: an operation runs when somebody waits for it, or for what
//! follows it. So a result that is used without waiting is not there. Kernels are CUDA C++, which
//! the machine's C++ compiler builds; a copy from pinned memory reads it when the copy runs.
//!
//! The driver ends the process, and says why, where it finds a mistake of its user:
//!
//! * an object that is not alive: destroyed, of another kind, of another context, never made;
//! * no current context, or one that is gone;
//! * memory that is used by two streams at once, one of which writes, while nothing orders the two:
//!   no event, and no wait of the host in between;
//! * a copy between devices that names another context than that of its memory;
//! * memory that is freed twice, used after that, or freed while it may be in use;
//! * bytes out of bounds, of a copy or of a kernel;
//! * whatever is alive when its context goes, and contexts that are alive when the process ends.
//!
//! What it lacks it refuses by name: the default stream, options of NVRTC that it does not know,
//! other forms of the routines. An entry point that it lacks is not found by the loader.
//!
//! It sees no pointers inside of values that kernels are given, and does not know which threads of
//! the host wait for each other: who has waited for an operation has done so for all threads.
//!
//! A program that loads it, or is linked with it, finds one device:
//!
//! ```
//! # #[cfg(target_os = "linux")] {
//! use roving_fake_cuda as _;
//!
//! unsafe extern "C" {
//!     fn cuInit(flags: u32) -> i32;
//!     fn cuDeviceGetCount(count: *mut i32) -> i32;
//! }
//! let mut devices = 0;
//! // SAFETY: the driver's functions of these names, with a pointer to a number.
//! let results = unsafe { [cuInit(0), cuDeviceGetCount(&raw mut devices)] };
//! assert_eq!((results, devices), ([0, 0], 1));
//! # }
//! ```

// # What may be unsafe, and why
//
// Unsafe code is denied but in these modules; each says in its comments what it relies on.
//
// | module | reason |
// |---|---|
// | `blas.rs` | numbers of matrices, by address |
// | `compiler.rs` | loads the libraries that it has built, and calls their kernels |
// | `driver/kernel.rs` | runs those |
// | `driver/memory.rs` | copies, by address |
// | `driver/peer.rs` | the same between devices |
// | `entry.rs` | functions that C calls, with its pointers |
// | `memory.rs` | blocks, by address |
// | `tests.rs` | pinned memory, by address |
#![deny(unsafe_code)]

#[cfg(target_os = "linux")]
mod blas;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod compiler;
#[cfg(target_os = "linux")]
mod driver;
#[cfg(target_os = "linux")]
mod entry;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod refusal;
#[cfg(all(test, target_os = "linux"))]
mod tests;
