//! The word of a seat, the board and the end of a share, explored by loom.
//!
//! `mutants.txt` lists for each ordering the test here that fails when it is weakened.

use std::sync::Arc;

use loom::thread;

use super::board::Board;
use super::depart::{Leaver, leave, look_before_leaving};
use super::present::{Left, Present};
use super::word::{Called, SeatWord};
use crate::machine::prim::{AtomicUsize, DataCell, Ordering, explore, explore_within};
use crate::stats::Activity;
use crate::workers::priority::Priority;
use crate::workers::sleep::Parts;
use crate::workers::sleep::lookers::Looking;
use crate::workers::sleep::loom_pool::{SmallPool, SmallWorker};
use crate::workers::sleep::roster::is_benched;
use crate::workers::sleep::sleep_loop::Sleeper;

/// A share of one seat, as far as the protocol is concerned.
struct Place {
    board: Board<()>,
    word: SeatWord,
    /// Work, which is found by looking: written before a call, not ordered by itself.
    work: AtomicUsize,
    /// Data that belongs to the worker slot, such as its stack.
    own: DataCell<u32>,
}

impl Place {
    /// A place with an arena of so many threads.
    fn new(threads: usize) -> Arc<Place> {
        Arc::new(Place {
            board: Board::new(threads, 0),
            word: SeatWord::new(),
            work: AtomicUsize::new(0),
            own: DataCell::new(0),
        })
    }

    fn begin(&self, number: usize) {
        assert_eq!(self.board.start_one().unwrap().0, number);
    }

    /// Models `Station::call`.
    fn call(&self) {
        match self.word.call() {
            Called::Nobody => {
                assert!(self.board.request(Some(Priority::Normal), ()).is_none());
            }
            Called::Already => {}
            Called::Thread(number) => self.board.unpark(number),
        }
    }

    fn bring(&self) {
        // Ordering: Relaxed; the call is what orders it.
        self.work.fetch_add(1, Ordering::Relaxed);
        self.call();
    }

    /// Takes the work that there is, by a load that orders nothing.
    fn look(&self) -> usize {
        // Ordering: Relaxed; what is explored is whether the word orders it.
        let work = self.work.load(Ordering::Relaxed);
        if work > 0 {
            // Ordering: Relaxed, as above.
            self.work.fetch_sub(work, Ordering::Relaxed);
        }
        work
    }

    fn touch(&self) {
        // SAFETY: only who is at the seat does so; loom checks that.
        self.own.with_mut(|own| unsafe { *own += 1 });
    }

    /// A thread of the arena, until so much has been done.
    fn serve(&self, number: usize, done: &AtomicUsize, all: usize) {
        self.board.enlist(number);
        let mut is_new = true;
        // Ordering: Relaxed; a count.
        while done.load(Ordering::Relaxed) < all {
            let (request, start) = self.board.next(number, is_new);
            assert!(start.is_none());
            is_new = false;
            if request.is_none() {
                return;
            }
            self.word.take(number);
            self.touch();
            let mut did = self.look();
            self.word.heed();
            did += self.look();
            let called = self.word.leave();
            // Ordering: Relaxed; a count.
            if done.fetch_add(did, Ordering::Relaxed) + did == all {
                // All is done: lets everybody go.
                self.board.let_go().waive("the test joins");
                called.waive("all is done");
                return;
            }
            called.pay(|| {
                assert!(self.board.request(Some(Priority::Normal), ()).is_none());
            });
        }
    }
}

/// If a call were lost, the arena's thread would rest for ever, which loom calls a deadlock.
#[test]
fn loom_no_call_of_a_seat_is_lost() {
    explore_within(Some(3), || {
        let place = Place::new(1);
        let done = Arc::new(AtomicUsize::new(0));
        place.begin(0);
        let serve = {
            let (place, done) = (Arc::clone(&place), Arc::clone(&done));
            thread::spawn(move || place.serve(0, &done, 2))
        };
        let other = {
            let place = Arc::clone(&place);
            thread::spawn(move || place.bring())
        };
        place.bring();
        other.join().unwrap();
        serve.join().unwrap();
    });
}

/// A caller's writes are seen by the look that follows, on each of the ways by which a call is
/// noticed.
#[test]
fn loom_who_is_called_sees_why() {
    explore(|| {
        let word = Arc::new(SeatWord::new());
        let work = Arc::new(AtomicUsize::new(0));
        assert_eq!(word.call(), Called::Nobody);
        let caller = {
            let (word, work) = (Arc::clone(&word), Arc::clone(&work));
            thread::spawn(move || {
                // Ordering: Relaxed; the call is what orders it.
                work.store(1, Ordering::Relaxed);
                word.call()
            })
        };
        // Ordering: Relaxed; the word is what orders it.
        let sees = || work.load(Ordering::Relaxed) == 1;
        word.take(0);
        let at_first = sees();
        word.heed();
        let at_last = sees();
        let called = word.leave().told();
        let after = sees();
        match caller.join().unwrap() {
            Called::Nobody => assert!(!called),
            Called::Already => assert!(at_first, "taken after the call"),
            Called::Thread(number) => {
                assert_eq!(number, 0);
                assert!(
                    if called { after } else { at_last },
                    "heeded, or left, after the call"
                );
            }
        }
    });
}

