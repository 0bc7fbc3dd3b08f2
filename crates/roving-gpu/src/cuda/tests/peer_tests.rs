//! Copies from one device to another; where there are no two, each test ends.
#![allow(unsafe_code)] // a kernel in CUDA C++

use std::sync::mpsc::channel;
use std::sync::{Arc, MutexGuard};

use super::super::harness::{On, buffer, first};
use super::super::{Nvidia, found};
use crate::backend::{Backend, Done, PeerCopy};
use crate::kernel::Kernel;
use crate::{Arg, Buffer, Choice, Devices, Dual, Kind};

/// Two devices; the second in front.
pub(super) fn two() -> Option<([Arc<Nvidia>; 2], MutexGuard<'static, ()>)> {
    let (a, turn) = first(found)?;
    let b = found().into_iter().nth(1)?.ok()?;
    Some(([Arc::new(a), Arc::new(b)], turn))
}

static NEXT: Kernel =
    // SAFETY: each of the 64 threads of the one block looks at one of 64 numbers.
    unsafe {
        Kernel::new("next").cuda(
            "extern \"C\" __global__ void next(unsigned *numbers) {
                 unsigned *own = numbers + threadIdx.x;
                 *own = *own * 3 + 1;
             }",
            "next",
            [64, 1, 1],
        )
    };
static ADD: Kernel =
    // SAFETY: each of the 64 threads of the one block looks at one of 64 numbers of both.
    unsafe {
        Kernel::new("add").cuda(
            "extern \"C\" __global__ void add(const unsigned *from, unsigned *to) {
                 to[threadIdx.x] += from[threadIdx.x];
             }",
            "add",
            [64, 1, 1],
        )
    };

/// There and back, behind a kernel each, with nobody who waits in between.
#[test]
fn a_copy_is_behind_what_writes_on_the_other_device() {
    let Some((devices, _turn)) = two() else {
        return;
    };
    let memories = devices.each_ref().map(|device| device.alloc(256).unwrap());
    let on = |at: usize, stream| On(&*devices[at], stream);
    let numbers: Vec<u32> = (0..64).collect();
    let mut ends = vec![on(0, 1).upload(bytemuck::cast_slice(&numbers), &memories[0])];
    let mut copies = Vec::new();
    for round in 0..10_usize {
        let (from, to) = (round % 2, 1 - round % 2);
        // On a stream of its own each time.
        let streams = [round + 1, round + 2];
        let arguments = vec![buffer(&memories[from], 256, true)];
        ends.push(on(from, streams[0]).launch(&NEXT, 1, arguments));
        let (sender, receiver) = channel();
        let copy = PeerCopy {
            source: Arc::clone(&devices[from]) as Arc<dyn Backend>,
            source_stream: Some(streams[0]),
            from: memories[from].clone(),
            to: memories[to].clone(),
            bytes: 256,
            done: Done::new(move |outcome, _| sender.send(outcome).unwrap()),
        };
        assert!(devices[to].reaches(&*devices[from]));
        devices[to].copy(streams[1], copy);
        copies.push(receiver);
    }
    let bytes = on(0, 11).download(&memories[0], 256).right();
    ends.into_iter().for_each(|end| end.right());
    for copy in copies {
        copy.recv().unwrap().unwrap();
    }
    let found = bytes.chunks_exact(4);
    let found = found.map(bytemuck::pod_read_unaligned::<u32>);
    let after = |number| (0..10).fold(number, |x: u32, _| x.wrapping_mul(3).wrapping_add(1));
    assert!(found.eq(numbers.into_iter().map(after)));
}

/// One is written on each device, and both are needed on one of them.
pub(in crate::cuda) fn sum_of_both() {
    static FILL: Kind = Kind::new("next");
    static SUM: Kind = Kind::new("sum");
    let Some((all, _turn)) = two() else {
        return;
    };
    let [a, b] = all.map(|device| Arc::into_inner(device).unwrap());
    // The time of a first launch on a stream may not be known, and that of the first task is to be.
    for device in [&a, &b] {
        for stream in 0..device.streams() {
            let on = On(device, stream);
            let memory = on.alloc(256);
            on.launch(&NEXT, 1, vec![buffer(&memory, 256, true)])
                .right();
        }
    }
    let devices = Devices::builder().backend(a).backend(b);
    let devices = devices.choice(Choice::Gpu).build().unwrap();
    let [x, y] = [1_u32, 2].map(|by| Buffer::from(vec![by; 64]));
    for one in [&x, &y] {
        // The first one is measured on the device that comes last, and the other one goes to the
        // first of two that are as good.
        let task = Dual::new(&FILL, &[1]).updates(one);
        task.gpu(async |gpu| gpu.launch(&NEXT, [1, 1, 1], &[Arg::update(one)]).await)
            .run(&devices)
            .unwrap();
        devices.wait();
    }
    let task = Dual::new(&SUM, &[1]).reads(&y).updates(&x);
    task.gpu(async |gpu| {
        gpu.launch(&ADD, [1, 1, 1], &[Arg::read(&y), Arg::update(&x)])
            .await
    })
    .run(&devices)
    .unwrap();
    devices.wait();
    let profile = devices.profile();
    let moved = profile.devices.iter();
    let moved = moved.map(|one| [one.bytes_up, one.bytes_down, one.bytes_from_peers]);
    assert_eq!(
        moved.collect::<Vec<_>>(),
        [[256, 0, 0], [256, 0, 256]],
        "{profile}"
    );
    assert_eq!(*x.read(), [4 + 7; 64]);
}

#[test]
fn what_only_another_device_has_comes_from_there() {
    sum_of_both();
}
