//! The operations of a simulated device, and the marks by which one waits for another.

use std::sync::mpsc::{Receiver, Sender, channel};

use crate::backend::error::DeviceError;
use crate::backend::{Download, Launch, Outcome, PeerCopy, Upload};

/// An operation.
pub(super) enum Work {
    Upload(Upload),
    Download(Download),
    Launch(Launch),
    /// A copy from another device, when that has passed its mark, if there is one.
    Copy(PeerCopy, Option<Passed>),
    /// Tells another device that this one has done all that was on a stream before.
    Mark(Mark),
}

/// One place in the order of a device, of which another device hears when it is passed; or, if this
/// is dropped, that it never is.
pub(super) struct Mark(Sender<()>);

pub(super) struct Passed(Receiver<()>);

pub(super) fn mark() -> (Mark, Passed) {
    let (mark, passed) = channel();
    (Mark(mark), Passed(passed))
}

impl Mark {
    pub(super) fn pass(&self) {
        // Where nobody waits any more, nobody has to hear of it.
        let _ = self.0.send(());
    }
}

impl Passed {
    /// Waits for it. False if the other device is lost. All marks are given before what waits for
    /// them, and devices do things in the order of their times: so no two wait for each other.
    pub(super) fn wait(&self) -> bool {
        self.0.recv().is_ok()
    }
}

impl Work {
    pub(super) fn done(self, outcome: Outcome) {
        match self {
            Work::Upload(upload) => upload.done(outcome),
            Work::Download(download) => download.done(outcome),
            Work::Launch(launch) => launch.done(outcome),
            Work::Copy(copy, _) => copy.done(outcome),
            Work::Mark(_) => {}
        }
    }

    pub(super) fn refused(self, error: DeviceError) {
        match self {
            Work::Launch(launch) => launch.refused(error),
            Work::Copy(copy, _) => copy.refused(error),
            other => other.done(Err(error)),
        }
    }
}
