//! Chains of dependent kernels of about 10 µs on the first device of wgpu: as one bare submission,
//! as launches of one task, and as tasks that are awaited one after the other. `cargo run --release
//! -p roving-gpu --features wgpu --example chain`.

use std::time::Instant;

use pollster::block_on;
use roving_gpu::{Arg, Buffer, Choice, Devices, Dual, Kernel, Kind, Writes};
use wgpu::{BindGroup, BufferUsages, ComputePipeline, Device, PollType, Queue};

static LINK: Kind = Kind::new("link");
static KERNEL: Kernel = Kernel::new("link").wgsl(SOURCE, "link");
/// Each thread goes round as often as the second argument says, and reads what the last kernel has
/// written.
const SOURCE: &str = "
    @group(0) @binding(0) var<storage, read_write> numbers: array<u32>;
    @group(0) @binding(1) var<uniform> rounds: vec4<u32>;
    @compute @workgroup_size(64)
    fn link(@builtin(global_invocation_id) at: vec3<u32>) {
        var x = numbers[at.x];
        for (var i = 0u; i < rounds.x; i++) { x = x * 1664525u + 1013904223u; }
        numbers[at.x] = x;
    }";
const LEN: usize = 64;

/// The number that a chain comes to.
fn expected(links: u64, rounds: u32) -> u32 {
    let mut x = 0_u32;
    for _ in 0..links * u64::from(rounds) {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    }
    x
}

/// Wgpu alone.
struct Bare {
    device: Device,
    queue: Queue,
    pipeline: ComputePipeline,
    numbers: wgpu::Buffer,
    rounds: wgpu::Buffer,
    group: BindGroup,
}

impl Bare {
    fn new() -> Option<Bare> {
        let instance = wgpu::Instance::default();
        let adapter = block_on(instance.request_adapter(&Default::default())).ok()?;
        let (device, queue) = block_on(adapter.request_device(&Default::default())).ok()?;
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(SOURCE.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: None,
            module: &module,
            entry_point: Some("link"),
            compilation_options: Default::default(),
            cache: None,
        });
        let buffer = |size, usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage: usage | BufferUsages::COPY_DST,
                mapped_at_creation: false,
            })
        };
        let numbers = buffer(4 * LEN as u64, BufferUsages::STORAGE);
        let rounds = buffer(16, BufferUsages::UNIFORM);
        let entry = |binding, resource| wgpu::BindGroupEntry { binding, resource };
        let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[
                entry(0, numbers.as_entire_binding()),
                entry(1, rounds.as_entire_binding()),
            ],
        });
        Some(Bare {
            device,
            queue,
            pipeline,
            numbers,
            rounds,
            group,
        })
    }

    /// Seconds of a chain, as one submission.
    fn chain(&self, links: u64, rounds: u32) -> f64 {
        let start = Instant::now();
        self.queue.write_buffer(&self.numbers, 0, &[0; 4 * LEN]);
        let value: Vec<u8> = [rounds, 0, 0, 0]
            .iter()
            .flat_map(|x| x.to_ne_bytes())
            .collect();
        self.queue.write_buffer(&self.rounds, 0, &value);
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.group, &[]);
        (0..links).for_each(|_| pass.dispatch_workgroups(1, 1, 1));
        drop(pass);
        self.queue.submit([encoder.finish()]);
        self.device
            .poll(PollType::wait_indefinitely())
            .expect("it ends");
        start.elapsed().as_secs_f64()
    }
}

/// Seconds of a chain as launches of one task.
fn one_task(devices: &Devices, links: u64, rounds: u32) -> f64 {
    let numbers = Buffer::from(vec![0_u32; LEN]);
    let start = Instant::now();
    let task = Dual::new(&LINK, &[LEN]).updates(&numbers);
    task.gpu(async |gpu| {
        let value = [rounds, 0, 0, 0];
        let arguments = [Arg::update(&numbers), Arg::value(&value)];
        for _ in 1..links {
            drop(gpu.launch(&KERNEL, [1, 1, 1], &arguments));
        }
        gpu.launch(&KERNEL, [1, 1, 1], &arguments).await
    })
    .run(devices)
    .expect("the device works");
    assert_eq!(numbers.read()[7], expected(links, rounds));
    start.elapsed().as_secs_f64()
}

/// Seconds of a chain as tasks, each awaited before the next is begun.
fn tasks(devices: &Devices, links: u64, rounds: u32) -> f64 {
    let numbers = Buffer::from(vec![0_u32; LEN]);
    let start = Instant::now();
    roving::task::block_on(async {
        for _ in 0..links {
            let task = Dual::new(&LINK, &[LEN]).updates(&numbers);
            task.gpu(async |gpu| {
                let value = [rounds, 0, 0, 0];
                let arguments = [Arg::update(&numbers), Arg::value(&value)];
                gpu.launch(&KERNEL, [1, 1, 1], &arguments).await
            })
            .on(devices)
            .await
            .expect("the device works");
        }
    });
    assert_eq!(numbers.read()[7], expected(links, rounds));
    start.elapsed().as_secs_f64()
}

fn main() {
    let Some(bare) = Bare::new() else {
        return println!("no device of wgpu here");
    };
    let mut builder = Devices::builder().choice(Choice::Gpu).writes(Writes::Back);
    for device in roving_gpu::wgpu::found().into_iter().flatten() {
        builder = builder.backend(device);
    }
    let devices = builder.build().expect("a device that was found");
    let links: u64 = std::env::args()
        .nth(1)
        .map_or(1000, |text| text.parse().expect("links"));
    // How many rounds take 10 µs, without what a kernel of none takes.
    let least = |rounds| {
        (0..5)
            .map(|_| bare.chain(links, rounds))
            .fold(f64::MAX, f64::min)
    };
    let (none, many) = (least(0), least(20_000));
    let each = (many - none) / links as f64 / 20_000.0;
    let rounds = (10e-6 / each) as u32;
    println!(
        "a kernel of nothing {:.2} µs, {rounds} rounds are 10 µs",
        none / links as f64 * 1e6
    );
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..9 {
        times[0].push(bare.chain(links, rounds));
        times[1].push(one_task(&devices, links, rounds));
        times[2].push(tasks(&devices, links, rounds));
    }
    let names = [
        "one bare submission",
        "launches of one task",
        "tasks one by one",
    ];
    let medians = times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        (times[times.len() / 2], times[0])
    });
    for (name, (median, least)) in names.iter().zip(medians) {
        let us = |seconds: f64| seconds / links as f64 * 1e6;
        let ratio = median / medians[0].0;
        println!(
            "{name:>22}: {:8.2} µs a kernel, least {:8.2}; {ratio:.2} ×",
            us(median),
            us(least)
        );
    }
}
