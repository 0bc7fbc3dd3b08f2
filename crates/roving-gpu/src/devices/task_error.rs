//! The error of a task that no device could run, and no worker.

use std::error::Error;
use std::fmt;

use crate::backend::error::{Cause, DeviceError};

/// The error of a task without a CPU side that could not be run.
///
/// ```
/// use roving_gpu::{Cause, Devices, Dual, Kind};
///
/// static STEP: Kind = Kind::new("step");
/// let task = Dual::new(&STEP, &[1]).gpu(async |_gpu| Ok(()));
/// let failed = task.run(&Devices::none()).unwrap_err();
/// assert_eq!(failed.cause(), Cause::NoDevice);
/// assert!(failed.to_string().contains("`step`"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskError {
    pub(crate) kind: &'static str,
    pub(crate) device: Option<String>,
    pub(crate) error: DeviceError,
}

impl TaskError {
    /// The name of the task's kind.
    ///
    /// ```
    /// use roving_gpu::{Devices, Dual, Kind};
    ///
    /// static STEP: Kind = Kind::new("step");
    /// let task = Dual::new(&STEP, &[1]).gpu(async |_gpu| Ok(()));
    /// let failed = task.run(&Devices::none()).unwrap_err();
    /// assert_eq!(failed.kind(), "step");
    /// ```
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// The device that the task was on.
    ///
    /// ```
    /// use roving_gpu::{Devices, Dual, Kind};
    ///
    /// static STEP: Kind = Kind::new("step");
    /// let task = Dual::new(&STEP, &[1]).gpu(async |_gpu| Ok(()));
    /// let failed = task.run(&Devices::none()).unwrap_err();
    /// assert_eq!(failed.device(), None); // there is none
    /// ```
    pub fn device(&self) -> Option<&str> {
        self.device.as_deref()
    }

    /// The reason.
    ///
    /// ```
    /// use roving_gpu::{Cause, Devices, Dual, Kind};
    ///
    /// static STEP: Kind = Kind::new("step");
    /// let task = Dual::new(&STEP, &[1]).gpu(async |_gpu| Ok(()));
    /// let failed = task.run(&Devices::none()).unwrap_err();
    /// assert_eq!(failed.cause(), Cause::NoDevice);
    /// ```
    pub fn cause(&self) -> Cause {
        self.error.cause()
    }

    pub(crate) fn no_device(kind: &'static str) -> Self {
        let text = "it has no CPU side; give it one with `.cpu(…)`";
        TaskError {
            kind,
            device: None,
            error: DeviceError::new(Cause::NoDevice, text),
        }
    }
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task `{}`", self.kind)?;
        if let Some(device) = &self.device {
            write!(f, " on {device}")?;
        }
        write!(f, ": {}", self.error)
    }
}

impl Error for TaskError {}
