//! `fft`: the fast Fourier transform of complex doubles, by quarters. The numbers are dealt to
//! four quarters, each is transformed, and the four transforms are combined with coefficients.
//! The quarters are halves of halves that run in parallel, and so are both loops. From 1,024
//! numbers down a transform is leaf code.
//!
//! The coefficients are made beforehand; they are not part of the time.

mod lanes;
mod leaf;
mod plan;
mod task;

use roving::task::{Scope, Task};

use self::lanes::{Coefficients, LANES, Lanes, Quarters, QuartersMut, combine, deal, root};
use self::leaf::small;
use self::plan::{GRAIN, LENGTH_MIN, LengthTables, TransformPlan, TransformShape};
use super::numbers::{Digest, Judged, Noise, ROUNDING};
use super::part::SlicePart;
use super::{RunAnswer, Workload};
use crate::forms::fork_join::{ForkJoin, Serial};
use crate::forms::tasks::BranchOrder;
use crate::io::input::{BadInput, whole_number};
use crate::machine::memory;

/// The greatest length.
const LENGTH_MAX: u64 = 1 << 30;
/// How many frequencies are computed by their definition.
const FREQUENCIES: usize = 16;
/// The definition is summed up in stretches of so many numbers, and these in pairs.
const STRETCH: usize = 256;
/// The size of a number, all arrays together, while a result is verified: data, scratch,
/// coefficients, and two arrays for the inverse.
const NUMBER_BYTES: u64 = 5 * 16;

/// The transform of n numbers.
#[derive(Debug)]
pub(crate) struct Fft {
    length: usize,
    plan: TransformPlan,
    data: Vec<Lanes>,
    scratch: Vec<Lanes>,
    judged: Judged,
}

/// The four quarters of a slice.
fn quarters(whole: &[Lanes]) -> Quarters<'_> {
    let quarter = whole.len() / 4;
    std::array::from_fn(|place| &whole[place * quarter..][..quarter])
}

/// The four quarters, to be written.
fn quarters_mut(whole: &mut [Lanes]) -> QuartersMut<'_> {
    let (low, high) = whole.split_at_mut(whole.len() / 2);
    let ((a, b), (c, d)) = (
        low.split_at_mut(low.len() / 2),
        high.split_at_mut(high.len() / 2),
    );
    [a, b, c, d]
}

/// Each of four slices split at the same place.
fn split_mut(quarters: QuartersMut<'_>, at: usize) -> [QuartersMut<'_>; 2] {
    let [a, b, c, d] = quarters.map(|quarter| quarter.split_at_mut(at));
    [[a.0, b.0, c.0, d.0], [a.1, b.1, c.1, d.1]]
}

/// The transform of `data`, in its place; what is in `scratch` afterwards means nothing.
fn transform<C: ForkJoin>(
    cx: &mut C,
    level: LengthTables<'_>,
    data: &mut [Lanes],
    scratch: &mut [Lanes],
) {
    let (below, coefficients) = match level.shape() {
        TransformShape::Leaf(leaf) => return small(leaf, data, scratch),
        TransformShape::Split(below, coefficients) => (below, coefficients),
    };
    deal_all(cx, data, quarters_mut(scratch));
    let [d0, d1, d2, d3] = quarters_mut(data);
    let [s0, s1, s2, s3] = quarters_mut(scratch);
    cx.join(
        |cx| {
            cx.join(
                |cx| transform(cx, below, s0, d0),
                |cx| transform(cx, below, s1, d1),
            )
        },
        |cx| {
            cx.join(
                |cx| transform(cx, below, s2, d2),
                |cx| transform(cx, below, s3, d3),
            )
        },
    );
    combine_all(cx, coefficients, quarters(scratch), quarters_mut(data));
}

/// [`deal`], in parallel by halves.
fn deal_all<C: ForkJoin>(cx: &mut C, from: &[Lanes], to: QuartersMut<'_>) {
    let count = to[0].len();
    if count <= GRAIN {
        return deal(from, to);
    }
    let (from_low, from_high) = from.split_at(from.len() / 2);
    let [to_low, to_high] = split_mut(to, count / 2);
    cx.join(
        |cx| deal_all(cx, from_low, to_low),
        |cx| deal_all(cx, from_high, to_high),
    );
}

/// [`combine`], in parallel by halves.
fn combine_all<C: ForkJoin>(
    cx: &mut C,
    coefficients: &[Coefficients],
    from: Quarters<'_>,
    to: QuartersMut<'_>,
) {
    let count = coefficients.len();
    if count <= GRAIN {
        return combine(coefficients, from, to);
    }
    let (low, high) = coefficients.split_at(count / 2);
    let from_low = from.map(|quarter| &quarter[..count / 2]);
    let from_high = from.map(|quarter| &quarter[count / 2..]);
    let [to_low, to_high] = split_mut(to, count / 2);
    cx.join(
        |cx| combine_all(cx, low, from_low, to_low),
        |cx| combine_all(cx, high, from_high, to_high),
    );
}

