//! The board of an arena: requests of seats for a thread, and the threads that take them.

use crate::machine::duty::Due;
use crate::machine::meeting_points::{park, unpark};
use crate::machine::prim::thread::Thread;
use crate::machine::prim::{AtomicUsize, Mutex, MutexGuard, OnceLock, Ordering, thread};
use crate::workers::priority::{CLASSES, Priority, Ranked};

/// Requests of the kind `R`, by class, and the threads of an arena.
///
/// Everything but a hint stands under one lock, which is taken when a thread comes to a seat,
/// leaves one, parks in a wait or comes back from one; all of these cost a wake-up or are beside
/// one. A thread is in one of these states:
///
/// | state | counted in | leaves it |
/// |---|---|---|
/// | coming | `active`, `coming` | in [`Self::next`], which it is about to call |
/// | at work | `active` | to rest, in [`Self::next`]; to wait, in [`Self::give_core`] |
/// | waiting, in a frame | – | in [`Self::take_core`], at once: it may hold what all others wait for |
/// | resting | `resting` | to come, when there are more requests than coming threads and fewer active ones than the limit |
///
/// *No request is overlooked.* A request stands on the board, and so under the lock. Either fewer
/// threads are active than the limit, and then as many are coming as there are requests (or no
/// thread can be started); or a thread is at work, and calls [`Self::next`] or [`Self::give_core`]
/// later. It rests only if it found no request, or more threads active than the limit.
pub(crate) struct Board<R> {
    state: Mutex<RequestsAndThreads<R>>,
    /// A summary of the requests that no thread is on its way to serve: see [`Pressure`]. Written
    /// under the lock.
    pressure: AtomicUsize,
    /// By number; each is set by the thread itself, before it first rests.
    threads: Box<[OnceLock<Thread>]>,
}

/// All that stands under the lock of a board.
struct RequestsAndThreads<R> {
    requests: Ranked<R>,
    resting: Vec<usize>,
    /// Numbers of threads that could not be started.
    unused: Vec<usize>,
    started: usize,
    active: usize,
    coming: usize,
    /// Most threads that may be active and take up more, but for what is urgent.
    limit: usize,
    /// Handles of the arena, and shares that have not ended. When none are left, the threads end.
    holders: usize,
}

/// A summary, in one word, of the requests that wait for a worker's thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pressure(usize);

const SURPLUS: usize = 1 << 4;
const URGENT: usize = 1 << 3;

impl Pressure {
    #[inline]
    pub(crate) fn is_none(self) -> bool {
        self.0 == 0
    }

    /// More threads are active than there should be.
    #[inline]
    pub(crate) fn is_surplus(self) -> bool {
        self.0 & SURPLUS != 0
    }

    /// Something of a higher class than that waits.
    #[inline]
    pub(crate) fn is_above(self, class: Priority) -> bool {
        (self.0 & !SURPLUS) >> (class as usize + 1) != 0
    }
}

impl<R> RequestsAndThreads<R> {
    #[inline]
    fn pressure(&self) -> usize {
        let surplus = if self.active > self.limit { SURPLUS } else { 0 };
        if self.requests.len() <= self.coming {
            return surplus;
        }
        let waiting = CLASSES.map(|class| usize::from(self.requests.has(class)) << class as usize);
        let urgent = if self.requests.has_urgent() {
            URGENT
        } else {
            0
        };
        surplus | urgent | waiting.iter().sum::<usize>()
    }
}

/// The duty of the last holder of an arena: its threads end, and are to be joined.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Join {}

/// A thread that is to be started: it is counted as coming already.
#[must_use = "the thread is counted as coming, so no other is called"]
pub(crate) struct Start(pub(crate) usize);

