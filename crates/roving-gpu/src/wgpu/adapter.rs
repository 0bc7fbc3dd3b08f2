//! Finding devices, and opening them.

use std::sync::{Arc, Mutex};

use ::wgpu::{
    Adapter, AdapterInfo, BackendOptions, Backends, BufferUsages, DeviceDescriptor, DeviceType,
    Features, Instance, InstanceDescriptor,
};

use super::flight::Flight;
use super::heap;
use super::memory::{MemoryBudget, Spare};
use super::{Pipelines, Wgpu, fault};
use crate::backend::error::{Cause, DeviceError};

/// Opens all devices of wgpu; gives the reason for each that could not be opened, and where there
/// is none.
///
/// A device in software is among them where there is no other.
///
/// ```
/// use roving_gpu::backend::Backend;
///
/// let found = roving_gpu::wgpu::found();
/// assert!(!found.is_empty());
/// for device in found.into_iter().flatten() {
///     assert!(device.memory_bytes() > 0);
/// }
/// ```
pub fn found() -> Vec<Result<Wgpu, DeviceError>> {
    let none = |text| vec![Err(DeviceError::new(Cause::NoDevice, text))];
    // Where none was built in, the library would panic.
    let built = Instance::enabled_backend_features() & (Backends::PRIMARY | Backends::NOOP);
    if built.is_empty() {
        return none("wgpu was built for none of Vulkan, Metal and DirectX 12");
    }
    let instance = Instance::new(InstanceDescriptor {
        backends: built,
        backend_options: BackendOptions::default(),
        ..InstanceDescriptor::new_without_display_handle()
    });
    let adapters = pollster::block_on(instance.enumerate_adapters(built));
    let adapters = chosen(adapters);
    if adapters.is_empty() {
        return none("wgpu found no driver; install one for Vulkan (for instance Mesa's)");
    }
    adapters.iter().map(open).collect()
}

/// Each device once, though it may have several drivers; and none in software beside one that is
/// not.
fn chosen(adapters: Vec<Adapter>) -> Vec<Adapter> {
    let mut seen = Vec::new();
    let mut adapters = adapters;
    adapters.retain(|adapter| {
        let AdapterInfo {
            name,
            vendor,
            device,
            device_pci_bus_id,
            ..
        } = adapter.get_info();
        let this = (name, vendor, device, device_pci_bus_id);
        let new = !seen.contains(&this);
        seen.push(this);
        new
    });
    let in_software = |adapter: &Adapter| adapter.get_info().device_type == DeviceType::Cpu;
    if !adapters.iter().all(in_software) {
        adapters.retain(|adapter| !in_software(adapter));
    }
    adapters
}

fn open(adapter: &Adapter) -> Result<Wgpu, DeviceError> {
    let info = adapter.get_info();
    let name = format!("{} ({})", info.name, info.backend);
    let limits = adapter.limits();
    let wanted = DeviceDescriptor {
        label: Some("roving"),
        required_features: adapter.features() & Features::SHADER_F64,
        required_limits: limits.clone(),
        ..DeviceDescriptor::default()
    };
    let refused = |text: String| {
        let text = format!("{name}: {}", fault::first_line(&text));
        DeviceError::new(Cause::NoDevice, text)
    };
    let opened = pollster::block_on(adapter.request_device(&wanted));
    let (device, queue) = opened.map_err(|error| refused(error.to_string()))?;
    let shares_cores = info.device_type == DeviceType::Cpu;
    let heap = heap::bytes(adapter).unwrap_or(limits.max_buffer_size);
    // Half of what a driver in software calls its own is left to everybody else.
    let bytes_max = if shares_cores { heap / 2 } else { heap };
    let started = Flight::new(device, queue);
    let (flight, thread) = started.map_err(|error| refused(error.to_string()))?;
    Ok(Wgpu {
        shares_cores,
        flight,
        thread: Some(thread),
        account: Arc::new(MemoryBudget::new(&limits, bytes_max)),
        pipelines: Pipelines::default(),
        readable: spare(BufferUsages::MAP_READ, 12, 256 << 20),
        values: spare(BufferUsages::UNIFORM, 8, 64 << 10),
        groups_max: limits.max_compute_workgroups_per_dimension,
        last: Mutex::new(None),
        parts: spare(BufferUsages::STORAGE, 8, 256 << 20),
        // Both are powers of two.
        grain: limits
            .min_uniform_buffer_offset_alignment
            .max(limits.min_storage_buffer_offset_alignment) as usize,
        name,
    })
}

fn spare(usage: BufferUsages, least: u32, bytes_max: u64) -> Arc<Spare> {
    Arc::new(Spare::new(usage | BufferUsages::COPY_DST, least, bytes_max))
}
