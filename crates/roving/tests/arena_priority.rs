//! Classes of the jobs of one pool.

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, mpsc};

use common::{size, tries, wait_until, watched};
use roving::{Arena, Pool, Priority, join};

const CLASSES: [Priority; 3] = [Priority::Low, Priority::Normal, Priority::High];

fn pools() -> [Pool; 3] {
    let arena = Arena::new(1).unwrap();
    [
        Pool::new(1).unwrap(),
        arena.pool().build().unwrap(),
        Pool::builder().caller_runs().build().unwrap(),
    ]
}

#[test]
fn jobs_are_begun_by_class_and_in_their_order() {
    watched(|| {
        for pool in pools() {
            let order = Arc::new(Mutex::new(Vec::new()));
            pool.install(|| {
                for number in 0..12 {
                    let class = CLASSES[number % 3];
                    let order = Arc::clone(&order);
                    pool.spawn_with(class, move || order.lock().unwrap().push((class, number)));
                }
            });
            wait_until(|| order.lock().unwrap().len() == 12);
            let order = order.lock().unwrap();
            let mut sorted = order.clone();
            sorted.sort_by_key(|&(class, number)| (std::cmp::Reverse(class), number));
            assert_eq!(*order, sorted);
        }
    });
}

/// Of any ten that are begun in a row while something of a class waits, one is of that class.
#[test]
fn no_class_is_starved_by_more_than_the_bound() {
    watched(|| {
        for pool in pools() {
            let order = Arc::new(Mutex::new(Vec::new()));
            pool.install(|| {
                for number in 0..size(150, 60) {
                    let class = CLASSES[number % 3];
                    let order = Arc::clone(&order);
                    pool.spawn_with(class, move || order.lock().unwrap().push(class));
                }
            });
            wait_until(|| order.lock().unwrap().len() == size(150, 60));
            let order = order.lock().unwrap();
            for class in CLASSES {
                let last = order.iter().rposition(|&at| at == class).unwrap();
                let mut waited = 0;
                for &at in &order[..=last] {
                    waited = if at == class { 0 } else { waited + 1 };
                    assert!(waited <= 9, "{class:?} waited for {waited} others");
                }
            }
            // And the others do come first, when they are there.
            let of = |class| order[..20].iter().filter(|&&at| at == class).count();
            assert!(of(Priority::High) > of(Priority::Normal) + of(Priority::Low));
        }
    });
}

/// A worker that finds tasks to steal looks for jobs of the high class between two of them.
#[test]
fn a_high_job_is_begun_between_two_thefts() {
    watched(|| {
        for _ in 0..tries(100) {
            // A fresh one: who stood in for a worker in the last round would be a second thief.
            let pool = Pool::new(2).unwrap();
            let order = Arc::new(Mutex::new(Vec::new()));
            let all_are_there = AtomicBool::new(false);
            pool.install(|| {
                roving::scope(|s| {
                    for _ in 0..3 {
                        s.spawn(|_| {
                            wait_until(|| all_are_there.load(SeqCst));
                            let mut begun = order.lock().unwrap();
                            if begun.is_empty() {
                                let order = Arc::clone(&order);
                                let job = move || order.lock().unwrap().push("the job");
                                pool.spawn_with(Priority::High, job);
                            }
                            begun.push("a task");
                        });
                    }
                    all_are_there.store(true, SeqCst);
                    // This worker does nothing meanwhile, so that the other one chooses.
                    wait_until(|| order.lock().unwrap().contains(&"the job"));
                });
            });
            assert_eq!(order.lock().unwrap()[..2], ["a task", "the job"]);
        }
    });
}

/// Nor does it wait for the end of those that never run out.
#[test]
fn a_high_job_is_begun_while_workers_are_busy_with_others() {
    watched(|| {
        let pool = Pool::new(2).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let count = Arc::new(AtomicUsize::new(0));
        fn again(stop: Arc<AtomicBool>, count: Arc<AtomicUsize>) {
            join(|| (), || ());
            count.fetch_add(1, SeqCst);
            if !stop.load(SeqCst) {
                roving::spawn(move || again(stop, count));
            }
        }
        for _ in 0..4 {
            let (stop, count) = (Arc::clone(&stop), Arc::clone(&count));
            pool.spawn(move || again(stop, count));
        }
        wait_until(|| count.load(SeqCst) > size(100, 5));
        let (sender, receiver) = mpsc::channel();
        let seen = Arc::clone(&count);
        let before = count.load(SeqCst);
        pool.spawn_with(Priority::High, move || {
            sender.send(seen.load(SeqCst)).unwrap()
        });
        assert!(receiver.recv().unwrap() >= before);
        stop.store(true, SeqCst);
    });
}

/// Where a worker that waits runs jobs on top of its frame, it takes none below its class.
#[test]
fn who_waits_takes_nothing_below_its_class() {
    use roving::raw::calls::{StandIn, stand_in};
    watched(|| {
        let mut threads = Vec::new();
        let pool = stand_in(Pool::builder().workers(1), StandIn::Nobody);
        let pool = pool.build_with(|worker| {
            threads.push(std::thread::spawn(move || worker.run()));
            Ok(())
        });
        let pool = Arc::new(pool.unwrap());
        let other = Arc::new(Pool::new(1).unwrap());
        let order = Arc::new(Mutex::new(Vec::new()));
        let (sender, receiver) = mpsc::channel();
        let (inside, note) = (Arc::clone(&pool), Arc::clone(&order));
        pool.spawn_with(Priority::Normal, move || {
            for class in CLASSES {
                let note = Arc::clone(&note);
                inside.spawn_with(class, move || note.lock().unwrap().push(Some(class)));
            }
            // The only worker waits here until both of the higher two have run.
            let seen = Arc::clone(&note);
            other.install(|| wait_until(|| seen.lock().unwrap().len() == 2));
            note.lock().unwrap().push(None);
            drop(inside);
            sender.send(()).unwrap();
        });
        receiver.recv().unwrap();
        wait_until(|| order.lock().unwrap().len() == 4);
        let expected = [
            Some(Priority::High),
            Some(Priority::Normal),
            None,
            Some(Priority::Low),
        ];
        assert_eq!(*order.lock().unwrap(), expected);
        wait_until(|| Arc::strong_count(&pool) == 1);
        drop(pool);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
}

/// A job that `on_start` spawns is no turn: otherwise a share whose thread is wanted elsewhere
/// would do nothing else.
#[test]
fn a_share_whose_callback_spawns_gets_on_beside_a_higher_one() {
    fn again(stop: Arc<AtomicBool>) {
        if !stop.load(SeqCst) {
            roving::spawn(move || again(stop));
        }
    }
    watched(|| {
        let arena = Arena::new(1).unwrap();
        let high = arena.pool().workers(1).priority(Priority::High);
        let high = high.build().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        high.spawn(move || again(stops));
        let low = arena.pool().workers(1).priority(Priority::Low);
        let low = low
            .on_start(|_| drop(roving::spawn(|| ())))
            .build()
            .unwrap();
        assert_eq!(low.install(|| 7), 7);
        stop.store(true, SeqCst);
    });
}
