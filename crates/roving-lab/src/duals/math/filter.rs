//! A filter that smooths a picture and keeps its edges, in whole numbers, so that both sides find
//! the same.

use crate::workloads::simd::{self, Kernel};

/// A picture with this filter's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    /// Columns.
    pub(crate) width: usize,
    /// Rows.
    pub(crate) height: usize,
    /// How far a pixel sees in each direction.
    pub(crate) radius: usize,
    /// By how much the luma of two pixels must differ to have nothing to do with each other; not 0.
    pub(crate) threshold: u32,
}

/// Filters `source` into `target`, pixels of red, green, blue and alpha from the lowest byte up.
pub(crate) fn filter(what: Filter, source: &[u32], target: &mut [u32]) {
    simd::run(FilterRun {
        what,
        source,
        target,
    });
}

struct FilterRun<'a> {
    what: Filter,
    source: &'a [u32],
    target: &'a mut [u32],
}

/// How bright a pixel is.
#[inline(always)]
fn luma([red, green, blue]: [i32; 3]) -> i32 {
    (red + 2 * green + blue) / 4
}

#[inline(always)]
fn channels(pixel: u32) -> [i32; 3] {
    std::array::from_fn(|place| (pixel >> (8 * place) & 255) as i32)
}

/// The rows of a picture with its edges repeated: luma, red, green and blue of each pixel.
struct Padded {
    step: usize,
    planes: [Vec<i32>; 4],
}

impl Padded {
    #[inline(always)]
    fn new(what: Filter, source: &[u32]) -> Padded {
        let Filter {
            width,
            height,
            radius,
            ..
        } = what;
        let (step, rows) = (width + 2 * radius, height + 2 * radius);
        let mut planes: [Vec<i32>; 4] = std::array::from_fn(|_| Vec::with_capacity(step * rows));
        for row in 0..rows {
            let row = row.saturating_sub(radius).min(height - 1);
            for column in 0..step {
                let column = column.saturating_sub(radius).min(width - 1);
                let colours = channels(source[row * width + column]);
                planes[0].push(luma(colours));
                for (plane, colour) in planes[1..].iter_mut().zip(colours) {
                    plane.push(colour);
                }
            }
        }
        Padded { step, planes }
    }
}

impl Kernel for FilterRun<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Filter {
            width,
            height,
            radius,
            threshold,
        } = self.what;
        if width == 0 || height == 0 {
            return;
        }
        let padded = Padded::new(self.what, self.source);
        // The sum of weights, and of weighted colours, of each pixel of a row.
        let mut sums: [Vec<i32>; 4] = std::array::from_fn(|_| vec![0; width]);
        let rows = self.target.chunks_mut(width).zip(self.source.chunks(width));
        for (row, (target, source)) in rows.enumerate() {
            sums.iter_mut().for_each(|sums| sums.fill(0));
            let middle = (row + radius) * padded.step + radius;
            for down in 0..=2 * radius {
                for right in 0..=2 * radius {
                    let from = (row + down) * padded.step + right;
                    add(&padded, threshold as i32, middle, from, &mut sums);
                }
            }
            for (column, (target, source)) in target.iter_mut().zip(source).enumerate() {
                let all = sums[0][column];
                let mut pixel = source & 0xff00_0000;
                for (place, sums) in sums[1..].iter().enumerate() {
                    pixel |= (((sums[column] + all / 2) / all) as u32) << (8 * place);
                }
                *target = pixel;
            }
        }
    }
}

/// Adds one neighbour of each pixel of a row, which begins at `middle`; the neighbours at `from`.
#[inline(always)]
fn add(padded: &Padded, threshold: i32, middle: usize, from: usize, sums: &mut [Vec<i32>; 4]) {
    let [all, red, green, blue] = sums;
    let width = all.len();
    let [luma, reds, greens, blues] = &padded.planes;
    let here = &luma[middle..][..width];
    let (there, reds) = (&luma[from..][..width], &reds[from..][..width]);
    let (greens, blues) = (&greens[from..][..width], &blues[from..][..width]);
    let (red, green, blue) = (&mut red[..width], &mut green[..width], &mut blue[..width]);
    for column in 0..width {
        let weight = (threshold - (there[column] - here[column]).abs()).max(0);
        all[column] += weight;
        red[column] += weight * reds[column];
        green[column] += weight * greens[column];
        blue[column] += weight * blues[column];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::numbers::Noise;

    /// Pixel by pixel, as the definition says.
    fn plainly(what: Filter, source: &[u32]) -> Vec<u32> {
        let radius = what.radius as isize;
        let at = |row: isize, column: isize| {
            let row = row.clamp(0, what.height as isize - 1) as usize;
            let column = column.clamp(0, what.width as isize - 1) as usize;
            source[row * what.width + column]
        };
        let pixel = |place: usize| {
            let (row, column) = ((place / what.width) as isize, (place % what.width) as isize);
            let middle = luma(channels(at(row, column)));
            let mut sums = [0; 4];
            for down in -radius..=radius {
                for right in -radius..=radius {
                    let there = channels(at(row + down, column + right));
                    let weight = (what.threshold as i32 - (luma(there) - middle).abs()).max(0);
                    sums[3] += weight;
                    for place in 0..3 {
                        sums[place] += weight * there[place];
                    }
                }
            }
            let [red, green, blue] =
                std::array::from_fn(|place| ((sums[place] + sums[3] / 2) / sums[3]) as u32);
            red | green << 8 | blue << 16 | source[place] & 0xff00_0000
        };
        (0..source.len()).map(pixel).collect()
    }

    #[test]
    fn the_fast_form_is_the_plain_one() {
        let mut noise = Noise::new(8);
        for (width, height, radius) in [(1, 1, 2), (7, 5, 1), (20, 13, 3), (3, 40, 4)] {
            let source: Vec<u32> = (0..width * height).map(|_| noise.bits() as u32).collect();
            let what = Filter {
                width,
                height,
                radius,
                threshold: 60,
            };
            let mut target = vec![0; source.len()];
            filter(what, &source, &mut target);
            assert_eq!(target, plainly(what, &source), "{what:?}");
        }
    }

    #[test]
    fn a_plain_picture_stays_and_so_does_alpha() {
        let source = [0x8012_3456; 12];
        let mut target = [0; 12];
        let what = Filter {
            width: 4,
            height: 3,
            radius: 2,
            threshold: 10,
        };
        filter(what, &source, &mut target);
        assert_eq!(target, source);
    }
}
