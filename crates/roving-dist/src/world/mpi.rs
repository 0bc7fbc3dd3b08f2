//! Ranks that are processes: packets are messages of MPI. The only file that calls it.
//!
//! MPI is asked for `MPI_THREAD_SERIALIZED`: several threads call it, one at a time. [`Mpi`] is
//! behind the lock of the engine, so `&mut self` is that promise.
//!
//! Batches are small enough for MPI libraries to send them at once. The receiver has posted
//! receives for them, which it completes in the order in which it posted them: since MPI matches
//! messages of one sender in order, that keeps their order. A large message is announced by a batch
//! with the tag [`ANNOUNCEMENT`]; only then does the receiver make room and post a receive, into
//! which MPI writes without another copy. What comes meanwhile from the same sender waits.

use std::collections::VecDeque;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

use ::mpi::Threading;
use ::mpi::environment::Universe;
use ::mpi::ffi;

use super::bulk::{self, BULK_BYTES_MAX};
use super::record::{self, BATCH_BYTES};
use super::transport::{Packet, Transport};
use crate::error::Error;

/// MPI's own tags.
const BATCH: c_int = 0;
const BULK: c_int = 1;
const BARE: c_int = 2;
/// The tag of a record that says what large message comes next: its tag and its length.
const ANNOUNCEMENT: u32 = u32::MAX;
/// Receives that are posted for batches.
const POSTED: usize = 8;
/// Most batches handed over at once.
const TOGETHER: usize = 64;
/// Most buffers kept.
const SPENT_MAX: usize = 16;

/// A receive that MPI has the buffer of.
struct Receive {
    request: ffi::MPI_Request,
    bytes: Vec<u8>,
}

/// A send that MPI has the bytes of.
struct Send {
    request: ffi::MPI_Request,
    /// Read by MPI until the request is done.
    bytes: Vec<u8>,
}

/// The messages that come from one rank.
#[derive(Default)]
struct Source {
    /// How many batches have come.
    heard: u64,
    /// The large message that was announced.
    bulk: Option<Bulk>,
    /// Batches that came after its announcement.
    backlog: VecDeque<Vec<u8>>,
}

struct Bulk {
    tag: u32,
    bytes: Vec<u8>,
    /// Parts that have not arrived, oldest first.
    requests: VecDeque<ffi::MPI_Request>,
}

/// One rank's end.
pub(super) struct Mpi {
    universe: Option<Universe>,
    comm: ffi::MPI_Comm,
    rank: usize,
    ranks: usize,
    posted: Vec<Receive>,
    /// The oldest of `posted`.
    oldest: usize,
    /// So many places before the oldest one are not posted: see [`Mpi::post_again`].
    free: usize,
    /// A lone batch was handed over, and nothing has been looked for since.
    is_behind: bool,
    sends: VecDeque<Send>,
    sources: Vec<Source>,
    /// How many of them wait for a large message.
    bulks: usize,
    spent: Vec<Vec<u8>>,
}

// SAFETY: the handles of MPI are pointers into the library, which may be used by any thread, but by
// one at a time: it was initialised with MPI_THREAD_SERIALIZED or more. MPI_Finalize alone is for
// the thread that has initialised MPI, on which a `World` stays, as it is not `Send`. All else is
// `Send` by itself.
unsafe impl std::marker::Send for Mpi {}

/// Starts MPI.
pub(super) fn start() -> Result<Mpi, Error> {
    let Some((universe, threading)) = ::mpi::initialize_with_threading(Threading::Serialized)
    else {
        return Err(Error::anywhere(
            "MPI is initialised already: one process has one `World`, and only once",
        ));
    };
    if threading < Threading::Serialized {
        // Finalising would wait for the other ranks, which have the same to say.
        std::mem::forget(universe);
        return Err(Error::anywhere(format_args!(
            "this MPI library gives the thread level {threading:?}, and MPI_THREAD_SERIALIZED is needed: \
             take one that was built with threads"
        )));
    }
    let mut mpi = Mpi {
        universe: Some(universe),
        // SAFETY: a constant of the library.
        comm: unsafe { ffi::RSMPI_COMM_WORLD },
        rank: 0,
        ranks: 1,
        posted: Vec::new(),
        oldest: 0,
        free: 0,
        is_behind: false,
        sends: VecDeque::new(),
        sources: Vec::new(),
        bulks: 0,
        spent: Vec::new(),
    };
    mpi.meet()?;
    Ok(mpi)
}

