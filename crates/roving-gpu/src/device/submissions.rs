//! The order in which a back-end hears of operations: that in which they were decided, with the
//! device locked. Who decides is not who submits: two threads that had decided one after the other
//! could otherwise submit the other way round, and a kernel would run before the upload of what it
//! reads.

use std::mem;
use std::sync::OnceLock;

use roving::raw::panics::contain;

use crate::backend::device_thread::DeviceThread;
use crate::backend::{Backend, Download, Launch, PeerCopy, Upload};
use crate::explored::in_turn::InTurn;

pub(super) struct Submissions {
    row: InTurn<(usize, Operation)>,
    /// The back-end has panicked, and hears of nothing any more: what would come could rely on what
    /// it has not done.
    is_broken: OnceLock<()>,
}

enum Operation {
    Upload(Upload),
    Copy(PeerCopy),
    Launch(Launch),
    Download(Download),
    /// All that comes next on the stream follows this other one.
    Follow(usize),
}

/// The operations that were decided while a device was locked.
#[derive(Default)]
pub(super) struct Decided {
    /// A stream follows another one.
    pub(super) follows: Vec<(usize, usize)>,
    pub(super) uploads: Vec<(usize, Upload)>,
    pub(super) copies: Vec<(usize, PeerCopy)>,
    pub(super) launches: Vec<(usize, Launch)>,
    pub(super) downloads: Vec<(usize, Download)>,
}

impl Submissions {
    pub(super) fn new() -> Submissions {
        Submissions {
            row: InTurn::new(),
            is_broken: OnceLock::new(),
        }
    }

    /// Takes what was decided. Only with the device locked.
    pub(super) fn take(&self, decided: &mut Decided) {
        let follows = mem::take(&mut decided.follows).into_iter();
        let uploads = mem::take(&mut decided.uploads).into_iter();
        let copies = mem::take(&mut decided.copies).into_iter();
        let launches = mem::take(&mut decided.launches).into_iter();
        let downloads = mem::take(&mut decided.downloads).into_iter();
        let follows = follows.map(|(stream, other)| (stream, Operation::Follow(other)));
        let uploads = uploads.map(|(stream, one)| (stream, Operation::Upload(one)));
        let copies = copies.map(|(stream, one)| (stream, Operation::Copy(one)));
        let launches = launches.map(|(stream, one)| (stream, Operation::Launch(one)));
        let downloads = downloads.map(|(stream, one)| (stream, Operation::Download(one)));
        let all = follows.chain(uploads).chain(copies);
        self.row.put(all.chain(launches).chain(downloads));
    }

    /// Submits what there is, unless somebody is at it already: then that one goes on with it. A
    /// back-end may end an operation inside the call, and whoever hears of that may come here
    /// again. An operation whose call panics is dropped, and has failed by that.
    pub(super) fn submit(&self, backend: &dyn Backend) {
        // Until it has come back, what is behind the operation stays here.
        let _here = DeviceThread::enter();
        self.row.do_all(|(stream, operation)| {
            if self.is_broken.get().is_some() {
                return;
            }
            let called = contain(|| match operation {
                Operation::Follow(other) => backend.follow(stream, other),
                Operation::Upload(upload) => backend.upload(stream, upload),
                Operation::Copy(copy) => backend.copy(stream, copy),
                Operation::Launch(launch) => backend.launch(stream, launch),
                Operation::Download(download) => backend.download(stream, download),
            });
            if called.is_err() {
                self.is_broken.get_or_init(|| ());
            }
        });
    }
}