/// The data of a worker slot passes from one thread to the next, whichever way the first leaves and
/// the second comes.
#[test]
fn loom_a_seat_is_handed_on() {
    explore(|| {
        let seat = Arc::new((SeatWord::new(), DataCell::new(0)));
        // SAFETY: only who is at the seat does so; loom checks that.
        let touch = |own: &DataCell<u32>| own.with_mut(|own| unsafe { *own += 1 });
        assert!(seat.0.take_free(0));
        let visitor = {
            let seat = Arc::clone(&seat);
            thread::spawn(move || {
                let is_free = seat.0.take_free(1);
                if is_free {
                    touch(&seat.1);
                    assert!(!seat.0.leave().told());
                }
            })
        };
        touch(&seat.1);
        assert!(!seat.0.leave().told());
        visitor.join().unwrap();
    });
}

/// The data of a worker slot passes on when the first thread knows that work is left and the second
/// has the request.
#[test]
fn loom_a_seat_that_is_called_is_handed_on() {
    explore(|| {
        let seat = Arc::new((SeatWord::new(), DataCell::new(0)));
        // Stands for the board, but without its lock: the word alone has to hand the seat on.
        let requests = Arc::new(AtomicUsize::new(0));
        // SAFETY: only who is at the seat does so; loom checks that.
        let touch = |own: &DataCell<u32>| own.with_mut(|own| unsafe { *own += 1 });
        assert!(seat.0.take_free(0));
        let next = {
            let (seat, requests) = (Arc::clone(&seat), Arc::clone(&requests));
            thread::spawn(move || {
                // Ordering: Relaxed, on purpose.
                if requests.load(Ordering::Relaxed) == 1 {
                    seat.0.take(1);
                    touch(&seat.1);
                }
            })
        };
        touch(&seat.1);
        assert!(seat.0.leave_called().told());
        // Ordering: Relaxed, on purpose.
        requests.store(1, Ordering::Relaxed);
        next.join().unwrap();
    });
}

/// Two threads, two requests, and one of the threads parks in a wait meanwhile: what waits on the
/// board finds a thread.
#[test]
fn loom_a_core_that_is_given_serves_a_request() {
    explore_within(Some(2), || {
        let board = Arc::new(Board::<u32>::new(1, 1));
        assert_eq!(board.start_one().unwrap().0, 0);
        // The first thread is at work, and waits for what the second request is to do.
        board.enlist(0);
        assert!(board.request(Some(Priority::Low), 1).is_none());
        let (first, start) = board.next(0, true);
        assert_eq!(first, Some(1));
        assert!(start.is_none());
        let asks = {
            let board = Arc::clone(&board);
            thread::spawn(move || board.request(Some(Priority::High), 2).map(|start| start.0))
        };
        let started = board.give_core().map(|start| start.0);
        let asked = asks.join().unwrap();
        let number = started
            .or(asked)
            .expect("the core is free, so one is started");
        assert!(started.is_none() || asked.is_none(), "one is enough");
        let serves = {
            let board = Arc::clone(&board);
            thread::spawn(move || {
                board.enlist(number);
                serve_two(&board, number, true)
            })
        };
        // The wait is over, and the thread done: it has the request, or else the other one has.
        board.take_core();
        let here = serve_two(&board, 0, false);
        assert!(serves.join().unwrap() != here, "one of the two serves it");
    });
}

/// Whether the thread got the second request; then it lets everybody go.
fn serve_two(board: &Board<u32>, number: usize, is_new: bool) -> bool {
    match board.next(number, is_new).0 {
        Some(request) => {
            assert_eq!(request, 2);
            board.let_go().told()
        }
        None => false,
    }
}

/// A closing share ends once, and who ends it sees all that was done there.
#[test]
fn loom_a_share_ends_once_and_after_all() {
    explore(|| {
        let share = Arc::new((Present::new(), DataCell::new(0)));
        assert!(share.0.enter());
        // SAFETY: before the end only the one who is present does so.
        let done = |own: &DataCell<u32>| own.with(|own| unsafe { *own });
        let leaves = {
            let share = Arc::clone(&share);
            thread::spawn(move || {
                // SAFETY: before the end only the thread that is present touches the data.
                share.1.with_mut(|own| unsafe { *own = 1 });
                let left = share.0.exit();
                left == Left::Last && done(&share.1) == 1
            })
        };
        let here = share.0.close() == Left::Last;
        if here {
            assert_eq!(done(&share.1), 1);
        }
        assert!(leaves.join().unwrap() != here, "one of the two ends it");
        assert!(!share.0.enter(), "it has ended");
    });
}