impl Mpi {
    pub(super) fn rank(&self) -> usize {
        self.rank
    }

    pub(super) fn ranks(&self) -> usize {
        self.ranks
    }

    /// Learns who is there, and posts receives, in a communicator of its own.
    fn meet(&mut self) -> Result<(), Error> {
        let (mut comm, mut rank, mut ranks) = (self.comm, 0, 0);
        // SAFETY: MPI is initialised, its world communicator lives, and the pointers are to locals.
        let codes = unsafe {
            [
                ffi::MPI_Comm_dup(self.comm, &mut comm),
                ffi::MPI_Comm_rank(comm, &mut rank),
                ffi::MPI_Comm_size(comm, &mut ranks),
                ffi::MPI_Comm_set_errhandler(comm, ffi::RSMPI_ERRORS_RETURN),
            ]
        };
        self.comm = comm;
        (self.rank, self.ranks) = (rank as usize, ranks as usize);
        for code in codes {
            self.check(code, format_args!("setting up"))?;
        }
        self.sources.resize_with(self.ranks, Source::default);
        for place in 0..POSTED {
            self.posted.push(Receive {
                // SAFETY: a constant of the library.
                request: unsafe { ffi::RSMPI_REQUEST_NULL },
                bytes: vec![0; BATCH_BYTES],
            });
            self.post(place)?;
        }
        Ok(())
    }

    /// An error of MPI, with the name of this rank.
    #[inline(always)]
    fn check(&self, code: c_int, what: std::fmt::Arguments<'_>) -> Result<(), Error> {
        match code == ffi::MPI_SUCCESS as c_int {
            true => Ok(()),
            false => Err(self.explain(code, what).of_loss()),
        }
    }

    #[cold]
    #[inline(never)]
    fn explain(&self, code: c_int, what: std::fmt::Arguments<'_>) -> Error {
        let mut text = vec![0_u8; ffi::MPI_MAX_ERROR_STRING as usize];
        let mut length = 0;
        // SAFETY: the buffer has the length that the library may fill.
        let found = unsafe { ffi::MPI_Error_string(code, text.as_mut_ptr().cast(), &mut length) };
        text.truncate(if found == ffi::MPI_SUCCESS as c_int {
            length as usize
        } else {
            0
        });
        let text = String::from_utf8_lossy(&text);
        Error::at(
            self.rank,
            self.ranks,
            format_args!("MPI, {what}: {text} (code {code})"),
        )
    }

    /// Posts the receive in this place, which is not posted.
    fn post(&mut self, place: usize) -> Result<(), Error> {
        let receive = &mut self.posted[place];
        // SAFETY: the buffer is that long, and stays where it is and untouched until the request is
        // done: it is read only after `MPI_Test` has said so, and freed only after `finish` has
        // cancelled the request or never (`Drop`).
        let code = unsafe {
            ffi::MPI_Irecv(
                receive.bytes.as_mut_ptr().cast::<c_void>(),
                receive.bytes.len() as c_int,
                ffi::RSMPI_UINT8_T,
                ffi::RSMPI_ANY_SOURCE,
                BATCH,
                self.comm,
                &mut receive.request,
            )
        };
        self.check(code, format_args!("receiving"))
    }

    /// Posts what has been handed over, in its order. That takes about as long as a message is
    /// under way: so it is done when there is nothing to hand over, or little is left.
    fn post_again(&mut self) -> Result<(), Error> {
        while self.free > 0 {
            let place = (self.oldest + POSTED - self.free) % POSTED;
            self.post(place)?;
            self.free -= 1;
        }
        Ok(())
    }

