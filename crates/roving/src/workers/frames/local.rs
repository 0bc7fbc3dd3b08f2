//! A worker's own state for the tasks that it runs.

use std::cell::{Cell, RefCell};
use std::ptr;

use super::free_lists::Store;
use super::header::{Frame, Header, NEW, NEW_WITH_TOKEN};
use super::on_top::OnTop;
use super::order::{Sites, SpawnOrder};
use super::placed::Queue;
use super::root::{Root, pool_of};
use crate::inherit::node;
use crate::stack::slot::Slot;
use crate::stack::slot_state::WORKERS_MAX;

/// The part of a worker's seat that belongs to tasks: the worker's alone, but for figures. What
/// each poll touches comes first.
pub(crate) struct Local {
    /// The frame that is being polled.
    pub(crate) current: Cell<*const Header>,
    /// The frame to run next, by the wish of the one that is being polled.
    next: Cell<Wish>,
    /// The top of the stack when the current poll began, and above it the frames that it has left
    /// there itself. Null within a `scope` or the like, which joins what is left above its base.
    pub(super) level: Cell<*const Slot>,
    /// The number of the last push.
    pushes: Cell<u64>,
    /// Each fork takes the slow path: what is below may be cancelled, or parents are handed on.
    pub(super) slow_forks: Cell<bool>,
    pub(super) store: Store,
    /// The root whose frames may be put on the worker's stack when they are resumed by the end of
    /// another: null where the worker runs frames on top of something that waits for them.
    pub(super) resumes: Cell<*const Root>,
    /// How many counts at the root whose frames are run this worker has beyond its own: of frames
    /// that were suspended and run again. The next that is suspended gets one of them.
    counts: Cell<usize>,
    /// How many more woken frames may be put on the stack.
    wakes_left: Cell<u32>,
    /// How often the newest frame on the stack turned out to have been stolen.
    losses: Cell<u32>,
    /// The contexts that a task which is being polled here has entered and not yet left.
    beneath: Cell<*const Beneath>,
    /// The thread polls a task further out, as the worker of another seat.
    is_above_a_poll: Cell<bool>,
    /// The number of a new child when it is spawned.
    new_number: Cell<u64>,
    pool: Cell<*const ()>,
    index: usize,
    pub(super) placed: Queue,
    /// How many frames may be taken from there before the worker looks for other work.
    placed_left: Cell<u32>,
    pub(crate) sites: Sites,
    pub(crate) order: SpawnOrder,
    /// Hand every forked parent to another worker: for tests.
    pub(super) migrate: bool,
}

// SAFETY: everything but the figures in `store` and what stands behind the lock in `placed` is used
// by the seat's thread alone (`with`), and in an in-place pool by who has its place.
unsafe impl Sync for Local {}
// SAFETY: what the free lists point to is memory that nobody else knows of; the other pointers
// are null while no thread is the worker.
unsafe impl Send for Local {}

thread_local! {
    static LOCAL: Cell<*const Local> = const { Cell::new(&raw const NOBODYS) };
}

/// The state of threads that are no workers. Never written: such a thread polls no task, and the
/// lists here have neither frames nor room.
static NOBODYS: Local = Local::none();

/// Says which worker's tasks the calling thread runs from now on: null for none.
pub(crate) fn set_current_local(local: *const Local) {
    LOCAL.set(match local.is_null() {
        true => &raw const NOBODYS,
        false => local,
    });
}

/// How often a worker has forked, and how often it came back to find its continuation stolen.
#[derive(Clone, Copy)]
pub(crate) struct Fates {
    pub(crate) forks: u64,
    pub(crate) losses: u32,
}

/// A frame that is to be run next, and how.
#[derive(Clone, Copy)]
pub(crate) enum Next {
    /// Its parent goes on meanwhile, if somebody takes it.
    Forked(*const Header),
    /// Its parent waits for it.
    Called(*const Header),
    /// Its parent waits for it, and has taken it back from the stack; its handle may be anywhere.
    TakenBack(*const Header),
    /// A frame that the polled one has woken; if it is the polled frame itself, it is to be polled
    /// again.
    Woken(*const Header),
}

/// A [`Next`] in one word, or null for none. The lowest bits say which it is: frames are aligned to
/// 8 bytes.
#[derive(Clone, Copy)]
pub(super) struct Wish(*const Header);

const KIND: usize = 0b11;
const CALLED: usize = 0b01;
/// With this bit, it is seldom.
const SELDOM: usize = 0b10;
const TAKEN_BACK: usize = SELDOM;
const WOKEN: usize = SELDOM | 0b01;