/// The arena's side of a pool that has no threads: a board, and a word for each seat.
struct Lent {
    board: Board<usize>,
    words: [SeatWord; 2],
}

/// A thread of the arena at a seat of that pool.
struct Stay<'l> {
    worker: SmallWorker,
    lent: &'l Lent,
}

impl Sleeper for Stay<'_> {
    type Pool = SmallPool;

    fn pool(&self) -> &Arc<SmallPool> {
        self.worker.pool()
    }

    fn index(&self) -> usize {
        self.worker.index()
    }

    fn victims(&self) -> impl Iterator<Item = usize> {
        self.worker.victims()
    }

    fn takes_of(&self, public: usize) -> bool {
        self.worker.takes_of(public)
    }

    fn wake_another(&self) {
        self.worker.wake_another();
    }

    fn looking(&self) -> &Looking {
        self.worker.looking()
    }

    fn serve_mailbox(&self) -> bool {
        self.worker.serve_mailbox()
    }

    fn count_park(&self) {}

    fn turn_to(&self, _: Activity) {}
}

impl Leaver for Stay<'_> {
    fn word(&self) -> &SeatWord {
        &self.lent.words[self.index()]
    }

    fn sits_out(&self) -> bool {
        is_benched(self.pool().as_ref(), self.index())
    }

    fn is_reserve(&self) -> bool {
        true
    }

    fn has_own(&self) -> bool {
        !self.pool().mailbox(self.index()).is_surely_empty()
    }
}

impl Lent {
    /// A pool of so many workers, and one thread for them.
    fn new(workers: usize) -> (Arc<Lent>, Arc<SmallPool>) {
        let lent = Arc::new(Lent {
            board: Board::new(1, 0),
            words: [SeatWord::new(), SeatWord::new()],
        });
        assert_eq!(lent.board.start_one().unwrap().0, 0);
        let calls = Arc::clone(&lent);
        let pool = SmallPool::lent(workers, move |seat| {
            calls.words[seat].call_thread(&calls.board, || calls.request(seat));
        });
        (lent, pool)
    }

    fn request(&self, seat: usize) {
        let start = self.board.request(Some(Priority::Normal), seat);
        assert!(start.is_none(), "there is one thread");
    }

    /// The arena's thread, until there are no requests any more.
    fn serve(&self, pool: &Arc<SmallPool>) {
        self.board.enlist(0);
        let mut is_new = true;
        while let (Some(seat), _) = self.board.next(0, is_new) {
            is_new = false;
            self.words[seat].take(0);
            let called = pool.idle().retract(seat);
            called.waive("the thread is here, and looks around");
            let worker = SmallWorker {
                pool: Arc::clone(pool),
                index: seat,
                looking: Looking::default(),
            };
            let stay = Stay { worker, lent: self };
            while stay.serve_mailbox() || !stay.sits_out() && stay.worker.run_job() {}
            let found = look_before_leaving(&stay);
            leave(&self.words[seat], found).pay(|| self.request(seat));
        }
    }

    /// The arena's thread serves, while `f` brings work and waits until that has run.
    fn while_served(self: &Arc<Lent>, pool: &Arc<SmallPool>, f: impl FnOnce()) {
        let serves = {
            let (lent, pool) = (Arc::clone(self), Arc::clone(pool));
            thread::spawn(move || lent.serve(&pool))
        };
        f();
        self.board.let_go().waive("the test joins");
        serves.join().unwrap();
    }
}

/// A second job comes while the thread that has run the first one leaves its seat: either it sees
/// the job, or the job finds the seat asleep.
#[test]
fn loom_a_job_finds_a_thread_that_departs_or_a_seat_asleep() {
    explore_within(Some(3), || {
        let (lent, pool) = Lent::new(1);
        lent.while_served(&pool, || {
            pool.inject_awaited();
            pool.inject_awaited();
            pool.wait_until_run(2);
        });
    });
}

/// Something is posted to a seat while its thread leaves.
#[test]
fn loom_mail_finds_a_thread_that_departs() {
    explore_within(Some(3), || {
        let (lent, pool) = Lent::new(1);
        lent.while_served(&pool, || {
            pool.inject_awaited();
            pool.post_awaited(0);
            pool.wait_until_run(2);
        });
    });
}
