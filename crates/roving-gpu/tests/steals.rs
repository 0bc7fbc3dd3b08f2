//! Tasks that wait for one device and are taken by another one. Gates keep devices at work, and
//! times that nobody waits for say what is expected, so nothing hangs on how fast anybody is.

mod common;

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use common::{Closed, Gate, Known, SAMPLES, Times, soon, within};
use roving_gpu::{
    Arg, Buffer, Choice, Devices, Dual, Failure, HostCall, Kernel, Kind, Simulated, Writes,
};

static ANY: Kind = Kind::new("any");
static ON_A: Kind = Kind::new("on a");
static ON_B: Kind = Kind::new("on b");

/// The tests take turns at the gates.
static TURN: Mutex<()> = Mutex::new(());
static GATE_A: Gate = Gate::new();
static GATE_B: Gate = Gate::new();
static PASS_A: Kernel = Kernel::new("pass a").host(|_: &mut HostCall<'_>| GATE_A.pass());
static PASS_B: Kernel = Kernel::new("pass b").host(|_: &mut HostCall<'_>| GATE_B.pass());

/// The first numbers of what kernels were given, in the order in which they ran.
static RAN: Mutex<Vec<u32>> = Mutex::new(Vec::new());
static STEP: Kernel = Kernel::new("step").host(|call: &mut HostCall<'_>| {
    let numbers = call.update::<u32>();
    RAN.lock().unwrap().push(numbers[0]);
    numbers.iter_mut().for_each(|x| *x += 100);
});

type Waiting<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

async fn step(devices: &Devices, kind: &'static Kind, numbers: &Buffer<u32>, asks: bool) {
    Dual::new(kind, &[1])
        .updates(numbers)
        .cpu(|| numbers.write().iter_mut().for_each(|x| *x += 100))
        .gpu(async |gpu| {
            if asks {
                assert_eq!(gpu.device(), "a");
            }
            gpu.launch(&STEP, [1, 1, 1], &[Arg::update(numbers)]).await
        })
        .on(devices)
        .await;
}

/// Two devices, each of which is kept at work: `a` would be done with a task in a second, `b` in
/// 4.6, so long that no kernel that ends late changes that by much; and `b` is believed to be at
/// work for longer than anybody looks.
fn kept(choice: Choice, a: Simulated, b: Simulated) -> (Devices, Closed<'static>, Closed<'static>) {
    let known = |a: f64, b: f64| {
        let known = |(side, mean)| Known {
            side,
            samples: SAMPLES,
            mean,
            most: mean,
        };
        [("cpu", 1e6), ("a", a), ("b", b)].map(known)
    };
    let any = known(1.0, 4.6);
    let (on_a, on_b) = (known(1e-6, 1e4), known(1e4, 100.0));
    let kinds: [(&Kind, &[Known]); 3] = [(&ANY, &any), (&ON_A, &on_a), (&ON_B, &on_b)];
    let times = Times::of_kinds("steals", &kinds);
    let builder = Devices::builder().backend(a).backend(b).window(1);
    let builder = builder.choice(choice).writes(Writes::Back);
    let devices = builder.history(times.path()).build().unwrap();
    RAN.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let (a, b) = (GATE_A.close(), GATE_B.close());
    for (kind, kernel) in [(&ON_A, &PASS_A), (&ON_B, &PASS_B)] {
        let task = Dual::new(kind, &[1]);
        let task = task.gpu(async |gpu| gpu.launch(kernel, [1, 1, 1], &[]).await);
        // It lands ahead of its kernel.
        task.run(&devices).unwrap();
    }
    a.wait();
    b.wait();
    (devices, a, b)
}

fn card(name: &str) -> Simulated {
    Simulated::new()
        .name(name)
        .link(1e9, Duration::from_micros(1))
}

fn turn() -> std::sync::MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

fn numbers(count: u32) -> Vec<Buffer<u32>> {
    (0..count).map(|at| Buffer::from(vec![at; 4])).collect()
}

/// Polls each once, which puts it into a queue.
fn queue<'a>(tasks: impl Iterator<Item = Waiting<'a>>) -> Vec<Waiting<'a>> {
    let mut context = Context::from_waker(Waker::noop());
    let mut tasks: Vec<_> = tasks.collect();
    let ends = tasks
        .iter_mut()
        .filter_map(|task| match task.as_mut().poll(&mut context) {
            std::task::Poll::Ready(()) => Some(()),
            std::task::Poll::Pending => None,
        });
    assert_eq!(ends.count(), 0);
    tasks
}

fn end(tasks: Vec<Waiting<'_>>, all: &[Buffer<u32>]) {
    tasks.into_iter().for_each(roving::task::block_on);
    for (at, one) in (0..).zip(all) {
        assert_eq!(*one.read(), [at + 100; 4]);
    }
}

