//! The order in which a back-end hears of operations: that in which they were decided, with the device locked. Who decides
//! is not who submits: two threads that had decided one after the other could otherwise submit the other way round, and
//! a kernel would run before the upload of what it reads.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Actions;
use crate::backend::{Backend, Download, Launch, Upload};

#[derive(Default)]
pub(super) struct Submissions(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    operations: VecDeque<(usize, Operation)>,
    /// Somebody submits them one by one.
    is_submitting: bool,
}

enum Operation {
    Upload(Upload),
    Launch(Launch),
    Download(Download),
}

impl Submissions {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the operations of `actions`. Only with the device locked.
    pub(super) fn take(&self, actions: &mut Actions) {
        let uploads = mem::take(&mut actions.uploads).into_iter();
        let launches = mem::take(&mut actions.launches).into_iter();
        let downloads = mem::take(&mut actions.downloads).into_iter();
        let uploads = uploads.map(|(stream, one)| (stream, Operation::Upload(one)));
        let launches = launches.map(|(stream, one)| (stream, Operation::Launch(one)));
        let downloads = downloads.map(|(stream, one)| (stream, Operation::Download(one)));
        let all = uploads.chain(launches).chain(downloads);
        self.lock().operations.extend(all);
    }

    /// Submits what there is, unless somebody is at it already: then that one goes on with it. A back-end may end an
    /// operation inside the call, and whoever hears of that may come here again.
    pub(super) fn submit(&self, backend: &dyn Backend) {
        loop {
            let mut waiting = self.lock();
            if waiting.is_submitting {
                return;
            }
            let Some((stream, operation)) = waiting.operations.pop_front() else {
                return;
            };
            waiting.is_submitting = true;
            drop(waiting);
            let turn = Turn(self);
            match operation {
                Operation::Upload(upload) => backend.upload(stream, upload),
                Operation::Launch(launch) => backend.launch(stream, launch),
                Operation::Download(download) => backend.download(stream, download),
            }
            drop(turn);
        }
    }
}

/// Ends a submission, also when the back-end panics.
struct Turn<'a>(&'a Submissions);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.lock().is_submitting = false;
    }
}
