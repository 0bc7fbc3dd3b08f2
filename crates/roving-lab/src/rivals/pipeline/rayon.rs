//! Rayon has no channels: a batch of blocks is compressed by `par_iter` while the last batch is
//! written and the next one read.

use std::fs::File;
use std::io::{self, Write as _};

use ::rayon::prelude::*;
use ::rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

use super::{CompressJob, RivalPipeline};
use crate::networks::compress::blocks::{Blocks, Packer};

/// Blocks in a batch for each thread: enough that the end of a batch, where threads wait, is rare.
const BLOCKS_EACH: usize = 8;

/// A pool of Rayon's.
pub(super) fn pool(workers: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    ThreadPoolBuilder::new().num_threads(workers).build()
}

/// Writes one batch and reads the next one.
fn exchange(
    packed: &[Vec<u8>],
    file: &mut File,
    blocks: &mut Blocks,
    most: usize,
) -> io::Result<Vec<Vec<u8>>> {
    for frame in packed {
        file.write_all(frame)?;
    }
    blocks.take(most).collect()
}

impl RivalPipeline for ThreadPool {
    fn name(&self) -> &'static str {
        "rayon"
    }

    fn run(&mut self, job: CompressJob) -> io::Result<()> {
        let most = BLOCKS_EACH * self.current_num_threads();
        self.install(|| {
            let (mut blocks, mut file) = job.open()?;
            let mut packed: Vec<Vec<u8>> = Vec::new();
            let mut batch = exchange(&packed, &mut file, &mut blocks, most)?;
            while !batch.is_empty() || !packed.is_empty() {
                let (next, done): (_, io::Result<Vec<_>>) = ::rayon::join(
                    || exchange(&packed, &mut file, &mut blocks, most),
                    || {
                        let packed = batch
                            .par_iter()
                            .map_init(Packer::new, |packer, block| packer.frame(block));
                        packed.collect()
                    },
                );
                (batch, packed) = (next?, done?);
            }
            Ok(())
        })
    }
}
