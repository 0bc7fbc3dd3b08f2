//! Waves that meet: pictures that are computed on the CPU or on a device, wherever each is expected
//! to be done first.
//!
//! ```text
//! cargo run --release --example dual-task --features dual           # no device: the CPU side runs
//! cargo run --release --example dual-task --features wgpu           # Vulkan, Metal or DirectX 12, if there is one
//! ```
//!
//! Each picture is one task with two sides. The program is the same with a device and without, and
//! so are its results.
#![forbid(unsafe_code)]

use std::io::Write;
use std::process::ExitCode;

use roving_examples::{Failure, Words, beside_serial};
use roving_gpu::{Arg, Buffer, Devices, Dual, HostCall, Kernel, Kind};

const USAGE: &str = "dual-task [PICTURES]      1 to 10000, default 64";

/// The side of a picture; a power of two, so that the places of its points are exact in both sides.
const SIDE: usize = 256;

static WAVES: Kind = Kind::new("waves");
static KERNEL: Kernel = Kernel::new("waves")
    .wgsl(
        "@group(0) @binding(0) var<storage, read_write> points: array<u32>;
         @group(0) @binding(1) var<uniform> time: u32;
         @compute @workgroup_size(64)
         fn waves(@builtin(global_invocation_id) at: vec3<u32>) {
             if at.x >= arrayLength(&points) { return; }
             let x = at.x % 256u;
             let y = at.x / 256u;
             var height = 0u;
             for (var source = 0u; source < 32u; source++) {
                 let a = x + source * 37u;
                 let b = y + source * 91u;
                 height += ((a * a + b * b) / 64u + time * (source + 1u)) % 512u;
             }
             points[at.x] = height;
         }",
        "waves",
    )
    // What a device computes that only pretends to be one.
    .host(|call: &mut HostCall<'_>| {
        let (points, time) = (call.update::<u32>(), call.value::<u32>());
        draw(points, time);
    });

fn main() -> ExitCode {
    roving_examples::run_once(USAGE, program)
}

fn program(words: &mut Words, out: &mut dyn Write) -> Result<(), Failure> {
    let pictures = words.number("pictures", 64, 1..=10_000)?;
    words.end()?;
    let devices = Devices::discover()?;
    let serial = || {
        let mut points = vec![0; SIDE * SIDE];
        let sums = (0..pictures).map(|time| {
            draw(&mut points, time);
            sum(&points)
        });
        sums.collect()
    };
    let sums: Vec<u64> = beside_serial(serial, || draw_all(&devices, pictures))?;
    eprintln!("{}", devices.describe());
    writeln!(
        out,
        "{pictures} pictures, the last with {} in all",
        sums[sums.len() - 1]
    )?;
    Ok(())
}

fn draw_all(devices: &Devices, pictures: u32) -> Vec<u64> {
    let buffers: Vec<Buffer<u32>> = (0..pictures)
        .map(|_| Buffer::from(vec![0; SIDE * SIDE]))
        .collect();
    let buffers = &buffers;
    roving::task::scope(|scope| async move {
        let mut tasks = Vec::new();
        for (points, time) in buffers.iter().zip(0_u32..) {
            let task = Dual::new(&WAVES, &[points.len()])
                .updates(points)
                .cpu(move || draw(&mut points.write(), time))
                .gpu(async move |gpu| {
                    let arguments = [Arg::update(points), Arg::value(&time)];
                    gpu.launch(&KERNEL, [(SIDE * SIDE / 64) as u32, 1, 1], &arguments)
                        .await
                });
            tasks.push(scope.spawn(task.on(devices)));
        }
        let mut sums = Vec::new();
        for (task, points) in tasks.into_iter().zip(buffers) {
            task.await;
            sums.push(sum(&points.read()));
        }
        sums
    })
}

/// Each of 32 sources adds a wave. Whole numbers, so that both sides find the same.
fn draw(points: &mut [u32], time: u32) {
    for (at, point) in (0_u32..).zip(points) {
        let (x, y) = (at % SIDE as u32, at / SIDE as u32);
        *point = (0..32).fold(0, |height, source| {
            let (a, b) = (x + source * 37, y + source * 91);
            height + ((a * a + b * b) / 64 + time * (source + 1)) % 512
        });
    }
}

fn sum(points: &[u32]) -> u64 {
    points.iter().map(|point| u64::from(*point)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use roving_gpu::{Choice, Simulated};

    fn expected(pictures: u32) -> Vec<u64> {
        let mut points = vec![0; SIDE * SIDE];
        let picture = |time| {
            draw(&mut points, time);
            sum(&points)
        };
        (0..pictures).map(picture).collect()
    }

    #[test]
    fn without_a_device_the_cpu_draws_them() {
        assert_eq!(draw_all(&Devices::none(), 5), expected(5));
    }

    #[test]
    fn a_device_draws_the_same() {
        let backend = Simulated::new().speed(1e12);
        let devices = Devices::builder()
            .backend(backend)
            .choice(Choice::Gpu)
            .build()
            .unwrap();
        assert_eq!(draw_all(&devices, 5), expected(5));
        let profile = devices.profile();
        assert_eq!(profile.kinds["waves"].gpu_tasks(), 5);
    }

    #[test]
    fn the_program_ends_with_the_last_picture() {
        let text = roving_examples::output(program, &["2"]).unwrap();
        assert_eq!(
            text,
            format!("2 pictures, the last with {} in all\n", expected(2)[1])
        );
    }
}
