//! Frames: futures as workers run them, below the roots that wait for them. [`crate::task`] is what
//! a program sees of it.

mod after_end;
#[cfg(all(test, loom))]
mod alone_loom_tests;
pub(crate) mod awaited;
#[cfg(all(test, loom))]
mod awaited_loom_tests;
pub(crate) mod bind;
pub(crate) mod child_end;
mod drive;
pub(crate) mod frame;
pub(crate) mod header;
pub(crate) mod level;
mod life;
pub(crate) mod local;
#[cfg(all(test, loom))]
mod loom_tests;
pub(crate) mod memory;
pub(crate) mod open;
pub(crate) mod order;
pub(crate) mod outlet;
pub(crate) mod place;
pub(crate) mod placed;
mod pushed;
mod ready;
pub(crate) mod root;
pub(crate) mod stays;
mod store;
pub(crate) mod waiting;
pub(crate) mod waker;
pub(crate) mod yielded;

pub(crate) use {
    drive::Frames,
    header::Frame,
    level::Level,
    local::{Local, set_current_local},
    pushed::holds_frame,
    root::run_frames,
};
