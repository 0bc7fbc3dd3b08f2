//! The words that the two ends of a channel share.

use std::task::Poll;

use super::holders::{Elsewhere, Meta, OUTSIDE};
use crate::machine::prim::{AtomicU64, Cell, OnceLock, Ordering, exchange_and_fence, fence, ord};
use crate::machine::runtime::let_others_run;

/// Capacity of a channel without a bound.
pub(crate) const UNBOUNDED: u32 = u32::MAX;

impl ChannelEnd {
    pub(crate) fn other(self) -> ChannelEnd {
        match self {
            ChannelEnd::Reader => ChannelEnd::Writer,
            ChannelEnd::Writer => ChannelEnd::Reader,
        }
    }

    /// The bit of its port among those that are left.
    pub(super) const fn part(self) -> u32 {
        match self {
            ChannelEnd::Reader => 0b01,
            ChannelEnd::Writer => 0b10,
        }
    }
}

/// One of the two ends, as far as somebody waits there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ChannelEnd {
    /// The consumer, which waits for a message.
    Reader,
    /// The producer, which waits for room.
    Writer,
}

/// The words of one channel.
///
/// | word | written by | meaning |
/// |---|---|---|
/// | `sent` | producer | number of messages sent, and whether the producer is gone |
/// | `taken` | consumer; who drops messages in its place, when it is gone | number of messages taken, and whether the consumer is gone |
/// | `reader` | consumer: its holder, `WAITS`, `ELSEWHERE`, `HOOKED`, `LEFT`, `NOBODY`; who claims it: the rest | who has this end, and whether that one waits |
/// | `writer` | the same for the producer | the same for the producer |
/// | `capacity` | whoever has found a deadlock | how many messages may lie in the channel |
///
/// A waiting word is the process that has the port of this end, or had it last, its *holder*; and a
/// phase. Each step into a waiting phase and out of it is a compare-and-swap, so that one side
/// alone has the right, and the duty, to wake.
///
/// | phase | meaning | next, and by whom |
/// |---|---|---|
/// | `NOBODY` | nobody waits here | `WAITS` by the holder when it is suspended, `ELSEWHERE` by any other future, `HOOKED`, `LEFT` |
/// | `WAITS` | the holder has been suspended here | `CLAIMED` by who wakes it; `NOBODY` by itself when something else woke it, or by a new holder; `ELSEWHERE` or `LEFT` by who has the port meanwhile |
/// | `ELSEWHERE` | a waker lies in the channel | `NOBODY` by who wakes it, or by a holder; `HOOKED`, `LEFT` |
/// | `HOOKED` | this end is no process's: a function is called each time | none |
/// | `LEFT` | the consumer's port is gone for good: nobody waits here again | none |
/// | `CLAIMED` + line | woken from the thread with that line, and not yet polled | `NOBODY` by the holder |
///
/// A process says that it waits at the end of its turn, and may have given the port away by then:
/// to another process, which becomes the holder when it waits for the first time, or to another
/// future. Then its compare-and-swap fails, and it looks again. If it was faster, who has the port
/// takes its wait away, unless that is claimed: then it is about to be polled, which is waited for.
///
/// No wake-up is lost, because each side first writes its word, then is a fence, then reads the
/// other's: who sends publishes the message and looks for a reader; who waits says so and looks for
/// a message. One of the two sees the other. What each end writes is 64 bytes from what the other
/// does. Where the memory does not begin with a cache line, fields that rarely change lie in
/// between.
#[repr(C)]
pub(crate) struct Words {
    // The producer's.
    sent: AtomicU64,
    writer: AtomicU64,
    pub(super) producer: EndCells,
    pub(super) meta: Meta,
    // The consumer's.
    taken: AtomicU64,
    reader: AtomicU64,
    pub(super) consumer: EndCells,
    /// Of futures that wait here and are not processes polled directly, and of ends that are in
    /// another place.
    pub(super) elsewhere: OnceLock<Box<Elsewhere>>,
}

