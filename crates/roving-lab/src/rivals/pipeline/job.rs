//! A pipeline, and the job that it is given: a file to compress into another one.

use std::fs::File;
use std::io;
use std::path::PathBuf;

use crate::networks::compress::blocks::Blocks;

/// A pipeline that is ready.
pub(crate) trait RivalPipeline {
    /// The name in tables.
    fn name(&self) -> &'static str;
    /// Compresses a file once.
    fn run(&mut self, job: CompressJob) -> io::Result<()>;
}

/// From where, to where, and how many bytes at once.
#[derive(Clone, Debug)]
pub(crate) struct CompressJob {
    pub(super) from: PathBuf,
    pub(super) to: PathBuf,
    pub(super) block_bytes: usize,
}

impl CompressJob {
    pub(super) fn open(&self) -> io::Result<(Blocks, File)> {
        let blocks = Blocks::open(&self.from, self.block_bytes)?;
        Ok((blocks, File::create(&self.to)?))
    }
}
