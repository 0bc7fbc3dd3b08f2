//! Futures of `roving::task` that end in other hands than those that first polled them: each way to
//! start a child, at each moment of the child's life, with each thing that a program may do with
//! the future then. Whatever that is, the child runs at most once, what it comes to is dropped once
//! (one rare leak aside, see `may_be_lost`), and the root ends.
//!
//! The parties tell each other when it is their turn by words that order nothing, so that a model
//! checker or a sanitizer sees each access that the runtime itself has not ordered.

#![forbid(unsafe_code)]

mod common;

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::Ordering::{Acquire, Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize, fence};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use std::thread::{self, JoinHandle};

use common::{pool, watched};
use roving::Pool;
use roving::task::{block_on, branch, call, fork, spawn};

/// A future of `roving::task`, whatever it comes to.
trait Half: Send {
    /// Polls it; true when it is ready. What it has come to is dropped.
    fn ask(&mut self, context: &mut Context<'_>) -> bool;
}

impl<F: Future + Unpin + Send> Half for F {
    fn ask(&mut self, context: &mut Context<'_>) -> bool {
        Pin::new(self).poll(context).is_ready()
    }
}

/// How the child is started.
type Make = fn(Child) -> Box<dyn Half>;

const WAYS: [(&str, Make); 5] = [
    ("fork", |child| Box::new(fork(child.run()))),
    ("call", |child| Box::new(call(child.run()))),
    ("branch", |child| Box::new(branch(child.run()))),
    ("spawn", |child| Box::new(spawn(child.run()))),
    ("or_cancelled", |child| {
        Box::new(spawn(child.run()).or_cancelled())
    }),
];

/// The moment at which something is done with the future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// It has not been polled.
    New,
    /// It has been polled once, in the poll of the task that still goes on.
    Asked,
    /// The child has begun, and is suspended.
    Begun,
    /// The child has ended, as far as the task knows that asked for it.
    Ended,
}

/// An operation on the future, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Drop,
    Forget,
    DropOnThread,
    PollOnThread,
    DropInTask,
    PollInTask,
    DropInPool,
    DropInTaskOfPool,
    PollInTaskOfPool,
}

impl What {
    fn is_here(self) -> bool {
        matches!(self, What::Drop | What::Forget)
    }
}

/// One case, and what its parties share.
struct Case {
    when: When,
    what: What,
    begun: AtomicBool,
    resumed: AtomicBool,
    acted: AtomicBool,
    told: AtomicBool,
    waiting: Mutex<Option<Waker>>,
    runs: AtomicUsize,
    drops: AtomicUsize,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// Waits for a word that orders nothing.
fn wait_for(word: &AtomicBool) {
    while !word.load(Relaxed) {
        thread::yield_now();
    }
}

/// A value that the child owns, and returns.
struct Value {
    case: Arc<Case>,
    _memory: Box<u64>,
}

impl Drop for Value {
    fn drop(&mut self) {
        self.case.drops.fetch_add(1, Relaxed);
    }
}

struct Child(Value);

impl Child {
    async fn run(self) -> Value {
        let Child(value) = self;
        value.case.runs.fetch_add(1, Relaxed);
        value.case.begun.store(true, Relaxed);
        if value.case.when == When::Begun {
            value.case.until_told().await;
        }
        value
    }
}

impl Case {
    /// Lets the child go on that waits in the middle of its run.
    fn tell(&self) {
        if self.when == When::Begun {
            self.told.store(true, SeqCst);
            if let Some(waker) = self.waiting.lock().unwrap().take() {
                waker.wake();
            }
        }
    }

