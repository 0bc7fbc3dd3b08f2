//! Contract 7: no data race is expressible in safe code. Programs that must not compile, each with
//! the reason and with a twin that differs in that one point and does.
//!
//! Documentation tests of a module that exists for them only: `cargo test --doc` builds each as a
//! program of its own. A nightly toolchain also checks the code of the error.

/// A `join` closure moves to another thread when it is stolen, and its captures with it, so it must
/// be `Send`. Two threads would change the count of an `Rc`.
///
/// ```compile_fail,E0277
/// let one = std::rc::Rc::new(1);
/// let other = one.clone();
/// roving::join(move || *one, move || *other);
/// ```
///
/// ```
/// let one = std::sync::Arc::new(1);
/// let other = one.clone();
/// roving::join(move || *one, move || *other);
/// ```
struct JoinOfAnRc;

/// So does what it returns: the thief hands it to the owner.
///
/// ```compile_fail,E0277
/// roving::join(|| (), || std::rc::Rc::new(1));
/// ```
///
/// ```
/// roving::join(|| (), || std::sync::Arc::new(1));
/// ```
struct JoinReturnsAnRc;

/// The two closures of a `join` may run at the same time: one of them at most may write.
///
/// ```compile_fail,E0499
/// let mut count = 0;
/// roving::join(|| count += 1, || count += 1);
/// ```
///
/// ```
/// let (mut count, mut other) = (0, 0);
/// roving::join(|| count += 1, || other += 1);
/// ```
struct JoinOfTwoWriters;

/// A `Cell` is for one thread: a reference to it must not reach another one.
///
/// ```compile_fail,E0277
/// let cell = std::cell::Cell::new(1);
/// roving::join(|| cell.set(2), || ());
/// ```
///
/// ```
/// let cell = std::sync::atomic::AtomicU32::new(1);
/// roving::join(|| cell.store(2, std::sync::atomic::Ordering::Relaxed), || ());
/// ```
struct JoinBorrowsACell;

/// A lock is to be unlocked by the thread that locked it, so its guard stays there.
///
/// ```compile_fail,E0277
/// let lock = std::sync::Mutex::new(1);
/// let guard = lock.lock().unwrap();
/// roving::join(move || drop(guard), || ());
/// ```
///
/// ```
/// let lock = std::sync::Mutex::new(1);
/// let guard = lock.lock().unwrap();
/// roving::join(|| (), || ());
/// drop(guard);
/// ```
struct JoinMovesAGuard;

/// A task of a scope may run until the scope ends, so it must not borrow what its body owns.
///
/// ```compile_fail,E0597
/// roving::scope(|s| {
///     let inside = 1;
///     let borrowed = &inside;
///     s.spawn(move |_| assert_eq!(*borrowed, 1));
/// });
/// ```
///
/// ```
/// let outside = 1;
/// roving::scope(|s| {
///     let borrowed = &outside;
///     s.spawn(move |_| assert_eq!(*borrowed, 1));
/// });
/// ```
struct TaskBorrowsWhatDiesInsideTheScope;

/// Nor what another task owns.
///
/// ```compile_fail,E0597
/// roving::scope(|s| {
///     s.spawn(|s| {
///         let inside = 1;
///         let borrowed = &inside;
///         s.spawn(move |_| assert_eq!(*borrowed, 1));
///     });
/// });
/// ```
///
/// ```
/// roving::scope(|s| {
///     s.spawn(|s| {
///         let inside = 1;
///         s.spawn(move |_| assert_eq!(inside, 1));
///     });
/// });
/// ```
struct TaskBorrowsWhatDiesInATask;

/// A scope that has ended takes no tasks: nobody would wait for them. So no reference to it leaves.
///
/// ```compile_fail,E0521
/// let mut escaped = None;
/// roving::scope(|s| escaped = Some(s));
/// escaped.unwrap().spawn(|_| ());
/// ```
///
/// ```
/// let mut cancelled = None;
/// roving::scope(|s| cancelled = Some(s.is_cancelled()));
/// assert_eq!(cancelled, Some(false));
/// ```
struct ScopeEscapes;

/// A scope's task moves to another thread, and its captures with it.
///
/// ```compile_fail,E0277
/// let owned = std::rc::Rc::new(1);
/// roving::scope(|s| s.spawn(move |_| drop(owned)));
/// ```
///
/// ```
/// let owned = std::sync::Arc::new(1);
/// roving::scope(|s| s.spawn(move |_| drop(owned)));
/// ```
struct TaskOwnsAnRc;

/// A variable that a task borrows mutably cannot be used until the scope has ended.
///
/// ```compile_fail,E0506
/// let mut count = 0;
/// roving::scope(|s| {
///     s.spawn(|_| count += 1);
///     count = 5;
/// });
/// ```
///
/// ```
/// let mut count = 0;
/// roving::scope(|s| {
///     s.spawn(|_| count += 1);
/// });
/// count += 5;
/// assert_eq!(count, 6);
/// ```
struct BodyWritesWhatATaskWrites;

/// Nobody waits for a detached task, so it borrows from nobody.
///
/// ```compile_fail,E0597
/// let number = 1;
/// let borrowed = &number;
/// roving::spawn(move || assert_eq!(*borrowed, 1));
/// ```
///
/// ```
/// let number = 1;
/// roving::spawn(move || assert_eq!(number, 1));
/// ```
struct SpawnBorrows;

