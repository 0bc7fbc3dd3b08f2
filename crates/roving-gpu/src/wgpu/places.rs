//! Where a launch finds its arguments: buffers, parts of them, and values.

use std::ops::Range;
use std::ptr;
use std::sync::Arc;

use ::wgpu::{
    BindGroup, BindGroupDescriptor, BindGroupEntry, BindGroupLayout, BindingResource, Buffer,
    BufferBinding, CommandBuffer, Device,
};

use super::fault;
use super::memory::{Room, Spare, padded};
use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Launch, LaunchArg};

/// The bytes that one argument is bound to.
#[derive(Clone, PartialEq)]
pub(super) struct BoundBytes {
    buffer: Buffer,
    start: u64,
    size: u64,
}

impl BoundBytes {
    pub(super) fn size(&self) -> u64 {
        self.size
    }
}

/// The places of all arguments, and copies of parts that must be made before.
///
/// A part is read from a copy where one buffer cannot be bound to be read and to be written, and
/// where it does not begin at the multiple of bytes at which something can be bound.
pub(super) struct Places {
    pub(super) all: Vec<BoundBytes>,
    copies: Vec<(BoundBytes, Buffer)>,
    lent: Vec<Lent>,
}

/// A buffer of the spare ones, which goes back when it is dropped: once the launch has ended.
pub(super) struct Lent {
    room: Buffer,
    spare: Arc<Spare>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.spare.give_back(self.room.clone());
    }
}

/// Whole words, for these are what a shader counts; never none, which cannot be bound.
fn words(bytes: usize) -> u64 {
    bytes.max(1).next_multiple_of(4) as u64
}

/// A buffer among the arguments of a launch.
struct Given<'a> {
    room: &'a Room,
    range: &'a Range<usize>,
    writable: bool,
}

impl Given<'_> {
    fn is_whole(&self) -> bool {
        *self.range == (0..self.room.bytes)
    }

    /// The bytes that are bound: where there is nothing, there is something.
    fn bound(&self) -> Range<u64> {
        let start = self.range.start as u64;
        start..start + words(self.range.len())
    }

    /// The kernel may not have both as they are.
    fn clashes(&self, other: &Given<'_>) -> bool {
        let (one, two) = (self.bound(), other.bound());
        let is_written = self.writable || other.writable;
        is_written && one.start < two.end && two.start < one.end
    }
}

/// How an argument comes to its place.
enum How {
    Bound,
    Copied,
    /// Some bytes that nobody looks at.
    Nothing,
}

