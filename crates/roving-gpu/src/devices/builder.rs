//! Settings for devices.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use super::Devices;
use super::far_sooner::Settled;
use super::gpu_share::Shares;
use super::shared::Inner;
use super::watch;
use crate::backend::Backend;
use crate::backend::error::{Cause, DeviceError};
use crate::common::choice::{Choice, Writes};
use crate::common::reporter::{DeviceReport, OnFailure};
use crate::common::{Common, HasQueue};
use crate::device::Device;
use crate::history::{History, Measured, file};

/// A builder of [`Devices`].
///
/// ```
/// use roving_gpu::{Choice, Devices, Simulated};
///
/// let devices = Devices::builder()
///     .backend(Simulated::new().name("fast").speed(1e12))
///     .backend(Simulated::new().name("large").memory_bytes(1 << 40))
///     .choice(Choice::Auto)
///     .window(2)
///     .build()
///     .unwrap();
/// assert_eq!(devices.names(), ["fast", "large"]);
/// ```
#[must_use]
pub struct DevicesBuilder {
    backends: Vec<Arc<dyn Backend>>,
    choice: Choice,
    writes: Writes,
    history: Option<PathBuf>,
    window: Option<usize>,
    on_failure: Option<OnFailure>,
    /// Notes for the profile from the beginning.
    notes: Vec<String>,
    /// Why devices that were looked for are not there.
    absent: Vec<String>,
}

impl Devices {
    /// Finds the devices of this machine, of the back-ends that were built in: those of CUDA; if
    /// there are none, those of wgpu. The environment variable `ROVING_GPU` narrows that down:
    /// `off`, `cuda` or `wgpu`. Measurements are kept in a file in the user's cache directory;
    /// `ROVING_GPU_HISTORY` names another one, or is `off`.
    ///
    /// # Errors
    /// If `ROVING_GPU` is something else, or names a back-end that finds no device or cannot open
    /// one. Otherwise a device that cannot be opened is left out, and told in [`Devices::profile`].
    ///
    /// ```
    /// use roving_gpu::Devices;
    ///
    /// match Devices::discover() {
    ///     Ok(devices) if devices.are_none() => println!("no device"),
    ///     Ok(devices) => println!("{}", devices.names().join(", ")),
    ///     Err(error) => println!("{error}"),
    /// }
    /// ```
    pub fn discover() -> Result<Self, BuildError> {
        DevicesBuilder::discover()?.build()
    }

    /// Returns a builder, for other settings: see [`DevicesBuilder`].
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let devices = Devices::builder().backend(Simulated::new()).build().unwrap();
    /// assert_eq!(devices.names(), ["simulated"]);
    /// ```
    pub fn builder() -> DevicesBuilder {
        DevicesBuilder::new()
    }
}

impl DevicesBuilder {
    pub(crate) fn new() -> Self {
        DevicesBuilder {
            backends: Vec::new(),
            choice: Choice::Auto,
            writes: Writes::Back,
            history: None,
            window: None,
            on_failure: None,
            notes: Vec::new(),
            absent: Vec::new(),
        }
    }

    /// Uses the devices that [`Devices::discover`] finds, and its file of measured times.
    ///
    /// # Errors
    /// As there.
    ///
    /// ```
    /// use roving_gpu::{Choice, DevicesBuilder};
    ///
    /// let builder = DevicesBuilder::discover();
    /// let devices = builder.and_then(|builder| builder.choice(Choice::Gpu).build());
    /// println!("{devices:?}");
    /// ```
    pub fn discover() -> Result<Self, BuildError> {
        let mut builder = DevicesBuilder::new();
        let wanted = std::env::var("ROVING_GPU").unwrap_or_default();
        let (cuda, wgpu) = kinds(&wanted)?;
        if !cuda && !wgpu {
            builder
                .absent
                .push(format!("ROVING_GPU={wanted:?} says so"));
        }
        if cuda {
            builder.add("cuda", cuda_devices(), wanted == "cuda")?;
        }
        if wgpu && builder.backends.is_empty() {
            builder.add("wgpu", wgpu_devices(), wanted == "wgpu")?;
        }
        if builder.backends.is_empty() && (wanted == "cuda" || wanted == "wgpu") {
            let why = builder.absent.join("; ");
            return Err(BuildError(format!(
                "ROVING_GPU={wanted:?}, but no such device is there ({why}): mend that, or unset the \
                 variable"
            )));
        }
        builder.history = file::default_path();
        Ok(builder)
    }