    /// Begins to send `bytes`, and hands them back if they have left already.
    fn begin(&mut self, to: usize, tag: c_int, bytes: Vec<u8>) -> Result<Option<Vec<u8>>, Error> {
        let mut done = 0;
        // SAFETY: a constant of the library.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        // SAFETY: the bytes are kept in `sends` until `MPI_Test` says that the request is done.
        let codes = unsafe {
            [
                ffi::MPI_Isend(
                    bytes.as_ptr().cast::<c_void>(),
                    bytes.len() as c_int,
                    ffi::RSMPI_UINT8_T,
                    to as c_int,
                    tag,
                    self.comm,
                    &mut request,
                ),
                ffi::MPI_Test(&mut request, &mut done, ffi::RSMPI_STATUS_IGNORE),
            ]
        };
        if done == 0 {
            self.sends.push_back(Send { request, bytes });
            for code in codes {
                self.check(code, format_args!("sending to rank {to}"))?;
            }
            return Ok(None);
        }
        for code in codes {
            self.check(code, format_args!("sending to rank {to}"))?;
        }
        Ok(Some(bytes))
    }

    /// Forgets sends that are done.
    fn complete_sends(&mut self) -> Result<(), Error> {
        while let Some(send) = self.sends.front_mut() {
            let mut done = 0;
            // SAFETY: a request of this library that is not done yet, as far as is known here.
            let code =
                unsafe { ffi::MPI_Test(&mut send.request, &mut done, ffi::RSMPI_STATUS_IGNORE) };
            self.check(code, format_args!("sending"))?;
            if done == 0 {
                break;
            }
            if let Some(send) = self.sends.pop_front() {
                self.keep(send.bytes);
            }
        }
        Ok(())
    }

    /// If the oldest posted receive is done: whose batch it is, and how long.
    fn arrived(&mut self) -> Result<Option<(usize, usize)>, Error> {
        let (mut done, mut status) = (0, MaybeUninit::<ffi::MPI_Status>::uninit());
        let request = &mut self.posted[self.oldest].request;
        // SAFETY: a posted request, and pointers to locals.
        let code = unsafe { ffi::MPI_Test(request, &mut done, status.as_mut_ptr()) };
        self.check(code, format_args!("receiving"))?;
        if done == 0 {
            return Ok(None);
        }
        // SAFETY: `MPI_Test` fills the status of a request that is done.
        let status = unsafe { status.assume_init() };
        let mut length = 0;
        // SAFETY: the status is of a receive of bytes.
        let code = unsafe { ffi::MPI_Get_count(&status, ffi::RSMPI_UINT8_T, &mut length) };
        self.check(code, format_args!("receiving"))?;
        Ok(Some((status.MPI_SOURCE as usize, length as usize)))
    }

    /// Hands over a batch, or makes room for the large message that it announces.
    fn hand_over(
        &mut self,
        from: usize,
        batch: Vec<u8>,
        arrived: &mut Vec<(usize, Packet)>,
    ) -> Result<(), Error> {
        if let Some((ANNOUNCEMENT, what)) = record::split(&mut &batch[..]) {
            return self.expect(from, what);
        }
        arrived.push((from, Packet::Batch(batch)));
        Ok(())
    }

