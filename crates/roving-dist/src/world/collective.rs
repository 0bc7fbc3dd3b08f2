//! Collective operations: all ranks give bytes to rank 0, and get its answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::link::Link;
use crate::error::Error;

/// Bytes on their way to rank 0.
const GATHER: u32 = 0;
/// The tag of rank 0's answer, on its way back.
const ANSWER: u32 = 1;

/// The purpose for which ranks gather.
#[derive(Clone, Copy)]
#[repr(u8)]
pub(super) enum Purpose {
    /// To go on together.
    GoOn,
    /// To part.
    Finish,
}

/// The bytes and answers of gatherings that are not over, by their number.
#[derive(Default)]
struct Gatherings {
    /// At rank 0: each rank's bytes.
    parts: HashMap<u64, Vec<Option<Vec<u8>>>>,
    /// Rank 0's answers.
    answers: HashMap<u64, Vec<u8>>,
}

/// One rank's part in what all do together.
pub(super) struct Collective {
    open: Arc<Mutex<Gatherings>>,
    /// How many there were.
    next: Mutex<u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Collective {
    pub(super) fn new(link: &Link) -> Collective {
        let open = Arc::new(Mutex::new(Gatherings::default()));
        let (ranks, gathered) = (link.ranks(), Arc::clone(&open));
        link.open(GATHER, move |from, bytes| {
            let (number, part) = numbered(from, bytes);
            let mut open = lock(&gathered);
            let parts = open.parts.entry(number);
            parts.or_insert_with(|| vec![None; ranks])[from] = Some(part.to_vec());
        });
        let answered = Arc::clone(&open);
        link.open(ANSWER, move |from, bytes| {
            let (number, all) = numbered(from, bytes);
            lock(&answered).answers.insert(number, all.to_vec());
        });
        Collective {
            open,
            next: Mutex::new(0),
        }
    }

    /// Gives every rank the bytes of all.
    pub(super) fn all_gather(
        &self,
        link: &Link,
        purpose: Purpose,
        part: &[u8],
    ) -> Result<Vec<Vec<u8>>, Error> {
        let join = |all: Vec<Vec<u8>>| {
            let mut answer = Vec::new();
            for part in &all {
                answer.extend((part.len() as u64).to_le_bytes());
                answer.extend(part);
            }
            Ok((all, answer))
        };
        let split = |answer: &[u8]| {
            let mut rest = answer;
            let all: Option<Vec<_>> = (0..link.ranks()).map(|_| take_part(&mut rest)).collect();
            all.ok_or_else(|| link.fail("the answer of a gathering is torn"))
        };
        self.meet(link, purpose, part, join, split)
    }

    /// At rank 0: the ranks that have given nothing for that gathering.
    fn missing(&self, number: u64) -> Vec<usize> {
        let open = lock(&self.open);
        let parts = open.parts.get(&number).into_iter().flatten().enumerate();
        let missing = parts.filter(|(_, part)| part.is_none());
        missing.map(|(rank, _)| rank).collect()
    }

    /// Every rank calls this in the same order, one thread at a time. Ranks that meet for different
    /// purposes do not run the same program: an error. At rank 0 `make` gets the parts of all, by
    /// rank, and makes of them what is returned, and what it is as bytes; on the others `read`
    /// reads that.
    pub(super) fn meet<V>(
        &self,
        link: &Link,
        purpose: Purpose,
        part: &[u8],
        make: impl FnOnce(Vec<Vec<u8>>) -> Result<(V, Vec<u8>), Error>,
        read: impl FnOnce(&[u8]) -> Result<V, Error>,
    ) -> Result<V, Error> {
        let mut next = lock(&self.next);
        let number = *next;
        *next += 1;
        let number_bytes = number.to_le_bytes();
        let bytes = [&number_bytes[..], &[purpose as u8], part].concat();
        link.send_owned(0, GATHER, bytes);
        link.flush();
        if link.rank() != 0 {
            let tell = || {
                "rank 0's answer: not all ranks have come to the same call, or rank 0 is not done \
                 with it"
                    .to_owned()
            };
            let answer = link.wait(tell, || lock(&self.open).answers.remove(&number))?;
            return read(&answer);
        }
        let tell = || {
            let missing = self.missing(number);
            format!("ranks {missing:?}, which have not come to the same call")
        };
        let all = link.wait(tell, || {
            let mut open = lock(&self.open);
            let parts = open.parts.get(&number)?;
            if parts.iter().any(Option::is_none) {
                return None;
            }
            let parts = open.parts.remove(&number)?;
            Some(parts.into_iter().flatten().collect::<Vec<_>>())
        })?;
        let (made, bytes) = make(stripped(link, all)?)?;
        let answer = [&number_bytes[..], &bytes].concat();
        for to in 1..link.ranks() {
            link.send(to, ANSWER, &answer);
        }
        link.flush();
        Ok(made)
    }
}

/// The parts without their purposes, if those are the same.
fn stripped(link: &Link, mut all: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, Error> {
    let purposes: Vec<_> = all.iter().map(|part| part.first().copied()).collect();
    let finished = |purpose: &Option<u8>| *purpose == Some(Purpose::Finish as u8);
    if let Some(rank) = purposes.iter().position(finished) {
        if !purposes.iter().all(finished) {
            let what = "has finished while others go on";
            return Err(link.fail_with(Error::at(rank, link.ranks(), what)));
        }
    }
    for part in &mut all {
        part.drain(..1.min(part.len()));
    }
    Ok(all)
}

/// Takes the first of several byte strings, each with its length before it.
fn take_part(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let (length, after) = rest.split_first_chunk::<8>()?;
    let (part, after) = after.split_at_checked(u64::from_le_bytes(*length) as usize)?;
    *rest = after;
    Some(part.to_vec())
}

/// The number of a gathering, and what comes after.
fn numbered(from: usize, bytes: &[u8]) -> (u64, &[u8]) {
    let Some((number, rest)) = bytes.split_first_chunk() else {
        panic!("rank {from} sent a torn gathering");
    };
    (u64::from_le_bytes(*number), rest)
}
