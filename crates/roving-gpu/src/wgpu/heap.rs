//! How much memory an adapter has, which wgpu does not say.
#![allow(unsafe_code)] // asks Vulkan itself

use ::wgpu::Adapter;

/// Bytes of the largest heap of the device's own; `None` where there is no way to ask.
#[cfg(not(target_vendor = "apple"))]
pub(super) fn bytes(adapter: &Adapter) -> Option<u64> {
    // SAFETY: nothing is destroyed through the guard: it is only asked for its handles, and lives
    // to the end of this function.
    let adapter = unsafe { adapter.as_hal::<::wgpu::hal::api::Vulkan>() }?;
    let instance = adapter.shared_instance().raw_instance();
    let device = adapter.raw_physical_device();
    // SAFETY: the handle of the device is one of this instance, and both are alive, for the guard
    // is.
    let memory = unsafe { instance.get_physical_device_memory_properties(device) };
    let heaps = &memory.memory_heaps[..memory.memory_heap_count as usize];
    // 1 is VK_MEMORY_HEAP_DEVICE_LOCAL_BIT.
    let own = heaps.iter().filter(|heap| heap.flags.as_raw() & 1 != 0);
    own.map(|heap| heap.size).max()
}

/// Metal has no heaps to ask for.
#[cfg(target_vendor = "apple")]
pub(super) fn bytes(_: &Adapter) -> Option<u64> {
    None
}
