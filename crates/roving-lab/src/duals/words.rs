//! The argument of `--device`: which devices there are to be, and how the side of each task is
//! chosen.

use crate::io::input::{BadInput, number_in};

/// Where devices come from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum DeviceSource {
    /// The devices that this binary was built for and this machine has.
    #[default]
    Found,
    /// No device, and no look for one.
    None,
    /// One that is simulated.
    Simulated(Simulation),
    /// Those of one library only. There is no word for it: a row of the results asks for it.
    Only(Library),
}

/// By what a device is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Library {
    /// Vulkan, Metal or DirectX 12, by wgpu.
    Wgpu,
    /// CUDA.
    Cuda,
}

/// A device that is simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Simulation {
    /// How many times as fast as the CPU side of one worker.
    pub(crate) ratio: f64,
    /// The size of its memory.
    pub(crate) memory_bytes: Option<u64>,
    /// Between host and device.
    pub(crate) bytes_per_s: Option<f64>,
    /// The submission, counted from 0, at which it is lost.
    pub(crate) fail_at: Option<u64>,
    /// How many there are of it, with links between them. Of several only the first is lost.
    pub(crate) devices: usize,
}

impl Simulation {
    /// One, with as much memory as is wanted, and transfers that take no time.
    pub(crate) fn new(ratio: f64) -> Simulation {
        Simulation {
            ratio,
            memory_bytes: None,
            bytes_per_s: None,
            fail_at: None,
            devices: 1,
        }
    }
}

/// On which side a task runs that has both.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum SideWord {
    /// Where it is expected to end first.
    #[default]
    Auto,
    /// On the CPU.
    Cpu,
    /// On a device.
    Gpu,
    /// This share of the work on a device.
    Split(f64),
}

/// All of `--device`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Wanted {
    /// Which devices.
    pub(crate) source: DeviceSource,
    /// Which side.
    pub(crate) side: SideWord,
}

/// The allowed arguments, for the error.
const ALLOWED: &str = "auto, none, cpu, gpu, split:SHARE with a share from 0 to 1, or sim:RATIO with a ratio \
    from 0.01 to 1000, and after a comma one of auto, cpu, gpu, split:SHARE, memory:MIB, rate:MIB_PER_S, fail:N, devices:N";
const REMEDY: &str = "take auto, or sim:10 to see a device where there is none";

impl Wanted {
    /// Reads `--device`.
    pub(crate) fn parse(text: &str) -> Result<Wanted, BadInput> {
        let refuse = || BadInput::new("--device", text, ALLOWED, REMEDY);
        let mut words = text.split(',').map(str::trim);
        let first = words.next().unwrap_or_default();
        let mut wanted = Wanted::default();
        match first.split_once(':') {
            None if first == "none" => wanted.source = DeviceSource::None,
            Some(("sim", ratio)) => {
                let ratio = number(ratio, 0.01, 1000.0).ok_or_else(refuse)?;
                let mut simulation = Simulation::new(ratio);
                for word in words.by_ref() {
                    if !simulation.set(word)? {
                        wanted.side = SideWord::parse(word).ok_or_else(refuse)?;
                    }
                }
                wanted.source = DeviceSource::Simulated(simulation);
            }
            _ => wanted.side = SideWord::parse(first).ok_or_else(refuse)?,
        }
        match words.next() {
            Some(_) => Err(refuse()),
            None => Ok(wanted),
        }
    }

    /// In the words that are read.
    pub(crate) fn text(&self) -> String {
        let side = match self.side {
            SideWord::Auto => "auto".to_owned(),
            SideWord::Cpu => "cpu".to_owned(),
            SideWord::Gpu => "gpu".to_owned(),
            SideWord::Split(share) => format!("split:{share}"),
        };
        match self.source {
            DeviceSource::Found | DeviceSource::Only(_) => side,
            DeviceSource::None => "none".to_owned(),
            DeviceSource::Simulated(simulation) => simulation.text(&side),
        }
    }
}

impl SideWord {
    fn parse(word: &str) -> Option<SideWord> {
        match word.split_once(':') {
            None => match word {
                "auto" => Some(SideWord::Auto),
                "cpu" => Some(SideWord::Cpu),
                "gpu" => Some(SideWord::Gpu),
                _ => None,
            },
            Some(("split", share)) => number(share, 0.0, 1.0).map(SideWord::Split),
            Some(_) => None,
        }
    }
}

impl Simulation {
    /// Whether `word` was about the device; if so, it is set.
    fn set(&mut self, word: &str) -> Result<bool, BadInput> {
        let Some((key, value)) = word.split_once(':') else {
            return Ok(false);
        };
        let read = |range, remedy| number_in(&format!("--device {key}"), value, range, remedy);
        match key {
            "memory" => {
                let mebibytes = read(0..=1 << 30, "leave it out for as much as is wanted")?;
                self.memory_bytes = Some(mebibytes << 20);
            }
            "rate" => {
                let mebibytes = read(1..=1 << 30, "leave it out for transfers that take no time")?;
                self.bytes_per_s = Some((mebibytes << 20) as f64);
            }
            "fail" => {
                self.fail_at = Some(read(
                    0..=1 << 40,
                    "leave it out for a device that does not",
                )?)
            }
            "devices" => self.devices = read(1..=16, "leave it out for one")? as usize,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn text(&self, side: &str) -> String {
        let mut text = format!("sim:{}", self.ratio);
        if side != "auto" {
            text.push_str(&format!(",{side}"));
        }
        if let Some(bytes) = self.memory_bytes {
            text.push_str(&format!(",memory:{}", bytes >> 20));
        }
        if let Some(rate) = self.bytes_per_s {
            text.push_str(&format!(",rate:{}", rate as u64 >> 20));
        }
        if let Some(submission) = self.fail_at {
            text.push_str(&format!(",fail:{submission}"));
        }
        if self.devices > 1 {
            text.push_str(&format!(",devices:{}", self.devices));
        }
        text
    }
}

/// A plain decimal number in a range.
fn number(text: &str, least: f64, most: f64) -> Option<f64> {
    let plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = plain.then(|| text.parse().ok()).flatten()?;
    (least..=most).contains(&number).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_written_alike() {
        for text in [
            "auto",
            "none",
            "cpu",
            "gpu",
            "split:0.3",
            "split:0",
            "sim:10",
            "sim:0.1,gpu",
            "sim:3,split:1,memory:64,rate:100,fail:7,devices:2",
        ] {
            let wanted = Wanted::parse(text).unwrap();
            assert_eq!(wanted.text(), text);
        }
        let DeviceSource::Simulated(simulation) =
            Wanted::parse("sim:3,memory:2,rate:1").unwrap().source
        else {
            panic!("it is simulated");
        };
        assert_eq!(simulation.memory_bytes, Some(2 << 20));
        assert_eq!(simulation.bytes_per_s, Some(1_048_576.0));
    }

    #[test]
    fn others_are_named_in_one_line() {
        for text in [
            "",
            "fast",
            "split:1.1",
            "split:-1",
            "split:x",
            "sim:0",
            "sim:1e9",
            "sim:nan",
            "none,gpu",
            "gpu,cpu",
            "sim:10,fast",
            "sim:10,memory:x",
            "sim:10,devices:0",
            "sim:10,devices:17",
            "auto,fail:3",
        ] {
            let line = Wanted::parse(text).unwrap_err().to_string();
            assert!(line.contains('`') && !line.contains('\n'), "{text}: {line}");
        }
    }
}
