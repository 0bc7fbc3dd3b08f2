//! A library that is loaded into a process, uses the pool, shuts it down and is unloaded again:
//! what `tests/unload_process.rs` loads.
#![allow(unsafe_code, reason = "functions that are found by their names")]

use std::panic;
use std::time::Duration;

/// Uses all that there is: joins, scopes, async tasks, detached ones, and regions that block.
/// Returns a figure that is known; 0 after a panic.
#[unsafe(no_mangle)]
extern "C" fn plugin_work(n: u32) -> u64 {
    panic::catch_unwind(|| work(n)).unwrap_or(0)
}

fn fib(n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = roving::join(|| fib(n - 1), || fib(n - 2));
    a + b
}

fn work(n: u32) -> u64 {
    let mut sum = fib(n);
    let mut ones = [0_u64; 8];
    roving::scope(|s| {
        for one in &mut ones {
            s.spawn(move |_| {
                // Brings compensation threads in.
                roving::blocking(|| std::thread::sleep(Duration::from_micros(100)));
                *one = 1;
            });
        }
    });
    sum += ones.iter().sum::<u64>();
    sum += roving::task::block_on(async {
        let child = roving::task::fork(async { 1 }).await;
        child.await
    });
    // Wakes somebody at a deadline: that has a thread.
    let request = roving::Cancel::after(Duration::from_secs(3600));
    sum += u64::from(request.run(|| roving::task::block_on(waits_with_a_deadline())) == Ok(true));
    sum += u64::from(roving::broadcast(|index| index).len() == roving::current_workers());
    for _ in 0..10 {
        roving::spawn(|| drop(vec![0_u8; 1000]));
    }
    sum
}

async fn waits_with_a_deadline() -> bool {
    let mut looks = 0;
    let twice = std::future::poll_fn(move |context| {
        looks += 1;
        match looks {
            1 => {
                context.waker().wake_by_ref();
                std::task::Poll::Pending
            }
            _ => std::task::Poll::Ready(true),
        }
    });
    roving::context::until_cancelled(twice).await == Ok(true)
}

/// 0 when the pool and all of its threads have ended.
#[unsafe(no_mangle)]
extern "C" fn plugin_shut_down(now: bool) -> i32 {
    let is_final = match now {
        true => roving::embed::shutdown_global_now().is_final(),
        false => roving::embed::shutdown_global().is_ok(),
    };
    i32::from(!is_final)
}
