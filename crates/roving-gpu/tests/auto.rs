//! The behaviour of `Choice::Auto` where each task is followed by another, and where tasks of one
//! size differ. The device is simulated; both sides of a task sleep, and end when they are done:
//! with write-back, a task ends before its kernels.

mod common;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::task::{Context, Wake};
use std::thread::sleep;
use std::time::Duration;

use common::within;
use roving_gpu::{Arg, Buffer, Choice, Devices, Dual, HostCall, Kernel, Kind, Simulated, Writes};

static NAP: Kind = Kind::new("nap");
static NAP_KERNEL: Kernel = Kernel::new("nap").host(|call: &mut HostCall<'_>| {
    let (_, ms) = (call.update::<u32>(), call.value::<u32>());
    sleep(Duration::from_millis(u64::from(ms)));
});

/// How many milliseconds each side takes.
#[derive(Clone, Copy)]
struct Nap {
    cpu: u32,
    device: u32,
}

async fn nap(devices: &Devices, nap: Nap) {
    let buffer = Buffer::<u32>::zeroed(1);
    Dual::new(&NAP, &[1])
        .updates(&buffer)
        .cpu(|| sleep(Duration::from_millis(u64::from(nap.cpu))))
        .gpu(async |gpu| {
            let arguments = [Arg::update(&buffer), Arg::value(&nap.device)];
            gpu.launch(&NAP_KERNEL, [1, 1, 1], &arguments).await
        })
        .on(devices)
        .await;
}

/// Rows of tasks, each of which begins when the one before has ended.
fn rows(devices: &Devices, rows: usize, tasks: &[Nap]) {
    roving::Pool::new(2).unwrap().run(|scope| async move {
        let row = || async move {
            for one in tasks {
                nap(devices, *one).await;
            }
        };
        let all: Vec<_> = (0..rows).map(|_| scope.spawn(row())).collect();
        for one in all {
            one.await;
        }
    });
}

/// A file of times, which goes when the test is over.
struct File(PathBuf);

impl File {
    fn new(name: &str) -> File {
        let name = format!("roving-gpu-auto-{name}-{}.json", std::process::id());
        File(std::env::temp_dir().join(name))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn devices(choice: Choice, history: &Path) -> Devices {
    let backend = Simulated::new().name("toy");
    let builder = Devices::builder().backend(backend).history(history);
    builder
        .choice(choice)
        .writes(Writes::Through)
        .build()
        .unwrap()
}

/// Devices that know what these tasks take on both sides.
fn taught(file: &File, tasks: &[Nap]) -> Devices {
    for choice in [Choice::Cpu, Choice::Gpu] {
        rows(&devices(choice, &file.0), 1, tasks);
    }
    devices(Choice::Auto, &file.0)
}

/// How many ran on the CPU, and how many on the device.
fn spread(devices: &Devices) -> (u64, u64) {
    let profile = devices.profile();
    let kind = &profile.kinds["nap"];
    (kind.cpu_tasks(), kind.gpu_tasks())
}

/// Tells which task is to be polled.
struct Call(usize, Sender<usize>);

impl Wake for Call {
    fn wake(self: Arc<Self>) {
        let _ = self.1.send(self.0);
    }
}

#[test]
fn workers_begin_with_the_oldest() {
    // Now and then a task that is asked for while the queue is being looked at runs at once, before
    // older ones.
    let began = (0..5).any(|_| within("oldest".to_owned(), 60, begin_with_the_oldest));
    assert!(began, "each time one ran before older ones");
}

/// False if one ran at once.
fn begin_with_the_oldest() -> bool {
    let devices = Devices::builder()
        .backend(Simulated::new())
        .writes(Writes::Through)
        .build()
        .unwrap();
    let each = Nap {
        cpu: 5,
        device: 500,
    };
    let (sender, called) = channel();
    let mut tasks: Vec<_> = (0..8).map(|_| Box::pin(nap(&devices, each))).collect();
    let mut ends = |at: usize| {
        let waker = Arc::new(Call(at, sender.clone())).into();
        tasks[at]
            .as_mut()
            .poll(&mut Context::from_waker(&waker))
            .is_ready()
    };
    // One goes to the device to be measured, and one is measured here; the others wait in the
    // queue.
    let at_once: Vec<_> = (0..8).map(&mut ends).collect();
    if !(0..8).all(|at| at_once[at] == (at == 1)) {
        return false;
    }
    let mut order = Vec::new();
    while order.len() < 6 {
        let at = called.recv().unwrap();
        if ends(at) {
            order.push(at);
        }
    }
    assert_eq!(order, [2, 3, 4, 5, 6, 7]);
    true
}

#[test]
fn a_slow_side_begins_nothing_that_may_be_the_last_to_end() {
    within("uneven".to_owned(), 60, || {
        let file = File::new("uneven");
        let short = Nap { cpu: 4, device: 1 };
        let mut tasks = [short; 16];
        tasks[15].device = 600;
        let devices = taught(&file, &tasks);
        // By the mean the device would be done with one in 38 ms, and the workers with all in 120.
        rows(&devices, 60, &[short]);
        assert_eq!(spread(&devices), (60, 0));
    });
}
