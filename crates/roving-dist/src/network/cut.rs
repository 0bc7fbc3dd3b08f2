//! Cuts through a network that runs: what each process and each channel had, without stopping any.
//!
//! A process is recorded by itself, on the thread that runs it, at the end of the step that it was
//! in when the cut began. Its record has its state, how many tokens it had sent on each output
//! (`s`), and how many it had taken from each input (`r`). Processes are recorded at different
//! moments, and none waits for another. Of a channel, the cut has the tokens from `r + 1` to `s`.
//!
//! | message | way | what it means |
//! |---|---|---|
//! | `Begin` | 0 → all | record every process that is here; no process moves until the cut is over |
//! | `Mark` | producer's rank → consumer's rank | the producer has been recorded, and had sent `s` tokens, all of which have left before this |
//! | `Left` | a rank → itself | a consumer has dropped its port between its record and the mark, or was sent more there than is kept; the cut will be left |
//! | `Loose` | a rank → all → all | a producer has learned since `Begin` that its consumer is gone |
//! | `Race` | a rank → all → all | a process has asked who is faster |
//! | `Saved` | all → 0 | all processes here are recorded, all marks for them are here, and the part is on the disk |
//! | `Over` | 0 → 0 | the cut is whole and committed; or it was left |
//!
//! **No token is lost.** Messages between two ranks keep their order. So when the mark is at the
//! consumer's end, all tokens up to `s` have been there. Those up to `r` are in the consumer's
//! state. The others lie before its port when it is recorded, or they come between its record and
//! the mark, and are kept for the cut: up to a bound, beyond which the cut is left. The producer is
//! in a step then, which may send any number, and cannot be kept from that: it is to come to its
//! end. In place of the mark the end of the stream can come: then the producer has no port of this
//! channel in its record, or has ended.
//!
//! **None is doubled.** A consumer that was in a step when the producer was recorded may have
//! taken tokens beyond `s`, before its own record: `r > s`. A run that resumes has the producer
//! send these once more, and its end of the channel drops them. That is right where the producer
//! does the same with the same tokens, which every network with checkpoints has to do (Kahn): then
//! the history of each process up to its own record is the beginning of the one history that it
//! can have, whatever the others' moments are. A run that finds that somebody has asked who is
//! faster ends with an error. Who asks may have been recorded before, and its rank's part may be on
//! the disk. So its rank says `Race` to all before anything leaves that may follow from the answer,
//! and each rank that hears it for the first time says it to all at once: hence whoever is recorded
//! with that has it on a rank that knows.
//!
//! A producer may also learn that its consumer is gone, and that at any time. Where that is open
//! for some channel, a cut is left in which any consumer is ahead of its producer: a run that
//! resumes may let the producer learn of it earlier or later, and send something else than what the
//! consumer ahead has had. It is open where the record of the consumer has no port and that of the
//! producer has one. It is open, too, where the producer has learned of it since its record: what
//! the other consumer is ahead by may follow from that. So the rank of the producer says `Loose` to
//! all before the producer learns of it, and each rank that hears it for the first time says it to
//! all at once: hence it is at each rank before any token that follows, and before the record of
//! who takes that. Nobody can tell whether a consumer that has its port in its record will drop it
//! after the cut. So a run that resumes may let the producer learn of that before it has caught up
//! with a consumer that is ahead, though the first run did not: this is not found.
//!
//! **The end.** A process that has ended is recorded as such, and does not run again. What it has
//! left on its rank besides tokens is not in the cut. That is the point of processes that are
//! pinned or have no output: when one of them has ended, no cut is committed any more, and a run
//! that resumes from the last one runs it again.
//!
//! **With moves.** No process moves from `Begin` to `Over`, and no cut begins while one moves.
//! `Begin` and the `Switch` of a move come from rank 0, hence each rank knows which processes are
//! its own. A process that has stopped to move is told to go on, and asked again after `Over`:
//! others may need its tokens before their step ends. Should it be asked for its record before it
//! hears that, it is recorded where it waits.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::cut_state::{CutShare, CutState, Cuts, OpenCut, ProcessRecord};
use super::error::Ended;
use super::incoming::Closed;
use super::message::{Control, CutMessage, Findings};
use super::parcel::{Input, Output};
use super::part::NetworkPart;
use crate::unwind::lock;

