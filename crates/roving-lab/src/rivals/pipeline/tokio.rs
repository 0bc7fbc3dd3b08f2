//! tokio: a task that reads and spawns one task a block, and one that awaits them in their order. A
//! bounded channel of their handles is what holds the reader back.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write as _};

use ::tokio::runtime::{Builder, Runtime};
use ::tokio::sync::mpsc::{self, Receiver, Sender};
use ::tokio::task::JoinHandle;

use super::{CompressJob, RivalPipeline};
use crate::networks::compress::blocks::{Blocks, Packer};

/// Blocks under way for each thread.
const BLOCKS_EACH: usize = 4;

/// tokio's runtime with many threads.
pub(super) struct BlockTasks {
    runtime: Runtime,
    workers: usize,
}

/// A block that is being compressed.
type Packing = JoinHandle<io::Result<Vec<u8>>>;

impl BlockTasks {
    pub(super) fn start(workers: usize) -> io::Result<BlockTasks> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(workers)
            .build()?;
        Ok(BlockTasks { runtime, workers })
    }
}

/// With the compressor of this thread.
fn pack(block: &[u8]) -> io::Result<Vec<u8>> {
    thread_local!(static PACKER: RefCell<Packer> = RefCell::new(Packer::new()));
    PACKER.with_borrow_mut(|packer| packer.frame(block))
}

async fn read(blocks: Blocks, out: Sender<Packing>) -> io::Result<()> {
    for block in blocks {
        let block = block?;
        let packing = ::tokio::spawn(async move { pack(&block) });
        if out.send(packing).await.is_err() {
            break;
        }
    }
    Ok(())
}

async fn write(mut file: File, mut input: Receiver<Packing>) -> io::Result<()> {
    while let Some(packing) = input.recv().await {
        file.write_all(&packing.await??)?;
    }
    Ok(())
}

impl RivalPipeline for BlockTasks {
    fn name(&self) -> &'static str {
        "tokio"
    }

    fn run(&mut self, job: CompressJob) -> io::Result<()> {
        let (blocks, file) = job.open()?;
        let (out, input) = mpsc::channel(BLOCKS_EACH * self.workers);
        self.runtime.block_on(async {
            let reading = ::tokio::spawn(read(blocks, out));
            let writing = ::tokio::spawn(write(file, input));
            writing.await??;
            reading.await?
        })
    }
}
