//! How long tasks take that are left to `Choice::Auto`, beside all on the CPU, all on the device,
//! and the best fixed split, on a simulated device: `cargo run --release -p roving-gpu --example
//! ratios`. The CPU side sleeps, so that the two do not compete for cores.

use std::time::{Duration, Instant};

use roving_gpu::{Arg, Buffer, Choice, Devices, Dual, HostCall, Kernel, Kind, Simulated};

static STEP: Kind = Kind::new("step");
static KERNEL: Kernel = Kernel::new("step").host(|call: &mut HostCall<'_>| {
    call.update::<u32>()[0] += 1;
});

/// Seconds of one task on one worker.
const CPU_S: f64 = 20e-3;
const TASKS: usize = 100;

fn devices(ratio: f64, choice: Choice) -> Devices {
    let backend = Simulated::new().speed(ratio / CPU_S).bytes_per_s(1e9);
    Devices::builder()
        .backend(backend)
        .choice(choice)
        .build()
        .expect("a choice in range")
}

/// Seconds that all tasks take.
fn flat(pool: &roving::Pool, devices: &Devices) -> f64 {
    let numbers: Vec<_> = (0..TASKS).map(|_| Buffer::from(vec![0_u32; 16])).collect();
    let start = Instant::now();
    pool.run(|scope| {
        let numbers = &numbers;
        async move {
            let tasks: Vec<_> = numbers
                .iter()
                .map(|number| {
                    scope.spawn(async move {
                        Dual::new(&STEP, &[1])
                            .updates(number)
                            .cpu(|| {
                                std::thread::sleep(Duration::from_secs_f64(CPU_S));
                                number.write()[0] += 1;
                            })
                            .gpu(async |gpu| {
                                gpu.launch(&KERNEL, [1, 1, 1], &[Arg::update(number)]).await
                            })
                            .on(devices)
                            .await;
                    })
                })
                .collect();
            for task in tasks {
                task.await;
            }
        }
    });
    assert!(numbers.into_iter().all(|number| number.into_vec()[0] == 1));
    start.elapsed().as_secs_f64()
}

fn main() {
    let pool = roving::Pool::new(2).expect("two threads");
    println!("ratio    cpu     gpu    best split (share)   auto, cold   auto, warm");
    for ratio in [0.1, 0.33, 0.5, 1.0, 2.0, 5.0, 20.0, 100.0] {
        let one = |choice| flat(&pool, &devices(ratio, choice));
        let (cpu, gpu) = (one(Choice::Cpu), one(Choice::Gpu));
        let ideal = ratio / (ratio + 2.0);
        let splits = [-0.1, -0.05, 0.0, 0.05, 0.1].map(|by| (ideal + by).clamp(0.0, 1.0));
        let splits = splits.map(|share| (one(Choice::Split(share)), share));
        let best = splits
            .into_iter()
            .min_by(|a, b| a.0.total_cmp(&b.0))
            .unwrap_or((0.0, 0.0));
        let auto = devices(ratio, Choice::Auto);
        let cold = flat(&pool, &auto);
        let warm = flat(&pool, &auto);
        println!(
            "{ratio:>5} {cpu:>7.3} {gpu:>7.3} {:>7.3} ({:.2})          {cold:>7.3} {:>5.2}  {warm:>7.3} {:>5.2}",
            best.0,
            best.1,
            cold / best.0.min(cpu).min(gpu),
            warm / best.0.min(cpu).min(gpu),
        );
        if std::env::args().nth(1).is_some() {
            print!("{}", auto.describe());
        }
    }
}
