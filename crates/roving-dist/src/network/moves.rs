//! How a process moves from one rank to another.
//!
//! A movable process has a *host* on every rank: a process of that rank's network, with ports of
//! its own. One host runs the steps; the others wait for the process to come, or to end. Each
//! channel of a movable process is two: one between the producer's port and the outgoing end, and
//! one between the incoming end and the consumer's port, on whatever ranks the two are. What passes
//! from the outgoing to the incoming end is a message, also on one rank. Hence all that a move
//! changes is which host runs, and where messages go.
//!
//! Messages between two ranks, and from a rank to itself, keep their order; others do not. Rank 0
//! decides, and makes one move at a time. `r` is the old place, `s` the new one.
//!
//! | message | way | what it means |
//! |---|---|---|
//! | `Wanted` | anybody → 0 | somebody wants the process at `s` |
//! | `Leave` | 0 → r | stop when the step has ended; nothing has changed yet, and a step may take for ever |
//! | `Stopped` | r → 0 | the host of `r` runs no step, all that the process has sent has left `r`, and it waits for `Go` or `Stay`; it is next in the queue |
//! | `Hold` | 0 → all | this is the next move. Each rank *holds* the ends at the other side of the process's channels: they send nothing until `Switch` |
//! | `Mark` | r → all, all → r | all that I have sent about these channels was sent before this |
//! | `Held` | all but r → 0 | the mark of `r` is here: nothing comes from the old place any more |
//! | `Parcel` | r → s | sent when the marks of all are at `r`, so that nothing is on its way there: the state, the counts of each end, and the tokens that nobody has received |
//! | `Arrived` | s → 0 | the counts are set, and the tokens lie before the ports of the host at `s`, which does not run |
//! | `Switch` | 0 → all | sent when all have said `Held` and `s` `Arrived`: messages for the process go to `s`; ends that were held go on; the host at `s` begins |
//!
//! **Nothing is lost or doubled.** A token for the process is either at its producer's end, where
//! it stays while that is held; or it was sent to `r`, where it is before the mark of its rank is,
//! hence in the parcel; or it is sent after `Switch`, to `s`. The same holds for the word that a
//! token was taken, that a stream ends, and that a consumer is gone. What the process has sent
//! itself left `r` before its mark, and was there before `Held`, hence before `Switch`, before
//! which `s` sends nothing. **Nothing is reordered:** of the tokens in the parcel all were sent
//! before those that were held, and they lie at `s` before `Switch` is sent; of those that the
//! process sends, all from `r` have come before the first from `s` leaves.
//!
//! A rank may hear from `s` before it has had `Switch` itself: its ends take tokens at any time,
//! and only answer later. `Hold`, `Switch` and `Retire` all come from rank 0, so that every rank
//! sees them in the same order, and has the same idea of where each process is when a move begins.
//!
//! **It ends.** From `Hold` on no rank waits for a step of any process. Two neighbours that are to
//! move do so one after the other.
//!
//! **Deadlocks.** Ends that are held make processes wait that do not wait for each other. So rank 0
//! asks nobody what he waits for while a process moves, and moves none while it asks; in turns, so
//! that neither keeps the other waiting for ever. Its questions come after `Switch`, so that every
//! rank answers as one where the move is over. A process that has been asked to leave and waits in
//! a step waits like any other; one that has stopped is no suspect, because it waits for no
//! channel.
//!
//! **The end.** A process that has ended says `Done` to rank 0, which says `Retire` to all: their
//! hosts end. Until then each rank's network runs, so that it drops no end that is held. A process
//! that has ended does not move: it does not stop. When the network fails or is cancelled, all
//! hosts are dropped as any process is, and messages about moves find nobody.

use super::detective::Detective;
use super::message::{Control, Move};
use super::move_state::{Moves, UnderWay};
use super::parcel::Parcel;
use super::part::NetworkPart;
use super::report::Moved;
use super::slot::{Coming, HostEvent};
use crate::unwind::lock;

impl NetworkPart {
    fn tell(&self, to: usize, message: Move) {
        self.post.send_control(to, &Control::Move(message));
    }

    fn tell_all(&self, message: Move) {
        self.post.send_to_all(&Control::Move(message));
    }

    /// Asks rank 0 for a move. Whether there is such a process.
    pub(super) fn want(&self, name: &str, rank: usize) -> bool {
        if self.ranks() == 1 {
            return false;
        }
        let to = (rank % self.ranks()) as u32;
        let mut is_any = false;
        for &(process, _) in &self.slots {
            if self.shape.process(process) == name {
                is_any = true;
                self.want_there(process, to);
            }
        }
        is_any
    }

    /// Asks rank 0 for a move.
    pub(super) fn want_there(&self, process: u32, to: u32) {
        self.tell(0, Move::Wanted { process, to });
    }

