//! Iterators that end early, and those that are empty, huge or nested.

mod common;

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use common::size;
use roving_iter::iter::repeat_n;
use roving_iter::prelude::*;

/// Counts calls.
struct Calls(AtomicUsize);

impl Calls {
    fn new() -> Calls {
        Calls(AtomicUsize::new(0))
    }
    fn count(&self) -> usize {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
    fn all(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

const HUGE: u64 = 1 << 60;

#[test]
fn searches_end_when_they_have_found() {
    let pool = roving::Pool::new(3).unwrap();
    pool.install(|| {
        assert!((0..HUGE).into_par_iter().any(|n| n % 1000 == 999));
        assert!(!(0..HUGE).into_par_iter().all(|n| n % 1000 != 999));
        assert!(
            (0..u128::MAX)
                .into_par_iter()
                .find_any(|n| *n % 1000 == 999)
                .is_some()
        );
        assert_eq!(
            (0..HUGE).into_par_iter().find_first(|n| *n > 5_000),
            Some(5_001)
        );
        assert_eq!(
            (0..HUGE)
                .into_par_iter()
                .filter(|n| n % 2 == 1)
                .find_first(|n| *n > 99),
            Some(101)
        );
        let far = |n: u64| (n > 5_000).then_some(n);
        assert_eq!((0..HUGE).into_par_iter().find_map_first(far), Some(5_001));
        let flat = (0..HUGE).into_par_iter().flat_map(|n| n..n + 10);
        assert_eq!(flat.find_first(|n| *n == 5_000), Some(5_000));
        let stop = (0..HUGE)
            .into_par_iter()
            .try_for_each(|n| if n < 5_000 { Ok(()) } else { Err(n) });
        assert!(stop.unwrap_err() >= 5_000);
        let failed: Option<Vec<u64>> = (0..HUGE)
            .into_par_iter()
            .map(|n| (n % 1000 < 999).then_some(n))
            .collect();
        assert_eq!(failed, None);
        let sum = (0..HUGE)
            .into_par_iter()
            .map(|n| n.checked_add(1 << 50))
            .try_reduce(|| 0, u64::checked_add);
        assert_eq!(sum, None);
        let endless = std::iter::repeat(7).par_bridge();
        assert_eq!(endless.find_any(|n| *n == 7), Some(7));
    });
}

#[test]
fn a_search_on_one_worker_takes_no_item_behind_the_one_it_finds() {
    let pool = roving::Pool::new(1).unwrap();
    let calls = Calls::new();
    let find = |wanted: usize| {
        let calls = &calls;
        move || {
            (0..100_000)
                .into_par_iter()
                .find_any(|n| calls.count() < usize::MAX && *n == wanted)
        }
    };
    assert_eq!(pool.install(find(5_000)), Some(5_000));
    assert_eq!(calls.all(), 5_001);
}

#[test]
fn the_last_of_many_leaves_out_those_before() {
    // Another worker that has found one makes this one leave out what is before it.
    let pool = roving::Pool::new(2).unwrap();
    const MOST: u32 = size(1_000_000, 1_000);
    let last = pool.install(|| (0..MOST).into_par_iter().find_last(|n| n % 3 == 0));
    assert_eq!(last, Some(MOST - 1));
}

#[test]
fn nothing_and_one() {
    assert_eq!(Vec::<u8>::new().par_iter().max(), None);
    assert_eq!((0..0).into_par_iter().collect::<Vec<u32>>(), []);
    assert_eq!(
        (5..5).into_par_iter().chain(7..8).collect::<Vec<u32>>(),
        [7]
    );
    assert_eq!(
        vec![String::from("a")].into_par_iter().collect::<Vec<_>>(),
        ["a"]
    );
    assert_eq!("".par_lines().count(), 0);
    assert_eq!("".par_split(',').collect::<Vec<_>>(), [""]);
    assert_eq!([0_u8; 0].par_windows(3).count(), 0);
    assert_eq!([1, 2].par_windows(3).len(), 0);
    assert_eq!((0..3).into_par_iter().skip(5).len(), 0);
    assert_eq!((0..3).into_par_iter().sum::<u8>(), 3);
    assert_eq!((0..0).into_par_iter().product::<u8>(), 1);
    assert_eq!(std::iter::empty::<u8>().par_bridge().count(), 0);
    assert_eq!(
        (0..0)
            .into_par_iter()
            .flat_map(|n| 0..n)
            .find_last(|_| true),
        None::<u8>
    );
}

#[test]
fn items_without_a_size() {
    const UNITS: usize = size(100_000, 100);
    let units = vec![(); UNITS];
    assert_eq!(units.par_iter().count(), UNITS);
    let taken: Vec<()> = units.into_par_iter().map(|()| ()).collect();
    assert_eq!(taken.len(), UNITS);
    let mut sorted = [(); 3_000];
    sorted.par_sort();
    sorted.par_sort_unstable();
    assert_eq!(sorted.len(), 3_000);
}

/// As many as there can be.
#[test]
fn windows_of_items_without_a_size() {
    let pool = roving::Pool::new(2).unwrap();
    pool.install(|| {
        let units = [(); usize::MAX];
        assert_eq!(units.par_windows(1).len(), usize::MAX);
        let pairs = units.par_windows(2);
        assert_eq!(pairs.len(), usize::MAX - 1);
        assert_eq!(pairs.find_any(|pair| pair.len() == 2), Some(&[(); 2][..]));
        let wide = units.par_windows(usize::MAX - 2).map(<[()]>::len);
        assert_eq!(wide.collect::<Vec<_>>(), [usize::MAX - 2; 3]);
    });
}

/// Before the first item is made.
#[test]
fn a_vector_of_more_than_there_is_memory_for_panics_at_once() {
    #[track_caller]
    fn overflows<T>(make: impl FnOnce() -> T) {
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(make));
        let payload = outcome.err().expect("no vector has so many items");
        assert_eq!(payload.downcast_ref(), Some(&"capacity overflow"));
    }
    fn made<T>(_: T) -> u8 {
        unreachable!("an item was made")
    }
    let collect = |range: std::ops::Range<usize>| range.into_par_iter().map(made);
    overflows(|| collect(0..usize::MAX).collect::<Vec<u8>>());
    overflows(|| collect(1..usize::MAX).collect::<Vec<u8>>());
    overflows(|| vec![0].par_extend(collect(0..usize::MAX)));
    overflows(|| vec![0].par_extend(collect(3..usize::MAX)));
    overflows(|| collect(0..usize::MAX).collect::<Box<[u8]>>());
    let signed = i64::MIN..i64::MAX;
    overflows(|| signed.into_par_iter().map(made).collect::<Vec<u8>>());
    // More than `usize` can say.
    let whole = 0..=u64::MAX;
    overflows(|| whole.into_par_iter().map(made).collect::<Vec<u8>>());
    let more = 0..u128::MAX;
    assert_eq!(more.clone().into_par_iter().opt_len(), None);
    overflows(|| more.into_par_iter().map(made).collect::<Vec<u8>>());
    let chain = (0..usize::MAX).into_par_iter().chain(0..5);
    overflows(|| chain.map(made).collect::<Vec<u8>>());
    // Two vectors at once.
    type Two = (Vec<()>, Vec<u8>);
    fn pair<T>(_: T) -> ((), u8) {
        unreachable!("a pair was made")
    }
    let pairs = |range: std::ops::Range<usize>| range.into_par_iter().map(pair);
    overflows(|| -> Two { pairs(0..usize::MAX).unzip() });
    overflows(|| pairs(1..usize::MAX).collect::<Two>());
    overflows(|| <Two>::default().par_extend(pairs(0..usize::MAX)));
    overflows(|| pairs(2..usize::MAX).unzip_into_vecs(&mut vec![], &mut vec![]));
    let parted = |range| -> (Vec<u8>, Vec<u8>) { collect(range).partition(|n| n % 2 == 0) };
    overflows(|| parted(0..usize::MAX));
}

#[test]
fn iterators_inside_iterators() {
    let table: Vec<Vec<u64>> = (0..50)
        .into_par_iter()
        .map(|row| (0..row).into_par_iter().map(|n| n * row).collect())
        .collect();
    let sum: u64 = table
        .par_iter()
        .map(|row| row.par_iter().sum::<u64>())
        .sum();
    assert_eq!(
        sum,
        (0..50)
            .map(|row| (0..row).map(|n| n * row).sum::<u64>())
            .sum()
    );
    let deep = (0..20).into_par_iter().flat_map(|a| {
        (0..a)
            .into_par_iter()
            .flat_map(move |b| (0..b).into_par_iter().map(move |c| (a, b, c)))
    });
    let serial = (0..20).flat_map(|a| (0..a).flat_map(move |b| (0..b).map(move |c| (a, b, c))));
    assert_eq!(
        deep.collect::<Vec<(u32, u32, u32)>>(),
        serial.collect::<Vec<_>>()
    );
}

#[test]
fn a_lock_may_be_held_across_an_iterator() {
    let total = Mutex::new(0);
    let pool = roving::Pool::new(3).unwrap();
    pool.install(|| {
        (0..200_u64).into_par_iter().for_each(|n| {
            let mut total = total.lock().unwrap();
            *total += (0..n).into_par_iter().map(|m| m % 2).sum::<u64>();
        });
    });
    assert_eq!(total.into_inner().unwrap(), (0..200).map(|n| n / 2).sum());
}

/// One worker, of which nobody asks for a part: without an end of its own the fold would go on for
/// years.
#[test]
fn a_search_among_what_parts_come_to_ends_the_fold() {
    let pool = roving::Pool::new(1).unwrap();
    pool.install(|| {
        let numbers = || (0..HUGE).into_par_iter();
        let sum = |sum: u64, n: u64| sum.wrapping_add(n);
        assert!(numbers().fold(|| 0, sum).any(|sum| sum < u64::MAX));
        let first = numbers()
            .map(|n| n + 1)
            .fold_with(0, sum)
            .find_first(|sum| *sum > 0);
        assert!(first.is_some());
        let stop = numbers().fold(|| 0, sum).try_for_each(Err);
        assert!(stop.is_err());
        let tried = |sum: u64, n: u64| Some(sum.wrapping_add(n));
        assert!(numbers().try_fold(|| 0, tried).any(|sum| sum.is_some()));
    });
}

/// Blocks that are handed over are parts, and as long as parts are to be.
#[test]
fn what_a_search_is_handed_is_no_shorter_than_asked() {
    let pool = roving::Pool::new(2).unwrap();
    pool.install(|| {
        for &least in size(&[1, 10, 100, 1000, 100_000][..], &[1, 10, 100]) {
            let parts = (0..size(100_003, 103)).into_par_iter().with_min_len(least);
            let counts = parts.fold(|| 0, |count, _| count + 1);
            assert!(counts.all(|count| count >= least), "{least}");
        }
    });
}

/// A part that has failed ends there, also where each block is handed over.
#[test]
fn a_failed_part_goes_on_with_no_other_block() {
    let pool = roving::Pool::new(1).unwrap();
    let calls = Calls::new();
    let failed = |(): (), n: u64| {
        calls.count();
        (n < 5_000).then_some(())
    };
    let found = pool.install(|| {
        let tried = (0..HUGE).into_par_iter().try_fold(|| (), failed);
        tried.find_any(Option::is_none)
    });
    assert_eq!((found, calls.all()), (Some(None), 5_001));
}

/// On many workers too: the others hear of the part that has failed.
#[test]
fn a_failed_fold_ends_its_reduction() {
    for workers in 1..4 {
        let pool = roving::Pool::new(workers).unwrap();
        let numbers = || (0..HUGE).into_par_iter();
        let add = |sum: u64, n: u64| (n < 5_000).then(|| sum.wrapping_add(n));
        let sum = pool.install(|| {
            numbers()
                .try_fold(|| 0, add)
                .try_reduce(|| 0, u64::checked_add)
        });
        assert_eq!(sum, None);
    }
}

/// A fold before a reduction combines what parts come to, and not what blocks come to: a total that
/// grows is not moved again and again.
#[test]
fn a_reduction_combines_parts() {
    const ITEMS: u64 = size(1_000_000, 1_000);
    let pool = roving::Pool::new(1).unwrap();
    let joins = Calls::new();
    let push = |mut all: Vec<u64>, n: u64| {
        all.push(n);
        Some(all)
    };
    let all = pool.install(|| {
        let parts = (0..ITEMS).into_par_iter().try_fold(Vec::new, push);
        parts.try_reduce(Vec::new, |lower, upper| {
            joins.count();
            Some([lower, upper].concat())
        })
    });
    assert!(all.unwrap().into_iter().eq(0..ITEMS));
    assert!(joins.all() <= 2, "{}", joins.all());
}

/// So many items, of which the later ones take long.
const SLOW: u64 = size(6_000, 150);

/// Adds an item, which takes long where there are many before it.
fn add_slowly(mut all: Vec<u64>, item: u64) -> Vec<u64> {
    let start = Instant::now();
    while all.len() > size(1_000, 100) && start.elapsed() < Duration::from_micros(20) {
        std::hint::spin_loop();
    }
    all.push(item);
    all
}

/// One worker, of which nobody asks for a part, makes one total; a few, if that makes its items
/// slower. They are in order.
#[test]
fn a_fold_that_slows_down_keeps_the_order() {
    let pool = roving::Pool::new(1).unwrap();
    let range = || (0..SLOW).into_par_iter();
    let totals: Vec<Vec<u64>> = pool.install(|| range().fold(Vec::new, add_slowly).collect());
    assert!((1..=17).contains(&totals.len()), "{}", totals.len());
    assert!(totals.into_iter().flatten().eq(0..SLOW));
    // Those that own no memory cannot grow.
    let count = |count, item| count + add_slowly(vec![0; count], item).len() - count;
    let counts: Vec<usize> = pool.install(|| range().fold(|| 0, count).collect());
    assert_eq!(counts, [SLOW as usize]);
}

/// On many workers too; a reduction is such a fold.
#[test]
fn a_reduction_that_slows_down_keeps_the_order() {
    for workers in 1..4 {
        let pool = roving::Pool::new(workers).unwrap();
        let append = |lower: Vec<u64>, upper: Vec<u64>| match &upper[..] {
            [item] => add_slowly(lower, *item),
            _ => [lower, upper].concat(),
        };
        let all = pool.install(|| {
            let items = (0..SLOW).into_par_iter().map(|item| vec![item]);
            items.reduce_with(append)
        });
        assert!(all.unwrap().into_iter().eq(0..SLOW));
    }
    let none = (0..0).into_par_iter().map(|n: u64| vec![n]);
    assert_eq!(none.reduce_with(|lower, _| lower), None);
}

#[test]
fn values_of_parts_stay_on_their_thread() {
    const ITEMS: u64 = size(10_000, 500);
    let made = Calls::new();
    let init = || {
        made.count();
        // Neither `Send` nor `Sync`.
        std::rc::Rc::new(Cell::new(0_u64))
    };
    let counts = (0..ITEMS).into_par_iter().map_init(init, |seen, n| {
        seen.set(seen.get() + 1);
        (seen.get(), n)
    });
    let all: Vec<(u64, u64)> = counts.collect();
    let begun = all.iter().filter(|(count, _)| *count == 1).count();
    assert!(all.iter().map(|(_, n)| *n).eq(0..ITEMS));
    assert!(
        (1..=made.all()).contains(&begun),
        "{begun} of {}",
        made.all()
    );
    // Not a new one for each block.
    assert!(made.all() < ITEMS as usize / 2, "{}", made.all());
    (0..100_u64)
        .into_par_iter()
        .for_each_with(Cell::new(0), |seen, n| seen.set(n));
}

#[test]
fn an_iterator_that_waits_for_its_items_gets_them_one_by_one() {
    // Each item is made only when the one before has been used.
    let (sender, receiver) = std::sync::mpsc::channel();
    sender.send(0).unwrap();
    let sender = Mutex::new(Some(sender));
    let used = Calls::new();
    receiver.into_iter().par_bridge().for_each(|n: u32| {
        used.count();
        let mut sender = sender.lock().unwrap();
        match n {
            500 => *sender = None,
            _ => sender.as_ref().unwrap().send(n + 1).unwrap(),
        }
    });
    assert_eq!(used.all(), 501);
}

#[test]
fn names_of_pools() {
    let pool = roving_iter::ThreadPoolBuilder::new()
        .num_threads(2)
        .build()
        .unwrap();
    let sums = pool.install(|| {
        (0..100_u32)
            .into_par_iter()
            .map(|n| n + roving_iter::current_num_threads() as u32)
            .sum::<u32>()
    });
    assert_eq!(sums, 4950 + 200);
    let (mut a, mut b) = (0, 0);
    pool.scope(|s| {
        s.spawn(|_| a = 1);
        s.spawn(|_| b = 2);
    });
    assert_eq!((a, b), (1, 2));
}

/// The line that a panic names is the program's own, where a size of 0 is given.
#[test]
fn a_size_of_none_is_named_where_it_is_given() {
    static PLACES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        let said = info
            .payload()
            .downcast_ref::<&str>()
            .copied()
            .unwrap_or_default();
        match info.location() {
            Some(at) if said.contains("must not be zero") || said.contains("say 1 or more") => {
                PLACES.lock().unwrap().push(at.file().to_owned());
            }
            _ => before(info),
        }
    }));
    let wrong: [fn() -> usize; 9] = [
        || [1, 2].par_windows(0).count(),
        || [1, 2].par_chunks(0).count(),
        || [1, 2].par_chunks_exact(0).count(),
        || [1, 2].par_rchunks(0).count(),
        || [1, 2].par_chunks_mut(0).count(),
        || [1, 2].par_chunks_exact_mut(0).count(),
        || [1, 2].par_rchunks_mut(0).count(),
        || [1, 2].par_iter().step_by(0).count(),
        || [1, 2].par_iter().chunks(0).count(),
    ];
    for call in wrong {
        assert!(std::panic::catch_unwind(call).is_err());
    }
    assert_eq!(*PLACES.lock().unwrap(), [file!(); 9]);
}