    /// Takes the devices that could be opened. One that is there and could not (it is busy, or its
    /// memory is full) is told in the profile, or is an error where its back-end was asked for by
    /// name.
    fn add(
        &mut self,
        kind: &str,
        found: Vec<Result<Arc<dyn Backend>, DeviceError>>,
        by_name: bool,
    ) -> Result<(), BuildError> {
        for device in found {
            match device {
                Ok(device) => self.backends.push(device),
                Err(error) if error.cause() == Cause::NoDevice => {
                    self.absent.push(format!("{kind}: {}", error.text()));
                }
                Err(error) if by_name => return Err(BuildError(error.to_string())),
                Err(error) => {
                    let note = format!("a device could not be opened, and is left out: {error}");
                    self.notes.push(note);
                    self.absent.push(format!("{kind}: {error}"));
                }
            }
        }
        Ok(())
    }

    /// Returns why devices that [`DevicesBuilder::discover`] has looked for are not there, a line
    /// for each kind of them: this program was built without it, there is no driver, the driver
    /// knows of no device, or one could not be opened.
    ///
    /// ```
    /// use roving_gpu::DevicesBuilder;
    ///
    /// let builder = DevicesBuilder::discover().unwrap();
    /// let reasons = builder.absent().join("; ");
    /// let devices = builder.build().unwrap();
    /// if devices.are_none() {
    ///     println!("no device: {reasons}");
    /// }
    /// # assert!(!devices.are_none() || !reasons.is_empty());
    /// ```
    pub fn absent(&self) -> &[String] {
        &self.absent
    }

    /// Adds a device.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let devices = Devices::builder()
    ///     .backend(Simulated::new().name("one"))
    ///     .backend(Simulated::new().name("two"))
    ///     .build()
    ///     .unwrap();
    /// assert_eq!(devices.names(), ["one", "two"]);
    /// ```
    pub fn backend(mut self, backend: impl Backend) -> Self {
        self.backends.push(Arc::new(backend));
        self
    }

    /// Sets the rule by which a task runs on the CPU or on a device.
    ///
    /// ```
    /// use roving_gpu::{Choice, Devices, Dual, Kind, Simulated};
    ///
    /// static SIDE: Kind = Kind::new("side");
    /// let backend = Simulated::new();
    /// let devices = Devices::builder().backend(backend).choice(Choice::Cpu).build().unwrap();
    /// let side = Dual::new(&SIDE, &[1]).cpu(|| "CPU").gpu(async |_gpu| Ok("GPU")).run(&devices);
    /// assert_eq!(side, "CPU");
    /// ```
    pub fn choice(mut self, choice: Choice) -> Self {
        self.choice = choice;
        self
    }

    /// Sets when the results of a device are copied to the host.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated, Writes};
    ///
    /// let builder = Devices::builder().backend(Simulated::new()).writes(Writes::Through);
    /// assert!(builder.build().is_ok());
    /// ```
    pub fn writes(mut self, writes: Writes) -> Self {
        self.writes = writes;
        self
    }

    /// Sets the file in which measured times are kept. Without one they are forgotten.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let file = std::env::temp_dir().join(format!("roving-history-{}.json", std::process::id()));
    /// let devices = Devices::builder().backend(Simulated::new()).history(&file).build().unwrap();
    /// drop(devices); // writes what was measured
    /// # let _ = std::fs::remove_file(&file);
    /// ```
    pub fn history(mut self, path: impl Into<PathBuf>) -> Self {
        self.history = Some(path.into());
        self
    }

