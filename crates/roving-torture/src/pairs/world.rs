//! The state that all steps of a running program share, and its checks at the end.

use std::any::Any;
use std::hint;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use roving::raw::panics;
use roving::{CancelledError, Pool};

use super::kept::LeftBehind;
use super::program::{FeatureStep, StepProgram};
use crate::random::mix;

/// Locks, whatever has happened under the lock before.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Something that a thread which is no worker is to do.
type Errand = Box<dyn FnOnce() + Send>;

struct Errands {
    sender: Mutex<Option<Sender<Errand>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Most workers of a pool that is resized.
pub(super) const WORKERS_MAX: usize = 8;

/// Runs one step. A program knows the function by this address alone, because steps have steps in
/// them, and so what runs one calls it again.
pub(super) type RunStep = fn(&FeatureStep, &Cx<'_>);

/// Runs steps one after the other.
pub(super) fn sequence(steps: &[FeatureStep], cx: &Cx<'_>) {
    steps.iter().for_each(|step| cx.world.run(step, cx));
}

/// Runs one part of a step.
pub(super) fn part(step: &FeatureStep, number: usize, cx: &Cx<'_>) {
    sequence(&step.parts[number], cx);
}

/// The state of a running program.
pub(crate) struct World {
    run: RunStep,
    pub(crate) pools: [Pool; 2],
    ran: Box<[AtomicU32]>,
    made: AtomicU64,
    dropped: AtomicU64,
    /// The sum of the numbers of tickets made less that of those dropped.
    balance: AtomicU64,
    complaints: Mutex<Vec<String>>,
    shelf: Mutex<Vec<LeftBehind>>,
    errands: OnceLock<Errands>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// Parts that run some time, and have neither ended nor been dropped.
    later: AtomicUsize,
}

impl World {
    pub(super) fn new(program: &StepProgram, pools: [Pool; 2], run: RunStep) -> Arc<World> {
        Arc::new(World {
            run,
            ran: (0..program.len).map(|_| AtomicU32::new(0)).collect(),
            pools,
            made: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            balance: AtomicU64::new(0),
            complaints: Mutex::default(),
            shelf: Mutex::default(),
            errands: OnceLock::new(),
            threads: Mutex::default(),
            later: AtomicUsize::new(0),
        })
    }

    /// Runs a step that is no part of a task.
    pub(super) fn run(&self, step: &FeatureStep, cx: &Cx<'_>) {
        (self.run)(step, cx);
    }

    pub(crate) fn complain(&self, step: &FeatureStep, text: impl AsRef<str>) {
        let text = format!("step {step}: {}", text.as_ref());
        lock(&self.complaints).push(text);
    }

    pub(crate) fn complaints(&self) -> Vec<String> {
        lock(&self.complaints).clone()
    }

    pub(crate) fn ran(&self, step: &FeatureStep) {
        self.ran[step.id as usize].fetch_add(1, Relaxed);
    }

    /// How often each step has run.
    pub(crate) fn runs(&self) -> Vec<u32> {
        self.ran.iter().map(|ran| ran.load(Relaxed)).collect()
    }

    /// A value whose drop is counted.
    pub(crate) fn ticket(self: &Arc<World>) -> Ticket {
        let number = mix(self.made.fetch_add(1, Relaxed));
        self.balance.fetch_add(number, Relaxed);
        Ticket {
            world: Arc::clone(self),
            number,
        }
    }

    /// Returns the error in the drops, once everything has ended.
    pub(crate) fn drops(&self) -> Option<String> {
        let (made, dropped) = (self.made.load(Relaxed), self.dropped.load(Relaxed));
        match (made == dropped, self.balance.load(Relaxed)) {
            (true, 0) => None,
            (true, _) => Some("one value was dropped twice and another never".to_owned()),
            (false, _) => Some(format!("{made} values were made and {dropped} dropped")),
        }
    }

    pub(crate) fn keep(&self, kept: LeftBehind) {
        lock(&self.shelf).push(kept);
    }

    /// Takes one of the things that were kept.
    pub(crate) fn take(&self, which: usize) -> Option<LeftBehind> {
        let mut shelf = lock(&self.shelf);
        let index = shelf.len().checked_sub(1)?.min(which);
        Some(shelf.swap_remove(index))
    }

    /// Has a thread do something that is no worker, and does not wait for it. It must not block.
    pub(crate) fn elsewhere(&self, errand: impl FnOnce() + Send + 'static) {
        let errands = self.errands.get_or_init(|| {
            let (sender, orders) = mpsc::channel::<Errand>();
            let thread = thread::spawn(move || orders.into_iter().for_each(|errand| errand()));
            Errands {
                sender: Mutex::new(Some(sender)),
                thread: Mutex::new(Some(thread)),
            }
        });
        let sender = lock(&errands.sender).clone();
        // At the very end the errand is done here.
        match sender {
            Some(sender) => drop(sender.send(Box::new(errand))),
            None => errand(),
        }
    }

    /// [`Self::elsewhere`] soon after what sets the flag. The errand's thread hears of nothing else
    /// by the flag: what it then touches must be handed to it by the runtime. It does not wait for
    /// long.
    pub(crate) fn elsewhere_after(
        &self,
        ends: &Arc<AtomicBool>,
        errand: impl FnOnce() + Send + 'static,
    ) {
        const TURNS_MAX: u32 = if cfg!(miri) { 200 } else { 100_000 };
        let ends = Arc::clone(ends);
        self.elsewhere(move || {
            for _ in 0..TURNS_MAX {
                if ends.load(Relaxed) {
                    break;
                }
                hint::spin_loop();
            }
            (0..TURNS_MAX / 100).for_each(|_| hint::spin_loop());
            errand();
            // Only now, because to drop it may order what came before.
            drop(ends);
        });
    }

    /// Has a thread of its own do something that may block.
    pub(crate) fn on_a_thread(&self, f: impl FnOnce() + Send + 'static) {
        let thread = thread::spawn(f);
        lock(&self.threads).push(thread);
    }

    /// Waits for the errands, and for the threads.
    pub(crate) fn join(&self) {
        if let Some(errands) = self.errands.get() {
            lock(&errands.sender).take();
            let thread = lock(&errands.thread).take();
            if thread.is_some_and(|thread| thread.join().is_err()) {
                lock(&self.complaints).push("an errand panicked".to_owned());
            }
        }
        loop {
            let Some(thread) = lock(&self.threads).pop() else {
                return;
            };
            if thread.join().is_err() {
                lock(&self.complaints).push("a thread panicked".to_owned());
            }
        }
    }

    /// A part that runs some time.
    pub(crate) fn later(self: &Arc<World>) -> Later {
        self.later.fetch_add(1, Relaxed);
        Later(self.ticket())
    }

    pub(crate) fn is_settled(&self) -> bool {
        self.later.load(Relaxed) == 0
    }
}

/// A value whose drop is counted.
pub(crate) struct Ticket {
    world: Arc<World>,
    number: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.world.dropped.fetch_add(1, Relaxed);
        self.world.balance.fetch_sub(self.number, Relaxed);
    }
}

/// Goes with a part that runs some time.
pub(crate) struct Later(Ticket);

impl Drop for Later {
    fn drop(&mut self) {
        self.0.world.later.fetch_sub(1, Relaxed);
    }
}

/// The payload of a program's panics.
pub(crate) struct Thrown {
    id: u32,
    _ticket: Ticket,
}

/// Panics without a message.
pub(crate) fn throw(step: &FeatureStep, cx: &Cx<'_>) -> ! {
    panic::resume_unwind(Box::new(Thrown {
        id: step.id,
        _ticket: cx.world.ticket(),
    }))
}

/// Panics when it is dropped, unless something panics already.
pub(crate) struct Bomb {
    id: u32,
    world: Arc<World>,
}

impl Bomb {
    pub(crate) fn new(step: &FeatureStep, cx: &Cx<'_>) -> Bomb {
        Bomb {
            id: step.id,
            world: Arc::clone(&cx.world),
        }
    }
}

impl Drop for Bomb {
    fn drop(&mut self) {
        if !thread::panicking() {
            panic::resume_unwind(Box::new(Thrown {
                id: self.id,
                _ticket: self.world.ticket(),
            }));
        }
    }
}

const SOUND: u8 = 7;

/// A value that steps borrow: it is overwritten when it goes.
pub(crate) struct Canary(Vec<u8>);

impl Canary {
    pub(crate) fn new() -> Canary {
        Canary(vec![SOUND; 48])
    }

