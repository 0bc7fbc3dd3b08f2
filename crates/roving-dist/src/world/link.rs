//! One rank's link to the others: active messages, and waiting for them.
//!
//! A thread that waits polls: [`Link::poll`] sends the messages in the outboxes and calls the
//! handlers of those that have arrived, on the calling thread. One thread does so at a time; a
//! second one goes its way at once, because its work is being done. Where no thread polls, the
//! progress thread does. While handlers run, which may take long, the engine is free for others to
//! send.

use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use super::backoff::Backoff;
use super::engine::{Engine, Handler};
use super::fault::FirstFault;
use super::long_waits::Patience;
use super::outbox::Outbox;
use super::record::RECORD_BYTES_MAX;
use super::transport::Transport;
use crate::error::Error;
use crate::prim::{AtomicBool, AtomicU32, AtomicU64, Mutex, MutexGuard, Ordering, fence, ord};
use crate::tray::Tray;

/// The longest sleep of a thread that waits for a message.
pub(crate) const SLEEP_MAX: Duration = Duration::from_micros(500);
/// How long who ends the run waits for the transport, before it ends its own process alone.
const ABORT_WAIT_MAX: Duration = Duration::from_secs(1);
/// Tags below are those of the world itself.
pub(super) const FIRST_TAG: u32 = 8;

/// One rank's way to the others. Shared by all who send, wait or handle messages.
pub(crate) struct Link {
    rank: usize,
    ranks: usize,
    /// Whether ranks are processes, which one of them can end.
    processes: bool,
    /// More threads wait than there are cores.
    crowded: bool,
    outboxes: Vec<Outbox>,
    /// Some outbox holds something, for another rank; the one for this rank does.
    dirty: AtomicBool,
    own_dirty: AtomicBool,
    engine: Mutex<Engine>,
    /// Tags that were opened and closed since the last poll.
    changes: Tray<(u32, Option<Handler>)>,
    /// How often somebody has polled.
    polls: AtomicU64,
    /// How often somebody has looked for packets in vain.
    vain: AtomicU64,
    /// How many packets have come from the rank before this one.
    heard: AtomicU64,
    next_tag: AtomicU32,
    fault: Arc<FirstFault>,
}

impl Link {
    pub(super) fn new(
        (rank, ranks): (usize, usize),
        transport: Box<dyn Transport>,
        fault: Arc<FirstFault>,
        processes: bool,
        crowded: bool,
    ) -> Link {
        Link {
            rank,
            ranks,
            processes,
            crowded,
            outboxes: (0..ranks).map(|_| Outbox::default()).collect(),
            dirty: AtomicBool::new(false),
            own_dirty: AtomicBool::new(false),
            engine: Mutex::new(Engine::new(transport)),
            changes: Tray::new(),
            polls: AtomicU64::new(0),
            vain: AtomicU64::new(0),
            heard: AtomicU64::new(0),
            next_tag: AtomicU32::new(FIRST_TAG),
            fault,
        }
    }

    /// This rank's number.
    pub(crate) fn rank(&self) -> usize {
        self.rank
    }

    /// How many ranks there are.
    pub(crate) fn ranks(&self) -> usize {
        self.ranks
    }

    /// The rank that this one listens to.
    pub(super) fn before(&self) -> usize {
        (self.rank + self.ranks - 1) % self.ranks
    }

    /// The first of so many tags that nobody else has. Ranks that ask in the same order, as they do
    /// when they run the same program, get the same tags.
    pub(crate) fn tags(&self, count: u32) -> u32 {
        // Ordering: Relaxed; only the number counts.
        self.next_tag.fetch_add(count, Ordering::Relaxed)
    }

    /// From now on `handler` is called for each message with this tag, those that came before
    /// included. It runs on whatever thread polls, must not block or wait, and may send.
    pub(crate) fn open(&self, tag: u32, handler: impl FnMut(usize, &[u8]) + Send + 'static) {
        self.changes.put((tag, Some(Box::new(handler))));
    }

    /// From some time on the tag's handler is called no more, and dropped. Messages with it are,
    /// too.
    pub(crate) fn close(&self, tag: u32) {
        self.changes.put((tag, None));
    }

