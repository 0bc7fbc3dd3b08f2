#![allow(unsafe_code)] // a waker with functions of its own

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::thread;
use std::time::Duration;

use super::{
    Backend, BufferContent, BufferWaiter, Content, CopyPlace, Granted, Lent, Missing, Need, Way,
};
use crate::buffer::wait::wake_all;
use crate::common::Running;
use crate::history::MeasuredSide;
use crate::{Devices, Dual, Kind, Simulated};

// Ordering: Relaxed, throughout: one thread.

type WhenAsked = Box<dyn Fn(&Mock, Arc<dyn Content>) + Send + Sync>;

/// A device that has a valid copy.
struct Mock {
    /// So often it says first that it has none.
    not_yet: AtomicUsize,
    /// How often it was asked for the copy.
    asked: AtomicUsize,
    when_asked: WhenAsked,
}

impl Mock {
    fn new(when_asked: impl Fn(&Mock, Arc<dyn Content>) + Send + Sync + 'static) -> Arc<Mock> {
        Arc::new(Mock {
            not_yet: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            when_asked: Box::new(when_asked),
        })
    }

    fn place(self: &Arc<Mock>) -> Arc<dyn CopyPlace> {
        Arc::clone(self) as _
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl CopyPlace for Mock {
    fn fetch(self: Arc<Self>, content: Arc<dyn Content>) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        (self.when_asked)(&self, content);
    }

    fn has_valid(&self, _: u64, _: u64) -> bool {
        let less = |left: usize| left.checked_sub(1);
        self.not_yet
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_err()
    }

    fn way(&self, _: u64, _: u64, _: &dyn Backend) -> Option<Way> {
        None
    }

    fn lend(self: Arc<Self>, _: u64, _: u64, _: &dyn Backend) -> Option<Lent> {
        None
    }

    fn forget(&self, _: u64) {}
}

/// A buffer of one number, which only that device has.
fn only_at(mock: &Arc<Mock>) -> Arc<BufferContent<u32>> {
    let shared = Arc::new(BufferContent::new(vec![0_u32]));
    shared.written(Arc::downgrade(&mock.place()), None);
    shared
}

/// One look of somebody who needs the host's copy.
fn poll_host(shared: &Arc<BufferContent<u32>>, need: &mut Need) -> Poll<Result<(), String>> {
    Arc::clone(shared).poll_host(need, Waker::noop())
}

/// The copy that is under way ends.
fn fails(shared: &BufferContent<u32>, reason: &str) {
    shared.fetched(Err(Missing::ThisTime(reason.to_owned())));
}

fn told(reason: &str) -> Poll<Result<(), String>> {
    Poll::Ready(Err(reason.to_owned()))
}

/// A tile of Cholesky's factor: tasks that read it wait in the queue of a device, and one that a
/// worker has taken reads it, too.
#[test]
fn a_copy_comes_to_the_host_beside_tasks_that_read() {
    let mock = Mock::new(|_, _| ());
    let (shared, mut need) = (only_at(&mock), Need::default());
    let waker = Waker::noop();
    assert!(shared.try_hold(false, &mut BufferWaiter::default(), waker));
    // It is asked for once, and nobody changes it meanwhile.
    for _ in 0..2 {
        assert!(poll_host(&shared, &mut need).is_pending());
        assert_eq!(mock.asked(), 1);
    }
    shared.release(false);
    assert!(!shared.try_hold(true, &mut BufferWaiter::default(), waker));
    assert!(shared.try_hold(false, &mut BufferWaiter::default(), waker));
    shared.fetched(Ok(shared.target()));
    assert_eq!(poll_host(&shared, &mut need), Poll::Ready(Ok(())));
    assert!(!shared.try_hold(true, &mut BufferWaiter::default(), waker));
    shared.release(false);
    assert!(shared.try_hold(true, &mut BufferWaiter::default(), waker));
}

#[test]
fn the_first_reason_of_a_loss_is_told() {
    let mock = Mock::new(|_, content| {
        let (version, _) = content.versions();
        for reason in ["the kernel failed", "its copy is gone"] {
            let waiters = content.lose(version, reason);
            wake_all(waiters);
        }
        content.fetched(Err(Missing::NoLonger));
    });
    let (shared, mut need) = (only_at(&mock), Need::default());
    let mut look = || shared.try_guard(false, &mut need, Waker::noop());
    assert!(matches!(look(), Granted::Later));
    match look() {
        Granted::Lost(reason) => assert_eq!(reason, "the kernel failed"),
        Granted::Yes(_) | Granted::Later => panic!("no copy is left"),
    }
}

/// The first copy was begun before the guard has come, and each one by a fetch.
#[test]
fn who_waits_beside_one_that_fetches_is_told_of_the_second_failure() {
    let mock = Mock::new(|_, _| ());
    let (shared, mut need) = (only_at(&mock), Need::default());
    shared.begin_fetch();
    assert!(poll_host(&shared, &mut need).is_pending());
    for reason in ["first", "second"] {
        fails(&shared, reason);
        shared.begin_fetch();
        match reason {
            "first" => assert!(poll_host(&shared, &mut need).is_pending()),
            _ => assert_eq!(poll_host(&shared, &mut need), told(reason)),
        }
    }
    assert_eq!(mock.asked(), 3);
}

#[test]
fn all_who_wait_for_a_copy_are_told_why_it_failed_and_nobody_else_is() {
    let mock = Mock::new(|_, _| ());
    let shared = only_at(&mock);
    let mut early = [(); 2].map(|()| Need::default());
    // They ask for nothing yet, and have come.
    assert!(shared.try_hold(true, &mut BufferWaiter::default(), Waker::noop()));
    for need in &mut early {
        assert!(poll_host(&shared, need).is_pending());
    }
    shared.release(true);
    let (mut first, mut late) = (Need::default(), Need::default());
    assert!(poll_host(&shared, &mut first).is_pending());
    assert!(poll_host(&shared, &mut late).is_pending());
    fails(&shared, "no memory");
    for need in early.iter_mut().chain([&mut first]) {
        assert_eq!(poll_host(&shared, need), told("no memory"));
    }
    assert_eq!(mock.asked(), 1);
    assert!(poll_host(&shared, &mut late).is_pending());
    assert_eq!(mock.asked(), 2);
}

/// A device says that it has a copy, and is lost before it is asked for that. Another one has it
/// already, or gets it while the first one finds nobody who has.
#[test]
fn what_goes_between_two_looks_at_a_device_comes_from_another() {
    for not_yet in [0, 1] {
        let devices = Devices::builder().backend(Simulated::new()).build();
        let devices = devices.unwrap().0.unwrap();
        let device = Arc::clone(&devices.devices[0]);
        let first = Mock::new(move |first, content| {
            first.not_yet.store(usize::MAX, Ordering::Relaxed);
            // That one has no copy of it.
            Arc::clone(&device).fetch(content);
        });
        let other = Mock::new(|_, content| content.fetched(Ok(content.target())));
        other.not_yet.store(not_yet, Ordering::Relaxed);
        let (shared, mut need) = (only_at(&first), Need::default());
        shared.is_at(Arc::downgrade(&other.place()));
        for _ in 0..2 {
            assert!(poll_host(&shared, &mut need).is_pending());
        }
        assert_eq!(poll_host(&shared, &mut need), Poll::Ready(Ok(())));
        assert_eq!((first.asked(), other.asked()), (1, 1));
    }
}

/// The device is lost when the copy has ended, and before it is known here.
#[test]
fn what_was_copied_to_make_room_is_not_lost_with_the_device() {
    let (shared, mut need) = (only_at(&Mock::new(|_, _| ())), Need::default());
    let (version, _) = shared.versions();
    assert!(shared.lose(version, "the device is gone").is_empty());
    shared.spilled(version, shared.target());
    assert_eq!(poll_host(&shared, &mut need), Poll::Ready(Ok(())));
}

/// A waker that panics: who waits beside it is woken all the same.
#[test]
fn a_waker_that_panics_keeps_no_other_from_being_woken() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            std::panic::resume_unwind(Box::new(()));
        }
    }
    struct Counts(AtomicUsize);
    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let content = BufferContent::new(vec![1_u32]);
    let counts = Arc::new(Counts(AtomicUsize::new(0)));
    assert!(content.try_hold(true, &mut BufferWaiter::default(), Waker::noop()));
    for waker in [
        Waker::from(Arc::new(Panics)),
        Waker::from(Arc::clone(&counts)),
    ] {
        assert!(!content.try_hold(true, &mut BufferWaiter::default(), &waker));
    }
    content.release(true);
    assert_eq!(counts.0.load(Ordering::Relaxed), 1);
    assert!(content.try_hold(true, &mut BufferWaiter::default(), Waker::noop()));
}