    /// Rank 0: where each process is, and which movable ones have ended.
    pub(super) fn places_and_ended(&self) -> (Vec<u32>, Vec<u32>) {
        let moves = lock(&self.moves);
        (moves.places.clone(), moves.desk.done.clone())
    }

    pub(super) fn done(&self, process: u32) {
        // First: rank 0 is to hear of it before it hears of a cut with its end.
        self.tell(0, Move::Done(process));
        self.ended_here(process);
    }

    pub(super) fn stopped(&self, process: u32) {
        self.tell(0, Move::Stopped(process));
    }

    pub(super) fn moving(&self, message: Move) {
        match message {
            Move::Wanted { process, to } => self.wanted(process, to),
            Move::Leave(process) => self.with_slot(process, |slot| slot.ask()),
            Move::Stopped(process) => {
                lock(&self.moves).desk.queue.push_back(process);
                self.next_move(&lock(&self.detective));
            }
            Move::Stay(process) => self.with_slot(process, |slot| slot.tell(HostEvent::Stay)),
            Move::Hold {
                process,
                to,
                number,
            } => self.hold(process, to as usize, number),
            Move::Mark(number) => {
                *lock(&self.moves).marks.entry(number).or_default() += 1;
                self.marked();
            }
            Move::Held(number) => self.one_less(number, 0),
            Move::Arrived { number, bytes } => self.one_less(number, bytes),
            Move::Parcel(parcel) => self.unpack(*parcel),
            Move::Switch { process, to } => self.switch(process, to),
            Move::Done(process) => {
                let mut moves = lock(&self.moves);
                moves.desk.done.push(process);
                moves.desk.wanted.remove(&process);
                drop(moves);
                self.ended_somewhere(process);
                self.tell_all(Move::Retire(process));
            }
            Move::Retire(process) => self.retire(process),
        }
    }

    /// Rank 0: somebody wants a process there.
    fn wanted(&self, process: u32, to: u32) {
        let mut moves = lock(&self.moves);
        let place = moves.places[process as usize];
        let desk = &mut moves.desk;
        if desk.done.contains(&process) {
            return;
        }
        let is_asked = desk.wanted.insert(process, to).is_some();
        let is_moving = moves
            .under_way
            .as_ref()
            .is_some_and(|one| one.process == process);
        drop(moves);
        // A process that is on its way is asked when it has arrived.
        if !is_asked && !is_moving {
            self.tell(place as usize, Move::Leave(process));
        }
    }

    /// Rank 0: begins the next move, if none is under way, and no question. The locks are taken in
    /// this order everywhere.
    pub(super) fn next_move(&self, detective: &Detective) {
        if detective.is_asking() {
            return;
        }
        let mut stays = Vec::new();
        let mut hold = None;
        let mut moves = lock(&self.moves);
        while !moves.desk.is_moving {
            let Some(process) = moves.desk.queue.pop_front() else {
                break;
            };
            let place = moves.places[process as usize];
            if moves.desk.is_cutting {
                // It is asked again: others need what it does, before they can be recorded.
                stays.push((place, process));
                continue;
            }
            match moves.desk.wanted.remove(&process) {
                Some(to) if to != place => {
                    let missing = self.ranks();
                    let desk = &mut moves.desk;
                    desk.number += 1;
                    (desk.is_moving, desk.missing, desk.bytes) = (true, missing, 0);
                    let number = desk.number;
                    hold = Some(Move::Hold {
                        process,
                        to,
                        number,
                    });
                    // Known before the message is here, so that nobody else asks it to leave.
                    moves.under_way = Some(UnderWay {
                        process,
                        from: place as usize,
                        to: to as usize,
                        number,
                        is_answered: true,
                    });
                }
                _ => stays.push((place, process)),
            }
        }
        drop(moves);
        for (place, process) in stays {
            self.tell(place as usize, Move::Stay(process));
        }
        if let Some(hold) = hold {
            self.tell_all(hold);
        }
    }

    /// Rank 0: moves may begin again.
    pub(super) fn move_after_cut(&self) {
        let wanted = lock(&self.moves).is_cut();
        for (process, place) in wanted {
            self.tell(place, Move::Leave(process));
        }
    }

    /// The next move begins.
    fn hold(&self, process: u32, to: usize, number: u64) {
        let from = self.rank_of(process);
        let is_old = from == self.rank();
        for &channel in self.shape.outputs(process) {
            if let Some(incoming) = self.incoming(channel) {
                incoming.hold();
            }
        }
        for &channel in self.shape.inputs(process) {
            if let Some(outgoing) = self.outgoing(channel) {
                outgoing.hold();
            }
        }
        lock(&self.moves).under_way = Some(UnderWay {
            process,
            from,
            to,
            number,
            is_answered: false,
        });
        match is_old {
            true => self.tell_all(Move::Mark(number)),
            false => self.tell(from, Move::Mark(number)),
        }
        self.marked();
    }

