//! The computations of a simulated device.

use std::ops::Range;
use std::sync::Arc;

use roving::raw::panics::contain;

use super::failure::Failure;
use super::memory::{LockedMemory, SimulatedMemory};
use super::work::Work;
use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Launch, LaunchArg, Memory};
use crate::kernel::Kernel;
use crate::kernel::host_call::{HostArg, HostCall};

/// Why an operation was not done.
pub(super) enum Fault {
    /// It was not begun.
    Refused(DeviceError),
    Failed(DeviceError),
}

/// Does it; or half of it, if it is to fail, so that nobody can rely on what it leaves.
pub(super) fn execute(work: &mut Work, failure: Option<Failure>) -> Result<(), Fault> {
    let fails = failure.is_some();
    match work {
        Work::Upload(upload) => {
            let mut to = lock(upload.to()).map_err(Fault::Failed)?;
            copy(upload.bytes(), to.bytes(), fails);
        }
        Work::Download(download) => {
            let memory = download.from().clone();
            let mut from = lock(&memory).map_err(Fault::Failed)?;
            copy(from.bytes(), download.bytes(), fails);
        }
        Work::Launch(launch) => run(launch)?,
        Work::Copy(peer, passed) => {
            if passed.as_ref().is_some_and(|passed| !passed.wait()) {
                return Err(Fault::Refused(DeviceError::new(Cause::Lost, "as planned")));
            }
            let from = lock(peer.from()).map_err(Fault::Failed)?.bytes().to_vec();
            let mut to = lock(peer.to()).map_err(Fault::Failed)?;
            copy(&from, to.bytes(), fails);
        }
        Work::Mark(mark) => mark.pass(),
    }
    let cause = match failure {
        None => return Ok(()),
        Some(Failure::Lost) => Cause::Lost,
        Some(Failure::OutOfMemory) => Cause::OutOfMemory,
        Some(Failure::Kernel) => Cause::Kernel,
    };
    Err(Fault::Failed(DeviceError::new(cause, "as planned")))
}

fn copy(from: &[u8], to: &mut [u8], half: bool) {
    let end = if half { from.len() / 2 } else { from.len() };
    to[..end].copy_from_slice(&from[..end]);
    if half {
        to[end..].fill(0xA5);
    }
}

fn piece(memory: &Memory) -> Result<&Arc<SimulatedMemory>, DeviceError> {
    memory
        .get::<Arc<SimulatedMemory>>()
        .ok_or_else(|| DeviceError::new(Cause::Kernel, "memory of another back-end"))
}

fn lock(memory: &Memory) -> Result<LockedMemory<'_>, DeviceError> {
    piece(memory).map(|piece| piece.lock())
}

fn failed(kernel: &Kernel, text: &str) -> DeviceError {
    DeviceError::new(Cause::Kernel, format!("kernel `{}`: {text}", kernel.name()))
}

/// A launch whose arguments fit.
struct Prepared<'a> {
    function: fn(&mut HostCall<'_>),
    /// Each piece once.
    pieces: Vec<&'a Arc<SimulatedMemory>>,
    /// For each argument that is a buffer, which piece it is.
    arguments: Vec<Option<usize>>,
}

/// Whether a launch will not be refused.
pub(super) fn is_fit(launch: &Launch) -> bool {
    prepare(launch).is_ok()
}

