//! The Mandelbrot set on a rectangle of points.

use crate::workloads::simd::{self, Kernel};

/// A rectangle of the complex plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rectangle {
    /// The real part of the first column.
    pub(crate) left: f32,
    /// The imaginary part of the first row.
    pub(crate) top: f32,
    /// From column to column, and from row to row.
    pub(crate) step: f32,
    /// Columns.
    pub(crate) width: usize,
    /// Rows.
    pub(crate) height: usize,
}

/// How often z = z² + c stays within |z|² ≤ 4 at each point c, at most `most` times.
pub(crate) fn escapes(rectangle: Rectangle, most: u32, counts: &mut [u32]) {
    simd::run(Escapes {
        rectangle,
        most,
        counts,
    });
}

struct Escapes<'a> {
    rectangle: Rectangle,
    most: u32,
    counts: &'a mut [u32],
}

/// Points that are looked at side by side.
const LANES: usize = 8;

impl Kernel for Escapes<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let Rectangle {
            left,
            top,
            step,
            width,
            ..
        } = self.rectangle;
        for (row, counts) in self.counts.chunks_mut(width).enumerate() {
            let y = top + row as f32 * step;
            for (group, counts) in counts.chunks_mut(LANES).enumerate() {
                let x = std::array::from_fn(|lane| left + (group * LANES + lane) as f32 * step);
                let found = lanes(x, y, self.most);
                counts.copy_from_slice(&found[..counts.len()]);
            }
        }
    }
}

#[inline(always)]
fn lanes(x: [f32; LANES], y: f32, most: u32) -> [u32; LANES] {
    let (mut real, mut imaginary) = ([0.0_f32; LANES], [0.0_f32; LANES]);
    let mut counts = [0_u32; LANES];
    let mut within = [1_u32; LANES];
    for _ in 0..most {
        let mut any = 0;
        for lane in 0..LANES {
            let (a, b) = (real[lane], imaginary[lane]);
            let next = (a * a - b * b + x[lane], 2.0 * a * b + y);
            within[lane] &= u32::from(next.0 * next.0 + next.1 * next.1 <= 4.0);
            (real[lane], imaginary[lane]) = next;
            counts[lane] += within[lane];
            any |= within[lane];
        }
        if any == 0 {
            break;
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_within_and_without() {
        let mut counts = [0; 18];
        // -2 … 2 in columns of 0.5, and a row of imaginary part 0, then one of 0.5.
        let rectangle = Rectangle {
            left: -2.0,
            top: 0.0,
            step: 0.5,
            width: 9,
            height: 2,
        };
        escapes(rectangle, 50, &mut counts);
        // z = c, then c² + c: 2 is on the border and then outside; 0.5: 0.5, 0.75, 1.0625, 1.63,
        // 3.15.
        assert_eq!(counts[..9], [50, 50, 50, 50, 50, 4, 2, 1, 1]);
        // 0.5 i never leaves.
        assert_eq!(counts[9 + 4], 50);
    }

    #[test]
    fn each_point_is_as_it_is_alone() {
        let rectangle = Rectangle {
            left: -0.8,
            top: 0.1,
            step: 0.003,
            width: 13,
            height: 5,
        };
        let mut counts = [0; 65];
        escapes(rectangle, 500, &mut counts);
        for (place, count) in counts.into_iter().enumerate() {
            let x = rectangle.left + (place % 13) as f32 * rectangle.step;
            let y = rectangle.top + (place / 13) as f32 * rectangle.step;
            let (mut a, mut b, mut want) = (0.0_f32, 0.0_f32, 0);
            while want < 500 {
                (a, b) = (a * a - b * b + x, 2.0 * a * b + y);
                if a * a + b * b > 4.0 {
                    break;
                }
                want += 1;
            }
            assert_eq!(count, want, "{x} {y}");
        }
    }
}
