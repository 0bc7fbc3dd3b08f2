//! A task from its first poll to its end, where there are devices.

use crate::buffer::hold::Use;
use crate::devices::Devices;
use crate::error::Failed;
use crate::kind::Kind;
use crate::sides::Parts;

pub(crate) async fn drive<R>(
    _devices: &Devices,
    kind: &'static Kind,
    _work: f64,
    _uses: Vec<Use>,
    parts: Parts<'_, R>,
) -> Result<R, Failed> {
    match parts.cpu {
        Some(cpu) => Ok(cpu()),
        None => Err(Failed::no_device(kind.name())),
    }
}
