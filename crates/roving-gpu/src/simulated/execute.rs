//! The computations of a simulated device.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;

use super::Failure;
use super::clock::Work;
use super::memory::{Locked, Piece};
use crate::backend::{Launch, LaunchArg, Memory};
use crate::error::{Cause, DeviceError};
use crate::host_call::{HostArg, HostCall};
use crate::kernel::Kernel;

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

fn piece(memory: &Memory) -> Result<&Arc<Piece>, DeviceError> {
    memory
        .get::<Arc<Piece>>()
        .ok_or_else(|| DeviceError::new(Cause::Kernel, "memory of another back-end"))
}

fn lock(memory: &Memory) -> Result<Locked<'_>, DeviceError> {
    piece(memory).map(|piece| piece.lock())
}

fn failed(kernel: &Kernel, text: &str) -> DeviceError {
    DeviceError::new(Cause::Kernel, format!("kernel `{}`: {text}", kernel.name()))
}

/// A launch whose arguments fit.
struct Prepared<'a> {
    function: fn(&mut HostCall<'_>),
    /// Each piece once, and whether it is written.
    pieces: Vec<(&'a Arc<Piece>, bool)>,
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
    let mut pieces: Vec<(&Arc<Piece>, bool)> = Vec::new();
    let mut arguments = Vec::new();
    for argument in launch.arguments() {
        if let LaunchArg::Memory {
            memory, writable, ..
        } = argument
        {
            let one = piece(memory)?;
            let known = pieces.iter().position(|(known, _)| Arc::ptr_eq(known, one));
            if known.is_some_and(|at| pieces[at].1 || *writable) {
                let text = "a buffer is given twice, and written";
                return Err(failed(kernel, text));
            }
            let at = known.unwrap_or(pieces.len());
            if known.is_none() {
                pieces.push((one, *writable));
            }
            arguments.push(Some(at));
        } else {
            arguments.push(None);
        }
    }
    Ok(Prepared {
        function,
        pieces,
        arguments,
    })
}

fn run(launch: &Launch) -> Result<(), Fault> {
    let Prepared {
        function,
        pieces,
        arguments,
    } = prepare(launch).map_err(Fault::Refused)?;
    let mut locked: Vec<_> = pieces.iter().map(|(piece, _)| piece.lock()).collect();
    let bytes = locked.iter_mut().map(|locked| locked.bytes());
    let mut writable = Vec::new();
    let mut readable: Vec<&[u8]> = Vec::new();
    for ((_, writes), bytes) in pieces.iter().zip(bytes) {
        if *writes {
            readable.push(&[]);
            writable.push(Some(bytes));
        } else {
            readable.push(bytes);
            writable.push(None);
        }
    }
    let arguments = launch.arguments().iter().zip(arguments);
    let arguments = arguments.map(|(argument, at)| match (argument, at) {
        (LaunchArg::Value(bytes), _) => HostArg::Value(bytes),
        (LaunchArg::Memory { .. }, Some(at)) => match writable[at].take() {
            Some(bytes) => HostArg::Update(bytes),
            None => HostArg::Read(readable[at]),
        },
        (LaunchArg::Memory { .. }, None) => unreachable!("each buffer has its piece"),
    });
    let mut call = HostCall::new(launch.groups(), arguments.collect::<Vec<_>>());
    panic::catch_unwind(AssertUnwindSafe(|| function(&mut call))).map_err(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        let text = text.or_else(|| payload.downcast_ref::<&str>().map(|&text| text.to_owned()));
        Fault::Failed(failed(
            launch.kernel(),
            &text.unwrap_or_else(|| "it panicked".to_owned()),
        ))
    })
}