/// A task spawned by [`Pool::spawn`](crate::Pool::spawn) cannot borrow from its caller.
///
/// ```compile_fail,E0597
/// let pool = roving::Pool::new(1).unwrap();
/// let number = 1;
/// let borrowed = &number;
/// pool.spawn(move || assert_eq!(*borrowed, 1));
/// ```
///
/// ```
/// let pool = roving::Pool::new(1).unwrap();
/// let number = 1;
/// pool.spawn(move || assert_eq!(number, 1));
/// ```
struct PoolSpawnBorrows;

/// All workers call the closure of a loop at the same time.
///
/// ```compile_fail,E0277
/// let count = std::cell::Cell::new(0);
/// roving::par_for(0..10, |_| count.set(count.get() + 1));
/// ```
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering};
///
/// let count = AtomicU32::new(0);
/// roving::par_for(0..10, |_| {
///     count.fetch_add(1, Ordering::Relaxed);
/// });
/// ```
struct ParForOfACell;

/// So it cannot write to what it has captured.
///
/// ```compile_fail,E0594
/// let mut count = 0;
/// roving::par_for(0..10, |_| count += 1);
/// ```
///
/// ```
/// assert_eq!(roving::map_reduce(0..10, 0, |_| 1, |a, b| a + b), 10);
/// ```
struct ParForWrites;

/// The chunks of a slice go to other threads.
///
/// ```compile_fail,E0277
/// let mut slice = [const { std::cell::RefCell::new(1) }; 4];
/// let shared: Vec<&std::cell::RefCell<i32>> = slice.iter().collect();
/// let mut shared = shared;
/// roving::par_chunks_mut(&mut shared, 2, |_, chunk| *chunk[0].borrow_mut() += 1);
/// ```
///
/// ```
/// let mut slice = [const { std::cell::RefCell::new(1) }; 4];
/// roving::par_chunks_mut(&mut slice, 2, |_, chunk| *chunk[0].get_mut() += 1);
/// ```
struct ChunksOfReferencesToCells;

/// The values that are combined come from other threads.
///
/// ```compile_fail,E0277
/// use std::rc::Rc;
///
/// roving::map_reduce(0..10, Rc::new(0), |i| Rc::new(i), |a, b| Rc::new(*a + *b));
/// ```
///
/// ```
/// use std::sync::Arc;
///
/// roving::map_reduce(0..10, Arc::new(0), |i| Arc::new(i), |a, b| Arc::new(*a + *b));
/// ```
struct MapReduceOfAnRc;

/// A value that `install` returns comes from another thread, which may have kept a reference to it.
///
/// ```compile_fail,E0277
/// use std::cell::Cell;
///
/// let pool = roving::Pool::new(1).unwrap();
/// let cell: &'static Cell<i32> = pool.install(|| &*Box::leak(Box::new(Cell::new(1))));
/// ```
///
/// ```
/// use std::cell::Cell;
///
/// let pool = roving::Pool::new(1).unwrap();
/// let cell: Cell<i32> = pool.install(|| Cell::new(1));
/// ```
struct InstallReturnsAReferenceToACell;

/// And what it captures goes to that thread.
///
/// ```compile_fail,E0277
/// let pool = roving::Pool::new(1).unwrap();
/// let cell = std::cell::Cell::new(1);
/// pool.install(|| cell.set(2));
/// ```
///
/// ```
/// let pool = roving::Pool::new(1).unwrap();
/// let mut cell = std::cell::Cell::new(1);
/// pool.install(|| *cell.get_mut() = 2);
/// ```
struct InstallBorrowsACell;

/// All workers call what is broadcast, at the same time.
///
/// ```compile_fail,E0277
/// let count = std::cell::Cell::new(0);
/// roving::broadcast(|index| count.set(index));
/// ```
///
/// ```
/// let numbers = roving::broadcast(|index| std::cell::Cell::new(index));
/// assert_eq!(numbers[0].get(), 0);
/// ```
struct BroadcastOfACell;

/// The values of a `WorkerLocal` are made by the workers, and dropped by whoever drops it.
///
/// ```compile_fail,E0277
/// let local = roving::WorkerLocal::new(|| std::rc::Rc::new(1));
/// ```
///
/// ```
/// let local = roving::WorkerLocal::new(|| std::cell::Cell::new(1));
/// ```
struct WorkerLocalOfAnRc;

/// In an in-place pool threads take turns as the worker, so no reference to its value outlives the
/// call that shows it.
///
/// ```compile_fail
/// let local = roving::WorkerLocal::new(|| std::cell::Cell::new(1));
/// let kept = local.with(|value| value);
/// ```
///
/// ```
/// let local = roving::WorkerLocal::new(|| std::cell::Cell::new(1));
/// let copied = roving::scope(|_| local.with(|value| value.get()));
/// ```
struct WorkerLocalValueEscapes;

/// The callbacks of a pool are called by its threads.
///
/// ```compile_fail,E0277
/// let count = std::cell::Cell::new(0);
/// let builder = roving::Pool::builder().on_start(move |index| count.set(index));
/// ```
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// let count = AtomicUsize::new(0);
/// let builder = roving::Pool::builder().on_start(move |index| count.store(index, Ordering::Relaxed));
/// ```
struct CallbackOfACell;