/// The private cells of one end.
pub(super) struct EndCells {
    /// Producer: numbers below this have room. Consumer: numbers below this are there.
    pub(super) limit: Cell<u64>,
    /// The ring that this end is at.
    pub(super) ring: Cell<*mut ()>,
}

impl EndCells {
    fn new(first: *mut ()) -> EndCells {
        EndCells {
            limit: Cell::new(0),
            ring: Cell::new(first),
        }
    }
}

/// The value of a waiting word: the phase in the lower half, the holder in the upper one.
#[derive(Clone, Copy, PartialEq, Eq)]
struct WaitState(u64);

const NOBODY: u32 = 0;
const WAITS: u32 = 1;
const ELSEWHERE: u32 = 2;
const HOOKED: u32 = 3;
const LEFT: u32 = 4;
const CLAIMED: u32 = 5;

impl WaitState {
    #[inline(always)]
    fn new(holder: u32, phase: u32) -> WaitState {
        WaitState(u64::from(holder) << 32 | u64::from(phase))
    }

    #[inline(always)]
    fn holder(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline(always)]
    fn phase(self) -> u32 {
        self.0 as u32
    }

    /// This holder's state in another phase.
    #[inline(always)]
    fn at(self, phase: u32) -> WaitState {
        WaitState(self.0 - u64::from(self.phase()) + u64::from(phase))
    }

    /// The line of the thread that has claimed the end, if it is that process's.
    #[inline(always)]
    fn claimed_of(self, process: u32) -> Option<u32> {
        let line = self.0.wrapping_sub(WaitState::new(process, CLAIMED).0);
        (line < (1 << 32) - u64::from(CLAIMED)).then_some(line as u32)
    }
}

/// A count with the mark of an end that is gone.
const GONE: u64 = 1;
const ONE: u64 = 2;

/// The count of messages that one end has sent or taken, and whether the end is gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Count(u64);

impl Count {
    #[inline(always)]
    pub(crate) fn number(self) -> u64 {
        self.0 / ONE
    }

    #[inline(always)]
    pub(crate) fn is_gone(self) -> bool {
        self.0 & GONE != 0
    }
}

/// The result of a waker's attempt to claim the waiting end.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Claim {
    /// Nobody waits.
    Nobody,
    /// That process has that end: wake it.
    Process(u32),
    /// Wake by the waker that a waiting end left in the channel.
    Elsewhere,
    /// Nobody need be woken: call the function.
    Hook,
}

/// The reason for which a process is polled again.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Resumed {
    /// It was woken from here, by the thread with that line.
    Claimed(u32),
    /// Something else woke it; it waits here no more.
    Retracted,
}

impl Words {
    pub(super) fn new(meta: Meta, first: *mut ()) -> Words {
        Words {
            sent: AtomicU64::new(0),
            writer: AtomicU64::new(WaitState::new(OUTSIDE, NOBODY).0),
            producer: EndCells::new(first),
            meta,
            taken: AtomicU64::new(0),
            reader: AtomicU64::new(WaitState::new(OUTSIDE, NOBODY).0),
            consumer: EndCells::new(first),
            elsewhere: OnceLock::new(),
        }
    }

    fn waiting(&self, end: ChannelEnd) -> &AtomicU64 {
        match end {
            ChannelEnd::Reader => &self.reader,
            ChannelEnd::Writer => &self.writer,
        }
    }

    /// The process that has that end or had it last, or [`OUTSIDE`].
    pub(crate) fn process(&self, end: ChannelEnd) -> u32 {
        // Ordering: Relaxed; where it matters, what it belongs to is acquired with [wait].
        WaitState(self.waiting(end).load(Ordering::Relaxed)).holder()
    }

