//! The profile of devices and workers by tasks.

pub(crate) mod account;
pub(crate) mod explained;
pub(crate) mod trace;

use std::collections::BTreeMap;
use std::fmt;

use crate::backend::error::Cause;

/// An engine of a device, which does one kind of its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceEngine {
    Kernel,
    Upload,
    Download,
    /// From another device.
    Peer,
}

impl DeviceEngine {
    /// The direction of a transfer: 0 to the device, 1 from it, 2 to it from another one.
    pub(crate) fn direction(self) -> Option<usize> {
        match self {
            DeviceEngine::Kernel => None,
            DeviceEngine::Upload => Some(0),
            DeviceEngine::Download => Some(1),
            DeviceEngine::Peer => Some(2),
        }
    }
}

/// The reason why a task ran where it did.
///
/// ```
/// use roving_gpu::{Cause, Why};
///
/// assert_eq!(Why::Sooner.to_string(), "sooner there");
/// assert_eq!(Why::Failed(Cause::Lost).to_string(), "device lost");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Why {
    /// It was expected to end there first.
    Sooner,
    /// To find out what it takes there.
    Sample,
    /// [`crate::Choice::Cpu`], [`crate::Choice::Gpu`] or [`crate::Choice::Split`] says so.
    Choice,
    /// It has no other side. Such tasks are counted on the CPU only while a trace is recorded.
    OnlySide,
    /// The device failed, or has no room for it, or there is none.
    Failed(Cause),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Sooner => f.write_str("sooner there"),
            Why::Sample => f.write_str("to measure"),
            Why::Choice => f.write_str("as chosen"),
            Why::OnlySide => f.write_str("no other side"),
            Why::Failed(cause) => cause.fmt(f),
        }
    }
}

/// The record of tasks of one kind: part of a [`Profile`].
///
/// ```
/// use roving_gpu::{KindProfile, Why};
///
/// let mut kind = KindProfile::default();
/// kind.gpu.insert(Why::Sooner, 3);
/// kind.gpu.insert(Why::Sample, 1);
/// assert_eq!((kind.cpu_tasks(), kind.gpu_tasks()), (0, 4));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct KindProfile {
    /// Tasks that ran on the CPU, and why.
    pub cpu: BTreeMap<Why, u64>,
    /// Tasks that ran on a device, and why.
    pub gpu: BTreeMap<Why, u64>,
    /// The seconds that CPU sides took, all together. Where the CPU is sooner by far, one task in
    /// 256 is measured and counts for the others.
    pub cpu_s: f64,
}

impl KindProfile {
    /// Returns how many tasks ran on the CPU.
    ///
    /// ```
    /// use roving_gpu::{KindProfile, Why};
    ///
    /// let mut kind = KindProfile::default();
    /// kind.cpu.insert(Why::Sooner, 3);
    /// assert_eq!(kind.cpu_tasks(), 3);
    /// ```
    pub fn cpu_tasks(&self) -> u64 {
        self.cpu.values().sum()
    }

    /// Returns how many tasks ran on a device.
    ///
    /// ```
    /// use roving_gpu::{KindProfile, Why};
    ///
    /// let mut kind = KindProfile::default();
    /// kind.gpu.insert(Why::Sample, 2);
    /// assert_eq!(kind.gpu_tasks(), 2);
    /// ```
    pub fn gpu_tasks(&self) -> u64 {
        self.gpu.values().sum()
    }
}

