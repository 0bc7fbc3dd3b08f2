//! Bodies that attract each other.

use crate::workloads::simd::{self, Kernel};

/// x, y, z and mass; or a force and nothing.
pub(crate) type Four = [f32; 4];

/// forces += what the bodies `from` do to the bodies `on`, by mass / (distance² + softening²).
pub(crate) fn attract(on: &[Four], from: &[Four], softening_squared: f32, forces: &mut [Four]) {
    simd::run(Attraction {
        on,
        from,
        softening_squared,
        forces,
    });
}

struct Attraction<'a> {
    on: &'a [Four],
    from: &'a [Four],
    softening_squared: f32,
    forces: &'a mut [Four],
}

/// Bodies whose forces are summed up side by side.
const LANES: usize = 32;

impl Kernel for Attraction<'_> {
    type Output = ();

    #[inline(always)]
    fn run<const FUSED: bool>(self) {
        let groups = self.on.chunks(LANES).zip(self.forces.chunks_mut(LANES));
        for (on, forces) in groups {
            let at: [[f32; LANES]; 3] = std::array::from_fn(|axis| {
                std::array::from_fn(|lane| on.get(lane).map_or(0.0, |body| body[axis]))
            });
            let mut sums = [[0.0_f32; LANES]; 3];
            for body in self.from {
                let mut away = [[0.0_f32; LANES]; 3];
                let mut weight = [self.softening_squared; LANES];
                for (axis, away) in away.iter_mut().enumerate() {
                    for lane in 0..LANES {
                        away[lane] = body[axis] - at[axis][lane];
                        weight[lane] += away[lane] * away[lane];
                    }
                }
                for weight in &mut weight {
                    *weight = body[3] / (*weight * weight.sqrt());
                }
                for (sum, away) in sums.iter_mut().zip(&away) {
                    for lane in 0..LANES {
                        sum[lane] += away[lane] * weight[lane];
                    }
                }
            }
            for (lane, force) in forces.iter_mut().enumerate() {
                for axis in 0..3 {
                    force[axis] += sums[axis][lane];
                }
            }
        }
    }
}

/// The time of a step: velocities by forces, then places by velocities; forces are zero again.
pub(crate) fn advance(
    bodies: &mut [Four],
    velocities: &mut [Four],
    forces: &mut [Four],
    time: f32,
) {
    let all = bodies.iter_mut().zip(velocities).zip(forces);
    for ((body, velocity), force) in all {
        for axis in 0..3 {
            velocity[axis] += force[axis] * time;
            body[axis] += velocity[axis] * time;
        }
        *force = [0.0; 4];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forces_are_those_of_the_textbook() {
        let body = |n: usize| {
            let n = n as f32;
            [n.sin() * 3.0, (n * 1.7).cos(), n * 0.01, 1.0 + n % 3.0]
        };
        let bodies: Vec<Four> = (0..53).map(body).collect();
        let (on, from) = (&bodies[..37], &bodies[5..]);
        let mut forces = vec![[0.5; 4]; on.len()];
        attract(on, from, 0.25, &mut forces);
        for (body, force) in on.iter().zip(&forces) {
            let mut want = [0.5_f64; 3];
            for other in from {
                let away: [f64; 3] =
                    std::array::from_fn(|axis| f64::from(other[axis]) - f64::from(body[axis]));
                let square = 0.25 + away.iter().map(|one| one * one).sum::<f64>();
                for axis in 0..3 {
                    want[axis] += f64::from(other[3]) * away[axis] / square.powf(1.5);
                }
            }
            for axis in 0..3 {
                let error = (f64::from(force[axis]) - want[axis]).abs();
                assert!(error < 1e-4, "{force:?} {want:?}");
            }
            assert_eq!(force[3], 0.5);
        }
    }

    #[test]
    fn a_step_moves_by_the_new_velocity() {
        let (mut body, mut velocity, mut force) =
            ([[1.0, 2.0, 3.0, 9.0]], [[0.0; 4]], [[2.0, 0.0, -2.0, 7.0]]);
        advance(&mut body, &mut velocity, &mut force, 0.5);
        assert_eq!(velocity, [[1.0, 0.0, -1.0, 0.0]]);
        assert_eq!(body, [[1.5, 2.0, 2.5, 9.0]]);
        assert_eq!(force, [[0.0; 4]]);
    }
}
