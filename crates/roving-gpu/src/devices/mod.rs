//! The devices of a program.

pub(crate) mod builder;
mod far_sooner;
pub(crate) mod first_poll;
mod gpu_share;
pub(crate) mod shared;
pub(crate) mod task_error;
mod watch;

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::sync::Arc;

use crate::profile::Profile;
use shared::Inner;

/// The devices that tasks may run on, and the measurements about them. Clones are handles to the
/// same devices.
///
/// # The last handle
///
/// When the last handle is dropped, tasks on a device end there, the measurements are written to
/// their file, and errors that are due are told. The drop waits for all that.
///
/// A waker that drops it may do so on a thread of the device itself, which is what it would wait
/// for; so may the function of a kernel. There, and in a call of
/// [`on_failure`](crate::DevicesBuilder::on_failure), the drop returns at once. The devices end by
/// themselves: a thread is started that waits for all that, and writes the file. Where the system
/// gives none, what has been measured by then is written, and nothing is waited for.
///
/// # In a forked child
///
/// A child of `fork` has none of the threads that devices need. There the drop of the last handle
/// waits for nothing and drops nothing, for the parent has its own copy. A task that would use
/// devices of the parent panics and says so, and so does [`Devices::wait`]; and so does whoever
/// wants a buffer whose numbers only such a device has, or that a task or a guard held when the
/// process was forked. Devices that the child builds work, of back-ends that it has made itself.
/// Fork when nothing is under way ([`Devices::wait`]): a lock that a thread of a device has at that
/// very moment stays locked in the child, and whoever wants it there waits for ever.
///
/// ```
/// use roving_gpu::{Devices, Simulated};
///
/// let devices = Devices::builder().backend(Simulated::new()).build().unwrap();
/// assert_eq!(devices.clone().names(), ["simulated"]);
/// ```
#[derive(Clone)]
pub struct Devices(pub(crate) Option<Arc<Inner>>);

impl Devices {
    /// Returns devices without any device: every task runs its CPU side.
    ///
    /// ```
    /// assert!(roving_gpu::Devices::none().are_none());
    /// ```
    #[inline]
    pub const fn none() -> Self {
        Devices(None)
    }

    /// Returns what the devices did so far, and why.
    ///
    /// ```
    /// use roving_gpu::{Choice, Devices, Dual, Kind, Simulated, Why};
    ///
    /// static STEP: Kind = Kind::new("step");
    /// let backend = Simulated::new();
    /// let devices = Devices::builder().backend(backend).choice(Choice::Cpu).build().unwrap();
    /// Dual::new(&STEP, &[1]).cpu(|| ()).gpu(async |_gpu| Ok(())).run(&devices);
    /// let profile = devices.profile();
    /// assert_eq!(profile.kinds["step"].cpu[&Why::Choice], 1);
    /// let device = &profile.devices[0];
    /// let sum = device.kernel_s + device.transfer_s + device.idle_s;
    /// assert!((sum - device.wall_s).abs() < 1e-6);
    /// ```
    pub fn profile(&self) -> Profile {
        let Some(inner) = &self.0 else {
            return Profile::default();
        };
        inner.tell_settled();
        Profile {
            devices: inner
                .devices
                .iter()
                .map(|device| device.profile())
                .collect(),
            kinds: inner.common.kinds(),
            reports: inner.common.reports(),
        }
    }

    /// Waits until all that tasks have queued on the devices has ended. With
    /// [`Writes::Back`](crate::Writes::Back) a task ends before its kernels do, and this is for who
    /// measures how long they take; a guard of a buffer waits for what it needs by itself.
    ///
    /// ```
    /// use roving_gpu::{Arg, Buffer, Choice, Devices, Dual, Kernel, Kind, Simulated};
    /// use std::time::{Duration, Instant};
    ///
    /// static STEP: Kind = Kind::new("step");
    /// static KERNEL: Kernel = Kernel::new("step").host(|call| call.update::<u32>()[0] += 1);
    /// let device = Simulated::new().launch_time(Duration::from_millis(5));
    /// let devices = Devices::builder().backend(device).choice(Choice::Gpu).build().unwrap();
    /// let number = Buffer::from(vec![0_u32]);
    /// let start = Instant::now();
    /// for _ in 0..4 {
    ///     Dual::new(&STEP, &[1])
    ///         .updates(&number)
    ///         .cpu(|| number.write()[0] += 1)
    ///         .gpu(async |gpu| gpu.launch(&KERNEL, [1, 1, 1], &[Arg::update(&number)]).await)
    ///         .run(&devices);
    /// }
    /// devices.wait();
    /// assert!(start.elapsed() >= Duration::from_millis(20));
    /// ```
    pub fn wait(&self) {
        if let Some(inner) = &self.0 {
            inner.wait();
        }
    }

