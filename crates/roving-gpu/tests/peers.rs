//! Copies from one device to another, without the host.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use common::numbers::failing;
use common::{Closed, Gate, Known, SAMPLES, Times, soon, within};
use roving_gpu::{
    AnyBuffer, Arg, Buffer, Choice, Devices, DevicesBuilder, Dual, Failure, HostCall, Kernel, Kind,
    Profile, Simulated, Writes,
};

static ON_A: Kind = Kind::new("on a");
static ON_B: Kind = Kind::new("on b");
static STEP: Kernel = Kernel::new("step").host(|call: &mut HostCall<'_>| step(call.update()));
static ADD: Kernel = Kernel::new("add").host(|call: &mut HostCall<'_>| {
    let (from, to) = (call.read::<u32>(), call.update::<u32>());
    to.iter_mut()
        .zip(from)
        .for_each(|(x, y)| *x = x.wrapping_add(*y));
});

const LEN: usize = 8;
const BYTES: u64 = 4 * LEN as u64;

fn step(numbers: &mut [u32]) {
    (0..)
        .zip(numbers)
        .for_each(|(at, x)| *x = x.wrapping_mul(3).wrapping_add(at));
}

fn input(seed: u32) -> Vec<u32> {
    (seed..).take(LEN).collect()
}

fn after(steps: usize) -> Vec<u32> {
    let mut numbers = input(1);
    (0..steps).for_each(|_| step(&mut numbers));
    numbers
}

fn linked(name: &str) -> Simulated {
    Simulated::new()
        .name(name)
        .link(1e9, Duration::from_micros(1))
}

/// Tasks of the one kind go to device `a`, those of the other to `b`.
fn times(name: &str) -> Times {
    let known = |side, mean| Known {
        side,
        samples: SAMPLES,
        mean,
        most: mean,
    };
    let known = |a, b| [known("a", a), known("b", b), known("cpu", 1e6)];
    Times::of_kinds(
        name,
        &[(&ON_A, &known(1e-6, 1e3)), (&ON_B, &known(1e3, 1e-6))],
    )
}

fn builder(times: &Times, a: Simulated, b: Simulated) -> DevicesBuilder {
    let builder = Devices::builder().backend(a).backend(b);
    builder.history(times.path()).choice(Choice::Gpu)
}

fn steps(devices: &Devices, kind: &'static Kind, numbers: &Buffer<u32>) {
    Dual::new(kind, &[1])
        .updates(numbers)
        .cpu(|| step(&mut numbers.write()))
        .gpu(async |gpu| {
            let name = if kind.name() == "on a" { "a" } else { "b" };
            assert_eq!(gpu.device(), name);
            gpu.launch(&STEP, [1, 1, 1], &[Arg::update(numbers)]).await
        })
        .run(devices);
}

/// Closes the gate, and runs a task of that kind whose kernel comes to it.
fn keep_on<'g>(
    kind: &'static Kind,
    gate: &'g Gate,
    kernel: &'static Kernel,
    devices: &Devices,
    numbers: &Buffer<u32>,
) -> Closed<'g> {
    let closed = gate.close();
    let task = Dual::new(kind, &[1]).updates(numbers);
    task.gpu(async |gpu| gpu.launch(kernel, [1, 1, 1], &[Arg::update(numbers)]).await)
        .run(devices)
        .unwrap();
    closed.wait();
    closed
}

/// Runs a task on device B that reads it, and so has a copy of it come there.
fn read_on_b(devices: &Devices, numbers: &Buffer<u32>) {
    let other = Buffer::from(input(1));
    let task = Dual::new(&ON_B, &[1]).reads(numbers).updates(&other);
    let side = async |gpu: roving_gpu::Gpu| {
        let arguments = [Arg::read(numbers), Arg::update(&other)];
        gpu.launch(&ADD, [1, 1, 1], &arguments).await
    };
    task.gpu(side).run(devices).unwrap();
}

/// Up, down, from others and to others.
fn moved(profile: &Profile, device: usize) -> [u64; 4] {
    let of = &profile.devices[device];
    [
        of.bytes_up,
        of.bytes_down,
        of.bytes_from_peers,
        of.bytes_to_peers,
    ]
}