/// How one of them does. An error says why it cannot.
fn how(given: &[Option<Given<'_>>], one: &Given<'_>, grain: usize) -> Result<How, String> {
    let others = given.iter().flatten();
    let others = others.filter(|two| two.room.buffer == one.room.buffer && !ptr::eq(*two, one));
    let mut others = others.filter(|two| two.is_whole() || !two.range.is_empty());
    if !one.is_whole() && one.range.is_empty() {
        return Ok(How::Nothing);
    }
    if others.clone().any(|two| one.clashes(two)) {
        return Err("a buffer, or part of it, is given twice, and written".into());
    }
    let begins = one.range.start % grain == 0;
    // More than was given would be written with the last word.
    let is_fit = one.is_whole() || (begins && one.range.len() % 4 == 0);
    if one.writable && !is_fit {
        return Err(format!(
            "bytes {:?} of a buffer were to be updated: on this device such a part begins at a \
             multiple of {grain} bytes, and has whole words",
            one.range
        ));
    }
    if one.writable || (begins && !others.any(|two| two.writable)) {
        return Ok(How::Bound);
    }
    if one.range.start % 4 == 0 {
        return Ok(How::Copied);
    }
    Err(format!(
        "bytes {:?} of a buffer were to be read: on this device a part begins with a whole word",
        one.range
    ))
}

impl Places {
    /// Those of the buffers of a launch. `values` is the buffer of its values, each of which begins
    /// at a multiple of `grain` bytes; so do parts that are bound.
    pub(super) fn of(
        launch: &Launch,
        device: &Device,
        values: Option<&Buffer>,
        grain: usize,
        spare: &Arc<Spare>,
    ) -> Result<Places, DeviceError> {
        let given = given(launch)?;
        let mut places = Places {
            all: Vec::with_capacity(launch.arguments().len()),
            copies: Vec::new(),
            lent: Vec::new(),
        };
        let mut offset = 0_usize;
        for (argument, one) in launch.arguments().iter().zip(&given) {
            let place = match (argument, one) {
                (_, Some(one)) => {
                    let how = how(&given, one, grain).map_err(|text| {
                        let text = format!("`{}`: {text}", launch.kernel().name());
                        DeviceError::new(Cause::Kernel, text)
                    })?;
                    let place = BoundBytes {
                        buffer: one.room.buffer.clone(),
                        start: one.range.start as u64,
                        size: words(one.range.len()),
                    };
                    places.come(place, how, device, spare)?
                }
                (LaunchArg::Value(value), None) => {
                    let Some(values) = values else {
                        unreachable!("a launch with a value has a buffer for it")
                    };
                    let start = offset.next_multiple_of(grain);
                    offset = start + padded(value.len()) as usize;
                    BoundBytes {
                        buffer: values.clone(),
                        start: start as u64,
                        size: padded(value.len()),
                    }
                }
                (LaunchArg::Memory { .. }, None) => unreachable!("each buffer was given"),
            };
            places.all.push(place);
        }
        Ok(places)
    }

    fn come(
        &mut self,
        place: BoundBytes,
        how: How,
        device: &Device,
        spare: &Arc<Spare>,
    ) -> Result<BoundBytes, DeviceError> {
        Ok(match how {
            How::Bound => place,
            How::Nothing => self.lend(place.size, device, spare)?,
            How::Copied => {
                let copy = self.lend(place.size, device, spare)?;
                self.copies.push((place, copy.buffer.clone()));
                copy
            }
        })
    }

    /// A place of its own, until the launch has ended.
    fn lend(
        &mut self,
        size: u64,
        device: &Device,
        spare: &Arc<Spare>,
    ) -> Result<BoundBytes, DeviceError> {
        let room = spare.take(device, size)?;
        self.lent.push(Lent {
            room: room.clone(),
            spare: Arc::clone(spare),
        });
        Ok(BoundBytes {
            buffer: room,
            start: 0,
            size,
        })
    }

    /// The commands that make the copies, if there are any.
    pub(super) fn commands(&self, device: &Device) -> Result<Option<CommandBuffer>, DeviceError> {
        if self.copies.is_empty() {
            return Ok(None);
        }
        let encoded = fault::caught(device, "", || {
            let mut encoder = device.create_command_encoder(&Default::default());
            for (from, to) in &self.copies {
                encoder.copy_buffer_to_buffer(&from.buffer, from.start, to, 0, from.size);
            }
            encoder.finish()
        });
        encoded.map(Some)
    }

    /// To be kept until the launch has ended.
    pub(super) fn lent(self) -> Vec<Lent> {
        self.lent
    }
}

/// Binds a launch to its places.
pub(super) fn group(
    places: &[BoundBytes],
    device: &Device,
    launch: &Launch,
    layout: &BindGroupLayout,
) -> Result<BindGroup, DeviceError> {
    let entries = (0..).zip(places);
    let entries = entries.map(|(binding, place)| BindGroupEntry {
        binding,
        resource: BindingResource::Buffer(BufferBinding {
            buffer: &place.buffer,
            offset: place.start,
            size: place.size.try_into().ok(),
        }),
    });
    let descriptor = BindGroupDescriptor {
        label: Some(launch.kernel().name()),
        layout,
        entries: &entries.collect::<Vec<_>>(),
    };
    let what = format!("`{}`: ", launch.kernel().name());
    fault::caught(device, &what, || device.create_bind_group(&descriptor))
}

/// Each argument that is a buffer.
fn given(launch: &Launch) -> Result<Vec<Option<Given<'_>>>, DeviceError> {
    let given = launch.arguments().iter().map(|argument| match argument {
        LaunchArg::Memory {
            memory,
            range,
            writable,
        } => Ok(Some(Given {
            room: Room::of(memory)?,
            range,
            writable: *writable,
        })),
        LaunchArg::Value(_) => Ok(None),
    });
    given.collect()
}
