//! The devices that `--device` asks for, and how fast the CPU sides are said to be beside them.

use std::time::Duration;

use roving_gpu::{Choice, Devices, DevicesBuilder, Failure as Fault, Simulated, Writes};

use super::DualProgram;
use super::pace::WorkPace;
use super::words::{DeviceSource, Library, SideWord, Simulation, Wanted};
use crate::io::input::{BadInput, CommandFailure};

/// The speed of one worker, by which a simulated device is measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WorkerSpeed {
    /// The work of all tasks.
    pub(crate) work: f64,
    /// How many tasks.
    pub(crate) tasks: u64,
    /// The time of a serial run.
    pub(crate) serial_s: f64,
    /// Beside a simulated device, the faster side of a mean task takes so long at least.
    pub(crate) task_s: f64,
    /// Whether tasks say how much work they are.
    pub(crate) declared: bool,
}

/// Beside a simulated device, both sides of a task take so many times as long as computing it:
/// several of them compute at once, on few cores.
const SLACK: f64 = 4.0;
/// Unless it is said otherwise, the faster side of a mean task takes so long at least: who sleeps
/// wakes some ten microseconds late.
const TASK_S: f64 = 1e-3;

impl WorkerSpeed {
    /// That of a program, after a serial run.
    pub(crate) fn of(program: &dyn DualProgram, serial_s: f64) -> WorkerSpeed {
        WorkerSpeed {
            work: program.work(),
            tasks: program.tasks(),
            serial_s,
            task_s: TASK_S,
            declared: program.declares(),
        }
    }

    /// How fast a CPU side is said to be beside a device that is `ratio` times as fast: slow enough
    /// that both sides can keep to what is said.
    pub(crate) fn pace(&self, ratio: f64) -> f64 {
        let real = self.work / self.serial_s.max(1e-9);
        let mean = self.work / self.tasks.max(1) as f64;
        (real / SLACK).min(mean / self.task_s) / ratio.max(1.0)
    }
}

/// Devices and what goes with them.
pub(crate) struct Setup {
    /// The devices.
    pub(crate) devices: Devices,
    /// How fast the CPU sides are said to be.
    pub(crate) pace: WorkPace,
    /// How fast a simulated device is said to be.
    pub(crate) device_pace: WorkPace,
    /// One line: which devices there are, or why there is none, and what to do.
    pub(crate) about: String,
}

/// Converts the choice in `--device` to the library's.
fn choice(side: SideWord) -> Choice {
    match side {
        SideWord::Auto => Choice::Auto,
        SideWord::Cpu => Choice::Cpu,
        SideWord::Gpu => Choice::Gpu,
        SideWord::Split(share) => Choice::Split(share),
    }
}

/// Why there may be no device, and what to do.
fn why_none() -> &'static str {
    if cfg!(any(feature = "wgpu", feature = "cuda")) {
        "none: no driver has one here; install Mesa's (Debian's mesa-vulkan-drivers), or take --device sim:10"
    } else {
        "none: this binary was built without them; build with --features wgpu or cuda, or take --device sim:10"
    }
}

impl Setup {
    /// The devices that `wanted` names, for a program of this load. The times of those that are
    /// found are kept in the user's file; those of others are forgotten with them.
    pub(crate) fn new(wanted: &Wanted, load: &WorkerSpeed) -> Result<Setup, CommandFailure> {
        match wanted.source {
            DeviceSource::None => Ok(Setup {
                devices: Devices::none(),
                pace: WorkPace::default(),
                device_pace: WorkPace::default(),
                about: "none, as --device none says".into(),
            }),
            DeviceSource::Found => {
                let builder = DevicesBuilder::discover();
                let builder = builder.map_err(|error| BadInput::line(error.to_string()))?;
                Setup::real(builder, wanted.side)
            }
            DeviceSource::Only(library) => Setup::real(only(library)?, wanted.side),
            DeviceSource::Simulated(simulation) => Setup::simulated(&simulation, wanted.side, load),
        }
    }

    /// The devices' description of their choices; empty where there is no device.
    pub(crate) fn choices(&self) -> String {
        if self.devices.are_none() {
            return String::new();
        }
        self.devices.describe()
    }

    fn real(builder: DevicesBuilder, side: SideWord) -> Result<Setup, CommandFailure> {
        let absent = builder.absent().join("; ");
        let devices = built(builder.choice(choice(side)))?;
        let about = match devices.names().join(", ") {
            names if names.is_empty() && absent.is_empty() => why_none().into(),
            names if names.is_empty() => format!("none ({absent}); --device sim:10 simulates one"),
            names => names,
        };
        Ok(Setup {
            devices,
            pace: WorkPace::default(),
            device_pace: WorkPace::default(),
            about,
        })
    }