#[test]
fn what_only_another_device_has_comes_from_there() {
    within("from there".to_owned(), || {
        let times = times("there");
        for (is_linked, [a, b]) in [
            (true, [[BYTES, 0, 0, BYTES], [0, 0, BYTES, 0]]),
            (false, [[BYTES, BYTES, 0, 0], [BYTES, 0, 0, 0]]),
        ] {
            let card = |name| match is_linked {
                true => linked(name),
                false => Simulated::new().name(name),
            };
            let devices = builder(&times, card("a"), card("b")).build().unwrap();
            let numbers = Buffer::from(input(1));
            steps(&devices, &ON_A, &numbers);
            steps(&devices, &ON_B, &numbers);
            devices.wait();
            let profile = devices.profile();
            assert_eq!([moved(&profile, 0), moved(&profile, 1)], [a, b]);
            // Nothing but what the host asks for.
            assert_eq!(*numbers.read(), after(2));
            let down = devices.profile().devices[1].bytes_down;
            assert_eq!(down, BYTES);
            let text = devices.profile().to_string();
            assert_eq!(text.contains("from other devices"), is_linked, "{text}");
        }
    });
}

/// The copy is behind the kernel that writes what it copies, and a host that waits for nothing has
/// queued both.
#[test]
fn a_copy_is_behind_the_kernel_that_writes() {
    static GATE: Gate = Gate::new();
    static KEPT: Kernel = Kernel::new("kept").host(|call: &mut HostCall<'_>| {
        GATE.pass();
        step(call.update());
    });
    within("behind".to_owned(), || {
        let times = times("behind");
        let devices = builder(&times, linked("a"), linked("b")).build().unwrap();
        let (numbers, sum) = (Buffer::from(input(1)), Buffer::from(vec![0; LEN]));
        let closed = keep_on(&ON_A, &GATE, &KEPT, &devices, &numbers);
        let (sender, ended) = channel();
        let (with, from, to) = (devices.clone(), numbers.clone(), sum.clone());
        let thread = std::thread::spawn(move || {
            let task = Dual::new(&ON_B, &[1]).reads(&from).updates(&to);
            task.gpu(async |gpu| {
                gpu.launch(&ADD, [1, 1, 1], &[Arg::read(&from), Arg::update(&to)])
                    .await
            })
            .run(&with)
            .unwrap();
            sender.send(()).unwrap();
        });
        // Its copy and its kernel are queued, and it has not ended.
        soon("it is queued", || {
            devices.profile().devices[1].launches == 1
        });
        assert!(ended.try_recv().is_err());
        drop(closed);
        thread.join().unwrap();
        assert_eq!(*sum.read(), after(1));
        assert_eq!(devices.profile().devices[1].bytes_from_peers, BYTES);
    });
}

/// Parts that are tracked by themselves: only those that are used go over.
#[test]
fn parts_of_a_split_buffer_go_over_by_themselves() {
    within("parts".to_owned(), || {
        let times = times("parts");
        let devices = builder(&times, linked("a"), linked("b")).build().unwrap();
        let parts = Buffer::from(input(1)).split(2);
        parts.iter().for_each(|part| steps(&devices, &ON_A, part));
        steps(&devices, &ON_B, &parts[1]);
        devices.wait();
        let profile = devices.profile();
        assert_eq!(moved(&profile, 0), [BYTES, 0, 0, BYTES / 4]);
        assert_eq!(moved(&profile, 1), [0, 0, BYTES / 4, 0]);
        let mut wanted: Vec<_> = input(1);
        wanted.chunks_mut(2).for_each(step);
        step(&mut wanted[2..4]);
        let whole: Buffer<u32> = parts.into_iter().collect();
        assert_eq!(whole.into_vec(), wanted);
    });
}