    /// Describes in lines which devices there are, how long tasks took on each side, and where they
    /// ran and why.
    ///
    /// ```
    /// let text = roving_gpu::Devices::none().describe();
    /// assert!(text.contains("no device"));
    /// ```
    pub fn describe(&self) -> String {
        let Some(inner) = &self.0 else {
            return "no device: every task runs on the CPU\n".to_owned();
        };
        let mut text = format!("choice: {}\n", inner.common.choice);
        let measured = inner.common.history.measured();
        for (kind, sides) in &measured.kinds {
            let _ = writeln!(text, "{kind}:");
            for (side, law) in sides {
                for (samples, work, seconds) in law.means() {
                    let _ = writeln!(
                        text,
                        "  {side}: {:.6} s for {work:.4e} of work ({samples} samples)",
                        seconds
                    );
                }
            }
        }
        let _ = write!(text, "{}", self.profile());
        text
    }

    /// Explains the choices of [`Choice::Auto`](crate::Choice::Auto) so far, a line for each kind
    /// and size of tasks for which both sides had been measured: how long they were expected to
    /// take on either side, how long they would have waited for others on the device, and how long
    /// they took where they ran. All are means; tasks that were not decided do not count.
    ///
    /// ```
    /// use roving_gpu::{Devices, Dual, Kernel, Kind, Simulated};
    /// use std::time::Duration;
    ///
    /// static STEP: Kind = Kind::new("step");
    /// static KERNEL: Kernel = Kernel::new("step").host(|_call| ());
    /// let device = Simulated::new().launch_time(Duration::from_millis(1));
    /// let devices = Devices::builder().backend(device).build().unwrap();
    /// let mut text = String::new();
    /// // Until one was decided that ran on the device, which is sooner done in the long run.
    /// while !text.contains("on a device took") {
    ///     Dual::new(&STEP, &[1])
    ///         .cpu(|| std::thread::sleep(Duration::from_millis(2)))
    ///         .gpu(async |gpu| gpu.launch(&KERNEL, [1, 1, 1], &[]).await)
    ///         .run(&devices);
    ///     devices.wait();
    ///     text = devices.explain();
    /// }
    /// assert!(text.starts_with("step, work 1.000e0 to 2.000e0: "), "{text}");
    /// assert!(text.contains("on the CPU"), "{text}");
    /// ```
    pub fn explain(&self) -> String {
        self.0
            .as_ref()
            .map_or_else(String::new, |inner| inner.common.explain())
    }

    /// Starts or stops recording the activity of devices and workers with tasks.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let devices = Devices::builder().backend(Simulated::new()).build().unwrap();
    /// devices.trace(true); // from here on; `write_trace` writes it
    /// ```
    pub fn trace(&self, on: bool) {
        if let Some(inner) = &self.0 {
            inner.common.recorder.switch(on);
        }
    }

    /// Writes the record to a file, as the JSON that Chrome (`chrome://tracing`) and Perfetto show:
    /// a timeline for each worker, for each stream of a device, and for its transfers in each
    /// direction.
    ///
    /// # Errors
    /// If the file cannot be written.
    ///
    /// ```
    /// use roving_gpu::{Devices, Dual, Kind, Simulated};
    ///
    /// static STEP: Kind = Kind::new("step");
    /// let devices = Devices::builder().backend(Simulated::new()).build().unwrap();
    /// devices.trace(true);
    /// Dual::new(&STEP, &[1]).cpu(|| ()).run(&devices);
    /// let path = std::env::temp_dir().join(format!("roving-gpu-doc-{}.json", std::process::id()));
    /// devices.write_trace(&path).unwrap();
    /// assert!(std::fs::read_to_string(&path).unwrap().contains("step"));
    /// std::fs::remove_file(&path).unwrap();
    /// ```
    pub fn write_trace(&self, path: impl AsRef<Path>) -> io::Result<()> {
        let file = BufWriter::new(File::create(path)?);
        match &self.0 {
            Some(inner) => {
                let names = inner.devices.iter().map(|device| device.name.clone());
                let names: Vec<_> = names.collect();
                inner.common.recorder.write(&names, file)
            }
            None => crate::profile::trace::Recorder::new().write(&[], file),
        }
    }

    /// Returns the names of the devices. Two of one model have the same name.
    ///
    /// ```
    /// use roving_gpu::{Devices, Simulated};
    ///
    /// let devices = Devices::builder().backend(Simulated::new().name("toy")).build().unwrap();
    /// assert_eq!(devices.names(), ["toy"]);
    /// ```
    pub fn names(&self) -> Vec<String> {
        let devices = self.0.iter().flat_map(|inner| &inner.devices);
        devices.map(|device| device.name.clone()).collect()
    }

    /// Returns whether there are no devices.
    ///
    /// ```
    /// assert!(roving_gpu::Devices::none().are_none());
    /// ```
    #[inline(always)]
    pub fn are_none(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Debug for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