/// The numbers that are transformed: both parts from -1 to 1.
fn input(length: usize) -> impl Iterator<Item = Lanes> {
    let mut noise = Noise::new(21);
    (0..length / LANES).map(move |_| Lanes {
        re: std::array::from_fn(|_| noise.unit()),
        im: std::array::from_fn(|_| noise.unit()),
    })
}

/// The sum that defines one number of a transform, over `numbers`, the first of which is number
/// `first` of `length`.
fn definition(numbers: &[Lanes], first: usize, frequency: usize, length: usize) -> (f64, f64) {
    let count = numbers.len() * LANES;
    if count > STRETCH {
        let (low, high) = numbers.split_at(numbers.len() / 2);
        let one = definition(low, first, frequency, length);
        let other = definition(high, first + low.len() * LANES, frequency, length);
        return (one.0 + other.0, one.1 + other.1);
    }
    let (mut re, mut im) = (0.0, 0.0);
    for place in 0..count {
        // Below 2^60: both are below 2^30.
        let power = (first + place) as u64 * frequency as u64 % length as u64;
        let (cos, sin) = root(power as usize, length);
        let (block, lane) = (&numbers[place / LANES], place % LANES);
        re += block.re[lane] * cos - block.im[lane] * sin;
        im += block.re[lane] * sin + block.im[lane] * cos;
    }
    (re, im)
}

impl Fft {
    /// How far a number of the transform may be from its definition as we compute that. All
    /// numbers are below 2^½, so those of the transform are together n · 2^½ long. A step of the
    /// transform rounds by 32 ROUNDING of that at most, coefficients included; each term of the
    /// sum by 48 ROUNDING, and the sum by as many as are added one after the other.
    fn bound(&self) -> f64 {
        let steps = f64::from(self.length.ilog2());
        let terms = STRETCH as f64 + steps + 48.0;
        self.length as f64 * std::f64::consts::SQRT_2 * ROUNDING * (32.0 * steps + terms)
    }

    /// At how many of the frequencies that are looked at the transform is right.
    fn frequencies_right(&self) -> u64 {
        let original: Vec<Lanes> = input(self.length).collect();
        let bound = self.bound();
        let mut noise = Noise::new(22);
        let check = |which: usize| {
            // The first two always, the others by chance.
            let frequency = if which < 2 {
                which
            } else {
                noise.below(self.length)
            };
            let (re, im) = definition(&original, 0, frequency, self.length);
            let (found, lane) = (&self.data[frequency / LANES], frequency % LANES);
            let distance = (found.re[lane] - re).hypot(found.im[lane] - im);
            u64::from(distance <= bound)
        };
        (0..FREQUENCIES).map(check).sum()
    }

    /// How many numbers the inverse transform puts back where they were. What two transforms
    /// rounded spreads over all numbers, and one may get it all.
    fn numbers_restored(&self) -> u64 {
        let mut data: Vec<Lanes> = self.data.iter().map(|lanes| lanes.exchanged()).collect();
        let mut scratch = vec![Lanes::default(); data.len()];
        transform(&mut Serial, self.plan.level(), &mut data, &mut scratch);
        let length = self.length as f64;
        let steps = 2.0 * f64::from(self.length.ilog2());
        let bound = 32.0 * steps * ROUNDING * (2.0 * length).sqrt();
        let restored = data.iter().zip(input(self.length)).map(|(found, wanted)| {
            let found = found.exchanged();
            let near = |lane: &usize| {
                let re = found.re[*lane] / length - wanted.re[*lane];
                let im = found.im[*lane] / length - wanted.im[*lane];
                re.hypot(im) <= bound
            };
            (0..LANES).filter(near).count() as u64
        });
        restored.sum()
    }
}

/// Reads `1048576`, `1M`, `64K` and `2^20`.
fn parse_length(input: &str) -> Option<u64> {
    let text = input.trim();
    let scaled = |digits: &str, shift: u32| whole_number(digits)?.checked_mul(1 << shift);
    let length = match (
        text.strip_suffix('M'),
        text.strip_suffix('K'),
        text.strip_prefix("2^"),
    ) {
        (Some(digits), _, _) => scaled(digits, 20),
        (_, Some(digits), _) => scaled(digits, 10),
        (_, _, Some(power)) => 1u64.checked_shl(u32::try_from(whole_number(power)?).ok()?),
        _ => whole_number(text),
    };
    let range = LENGTH_MIN as u64..=LENGTH_MAX;
    length.filter(|length| range.contains(length) && length.is_power_of_two())
}

