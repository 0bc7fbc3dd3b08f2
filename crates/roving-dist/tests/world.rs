//! Ranks that are threads: what they do together, and how they end together.

mod common;

use std::marker::PhantomData;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use common::{hash, watched, with_patience};
use roving_dist::raw::Mail;
use roving_dist::{Plan, World};

const LONG: Duration = Duration::from_secs(120);

#[test]
fn messages_from_one_rank_arrive_in_order_whatever_the_delays() {
    watched(LONG, || {
        for seed in 0..20 {
            let plan = Plan::new(4)
                .seed(seed)
                .delay_max(Duration::from_micros(hash(seed) % 300));
            World::threads_with(&plan, |world| {
                let (ranks, count) = (world.ranks(), 300_u64);
                let (arrived, seen) = (Arc::new(AtomicU64::new(0)), vec![0_u64; ranks]);
                let counter = Arc::clone(&arrived);
                let mut seen = seen;
                let mail = Mail::new(&world, move |from, bytes| {
                    // Small and large ones in turn: they travel in different ways.
                    let number = u64::from_le_bytes(*bytes.first_chunk().unwrap());
                    assert_eq!(number, seen[from], "from rank {from}");
                    assert_eq!(bytes.len(), length(number));
                    seen[from] += 1;
                    // Ordering: Relaxed; the count alone is waited for.
                    counter.fetch_add(1, Ordering::Relaxed);
                });
                for number in 0..count {
                    let mut bytes = vec![0; length(number)];
                    bytes[..8].copy_from_slice(&number.to_le_bytes());
                    for to in 0..ranks {
                        mail.send(to, &bytes);
                    }
                }
                mail.flush();
                // Ordering: Relaxed, as above.
                mail.wait(|| arrived.load(Ordering::Relaxed) == count * ranks as u64)
                    .unwrap();
            });
        }
    });
}

fn length(number: u64) -> usize {
    match number % 10 {
        0 => 5000,
        5 => 2000,
        other => 8 + other as usize,
    }
}

#[test]
fn a_panic_on_one_rank_is_an_error_on_the_others_and_comes_out() {
    let errors = Arc::new(AtomicU64::new(0));
    let seen = Arc::clone(&errors);
    let outcome = panic::catch_unwind(move || {
        World::threads(3, |world| {
            if world.rank() == 1 {
                panic!("enough");
            }
            let error = world.barrier().unwrap_err();
            assert_eq!(error.rank(), Some(1), "{error}");
            // Ordering: Relaxed; read after the threads have ended.
            seen.fetch_add(1, Ordering::Relaxed);
        })
    });
    assert_eq!(*outcome.unwrap_err().downcast::<&str>().unwrap(), "enough");
    // Ordering: Relaxed; the threads have ended.
    assert_eq!(errors.load(Ordering::Relaxed), 2);
}

/// Its world is not dropped when it unwinds, and says nothing.
#[test]
fn a_panic_on_a_rank_that_has_leaked_its_world_is_an_error_on_the_others() {
    let outcome = watched(LONG, || {
        panic::catch_unwind(|| {
            World::threads(2, |world| {
                let world: &World = Box::leak(Box::new(world));
                if world.rank() == 1 {
                    panic!("enough");
                }
                let error = world.barrier().unwrap_err();
                assert_eq!(error.to_string(), "rank 1 of 2: panicked");
            })
        })
    });
    assert_eq!(*outcome.unwrap_err().downcast::<&str>().unwrap(), "enough");
}

#[test]
fn a_rank_that_finishes_while_others_go_on_is_an_error() {
    watched(LONG, || {
        let errors = World::threads(3, |world| match world.rank() {
            2 => world.finish().unwrap_err(),
            _ => world.barrier().unwrap_err(),
        });
        for error in errors {
            assert_eq!(
                error.to_string(),
                "rank 2 of 3: has finished while others go on"
            );
        }
    });
}

#[test]
fn a_lost_rank_is_noticed_and_named() {
    watched(LONG, || {
        for lost in 0..3 {
            // Rank 0 has what it needs for the first, and not for the second.
            let meet = |world: World| world.barrier().and_then(|()| world.barrier()).unwrap_err();
            with_patience(Duration::from_secs(1), |silence| {
                let plan = Plan::new(3).lose(lost, 0).silence_max(silence);
                let errors = World::threads_with(&plan, meet);
                match errors.iter().all(|error| error.rank() == Some(lost)) {
                    true => Ok(()),
                    false => Err(format!("{lost} is lost: {errors:?}")),
                }
            });
        }
    });
}

#[test]
fn a_handler_that_panics_ends_the_run() {
    watched(LONG, || {
        let errors = World::threads(2, |world| {
            let mail = Mail::new(&world, |_, _| panic!("no room"));
            if world.rank() == 0 {
                mail.send(1, b"one");
                mail.flush();
            }
            mail.wait(|| false).unwrap_err().to_string()
        });
        for error in errors {
            assert_eq!(error, "rank 1 of 2: handling a message panicked: no room");
        }
    });
}

#[test]
fn messages_that_nobody_flushes_arrive_all_the_same() {
    watched(LONG, || {
        World::threads(2, |world| {
            let arrived = Arc::new(AtomicU64::new(0));
            let counter = Arc::clone(&arrived);
            let mail = Mail::new(&world, move |_, _| {
                // Ordering: Relaxed; the count alone is waited for.
                counter.fetch_add(1, Ordering::Relaxed);
            });
            mail.send(1 - world.rank(), b"unflushed");
            // Nobody polls but the progress thread.
            let start = Instant::now();
            // Ordering: Relaxed, as above.
            while arrived.load(Ordering::Relaxed) == 0 {
                assert!(start.elapsed() < LONG);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    });
}

/// Of a type that threads may not send each other.
trait Stays {
    const IS_SEND: bool = false;
}

impl<T> Stays for T {}

struct Asked<T>(PhantomData<T>);

impl<T: Send> Asked<T> {
    const IS_SEND: bool = true;
}

/// The worlds of two ranks that one thread drops wait for each other.
#[test]
fn a_world_stays_on_its_thread_and_is_shared_by_others() {
    fn is_shared<T: Sync>() {}
    is_shared::<World>();
    assert_eq!(
        (Asked::<&World>::IS_SEND, Asked::<World>::IS_SEND),
        (true, false)
    );
}