    /// Posts receives for the large message that rank `from` has announced.
    fn expect(&mut self, from: usize, what: &[u8]) -> Result<(), Error> {
        let Some((tag, length)) = bulk::announced(what) else {
            return Err(Error::at(from, self.ranks, "sent a torn announcement"));
        };
        let Some(bytes) = bulk::zeroed(length) else {
            let what = format!("no room for a message of {length} bytes from rank {from}");
            return Err(Error::at(self.rank, self.ranks, what));
        };
        let mut bulk = Bulk {
            tag,
            bytes,
            requests: VecDeque::new(),
        };
        let mut codes = Vec::new();
        for part in bulk.bytes.chunks_mut(BULK_BYTES_MAX) {
            // SAFETY: a constant of the library.
            let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
            // SAFETY: the part is that long; the buffer is kept in `sources`, and not touched
            // before all its requests are done.
            codes.push(unsafe {
                ffi::MPI_Irecv(
                    part.as_mut_ptr().cast::<c_void>(),
                    part.len() as c_int,
                    ffi::RSMPI_UINT8_T,
                    from as c_int,
                    BULK,
                    self.comm,
                    &mut request,
                )
            });
            bulk.requests.push_back(request);
        }
        self.sources[from].bulk = Some(bulk);
        self.bulks += 1;
        for code in codes {
            self.check(code, format_args!("receiving from rank {from}"))?;
        }
        Ok(())
    }

    /// Hands over large messages that have arrived, and what waited for them.
    fn complete_bulks(&mut self, arrived: &mut Vec<(usize, Packet)>) -> Result<bool, Error> {
        let mut is_any = false;
        for from in 0..self.ranks {
            while let Some(bulk) = self.arrived_bulk(from)? {
                is_any = true;
                self.bulks -= 1;
                arrived.push((from, Packet::Bulk(bulk.tag, bulk.bytes)));
                while self.sources[from].bulk.is_none() {
                    let Some(batch) = self.sources[from].backlog.pop_front() else {
                        break;
                    };
                    self.hand_over(from, batch, arrived)?;
                }
            }
        }
        Ok(is_any)
    }

    /// Takes the large message of rank `from`, if all of it is there.
    fn arrived_bulk(&mut self, from: usize) -> Result<Option<Bulk>, Error> {
        let Some(bulk) = &mut self.sources[from].bulk else {
            return Ok(None);
        };
        const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;
        let code = bulk::drop_done(&mut bulk.requests, SUCCESS, |request| {
            let mut done = 0;
            // SAFETY: a request of this library that is not done yet, as far as is known here.
            let code = unsafe { ffi::MPI_Test(request, &mut done, ffi::RSMPI_STATUS_IGNORE) };
            (code, done != 0)
        });
        let is_done = bulk.requests.is_empty();
        self.check(code, format_args!("receiving from rank {from}"))?;
        Ok(if is_done {
            self.sources[from].bulk.take()
        } else {
            None
        })
    }
}

impl Transport for Mpi {
    fn send_batch(&mut self, to: usize, batch: &mut Vec<u8>) -> Result<(), Error> {
        let bytes = std::mem::take(batch);
        if let Some(mut bytes) = self.begin(to, BATCH, bytes)? {
            bytes.clear();
            *batch = bytes;
        } else {
            *batch = self.spent.pop().unwrap_or_default();
        }
        Ok(())
    }

