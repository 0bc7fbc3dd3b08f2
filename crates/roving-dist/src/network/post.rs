//! The sending side of a rank's part of a network, and the thread that flushes it.

use std::sync::{Arc, Mutex};
use std::task::Waker;

use roving_flow::Canceller;
use roving_flow::raw::{self, DueWaker, Inside};

use super::error::Ended;
use super::message::{Control, CutMessage, Head};
use crate::bell::Bell;
use crate::tray::Tray;
use crate::unwind::{contain, lock};
use crate::world::link::Link;

/// Messages of so many bytes are handed over instead of copied.
const COPIED_BYTES_MAX: usize = 1024;

/// Shared by all channels of a network that leave this rank.
pub(super) struct Post {
    link: Arc<Link>,
    tag: u32,
    /// Channels whose producers are to hear what was taken.
    listed: Tray<u32>,
    /// Messages of this rank to itself, in their order. Handed over by the pump: whoever sends may
    /// hold locks.
    own: Tray<Vec<u8>>,
    /// The pump's.
    pub(super) bell: Bell,
    /// Why the network ends, as far as that is known here; what ends its part here.
    ended: Mutex<Option<Ended>>,
    canceller: Canceller,
    /// Wakers of other executors that wait here no more, because the network has ended. Whoever
    /// ends it may hold locks.
    due: Mutex<Vec<DueWaker>>,
    channels: Arc<[String]>,
    /// Where the network has checkpoints.
    races: Option<Races>,
}

/// The questions which process is faster, that nobody may ask in a network with checkpoints.
struct Races {
    inside: Inside,
    /// All ranks have been told, by this one, that somebody has asked.
    is_told: Mutex<bool>,
}

impl Post {
    pub(super) fn new(
        link: &Arc<Link>,
        tag: u32,
        canceller: Canceller,
        channels: Arc<[String]>,
    ) -> Post {
        Post {
            link: Arc::clone(link),
            tag,
            listed: Tray::new(),
            own: Tray::new(),
            bell: Bell::new(),
            ended: Mutex::default(),
            canceller,
            due: Mutex::default(),
            channels,
            races: None,
        }
    }

    /// Watches, in a network with checkpoints, whether a process here asks who is faster.
    pub(super) fn watch_races(&mut self, inside: Inside) {
        self.races = Some(Races {
            inside,
            is_told: Mutex::default(),
        });
    }

    pub(super) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    pub(super) fn rank(&self) -> usize {
        self.link.rank()
    }

    pub(super) fn tag(&self) -> u32 {
        self.tag
    }

    /// Soon: the pump is woken for it, if it sleeps. Many bytes are taken out of the vector, few
    /// are left there. All by which a process lets others know something goes this way.
    pub(super) fn send(&self, to: usize, bytes: &mut Vec<u8>) {
        if let Some(races) = &self.races {
            if !races.inside.is_kahn_network() {
                self.pass_race_on();
            }
        }
        if to == self.rank() {
            return self.send_own(std::mem::take(bytes));
        }
        let is_first = match bytes.len() {
            0..COPIED_BYTES_MAX => self.link.send(to, self.tag, bytes),
            _ => self.link.send_owned(to, self.tag, std::mem::take(bytes)),
        };
        // Otherwise who has sent the first one nudges: if it has done so already, the pump has not
        // sent that yet.
        if is_first {
            self.nudge();
        }
    }

    /// To this rank: handled soon, after all that was sent to it before, and never on this stack.
    fn send_own(&self, bytes: Vec<u8>) {
        self.own.put(bytes);
        self.nudge();
    }

    /// Whether this rank has sent something to itself; a hint.
    pub(super) fn has_own(&self) -> bool {
        self.own.has_some()
    }

    /// Takes what this rank has sent to itself. By one thread at a time, so that it stays in order.
    pub(super) fn take_own(&self) -> Vec<Vec<u8>> {
        self.own.take()
    }

    /// At once if nobody else is at it.
    pub(super) fn send_control(&self, to: usize, control: &Control) {
        let mut bytes = Vec::new();
        Head::Control.begin(&mut bytes);
        match postcard::to_io(control, &mut bytes) {
            Ok(_) => {
                if to == self.rank() {
                    return self.send_own(bytes);
                }
                self.link.send_owned(to, self.tag, bytes);
                self.link.flush();
            }
            Err(error) => drop(self.link.fail(format_args!("encoding: {error}"))),
        }
    }

    /// To all ranks, this one last: another thread may handle at once what it sends to itself, and
    /// what that sends to the others must not be there before this.
    pub(super) fn send_to_all(&self, control: &Control) {
        let others = (0..self.link.ranks()).filter(|&to| to != self.rank());
        for to in others.chain([self.rank()]) {
            self.send_control(to, control);
        }
    }

