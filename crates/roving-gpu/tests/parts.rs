//! Launches that are given parts of a task's buffers.

mod common;

use std::panic::{AssertUnwindSafe, catch_unwind};

use common::{soon, within};
use roving_gpu::{
    Arg, Buffer, Cause, Choice, Devices, Dual, Failure, HostCall, Kernel, Kind, Simulated, Why,
    Writes,
};

const ROWS: usize = 6;
const COLUMNS: usize = 5;
const BYTES: u64 = (4 * ROWS * COLUMNS) as u64;

static SUMS: Kind = Kind::new("sums");
static ADD_ROW: Kernel = Kernel::new("add row").host(|call: &mut HostCall<'_>| {
    let (before, row) = (call.read::<u32>(), call.update::<u32>());
    row.iter_mut().zip(before).for_each(|(x, y)| *x += y);
});
static FILL: Kernel = Kernel::new("fill").host(|call: &mut HostCall<'_>| {
    let (row, by) = (call.update::<u32>(), call.value::<u32>());
    row.fill(by);
});
static SWAP: Kernel = Kernel::new("swap").host(|call: &mut HostCall<'_>| {
    let (one, two) = (call.update::<u32>(), call.update::<u32>());
    one.swap_with_slice(two);
});

fn row(row: usize) -> std::ops::Range<usize> {
    row * COLUMNS..(row + 1) * COLUMNS
}

fn matrix(seed: u32) -> Vec<u32> {
    (0..(ROWS * COLUMNS) as u32).map(|at| at * seed).collect()
}

/// Each row becomes the sum of all until it.
fn sums_on_host(all: &mut [u32]) {
    for at in COLUMNS..all.len() {
        all[at] += all[at - COLUMNS];
    }
}

fn sums(devices: &Devices, all: &Buffer<u32>) {
    Dual::new(&SUMS, &[ROWS, COLUMNS])
        .updates(all)
        .cpu(|| sums_on_host(&mut all.write()))
        .gpu(async |gpu| {
            let mut last = None;
            for at in 1..ROWS {
                let (before, this) = (Arg::read(all), Arg::update(all));
                let arguments = [before.part(row(at - 1)), this.part(row(at))];
                last = Some(gpu.launch(&ADD_ROW, [1, 1, 1], &arguments));
            }
            last.expect("there are rows").await
        })
        .run(devices);
}

fn devices(backend: Simulated, writes: Writes) -> Devices {
    let builder = Devices::builder().backend(backend).writes(writes);
    builder.choice(Choice::Gpu).build().unwrap()
}

#[test]
fn rows_are_read_and_written_side_by_side() {
    within("rows".to_owned(), || {
        for writes in [Writes::Through, Writes::Back] {
            let devices = devices(Simulated::new(), writes);
            let all = Buffer::from(matrix(1));
            let mut wanted = matrix(1);
            for _ in 0..3 {
                sums(&devices, &all);
                sums_on_host(&mut wanted);
            }
            let profile = devices.profile();
            assert_eq!(
                (profile.devices[0].tasks, profile.devices[0].uploads),
                (3, 1)
            );
            assert_eq!(all.into_vec(), wanted);
        }
    });
}

#[test]
fn all_parts_together_are_all_of_it() {
    within("all".to_owned(), || {
        let devices = devices(Simulated::new(), Writes::Back);
        let all = Buffer::from(matrix(1));
        let task = Dual::new(&SUMS, &[ROWS]).writes(&all).gpu(async |gpu| {
            for (at, by) in (0..ROWS).zip(10_u32..) {
                let arguments = [Arg::update(&all).part(row(at)), Arg::value(&by)];
                drop(gpu.launch(&FILL, [1, 1, 1], &arguments));
            }
            // Of the two halves of the first row but its middle; and nothing, at the end.
            let of = |range| Arg::update(&all).part(row(0)).part(range);
            drop(gpu.launch(&SWAP, [1, 1, 1], &[of(3..5), of(0..2)]));
            let [none, by] = [Arg::update(&all).part(ROWS * COLUMNS..), Arg::value(&7_u32)];
            gpu.launch(&FILL, [1, 1, 1], &[none, by]).await
        });
        task.run(&devices).unwrap();
        assert_eq!(devices.profile().devices[0].uploads, 0);
        let wanted = (0..ROWS as u32).flat_map(|row| [row + 10; COLUMNS]);
        assert_eq!(all.into_vec(), wanted.collect::<Vec<_>>());
    });
}