impl<R> Board<R> {
    /// For that many threads at work at a time and that many more which wait, none of them started;
    /// with one holder.
    #[inline]
    pub(crate) fn new(limit: usize, spares: usize) -> Board<R> {
        Board {
            state: Mutex::new(RequestsAndThreads {
                requests: Ranked::new(),
                resting: Vec::new(),
                unused: Vec::new(),
                started: 0,
                active: 0,
                coming: 0,
                limit,
                holders: 1,
            }),
            pressure: AtomicUsize::new(0),
            threads: (0..limit + spares).map(|_| OnceLock::new()).collect(),
        }
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, RequestsAndThreads<R>> {
        self.state.lock()
    }

    #[inline]
    pub(crate) fn pressure(&self) -> Pressure {
        // Ordering: Relaxed; a hint.
        Pressure(self.pressure.load(Ordering::Relaxed))
    }

    /// The state has changed: calls one thread if one is missing, and lets the lock go.
    #[must_use]
    #[inline]
    fn settle(&self, mut state: MutexGuard<'_, RequestsAndThreads<R>>) -> Option<Start> {
        let allowed = state.active < state.limit || state.requests.has_urgent();
        let missing = state.requests.len() > state.coming && allowed;
        let (mut called, mut start) = (None, None);
        if missing {
            called = state.resting.pop();
            if called.is_none() {
                start = state.one_more(self.threads.len());
            }
        }
        if called.is_some() || start.is_some() {
            state.active += 1;
            state.coming += 1;
        }
        // Ordering: Relaxed; a hint.
        self.pressure.store(state.pressure(), Ordering::Relaxed);
        drop(state);
        if let Some(number) = called {
            self.unpark(number);
        }
        start
    }

    /// One of the threads that the arena starts with. None when there is no room for more.
    #[must_use]
    #[inline]
    pub(crate) fn start_one(&self) -> Option<Start> {
        let mut state = self.lock();
        let start = state.one_more(self.threads.len());
        let count = usize::from(start.is_some());
        state.active += count;
        state.coming += count;
        start
    }

    /// The thread could not be started. The core stays idle until another thread finds the request,
    /// which those at work hear of.
    #[inline]
    pub(crate) fn not_started(&self, start: Start) {
        let mut state = self.lock();
        state.unused.push(start.0);
        state.active -= 1;
        state.coming -= 1;
        // Ordering: Relaxed; a hint.
        self.pressure.store(state.pressure(), Ordering::Relaxed);
    }

    /// The calling thread has that number from now on.
    #[inline]
    pub(crate) fn enlist(&self, number: usize) {
        let _ = self.threads[number].set(thread::current());
    }

    #[inline]
    pub(crate) fn unpark(&self, number: usize) {
        if let Some(thread) = self.threads[number].get() {
            unpark(thread);
        }
    }

    /// A seat asks for a thread; without a class, urgently.
    #[must_use]
    #[inline]
    pub(crate) fn request(&self, class: Option<Priority>, request: R) -> Option<Start> {
        let mut state = self.lock();
        match class {
            Some(class) => state.requests.push(class, request),
            None => state.requests.push_urgent(request),
        }
        self.settle(state)
    }

    /// The first request of that class which is meant, if there is one, is urgent from now on: it
    /// does not wait for a thread to leave another seat.
    #[must_use]
    #[inline]
    pub(crate) fn urge(&self, class: Priority, is_meant: impl Fn(&R) -> bool) -> Option<Start> {
        let mut state = self.lock();
        state.requests.urge(class, is_meant);
        self.settle(state)
    }

    /// The calling thread has nothing to do: returns the next request, or none when the threads
    /// end. `is_new`: it has just been started.
    #[must_use]
    #[inline]
    pub(crate) fn next(&self, me: usize, is_new: bool) -> (Option<R>, Option<Start>) {
        let mut state = self.lock();
        let mut came = is_new;
        loop {
            state.coming -= usize::from(came);
            if state.holders == 0 {
                return (None, None);
            }
            let allowed = state.active <= state.limit || state.requests.has_urgent();
            let request = allowed.then(|| state.requests.pop()).flatten();
            if let Some((request, _)) = request {
                return (Some(request), self.settle(state));
            }
            state.active -= 1;
            state.resting.push(me);
            // Ordering: Relaxed; a hint.
            self.pressure.store(state.pressure(), Ordering::Relaxed);
            while state.resting.contains(&me) && state.holders > 0 {
                drop(state);
                park();
                state = self.lock();
            }
            came = state.holders > 0;
        }
    }

    /// The calling thread, which is at work, is about to park in a wait.
    #[must_use]
    #[inline]
    pub(crate) fn give_core(&self) -> Option<Start> {
        let mut state = self.lock();
        state.active -= 1;
        self.settle(state)
    }

    /// It goes on. If there are too many now, another leaves when it is between two tasks.
    #[inline]
    pub(crate) fn take_core(&self) {
        let mut state = self.lock();
        state.active += 1;
        // Ordering: Relaxed; a hint.
        self.pressure.store(state.pressure(), Ordering::Relaxed);
    }

    #[inline]
    pub(crate) fn hold(&self) {
        self.lock().holders += 1;
    }

    /// One holder less. If it was the last, the threads end.
    #[inline]
    pub(crate) fn let_go(&self) -> Due<Join> {
        let mut state = self.lock();
        state.holders -= 1;
        let over = state.holders == 0;
        drop(state);
        if over {
            (0..self.threads.len()).for_each(|number| self.unpark(number));
        }
        Due::when(over)
    }
}

impl<R> RequestsAndThreads<R> {
    #[inline]
    fn one_more(&mut self, most: usize) -> Option<Start> {
        let unused = self.unused.pop();
        let number = unused.or_else(|| {
            let next = self.started;
            (next < most).then(|| {
                self.started += 1;
                next
            })
        });
        number.map(Start)
    }
}

#[cfg(test)]
mod tests {
    use super::Board;
    use crate::workers::priority::Priority;

    /// A worker that is never without work leaves its seat only because it is told that something
    /// waits.
    #[test]
    fn what_gets_no_thread_is_seen_by_those_at_work() {
        let board = Board::new(2, 0);
        let first = board.start_one().expect("there is room");
        assert!(board.request(Some(Priority::Normal), 'a').is_none());
        let (request, start) = board.next(first.0, true);
        assert_eq!((request, start.is_none()), (Some('a'), true));
        let second = board.request(Some(Priority::Low), 'b');
        assert!(board.pressure().is_none(), "a thread is coming");
        board.not_started(second.expect("one more may work"));
        assert!(!board.pressure().is_none(), "none is");
    }
}