impl Wish {
    const NONE: Wish = Wish(ptr::null());

    #[inline(always)]
    fn new(next: Next) -> Wish {
        Wish(match next {
            Next::Forked(frame) => frame,
            Next::Called(frame) => frame.map_addr(|at| at | CALLED),
            Next::TakenBack(frame) => frame.map_addr(|at| at | TAKEN_BACK),
            Next::Woken(frame) => frame.map_addr(|at| at | WOKEN),
        })
    }

    #[inline(always)]
    pub(super) fn is_none(self) -> bool {
        self.0.is_null()
    }

    /// Whether it is neither a fork nor a call.
    #[inline(always)]
    pub(super) fn is_seldom(self) -> bool {
        self.0.addr() & SELDOM != 0
    }

    /// Of one that is not seldom.
    #[inline(always)]
    pub(super) fn is_called(self) -> bool {
        self.0.addr() & CALLED != 0
    }

    #[inline(always)]
    pub(super) fn frame(self) -> *const Header {
        self.0.map_addr(|at| at & !KIND)
    }

    /// Of one that is not none.
    pub(super) fn get(self) -> Next {
        let frame = self.frame();
        match self.0.addr() & KIND {
            0 => Next::Forked(frame),
            CALLED => Next::Called(frame),
            TAKEN_BACK => Next::TakenBack(frame),
            _ => Next::Woken(frame),
        }
    }
}

/// A worker's state before it began to run frames on top of it.
pub(super) struct Outer {
    current: *const Header,
    next: Wish,
    resumes: *const Root,
    level: *const Slot,
    counts: usize,
    left: Option<(u32, u32)>,
    beneath: *const Beneath,
    slow_forks: bool,
    new_number: u64,
}

/// A task that is being polled, on top of which something in another context runs.
struct Beneath {
    task: *const Header,
    /// Those of what is made there, each with one count of this.
    roots: RefCell<Vec<*const Root>>,
}

fn number_of_new(has_token: bool) -> u64 {
    match has_token {
        true => NEW_WITH_TOKEN,
        false => NEW,
    }
}

/// How many woken frames a worker puts on its stack before it must have emptied that once.
const WAKES_MAX: u32 = 1 << 10;
/// How many frames that have their place here it runs before it looks for other work.
const PLACED_MAX: u32 = 1 << 6;

impl Local {
    pub(crate) fn new(index: usize, order: SpawnOrder, migrate: bool) -> Local {
        debug_assert!(index < WORKERS_MAX);
        Local {
            pushes: Cell::new((index as u64) << 53),
            index,
            store: Store::new(),
            order,
            migrate,
            slow_forks: Cell::new(migrate),
            ..Local::none()
        }
    }

    const fn none() -> Local {
        Local {
            current: Cell::new(ptr::null()),
            next: Cell::new(Wish::NONE),
            resumes: Cell::new(ptr::null()),
            level: Cell::new(ptr::null()),
            counts: Cell::new(0),
            wakes_left: Cell::new(0),
            losses: Cell::new(0),
            beneath: Cell::new(ptr::null()),
            is_above_a_poll: Cell::new(false),
            slow_forks: Cell::new(false),
            new_number: Cell::new(NEW),
            pushes: Cell::new(0),
            pool: Cell::new(ptr::null()),
            index: usize::MAX,
            placed: Queue::new(),
            placed_left: Cell::new(0),
            store: Store::none(),
            sites: Sites::new(),
            order: SpawnOrder::WorkFirst,
            migrate: false,
        }
    }

    /// Calls `f` with what belongs to the worker that the calling thread is.
    #[inline(always)]
    pub(crate) fn with<R>(f: impl FnOnce(&Local) -> R) -> R {
        // SAFETY: set by the worker that this thread is, for as long as it is; or the static.
        f(unsafe { &*LOCAL.get() })
    }

    /// Frames that lie here for later use. By anybody.
    pub(crate) fn frames_kept(&self) -> u64 {
        self.store.kept()
    }

    /// Says which pool's worker this belongs to: null for a compensation thread, at which nothing
    /// has a place.
    pub(crate) fn set_pool(&self, pool: *const ()) {
        self.pool.set(pool);
    }

    /// Whether it is that of the worker with that index of that pool.
    #[inline]
    pub(super) fn is_at(&self, pool: *const (), index: usize) -> bool {
        self.index == index && ptr::eq(self.pool.get(), pool)
    }

