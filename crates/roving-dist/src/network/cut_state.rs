//! One rank's state of the cuts through its network, and its part of the one that is being made:
//! `cut.rs` says what happens to it.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};

use super::incoming::Closed;
use super::message::Findings;
use super::parcel::{Input, Output};
use crate::checkpoint::{CutPlan, Files};
use crate::unwind::lock;

/// One rank's part of a cut.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct CutShare {
    pub(super) records: Vec<ProcessRecord>,
    /// By channel: those whose consumer has its port.
    pub(super) inputs: Vec<(u32, Input)>,
}

/// A process in a cut.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ProcessRecord {
    pub(super) process: u32,
    /// Its state, and how its ports stand; none when it has ended.
    pub(super) body: Option<(Vec<u8>, Vec<u64>)>,
    /// By channel. There is none when one of the two ends is gone.
    pub(super) outputs: Vec<(u32, Option<Output>)>,
}

/// One rank's side of the cuts of a run.
pub(super) struct Cuts {
    pub(super) plan: Mutex<CutPlan>,
    pub(super) state: Mutex<CutState>,
}

/// The cut that is being made, and what has happened since the run began that cuts have to know.
#[derive(Default)]
pub(super) struct CutState {
    /// Of the last cut that has begun.
    pub(super) number: u32,
    pub(super) open: Option<OpenCut>,
    /// The last cut since whose begin a producer has learned that its consumer is gone.
    pub(super) loose: u32,
    /// Producers here that are about to learn it.
    pub(super) learning: usize,
    /// Processes that have ended here.
    pub(super) ended: Vec<u32>,
    /// The run is over here.
    pub(super) is_over: bool,
    pub(super) desk: Desk,
}

/// The part of a cut that is being made.
pub(super) struct OpenCut {
    /// Processes that are not recorded.
    pub(super) missing: HashSet<u32>,
    /// Channels whose consumer is recorded, and whose mark has not come; less those that have been
    /// closed before they were counted.
    pub(super) waiting: i64,
    pub(super) share: CutShare,
    pub(super) findings: Findings,
}

/// Rank 0's additional state.
#[derive(Default)]
pub(super) struct Desk {
    /// How many parts are on the disk.
    pub(super) saved: usize,
    pub(super) findings: Findings,
    /// A process has ended that leaves something on its rank: no cut counts any more.
    pub(super) is_closed: bool,
}

impl Cuts {
    pub(super) fn new(plan: CutPlan) -> Cuts {
        Cuts {
            plan: Mutex::new(plan),
            state: Mutex::default(),
        }
    }

    /// Where cuts are written.
    pub(super) fn files(&self) -> Arc<Files> {
        Arc::clone(&lock(&self.plan).files)
    }

    /// At the end of the run, whatever that was: nothing is written after this.
    pub(super) fn finish(&self) {
        lock(&self.state).is_over = true;
        let writers = lock(&self.plan).writers.clone();
        writers.wait();
    }

    /// Whether a cut is due some time, and none is being made.
    #[cfg(test)]
    pub(super) fn is_due(&self) -> bool {
        lock(&self.plan).next.is_some()
    }

    /// The cut that is being made, in words.
    pub(super) fn told(&self) -> Option<String> {
        let state = lock(&self.state);
        let open = state.open.as_ref()?;
        Some(format!(
            "cut {}: processes {:?} are not recorded, {} channels wait for a mark",
            state.number, open.missing, open.waiting
        ))
    }
}

impl OpenCut {
    pub(super) fn close(&mut self, channel: u32, closed: Closed) {
        self.findings.add((&closed).into());
        if let Some(input) = closed.input {
            self.share.inputs.push((channel, input));
        }
    }
}

impl From<&Closed> for Findings {
    fn from(closed: &Closed) -> Findings {
        Findings {
            is_ahead: closed.is_ahead,
            is_loose: closed.is_loose,
            is_no_kahn_network: false,
        }
    }
}

impl From<Closed> for Findings {
    fn from(closed: Closed) -> Findings {
        (&closed).into()
    }
}