impl NetworkPart {
    /// Rank 0: begins a cut, if it is time. While a process moves, the cut waits, and no other
    /// moves before it.
    pub(super) fn cut_if_due(&self) {
        let Some(cuts) = &self.cuts else { return };
        if self.rank() == 0 && lock(&cuts.plan).take_due(Instant::now()) {
            let may_begin = lock(&self.moves).may_cut();
            if may_begin {
                self.begin_cut();
            }
            self.next_move(&lock(&self.detective));
        }
    }

    /// Rank 0: no process moves.
    pub(super) fn begin_cut(&self) {
        let Some(cuts) = &self.cuts else { return };
        let mut state = lock(&cuts.state);
        (state.desk.saved, state.desk.findings) = (0, Findings::default());
        let number = state.number + 1;
        let is_closed = state.desk.is_closed;
        drop(state);
        match is_closed {
            true => self.cutting(0, CutMessage::Over),
            false => self
                .post
                .send_to_all(&Control::Cut(CutMessage::Begin(number))),
        }
    }

    fn say(&self, to: usize, message: CutMessage) {
        self.post.send_control(to, &Control::Cut(message));
    }

    pub(super) fn cutting(&self, from: usize, message: CutMessage) {
        match message {
            CutMessage::Begin(number) => self.cut(number),
            CutMessage::Mark {
                channel,
                number,
                sent,
            } => {
                if let Some(incoming) = self.incoming(channel) {
                    self.closed(channel, incoming.mark(number, sent));
                }
            }
            CutMessage::Left(channel) => self.closed(channel, Some(Closed::left())),
            CutMessage::Loose(number) => {
                if let Some(cuts) = &self.cuts {
                    self.loosen(&mut lock(&cuts.state), number);
                }
            }
            CutMessage::Race => self.post.pass_race_on(),
            CutMessage::Saved(findings) => self.saved(findings),
            CutMessage::Over => {
                debug_assert_eq!(from, 0, "it is for rank 0 to say so");
                // First: a cut that another thread begins would find that moves may begin.
                self.move_after_cut();
                if let Some(cuts) = &self.cuts {
                    lock(&cuts.plan).wait_for_next();
                }
            }
        }
    }

    /// Begins this rank's part.
    fn cut(&self, number: u32) {
        let Some(cuts) = &self.cuts else { return };
        let here = self.slots.iter().map(|(process, _)| *process);
        let here: HashSet<u32> = here
            .filter(|&process| self.rank_of(process) == self.rank())
            .collect();
        let mut state = lock(&cuts.state);
        let mut open = OpenCut {
            missing: here,
            waiting: 0,
            share: CutShare::default(),
            findings: Findings::default(),
        };
        for &process in &state.ended {
            self.record_ended(&mut open, process, number);
        }
        let missing = open.missing.clone();
        (state.number, state.open) = (number, Some(open));
        if state.learning > 0 {
            self.loosen(&mut state, number);
        }
        self.save_if_whole(cuts, &mut state);
        drop(state);
        for process in missing {
            self.with_slot(process, |slot| slot.ask_to_record());
        }
    }

    /// The process has ended here, and has dropped its ports.
    fn record_ended(&self, open: &mut OpenCut, process: u32, number: u32) {
        open.missing.remove(&process);
        for &channel in self.shape.inputs(process) {
            if let Some(incoming) = self.incoming(channel) {
                open.findings.add(incoming.record_gone(number).into());
            }
        }
        open.share.records.push(ProcessRecord {
            process,
            body: None,
            outputs: Vec::new(),
        });
    }