/// A waker that uses the buffer when it is cloned, as one may that logs.
#[test]
fn a_waker_is_cloned_under_no_lock() {
    const VTABLE: RawWakerVTable = RawWakerVTable::new(clone, |_| (), |_| (), |_| ());
    fn clone(content: *const ()) -> RawWaker {
        // SAFETY: the test keeps the content longer than its waker.
        let content = unsafe { &*content.cast::<BufferContent<u32>>() };
        assert_eq!(content.versions().0, 0);
        RawWaker::new(ptr::from_ref(content).cast(), &VTABLE)
    }
    let content = Arc::new(BufferContent::new(vec![1_u32]));
    // SAFETY: the functions do what those of a waker that owns nothing are to do.
    let waker = unsafe { Waker::from_raw(RawWaker::new(Arc::as_ptr(&content).cast(), &VTABLE)) };
    assert!(content.try_hold(false, &mut BufferWaiter::default(), Waker::noop()));
    assert!(!content.try_hold(true, &mut BufferWaiter::default(), &waker));
    let later = content.try_guard(true, &mut Need::default(), &waker);
    assert!(matches!(later, Granted::Later));
    content.release(false);
    assert_eq!(
        poll_host(&content, &mut Need::default()),
        Poll::Ready(Ok(()))
    );
}