    /// A mark has come, or the move has begun for which it may be.
    fn marked(&self) {
        let mut moves = lock(&self.moves);
        let Moves {
            under_way, marks, ..
        } = &mut *moves;
        let Some(one) = under_way.as_mut().filter(|one| !one.is_answered) else {
            return;
        };
        let is_old = one.from == self.rank();
        let needed = if is_old { self.ranks() } else { 1 };
        if marks.get(&one.number) != Some(&needed) {
            return;
        }
        marks.remove(&one.number);
        one.is_answered = true;
        let (process, to, number) = (one.process, one.to, one.number);
        drop(moves);
        match is_old {
            true => self.with_slot(process, |slot| slot.tell(HostEvent::Go { to, number })),
            false => self.tell(0, Move::Held(number)),
        }
    }

    pub(super) fn send_parcel(&self, to: usize, parcel: Parcel) {
        self.tell(to, Move::Parcel(Box::new(parcel)));
    }

    /// The process is here.
    fn unpack(&self, parcel: Parcel) {
        for (channel, output) in &parcel.outputs {
            if let Some(outgoing) = self.outgoing(*channel) {
                outgoing.arrive(*output);
            }
        }
        for (channel, input) in &parcel.inputs {
            if let Some(incoming) = self.incoming(*channel) {
                incoming.arrive(input);
            }
        }
        let (number, bytes) = (parcel.number, parcel.state.len() as u64);
        let coming = Coming {
            state: parcel.state,
            layout: parcel.layout,
        };
        self.with_slot(parcel.process, |slot| slot.put(coming));
        self.tell(0, Move::Arrived { number, bytes });
    }

    /// Rank 0: all but the old place have to say one thing, and the new place two.
    fn one_less(&self, number: u64, bytes: u64) {
        let mut moves = lock(&self.moves);
        if moves.desk.number != number {
            return;
        }
        moves.desk.missing -= 1;
        moves.desk.bytes += bytes;
        let is_all = moves.desk.missing == 0;
        let switch = moves.under_way.as_ref().map(|one| Move::Switch {
            process: one.process,
            to: one.to as u32,
        });
        drop(moves);
        if let (true, Some(switch)) = (is_all, switch) {
            self.tell_all(switch);
        }
    }

    /// The process is there from now on.
    fn switch(&self, process: u32, to: u32) {
        let mut moves = lock(&self.moves);
        let from = std::mem::replace(&mut moves.places[process as usize], to);
        moves.under_way = None;
        let moved = Moved {
            process: process as usize,
            from: from as usize,
            to: to as usize,
            at: moves.begun.elapsed(),
            bytes: moves.desk.bytes,
        };
        if self.rank() == 0 {
            moves.desk.log.push(moved);
        }
        drop(moves);
        let channels = |of: &[u32]| {
            for &channel in of {
                let Some(ends) = self.shape.ends(channel) else {
                    continue;
                };
                if let Some(outgoing) = self.outgoing(channel) {
                    outgoing.release(self.rank_of(ends.consumer));
                }
                if let Some(incoming) = self.incoming(channel) {
                    incoming.release(self.rank_of(ends.producer));
                }
            }
        };
        channels(self.shape.inputs(process));
        channels(self.shape.outputs(process));
        if to as usize == self.rank() {
            self.with_slot(process, |slot| {
                if let Some(coming) = slot.take() {
                    slot.tell(HostEvent::Begin(coming));
                }
            });
        }
        if self.rank() == 0 {
            self.moved(process);
        }
    }

    /// Rank 0: a move is over.
    fn moved(&self, process: u32) {
        let mut moves = lock(&self.moves);
        moves.desk.is_moving = false;
        let place = moves.places[process as usize] as usize;
        let is_wanted = moves.desk.wanted.contains_key(&process);
        let is_cutting = moves.desk.is_cutting;
        drop(moves);
        if is_cutting {
            self.begin_cut();
        }
        if is_wanted {
            self.tell(place, Move::Leave(process));
        }
        let mut detective = lock(&self.detective);
        // Ranks that have become quiet meanwhile come first.
        self.ask_again(&mut detective);
        self.next_move(&detective);
    }

    /// The process has ended, here or elsewhere.
    fn retire(&self, process: u32) {
        // Where it has ended, its ends say so themselves.
        if self.rank_of(process) != self.rank() {
            for &channel in self.shape.outputs(process) {
                if let Some(outgoing) = self.outgoing(channel) {
                    outgoing.end();
                }
            }
            for &channel in self.shape.inputs(process) {
                if let Some(incoming) = self.incoming(channel) {
                    drop(incoming.end());
                }
            }
        }
        self.with_slot(process, |slot| slot.tell(HostEvent::Retire));
    }
}