    fn send_bulk(&mut self, to: usize, tag: u32, bytes: Vec<u8>) -> Result<(), Error> {
        let mut what = [0; 12];
        what[..4].copy_from_slice(&tag.to_le_bytes());
        what[4..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        let mut batch = self.spent.pop().unwrap_or_default();
        record::append(&mut batch, ANNOUNCEMENT, &what);
        if let Some(spent) = self.begin(to, BATCH, batch)? {
            self.keep(spent);
        }
        if bytes.len() <= BULK_BYTES_MAX {
            self.begin(to, BULK, bytes)?;
        } else {
            for part in bytes.chunks(BULK_BYTES_MAX) {
                self.begin(to, BULK, part.to_vec())?;
            }
        }
        Ok(())
    }

    fn receive(&mut self, arrived: &mut Vec<(usize, Packet)>) -> Result<bool, Error> {
        let mut is_any = false;
        for _ in 0..TOGETHER {
            let Some((from, length)) = self.arrived()? else {
                self.is_behind = false;
                self.post_again()?;
                break;
            };
            is_any = true;
            let place = self.oldest;
            let mut batch = self.spent.pop().unwrap_or_default();
            batch.extend_from_slice(&self.posted[place].bytes[..length]);
            let source = &mut self.sources[from];
            source.heard += 1;
            let outcome = if source.bulk.is_some() {
                source.backlog.push_back(batch);
                Ok(())
            } else {
                self.hand_over(from, batch, arrived)
            };
            self.oldest = (place + 1) % POSTED;
            self.free += 1;
            if self.free == POSTED / 2 {
                self.post_again()?;
            }
            outcome?;
            // A lone message is handed over first: looking for another one takes as long as one is
            // under way. But if the next one is there at the next call, others may be, too.
            if length < BATCH_BYTES / 2 && !self.is_behind {
                self.is_behind = true;
                break;
            }
        }
        if self.bulks > 0 {
            is_any |= self.complete_bulks(arrived)?;
        }
        if !self.sends.is_empty() {
            self.complete_sends()?;
        }
        Ok(is_any)
    }

    fn heard(&self, from: usize) -> u64 {
        self.sources[from].heard
    }

    fn keep(&mut self, mut spent: Vec<u8>) {
        if self.spent.len() < SPENT_MAX && spent.capacity() <= BATCH_BYTES {
            spent.clear();
            self.spent.push(spent);
        }
    }

    fn is_sent(&mut self) -> Result<bool, Error> {
        self.complete_sends()?;
        Ok(self.sends.is_empty())
    }

    fn abort(&mut self, status: i32) {
        // SAFETY: MPI is initialised, and not finalised: the universe is dropped by `finish` only,
        // the last call.
        unsafe {
            ffi::MPI_Abort(self.comm, status);
        }
    }

    fn send_bare(&mut self, to: usize, bytes: &[u8]) -> Result<(), Error> {
        // SAFETY: the bytes are borrowed until the call returns, and then MPI is done with them.
        let code = unsafe {
            ffi::MPI_Send(
                bytes.as_ptr().cast::<c_void>(),
                bytes.len() as c_int,
                ffi::RSMPI_UINT8_T,
                to as c_int,
                BARE,
                self.comm,
            )
        };
        self.check(code, format_args!("sending to rank {to}"))
    }

    fn receive_bare(&mut self, from: usize, bytes: &mut [u8]) -> Result<(), Error> {
        // SAFETY: the buffer is borrowed until the call returns, and has that length.
        let code = unsafe {
            ffi::MPI_Recv(
                bytes.as_mut_ptr().cast::<c_void>(),
                bytes.len() as c_int,
                ffi::RSMPI_UINT8_T,
                from as c_int,
                BARE,
                self.comm,
                ffi::RSMPI_STATUS_IGNORE,
            )
        };
        self.check(code, format_args!("receiving from rank {from}"))
    }

    fn finish(&mut self) -> Result<(), Error> {
        let mut codes = Vec::new();
        // Of the others MPI has no request.
        let places = (0..POSTED - self.free).map(|at| (self.oldest + at) % POSTED);
        for place in places {
            let receive = &mut self.posted[place];
            // SAFETY: the request is posted; once it is cancelled and waited for, MPI has no more
            // to do with its buffer.
            unsafe {
                codes.push(ffi::MPI_Cancel(&mut receive.request));
                codes.push(ffi::MPI_Wait(
                    &mut receive.request,
                    ffi::RSMPI_STATUS_IGNORE,
                ));
            }
        }
        for code in codes {
            self.check(code, format_args!("finishing"))?;
        }
        self.posted.clear();
        // SAFETY: a communicator of this rank's own, with nothing under way.
        let code = unsafe { ffi::MPI_Comm_free(&mut self.comm) };
        self.check(code, format_args!("finishing"))?;
        // Finalises.
        drop(self.universe.take());
        Ok(())
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if let Some(universe) = self.universe.take() {
            // Not finished: finalising would wait for ranks that may be gone. MPI may still write
            // into the buffers, so they stay.
            std::mem::forget(universe);
            std::mem::forget(std::mem::take(&mut self.posted));
            std::mem::forget(std::mem::take(&mut self.sources));
            std::mem::forget(std::mem::take(&mut self.sends));
        }
    }
}
