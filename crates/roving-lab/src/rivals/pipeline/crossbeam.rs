//! crossbeam: threads and bounded channels. One thread reads, some compress, one writes in order.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::{CompressJob, RivalPipeline};
use crate::networks::compress::blocks::{Blocks, Packer};

/// Blocks that wait in a channel for each thread.
const BLOCKS_EACH: usize = 4;

/// So many threads that compress; they live as long as a run.
pub(super) struct Threads {
    workers: usize,
}

/// A block with its number.
type Numbered = (u64, Vec<u8>);

impl Threads {
    pub(super) fn new(workers: usize) -> Threads {
        Threads { workers }
    }
}

fn read(blocks: Blocks, out: &Sender<Numbered>) -> io::Result<()> {
    for (number, block) in (0..).zip(blocks) {
        if out.send((number, block?)).is_err() {
            break;
        }
    }
    Ok(())
}

fn pack(input: &Receiver<Numbered>, out: &Sender<Numbered>) -> io::Result<()> {
    let mut packer = Packer::new();
    for (number, block) in input {
        if out.send((number, packer.frame(&block)?)).is_err() {
            break;
        }
    }
    Ok(())
}

/// Writes the frames in the order of their numbers; those that come early wait.
fn write(mut file: File, input: &Receiver<Numbered>) -> io::Result<()> {
    let (mut early, mut next) = (BTreeMap::new(), 0);
    for (number, frame) in input {
        early.insert(number, frame);
        while let Some(frame) = early.remove(&next) {
            file.write_all(&frame)?;
            next += 1;
        }
    }
    Ok(())
}

impl RivalPipeline for Threads {
    fn name(&self) -> &'static str {
        "crossbeam"
    }

    fn run(&mut self, job: CompressJob) -> io::Result<()> {
        let (blocks, file) = job.open()?;
        let (out, plain) = bounded(BLOCKS_EACH * self.workers);
        let (done, frames) = bounded(BLOCKS_EACH * self.workers);
        thread::scope(|scope| {
            let mut handles = vec![scope.spawn(move || read(blocks, &out))];
            for _ in 0..self.workers {
                let (plain, done) = (plain.clone(), done.clone());
                handles.push(scope.spawn(move || pack(&plain, &done)));
            }
            drop((plain, done));
            let mut result = write(file, &frames);
            // Without a reader the others end, too.
            drop(frames);
            for handle in handles {
                let ended = handle
                    .join()
                    .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
                result = result.and(ended);
            }
            result
        })
    }
}
