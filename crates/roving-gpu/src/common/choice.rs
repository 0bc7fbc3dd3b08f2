//! The rule that decides where a task runs.

use std::fmt;
use std::str::FromStr;

/// The rule by which tasks with two sides are spread over CPU and devices. A task with one side
/// runs on that side.
///
/// ```
/// use roving_gpu::Choice;
///
/// assert_eq!("auto".parse(), Ok(Choice::Auto));
/// assert_eq!("split=0.25".parse(), Ok(Choice::Split(0.25)));
/// assert_eq!(Choice::Split(0.25).to_string(), "split=0.25");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Choice {
    /// All on the CPU.
    Cpu,
    /// All on a device.
    Gpu,
    /// Each where it is expected to end first.
    #[default]
    Auto,
    /// This share of the work of each kind on a device, from 0 to 1, task by task as it comes.
    Split(f64),
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Cpu => f.write_str("cpu"),
            Choice::Gpu => f.write_str("gpu"),
            Choice::Auto => f.write_str("auto"),
            Choice::Split(share) => write!(f, "split={share}"),
        }
    }
}

/// The error of a text that is no [`Choice`].
///
/// ```
/// let error = "fastest".parse::<roving_gpu::Choice>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "\"fastest\" is no choice: say cpu, gpu, auto, or split=S with S from 0 to 1"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseChoiceError(String);

impl fmt::Display for ParseChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no choice: say cpu, gpu, auto, or split=S with S from 0 to 1",
            self.0
        )
    }
}

impl std::error::Error for ParseChoiceError {}

impl FromStr for Choice {
    type Err = ParseChoiceError;

    fn from_str(text: &str) -> Result<Self, ParseChoiceError> {
        let share = text.strip_prefix("split=").and_then(|s| s.parse().ok());
        match (text, share) {
            ("cpu", _) => Ok(Choice::Cpu),
            ("gpu", _) => Ok(Choice::Gpu),
            ("auto", _) => Ok(Choice::Auto),
            (_, Some(share)) if (0.0..=1.0).contains(&share) => Ok(Choice::Split(share)),
            _ => Err(ParseChoiceError(text.to_owned())),
        }
    }
}

/// The time at which the results of a device are copied to the host.
///
/// ```
/// use roving_gpu::{Devices, Simulated, Writes};
///
/// let devices = Devices::builder().backend(Simulated::new()).writes(Writes::Through);
/// assert!(!devices.build().unwrap().are_none());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Writes {
    /// When the host asks for it (write-back). A copy that is never asked for is never made, and a
    /// task ends as soon as all that it does is queued: what uses its results on that device is
    /// queued behind it, and the host waits where it needs them. But when the device is lost, so is
    /// what was there only, and when a kernel fails that was queued, so is what it was to write: a
    /// task or a guard that needs it panics.
    #[default]
    Back,
    /// Before the task has ended (write-through). The copy on the device stays valid for the next
    /// task there. Whatever happens to the device, nothing is lost: where a kernel fails, the CPU
    /// side of its task runs.
    Through,
}