#[test]
fn a_device_that_is_done_takes_the_newest_until_the_other_is_sooner() {
    within("newest".to_owned(), || {
        let _turn = turn();
        for choice in [Choice::Gpu, Choice::Auto] {
            let (devices, a, b) = kept(choice, card("a"), card("b"));
            let all = numbers(20);
            let task = |one| Box::pin(step(&devices, &ANY, one, false)) as Waiting<'_>;
            let tasks = queue(all.iter().map(task));
            let launches = || [0, 1].map(|at: usize| devices.profile().devices[at].launches);
            assert_eq!(launches(), [1, 1]);
            drop(b);
            // With four the other one is done before it would be with one.
            soon("it does 16", || RAN.lock().unwrap().len() == 16);
            assert_eq!(launches(), [1, 17]);
            let taken = || [0, 1].map(|at: usize| devices.profile().devices[at].tasks_taken);
            assert_eq!(taken(), [0, 16]);
            drop(a);
            end(tasks, &all);
            assert_eq!((launches(), taken()), ([5, 17], [0, 16]), "{choice}");
            let ran = RAN.lock().unwrap().clone();
            let newest: Vec<_> = (4..20).rev().collect();
            assert_eq!((&ran[..16], &ran[16..]), (&newest[..], &[0, 1, 2, 3][..]));
        }
    });
}

/// Of the last eight it takes the one for which the fewest bytes have to come.
#[test]
fn what_is_there_is_taken_first() {
    within("there".to_owned(), || {
        let _turn = turn();
        let (devices, a, b) = kept(Choice::Gpu, card("a"), card("b"));
        let all = numbers(6);
        // A task reads one million numbers beside its own: most of them some that are nowhere yet,
        // and the third one some that the device is about to read for a task of its own.
        let far = Buffer::<u32>::zeroed(1 << 20);
        let near = Buffer::<u32>::zeroed(1 << 20);
        let with = &devices;
        let reads = |kind: &'static Kind, own: &'static str| {
            let (near, far, all) = (&near, &far, &all);
            move |at: usize| {
                let (one, more) = (&all[at], if own == "near" || at == 2 { near } else { far });
                Box::pin(async move {
                    Dual::new(kind, &[1])
                        .reads(more)
                        .updates(one)
                        .gpu(async |gpu| gpu.launch(&STEP, [1, 1, 1], &[Arg::update(one)]).await)
                        .on(with)
                        .await
                        .unwrap();
                }) as Waiting<'_>
            }
        };
        let first = queue([reads(&ON_B, "near")(5)].into_iter());
        let tasks = queue((0..5).map(reads(&ANY, "far")));
        drop(b);
        soon("it takes one", || {
            devices.profile().devices[1].tasks_taken == 1
        });
        drop(a);
        end(first.into_iter().chain(tasks).collect(), &all);
        let ran = RAN.lock().unwrap().clone();
        assert_eq!(ran[..2], [5, 2], "{ran:?}");
    });
}

#[test]
fn a_task_that_is_tied_to_its_device_is_never_taken() {
    within("tied".to_owned(), || {
        let _turn = turn();
        for (why, kind, asks, b) in [
            ("it has asked where it is", &ANY, true, card("b")),
            ("it has no room", &ANY, false, card("b").memory_bytes(15)),
        ] {
            let (devices, a, b) = kept(Choice::Gpu, card("a"), b);
            let all = numbers(20);
            let task = |one| Box::pin(step(&devices, kind, one, asks)) as Waiting<'_>;
            let tasks = queue(all.iter().map(task));
            drop(b);
            // Each of them ends there, and leaves it with nothing to do.
            for _ in 0..5 {
                let task = Dual::new(&ON_B, &[1]);
                let task = task.gpu(async |gpu| gpu.launch(&PASS_B, [1, 1, 1], &[]).await);
                task.run(&devices).unwrap();
            }
            soon("they end", || devices.profile().devices[1].tasks == 6);
            drop(a);
            end(tasks, &all);
            let profile = devices.profile();
            let taken = [0, 1].map(|at: usize| profile.devices[at].tasks_taken);
            assert_eq!(taken, [0, 0], "{why}");
            assert_eq!(profile.devices[0].launches, 21, "{why}");
        }
    });
}

