//! The rows about tasks with two sides.

mod contest;
mod cuda;
mod overhead;
mod sim;
mod vulkan;

pub(super) use cuda::cuda;
pub(super) use overhead::overhead;
pub(super) use sim::sim;
pub(super) use vulkan::vulkan;