    /// Before the network runs, by who builds it.
    pub(crate) fn set_process(&self, end: ChannelEnd, process: u32) {
        // Ordering: Relaxed, both; what the processes are handed over with orders it.
        let now = WaitState(self.waiting(end).load(Ordering::Relaxed));
        let new = WaitState::new(process, now.phase());
        self.waiting(end).store(new.0, Ordering::Relaxed);
    }

    /// Producer: how many it has sent.
    #[inline(always)]
    pub(super) fn sent_by_me(&self) -> Count {
        // Ordering: Relaxed; written by this end alone.
        Count(self.sent.load(Ordering::Relaxed))
    }

    /// Consumer, or who is in its place: how many it has taken.
    #[inline(always)]
    pub(super) fn taken_by_me(&self) -> Count {
        // Ordering: Relaxed; written by this end alone.
        Count(self.taken.load(Ordering::Relaxed))
    }

    /// Anybody else than the producer.
    #[inline(always)]
    pub(crate) fn sent(&self) -> Count {
        // Ordering: Acquire. Pairs with [sent]: the messages below this number are in their slots.
        Count(self.sent.load(ord("see_sent", Ordering::Acquire)))
    }

    /// Anybody else than the consumer.
    #[inline(always)]
    pub(crate) fn taken(&self) -> Count {
        // Ordering: Acquire. Pairs with [taken]: the slots below this number are empty.
        Count(self.taken.load(ord("see_taken", Ordering::Acquire)))
    }

    /// Producer: the messages below that number are there.
    #[inline(always)]
    pub(super) fn publish_sent(&self, number: u64) {
        // Ordering: Edge [sent]: Release hands the messages to the consumer.
        self.sent
            .store(number * ONE, ord("sent", Ordering::Release));
    }

    /// Consumer: the slots below that number are empty.
    #[inline(always)]
    pub(super) fn publish_taken(&self, number: u64) {
        // Ordering: Edge [taken]: Release hands the slots to the producer.
        self.taken
            .store(number * ONE, ord("taken", Ordering::Release));
    }

    /// Who drops messages at the consumer's end: as [`Self::publish_taken`], but where the consumer
    /// is gone, it stays so.
    pub(super) fn publish_dropped(&self, number: u64) {
        let gone = self.taken_by_me().0 & GONE;
        // Ordering: Release, for the next one at this end. Pairs with [taken], as any other count.
        self.taken
            .store((number * ONE) | gone, ord("taken", Ordering::Release));
    }

    /// One end is gone. Whoever waits at the other is to be woken.
    pub(super) fn leave(&self, end: ChannelEnd) {
        let word = match end {
            ChannelEnd::Reader => &self.taken,
            ChannelEnd::Writer => &self.sent,
        };
        // Ordering: Relaxed; written by this end alone.
        let count = word.load(Ordering::Relaxed);
        // Ordering: Release. Pairs with [sent] and [taken], as any other count.
        word.store(count | GONE, ord("leave", Ordering::Release));
        fence(ord("leave_fence", Ordering::SeqCst));
    }

    /// A new port of that end, which was gone, takes its place. By who makes that port.
    pub(super) fn come_back(&self, end: ChannelEnd) {
        let word = match end {
            ChannelEnd::Reader => &self.taken,
            ChannelEnd::Writer => &self.sent,
        };
        // Ordering: Relaxed, both; written by this end alone, which the caller is. What it says is
        // less than what [sent] or [taken] has handed over before.
        word.store(word.load(Ordering::Relaxed) & !GONE, Ordering::Relaxed);
    }

    /// Less may lie here from now on. By the consumer, before it takes what makes up for that: so
    /// the number that has no room stays the same.
    pub(crate) fn lower_capacity(&self, capacity: u32) {
        // Ordering: Relaxed; who sees the message taken sees this, too. Pairs with [taken].
        self.meta.capacity.store(capacity, Ordering::Relaxed);
    }