/// A buffer goes from one device to the other and back, where each has room for two, and three are
/// used: what is evicted goes by the host.
#[test]
fn what_goes_over_meets_what_is_evicted() {
    within("evicted".to_owned(), || {
        let times = times("evicted");
        for memory in [BYTES, 2 * BYTES] {
            let card = |name| linked(name).memory_bytes(memory);
            let (a, b) = (card("a"), card("b"));
            let gauges = [a.gauge(), b.gauge()];
            let devices = builder(&times, a, b).build().unwrap();
            let all = [(); 3].map(|()| Buffer::from(input(1)));
            for round in 0..10 {
                for (at, one) in all.iter().enumerate() {
                    let kind = if (round + at) % 2 == 0 { &ON_A } else { &ON_B };
                    steps(&devices, kind, one);
                }
            }
            devices.wait();
            // Where there is room for one, it has gone to the host when it is asked for.
            let profile = devices.profile();
            let peers: u64 = profile.devices.iter().map(|one| one.peer_copies).sum();
            assert_eq!(peers > 0, memory > BYTES, "{profile}");
            for one in all {
                assert_eq!(one.into_vec(), after(10));
            }
            for gauge in gauges {
                soon("memory is freed", || gauge.pieces() == 0);
            }
        }
    });
}

/// Either device fails in each way at each of its operations: what comes is right, or it is told
/// that it is lost; and a device that only was to take a copy from a lost one is as good as before.
#[test]
fn a_failure_at_every_operation_meets_the_copies() {
    let run = |failing: usize, failure: Option<(u64, Failure)>| {
        let times = times(&format!("failing-{failing}-{failure:?}").replace(['(', ')', ' '], ""));
        let mut cards = [linked("a"), linked("b")];
        if let Some((index, failure)) = failure {
            let [a, b] = cards;
            cards = match failing {
                0 => [a.fail_at(index, failure), b],
                _ => [a, b.fail_at(index, failure)],
            };
        }
        let gauges = [0, 1].map(|at: usize| cards[at].gauge());
        let [a, b] = cards;
        let devices = builder(&times, a, b).build().unwrap();
        let all = [(); 2].map(|()| Buffer::from(input(1)));
        let told = |run: &dyn Fn()| {
            let payload = catch_unwind(AssertUnwindSafe(run)).err()?;
            let text = payload.downcast_ref::<String>().expect("a text").clone();
            let is_told = text.contains("is lost") && text.contains("as planned");
            assert!(is_told, "{text}");
            Some(text)
        };
        let mut lost = [false; 2];
        let choose = |round: usize| if round % 2 == 0 { &ON_A } else { &ON_B };
        for round in 0..4 {
            for (one, is_lost) in all.iter().zip(&mut lost) {
                let run = || {
                    let kind = choose(round);
                    Dual::new(kind, &[1])
                        .updates(one)
                        .cpu(|| step(&mut one.write()))
                        .gpu(async |gpu| gpu.launch(&STEP, [1, 1, 1], &[Arg::update(one)]).await)
                        .run(&devices);
                };
                *is_lost |= told(&run).is_some();
            }
        }
        devices.wait();
        for (one, is_lost) in all.iter().zip(lost) {
            let is_told = told(&|| drop(one.read())).is_some();
            assert!(is_told || !is_lost);
            if !is_told {
                assert_eq!(*one.read(), after(4));
            }
        }
        let profile = devices.profile();
        // The one that does not fail.
        assert!(!profile.devices[1 - failing].is_lost, "{profile}");
        drop((all, devices));
        for gauge in &gauges {
            soon("memory is freed", || gauge.pieces() == 0);
        }
        gauges.map(|gauge| gauge.operations())
    };
    let operations = run(0, None);
    assert!(operations.iter().all(|count| *count > 8), "{operations:?}");
    for failing in [0, 1] {
        for failure in [Failure::Lost, Failure::OutOfMemory, Failure::Kernel] {
            for index in 0..operations[failing] {
                let what = format!("{failure:?} at {index} of device {failing}");
                within(what, move || run(failing, Some((index, failure))));
            }
        }
    }
}

