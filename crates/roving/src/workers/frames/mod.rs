//! Frames: futures as workers run them, below the roots that wait for them. [`crate::task`] is what
//! a program sees of it.

pub(crate) mod awaited;
#[cfg(all(test, loom))]
mod awaited_loom_tests;
#[cfg(not(loom))]
pub(crate) mod bind;
#[cfg(not(loom))]
mod drive;
pub(crate) mod end;
#[cfg(not(loom))]
mod ending;
#[cfg(not(loom))]
pub(crate) mod frame;
#[cfg(not(loom))]
pub(crate) mod header;
#[cfg(not(loom))]
pub(crate) mod level;
mod life;
#[cfg(not(loom))]
pub(crate) mod local;
#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(not(loom))]
pub(crate) mod memory;
pub(crate) mod open;
#[cfg(not(loom))]
pub(crate) mod order;
#[cfg(not(loom))]
pub(crate) mod outlet;
#[cfg(not(loom))]
pub(crate) mod place;
#[cfg(not(loom))]
pub(crate) mod placed;
#[cfg(not(loom))]
mod pushed;
#[cfg(not(loom))]
mod ready;
#[cfg(not(loom))]
pub(crate) mod root;
#[cfg(not(loom))]
pub(crate) mod stays;
#[cfg(not(loom))]
mod store;
#[cfg(not(loom))]
pub(crate) mod waiting;
#[cfg(not(loom))]
pub(crate) mod waker;
#[cfg(not(loom))]
pub(crate) mod yielded;

#[cfg(not(loom))]
pub(crate) use {
    drive::Frames,
    header::Frame,
    level::Level,
    local::{Local, set_current_local},
    pushed::holds_frame,
    root::run_frames,
};