/// A thread that a pool has adopted is a worker of it until the iterator has ended.
#[test]
fn an_adopted_thread_may_drop_its_pool_in_an_iterator() {
    for workers in [1, 2] {
        let on_adopted = || {
            let builder = roving::Pool::builder().workers(workers);
            let pool = Mutex::new(Some(builder.adopt_current_thread().build().unwrap()));
            let leaves = |n: usize| {
                drop(pool.lock().unwrap().take());
                n
            };
            let numbers = (0..20).into_par_iter().map(leaves);
            let pairs = numbers.skip(1).flat_map(|n| (0..n).into_par_iter());
            assert_eq!(pairs.count(), 190);
            // It has left.
            roving::spawn(|| ());
            assert_eq!(roving::current_worker(), None);
            assert_eq!((0..100).into_par_iter().sum::<usize>(), 4950);
        };
        std::thread::scope(|s| s.spawn(on_adopted).join().unwrap());
    }
}

#[test]
fn a_chain_of_too_many_items_to_be_numbered_says_so() {
    let numbered = || {
        let all = repeat_n(1_u8, usize::MAX).chain(repeat_n(2, 5)).enumerate();
        all.find_any(|_| true)
    };
    let payload = std::panic::catch_unwind(numbered).unwrap_err();
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    assert!(text.unwrap().contains("more items than"), "{text:?}");
}

