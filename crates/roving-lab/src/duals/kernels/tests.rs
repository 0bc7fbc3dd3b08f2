//! Each kernel on the device that is there, beside its host function.

use bytemuck::{NoUninit, Pod};
use roving_gpu::{
    Arg, Buffer, Choice, Devices, DevicesBuilder, Dual, HostArg, HostCall, Kernel, Kind, TaskError,
};

use super::*;
use crate::duals::math::real::Real;
use crate::workloads::numbers::Noise;

static ALONE: Kind = Kind::new("a kernel by itself");

/// The device; `None` where there is none, which is said.
fn devices() -> Option<Devices> {
    let builder = DevicesBuilder::discover().unwrap();
    let devices = builder.choice(Choice::Gpu).build().unwrap();
    if devices.are_none() {
        eprintln!("skipped: no device");
        return None;
    }
    Some(devices)
}

/// Launches a kernel on what it reads, on what it updates, and on a value: on the device, then on
/// the host.
fn both<T: Pod + Send + Sync, V: NoUninit + Sync>(
    devices: &Devices,
    (kernel, groups): (&'static Kernel, [u32; 3]),
    reads: &[&[T]],
    updates: &[T],
    value: &V,
) -> [Vec<T>; 2] {
    let sources: Vec<_> = reads
        .iter()
        .map(|read| Buffer::from(read.to_vec()))
        .collect();
    let target = Buffer::from(updates.to_vec());
    let [updated, value_of] = [Arg::update(&target), Arg::value(value)];
    let ran: Result<(), TaskError> = match &sources[..] {
        [] => Dual::new(&ALONE, &[0])
            .updates(&target)
            .gpu(async |gpu| gpu.launch(kernel, groups, &[updated, value_of]).await)
            .run(devices),
        [a] => Dual::new(&ALONE, &[1])
            .updates(&target)
            .reads(a)
            .gpu(async |gpu| {
                let arguments = [Arg::read(a), updated, value_of];
                gpu.launch(kernel, groups, &arguments).await
            })
            .run(devices),
        [a, b] => Dual::new(&ALONE, &[2])
            .updates(&target)
            .reads(a)
            .reads(b)
            .gpu(async |gpu| {
                let arguments = [Arg::read(a), Arg::read(b), updated, value_of];
                gpu.launch(kernel, groups, &arguments).await
            })
            .run(devices),
        _ => unreachable!("no kernel reads more than two"),
    };
    ran.unwrap();
    let mut by_host = updates.to_vec();
    let reads = reads
        .iter()
        .map(|read| HostArg::Read(bytemuck::cast_slice(read)));
    let updates = HostArg::Update(bytemuck::cast_slice_mut(&mut by_host));
    let arguments = reads.chain([updates, HostArg::Value(bytemuck::bytes_of(value))]);
    let host = kernel.as_host().unwrap();
    host(&mut HostCall::new(groups, arguments));
    [target.into_vec(), by_host]
}

/// Whole numbers, so that products are exact in any order.
fn whole<T: Real>(noise: &mut Noise, count: usize) -> Vec<T> {
    (0..count).map(|_| T::near(noise.whole(8))).collect()
}

fn products<T: Real>(devices: &Devices, gemm: &'static Kernel, gemm_nt: &'static Kernel) {
    let mut noise = Noise::new(5);
    for [m, n, k] in [[64, 64, 64], [1, 1, 1], [70, 33, 47], [129, 65, 16]] {
        let (a, b, c) = (
            whole::<T>(&mut noise, m * k),
            whole::<T>(&mut noise, k * n),
            whole::<T>(&mut noise, m * n),
        );
        let sizes = [m, n, k, 0].map(|size| size as u32);
        let groups = [n.div_ceil(64) as u32, m.div_ceil(64) as u32, 1];
        for kernel in [gemm, gemm_nt] {
            let [device, host] = both(devices, (kernel, groups), &[&a, &b], &c, &sizes);
            assert!(device == host, "{kernel:?} of {m} × {n} × {k}");
            assert!(device != c);
        }
    }
}

#[test]
fn products_are_those_of_the_host() {
    if let Some(devices) = devices() {
        products::<f32>(&devices, &GEMM_F32, &GEMM_NT_F32);
        products::<f64>(&devices, &GEMM_F64, &GEMM_NT_F64);
    }
}

fn solutions<T: Real>(devices: &Devices, trsm: &'static Kernel) {
    let mut noise = Noise::new(9);
    for [m, n] in [[1, 1], [9, 4], [40, 30], [64, 97]] {
        let mut l = whole::<T>(&mut noise, n * n);
        for row in 0..n {
            // Of what is above the diagonal, nothing may be read.
            l[row * n + row + 1..(row + 1) * n].fill(T::near(f64::NAN));
            l[row * n + row] = T::near([64.0, 128.0][row % 2]);
        }
        let a = whole::<T>(&mut noise, m * n);
        let sizes = [m as u32, n as u32, 0, 0];
        let groups = [m.div_ceil(8) as u32, 1, 1];
        let [device, host] = both(devices, (trsm, groups), &[&l], &a, &sizes);
        for (device, host) in device.iter().zip(&host) {
            let error = (device.wide() - host.wide()).abs();
            // All are below 1, and few operations were rounded.
            assert!(
                error < 64.0 * T::ROUNDING,
                "{trsm:?} of {m} × {n}: {device} {host}"
            );
        }
    }
}

#[test]
fn solutions_are_those_of_the_host() {
    if let Some(devices) = devices() {
        solutions::<f32>(&devices, &TRSM_F32);
        solutions::<f64>(&devices, &TRSM_F64);
    }
}

#[test]
fn forces_are_those_of_the_host() {
    let Some(devices) = devices() else { return };
    let mut noise = Noise::new(2);
    let mut bodies = |count| -> Vec<[f32; 4]> {
        let mut number = || noise.whole(100) as f32 / 64.0;
        (0..count)
            .map(|_| [number(), number(), number(), 1.0 + number().abs()])
            .collect()
    };
    for (n, m) in [(1_usize, 1), (65, 7), (130, 200)] {
        let (pulled, pulling, before) = (bodies(n), bodies(m), bodies(n));
        let words = [n as u32, m as u32, 0.25_f32.to_bits(), 0];
        let groups = [n.div_ceil(64) as u32, 1, 1];
        let [device, host] = both(
            &devices,
            (&NBODY, groups),
            &[&pulled, &pulling],
            &before,
            &words,
        );
        // Each body adds less than 4 · 2.6; a reciprocal root may err by some units in the last
        // place.
        let bound = m as f32 * 10.0 * 32.0 * f32::EPSILON;
        for (device, host) in device.iter().flatten().zip(host.iter().flatten()) {
            assert!(
                (device - host).abs() < bound,
                "{n} and {m}: {device} {host}"
            );
        }
    }
}

#[test]
fn nearly_all_points_escape_as_on_the_host() {
    let Some(devices) = devices() else { return };
    let [width, height] = [75, 50];
    let [x, y, step] = [-2.0_f32, -1.0, 0.04].map(f32::to_bits);
    let words = [x, y, step, width, height, 300, 0, 0];
    let groups = [width.div_ceil(8), height.div_ceil(8), 1];
    let before = vec![7; (width * height) as usize];
    let [device, host] = both(&devices, (&MANDELBROT, groups), &[], &before, &words);
    // A device may fuse operations, and at the border of the set the last bit decides.
    let other = device.iter().zip(&host).filter(|(a, b)| a != b).count();
    assert!(other * 50 <= device.len(), "{other} of {}", device.len());
    assert!(host.contains(&300) && host.contains(&1));
}

#[test]
fn pictures_are_those_of_the_host() {
    let Some(devices) = devices() else { return };
    let mut noise = Noise::new(77);
    for [width, height, radius, threshold] in [[1_u32, 1, 1, 9], [33, 20, 0, 5], [50, 31, 4, 60]] {
        let count = (width * height) as usize;
        let mut pixel =
            || noise.whole(1 << 20) as i32 as u32 ^ (noise.whole(1 << 14) as i32 as u32) << 16;
        let source: Vec<u32> = (0..count).map(|_| pixel()).collect();
        let words = [width, height, radius, threshold];
        let groups = [width.div_ceil(8), height.div_ceil(8), 1];
        let before = vec![0; count];
        let [device, host] = both(&devices, (&FILTER, groups), &[&source], &before, &words);
        assert_eq!(device, host, "{words:?}");
        assert_ne!(device, before);
    }
}
