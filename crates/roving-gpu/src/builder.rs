//! Settings for devices.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::backend::Backend;
use crate::choice::{Choice, Writes};
use crate::devices::Devices;

/// Makes [`Devices`].
#[must_use]
pub struct DevicesBuilder {
    backends: Vec<Arc<dyn Backend>>,
    choice: Choice,
    writes: Writes,
    history: Option<PathBuf>,
}

impl DevicesBuilder {
    pub(crate) fn new() -> Self {
        DevicesBuilder {
            backends: Vec::new(),
            choice: Choice::Auto,
            writes: Writes::Through,
            history: None,
        }
    }

    /// With the devices that [`Devices::discover`] finds.
    pub fn discover() -> Result<Self, BuildError> {
        let mut builder = DevicesBuilder::new();
        let wanted = std::env::var("ROVING_GPU").unwrap_or_default();
        let (cuda, wgpu) = match wanted.as_str() {
            "off" => (false, false),
            "cuda" => (true, false),
            "wgpu" => (false, true),
            "" => (true, true),
            other => {
                return Err(BuildError(format!(
                    "ROVING_GPU is `{other}`; one of off, cuda, wgpu, or unset"
                )));
            }
        };
        if cuda {
            builder.backends.extend(cuda_devices()?);
        }
        if wgpu && builder.backends.is_empty() {
            builder.backends.extend(wgpu_devices()?);
        }
        if builder.backends.is_empty() && (wanted == "cuda" || wanted == "wgpu") {
            return Err(BuildError(format!(
                "ROVING_GPU is `{wanted}`, but no such device is there, or the feature `{wanted}` is not built in"
            )));
        }
        Ok(builder)
    }

    /// One more device.
    pub fn backend(mut self, backend: impl Backend) -> Self {
        self.backends.push(Arc::new(backend));
        self
    }

    /// Who decides where a task runs.
    pub fn choice(mut self, choice: Choice) -> Self {
        self.choice = choice;
        self
    }

    /// When what a device has written is copied to the host.
    pub fn writes(mut self, writes: Writes) -> Self {
        self.writes = writes;
        self
    }

    /// The file in which measured times are kept. Without one they are forgotten.
    pub fn history(mut self, path: impl Into<PathBuf>) -> Self {
        self.history = Some(path.into());
        self
    }

    /// The devices. None, if no back-end was given.
    pub fn build(self) -> Result<Devices, BuildError> {
        Ok(Devices::none())
    }
}

#[cfg(feature = "cuda")]
fn cuda_devices() -> Result<Vec<Arc<dyn Backend>>, BuildError> {
    crate::cuda::discover().map_err(|error| BuildError(error.to_string()))
}

#[cfg(not(feature = "cuda"))]
fn cuda_devices() -> Result<Vec<Arc<dyn Backend>>, BuildError> {
    Ok(Vec::new())
}

#[cfg(feature = "wgpu")]
fn wgpu_devices() -> Result<Vec<Arc<dyn Backend>>, BuildError> {
    crate::wgpu::discover().map_err(|error| BuildError(error.to_string()))
}

#[cfg(not(feature = "wgpu"))]
fn wgpu_devices() -> Result<Vec<Arc<dyn Backend>>, BuildError> {
    Ok(Vec::new())
}

/// The settings cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError(pub(crate) String);

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BuildError {}

impl fmt::Debug for DevicesBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DevicesBuilder")
            .field("devices", &self.backends.len())
            .field("choice", &self.choice)
            .field("writes", &self.writes)
            .field("history", &self.history)
            .finish()
    }
}