    fn simulated(
        simulation: &Simulation,
        side: SideWord,
        load: &WorkerSpeed,
    ) -> Result<Setup, CommandFailure> {
        let pace = load.pace(simulation.ratio);
        let speed = pace * simulation.ratio;
        let mut builder = Devices::builder().choice(choice(side));
        for number in 0..simulation.devices {
            let device = simulated(simulation, number);
            builder = builder.backend(match load.declared {
                true => device.speed(speed),
                false => device,
            });
        }
        if simulation.fail_at.is_some() {
            // All runs go on after that.
            builder = builder.writes(Writes::Through);
        }
        let slower = load.work / load.serial_s.max(1e-9) / pace;
        let (count, each) = match simulation.devices {
            1 => ("one".to_owned(), ""),
            count => (count.to_string(), "each "),
        };
        Ok(Setup {
            devices: built(builder)?,
            pace: WorkPace::of(pace),
            device_pace: WorkPace::of(speed),
            about: format!(
                "{count}, simulated: {each}{} times as fast as a CPU side, which is made {slower:.0} times as slow as it is",
                simulation.ratio
            ),
        })
    }
}

/// The device of that number, among those that are simulated. Links are as fast as transfers.
fn simulated(simulation: &Simulation, number: usize) -> Simulated {
    let name = format!("simulated {}", simulation.ratio);
    let mut device = match simulation.devices {
        1 => Simulated::new().name(name),
        _ => Simulated::new().name(format!("{name} #{}", number + 1)),
    };
    if let Some(bytes) = simulation.memory_bytes {
        device = device.memory_bytes(bytes);
    }
    if let Some(rate) = simulation.bytes_per_s {
        device = device.bytes_per_s(rate);
    }
    if let Some(submission) = simulation.fail_at.filter(|_| number == 0) {
        device = device.fail_at(submission, Fault::Lost);
    }
    let rate = simulation.bytes_per_s.unwrap_or(f64::INFINITY);
    device.link(rate, Duration::ZERO)
}

/// The devices of one library.
fn only(library: Library) -> Result<DevicesBuilder, CommandFailure> {
    let mut builder = Devices::builder();
    let devices = match library {
        Library::Wgpu => wgpu_devices(),
        Library::Cuda => cuda_devices(),
    };
    for device in devices? {
        builder = device(builder);
    }
    Ok(builder)
}

/// Whether a device of that library is here, and if not, why.
pub(crate) fn missing(library: Library) -> Option<String> {
    let (name, feature, built_in) = match library {
        Library::Wgpu => ("Vulkan", "wgpu", cfg!(feature = "wgpu")),
        Library::Cuda => ("CUDA", "cuda", cfg!(feature = "cuda")),
    };
    if !built_in {
        return Some(format!(
            "no {name} device: this binary was built without --features {feature}"
        ));
    }
    match only(library).and_then(built) {
        Ok(devices) if devices.are_none() => {
            Some(format!("no {name} device: this machine has none"))
        }
        Ok(_) => None,
        Err(failure) => Some(format!("no {name} device: {failure}")),
    }
}

/// Adds one device to others.
type Add = Box<dyn FnOnce(DevicesBuilder) -> DevicesBuilder>;

#[cfg(feature = "wgpu")]
fn wgpu_devices() -> Result<Vec<Add>, CommandFailure> {
    adders(roving_gpu::wgpu::found())
}

#[cfg(not(feature = "wgpu"))]
fn wgpu_devices() -> Result<Vec<Add>, CommandFailure> {
    Ok(Vec::new())
}

#[cfg(feature = "cuda")]
fn cuda_devices() -> Result<Vec<Add>, CommandFailure> {
    adders(roving_gpu::cuda::found())
}

#[cfg(not(feature = "cuda"))]
fn cuda_devices() -> Result<Vec<Add>, CommandFailure> {
    Ok(Vec::new())
}

/// Those that are there; an error is one only where it is not that there is none.
#[cfg(any(feature = "wgpu", feature = "cuda"))]
fn adders<D: roving_gpu::backend::Backend>(
    found: Vec<Result<D, roving_gpu::DeviceError>>,
) -> Result<Vec<Add>, CommandFailure> {
    let there = found.into_iter().filter_map(|device| match device {
        Ok(device) => {
            let add: Add = Box::new(move |builder| builder.backend(device));
            Some(Ok(add))
        }
        Err(error) if error.cause() == roving_gpu::Cause::NoDevice => None,
        Err(error) => Some(Err(CommandFailure::Run(error.to_string()))),
    });
    there.collect()
}

fn built(builder: DevicesBuilder) -> Result<Devices, CommandFailure> {
    let built = builder.build();
    built.map_err(|error| BadInput::line(error.to_string()).into())
}