    /// Whether the consumer is gone. By who looks for messages afterwards.
    #[inline(always)]
    pub(crate) fn has_no_reader(&self) -> bool {
        // Ordering: Relaxed; after the caller's fence.
        Count(self.taken.load(Ordering::Relaxed)).is_gone()
    }

    /// How many messages may lie here; [`UNBOUNDED`] for any number.
    #[inline]
    pub(crate) fn capacity(&self) -> u32 {
        // Ordering: Relaxed; a number. Who waits for it to grow is woken after that.
        self.meta.capacity.load(Ordering::Relaxed)
    }

    /// By whoever has found a deadlock, and then wakes the writer.
    pub(crate) fn set_capacity(&self, capacity: u32) {
        // Ordering: Relaxed; the fence puts it before the look at `writer`, as a taken message.
        // Pairs with [wait], which is a fence as well.
        self.meta.capacity.store(capacity, Ordering::Relaxed);
        fence(ord("grow_fence", Ordering::SeqCst));
    }

    /// The first number that has no room, by the capacity alone.
    #[inline]
    pub(crate) fn room(&self, taken: Count) -> u64 {
        match self.capacity() {
            UNBOUNDED => u64::MAX,
            capacity => taken.number() + u64::from(capacity),
        }
    }

    /// Whether who waits at that end could go on. By the process that waits there, or by anybody
    /// who will look twice.
    pub(crate) fn is_ready(&self, end: ChannelEnd) -> bool {
        let (sent, taken) = (self.sent(), self.taken());
        match end {
            ChannelEnd::Reader => sent.number() != taken.number() || sent.is_gone(),
            ChannelEnd::Writer => sent.number() < self.room(taken) || taken.is_gone(),
        }
    }

    /// Whether that process is the holder of that end, and nobody waits there.
    #[inline(always)]
    pub(crate) fn is_held_by(&self, end: ChannelEnd, process: u32) -> bool {
        // Ordering: Relaxed; written by who had the port before, or a hint.
        let now = WaitState(self.waiting(end).load(Ordering::Relaxed));
        now == WaitState::new(process, NOBODY)
    }

    /// That process has the port of that end: so it becomes the holder, and whatever has waited
    /// with the port waits no more. False when the last holder has been woken here and not polled
    /// yet: then the caller asks again later.
    #[must_use]
    #[cold]
    pub(crate) fn hold(&self, end: ChannelEnd, process: u32) -> bool {
        let word = self.waiting(end);
        let new = WaitState::new(process, NOBODY);
        loop {
            // Ordering: Relaxed; the compare-and-swap decides.
            let now = WaitState(word.load(Ordering::Relaxed));
            if now.phase() >= CLAIMED {
                let_others_run();
                return false;
            }
            // Ordering: Relaxed, both; nothing is handed over: the port came here in another way.
            let swapped = word.compare_exchange(now.0, new.0, Ordering::Relaxed, Ordering::Relaxed);
            if swapped.is_ok() {
                return true;
            }
        }
    }

    /// That process is about to be suspended, and had the port of that end when it last looked
    /// here. False when it need not, or has given the port away: then it does not wait.
    ///
    /// The caller has written down for whom to look beforehand.
    #[must_use]
    #[inline(always)]
    pub(crate) fn wait(&self, end: ChannelEnd, process: u32) -> bool {
        let from = WaitState::new(process, NOBODY);
        // Ordering: Edge [wait]: Release hands to the one who claims it what the process has
        // written down about itself.
        let order = ord("wait", Ordering::SeqCst);
        let waits = exchange_and_fence(self.waiting(end), from.0, from.at(WAITS).0, order);
        waits.is_ok() && !self.is_ready(end)
    }