impl Workload for Fft {
    const NAME: &'static str = "fft";
    const ABOUT: &'static str = "fast Fourier transform of complex doubles by quarters";
    const INPUTS: &'static [(&'static str, &'static str)] = &[
        ("1M", "1,048,576 numbers, 16 MiB an array"),
        ("64K", "65,536 numbers"),
        ("8M", "8,388,608 numbers, as BOTS' test input"),
        ("32M", "33,554,432 numbers, as in StackThreads/MP's paper"),
        ("64M", "67,108,864 numbers, as in the paper"),
    ];
    const PARAMS: &'static str =
        "numbers, a power of two from 16 to 2^30, as 1048576, 1M, 1024K or 2^20";
    const ITEMS: &'static str = "numbers";
    const FIGURES: &'static [&'static str] = &["frequencies right", "numbers restored", "checksum"];

    fn parse(input: &str) -> Result<Self, BadInput> {
        let length = parse_length(input).ok_or_else(|| {
            let allowed = "a power of two from 16 to 2^30";
            BadInput::new("fft input", input, allowed, "take fft 1M")
        })?;
        memory::require(Self::NAME, input, length * NUMBER_BYTES, "take fft 1M")?;
        let length = length as usize;
        let zeros = || vec![Lanes::default(); length / LANES];
        Ok(Fft {
            length,
            plan: TransformPlan::new(length),
            data: zeros(),
            scratch: zeros(),
            judged: Judged::default(),
        })
    }

    fn input(&self) -> String {
        self.length.to_string()
    }

    fn prepare(&mut self) {
        let numbers = self.data.iter_mut().zip(input(self.length));
        numbers.for_each(|(data, lanes)| *data = lanes);
    }

    fn run<C: ForkJoin>(&mut self, cx: &mut C) {
        transform(cx, self.plan.level(), &mut self.data, &mut self.scratch);
    }

    fn task<'scope, O: BranchOrder>(
        &'scope mut self,
        scope: Scope<'scope>,
    ) -> impl Task<()> + 'scope {
        async move {
            let (data, scratch) = (
                SlicePart::new(&mut self.data),
                SlicePart::new(&mut self.scratch),
            );
            task::transform::<O>(scope, self.plan.level(), data, scratch).await;
        }
    }

    fn run_serial(&mut self) {
        self.run(&mut Serial);
    }

    fn answer(&self) -> RunAnswer {
        let mut digest = Digest::default();
        for lanes in &self.data {
            digest.numbers(&lanes.re);
            digest.numbers(&lanes.im);
        }
        let judge = || [self.frequencies_right(), self.numbers_restored()];
        self.judged.answer(digest.value(), judge)
    }

    fn demanded(&self) -> Vec<u64> {
        vec![FREQUENCIES as u64, self.length as u64]
    }

    fn items(&self, _: &RunAnswer) -> u64 {
        self.length as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forms::fork_join::{Counting, Roving};

    fn done(input: &str) -> Fft {
        let mut work = Fft::parse(input).unwrap();
        work.prepare();
        work.run_serial();
        work
    }

    #[test]
    fn every_frequency_is_right_at_every_length() {
        for power in 4..=13 {
            let work = done(&format!("2^{power}"));
            let original: Vec<Lanes> = input(work.length).collect();
            // All of them where that is quick.
            for frequency in (0..work.length).step_by(1.max(work.length / 64)) {
                let (re, im) = definition(&original, 0, frequency, work.length);
                let (found, lane) = (work.data[frequency / LANES], frequency % LANES);
                let distance = (found.re[lane] - re).hypot(found.im[lane] - im);
                assert!(distance <= 1e-10, "2^{power}, {frequency}: {distance}");
            }
            assert_eq!(work.answer().0[..2], work.demanded()[..], "2^{power}");
        }
    }

    #[test]
    fn a_wrong_number_is_found() {
        let mut work = done("4096");
        let right = work.answer();
        for change in [1e-3, -1e-3, f64::NAN] {
            let was = work.data[700].im[3];
            work.data[700].im[3] += change;
            let wrong = work.answer();
            assert!(
                wrong.0[1] < right.0[1] && wrong.0[2] != right.0[2],
                "{change}"
            );
            work.data[700].im[3] = was;
        }
        work.data[0].re[0] -= 1.0;
        assert_eq!(work.answer().0[0], right.0[0] - 1);
    }

    #[test]
    fn in_a_pool_and_by_joins() {
        let pool = roving::Pool::builder().workers(3).build().unwrap();
        let mut work = done("64K");
        let serial = work.answer();
        work.prepare();
        let mut cx = Counting::default();
        work.run(&mut cx);
        // 64 transforms of 1,024. At each of the three lengths above, quarters are joined by
        // three; loops over 4,096, 1,024 and 256 lanes are split into 8, 2 and 1, twice.
        assert_eq!(cx.spawns, 3 * (1 + 4 + 16) + 2 * (7 + 4));
        work.prepare();
        pool.install(|| work.run(&mut Roving));
        assert_eq!(work.answer(), serial);
    }

    #[test]
    fn lengths_are_read_as_people_write_them() {
        for (text, length) in [
            ("1M", 1 << 20),
            ("64K", 1 << 16),
            ("2^20", 1 << 20),
            ("16", 16),
        ] {
            assert_eq!(parse_length(text), Some(length));
        }
        for bad in ["8", "1000", "2^31", "2^99", "M", "3K", "-16", "x"] {
            let error = Fft::parse(bad).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{bad}`")) && error.contains("power of two"),
                "{error}"
            );
        }
    }
}