/// The workers that wait for their turn leave their cores to whoever makes the next item.
#[test]
fn a_bridged_iterator_may_wait_for_jobs_of_its_pool() {
    for workers in 1..4 {
        let pool = roving::Pool::new(workers).unwrap();
        let jobs = &pool;
        let waits = move |n: usize| {
            let asks = move || std::thread::scope(|s| s.spawn(|| jobs.install(|| n)).join());
            roving::blocking(asks).unwrap()
        };
        let sum: usize = pool.install(|| (0..50).map(waits).par_bridge().sum());
        assert_eq!(sum, 1225);
        // A job of the pool that sends all of them.
        let (sender, receiver) = std::sync::mpsc::channel();
        let receives = move || roving::blocking(|| receiver.recv().ok());
        let sum: usize = pool.install(|| {
            roving::spawn(move || (0..50).for_each(|n| sender.send(n).unwrap()));
            std::iter::from_fn(receives).par_bridge().sum()
        });
        assert_eq!(sum, 1225);
    }
}

/// A value whose clones wait for jobs of a pool.
struct Waits<'p>(&'p roving::Pool);

impl Clone for Waits<'_> {
    fn clone(&self) -> Self {
        let pool = self.0;
        let asks = move || std::thread::scope(|s| s.spawn(|| pool.install(|| ())).join());
        roving::blocking(asks).unwrap();
        Waits(pool)
    }
}

/// As the items above: each part has a clone of its own.
#[test]
fn values_of_parts_may_wait_for_jobs_of_their_pool_when_they_are_cloned() {
    for workers in [1, 2, 3].repeat(5) {
        let pool = roving::Pool::new(workers).unwrap();
        let items = || (0..64_u32).into_par_iter().with_max_len(1);
        pool.install(|| items().for_each_with(Waits(&pool), |_, _| ()));
        let folded: u32 = pool.install(|| {
            let sums = items().fold_with((Waits(&pool), 0), |(w, sum), n| (w, sum + n));
            sums.map(|(_, sum)| sum).sum()
        });
        assert_eq!(folded, 63 * 32);
    }
}
