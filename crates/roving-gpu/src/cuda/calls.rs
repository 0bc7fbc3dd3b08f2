//! Functions of the program that put their work on a stream themselves.

use cudarc::driver::CudaStream;

use roving::raw::panics::contain;

use super::memory::Room;
use crate::backend::error::{Cause, DeviceError};
use crate::backend::{Launch, LaunchArg};
use crate::kernel::stream_call::{OnDevice, OnStream, StreamArg, StreamCall, StreamKept};

/// Calls the function, on the thread that gives the stream its operations.
pub(super) fn queue(
    function: OnStream,
    launch: &Launch,
    stream: &CudaStream,
    kept: &mut StreamKept,
) -> Result<(), DeviceError> {
    let refuse = |text: String| {
        let name = launch.kernel().name();
        DeviceError::new(Cause::Kernel, format!("`{name}`: {text}"))
    };
    if launch.shared() > 0 {
        return Err(refuse(
            "a function on a stream has no use for `Arg::shared`".into(),
        ));
    }
    let arguments: Result<Vec<_>, _> = launch.arguments().iter().map(argument).collect();
    let at = stream.cu_stream().cast();
    let mut call = StreamCall::new(at, launch.groups(), arguments?, kept);
    let queued = contain(|| function(&mut call)).unwrap_or_else(|text| {
        let text = text.as_deref().unwrap_or("with no text");
        Err(format!("panicked: {text}"))
    });
    queued.map_err(refuse)
}

fn argument(argument: &LaunchArg) -> Result<StreamArg<'_>, DeviceError> {
    Ok(match argument {
        LaunchArg::Memory {
            memory,
            range,
            writable,
        } => {
            let (address, bytes) = (Room::of(memory)?.address_of(range)?, range.len());
            let at = OnDevice { address, bytes };
            match writable {
                true => StreamArg::Update(at),
                false => StreamArg::Read(at),
            }
        }
        LaunchArg::Value(bytes) => StreamArg::Value(bytes),
    })
}
