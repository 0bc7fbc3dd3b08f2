//! The visible state of devices: profile, description, trace; the history between runs; and
//! networks.

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::within;
use roving_gpu::{
    Arg, Buffer, Choice, Devices, Dual, HostCall, Kernel, Kind, Simulated, Why, Writes,
};
use serde_json::Value;

static SLOW: Kind = Kind::new("slow");
static FLIP: Kernel = Kernel::new("flip").host(|call: &mut HostCall<'_>| {
    call.update::<u32>().iter_mut().for_each(|x| *x = !*x);
});

async fn flip(devices: &Devices, buffer: &Buffer<u32>) {
    Dual::new(&SLOW, &[buffer.len()])
        .updates(buffer)
        .cpu(|| {
            std::thread::sleep(Duration::from_millis(2));
            buffer.write().iter_mut().for_each(|x| *x = !*x);
        })
        .gpu(async |gpu| gpu.launch(&FLIP, [1, 1, 1], &[Arg::update(buffer)]).await)
        .on(devices)
        .await;
}

fn flip_all(devices: &Devices, count: u32) {
    let buffers: Vec<_> = (0..count).map(|n| Buffer::from(vec![n; 4])).collect();
    let all = &buffers;
    roving::Pool::new(2).unwrap().run(|scope| async move {
        let tasks: Vec<_> = all
            .iter()
            .map(|one| scope.spawn(flip(devices, one)))
            .collect();
        for task in tasks {
            task.await;
        }
    });
    for (n, buffer) in (0..).zip(buffers) {
        assert_eq!(buffer.into_vec(), [!n; 4]);
    }
}

fn backend() -> Simulated {
    Simulated::new()
        .name("toy \"1\"")
        .launch_time(Duration::from_millis(1))
        .streams(2)
}

#[test]
fn the_profile_counts_each_task_once_and_its_times_add_up() {
    within("profile".to_owned(), || {
        for choice in [Choice::Cpu, Choice::Gpu, Choice::Auto, Choice::Split(0.25)] {
            let devices = Devices::builder()
                .backend(backend())
                .choice(choice)
                .build()
                .unwrap();
            flip_all(&devices, 16);
            let profile = devices.profile();
            let (device, kind) = (&profile.devices[0], &profile.kinds["slow"]);
            assert_eq!(kind.cpu_tasks() + kind.gpu_tasks(), 16);
            assert_eq!(kind.gpu_tasks(), device.tasks);
            assert_eq!(
                (device.uploads, device.downloads),
                (device.tasks, device.tasks)
            );
            assert_eq!(device.bytes_up, device.tasks * 16);
            let sum = device.kernel_s + device.transfer_s + device.idle_s;
            assert!((sum - device.wall_s).abs() < 1e-6);
            // A kernel takes a millisecond. Spans end when they are heard of, so they may overlap.
            assert_eq!(device.kernel_s >= 0.9e-3, device.tasks > 0, "{profile}");
            match choice {
                Choice::Cpu => assert_eq!(kind.cpu[&Why::Choice], 16),
                Choice::Gpu => assert_eq!(kind.gpu[&Why::Choice], 16),
                Choice::Split(_) => assert_eq!(kind.gpu[&Why::Choice], 4),
                // Both workers may find at the same time that nothing is known; and that a side is
                // to be tried once more, as long as it was tried twice at most.
                Choice::Auto => {
                    let samples = [&kind.cpu, &kind.gpu].map(|why| why[&Why::Sample]);
                    assert!(
                        samples.iter().all(|count| (1..=4).contains(count)),
                        "{profile}"
                    );
                }
                other => unreachable!("{other:?} is none of those tried"),
            }
            let text = devices.describe();
            assert!(
                text.contains("slow") && text.contains("toy") && text.contains("idle"),
                "{text}"
            );
        }
    });
}

