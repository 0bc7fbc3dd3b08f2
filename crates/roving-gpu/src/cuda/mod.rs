//! Devices of cuda.

use std::sync::Arc;

use crate::backend::Backend;
use crate::error::DeviceError;

/// The devices that are there.
pub(crate) fn discover() -> Result<Vec<Arc<dyn Backend>>, DeviceError> {
    Ok(Vec::new())
}
