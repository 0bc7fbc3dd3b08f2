//! Devices of Vulkan, Metal and DirectX 12, by way of the library wgpu.
//!
//! A device of wgpu has one queue, which runs what it is given in that order. So all streams are
//! one here, and what overlaps with kernels is the copying on the host. Times are from the end of
//! one operation to the end of the next, or from its submission where that was later.
//!
//! ```
//! use roving_gpu::{Devices, Dual, Kind};
//!
//! // The devices of this machine, if it has some; the program runs either way.
//! let mut builder = Devices::builder();
//! for device in roving_gpu::wgpu::found().into_iter().flatten() {
//!     builder = builder.backend(device);
//! }
//! let devices = builder.build()?;
//! static ANSWER: Kind = Kind::new("answer");
//! assert_eq!(Dual::new(&ANSWER, &[1]).cpu(|| 42).run(&devices), 42);
//! # Ok::<(), roving_gpu::BuildError>(())
//! ```

mod adapter;
mod fault;
mod flight;
#[cfg(test)]
#[allow(
    clippy::duplicate_mod,
    reason = "each back-end can be built without the other"
)]
mod harness;
mod heap;
mod memory;
mod pipeline;
mod places;
#[cfg(test)]
mod tests;

use std::fmt;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

use ::wgpu::{BindGroup, Buffer, BufferView, CommandBuffer, MapMode, Queue};

use crate::backend::device_thread::DeviceThread;
use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Backend, Download, Launch, LaunchArg, Memory, Outcome, Upload};
use flight::{Binding, Flight};
use memory::{MemoryBudget, Room, Spare, padded};
use pipeline::{Pipeline, Pipelines};
use places::{BoundBytes, Lent, Places, group};

pub use adapter::found;

/// The devices that [`found`] has found, as back-ends of any type.
pub(crate) fn discover() -> Vec<Result<Arc<dyn Backend>, DeviceError>> {
    let any = |device: Wgpu| Arc::new(device) as Arc<dyn Backend>;
    found().into_iter().map(|found| found.map(any)).collect()
}

/// One device of wgpu.
///
/// ```
/// for device in roving_gpu::wgpu::found() {
///     match device {
///         Ok(device) => println!("{device:?}"),
///         Err(why) => println!("{why}"),
///     }
/// }
/// ```
pub struct Wgpu {
    name: String,
    shares_cores: bool,
    flight: Arc<Flight>,
    /// The thread that waits; until the end.
    thread: Option<JoinHandle<()>>,
    account: Arc<MemoryBudget>,
    pipelines: Pipelines,
    /// The spare buffers that downloads pass through.
    readable: Arc<Spare>,
    /// Where the values of launches are.
    values: Arc<Spare>,
    /// Those of the last launch that had some.
    last: Mutex<Option<Arc<Values>>>,
    /// The spare buffers for copies of parts.
    parts: Arc<Spare>,
    /// The alignment of a value, and of a part.
    grain: usize,
    /// So many groups a launch may have in one direction.
    groups_max: u32,
}

impl Wgpu {
    /// Returns how many bytes of its memory are in use.
    ///
    /// ```
    /// // Where there is no device of wgpu, this asserts nothing.
    /// for device in roving_gpu::wgpu::found().into_iter().flatten() {
    ///     assert_eq!(device.used_bytes(), 0); // no task has run there yet
    /// }
    /// ```
    pub fn used_bytes(&self) -> u64 {
        self.account.used()
    }

    fn copy_out(&self, download: &Download) -> Result<(Buffer, CommandBuffer), DeviceError> {
        let from = &Room::of(download.from())?.buffer;
        let device = &self.flight.device;
        let room = self.readable.take(device, from.size())?;
        let commands = fault::caught(device, "", || {
            let mut encoder = device.create_command_encoder(&Default::default());
            encoder.copy_buffer_to_buffer(from, 0, &room, 0, from.size());
            encoder.finish()
        })?;
        Ok((room, commands))
    }