/// The record of one device: part of a [`Profile`]. `kernel_s`, `transfer_s` and `idle_s` add up to
/// `wall_s`.
///
/// ```
/// use roving_gpu::{Devices, Simulated};
///
/// let devices = Devices::builder().backend(Simulated::new()).build().unwrap();
/// let device = &devices.profile().devices[0];
/// let sum = device.kernel_s + device.transfer_s + device.idle_s;
/// assert_eq!(device.name, "simulated");
/// assert!((sum - device.wall_s).abs() < 1e-6);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct DeviceProfile {
    /// Its name.
    pub name: String,
    /// Seconds since the devices were made.
    pub wall_s: f64,
    /// Seconds in which it ran a kernel.
    pub kernel_s: f64,
    /// Seconds in which it copied, and ran no kernel.
    pub transfer_s: f64,
    /// All other seconds.
    pub idle_s: f64,
    /// Seconds of copies, whether or not a kernel ran meanwhile.
    pub copy_s: f64,
    /// Tasks that ended there.
    pub tasks: u64,
    /// Tasks that it took out of the queues of other devices.
    pub tasks_taken: u64,
    /// Kernels that were launched.
    pub launches: u64,
    /// Copies to the device.
    pub uploads: u64,
    /// Copies from it.
    pub downloads: u64,
    /// Bytes that went to the device.
    pub bytes_up: u64,
    /// Bytes that came from it.
    pub bytes_down: u64,
    /// Copies to the device from other devices, without the host.
    pub peer_copies: u64,
    /// Bytes that came to the device from others.
    pub bytes_from_peers: u64,
    /// Bytes that went to others from the device.
    pub bytes_to_peers: u64,
    /// Copies to the device that were saved, because a valid copy was there, or on its way.
    pub uploads_avoided: u64,
    /// Bytes of the saved copies.
    pub bytes_avoided: u64,
    /// Tasks that failed there, and copies to the host that no task has made, by cause.
    pub failures: BTreeMap<Cause, u64>,
    /// Bytes of its memory that are in use.
    pub memory_bytes: u64,
    /// Whether the device is lost.
    pub is_lost: bool,
}

/// The record of all tasks on devices and workers so far. See [`crate::Devices::profile`].
///
/// ```
/// use roving_gpu::{Devices, Profile, Simulated};
///
/// assert_eq!(Devices::none().profile(), Profile::default());
/// let devices = Devices::builder().backend(Simulated::new().name("toy")).build().unwrap();
/// assert!(devices.profile().to_string().starts_with("toy: 0 tasks"));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Profile {
    /// The records of devices.
    pub devices: Vec<DeviceProfile>,
    /// The records of kinds, by their names.
    pub kinds: BTreeMap<&'static str, KindProfile>,
    /// The errors: each cause once for each device.
    pub reports: Vec<String>,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for device in &self.devices {
            write!(f, "{device}")?;
        }
        for (name, kind) in &self.kinds {
            let list = |reasons: &BTreeMap<Why, u64>| {
                let each = reasons.iter().map(|(why, count)| format!("{count} {why}"));
                each.collect::<Vec<_>>().join(", ")
            };
            let (cpu, gpu) = (kind.cpu_tasks(), kind.gpu_tasks());
            writeln!(f, "{name}: {} on the CPU, {} on a device", cpu, gpu)?;
            if cpu > 0 {
                writeln!(f, "  CPU: {}; {:.3} s", list(&kind.cpu), kind.cpu_s)?;
            }
            if gpu > 0 {
                writeln!(f, "  device: {}", list(&kind.gpu))?;
            }
        }
        self.reports
            .iter()
            .try_for_each(|report| writeln!(f, "{report}"))
    }
}

impl fmt::Display for DeviceProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lost = if self.is_lost { " (lost)" } else { "" };
        writeln!(
            f,
            "{}{lost}: {} tasks, {} launches",
            self.name, self.tasks, self.launches
        )?;
        if self.tasks_taken > 0 {
            writeln!(f, "  {} tasks taken from other devices", self.tasks_taken)?;
        }
        writeln!(
            f,
            "  {:.3} s: kernel {:.3}, transfer {:.3}, idle {:.3}",
            self.wall_s, self.kernel_s, self.transfer_s, self.idle_s
        )?;
        writeln!(
            f,
            "  {} bytes there in {}, {} back in {}; {} bytes in {} copies avoided",
            self.bytes_up,
            self.uploads,
            self.bytes_down,
            self.downloads,
            self.bytes_avoided,
            self.uploads_avoided
        )?;
        if self.peer_copies > 0 || self.bytes_to_peers > 0 {
            writeln!(
                f,
                "  {} bytes from other devices in {}, {} to them",
                self.bytes_from_peers, self.peer_copies, self.bytes_to_peers
            )?;
        }
        for (cause, count) in &self.failures {
            writeln!(f, "  {count} tasks or copies failed: {cause}")?;
        }
        Ok(())
    }
}
