//! The cost of a task with two sides where there is no device, over the task alone: `cargo run
//! --release -p roving-gpu --example overhead`. Each kind of task is a call of a recursion, as in
//! `fib`; interleaved, and the median is told.

use std::hint::black_box;
use std::time::Instant;

use roving::task::{Task, call, fork};
use roving_gpu::{Devices, Dual, Kind};

static LEAF: Kind = Kind::new("leaf");
const DEPTH: u32 = 18;
const ROUNDS: usize = 31;

fn plain(depth: u32) -> impl Task<u64> {
    async move {
        if depth == 0 {
            return call(async { black_box(1) }).await;
        }
        let left = fork(plain(depth - 1)).await;
        call(plain(depth - 1)).await + left.await
    }
}

fn dual(devices: &'static Devices, depth: u32) -> impl Task<u64> {
    async move {
        if depth == 0 {
            let task = Dual::new(&LEAF, &[black_box(1)])
                .work(1.0)
                .cpu(|| black_box(1));
            return call(task.gpu(async |_gpu| Ok(1)).on(devices)).await;
        }
        let left = fork(dual(devices, depth - 1)).await;
        call(dual(devices, depth - 1)).await + left.await
    }
}

fn ns_per_leaf(run: impl FnOnce() -> u64) -> f64 {
    let start = Instant::now();
    assert_eq!(black_box(run()), 1 << DEPTH);
    start.elapsed().as_secs_f64() * 1e9 / f64::from(1 << DEPTH)
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    static NONE: Devices = Devices::none();
    let pool = roving::Pool::new(1).expect("one thread");
    let (mut plains, mut duals, mut calls, mut closures) = (vec![], vec![], vec![], vec![]);
    for _ in 0..ROUNDS {
        plains.push(ns_per_leaf(|| pool.run(|_| plain(DEPTH))));
        duals.push(ns_per_leaf(|| pool.run(|_| dual(&NONE, DEPTH))));
        let numbers = || 0..1_u64 << DEPTH;
        calls.push(ns_per_leaf(|| numbers().map(|_| black_box(1)).sum()));
        closures.push(ns_per_leaf(|| {
            let run = |n: u64| {
                let task = Dual::new(&LEAF, &[n as usize]).cpu(|| black_box(1));
                task.gpu(async |_gpu| Ok(1)).run(black_box(&NONE))
            };
            numbers().map(run).sum()
        }));
    }
    let (plain, dual) = (median(plains), median(duals));
    println!("ns a task, of the leaves of a recursion; median of {ROUNDS}");
    println!("task alone      {plain:7.2}");
    println!("Dual, no device {dual:7.2}   {:+.2}", dual - plain);
    let (call, closure) = (median(calls), median(closures));
    println!("call alone      {call:7.2}");
    println!("Dual::run       {closure:7.2}   {:+.2}", closure - call);
}