    /// A process ends here.
    pub(super) fn ended_here(&self, process: u32) {
        let Some(cuts) = &self.cuts else { return };
        let mut state = lock(&cuts.state);
        state.ended.push(process);
        let number = state.number;
        if let Some(open) = &mut state.open {
            if open.missing.contains(&process) {
                self.record_ended(open, process, number);
            }
        }
        self.save_if_whole(cuts, &mut state);
    }

    /// Rank 0: a process has ended.
    pub(super) fn ended_somewhere(&self, process: u32) {
        let leaves = self.shape.processes()[process as usize].pin.is_some()
            || self.shape.outputs(process).is_empty();
        if let (Some(cuts), true) = (&self.cuts, leaves) {
            lock(&cuts.state).desk.is_closed = true;
        }
    }

    /// The number of the cut in which the process is to be recorded, which is between two steps.
    pub(super) fn cut_without(&self, process: u32) -> Option<u32> {
        let state = lock(&self.cuts.as_ref()?.state);
        let is_missing = state.open.as_ref()?.missing.contains(&process);
        is_missing.then_some(state.number)
    }

    /// The process was recorded as this, at its outputs as well; and its inputs are these, or wait
    /// for a mark.
    pub(super) fn recorded(&self, record: ProcessRecord, inputs: Vec<(u32, Option<Closed>)>) {
        let Some(cuts) = &self.cuts else { return };
        let mut state = lock(&cuts.state);
        if let Some(open) = &mut state.open {
            open.missing.remove(&record.process);
            open.share.records.push(record);
            for (channel, closed) in inputs {
                match closed {
                    Some(closed) => open.close(channel, closed),
                    None => open.waiting += 1,
                }
            }
        }
        self.save_if_whole(cuts, &mut state);
    }

    /// Tells the consumer of a channel that its producer is recorded.
    pub(super) fn mark(&self, channel: u32, number: u32, sent: u64) {
        let Some(ends) = self.shape.ends(channel) else {
            return;
        };
        let mark = CutMessage::Mark {
            channel,
            number,
            sent,
        };
        self.say(self.rank_of(ends.consumer), mark);
    }

    /// A channel for which something came is complete now, if there is anything here.
    pub(super) fn closed(&self, channel: u32, closed: Option<Closed>) {
        let (Some(cuts), Some(closed)) = (&self.cuts, closed) else {
            return;
        };
        let mut state = lock(&cuts.state);
        if let Some(open) = &mut state.open {
            open.waiting -= 1;
            open.close(channel, closed);
        }
        self.save_if_whole(cuts, &mut state);
    }

    /// Calls `learn`, by which a producer here learns that its consumer is gone.
    pub(super) fn gone(&self, learn: impl FnOnce()) {
        let Some(cuts) = &self.cuts else {
            return learn();
        };
        let mut state = lock(&cuts.state);
        state.learning += 1;
        let number = state.number;
        self.loosen(&mut state, number);
        drop(state);
        learn();
        lock(&cuts.state).learning -= 1;
    }

    /// A producer learns, in that cut, that its consumer is gone. Under the lock, so that nobody
    /// goes on before all ranks are told.
    fn loosen(&self, state: &mut CutState, number: u32) {
        if state.loose < number {
            state.loose = number;
            let loose = CutMessage::Loose(number);
            self.post.send_to_all(&Control::Cut(loose));
        }
    }

    /// Has this rank's part written, by a thread of its own, if it is complete.
    fn save_if_whole(&self, cuts: &Cuts, state: &mut CutState) {
        let is_whole = |open: &mut OpenCut| open.missing.is_empty() && open.waiting == 0;
        let Some(open) = state.open.take_if(is_whole) else {
            return;
        };
        // A token that could not be written or read is missing here.
        if state.is_over || self.post.has_ended() {
            return;
        }
        let (number, share, mut findings) = (state.number, open.share, open.findings);
        findings.is_loose |= state.loose == number;
        findings.is_no_kahn_network |= self.post.has_raced();
        let post = Arc::clone(&self.post);
        let plan = lock(&cuts.plan);
        let files = Arc::clone(&plan.files);
        plan.writers.write(self.post.link(), "save", move || {
            files.save(number, &share)?;
            post.send_control(0, &Control::Cut(CutMessage::Saved(findings)));
            Ok(())
        });
    }