/// A device is lost while another one waits for what it was to write: that is told, also where the
/// task has no CPU side, and the other goes on.
#[test]
fn a_device_that_is_lost_before_its_copy_is_told_by_the_one_that_waits() {
    static GATE: Gate = Gate::new();
    static KEPT: Kernel = Kernel::new("kept").host(|_: &mut HostCall<'_>| GATE.pass());
    within("waits".to_owned(), || {
        let times = times("waits");
        // Its memory, a copy to it, and the kernel.
        let a = linked("a").fail_at(2, Failure::Lost);
        let devices = builder(&times, a, linked("b")).build().unwrap();
        let numbers = Buffer::from(input(1));
        let closed = keep_on(&ON_A, &GATE, &KEPT, &devices, &numbers);
        let (with, from) = (devices.clone(), numbers.clone());
        let thread = std::thread::spawn(move || {
            let task = Dual::new(&ON_B, &[1]).updates(&from);
            task.gpu(async |gpu| gpu.launch(&STEP, [1, 1, 1], &[Arg::update(&from)]).await)
                .run(&with)
        });
        soon("it is queued", || {
            devices.profile().devices[1].launches == 1
        });
        drop(closed);
        let failed = thread.join().unwrap().unwrap_err();
        let text = failed.to_string();
        assert_eq!(
            (failed.cause(), failed.device()),
            (roving_gpu::Cause::Peer, Some("b"))
        );
        assert!(text.contains("a: device lost"), "{text}");
        let profile = devices.profile();
        let lost = [0, 1].map(|at: usize| profile.devices[at].is_lost);
        assert_eq!(lost, [true, false]);
        let other = Buffer::from(input(1));
        steps(&devices, &ON_B, &other);
        assert_eq!(other.into_vec(), after(1));
    });
}

/// The device that has written it is lost while it copies it to the host, for a guard or before
/// there is one: the guard gets the copy that another device has.
#[test]
fn what_a_lost_device_does_not_bring_comes_from_another() {
    for fetches in [false, true] {
        within(format!("fetch: {fetches}"), move || {
            let times = times("bring");
            // In the copy to the host.
            let a = failing(linked("a"), Failure::Lost, 1);
            let devices = builder(&times, a, linked("b")).build().unwrap();
            let is_lost = || devices.profile().devices[0].is_lost;
            let numbers = Buffer::from(input(1));
            steps(&devices, &ON_A, &numbers);
            read_on_b(&devices, &numbers);
            devices.wait();
            if fetches {
                numbers.fetch();
                soon("it is lost", is_lost);
            }
            assert_eq!(*numbers.read(), after(1));
            assert!(is_lost());
        });
    }
}

#[test]
fn what_a_lost_device_does_not_bring_to_make_room_is_on_another() {
    within("spill".to_owned(), || {
        let times = times("spill");
        // In the copy to the host, to make room.
        let a = failing(linked("a").memory_bytes(BYTES), Failure::Lost, 1);
        let devices = builder(&times, a, linked("b")).build().unwrap();
        let [numbers, more] = [(); 2].map(|()| Buffer::from(input(1)));
        steps(&devices, &ON_A, &numbers);
        read_on_b(&devices, &numbers);
        devices.wait();
        let task = Dual::new(&ON_A, &[1]).updates(&more);
        task.cpu(|| step(&mut more.write()))
            .gpu(async |gpu| gpu.launch(&STEP, [1, 1, 1], &[Arg::update(&more)]).await)
            .run(&devices);
        assert!(devices.profile().devices[0].is_lost);
        assert_eq!(*numbers.read(), after(1));
    });
}

/// The device is lost while it copies the buffer, and this report is that of the loss.
#[test]
fn a_report_of_a_failed_copy_may_read_the_buffer() {
    within("report".to_owned(), || {
        let times = times("report");
        // In the copy to the host.
        let a = failing(linked("a"), Failure::Lost, 1);
        let numbers = Buffer::from(input(1));
        let (sender, read) = channel();
        let (from, sender) = (numbers.clone(), Mutex::new(sender));
        let builder = builder(&times, a, linked("b")).on_failure(move |_| {
            let _ = sender.lock().unwrap().send(from.read().to_vec());
        });
        let devices = builder.build().unwrap();
        steps(&devices, &ON_A, &numbers);
        read_on_b(&devices, &numbers);
        devices.wait();
        numbers.fetch();
        assert_eq!(read.recv().unwrap(), after(1));
    });
}

/// The device is lost while another one copies from it. Who asks meanwhile is told that nobody has
/// the buffer; who asks when it has come gets it.
#[test]
fn what_comes_to_another_device_after_the_loss_of_the_first_is_not_lost() {
    static GATE: Gate = Gate::new();
    static KEPT: Kernel = Kernel::new("kept").host(|_: &mut HostCall<'_>| GATE.pass());
    within("arriving".to_owned(), || {
        let times = times("arriving");
        // In the copy to the host.
        let a = failing(linked("a"), Failure::Lost, 1);
        let devices = builder(&times, a, linked("b")).build().unwrap();
        let [numbers, other] = [(); 2].map(|()| Buffer::from(input(1)));
        steps(&devices, &ON_A, &numbers);
        devices.wait();
        // While that kernel runs, B copies nothing.
        let closed = keep_on(&ON_B, &GATE, &KEPT, &devices, &other);
        std::thread::scope(|scope| {
            scope.spawn(|| read_on_b(&devices, &numbers));
            soon("it is to be copied", || {
                devices.profile().devices[1].peer_copies == 1
            });
            numbers.fetch();
            soon("it is lost", || devices.profile().devices[0].is_lost);
            let told = catch_unwind(AssertUnwindSafe(|| drop(numbers.read())));
            drop(closed);
            assert!(told.is_err());
        });
        assert_eq!(*numbers.read(), after(1));
    });
}

static FILL: Kernel = Kernel::new("fill").host(|call: &mut HostCall<'_>| {
    let (to, by) = (call.update::<u32>(), call.value::<u32>());
    to.fill(by);
});
static PRODUCT: Kernel = Kernel::new("product").host(|call: &mut HostCall<'_>| {
    let (a, b, c) = (call.read::<u32>(), call.read::<u32>(), call.update::<u32>());
    let pairs = a.iter().zip(b);
    c.iter_mut().zip(pairs).for_each(|(z, (x, y))| *z += x * y);
});

