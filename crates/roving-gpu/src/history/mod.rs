//! The measured times of tasks, by kind, size and side; kept between runs.

pub(crate) mod file;
pub(crate) mod kind;
pub(crate) mod law;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use law::{Law, SECONDS_MAX, Took};
use serde::{Deserialize, Serialize};

/// The measurements of one side of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Known {
    /// Nothing was measured, and nothing is being measured.
    Nothing,
    /// The first measurement has been going on for so long.
    AtLeast(f64),
    Measured(Took),
}

impl Known {
    /// As far as it is known.
    pub(crate) fn took(self) -> Took {
        let same = |seconds| Took {
            mean: seconds,
            most: seconds,
        };
        match self {
            Known::Nothing => same(0.0),
            Known::AtLeast(seconds) => same(seconds),
            Known::Measured(took) => took,
        }
    }
}

/// Where something was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MeasuredSide<'a> {
    Cpu,
    Device(&'a str),
}

impl MeasuredSide<'_> {
    /// A device may have any name, also that of the other side.
    fn key(&self) -> &str {
        match self {
            MeasuredSide::Cpu => "cpu",
            MeasuredSide::Device("cpu") => "cpu (device)",
            MeasuredSide::Device(name) => name,
        }
    }
}

/// So few samples are not quite trusted: the first one may have been that of a cold start.
const SAMPLES_FEW: u32 = 3;
/// A side that lost is measured again when the other one has done so many times as much.
const SPENT: f64 = 20.0;

/// A direction of transfers, and what they take: so much each, and so much for each byte.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TransferLine {
    count: f64,
    bytes: f64,
    seconds: f64,
    bytes_squared: f64,
    product: f64,
}

/// The assumed speed of transfers before any was measured.
const BYTES_PER_S_GUESS: f64 = 4e9;
const TRANSFER_S_GUESS: f64 = 20e-6;
/// So much of what is known is left when something is added to it.
const MEMORY: f64 = 0.98;

impl TransferLine {
    pub(crate) fn record(&mut self, bytes: f64, seconds: f64) {
        if !(bytes > 0.0 && seconds >= 0.0 && seconds.is_finite()) {
            return;
        }
        for (sum, new) in [
            (&mut self.count, 1.0),
            (&mut self.bytes, bytes),
            (&mut self.seconds, seconds),
            (&mut self.bytes_squared, bytes * bytes),
            (&mut self.product, bytes * seconds),
        ] {
            *sum = *sum * MEMORY + new;
        }
    }

    /// The line of least squares; through the origin where it would not rise, or would start below
    /// zero.
    pub(crate) fn seconds(&self, bytes: f64) -> f64 {
        self.on_line(bytes).min(SECONDS_MAX)
    }

    fn on_line(&self, bytes: f64) -> f64 {
        if bytes <= 0.0 {
            return 0.0;
        }
        if self.count == 0.0 {
            return TRANSFER_S_GUESS + bytes / BYTES_PER_S_GUESS;
        }
        let spread = self.count * self.bytes_squared - self.bytes * self.bytes;
        if spread > 1e-6 * self.bytes * self.bytes {
            let slope = (self.count * self.product - self.bytes * self.seconds) / spread;
            let start = (self.seconds - slope * self.bytes) / self.count;
            if slope >= 0.0 && start >= 0.0 {
                return start + slope * bytes;
            }
        }
        self.seconds / self.bytes * bytes
    }

    pub(crate) fn is_sound(&self) -> bool {
        let sums = [
            self.count,
            self.bytes,
            self.seconds,
            self.bytes_squared,
            self.product,
        ];
        // Bytes without transfers, or transfers without bytes, would be divided by.
        let both = (self.count > 0.0) == (self.bytes > 0.0);
        both && sums.iter().all(|sum| sum.is_finite() && *sum >= 0.0)
    }
}

/// The measurements that are kept between runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    /// By kind, then by side: `cpu`, or the name of a device.
    pub(crate) kinds: BTreeMap<String, BTreeMap<String, Law>>,
    /// By device: to it, and from it.
    pub(crate) transfers: BTreeMap<String, [TransferLine; 2]>,
}

#[derive(Debug, Default)]
struct Bookkeeping {
    measured: Measured,
    /// The time spent by kind: on the CPU, and on devices, since the other side was measured last.
    spent: HashMap<String, [f64; 2]>,
    /// First measurements that are going on: how many, and since when.
    under_way: HashMap<(String, String), (u32, Instant)>,
}

