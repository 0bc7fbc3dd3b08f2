//! Random programs of tasks with two sides give what the same program gives serially: whatever the
//! choice, the memory, the number of streams and workers, and the failures.

mod common;

use std::time::Duration;

use common::{soon, within};
use proptest::collection::vec;
use proptest::prelude::*;
use roving_gpu::{
    Access, AnyBuffer, Arg, Buffer, Choice, Devices, Dual, Failure, HostCall, Kernel, Kind,
    Simulated, Writes,
};

const BUFFERS: usize = 5;
const LEN: usize = 8;

/// Each is tried on each device, so the more there are, the more often buffers change devices.
static KINDS: [Kind; 4] = [
    Kind::new("one"),
    Kind::new("two"),
    Kind::new("three"),
    Kind::new("four"),
];
static MIX_KERNEL: Kernel = Kernel::new("mix").host(|call: &mut HostCall<'_>| {
    let (a, b) = (call.read::<u64>(), call.read::<u64>());
    let (out, by) = (call.update::<u64>(), call.value::<u64>());
    mix(a, b, out, by);
});

fn mix(a: &[u64], b: &[u64], out: &mut [u64], by: u64) {
    for ((x, y), z) in a.iter().zip(b).zip(out) {
        *z = z.rotate_left(11).wrapping_mul(by | 1) ^ x.wrapping_add(y.rotate_left(7));
    }
}

/// One task: it reads two buffers and changes a third one, or writes it all over.
#[derive(Clone, Debug)]
struct Step {
    kind: usize,
    reads: [usize; 2],
    out: usize,
    overwrites: bool,
    by: u64,
    /// Launches it as two.
    twice: bool,
    /// Each of these for both halves of the buffers; and once more, to mix the first half of the
    /// output into its second.
    parts: bool,
    /// As which side: both, or the CPU's alone.
    cpu_only: bool,
    /// It is waited for before the next one is begun.
    barrier: bool,
}

fn step() -> impl Strategy<Value = Step> {
    let buffer = 0..BUFFERS;
    let kind = 0..KINDS.len();
    let flags = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        prop::bool::weighted(0.2),
        any::<bool>(),
    );
    let buffers = (buffer.clone(), buffer.clone(), buffer);
    (kind, buffers, any::<u64>(), flags).prop_map(
        |(kind, (a, b, out), by, (overwrites, twice, parts, cpu_only, barrier))| {
            // What is written is not what is read.
            let other = |n: usize| if n == out { (n + 1) % BUFFERS } else { n };
            Step {
                kind,
                reads: [other(a), other(b)],
                out,
                overwrites,
                by,
                twice,
                parts,
                cpu_only,
                barrier,
            }
        },
    )
}

#[derive(Clone, Debug)]
struct Setting {
    choice: Choice,
    writes: Writes,
    memory: u64,
    streams: usize,
    workers: usize,
    devices: usize,
    /// Each has a link to the others.
    are_linked: bool,
    failure: Option<(u64, Failure)>,
}

fn setting() -> impl Strategy<Value = Setting> {
    let choice = prop_oneof![
        1 => Just(Choice::Cpu),
        3 => Just(Choice::Gpu),
        3 => Just(Choice::Auto),
        1 => (0.0..=1.0_f64).prop_map(Choice::Split),
    ];
    let failure = prop_oneof![
        Just(Failure::Lost),
        Just(Failure::OutOfMemory),
        Just(Failure::Kernel)
    ];
    let failure = prop::option::weighted(0.3, (0..60_u64, failure));
    let memory = prop_oneof![Just(u64::MAX), 0..=6 * (LEN as u64 * 8)];
    (
        choice,
        prop::bool::weighted(0.3),
        memory,
        1..4_usize,
        1..4_usize,
        (1..4_usize, prop::bool::weighted(0.7)),
        failure,
    )
        .prop_map(
            |(choice, through, memory, streams, workers, (devices, are_linked), failure)| Setting {
                choice,
                // With write-back, a device that is lost takes what it has with it.
                writes: if through || failure.is_some() {
                    Writes::Through
                } else {
                    Writes::Back
                },
                memory,
                streams,
                workers,
                devices,
                are_linked,
                failure,
            },
        )
}

fn apply(step: &Step, all: &mut [Vec<u64>]) {
    let (a, b) = (all[step.reads[0]].clone(), all[step.reads[1]].clone());
    let out = &mut all[step.out];
    compute(step, &a, &b, out);
}

fn compute(step: &Step, a: &[u64], b: &[u64], out: &mut [u64]) {
    if step.overwrites {
        out.fill(3);
    }
    mix(a, b, out, step.by);
    mix(a, b, out, 5);
    if step.parts {
        let (first, second) = out.split_at_mut(LEN / 2);
        mix(first, first, second, 9);
    }
}