    /// All that is needed before the launch can be submitted. What would be an error then is one
    /// here: others are submitted with it.
    fn prepare(&self, launch: &Launch) -> Result<Prepared, DeviceError> {
        let device = &self.flight.device;
        let pipeline = self
            .pipelines
            .get(device, launch.kernel(), launch.arguments())?;
        let what = format!("`{}`: ", launch.kernel().name());
        self.check_groups(&what, launch)?;
        let values = self.store_values(launch)?;
        let buffer = values.as_ref().map(|values| &values.buffer);
        let mut places = Places::of(launch, device, buffer, self.grain, &self.parts)?;
        let binding = Binding {
            pipeline: pipeline.pipeline.clone(),
            places: mem::take(&mut places.all),
        };
        let group = match self.flight.group_of(&binding) {
            Some(group) => group,
            None => group(&binding.places, device, launch, &pipeline.layout)?,
        };
        // Too few bytes are an error of the commands, which are those of others, too. So is it seen
        // by a launch of no groups. A driver may go on compiling at the first one: this takes that
        // upon itself.
        let sizes: Vec<_> = binding.places.iter().map(BoundBytes::size).collect();
        let mut warm = None;
        if !pipeline.is_known_to_take(&sizes) {
            let none = || self.encode(&pipeline, &group, [0; 3]);
            let commands = fault::caught(device, &what, none)?;
            warm = pipeline.takes(&sizes).then_some(commands);
        }
        let before = [warm, places.commands(device)?];
        Ok(Prepared {
            before: before.into_iter().flatten().collect(),
            binding,
            group,
            values,
            lent: places.lent(),
        })
    }

    /// Whether the groups are not too many.
    fn check_groups(&self, what: &str, launch: &Launch) -> Result<(), DeviceError> {
        let most = self.groups_max;
        match launch.groups().iter().find(|groups| **groups > most) {
            None => Ok(()),
            Some(groups) => {
                let text = format!("{what}{groups} groups in one direction; it has at most {most}");
                Err(DeviceError::new(Cause::Kernel, text))
            }
        }
    }

    fn encode(&self, pipeline: &Pipeline, group: &BindGroup, groups: [u32; 3]) -> CommandBuffer {
        let mut encoder = self
            .flight
            .device
            .create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&pipeline.pipeline);
        pass.set_bind_group(0, group, &[]);
        let [x, y, z] = groups;
        pass.dispatch_workgroups(x, y, z);
        drop(pass);
        encoder.finish()
    }

    /// Writes the values of a launch, one after the other, into one buffer.
    /// Those of the last launch are used again where they are the same.
    fn store_values(&self, launch: &Launch) -> Result<Option<Arc<Values>>, DeviceError> {
        let mut bytes = Vec::new();
        for argument in launch.arguments() {
            if let LaunchArg::Value(value) = argument {
                bytes.resize(bytes.len().next_multiple_of(self.grain), 0);
                bytes.extend_from_slice(value);
                bytes.resize(bytes.len() - value.len() + padded(value.len()) as usize, 0);
            }
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|last| last.bytes == bytes) {
            return Ok(Some(Arc::clone(last)));
        }
        let device = &self.flight.device;
        let values = Arc::new(Values {
            buffer: self.values.take(device, bytes.len() as u64)?,
            spare: Arc::clone(&self.values),
            bytes,
        });
        fault::caught(device, "", || {
            let queue = &self.flight.queue;
            queue.write_buffer(&values.buffer, 0, &values.bytes);
        })?;
        *last = Some(Arc::clone(&values));
        Ok(Some(values))
    }
}

/// A launch that can be submitted.
struct Prepared {
    /// To be submitted before.
    before: Vec<CommandBuffer>,
    binding: Binding,
    group: BindGroup,
    values: Option<Arc<Values>>,
    lent: Vec<Lent>,
}

/// The values of launches. They are not changed as long as a launch may read them.
struct Values {
    buffer: Buffer,
    bytes: Vec<u8>,
    spare: Arc<Spare>,
}

impl Drop for Values {
    fn drop(&mut self) {
        self.spare.give_back(self.buffer.clone());
    }
}

impl Backend for Wgpu {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn memory_bytes(&self) -> u64 {
        self.account.bytes_max
    }

    fn buffer_bytes_max(&self) -> u64 {
        self.account.buffer_bytes_max
    }

    /// One is copied for while the other computes.
    fn streams(&self) -> usize {
        2
    }

    fn shares_cores(&self) -> bool {
        self.shares_cores
    }