    /// There will be no thread that is the worker: what has its place there goes elsewhere.
    pub(crate) fn close_place(&self) {
        self.placed.close();
    }

    /// Whoever is the worker has no loop that looks for what has its place there.
    pub(crate) fn stay_away(&self) {
        self.placed.leave();
    }

    /// Calls `f`, which does not unwind, and in which the worker blocks.
    pub(crate) fn away<R>(&self, f: impl FnOnce() -> R) -> R {
        self.placed.leave();
        let result = f();
        self.placed.come_back();
        result
    }

    /// Whether a frame that has its place here waits for the worker.
    pub(crate) fn has_placed(&self) -> bool {
        !self.placed.is_empty()
    }

    /// The newest frame on the stack was stolen.
    pub(super) fn count_loss(&self) {
        self.losses.set(self.losses.get().wrapping_add(1));
    }

    /// How many forks there have been, and how many losses.
    pub(crate) fn fates(&self) -> Fates {
        Fates {
            forks: self.pushes.get() / 2,
            losses: self.losses.get(),
        }
    }

    /// An even number that no other push of the pool has.
    #[inline(always)]
    pub(super) fn number_push(&self) -> u64 {
        let number = self.pushes.get() + 2;
        self.pushes.set(number);
        number
    }

    #[inline(always)]
    pub(crate) fn has_next(&self) -> bool {
        !self.next.get().is_none()
    }

    #[inline(always)]
    pub(crate) fn is_next(&self, frame: *const Header) -> bool {
        ptr::eq(self.next.get().frame(), frame)
    }

    #[inline(always)]
    pub(crate) fn set_next(&self, next: Next) {
        self.next.set(Wish::new(next));
    }

    #[inline(always)]
    pub(super) fn take_next(&self) -> Wish {
        let next = self.next.get();
        if !next.is_none() {
            self.next.set(Wish::NONE);
        }
        next
    }

    /// The worker begins to run frames of a root. `has_token`: they may be cancelled.
    pub(super) fn begin(&self, resumes: *const Root, has_token: bool) -> Outer {
        Outer {
            current: self.current.replace(ptr::null()),
            next: self.next.replace(Wish::NONE),
            resumes: self.resumes.replace(resumes),
            level: self.level.replace(ptr::null()),
            counts: self.counts.replace(0),
            // Where nothing is resumed, neither is looked at.
            left: (!resumes.is_null()).then(|| {
                let wakes = self.wakes_left.replace(WAKES_MAX);
                (wakes, self.placed_left.replace(PLACED_MAX))
            }),
            beneath: self.beneath.replace(ptr::null()),
            slow_forks: self.slow_forks.replace(self.migrate || has_token),
            new_number: self.new_number.replace(number_of_new(has_token)),
        }
    }

    /// It has run them. Returns the counts that are left over.
    pub(super) fn end(&self, outer: Outer) -> usize {
        self.current.set(outer.current);
        self.next.set(outer.next);
        self.resumes.set(outer.resumes);
        self.level.set(outer.level);
        self.beneath.set(outer.beneath);
        self.slow_forks.set(outer.slow_forks);
        self.new_number.set(outer.new_number);
        if let Some((wakes, placed)) = outer.left {
            self.wakes_left.set(wakes);
            self.placed_left.set(placed);
        }
        self.counts.replace(outer.counts)
    }

    /// See [`NEW`].
    #[inline(always)]
    pub(super) fn new_number(&self) -> u64 {
        self.new_number.get()
    }

    /// Calls `f`, which does not unwind, in another context than that of the task that is polled
    /// here, if one is: meanwhile nothing is its child.
    pub(crate) fn beneath<R>(&self, f: impl FnOnce() -> R) -> R {
        let (current, outer) = (self.current.get(), self.beneath.get());
        // SAFETY: it stands in a frame of this function, further out.
        let further = unsafe { outer.as_ref() }.map_or(ptr::null(), |outer| outer.task);
        let task = if current.is_null() { further } else { current };
        if task.is_null() {
            return f();
        }
        let (mut f, mut result) = (Some(f), None);
        self.beneath_of(task, &mut || result = f.take().map(|f| f()));
        result.expect("it was called once")
    }