#[test]
fn parts_that_overlap_are_refused_where_one_is_written() {
    within("overlap".to_owned(), || {
        for (first, second, is_fit) in [
            (0..4, 4..8, true),
            (0..4, 3..8, false),
            (0..8, 2..4, false),
            (2..4, 0..8, false),
            (0..4, 0..4, false),
            (2..2, 0..8, true),
            (0..8, 8..8, true),
        ] {
            let devices = devices(Simulated::new(), Writes::Back);
            let all = Buffer::from(matrix(1));
            let task = Dual::new(&SUMS, &[1]).updates(&all).cpu(|| ());
            task.gpu(async |gpu| {
                let (first, second) = (first.clone(), second.clone());
                let arguments = [Arg::read(&all).part(first), Arg::update(&all).part(second)];
                gpu.launch(&ADD_ROW, [1, 1, 1], &arguments).await
            })
            .run(&devices);
            let profile = devices.profile();
            let failures = &profile.devices[0].failures;
            assert_eq!(
                failures.get(&Cause::Kernel),
                (!is_fit).then_some(&1),
                "{second:?}"
            );
            let why = Why::Failed(Cause::Kernel);
            let on_cpu = profile.kinds["sums"].cpu.get(&why);
            assert_eq!(on_cpu, (!is_fit).then_some(&1));
            let told = profile
                .reports
                .iter()
                .any(|one| one.contains("given twice"));
            assert_eq!(told, !is_fit, "{:?}", profile.reports);
        }
    });
}

#[test]
fn a_part_that_is_not_there_is_told_at_the_call() {
    let all = Buffer::from(matrix(1));
    let told = |run: &dyn Fn()| {
        let payload = catch_unwind(AssertUnwindSafe(run)).unwrap_err();
        let text = payload.downcast_ref::<String>().cloned();
        text.unwrap_or_else(|| (*payload.downcast_ref::<&str>().unwrap()).to_owned())
    };
    let read = || Arg::read(&all);
    assert_eq!(
        told(&|| _ = read().part(20..31)),
        "the part 20..31 of 30 elements"
    );
    // Of a part.
    assert_eq!(
        told(&|| _ = read().part(20..).part(..=10)),
        "the part 0..11 of 10 elements"
    );
    #[expect(clippy::reversed_empty_ranges, reason = "it is to be told")]
    let reversed = || _ = read().part(5..4);
    assert_eq!(told(&reversed), "the part 5..4 of 30 elements");
    assert_eq!(
        told(&|| _ = Arg::value(&1_u32).part(..)),
        "only a buffer has parts"
    );
    assert_eq!(
        format!("{:?}", read().part(20..).part(2..=3)),
        "read of 22..24"
    );
}

/// Two matrices where one has room; and a failure at each operation. With write-back the loss of
/// what only the device had is told.
#[test]
fn with_little_memory_and_failures_rows_are_right_or_told_of() {
    let mut wanted = [matrix(1), matrix(3)];
    for _ in 0..2 {
        wanted.iter_mut().for_each(|one| sums_on_host(one));
    }
    let run = move |backend: Simulated, writes| {
        let gauge = backend.gauge();
        let devices = devices(backend, writes);
        let wanted = wanted.clone();
        let run = catch_unwind(AssertUnwindSafe(|| {
            let all = [1, 3].map(|seed| Buffer::from(matrix(seed)));
            for _ in 0..2 {
                all.iter().for_each(|one| sums(&devices, one));
            }
            assert!(
                all.into_iter().map(Buffer::into_vec).eq(wanted),
                "it is wrong"
            );
        }));
        devices.wait();
        soon("memory is freed", || gauge.pieces() == 0);
        if let Err(payload) = run {
            let text = payload.downcast_ref::<String>().expect("a text");
            let is_told = text.contains("is lost") && text.contains("as planned");
            assert!(is_told && writes == Writes::Back, "{text}");
        }
        gauge.operations()
    };
    for memory in [BYTES, 2 * BYTES] {
        for writes in [Writes::Through, Writes::Back] {
            let backend = move || Simulated::new().memory_bytes(memory);
            let operations = run(backend(), writes);
            for failure in [Failure::Lost, Failure::OutOfMemory, Failure::Kernel] {
                for index in 0..operations {
                    let run = run.clone();
                    within(
                        format!("{failure:?} at {index}, {writes:?}, {memory}"),
                        move || {
                            run(backend().fail_at(index, failure), writes);
                        },
                    );
                }
            }
        }
    }
}

