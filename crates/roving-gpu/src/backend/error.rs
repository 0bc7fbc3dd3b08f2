//! The errors of a device.

use std::error::Error;
use std::fmt;

/// The cause of a device's failure.
///
/// ```
/// assert_eq!(roving_gpu::Cause::OutOfMemory.to_string(), "out of device memory");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Cause {
    /// There is no device, or none that may be used.
    NoDevice,
    /// The device is gone, with all that was in its memory.
    Lost,
    /// The device has not enough memory for what the task uses, or the host has not enough to build
    /// a kernel.
    OutOfMemory,
    /// A kernel could not be built, or its launch failed.
    Kernel,
    /// The only copy of what the task needs was on another device, which could not give it.
    Peer,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::NoDevice => "no device",
            Cause::Lost => "device lost",
            Cause::OutOfMemory => "out of device memory",
            Cause::Kernel => "kernel error",
            Cause::Peer => "another device",
        })
    }
}

/// The error of a failed operation of a device.
///
/// ```
/// use roving_gpu::{Cause, DeviceError};
///
/// let error = DeviceError::new(Cause::Kernel, "line 3: unknown name `foo`");
/// assert_eq!(error.to_string(), "kernel error: line 3: unknown name `foo`");
/// assert_eq!(error.cause(), Cause::Kernel);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceError {
    cause: Cause,
    text: String,
}

impl DeviceError {
    /// Creates an error with the driver's text.
    ///
    /// ```
    /// use roving_gpu::{Cause, DeviceError};
    ///
    /// let error = DeviceError::new(Cause::OutOfMemory, "2 GiB are not there");
    /// assert!(error.to_string().contains("2 GiB are not there"));
    /// ```
    pub fn new(cause: Cause, text: impl Into<String>) -> Self {
        let text = text.into();
        DeviceError { cause, text }
    }

    /// Returns the cause.
    ///
    /// ```
    /// use roving_gpu::{Cause, DeviceError};
    ///
    /// let error = DeviceError::new(Cause::OutOfMemory, "2 GiB are not there");
    /// assert_eq!(error.cause(), Cause::OutOfMemory);
    /// ```
    pub fn cause(&self) -> Cause {
        self.cause
    }

    /// Returns the driver's text.
    ///
    /// ```
    /// use roving_gpu::{Cause, DeviceError};
    ///
    /// let error = DeviceError::new(Cause::OutOfMemory, "2 GiB are not there");
    /// assert_eq!(error.text(), "2 GiB are not there");
    /// ```
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for DeviceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.cause, self.text)
    }
}

impl Error for DeviceError {}