    /// Rank 0: a part is on the disk.
    fn saved(&self, findings: Findings) {
        let Some(cuts) = &self.cuts else { return };
        let mut state = lock(&cuts.state);
        state.desk.saved += 1;
        state.desk.findings.add(findings);
        let (number, findings) = (state.number, state.desk.findings);
        // Where a token is missing, that was told before its rank's part was.
        if state.desk.saved < self.ranks() || state.is_over || self.post.has_ended() {
            return;
        }
        if findings.is_no_kahn_network {
            drop(state);
            return self.post.stop_all(Ended::Invalid(NO_KAHN_NETWORK.into()));
        }
        if state.desk.is_closed || findings.is_ahead && findings.is_loose {
            drop(state);
            return self.say(0, CutMessage::Over);
        }
        let post = Arc::clone(&self.post);
        let plan = lock(&cuts.plan);
        let files = Arc::clone(&plan.files);
        plan.writers.write(self.post.link(), "commit", move || {
            files.commit(number)?;
            post.send_control(0, &Control::Cut(CutMessage::Over));
            Ok(())
        });
    }
}

/// The complaint about a network with checkpoints in which somebody asks who is faster.
const NO_KAHN_NETWORK: &str = "a process asks which of two was faster (`try_recv`, `try_send`, a merge or a time \
     limit), and the network has checkpoints: a run that resumes could find another answer; wait with `recv` \
     and `send`, or leave the checkpoints out";

/// The parts of a cut, put together.
pub(super) struct Resumed {
    /// By number.
    records: Vec<Option<ProcessRecord>>,
    /// By channel.
    inputs: Vec<Option<Input>>,
}

impl Resumed {
    /// From what all ranks had, for a network of so many processes and channels. None if it is not
    /// of this network.
    pub(super) fn new(
        shares: Vec<(PathBuf, CutShare)>,
        processes: usize,
        channels: usize,
    ) -> Option<Resumed> {
        let mut resumed = Resumed {
            records: (0..processes).map(|_| None).collect(),
            inputs: (0..channels).map(|_| None).collect(),
        };
        for (_, share) in shares {
            for record in share.records {
                let place = resumed.records.get_mut(record.process as usize)?;
                if place.replace(record).is_some() {
                    return None;
                }
            }
            for (channel, input) in share.inputs {
                let place = resumed.inputs.get_mut(channel as usize)?;
                if place.replace(input).is_some() {
                    return None;
                }
            }
        }
        let is_whole = resumed.records.iter().all(Option::is_some);
        is_whole.then_some(resumed)
    }

    /// Gives the part what its processes had. Nothing runs yet.
    pub(super) fn give(self, part: &NetworkPart) {
        for record in self.records.into_iter().flatten() {
            if part.shape.rank_of(record.process) != part.rank() {
                continue;
            }
            for (channel, output) in record.outputs {
                let input = self.inputs.get(channel as usize).and_then(Option::as_ref);
                let output = output.map(|output| resumed_output(output, input));
                if let Some(outgoing) = part.outgoing(channel) {
                    outgoing.arrive(output);
                }
            }
            if record.body.is_some() {
                for &channel in part.shape.inputs(record.process) {
                    let input = self.inputs.get(channel as usize).and_then(Option::as_ref);
                    if let (Some(input), Some(incoming)) = (input, part.incoming(channel)) {
                        incoming.arrive(input);
                    }
                }
            }
            part.with_slot(record.process, |slot| slot.resume(record.body));
        }
    }
}

/// The end of a producer whose consumer was recorded at another moment.
fn resumed_output(output: Output, input: Option<&Input>) -> Output {
    // A consumer without a port is gone, and says so again.
    let Some(input) = input else {
        return output;
    };
    Output {
        taken: input.taken.min(output.sent),
        ahead: input.taken.saturating_sub(output.sent),
        ..output
    }
}