async fn run(step: Step, devices: &Devices, all: &[Buffer<u64>]) {
    let [a, b] = step.reads.map(|at| &all[at]);
    let (out, by) = (&all[step.out], step.by);
    let uses = [(a, Access::Read), (b, Access::Read)];
    let uses = uses.map(|(buffer, access)| (buffer as &dyn AnyBuffer, access));
    let access = if step.overwrites {
        Access::Write
    } else {
        Access::Update
    };
    let task = Dual::new(&KINDS[step.kind], &[LEN])
        .uses_all(uses)
        .uses(out, access);
    let task = task.cpu(|| {
        compute(&step, &a.read(), &b.read(), &mut out.write());
    });
    if step.cpu_only {
        return task.on(devices).await;
    }
    let gpu = async |gpu: roving_gpu::Gpu| {
        let (five, nine) = (5_u64, 9_u64);
        let (low, high) = (0..LEN / 2, LEN / 2..LEN);
        let on = |kernel, by: &u64, [a, b, out]: [Arg<'_>; 3]| {
            gpu.launch(kernel, [1, 1, 1], &[a, b, out, Arg::value(by)])
        };
        let launch = |kernel, by: &u64| {
            let all = [Arg::read(a), Arg::read(b), Arg::update(out)];
            if step.parts {
                drop(on(kernel, by, all.map(|one| one.part(low.clone()))));
                return on(kernel, by, all.map(|one| one.part(high.clone())));
            }
            on(kernel, by, all)
        };
        if step.overwrites {
            drop(launch(&FILL_KERNEL, &3));
        }
        let first = launch(&MIX_KERNEL, &by);
        if step.twice {
            first.await?;
        } else {
            drop(first);
        }
        let last = launch(&MIX_KERNEL, &five);
        if !step.parts {
            return last.await;
        }
        drop(last);
        let from = Arg::read(out).part(low.clone());
        let to = Arg::update(out).part(high.clone());
        on(&MIX_KERNEL, &nine, [from, from, to]).await
    };
    task.gpu(gpu).on(devices).await;
}

static FILL_KERNEL: Kernel = Kernel::new("fill").host(|call: &mut HostCall<'_>| {
    call.read::<u64>();
    call.read::<u64>();
    let (out, by) = (call.update::<u64>(), call.value::<u64>());
    out.fill(by);
});

/// Tasks between two barriers are run together if none of them changes what another uses; else one
/// by one.
fn are_apart(steps: &[Step], next: &Step) -> bool {
    steps.iter().all(|step| {
        step.out != next.out && !step.reads.contains(&next.out) && !next.reads.contains(&step.out)
    })
}

fn program(steps: Vec<Step>, setting: Setting) {
    let input = || (0..BUFFERS as u64).map(|n| vec![n * 77 + 1; LEN]);
    let mut wanted: Vec<_> = input().collect();
    steps.iter().for_each(|step| apply(step, &mut wanted));

    let mut builder = Devices::builder()
        .choice(setting.choice)
        .writes(setting.writes);
    let mut gauges = Vec::new();
    for number in 0..setting.devices {
        let mut backend = Simulated::new().name(format!("device {number}"));
        backend = backend
            .memory_bytes(setting.memory)
            .streams(setting.streams);
        if setting.are_linked {
            backend = backend.link(1e9, Duration::from_micros(1));
        }
        if let Some((index, failure)) = setting.failure {
            backend = backend.fail_at(index, failure);
        }
        gauges.push(backend.gauge());
        builder = builder.backend(backend);
    }
    let devices = builder.build().unwrap();
    let buffers: Vec<_> = input().map(Buffer::from).collect();
    let (all, with) = (&buffers, &devices);
    let pool = roving::Pool::new(setting.workers).unwrap();
    pool.run(|scope| async move {
        let mut under_way = Vec::new();
        let mut together: Vec<Step> = Vec::new();
        for step in steps {
            if step.barrier || !are_apart(&together, &step) {
                for task in under_way.drain(..) {
                    let task: roving::task::Forked<()> = task;
                    task.await;
                }
                together.clear();
            }
            together.push(step.clone());
            under_way.push(scope.spawn(run(step, with, all)));
        }
        for task in under_way {
            task.await;
        }
    });
    let found: Vec<_> = buffers.into_iter().map(Buffer::into_vec).collect();
    assert_eq!(found, wanted);
    let profile = devices.profile();
    for device in &profile.devices {
        let sum = device.kernel_s + device.transfer_s + device.idle_s;
        assert!((sum - device.wall_s).abs() < 1e-6 && device.idle_s > -1e-6);
    }
    for gauge in gauges {
        soon("memory is freed", || gauge.pieces() == 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_programs_are_as_when_they_are_serial(
        steps in vec(step(), 1..20),
        setting in setting(),
    ) {
        within(format!("{setting:?} {steps:?}"), move || program(steps, setting));
    }
}
