//! The words that the two ends of a channel share.

use super::holders::{Elsewhere, Meta, OUTSIDE};
use crate::machine::prim::{
    AtomicU32, AtomicU64, Cell, OnceLock, Ordering, fence, ord, swap_and_fence,
};

/// Capacity of a channel without a bound.
pub(crate) const UNBOUNDED: u32 = u32::MAX;

impl ChannelEnd {
    pub(crate) fn other(self) -> ChannelEnd {
        match self {
            ChannelEnd::Reader => ChannelEnd::Writer,
            ChannelEnd::Writer => ChannelEnd::Reader,
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
/// | `taken` | consumer | number of messages taken, and whether the consumer is gone |
/// | `reader` | consumer: `WAITS`, `ELSEWHERE`, `HOOKED`, `NOBODY`; who claims it: the rest | whether the consumer waits |
/// | `writer` | the same for the producer | whether the producer waits |
/// | `capacity` | whoever has found a deadlock | how many messages may lie in the channel |
///
/// A waiting word goes through these phases. Each step out of a waiting one is a
/// compare-and-swap, so that one side alone has the right, and the duty, to wake.
///
/// | phase | meaning | next, and by whom |
/// |---|---|---|
/// | `NOBODY` | nobody waits here | `WAITS` by the process that waits, `ELSEWHERE` by any other future |
/// | `WAITS` | the process of this end has been suspended here | `CLAIMED` by who wakes it; `NOBODY` by itself when something else woke it |
/// | `ELSEWHERE` | a waker lies in the channel | `NOBODY` by who wakes it |
/// | `HOOKED` | this end is no process's: a function is called each time | none |
/// | `CLAIMED` + line | woken from the thread with that line, and not yet polled | `NOBODY` by the process |
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
    writer: AtomicU32,
    capacity: AtomicU32,
    pub(super) producer: EndCells,
    pub(super) meta: Meta,
    // The consumer's.
    taken: AtomicU64,
    reader: AtomicU32,
    /// The process at the end of the consumer.
    pub(super) receives: AtomicU32,
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

const NOBODY: u32 = 0;
const WAITS: u32 = 1;
const ELSEWHERE: u32 = 2;
const HOOKED: u32 = 3;
const CLAIMED: u32 = 4;

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
    /// The process of that end: wake it.
    Process,
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
    pub(super) fn new(capacity: u32, meta: Meta, first: *mut ()) -> Words {
        Words {
            sent: AtomicU64::new(0),
            writer: AtomicU32::new(NOBODY),
            capacity: AtomicU32::new(capacity),
            producer: EndCells::new(first),
            meta,
            taken: AtomicU64::new(0),
            reader: AtomicU32::new(NOBODY),
            receives: AtomicU32::new(OUTSIDE),
            consumer: EndCells::new(first),
            elsewhere: OnceLock::new(),
        }
    }

    fn waiting(&self, end: ChannelEnd) -> &AtomicU32 {
        match end {
            ChannelEnd::Reader => &self.reader,
            ChannelEnd::Writer => &self.writer,
        }
    }

    /// Producer: how many it has sent.
    #[inline(always)]
    pub(super) fn sent_by_me(&self) -> Count {
        // Ordering: Relaxed; written by this end alone.
        Count(self.sent.load(Ordering::Relaxed))
    }

    /// Consumer: how many it has taken.
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
        self.capacity.store(capacity, Ordering::Relaxed);
    }

    /// How many messages may lie here; [`UNBOUNDED`] for any number.
    #[inline]
    pub(crate) fn capacity(&self) -> u32 {
        // Ordering: Relaxed; a number. Who waits for it to grow is woken after that.
        self.capacity.load(Ordering::Relaxed)
    }

    /// By whoever has found a deadlock, and then wakes the writer.
    pub(crate) fn set_capacity(&self, capacity: u32) {
        // Ordering: Relaxed; the fence puts it before the look at `writer`, as a taken message.
        // Pairs with [wait], which is a fence as well.
        self.capacity.store(capacity, Ordering::Relaxed);
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

    /// The process of that end is about to be suspended here. False when it need not: then it does
    /// not wait.
    ///
    /// The caller has written down for whom to look beforehand.
    #[must_use]
    pub(crate) fn wait(&self, end: ChannelEnd) -> bool {
        // Ordering: Edge [wait]: Release hands to the one who claims it what the process has
        // written down about itself.
        swap_and_fence(self.waiting(end), WAITS, ord("wait", Ordering::SeqCst));
        !self.is_ready(end)
    }

    /// A waker has been put into the channel for that end. False when there is no need to wait.
    #[must_use]
    pub(crate) fn wait_elsewhere(&self, end: ChannelEnd) -> bool {
        // Ordering: as above; Edge [wait] carries the waker.
        swap_and_fence(
            self.waiting(end),
            ELSEWHERE,
            ord("wait_elsewhere", Ordering::SeqCst),
        );
        !self.is_ready(end)
    }

    /// A function has been put into the channel for that end, where no process ever waits. What
    /// came before is for the caller to look at.
    pub(crate) fn hook_is_there(&self, end: ChannelEnd) {
        // Ordering: Edge [hook]: in the manner of Dekker, the caller looks at what was done before,
        // or who did it finds the function; and Release, for what that keeps.
        swap_and_fence(self.waiting(end), HOOKED, ord("hook", Ordering::SeqCst));
    }

    /// The process that waited there is polled again, or has found that it need not wait.
    pub(crate) fn resume(&self, end: ChannelEnd) -> Resumed {
        let word = self.waiting(end);
        // Ordering: Relaxed; what it was woken for is acquired with the counts.
        let mut phase = word.load(Ordering::Relaxed);
        if phase == WAITS {
            // Ordering: Release, one half of [resumed], which stands below.
            let order = ord("resumed", Ordering::Release);
            match word.compare_exchange(WAITS, NOBODY, order, Ordering::Relaxed) {
                Ok(_) => return Resumed::Retracted,
                Err(now) => phase = now,
            }
        }
        if phase < CLAIMED {
            return Resumed::Retracted;
        }
        // Ordering: Edge [resumed]: Release, after the process has said that it runs. Else whoever
        // looks twice at a process that waited for any of several could see some of those waits
        // gone, both times, and think that it waits for the others only.
        word.store(NOBODY, ord("resumed", Ordering::Release));
        Resumed::Claimed(phase - CLAIMED)
    }

    /// Whether somebody waits at that end; a hint without a fence before it.
    #[inline(always)]
    pub(crate) fn is_waiting(&self, end: ChannelEnd) -> bool {
        // Ordering: Relaxed; a claim decides.
        matches!(
            self.waiting(end).load(Ordering::Relaxed),
            WAITS | ELSEWHERE | HOOKED
        )
    }

    /// Whether somebody waits at that end who did not see what the caller has published before.
    pub(crate) fn is_waiting_after_all(&self, end: ChannelEnd) -> bool {
        // Ordering: a fence between what was published and the look at who waits. Pairs with
        // [wait], which is a fence as well: one side sees the other.
        fence(ord("tell_fence", Ordering::SeqCst));
        self.is_waiting(end)
    }

    /// Whether the process of that end is suspended there. For who follows the graph of waits.
    pub(crate) fn is_process_waiting(&self, end: ChannelEnd) -> bool {
        // Ordering: Acquire. Pairs with [wait]: the counts are looked at after this.
        self.waiting(end).load(ord("see_wait", Ordering::Acquire)) == WAITS
    }

    /// Whether the process of that end goes on soon: it has been woken there, or will be.
    pub(crate) fn is_process_due(&self, end: ChannelEnd) -> bool {
        // Ordering: Acquire. Pairs with [wait]: the counts are looked at after this; and with
        // [resumed].
        match self.waiting(end).load(ord("see_due", Ordering::Acquire)) {
            NOBODY | ELSEWHERE | HOOKED => false,
            WAITS => self.is_ready(end),
            _ => true,
        }
    }

    /// The right to wake whoever waits at that end, for the thread with that line.
    pub(crate) fn claim(&self, end: ChannelEnd, line: u32) -> Claim {
        let word = self.waiting(end);
        // Ordering: Relaxed; the compare-and-swap decides.
        let phase = word.load(Ordering::Relaxed);
        let (next, claim) = match phase {
            WAITS => (CLAIMED + line, Claim::Process),
            ELSEWHERE => (NOBODY, Claim::Elsewhere),
            HOOKED => {
                // Ordering: Acquire. Pairs with [hook]: the function is there. The word stays as it
                // is, so this reads what was read above.
                let _hooked = word.load(ord("see_hook", Ordering::Acquire));
                return Claim::Hook;
            }
            _ => return Claim::Nobody,
        };
        // Ordering: Acquire. Pairs with [wait]: the waker is there.
        let order = ord("claim", Ordering::Acquire);
        match word.compare_exchange(phase, next, order, Ordering::Relaxed) {
            Ok(_) => claim,
            // It waits no more, or another has claimed it.
            Err(_) => Claim::Nobody,
        }
    }
}
