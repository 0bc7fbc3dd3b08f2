//! Frames: futures as workers run them, below the roots that wait for them. [`crate::task`] is what
//! a program sees of it.

mod after_end;
pub(crate) mod allocator;
#[cfg(all(test, loom))]
mod alone_loom_tests;
pub(crate) mod awaited;
#[cfg(all(test, loom))]
mod awaited_loom_tests;
pub(crate) mod bind;
pub(crate) mod child_end;
mod drive;
pub(crate) mod frame;
mod free_lists;
pub(crate) mod header;
pub(crate) mod level;
pub(crate) mod local;
#[cfg(all(test, loom))]
mod loom_tests;
pub(crate) mod on_top;
pub(crate) mod open_count;
pub(crate) mod order;
pub(crate) mod outlet;
pub(crate) mod place;
pub(crate) mod placed;
pub(crate) mod placed_loop;
mod pushed;
mod ready;
pub(crate) mod root;
pub(crate) mod root_wait;
pub(crate) mod waker;
mod waker_word;
pub(crate) mod yielded;

pub(crate) use {
    drive::Frames,
    header::Frame,
    level::Level,
    local::{Local, set_current_local},
    pushed::holds_frame,
    root::run_frames,
};