/// Parts of a buffer that was split: one is read on a device that the CPU has just written, while
/// another is being written on the CPU.
#[test]
fn parts_of_a_split_buffer_are_used_at_the_same_time_and_brought_by_themselves() {
    within("split".to_owned(), || {
        let devices = devices(Simulated::new(), Writes::Back);
        let rows = Buffer::from(matrix(1)).split(COLUMNS);
        assert_eq!(rows.len(), ROWS);
        rows[0].write().fill(40);
        // Held until the task on the device has ended: tasks on parts of one buffer would wait.
        let mut other = rows[2].write();
        Dual::new(&SUMS, &[COLUMNS])
            .reads(&rows[0])
            .updates(&rows[1])
            .gpu(async |gpu| {
                let arguments = [Arg::read(&rows[0]), Arg::update(&rows[1])];
                gpu.launch(&ADD_ROW, [1, 1, 1], &arguments).await
            })
            .run(&devices)
            .unwrap();
        devices.wait();
        other.fill(7);
        drop(other);
        let device = &devices.profile().devices[0];
        assert_eq!(device.bytes_up, 2 * BYTES / ROWS as u64);
        let mut wanted = matrix(1);
        wanted[row(0)].fill(40);
        wanted[row(1)].iter_mut().for_each(|x| *x += 40);
        wanted[row(2)].fill(7);
        let all: Buffer<u32> = rows.into_iter().collect();
        assert_eq!(all.into_vec(), wanted);
        let uneven = Buffer::from(matrix(1)).split(ROWS * COLUMNS - 1);
        assert_eq!(uneven.iter().map(Buffer::len).collect::<Vec<_>>(), [29, 1]);
        assert!(Buffer::<u32>::zeroed(0).split(3).is_empty());
        let none: Buffer<u32> = [].into_iter().collect();
        assert!(none.is_empty());
    });
}

/// Every second part is changed on a device that is lost at each of its operations, the others on
/// the host: those are right, and what only the device had is told, part by part.
#[test]
fn parts_of_a_split_buffer_are_right_or_told_of_when_their_device_is_lost() {
    static TRIPLE: Kernel = Kernel::new("triple").host(|call: &mut HostCall<'_>| {
        triple(call.update());
    });
    fn triple(row: &mut [u32]) {
        row.iter_mut().for_each(|x| *x *= 3);
    }
    let is_told = |run: &dyn Fn()| {
        catch_unwind(AssertUnwindSafe(run)).is_err_and(|payload| {
            let text = payload.downcast_ref::<String>().expect("a text");
            assert!(
                text.contains("is lost") && text.contains("as planned"),
                "{text}"
            );
            true
        })
    };
    let run = move |backend: Simulated, writes| {
        let gauge = backend.gauge();
        let devices = devices(backend, writes);
        let rows = Buffer::from(matrix(1)).split(COLUMNS);
        let on_device = |row: &Buffer<u32>| {
            let task = Dual::new(&SUMS, &[COLUMNS]).updates(row);
            task.cpu(|| triple(&mut row.write()))
                .gpu(async |gpu| {
                    let arguments = [Arg::shared(64), Arg::update(row)];
                    gpu.launch(&TRIPLE, [1, 1, 1], &arguments).await
                })
                .run(&devices);
        };
        for _ in 0..2 {
            for (at, row) in rows.iter().enumerate() {
                match at % 2 {
                    0 => drop(is_told(&|| on_device(row))),
                    _ => triple(&mut row.write()),
                }
            }
        }
        devices.wait();
        let mut lost = 0;
        for (at, part) in rows.iter().enumerate() {
            if is_told(&|| drop(part.read())) {
                assert!(at % 2 == 0 && writes == Writes::Back, "{at} is lost");
                lost += 1;
                continue;
            }
            assert_eq!(*part.read(), matrix(9)[row(at)]);
        }
        let whole = || Buffer::from_iter(rows.clone()).into_vec();
        match lost {
            0 => assert_eq!(whole(), matrix(9)),
            _ => assert!(is_told(&|| drop(whole()))),
        }
        drop(rows);
        soon("memory is freed", || gauge.pieces() == 0);
        (gauge.operations(), lost)
    };
    for writes in [Writes::Through, Writes::Back] {
        let (operations, lost) = run(Simulated::new(), writes);
        assert_eq!(lost, 0);
        let lost = (0..operations).map(|index| {
            within(format!("lost at {index}, {writes:?}"), move || {
                run(Simulated::new().fail_at(index, Failure::Lost), writes).1
            })
        });
        assert_eq!(lost.max(), Some(if writes == Writes::Back { 3 } else { 0 }));
    }
}