    pub(crate) fn check(&self, step: &FeatureStep, world: &World) {
        if self.0.len() != 48 || self.0.iter().any(|byte| *byte != SOUND) {
            world.complain(step, "what was borrowed is gone");
        }
    }
}

impl Drop for Canary {
    fn drop(&mut self) {
        self.0.fill(0xDD);
    }
}

/// Something that whoever runs inside may do with what is around.
#[derive(Clone, Copy)]
pub(crate) struct Act<'e> {
    pub(crate) call: &'e (dyn Fn() + Sync),
    pub(crate) outer: Option<&'e Act<'e>>,
}

/// The context of a step.
#[derive(Clone)]
pub(crate) struct Cx<'e> {
    pub(crate) world: Arc<World>,
    pub(crate) act: Option<&'e Act<'e>>,
    /// Borrowed by the tasks of the innermost root with a token.
    pub(crate) canary: Option<&'e Canary>,
    /// Something around may be cancelled.
    pub(crate) cancels: bool,
}

impl<'e> Cx<'e> {
    pub(crate) fn new(world: &Arc<World>) -> Cx<'e> {
        Cx {
            world: Arc::clone(world),
            act: None,
            canary: None,
            cancels: false,
        }
    }

    /// For a part that may outlive everything.
    pub(crate) fn free(&self) -> Cx<'static> {
        Cx {
            cancels: self.cancels,
            ..Cx::new(&self.world)
        }
    }

    pub(crate) fn with<'a>(&'a self, call: &'a (dyn Fn() + Sync)) -> (Act<'a>, Cx<'a>) {
        let act = Act {
            call,
            outer: self.act,
        };
        (act, self.clone())
    }

    pub(crate) fn cancelling(&self) -> Cx<'e> {
        Cx {
            cancels: true,
            ..self.clone()
        }
    }
}

