//! Streams and events, and waiting for them.

use std::collections::VecDeque;

use super::{CudaEvent, Driver, Handle, Stream, StreamStep, not_live};
use crate::clock::VectorClock;
use crate::refusal::{Answer, NOT_READY, Refusal, mistake};

impl Driver {
    pub(crate) fn new_stream(&mut self) -> Answer<Handle> {
        let context = self.bound()?;
        let handle = self.make("stream");
        let stream = Stream {
            context,
            clock: VectorClock::default(),
            given: 0,
            done: 0,
            waiting: VecDeque::new(),
        };
        self.streams.insert(handle, stream);
        Ok(handle)
    }

    pub(crate) fn destroy_stream(&mut self, stream: Handle) -> Answer<()> {
        self.on(stream)?;
        self.run(stream, u64::MAX)?;
        self.streams.remove(&stream);
        Ok(())
    }

    pub(crate) fn new_event(&mut self, timed: bool) -> Answer<Handle> {
        let context = self.bound()?;
        let handle = self.make("event");
        let event = CudaEvent {
            context,
            timed,
            recorded: 0,
            last: None,
            ran: None,
        };
        self.events.insert(handle, event);
        Ok(handle)
    }

    pub(crate) fn destroy_event(&mut self, event: Handle) -> Answer<()> {
        let context = live!(self, events, "event", event)?.context;
        self.bound_to(context, "event")?;
        self.events.remove(&event);
        Ok(())
    }

    pub(crate) fn record(&mut self, event: Handle, stream: Handle) -> Answer<()> {
        let context = live!(self, events, "event", event)?.context;
        if self.on(stream)?.context != context {
            return mistake("an event is recorded on a stream of another context");
        }
        let of = live!(self, events, "event", event)?;
        of.recorded += 1;
        let recorded = of.recorded;
        let (number, clock) = self.give(stream, &[], "an event", |_| {
            StreamStep::Record(event, recorded)
        })?;
        live!(self, events, "event", event)?.last = Some((stream, number, clock));
        Ok(())
    }

    /// All that comes on the stream is after the event as it was recorded last.
    pub(crate) fn follow(&mut self, stream: Handle, event: Handle) -> Answer<()> {
        self.on(stream)?;
        let last = live!(self, events, "event", event)?.last.clone();
        let Some((other, number, clock)) = last else {
            return mistake("a stream is to follow an event that was never recorded");
        };
        self.give(stream, &[], "a wait", |_| StreamStep::After(other, number))?;
        self.on(stream)?.clock.join(&clock);
        Ok(())
    }

    /// Waits on the host for the event.
    pub(crate) fn wait_event(&mut self, event: Handle) -> Answer<()> {
        self.waited();
        let of = live!(self, events, "event", event)?;
        let (context, last) = (of.context, of.last.clone());
        self.bound_to(context, "event")?;
        if let Some((stream, number, clock)) = last {
            self.run(stream, number)?;
            self.host.join(&clock);
        }
        self.bound().map(drop)
    }

    /// Whether the event has come. One that asks often enough will be told so: each time, something
    /// of its stream runs.
    pub(crate) fn query(&mut self, event: Handle) -> Answer<()> {
        let of = live!(self, events, "event", event)?;
        let (context, last) = (of.context, of.last.clone());
        self.bound_to(context, "event")?;
        let Some((stream, number, clock)) = last else {
            return Ok(());
        };
        let done = self.streams.get(&stream).map_or(u64::MAX, |s| s.done);
        if done < number && self.is_held {
            return Err(Refusal::Code(NOT_READY));
        }
        if done < number {
            self.run(stream, done + 1)?;
            return Err(Refusal::Code(NOT_READY));
        }
        self.host.join(&clock);
        self.bound().map(drop)
    }

    pub(crate) fn elapsed_ms(&mut self, from: Handle, to: Handle) -> Answer<f32> {
        let mut times = Vec::new();
        for event in [from, to] {
            let of = live!(self, events, "event", event)?;
            if !of.timed {
                return mistake("the time of an event is asked for that was made without");
            }
            if of.recorded == 0 {
                return mistake("the time of an event is asked for that was never recorded");
            }
            let ran = of.ran.filter(|(number, _)| *number == of.recorded);
            times.push(ran.ok_or(Refusal::Code(NOT_READY))?.1);
        }
        let forth = times[1].saturating_duration_since(times[0]).as_secs_f32();
        let back = times[0].saturating_duration_since(times[1]).as_secs_f32();
        Ok((forth - back) * 1e3)
    }

    /// Waits on the host for all that was given to the stream.
    pub(crate) fn wait_stream(&mut self, stream: Handle) -> Answer<()> {
        self.waited();
        self.on(stream)?;
        self.finish(stream)?;
        self.bound().map(drop)
    }

    /// Waits on the host for all streams of the current context.
    pub(crate) fn wait_all(&mut self) -> Answer<()> {
        self.waited();
        let context = self.bound()?;
        let of =
            |(handle, stream): (&Handle, &Stream)| (stream.context == context).then_some(*handle);
        let streams: Vec<Handle> = self.streams.iter().filter_map(of).collect();
        for stream in streams {
            self.finish(stream)?;
        }
        self.bound().map(drop)
    }

    fn finish(&mut self, stream: Handle) -> Answer<()> {
        self.run(stream, u64::MAX)?;
        if let Some(stream) = self.streams.get(&stream) {
            self.host.join(&stream.clock);
        }
        Ok(())
    }

    pub(super) fn waited(&mut self) {
        self.caller().waited = true;
    }
}