    /// Sets how many tasks are on a device at a time, so that transfers of one overlap with kernels
    /// of another. By default as many as the back-end has streams.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let builder = Devices::builder().backend(Simulated::new()).window(2);
    /// assert!(builder.build().is_ok());
    /// ```
    pub fn window(mut self, tasks: usize) -> Self {
        self.window = Some(tasks);
        self
    }

    /// Sets a callback for errors of devices: it is called once for each device and cause, on a
    /// thread of its own, one call after the other, and perhaps later than a task has ended that
    /// the error is of. No device waits for it, so it may do what other threads may: read a buffer
    /// of the device, run a task, wait for the devices, or drop them. The drop of the last handle
    /// waits for the calls that are due, so a call must not wait for whoever drops it; in a call it
    /// [waits for nothing](Devices#the-last-handle). Then the function is dropped: of errors that
    /// come later, as when a buffer is read that is still there, only the reader hears.
    ///
    /// A panic in it is swallowed. Where the system gives no thread, the thread that has the error
    /// calls it, which may be that of the back-end.
    ///
    /// ```
    /// use roving_gpu::{Choice, Devices, Dual, Failure, Kind, Simulated};
    /// use std::sync::mpsc::channel;
    ///
    /// static STEP: Kind = Kind::new("step");
    /// let numbers = roving_gpu::Buffer::from(vec![1]);
    /// let (sender, reports) = channel();
    /// let devices = Devices::builder()
    ///     .backend(Simulated::new().name("toy").fail_at(0, Failure::Lost))
    ///     .choice(Choice::Gpu)
    ///     .on_failure(move |report| sender.send(report.to_string()).unwrap())
    ///     .build()
    ///     .unwrap();
    /// let side = Dual::new(&STEP, &[1])
    ///     .reads(&numbers)
    ///     .cpu(|| "CPU")
    ///     .gpu(async |_gpu| Ok("GPU"))
    ///     .run(&devices);
    /// assert_eq!(side, "CPU");
    /// assert!(reports.recv().unwrap().starts_with("toy: device lost"));
    /// ```
    pub fn on_failure(mut self, call: impl Fn(&DeviceReport) + Send + Sync + 'static) -> Self {
        self.on_failure = Some(Box::new(call));
        self
    }

    /// Builds the devices; [`Devices::none`], if no back-end was given and none was found.
    ///
    /// # Errors
    /// If a number is out of its range. A history that cannot be read is told in
    /// [`Devices::profile`], and left out.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// assert!(Devices::builder().build().unwrap().are_none());
    /// assert!(!Devices::builder().backend(Simulated::new()).build().unwrap().are_none());
    /// ```
    pub fn build(self) -> Result<Devices, BuildError> {
        if let Choice::Split(share) = self.choice {
            if !(0.0..=1.0).contains(&share) {
                let text = format!("the split is {share}; it must be from 0 to 1");
                return Err(BuildError(text));
            }
        }
        if self.window == Some(0) {
            let text = "the window is 0; it must be at least 1".to_owned();
            return Err(BuildError(text));
        }
        if self.backends.is_empty() {
            return Ok(Devices::none());
        }
        let loaded = self.history.as_deref().map(file::load);
        let (measured, problem) = match loaded.unwrap_or_else(|| Ok(Measured::default())) {
            Ok(measured) => (measured, None),
            Err(problem) => (Measured::default(), Some(problem)),
        };
        let history = History::new(measured);
        let common = Common::new(self.choice, self.writes, history, self.on_failure);
        let common = Arc::new(common);
        common.note(self.notes.into_iter().chain(problem));
        let devices = self.backends.into_iter().enumerate();
        let devices = devices.map(|(index, backend)| {
            let name = backend.name();
            Device::new(index, name, backend, self.window, Arc::clone(&common))
        });
        let devices: Vec<_> = devices.collect();
        for device in &devices {
            let others = devices.iter().filter(|other| !Arc::ptr_eq(other, device));
            let others = || others.map(Arc::downgrade).collect();
            device.others.get_or_init(others);
        }
        let weak = || {
            devices
                .iter()
                .map(|one| Arc::downgrade(one) as Weak<dyn HasQueue>)
                .collect()
        };
        common.devices.get_or_init(weak);
        Ok(Devices(Some(Arc::new(Inner {
            watch: watch::start(&devices),
            devices,
            shares: Shares::default(),
            settled: Settled::new(),
            history_path: self.history,
            common,
        }))))
    }
}