/// The measurements of all devices of a program.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<Bookkeeping>);

impl History {
    pub(crate) fn new(measured: Measured) -> Self {
        History(Mutex::new(Bookkeeping {
            measured,
            spent: HashMap::new(),
            under_way: HashMap::new(),
        }))
    }

    fn lock(&self) -> MutexGuard<'_, Bookkeeping> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn measured(&self) -> Measured {
        self.lock().measured.clone()
    }

    /// Returns the measured time of so much work of that kind on that side.
    pub(crate) fn known(&self, kind: &str, side: MeasuredSide<'_>, work: f64) -> Known {
        let inside = self.lock();
        let law = inside.law(kind, side.key());
        if let Some(took) = law.and_then(|law| law.seconds(work)) {
            return Known::Measured(took);
        }
        if inside.under_way.is_empty() {
            return Known::Nothing;
        }
        match inside.under_way.get(&key(kind, side)) {
            Some((_, since)) => Known::AtLeast(since.elapsed().as_secs_f64()),
            None => Known::Nothing,
        }
    }

    /// A task is to be the first that is measured there: false if one was measured before, or is
    /// being measured. If not, its end must be told.
    pub(crate) fn begin_first(&self, kind: &str, side: MeasuredSide<'_>) -> bool {
        let mut inside = self.lock();
        let is_under_way = inside.under_way.contains_key(&key(kind, side));
        !is_under_way && inside.begin(kind, side)
    }

    /// A task begins there. The sign says whether its end must be told, too.
    pub(crate) fn begin(&self, kind: &str, side: MeasuredSide<'_>) -> bool {
        self.lock().begin(kind, side)
    }

    /// Ends a measurement for which `begin` or `begin_first` returned true, whether it has ended or
    /// failed.
    pub(crate) fn end(&self, kind: &str, side: MeasuredSide<'_>) {
        let mut inside = self.lock();
        let key = key(kind, side);
        if let Some((count, _)) = inside.under_way.get_mut(&key) {
            *count -= 1;
            if *count == 0 {
                inside.under_way.remove(&key);
            }
        }
    }

    /// Whether a side that never won since its first samples is to be tried once more. It takes so
    /// many seconds of everybody, and that is a twentieth of what was spent at most.
    pub(crate) fn is_due(&self, kind: &str, side: MeasuredSide<'_>, seconds: f64) -> bool {
        let inside = self.lock();
        let (Some(law), Some(spent)) = (inside.law(kind, side.key()), inside.spent.get(kind))
        else {
            return false;
        };
        let samples: u32 = law.means().map(|(samples, ..)| samples).sum();
        let other = spent[usize::from(side == MeasuredSide::Cpu)];
        samples < SAMPLES_FEW && other >= SPENT * seconds
    }

    pub(crate) fn record(&self, kind: &str, side: MeasuredSide<'_>, work: f64, seconds: f64) {
        let mut inside = self.lock();
        inside.spend(kind, side, seconds);
        let kinds = &mut inside.measured.kinds;
        if !kinds.contains_key(kind) {
            kinds.insert(kind.to_owned(), BTreeMap::new());
        }
        if let Some(sides) = kinds.get_mut(kind) {
            if !sides.contains_key(side.key()) {
                sides.insert(side.key().to_owned(), Law::default());
            }
            if let Some(law) = sides.get_mut(side.key()) {
                law.record(work, seconds);
            }
        }
    }

    /// Tasks of the kind took so many seconds on that side, and nobody measured how long each took.
    pub(crate) fn spend(&self, kind: &str, side: MeasuredSide<'_>, seconds: f64) {
        self.lock().spend(kind, side, seconds);
    }

    /// How many tasks of the kind and about that work were measured on that side.
    pub(crate) fn samples(&self, kind: &str, side: MeasuredSide<'_>, work: f64) -> u32 {
        let inside = self.lock();
        let law = inside.law(kind, side.key());
        law.map_or(0, |law| law.samples(work))
    }

    /// A transfer has ended; `direction` 0 is to the device.
    pub(crate) fn record_transfer(&self, device: &str, direction: usize, bytes: f64, seconds: f64) {
        let mut inside = self.lock();
        let lines = inside.measured.transfers.entry(device.to_owned());
        lines.or_default()[direction].record(bytes, seconds);
    }

    /// Returns the expected time of a transfer.
    pub(crate) fn transfer_s(&self, device: &str, direction: usize, bytes: f64) -> f64 {
        let inside = self.lock();
        match inside.measured.transfers.get(device) {
            Some(lines) => lines[direction].seconds(bytes),
            None => TransferLine::default().seconds(bytes),
        }
    }
}

