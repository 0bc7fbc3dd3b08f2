//! Ports that are dropped, and closed later.

use std::collections::BTreeMap;
use std::mem;

use super::doubt::Doubt;

/// A port that is dropped. What else it is, is known where channels are.
pub(crate) trait DoubtfulEnd {
    /// Whether somebody tells others when it is closed, who cannot be told of a doubt.
    fn is_told_on(&self) -> bool;

    /// It is about to be closed while the end of its stream is in doubt.
    fn closes_in_doubt(&self);
}

/// Some ports of one process.
pub(crate) struct LatePorts<P> {
    /// With whether a panic has dropped it.
    ports: Vec<(P, bool)>,
    /// Others do not know whether what is closed ends a whole stream.
    is_in_doubt: bool,
}

impl<P> LatePorts<P> {
    pub(crate) fn new() -> LatePorts<P> {
        LatePorts {
            ports: Vec::new(),
            is_in_doubt: false,
        }
    }

    pub(crate) fn add(&mut self, port: P, panics: bool) {
        self.ports.push((port, panics));
    }

    /// Takes those that are closed before it is known whether their process fails. If a panic has
    /// dropped one of them, the end of its stream is in doubt from now on; so one that is told on
    /// stays.
    #[must_use]
    pub(crate) fn take_for_now(&mut self, doubt: &Doubt) -> Vec<P>
    where
        P: DoubtfulEnd,
    {
        let ports = mem::take(&mut self.ports);
        let is_later = |(port, panics): &(P, bool)| *panics && port.is_told_on();
        let (later, now): (Vec<_>, Vec<_>) = ports.into_iter().partition(is_later);
        self.ports = later;
        let in_doubt = now.iter().filter(|(_, panics)| *panics);
        for (port, _) in in_doubt {
            if !self.is_in_doubt {
                self.is_in_doubt = true;
                doubt.begin();
            }
            port.closes_in_doubt();
        }
        now.into_iter().map(|(port, _)| port).collect()
    }

    /// Whether there is nothing to do any more, not even to end a doubt.
    pub(crate) fn are_none(&self) -> bool {
        self.ports.is_empty() && !self.is_in_doubt
    }

    /// It is known now whether the process has failed. Returns those that are to be closed.
    pub(crate) fn end(self, doubt: &Doubt) -> Vec<P> {
        if self.is_in_doubt {
            doubt.end();
        }
        self.ports.into_iter().map(|(port, _)| port).collect()
    }
}

/// Ports that a panic has dropped beside the turns of their processes: on another thread, in a half
/// of a join or in a task of the process. That panic may be what the process is going to fail with.
pub(crate) struct LeftPorts<P>(BTreeMap<u32, LeftByOne<P>>);

/// Those of one process.
struct LeftByOne<P> {
    ports: LatePorts<P>,
    /// Turns of the process that have ended since.
    turns: u8,
}

/// After so many turns a process has heard of all that its tasks have panicked with, though it
/// still waits for some.
const TURNS: u8 = 16;

impl<P> LeftByOne<P> {
    /// Whether the process has heard of the panic in the turn that has ended: that one began after
    /// it, and has asked all that the process asks. A process that waits for something that is no
    /// channel may wait for the task that has panicked, and is about to end.
    fn is_heard_of(&self, awaits_others: bool) -> bool {
        self.turns > 1 && (!awaits_others || self.turns > TURNS)
    }
}

impl<P> LeftPorts<P> {
    pub(crate) fn new() -> LeftPorts<P> {
        LeftPorts(BTreeMap::new())
    }

    /// A port of that process is dropped so. Returns what is left of that one.
    pub(crate) fn add(&mut self, process: u32, port: P) -> &mut LatePorts<P> {
        let (ports, turns) = (LatePorts::new(), 0);
        let of = self.0.entry(process);
        let of = of.or_insert(LeftByOne { ports, turns });
        of.ports.add(port, true);
        of.turns = 0;
        &mut of.ports
    }

    /// A turn of that process has ended. Whether another one is to follow: it has not heard of the
    /// panic for sure, or [has](Self::take_heard_of).
    #[must_use]
    pub(crate) fn count_turn(&mut self, process: u32, awaits_others: bool) -> bool {
        let Some(of) = self.0.get_mut(&process) else {
            return false;
        };
        of.turns = of.turns.saturating_add(1);
        of.turns == 1 || of.is_heard_of(awaits_others)
    }

    /// Takes those of that process, if it has heard of their panic.
    pub(crate) fn take_heard_of(
        &mut self,
        process: u32,
        awaits_others: bool,
    ) -> Option<LatePorts<P>> {
        let is_heard_of = self.0.get(&process)?.is_heard_of(awaits_others);
        is_heard_of.then(|| self.take(process)).flatten()
    }

    pub(crate) fn take(&mut self, process: u32) -> Option<LatePorts<P>> {
        self.0.remove(&process).map(|of| of.ports)
    }

    pub(crate) fn are_none(&self) -> bool {
        self.0.is_empty()
    }
}