    /// Sends a message: soon, with others, or at once after a [`Link::flush`]. Never blocks.
    /// Messages to one rank arrive in the order in which they were sent. Whether somebody has to
    /// see to it that it leaves: else it is the matter of who has sent the one before.
    pub(crate) fn send(&self, to: usize, tag: u32, bytes: &[u8]) -> bool {
        if bytes.len() > RECORD_BYTES_MAX {
            return self.send_owned(to, tag, bytes.to_vec());
        }
        let is_full = self.outboxes[to].push(tag, bytes);
        let is_first = self.mark_dirty(to);
        if is_full {
            self.flush();
        }
        is_first && !is_full
    }

    /// Sends bytes that the caller does not need any more: many of them are not copied.
    pub(crate) fn send_owned(&self, to: usize, tag: u32, bytes: Vec<u8>) -> bool {
        if bytes.len() <= RECORD_BYTES_MAX {
            return self.send(to, tag, &bytes);
        }
        self.outboxes[to].push_bulk(tag, bytes);
        self.mark_dirty(to);
        self.flush();
        false
    }

    /// Whether nobody had.
    fn mark_dirty(&self, to: usize) -> bool {
        let dirty = match to == self.rank {
            true => &self.own_dirty,
            false => &self.dirty,
        };
        // Most messages of a batch find it set.
        // Ordering: Relaxed; the lock of the outbox orders it. Who clears `dirty` takes that lock
        // afterwards, this thread has held it before. If the clearer comes second, it finds the
        // message. If it came first, its clearing happened before this load, which cannot read what
        // was there earlier.
        let is_first = !dirty.load(Ordering::Relaxed);
        if is_first {
            // Ordering: Relaxed; what was sent is found under the lock of its outbox.
            dirty.store(true, Ordering::Relaxed);
        }
        is_first
    }

    fn is_dirty(&self) -> bool {
        // Ordering: Relaxed, both; looked at again after the engine is free.
        self.dirty.load(Ordering::Relaxed) || self.own_dirty.load(Ordering::Relaxed)
    }

    /// Has everything sent that was handed to [`Link::send`], by this thread or by one that is
    /// polling. Where a sign of life is just leaving, what this rank sends to itself waits for who
    /// polls next.
    pub(crate) fn flush(&self) {
        self.hand_over(|| self.with_engine(|engine| self.send_dirty(engine)));
    }

    /// Sends a small message to another rank, and what else waits for other ranks, at once. Calls
    /// no handlers, and takes nothing for them.
    pub(super) fn send_apart(&self, to: usize, tag: u32, bytes: &[u8]) {
        debug_assert!(to != self.rank && bytes.len() <= RECORD_BYTES_MAX);
        self.outboxes[to].push(tag, bytes);
        self.mark_dirty(to);
        self.hand_over(|| {
            let is_free = self.send_to_others();
            if is_free {
                self.send_left();
            }
            is_free
        });
    }

    /// Calls `send`, which says whether nobody else has the engine; else that one sends.
    fn hand_over(&self, send: impl Fn() -> bool) {
        if send() {
            return;
        }
        // Ordering: Edge [handover]: in the manner of Dekker. Who sends has set `dirty`, and then
        // finds the engine taken; who has it frees it, and then reads `dirty`. One of the two sees
        // the other.
        fence(ord("flush_fence", Ordering::SeqCst));
        send();
    }