/// So does one that asks the devices; here it is cloned to wake a task that waits in a queue, so
/// that a worker says whether it takes that.
#[test]
fn a_waker_is_cloned_with_no_device_locked() {
    static QUEUED: Kind = Kind::new("queued");
    const VTABLE: RawWakerVTable = RawWakerVTable::new(clone, |_| (), |_| (), |_| ());
    fn clone(devices: *const ()) -> RawWaker {
        // SAFETY: the test keeps the devices longer than the waker.
        let devices = unsafe { &*devices.cast::<Devices>() };
        assert!(!devices.profile().devices[0].is_lost);
        RawWaker::new(ptr::from_ref(devices).cast(), &VTABLE)
    }
    let (over, is_over) = channel();
    thread::spawn(move || {
        let devices = Devices::builder().backend(Simulated::new()).build();
        let devices = devices.unwrap();
        let common = &devices.0.as_ref().unwrap().common;
        // The device does not want it, and somebody else is busy.
        for (side, seconds) in [
            (MeasuredSide::Cpu, 1e-3),
            (MeasuredSide::Device("simulated"), 1e-2),
        ] {
            common.history.record("queued", side, 1.0, seconds);
        }
        let _busy = Running::new(common, "busy", None);
        let task = Dual::new(&QUEUED, &[1]).cpu(|| ()).gpu(async |_| Ok(()));
        let mut task = Box::pin(task.on(&devices));
        // SAFETY: the functions do what those of a waker that owns nothing are to do.
        let waker = unsafe {
            let own = ptr::from_ref(&devices).cast();
            Waker::from_raw(RawWaker::new(own, &VTABLE))
        };
        let mut poll = || task.as_mut().poll(&mut Context::from_waker(&waker));
        assert!(poll().is_pending());
        while poll().is_pending() {
            // A worker looks at the queue.
            thread::yield_now();
        }
        drop(task);
        over.send(()).unwrap();
    });
    let ended = is_over.recv_timeout(Duration::from_secs(60));
    ended.expect("it neither hangs nor panics");
}

/// A table that is only read, by devices that come and go.
#[test]
fn devices_that_are_no_more_are_forgotten() {
    let shared = BufferContent::new(vec![0_u32]);
    for _ in 0..100 {
        let mock = Mock::new(|_, _| ());
        shared.is_at(Arc::downgrade(&mock.place()));
    }
    assert!(shared.lock().places.len() <= 1);
}