/// The fate of a part.
#[derive(Default)]
pub(crate) struct PartFate {
    pub(crate) began: AtomicBool,
    pub(crate) threw: AtomicBool,
}

impl PartFate {
    /// Calls `f`, and remembers what comes of it.
    pub(crate) fn watch<R>(&self, f: impl FnOnce() -> R) -> R {
        self.began.store(true, Relaxed);
        panic::catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|payload| {
            self.threw.store(true, Relaxed);
            panic::resume_unwind(payload)
        })
    }

    /// Calls `f`, a part of a process, and remembers what comes of it. That it was cancelled ends
    /// the network with an error, and with no panic.
    pub(crate) fn watch_process<R>(&self, f: impl FnOnce() -> R) -> R {
        self.began.store(true, Relaxed);
        panic::catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|payload| {
            self.threw.store(!payload.is::<CancelledError>(), Relaxed);
            panic::resume_unwind(payload)
        })
    }

    pub(crate) fn has_thrown(&self) -> bool {
        self.threw.load(Relaxed)
    }
}

/// Calls `f`, and checks what comes out of it: what a part has panicked with, and nothing else.
pub(crate) fn call<R>(
    step: &FeatureStep,
    cx: &Cx<'_>,
    parts: &[&PartFate],
    f: impl FnOnce() -> R,
) -> R {
    match panic::catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => {
            if parts.iter().any(|part| part.has_thrown()) {
                cx.world.complain(step, "a panic of a part was lost");
            }
            if !cx.cancels && parts.iter().any(|part| !part.began.load(Relaxed)) {
                cx.world
                    .complain(step, "it has ended, and a part has not begun");
            }
            result
        }
        Err(payload) => {
            check_payload(step, cx, &*payload);
            panic::resume_unwind(payload)
        }
    }
}

/// A panic that comes out of a step has begun inside.
pub(crate) fn check_payload(step: &FeatureStep, cx: &Cx<'_>, payload: &(dyn Any + Send)) {
    if let Some(thrown) = payload.downcast_ref::<Thrown>() {
        if !step.contains(thrown.id) {
            let text = format!("the panic of step {} came out here", thrown.id);
            cx.world.complain(step, text);
        }
    } else if payload.is::<CancelledError>() {
        if !cx.cancels {
            cx.world.complain(step, "it was cancelled, and nobody has");
        }
    } else {
        let text = format!("it panicked with {:?}", panics::text(payload));
        cx.world.complain(step, text);
    }
}

/// The number of the step that threw.
pub(crate) fn thrown_by(payload: &(dyn Any + Send)) -> Option<u32> {
    payload.downcast_ref::<Thrown>().map(|thrown| thrown.id)
}

/// Calls `f`, which does what is documented to panic with a text that names the mistake, or not to.
/// Returns what it came to without a panic.
pub(crate) fn allowed<R>(step: &FeatureStep, cx: &Cx<'_>, f: impl FnOnce() -> R) -> Option<R> {
    match panic::catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => Some(result),
        Err(payload) => {
            if panics::text(&*payload).is_none() && !payload.is::<CancelledError>() {
                cx.world.complain(step, "it panicked, and not with a text");
            }
            None
        }
    }
}