    /// [`Self::beneath`] where there is such a task.
    fn beneath_of(&self, task: *const Header, f: &mut dyn FnMut()) {
        let (current, outer) = (self.current.get(), self.beneath.get());
        let beneath = Beneath {
            task,
            roots: RefCell::default(),
        };
        let has_token = node::with_current(|node| node.is_some_and(|node| node.has_token()));
        let new_number = self.new_number.replace(number_of_new(has_token));
        self.current.set(ptr::null());
        self.beneath.set(&beneath);
        f();
        self.beneath.set(outer);
        self.current.set(current);
        self.new_number.set(new_number);
        for root in beneath.roots.take() {
            // SAFETY: one count of each is this one's, and this worker keeps its pool.
            unsafe { pool_of(root).close(root, 1) };
        }
    }

    /// Whether a task is polled here, or has entered the context that the thread is in.
    pub(crate) fn is_in_a_task(&self) -> bool {
        !self.current.get().is_null() || !self.beneath.get().is_null()
    }

    /// Whether the thread polls a task: here, or further out as the worker of another seat.
    pub(crate) fn is_within_a_poll(&self) -> bool {
        self.is_in_a_task() || self.is_above_a_poll.get()
    }

    /// The thread becomes the worker here, on top of who polls a task. Returns what was so before.
    pub(crate) fn set_above_a_poll(&self, is_so: bool) -> bool {
        self.is_above_a_poll.replace(is_so)
    }

    /// Calls `f`, which does not unwind, and which comes from elsewhere: nothing that it makes is
    /// the child of a task that is polled here.
    pub(crate) fn apart<R>(&self, f: impl FnOnce() -> R) -> R {
        if !self.is_within_a_poll() {
            return f();
        }
        let current = self.current.replace(ptr::null());
        let beneath = self.beneath.replace(ptr::null());
        let result = OnTop::Others.call(f);
        self.current.set(current);
        self.beneath.set(beneath);
        result
    }

    /// Calls `f`, which does not unwind, and in which the worker waits; within the poll of a task
    /// perhaps.
    pub(crate) fn in_wait<R>(&self, f: impl FnOnce() -> R) -> R {
        if !self.is_within_a_poll() {
            return f();
        }
        // What is woken first is left to others: this worker pops no more than what it waits for.
        let level = self.hide_level();
        let (result, level) = OnTop::Awaited.call(|| {
            self.show_level(level);
            (f(), self.hide_level())
        });
        self.show_level(level);
        result
    }

    /// The root for what the task that is polled here makes in the context that the thread is in;
    /// null if no task is. Open until the thread leaves the context.
    pub(super) fn root_here(&self) -> *const Root {
        // SAFETY: it stands in a frame of `beneath`, further out.
        let Some(beneath) = (unsafe { self.beneath.get().as_ref() }) else {
            return ptr::null();
        };
        let mut roots = beneath.roots.borrow_mut();
        // SAFETY: this keeps them open.
        let is_it = |root: &&*const Root| ptr::eq(unsafe { &***root }.context(), node::place());
        if let Some(&root) = roots.iter().find(is_it) {
            return root;
        }
        // SAFETY: the frame of a task that is polled is alive, and its root open for this worker.
        let root = unsafe { Root::below(Root::arc_of((*beneath.task).root.get())) };
        roots.push(root);
        root
    }

    /// Nothing is to be left on the stack for the end of the current poll. Returns what
    /// [`Self::show_level`] needs.
    #[inline]
    pub(crate) fn hide_level(&self) -> *const Slot {
        self.level.replace(ptr::null())
    }

    #[inline]
    pub(crate) fn show_level(&self, level: *const Slot) {
        self.level.set(level);
    }

    /// That many counts at the root have become free.
    pub(super) fn keep_counts(&self, count: usize) {
        self.counts.set(self.counts.get() + count);
    }

    /// Takes one of them, if there is one.
    pub(super) fn take_count(&self) -> bool {
        let count = self.counts.get();
        self.counts.set(count.saturating_sub(1));
        count > 0
    }

    /// The oldest frame with its place here, if it is of the root whose frames are run; unless it
    /// is time for other work.
    pub(super) fn next_placed(&self) -> Option<Frame> {
        let (root, left) = (self.resumes.get(), self.placed_left.get());
        if root.is_null() || left == 0 {
            return None;
        }
        self.placed_left.set(left - 1);
        self.placed.pop(root)
    }

    /// One more woken frame is to be put on the stack: false when there have been too many.
    pub(super) fn may_push_woken(&self) -> bool {
        let left = self.wakes_left.get();
        self.wakes_left.set(left.saturating_sub(1));
        left > 0
    }
}
