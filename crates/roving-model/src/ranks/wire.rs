//! Messages between simulated ranks, and when they arrive.

use super::messages::{MessageCosts, Messages};
use crate::queue::{CalendarQueue, QueuedEvent};

/// A message of a bag, as `roving_dist` sends it.
#[derive(Debug)]
pub(super) enum Message<T> {
    Ask,
    Nothing,
    Lifeline,
    Tasks { answers_ask: bool, tasks: Vec<T> },
    Acknowledgement,
    End,
}

/// An event at a rank.
pub(super) enum Happens<T> {
    /// It has run the tasks that it runs between two looks.
    Looks,
    Comes {
        from: usize,
        message: Message<T>,
    },
}

/// The network, and the order in which all things happen.
pub(super) struct Wire<T> {
    costs: MessageCosts,
    queue: CalendarQueue,
    /// Messages under way, by the mark of their event less one; the others are free.
    under_way: Vec<Option<(usize, Message<T>)>>,
    free: Vec<u32>,
    pub(super) counts: Messages,
    pub(super) sent: u64,
}

impl<T> Wire<T> {
    pub(super) fn new(costs: MessageCosts, ranks: usize) -> Wire<T> {
        Wire {
            costs,
            queue: CalendarQueue::new(2 * ranks),
            under_way: Vec::new(),
            free: Vec::new(),
            counts: Messages::default(),
            sent: 0,
        }
    }

    /// The rank looks around then.
    pub(super) fn looks(&mut self, who: usize, time: f64) {
        self.push(who, time, 0);
    }

    /// Sends, from now on. Returns when the sender is done with it.
    pub(super) fn send(&mut self, from: usize, to: usize, message: Message<T>, now: f64) -> f64 {
        let counts = &mut self.counts;
        *match message {
            Message::Ask => &mut counts.asks,
            Message::Nothing => &mut counts.refusals,
            Message::Lifeline => &mut counts.lifelines,
            Message::Tasks { .. } => &mut counts.tasks,
            Message::Acknowledgement => &mut counts.acknowledgements,
            Message::End => &mut counts.ends,
        } += 1;
        if let Message::Tasks { tasks, .. } = &message {
            self.sent += tasks.len() as u64;
        }
        let done = now + self.costs.send_ns + self.of_tasks(&message);
        let place = self.free.pop().unwrap_or_else(|| {
            self.under_way.push(None);
            self.under_way.len() as u32 - 1
        });
        self.under_way[place as usize] = Some((from, message));
        self.push(to, done + self.costs.latency_ns, place + 1);
        done
    }

    /// How long a receiver is busy with a message.
    pub(super) fn receiving(&self, message: &Message<T>) -> f64 {
        self.costs.receive_ns + self.of_tasks(message)
    }

    fn of_tasks(&self, message: &Message<T>) -> f64 {
        match message {
            Message::Tasks { tasks, .. } => self.costs.task_ns * tasks.len() as f64,
            _ => 0.0,
        }
    }

    fn push(&mut self, who: usize, time: f64, mark: u32) {
        let (time, who) = (time.ceil() as u64, who as u32);
        self.queue.push(QueuedEvent { time, who, mark });
    }

    /// When something happens next, to whom, and what.
    pub(super) fn next(&mut self) -> Option<(f64, usize, Happens<T>)> {
        let event = self.queue.pop()?;
        let happens = match event.mark.checked_sub(1) {
            None => Happens::Looks,
            Some(place) => {
                self.free.push(place);
                let (from, message) = self.under_way[place as usize].take()?;
                Happens::Comes { from, message }
            }
        };
        Some((event.time as f64, event.who as usize, happens))
    }
}