    /// Sends what the outboxes hold for other ranks, if nobody else has the engine; whether that
    /// was so.
    fn send_to_others(&self) -> bool {
        let Some(mut engine) = self.try_engine() else {
            return false;
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            // Ordering: Relaxed; as in `send_dirty`.
            self.dirty.store(false, Ordering::Relaxed);
            engine.send_all(self.rank, &self.outboxes)
        }));
        drop(engine);
        self.judge(outcome);
        true
    }

    /// For a thread that has just freed the engine: sends to other ranks what threads that found it
    /// taken have left to this one.
    fn send_left(&self) {
        loop {
            self.fence_handover();
            // Ordering: Relaxed; after the fence.
            let is_left = self.dirty.load(Ordering::Relaxed) && !self.fault.is_set();
            if !is_left || !self.send_to_others() {
                return;
            }
        }
    }

    /// Between freeing the engine and a look for what others have left.
    fn fence_handover(&self) {
        // Ordering: SeqCst. Pairs with [handover]: the other half.
        fence(ord("handover_fence", Ordering::SeqCst));
    }

    /// Sends what there is, and calls the handlers of a few messages. Whether there were any; no,
    /// if another thread is at it.
    pub(crate) fn poll(&self) -> bool {
        self.poll_while(|| false)
    }

    /// Polls again and again, until a message has come or `go_on` is false. Other threads that want
    /// the engine meanwhile leave the messages that they send to this one.
    pub(crate) fn poll_while(&self, mut go_on: impl FnMut() -> bool) -> bool {
        let mut is_any = false;
        self.with_engine(|engine| {
            // Ordering: Relaxed; only who has the engine writes, and the progress thread looks now
            // and then.
            let polls = self.polls.load(Ordering::Relaxed) + 1;
            // Ordering: Relaxed, as above.
            self.polls.store(polls, Ordering::Relaxed);
            if !engine.change(&self.changes) {
                return self.send_dirty(engine);
            }
            loop {
                self.send_dirty(engine)?;
                is_any = self.receive(engine)?;
                if is_any || engine.is_due() || !go_on() {
                    return Ok(());
                }
            }
        });
        is_any
    }

    fn receive(&self, engine: &mut Engine) -> Result<bool, Error> {
        let is_any = engine.receive()?;
        // Ordering: Relaxed, all; as `polls`. The pulse compares them with older ones.
        if is_any {
            self.heard
                .store(engine.heard(self.before()), Ordering::Relaxed);
        } else {
            let vain = self.vain.load(Ordering::Relaxed) + 1;
            self.vain.store(vain, Ordering::Relaxed);
        }
        Ok(is_any)
    }

    fn send_dirty(&self, engine: &mut Engine) -> Result<(), Error> {
        while self.is_dirty() {
            // Ordering: Relaxed, all; as in `mark_dirty`. Each outbox is looked into after this,
            // under its lock.
            if self.dirty.load(Ordering::Relaxed) {
                self.dirty.store(false, Ordering::Relaxed);
                engine.send_all(self.rank, &self.outboxes)?;
            }
            // Ordering: Relaxed, both; as above.
            if self.own_dirty.load(Ordering::Relaxed) {
                self.own_dirty.store(false, Ordering::Relaxed);
                engine.take_own(self.rank, &self.outboxes[self.rank]);
            }
        }
        Ok(())
    }

    /// Calls `f`, if nobody else has the engine; whether that was so. What others send meanwhile,
    /// and cannot hand over because of that, is sent as well.
    fn with_engine(&self, f: impl FnOnce(&mut Engine) -> Result<(), Error>) -> bool {
        let Some(engine) = self.try_engine() else {
            return false;
        };
        self.run_with(engine, f);
        loop {
            self.fence_handover();
            if !self.is_dirty() || self.fault.is_set() {
                return true;
            }
            let Some(engine) = self.try_engine() else {
                return true;
            };
            self.run_with(engine, |engine| self.send_dirty(engine));
        }
    }

    /// Calls `f`, and then the handlers for what has come, while the engine is free; and again for
    /// what this rank sends to itself meanwhile.
    fn run_with(
        &self,
        mut engine: MutexGuard<'_, Engine>,
        f: impl FnOnce(&mut Engine) -> Result<(), Error>,
    ) {
        let outcome = catch_unwind(AssertUnwindSafe(|| f(&mut engine)));
        let mut due = engine.take_due();
        drop(engine);
        self.judge(outcome);
        while let Some(mut handlers) = due {
            // They may take long; what others have left to this thread does not wait for that.
            self.send_left();
            let outcome = catch_unwind(AssertUnwindSafe(|| handlers.call()));
            let mut engine = self.lock_engine();
            engine.put_back(handlers);
            let sent = self.send_dirty(&mut engine);
            due = engine.take_due();
            drop(engine);
            self.judge(outcome.map(|()| sent));
        }
    }

    fn judge(&self, outcome: thread::Result<Result<(), Error>>) {
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                self.fail_with(error);
            }
            Err(payload) => {
                let what = crate::unwind::text(&*payload);
                self.fail(format_args!("handling a message panicked: {what}"));
                crate::unwind::drop_quietly(payload);
            }
        }
    }

    fn lock_engine(&self) -> MutexGuard<'_, Engine> {
        self.engine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn try_engine(&self) -> Option<MutexGuard<'_, Engine>> {
        match self.engine.try_lock() {
            Ok(engine) => Some(engine),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Polls until `ready` gives something, or something goes wrong somewhere. Looks often at
    /// first, then sleeps between looks. `tell` says what this rank waits for.
    pub(crate) fn wait<T>(
        &self,
        tell: impl Fn() -> String,
        mut ready: impl FnMut() -> Option<T>,
    ) -> Result<T, Error> {
        let mut backoff = self.backoff();
        let mut patience = Patience::new();
        loop {
            if let Some(found) = ready() {
                return Ok(found);
            }
            if let Some(error) = self.fault.get() {
                return Err(error);
            }
            patience.look(|| format!("rank {} of {} waits for {}", self.rank, self.ranks, tell()));
            match self.poll() {
                true => backoff.reset(),
                false => backoff.pause(),
            }
        }
    }

    /// For a thread that polls until something comes.
    pub(crate) fn backoff(&self) -> Backoff {
        Backoff::new(self.crowded, SLEEP_MAX)
    }

    /// Whether the run has failed: one load.
    pub(crate) fn is_faulty(&self) -> bool {
        self.fault.is_set()
    }

    /// Returns the first fault known here, wherever it happened.
    pub(crate) fn fault(&self) -> Option<Error> {
        self.fault.get()
    }

    /// Ends the run on all ranks, with an error that names this one. If ranks are processes it does
    /// not return.
    pub(crate) fn fail(&self, what: impl std::fmt::Display) -> Error {
        self.fail_with(Error::at(self.rank, self.ranks, what))
    }

    /// Ends the run on all ranks with this error.
    pub(crate) fn fail_with(&self, error: Error) -> Error {
        let (error, is_first) = self.fault.set(error);
        if self.processes && is_first {
            // One write, or what MPI says of the other ranks' end comes into the middle of the
            // line.
            let _ = io::stderr().write_all(format!("roving: {error}\n").as_bytes());
            self.abort();
        }
        error
    }

    /// Calls `f`; a panic of it is an error on the other ranks, which says where it was. The caller
    /// gets its payload, and goes on with the panic when it has tidied up.
    pub(crate) fn told<V>(&self, which: &str, f: impl FnOnce() -> V) -> thread::Result<V> {
        let outcome = catch_unwind(AssertUnwindSafe(f));
        if let Err(payload) = &outcome {
            let what = crate::unwind::text(&**payload);
            self.fail(format_args!("{which} panicked: {what}"));
        }
        outcome
    }

    /// Ends all processes.
    fn abort(&self) -> ! {
        let status = self.fault.get().map_or(1, |error| error.status());
        let start = Instant::now();
        while start.elapsed() < ABORT_WAIT_MAX {
            if let Some(mut engine) = self.try_engine() {
                engine.abort(status);
                break;
            }
            thread::sleep(Duration::from_millis(1));
        }
        // The launcher of the processes sees this one end, and ends the others.
        std::process::abort();
    }

    /// How often somebody has polled.
    pub(super) fn polls(&self) -> u64 {
        // Ordering: Relaxed; a count to be compared with an older one.
        self.polls.load(Ordering::Relaxed)
    }

    /// How often somebody has looked for packets in vain: all that had come was taken.
    pub(super) fn vain(&self) -> u64 {
        // Ordering: Relaxed; as `polls`.
        self.vain.load(Ordering::Relaxed)
    }

    /// How many packets have come from the rank before this one.
    pub(super) fn heard(&self) -> u64 {
        // Ordering: Relaxed; as `polls`.
        self.heard.load(Ordering::Relaxed)
    }

    /// Waits until all that was sent has left this rank.
    pub(super) fn wait_until_sent(&self) -> Result<(), Error> {
        self.flush();
        let tell = || "what it has sent to leave, before it ends".to_owned();
        self.wait(tell, || {
            let mut engine = self.try_engine()?;
            match engine.is_sent() {
                Ok(is_sent) => is_sent.then_some(()),
                Err(error) => {
                    drop(engine);
                    self.fail_with(error);
                    None
                }
            }
        })
    }

    /// Lends the transport, with nobody else in it: nobody polls meanwhile.
    pub(super) fn with_transport<R>(&self, f: impl FnOnce(&mut dyn Transport) -> R) -> R {
        f(self.lock_engine().transport())
    }

    /// Waits for a thread that is in a handler, and then ends the transport, if the ranks have
    /// `parted`. Drops the handlers, which may hold this link.
    pub(super) fn end(&self, parted: Result<(), Error>) -> Result<(), Error> {
        let mut backoff = self.backoff();
        let handlers = loop {
            let handlers = self.lock_engine().forget_handlers();
            match handlers {
                Some(handlers) => break handlers,
                None => backoff.pause(),
            }
        };
        let ended = parted.and_then(|()| self.lock_engine().finish());
        // Dropped when the engine is free: handlers hold what is the program's.
        drop((handlers, self.changes.take()));
        ended
    }
}
