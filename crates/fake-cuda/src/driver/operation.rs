//! Operations: how they are put on streams, checked against others, and run.

use std::ops::Range;
use std::time::Instant;

use super::{Driver, Handle, Run, RunStep, StreamOperation, StreamStep, Use, is_in};
use crate::clock::VectorClock;
use crate::memory::{Access, MemoryBlock};
use crate::refusal::{Answer, ILLEGAL_ADDRESS, mistake};

impl Driver {
    /// Puts an operation on a stream, behind all that it is to be ordered with.
    pub(super) fn give(
        &mut self,
        stream: Handle,
        uses: &[Use],
        what: &str,
        work: impl FnOnce(u64) -> StreamStep,
    ) -> Answer<(u64, VectorClock)> {
        let context = self.on(stream)?.context;
        self.give_for(stream, uses, what, &[context], work)
    }

    /// [`Self::give`], with memory of these contexts.
    fn give_for(
        &mut self,
        stream: Handle,
        uses: &[Use],
        what: &str,
        contexts: &[Handle],
        work: impl FnOnce(u64) -> StreamStep,
    ) -> Answer<(u64, VectorClock)> {
        let host = self.host.clone();
        let on = self.on(stream)?;
        on.clock.join(&host);
        on.given += 1;
        let number = on.given;
        on.clock.see(stream, number);
        let clock = on.clock.clone();
        for Use { bytes, writes } in uses {
            let block = self.block(bytes, what)?;
            if !contexts.contains(&block.context) {
                return mistake(format!("{what} uses memory of another context"));
            }
            let access = Access {
                bytes: bytes.clone(),
                stream,
                number,
                writes: *writes,
                what: format!("{what} (operation {number} of stream {stream:#x})"),
            };
            block.meet(access, &clock)?;
        }
        let work = work(number);
        self.on(stream)?
            .waiting
            .push_back(StreamOperation { number, work });
        Ok((number, clock))
    }

    /// The block of a device, or pinned, in which all of these bytes are.
    pub(super) fn block(&mut self, bytes: &Range<u64>, what: &str) -> Answer<&mut MemoryBlock> {
        let is_pinned = is_in(&self.pinned, bytes.start);
        let blocks = if is_pinned {
            &mut self.pinned
        } else {
            &mut self.blocks
        };
        let Some((_, block)) = blocks.range_mut(..=bytes.start).next_back() else {
            return mistake(format!(
                "{what} uses {:#x}, where no memory is",
                bytes.start
            ));
        };
        let range = block.range();
        if bytes.start >= range.end {
            return mistake(format!(
                "{what} uses {:#x}, where no memory is",
                bytes.start
            ));
        }
        if bytes.end > range.end {
            return mistake(format!(
                "{what} uses {} bytes too many of a block of {}",
                bytes.end - range.end,
                block.len()
            ));
        }
        Ok(block)
    }

    /// Runs what is on the stream, up to that number.
    pub(super) fn run(&mut self, stream: Handle, until: u64) -> Answer<()> {
        if self.is_held {
            return mistake("a device is to do something that is held");
        }
        loop {
            let Some(of) = self.streams.get_mut(&stream) else {
                return Ok(());
            };
            if of.waiting.front().is_none_or(|first| first.number > until) {
                return Ok(());
            }
            let Some(StreamOperation { number, work }) = of.waiting.pop_front() else {
                return Ok(());
            };
            let context = of.context;
            let lost = self
                .contexts
                .get(&context)
                .is_some_and(|c| c.lost.is_some());
            match work {
                StreamStep::Record(event, recorded) => {
                    if let Some(event) = self.events.get_mut(&event) {
                        event.ran = Some((recorded, Instant::now()));
                    }
                }
                StreamStep::After(other, number) => self.run(other, number)?,
                StreamStep::Run(task) if !lost => {
                    if !(task.run)() {
                        if let Some(context) = self.contexts.get_mut(&context) {
                            context.lost = Some(ILLEGAL_ADDRESS);
                        }
                    }
                    for address in task.writes {
                        if let Some(block) = self.blocks.get(&address) {
                            block.check_guards(&task.what)?;
                        }
                    }
                }
                StreamStep::Run(_) | StreamStep::Nothing => (),
                StreamStep::Free(address) => {
                    if let Some(block) = self.blocks.remove(&address) {
                        block.check_guards("something")?;
                        let device = self.contexts[&context].device;
                        self.devices[device].used -= block.len() as u64;
                    }
                }
            }
            if let Some(of) = self.streams.get_mut(&stream) {
                of.done = number;
            }
        }
    }

    pub(super) fn give_run(
        &mut self,
        stream: Handle,
        uses: &[Use],
        what: &str,
        module: Option<Handle>,
        run: Run,
    ) -> Answer<()> {
        let context = self.on(stream)?.context;
        self.give_run_for(stream, uses, what, &[context], module, run)
    }

    /// [`Self::give_run`], with memory of these contexts.
    pub(super) fn give_run_for(
        &mut self,
        stream: Handle,
        uses: &[Use],
        what: &str,
        contexts: &[Handle],
        module: Option<Handle>,
        run: Run,
    ) -> Answer<()> {
        let written = uses.iter().filter(|of| of.writes);
        let starts = written.filter_map(|of| {
            let before = self.blocks.range(..=of.bytes.start).next_back();
            before.map(|(start, _)| *start)
        });
        let task = RunStep {
            what: what.to_owned(),
            writes: starts.collect(),
            module,
            run,
        };
        let given = self.give_for(stream, uses, what, contexts, |_| StreamStep::Run(task));
        given.map(drop)
    }
}
