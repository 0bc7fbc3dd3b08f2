//! What all ranks do together: each gives bytes and gets everybody's.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::link::Link;
use crate::error::Error;

/// Bytes on their way to rank 0.
const GATHER: u32 = 0;
/// Everybody's bytes on their way back.
const ANSWER: u32 = 1;

/// What has come for gatherings that are not over, by their number.
#[derive(Default)]
struct Open {
    /// At rank 0: each rank's bytes.
    parts: HashMap<u64, Vec<Option<Vec<u8>>>>,
    answers: HashMap<u64, Vec<Vec<u8>>>,
}

/// One rank's part in what all do together.
pub(super) struct Collective {
    open: Arc<Mutex<Open>>,
    /// How many there were.
    next: Mutex<u64>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Collective {
    pub(super) fn new(link: &Link) -> Collective {
        let open = Arc::new(Mutex::new(Open::default()));
        let (ranks, gathered) = (link.ranks(), Arc::clone(&open));
        link.open(GATHER, move |from, bytes| {
            let Ok((number, part)) = postcard::from_bytes::<(u64, Vec<u8>)>(bytes) else {
                panic!("a gathering's bytes from rank {from} are torn");
            };
            let mut open = lock(&gathered);
            let parts = open.parts.entry(number);
            parts.or_insert_with(|| vec![None; ranks])[from] = Some(part);
        });
        let answered = Arc::clone(&open);
        link.open(ANSWER, move |from, bytes| {
            let Ok((number, all)) = postcard::from_bytes(bytes) else {
                panic!("a gathering's answer from rank {from} is torn");
            };
            lock(&answered).answers.insert(number, all);
        });
        Collective {
            open,
            next: Mutex::new(0),
        }
    }

    /// Every rank calls this in the same order, one thread at a time.
    pub(super) fn all_gather(&self, link: &Link, part: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        let mut next = lock(&self.next);
        let number = *next;
        *next += 1;
        link.send_owned(0, GATHER, encode(link, &(number, part))?);
        link.flush();
        if link.rank() == 0 {
            let all = link.wait(|| {
                let mut open = lock(&self.open);
                let parts = open.parts.get(&number)?;
                if parts.iter().any(Option::is_none) {
                    return None;
                }
                let parts = open.parts.remove(&number)?;
                Some(parts.into_iter().flatten().collect::<Vec<_>>())
            })?;
            let answer = encode(link, &(number, &all))?;
            for to in 1..link.ranks() {
                link.send(to, ANSWER, &answer);
            }
            link.flush();
            return Ok(all);
        }
        link.wait(|| lock(&self.open).answers.remove(&number))
    }
}

fn encode(link: &Link, value: &impl serde::Serialize) -> Result<Vec<u8>, Error> {
    postcard::to_stdvec(value).map_err(|error| link.fail(format_args!("encoding: {error}")))
}
