//! A window: the rest of a channel's capacity on the producer's side, while the consumer is in
//! another place.

use super::words::{UNBOUNDED, Words};

/// A message that is taken out at the producer's end reaches the consumer later. Until then it
/// counts as lying in the channel: the capacity here is what is left.
///
/// A message is taken in two steps: the capacity becomes one less, and then the count of taken
/// messages one more. The number that has no room is the same before and after. In between it is
/// one less, and a producer that reads the words just then sees too little room, may say that it
/// waits, and is not woken by the second step. So the messages are taken either in the place of the
/// producer, which cannot look meanwhile, or [`Window::reopen`] comes after them.
pub(crate) struct Window {
    /// From the producer to the consumer.
    capacity: u32,
    taken_there: u64,
    /// Added, modulo 2⁶⁴, to the count of messages here: the number that were sent elsewhere.
    offset: u64,
}

impl Window {
    pub(crate) fn new(capacity: u32) -> Window {
        Window {
            capacity,
            taken_there: 0,
            offset: 0,
        }
    }

    /// How many messages may lie on the whole way; [`UNBOUNDED`] for any number.
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity
    }

    /// How many messages the consumer is known to have taken.
    pub(crate) fn taken_there(&self) -> u64 {
        self.taken_there
    }

    /// Converts a count of this channel to one for the whole way.
    pub(crate) fn whole(&self, number: u64) -> u64 {
        number.wrapping_add(self.offset)
    }

    /// The room that is left here when this many messages have been taken out.
    fn left(&self, taken_here: u64) -> u32 {
        let under_way = self.whole(taken_here).saturating_sub(self.taken_there);
        let under_way = u32::try_from(under_way).unwrap_or(u32::MAX);
        self.capacity.saturating_sub(under_way)
    }

    /// The first step of taking a message, if there is one; the second is the caller's. See
    /// [`Window`] for what follows.
    pub(crate) fn lower(&self, words: &Words) {
        let taken = words.taken().number();
        if self.capacity != UNBOUNDED && words.sent().number() != taken {
            words.lower_capacity(self.left(taken + 1));
        }
    }

    /// Says how much room there is. A producer that waits there is to be woken afterwards: there
    /// may be more than it has seen.
    pub(crate) fn reopen(&self, words: &Words) {
        if self.capacity != UNBOUNDED {
            words.set_capacity(self.left(words.taken().number()));
        }
    }

    /// The consumer has taken so many messages. Whether that is news.
    #[must_use]
    pub(crate) fn hear_taken(&mut self, taken: u64) -> bool {
        let is_news = taken > self.taken_there;
        self.taken_there = self.taken_there.max(taken);
        is_news
    }

    /// So many messages may lie on the whole way from now on, unless it was more before.
    pub(crate) fn grow(&mut self, capacity: u32) {
        if self.capacity != UNBOUNDED {
            self.capacity = self.capacity.max(capacity.min(UNBOUNDED - 1));
        }
    }

    /// The producer has come here. So many messages have been sent elsewhere, of which the consumer
    /// has taken so many; and so many were sent and taken out here before.
    pub(crate) fn resume(&mut self, (sent, taken_there): (u64, u64), sent_here: u64) {
        self.offset = sent.wrapping_sub(sent_here);
        self.taken_there = taken_there;
    }
}