fn prepare(launch: &Launch) -> Result<Prepared<'_>, DeviceError> {
    let kernel = launch.kernel();
    let Some(function) = kernel.as_host() else {
        let text = "it has no host function; add `.host(…)`";
        return Err(failed(kernel, text));
    };
    let mut pieces: Vec<&Arc<SimulatedMemory>> = Vec::new();
    let mut arguments = Vec::new();
    let mut given: Vec<(usize, &Range<usize>, bool)> = Vec::new();
    for argument in launch.arguments() {
        let LaunchArg::Memory {
            memory,
            range,
            writable,
        } = argument
        else {
            arguments.push(None);
            continue;
        };
        let one = piece(memory)?;
        let known = pieces.iter().position(|known| Arc::ptr_eq(known, one));
        let at = known.unwrap_or(pieces.len());
        if known.is_none() {
            pieces.push(one);
        }
        let overlaps = |(other, part, writes): &(usize, &Range<usize>, bool)| {
            let overlap = part.start.max(range.start) < part.end.min(range.end);
            *other == at && overlap && (*writes || *writable)
        };
        if given.iter().any(overlaps) {
            let text = "a buffer, or part of it, is given twice, and written";
            return Err(failed(kernel, text));
        }
        given.push((at, range, *writable));
        arguments.push(Some(at));
    }
    Ok(Prepared {
        function,
        pieces,
        arguments,
    })
}

/// The bytes of a piece: parts that are written, one by one, and what lies between them.
struct Cut<'b> {
    written: Vec<(usize, &'b mut [u8])>,
    between: Vec<(usize, &'b [u8])>,
}

impl<'b> Cut<'b> {
    /// `written` do not overlap.
    fn new(mut bytes: &'b mut [u8], mut written: Vec<&Range<usize>>) -> Cut<'b> {
        written.retain(|part| !part.is_empty());
        written.sort_unstable_by_key(|part| part.start);
        let mut cut = Cut {
            written: Vec::new(),
            between: Vec::new(),
        };
        let mut at = 0;
        for part in written {
            let (before, rest) = bytes.split_at_mut(part.start - at);
            let (own, rest) = rest.split_at_mut(part.len());
            cut.between.push((at, before));
            cut.written.push((part.start, own));
            (bytes, at) = (rest, part.end);
        }
        cut.between.push((at, bytes));
        cut
    }

    /// Each once, but for those of nothing.
    fn take_written(&mut self, part: &Range<usize>) -> &'b mut [u8] {
        let is_it =
            |(start, bytes): &(usize, &mut [u8])| *start == part.start && bytes.len() == part.len();
        match self.written.iter().position(is_it) {
            Some(at) => self.written.swap_remove(at).1,
            None => &mut [],
        }
    }

    fn read(&self, part: &Range<usize>) -> &'b [u8] {
        let holds = |(start, bytes): &&(usize, &[u8])| {
            *start <= part.start && part.end <= start + bytes.len()
        };
        match self.between.iter().find(holds) {
            Some((start, bytes)) => &bytes[part.start - start..part.end - start],
            // Of nothing.
            None => &[],
        }
    }
}

fn run(launch: &Launch) -> Result<(), Fault> {
    let Prepared {
        function,
        pieces,
        arguments,
    } = prepare(launch).map_err(Fault::Refused)?;
    let mut locked: Vec<_> = pieces.iter().map(|piece| piece.lock()).collect();
    let cuts = locked.iter_mut().enumerate().map(|(at, locked)| {
        let all = launch.arguments().iter().zip(&arguments);
        let written = all.filter_map(|(argument, piece)| match argument {
            LaunchArg::Memory {
                range,
                writable: true,
                ..
            } if *piece == Some(at) => Some(range),
            _ => None,
        });
        Cut::new(locked.bytes(), written.collect())
    });
    let mut cuts: Vec<_> = cuts.collect();
    let arguments = launch.arguments().iter().zip(arguments);
    let arguments = arguments.map(|(argument, at)| match (argument, at) {
        (LaunchArg::Value(bytes), _) => HostArg::Value(bytes),
        (
            LaunchArg::Memory {
                range, writable, ..
            },
            Some(at),
        ) => match writable {
            true => HostArg::Update(cuts[at].take_written(range)),
            false => HostArg::Read(cuts[at].read(range)),
        },
        (LaunchArg::Memory { .. }, None) => unreachable!("each buffer has its piece"),
    });
    let mut call = HostCall::new(launch.groups(), arguments.collect::<Vec<_>>());
    contain(|| function(&mut call)).map_err(|text| {
        let text = text.as_deref().unwrap_or("it panicked");
        Fault::Failed(failed(launch.kernel(), text))
    })
}