/// A product of tiles, of which each device has made one half: each tile that a device needs and
/// does not have comes to it once, from the other device.
#[test]
fn a_tiled_product_moves_each_tile_once() {
    const TILES: usize = 4;
    within("product".to_owned(), || {
        let times = times("product");
        let devices = builder(&times, linked("a"), linked("b"));
        let devices = devices.writes(Writes::Back).build().unwrap();
        let tiles = || (0..TILES * TILES).map(|_| Buffer::from(vec![0; LEN]));
        let [a, b, c] = [(); 3].map(|()| tiles().collect::<Vec<_>>());
        let half = |row: usize| if row < TILES / 2 { &ON_A } else { &ON_B };
        for (by, matrix) in [(2_u32, &a), (3, &b)] {
            for (at, tile) in matrix.iter().enumerate() {
                let task = Dual::new(half(at / TILES), &[1]).writes(tile);
                task.gpu(async |gpu| {
                    gpu.launch(&FILL, [1, 1, 1], &[Arg::update(tile), Arg::value(&by)])
                        .await
                })
                .run(&devices)
                .unwrap();
            }
        }
        let (a, b, c, with) = (&a, &b, &c, &devices);
        roving::Pool::new(2).unwrap().run(|scope| async move {
            let rows = (0..TILES * TILES).map(|at| {
                scope.spawn(async move {
                    let (row, column) = (at / TILES, at % TILES);
                    for k in 0..TILES {
                        let all = [&a[row * TILES + k], &b[k * TILES + column], &c[at]];
                        let task = Dual::new(half(row), &[1]);
                        let task = task.reads(all[0]).reads(all[1]).updates(all[2]);
                        let gpu = async |gpu: roving_gpu::Gpu| {
                            let [a, b] =
                                [all[0], all[1]].map(|one| Arg::read(one as &dyn AnyBuffer));
                            gpu.launch(&PRODUCT, [1, 1, 1], &[a, b, Arg::update(all[2])])
                                .await
                        };
                        task.gpu(gpu).on(with).await.unwrap();
                    }
                })
            });
            for row in rows.collect::<Vec<_>>() {
                row.await;
            }
        });
        devices.wait();
        let profile = devices.profile();
        // Half of the tiles of the second matrix, to each of the two devices; the third one's once
        // from the host.
        let least = (TILES * TILES) as u64 * BYTES / 2;
        for device in [0, 1] {
            assert_eq!(
                moved(&profile, device),
                [least, 0, least, least],
                "{profile}"
            );
        }
        for tile in c {
            assert_eq!(*tile.read(), [24; LEN]);
        }
    });
}
