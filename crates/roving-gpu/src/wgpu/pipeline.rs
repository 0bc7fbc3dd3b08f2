//! Kernels, built for one device.

use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ::wgpu::{
    BindGroupLayout, BindGroupLayoutDescriptor, BindGroupLayoutEntry, BindingType,
    BufferBindingType, CompilationMessage, CompilationMessageType, ComputePipeline,
    ComputePipelineDescriptor, Device, PipelineLayoutDescriptor, ShaderModule,
    ShaderModuleDescriptor, ShaderSource, ShaderStages,
};

use super::fault;
use crate::backend::LaunchArg;
use crate::backend::built::BuiltKernels;
use crate::backend::error::{Cause, DeviceError};
use crate::kernel::{Kernel, Wgsl};

/// The pipelines that were built, by kernel and by the types of its arguments.
#[derive(Default)]
pub(super) struct Pipelines(BuiltKernels<Key, Arc<Pipeline>>);

/// A kernel is a static: it is where it is. 0: read, 1: update, 2: a value.
type Key = (usize, Vec<u8>);

/// A kernel that can be launched.
pub(super) struct Pipeline {
    pub(super) pipeline: ComputePipeline,
    pub(super) layout: BindGroupLayout,
    /// The least bytes of each argument with which a launch was found to be right, when there was
    /// one. The kernel asks each of them by itself whether it is large enough.
    least: Mutex<Option<Vec<u64>>>,
}

impl Pipeline {
    fn least(&self) -> MutexGuard<'_, Option<Vec<u64>>> {
        self.least.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether arguments of so many bytes are known to be large enough.
    pub(super) fn is_known_to_take(&self, sizes: &[u64]) -> bool {
        let least = self.least();
        let mut both = least.iter().flatten().zip(sizes);
        least.is_some() && both.all(|(least, size)| least <= size)
    }

    /// A launch with arguments of so many bytes is right. `true`, if it is the first.
    pub(super) fn takes(&self, sizes: &[u64]) -> bool {
        let mut least = self.least();
        let is_first = least.is_none();
        let known = least.get_or_insert_with(|| sizes.to_vec());
        for (least, size) in known.iter_mut().zip(sizes) {
            *least = (*least).min(*size);
        }
        is_first
    }
}

impl Pipelines {
    /// The kernel for such arguments; it is built by who comes first.
    pub(super) fn get(
        &self,
        device: &Device,
        kernel: &'static Kernel,
        arguments: &[LaunchArg],
    ) -> Result<Arc<Pipeline>, DeviceError> {
        let kinds = arguments.iter().map(kind).collect();
        let key = (ptr::from_ref(kernel).addr(), kinds);
        self.0
            .get(key, || build(device, kernel, arguments).map(Arc::new))
    }
}

fn kind(argument: &LaunchArg) -> u8 {
    match argument {
        LaunchArg::Memory { writable, .. } => u8::from(*writable),
        LaunchArg::Value(_) => 2,
    }
}

fn build(
    device: &Device,
    kernel: &Kernel,
    arguments: &[LaunchArg],
) -> Result<Pipeline, DeviceError> {
    let what = format!("`{}`: ", kernel.name());
    let Some(wgsl) = kernel.as_wgsl() else {
        let text = format!("{what}it has no WGSL; give it some with `Kernel::wgsl`");
        return Err(DeviceError::new(Cause::Kernel, text));
    };
    let module = compile(device, &what, wgsl)?;
    fault::caught(device, &what, || {
        let entries: Vec<_> = arguments.iter().enumerate().map(entry).collect();
        let layout = device.create_bind_group_layout(&BindGroupLayoutDescriptor {
            label: Some(kernel.name()),
            entries: &entries,
        });
        let pipeline_layout = device.create_pipeline_layout(&PipelineLayoutDescriptor {
            label: Some(kernel.name()),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&ComputePipelineDescriptor {
            label: Some(kernel.name()),
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(wgsl.entry),
            compilation_options: Default::default(),
            cache: None,
        });
        Pipeline {
            pipeline,
            layout,
            least: Mutex::new(None),
        }
    })
}

/// The compiler's own first message is more than the error that follows from it.
fn compile(device: &Device, what: &str, wgsl: Wgsl) -> Result<ShaderModule, DeviceError> {
    let mut messages = Vec::new();
    let module = fault::caught(device, what, || {
        let module = device.create_shader_module(ShaderModuleDescriptor {
            label: None,
            source: ShaderSource::Wgsl(wgsl.source.into()),
        });
        messages = pollster::block_on(module.get_compilation_info()).messages;
        module
    });
    module.map_err(|error| {
        let first = messages
            .iter()
            .find(|message| message.message_type == CompilationMessageType::Error);
        match first {
            Some(message) => {
                DeviceError::new(Cause::Kernel, format!("{what}{}", one_line(message)))
            }
            None => error,
        }
    })
}

fn one_line(message: &CompilationMessage) -> String {
    let text = fault::first_line(&message.message);
    match message.location {
        Some(at) => format!("line {}: {text}", at.line_number),
        None => text.into(),
    }
}

fn entry((place, argument): (usize, &LaunchArg)) -> BindGroupLayoutEntry {
    let ty = match argument {
        LaunchArg::Memory { writable, .. } => BufferBindingType::Storage {
            read_only: !writable,
        },
        LaunchArg::Value(_) => BufferBindingType::Uniform,
    };
    BindGroupLayoutEntry {
        binding: place as u32,
        visibility: ShaderStages::COMPUTE,
        ty: BindingType::Buffer {
            ty,
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    }
}