/// Only the other device has what they need, and there is no link.
#[test]
fn what_would_go_by_the_host_stays() {
    within("stays".to_owned(), || {
        let _turn = turn();
        for (is_linked, taken) in [(false, 0), (true, 6)] {
            let cards = ["a", "b"].map(|name| match is_linked {
                true => card(name),
                false => Simulated::new().name(name),
            });
            let [a, b] = cards;
            let (devices, a, b) = kept(Choice::Gpu, a, b);
            let all = numbers(10);
            // They have been written there, behind what keeps the device.
            let of = |kind: &'static Kind| {
                let devices = &devices;
                move |one| Box::pin(step(devices, kind, one, false)) as Waiting<'_>
            };
            let first = queue(all.iter().map(of(&ON_A)));
            drop(a);
            first.into_iter().for_each(roving::task::block_on);
            // What keeps it is aboard when all of them have come down.
            let a = GATE_A.close();
            let task = Dual::new(&ON_A, &[1]);
            let task = task.gpu(async |gpu| gpu.launch(&PASS_A, [1, 1, 1], &[]).await);
            task.run(&devices).unwrap();
            a.wait();
            let tasks = queue(all.iter().map(of(&ANY)));
            drop(b);
            let task = Dual::new(&ON_B, &[1]);
            let task = task.gpu(async |gpu| gpu.launch(&PASS_B, [1, 1, 1], &[]).await);
            task.run(&devices).unwrap();
            soon("it has taken what it takes", || {
                let b = &devices.profile().devices[1];
                b.tasks_taken == taken && b.launches == 2 + taken
            });
            drop(a);
            tasks.into_iter().for_each(roving::task::block_on);
            for (at, one) in (0..).zip(&all) {
                assert_eq!(*one.read(), [at + 200; 4]);
            }
            let b = &devices.profile().devices[1];
            assert_eq!((b.tasks_taken, b.bytes_from_peers), (taken, taken * 16));
        }
    });
}

/// The device that has taken tasks is lost with one of them: its CPU side runs, the others end
/// where they were.
#[test]
fn a_device_that_is_lost_with_what_it_took_loses_nothing_more() {
    within("lost".to_owned(), || {
        let _turn = turn();
        // A kernel that keeps it, then memory, a copy to it and a kernel for each that it takes.
        let b = card("b").fail_at(1 + 3 * 2 + 1, Failure::Lost);
        let (devices, a, b) = kept(Choice::Gpu, card("a"), b);
        let all = numbers(20);
        let task = |one| Box::pin(step(&devices, &ANY, one, false)) as Waiting<'_>;
        let mut tasks = queue(all.iter().map(task));
        drop(b);
        soon("it is lost", || devices.profile().devices[1].is_lost);
        drop(a);
        // Two have only been there, and one failed on its way.
        let last = tasks.split_off(17);
        end(tasks, &all[..17]);
        let mut context = Context::from_waker(Waker::noop());
        for mut task in last {
            let _ = task.as_mut().poll(&mut context);
        }
        assert_eq!(devices.profile().devices[1].tasks_taken, 3);
        assert_eq!(devices.profile().devices[0].launches, 1 + 17);
    });
}

/// Chains of kernels that take now long and now short, on three devices that take from each other,
/// one of which may be lost on its way: all numbers are right.
#[test]
fn chains_that_are_taken_this_way_and_that_are_right() {
    static UNEVEN: Kernel = Kernel::new("uneven").host(|call: &mut HostCall<'_>| {
        let numbers = call.update::<u32>();
        std::thread::sleep(Duration::from_micros(u64::from(numbers[0] % 7) * 20));
        numbers.iter_mut().for_each(|x| *x = x.wrapping_mul(5) + 1);
    });
    const CHAINS: u32 = 24;
    let run = |seed: u64| {
        let mut builder = Devices::builder().window(1 + seed as usize % 2);
        let is_lost = seed % 3 == 0;
        for name in ["a", "b", "c"] {
            let card = card(name);
            builder = builder.backend(match name {
                "b" if is_lost => card.fail_at(40 + seed * 3, Failure::Lost),
                _ => card,
            });
        }
        // What only a lost device had would be lost.
        let writes = if is_lost {
            Writes::Through
        } else {
            Writes::Back
        };
        let choice = if seed % 2 == 0 {
            Choice::Gpu
        } else {
            Choice::Auto
        };
        let devices = builder.choice(choice).writes(writes).build().unwrap();
        let (all, with) = (&numbers(CHAINS), &devices);
        roving::Pool::new(2).unwrap().run(|scope| async move {
            let chains = all.iter().map(|one| {
                scope.spawn(async move {
                    for _ in 0..6 {
                        Dual::new(&ANY, &[1])
                            .updates(one)
                            .cpu(|| {
                                one.write()
                                    .iter_mut()
                                    .for_each(|x| *x = x.wrapping_mul(5) + 1)
                            })
                            .gpu(async |gpu| {
                                gpu.launch(&UNEVEN, [1, 1, 1], &[Arg::update(one)]).await
                            })
                            .on(with)
                            .await;
                    }
                })
            });
            for chain in chains.collect::<Vec<_>>() {
                chain.await;
            }
        });
        for (at, one) in (0..).zip(all) {
            let wanted = (0..6).fold(at, |x: u32, _| x.wrapping_mul(5) + 1);
            assert_eq!(*one.read(), [wanted; 4], "{seed}");
        }
    };
    for seed in 0..30 {
        within(format!("seed {seed}"), move || run(seed));
    }
}