    /// Somebody has asked who is faster: this rank says it to all once, before anything that may
    /// follow from the answer.
    pub(super) fn pass_race_on(&self) {
        let Some(races) = &self.races else { return };
        // Locked until all are told: others who have something to send wait for that.
        let mut is_told = lock(&races.is_told);
        if !*is_told {
            *is_told = true;
            self.send_to_all(&Control::Cut(CutMessage::Race));
        }
    }

    /// Whether somebody has asked who is faster, in a network with checkpoints, and what is here
    /// may follow from the answer.
    pub(super) fn has_raced(&self) -> bool {
        let has_raced = |races: &Races| !races.inside.is_kahn_network() || *lock(&races.is_told);
        self.races.as_ref().is_some_and(has_raced)
    }

    /// That channel has something to tell its producer.
    pub(super) fn list(&self, channel: u32) {
        self.listed.put(channel);
        self.nudge();
    }

    /// Takes the list of [`Self::list`].
    pub(super) fn take_listed(&self) -> Vec<u32> {
        self.listed.take()
    }

    /// There is something for the pump to do: it is woken if it sleeps.
    pub(super) fn nudge(&self) {
        self.bell.ring();
    }

    /// The pump is about to sleep. False when there is something to do after all.
    #[must_use]
    pub(super) fn sleep(&self, waker: &Waker) -> bool {
        self.bell.sleep(waker);
        // After the fence.
        !self.listed.has_some() && !self.own.has_some()
    }

    /// Ends the network on all ranks.
    pub(super) fn stop_all(&self, ended: Ended) {
        for to in (0..self.link.ranks()).filter(|&to| to != self.rank()) {
            self.send_control(to, &Control::Stop(ended.clone()));
        }
        self.end(ended);
    }

    /// The network ends here, for that reason; the first one counts.
    pub(super) fn end(&self, ended: Ended) {
        lock(&self.ended).get_or_insert(ended);
        self.cancel();
    }

    /// Why the network ends, if it was ended by [`Self::end`].
    pub(super) fn ended(&self) -> Option<Ended> {
        lock(&self.ended).clone()
    }

    /// Whether the network ends, as far as that is known here.
    pub(super) fn has_ended(&self) -> bool {
        lock(&self.ended).is_some()
    }

    /// Ends what runs here, because nobody can be reached any more.
    pub(super) fn cancel(&self) {
        let due = raw::cancel(&self.canceller);
        lock(&self.due).extend(due);
    }

    /// Wakes those who wait here no more. By a thread without locks, again and again.
    pub(super) fn wake_due(&self) {
        let due = std::mem::take(&mut *lock(&self.due));
        drop(due);
    }

    /// A token has no bytes, or bytes are no token: the others would wait for it.
    pub(super) fn bad_token(&self, channel: u32, message: String) {
        let name = self.channels[channel as usize].clone();
        self.stop_all(Ended::Token(self.rank(), name, message));
    }

    /// Drops what may hold tokens of that channel, under no lock. One that panics ends the network,
    /// not the caller; whether none has.
    pub(super) fn drop_tokens<D>(&self, channel: u32, value: D) -> bool {
        let failed = |text| {
            self.bad_token(channel, format!("panicked when it was dropped: {text}"));
        };
        contain(|| drop(value)).map_err(failed).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::super::message::Move;
    use super::*;
    use crate::network::Network;
    use crate::world::World;

    /// One thread of rank 0 tells all, and another handles what the rank has told itself, and tells
    /// rank 1 what follows from it.
    #[test]
    fn what_follows_from_a_word_to_all_comes_behind_it() {
        const WORDS: u64 = 2000;
        World::threads(2, |world| {
            let (_flow, part) = Network::new(&world).split(None);
            let (post, heard) = (&part.post, Arc::new(Mutex::new(Vec::new())));
            let hears = Arc::clone(&heard);
            let hear = move |_, bytes: &[u8]| lock(&hears).push(number_of(bytes));
            world.link().open(post.tag(), hear);
            world.barrier().unwrap();
            if world.rank() == 0 {
                thread::scope(|scope| {
                    scope.spawn(|| {
                        for number in 0..WORDS {
                            post.send_to_all(&Control::Move(Move::Held(2 * number)));
                        }
                    });
                    let mut handled = 0;
                    while handled < WORDS {
                        for bytes in post.take_own() {
                            let follows = number_of(&bytes) + 1;
                            post.send_control(1, &Control::Move(Move::Held(follows)));
                            handled += 1;
                        }
                    }
                });
            } else {
                let has_all = || (lock(&heard).len() == 2 * WORDS as usize).then_some(());
                world.link().wait(String::new, has_all).unwrap();
                let mut told = 0;
                for number in lock(&heard).iter() {
                    match number % 2 {
                        0 => told += 1,
                        _ => assert!(number / 2 < told, "{number} overtakes what it follows from"),
                    }
                }
            }
        });
    }

    fn number_of(bytes: &[u8]) -> u64 {
        match Head::split(bytes).map(|(_, rest)| postcard::from_bytes(rest)) {
            Some(Ok(Control::Move(Move::Held(number)))) => number,
            other => panic!("{other:?}"),
        }
    }
}
