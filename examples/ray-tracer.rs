//! Draws three spheres over a chequered floor, with shadows and reflections, and writes a picture.
//!
//! ```text
//! cargo run --release --example ray-tracer -- 960 spheres.png
//! ```
//!
//! A parallel loop over the rows of the picture. Rows of sky are quick and rows with mirrors in
//! mirrors are not; the loop is split where somebody is idle, so nobody has to guess how many rows
//! make a task.
#![forbid(unsafe_code)]

use std::io::Write;
use std::ops::{Add, Mul, Sub};
use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use roving_examples::{Failure, Picture, Words};

const USAGE: &str = "ray-tracer [WIDTH [FILE]]      16 to 16384 pixels, default 960; default file: ray-tracer.png \
    where temporary files go";

/// So often light is followed from mirror to mirror.
const BOUNCES: u32 = 6;
/// Rays in each direction of a pixel: edges are smooth.
const SAMPLES: usize = 3;
/// Rays start so far from where they were reflected, to be clear of that surface.
const CLEAR: f64 = 1e-6;

const SUN: Vector = Vector(-0.49, 0.73, 0.48);
const EYE: Vector = Vector(0.0, 1.3, 6.0);

fn main() -> ExitCode {
    roving_examples::run(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let width = words.number("width", 960, 16..=16_384)?;
    let path = words.path();
    words.end()?;
    let path: PathBuf = path.unwrap_or_else(|| env::temp_dir().join("ray-tracer.png"));
    let mut picture = Picture::new(width, width * 9 / 16);
    draw(&mut picture);
    let name = path.display();
    fs::write(&path, picture.to_png()?)
        .map_err(|error| format!("cannot write `{name}`: {error}"))?;
    writeln!(out, "{name}: {width} × {} pixels", picture.height())?;
    Ok(())
}

fn draw(picture: &mut Picture) {
    let (width, height) = (picture.width, picture.height());
    roving::par_chunks_mut(&mut picture.rgb, width * 3, |row, pixels| {
        draw_row(row, pixels, width, height);
    });
}

fn draw_row(row: usize, pixels: &mut [u8], width: usize, height: usize) {
    for (column, pixel) in pixels.chunks_exact_mut(3).enumerate() {
        let mut sum = Vector(0.0, 0.0, 0.0);
        for sample in 0..SAMPLES * SAMPLES {
            let inside = |n: usize| (n as f64 + 0.5) / SAMPLES as f64;
            let x = column as f64 + inside(sample % SAMPLES) - width as f64 / 2.0;
            let y = height as f64 / 2.0 - row as f64 - inside(sample / SAMPLES);
            let way = Vector(x, y, -0.9 * width as f64).unit();
            sum = sum + light(EYE, way, BOUNCES);
        }
        let Vector(red, green, blue) = sum * (1.0 / (SAMPLES * SAMPLES) as f64);
        for (byte, part) in pixel.iter_mut().zip([red, green, blue]) {
            // Screens show the square of what they are told, nearly.
            *byte = (part.clamp(0.0, 1.0).sqrt() * 255.0).round() as u8;
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Vector(f64, f64, f64);

impl Vector {
    fn dot(self, other: Vector) -> f64 {
        self.0 * other.0 + self.1 * other.1 + self.2 * other.2
    }

    fn unit(self) -> Vector {
        self * (1.0 / self.dot(self).sqrt())
    }
}

impl Add for Vector {
    type Output = Vector;
    fn add(self, other: Vector) -> Vector {
        Vector(self.0 + other.0, self.1 + other.1, self.2 + other.2)
    }
}

impl Sub for Vector {
    type Output = Vector;
    fn sub(self, other: Vector) -> Vector {
        self + other * -1.0
    }
}

impl Mul<f64> for Vector {
    type Output = Vector;
    fn mul(self, factor: f64) -> Vector {
        Vector(self.0 * factor, self.1 * factor, self.2 * factor)
    }
}

struct Sphere {
    centre: Vector,
    radius: f64,
    colour: Vector,
    /// How much of the light is reflected as by a mirror.
    mirror: f64,
}

const SPHERES: [Sphere; 3] = [
    Sphere {
        centre: Vector(-1.9, 1.0, -0.4),
        radius: 1.0,
        colour: Vector(0.85, 0.25, 0.1),
        mirror: 0.15,
    },
    Sphere {
        centre: Vector(0.25, 1.2, -1.6),
        radius: 1.2,
        colour: Vector(0.8, 0.8, 0.8),
        mirror: 0.8,
    },
    Sphere {
        centre: Vector(2.0, 0.7, 0.5),
        radius: 0.7,
        colour: Vector(0.1, 0.35, 0.65),
        mirror: 0.25,
    },
];

impl Sphere {
    /// How far it is to the sphere along a way of length one, if it lies there.
    fn distance(&self, from: Vector, way: Vector) -> Option<f64> {
        let to = self.centre - from;
        let middle = to.dot(way);
        let half_squared = self.radius * self.radius - to.dot(to) + middle * middle;
        let half = (half_squared >= 0.0).then(|| half_squared.sqrt())?;
        let both = [middle - half, middle + half];
        both.into_iter().find(|distance| *distance > CLEAR)
    }
}

/// Where a way meets something: how far, the direction away from it, its colour, how much it
/// mirrors.
struct Hit {
    distance: f64,
    away: Vector,
    colour: Vector,
    mirror: f64,
}

fn hit(from: Vector, way: Vector) -> Option<Hit> {
    let floor = (way.1 < 0.0).then(|| {
        let distance = -from.1 / way.1;
        let at = from + way * distance;
        let odd = (at.0.floor() + at.2.floor()).rem_euclid(2.0) > 0.5;
        let grey = if odd { 0.12 } else { 0.62 };
        Hit {
            distance,
            away: Vector(0.0, 1.0, 0.0),
            colour: Vector(grey, grey, grey),
            mirror: 0.12,
        }
    });
    let spheres = SPHERES.iter().filter_map(|sphere| {
        let distance = sphere.distance(from, way)?;
        Some(Hit {
            distance,
            away: (from + way * distance - sphere.centre) * (1.0 / sphere.radius),
            colour: sphere.colour,
            mirror: sphere.mirror,
        })
    });
    let all = spheres.chain(floor.filter(|floor| floor.distance > CLEAR));
    all.min_by(|one, other| one.distance.total_cmp(&other.distance))
}

/// The light that comes from there.
fn light(from: Vector, way: Vector, bounces: u32) -> Vector {
    let Some(hit) = hit(from, way) else {
        let height = way.1.max(0.0);
        return Vector(0.75, 0.85, 1.0) * (1.0 - height) + Vector(0.1, 0.25, 0.6) * height;
    };
    let at = from + way * hit.distance + hit.away * CLEAR;
    let sun = SUN.unit();
    let shadow = self::hit(at, sun).is_some();
    let bright = if shadow {
        0.0
    } else {
        hit.away.dot(sun).max(0.0)
    };
    let own = hit.colour * (0.18 + 0.9 * bright);
    if bounces == 0 {
        return own;
    }
    let mirrored = way - hit.away * (2.0 * way.dot(hit.away));
    own * (1.0 - hit.mirror) + light(at, mirrored, bounces - 1) * hit.mirror
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_those_of_geometry() {
        let sphere = Sphere {
            centre: Vector(0.0, 0.0, -5.0),
            radius: 2.0,
            colour: Vector(1.0, 1.0, 1.0),
            mirror: 0.0,
        };
        let zero = Vector(0.0, 0.0, 0.0);
        let ahead = Vector(0.0, 0.0, -1.0);
        assert_eq!(sphere.distance(zero, ahead), Some(3.0));
        assert_eq!(sphere.distance(sphere.centre, ahead), Some(2.0));
        assert_eq!(sphere.distance(zero, Vector(0.0, 1.0, 0.0)), None);
        assert_eq!(sphere.distance(zero, Vector(0.0, 0.0, 1.0)), None);
    }

    #[test]
    fn the_sky_is_blue_and_the_floor_is_chequered() {
        let up = light(EYE, Vector(0.0, 1.0, 0.0), BOUNCES);
        assert_eq!(up, Vector(0.1, 0.25, 0.6));
        let floor = |x: f64| hit(Vector(x, 1.0, 3.5), Vector(0.0, -1.0, 0.0)).unwrap();
        assert_eq!(floor(0.5).distance, 1.0);
        assert_ne!(floor(0.5).colour, floor(1.5).colour);
        assert_eq!(floor(0.5).colour, floor(2.5).colour);
    }

    #[test]
    fn rows_in_parallel_are_the_rows_one_after_the_other() {
        let mut picture = Picture::new(160, 90);
        let mut rows = picture.clone();
        draw(&mut picture);
        for (row, pixels) in rows.rgb.chunks_exact_mut(160 * 3).enumerate() {
            draw_row(row, pixels, 160, 90);
        }
        assert!(picture == rows);
        // The top is sky, more blue than red; the red sphere is left of the middle.
        let pixel = |x: usize, y: usize| &picture.rgb[(y * 160 + x) * 3..][..3];
        assert!(pixel(80, 2)[2] > pixel(80, 2)[0]);
        assert!(pixel(36, 48)[0] > pixel(36, 48)[2]);
    }

    #[test]
    fn the_program_writes_a_picture() {
        let own = format!("roving-ray-tracer-{}.png", std::process::id());
        let path = env::temp_dir().join(own);
        let text = roving_examples::output(program, &["32", path.to_str().unwrap()]).unwrap();
        let picture = Picture::from_png(&fs::read(&path).unwrap()).unwrap();
        fs::remove_file(&path).unwrap();
        assert!(text.ends_with(": 32 × 18 pixels\n"), "{text}");
        assert_eq!((picture.width, picture.height()), (32, 18));
        assert!(roving_examples::output(program, &["8"]).is_err());
        let error = roving_examples::output(program, &["32", "no-such-folder/x.png"]);
        assert!(
            error
                .unwrap_err()
                .to_string()
                .starts_with("cannot write `no-such-folder")
        );
    }
}