#[cfg(feature = "cuda")]
fn cuda_devices() -> Vec<Result<Arc<dyn Backend>, DeviceError>> {
    crate::cuda::discover()
}

#[cfg(not(feature = "cuda"))]
fn cuda_devices() -> Vec<Result<Arc<dyn Backend>, DeviceError>> {
    not_built("cuda")
}

#[cfg(feature = "wgpu")]
fn wgpu_devices() -> Vec<Result<Arc<dyn Backend>, DeviceError>> {
    crate::wgpu::discover()
}

#[cfg(not(feature = "wgpu"))]
fn wgpu_devices() -> Vec<Result<Arc<dyn Backend>, DeviceError>> {
    not_built("wgpu")
}

#[cfg(not(all(feature = "cuda", feature = "wgpu")))]
fn not_built(feature: &str) -> Vec<Result<Arc<dyn Backend>, DeviceError>> {
    let text = format!("this program was built without the feature `{feature}`");
    vec![Err(DeviceError::new(Cause::NoDevice, text))]
}

/// The error of settings that cannot be had.
///
/// ```
/// use roving_gpu::{Devices, Simulated};
///
/// let error = Devices::builder().backend(Simulated::new()).window(0).build().unwrap_err();
/// assert_eq!(error.to_string(), "the window is 0; it must be at least 1");
/// ```
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

/// Whether devices of CUDA, and those of wgpu, are looked for where `ROVING_GPU` has that value.
fn kinds(wanted: &str) -> Result<(bool, bool), BuildError> {
    match wanted {
        "off" => Ok((false, false)),
        "cuda" => Ok((true, false)),
        "wgpu" => Ok((false, true)),
        "" => Ok((true, true)),
        other => Err(BuildError(format!(
            "ROVING_GPU={other:?} is no kind of device: say off, cuda or wgpu, or unset it"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Simulated;

    #[test]
    fn an_unknown_kind_of_device_is_refused_with_what_is_allowed_and_what_to_do() {
        assert_eq!(
            kinds("vulkan").unwrap_err().to_string(),
            "ROVING_GPU=\"vulkan\" is no kind of device: say off, cuda or wgpu, or unset it"
        );
        for known in ["off", "cuda", "wgpu", ""] {
            assert!(kinds(known).is_ok(), "{known}");
        }
    }

    #[test]
    fn a_device_that_cannot_be_opened_is_left_out_unless_it_was_asked_for() {
        let found = || -> Vec<Result<Arc<dyn Backend>, DeviceError>> {
            vec![
                Err(DeviceError::new(Cause::OutOfMemory, "others have it all")),
                Ok(Arc::new(Simulated::new().name("toy"))),
                Err(DeviceError::new(Cause::NoDevice, "no driver")),
            ]
        };
        let mut builder = DevicesBuilder::new();
        builder.add("toys", found(), false).unwrap();
        let absent = [
            "toys: out of device memory: others have it all",
            "toys: no driver",
        ];
        assert_eq!(builder.absent(), absent);
        let devices = builder.build().unwrap();
        assert_eq!(devices.names(), ["toy"]);
        let reports = devices.profile().reports;
        assert!(
            reports.len() == 1 && reports[0].contains("others have it all"),
            "{reports:?}"
        );
        let error = DevicesBuilder::new()
            .add("toys", found(), true)
            .unwrap_err();
        assert!(error.to_string().contains("others have it all"));
    }
}