#[test]
fn the_trace_is_json_with_a_lane_for_each_thing() {
    within("trace".to_owned(), || {
        let builder = Devices::builder()
            .backend(backend())
            .choice(Choice::Split(0.5))
            .writes(Writes::Through);
        let devices = builder.build().unwrap();
        flip_all(&devices, 2);
        devices.trace(true);
        flip_all(&devices, 8);
        devices.trace(false);
        flip_all(&devices, 2);
        let path = std::env::temp_dir().join(format!("roving-gpu-{}.json", std::process::id()));
        devices.write_trace(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let trace: Value = serde_json::from_str(&text).unwrap();
        let mut lanes = BTreeMap::new();
        let mut spans: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
        for event in trace["traceEvents"].as_array().unwrap() {
            let (process, thread) = (&event["pid"], &event["tid"]);
            let place = (process.as_u64().unwrap(), thread.as_u64().unwrap());
            if event["ph"] == "M" {
                let name = event["args"]["name"].as_str().unwrap().to_owned();
                if event["name"] == "thread_name" {
                    lanes.insert(place, name);
                } else {
                    assert!(name == "CPU" || name == "toy \"1\"", "{name}");
                }
                continue;
            }
            assert_eq!(
                (&event["ph"], &event["name"]),
                (&"X".into(), &"slow".into())
            );
            let (start, time) = (
                event["ts"].as_f64().unwrap(),
                event["dur"].as_f64().unwrap(),
            );
            assert!(start >= 0.0 && time > 0.0);
            // Each span has a lane that was named before.
            spans
                .entry(lanes[&place].clone())
                .or_default()
                .push((start, time));
        }
        let count = |start: &str| -> usize {
            let lanes = spans.iter().filter(|(name, _)| name.starts_with(start));
            lanes.map(|(_, spans)| spans.len()).sum()
        };
        assert_eq!((count("stream"), count("worker")), (4, 4), "{spans:?}");
        assert_eq!((count("to the device"), count("from the device")), (4, 4));
        for span in spans.values().flatten() {
            assert!(span.1 > 900.0, "each takes a millisecond: {span:?}");
        }
    });
}

#[test]
fn what_was_measured_is_known_in_the_next_run() {
    within("history".to_owned(), || {
        let folder = std::env::temp_dir().join(format!("roving-gpu-next-{}", std::process::id()));
        let path = folder.join("history.json");
        let chosen = |choice| {
            let builder = Devices::builder().backend(backend()).history(&path);
            builder.choice(choice).build().unwrap()
        };
        let devices = || chosen(Choice::Auto);
        // Often enough on both sides that neither is tried again.
        flip_all(&chosen(Choice::Split(0.5)), 8);
        let second = devices();
        flip_all(&second, 8);
        let kind = &second.profile().kinds["slow"];
        assert_eq!(
            (kind.cpu.get(&Why::Sample), kind.gpu.get(&Why::Sample)),
            (None, None)
        );
        drop(second);
        std::fs::write(&path, "no JSON").unwrap();
        let third = devices();
        let reports = third.profile().reports;
        assert!(
            reports.len() == 1 && reports[0].contains("history.json"),
            "{reports:?}"
        );
        flip_all(&third, 4);
        drop(third);
        assert!(devices().profile().reports.is_empty());
        std::fs::remove_dir_all(folder).unwrap();
    });
}

#[test]
fn settings_out_of_range_are_told_in_one_line() {
    let builder = || Devices::builder().backend(Simulated::new());
    for (builder, value) in [
        (builder().choice(Choice::Split(1.5)), "1.5"),
        (builder().choice(Choice::Split(f64::NAN)), "NaN"),
        (builder().window(0), "0"),
    ] {
        let text = builder.build().unwrap_err().to_string();
        assert!(
            text.contains(value) && text.contains("must be") && !text.contains('\n'),
            "{text}"
        );
    }
    let text = "split=2".parse::<Choice>().unwrap_err().to_string();
    assert!(
        text.contains("\"split=2\"") && !text.contains('\n'),
        "{text}"
    );
}

#[test]
fn tasks_of_a_network() {
    within("network".to_owned(), || {
        for choice in [Choice::Cpu, Choice::Gpu, Choice::Auto] {
            let devices = Devices::builder()
                .backend(backend())
                .choice(choice)
                .build()
                .unwrap();
            let mut found = Vec::new();
            let mut network = roving_flow::Network::new();
            let (out, input) = network.bounded("pictures", 4);
            let (flipped, results) = network.bounded("flipped", 4);
            network.source("decode", out, (0..20_u32).map(|n| Buffer::from(vec![n; 4])));
            network.process("filter", (input, flipped), async |(mut input, mut out)| {
                while let Some(picture) = input.recv().await {
                    flip(&devices, &picture).await;
                    out.send(picture).await.unwrap();
                }
            });
            network.collect_into("encode", results, &mut found);
            network.run(&roving::Pool::new(2).unwrap()).unwrap();
            let found: Vec<_> = found
                .into_iter()
                .map(|one: Buffer<u32>| one.into_vec()[0])
                .collect();
            assert!(found.into_iter().eq((0..20).map(|n: u32| !n)));
        }
    });
}