    fn alloc(&self, bytes: usize) -> Result<Memory, DeviceError> {
        if let Some(loss) = self.flight.loss() {
            return Err(loss);
        }
        let room = Room::new(&self.flight.device, &self.account, bytes);
        room.map(Memory::new).map_err(|error| match error.cause() {
            Cause::OutOfMemory => error,
            _ => self.flight.reason(error),
        })
    }

    fn upload(&self, _stream: usize, upload: Upload) {
        let started = Instant::now();
        // The bytes are copied with the next submission, before its commands: these must not be
        // those of launches that were given before.
        self.flight.flush_all();
        let written = Room::of(upload.to()).and_then(|room| {
            let flight = &self.flight;
            fault::caught(&flight.device, "", || {
                write(&flight.queue, &room.buffer, upload.bytes());
            })
        });
        let end = Box::new(move |outcome| upload.done(outcome));
        match written {
            Ok(()) => self.flight.submit(started, None, || (), end),
            Err(error) => self.flight.fail(error, end),
        }
    }

    fn download(&self, _stream: usize, mut download: Download) {
        let started = Instant::now();
        let (room, commands) = match self.copy_out(&download) {
            Ok(ready) => ready,
            Err(error) => {
                let end = Box::new(move |outcome| download.done(outcome));
                return self.flight.fail(error, end);
            }
        };
        let (mapped, spare) = (room.clone(), Arc::clone(&self.readable));
        let end = Box::new(move |outcome: Result<_, _>| {
            let outcome = outcome.and_then(|time| {
                let copying = Instant::now();
                read(&room, download.bytes())?;
                spare.give_back(room);
                Ok(time + copying.elapsed())
            });
            download.done(outcome);
        });
        // Whether that has worked is seen when it is read.
        let map = move || mapped.map_async(MapMode::Read, .., |_| ());
        self.flight.submit(started, Some(commands), map, end);
    }

    fn launch(&self, _stream: usize, mut launch: Launch) {
        let prepared = match self.prepare(&launch) {
            Ok(prepared) => prepared,
            Err(error) => {
                let end = Box::new(move |outcome: Outcome| match outcome {
                    Ok(time) => launch.done(Ok(time)),
                    Err(error) => launch.refused(error),
                });
                return self.flight.fail(error, end);
            }
        };
        launch.queued();
        let Prepared {
            before,
            binding,
            group,
            values,
            lent,
        } = prepared;
        for commands in before {
            self.flight
                .submit(Instant::now(), Some(commands), || (), Box::new(|_| ()));
        }
        let groups = launch.groups();
        let end = Box::new(move |outcome| {
            drop((values, lent));
            launch.done(outcome);
        });
        self.flight.launch(binding, group, groups, end);
    }
}

/// Copies are of whole words; the last is filled up.
fn write(queue: &Queue, to: &Buffer, bytes: &[u8]) {
    let (words, rest) = bytes.split_at(bytes.len() - bytes.len() % 4);
    queue.write_buffer(to, 0, words);
    if !rest.is_empty() {
        let mut word = [0; 4];
        word[..rest.len()].copy_from_slice(rest);
        queue.write_buffer(to, words.len() as u64, &word);
    }
}

/// Reads what was mapped, from its beginning, and unmaps it.
fn read(room: &Buffer, to: &mut [u8]) -> Result<(), DeviceError> {
    let mapped: Result<BufferView, _> = room.get_mapped_range(..);
    let Ok(view) = mapped else {
        return Err(DeviceError::new(
            Cause::Lost,
            "a download could not be mapped",
        ));
    };
    to.copy_from_slice(&view[..to.len()]);
    drop(view);
    room.unmap();
    Ok(())
}

/// Waits for what is in flight.
impl Drop for Wgpu {
    fn drop(&mut self) {
        self.flight.close();
        if let Some(thread) = self.thread.take() {
            // Also another device's thread: that one may be about to join this one.
            if !DeviceThread::is_here() {
                // It has no way to panic that would be of interest to who drops this.
                let _ = thread.join();
            }
        }
    }
}

impl fmt::Debug for Wgpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wgpu")
            .field("name", &self.name)
            .field("memory_bytes", &self.account.bytes_max)
            .field("shares_cores", &self.shares_cores)
            .finish_non_exhaustive()
    }
}