    /// A waker has been put into the channel for that end, by who has its port. Ready when there is
    /// no need to wait, with whether that is so because nobody waits in a network that has stopped;
    /// none as with [`Self::hold`].
    #[must_use]
    pub(crate) fn wait_elsewhere(&self, end: ChannelEnd) -> Option<Poll<bool>> {
        // Ordering: as above; Edge [wait] carries the waker.
        let order = ord("wait_elsewhere", Ordering::SeqCst);
        if !self.set_phase(end, ELSEWHERE, order) {
            return None;
        }
        // In this order: what was sent before the network was stopped is received.
        let is_stopped = self.shared().was_stopped();
        Some(match (self.is_ready(end), is_stopped) {
            (true, _) => Poll::Ready(false),
            (false, true) => Poll::Ready(true),
            (false, false) => Poll::Pending,
        })
    }

    /// A function has been put into the channel for that end, where no process ever waits. What
    /// came before is for the caller to look at.
    pub(crate) fn hook_is_there(&self, end: ChannelEnd) {
        // Ordering: Edge [hook]: in the manner of Dekker, the caller looks at what was done before,
        // or who did it finds the function; and Release, for what that keeps.
        let order = ord("hook", Ordering::SeqCst);
        while !self.set_phase(end, HOOKED, order) {}
    }

    /// By who has the port of that end, and is not polled as its holder. Whatever has waited there
    /// waits no more; and this is a fence. False as with [`Self::hold`].
    fn set_phase(&self, end: ChannelEnd, phase: u32, order: Ordering) -> bool {
        let mut from = WaitState::new(OUTSIDE, NOBODY);
        loop {
            match exchange_and_fence(self.waiting(end), from.0, from.at(phase).0, order) {
                Ok(_) => return true,
                Err(now) => from = WaitState(now),
            }
            if from.phase() >= CLAIMED {
                let_others_run();
                return false;
            }
        }
    }

    /// That process, which may have waited there, is polled again, or has found that it need not
    /// wait.
    #[inline(always)]
    pub(crate) fn resume(&self, end: ChannelEnd, process: u32) -> Resumed {
        let word = self.waiting(end);
        let nobody = WaitState::new(process, NOBODY);
        // Ordering: Relaxed; what it was woken for is acquired with the counts.
        let mut now = WaitState(word.load(Ordering::Relaxed));
        let line = loop {
            if let Some(line) = now.claimed_of(process) {
                break line;
            }
            if now != nobody.at(WAITS) {
                return Resumed::Retracted;
            }
            // Ordering: Release, one half of [resumed], which stands below.
            let order = ord("resumed", Ordering::Release);
            match word.compare_exchange(now.0, nobody.0, order, Ordering::Relaxed) {
                Ok(_) => return Resumed::Retracted,
                Err(claimed) => now = WaitState(claimed),
            }
        };
        // Ordering: Edge [resumed]: Release, after the process has said that it runs. Else whoever
        // looks twice at a process that waited for any of several could see some of those waits
        // gone, both times, and think that it waits for the others only. Nobody else writes the
        // word of an end that is claimed.
        word.store(nobody.0, ord("resumed", Ordering::Release));
        Resumed::Claimed(line)
    }

    /// Whether somebody waits at that end; a hint without a fence before it.
    #[inline(always)]
    pub(crate) fn is_waiting(&self, end: ChannelEnd) -> bool {
        // Ordering: Relaxed; a claim decides.
        let now = WaitState(self.waiting(end).load(Ordering::Relaxed));
        matches!(now.phase(), WAITS | ELSEWHERE | HOOKED)
    }

    /// Whether somebody waits at that end who did not see what the caller has published before.
    pub(crate) fn is_waiting_after_all(&self, end: ChannelEnd) -> bool {
        // Ordering: a fence between what was published and the look at who waits. Pairs with
        // [wait], which is a fence as well: one side sees the other.
        fence(ord("tell_fence", Ordering::SeqCst));
        self.is_waiting(end)
    }