    async fn until_told(&self) {
        poll_fn(|context| {
            *self.waiting.lock().unwrap() = Some(context.waker().clone());
            match self.told.load(SeqCst) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    /// Where something is done elsewhere: at the moment that is meant.
    fn elsewhere(self: Arc<Case>, half: Box<dyn Half>, polls: bool) {
        match self.when {
            When::New | When::Asked => {}
            When::Begun => wait_for(&self.begun),
            When::Ended => wait_for(&self.resumed),
        }
        let mut half = half;
        if polls {
            // In a task that did not ask for the child, or in none: the future panics unless it is
            // new.
            let mut context = Context::from_waker(Waker::noop());
            let _ = catch_unwind(AssertUnwindSafe(|| half.ask(&mut context)));
        }
        drop(half);
        self.acted.store(true, Relaxed);
        self.tell();
    }

    /// Does what is to be done with the future, or passes it to who does.
    fn act(self: &Arc<Case>, half: Box<dyn Half>, other: &Pool) {
        static FORGOTTEN: Mutex<Vec<Box<dyn Half>>> = Mutex::new(Vec::new());
        let case = Arc::clone(self);
        let polls = matches!(
            self.what,
            What::PollOnThread | What::PollInTask | What::PollInTaskOfPool
        );
        match self.what {
            What::Drop => {
                drop(half);
                self.tell();
            }
            What::Forget => {
                FORGOTTEN.lock().unwrap().push(half);
                self.tell();
            }
            What::DropOnThread | What::PollOnThread => {
                let thread = thread::spawn(move || case.elsewhere(half, polls));
                self.threads.lock().unwrap().push(thread);
            }
            What::DropInTask | What::PollInTask => {
                drop(spawn(async move { case.elsewhere(half, polls) }));
            }
            What::DropInPool => drop(other.spawn(move || case.elsewhere(half, polls))),
            What::DropInTaskOfPool | What::PollInTaskOfPool => {
                other.spawn(move || block_on(async move { case.elsewhere(half, polls) }));
            }
        }
    }

    /// The task that makes the child, and asks for it once, unless the case is about a new one.
    /// `is_woken`: others wake the task meanwhile, so it does not wait for the child alone, and
    /// asks again.
    async fn parent(self: Arc<Case>, make: Make, other: &Pool, is_woken: bool) {
        let value = Value {
            case: Arc::clone(&self),
            _memory: Box::new(7),
        };
        let mut half = Some(make(Child(value)));
        if self.when == When::New {
            return self.act(half.take().unwrap(), other);
        }
        let mut is_resumed = false;
        poll_fn(|context| {
            if is_resumed {
                if let Some(mut half) = half.take() {
                    if is_woken && half.ask(context) {
                        self.tell();
                    } else {
                        self.act(half, other);
                    }
                }
                self.resumed.store(true, Relaxed);
                return Poll::Ready(());
            }
            is_resumed = true;
            if is_woken {
                context.waker().wake_by_ref();
            }
            let mut asked = half.take().unwrap();
            if asked.ask(context) {
                self.resumed.store(true, Relaxed);
                self.tell();
                return Poll::Ready(());
            }
            if self.what.is_here() && self.when != When::Asked {
                half = Some(asked);
            } else {
                self.act(asked, other);
            }
            Poll::Pending
        })
        .await;
    }
}

/// Runs the case; true when what the child came to was dropped.
fn run_case(pools: [&Pool; 2], way: (&str, Make), when: When, what: What, is_woken: bool) -> bool {
    let (name, make) = way;
    let case = Arc::new(Case {
        when,
        what,
        begun: AtomicBool::new(false),
        resumed: AtomicBool::new(false),
        acted: AtomicBool::new(false),
        told: AtomicBool::new(false),
        waiting: Mutex::new(None),
        runs: AtomicUsize::new(0),
        drops: AtomicUsize::new(0),
        threads: Mutex::new(Vec::new()),
    });
    let [pool, other] = pools;
    pool.run(|_| Arc::clone(&case).parent(make, other, is_woken));
    for thread in case.threads.lock().unwrap().drain(..) {
        thread.join().unwrap();
    }
    let is_in_pool = matches!(
        what,
        What::DropInPool | What::DropInTaskOfPool | What::PollInTaskOfPool
    );
    if is_in_pool && Arc::strong_count(&case) > 1 {
        // The other pool's job may come last; its only worker does the next job after that one.
        wait_for(&case.acted);
        other.install(|| ());
    }
    // The count of handles is read without an ordering: what was done before each was dropped comes
    // before this.
    fence(Acquire);
    let (runs, drops) = (case.runs.load(Relaxed), case.drops.load(Relaxed));
    let title = format!("{name}, {when:?}, {what:?}, woken: {is_woken}");
    assert!(runs <= 1, "{title}: run {runs} times");
    assert!(drops <= 1, "{title}: dropped {drops} times");
    drops == 1
}

/// How often a case may lose its value in a row where it may lose it at all.
const LOST_IN_A_ROW: usize = 10;

/// Whether what the child comes to may be lost, though rarely: a fork or call that was asked for is
/// dropped by another thread in the very moment in which the child's worker ends it, see
/// `End::end_alone` and docs/guarantees.md.
fn may_be_lost((name, _): (&str, Make), when: When, what: What) -> bool {
    when == When::Asked && !what.is_here() && matches!(name, "fork" | "call" | "branch")
}

fn check_case(pools: [&Pool; 2], way: (&str, Make), when: When, what: What, is_woken: bool) {
    let run = || run_case(pools, way, when, what, is_woken);
    if what == What::Forget {
        run();
        return;
    }
    let tries = match may_be_lost(way, when, what) {
        true => LOST_IN_A_ROW,
        false => 1,
    };
    assert!(
        (0..tries).any(|_| run()),
        "{}, {when:?}, {what:?}, woken: {is_woken}: the value was not dropped in {tries} runs",
        way.0,
    );
}

const WHATS: [What; 9] = [
    What::Drop,
    What::Forget,
    What::DropOnThread,
    What::PollOnThread,
    What::DropInTask,
    What::PollInTask,
    What::DropInPool,
    What::DropInTaskOfPool,
    What::PollInTaskOfPool,
];

/// Whether the case can be: a task that waits for the child alone cannot do anything while that is
/// suspended.
fn can_be((name, _): (&str, Make), when: When, what: What, is_woken: bool) -> bool {
    let waits_alone = !is_woken && matches!(name, "call" | "spawn" | "or_cancelled");
    let is_spawned = matches!(name, "spawn" | "or_cancelled");
    // A handle whose task has left its waker there and lost it is never told of the end.
    let is_told = is_woken || !is_spawned || what.is_here() && when != When::Asked;
    is_told && !(waits_alone && what.is_here() && when == When::Begun)
}

fn run_cases(when: When) {
    watched(|| {
        let (pool, other) = (pool(2), pool(1));
        for way in WAYS {
            for what in WHATS {
                for is_woken in [false, true] {
                    if can_be(way, when, what, is_woken) {
                        check_case([&pool, &other], way, when, what, is_woken);
                    }
                }
            }
        }
    });
}

#[test]
fn a_future_that_was_never_polled_may_go_anywhere() {
    run_cases(When::New);
}

#[test]
fn a_future_that_was_polled_once_may_go_anywhere_before_the_child_begins() {
    run_cases(When::Asked);
}

#[test]
fn a_future_that_was_polled_once_may_go_anywhere_while_the_child_is_suspended() {
    run_cases(When::Begun);
}

#[test]
fn a_future_that_was_polled_once_may_go_anywhere_when_the_child_has_ended() {
    run_cases(When::Ended);
}

/// A child that panics when nobody waits for it any more, because the future was dropped elsewhere:
/// its root says so.
#[test]
fn a_panic_is_told_by_the_root_when_the_future_was_dropped_elsewhere() {
    watched(|| {
        let pool = pool(2);
        let starts: [fn() -> Box<dyn Half>; 2] = [
            || {
                Box::new(fork(async {
                    std::panic::resume_unwind(Box::new("lost")) as ()
                }))
            },
            || {
                Box::new(call(async {
                    std::panic::resume_unwind(Box::new("lost")) as ()
                }))
            },
        ];
        for start in starts {
            let payload = catch_unwind(AssertUnwindSafe(|| {
                pool.run(|_| async move {
                    let mut half = Some(start());
                    poll_fn(|context| {
                        let Some(mut asked) = half.take() else {
                            return Poll::Ready(());
                        };
                        assert!(!asked.ask(context));
                        thread::spawn(move || drop(asked)).join().unwrap();
                        Poll::Pending
                    })
                    .await;
                });
            }));
            assert_eq!(payload.unwrap_err().downcast_ref::<&str>(), Some(&"lost"));
        }
    });
}