/// The key of a measurement that is under way.
fn key(kind: &str, side: MeasuredSide<'_>) -> (String, String) {
    (kind.to_owned(), side.key().to_owned())
}

impl Bookkeeping {
    /// One more is under way, if none was measured. Whether it is.
    fn begin(&mut self, kind: &str, side: MeasuredSide<'_>) -> bool {
        let begins = self.law(kind, side.key()).is_none();
        if begins {
            let since = || (0, Instant::now());
            self.under_way
                .entry(key(kind, side))
                .or_insert_with(since)
                .0 += 1;
        }
        begins
    }

    fn spend(&mut self, kind: &str, side: MeasuredSide<'_>, seconds: f64) {
        if !self.spent.contains_key(kind) {
            self.spent.insert(kind.to_owned(), [0.0; 2]);
        }
        if let Some(spent) = self.spent.get_mut(kind) {
            let at = usize::from(side != MeasuredSide::Cpu);
            spent[at] += seconds;
            spent[1 - at] = 0.0;
        }
    }

    fn law(&self, kind: &str, side: &str) -> Option<&Law> {
        self.measured.kinds.get(kind)?.get(side)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_measurement_is_seen_while_it_goes_on() {
        let history = History::default();
        assert_eq!(history.known("a", MeasuredSide::Cpu, 1.0), Known::Nothing);
        assert!(
            history.begin_first("a", MeasuredSide::Cpu) && history.begin("a", MeasuredSide::Cpu)
        );
        assert!(!history.begin_first("a", MeasuredSide::Cpu));
        assert!(matches!(
            history.known("a", MeasuredSide::Cpu, 1.0),
            Known::AtLeast(_)
        ));
        assert_eq!(
            history.known("a", MeasuredSide::Device("d"), 1.0),
            Known::Nothing
        );
        history.record("a", MeasuredSide::Cpu, 1.0, 0.5);
        (0..2).for_each(|_| history.end("a", MeasuredSide::Cpu));
        assert_eq!(history.known("a", MeasuredSide::Cpu, 1.0).took().mean, 0.5);
        assert!(
            !history.begin_first("a", MeasuredSide::Cpu) && !history.begin("a", MeasuredSide::Cpu)
        );
    }

    #[test]
    fn a_device_by_the_name_of_the_other_side_is_another() {
        let (history, device) = (History::default(), MeasuredSide::Device("cpu"));
        history.record("a", device, 1.0, 0.5);
        assert_eq!(history.known("a", MeasuredSide::Cpu, 1.0), Known::Nothing);
        assert_eq!(history.known("a", device, 1.0).took().mean, 0.5);
        assert!(history.begin_first("a", MeasuredSide::Cpu));
    }

    #[test]
    fn a_side_that_lost_at_first_gets_another_chance_when_that_is_cheap() {
        let history = History::default();
        let device = MeasuredSide::Device("d");
        history.record("a", device, 1.0, 10.0);
        let mut tried = Vec::new();
        for task in 0..2_000 {
            if history.is_due("a", device, 10.0) {
                tried.push(task);
                history.record("a", device, 1.0, 10.0);
            } else {
                history.record("a", MeasuredSide::Cpu, 1.0, 1.0);
            }
        }
        // Twice, each time after twenty times as much.
        assert_eq!(tried, [200, 401]);
        assert!(!history.is_due("a", MeasuredSide::Cpu, 1.0));
    }

    #[test]
    fn transfers_take_so_much_each_and_so_much_a_byte() {
        let mut line = TransferLine::default();
        assert!(line.seconds(4e9) > 1.0 && line.is_sound());
        let odd = |count, bytes| TransferLine {
            count,
            bytes,
            ..TransferLine::default()
        };
        assert!(!odd(1.0, 0.0).is_sound() && !odd(0.0, 1.0).is_sound());
        for bytes in [1e3, 1e6, 1e5] {
            line.record(bytes, 1e-3 + bytes / 1e9);
        }
        assert!((line.seconds(5e5) - 1.5e-3).abs() < 1e-9);
        assert_eq!(line.seconds(0.0), 0.0);
        let mut one = TransferLine::default();
        one.record(1e3, 1e-3);
        assert!((one.seconds(2e3) - 2e-3).abs() < 1e-12);
        one.record(1.0, f64::MAX / 4.0);
        assert_eq!(one.seconds(1e9), SECONDS_MAX);
    }
}