    /// Whether that process has that end, and is suspended there. For who follows the graph of
    /// waits.
    pub(crate) fn is_process_waiting(&self, end: ChannelEnd, process: u32) -> bool {
        // Ordering: Acquire. Pairs with [wait]: the counts are looked at after this.
        let now = self.waiting(end).load(ord("see_wait", Ordering::Acquire));
        WaitState(now) == WaitState::new(process, WAITS)
    }

    /// Whether that process has that end, and goes on soon: it has been woken there, or will be.
    pub(crate) fn is_process_due(&self, end: ChannelEnd, process: u32) -> bool {
        // Ordering: Acquire. Pairs with [wait]: the counts are looked at after this; and with
        // [resumed].
        let now = WaitState(self.waiting(end).load(ord("see_due", Ordering::Acquire)));
        match now.phase() {
            _ if now.holder() != process => false,
            NOBODY | ELSEWHERE | HOOKED | LEFT => false,
            WAITS => self.is_ready(end),
            _ => true,
        }
    }

    /// The right to wake whoever waits at that end, for the thread with that line.
    #[inline(always)]
    pub(crate) fn claim(&self, end: ChannelEnd, line: u32) -> Claim {
        let word = self.waiting(end);
        // Ordering: Relaxed; the compare-and-swap decides.
        let now = WaitState(word.load(Ordering::Relaxed));
        let (next, claim) = match now.phase() {
            WAITS => {
                let next = WaitState(now.0 + u64::from(CLAIMED - WAITS + line));
                (next, Claim::Process(now.holder()))
            }
            ELSEWHERE => (now.at(NOBODY), Claim::Elsewhere),
            HOOKED => {
                // Ordering: Acquire. Pairs with [hook]: the function is there. The word stays as it
                // is, so this reads what was read above.
                let _hooked = word.load(ord("see_hook", Ordering::Acquire));
                return Claim::Hook;
            }
            _ => return Claim::Nobody,
        };
        match self.claim_as(end, now, next) {
            true => claim,
            false => Claim::Nobody,
        }
    }

    /// The consumer's port is gone for good, and says so here before it looks for messages that
    /// have come meanwhile: who sends them claims nobody from now on, but looks at whether the
    /// consumer is gone. A process that was claimed has still to be polled. True when a waker lies
    /// in the channel, which the caller has claimed.
    #[must_use]
    pub(super) fn nobody_reads_any_more(&self) -> bool {
        let word = self.waiting(ChannelEnd::Reader);
        // Ordering: Relaxed, all; the fence before the caller's look acquires with that. Pairs with
        // [claim] and [resumed]: what was sent before somebody was claimed is seen.
        let order = Ordering::Relaxed;
        let mut now = WaitState(word.load(order));
        while now.phase() < HOOKED {
            match word.compare_exchange(now.0, now.at(LEFT).0, order, order) {
                Ok(_) => return now.phase() == ELSEWHERE,
                Err(other) => now = WaitState(other),
            }
        }
        false
    }

    /// The right to wake who waits at that end by a waker in the channel, if somebody does.
    #[must_use]
    pub(crate) fn claim_elsewhere(&self, end: ChannelEnd) -> bool {
        // Ordering: Relaxed; the compare-and-swap decides.
        let now = WaitState(self.waiting(end).load(Ordering::Relaxed));
        now.phase() == ELSEWHERE && self.claim_as(end, now, now.at(NOBODY))
    }

    /// False when who waited there waits no more, or another has claimed it.
    #[inline(always)]
    fn claim_as(&self, end: ChannelEnd, now: WaitState, next: WaitState) -> bool {
        // Ordering: Acquire. Pairs with [wait]: the waker is there. Edge [claim]: Release, for a
        // consumer's port that is going, and finds nobody who waits: see `nobody_reads_any_more`.
        let order = ord("claim", Ordering::AcqRel);
        let word = self.waiting(end);
        word.compare_exchange(now.0, next.0, order, Ordering::Relaxed)
            .is_ok()
    }
}
